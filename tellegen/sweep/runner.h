// One model run again and again with other numbers: read and built once.
//
// A sample's numbers are the same whichever samples went before, and in whichever thread: what is built is
// built from the numbers of the model, not of a sample, and a run leaves nothing behind that the next one
// reads.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

 private:
  Model model_;
  std::vector<int> parameters_;
  std::optional<Simulation> simulation_;
  bool compile_;
  bool long_ = true;  // the last run; of the first nothing is known
  double interpreted_seconds_ = 0.0;
  CompilerWatch watch_;
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
  void probe();
};

// Runners that are free. Each is one thread's at a time. Where one cannot be made, none can.
class SampleRunners {
 public:
  // One that is free or, where there is none, a new one; nothing where that cannot be made.
  std::unique_ptr<SampleRunner> take(const std::function<std::unique_ptr<SampleRunner>()>& make);
  void give_back(std::unique_ptr<SampleRunner> runner);

 private:
  std::mutex mutex_;
  bool none_ = false;
  std::vector<std::unique_ptr<SampleRunner>> free_;
};

}  // namespace tellegen
