// Residuals of readings, of a fit or of a filter (innovations): over time with what is expected of them, and
// their spectrum, for a report.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tellegen {

struct ResidualSeries {
  std::string sensor, unit;
  std::vector<double> residual, expected;  // at each time: value and standard deviation, SI; NaN: no reading
  std::vector<std::pair<double, std::string>> events{};  // of the sensor: when, what
};

struct ResidualWords {
  std::string one, many;     // "Innovation", "innovations"
  std::string difference;    // "reading less prediction"
  std::string below, above;  // what a spectrum below or above 1 says
};

struct ResidualFigures {
  std::vector<std::string> over_time;  // one for each series
  std::string spectrum;                // of all; empty: too short
};

// `step`: between two times.
ResidualFigures residual_figures(const std::vector<double>& t, const std::vector<ResidualSeries>& series,
                                 const ResidualWords& words, double step);

}  // namespace tellegen
