// The FILE of every command: a model file or a SPICE netlist, by its ending.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "tellegen/model/analyses.h"
#include "tellegen/model/read.h"

namespace tellegen {

// Notes of a netlist (what has no effect) go to standard error, what its run is asked for to `analyses`.
Model read_model_file(const std::string& file, const ReadOptions& options, Analyses* analyses = nullptr);

// Inputs of the model that come from outside, none twice.
void make_external(const OptionName& option, const std::vector<std::string>& names, Model& model);

}  // namespace tellegen
