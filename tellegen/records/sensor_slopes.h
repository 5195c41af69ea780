// What the sensors would read, and how that changes with the unknowns: the model's run and its exact
// derivatives (sensitivity/run.h) on the rows of a record. Calibration, the Cramer-Rao bound and "what can be
// known" all rest on it.
//
// By default bdf3 with steps no longer than the record's, and so short that they move no parameter that is
// found by more than a hundredth of its standard deviation; where that needs too many steps, "exact" for
// linear models. Nonlinear models that reduce to states (sensitivity/reduced_run.h) are run so, once that has
// been seen to give the same readings.
//
// A record with a clock of its own is run in steps of that clock (with_clock()), long ones in parts: readings
// are taken at their times, not near them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tellegen/records/record.h"
#include "tellegen/sensitivity/combined.h"
#include "tellegen/sensitivity/reduced_run.h"
#include "tellegen/simulate/integrator.h"

namespace tellegen {

struct SensorSlopes {
  std::int64_t steps = 0;
  std::size_t sensors = 0, parameters = 0;
  std::vector<double> values;  // [row][sensor], SI
  std::vector<double> slopes;  // [row][sensor][parameter], SI
  std::string failure;         // empty: the run finished
  double slope(std::int64_t row, std::size_t sensor, std::size_t parameter) const {
    return slopes[(row * sensors + sensor) * parameters + parameter];
  }
};

// The record gives the rows, the sensors and the known inputs; its readings are not looked at. `parameters`:
// indices into model.parameters, at their present numbers. `integration`: method and step over what the model
// says; by default the best, see above.
SensorSlopes sensor_slopes(const Model& model, const Record& record, const std::vector<int>& parameters,
                           const SimulationOptions& integration);

// The same again and again at other numbers of the parameters: what does not depend on them is found once.
class SensorRun {
 public:
  // Throws ModelError: T600 where the record does not begin at or after t = 0 on one of its own steps.
  SensorRun(const Model& model, const Record& record, std::vector<int> parameters,
            const SimulationOptions& integration);

  // Numbers that a component cannot have, or a run that does not finish, are told in `failure`.
  SensorSlopes at(std::span<const double> numbers);

  std::string method() const { return reduced_ ? "rk4 on the reduced equations" : simulation_.method; }
  double step() const { return reduced_ ? reduced_step_ : simulation_.step; }
  std::string steps_text() const;  // "rk4, steps of 0.1 s"

 private:
  struct Stepped;
  SensorRun(const Stepped& stepped, std::vector<int> parameters, const SimulationOptions& integration);
  void choose_steps(const Record& record);
  std::vector<double> values(const SimulationOptions& options) const;
  SensorSlopes run(std::span<const double> numbers);
  // `agrees`: whether readings are those that were found otherwise.
  using Agree = std::function<bool(const std::vector<double>&, const std::vector<double>&)>;
  bool reduce(const Agree& close, const std::vector<double>& coarse, const std::vector<double>& fine);
  bool nearer(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& c) const;
  RunRequest request() const;
  RunDerivatives derivatives(std::span<const double> numbers);

  Model model_;  // with the record's inputs
  std::vector<int> sensors_, parameters_;
  std::int64_t first_, steps_;      // samples of the run before the record begins; until it ends
  std::vector<std::int64_t> rows_;  // those that are rows of the record; empty: all
  SimulationOptions simulation_;
  // Where the model with its sensitivities is small, it is built once and run with other numbers.
  std::unique_ptr<CombinedRun> again_;
  std::unique_ptr<ReducedRun> reduced_;
  double reduced_step_ = 0.0;
  int evaluations_ = 0;
  double interpreted_seconds_ = 0.0;
  CompilerWatch watch_;
};

// The model with what the record knows of its inputs put in, as tables of time.
Model with_inputs(const Model& model, const Record& record);

}  // namespace tellegen
