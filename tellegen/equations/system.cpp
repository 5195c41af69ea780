#include "tellegen/equations/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <unordered_map>

#include "tellegen/equations/delayed.h"

namespace tellegen {
namespace {

Expr named_rate(Pool& pool, Expr symbol) { return pool.symbol("der(" + symbol.name() + ")"); }

// The reader checks names; what it lets through and nothing here knows is a derivative.
Fault derivative_in_value(Expr symbol, const Place& place) {
  return {place,
          "T216",
          fmt::format("'{}' cannot be used in a value", symbol.name()),
          {"a derivative is known inside its component only; write it as the component's equation gives it"}};
}

// Symbols that only mean something inside a group: they cannot clash with a kind's own names.
Expr reference_symbol(Pool& pool, int k) { return pool.symbol(fmt::format("${}", k)); }
Expr parameter_symbol(Pool& pool, const std::string& name) { return pool.symbol("$" + name); }

// Model-level names that stand for something else: outputs of kinds and inputs are replaced by what they
// mean until only parameters, `t` and variables are left.
class NameResolver {
 public:
  explicit NameResolver(const Model& model) : model_(model) {
    for (int i = 0; i < static_cast<int>(model.parameters.size()); ++i)
      parameter_[model.parameters[i].symbol] = i;
    for (const ModelInput& input : model.inputs) input_[input.symbol] = input.value;
  }

  Expr expand(Expr e) {
    if (auto known = expanded_.find(e); known != expanded_.end()) return known->second;
    Expr result = e;
    for (;;) {
      ExprMap<Expr> replacements;
      for (Expr s : symbols_of(std::span(&result, 1))) {
        if (auto input = input_.find(s); input != input_.end()) {
          replacements[s] = input->second;
        } else if (!parameter_.contains(s)) {
          const auto ref = find_variable(model_, s.name());
          if (ref && ref->what == VariableRef::What::output) replacements[s] = output_value(model_, *ref);
        }
      }
      if (replacements.empty()) break;
      result = substitute(result, replacements);
    }
    expanded_[e] = result;
    return result;
  }

  std::optional<int> parameter(Expr symbol) const {
    const auto found = parameter_.find(symbol);
    return found == parameter_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const Model& model_;
  ExprMap<int> parameter_;
  ExprMap<Expr> input_;
  ExprMap<Expr> expanded_;
};

// One parameter given as an expression: the same expression in group symbols, and what these stand for.
struct Shape {
  Expr formula;
  std::vector<VariableRef> references;
  std::vector<int> parameters;  // model parameters
};

class SystemBuilder {
 public:
  explicit SystemBuilder(const Model& model) : model_(model), names_(model) { system_.model = &model; }

  EquationSystem build() {
    system_.graph = build_graph(model_);
    system_.tree = normal_tree(system_.graph);
    system_.node_columns = system_.graph.node_count() - 1;
    system_.through_columns = system_.graph.edge_count();
    const auto count = model_.components.size();
    system_.first_internal.resize(count);
    for (std::size_t c = 0; c < count; ++c) {
      system_.first_internal[c] = system_.internal_columns;
      system_.internal_columns += static_cast<int>(model_.kinds[model_.components[c].kind].variables.size());
    }
    for (const Kind& kind : model_.kinds) {
      std::vector<Expr> residuals;
      for (const KindEquation& q : kind.equations) residuals.push_back(q.residual);
      const auto used = symbols_of(residuals);
      used_.emplace_back(used.begin(), used.end());
      residuals_.push_back(std::move(residuals));
    }
    find_references();
    system_.group_of.resize(count);
    system_.member_of.resize(count);
    std::int32_t row = system_.node_columns;
    for (std::size_t c = 0; c < count; ++c) {
      add(static_cast<int>(c), row);
      row += static_cast<std::int32_t>(model_.kinds[model_.components[c].kind].equations.size());
    }
    number_rates();
    collect_discrete();
    return std::move(system_);
  }

