// D, S, W, Q and M by the table of library/spice.toml.
#include "tellegen/netlist/devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/model/document.h"
#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/numbers.h"
#include "tellegen/netlist/translation.h"

namespace tellegen {
namespace {

std::string as_text(const Value& value) {
  return value.is_number() ? number_text(value.number) : std::string(value.text);
}

// The names of a device's formulas: what model and element give, or the table's own values.
class DeviceMeanings : public Meanings {
 public:
  DeviceMeanings(const std::map<std::string, Formula>& values, double celsius)
      : values_(values), celsius_(celsius) {}
  std::optional<Formula> value(const std::string& name) override {
    const auto found = values_.find(name);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  const SpiceFunction* function(const std::string&) override { return nullptr; }
  Formula voltage(const std::string& node) override { throw ExpressionError("T506", node); }
  Formula current(const std::string& element) override { throw ExpressionError("T506", element); }
  double celsius() override { return celsius_; }

 private:
  const std::map<std::string, Formula>& values_;
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

}  // namespace

DeviceTable read_devices(const std::filesystem::path& library) {
  const std::filesystem::path file = library / "spice.toml";
  const Document document(read_text(file, {file.string(), 0}), file.string());
  DeviceTable devices;
  FaultList faults;
  const Source source{document, faults};
  for (const Value& entry : document.root().items) {
    const std::string what = fmt::format("'{}'", entry.key);
    if (!source.is(entry, Value::Type::table, what)) continue;
    source.known_keys(
        entry,
        {"like", "letter", "kind", "ports", "current", "names", "aliases", "positional", "values", "series",
         "substrate", "states", "neutral", "without_effect", "multiplied", "divided"},
        what);
    DeviceKind device;
    if (const std::string like = source.text(entry, "like", what); !like.empty()) {
      if (!devices.contains(like)) {
        source.fault(entry, "T103", fmt::format("there is no '{}' before {}", like, what));
        continue;
      }
      device = devices.at(like);
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
    text("substrate", device.substrate);
    const auto list = [&](std::string_view key, std::vector<std::string>& into) {
      if (const Value* found = entry.find(key)) {
        into.clear();
        for (const Value& item : found->items) into.emplace_back(item.text);
      }
    };
    list("ports", device.ports);
    list("positional", device.positional);
    list("without_effect", device.without_effect);
    list("multiplied", device.multiplied);
    list("divided", device.divided);
    const auto each = [&](std::string_view key, auto&& take) {
      if (const Value* found = entry.find(key))
        for (const Value& item : found->items) take(std::string(item.key), as_text(item));
    };
    each("names", [&](const std::string& key, const std::string& value) { device.names[key] = value; });
    each("aliases", [&](const std::string& key, const std::string& value) { device.aliases[key] = value; });
    each("neutral", [&](const std::string& key, const std::string& value) {
      device.neutral[key] = read_number(value).value_or(0.0);
    });
    if (const Value* states = entry.find("states"))
      for (const Value& state : states->items)
        if (state.items.size() == 3)
          device.states.push_back(
              {as_text(state.items[0]), as_text(state.items[1]), as_text(state.items[2])});
    each("series", [&](const std::string& key, const std::string& value) {
      device.series.push_back({key, value});
    });
    each("values", [&](const std::string& key, const std::string& value) {
      std::erase_if(device.values, [&](const KeyValue& a) { return a.name == key; });
      device.values.push_back({key, value});
    });
    devices[device.type] = std::move(device);
  }
  faults.throw_if_any();
  return devices;
}

const DeviceKind* Translation::device_of(const Element& element) const {
  const Item item = item_of(element);
  const std::size_t k = element.letter() == 'w' ? 4 : terminal_count(item) + 1;
  if (k >= item.fields.size()) return nullptr;
  const ModelCard* model = element.at->model(item.fields[k].text);
  if (!model) return nullptr;
  const auto found = devices_.find(model->type);
  return found == devices_.end() || found->second.letter != element.letter() ? nullptr : &found->second;
}

void Translation::device(const Item& item) {
  const Element& element = item.element;
  const std::size_t at = element.letter() == 'w' ? 4 : terminal_count(item) + 1;
  if (at >= item.fields.size()) fault(item, "T502", fmt::format("'{}' has no model", element.name));
  const ModelCard* model = element.at->model(item.fields[at].text);
  if (!model) {
    std::vector<std::string> known;
    for (const Netlist* c = element.at->circuit; c; c = c->parent)
      for (const auto& [name, card] : c->models) known.push_back(name);
    fault(item, "T503", fmt::format("there is no model '{}' for '{}'", item.fields[at].text, element.name),
          {did_you_mean(item.fields[at].text, known)});
  }
  if (model->wrong) throw *model->wrong;
  const DeviceKind* device = device_of(element);
  if (!device) {
    std::vector<std::string> types;
    for (const auto& [type, kind] : devices_)
      if (kind.letter == element.letter()) types.push_back(type);
    fault(item, "T503", fmt::format("the model '{}' is of type '{}'", model->name, model->type),
          {fmt::format("'{}' needs one of: {}", element.name, joined(types))});
  }

  // What is given, by the element before the model.
  std::map<std::string, Formula> given;
  const auto give = [&](std::string name, const std::string& text, const Place& place, bool first) {
    if (const auto alias = device->aliases.find(name); alias != device->aliases.end()) name = alias->second;
    const auto& passed = device->without_effect;
    if (std::find(passed.begin(), passed.end(), name) != passed.end()) return;
    if (const auto neutral = device->neutral.find(name); neutral != device->neutral.end()) {
      if (names_.number(names_.constant(text, *element.at, place), place) == neutral->second) return;
      throw netlist_fault(
          place, "T503", fmt::format("'{}' is not supported for {} ({})", name, device->type, device->kind),
          {fmt::format("only {}={}, as which it has no effect", name, number_text(neutral->second))});
    }
    if (!device->names.contains(name)) {
      std::vector<std::string> known;
      for (const auto& [other, value] : device->names) known.push_back(other);
      throw netlist_fault(place, "T503",
                          fmt::format("'{}' is not supported for {} ({})", name, device->type, device->kind),
                          {did_you_mean(name, known), "supported: " + joined(known)});
    }
    if (first || !given.contains(name)) given[name] = names_.constant(text, *element.at, place);
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
  Formula many = number_formula(1.0);  // m= of an element: so many in parallel
  for (const KeyValue& a : take_assignments(fields)) {
    if (a.name == "m" && !device->multiplied.empty())
      many = constant(item, a.text);
    else
      give(a.name, a.text, item.place(), true);
  }
  std::size_t position = 0;
  for (const Field& field : fields) {
    if (field.is("on") || field.is("off")) {
      if (device->names.contains("on")) give("on", field.is("on") ? "1" : "0", item.place(), true);
      continue;
    }
    if (!field.is_value() || position >= device->positional.size())
      fault(item, "T502", fmt::format("'{}' of '{}' makes no sense here", field.text, element.name));
    give(device->positional[position++], field.text, item.place(), true);
  }
  for (const KeyValue& a : model->values) give(a.name, a.text, model->place, false);
  const auto circuit = [&](const char* name, double value) {
    if (device->names.contains(name)) given.try_emplace(name, number_formula(value));
  };
  if (run_.gmin) circuit("gmin", *run_.gmin);
  if (run_.celsius != 27.0) circuit("temp", run_.celsius);
  if (run_.nominal != 27.0) circuit("tnom", run_.nominal);

  if (many.text != "1") {
    const auto scale = [&](const std::vector<std::string>& names, auto&& by) {
      for (const std::string& name : names)
        if (given.contains(name) || device->names.at(name) != "0")
          given[name] = by(given.contains(name) ? given[name] : constant(item, device->names.at(name)), many);
    };
    scale(device->multiplied, multiply);
    scale(device->divided, divide);
  }

  std::map<std::string, Formula> values = given;
  for (const auto& [name, text] : device->names)
    if (!text.empty() && !values.contains(name)) {
      DeviceMeanings meanings(values, run_.celsius);
      values[name] = tellegen::translate(text, meanings);
    }
  const auto evaluated = [&](const std::string& text) {
    DeviceMeanings meanings(values, run_.celsius);
    try {
      return names_.simplified(tellegen::translate(text, meanings));
    } catch (const ExpressionError& error) {
      fault(item, error.code, fmt::format("{}: {}", device->type, error.what()));
    }
  };
  const auto asked_for = [&](const std::string& text) {
    bool any = false;
    for (const auto& [name, value] : device->names) {
      if (!uses(text, name)) continue;
      any = true;
      if (given.contains(name)) return true;
    }
    return !any;  // a constant of the type
  };

  ComponentText text = component(item, device->kind);
  std::vector<std::string> nodes;
  for (std::size_t k = 1; k <= std::min(terminal_count(item), device->ports.size()); ++k)
    nodes.push_back(node(item, k));
  if (element.letter() == 'w') {
    // The switch is controlled by a voltage: the current, in volts, on a node of its own.
    ComponentText sense{names_.extra_component(element.name + "_sense"), "electrical.voltage_source", {}};
    const std::string control = names_.extra_node(element.name + "_control");
    sense.port("p", control);
    sense.port("n", "datum");
    sense.value("V", without_unit(controlling_current(item, 3)));
    write(sense, item);
    nodes.push_back(control);
    nodes.emplace_back("datum");
  }
  for (const KeyValue& series : device->series) {
    if (!asked_for(series.text)) continue;
    const Formula resistance = evaluated(series.text);
    if (names_.number(resistance, item.place()) == 0.0) continue;
    const auto port =
        std::find(device->ports.begin(), device->ports.end(), series.name) - device->ports.begin();
    const std::string inner = names_.extra_node(fmt::format("{}_{}", element.name, series.name));
    ComponentText resistor{
        names_.extra_component(fmt::format("{}_r{}", element.name, series.name)), "electrical.resistor", {}};
    resistor.port("p", nodes[port]);
    resistor.port("n", inner);
    resistor.value("R", resistance);
    write(resistor, item);
    nodes[port] = inner;
  }
  if (!device->substrate.empty() && names_.number(values.at("gmin"), item.place()) > 0.0) {
    // The junction between that port and the substrate blocks: gmin is what is left of it.
    const auto port =
        std::find(device->ports.begin(), device->ports.end(), device->substrate) - device->ports.begin();
    const bool named = terminal_count(item) > device->ports.size();
    const std::string substrate = named ? node(item, device->ports.size() + 1) : "datum";
    ComponentText leak{names_.extra_component(element.name + "_substrate"), "electrical.resistor", {}};
    leak.port("p", nodes[port]);
    leak.port("n", substrate);
    leak.value("R", names_.simplified(divide(number_formula(1.0), values.at("gmin"))));
    if (nodes[port] != substrate) write(leak, item);
  }
  for (std::size_t k = 0; k < device->ports.size(); ++k) text.port(device->ports[k], nodes[k]);
  for (const KeyValue& a : device->values)
    if (asked_for(a.text)) text.value(a.name, evaluated(a.text));
  write(text, item);
  if (!run_.uic) return;
  for (const DeviceKind::State& state : device->states)
    if (names_.number(evaluated(state.storage), item.place()) != 0.0)
      initial_.add(
          fmt::format("\"{}.{}\" = {}", text.name, state.variable, toml_value(evaluated(state.start))),
          item.place());
}

}  // namespace tellegen
