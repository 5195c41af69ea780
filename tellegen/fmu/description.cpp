#include "tellegen/fmu/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>
#include <pugixml.hpp>

namespace tellegen {
namespace {

struct TypeName {
  std::string_view text;
  FmuType type;
};
constexpr std::array<TypeName, 14> types_3{{{"Float64", FmuType::float64},
                                            {"Float32", FmuType::float32},
                                            {"Int64", FmuType::int64},
                                            {"Int32", FmuType::int32},
                                            {"Int16", FmuType::int16},
                                            {"Int8", FmuType::int8},
                                            {"UInt64", FmuType::uint64},
                                            {"UInt32", FmuType::uint32},
                                            {"UInt16", FmuType::uint16},
                                            {"UInt8", FmuType::uint8},
                                            {"Boolean", FmuType::boolean},
                                            {"String", FmuType::text},
                                            {"Binary", FmuType::binary},
                                            {"Clock", FmuType::clock}}};
constexpr std::array<TypeName, 5> types_2{{{"Real", FmuType::float64},
                                           {"Integer", FmuType::int32},
                                           {"Enumeration", FmuType::int32},
                                           {"Boolean", FmuType::boolean},
                                           {"String", FmuType::text}}};

std::optional<FmuType> type_named(int version, std::string_view name) {
  if (version == 3 && name == "Enumeration") return FmuType::int64;
  const auto find = [&](const auto& table) -> std::optional<FmuType> {
    for (const TypeName& entry : table)
      if (entry.text == name) return entry.type;
    return std::nullopt;
  };
  return version == 2 ? find(types_2) : find(types_3);
}

std::optional<double> number_of(const pugi::xml_node& node, const char* attribute) {
  const pugi::xml_attribute a = node.attribute(attribute);
  if (!a) return std::nullopt;
  return a.as_double();
}

std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    const std::string word(text.substr(begin, at - begin));
    numbers.push_back(word == "true" ? 1.0 : word == "false" ? 0.0 : std::strtod(word.c_str(), nullptr));
  }
  return numbers;
}

class DescriptionReader {
 public:
  FmuDescription read(std::string_view xml) {
    pugi::xml_document document;
    const auto parsed = document.load_buffer(xml.data(), xml.size());
    if (!parsed)
      throw FmuError(fmt::format("its modelDescription.xml is no XML: {} at byte {}", parsed.description(),
                                 parsed.offset));
    root_ = document.child("fmiModelDescription");
    if (!root_) throw FmuError("its modelDescription.xml has no fmiModelDescription");
    d_.version_text = root_.attribute("fmiVersion").as_string();
    d_.version = d_.version_text.starts_with("2.") ? 2 : d_.version_text.starts_with("3.") ? 3 : 0;
    if (d_.version == 0)
      throw FmuError(fmt::format("it is of FMI version '{}'; FMI 2 and 3 can be run", d_.version_text));
    d_.model_name = root_.attribute("modelName").as_string();
    d_.description = root_.attribute("description").as_string();
    d_.generation_tool = root_.attribute("generationTool").as_string();
    d_.token = root_.attribute(d_.version == 2 ? "guid" : "instantiationToken").as_string();
    const pugi::xml_node cs = root_.child("CoSimulation"), me = root_.child("ModelExchange");
    d_.co_simulation = cs.attribute("modelIdentifier").as_string();
    d_.model_exchange = me.attribute("modelIdentifier").as_string();
    const pugi::xml_node used = cs ? cs : me;
    d_.needs_tool = used.attribute("needsExecutionTool").as_bool();
    d_.once_per_process = used.attribute("canBeInstantiatedOnlyOncePerProcess").as_bool();
    d_.directional =
        me.attribute(d_.version == 2 ? "providesDirectionalDerivative" : "providesDirectionalDerivatives")
            .as_bool();
    d_.completes_steps = d_.version == 2 ? !me.attribute("completedIntegratorStepNotNeeded").as_bool()
                                         : me.attribute("needsCompletedIntegratorStep").as_bool();
    d_.event_indicators = root_.attribute("numberOfEventIndicators").as_uint();
    d_.keeps_states =
        used.attribute(d_.version == 2 ? "canGetAndSetFMUstate" : "canGetAndSetFMUState").as_bool();
    d_.has_events = cs.attribute("hasEventMode").as_bool();
    const pugi::xml_node experiment = root_.child("DefaultExperiment");
    d_.start_time = number_of(experiment, "startTime");
    d_.stop_time = number_of(experiment, "stopTime");
    d_.step_size = number_of(experiment, "stepSize");
    d_.tolerance = number_of(experiment, "tolerance");
    for (const pugi::xml_node unit : root_.child("UnitDefinitions").children("Unit")) read_unit(unit);
    read_types();
    read_variables();
    read_rates();
    return std::move(d_);
  }