 private:
  // Which variables of a component do others refer to? They must stay visible when a component is condensed.
  void find_references() {
    // Outputs of a mechanism share most of their nodes, from link to link: one walk over all of them.
    std::vector<Expr> formulas, written_out;
    for (const Component& c : model_.components)
      for (const ParameterValue& v : c.values)
        if (v.value && !v.constant) formulas.push_back(v.value);
    for (Expr s : symbols_of(formulas)) written_out.push_back(names_.expand(s));
    for (Expr s : symbols_of(written_out))
      if (const auto ref = variable(s)) refer(*ref);
  }

  // What no equation of the kind has makes no difference to them.
  bool is_formula(const Component& component, std::size_t k) const {
    const ParameterValue& v = component.values[k];
    return !v.table && v.value && !v.constant &&
           used_[component.kind].contains(
               model_.pool->symbol(model_.kinds[component.kind].parameters[k].name));
  }

  void refer(const VariableRef& ref) {
    if (ref.what == VariableRef::What::node) {
      refer_to_node(ref.node);
    } else if (ref.what == VariableRef::What::across) {
      const Component& component = model_.components[ref.component];
      const KindEdge& edge = model_.kinds[component.kind].edges[ref.index];
      for (int end : {edge.from, edge.to})
        if (end >= 0) refer_to_node(component.nodes[end]);
    } else {
      referred_[ref.component].insert({ref.what, ref.index});
    }
  }

  void refer_to_node(int node) {
    const int c = model_.nodes[node].component;
    if (c < 0) return;  // an ordinary node, visible anyway
    const auto& nodes = model_.components[c].nodes;
    const auto at = std::find(nodes.begin(), nodes.end(), node) - nodes.begin();
    referred_[c].insert({VariableRef::What::node, static_cast<int>(at)});
  }

  std::optional<VariableRef> variable(Expr symbol) const {
    if (names_.parameter(symbol) || symbol.name() == "t") return std::nullopt;
    return find_variable(model_, symbol.name());
  }

  Shape shape_of(Expr value, int first_reference, const Place& place) {
    Shape shape;
    const Expr formula = names_.expand(value);
    ExprMap<Expr> replacements;
    for (Expr s : symbols_of(std::span(&formula, 1))) {
      if (const auto p = names_.parameter(s)) {
        replacements[s] = parameter_symbol(*model_.pool, model_.parameters[*p].name);
        shape.parameters.push_back(*p);
      } else if (s.name() == "t") {
        continue;
      } else if (const auto ref = variable(s)) {
        const int k = first_reference + static_cast<int>(shape.references.size());
        replacements[s] = reference_symbol(*model_.pool, k);
        shape.references.push_back(*ref);
      } else {
        throw ModelError(derivative_in_value(s, place));
      }
    }
    shape.formula = substitute(formula, replacements);
    return shape;
  }

  void add(int c, std::int32_t first_row) {
    const Component& component = model_.components[c];
    const Kind& kind = model_.kinds[component.kind];
    std::vector<Shape> shapes;
    std::vector<const void*> key{&kind};
    int references = 0;
    for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
      const ParameterValue& v = component.values[k];
      if (v.table) {
        key.push_back(v.table.get());
      } else if (is_formula(component, k)) {
        shapes.push_back(shape_of(v.value, references, component.place));
        references += static_cast<int>(shapes.back().references.size());
        // The first expression of a pool has the number 0, and is not the same as a number.
        key.push_back(
            reinterpret_cast<const void*>(static_cast<std::uintptr_t>(shapes.back().formula.id()) * 2 + 1));
      } else {
        key.push_back(nullptr);
      }
    }
    const auto referred = referred_.find(c);
    std::vector<std::pair<VariableRef::What, int>> kept;
    if (referred != referred_.end()) kept.assign(referred->second.begin(), referred->second.end());
    for (const auto& [what, index] : kept)
      key.push_back(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(index * 8 + int(what) + 1)));

