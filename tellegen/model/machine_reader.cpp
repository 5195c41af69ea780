// [machine] to a Machine: dimensions become parameters of the model as they are written; counts, windings and
// names are read here.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "tellegen/model/machine.h"

namespace tellegen {
namespace {

// A dimension or other quantity of a section: the parameter machine_<section>_<key>.
struct MachineQuantity {
  std::string_view section, key, unit;
  std::string_view otherwise = "";  // empty: must be given
  std::string_view rotor = "";      // only of this type; empty: of all
};
constexpr MachineQuantity quantities[] = {
    {"", "stack", "m"},
    {"", "stacking", "1", "1.0"},
    {"", "gap", "m"},
    {"stator", "bore", "m"},
    {"stator", "tooth_width", "m"},
    {"stator", "tooth_height", "m"},
    {"stator", "yoke", "m"},
    {"stator", "slot_width", "m"},
    {"stator", "conductor_height", "m"},
    {"stator", "opening", "m"},
    {"stator", "opening_height", "m"},
    {"winding", "resistance", "ohm", "0.0"},
    {"winding", "end_leakage", "H", "0.0"},
    {"rotor", "angle", "rad", "0.0"},
    {"rotor", "yoke", "m"},
    {"rotor", "pole_arc", "1", "", "salient"},
    {"rotor", "body_width", "m", "", "salient"},
    {"rotor", "body_height", "m", "", "salient"},
    {"rotor", "shoe_height", "m", "", "salient"},
    {"rotor", "shaft_radius", "m", "", "salient"},
    {"rotor", "turns", "1", "", "salient"},
    {"rotor", "resistance", "ohm", "0.0", "salient"},
    {"rotor", "magnet_arc", "1", "", "surface"},
    {"rotor", "magnet_height", "m", "", "surface"},
    {"rotor", "remanence", "T", "", "surface"},
    {"rotor", "recoil", "1", "1.05", "surface"},
    {"rotor", "pole_arc", "1", "", "interior"},
    {"rotor", "magnet_width", "m", "", "interior"},
    {"rotor", "magnet_height", "m", "", "interior"},
    {"rotor", "remanence", "T", "", "interior"},
    {"rotor", "recoil", "1", "1.05", "interior"},
    {"rotor", "bridge_width", "m", "", "interior"},
    {"rotor", "bridge_length", "m", "", "interior"},
    {"rotor", "post_height", "m", "", "interior"},
    {"rotor", "shaft_radius", "m", "", "interior"},
    {"rotor", "tooth_width", "m", "", "cage"},
    {"rotor", "tooth_height", "m", "", "cage"},
    {"rotor", "slot_width", "m", "", "cage"},
    {"rotor", "bar_height", "m", "", "cage"},
    {"rotor", "opening", "m", "", "cage"},
    {"rotor", "opening_height", "m", "", "cage"},
    {"rotor", "bar_resistance", "ohm", "", "cage"},
    {"rotor", "ring_resistance", "ohm", "0.0", "cage"},
};
// Keys that are no quantities.
struct OtherKey {
  std::string_view section, key, rotor = "";
};
constexpr OtherKey other_keys[] = {
    {"", "poles"},
    {"", "stator"},
    {"", "winding"},
    {"", "rotor"},
    {"", "materials"},
    {"", "terminals"},
    {"", "summary"},
    {"stator", "slots"},
    {"stator", "material"},
    {"stator", "slotting"},
    {"winding", "conductors"},
    {"winding", "layers"},
    {"winding", "coil_pitch"},
    {"winding", "paths"},
    {"winding", "a"},
    {"winding", "b"},
    {"winding", "c"},
    {"rotor", "type"},
    {"rotor", "material"},
    {"rotor", "current", "salient"},
    {"rotor", "segments", "surface"},
    {"rotor", "magnetisation", "surface"},
    {"rotor", "bars", "cage"},
};
constexpr std::string_view rotor_names[] = {"salient", "surface", "interior", "cage"};

class MachineReader {
 public:
  explicit MachineReader(const Source& source) : at_(source) {}

