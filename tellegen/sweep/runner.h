// One model run again and again with other numbers: read and built once.
//
// A sample's numbers are the same whichever samples went before, and in whichever thread: what is built is
// built from the numbers of the model, not of a sample, and a run leaves nothing behind that the next one
// reads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tellegen/model/parameters.h"
#include "tellegen/simulate/run_lanes.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct NeedsOtherEquations {};

class SampleRunner {
 public:
  // The parameters by their indices, options as complete_options() gives them. Throws as Simulation does, and
  // NeedsOtherEquations where other numbers of these parameters cannot do with the same.
  SampleRunner(Model model, std::vector<int> parameters, SimulationOptions options,
               std::vector<OutputColumn> outputs);
  // The outputs at the end of a run with these numbers (SI), in their units; nothing where they need other
  // equations: then this runner is of no use any more. Throws ModelError or SimulationError where the numbers
  // do not fit, std::runtime_error where a run fails.
  std::optional<std::vector<double>> final_values(std::span<const double> numbers);

  // So many samples at once from now on: 1 until it pays to run them side by side, or where that cannot be.
  int lanes() const { return together_ ? lanes_->lanes() : 1; }
  // The same for at most lanes() samples; nothing for those that must be run alone, for whatever reason.
  std::vector<std::optional<std::vector<double>>> final_values(std::span<const std::vector<double>> numbers);
  bool usable() const { return usable_; }  // false: numbers of a sample needed other equations

 private:
  Model model_;
  std::vector<int> parameters_;
  ParameterSetter setter_;
  std::optional<Simulation> simulation_;
  bool compile_;
  bool long_ = true;  // the last run; of the first nothing is known
  double interpreted_seconds_ = 0.0;
  CompilerWatch watch_;
  std::unique_ptr<RunLanes> lanes_;  // null: each run has to be alone
  bool together_ = false, offered_ = false, ran_together_ = false, usable_ = true;
  // From the numbers of many samples to where their runs begin; empty: each is made ready by itself.
  std::optional<RowList> start_;
  std::vector<RowValue> inputs_;
  bool looked_for_start_ = false;
  std::vector<char> good_;
  std::vector<double> ends_;
  void write_start(std::span<const std::vector<double>> numbers);
  std::vector<std::size_t> take_together(std::span<const std::vector<double>> numbers);
  std::vector<std::size_t> take_each(std::span<const std::vector<double>> numbers);
  // An output with parameters in it would have their numbers in its formula: what it is made of is asked for
  // instead, and the formula is evaluated at the end of each run.
  struct Asked {
    std::size_t column = 0;  // of the simulation
    Expr formula{};          // empty: the column itself
    std::string unit{};      // of the formula
  };
  std::vector<Asked> asked_;
  std::vector<OutputColumn> columns_;
  void ask_for(std::vector<OutputColumn> outputs);
  bool has_formulas() const;
  std::vector<double> asked_values(std::span<const double> end, double t) const;
  void probe();
};

// Runners that are free. Each is one thread's at a time. Where one cannot be made, none can.
class SampleRunners {
 public:
  // One that is free or, where there is none, a new one; nothing where that cannot be made.
  std::unique_ptr<SampleRunner> take(const std::function<std::unique_ptr<SampleRunner>()>& make);
  void give_back(std::unique_ptr<SampleRunner> runner);
  int lanes() const { return lanes_; }  // the most that a runner has offered

 private:
  std::mutex mutex_;
  std::atomic<int> lanes_ = 1;
  bool none_ = false;
  std::vector<std::unique_ptr<SampleRunner>> free_;
};

}  // namespace tellegen
