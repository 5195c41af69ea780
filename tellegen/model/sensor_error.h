// Numbers by which a sensor reads wrong: what it reads is what it measures and an error.
//
//   offset   y = h(x) + p
//   drift    y = h(x) + p (t - since)
//   scale    y = h(x) + p (h(x) - zero)     zero: that of the sensor's unit, 0 degC
//
// The number p is a parameter of the model, `T_w.bias`, `T_w.drift`, `T_w.scale`, and zero: a run without
// anything else said is the run without it, and it can be an unknown as any parameter. Formulas that name
// the sensor mean what it measures.
#pragma once

#include <string>

#include "tellegen/model/model.h"

namespace tellegen {

enum class SensorError { offset, drift, scale };

// Its index in Model::parameters; the one that is there already where the sensor has it.
int add_sensor_error(Model& model, int sensor, SensorError kind, double since = 0.0);

// The same for what data say of an input: that, less the parameter `I.bias`, is its value.
int add_input_bias(Model& model, int input);

// The unit of differences: "K" for "degC".
std::string difference_unit(const std::string& unit);

}  // namespace tellegen
