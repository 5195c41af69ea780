#include "tellegen/equations/sensitivity_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tellegen/model/fmu_component.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

// Not a name that a kind's author can choose.
std::string companion_name(const std::string& of, const std::string& parameter) {
  return fmt::format("d({})/d({})", of, parameter);
}

// SI unit of a sensitivity; empty where the parameter's own is not SI.
std::string per_unit(const std::string& unit, const ParameterRef& p) {
  if (p.unit.empty() || p.unit == "1") return unit;
  if (units().from_si(1.0, p.unit) != 1.0 || units().from_si(0.0, p.unit) != 0.0) return {};
  std::string result = (unit.empty() ? "1" : unit) + "/(" + p.unit + ")";
  return units().known(result) ? result : std::string();
}

template <class List, class Match>
int position(const List& list, Match match) {
  const auto found = std::find_if(list.begin(), list.end(), match);
  return found == list.end() ? -1 : static_cast<int>(found - list.begin());
}

class SensitivityGraph {
 public:
  SensitivityGraph(const Model& model, std::span<const std::string> parameters,
                   const DifferentiatedParts& own)
      : model_(model), pool_(*model.pool), own_(own), result_(model) {
    result_.kinds.clear();
    for (std::size_t n = 0; n < model.nodes.size(); ++n)
      if (model.nodes[n].datum) datum_copy_[model.nodes[n].domain] = static_cast<int>(n);
    std::set<std::string> names;
    for (const std::string& name : parameters) {
      wrt_.emplace_back(model, find_parameter(model, name));
      if (!names.insert(sensitivity_name("", name)).second)
        throw ModelError({{model.file.string(), 0},
                          "T220",
                          fmt::format("parameter '{}' is given twice", name),
                          {"sensitivities to 'a.b' and to 'a_b' would have the same names"}});
    }
  }

  Model build() {
    copy_domains();
    copy_nodes();
    for (std::size_t c = 0; c < model_.components.size(); ++c) extend(static_cast<int>(c));
    differentiate_formulas();
    return std::move(result_);
  }

 private:
  const std::string& name_of(std::size_t p) const { return wrt_[p].parameter().name; }
  Expr copied(Expr symbol, std::size_t p) {
    return symbol ? pool_.symbol(sensitivity_name(symbol.name(), name_of(p))) : Expr();
  }
  Expr rate(Expr symbol) { return pool_.symbol("der(" + symbol.name() + ")"); }

  void copy_domains() {
    for (std::size_t p = 0; p < wrt_.size(); ++p) {
      const ParameterRef& parameter = wrt_[p].parameter();
      // What is small for the sensitivity: a small change over a relative change of the parameter.
      const double per = parameter.number == 0.0 ? 1.0 : 1.0 / std::abs(parameter.number);
      std::vector<int> copies;
      for (const Domain& d : model_.domains) {
        const auto named = [&](const std::string& name) { return sensitivity_name(name, parameter.name); };
        Domain copy{named(d.name),
                    named(d.node),
                    named(d.across),
                    named(d.through),
                    per_unit(d.across_unit, parameter),
                    per_unit(d.through_unit, parameter),
                    per * d.across_scale,
                    per * d.through_scale};
        const int known = position(result_.domains, [&](const Domain& o) { return o.name == copy.name; });
        copies.push_back(known >= 0 ? known : static_cast<int>(result_.domains.size()));
        if (known < 0) result_.domains.push_back(std::move(copy));
      }
      domain_copy_.push_back(std::move(copies));
    }
  }

  void copy_nodes() {
    for (std::size_t p = 0; p < wrt_.size(); ++p) {
      std::vector<int> copies;
      for (const ModelNode& n : model_.nodes) {
        ModelNode copy = n;
        copy.domain = domain_copy(p, n.domain);
        const std::string key = n.name + "." + (copy.domain < 0 ? "" : result_.domains[copy.domain].node);
        const int next = static_cast<int>(result_.nodes.size());
        const auto [at, is_new] = n.datum ? tried(datum_copy_.try_emplace(copy.domain, next))
                                          : tried(result_.node_by_name.try_emplace(key, next));
        copies.push_back(at);
        if (is_new)
          result_.nodes.push_back(std::move(copy));
        else if (result_.nodes[at].domain != copy.domain)
          throw taken(key, "the model");
      }
      node_copy_.push_back(std::move(copies));
    }
  }

  template <class Tried>
  static std::pair<int, bool> tried(const Tried& result) {
    return {result.first->second, result.second};
  }
  int domain_copy(std::size_t p, int domain) const { return domain < 0 ? domain : domain_copy_[p][domain]; }

