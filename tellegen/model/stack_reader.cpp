// [stack] to a Stack: names to indices, quantities to SI, repeated parts to rectangles.
#include <fmt/format.h>

#include <cmath>

#include "tellegen/model/stack.h"

namespace tellegen {
namespace {

class StackReader {
 public:
  explicit StackReader(const Source& source) : at_(source) {}

  Stack read(const Value& section) {
    stack_.line = section.line;
    if (!at_.is(section, Value::Type::table, "'stack'")) return stack_;
    at_.known_keys(section, {"cell", "start", "materials", "layers", "heat", "films", "probes"}, "'stack'");
    if (const Value* cell = required(section, "cell", "'stack'")) stack_.cell = read_cell(*cell);
    if (const Value* start = section.find("start"))
      stack_.start = expression(*start, "'start' of the stack", "K");
    if (stack_.start == "steady") stack_.start.clear();
    each(section, "materials", true, [&](const Value& entry) { read_material(entry); });
    each(section, "layers", true, [&](const Value& entry) { read_layer(entry); });
    each(section, "heat", false, [&](const Value& entry) { read_heat(entry); });
    each(section, "films", false, [&](const Value& entry) { read_film(entry); });
    each(section, "probes", false, [&](const Value& entry) { read_probe(entry); });
    if (stack_.films.empty() && stack_.start.empty())
      at_.fault(
          section, "T178", "the stack has no film, and begins steady",
          {"no temperature is steady where heat cannot leave", "add [stack.films], or start = \"293.15 K\""});
    return stack_;
  }

 private:
  template <class Read>
  void each(const Value& section, std::string_view key, bool needed, Read read) {
    const Value* table = section.find(key);
    if (!table || !at_.is(*table, Value::Type::table, fmt::format("'{}' of the stack", key))) {
      if (!table && needed) at_.fault(section, "T103", fmt::format("the stack has no [stack.{}]", key));
      return;
    }
    if (needed && table->items.empty()) at_.fault(*table, "T103", fmt::format("[stack.{}] is empty", key));
    for (const Value& entry : table->items)
      if (check_name(at_, entry, entry.key, fmt::format("an entry of [stack.{}]", key)) &&
          at_.is(entry, Value::Type::table, fmt::format("'{}' of [stack.{}]", entry.key, key)))
        read(entry);
  }

  const Value* required(const Value& table, std::string_view key, std::string_view what) {
    const Value* value = table.find(key);
    if (!value) at_.fault(table, "T103", fmt::format("{} needs '{}'", what, key));
    return value;
  }

  // A positive number or quantity; 0 where a fault was reported.
  double positive(const Value& value, std::string_view what, std::string_view unit) {
    const auto number = read_quantity(at_, value, what, unit);
    if (!number) return 0.0;
    if (*number > 0.0) return *number;
    at_.fault(value, "T124", fmt::format("{} must be above 0", what));
    return 0.0;
  }
  double positive(const Value& table, std::string_view key, std::string_view what, std::string_view unit) {
    const Value* value = required(table, key, what);
    return value ? positive(*value, fmt::format("'{}' of {}", key, what), unit) : 0.0;
  }

  // Two or three numbers of a list.
  template <std::size_t N>
  bool numbers(const Value& value, std::string_view what, std::string_view unit, std::array<double, N>& out) {
    if (!at_.is(value, Value::Type::list, what)) return false;
    if (value.items.size() != N) {
      at_.fault(value, "T102", fmt::format("{} has {} entries and needs {}", what, value.items.size(), N));
      return false;
    }
    for (std::size_t k = 0; k < N; ++k) {
      const auto number = read_quantity(at_, value.items[k], what, unit);
      if (!number) return false;
      out[k] = *number;
    }
    return true;
  }

  // A number or quantity in SI as text, or an expression as it stands.
  std::string expression(const Value& value, std::string_view what, std::string_view unit) {
    const auto scalar = read_scalar(at_, value, what);
    if (!scalar) return "0";
    if (!scalar->number) return std::string(scalar->expression);
    if (!scalar->unit.empty()) check_unit(at_, value, scalar->unit, unit, what);
    return fmt::format("{}", *scalar->number);
  }

  std::array<double, 2> read_cell(const Value& value) {
    std::array<double, 2> cell{};
    if (value.is_list()) {
      if (!numbers(value, "'cell' of the stack", "m", cell)) return {};
    } else {
      cell[0] = cell[1] = positive(value, "'cell' of the stack", "m");
    }
    if (value.is_list() && (cell[0] <= 0.0 || cell[1] <= 0.0))
      at_.fault(value, "T124", "'cell' of the stack must be above 0");
    return cell;
  }

