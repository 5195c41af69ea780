#include "tellegen/equations/symbolic_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tellegen/graph/faults.h"
#include "tellegen/model/reading.h"

namespace tellegen {
namespace {

class SymbolicBuilder {
 public:
  SymbolicBuilder(const Model& model, std::span<const std::string> own)
      : model_(model), pool_(*model.pool), own_(own.begin(), own.end()) {
    for (const ModelInput& input : model.inputs) inputs_[input.symbol] = input.value;
  }

  SymbolicModel build() {
    result_.model = &model_;
    result_.graph = build_graph(model_);
    const LinearGraph& graph = result_.graph;
    const std::vector<Fault> faults = topology_faults(model_, graph, normal_tree(graph));
    if (!faults.empty()) throw ModelError(faults);
    // Factors stand in the order in which symbols are made: parameters first.
    for (int c = 0; c < static_cast<int>(model_.components.size()); ++c)
      for (int k = 0; k < static_cast<int>(model_.components[c].values.size()); ++k)
        if (model_.components[c].values[k].value) value_of(c, k);
    for (const GraphEdge& e : graph.edges) {
      result_.across.push_back(named({VariableRef::What::across, -1, e.component, e.edge}));
      result_.through.push_back(named({VariableRef::What::through, -1, e.component, e.edge}));
    }
    for (const std::int32_t n : graph.model_node)
      result_.node.push_back(n < 0 ? Expr() : named({VariableRef::What::node, n, -1, -1}));
    for (int c = 0; c < static_cast<int>(model_.components.size()); ++c) {
      const Kind& kind = model_.kinds[model_.components[c].kind];
      for (int k = 0; k < static_cast<int>(kind.variables.size()); ++k)
        result_.internal.push_back(named({VariableRef::What::internal, -1, c, k}));
      for (const KindDiscrete& d : kind.discrete) result_.held.push_back(held(c, d));
      for (const KindEquation& q : kind.equations) {
        result_.terminal.push_back(expand(in_names(c, q.residual)));
        result_.component.push_back(c);
      }
    }
    collect_parameters();
    return std::move(result_);
  }

 private:
  Expr named(const VariableRef& ref) { return pool_.symbol(variable_name(model_, ref)); }
  Expr held(int c, const KindDiscrete& d) {
    return pool_.symbol("held(" + variable_name(model_, {VariableRef::What::internal, -1, c, d.variable}) +
                        ")");
  }

  // What the names of a component's kind stand for.
  struct Meanings {
    ExprMap<Expr> symbols;
    TableMap tables;
  };

  const Meanings& meanings(int c) {
    const auto [found, is_new] = meanings_.try_emplace(c);
    if (!is_new) return found->second;
    Meanings& m = found->second;
    const Component& component = model_.components[c];
    const Kind& kind = model_.kinds[component.kind];
    const auto variable = [&](Expr local, Expr full) {
      m.symbols[local] = full;
      m.symbols[rate_symbol(local)] = rate_symbol(full);
    };
    for (int e = 0; e < static_cast<int>(kind.edges.size()); ++e) {
      variable(kind.edges[e].across, named({VariableRef::What::across, -1, c, e}));
      variable(kind.edges[e].through, named({VariableRef::What::through, -1, c, e}));
    }
    for (int k = 0; k < static_cast<int>(kind.variables.size()); ++k)
      variable(kind.variables[k].symbol, named({VariableRef::What::internal, -1, c, k}));
    for (const KindDiscrete& d : kind.discrete) m.symbols[d.held] = held(c, d);
    for (std::size_t n = 0; n < kind.nodes.size(); ++n) {
      if (!kind.nodes[n].across) continue;
      const int node = component.nodes[n];
      if (!model_.nodes[node].datum) {
        variable(kind.nodes[n].across, named({VariableRef::What::node, node, -1, -1}));
      } else {
        m.symbols[kind.nodes[n].across] = pool_.number(0.0);
        m.symbols[rate_symbol(kind.nodes[n].across)] = pool_.number(0.0);
      }
    }
    for (int k = 0; k < static_cast<int>(kind.parameters.size()); ++k) {
      const KindParameter& parameter = kind.parameters[k];
      const ParameterValue& v = component.values[k];
      if (v.table) m.tables[parameter.name] = v.table;
      if (v.value) m.symbols[pool_.symbol(parameter.name)] = value_of(c, k);
    }
    return m;
  }

  Expr value_of(int c, int k) {
    const Component& component = model_.components[c];
    const KindParameter& parameter = model_.kinds[component.kind].parameters[k];
    const ParameterValue& v = component.values[k];
    const std::string name = component.name + "." + parameter.name;
    // A derivative of a parameter's value is what it is: 1, mostly.
    const bool given = v.value.is_number() && !parameter.name.starts_with("d(");
    if (!given && !own_.contains(name)) return v.value;
    // A heat source's parameter Q beside its variable Q.
    const Expr symbol = pool_.symbol(find_variable(model_, name) ? name + "_given" : name);
    own_of_[symbol] = {name, parameter.unit, v.number, -1, c, k};
    return symbol;
  }

