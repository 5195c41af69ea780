#include "tellegen/equations/branch_chord.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

namespace tellegen {
namespace {

Expr signed_sum(Pool& pool, const std::vector<SignedEdge>& edges, const std::vector<Expr>& of) {
  std::vector<Expr> terms;
  for (const SignedEdge& e : edges) terms.push_back(double(e.sign) * of[e.edge.value]);
  return pool.add(terms);
}

std::vector<Expr> rates_of(const std::vector<Expr>& symbols) {
  std::vector<Expr> rates;
  for (Expr s : symbols) rates.push_back(rate_symbol(s));
  return rates;
}

// Across of a node over the datum, along the tree.
Expr potential(Pool& pool, const LinearGraph& graph, const Tree& tree, NodeIndex node,
               const std::vector<Expr>& across) {
  std::vector<Expr> terms;
  for (; tree.parent[node.value].value >= 0; node = tree.parent[node.value]) {
    const EdgeIndex up = tree.up[node.value];
    terms.push_back((graph.edges[up.value].from == node ? 1.0 : -1.0) * across[up.value]);
  }
  return pool.add(terms);
}

// Replacements for node potentials, and for chord across and branch through variables unless `edges` is
// false.
ExprMap<Expr> topology(const SymbolicModel& model, const Tree& tree, bool edges) {
  Pool& pool = *model.model->pool;
  const LinearGraph& graph = model.graph;
  const std::vector<Expr> across_rate = rates_of(model.across), through_rate = rates_of(model.through);
  ExprMap<Expr> replaced;
  for (std::size_t n = 0; n < model.node.size(); ++n) {
    if (!model.node[n]) continue;
    const NodeIndex node{static_cast<std::int32_t>(n)};
    replaced[model.node[n]] = potential(pool, graph, tree, node, model.across);
    replaced[rate_symbol(model.node[n])] = potential(pool, graph, tree, node, across_rate);
  }
  if (edges) {
    for (EdgeIndex c : tree.chords) {
      const auto circuit = circuit_of(graph, tree, c);
      replaced[model.across[c.value]] = signed_sum(pool, circuit, model.across);
      replaced[across_rate[c.value]] = signed_sum(pool, circuit, across_rate);
    }
    for (EdgeIndex b : tree.branches) {
      const auto cutset = cutset_of(graph, tree, b);
      replaced[model.through[b.value]] = signed_sum(pool, cutset, model.through);
      replaced[through_rate[b.value]] = signed_sum(pool, cutset, through_rate);
    }
    // Potentials are in branch acrosses already.
  }
  return replaced;
}

// Puts what the equations give explicitly into the others.
class Substitution {
 public:
  Substitution(const SymbolicModel& model, const Tree& tree, SymbolicEquations equations,
               const ExprMap<int>& graph)
      : graph_(graph), equations_(std::move(equations)), candidates_(equations_.residuals.size()) {
    Pool& pool = *model.model->pool;
    for (Expr u : equations_.unknowns) unknowns_.insert(u);
    for (std::size_t k = 0; k < model.parameters.size(); ++k)
      numbers_[model.parameters[k]] = model.numbers[k];
    time_ = pool.symbol("t");
    // Whose unknowns they are: a component's equation rather gives its own.
    for (std::int32_t e = 0; e < model.graph.edge_count(); ++e)
      owner_[tree.is_branch[e] ? model.across[e] : model.through[e]] = model.graph.edges[e].component;
    std::size_t next = 0;
    for (int c = 0; c < static_cast<int>(model.model->components.size()); ++c)
      for (std::size_t k = 0; k < model.model->kinds[model.model->components[c].kind].variables.size(); ++k)
        owner_[model.internal[next++]] = c;
    of_component_ = model.component;
    for (Expr r : equations_.residuals) of_graph_.push_back(graph_of(r, graph));
    for (Expr r : equations_.residuals)
      for (Expr s : symbols_of(std::span(&r, 1))) ++uses_[s];
  }

