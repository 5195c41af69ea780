// The model whose fixed step is printed or explored: what `export` and `explore` are told of it alike.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

// The command line as it was typed.
struct ExportedModelRequest {
  std::string file, method, step, stop, outputs, inputs;
  std::vector<std::string> set;
  int iterations = 0;
};

void add_exported_model_options(CLI::App& command, ExportedModelRequest& request);

// Throw ModelError; `command`: "tellegen export".
Model read_exported_model(std::string_view command, const ExportedModelRequest& request);
// Takes the inputs out of the model; what they were in its own scenario.
std::vector<Expr> take_inputs_out(std::string_view command, const ExportedModelRequest& request,
                                  Model& model);
SimulationOptions exported_step_options(std::string_view command, const ExportedModelRequest& request,
                                        Model& model);

}  // namespace tellegen