    auto [found, is_new] = groups_.try_emplace(std::move(key), static_cast<int>(system_.groups.size()));
    if (is_new) system_.groups.push_back(make_group(component, kind, shapes, kept));
    Group& group = system_.groups[found->second];
    system_.group_of[c] = found->second;
    system_.member_of[c] = group.size();
    add_member(group, c, first_row, shapes);
  }

  Group make_group(const Component& component, const Kind& kind, const std::vector<Shape>& shapes,
                   const std::vector<std::pair<VariableRef::What, int>>& kept) {
    Pool& pool = *model_.pool;
    Group group;
    group.kind = component.kind;
    group.time = pool.symbol("t");
    const auto& used = used_[component.kind];
    const auto is_kept = [&](VariableRef::What what, int index) {
      return std::find(kept.begin(), kept.end(), std::pair(what, index)) != kept.end();
    };
    using What = LocalSymbol::What;
    const auto declare = [&](What what, int index, Expr symbol, bool keep) {
      const Expr rate = named_rate(pool, symbol);
      group.symbols.push_back({what, index, symbol, used.contains(rate) ? rate : Expr()});
      group.keep.push_back(keep);
    };
    for (int e = 0; e < static_cast<int>(kind.edges.size()); ++e)
      declare(What::across, e, kind.edges[e].across, false);
    for (int e = 0; e < static_cast<int>(kind.edges.size()); ++e)
      declare(What::through, e, kind.edges[e].through, is_kept(VariableRef::What::through, e));
    for (int k = 0; k < static_cast<int>(kind.variables.size()); ++k)
      declare(What::internal, k, kind.variables[k].symbol, is_kept(VariableRef::What::internal, k));
    for (int k = 0; k < static_cast<int>(kind.nodes.size()); ++k)
      if (kind.nodes[k].across && used.contains(kind.nodes[k].across))
        declare(What::node, k, kind.nodes[k].across, false);

    // Parameters given by an expression take its formula; the others are numbers of each member.
    ExprMap<Expr> replacements;
    TableMap tables;
    std::size_t next_shape = 0;
    int references = 0;
    std::set<int> model_parameters;
    for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
      const KindParameter& p = kind.parameters[k];
      const ParameterValue& v = component.values[k];
      const Expr symbol = pool.symbol(p.name);
      if (v.table) {
        tables[p.name] = v.table;
      } else if (is_formula(component, k)) {
        const Shape& shape = shapes[next_shape++];
        replacements[symbol] = shape.formula;
        model_parameters.insert(shape.parameters.begin(), shape.parameters.end());
        for (std::size_t r = 0; r < shape.references.size(); ++r, ++references)
          declare(What::external, references, reference_symbol(pool, references), false);
      } else if (used.contains(symbol)) {
        group.parameters.push_back(symbol);
      }
    }
    for (int p : model_parameters)
      group.parameters.push_back(parameter_symbol(pool, model_.parameters[p].name));
    for (const KindDiscrete& d : kind.discrete) {
      group.held.push_back(static_cast<int>(group.parameters.size()));
      group.parameters.push_back(d.held);
    }
    for (Expr r : residuals_[component.kind])
      group.residuals.push_back(replacements.empty() && tables.empty() ? r
                                                                       : substitute(r, replacements, tables));
    for (int k = 0; k < static_cast<int>(kind.nodes.size()); ++k)
      group.keep_node.push_back(is_kept(VariableRef::What::node, k));
    group.plus.resize(group.symbols.size());
    group.minus.resize(group.symbols.size());
    group.values.resize(group.parameters.size());
    for (int s = 0; s < static_cast<int>(group.symbols.size()); ++s)
      if (group.symbols[s].rate) group.rated.push_back(s);
    for (const KindDiscrete& d : kind.discrete) group.additive.push_back(is_additive(group, d.held));
    return group;
  }

  static bool is_additive(const Group& group, Expr held) {
    for (Expr residual : group.residuals)
      for (const LocalSymbol& s : group.symbols)
        for (Expr x : {s.symbol, s.rate})
          if (x && depends_on(derivative(residual, x), held)) return false;
    return true;
  }