  SymbolicEquations run() {
    for (std::size_t i = 0; i < equations_.residuals.size(); ++i) candidates_[i] = best_of(i);
    for (;;) {
      std::optional<std::size_t> best;
      for (std::size_t i = 0; i < candidates_.size(); ++i)
        if (candidates_[i] && (!best || candidates_[i]->score < candidates_[*best]->score)) best = i;
      if (!best) return std::move(equations_);
      eliminate(*best);
    }
  }

 private:
  struct Candidate {
    std::tuple<int, std::int64_t, std::string> score;
    Expr unknown, value;
  };

  static bool is_rate(Expr s) { return s.name().starts_with("der("); }

  // A product of parameters that is not zero: safe to divide by.
  bool is_divisor(Expr e) const {
    const auto plain = [](Expr f) {
      return f.is_symbol() || f.is_number() ||
             (f.op() == Op::power && f.args()[0].is_symbol() && f.args()[1].is_number());
    };
    if (e.op() == Op::multiply) {
      if (!std::all_of(e.args().begin(), e.args().end(), plain)) return false;
    } else if (!plain(e)) {
      return false;
    }
    const double value = evaluate(e, numbers_);  // NaN where it is written in anything else
    return std::isfinite(value) && value != 0.0;
  }

  // -rest/slope, with the minus sign inside a sum.
  static Expr solution(Expr rest, Expr slope) {
    if (split_coefficient(slope).coefficient < 0.0 || slope.is_number(-1.0)) return rest / -slope;
    if (rest.op() != Op::add) return -rest / slope;
    std::vector<Expr> terms;
    for (Expr term : rest.args()) terms.push_back(-term);
    return rest.pool().add(terms) / slope;
  }

  std::optional<Candidate> best_of(std::size_t i) {
    const Expr r = equations_.residuals[i];
    std::vector<Expr> present;
    for (Expr s : symbols_of(std::span(&r, 1)))
      if (unknowns_.contains(s) && graph_of(s, graph_) == of_graph_[i]) present.push_back(s);
    const std::vector<Expr> slopes = gradient(r, present);
    std::optional<Candidate> best;
    for (std::size_t k = 0; k < present.size(); ++k) {
      const Expr u = present[k];
      const auto owner = owner_.find(u);
      const bool own = owner != owner_.end() && owner->second == of_component_[i];
      if (!is_divisor(slopes[k]) || !(own || slopes[k].is_number())) continue;
      const Expr value = solution(substitute(r, {{u, r.pool().number(0.0)}}), slopes[k]);
      const auto inside = symbols_of(std::span(&value, 1));
      const bool known = std::none_of(inside.begin(), inside.end(),
                                      [&](Expr s) { return unknowns_.contains(s) || is_rate(s); });
      const auto rate = uses_.find(rate_symbol(u));
      if (rate != uses_.end() && rate->second > 0 && !known) continue;  // its rate would be needed too
      const OperationCount count = count_operations(std::span(&value, 1));
      Candidate candidate{{known ? 0 : own ? 1 : 2, count.nodes, u.name()}, u, value};
      if (!best || candidate.score < best->score) best = std::move(candidate);
    }
    return best;
  }

  void eliminate(std::size_t i) {
    const Candidate chosen = *candidates_[i];
    ExprMap<Expr> replaced{{chosen.unknown, chosen.value}};
    if (std::get<0>(chosen.score) == 0)
      replaced[rate_symbol(chosen.unknown)] = derivative(chosen.value, time_);
    const auto at = static_cast<std::ptrdiff_t>(i);
    count_uses(equations_.residuals[i], -1);
    equations_.residuals.erase(equations_.residuals.begin() + at);
    candidates_.erase(candidates_.begin() + at);
    of_component_.erase(of_component_.begin() + at);
    of_graph_.erase(of_graph_.begin() + at);
    std::erase(equations_.unknowns, chosen.unknown);
    unknowns_.erase(chosen.unknown);
    const auto affected = [&](Expr e) {
      return std::any_of(replaced.begin(), replaced.end(),
                         [&](const auto& r) { return depends_on(e, r.first); });
    };
    std::vector<std::size_t> changed;
    for (std::size_t k = 0; k < equations_.residuals.size(); ++k) {
      Expr& r = equations_.residuals[k];
      if (!affected(r)) continue;
      count_uses(r, -1);
      r = substitute(r, replaced);
      count_uses(r, 1);
      changed.push_back(k);
    }
    for (auto& [variable, value] : equations_.solved)
      if (affected(value)) value = substitute(value, replaced);
    equations_.solved.emplace_back(chosen.unknown, chosen.value);
    // A rate that came in forbids what was allowed before.
    for (std::size_t k = 0; k < candidates_.size(); ++k)
      if (std::binary_search(changed.begin(), changed.end(), k) || !still_allowed(candidates_[k]))
        candidates_[k] = best_of(k);
  }