 private:
  // FMI 2 counts variables from 1, FMI 3 has value references.
  void read_rates() {
    const pugi::xml_node structure = root_.child("ModelStructure");
    const auto add_rate = [&](std::size_t k) {
      if (k >= dimensions_.size()) throw FmuError("its ModelStructure names a variable that is not there");
      const pugi::xml_node node = d_.version == 2 ? dimensions_[k].child("Real") : dimensions_[k];
      const unsigned state = node.attribute("derivative").as_uint();
      if (d_.version == 3) {
        d_.rates.push_back({state, d_.variables[k].reference});
      } else if (state >= 1 && state <= d_.variables.size()) {
        d_.rates.push_back({d_.variables[state - 1].reference, d_.variables[k].reference});
      } else {
        throw FmuError(fmt::format("its rate '{}' is of no state", d_.variables[k].name));
      }
    };
    if (d_.version == 2)
      for (const pugi::xml_node rate : structure.child("Derivatives").children("Unknown"))
        add_rate(rate.attribute("index").as_uint() - 1);
    else
      for (const pugi::xml_node rate : structure.children("ContinuousStateDerivative")) {
        const unsigned reference = rate.attribute("valueReference").as_uint();
        const auto found = std::find_if(d_.variables.begin(), d_.variables.end(),
                                        [&](const FmuVariable& v) { return v.reference == reference; });
        add_rate(static_cast<std::size_t>(found - d_.variables.begin()));
      }
  }

  void read_unit(const pugi::xml_node& node) {
    FmuUnit unit;
    unit.name = node.attribute("name").as_string();
    if (const pugi::xml_node base = node.child("BaseUnit")) {
      for (const char* si : {"kg", "m", "s", "A", "K", "mol", "cd", "rad"}) {
        const int power = base.attribute(si).as_int();
        if (power == 0) continue;
        unit.base +=
            (unit.base.empty() ? "" : ".") + std::string(si) + (power == 1 ? "" : std::to_string(power));
      }
      if (unit.base.empty()) unit.base = "1";
      unit.factor = base.attribute("factor").as_double(1.0);
      unit.offset = base.attribute("offset").as_double(0.0);
    }
    d_.units.push_back(std::move(unit));
  }

  // Of declared types only the unit matters here.
  void read_types() {
    for (const pugi::xml_node type : root_.child("TypeDefinitions").children()) {
      const pugi::xml_node inside = d_.version == 2 ? type.first_child() : type;
      type_units_[type.attribute("name").as_string()] = inside.attribute("unit").as_string();
    }
  }

  void read_variables() {
    for (const pugi::xml_node node : root_.child("ModelVariables").children()) {
      if (node.type() != pugi::node_element) continue;
      if (d_.version == 2) {
        for (const pugi::xml_node inside : node.children())
          if (type_named(2, inside.name())) add(node, inside);
      } else if (type_named(3, node.name())) {
        add(node, node);
      }
    }
    for (std::size_t k = 0; k < d_.variables.size(); ++k) size_up(d_.variables[k], dimensions_[k]);
  }

