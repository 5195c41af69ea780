// The FILE of every command: a model file or a SPICE netlist, by its ending.
#pragma once

#include <string>

#include "tellegen/model/read.h"

namespace tellegen {

// Notes of a netlist (what has no effect) go to standard error.
Model read_model_file(const std::string& file, const ReadOptions& options);

}  // namespace tellegen