  bool still_allowed(const std::optional<Candidate>& candidate) {
    if (!candidate || std::get<0>(candidate->score) == 0) return true;
    const auto rate = uses_.find(rate_symbol(candidate->unknown));
    return rate == uses_.end() || rate->second == 0;
  }

  void count_uses(Expr e, int step) {
    for (Expr s : symbols_of(std::span(&e, 1))) uses_[s] += step;
  }

  const ExprMap<int>& graph_;
  SymbolicEquations equations_;
  std::set<Expr> unknowns_;
  ExprMap<double> numbers_;
  ExprMap<int> owner_, uses_;
  std::vector<int> of_component_, of_graph_;  // of each equation
  std::vector<std::optional<Candidate>> candidates_;
  Expr time_;
};

struct TreeScore {
  std::size_t equations;
  std::int64_t operations;
  auto operator<=>(const TreeScore&) const = default;
};

TreeScore score_of(const SymbolicModel& model, const Tree& tree) {
  const SymbolicEquations equations = simplified(model, tree);
  const OperationCount count = count_operations(equations.residuals);
  return {equations.residuals.size(),
          count.additions + count.multiplications + count.divisions + count.functions};
}

Tree tree_with(const LinearGraph& graph, const Tree& tree, EdgeIndex out, EdgeIndex in) {
  std::vector<std::int32_t> rank(graph.edges.size());
  for (std::size_t e = 0; e < rank.size(); ++e) rank[e] = tree.is_branch[e] ? 0 : 1;
  std::swap(rank[out.value], rank[in.value]);
  return tree_by_rank(graph, rank);
}

}  // namespace

SymbolicEquations symbolic_tableau(const SymbolicModel& model, const Tree& tree) {
  Pool& pool = *model.model->pool;
  SymbolicEquations result;
  for (const auto* list : {&model.across, &model.through, &model.internal})
    result.unknowns.insert(result.unknowns.end(), list->begin(), list->end());
  for (EdgeIndex b : tree.branches)
    result.residuals.push_back(model.through[b.value] -
                               signed_sum(pool, cutset_of(model.graph, tree, b), model.through));
  for (EdgeIndex c : tree.chords)
    result.residuals.push_back(model.across[c.value] -
                               signed_sum(pool, circuit_of(model.graph, tree, c), model.across));
  const ExprMap<Expr> replaced = topology(model, tree, false);
  for (Expr r : model.terminal) result.residuals.push_back(substitute(r, replaced));
  return result;
}

SymbolicEquations branch_chord(const SymbolicModel& model, const Tree& tree) {
  SymbolicEquations result;
  for (std::int32_t e = 0; e < model.graph.edge_count(); ++e)
    result.unknowns.push_back(tree.is_branch[e] ? model.across[e] : model.through[e]);
  result.unknowns.insert(result.unknowns.end(), model.internal.begin(), model.internal.end());
  const ExprMap<Expr> replaced = topology(model, tree, true);
  for (Expr r : model.terminal) result.residuals.push_back(substitute(r, replaced));
  return result;
}

int graph_of(Expr equation, const ExprMap<int>& graph) {
  int highest = 0;
  for (Expr s : symbols_of(std::span(&equation, 1)))
    if (const auto found = graph.find(s); found != graph.end()) highest = std::max(highest, found->second);
  return highest;
}

SymbolicEquations simplified(const SymbolicModel& model, const Tree& tree, const ExprMap<int>& graph) {
  return Substitution(model, tree, branch_chord(model, tree), graph).run();
}

Tree choose_tree(const SymbolicModel& model) {
  constexpr std::int32_t largest = 24;
  const LinearGraph& graph = model.graph;
  Tree best = normal_tree(graph);
  const std::int32_t edges = graph.edge_count();
  if (edges > largest) return best;
  std::int32_t left = 1200 / std::max(edges, 1);  // trees to try
  TreeScore lowest = score_of(model, best);
  for (bool better = true; better && left > 0;) {
    better = false;
    const Tree from = best;
    for (EdgeIndex b : from.branches) {
      for (const SignedEdge& chord : cutset_of(graph, from, b)) {
        // Of one class: what is reached is a normal tree again, with the same number of states.
        if (graph.edges[b.value].edge_class != graph.edges[chord.edge.value].edge_class) continue;
        if (left-- <= 0) break;
        Tree tried = tree_with(graph, from, b, chord.edge);
        const TreeScore score = score_of(model, tried);
        if (score >= lowest) continue;
        lowest = score;
        best = std::move(tried);
        better = true;
      }
    }
  }
  return best;
}

Tree combined_tree(const Model& system, const LinearGraph& system_graph, const Tree& system_tree,
                   const Tree& sensitivity_tree, const Model& combined, const LinearGraph& combined_graph) {
  // Copies have their edge's name and stand in domains that the system does not have.
  std::set<std::string> branches, copies;
  for (EdgeIndex b : system_tree.branches) branches.insert(edge_name(system, system_graph, b));
  for (EdgeIndex b : sensitivity_tree.branches) copies.insert(edge_name(system, system_graph, b));
  std::vector<std::int32_t> rank;
  for (std::int32_t e = 0; e < combined_graph.edge_count(); ++e) {
    const GraphEdge& edge = combined_graph.edges[e];
    const int domain = combined.kinds[combined.components[edge.component].kind].edges[edge.edge].domain;
    const bool copy = domain >= static_cast<int>(system.domains.size());
    const std::string name = edge_name(combined, combined_graph, {e});
    rank.push_back((copy ? copies : branches).contains(name) ? 0 : 1);
  }
  return tree_by_rank(combined_graph, rank);
}

std::vector<Expr> differentiate_directly(const SymbolicModel& model, const SymbolicEquations& equations,
                                         ParameterDerivative& wrt) {
  Pool& pool = *model.model->pool;
  ExprMap<Expr> known;
  for (std::size_t k = 0; k < model.parameters.size(); ++k) {
    const ParameterRef& p = model.own[k];
    known[model.parameters[k]] =
        p.component < 0 ? wrt.of_symbol(model.parameters[k]) : wrt.of_component(p.component, p.index);
  }
  for (Expr h : model.held) known[h] = pool.number(0.0);
  std::vector<Expr> result;
  for (Expr r : equations.residuals) {
    const std::vector<Expr> symbols = symbols_of(std::span(&r, 1));
    const std::vector<Expr> slopes = gradient(r, symbols);
    std::vector<Expr> terms;
    for (std::size_t k = 0; k < symbols.size(); ++k) {
      const auto found = known.find(symbols[k]);
      terms.push_back(slopes[k] * (found == known.end() ? wrt.of_symbol(symbols[k]) : found->second));
    }
    result.push_back(pool.add(terms));
  }
  return result;
}

std::vector<std::vector<int>> circuit_part(const LinearGraph& graph, const Tree& tree) {
  std::vector<std::vector<int>> b(tree.chords.size(), std::vector<int>(tree.branches.size(), 0));
  // across(chord) - sum = 0
  for (const Incidence& i : circuit_matrix(graph, tree)) b[i.row][i.column] = -i.sign;
  return b;
}

std::vector<std::vector<int>> cutset_part(const LinearGraph& graph, const Tree& tree) {
  std::vector<std::vector<int>> a(tree.branches.size(), std::vector<int>(tree.chords.size(), 0));
  for (std::size_t row = 0; row < tree.branches.size(); ++row)
    for (const SignedEdge& e : cutset_of(graph, tree, tree.branches[row]))
      a[row][std::find(tree.chords.begin(), tree.chords.end(), e.edge) - tree.chords.begin()] = -e.sign;
  return a;
}

}  // namespace tellegen
