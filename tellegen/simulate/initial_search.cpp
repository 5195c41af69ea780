// The search for initial values: Newton, and what it is led along where it fails.
#include "tellegen/simulate/initial_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tellegen {

bool InitialProblem::solve_from(double t, InitialState& state) {
  t_ = t;
  explain_ = false;
  find_source_rates();
  std::copy(state.x.begin(), state.x.end(), z_.begin());
  std::copy(state.rates.begin(), state.rates.end(), z_.begin() + n_);
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) given_[k].value = tableau_.rate_value(state.x, k);
  std::fill(limits_.begin(), limits_.end(),
            1e300);  // far away: the first limit leaves arguments as they are
  factored_ = false;
  if (!newton(100)) return false;
  state.x.assign(z_.begin(), z_.begin() + n_);
  state.rates.assign(z_.begin() + n_, z_.begin() + n_ + tableau_.rate_count());
  return true;
}

void InitialProblem::solve_afresh(double t, InitialState& state) {
  std::vector<double> values(tableau_.rate_count());
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) values[k] = tableau_.rate_value(state.x, k);
  solve_afresh(t, values, state);
}

void InitialProblem::solve_afresh(double t, std::span<const double> values, InitialState& state) {
  t_ = t;
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) given_[k].value = values[k];
  std::fill(z_.begin(), z_.end(), 0.0);
  std::fill(limits_.begin(), limits_.end(), 0.0);
  factored_ = false;
  InitialState found = solve();
  state.x = std::move(found.x);
  state.rates = std::move(found.rates);
}

InitialState InitialProblem::solve() {
  while (start_an_open_current_at_zero()) {
  }
  check_structure();
  find_source_rates();
  guess();
  const std::vector<double> start = z_, start_limits = limits_;
  gmin_ = 0.0;
  source_ = 1.0;
  longest_step_ = std::numeric_limits<double>::infinity();
  explain_ = true;
  // First with the variables of { such_that } held near where they are said to be: at rest, with all else
  // zero, their conditions have no slope.
  held_near_ = std::any_of(conditions_.begin(), conditions_.end(),
                           [](const StartCondition& c) { return c.such_that; });
  if (held_near_) {
    const bool found = newton(100);
    held_near_ = false;
    if (!found) z_ = start, limits_ = start_limits;
  }
  if (newton(100)) return finish();
  explain_ = false;
  const Why why = why_;
  // Across variables, such as voltages, are seldom far above those of the sources: then, step by step.
  double largest = 0.0;
  for (std::int32_t c = 0; c < system_.node_columns; ++c)
    largest = std::max({largest, std::abs(start[c]), column_scale(system_, c)});
  for (const double longest : {std::numeric_limits<double>::infinity(), largest}) {
    longest_step_ = longest;
    z_ = start, limits_ = start_limits;
    if (lower_gmin()) return finish();
    if (raise_sources()) return finish();
    z_ = start, limits_ = start_limits;
    if (settle_in_time()) return finish();
  }
  if (why.singular) throw ModelError(*why.singular);
  throw SimulationError(
      t_ > 0.0 ? fmt::format("Newton's iteration did not converge at t = {:.9g} s, nor with gmin, source or "
                             "pseudo-transient stepping: {}",
                             t_, why.message)
               : "no consistent initial values were found: " + why.message,
      t_, why.details);
}

// Potentials along the tree from what is known, variables that are no states from what their kinds guess;
// everything else zero.
void InitialProblem::guess() {
  for (const Group& group : system_.groups) {
    if (group.kind < 0) continue;
    for (const KindInitial& initial : system_.model->kinds[group.kind].initial)
      for (const LocalSymbol& s : group.symbols)
        if (s.what == LocalSymbol::What::internal && s.symbol == initial.variable && !s.rate &&
            initial.value.is_number())
          for (const std::int32_t c : group.components)
            z_[system_.internal_column(c, s.index)] = initial.value.number();
  }
  std::vector<double> across(system_.graph.edge_count(), 0.0);
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) {
    const Rate& r = system_.rates[k];
    const Group& group = system_.groups[r.group];
    const LocalSymbol& s = group.symbols[r.symbol];
    if (given_[k].what != GivenStart::What::value && given_[k].what != GivenStart::What::condition) continue;
    const int c = group.components[r.member];
    if (s.what == LocalSymbol::What::across)
      across[system_.graph.first_edge[c] + s.index] = given_[k].value;
    else if (s.what == LocalSymbol::What::internal)
      z_[system_.internal_column(c, s.index)] = given_[k].value;
    else
      z_[system_.through_column(EdgeIndex{system_.graph.first_edge[c] + s.index})] = given_[k].value;
  }
  for (std::int32_t e = 0; e < system_.graph.edge_count(); ++e)
    if (system_.graph.edges[e].edge_class == EdgeClass::across_source) across[e] = source_value(EdgeIndex{e});
  for (NodeIndex node : system_.tree.order) {
    const EdgeIndex up = system_.tree.up[node.value];
    if (up.value < 0) continue;
    const GraphEdge& edge = system_.graph.edges[up.value];
    const std::int32_t parent = system_.node_column(system_.tree.parent[node.value]);
    const double base = parent < 0 ? 0.0 : z_[parent];
    z_[system_.node_column(node)] = base + (edge.from == node ? across[up.value] : -across[up.value]);
  }
  for (const ForcedNode& f : forced_) z_[f.column] = f.value;
}

