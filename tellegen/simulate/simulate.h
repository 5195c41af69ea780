// Model in, trajectory out: prepares a Problem, picks an integrator, runs it sample by sample.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/simulate/balance.h"
#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/start_rows.h"

namespace tellegen {

struct OutputColumn {
  std::string name, unit;  // SI where the unit is empty
  Expr value;              // in the model's full names
};

// The model's sensors and outputs; every variable where it has none or `all` is set.
std::vector<OutputColumn> default_outputs(const EquationSystem& system, bool all);

// Command-line values over the model's [simulation] over defaults. Throws ModelError for what is missing or
// cannot be: no stop, a negative step, an unknown method (the nearest is suggested).
SimulationOptions complete_options(const Model& model, SimulationOptions given);

struct SimulationResult {
  std::vector<std::string> names, units;
  std::vector<double> t, values;  // values: one row of names.size() per time, in the units above
  Statistics statistics;
  double step = 0.0;                       // the one taken (on average): shortened to fit the sample interval
  double loop_seconds = 0.0;               // in the step loop alone
  double worst_sample_seconds = 0.0;       // the longest sample interval took this
  std::optional<double> ended;             // by a stop condition, at this time: that of the last row
  std::string failure;                     // empty: finished; otherwise why it stopped, rows so far are good
  std::string note;                        // what else should be said, where anything
  std::optional<EnergyBalance> balance{};  // with SimulationOptions::balance
  std::shared_ptr<RunCurves> record{};     // with SimulationOptions::recorded
  std::vector<std::string> warnings() const;  // all of them
  std::string brief() const;                  // one line
};

using Progress = std::function<void(double fraction)>;

// Everything an integrator needs; no output columns: default_outputs(). Throws as Simulation does.
Problem prepare_problem(const EquationSystem& system, const SimulationOptions& options,
                        const std::vector<OutputColumn>& outputs);
// The same for somebody who has initial values.
Problem problem_without_start(const EquationSystem& system, const SimulationOptions& options,
                              const std::vector<OutputColumn>& outputs);
std::int64_t sample_count(const Problem& problem);
double steps_to_come(const Problem& problem);  // of fixed length; a run is seldom the only one

// Where a saved run stood: so many samples are done, and the last row, in SI.
struct ResumedRun {
  std::int64_t samples = 0;
  std::vector<double> row;
};

// Everything up to the step loop, then the loop. Wrong input throws ModelError, no consistent start
// SimulationError; what goes wrong later is told in `failure`.
class Simulation {
 public:
  Simulation(const Model& model, const SimulationOptions& options, std::vector<OutputColumn> outputs);
  Simulation(const EquationSystem& system, const SimulationOptions& options,
             std::vector<OutputColumn> outputs);
  ~Simulation();
  SimulationResult run(const Progress& progress = {});
  // Makes ready for another run, with the numbers that the model has now (set_parameters) and this end. False
  // where what was built does not fit them: then build another. Only a simulation of a model, with
  // SimulationOptions::restarts. Throws as the constructor does.
  bool restart(double stop);
  // The same for many runs at once, as operations of a list; nothing where initial values are searched for,
  // or more than numbers would change. The end stays as it is.
  std::optional<StartRows> write_start(RowList& list, const NumberRows& numbers) const;
  const Problem& problem() const { return problem_; }
  const EquationSystem& system() const { return *problem_.system; }

  // What run() is made of, for a loop with a clock of its own (tellegen/realtime/).
  Integrator& integrator() { return *integrator_; }
  const std::vector<OutputColumn>& outputs() const { return outputs_; }
  StepCode step_code() const { return integrator_->step_code(); }  // before it has begun
  // False: what is recorded comes from rows (run() knows how), behind the outputs in each.
  bool records_steps() const;
  double sample_interval() const { return problem_.step * static_cast<double>(problem_.stride); }
  void first_row(double* row) const;  // initial values of the outputs, in SI

  // The run after so many samples, to go on from in a simulation made of the same model and options (the end
  // may be another one): the same rows follow, to the last bit. Not with an account of energy. checkpoint()
  // throws ModelError where the method cannot (T321), resume() where the bytes are no checkpoint (T631) or of
  // another run (T632).
  std::string checkpoint(std::int64_t samples, std::span<const double> last_row);
  ResumedRun resume(std::string_view bytes);

 private:
  void prepare(const EquationSystem& system, const SimulationOptions& options);
  bool only_numbers_change() const;
  std::unique_ptr<EquationSystem> owned_;
  // With `restarts`: for the numbers and the initial values of all runs.
  std::unique_ptr<class Tableau> tableau_;
  std::unique_ptr<class BakedNumbers> baked_;
  std::unique_ptr<class Renumbering> renumbering_;
  std::unique_ptr<class LinearStart> start_;  // null: they are searched for
  Problem problem_;
  std::vector<OutputColumn> outputs_;
  std::optional<EnergyAccount> account_;
  std::unique_ptr<Integrator> integrator_;
};

}  // namespace tellegen
