// What a calibration found, as a part of a page.
#pragma once

#include <optional>
#include <string>

#include "tellegen/calibrate/calibrate.h"
#include "tellegen/report/page.h"

namespace tellegen {

struct CalibrationPartOptions {
  std::string title;             // empty: made of the model's name
  std::optional<Model> truth{};  // a model whose numbers are right
  Settings settings{};           // what the page was made with
};

// Measured and calculated readings, residuals and their spectrum; the parameters of each stage, which of them
// are hard to tell apart, and their way to where they ended.
PagePart calibration_part(const Record& record, const CalibrationResult& result,
                          const CalibrationPartOptions& options, const SimulationOptions& integration);

}  // namespace tellegen