double InitialProblem::source_value(EdgeIndex edge) const {
  const GraphEdge& e = system_.graph.edges[edge.value];
  const Group& group = system_.groups[system_.group_of[e.component]];
  const std::int32_t m = system_.member_of[e.component];
  for (const LocalSymbol& s : group.symbols) {
    if (s.what != LocalSymbol::What::across || s.index != e.edge) continue;
    ExprMap<double> at{{group.time, t_}};
    for (const LocalSymbol& other : group.symbols) at[other.symbol] = 0.0;
    for (std::size_t p = 0; p < group.parameters.size(); ++p) at[group.parameters[p]] = group.values[p][m];
    for (Expr r : group.residuals)
      if (depends_on(r, s.symbol)) {
        const double value = -evaluate(r, at) / evaluate(derivative(r, s.symbol), at);
        return std::isfinite(value) ? value : 0.0;
      }
  }
  return 0.0;
}

void InitialProblem::residual(std::vector<double>& f) {
  tableau_.residual(std::span(z_).first(n_), std::span(z_).subspan(n_), t_, limits_, std::span(f).first(n_));
  const ExprMap<double> at = conditions_.empty() ? ExprMap<double>() : numbers_at_point();
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) {
    double& row = f[n_ + k];
    if (const StartCondition* c = condition_of(k)) {
      row = near(*c) ? tableau_.rate_value(std::span(z_).first(n_), k) - given_[k].value
                     : evaluate(c->residual, at);
    } else if (redundant_of_[k] >= 0) {
      row = z_[n_ + k] - source_rate_[redundant_of_[k]];
      for (const auto& term : storage_.redundant[redundant_of_[k]].terms)
        if (term.rate >= 0) row -= term.sign * z_[n_ + term.rate];
    } else if (given_[prescribed_[k]].what == GivenStart::What::value) {
      row = tableau_.rate_value(std::span(z_).first(n_), prescribed_[k]) - given_[prescribed_[k]].value;
    } else {
      row = z_[n_ + k];
      if (inverse_step_ > 0.0)
        row -= inverse_step_ * (tableau_.rate_value(std::span(z_).first(n_), k) - anchor_states_[k]);
    }
  }
  for (std::size_t k = 0; k < forced_.size(); ++k) {
    f[forced_[k].column] += z_[first_forced_ + k];
    f[first_forced_ + k] = z_[forced_[k].column] - forced_[k].value;
  }
  for (std::int32_t c = 0; c < system_.node_columns; ++c)
    f[c] += gmin_ * (z_[c] - (anchor_.empty() ? 0.0 : anchor_[c]));
  if (source_ < 1.0)
    for (std::int32_t i = 0; i < total_; ++i) f[i] -= (1.0 - source_) * offset_[i];
}

bool InitialProblem::factor() {
  const std::span<const double> limits = exact_ ? std::span<const double>() : limits_;
  tableau_.jacobian(std::span(z_).first(n_), std::span(z_).subspan(n_), t_, limits, by_x_, by_rate_);
  std::vector<double> values(pattern_.nonzeros(), 0.0);
  std::size_t at = 0;
  const auto put = [&](double v) {
    if (position_[at] >= 0) values[position_[at]] += v;
    ++at;
  };
  for (double v : by_x_) put(v);
  for (double v : by_rate_) put(v);
  const ExprMap<double> point = conditions_.empty() ? ExprMap<double>() : numbers_at_point();
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k) {
    if (const StartCondition* c = condition_of(k)) {
      for (const auto& [column, slope] : c->slopes) put(near(*c) ? 0.0 : evaluate(slope, point));
      put(near(*c) ? 1.0 : 0.0);
      put(near(*c) ? -1.0 : 0.0);
    } else if (redundant_of_[k] >= 0) {
      put(1.0);
      for (const auto& term : storage_.redundant[redundant_of_[k]].terms)
        if (term.rate >= 0) put(-term.sign);
    } else if (given_[prescribed_[k]].what == GivenStart::What::value) {
      put(1.0);
      put(-1.0);
    } else {
      put(1.0);
    }
  }
  for (std::size_t k = 0; k < 2 * forced_.size(); ++k) put(1.0);
  for (std::int32_t c = 0; c < system_.node_columns; ++c) put(gmin_);
  for (std::int32_t k = 0; k < tableau_.rate_count(); ++k)
    if (is_steady(k)) put(-inverse_step_), put(inverse_step_);
  if (factored_ && values == values_) return true;  // linear: nothing has changed
  values_.swap(values);
  factored_ = lu_->factor(values_);
  return factored_;
}

