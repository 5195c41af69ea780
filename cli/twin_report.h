// HTML reports of estimations and calibrations: their options, and the file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tellegen/report/calibration_report.h"
#include "tellegen/report/estimate_report.h"

namespace tellegen {

// The command line as it was typed.
struct TwinReportRequest {
  std::string report, title, show, truth;

  EstimatePartOptions of_estimate(Settings settings) const;
  CalibrationPartOptions of_calibration(Settings settings) const;  // reads the truth
};

void add_estimate_report_options(CLI::App& command, TwinReportRequest& request);
void add_calibration_report_options(CLI::App& command, TwinReportRequest& request);

// Before a long run: the page can be written, the truth be read. Throws ModelError: T402, T670, T401 where
// other options of a report are given without --report. `sources`: what the page must not replace.
void check_report(std::string_view command, const TwinReportRequest& request,
                  const std::vector<std::string>& sources);

// Writes network and part; throws ModelError (T402).
void write_twin_report(std::string_view command, const TwinReportRequest& request, const Model& model,
                       PagePart part);

}  // namespace tellegen
