#include "tellegen/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace {

using What = VariableRef::What;

// Whether the rate of an edge's across is in the equations of its kind.
bool has_rate(const Kind& kind, int edge) {
  const std::string rate = "der(" + kind.edges[edge].across.name() + ")";
  return std::any_of(kind.equations.begin(), kind.equations.end(), [&](const KindEquation& equation) {
    const std::vector<Expr> used = symbols_of(std::span(&equation.residual, 1));
    return std::any_of(used.begin(), used.end(), [&](Expr symbol) { return symbol.name() == rate; });
  });
}

std::string node_variable(const Model& model, int node) {
  const ModelNode& n = model.nodes[node];
  return n.name + "." + model.domains[n.domain].node;
}

}  // namespace

std::optional<VariableRef> find_in_component(const Model& model, int component, std::string_view name) {
  const Kind& kind = model.kinds[model.components[component].kind];
  const auto ref = [&](What what, std::size_t index) {
    return VariableRef{.what = what, .node = -1, .component = component, .index = static_cast<int>(index)};
  };
  const auto dot = name.rfind('.');
  for (std::size_t k = 0; k < kind.edges.size(); ++k) {
    const Domain& domain = model.domains[kind.edges[k].domain];
    const bool bare = dot == std::string_view::npos && one_edge_name(kind);
    if (!bare && (dot == std::string_view::npos || name.substr(0, dot) != kind.edges[k].name)) continue;
    const std::string_view tail = bare ? name : name.substr(dot + 1);
    if (tail == domain.across) return ref(What::across, k);
    if (tail == domain.through) return ref(What::through, k);
  }
  for (std::size_t k = 0; k < kind.variables.size(); ++k)
    if (kind.variables[k].name == name) return ref(What::internal, k);
  for (std::size_t k = 0; k < kind.outputs.size(); ++k)
    if (kind.outputs[k].name == name) return ref(What::output, k);
  return std::nullopt;
}

namespace {

// The formula of an output called V(a) or I(r1), with `inner` the text between the brackets; empty: none.
Expr displayed_formula(const Model& model, char letter, std::string_view inner) {
  std::string name = {letter, '('};
  for (const char c : inner)
    if (c != ' ') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name == "V(0" || name == "V(gnd") return model.pool->number(0.0);
  const auto found = model.formulas.find(name + ")");
  return found == model.formulas.end() ? Expr() : found->second;
}

// V(a), V(a, b) and I(r1) in any case, where there are such outputs, replaced by symbols.
std::string with_symbols(const Model& model, std::string_view text, ExprMap<Expr>& meanings) {
  std::string result;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(text[k])));
    const auto word = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
    const auto close = text.find(')', k);
    const bool starts = (letter == 'V' || letter == 'I') && text.substr(k + 1).starts_with('(') &&
                        close != std::string_view::npos && (k == 0 || !word(text[k - 1]));
    Expr formula;
    if (starts) {
      const std::string_view inner = text.substr(k + 2, close - k - 2);
      const auto comma = inner.find(',');
      formula = displayed_formula(model, letter, inner.substr(0, comma));
      if (formula && comma != std::string_view::npos) {
        const Expr second = displayed_formula(model, letter, inner.substr(comma + 1));
        formula = letter == 'V' && second ? formula - second : Expr();
      }
    }
    if (!formula) {
      result += text[k];
      continue;
    }
    const std::string name = fmt::format("$display{}", meanings.size());
    meanings[model.pool->symbol(name)] = formula;
    result += name;
    k = close;
  }
  return result;
}

}  // namespace

std::optional<VariableRef> find_variable(const Model& model, std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string head(name.substr(0, dot));
  const std::string_view tail = name.substr(dot + 1);
  if (const auto node = model.node_by_name.find(head); node != model.node_by_name.end()) {
    const int domain = model.nodes[node->second].domain;
    if (domain >= 0 && model.domains[domain].node == tail) {
      // A storage named as its node: the same variable, and of the two the storage's has a rate.
      if (const auto same = model.component_by_name.find(head); same != model.component_by_name.end())
        if (const auto own = find_in_component(model, same->second, tail);
            own && own->what == What::across &&
            has_rate(model.kinds[model.components[same->second].kind], own->index))
          return own;
      return VariableRef{.what = What::node, .node = node->second, .component = -1, .index = -1};
    }
  }
  // A node of another graph (of sensitivities) has the same name, and goes by its variable's.
  if (const auto node = model.node_by_name.find(std::string(name)); node != model.node_by_name.end())
    if (node_variable(model, node->second) == name)
      return VariableRef{.what = What::node, .node = node->second, .component = -1, .index = -1};
  if (const auto found = model.component_by_name.find(head); found != model.component_by_name.end())
    return find_in_component(model, found->second, tail);
  const auto second = head.rfind('.');
  if (second == std::string::npos) return std::nullopt;
  const auto found = model.component_by_name.find(head.substr(0, second));
  if (found == model.component_by_name.end()) return std::nullopt;
  return find_in_component(model, found->second, name.substr(second + 1));
}