  Machine read(const Value& section) {
    machine_.line = section.line;
    if (!at_.is(section, Value::Type::table, "'machine'")) return machine_;
    const Value* stator = part(section, "stator");
    const Value* winding = part(section, "winding");
    const Value* rotor = part(section, "rotor");
    const Value* materials = part(section, "materials");
    if (!stator || !winding || !rotor || !materials) return machine_;
    const std::string type = rotor_type(*rotor);
    if (type.empty()) return machine_;
    read_quantities(section, "", type);
    read_quantities(*stator, "stator", type);
    read_quantities(*winding, "winding", type);
    read_quantities(*rotor, "rotor", type);
    read_materials(*materials);
    machine_.stator_iron = iron(*stator, "stator");
    machine_.rotor_iron = iron(*rotor, "rotor");
    machine_.slots = count(*stator, "slots", "the stator", 3, 1000);
    machine_.poles = count(section, "poles", "the machine", 2, 200);
    if (machine_.poles % 2 != 0)
      at_.fault(*section.find("poles"), "T124", "'poles' of the machine must be even");
    if (machine_.slots >= 3 && machine_.poles >= 2 && machine_.poles % 2 == 0)
      machine_.winding = read_winding(at_, winding, machine_.slots, machine_.poles);
    machine_.open_slots = word(*stator, "slotting", "the stator", {"smeared", "open"}) == "open";
    if (machine_.rotor == Machine::Rotor::surface) {
      machine_.parallel = word(*rotor, "magnetisation", "the rotor", {"radial", "parallel"}) == "parallel";
      machine_.segments = rotor->find("segments") ? count(*rotor, "segments", "the rotor", 1, 50) : 5;
    }
    if (machine_.rotor == Machine::Rotor::cage) machine_.bars = count(*rotor, "bars", "the rotor", 3, 1000);
    if (const Value* current = rotor->find("current"); current && machine_.wound_field())
      machine_.field_current = expression(*current);
    if (const Value* terminals = section.find("terminals")) read_terminals(*terminals);
    return machine_;
  }

 private:
  const Value* part(const Value& section, std::string_view key) {
    const Value* value = section.find(key);
    if (!value) {
      at_.fault(section, "T103", fmt::format("the machine has no [machine.{}]", key));
      return nullptr;
    }
    return at_.is(*value, Value::Type::table, fmt::format("'{}' of the machine", key)) ? value : nullptr;
  }

  std::string rotor_type(const Value& rotor) {
    const Value* type = rotor.find("type");
    std::vector<std::string> known(std::begin(rotor_names), std::end(rotor_names));
    if (!type) {
      at_.fault(rotor, "T103", "[machine.rotor] needs 'type'", {"known: " + joined(known)});
      return "";
    }
    if (!at_.is(*type, Value::Type::text, "'type' of the rotor")) return "";
    for (std::size_t k = 0; k < known.size(); ++k)
      if (known[k] == type->text) {
        machine_.rotor = static_cast<Machine::Rotor>(k);
        return known[k];
      }
    at_.fault(*type, "T186", fmt::format("there is no rotor of the type '{}'", type->text),
              {did_you_mean(type->text, known), "known: " + joined(known)});
    return "";
  }

  // The parameters of a section, in the order of the table above.
  void read_quantities(const Value& table, std::string_view section, const std::string& type) {
    const std::string what = section.empty() ? "'machine'" : fmt::format("'{}' of the machine", section);
    std::vector<std::string> known;
    for (const OtherKey& other : other_keys)
      if (other.section == section && (other.rotor.empty() || other.rotor == type))
        known.emplace_back(other.key);
    for (const MachineQuantity& q : quantities) {
      if (q.section != section || (!q.rotor.empty() && q.rotor != type)) continue;
      known.emplace_back(q.key);
      const std::string name =
          section.empty() ? fmt::format("machine_{}", q.key) : fmt::format("machine_{}_{}", section, q.key);
      const Value* value = table.find(q.key);
      if (!value && q.otherwise.empty()) {
        at_.fault(table, "T103", fmt::format("{} needs '{}'", what, q.key));
        continue;
      }
      parameter(name, value ? toml_text(*value) : std::string(q.otherwise), q.unit,
                value ? value->line : table.line);
    }
    for (const Value& item : table.items)
      if (std::find(known.begin(), known.end(), item.key) == known.end())
        at_.fault(item, "T101", fmt::format("unknown key '{}' in {}", item.key, what),
                  {did_you_mean(item.key, known), "known: " + joined(known)});
  }
  void parameter(const std::string& name, const std::string& value, std::string_view unit, int line) {
    machine_.parameters.push_back(
        {fmt::format("{} = {{ value = {}, unit = \"{}\" }}", name, value, unit), line});
  }

  void read_materials(const Value& table) {
    for (const Value& entry : table.items) {
      const std::string what = fmt::format("material '{}'", entry.key);
      if (!check_name(at_, entry, entry.key, "a material") || !at_.is(entry, Value::Type::table, what))
        continue;
      at_.known_keys(entry, {"mu_r", "curve", "loss", "summary"}, what);
      const Value *mu_r = entry.find("mu_r"), *curve = entry.find("curve");
      if (!mu_r == !curve)
        at_.fault(
            entry, "T103", fmt::format("{} needs either 'mu_r' or 'curve'", what),
            {"curve = [[0, 0], [0.5, 50], [1.5, 1000], ...]: flux density in T and field strength in A/m"});
      MachineIron iron{std::string(entry.key), "", "", {}};
      if (mu_r) {
        iron.mu_r = fmt::format("machine_{}_mu_r", entry.key);
        parameter(iron.mu_r, toml_text(*mu_r), "1", mu_r->line);
      } else if (curve) {
        iron.curve = toml_text(*curve);
      }
      if (const Value* loss = entry.find("loss")) {
        iron.loss = read_loss(at_, *loss, fmt::format("'loss' of {}", what));
        if (iron.loss.given) add_loss(iron, *loss);
      }
      irons_.push_back(std::move(iron));
    }
    if (table.items.empty()) at_.fault(table, "T103", "[machine.materials] is empty");
  }