  void add_member(Group& group, int c, std::int32_t first_row, const std::vector<Shape>& shapes) {
    const Component& component = model_.components[c];
    const Kind& kind = model_.kinds[component.kind];
    std::vector<VariableRef> references;
    std::map<std::string, double, std::less<>> numbers;
    for (const Shape& s : shapes) {
      references.insert(references.end(), s.references.begin(), s.references.end());
      for (int p : s.parameters) numbers["$" + model_.parameters[p].name] = model_.parameters[p].number;
    }
    std::size_t slot = 0;
    for (std::size_t k = 0; k < kind.parameters.size() && slot < group.parameters.size(); ++k)
      if (group.parameters[slot].name() == kind.parameters[k].name)
        group.values[slot++].push_back(component.values[k].number);
    const std::size_t held = group.parameters.size() - group.held.size();
    for (; slot < held; ++slot) group.values[slot].push_back(numbers.at(group.parameters[slot].name()));
    for (const KindDiscrete& d : kind.discrete) group.values[slot++].push_back(constant(component, d.start));

    for (std::size_t s = 0; s < group.symbols.size(); ++s) {
      const LocalSymbol& local = group.symbols[s];
      std::pair<std::int32_t, std::int32_t> at{-1, -1};
      switch (local.what) {
        case LocalSymbol::What::across:
          at = ends(c, local.index);
          break;
        case LocalSymbol::What::through:
          at.first = through(c, local.index);
          break;
        case LocalSymbol::What::internal:
          at.first = system_.internal_column(c, local.index);
          break;
        case LocalSymbol::What::node:
          at.first = node(component.nodes[local.index]);
          break;
        case LocalSymbol::What::external:
          at = columns(references[local.index]);
          break;
      }
      group.plus[s].push_back(at.first);
      group.minus[s].push_back(at.second);
    }
    group.components.push_back(c);
    group.first_row.push_back(first_row);
  }

  // A formula of parameters of a kind, as a number of one component.
  double constant(const Component& component, Expr value) const {
    const Kind& kind = model_.kinds[component.kind];
    ExprMap<double> numbers;
    for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
      const Expr symbol = model_.pool->symbol(kind.parameters[k].name);
      if (!depends_on(value, symbol)) continue;
      if (!component.values[k].constant)
        throw ModelError(
            {component.place,
             "T217",
             fmt::format("parameter '{}' of '{}' must be constant", kind.parameters[k].name, component.name),
             {fmt::format("kind '{}' uses it for the start or the sample time of a discrete "
                          "variable",
                          kind.name)}});
      numbers[symbol] = component.values[k].number;
    }
    return evaluate(value, numbers);
  }

  void collect_discrete() {
    for (std::size_t c = 0; c < model_.components.size(); ++c) {
      const Component& component = model_.components[c];
      const Kind& kind = model_.kinds[component.kind];
      for (std::size_t k = 0; k < kind.discrete.size(); ++k) {
        const KindDiscrete& d = kind.discrete[k];
        Discrete discrete;
        discrete.group = system_.group_of[c];
        discrete.member = system_.member_of[c];
        discrete.held = static_cast<int>(k);
        discrete.column = system_.internal_column(static_cast<int>(c), d.variable);
        discrete.update = in_columns(system_, in_full_names(model_, static_cast<int>(c), d.update));
        discrete.external = d.update == d.held || is_delayed(d.update);
        discrete.start = constant(component, d.start);
        discrete.name = component.name + "." + kind.variables[d.variable].name;
        if (d.every) {
          discrete.every = constant(component, d.every);
          if (!(discrete.every > 0.0))
            throw ModelError({component.place,
                              "T217",
                              fmt::format("the sample time of '{}' must be positive, it is {:g} s",
                                          discrete.name, discrete.every),
                              {}});
        }
        system_.discrete.push_back(std::move(discrete));
      }
    }
  }

  std::int32_t node(int model_node) const {
    return system_.node_column(system_.graph.graph_node[model_node]);
  }
  std::int32_t through(int c, int edge) const {
    return system_.through_column(EdgeIndex{system_.graph.first_edge[c] + edge});
  }
  std::pair<std::int32_t, std::int32_t> ends(int c, int edge) const {
    const GraphEdge& e = system_.graph.edges[system_.graph.first_edge[c] + edge];
    return {system_.node_column(e.from), system_.node_column(e.to)};
  }
  std::pair<std::int32_t, std::int32_t> columns(const VariableRef& ref) const {
    switch (ref.what) {
      case VariableRef::What::node:
        return {node(ref.node), -1};
      case VariableRef::What::across:
        return ends(ref.component, ref.index);
      case VariableRef::What::through:
        return {through(ref.component, ref.index), -1};
      case VariableRef::What::internal:
        return {system_.internal_column(ref.component, ref.index), -1};
      case VariableRef::What::output:
        break;
    }
    assert(false && "outputs are expanded before this");
    return {-1, -1};
  }

  void number_rates() {
    for (int g = 0; g < static_cast<int>(system_.groups.size()); ++g) {
      Group& group = system_.groups[g];
      group.first_rate.reserve(group.components.size());
      for (std::int32_t m = 0; m < group.size(); ++m) {
        group.first_rate.push_back(static_cast<std::int32_t>(system_.rates.size()));
        for (int s : group.rated) system_.rates.push_back({g, m, s});
      }
    }
  }

  const Model& model_;
  NameResolver names_;
  EquationSystem system_;
  std::vector<std::set<Expr>> used_;          // per kind: symbols of its equations
  std::vector<std::vector<Expr>> residuals_;  // per kind
  std::unordered_map<int, std::set<std::pair<VariableRef::What, int>>> referred_;
  std::map<std::vector<const void*>, int> groups_;
};

}  // namespace