std::string variable_name(const Model& model, const VariableRef& ref) {
  if (ref.what == What::node) return node_variable(model, ref.node);
  const Component& component = model.components[ref.component];
  const Kind& kind = model.kinds[component.kind];
  std::string name = component.name + ".";
  if (ref.what == What::internal) return name + kind.variables[ref.index].name;
  if (ref.what == What::output) return name + kind.outputs[ref.index].name;
  const KindEdge& edge = kind.edges[ref.index];
  const Domain& domain = model.domains[edge.domain];
  if (!one_edge_name(kind)) name += edge.name + ".";
  return name + (ref.what == What::across ? domain.across : domain.through);
}

std::string variable_unit(const Model& model, const VariableRef& ref) {
  if (ref.what == What::node) return model.domains[model.nodes[ref.node].domain].across_unit;
  const Kind& kind = model.kinds[model.components[ref.component].kind];
  switch (ref.what) {
    case What::internal:
      return kind.variables[ref.index].unit;
    case What::output:
      return kind.outputs[ref.index].unit;
    case What::across:
      return model.domains[kind.edges[ref.index].domain].across_unit;
    default:
      return model.domains[kind.edges[ref.index].domain].through_unit;
  }
}

Expr output_value(const Model& model, const VariableRef& ref) {
  const Kind& kind = model.kinds[model.components[ref.component].kind];
  return in_full_names(model, ref.component, kind.outputs[ref.index].value);
}

// Of the ports named, no two on one node.
static void check_distinct(const Model& model, const Component& component, std::string_view ports,
                           FaultList& faults) {
  const Kind& kind = model.kinds[component.kind];
  std::vector<int> named;
  for (int k = 0; k < kind.port_count; ++k)
    if ((" " + std::string(ports) + " ").find(" " + kind.nodes[k].name + " ") != std::string::npos)
      named.push_back(k);
  for (std::size_t i = 0; i < named.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (component.nodes[named[i]] == component.nodes[named[j]])
        faults.add(
            component.place, "T134",
            fmt::format("'{}' has its ports '{}' and '{}' joined to one node, '{}'", component.name,
                        kind.nodes[named[j]].name, kind.nodes[named[i]].name,
                        model.nodes[component.nodes[named[i]]].name),
            {"each needs a node of its own; a short circuit goes through a switch or a small resistance"});
}

void check_requirements(const Model& model, int index, FaultList& faults) {
  const Component& component = model.components[index];
  const Kind& kind = model.kinds[component.kind];
  for (const KindRequirement& requirement : kind.requirements) {
    if (!requirement.condition) {
      check_distinct(model, component, requirement.text, faults);
      continue;
    }
    ExprMap<double> numbers;
    std::string given;
    bool known = true;
    for (Expr s : symbols_of(std::span(&requirement.condition, 1)))
      for (std::size_t k = 0; k < kind.parameters.size(); ++k)
        if (kind.parameters[k].name == s.name()) {
          const ParameterValue& v = component.values[k];
          known = known && v.value && v.constant;
          numbers[s] = v.number;
          given += fmt::format("{}{} = {:g}", given.empty() ? "" : ", ", s.name(), v.number);
        }
    if (known && evaluate(requirement.condition, numbers) == 0.0)
      faults.add(component.place, "T133", fmt::format("'{}': {}", component.name, requirement.message),
                 {"required: " + requirement.text, "given: " + given});
  }
}

Expr in_full_names(const Model& model, int index, Expr local_value) {
  const Component& component = model.components[index];
  const Kind& kind = model.kinds[component.kind];
  Pool& pool = *model.pool;
  ExprMap<Expr> replacements;
  TableMap tables;
  const auto variable = [&](Expr local, What what, std::size_t of_kind) {
    const VariableRef full{.what = what, .node = -1, .component = index, .index = static_cast<int>(of_kind)};
    const std::string name = variable_name(model, full);
    replacements[local] = pool.symbol(name);
    replacements[pool.symbol("der(" + local.name() + ")")] = pool.symbol("der(" + name + ")");
  };
  for (std::size_t k = 0; k < kind.edges.size(); ++k) {
    variable(kind.edges[k].across, What::across, k);
    variable(kind.edges[k].through, What::through, k);
  }
  for (std::size_t k = 0; k < kind.variables.size(); ++k)
    variable(kind.variables[k].symbol, What::internal, k);
  for (const KindDiscrete& d : kind.discrete) variable(d.held, What::internal, d.variable);
  for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
    const ParameterValue& value = component.values[k];
    if (value.table) tables[kind.parameters[k].name] = value.table;
    if (value.value) replacements[pool.symbol(kind.parameters[k].name)] = value.value;
  }
  for (std::size_t k = 0; k < kind.nodes.size(); ++k) {
    if (!kind.nodes[k].across) continue;
    const int node = component.nodes[k];
    replacements[kind.nodes[k].across] =
        model.nodes[node].datum ? pool.number(0.0) : pool.symbol(node_variable(model, node));
  }
  return substitute(local_value, replacements, tables);
}

