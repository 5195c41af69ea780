// `tellegen benchmark derivatives`: what sensitivities cost beside the runs that finite differences need.
//
// Forward sensitivities of 20 parameters on a linear ladder and on one with a diode in every loop, and the
// adjoint gradient of one objective by every element of the ladder; two sets of equations for the same
// sensitivities of a cell (cell_sensitivities.h). Answers are compared first.
#pragma once

#include <filesystem>
#include <string>

namespace tellegen {

struct DerivativesOptions {
  int loops = 1000;
  int repetitions = 3;         // the shortest counts
  std::string only;            // linear, diodes, adjoint or cell; empty: all
  std::filesystem::path json;  // file for everything that was printed
};

// Prints as it goes. False where an answer disagreed.
bool run_derivatives(const DerivativesOptions& options);

}  // namespace tellegen