EquationSystem build_system(const Model& model) {
  EquationSystem system = SystemBuilder(model).build();
  // Sums are ordered by the age of their terms: symbols of columns are made here, in order, so that it does
  // not matter which output asks for which column first.
  for (std::int32_t c = 0; c < system.size(); ++c) column_symbol(system, c);
  return system;
}

Expr column_symbol(const EquationSystem& system, std::int32_t column) {
  return system.model->pool->symbol(fmt::format("x{}", column));
}

Expr discrete_symbol(const EquationSystem& system, std::int32_t k) {
  return system.model->pool->symbol(fmt::format("h{}", k));
}

Expr expand_names(const Model& model, Expr value) { return NameResolver(model).expand(value); }

Expr in_columns(const EquationSystem& system, Expr value) {
  const Model& model = *system.model;
  Pool& pool = *model.pool;
  const Expr result = expand_names(model, value);
  ExprMap<Expr> replacements;
  const auto at = [&](std::int32_t column) {
    return column < 0 ? pool.number(0) : column_symbol(system, column);
  };
  for (const ModelParameter& p : model.parameters) replacements[p.symbol] = pool.number(p.number);
  for (Expr s : symbols_of(std::span(&result, 1))) {
    if (replacements.contains(s) || s.name() == "t") continue;
    const auto ref = find_variable(model, s.name());
    if (!ref) throw ModelError(derivative_in_value(s, {model.file.string(), 0}));
    switch (ref->what) {
      case VariableRef::What::node:
        replacements[s] = at(system.node_column(system.graph.graph_node[ref->node]));
        break;
      case VariableRef::What::across: {
        const GraphEdge& e = system.graph.edges[system.graph.first_edge[ref->component] + ref->index];
        replacements[s] = at(system.node_column(e.from)) - at(system.node_column(e.to));
        break;
      }
      case VariableRef::What::through:
        replacements[s] =
            at(system.through_column(EdgeIndex{system.graph.first_edge[ref->component] + ref->index}));
        break;
      case VariableRef::What::internal:
        replacements[s] = at(system.internal_column(ref->component, ref->index));
        break;
      case VariableRef::What::output:
        break;
    }
  }
  return substitute(result, replacements);
}

}  // namespace tellegen
