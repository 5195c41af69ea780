#include "tellegen/model/sensor_error.h"

#include "tellegen/model/units.h"

namespace tellegen {

std::string difference_unit(const std::string& unit) {
  if (unit.empty() || units().to_si(0.0, unit) == 0.0) return unit;
  return units().convertible(unit, "K") ? "K" : "";
}

int add_sensor_error(Model& model, int sensor, SensorError kind, double since) {
  constexpr const char* names[] = {".bias", ".drift", ".scale"};
  ModelOutput& output = model.outputs[sensor];
  ModelParameter parameter;
  parameter.name = output.name + names[static_cast<int>(kind)];
  for (std::size_t k = 0; k < model.parameters.size(); ++k)
    if (model.parameters[k].name == parameter.name) return static_cast<int>(k);
  Pool& pool = *model.pool;
  std::string unit = output.unit;
  if (unit.empty() && output.value.is_symbol())
    if (const auto ref = find_variable(model, output.value.name())) unit = variable_unit(model, *ref);
  parameter.symbol = pool.symbol("parameter(" + parameter.name + ")");
  parameter.value = pool.number(0.0);
  parameter.place = output.place;
  switch (kind) {
    case SensorError::offset:
      parameter.unit = difference_unit(unit);
      output.value = output.value + parameter.symbol;
      break;
    case SensorError::drift:
      if (const std::string per = difference_unit(unit); !per.empty()) parameter.unit = per + "/s";
      output.value = output.value + parameter.symbol * (pool.symbol("t") - pool.number(since));
      break;
    case SensorError::scale:
      parameter.unit = "1";
      output.value =
          output.value +
          parameter.symbol * (output.value - pool.number(unit.empty() ? 0.0 : units().to_si(0.0, unit)));
      break;
  }
  model.parameters.push_back(std::move(parameter));
  return static_cast<int>(model.parameters.size()) - 1;
}

int add_input_bias(Model& model, int input) {
  ModelInput& of = model.inputs[input];
  ModelParameter parameter;
  parameter.name = of.name + ".bias";
  parameter.unit = difference_unit(of.unit);
  parameter.symbol = model.pool->symbol("parameter(" + parameter.name + ")");
  parameter.value = model.pool->number(0.0);
  parameter.place = of.place;
  of.bias = static_cast<int>(model.parameters.size());
  model.parameters.push_back(std::move(parameter));
  return of.bias;
}

}  // namespace tellegen