bool is_display_name(std::string_view name) {
  return name.size() > 3 && (name.starts_with("V(") || name.starts_with("I(")) && name.ends_with(')') &&
         name.find_first_of("(),", 2) == name.size() - 1;
}

Expr parse_value(const Model& model, std::string_view given, const Place& place) {
  Pool& pool = *model.pool;
  ExprMap<Expr> displayed;
  const std::string text = with_symbols(model, given, displayed);
  Expr value;
  try {
    if (const auto quantity = units().parse(text)) return pool.number(quantity->si);
    value = parse(pool, text, model.tables,
                  [&](std::string_view name) { return element_names(model.arrays, name); });
  } catch (const UnknownUnit& error) {
    throw ModelError({place, "T122", error.what(), {}});
  } catch (const ParseError& error) {
    throw ModelError(
        {place, "T120", fmt::format("the expression cannot be read: {}", error.what()), shown(text, error)});
  }
  FaultList faults;
  ExprMap<Expr> replacements;
  for (Expr symbol : symbols_of(std::span(&value, 1))) {
    if (const auto formula = displayed.find(symbol); formula != displayed.end()) {
      replacements[symbol] = formula->second;
      continue;
    }
    std::string_view name = symbol.name();
    const bool rate = name.starts_with("der(") && name.ends_with(")");
    if (rate) name = name.substr(4, name.size() - 5);
    if (const auto ref = find_variable(model, name)) {
      const std::string full = variable_name(model, *ref);
      if (full != name) replacements[symbol] = pool.symbol(rate ? "der(" + full + ")" : full);
      continue;
    }
    if (!rate) {
      if (name == "t") continue;
      const auto is_it = [&](const auto& named) { return named.symbol == symbol; };
      if (std::any_of(model.parameters.begin(), model.parameters.end(), is_it)) continue;
      if (std::any_of(model.inputs.begin(), model.inputs.end(), is_it)) continue;
      if (const auto formula = model.formulas.find(std::string(name)); formula != model.formulas.end()) {
        replacements[symbol] = formula->second;
        continue;
      }
    }
    std::vector<std::string> known = names_near(model, name);
    faults.add(place, "T121", fmt::format("there is no variable, parameter or output '{}'", name),
               {did_you_mean(name, known)});
  }
  faults.throw_if_any();
  return replacements.empty() ? value : substitute(value, replacements);
}

std::vector<std::string> names_near(const Model& model, std::string_view name) {
  constexpr std::size_t most = 50'000;  // beyond, a suggestion costs more than it helps
  std::vector<std::string> names{"t"};
  for (const auto& parameter : model.parameters) names.push_back(parameter.name);
  for (const auto& input : model.inputs) names.push_back(input.name);
  for (const auto& [formula, value] : model.formulas) names.push_back(formula);
  const auto variables_of = [&](int c) {
    const Kind& kind = model.kinds[model.components[c].kind];
    const auto add = [&](What what, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k)
        names.push_back(
            variable_name(model, {.what = what, .node = -1, .component = c, .index = static_cast<int>(k)}));
    };
    add(What::across, kind.edges.size());
    add(What::through, kind.edges.size());
    add(What::internal, kind.variables.size());
    add(What::output, kind.outputs.size());
  };
  // Where the first part is right, the rest is what is wrong.
  const std::string head(name.substr(0, name.rfind('.')));
  if (const auto c = model.component_by_name.find(head); c != model.component_by_name.end()) {
    names.clear();
    variables_of(c->second);
    return names;
  }
  if (model.nodes.size() + model.components.size() > most) return names;
  for (std::size_t n = 0; n < model.nodes.size(); ++n)
    if (!model.nodes[n].datum && model.nodes[n].domain >= 0)
      names.push_back(node_variable(model, static_cast<int>(n)));
  for (std::size_t c = 0; c < model.components.size(); ++c) variables_of(static_cast<int>(c));
  return names;
}

}  // namespace tellegen
