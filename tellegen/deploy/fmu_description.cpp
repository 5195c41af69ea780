#include "tellegen/deploy/fmu_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "tellegen/deploy/fmu_units.h"

namespace tellegen {
namespace {

using Role = ExportedVariable::Role;

template <class Value>
void set(pugi::xml_node node, const char* name, const Value& value) {
  if constexpr (std::is_same_v<Value, double>)
    node.append_attribute(name) =
        std::isnan(value) ? "NaN" : fmt::format("{}", value).c_str();  // the shortest that reads back
  else if constexpr (std::is_same_v<Value, std::string>)
    node.append_attribute(name) = value.c_str();
  else
    node.append_attribute(name) = value;
}

std::string text_of(const pugi::xml_document& document, unsigned int format = pugi::format_default) {
  std::ostringstream out;
  document.save(out, "  ", format, pugi::encoding_utf8);
  return out.str();
}

pugi::xml_node root_of(pugi::xml_document& document, const char* name) {
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  set(declaration, "version", "1.0");
  set(declaration, "encoding", "UTF-8");
  return document.append_child(name);
}

const char* causality(Role role) {
  switch (role) {
    case Role::time:
      return "independent";
    case Role::parameter:
      return "parameter";
    case Role::input:
      return "input";
    case Role::output:
      return "output";
    default:
      return "local";
  }
}

void list_sources(pugi::xml_node interface, const std::vector<std::string>& sources) {
  pugi::xml_node files = interface.append_child("SourceFiles");
  for (const std::string& source : sources) set(files.append_child("File"), "name", source);
}

void describe_exchange(pugi::xml_node root, const ExportedDescription& fmu, const ExchangeModel& exchange,
                       const std::vector<std::string>& sources) {
  pugi::xml_node me = root.append_child("ModelExchange");
  set(me, "modelIdentifier", fmu.name);
  const bool derivatives = exchange.without_slopes.empty();
  if (fmu.version == 3) {
    set(me, "canGetAndSetFMUState", true);
    set(me, "canSerializeFMUState", true);
    set(me, "providesDirectionalDerivatives", derivatives);
    set(me, "providesAdjointDerivatives", derivatives);
    return;
  }
  set(me, "completedIntegratorStepNotNeeded", true);
  set(me, "canGetAndSetFMUstate", true);
  set(me, "canSerializeFMUstate", true);
  set(me, "providesDirectionalDerivative", derivatives);
  list_sources(me, sources);
}

void describe_interface(pugi::xml_node root, const ExportedDescription& fmu,
                        const std::vector<std::string>& sources) {
  pugi::xml_node cs = root.append_child("CoSimulation");
  set(cs, "modelIdentifier", fmu.name);
  set(cs, "canHandleVariableCommunicationStepSize", true);
  if (fmu.version == 3) {
    set(cs, "canGetAndSetFMUState", true);
    set(cs, "canSerializeFMUState", true);
    set(cs, "fixedInternalStepSize", fmu.step);
    if (fmu.intermediate) {
      set(cs, "mightReturnEarlyFromDoStep", true);
      set(cs, "canReturnEarlyAfterIntermediateUpdate", true);
      set(cs, "providesIntermediateUpdate", true);
    }
    return;
  }
  set(cs, "canGetAndSetFMUstate", true);
  set(cs, "canSerializeFMUstate", true);
  list_sources(cs, sources);
}

void describe_variable(pugi::xml_node all, const ExportedDescription& fmu, std::size_t k, FmuUnits& units) {
  const ExportedVariable& v = fmu.variables[k];
  pugi::xml_node node = all.append_child(fmu.version == 3 ? "Float64" : "ScalarVariable");
  set(node, "name", v.name);
  set(node, "valueReference", static_cast<unsigned int>(k));
  if (!v.summary.empty()) set(node, "description", v.summary);
  set(node, "causality", causality(v.role));
  set(node, "variability", v.role == Role::parameter ? "tunable" : "continuous");
  if (fmu.version == 2) {
    if (causality(v.role) == std::string_view("output") || causality(v.role) == std::string_view("local"))
      set(node, "initial", "calculated");
    node = node.append_child("Real");
  }
  if (fmu.version == 3 && fmu.intermediate && (v.role == Role::input || v.role == Role::output))
    set(node, "intermediateUpdate", true);
  if (fmu.version == 3 && v.role == Role::state) set(node, "initial", "calculated");
  // FMI 2 counts variables from 1. A state stands as far before its rate as there are states.
  if (v.role == Role::rate)
    set(node, "derivative",
        static_cast<unsigned int>(k - fmu.count(Role::state) + (fmu.version == 2 ? 1 : 0)));
  if (v.role == Role::rate)
    units.describe_rate(node, v.unit);
  else
    units.describe(node, v.role == Role::time ? "s" : v.unit, v.difference);
  if (v.nominal != 1.0) set(node, "nominal", v.nominal);
  if (v.role == Role::parameter || v.role == Role::input) set(node, "start", v.start);
}

const char* text_of_kind(ExchangeModel::Dependence kind) {
  switch (kind) {
    case ExchangeModel::Dependence::constant:
      return "constant";
    case ExchangeModel::Dependence::tunable:
      return "tunable";
    case ExchangeModel::Dependence::discrete:
      return "discrete";
    default:
      return "dependent";
  }
}

// Unknowns of the structure: outputs, rates, event indicators; and what is computed at the start.
class StructureWriter {
 public:
  StructureWriter(pugi::xml_node structure, const ExportedDescription& fmu, const ExchangeModel& exchange)
      : structure_(structure), fmu_(fmu), exchange_(exchange) {}

