// D, Q, M, J, S and W by the table of library/spice.toml.
#include "tellegen/netlist/devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/model/document.h"
#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/potentials.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

constexpr std::string_view lengths_and_areas[] = {"l", "w", "ad", "as", "pd", "ps"};

std::string as_text(const Value& value) {
  return value.is_number() ? number_text(value.number) : std::string(value.text);
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The names of a device's formulas: what model and element give, or the table's own formulas of other names;
// `given.x` is whether x is given, `self.x` a variable of the device's component.
class DeviceMeanings : public Meanings {
 public:
  DeviceMeanings(const DeviceKind& device, const std::map<std::string, Formula>& given, std::string self,
                 double celsius)
      : device_(device), given_(given), self_(std::move(self)), celsius_(celsius) {}
  std::optional<Formula> value(const std::string& name) override {
    if (name.starts_with("given.")) return number_formula(given_.contains(name.substr(6)) ? 1.0 : 0.0);
    if (name.starts_with("self.")) return Formula{self_ + name.substr(4), Formula::atom, true};
    if (const auto found = given_.find(name); found != given_.end()) return found->second;
    const auto usual = device_.names.find(name);
    if (usual == device_.names.end() || usual->second.empty()) return std::nullopt;
    return tellegen::translate(usual->second, *this);
  }
  const SpiceFunction* function(const std::string&) override { return nullptr; }
  Formula voltage(const std::string& node) override { throw ExpressionError("T506", node); }
  Formula current(const std::string& element) override { throw ExpressionError("T506", element); }
  double celsius() override { return celsius_; }

 private:
  const DeviceKind& device_;
  const std::map<std::string, Formula>& given_;
  std::string self_;
  double celsius_;
};

// Whether a formula of the table uses the name.
bool uses(const std::string& formula, const std::string& name) {
  for (std::size_t at = formula.find(name); at != std::string::npos; at = formula.find(name, at + 1)) {
    const auto word = [&](std::size_t k) {
      return k < formula.size() &&
             (std::isalnum(static_cast<unsigned char>(formula[k])) || formula[k] == '_');
    };
    if ((at == 0 || !word(at - 1)) && !word(at + name.size())) return true;
  }
  return false;
}

// Whether a given name is in the formula, or in what stands for a name of it; a constant is always wanted.
bool asked_for(const std::string& text, const DeviceKind& device,
               const std::map<std::string, Formula>& given) {
  bool any = false;
  if (text.starts_with('=')) return true;
  for (const auto& [name, usual] : device.names) {
    if (!uses(text, name)) continue;
    any = true;
    if (given.contains(name)) return true;
    const bool plain = usual.empty() || read_number(usual) || usual == text;
    if (!plain && asked_for(usual, device, given)) return true;
  }
  return !any;
}

std::vector<KeyValue> pairs_of(const Value& table) {
  std::vector<KeyValue> pairs;
  for (const Value& item : table.items) pairs.push_back({std::string(item.key), as_text(item)});
  return pairs;
}

DeviceKind::Part part_of(const Value& entry, const Source& source, const std::string& what) {
  source.known_keys(entry, {"name", "kind", "when", "before", "state", "ports", "values"}, what);
  DeviceKind::Part part;
  part.name = source.text(entry, "name", what);
  part.kind = source.text(entry, "kind", what);
  part.when = source.text(entry, "when", what);
  part.before = source.text(entry, "before", what);
  part.state = source.text(entry, "state", what);
  if (const Value* ports = entry.find("ports")) part.ports = pairs_of(*ports);
  if (const Value* values = entry.find("values")) part.values = pairs_of(*values);
  return part;
}

}  // namespace

DeviceTable::DeviceTable(const std::filesystem::path& library) : file_((library / "spice.toml").string()) {
  const std::string text = read_text(file_, {file_, 0});
  Entry* entry = nullptr;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (line.starts_with('['))
      if (const std::size_t close = line.find(']'); close != std::string_view::npos) {
        entry = &entries_[std::string(line.substr(1, close - 1))];
        entry->line = number;
      }
    if (entry) entry->text += line;
    at = end;
    ++number;
  }
}

std::vector<std::string> DeviceTable::types() const {
  std::vector<std::string> all;
  for (const auto& [type, entry] : entries_) all.push_back(type);
  return all;
}

const DeviceKind* DeviceTable::find(const std::string& type) const {
  const auto found = entries_.find(type);
  if (found == entries_.end()) return nullptr;
  if (!found->second.device) found->second.device = read(found->second);
  return &*found->second.device;
}

