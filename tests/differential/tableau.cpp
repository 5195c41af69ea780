#include "tests/differential/tableau.h"

#include <toml++/toml.h>

#include <memory>
#include <optional>
#include <set>

namespace differential {
namespace {

using What = Tree::What;

const toml::table& kind_table(const std::string& name, bool textbook) {
  static std::map<std::string, toml::table> read;
  static const toml::table book = toml::parse_file(TELLEGEN_SOURCE_DIR "/tests/differential/textbook.toml");
  if (textbook) {
    const auto* entry = book[name].as_table();
    if (!entry) throw OracleError("kind '" + name + "' is not in the textbook");
    return *entry;
  }
  auto found = read.find(name);
  if (found == read.end()) {
    std::string path = name;
    path.replace(path.find('.'), 1, "/");
    found = read.emplace(name, toml::parse_file(TELLEGEN_SOURCE_DIR "/library/" + path + ".toml")).first;
  }
  return found->second;
}

struct DomainNames {
  std::string node, across, through;
};
DomainNames domain_names(const std::string& domain) {
  static const std::map<std::string, DomainNames> names{
      {"electrical", {"v", "v", "i"}},    {"thermal", {"T", "dT", "Q"}},   {"rotational", {"w", "w", "tau"}},
      {"translational", {"v", "v", "F"}}, {"hydraulic", {"p", "dp", "q"}}, {"magnetic", {"F", "F", "phi"}}};
  const auto found = names.find(domain);
  if (found == names.end()) throw OracleError("domain '" + domain + "' is not known to the oracle");
  return found->second;
}

TreePtr difference(What what, int plus, int minus) {
  const TreePtr zero = number_tree(0.0);
  if (plus < 0 && minus < 0) return zero;
  if (minus < 0) return leaf(what, plus);
  if (plus < 0) return call_tree("neg", {leaf(what, minus)});
  return call_tree("-", {leaf(what, plus), leaf(what, minus)});
}

struct NoLeaves : Leaves<double> {
  double time() override { throw OracleError("a number depends on time"); }
  double column(int) override { throw OracleError("a number depends on a variable"); }
  double rate(int) override { throw OracleError("a number depends on a rate"); }
  double discrete(int) override { throw OracleError("a number depends on a discrete variable"); }
  bool positive(const double& d, bool or_zero) override { return or_zero ? d >= 0 : d > 0; }
};

double constant(const TreePtr& tree) {
  NoLeaves none;
  return evaluate(*tree, none);
}

// What names mean in a model, and inside each component.
// A whole number of more digits than a double has is one too.
std::optional<double> number_of(const toml::node& entry) {
  if (const auto whole = entry.value_exact<std::int64_t>()) return static_cast<double>(*whole);
  return entry.value_exact<double>();
}

struct Reading {
  Tableau result;
  toml::table model;
  bool textbook;
  std::map<std::string, int> nodes;                   // "domain/name"
  std::map<std::string, std::vector<TreePtr>> flows;  // through variables that leave, per node
  std::map<std::string, TreePtr> names;               // of the model: "b.v", "r1.i", "k.y"
  std::map<std::string, std::string> formulas;        // parameters, inputs and outputs, by text
  std::set<std::string> open;                         // formulas being expanded

  struct Part {
    std::string name;
    const toml::table* entry;
    const toml::table* kind;
    std::map<std::string, TreePtr> local;
    std::map<std::string, TreePtr> parameters;
    std::map<std::string, std::string> outputs;
  };
  std::vector<std::unique_ptr<Part>> parts;

  int column(const std::string& name) {
    result.columns.push_back(name);
    return result.size() - 1;
  }
  int node(const std::string& domain, const std::string& name) {
    if (name == "datum") return -1;
    const auto [at, added] = nodes.try_emplace(domain + "/" + name, 0);
    if (added) {
      at->second = column(name + "." + domain_names(domain).node);
      names[name + "." + domain_names(domain).node] = leaf(What::column, at->second);
    }
    return at->second;
  }

  TreePtr value(const toml::node& entry, const std::function<TreePtr(const std::string&)>& binding) {
    if (const auto number = number_of(entry)) return number_tree(*number);
    if (const auto* points = entry.as_array()) {
      auto table = std::make_shared<Tree>();
      table->what = What::table;
      for (const toml::node& p : *points)
        table->points.emplace_back(*number_of(*p.as_array()->get(0)), *number_of(*p.as_array()->get(1)));
      return table;
    }
    const auto text = entry.value<std::string>();
    if (!text) throw OracleError("a value the oracle cannot read");
    double number = 0.0;
    if (is_quantity(*text, number)) return number_tree(number);
    return parse_tree(*text, binding);
  }

  TreePtr global(const std::string& name) {
    if (const auto found = names.find(name); found != names.end()) return found->second;
    if (const auto found = formulas.find(name); found != formulas.end()) {
      if (!open.insert(name).second) throw OracleError("formulas in a circle");
      double number = 0.0;
      TreePtr tree = is_quantity(found->second, number)
                         ? number_tree(number)
                         : parse_tree(found->second, [this](const std::string& n) { return global(n); });
      open.erase(name);
      return tree;
    }
    // A kind's output or a component's parameter.
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) return nullptr;
    for (const auto& part : parts)
      if (part->name == name.substr(0, dot)) return inside(*part, name.substr(dot + 1));
    return nullptr;
  }