  Expr in_names(int c, Expr local) {
    const Meanings& m = meanings(c);
    return substitute(local, m.symbols, m.tables);
  }

  Expr expand(Expr e) {
    for (;;) {
      ExprMap<Expr> replacements;
      for (Expr s : symbols_of(std::span(&e, 1))) {
        if (const auto input = inputs_.find(s); input != inputs_.end()) {
          replacements[s] = input->second;
        } else if (own_of_.contains(s)) {
          continue;
        } else if (const auto ref = find_variable(model_, s.name());
                   ref && ref->what == VariableRef::What::output) {
          const Kind& kind = model_.kinds[model_.components[ref->component].kind];
          replacements[s] = in_names(ref->component, kind.outputs[ref->index].value);
        }
      }
      if (replacements.empty()) return e;
      e = substitute(e, replacements);
    }
  }

  void collect_parameters() {
    std::map<std::string, int> by_name;
    for (std::size_t k = 0; k < model_.parameters.size(); ++k)
      by_name[model_.parameters[k].name] = static_cast<int>(k);
    for (Expr s : symbols_of(result_.terminal)) {
      if (const auto own = own_of_.find(s); own != own_of_.end()) {
        add_parameter(s, own->second);
      } else if (const auto found = by_name.find(s.name()); found != by_name.end()) {
        const ModelParameter& p = model_.parameters[found->second];
        add_parameter(s, {p.name, p.unit, p.number, found->second, -1, -1});
      }
    }
  }

  void add_parameter(Expr symbol, const ParameterRef& ref) {
    result_.parameters.push_back(symbol);
    result_.numbers.push_back(ref.number);
    result_.own.push_back(ref);
  }

  const Model& model_;
  Pool& pool_;
  std::set<std::string> own_;
  ExprMap<Expr> inputs_;
  ExprMap<ParameterRef> own_of_;
  std::map<int, Meanings> meanings_;
  SymbolicModel result_;
};

std::string names_of(const std::vector<std::string>& names) {
  constexpr std::size_t longest = 12;
  if (names.size() <= longest) return joined(names);
  return joined({names.begin(), names.begin() + longest}) +
         fmt::format(" and {} more", names.size() - longest);
}

}  // namespace

Expr rate_symbol(Expr variable) { return variable.pool().symbol("der(" + variable.name() + ")"); }

SymbolicModel symbolic_model(const Model& model, std::span<const std::string> own) {
  std::size_t size = 0;
  for (const Component& c : model.components)
    size += model.kinds[c.kind].edges.size() + model.kinds[c.kind].variables.size();
  if (size > static_cast<std::size_t>(symbolic_limit))
    throw ModelError(
        {{model.file.string(), 0},
         "T225",
         fmt::format("the model is too large to be written out: {} edges and internal variables", size),
         {fmt::format("equations are written for up to {}; `tellegen check` counts those of any "
                      "model, `tellegen simulate` runs them",
                      symbolic_limit)}});
  return SymbolicBuilder(model, own).build();
}

Tree tree_of(const Model& model, const LinearGraph& graph, std::span<const std::string> edges) {
  FaultList faults;
  const Place place{model.file.string(), 0};
  std::map<std::string, EdgeIndex> by_name;
  std::vector<std::string> known;
  for (std::int32_t e = 0; e < graph.edge_count(); ++e) {
    known.push_back(edge_name(model, graph, {e}));
    by_name.try_emplace(known.back(), EdgeIndex{e});
  }
  std::vector<EdgeIndex> branches;
  for (const std::string& name : edges) {
    const auto found = by_name.find(name);
    if (found != by_name.end())
      branches.push_back(found->second);
    else
      faults.add(place, "T224", fmt::format("there is no edge '{}' for the tree", name),
                 {did_you_mean(name, known), "edges: " + names_of(known)});
  }
  faults.throw_if_any();
  if (const auto problem = check_tree(graph, branches)) {
    std::vector<std::string> closing, unreached;
    for (EdgeIndex e : problem->closes_circuit) closing.push_back(edge_name(model, graph, e));
    for (NodeIndex n : problem->unreached) unreached.push_back(node_name(model, graph, n));
    if (!closing.empty())
      faults.add(place, "T222",
                 fmt::format("{} in the tree closes a circuit with the edges before it", names_of(closing)),
                 {"a tree joins all nodes without a circuit: leave it out"});
    if (!unreached.empty())
      faults.add(place, "T223", fmt::format("the tree does not reach {}", names_of(unreached)),
                 {fmt::format("it needs {} edges, a path from every node to the datum of its domain",
                              graph.node_count() - 1)});
    faults.throw_if_any();
  }
  std::vector<std::int32_t> rank(graph.edges.size(), 1);
  for (EdgeIndex e : branches) rank[e.value] = 0;
  return tree_by_rank(graph, rank);
}

}  // namespace tellegen