  void write() {
    if (fmu_.version == 3) {
      add(structure_, "Output", Role::output, true);
      add(structure_, "ContinuousStateDerivative", Role::rate, true);
      for (const Role role : {Role::output, Role::state, Role::rate})
        add(structure_, "InitialUnknown", role, false);
      add(structure_, "EventIndicator", Role::indicator, false);
      return;
    }
    add(structure_.append_child("Outputs"), "Unknown", Role::output, true);
    if (fmu_.count(Role::rate) > 0) add(structure_.append_child("Derivatives"), "Unknown", Role::rate, true);
    pugi::xml_node initial = structure_.append_child("InitialUnknowns");
    for (const Role role : {Role::output, Role::state, Role::rate}) add(initial, "Unknown", role, false);
  }

 private:
  std::size_t number(std::size_t variable) const { return variable + (fmu_.version == 2 ? 1 : 0); }

  void add(pugi::xml_node to, const char* element, Role role, bool dependent) {
    for (std::size_t k = 0; k < fmu_.variables.size(); ++k) {
      if (fmu_.variables[k].role != role) continue;
      pugi::xml_node unknown = to.append_child(element);
      set(unknown, fmu_.version == 3 ? "valueReference" : "index", static_cast<unsigned int>(number(k)));
      if (dependent && exchange_.refused.empty() && exchange_.without_slopes.empty())
        add_dependencies(unknown, k);
    }
  }

  // Time, states and inputs that it depends on: parameters are not listed.
  void add_dependencies(pugi::xml_node unknown, std::size_t variable) {
    const std::size_t states = fmu_.count(Role::state), parameters = fmu_.count(Role::parameter);
    const std::size_t row = fmu_.variables[variable].role == Role::rate
                                ? variable - fmu_.first(Role::rate)
                                : states + variable - fmu_.first(Role::output);
    std::map<std::size_t, const char*> knowns;
    if (exchange_.timed_unknowns[row]) knowns[number(0)] = "dependent";
    for (const ExchangeModel::Slope& s : exchange_.slopes) {
      const auto known = static_cast<std::size_t>(s.known);
      if (static_cast<std::size_t>(s.unknown) != row || (known >= states && known < states + parameters))
        continue;
      knowns[number(known < states ? fmu_.first(Role::state) + known
                                   : fmu_.first(Role::input) + known - states - parameters)] =
          text_of_kind(s.kind);
    }
    std::vector<std::size_t> list;
    std::vector<const char*> kinds;
    for (const auto& [known, kind] : knowns) {
      list.push_back(known);
      kinds.push_back(kind);
    }
    set(unknown, "dependencies", fmt::format("{}", fmt::join(list, " ")));
    set(unknown, "dependenciesKind", fmt::format("{}", fmt::join(kinds, " ")));
  }