  void read_material(const Value& entry) {
    const std::string what = fmt::format("material '{}'", entry.key);
    at_.known_keys(entry, {"k", "rho", "cp", "summary"}, what);
    StackMaterial material{std::string(entry.key)};
    if (const Value* k = required(entry, "k", what)) {
      if (!k->is_list())
        material.k.fill(positive(*k, fmt::format("'k' of {}", what), "W/(m K)"));
      else if (numbers(*k, fmt::format("'k' of {}", what), "W/(m K)", material.k))
        for (const double along : material.k)
          if (along <= 0.0) at_.fault(*k, "T124", fmt::format("'k' of {} must be above 0", what));
    }
    material.capacity = positive(entry, "rho", what, "kg/m3") * positive(entry, "cp", what, "J/(kg K)");
    stack_.materials.push_back(material);
  }

  int material_named(const Value& value, std::string_view what) {
    if (!at_.is(value, Value::Type::text, fmt::format("'material' of {}", what))) return 0;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < stack_.materials.size(); ++k) {
      if (stack_.materials[k].name == value.text) return static_cast<int>(k);
      names.push_back(stack_.materials[k].name);
    }
    at_.fault(value, "T170", fmt::format("there is no material '{}'", value.text),
              {did_you_mean(value.text, names), "the stack has: " + joined(names)});
    return 0;
  }

  void read_layer(const Value& entry) {
    const std::string what = fmt::format("layer '{}'", entry.key);
    at_.known_keys(
        entry,
        {"material", "thickness", "cells", "contact", "parts", "at", "size", "repeat", "pitch", "summary"},
        what);
    StackLayer layer{.name = std::string(entry.key), .line = entry.line};
    layer.thickness = positive(entry, "thickness", what, "m");
    if (const Value* contact = entry.find("contact"))
      layer.contact = positive(*contact, fmt::format("'contact' of {}", what), "W/(m2 K)");
    if (const Value* cells = entry.find("cells"))
      layer.cells = read_count(*cells, fmt::format("'cells' of {}", what));
    const Value* material = entry.find("material");
    const int common = material ? material_named(*material, what) : -1;
    if (const Value* parts = entry.find("parts")) {
      if (entry.find("size"))
        at_.fault(entry, "T101", fmt::format("{} has 'parts' and a 'size' of its own", what),
                  {"one of them"});
      if (at_.is(*parts, Value::Type::table, fmt::format("'parts' of {}", what)))
        for (const Value& part : parts->items)
          if (check_name(at_, part, part.key, "a part") &&
              at_.is(part, Value::Type::table, fmt::format("part '{}'", part.key)))
            read_part(part, fmt::format("part '{}' of {}", part.key, what), std::string(part.key), common,
                      layer);
      if (layer.parts.empty()) at_.fault(entry, "T103", fmt::format("{} has no parts", what));
    } else {
      read_part(entry, what, "", common, layer);
    }
    stack_.layers.push_back(std::move(layer));
  }

  int read_count(const Value& value, const std::string& what) {
    if (!at_.is(value, Value::Type::integer, what)) return 1;
    if (value.number >= 1.0 && value.number <= 10000.0) return static_cast<int>(value.number);
    at_.fault(value, "T124", fmt::format("{} must be between 1 and 10000", what));
    return 1;
  }

  void read_part(const Value& entry, const std::string& what, const std::string& name, int common,
                 StackLayer& layer) {
    StackPart part{name, common, {}, entry.line};
    if (!name.empty()) {
      at_.known_keys(entry, {"material", "at", "size", "repeat", "pitch", "summary"}, what);
      if (const Value* material = entry.find("material")) part.material = material_named(*material, what);
    }
    if (part.material < 0) at_.fault(entry, "T103", fmt::format("{} needs 'material'", what));
    std::array<double, 2> centre{}, size{}, pitch{};
    std::array<int, 2> count{1, 1};
    if (const Value* at = entry.find("at")) numbers(*at, fmt::format("'at' of {}", what), "m", centre);
    const Value* size_value = required(entry, "size", what);
    if (!size_value || !numbers(*size_value, fmt::format("'size' of {}", what), "m", size)) return;
    if (size[0] <= 0.0 || size[1] <= 0.0)
      at_.fault(*size_value, "T124", fmt::format("'size' of {} must be above 0", what));
    if (const Value* repeat = entry.find("repeat")) {
      const std::string repeat_what = fmt::format("'repeat' of {}", what);
      if (at_.is(*repeat, Value::Type::list, repeat_what)) {
        if (repeat->items.size() != 2)
          at_.fault(*repeat, "T102", fmt::format("{} needs two numbers: along x and along y", repeat_what));
        else
          count = {read_count(repeat->items[0], repeat_what), read_count(repeat->items[1], repeat_what)};
      }
      const Value* pitch_value = required(entry, "pitch", what);
      if (!pitch_value || !numbers(*pitch_value, fmt::format("'pitch' of {}", what), "m", pitch)) return;
    }
    for (int i = 0; i < count[0]; ++i)
      for (int j = 0; j < count[1]; ++j) {
        const double x = centre[0] + (i - 0.5 * (count[0] - 1)) * pitch[0];
        const double y = centre[1] + (j - 0.5 * (count[1] - 1)) * pitch[1];
        part.rectangles.push_back({x - size[0] / 2, x + size[0] / 2, y - size[1] / 2, y + size[1] / 2});
      }
    layer.parts.push_back(std::move(part));
  }

