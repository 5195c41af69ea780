// A row of an estimator as one step for hardware: the covariance in factors (estimate/filter_formulas.h), the
// estimates as outputs, and a recorded run of the filter as the scenario that ranges come from.
//
// Given with every row: each reading NAME and a word NAME_there that is 0 where it is missing (whatever the
// reading then is), and the inputs of [estimate]. A row is predicted from the one before, and corrected.
#pragma once

#include <string>
#include <vector>

#include "tellegen/deploy/exported_filter.h"
#include "tellegen/deploy/fixed_numbers.h"
#include "tellegen/records/record.h"

namespace tellegen {

struct FilterStep {
  StraightStep step;
  StepScenario scenario;              // the record's rows
  std::vector<std::string> inputs;    // what is given, in order
  std::vector<std::string> outputs;   // estimates; NAME_sd: the standard deviation of one
  std::vector<std::string> left_out;  // with the reason
};

// The record begins the model (begun_with()), and has the sensors and inputs of the options. `wanted`: names
// of estimates and deviations; empty: all estimates. Throws ModelError: as ExportedFilter does, and T420.
FilterStep filter_step(const Model& model, const FilterExportOptions& options, const Record& record,
                       const std::vector<std::string>& wanted);

}  // namespace tellegen