  TreePtr inside(Part& part, const std::string& name) {
    if (const auto found = part.local.find(name); found != part.local.end()) return found->second;
    if (const auto found = part.parameters.find(name); found != part.parameters.end()) return found->second;
    const auto* declared = (*part.kind)["parameters"].as_table();
    const auto output = part.outputs.find(name);
    if (output == part.outputs.end() && (!declared || !declared->contains(name))) return nullptr;
    const std::string full = part.name + "." + name;
    if (!open.insert(full).second) throw OracleError("formulas in a circle");
    TreePtr tree;
    if (output != part.outputs.end()) {
      tree = parse_tree(output->second, [&](const std::string& n) { return inside(part, n); });
      open.erase(full);
      return tree;
    }
    if (const toml::node* given = part.entry->get(name))
      tree = value(*given, [this](const std::string& n) { return global(n); });
    else if (const toml::node* fallback = declared->get(name)->as_table()->get("default"))
      tree = value(*fallback, [&](const std::string& n) { return inside(part, n); });
    open.erase(full);
    if (tree) part.parameters[name] = tree;
    return tree;
  }

  void add_edges(Part& part) {
    const std::string kind = *part.entry->get("kind")->value<std::string>();
    const std::string own_domain = kind.substr(0, kind.find('.'));
    const auto* edges = (*part.kind)["edges"].as_table();
    if (!edges) return;
    std::set<std::string> internal;
    if (const auto* list = (*part.kind)["nodes"].as_array())
      for (const auto& n : *list) internal.insert(*n.value<std::string>());
    for (const auto& [edge_name, entry] : *edges) {
      std::string domain = (*part.kind)["domain"].value_or(own_domain);
      const toml::array* ports = entry.as_array();
      if (!ports) {
        ports = entry.as_table()->get("ports")->as_array();
        domain = (*entry.as_table())["domain"].value_or(domain);
      }
      const DomainNames words = domain_names(domain);
      int end[2];
      std::string key[2];
      for (const std::size_t k : {0U, 1U}) {
        const std::string port = *ports->get(k)->value<std::string>();
        std::string name = port;
        if (internal.contains(port))
          name = part.name + "." + port;
        else if (port != "datum") {
          const toml::node* given = part.entry->get(port);
          if (!given) throw OracleError("port '" + port + "' of '" + part.name + "' is not joined");
          name = *given->value<std::string>();
        }
        end[k] = node(domain, name);
        key[k] = domain + "/" + name;
        if (port != "datum")
          part.local[port + "." + words.node] = end[k] < 0 ? number_tree(0.0) : leaf(What::column, end[k]);
      }
      const bool single = edges->size() == 1;
      const std::string edge(edge_name.str());
      const std::string prefix = part.name + (single ? "." : "." + edge + ".");
      const int through = column(prefix + words.through);
      const TreePtr across = difference(What::column, end[0], end[1]);
      const TreePtr rate = difference(What::rate, end[0], end[1]);
      const auto name_it = [&](const std::string& word, const TreePtr& tree, const TreePtr& its_rate) {
        names[prefix + word] = tree;
        for (const std::string& local : single ? std::vector<std::string>{word, edge + "." + word}
                                               : std::vector<std::string>{edge + "." + word}) {
          // a parameter may be called like the variable of the only edge
          const auto* declared = (*part.kind)["parameters"].as_table();
          if (declared && declared->contains(local)) continue;
          part.local[local] = tree;
          part.local["der " + local] = its_rate;
        }
      };
      name_it(words.across, across, rate);
      name_it(words.through, leaf(What::column, through), leaf(What::rate, through));
      const TreePtr flow = leaf(What::column, through);
      if (end[0] >= 0) flows[key[0]].push_back(flow);
      if (end[1] >= 0) flows[key[1]].push_back(call_tree("neg", {flow}));
    }
  }

  void add_variables(Part& part) {
    if (const auto* list = (*part.kind)["variables"].as_table())
      for (const auto& [name, unused] : *list) {
        const std::string own(name.str());
        const int at = column(part.name + "." + own);
        names[part.name + "." + own] = part.local[own] = leaf(What::column, at);
        part.local["der " + own] = leaf(What::rate, at);
      }
    if (const auto* list = (*part.kind)["discrete"].as_table())
      for (const auto& [name, unused] : *list) {
        const std::string own(name.str());
        result.discrete.push_back({part.name + "." + own, nullptr, 0.0, 0.0});
        names[part.name + "." + own] = part.local[own] =
            leaf(What::discrete, static_cast<int>(result.discrete.size()) - 1);
      }
    if (const auto* list = (*part.kind)["outputs"].as_table())
      for (const auto& [name, entry] : *list)
        part.outputs[std::string(name.str())] = entry.is_table()
                                                    ? *entry.as_table()->get("value")->value<std::string>()
                                                    : *entry.value<std::string>();
  }