  void add_loss(const MachineIron& iron, const Value& loss) {
    const std::tuple<const char*, const char*, const char*> all[] = {{"density", "kg/m3", "0.0"},
                                                                     {"hysteresis", "1", "0.0"},
                                                                     {"exponent", "1", "2.0"},
                                                                     {"eddy", "1", "0.0"},
                                                                     {"excess", "1", "0.0"}};
    for (const auto& [key, unit, otherwise] : all) {
      const Value* value = loss.find(key);
      if (!value && !iron.loss.measured.empty()) continue;  // fitted
      parameter(fmt::format("machine_{}_{}", iron.name, key), value ? toml_text(*value) : otherwise, unit,
                loss.line);
    }
  }

  MachineIron iron(const Value& table, std::string_view section) {
    const Value* name = table.find("material");
    if (!name) {
      at_.fault(table, "T103", fmt::format("'{}' of the machine needs 'material'", section));
      return {};
    }
    if (!at_.is(*name, Value::Type::text, fmt::format("'material' of the {}", section))) return {};
    std::vector<std::string> names;
    for (const MachineIron& iron : irons_) {
      if (iron.name == name->text) return iron;
      names.push_back(iron.name);
    }
    at_.fault(*name, "T184", fmt::format("there is no material '{}'", name->text),
              {did_you_mean(name->text, names), "the machine has: " + joined(names)});
    return {};
  }

  int count(const Value& table, std::string_view key, std::string_view of, int lowest, int highest) {
    const Value* value = table.find(key);
    const std::string what = fmt::format("'{}' of {}", key, of);
    if (!value) {
      at_.fault(table, "T103", fmt::format("{} needs '{}'", of, key));
      return 0;
    }
    if (!at_.is(*value, Value::Type::integer, what)) return 0;
    if (value->number >= lowest && value->number <= highest) return static_cast<int>(value->number);
    at_.fault(*value, "T124", fmt::format("{} must be between {} and {}", what, lowest, highest));
    return 0;
  }

  // One of some words; the first of them if not given.
  std::string word(const Value& table, std::string_view key, std::string_view of,
                   const std::vector<std::string>& known) {
    const Value* value = table.find(key);
    if (!value) return known[0];
    if (!at_.is(*value, Value::Type::text, fmt::format("'{}' of {}", key, of))) return known[0];
    if (std::find(known.begin(), known.end(), value->text) == known.end())
      at_.fault(*value, "T101", fmt::format("unknown {} '{}' of {}", key, value->text, of),
                {did_you_mean(value->text, known), "known: " + joined(known)});
    return std::string(value->text);
  }

  // A number or quantity in SI as text, or an expression as it stands.
  std::string expression(const Value& value) {
    const auto scalar = read_scalar(at_, value, "'current' of the rotor");
    if (!scalar) return "0";
    if (!scalar->number) return std::string(scalar->expression);
    if (!scalar->unit.empty()) check_unit(at_, value, scalar->unit, "A", "'current' of the rotor");
    return fmt::format("{}", *scalar->number);
  }

  void read_terminals(const Value& table) {
    if (!at_.is(table, Value::Type::table, "'terminals' of the machine")) return;
    const std::pair<std::string_view, std::string*> nodes[] = {
        {"a", &machine_.phases[0]},       {"b", &machine_.phases[1]},      {"c", &machine_.phases[2]},
        {"neutral", &machine_.phases[3]}, {"field_p", &machine_.field[0]}, {"field_n", &machine_.field[1]},
        {"shaft", &machine_.shaft}};
    std::vector<std::string> known;
    for (const auto& node : nodes) known.emplace_back(node.first);
    for (const Value& item : table.items) {
      std::string* to = nullptr;
      for (const auto& node : nodes)
        if (node.first == item.key) to = node.second;
      if (!to)
        at_.fault(item, "T101", fmt::format("the machine has no terminal '{}'", item.key),
                  {did_you_mean(item.key, known), "it has: " + joined(known)});
      else if (at_.is(item, Value::Type::text, fmt::format("terminal '{}'", item.key)))
        *to = std::string(item.text);
    }
  }

  Source at_;
  Machine machine_;
  std::vector<MachineIron> irons_;
};

}  // namespace

Machine read_machine(const Source& source, const Value& section) {
  return MachineReader(source).read(section);
}

ExpandedText expand_machine(const Document& document) {
  FaultList faults;
  const Source source{document, faults};
  const Machine machine = read_machine(source, *document.root().find("machine"));
  faults.throw_if_any();
  MachineDrive drive;
  if (machine.wound_field()) drive.i_f = machine.field_current.empty() ? "field.i" : machine.field_current;
  return expanded_text(document, "machine", machine_network(machine, drive));
}

}  // namespace tellegen