DeviceKind DeviceTable::read(const Entry& of) const {
  const Document document(std::string(static_cast<std::size_t>(of.line), '\n') + of.text, file_);
  DeviceKind device;
  FaultList faults;
  const Source source{document, faults};
  for (const Value& entry : document.root().items) {
    const std::string what = fmt::format("'{}'", entry.key);
    if (!source.is(entry, Value::Type::table, what)) continue;
    source.known_keys(entry,
                      {"like",    "letter",  "kind",           "ports",    "optional",   "current", "names",
                       "aliases", "levels",  "negative",       "flags",    "positional", "values",  "parts",
                       "states",  "neutral", "without_effect", "left_out", "multiplied", "divided"},
                      what);
    if (const std::string like = source.text(entry, "like", what); !like.empty()) {
      const auto base = entries_.find(like);
      if (base == entries_.end() || base->second.line >= of.line) {
        source.fault(entry, "T103", fmt::format("there is no '{}' before {}", like, what));
        continue;
      }
      device = *find(like);
    }
    device.type = entry.key;
    const auto text = [&](std::string_view key, std::string& into) {
      if (entry.find(key)) into = source.text(entry, key, what);
    };
    std::string letter(1, device.letter);
    text("letter", letter);
    device.letter = letter.empty() ? '\0' : letter[0];
    text("kind", device.kind);
    text("current", device.current);
    const auto list = [&](std::string_view key, std::vector<std::string>& into) {
      if (const Value* found = entry.find(key)) {
        into.clear();
        for (const Value& item : found->items) into.emplace_back(item.text);
      }
    };
    list("ports", device.ports);
    list("optional", device.optional);
    list("positional", device.positional);
    list("without_effect", device.without_effect);
    list("left_out", device.left_out);
    list("multiplied", device.multiplied);
    list("divided", device.divided);
    const auto each = [&](std::string_view key, std::map<std::string, std::string>& into) {
      if (const Value* found = entry.find(key))
        for (const KeyValue& a : pairs_of(*found)) into[a.name] = a.text;
    };
    each("names", device.names);
    each("aliases", device.aliases);
    each("levels", device.levels);
    each("negative", device.negative);
    each("flags", device.flags);
    if (const Value* neutral = entry.find("neutral"))
      for (const KeyValue& a : pairs_of(*neutral)) device.neutral[a.name] = read_number(a.text).value_or(0.0);
    if (const Value* states = entry.find("states")) {
      device.states.clear();
      for (const Value& state : states->items)
        if (state.items.size() == 3)
          device.states.push_back(
              {as_text(state.items[0]), as_text(state.items[1]), as_text(state.items[2])});
    }
    if (const Value* parts = entry.find("parts")) {
      device.parts.clear();
      for (const Value& part : parts->items) device.parts.push_back(part_of(part, source, what));
    }
    if (const Value* values = entry.find("values"))
      for (const KeyValue& a : pairs_of(*values)) {
        std::erase_if(device.values, [&](const KeyValue& b) { return a.name == b.name; });
        device.values.push_back(a);
      }
  }
  faults.throw_if_any();
  return device;
}

std::size_t Translation::model_field(const Item& item) const {
  return item.element.letter() == 'w' ? 4 : terminal_count(item) + 1;
}

const DeviceKind* Translation::device_of(const Element& element) const {
  const Item item = item_of(element);
  const std::size_t k = model_field(item);
  if (k >= item.fields.size()) return nullptr;
  const ModelCard* model = element.at->model(item.fields[k].text);
  if (!model) return nullptr;
  const DeviceKind* device = devices_.find(model->type);
  if (!device || device->letter != element.letter()) return nullptr;
  for (const KeyValue& a : model->values)
    if (const auto other = device->negative.find(a.name);
        other != device->negative.end() &&
        names_.number(names_.constant(a.text, *element.at, model->place), model->place) < 0.0)
      return devices_.find(other->second);
  const std::string level = level_of(*model, *element.at);
  const auto other = device->levels.find(level);
  if (level == "1" || (other != device->levels.end() && other->second == model->type)) return device;
  return other == device->levels.end() ? nullptr : devices_.find(other->second);
}

// `level=` of a model; "1" where there is none.
std::string Translation::level_of(const ModelCard& model, const Instance& at) const {
  std::string level = "1";
  for (const KeyValue& a : model.values)
    if (a.name == "level") level = a.text;
  if (const auto number = read_number(level)) return number_text(*number);
  return number_text(names_.number(names_.constant(level, at, model.place), model.place));
}

