// tellegen check --estimate: what can be known of a model's unknowns, and where sensors tell most.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/data_options.h"
#include "tellegen/model/model.h"

namespace tellegen {

// The command line as it was typed.
struct EstimateCheckRequest {
  bool on = false, json = false;
  std::string file, sensors, unknowns, stop, step, window, candidates, beside, target, noise;
  int place = 0;
  double limit = 1.0;
  DataRequest source;  // a record: what it can tell, with its own inputs, times and gaps
};

void add_estimate_check_options(CLI::App& command, EstimateCheckRequest& request);

// Something of these was given, though --estimate was not: throws ModelError (T401).
void refuse_without_estimate(const EstimateCheckRequest& request);

// Prints the report; throws StudyError where not everything that was asked for can be known.
void check_estimate(Model model, const EstimateCheckRequest& request);

}  // namespace tellegen