  pugi::xml_node structure_;
  const ExportedDescription& fmu_;
  const ExchangeModel& exchange_;
};

}  // namespace

std::string about_co_simulation(const CModel& m) {
  return fmt::format(
      "Co-simulation: method {}, steps of {:g} s. All values are in SI units. Outputs are those of the last "
      "step that ended "
      "at or "
      "before the communication point; inputs are held over each step. The model starts at t = 0 from the "
      "initial "
      "values of its own numbers, whatever its parameters are set to.",
      m.problem().options.method, m.problem().step);
}

std::size_t ExportedDescription::count(ExportedVariable::Role role) const {
  return static_cast<std::size_t>(std::count_if(variables.begin(), variables.end(),
                                                [&](const ExportedVariable& v) { return v.role == role; }));
}
std::size_t ExportedDescription::first(ExportedVariable::Role role) const {
  return static_cast<std::size_t>(std::find_if(variables.begin(), variables.end(),
                                               [&](const ExportedVariable& v) { return v.role == role; }) -
                                  variables.begin());
}

std::vector<ExportedVariable> fmu_variables(const CModel& m, std::size_t outputs,
                                            const ExchangeModel& exchange) {
  std::vector<ExportedVariable> variables{{"time", "s", "", Role::time, 0.0}};
  for (const CParameters::Setting& s : m.parameters.settings) {
    const ModelParameter& p = m.parameter(s);
    variables.push_back({p.name, p.unit, p.summary, Role::parameter, p.number});
  }
  for (std::size_t k = 0; k < m.inputs.size(); ++k)
    variables.push_back(
        {m.problem().options.external[k], m.input_unit(k), "", Role::input, m.input_start(k)});
  for (std::size_t k = 0; k < outputs; ++k) {
    const OutputColumn& column = m.simulation.outputs()[k];
    variables.push_back({column.name, column.unit, "", Role::output, 0.0});
  }
  if (exchange.refused.empty()) {
    for (const ExchangeModel::State& s : exchange.states)
      variables.push_back({s.name, s.unit, "state", Role::state, s.start, false, s.nominal});
    for (const ExchangeModel::State& s : exchange.states)
      variables.push_back({"der(" + s.name + ")", s.unit, "", Role::rate, 0.0});
    for (std::size_t k = 0; k < exchange.indicators; ++k)
      variables.push_back({fmt::format("event_indicator_{}", k + 1), "", "", Role::indicator, 0.0});
  }
  make_names_unique(variables, "_output", "_state");
  return variables;
}

void make_names_unique(std::vector<ExportedVariable>& variables, const char* of_outputs,
                       const char* of_others) {
  std::set<std::string> taken;
  for (ExportedVariable& v : variables)
    while (!taken.insert(v.name).second) v.name += v.role == Role::output ? of_outputs : of_others;
}

std::string fmu_model_description(const ExportedDescription& fmu, const ExchangeModel& exchange,
                                  const std::vector<std::string>& sources) {
  pugi::xml_document document;
  pugi::xml_node root = root_of(document, "fmiModelDescription");
  set(root, "fmiVersion", fmu.version == 3 ? "3.0" : "2.0");
  set(root, "modelName", fmu.title.empty() ? fmu.name : fmu.title);
  set(root, fmu.version == 3 ? "instantiationToken" : "guid", fmu.token);
  set(root, "description", fmu.about);
  set(root, "generationTool", "Tellegen");
  set(root, "variableNamingConvention", "flat");
  if (fmu.version == 2) set(root, "numberOfEventIndicators", static_cast<unsigned int>(exchange.indicators));
  if (exchange.refused.empty()) describe_exchange(root, fmu, exchange, sources);
  describe_interface(root, fmu, sources);
  pugi::xml_node definitions = root.append_child("UnitDefinitions");
  pugi::xml_node categories = root.append_child("LogCategories");
  for (const char* name : {"logStatusError", "logEvents"})
    set(categories.append_child("Category"), "name", name);
  pugi::xml_node experiment = root.append_child("DefaultExperiment");
  set(experiment, "startTime", 0.0);
  set(experiment, "stopTime", fmu.stop);
  set(experiment, "stepSize", fmu.step);
  pugi::xml_node variables = root.append_child("ModelVariables");
  FmuUnits units;
  for (std::size_t k = 0; k < fmu.variables.size(); ++k) describe_variable(variables, fmu, k, units);
  units.define(definitions);
  StructureWriter(root.append_child("ModelStructure"), fmu, exchange).write();
  return text_of(document);
}

std::string fmu_build_description(const ExportedDescription& fmu, const std::vector<std::string>& sources) {
  pugi::xml_document document;
  pugi::xml_node root = root_of(document, "fmiBuildDescription");
  set(root, "fmiVersion", "3.0");
  pugi::xml_node build = root.append_child("BuildConfiguration");
  set(build, "modelIdentifier", fmu.name);
  pugi::xml_node files = build.append_child("SourceFileSet");
  set(files, "language", "C99");
  set(files, "compilerOptions", "-ffp-contract=off");
  for (const std::string& source : sources) set(files.append_child("SourceFile"), "name", source);
  pugi::xml_node library = build.append_child("Library");
  set(library, "name", "m");
  set(library, "external", true);
  return text_of(document);
}

std::string fmu_terminals_and_icons() {
  pugi::xml_document document;
  pugi::xml_node root = root_of(document, "fmiTerminalsAndIcons");
  set(root, "fmiVersion", "3.0");
  pugi::xml_node graphics = root.append_child("GraphicalRepresentation");
  for (const char* element : {"CoordinateSystem", "Icon"}) {
    pugi::xml_node box = graphics.append_child(element);
    for (const auto& [name, value] : {std::pair{"x1", -100}, {"y1", -100}, {"x2", 100}, {"y2", 100}})
      set(box, name, value);
  }
  set(graphics.child("CoordinateSystem"), "suggestedScalingFactorTo_mm", 0.1);
  return text_of(document);
}

std::string fmu_documentation(const ExportedDescription& fmu) {
  pugi::xml_document document;
  document.append_child(pugi::node_doctype).set_value("html");
  pugi::xml_node html = document.append_child("html");
  pugi::xml_node head = html.append_child("head");
  set(head.append_child("meta"), "charset", "utf-8");
  head.append_child("title").text() = fmu.title.c_str();
  pugi::xml_node body = html.append_child("body");
  body.append_child("h1").text() = fmu.title.c_str();
  body.append_child("p").text() = fmu.about.c_str();
  pugi::xml_node table = body.append_child("table");
  const auto row = [&](const char* cell, std::initializer_list<std::string> texts) {
    pugi::xml_node line = table.append_child("tr");
    for (const std::string& text : texts) line.append_child(cell).text() = text.c_str();
  };
  row("th", {"variable", "", "SI unit of", "start", ""});
  for (const ExportedVariable& v : fmu.variables)
    row("td",
        {v.name, causality(v.role),
         v.role == Role::rate && !v.unit.empty() ? v.unit + ", per second" : v.unit,
         v.role == Role::parameter || v.role == Role::input ? fmt::format("{}", v.start) : "", v.summary});
  if (!fmu.fixed.empty()) {
    body.append_child("p").text() = "Numbers that are part of the code:";
    pugi::xml_node list = body.append_child("ul");
    for (const std::string& text : fmu.fixed) list.append_child("li").text() = text.c_str();
  }
  return text_of(document, pugi::format_default | pugi::format_no_declaration);
}

}  // namespace tellegen
