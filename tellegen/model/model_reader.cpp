#include "tellegen/model/model_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "tellegen/model/absent_storage.h"
#include "tellegen/model/fmu_component.h"
#include "tellegen/model/machine.h"
#include "tellegen/model/stack.h"
#include "tellegen/model/units.h"

namespace tellegen {

ModelReader::ModelReader(const ReadOptions& options, MechanismTrees* trees) : options_(options) {
  trees_ = trees;
  if (options_.library.empty()) options_.library = library_folder();
  model_.pool = std::make_shared<Pool>();
  model_.domains = read_domains(options_.library);
  datums_.assign(model_.domains.size(), -1);
  for (const auto& [name, text] : options_.overrides) {
    Value& value = override_values_.emplace_back();
    value.type = Value::Type::text;
    value.text = text;
    overrides_[name] = &value;
  }
}

Model ModelReader::read(std::string_view text, const std::filesystem::path& file) {
  model_.file = file;
  const auto document = read_document(text, file);
  const int top = open_scope(*document, file.parent_path(), "", -1);
  open_files_.push_back(std::filesystem::weakly_canonical(file));
  model_.name = source(top).text(document->root(), "name", "the model");
  if (model_.name.empty()) model_.name = file.stem().string();
  read_components(top);
  make_frames();
  check_ports(top);
  check_clashes();
  if (faults_.empty()) check_datums();
  resolve_everything();
  resolve_components();
  name_table_values();
  build_mechanism();
  for (std::size_t scope = 0; scope < scopes_.size(); ++scope)
    if (const Value* table = scopes_[scope]->document->root().find("initial"))
      if (source(static_cast<int>(scope)).is(*table, Value::Type::table, "'initial'"))
        read_initial(static_cast<int>(scope), *table, "");
  read_biases();
  read_simulation();
  read_runs();
  read_objectives();
  read_design();
  read_experiment();
  if (const Value* unknowns = document->root().find("unknowns"))
    if (source(top).is(*unknowns, Value::Type::table, "'unknowns'")) read_unknowns(*unknowns, "");
  read_estimation();
  read_calibration();
  check_overrides();
  faults_.throw_if_any();
  if (options_.notes)
    options_.notes->insert(options_.notes->end(), tables_.notes().begin(), tables_.notes().end());
  drop_absent_storage(model_);
  return std::move(model_);
}

// What the file says; where it has a [stack] or a [machine], with the network in its place.
std::unique_ptr<Document> ModelReader::read_document(std::string_view text,
                                                     const std::filesystem::path& file) {
  auto document = std::make_unique<Document>(text, file.string());
  const auto replace = [&](std::string_view section, ExpandedText (*expand)(const Document&)) {
    if (!document->root().find(section)) return;
    const ExpandedText expanded = expand(*document);
    document = std::make_unique<Document>(expanded.toml, file.string(), expanded.lines);
  };
  replace("stack", expand_stack);
  replace("machine", expand_machine);
  return document;
}

int ModelReader::open_scope(const Document& document, const std::filesystem::path& folder, std::string prefix,
                            int parent) {
  const int scope = static_cast<int>(scopes_.size());
  scopes_.push_back(std::make_unique<Scope>(Scope{&document, folder, std::move(prefix), parent}));
  const Source at = source(scope);
  at.known_keys(document.root(),
                {"name",     "summary",  "parameters", "inputs",     "components", "ports",   "sensors",
                 "outputs",  "initial",  "simulation", "objectives", "runs",       "design",  "experiment",
                 "unknowns", "estimate", "calibrate",  "columns",    "stack",      "machine", "tables"},
                "a model");
  read_tables(scope);
  read_names(scope, "parameters", Named::What::parameter);
  read_names(scope, "inputs", Named::What::input);
  read_names(scope, "sensors", Named::What::sensor);
  read_names(scope, "outputs", Named::What::output);
  return scope;
}

void ModelReader::read_names(int scope, std::string_view section, Named::What what) {
  const Source at = source(scope);
  const Value* table = at.document.root().find(section);
  if (!table || !at.is(*table, Value::Type::table, fmt::format("'{}'", section))) return;
  constexpr std::string_view singular[] = {"a parameter", "an input", "a sensor", "an output"};
  const bool reported = what == Named::What::output || what == Named::What::sensor;
  const auto add = [&](const Value& entry) {
    const auto [place, fresh] =
        scopes_[scope]->names.try_emplace(entry.key, Named{.what = what, .entry = &entry});
    if (fresh)
      scopes_[scope]->order.push_back(entry.key);
    else
      at.fault(entry, "T106",
               fmt::format("'{}' is already {} (line {})", entry.key,
                           singular[static_cast<int>(place->second.what)], place->second.entry->line),
               {"sensors, outputs, inputs and parameters share their names"});
  };
  for (const Value& entry : table->items) {
    const bool quoted = what == Named::What::output && is_display_name(entry.key);
    if (!quoted && !check_name(at, entry, entry.key, singular[static_cast<int>(what)])) continue;
    if (!reported || !entry.is_table() || !entry.find("count")) {
      add(entry);
      continue;
    }
    for (const Value& element : arrays_.elements(at, entry, scopes_[scope]->folder)) {
      add(element);
      model_.arrays[scopes_[scope]->prefix + std::string(entry.key)].emplace_back(indexed(element.key).index);
    }
  }
}

void ModelReader::read_components(int scope) {
  const Source at = source(scope);
  const Value& root = at.document.root();
  const Value* table = root.find("components");
  if (!table) {
    if (root.find("edges"))
      at.fault(root, "T103", "this is a kind, not a model", {"use it as a component with kind = \"...\""});
    else
      at.fault(root, "T103", "the model has no [components]");
    return;
  }
  if (!at.is(*table, Value::Type::table, "'components'")) return;
  if (table->items.empty()) at.fault(*table, "T103", "the model has no components");
  if (scope == 0) model_.components.reserve(table->items.size());
  for (const Value& entry : table->items) {
    if (!check_name(at, entry, entry.key, "a component")) continue;
    if (!at.is(entry, Value::Type::table, fmt::format("component '{}'", entry.key))) continue;
    if (ComponentArrays::is_array(entry))
      read_array(scope, entry);
    else
      read_component(scope, entry);
  }
}

// What is wrong with one element is wrong with all, but for rows of a file: it is said once.
void ModelReader::read_array(int scope, const Value& entry) {
  const Source at = source(scope);
  for (const std::string_view name : scopes_[scope]->order)
    if (ComponentArrays::is_index(name)) {
      at.fault(
          entry, "T106",
          fmt::format("'{}' is the index in the array '{}' and a name of this file", name, entry.key),
          {fmt::format(
              "in an entry with 'count' or 'rows' it is the number of the element: rename the other '{}'",
              name)});
      return;
    }
  const std::size_t before = faults_.size();
  for (const Value& element : arrays_.elements(at, entry, scopes_[scope]->folder)) {
    const IndexedName name = indexed(element.key);
    if (name.index.empty() && !check_name(at, entry, element.key, "a component")) return;
    if (model_.component_by_name.contains(scopes_[scope]->prefix + std::string(element.key))) {
      at.fault(entry, "T106", fmt::format("there are two components '{}'", element.key));
      return;
    }
    read_component(scope, element);
    if (faults_.size() > before && !entry.find("rows")) return;
    if (!name.index.empty())
      model_.arrays[scopes_[scope]->prefix + std::string(name.stem)].emplace_back(name.index);
  }
}

void ModelReader::read_component(int scope, const Value& entry) {
  const Source at = source(scope);
  const Value *kind_value = entry.find("kind"), *file = entry.find("model");
  if (!kind_value == !file) {
    at.fault(entry, "T103", fmt::format("component '{}' needs a 'kind'", entry.key),
             {kind_value ? "it has a 'model' too: one of them" : "or a 'model', where it is a subsystem"});
    return;
  }
  if (file) return read_subsystem(scope, entry, *file);
  const bool is_fmu = kind_value->is_text() && kind_value->text.starts_with("fmu:");
  int kind_index = is_fmu ? read_fmu(scope, entry, *kind_value) : kind_named(scope, *kind_value);
  if (kind_index < 0) return;
  if (is_mechanical(model_.kinds[kind_index].name)) kind_index = begin_part(scope, entry, kind_index);
  const Kind& kind = model_.kinds[kind_index];

  const int index = static_cast<int>(model_.components.size());
  Component& component = model_.components.emplace_back();
  component.name = scopes_[scope]->prefix + std::string(entry.key);
  component.kind = kind_index;
  component.place = at.document.at(entry);
  component.nodes.assign(kind.nodes.size(), bad);
  component.values.resize(kind.parameters.size());
  model_.component_by_name[component.name] = index;

  std::vector<char> given(kind.parameters.size(), 0);
  for (const Value& item : entry.items) {
    if (&item == kind_value || read_reference(index, scope, entry, item)) continue;
    if (kind.fmu && (item.key == "isolate" || item.key == "exchange" || kind.fmu->texts.contains(item.key) ||
                     kind.fmu->reported.contains(item.key)))
      continue;
    std::string_view key = item.key;  // of an FMU: its own name of a variable too
    if (kind.fmu)
      if (const auto own = kind.fmu->names.find(key); own != kind.fmu->names.end()) key = own->second;
    const auto is_it = [&](const auto& part) { return part.name == key; };
    const auto ports_end = kind.nodes.begin() + kind.port_count;
    if (const auto port = std::find_if(kind.nodes.begin(), ports_end, is_it); port != ports_end) {
      const int k = static_cast<int>(port - kind.nodes.begin());
      component.nodes[k] = connect(node_named(scope, item, entry.key), port->domain, index, k, item.line);
      if (component.nodes[k] == bad) component.nodes[k] = datum_of(port->domain);  // keeps the rest going
    } else if (const auto parameter = std::find_if(kind.parameters.begin(), kind.parameters.end(), is_it);
               parameter != kind.parameters.end()) {
      const int k = static_cast<int>(parameter - kind.parameters.begin());
      given[k] = 1;
      read_parameter(scope, index, k, item);
    } else if (!read_vector(scope, index, item, given)) {
      std::vector<std::string> ports, known;
      for (int k = 0; k < kind.port_count; ++k) ports.push_back(kind.nodes[k].name);
      if (const MechanismRole* role = role_of(kind.name))
        for (const auto& keys : {role->references, role->optional})
          ports.insert(ports.end(), keys.begin(), keys.end());
      known = ports;
      std::vector<std::string> parameters;
      for (const KindParameter& p : kind.parameters)
        if (!p.name.starts_with('~')) parameters.push_back(p.name);
      known.insert(known.end(), parameters.begin(), parameters.end());
      at.fault(
          item, "T111",
          fmt::format("{} has no port or parameter '{}' (component '{}')", kind.name, item.key, entry.key),
          {did_you_mean(item.key, known), kind.fmu ? "" : "ports: " + joined(ports),
           parameters.empty() ? "it has no parameters" : "parameters: " + joined(parameters)});
    }
  }
  for (int k = 0; k < kind.port_count; ++k)
    if (component.nodes[k] == bad) {
      at.fault(entry, "T112",
               fmt::format("port '{}' of '{}' is not connected", kind.nodes[k].name, entry.key),
               {fmt::format("add {} = \"node\" to it", kind.nodes[k].name)});
      component.nodes[k] = datum_of(kind.nodes[k].domain);
    }
  for (std::size_t k = kind.port_count; k < kind.nodes.size(); ++k) {
    component.nodes[k] = static_cast<int>(model_.nodes.size());
    std::string name = component.name + "." + kind.nodes[k].name;
    model_.node_by_name[name] = component.nodes[k];
    model_.nodes.push_back({std::move(name), kind.nodes[k].domain, false, entry.line, index});
    node_user_.emplace_back(index, static_cast<int>(k));
  }
  for (const KindEdge& edge : kind.edges)
    if (edge.from < 0 || edge.to < 0) datum_of(edge.domain);
  for (std::size_t k = 0; k < kind.parameters.size(); ++k) {
    const KindParameter& parameter = kind.parameters[k];
    if (given[k]) continue;
    if (parameter.fallback) {
      if (parameter.fallback.is_number())
        component.values[k] = {parameter.fallback, parameter.fallback.number(), true, nullptr};
    } else if (!parameter.optional) {
      at.fault(entry, "T113", fmt::format("parameter '{}' of '{}' is not given", parameter.name, entry.key),
               {fmt::format(
                   "{}: {}{}", parameter.name, parameter.summary.empty() ? "no default" : parameter.summary,
                   parameter.unit.empty() || parameter.unit == "1" ? "" : ", in " + parameter.unit)});
    }
  }
}

// The way of a million components: text for faults is only made where there is a fault.
void ModelReader::read_parameter(int scope, int component, int index, const Value& value) {
  const Source at = source(scope);
  const KindParameter& parameter = model_.kinds[model_.components[component].kind].parameters[index];
  const auto what = [&] {
    return fmt::format("parameter '{}' of '{}'", parameter.name,
                       model_.components[component].name.substr(scopes_[scope]->prefix.size()));
  };
  if (parameter.table) {
    model_.components[component].values[index].table =
        tables_.read(at, value, scopes_[scope]->folder, what(),
                     {parameter.unit, "", parameter.interpolation, parameter.dimensions, {"parameters"}});
    if (value.is_table() && value.find("parameters"))
      named_tables_.push_back({component, index, scope, &value});
    return;
  }
  if (value.is_number() && std::isfinite(value.number))
    return set_value(component, index, model_.pool->number(value.number), true, value.number,
                     at.document.at(value));
  if (value.is_text()) {
    try {
      const auto quantity = units().parse(value.text);
      if (!quantity) {
        pending_.push_back({component, index, scope, &value});
        return;
      }
      if (std::isfinite(quantity->si) && (quantity->unit.empty() || parameter.any_unit ||
                                          units().convertible(quantity->unit, parameter.unit)))
        return set_value(component, index, model_.pool->number(quantity->si), true, quantity->si,
                         at.document.at(value));
    } catch (const UnknownUnit&) {
    }
  }
  // Wrong: the slow way says why.
  const bool checked = !parameter.any_unit && !parameter.unit.empty();
  const auto scalar =
      checked ? read_scalar(at, value, what(), parameter.unit) : read_scalar(at, value, what());
  if (scalar && !scalar->unit.empty() && !parameter.any_unit && !checked)
    check_unit(at, value, scalar->unit, parameter.unit, what());
}

int ModelReader::node_named(int scope, const Value& value, std::string_view component) {
  const Source at = source(scope);
  std::string name(value.text);
  if (value.type == Value::Type::integer && value.number >= 0.0)
    name = fmt::format("{:.0f}", value.number);
  else if (!at.is(value, Value::Type::text, fmt::format("port '{}' of '{}'", value.key, component)))
    return bad;
  if (name == "datum") return datum_ref;
  Scope& s = *scopes_[scope];
  if (const auto port = s.ports.find(name); port != s.ports.end()) {
    s.port_used[port->first] = true;
    return port->second;
  }
  const auto [entry, fresh] =
      model_.node_by_name.try_emplace(s.prefix + name, static_cast<int>(model_.nodes.size()));
  if (!fresh) return entry->second;
  const auto word = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  const auto [stem, index] = indexed(name);
  if (stem.empty() || !std::all_of(stem.begin(), stem.end(), word)) {
    at.fault(value, "T105", fmt::format("'{}' cannot be the name of a node", name),
             {"a node's name has letters, digits and underscores, and may have an index: n[3]"});
  }
  if (!index.empty()) model_.arrays[s.prefix + std::string(stem)].emplace_back(index);
  model_.nodes.push_back({entry->first, -1, false, value.line, -1});
  node_user_.emplace_back(-1, -1);
  return entry->second;
}

// Joins a port to a node, which takes the port's domain if it has none yet.
int ModelReader::connect(int node, int domain, int component, int port, int line) {
  if (node == bad) return bad;
  if (node == datum_ref) return datum_of(domain);
  ModelNode& n = model_.nodes[node];
  if (n.domain < 0) {
    n.domain = domain;
    node_user_[node] = {component, port};
  } else if (n.domain != domain) {
    const auto user = [&](int c, int p) {
      const Component& joined = model_.components[c];
      return fmt::format("port '{}' of '{}'", model_.kinds[joined.kind].nodes[p].name, joined.name);
    };
    const auto [first, first_port] = node_user_[node];
    faults_.add({model_.components[component].place.file, line}, "T114",
                fmt::format("node '{}' is {} at {} and {} at {}", n.name, model_.domains[n.domain].name,
                            user(first, first_port), model_.domains[domain].name, user(component, port)),
                {fmt::format("'{}' stands in line {}; a node belongs to one domain",
                             model_.components[first].name, model_.components[first].place.line),
                 "use two nodes; a component with ports of both domains couples them"});
  }
  return node;
}

int ModelReader::datum_of(int domain) {
  if (datums_[domain] < 0) {
    datums_[domain] = static_cast<int>(model_.nodes.size());
    model_.nodes.push_back({"datum", domain, true, 0, -1});
    node_user_.emplace_back(-1, -1);
  }
  return datums_[domain];
}

void ModelReader::check_ports(int scope) {
  const Source at = source(scope);
  const Value* ports = at.document.root().find("ports");
  if (!ports || !at.is(*ports, Value::Type::table, "'ports'")) return;
  const Scope& s = *scopes_[scope];
  for (const Value& port : ports->items) {
    if (!check_name(at, port, port.key, "a port")) continue;
    if (!at.is(port, Value::Type::text, fmt::format("port '{}'", port.key))) continue;
    if (port.key == "model" || port.key == "kind" || s.names.contains(port.key))
      at.fault(port, "T106", fmt::format("'{}' is a port and something else", port.key),
               {"who uses this model gives its ports and its parameters side by side, beside 'model'"});
    const std::string name(port.text);
    const bool inside = s.parent < 0 ? model_.node_by_name.contains(name) || frames_.contains(name)
                                     : s.port_used.contains(port.text) && s.port_used.at(port.text);
    if (inside) continue;
    std::vector<std::string> nodes;
    for (const ModelNode& node : model_.nodes)
      if (node.component < 0 && node.name.starts_with(s.prefix))
        nodes.push_back(node.name.substr(s.prefix.size()));
    at.fault(port, "T117",
             fmt::format("port '{}' leads to the node '{}', to which nothing in this file is joined",
                         port.key, port.text),
             {did_you_mean(port.text, nodes)});
  }
}

// A node and a component may have one name where `name.v` can mean one of them only, or is the same of both:
// the component's only edge runs from the node to the datum.
void ModelReader::check_clashes() {
  for (std::size_t c = 0; c < model_.components.size(); ++c) {
    const Component& component = model_.components[c];
    const auto node = model_.node_by_name.find(component.name);
    if (node == model_.node_by_name.end() || model_.nodes[node->second].domain < 0) continue;
    const std::string& variable = model_.domains[model_.nodes[node->second].domain].node;
    const Kind& kind = model_.kinds[component.kind];
    const auto own = find_in_component(model_, static_cast<int>(c), variable);
    bool clash = std::any_of(kind.parameters.begin(), kind.parameters.end(),
                             [&](const KindParameter& parameter) { return parameter.name == variable; });
    std::string runs;
    if (own && own->what == VariableRef::What::across) {
      const KindEdge& edge = kind.edges[own->index];
      const int from = edge.from < 0 ? -1 : component.nodes[edge.from];
      const int to = edge.to < 0 ? -1 : component.nodes[edge.to];
      if (from != node->second || (to >= 0 && !model_.nodes[to].datum)) {
        const auto name = [&](int end) { return end < 0 ? "datum" : model_.nodes[end].name.c_str(); };
        clash = true;
        runs = fmt::format("the component's is from '{}' to '{}'; ", name(from), name(to));
      }
    } else {
      clash = clash || own;
    }
    if (clash)
      faults_.add(
          component.place, "T106", fmt::format("'{}' is both a component and a node", component.name),
          {fmt::format("'{}.{}' could be of either; {}the node is first named in line {}; give one of "
                       "them another name",
                       component.name, variable, runs, model_.nodes[node->second].line)});
  }
  for (std::size_t k = 1; k < scopes_.size(); ++k) {  // subsystems: what they call by the variable's name
    const Scope& s = *scopes_[k];
    const std::string name = s.prefix.substr(0, s.prefix.size() - 1);
    const auto node = model_.node_by_name.find(name);
    if (node == model_.node_by_name.end() || model_.nodes[node->second].domain < 0) continue;
    const ModelNode& n = model_.nodes[node->second];
    const std::string& variable = model_.domains[n.domain].node;
    if (s.names.contains(variable))
      faults_.add(
          {scopes_[s.parent]->document->name(), n.line}, "T106",
          fmt::format("'{}' is both a subsystem and a node", name),
          {fmt::format("'{}.{}' could be the node's or what '{}' calls '{}'; give one of them another "
                       "name",
                       name, variable, std::filesystem::path(s.document->name()).filename().string(),
                       variable)});
  }
}

void ModelReader::check_datums() {
  std::vector<int> first(model_.domains.size(), -1);
  for (std::size_t n = 0; n < model_.nodes.size(); ++n)
    if (const int domain = model_.nodes[n].domain; domain >= 0 && first[domain] < 0)
      first[domain] = static_cast<int>(n);
  for (std::size_t d = 0; d < first.size(); ++d) {
    if (first[d] < 0 || datums_[d] >= 0) continue;
    faults_.add({model_.file.string(), model_.nodes[first[d]].line}, "T115",
                fmt::format("the {} domain has no datum: nothing fixes the {} of node '{}' and the others",
                            model_.domains[d].name, model_.domains[d].node, model_.nodes[first[d]].name),
                {fmt::format("join a port to \"datum\"{}", kinds_that_fix(static_cast<int>(d)))});
  }
}

}  // namespace tellegen
