// Numbers of a model from a record: batch maximum likelihood, one stage after the other.
//
// Readings with independent Gaussian noise: the likelihood is largest where
//
//   cost(p) = 1/2 sum over rows and sensors of ((reading - h(p)) / noise)^2
//
// is smallest. Levenberg-Marquardt [Madsen 2004] finds that point with exact derivatives of the readings
// (sensor_slopes.h), in the coordinate of each unknown (coordinate.h): on 1/C it converges from a hundred
// times the capacitance where on log C it ends in other minima. A reading that is NaN counts nothing. No step
// goes beyond the bounds, nor multiplies a number by more than ten.
//
// It has converged when a full Gauss-Newton step would move the numbers by less than 1e-4 standard deviations
// of theirs. The standard deviations are those of the Cramer-Rao bound there, (J'J)^-1: honest where the
// residuals are as large as the noise says, and white.
//
// So the fit is judged: chi-square per degree of freedom, of all readings and of each sensor's, must lie
// where chance puts it with a probability of 99.9 %. Where it does not, model, data or noise are wrong
// (`misfit` says so), and where it is too large the standard deviations are multiplied by its root.
//
// Where readings do not determine the numbers, combinations that they leave open are told (`open`).
//
// [Madsen 2004] Methods for non-linear least squares problems, Technical University of Denmark.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tellegen/calibrate/frequency_response.h"
#include "tellegen/records/sensor_slopes.h"
#include "tellegen/records/statistics.h"

namespace tellegen {

struct CalibrationOptions {
  int starts = 1;  // the first at the starts of the unknowns, the others anywhere between their bounds
  std::uint64_t seed = 1;
  int most_iterations = 100;  // of each start
  bool prior = false;         // a start with a deviation counts as a reading
  double robust = 0.0;  // readings farther off than so many standard deviations count less (Huber); 0: no
  bool restart = true;  // where the first start does not explain the readings, try others
  // Sensors, in Model::outputs, whose noise is what the fit leaves; the model's is a first guess.
  std::vector<int> noise_unknown;
  // Measured responses over frequency, beside the record or in its place (a record without rows): the real
  // and the imaginary part of each point count as readings, in every stage.
  std::vector<ResponseData> responses;
  // Records of other runs of the same thing, with the record's sensors: each begins anew with the model's
  // initial values, at its own time. They count in every stage.
  std::vector<Record> more_records;
  SimulationOptions integration;
  std::function<void(const std::string& what)> progress;
};

// Options that leave method and step to the record and the model.
CalibrationOptions calibration_options();

struct CalibrationIteration {
  std::vector<double> numbers;  // per parameter, SI
  double cost = 0.0;
  double step = 0.0;  // length of the step that led here, in standard deviations of the numbers
};

struct CalibrationStart {
  std::vector<double> numbers;  // where it ended
  double cost = 0.0;
  bool converged = false;
  bool agrees = true;  // with the best one
  int evaluations = 0;
  std::string stopped;                     // in words
  std::vector<CalibrationIteration> path;  // the first is the start itself
};

struct CalibratedParameter {
  int parameter = -1;  // in Model::parameters
  ModelUnknown::Coordinate coordinate;
  double before = 0.0, after = 0.0;
  double deviation = 0.0;  // NaN: the readings do not determine it, or it lies at a bound
  bool at_bound = false;
};

struct StageResult {
  std::vector<CalibratedParameter> parameters;
  std::vector<CalibrationStart> starts;
  std::size_t best = 0;             // among the starts
  std::vector<double> correlation;  // [parameter][parameter]
  std::int64_t readings = 0;
  double chi_square = 0.0;                // sum of squared residuals over their noise, per degree of freedom
  ChiSquareInterval interval;             // where it lies by chance
  double inflation = 1.0;                 // by which the standard deviations were multiplied
  std::string misfit;                     // empty: chi-square is what the noise says
  std::vector<SensorStatistics> sensors;  // of the residuals
  std::vector<double> residual_rms;       // of each sensor, SI
  std::vector<std::string> open;          // combinations of parameters that the readings leave open
  std::vector<std::string> warnings;
  std::string failure;  // empty: converged, the starts agree, nothing is open
  std::string method;   // of integration
  double seconds = 0.0;

  const CalibrationStart& found() const { return starts[best]; }
};

struct CalibrationResult {
  Model model;  // with the numbers found
  std::vector<StageResult> stages;
  bool good() const;        // no failure
  bool consistent() const;  // no misfit
};

// Unknowns that no stage names but that are constant are one stage of their own where `stages` is empty.
// Throws ModelError: T601 to T605.
CalibrationResult calibrate(const Model& model, const Record& record, std::vector<CalibrationStage> stages,
                            const CalibrationOptions& options);

// How badly a record is explained when all is done: the largest chi-square per degree of freedom of the
// stages; infinite where one of them fails, or the
// record cannot be used. What is behind a misfit is found by comparing this for records
// that are changed as a mistake would have changed them.
double misfit_of(const Model& model, const Record& record, const std::vector<CalibrationStage>& stages,
                 CalibrationOptions options);

}  // namespace tellegen
