// Numbers of a model from a record, with no starting values.
//
//   relations   between signals and parameters, from the model's own equations (relations.h)
//               ; of a variable that nobody reads and that stands before states, without it (hidden.h)
//   search      of numbers that satisfy them, everywhere (search.h)
//   fit         of the model to the readings from there: maximum likelihood (calibrate/calibrate.h)
//
// A fit that does not explain the readings is tried again from the next best numbers; what these come to is
// told. Where a sensor has no noise in the model, it is estimated: first from how readings jump from row to
// row, then from what the fit leaves.
#pragma once

#include <string>
#include <vector>

#include "tellegen/calibrate/calibrate.h"
#include "tellegen/identify/search.h"

namespace tellegen {

struct IdentifyOptions {
  CalibrationOptions fit = calibration_options();
  bool profile = false;  // intervals by profile likelihood, too
  std::size_t fits = 4;  // starts that are tried where the best does not explain the readings
};

// Where the likelihood of a parameter, the others fitted again, has fallen as far as chance explains in 95 %
// of cases.
struct ProfileInterval {
  int parameter = -1;
  double low = 0.0, high = 0.0;  // NaN: it does not fall so far
};

struct Identification {
  std::vector<int> parameters;         // in Model::parameters
  std::vector<std::string> equations;  // names of the relations that were used
  std::vector<std::string> left_out;
  std::vector<std::string> poles;  // in words: 1/(R1*C1)
  std::string hidden;              // a variable that nobody reads, eliminated from the relations (hidden.h)
  RelationSearch search;
  double search_seconds = 0.0;
  std::vector<double> noise;          // per sensor of the record, SI
  std::vector<char> noise_estimated;  // likewise
  CalibrationResult fit;              // from the best of them
  std::vector<double> fitted_costs;   // of each start that was fitted: where it came to
  std::vector<std::vector<double>> fitted_numbers;
  std::vector<ProfileInterval> profile;

  std::string failure;              // no numbers found that the model can run with; the fit is empty then
  std::vector<std::string> misfit;  // sensors whose residuals are more than the noise of their readings
  double quality = 0.0;             // squared residuals over noise, of the worst sensor: about 1
  bool good() const { return failure.empty() && fit.good(); }
  bool consistent() const { return failure.empty() && misfit.empty() && fit.consistent(); }
};

// `unknowns`: in Model::unknowns. The model's numbers of these are not looked at. Throws ModelError: T650
// where the equations give no start for a parameter, T601 to T605 as calibrate().
Identification identify(const Model& model, const Record& record, const std::vector<int>& unknowns,
                        const IdentifyOptions& options);

// Sensors whose first readings are far from where the model's run begins, whatever the numbers sought are: in
// words. A record that begins in the middle of something, and a model that begins at rest.
std::vector<std::string> contradicted_starts(const Model& model, const Record& record,
                                             const Identification& found);

// The noise of readings from the second differences of rows that follow one another, for smooth signals:
// robust against jumps. NaN: too few readings.
double noise_of_readings(const Record& record, std::size_t sensor);

}  // namespace tellegen