  void add_equations(Part& part) {
    const Binding local = [&](const std::string& n) { return inside(part, n); };
    if (const auto* equations = (*part.kind)["equations"]["terminal"].as_array())
      for (const auto& e : *equations) {
        const std::string text = *e.value<std::string>();
        std::size_t sign = text.find(" = ");
        if (sign == std::string::npos) throw OracleError("an equation without its sign");
        result.residuals.push_back(call_tree(
            "-", {parse_tree(text.substr(0, sign), local), parse_tree(text.substr(sign + 3), local)}));
      }
    if (const auto* list = (*part.kind)["discrete"].as_table())
      for (const auto& [name, entry] : *list)
        for (auto& d : result.discrete)
          if (d.name == part.name + "." + std::string(name.str())) {
            const auto& e = *entry.as_table();
            d.update = parse_tree(*e.get("update")->value<std::string>(), local);
            if (const auto* start = e.get("start")) d.start = constant(value(*start, local));
            if (const auto* every = e.get("every")) d.every = constant(value(*every, local));
          }
    if (const auto* list = (*part.kind)["initial"].as_table())
      for (const auto& [name, entry] : *list) {
        const std::string own(name.str()), text = *entry.value<std::string>();
        const std::string full = part.name + "." + own;
        const auto* stated = model["initial"].as_table();
        if (stated && stated->contains(full)) continue;
        const TreePtr tree = parse_tree(text, [&](const std::string& n) {
          const TreePtr found = inside(part, n);
          return found ? found : leaf(What::time, 0);  // an optional parameter left out: steady
        });
        if (tree->what == What::time) continue;
        result.initial.push_back({inside(part, own), constant(tree), full, !part.entry->contains(text)});
      }
  }

  void read(const std::string& text) {
    try {
      model = toml::parse(text);
    } catch (const toml::parse_error& error) {
      throw OracleError(std::string("not TOML: ") + std::string(error.description()));
    }
    for (const char* section : {"parameters", "inputs", "outputs", "sensors"})
      if (const auto* list = model[section].as_table())
        for (const auto& [name, entry] : *list) {
          const toml::node* held = &entry;
          if (const auto* inner = entry.as_table()) {
            held = inner->get(section == std::string("sensors") ? "measures" : "value");
            if (!held) {  // a table over time
              const toml::node* points = inner->get("points");
              if (!points) throw OracleError("an input the oracle cannot read");
              auto table = std::make_shared<Tree>(*value(*points, {}));
              table->hold = (*inner)["interpolation"].value_or(std::string("linear")) == "hold";
              table->arguments = {leaf(What::time, 0)};
              names[std::string(name.str())] = table;
              continue;
            }
          }
          if (held->is_array()) {
            auto table = std::make_shared<Tree>(*value(*held, {}));
            table->arguments = {leaf(What::time, 0)};
            names[std::string(name.str())] = table;
          } else if (const auto number = number_of(*held)) {
            names[std::string(name.str())] = number_tree(*number);
            if (section == std::string("parameters")) result.parameters[std::string(name.str())] = *number;
          } else {
            formulas[std::string(name.str())] = *held->value<std::string>();
          }
        }
    const auto* components = model["components"].as_table();
    if (!components) throw OracleError("no components");
    for (const auto& [name, entry] : *components) {
      const auto* table = entry.as_table();
      const auto kind = (*table)["kind"].value<std::string>();
      if (!kind) throw OracleError("a component without a kind");
      parts.push_back(std::make_unique<Part>());
      Part& part = *parts.back();
      part.name = std::string(name.str());
      part.entry = table;
      part.kind = &kind_table(*kind, textbook);
      add_edges(part);
      add_variables(part);
    }
    for (const auto& [key, at] : nodes) {
      TreePtr sum = number_tree(0.0);
      for (const TreePtr& flow : flows[key]) sum = call_tree("+", {sum, flow});
      result.residuals.push_back(sum);
    }
    for (const auto& part : parts) add_equations(*part);
    if (const auto* stated = model["initial"].as_table())
      for (const auto& [name, entry] : *stated) {
        const TreePtr variable = global(std::string(name.str()));
        if (!variable) throw OracleError("[initial] names what the oracle does not know");
        result.initial.push_back({variable,
                                  constant(value(entry, [this](const std::string& n) { return global(n); })),
                                  std::string(name.str()), false});
      }
    if (result.residuals.size() != result.columns.size())
      throw OracleError("as many equations as variables are needed");
  }
};

}  // namespace

Tableau read_tableau(const std::string& model, bool textbook) {
  auto reading = std::make_shared<Reading>();
  reading->textbook = textbook;
  reading->read(model);
  Tableau tableau = reading->result;
  tableau.parse = [reading](const std::string& text) {
    return parse_tree(text, [&](const std::string& n) { return reading->global(n); });
  };
  return tableau;
}

}  // namespace differential
