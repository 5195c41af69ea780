#include "tellegen/records/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"

namespace tellegen {

std::vector<int> sensors_named(const Model& model, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const ModelOutput& output : model.outputs)
    if (output.sensor) known.push_back(output.name);  // sensors come first
  std::vector<int> found;
  FaultList faults;
  for (const std::string& name : names) {
    const auto sensor = std::find(known.begin(), known.end(), name);
    if (sensor != known.end())
      found.push_back(static_cast<int>(sensor - known.begin()));
    else
      faults.add({model.file.string(), 0}, "T163", fmt::format("there is no sensor '{}'", name),
                 {did_you_mean(name, known),
                  known.empty() ? "the model has no [sensors]" : "sensors: " + joined(known)});
  }
  faults.throw_if_any();
  return found;
}

std::vector<int> sensors_in_data(const Model& model, const DataSource& data) {
  std::vector<int> found;
  for (int s : model.estimation.sensors) {
    const ModelOutput& sensor = model.outputs[s];
    try {
      DataRows(data, {{sensor.name, sensor.unit, "sensor"}}).check_header();
      found.push_back(s);
    } catch (const ModelError& error) {
      if (error.faults().front().code != "T591") found.push_back(s);  // told when all is read
    }
  }
  return found.empty() ? model.estimation.sensors : found;
}

std::vector<int> unknowns_named(Model& model, const std::vector<std::string>& names) {
  std::vector<int> found;
  for (const std::string& name : names) {
    if (const ParameterTable* whole = find_parameter_table(model, name))
      for (int parameter : whole->parameters) found.push_back(unknown_of(model, parameter));
    else
      found.push_back(unknown_of(model, study_parameter(model, name)));
  }
  return found;
}

}  // namespace tellegen
