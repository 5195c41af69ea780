#include "tellegen/model/kind_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tellegen/model/mechanism_parts.h"
#include "tellegen/model/read.h"
#include "tellegen/model/table_value.h"
#include "tellegen/model/units.h"

namespace tellegen {

KindReader::KindReader(Pool& pool, const std::vector<Domain>& domains, const Document& document,
                       FaultList& faults, const std::string& name)
    : pool_(pool), domains_(domains), document_(document), source_{document, faults}, root_(document.root()) {
  kind_.name = name;
  kind_.place = {document.name(), 1};
}

Kind KindReader::read() {
  if (root_.find("components")) {
    source_.fault(root_, "T150", fmt::format("'{}' is a model, not a kind", kind_.name),
                  {"use it as a component with model = \"file.toml\" instead of kind = ..."});
    return kind_;
  }
  source_.known_keys(
      root_,
      {"summary", "domain", "edges", "nodes", "fixes_node", "distinct", "parameters", "variables", "discrete",
       "equations", "initial", "steady", "energy", "loss", "require", "outputs", "check"},
      "a kind");
  kind_.summary = source_.text(root_, "summary", "the kind");
  if (const Value* fixes = root_.find("fixes_node"))
    kind_.fixes_node = source_.is(*fixes, Value::Type::boolean, "'fixes_node'") && fixes->number != 0.0;
  find_default_domain();
  const Value* edges = root_.find("edges");
  if (edges) read_edges(*edges);
  if (const Value* distinct = root_.find("distinct")) read_distinct(*distinct);
  if (const Value* table = root_.find("parameters")) read_parameters(*table);
  if (const Value* table = root_.find("variables")) read_variables(*table);
  if (const Value* table = root_.find("discrete")) declare_discrete(*table);
  if ((!edges || edges->items.empty()) && kind_.variables.empty() && !is_mechanical(kind_.name))
    source_.fault(root_, "T150", fmt::format("kind '{}' has neither edges nor variables", kind_.name),
                  {"write edges = { r = [\"p\", \"n\"] }, or for a signal [variables]"});
  check_port_names();
  name_everything();
  read_defaults();
  read_outputs();
  read_equations();
  read_discrete();
  read_initial();
  read_steady();
  read_energy();
  read_requirements();
  check_optional();
  read_checks();
  return std::move(kind_);
}

int KindReader::domain_of(const Value& at, std::string_view name) const {
  std::vector<std::string> known;
  for (std::size_t k = 0; k < domains_.size(); ++k) {
    if (domains_[k].name == name) return static_cast<int>(k);
    known.push_back(domains_[k].name);
  }
  source_.fault(at, "T151", fmt::format("unknown domain '{}'", name),
                {did_you_mean(name, known), "known domains: " + joined(known)});
  return -1;
}

// The domain said; or the one that the kind's name, or its file's folder, begins with.
void KindReader::find_default_domain() {
  if (const Value* said = root_.find("domain")) {
    if (source_.is(*said, Value::Type::text, "'domain'")) default_domain_ = domain_of(*said, said->text);
    return;
  }
  const std::string prefix = kind_.name.substr(0, kind_.name.find('.'));
  const std::string folder = std::filesystem::path(document_.name()).parent_path().filename().string();
  for (const std::string& name : {folder, prefix})
    for (std::size_t k = 0; k < domains_.size(); ++k)
      if (domains_[k].name == name) default_domain_ = static_cast<int>(k);
}

void KindReader::read_edges(const Value& edges) {
  if (!source_.is(edges, Value::Type::table, "'edges'")) return;
  read_nodes();
  const auto internal = std::exchange(kind_.nodes, {});
  // Ports first, in the order in which the edges name them, then the internal nodes.
  for (const Value& edge : edges.items) {
    const Value* ends = edge.is_table() ? edge.find("ports") : &edge;
    if (!ends || !ends->is_list()) continue;
    for (const Value& end : ends->items) {
      const auto is_it = [&](const KindNode& node) { return node.name == end.text; };
      if (!end.is_text() || end.text == "datum" || std::any_of(internal.begin(), internal.end(), is_it) ||
          std::any_of(kind_.nodes.begin(), kind_.nodes.end(), is_it))
        continue;
      if (check_name(source_, end, end.text, "a port")) kind_.nodes.push_back({std::string(end.text), -1});
    }
  }
  kind_.port_count = static_cast<int>(kind_.nodes.size());
  kind_.nodes.insert(kind_.nodes.end(), internal.begin(), internal.end());
  node_edge_.assign(kind_.nodes.size(), -1);
  for (const Value& edge : edges.items) read_edge(edge);
  for (std::size_t k = kind_.port_count; k < kind_.nodes.size(); ++k)
    if (node_edge_[k] < 0)
      source_.fault(*root_.find("nodes"), "T151",
                    fmt::format("no edge meets the internal node '{}'", kind_.nodes[k].name));
}

// Ports that must be joined to nodes of their own are a requirement without a condition: its text names them.
void KindReader::read_distinct(const Value& list) {
  if (!source_.is(list, Value::Type::list, "'distinct'")) return;
  KindRequirement requirement;
  for (const Value& entry : list.items) {
    if (!source_.is(entry, Value::Type::text, "an entry of 'distinct'")) continue;
    std::vector<std::string> ports;
    for (int k = 0; k < kind_.port_count; ++k) ports.push_back(kind_.nodes[k].name);
    if (std::find(ports.begin(), ports.end(), entry.text) == ports.end())
      source_.fault(entry, "T153",
                    fmt::format("'distinct' names '{}', which is not a port of the kind", entry.text),
                    {did_you_mean(entry.text, ports)});
    requirement.text += (requirement.text.empty() ? "" : " ") + std::string(entry.text);
  }
  kind_.requirements.push_back(std::move(requirement));
}

void KindReader::read_nodes() {
  const Value* nodes = root_.find("nodes");
  if (!nodes || !source_.is(*nodes, Value::Type::list, "'nodes'")) return;
  for (const Value& node : nodes->items)
    if (source_.is(node, Value::Type::text, "an internal node") &&
        check_name(source_, node, node.text, "a node"))
      kind_.nodes.push_back({std::string(node.text), -1});
}

void KindReader::read_edge(const Value& edge) {
  const std::string what = fmt::format("edge '{}'", edge.key);
  if (!check_name(source_, edge, edge.key, "an edge")) return;
  int domain = default_domain_;
  const Value* ends = &edge;
  if (edge.is_table()) {
    source_.known_keys(edge, {"ports", "domain"}, what);
    if (const Value* said = edge.find("domain")) {
      domain = domain_of(*said, source_.text(edge, "domain", what));
      if (domain < 0) return;
    }
    ends = edge.find("ports");
  }
  const bool pair = ends && ends->is_list() && ends->items.size() == 2 && ends->items[0].is_text() &&
                    ends->items[1].is_text();
  if (!pair) {
    source_.fault(
        edge, "T150", fmt::format("{} must name its two ends", what),
        {fmt::format("write {} = [\"p\", \"n\"], or {} = {{ ports = [\"p\", \"n\"], domain = \"...\" }}",
                     edge.key, edge.key)});
    return;
  }
  if (domain < 0) {
    if (!root_.find("domain"))  // otherwise the fault is in `domain`, and said there
      source_.fault(edge, "T151", fmt::format("the domain of {} is not known", what),
                    {"add domain = \"...\" to the kind or to the edge"});
    domain = 0;
  }
  if (ends->items[0].text == ends->items[1].text) {
    source_.fault(edge, "T150", fmt::format("{} begins and ends in '{}'", what, ends->items[0].text));
    return;
  }
  KindEdge result;
  result.name = edge.key;
  result.domain = domain;
  result.from = node_of(ends->items[0], edge, domain);
  result.to = node_of(ends->items[1], edge, domain);
  kind_.edges.push_back(result);
  edge_entries_.push_back(&edge);
}

// The node at an edge's end, which takes the edge's domain; -1 for the datum.
int KindReader::node_of(const Value& end, const Value& edge, int domain) {
  for (std::size_t k = 0; k < kind_.nodes.size(); ++k) {
    KindNode& node = kind_.nodes[k];
    if (node.name != end.text) continue;
    if (node_edge_[k] < 0) {
      node_edge_[k] = static_cast<int>(kind_.edges.size());
      node.domain = domain;
    } else if (node.domain != domain) {
      source_.fault(edge, "T151",
                    fmt::format("node '{}' is {} for edge '{}' and {} for edge '{}'", node.name,
                                domains_[node.domain].name, kind_.edges[node_edge_[k]].name,
                                domains_[domain].name, edge.key));
    }
    return static_cast<int>(k);
  }
  return -1;
}

void KindReader::read_parameters(const Value& table) {
  if (!source_.is(table, Value::Type::table, "'parameters'")) return;
  for (const Value& entry : table.items) read_parameter(entry);
}

void KindReader::read_parameter(const Value& entry) {
  const std::string what = fmt::format("parameter '{}'", entry.key);
  if (!check_name(source_, entry, entry.key, "a parameter") || !source_.is(entry, Value::Type::table, what))
    return;
  source_.known_keys(entry,
                     {"unit", "default", "above", "below", "at_least", "at_most", "summary", "optional",
                      "table", "interpolation"},
                     what);
  KindParameter parameter;
  parameter.name = entry.key;
  parameter.summary = source_.text(entry, "summary", what);
  parameter.unit = source_.text(entry, "unit", what);
  parameter.any_unit = parameter.unit == "any";
  if (parameter.any_unit || !check_known_unit(source_, entry, parameter.unit, what)) parameter.unit.clear();
  const auto flag = [&](std::string_view key) {
    const Value* value = entry.find(key);
    return value && source_.is(*value, Value::Type::boolean, fmt::format("'{}' of {}", key, what)) &&
           value->number != 0.0;
  };
  parameter.optional = flag("optional");
  if (const Value* table = entry.find("table"); table && table->type == Value::Type::integer) {
    parameter.table = true;
    parameter.dimensions = static_cast<int>(table->number);
    if (table->number < 1 || table->number > 3)
      source_.fault(*table, "T124", fmt::format("{}: a table has one to three arguments", what));
    parameter.dimensions = std::clamp(parameter.dimensions, 1, 3);
  } else {
    parameter.table = flag("table");
  }
  if (const Value* value = entry.find("interpolation"))
    if (const auto read = read_interpolation(source_, *value, what)) parameter.interpolation = *read;
  const auto bound = [&](std::string_view key, std::optional<double>& into) {
    const Value* value = entry.find(key);
    if (!value) return;
    const auto scalar = read_scalar(source_, *value, fmt::format("'{}' of {}", key, what), parameter.unit);
    if (scalar && scalar->number)
      into = scalar->number;
    else if (scalar)
      source_.fault(*value, "T102", fmt::format("'{}' of {} must be a number", key, what));
  };
  bound("above", parameter.above);
  bound("below", parameter.below);
  bound("at_least", parameter.at_least);
  bound("at_most", parameter.at_most);
  kind_.parameters.push_back(std::move(parameter));
  parameter_entries_.push_back(&entry);
}

void KindReader::read_variables(const Value& table) {
  if (!source_.is(table, Value::Type::table, "'variables'")) return;
  for (const Value& entry : table.items) {
    const std::string what = fmt::format("variable '{}'", entry.key);
    if (!check_name(source_, entry, entry.key, "a variable") || !source_.is(entry, Value::Type::table, what))
      continue;
    source_.known_keys(entry, {"unit", "summary"}, what);
    KindVariable variable;
    variable.name = entry.key;
    variable.unit = source_.text(entry, "unit", what);
    variable.summary = source_.text(entry, "summary", what);
    check_known_unit(source_, entry, variable.unit, what);
    kind_.variables.push_back(std::move(variable));
    variable_entries_.push_back(&entry);
  }
}

// A discrete variable is an internal variable too: that is how others see it.
void KindReader::declare_discrete(const Value& table) {
  if (!source_.is(table, Value::Type::table, "'discrete'")) return;
  for (const Value& entry : table.items) {
    const std::string what = fmt::format("discrete variable '{}'", entry.key);
    if (!check_name(source_, entry, entry.key, "a variable") || !source_.is(entry, Value::Type::table, what))
      continue;
    source_.known_keys(entry, {"unit", "summary", "start", "update", "every"}, what);
    KindVariable variable;
    variable.name = entry.key;
    variable.unit = source_.text(entry, "unit", what);
    variable.summary = source_.text(entry, "summary", what);
    check_known_unit(source_, entry, variable.unit, what);
    KindDiscrete discrete;
    discrete.variable = static_cast<int>(kind_.variables.size());
    discrete.held = pool_.symbol("held(" + variable.name + ")");
    kind_.variables.push_back(std::move(variable));
    variable_entries_.push_back(&entry);
    kind_.discrete.push_back(discrete);
    discrete_entries_.push_back(&entry);
  }
}

// A component gives its ports and its parameters side by side, with `kind` beside them.
void KindReader::check_port_names() {
  const auto clash = [&](const Value& at, std::string_view name, std::string_view other) {
    source_.fault(at, "T155", fmt::format("'{}' is both {}", name, other));
  };
  for (const Value* entry : parameter_entries_)
    for (int k = 0; k < kind_.port_count; ++k)
      if (kind_.nodes[k].name == entry->key) clash(*entry, entry->key, "a parameter and a port");
  for (const KindNode& node : kind_.nodes)
    if (node.name == "kind" || node.name == "model")
      clash(*root_.find("edges"), node.name, "a port and a key of every component");
  for (const Value* entry : parameter_entries_)
    if (entry->key == "kind" || entry->key == "model")
      clash(*entry, entry->key, "a parameter and a key of every component");
  for (std::size_t k = 0; k < kind_.edges.size(); ++k)
    for (const KindNode& node : kind_.nodes)
      if (node.name == kind_.edges[k].name) clash(*edge_entries_[k], node.name, "an edge and a node");
}

Kind read_kind(Pool& pool, const std::vector<Domain>& domains, const std::filesystem::path& file,
               const std::string& name) {
  const Document document(read_text(file, {file.string(), 0}), file.string());
  FaultList faults;
  Kind kind = KindReader(pool, domains, document, faults, name).read();
  faults.throw_if_any();
  return kind;
}

}  // namespace tellegen