  ModelError taken(const std::string& name, const std::string& by) const {
    return ModelError({{model_.file.string(), 0},
                       "T221",
                       fmt::format("the name '{}' of a sensitivity is already taken", name),
                       {fmt::format("{} has a name of its own like it; rename the parameter", by)}});
  }

  // Components whose kinds differ only in what is zero or left out share their extended kind.
  void extend(int c) {
    Component& component = result_.components[c];
    const Kind& kind = model_.kinds[component.kind];
    std::vector<char> signature;
    for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
      const ParameterValue& v = model_.components[c].values[k];
      signature.push_back(!v.value && !v.table);
      for (ParameterDerivative& wrt : wrt_)
        signature.push_back(!wrt.of_component(c, static_cast<int>(k)).is_number(0.0));
    }
    const auto [found, is_new] = kinds_.try_emplace({component.kind, signature}, 0);
    if (is_new) {
      found->second = {static_cast<int>(result_.kinds.size()), {}, {}};
      extend_kind(found->second, what_is_differentiated(c, kind), kind, signature);
    }
    const Extended& extended = found->second;
    component.kind = extended.kind;
    component.nodes.clear();
    for (const auto& [node, p] : extended.nodes)
      component.nodes.push_back(p < 0 ? model_.components[c].nodes[node]
                                      : node_copy_[p][model_.components[c].nodes[node]]);
    for (const auto& [k, p] : extended.companions) {
      ParameterValue value{wrt_[p].of_component(c, k), 0.0, true, nullptr};
      value.constant = is_constant(value.value);
      if (value.constant) value.number = evaluate(value.value, numbers());
      component.values.push_back(std::move(value));
    }
  }

  const ExprMap<double>& numbers() {
    if (numbers_.empty())
      for (const ModelParameter& p : model_.parameters) numbers_[p.symbol] = p.number;
    return numbers_;
  }

  bool is_constant(Expr value) {
    const auto symbols = symbols_of(std::span(&value, 1));
    return std::all_of(symbols.begin(), symbols.end(), [&](Expr s) { return numbers().contains(s); });
  }

  struct Extended {
    int kind = 0;
    std::vector<std::pair<int, int>> nodes;       // node of the kind, parameter (-1: its own)
    std::vector<std::pair<int, int>> companions;  // parameter of the kind, parameter
  };

  // What stands for a kind where its sensitivities are concerned: with equations and variables of their own,
  // as joints have them whose sensitivities have another tree.
  Kind what_is_differentiated(int component, const Kind& kind) const {
    Kind result = kind;
    const auto own = own_.find(component);
    if (own == own_.end()) return result;
    const auto& variables = own->second.variables;
    std::erase_if(result.variables, [&](const KindVariable& v) {
      return std::find(variables.begin(), variables.end(), v.symbol) == variables.end();
    });
    result.equations = own->second.equations;
    result.initial = own->second.initial;
    return result;
  }

  // Parameters that occur in nothing that is differentiated need no derivative.
  static bool is_used(const Kind& kind, Expr parameter) {
    const auto in = [&](const auto& list, auto value) {
      return std::any_of(list.begin(), list.end(),
                         [&](const auto& entry) { return depends_on(std::invoke(value, entry), parameter); });
    };
    return in(kind.equations, &KindEquation::residual) || in(kind.outputs, &KindOutput::value) ||
           in(kind.initial, &KindInitial::value);
  }

  // Everything a kind's equations are written in, and its derivative with respect to each parameter.
  struct Names {
    std::vector<Expr> symbols;
    std::vector<std::vector<Expr>> slopes;  // [parameter][symbol]
  };

  // `kind` as it is differentiated, `whole` as it is.
  void extend_kind(Extended& extended, const Kind& kind, const Kind& whole,
                   const std::vector<char>& signature) {
    Kind out = whole;
    out.checks.clear();
    extend_nodes(extended, kind, out);
    extend_edges(kind, out);
    for (std::size_t p = 0; p < wrt_.size(); ++p)
      for (const KindVariable& v : kind.variables) {
        KindVariable copy{sensitivity_name(v.name, name_of(p)), per_unit(v.unit, wrt_[p].parameter()),
                          fmt::format("sensitivity of {} to {}", v.name, name_of(p)), copied(v.symbol, p)};
        if (position(out.variables, [&](const KindVariable& o) { return o.name == copy.name; }) < 0)
          out.variables.push_back(std::move(copy));
      }
    check_names(kind, out);
    const Names names = differentiate_names(extended, kind, signature, out);
    differentiate_equations(kind, names, out);
    differentiate_outputs(kind, names, signature, out);
    result_.kinds.push_back(std::move(out));
  }

  // A variable's copy must not be called like one of the kind's parameters or outputs.
  void check_names(const Kind& kind, const Kind& out) const {
    std::set<std::string_view> names;
    for (const KindParameter& p : kind.parameters) names.insert(p.name);
    for (const KindOutput& o : kind.outputs) names.insert(o.name);
    const auto check = [&](Expr symbol) {
      if (symbol && names.contains(symbol.name()))
        throw taken(symbol.name(), fmt::format("kind '{}'", kind.name));
    };
    for (const KindVariable& v : out.variables) check(v.symbol);
    for (const KindEdge& e : out.edges) {
      check(e.across);
      check(e.through);
    }
  }

  // Ports stay before internal nodes.
  void extend_nodes(Extended& extended, const Kind& kind, Kind& out) {
    out.nodes.clear();
    const auto add = [&](int first, int last) {
      for (int n = first; n < last; ++n) {
        out.nodes.push_back(kind.nodes[n]);
        extended.nodes.emplace_back(n, -1);
      }
      for (std::size_t p = 0; p < wrt_.size(); ++p)
        for (int n = first; n < last; ++n) {
          KindNode copy = kind.nodes[n];
          copy.domain = domain_copy(p, copy.domain);
          copy.across = copied(copy.across, p);
          if (node_at(kind, copy.name, copy.domain) >= 0 || node_at(out, copy.name, copy.domain) >= 0)
            continue;
          out.nodes.push_back(std::move(copy));
          extended.nodes.emplace_back(n, static_cast<int>(p));
        }
    };
    add(0, kind.port_count);
    out.port_count = static_cast<int>(out.nodes.size());
    add(kind.port_count, static_cast<int>(kind.nodes.size()));
  }

  static int node_at(const Kind& kind, const std::string& name, int domain) {
    return position(kind.nodes, [&](const KindNode& n) { return n.name == name && n.domain == domain; });
  }

  void extend_edges(const Kind& kind, Kind& out) {
    for (KindEdge& edge : out.edges)
      for (int* end : {&edge.from, &edge.to})
        if (*end >= 0) *end = node_at(out, kind.nodes[*end].name, kind.nodes[*end].domain);
    for (std::size_t p = 0; p < wrt_.size(); ++p)
      for (const KindEdge& edge : kind.edges) {
        KindEdge copy = edge;
        copy.domain = domain_copy_[p][edge.domain];
        for (int* end : {&copy.from, &copy.to})
          if (*end >= 0) *end = node_at(out, kind.nodes[*end].name, domain_copy(p, kind.nodes[*end].domain));
        copy.across = copied(edge.across, p);
        copy.through = copied(edge.through, p);
        const auto same = [&](const KindEdge& o) { return o.name == copy.name && o.domain == copy.domain; };
        if (position(out.edges, same) < 0) out.edges.push_back(std::move(copy));
      }
  }

  Names differentiate_names(Extended& extended, const Kind& kind, const std::vector<char>& signature,
                            Kind& out) {
    Names names;
    names.slopes.resize(wrt_.size());
    const auto variable = [&](Expr symbol) {
      if (!symbol) return;
      for (Expr s : {symbol, rate(symbol)}) {
        names.symbols.push_back(s);
        for (std::size_t p = 0; p < wrt_.size(); ++p) names.slopes[p].push_back(copied(s, p));
      }
    };
    for (const KindEdge& e : kind.edges) {
      variable(e.across);
      variable(e.through);
    }
    for (const KindVariable& v : kind.variables) variable(v.symbol);
    for (const KindNode& n : kind.nodes) variable(n.across);
    const std::size_t stride = wrt_.size() + 1;
    for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
      if (kind.parameters[k].table) continue;
      names.symbols.push_back(pool_.symbol(kind.parameters[k].name));
      for (std::size_t p = 0; p < wrt_.size(); ++p) {
        Expr slope = pool_.number(0.0);
        if (signature[k * stride + 1 + p] && (own_.empty() || is_used(kind, names.symbols.back()))) {
          KindParameter companion;
          companion.name = companion_name(kind.parameters[k].name, name_of(p));
          companion.any_unit = true;
          slope = pool_.symbol(companion.name);
          if (position(out.parameters, [&](const KindParameter& o) { return o.name == companion.name; }) <
              0) {
            extended.companions.emplace_back(static_cast<int>(k), static_cast<int>(p));
            out.parameters.push_back(std::move(companion));
          }
        }
        names.slopes[p].push_back(slope);
      }
    }
    return names;
  }

  Expr differentiate(Expr value, const Names& names, std::size_t p) {
    const std::vector<Expr> partial = gradient(value, names.symbols);
    std::vector<Expr> terms;
    for (std::size_t s = 0; s < partial.size(); ++s)
      if (!partial[s].is_number(0.0)) terms.push_back(partial[s] * names.slopes[p][s]);
    return pool_.add(terms);
  }

  void differentiate_equations(const Kind& kind, const Names& names, Kind& out) {
    for (std::size_t p = 0; p < wrt_.size(); ++p)
      for (const KindEquation& q : kind.equations) {
        const Expr residual = differentiate(q.residual, names, p);
        // Transformed before: the same equation is the same expression.
        const auto same = [&](const KindEquation& o) { return o.residual == residual; };
        if (!residual.is_number() && position(kind.equations, same) >= 0) continue;
        out.equations.push_back({residual, fmt::format("d({})/d({})", q.text, name_of(p)), q.line});
      }
    if (out.equations.size() != out.edges.size() + out.variables.size())
      throw taken(sensitivity_name(kind.variables.empty() ? "x" : kind.variables[0].name, name_of(0)),
                  fmt::format("kind '{}'", kind.name));
  }

  void differentiate_outputs(const Kind& kind, const Names& names, const std::vector<char>& signature,
                             Kind& out) {
    const std::size_t stride = wrt_.size() + 1;
    for (std::size_t p = 0; p < wrt_.size(); ++p) {
      for (const KindOutput& o : kind.outputs) {
        const std::string name = sensitivity_name(o.name, name_of(p));
        if (position(out.outputs, [&](const KindOutput& other) { return other.name == name; }) < 0)
          out.outputs.push_back({name, per_unit(o.unit, wrt_[p].parameter()),
                                 fmt::format("sensitivity of {} to {}", o.name, name_of(p)),
                                 differentiate(o.value, names, p)});
      }
      for (const KindInitial& i : kind.initial) {
        bool left_out = false;  // the variable starts where it is steady, and so does its sensitivity
        for (std::size_t k = 0; k < kind.parameters.size(); ++k)
          left_out |= signature[k * stride] && depends_on(i.value, pool_.symbol(kind.parameters[k].name));
        const Expr variable = copied(i.variable, p);
        const auto same = [&](const KindInitial& o) { return o.variable == variable; };
        if (!left_out && position(out.initial, same) < 0)
          out.initial.push_back({variable, differentiate(i.value, names, p), i.origin ? i.origin : i.value});
      }
    }
  }

  void differentiate_formulas() {
    std::set<std::string> outputs, initial;  // made by an earlier transformation
    for (const ModelOutput& o : model_.outputs) outputs.insert(o.name);
    for (const ModelInitial& i : model_.initial) initial.insert(i.variable);
    for (ParameterDerivative& wrt : wrt_) {
      const std::string& p = wrt.parameter().name;
      for (const ModelOutput& o : model_.outputs) {
        const std::string name = sensitivity_name(o.name, p);
        if (!outputs.contains(name))
          result_.outputs.push_back({name, "", wrt.of(o.value), std::nullopt, false, o.place, {}, {}, {}});
      }
      for (const auto& [name, value] : model_.formulas)
        result_.formulas.try_emplace(sensitivity_name(name, p), wrt.of(value));
      for (const ModelInitial& i : model_.initial) {
        const std::string name = sensitivity_name(i.variable, p);
        if (!initial.contains(name))
          result_.initial.push_back({name, i.value ? wrt.of(i.value) : Expr(), i.place});
      }
    }
  }

  const Model& model_;
  Pool& pool_;
  const DifferentiatedParts& own_;
  Model result_;
  std::vector<ParameterDerivative> wrt_;
  std::vector<std::vector<int>> domain_copy_, node_copy_;  // [parameter][domain or node]
  std::map<int, int> datum_copy_;                          // by domain
  std::map<std::pair<int, std::vector<char>>, Extended> kinds_;
  ExprMap<double> numbers_;
};

}  // namespace

Model with_sensitivities(const Model& model, std::span<const std::string> parameters,
                         const DifferentiatedParts& own) {
  refuse_fmus(model, "derivatives go through equations");
  return SensitivityGraph(model, parameters, own).build();
}

}  // namespace tellegen