// Every residual is what rounding leaves of its terms: variables that should be zero never settle where
// large ones cancel.
bool InitialProblem::is_rounding(const std::vector<double>& f, double part) const {
  std::vector<double> terms(total_, 0.0);
  for (std::int32_t column = 0; column < pattern_.size; ++column)
    for (std::int32_t at = pattern_.column_start[column]; at < pattern_.column_start[column + 1]; ++at)
      terms[pattern_.row[at]] += std::abs(values_[at] * z_[column]);
  for (std::int32_t i = 0; i < total_; ++i)
    if (std::abs(f[i]) > part * terms[i]) return false;
  return true;
}

// Conductances to the datum, from large to none, by smaller factors where Newton fails.
bool InitialProblem::lower_gmin() {
  double gmin = 1.0, factor = 10.0;
  std::optional<double> last;
  std::vector<double> z, limits;
  while (factor > 1.05 && gmin > 1e-13) {
    gmin_ = gmin;
    if (newton(60)) {
      last = gmin;
      z = z_, limits = limits_;
      factor = std::min(10.0, factor * factor);
    } else {
      if (!last) break;
      z_ = z, limits_ = limits;
      factor = std::sqrt(factor);
    }
    gmin = *last / factor;
  }
  gmin_ = 0.0;
  return gmin <= 1e-13 && newton(60);
}

// Sources from zero: F(z) - (1 - s) F(0) vanishes at z = 0 for s = 0.
bool InitialProblem::raise_sources() {
  std::fill(z_.begin(), z_.end(), 0.0);
  std::fill(limits_.begin(), limits_.end(), 0.0);
  offset_.assign(total_, 0.0);
  residual(offset_);
  if (!std::all_of(offset_.begin(), offset_.end(), [](double v) { return std::isfinite(v); })) return false;
  double done = 0.0, stride = 0.1;
  while (done < 1.0 && stride > 1e-5) {
    const auto last = z_, last_limits = limits_;
    source_ = std::min(1.0, done + stride);
    if (newton(40)) {
      done = source_;
      stride *= 1.5;
    } else {
      z_ = last, limits_ = last_limits;
      stride *= 0.25;
    }
  }
  source_ = 1.0;
  return done >= 1.0;
}

// In time: storage moves on by backward Euler from the guess, and every node has a small capacitance, with
// steps that grow without end. What swings is damped by long steps.
bool InitialProblem::settle_in_time() {
  constexpr int most_steps = 1000;
  constexpr double capacitance = 1e-9, first = 1e9, least = 1e-6, most = 1e15;  // inverse steps
  double inverse = first;
  for (int k = 0; k < most_steps && inverse > least && inverse < most; ++k) {
    const auto last = z_, last_limits = limits_;
    inverse_step_ = inverse;
    gmin_ = capacitance * inverse;
    anchor_.assign(z_.begin(), z_.begin() + system_.node_columns);
    anchor_states_.resize(system_.rates.size());
    for (std::int32_t r = 0; r < tableau_.rate_count(); ++r)
      anchor_states_[r] = tableau_.rate_value(std::span(z_).first(n_), r);
    if (newton(20)) {
      inverse *= 0.5;
    } else {
      z_ = last, limits_ = last_limits;
      inverse *= 8.0;
    }
  }
  gmin_ = inverse_step_ = 0.0;
  anchor_.clear();
  return inverse <= least && newton(100);
}

