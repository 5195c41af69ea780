// Imported FMUs while a model runs (model/fmu_component.h).
//
// Each is a sampled block whose update is a call of the FMU. When its clock has been sampled at t_k, so have
// its inputs; with these the FMU goes from t_k to the next communication point at once, and what it says
// there is written to discrete variables of its component. So an FMU is called when a step has been accepted,
// once, and never has to go back.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/equations/system.h"

namespace tellegen {

// In a failure that is none: an FMU wanted the run to end.
inline constexpr std::string_view ended_by_fmu = "it has ended the simulation";

class FmuBlocks {
 public:
  explicit FmuBlocks(const EquationSystem& system);
  // To the first communication point, from the inputs that are held; `step` and `stop`: of the run. Throws
  // SimulationError.
  FmuBlocks(const EquationSystem& system, double step, double stop, std::span<double> held);
  ~FmuBlocks();
  FmuBlocks(FmuBlocks&&) noexcept;
  bool empty() const { return blocks_.empty(); }
  std::string name() const;  // of the first

  // At the start, before any step: inputs from `updates`, and outputs from these. What hardly changes stays
  // the same.
  void initialize(std::span<const double> updates, std::span<double> held);
  // After discrete variables have changed: FMUs whose clocks are among them take their next step.
  void follow(std::span<double> held);
  const std::string& failure() const { return failure_; }  // empty: none

 private:
  struct Block;
  void read_outputs(Block& block);
  std::vector<std::unique_ptr<Block>> blocks_;
  double stop_ = 0.0;
  std::string failure_;
};

}  // namespace tellegen
