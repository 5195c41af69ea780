#include "tellegen/deploy/fmu_description.h"

#include <fmt/format.h>

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
    node.append_attribute(name) = fmt::format("{}", value).c_str();  // the shortest that reads back
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
    default:
      return "output";
  }
}

void describe_interface(pugi::xml_node root, const CModel& m, const ExportedDescription& fmu,
                        const std::vector<std::string>& sources) {
  pugi::xml_node cs = root.append_child("CoSimulation");
  set(cs, "modelIdentifier", m.name);
  set(cs, "canHandleVariableCommunicationStepSize", true);
  if (fmu.version == 3) {
    set(cs, "canGetAndSetFMUState", true);
    set(cs, "canSerializeFMUState", true);
    set(cs, "fixedInternalStepSize", m.problem().step);
    return;
  }
  set(cs, "canGetAndSetFMUstate", true);
  set(cs, "canSerializeFMUstate", true);
  pugi::xml_node files = cs.append_child("SourceFiles");
  for (const std::string& source : sources) set(files.append_child("File"), "name", source);
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
    if (v.role == Role::output) set(node, "initial", "calculated");
    node = node.append_child("Real");
  }
  units.describe(node, v.role == Role::time ? "s" : v.unit);
  if (v.role == Role::parameter || v.role == Role::input) set(node, "start", v.start);
}

void describe_structure(pugi::xml_node structure, const ExportedDescription& fmu) {
  const auto add = [&](pugi::xml_node to, const char* element) {
    for (std::size_t k = 0; k < fmu.variables.size(); ++k) {
      if (fmu.variables[k].role != Role::output) continue;
      pugi::xml_node unknown = to.append_child(element);
      // FMI 2 counts variables from 1.
      if (fmu.version == 3)
        set(unknown, "valueReference", static_cast<unsigned int>(k));
      else
        set(unknown, "index", static_cast<unsigned int>(k + 1));
    }
  };
  if (fmu.version == 3) {
    add(structure, "Output");
    add(structure, "InitialUnknown");
  } else {
    add(structure.append_child("Outputs"), "Unknown");
    add(structure.append_child("InitialUnknowns"), "Unknown");
  }
}

std::string about(const CModel& m) {
  return fmt::format(
      "Method {}, steps of {:g} s. All values are in SI units. Outputs are those of the last step that ended "
      "at or "
      "before the communication point; inputs are held over each step. The model starts at t = 0 from the "
      "initial "
      "values of its own numbers, whatever its parameters are set to.",
      m.problem().options.method, m.problem().step);
}

}  // namespace

std::vector<ExportedVariable> fmu_variables(const CModel& m) {
  std::vector<ExportedVariable> variables{{"time", "s", "", Role::time, 0.0}};
  for (const CParameters::Setting& s : m.parameters.settings) {
    const ModelParameter& p = m.parameter(s);
    variables.push_back({p.name, p.unit, p.summary, Role::parameter, p.number});
  }
  for (std::size_t k = 0; k < m.inputs.size(); ++k)
    variables.push_back(
        {m.problem().options.external[k], m.input_unit(k), "", Role::input, m.input_start(k)});
  for (const OutputColumn& column : m.simulation.outputs())
    variables.push_back({column.name, column.unit, "", Role::output, 0.0});
  std::set<std::string> taken;
  for (ExportedVariable& v : variables)
    while (!taken.insert(v.name).second) v.name += "_output";
  return variables;
}

std::string fmu_model_description(const CModel& m, const ExportedDescription& fmu,
                                  const std::vector<std::string>& sources) {
  pugi::xml_document document;
  pugi::xml_node root = root_of(document, "fmiModelDescription");
  set(root, "fmiVersion", fmu.version == 3 ? "3.0" : "2.0");
  set(root, "modelName", m.model.name.empty() ? m.name : m.model.name);
  set(root, fmu.version == 3 ? "instantiationToken" : "guid", fmu.token);
  set(root, "description", about(m));
  set(root, "generationTool", "Tellegen");
  set(root, "variableNamingConvention", "flat");
  if (fmu.version == 2) set(root, "numberOfEventIndicators", 0);
  describe_interface(root, m, fmu, sources);
  pugi::xml_node definitions = root.append_child("UnitDefinitions");
  pugi::xml_node categories = root.append_child("LogCategories");
  for (const char* name : {"logStatusError", "logEvents"})
    set(categories.append_child("Category"), "name", name);
  pugi::xml_node experiment = root.append_child("DefaultExperiment");
  set(experiment, "startTime", 0.0);
  set(experiment, "stopTime", m.problem().options.stop);
  set(experiment, "stepSize", m.problem().step);
  pugi::xml_node variables = root.append_child("ModelVariables");
  FmuUnits units;
  for (std::size_t k = 0; k < fmu.variables.size(); ++k) describe_variable(variables, fmu, k, units);
  units.define(definitions);
  describe_structure(root.append_child("ModelStructure"), fmu);
  return text_of(document);
}

std::string fmu_build_description(const CModel& m, const std::vector<std::string>& sources) {
  pugi::xml_document document;
  pugi::xml_node root = root_of(document, "fmiBuildDescription");
  set(root, "fmiVersion", "3.0");
  pugi::xml_node build = root.append_child("BuildConfiguration");
  set(build, "modelIdentifier", m.name);
  pugi::xml_node files = build.append_child("SourceFileSet");
  set(files, "language", "C99");
  set(files, "compilerOptions", "-ffp-contract=off");
  for (const std::string& source : sources) set(files.append_child("SourceFile"), "name", source);
  pugi::xml_node library = build.append_child("Library");
  set(library, "name", "m");
  set(library, "external", true);
  return text_of(document);
}

std::string fmu_documentation(const CModel& m, const ExportedDescription& fmu) {
  pugi::xml_document document;
  document.append_child(pugi::node_doctype).set_value("html");
  pugi::xml_node html = document.append_child("html");
  pugi::xml_node head = html.append_child("head");
  set(head.append_child("meta"), "charset", "utf-8");
  head.append_child("title").text() = m.model.name.c_str();
  pugi::xml_node body = html.append_child("body");
  body.append_child("h1").text() = m.model.name.c_str();
  body.append_child("p").text() = about(m).c_str();
  pugi::xml_node table = body.append_child("table");
  const auto row = [&](const char* cell, std::initializer_list<std::string> texts) {
    pugi::xml_node line = table.append_child("tr");
    for (const std::string& text : texts) line.append_child(cell).text() = text.c_str();
  };
  row("th", {"variable", "", "SI unit of", "start", ""});
  for (const ExportedVariable& v : fmu.variables)
    row("td",
        {v.name, causality(v.role), v.unit,
         v.role == Role::parameter || v.role == Role::input ? fmt::format("{}", v.start) : "", v.summary});
  if (!m.parameters.fixed.empty()) {
    body.append_child("p").text() = "Numbers that are part of the code:";
    pugi::xml_node list = body.append_child("ul");
    for (const std::string& text : m.parameters.fixed) list.append_child("li").text() = text.c_str();
  }
  return text_of(document, pugi::format_default | pugi::format_no_declaration);
}

}  // namespace tellegen