// Why there is no device for the model: a type of other elements, or one that is not supported, by its name.
void Translation::no_device(const Item& item, const ModelCard& model) const {
  const std::string& name = item.element.name;
  const DeviceKind* device = devices_.find(model.type);
  std::vector<std::string> types;
  for (const std::string& type : devices_.types())
    if (devices_.find(type)->letter == item.element.letter() && type.find('-') == std::string::npos)
      types.push_back(type);
  if (!device || device->letter != item.element.letter())
    fault(item, "T503",
          fmt::format("the model '{}' of '{}' is of type '{}', which is not supported", model.name, name,
                      model.type),
          {fmt::format("'{}' takes one of: {}", name, joined(types))});
  const std::string level = level_of(model, *item.element.at);
  const auto known = device->levels.find(level);
  fault(item, "T503",
        fmt::format("the model '{}' of '{}' is {}, which is not supported", model.name, name,
                    known == device->levels.end()
                        ? fmt::format("a {} of level {}", model.type, level)
                        : fmt::format("{} ({} of level {})", known->second, model.type, level)));
}

void Translation::device(const Item& item) {
  const Element& element = item.element;
  const std::size_t at = model_field(item);
  if (at >= item.fields.size()) fault(item, "T502", fmt::format("'{}' has no model", element.name));
  if (element.letter() == 's' && item.fields[at].type == Field::Type::equals && item.fields[4].is("control"))
    fault(item, "T500",
          fmt::format("'{}' is a switch that an expression controls (Xyce), which is not supported",
                      element.name),
          {"a B source of the expression, and its node as control, are"});
  const ModelCard* model = element.at->model(item.fields[at].text);
  if (!model)  // divided into bins of length and width, as BSIM's are
    if (const ModelCard* bin = element.at->model(item.fields[at].text + ".1");
        bin && read_number(level_of(*bin, *element.at)).value_or(0.0) > 3.0)
      no_device(item, *bin);
  if (!model) {
    std::vector<std::string> known;
    for (const Netlist* c = element.at->circuit; c; c = c->parent)
      for (const auto& [name, card] : c->models) known.push_back(name);
    fault(item, "T503", fmt::format("there is no model '{}' for '{}'", item.fields[at].text, element.name),
          missing_hints(did_you_mean(item.fields[at].text, known)));
  }
  if (model->wrong) throw *model->wrong;
  const DeviceKind* device = device_of(element);
  if (!device) no_device(item, *model);

  // What is given, by the element before the model.
  std::map<std::string, Formula> given;
  std::vector<std::string> of_element;
  const auto give = [&](std::string name, const std::string& text, const Place& place, bool first) {
    if (const auto alias = device->aliases.find(name); alias != device->aliases.end()) name = alias->second;
    if (name == "level" || contains(device->without_effect, name)) return;
    if (contains(device->left_out, name))
      return note_once(place, fmt::format("'{}' of the model '{}' is not modelled", name, model->name));
    if (const auto neutral = device->neutral.find(name); neutral != device->neutral.end()) {
      if (names_.number(names_.constant(text, *element.at, place), place) == neutral->second) return;
      throw netlist_fault(
          place, "T503",
          fmt::format("'{}' of the model '{}' ({}) is not supported", name, model->name, device->kind),
          {fmt::format("only {}={}, as which it has no effect", name, number_text(neutral->second))});
    }
    if (!device->names.contains(name)) {
      note_once(place, fmt::format("'{}' is not a parameter of {}: it has no effect, as in ngspice", name,
                                   device->type));
      return;
    }
    if (first) of_element.push_back(name);
    if (first || !contains(of_element, name)) given[name] = names_.constant(text, *element.at, place);
  };
  std::vector<Field> fields(item.fields.begin() + static_cast<std::ptrdiff_t>(at) + 1, item.fields.end());
  // ic=0.6,1: only the first value is a name's; the others have no effect.
  for (std::size_t k = 0; k + 2 < fields.size(); ++k)
    if (fields[k].is("ic") && fields[k + 1].type == Field::Type::equals) {
      if (!run_.uic) note(item.place(), "ic= has no effect without uic in .tran");
      std::size_t end = k + 3;
      while (end < fields.size() && fields[end].is_value() &&
             (end + 1 >= fields.size() || fields[end + 1].type != Field::Type::equals))
        ++end;
      if (device->names.contains("ic")) give("ic", fields[k + 2].text, item.place(), true);
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(k),
                   fields.begin() + static_cast<std::ptrdiff_t>(end));
      break;
    }
  for (std::size_t k = 0; k < fields.size();) {  // wherever they stand, also behind name=value
    const bool named = k + 1 < fields.size() && fields[k + 1].type == Field::Type::equals;
    if ((!fields[k].is("on") && !fields[k].is("off")) || named) {
      ++k;
      continue;
    }
    if (device->names.contains("on"))
      give("on", fields[k].is("on") ? "1" : "0", item.place(), true);
    else
      note_once(item.place(), fmt::format("'{}' has no effect: the operating point is found without it; of "
                                          "several, .ic says which",
                                          fields[k].text));
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(k));
  }
  if (element.letter() == 'm' &&
      std::any_of(fields.begin(), fields.end(), [](const Field& field) { return field.is("thermal"); }))
    fault(
        item, "T500",
        fmt::format("the self-heating of '{}' (`thermal`, with nodes for its temperatures) is not supported",
                    element.name),
        {"without `thermal` and these two nodes it stays at the temperature of the circuit"});
  Formula many = parallel(*element.at);  // m= of an element, and of the subcircuits around it
  for (const KeyValue& a : take_assignments(fields)) {
    if (a.name == "m" && !device->multiplied.empty())
      many = multiply(many, constant(item, a.text));
    else
      give(a.name, a.text, item.place(), true);
  }
  std::size_t position = 0;
  for (const Field& field : fields) {
    if (!field.is_value() || position >= device->positional.size())
      fault(item, "T502", fmt::format("'{}' of '{}' makes no sense here", field.text, element.name));
    give(device->positional[position++], field.text, item.place(), true);
  }
  for (const KeyValue& a : model->values) give(a.name, a.text, model->place, false);
  for (const std::string& flag : model->flags) {
    const auto known = device->flags.find(flag);
    if (known == device->flags.end())
      note_once(model->place, fmt::format("'{}' of the model '{}' has no effect", flag, model->name));
    else if (!known->second.empty())
      given[known->second] = number_formula(1.0);
  }
  const auto circuit = [&](const std::string& name, double value) {
    if (device->names.contains(name)) given.try_emplace(name, number_formula(value));
  };
  if (run_.gmin) circuit("gmin", *run_.gmin);
  if (run_.celsius != 27.0 && !given.contains("dtemp")) circuit("temp", run_.celsius);
  if (run_.nominal != 27.0) circuit("tnom", run_.nominal);
  if (run_.scale != 1.0)
    for (const std::string& name : of_element)
      if (element.letter() == 'm' && is_one_of(name, lengths_and_areas))
        for (int k = 0; k < (name.starts_with('a') ? 2 : 1); ++k)
          given[name] = multiply(number_formula(run_.scale), given[name]);
  if (element.letter() == 'm')
    for (const auto& [name, value] : run_.channel) circuit(name, value);  // .options defl, defw, defad, defas

  if (many.text != "1") {
    const auto scale = [&](const std::vector<std::string>& names, auto&& by) {
      for (const std::string& name : names)
        if (given.contains(name) || read_number(device->names.at(name)).value_or(0.0) != 0.0)
          given[name] = by(given.contains(name) ? given[name] : constant(item, device->names.at(name)), many);
    };
    scale(device->multiplied, multiply);
    scale(device->divided, divide);
  }

  ComponentText text = component(item, device->kind);
  const auto evaluated = [&](const std::string& formula) {
    DeviceMeanings meanings(*device, given, text.name, run_.celsius);
    try {
      const std::string_view text = formula;
      return names_.simplified(tellegen::translate(text.substr(text.starts_with('=')), meanings));
    } catch (const ExpressionError& error) {
      fault(item, error.code, fmt::format("{}: {}", device->type, error.what()));
    }
  };
  const auto number = [&](const std::string& formula) {
    return names_.number(evaluated(formula), item.place());
  };

  std::map<std::string, std::string> nodes;  // of the device's component, by port
  std::size_t next = 1;
  const std::size_t count = terminal_count(item);
  if (element.letter() != 'w' && count < device->ports.size())
    fault(item, "T502",
          fmt::format("'{}' has {} nodes, and the model '{}' needs {}: {}", element.name, count, model->name,
                      device->ports.size(), fmt::join(device->ports, ", ")));
  std::map<std::string, double> potentials, settled;  // of terminals at the start: as .ic says; decided
  const auto connect = [&](const std::string& port) {
    potentials[port] = next <= count ? node_start(item, next) : 0.0;
    const std::string at = next <= count ? element.at->node(item.fields[next].text) : "0";
    if (const auto known = settled_.find(at); known != settled_.end()) settled[port] = known->second;
    nodes[port] = next <= count ? node(item, next++) : "datum";
  };
  for (const std::string& port : device->ports) connect(port);
  if (element.letter() == 'w') {
    // The switch is controlled by a voltage: the current, in volts, on a node of its own.
    ComponentText sense{names_.extra_component(element.name + "_sense"), "electrical.voltage_source", {}};
    const std::string control = names_.extra_node(element.name + "_control");
    sense.port("p", control);
    sense.port("n", "datum");
    sense.value("V", without_unit(controlling_current(item, 3)));
    write(sense, item);
    nodes["cp"] = control;
    nodes["cn"] = "datum";
  }
  for (const std::string& port : device->optional) connect(port);
  if (next <= count)
    fault(item, "T502", fmt::format("'{}' of the model '{}' has too many nodes", element.name, model->name));
  const std::map<std::string, std::string> outer = nodes;
  // With uic a junction begins with the voltage that .ic gives its terminals; at zero behind a node of the
  // device's own. Where potentials are decided, by sources, capacitors or junctions before it, it has no say.
  Potentials decided;
  decided.index("datum");
  for (const auto& [port, value] : settled)
    decided.fix(decided.index(outer.at(port)), decided.index("datum"), value);
  const auto between = [&](std::string_view from, std::string_view to) {
    const auto bare = [](std::string_view port) {
      if (port.starts_with("outer ")) port.remove_prefix(6);
      return std::string(port);
    };
    const auto a = potentials.find(bare(from)), b = potentials.find(bare(to));
    const bool known = a != potentials.end() && b != potentials.end();
    const double given = known ? a->second - b->second : 0.0;
    if (element.letter() == 'm' && known) {
      // Gates conduct nothing: where one terminal is free, the others' capacitances must not contradict each
      // other.
      const auto p = settled.find(a->first), q = settled.find(b->first);
      return (p != settled.end() ? p->second : a->second) - (q != settled.end() ? q->second : b->second);
    }
    const auto at = [&](std::string_view port) {
      return decided.index(port.starts_with("outer ") ? outer.at(bare(port)) : nodes.at(std::string(port)));
    };
    const std::size_t i = at(from), j = at(to);
    const auto p = decided.of(i), q = decided.of(j);
    if (p.root == q.root) return p.above - q.above;
    decided.fix(i, j, given);
    return given;
  };
  for (const DeviceKind::Part& part : device->parts) {
    if (!part.when.empty() ? number(part.when) == 0.0 : !asked_for(part.values[0].text, *device, given))
      continue;
    const bool series = !part.before.empty();
    ComponentText beside{names_.extra_component(fmt::format("{}_{}", element.name, part.name)),
                         part.kind.empty() ? "electrical.resistor" : part.kind,
                         {}};
    if (series) {
      if (part.kind.empty() && part.when.empty() && number(part.values[0].text) == 0.0) continue;
      const std::string inner = names_.extra_node(fmt::format("{}_{}", element.name, part.before));
      beside.port("p", nodes[part.before]);
      beside.port("n", inner);
      nodes[part.before] = inner;
    }
    bool apart = true;  // ports on different nodes
    std::string last;
    for (const KeyValue& port : part.ports) {
      if (port.text.starts_with("new ") && !nodes.contains(port.text))
        nodes[port.text] = names_.extra_node(fmt::format("{}_{}", element.name, port.text.substr(4)));
      const bool outside = port.text.starts_with("outer ");
      const std::string on = outside ? outer.at(port.text.substr(6)) : nodes.at(port.text);
      beside.port(port.name, on);
      if (!last.empty() && last == on) apart = false;
      last = on;
    }
    if (!apart) continue;
    for (const KeyValue& a : part.values) beside.value(a.name, evaluated(a.text));
    write(beside, item);
    if (run_.uic && !part.state.empty())
      initial_.add(fmt::format("\"{}.{}\" = {}", beside.name, part.state,
                               number_text(between(part.ports[0].text, part.ports[1].text))),
                   item.place());
  }
  for (const std::string& port : device->ports) text.port(port, nodes[port]);
  for (const KeyValue& a : device->values)
    if (asked_for(a.text, *device, given)) text.value(a.name, evaluated(a.text));
  write(text, item);
  if (!run_.uic) return;
  // Of `gs.v` from g to s, of `v` from the first port to the second.
  const auto at_start = [&](const std::string& variable) {
    return variable == "v" ? between(device->ports[0], device->ports[1])
                           : between(variable.substr(0, 1), variable.substr(1, 1));
  };
  for (const DeviceKind::State& state : device->states)
    if (number(state.storage) != 0.0)
      initial_.add(fmt::format("\"{}.{}\" = {}", text.name, state.variable,
                               given.contains(state.start) ? toml_value(evaluated(state.start))
                                                           : number_text(at_start(state.variable))),
                   item.place());
}

}  // namespace tellegen