bool InitialProblem::newton(int most) {
  constexpr double stalled = 1e-6;
  constexpr int patience = 8;
  std::vector<double> f(total_), step;
  double least = std::numeric_limits<double>::infinity();
  int least_at = 0;
  for (int iteration = 0; iteration < most; ++iteration) {
    ++iterations_;
    residual(f);
    const auto finite = [&] {
      return std::all_of(f.begin(), f.end(), [](double v) { return std::isfinite(v); });
    };
    // Too far: half of the way, and half again.
    for (int halvings = 0; halvings < 20 && !step.empty() && !finite(); ++halvings) {
      for (std::int32_t i = 0; i < total_; ++i) step[i] *= 0.5, z_[i] += step[i];
      residual(f);
    }
    const auto bad = std::find_if(f.begin(), f.end(), [](double v) { return !std::isfinite(v); });
    if (bad != f.end()) {
      const auto row = static_cast<std::int32_t>(bad - f.begin());
      why_ = {fmt::format("the {} has no finite value at t = {:g} s", equation(row), t_),
              hints(row,
                    "a division by zero, or an overflow: write the formula so that it has a value "
                    "there, with if() or max()"),
              {}};
      return false;
    }
    if (!factor()) {
      if (explain_) why_ = {"the equations are singular", {}, explain_singular(f)};
      return false;
    }
    step = f;
    lu_->solve(step.data());
    double longest = 0.0;
    for (std::int32_t c = 0; c < system_.node_columns; ++c) longest = std::max(longest, std::abs(step[c]));
    const double share = longest > longest_step_ ? longest_step_ / longest : 1.0;
    double largest = 0.0;
    std::int32_t which = 0;
    for (std::int32_t i = 0; i < total_; ++i) {
      step[i] *= share;
      const double size =
          i < n_ ? std::abs(step[i]) / (1e-3 * column_scale(system_, i) + std::abs(z_[i])) : 0.0;
      if (!(size <= largest)) largest = size, which = i;
      z_[i] -= step[i];
    }
    if (!std::isfinite(largest)) {
      why_ = {fmt::format("{} grows without bound", described(which)), {}, {}};
      return false;
    }
    // A node that nothing but gmin holds moves with every rounding error.
    const double part = iteration < 30 ? 1e-14 : 1e-11;
    if (share == 1.0 && tableau_.limited_by() < 1e-6 &&
        (largest <= 1e-9 || (largest <= 1e-3 && is_rounding(f, part))))
      return true;
    // Steps that have long been this small and shrink no more: rounding, behind a large gain.
    if (largest < 0.5 * least) least = largest, least_at = iteration;
    if (share == 1.0 && tableau_.limited_by() < 1e-6 && largest <= stalled &&
        iteration - least_at >= patience)
      return true;
    if (iteration + 1 < most) continue;
    const auto worst =
        std::max_element(f.begin(), f.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    const auto row = static_cast<std::int32_t>(worst - f.begin());
    why_ = {
        fmt::format("Newton's iteration does not settle; largest residual {:.3g} in the {}", std::abs(*worst),
                    equation(row)),
        hints(row, fmt::format("the largest change is in {}: these equations may have no solution, or one "
                               "far from the first guess; give values nearer to it in [initial]",
                               described(which))),
        {}};
  }
  return false;
}

InitialState InitialProblem::finish() {
  InitialState state;
  state.x.assign(z_.begin(), z_.begin() + n_);
  state.rates.assign(z_.begin() + n_, z_.begin() + first_forced_);
  std::vector<Fault> faults;
  for (const RedundantRate& r : storage_.redundant) {
    const GivenStart& g = given_[r.rate];
    const double value = tableau_.rate_value(state.x, r.rate);
    if (g.what != GivenStart::What::value || !g.by_user) continue;
    if (std::abs(value - g.value) <= 1e-6 * (std::abs(value) + std::abs(g.value)) + 1e-12) continue;
    const Rate& rate = system_.rates[r.rate];
    const Component& c = system_.model->components[system_.groups[rate.group].components[rate.member]];
    std::string others;
    for (const auto& term : r.terms) {
      // A state, or a source: each with the line of its component.
      const bool state = term.rate >= 0;
      const Rate& of = system_.rates[state ? term.rate : r.rate];
      const int component = state ? system_.groups[of.group].components[of.member]
                                  : system_.graph.edges[term.source.value].component;
      others += fmt::format("{}'{}' (line {})", others.empty() ? "" : ", ",
                            term.source.value >= 0 ? edge_name(*system_.model, system_.graph, term.source)
                                                   : rate_name(system_, term.rate),
                            system_.model->components[component].place.line);
    }
    const bool across = system_.groups[rate.group].symbols[rate.symbol].what == LocalSymbol::What::across;
    faults.push_back(
        {c.place,
         "T301",
         fmt::format("initial value of {} contradicts the network", rate_name(system_, r.rate)),
         {fmt::format("given {:g}, but {} {} makes it {:g}", g.value,
                      across ? "the circuit it forms with" : "its node or cutset with", others, value),
          fmt::format("give consistent values, leave this one out, or put a resistance in {} so that each "
                      "keeps its "
                      "own",
                      across ? "series" : "parallel")}});
  }
  if (!faults.empty()) throw ModelError(std::move(faults));
  return state;
}

}  // namespace tellegen
