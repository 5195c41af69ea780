// What an estimation or a calibration found, as parts of an HTML report.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/study_report.h"
#include "tellegen/estimate/calibrate.h"
#include "tellegen/estimate/estimate.h"
#include "tellegen/results/html.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {

// The command line as it was typed.
struct TwinReportRequest {
  std::string report, title, show, truth;
  Settings settings{};  // what the page was made with
};

// Which unit an estimated quantity is reported in; SI by its variable where it has none of its own.
std::string quantity_unit(const Model& model, const EstimatedQuantity& quantity);

void add_estimate_report_options(CLI::App& command, TwinReportRequest& request);
void add_calibration_report_options(CLI::App& command, TwinReportRequest& request);

// Before a long run: the page can be written, the truth be read. Throws ModelError: T402, T670, T401 where
// other options of a report are given without --report. `sources`: what the page must not replace.
void check_report(std::string_view command, const TwinReportRequest& request,
                  const std::vector<std::string>& sources);

// The network with its sensors and unknowns: nothing of the numbers, so that it is the same before and after
// a calibration.
PagePart network_part(const Model& model);

// Figures of what was estimated, with the truth where it is known; innovations and their spectrum; tables.
// Throws ModelError: T671 where `show` names something else, T670 where the truth has nothing of it.
PagePart estimate_part(const Model& model, const Record& record, const Estimate& estimate,
                       const TwinReportRequest& request);

// Measured and calculated readings, residuals and their spectrum; the parameters of each stage, which of them
// are hard to tell apart, and their way to where they ended. A truth is a model file whose numbers are right.
PagePart calibration_part(const Record& record, const CalibrationResult& result,
                          const TwinReportRequest& request, const SimulationOptions& integration);

// Writes network and part; throws ModelError (T402).
void write_twin_report(std::string_view command, const TwinReportRequest& request, const Model& model,
                       PagePart part);

}  // namespace tellegen