  void add(const pugi::xml_node& node, const pugi::xml_node& typed) {
    FmuVariable v;
    v.name = node.attribute("name").as_string();
    v.description = node.attribute("description").as_string();
    v.reference = node.attribute("valueReference").as_uint();
    v.type = *type_named(d_.version, typed.name());
    v.enumeration = std::string_view(typed.name()) == "Enumeration";
    v.causality = node.attribute("causality").as_string("local");
    const bool fixed = v.causality == "parameter" || v.causality == "calculatedParameter" ||
                       v.causality == "structuralParameter";
    const bool real = v.type == FmuType::float64 || v.type == FmuType::float32;
    v.variability = node.attribute("variability")
                        .as_string(fixed  ? "fixed"
                                   : real ? "continuous"
                                          : "discrete");
    v.initial = node.attribute("initial").as_string();
    v.unit = typed.attribute("unit").as_string();
    if (const char* declared = typed.attribute("declaredType").as_string(); v.unit.empty())
      if (const auto found = type_units_.find(declared); found != type_units_.end()) v.unit = found->second;
    if (v.type == FmuType::text) {
      // FMI 3 has the start of a text in elements of its own.
      if (const pugi::xml_attribute start = typed.attribute("start")) v.text = start.as_string();
      if (const pugi::xml_node start = node.child("Start")) v.text = start.attribute("value").as_string();
    } else if (v.type != FmuType::binary) {
      v.start = numbers_in(typed.attribute("start").as_string());
    }
    d_.variables.push_back(std::move(v));
    dimensions_.push_back(node);
  }

  void size_up(FmuVariable& v, const pugi::xml_node& node) {
    for (const pugi::xml_node dimension : node.children("Dimension")) {
      if (const pugi::xml_attribute start = dimension.attribute("start")) {
        v.extents.push_back(start.as_uint());
        continue;
      }
      const unsigned reference = dimension.attribute("valueReference").as_uint();
      const auto given = std::find_if(d_.variables.begin(), d_.variables.end(), [&](const FmuVariable& s) {
        return s.reference == reference && !s.start.empty();
      });
      if (given == d_.variables.end())
        throw FmuError(fmt::format("the size of its variable '{}' is not given", v.name));
      v.extents.push_back(static_cast<std::size_t>(given->start[0]));
    }
    if (v.start.size() == 1 && v.size() > 1) v.start.assign(v.size(), v.start[0]);
    if (!v.start.empty() && v.start.size() != v.size())
      throw FmuError(fmt::format("its variable '{}' has {} elements and {} start values", v.name, v.size(),
                                 v.start.size()));
  }

  pugi::xml_node root_;
  FmuDescription d_;
  std::map<std::string, std::string, std::less<>> type_units_;
  std::vector<pugi::xml_node> dimensions_;
};

}  // namespace

std::string_view name_of(FmuType type) {
  for (const TypeName& entry : types_3)
    if (entry.type == type) return entry.text;
  return "";
}
bool is_whole(FmuType type) {
  return is_number(type) && type != FmuType::float64 && type != FmuType::float32;
}
bool is_number(FmuType type) {
  return type != FmuType::text && type != FmuType::binary && type != FmuType::clock;
}

std::size_t FmuVariable::size() const {
  return std::accumulate(extents.begin(), extents.end(), std::size_t{1}, std::multiplies<>());
}

std::string FmuVariable::element(std::size_t k) const {
  if (extents.empty()) return name;
  std::string index;
  for (std::size_t d = extents.size(); d-- > 0; k /= extents[d])
    index = std::to_string(k % extents[d] + 1) + (index.empty() ? "" : ",") + index;
  return fmt::format("{}[{}]", name, index);
}

const FmuUnit* FmuDescription::unit(std::string_view name) const {
  for (const FmuUnit& u : units)
    if (u.name == name) return &u;
  return nullptr;
}

FmuDescription read_description(std::string_view xml) { return DescriptionReader().read(xml); }

}  // namespace tellegen