  // "dies" or "dies.left".
  StackRegion region(const Value& value, const std::string& what) {
    if (!at_.is(value, Value::Type::text, what)) return {};
    std::vector<std::string> names;
    for (std::size_t l = 0; l < stack_.layers.size(); ++l) {
      const StackLayer& layer = stack_.layers[l];
      if (layer.name == value.text) return {static_cast<int>(l), -1};
      names.push_back(layer.name);
      for (std::size_t p = 0; p < layer.parts.size(); ++p) {
        if (layer.parts[p].name.empty()) continue;
        names.push_back(layer.name + "." + layer.parts[p].name);
        if (names.back() == value.text) return {static_cast<int>(l), static_cast<int>(p)};
      }
    }
    at_.fault(value, "T171",
              fmt::format("{} is '{}', which is no layer or part of the stack", what, value.text),
              {did_you_mean(value.text, names), "it has: " + joined(names)});
    return {};
  }
  StackRegion region_of(const Value& entry, const std::string& what) {
    const Value* value = required(entry, "region", what);
    return value ? region(*value, fmt::format("'region' of {}", what)) : StackRegion{};
  }

  // "top" or "bottom": 1 or -1; 0 where it is neither.
  int face(const Value& value, const std::string& what) {
    if (!at_.is(value, Value::Type::text, fmt::format("'face' of {}", what))) return 0;
    if (value.text == "top") return 1;
    if (value.text == "bottom") return -1;
    at_.fault(value, "T172", fmt::format("{} has no face '{}'", what, value.text),
              {"a layer has 'top' and 'bottom'"});
    return 0;
  }

  void read_heat(const Value& entry) {
    const std::string what = fmt::format("heat '{}'", entry.key);
    at_.known_keys(entry, {"region", "power", "summary"}, what);
    StackHeat heat{
        .name = std::string(entry.key), .power = "0", .region = region_of(entry, what), .line = entry.line};
    if (const Value* power = required(entry, "power", what))
      heat.power = expression(*power, fmt::format("'power' of {}", what), "W");
    stack_.heat.push_back(std::move(heat));
  }

  void read_film(const Value& entry) {
    const std::string what = fmt::format("film '{}'", entry.key);
    at_.known_keys(entry, {"region", "face", "h", "node", "summary"}, what);
    StackFilm film{.name = std::string(entry.key),
                   .node = std::string(entry.key),
                   .h = "1",
                   .region = region_of(entry, what),
                   .line = entry.line};
    if (const Value* value = required(entry, "face", what)) film.top = face(*value, what) > 0;
    if (const Value* h = required(entry, "h", what)) {
      film.h = expression(*h, fmt::format("'h' of {}", what), "W/(m2 K)");
      // Said above where it cannot be read.
      if (const auto scalar = read_scalar({at_.document, ignored_}, *h, ""); scalar && scalar->number) {
        film.h_number = *scalar->number;
        if (film.h_number <= 0.0) at_.fault(*h, "T124", fmt::format("'h' of {} must be above 0", what));
      }
    }
    if (const Value* node = entry.find("node");
        node && at_.is(*node, Value::Type::text, fmt::format("'node' of {}", what)))
      film.node = std::string(node->text);
    stack_.films.push_back(std::move(film));
  }

  void read_probe(const Value& entry) {
    const std::string what = fmt::format("probe '{}'", entry.key);
    at_.known_keys(entry, {"region", "face", "under", "at", "summary"}, what);
    StackProbe probe{.name = std::string(entry.key), .region = region_of(entry, what), .line = entry.line};
    if (const Value* value = entry.find("face")) {
      const int side = face(*value, what);
      probe.where = side > 0 ? StackProbe::Where::top : StackProbe::Where::bottom;
    }
    if (const Value* under = entry.find("under"))
      probe.under.push_back(region(*under, fmt::format("'under' of {}", what)));
    if (const Value* at = entry.find("at")) {
      std::array<double, 2> point{};
      if (numbers(*at, fmt::format("'at' of {}", what), "m", point)) probe.at.push_back(point);
    }
    stack_.probes.push_back(std::move(probe));
  }

  Source at_;
  FaultList ignored_;
  Stack stack_;
};

}  // namespace

Stack read_stack(const Source& source, const Value& section) { return StackReader(source).read(section); }

}  // namespace tellegen
