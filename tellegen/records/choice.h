// Sensors and unknowns by name, as a command line gives them.
#pragma once

#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/records/data_file.h"

namespace tellegen {

// In Model::outputs. Throws ModelError (T163) with the nearest names.
std::vector<int> sensors_named(const Model& model, const std::vector<std::string>& names);

// Those of [estimate] that have a column; all where none has, so that reading tells what is wrong.
std::vector<int> sensors_in_data(const Model& model, const DataSource& data);

// In Model::unknowns; a parameter about which [unknowns] says nothing becomes one. Throws ModelError (T140).
std::vector<int> unknowns_named(Model& model, const std::vector<std::string>& names);

}  // namespace tellegen
