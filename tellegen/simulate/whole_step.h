// One step of a whole small system as one program (program/step_loop.h).
//
// The condensed forms of all components are put together symbolically, the network's equations are
// eliminated symbolically in an order chosen from their numbers, and everything falls into the section where
// it belongs: with a constant tangent the factors are computed once, with nonlinear components only the
// trailing part that depends on the iterate is eliminated in every iteration.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tellegen/equations/network.h"
#include "tellegen/equations/renumber.h"
#include "tellegen/equations/storage.h"
#include "tellegen/program/step_loop.h"
#include "tellegen/simulate/scheme.h"
#include "tellegen/simulate/step_state.h"

namespace tellegen {

// Generated code for the whole step pays up to a few dozen unknowns.
constexpr std::int32_t whole_step_limit = 64;
// As code for a target, with SimulationOptions::straight_line; the order of elimination takes n^2 of time.
constexpr std::int32_t straight_line_limit = 2000;

class WholeStep {
 public:
  // Outputs are expressions of column symbols and t; so are totals, integrands whose integrals are kept in
  // `state` behind the differentiated variables.
  // `records`: the loop's rows are places (step_loop.h), and program() is kept for the way back through them.
  WholeStep(const Network& network, const Storage& storage, const Scheme& scheme,
            std::span<const Expr> outputs, const StepState& state, const StepOptions& options,
            std::span<const Expr> totals = {}, bool records = false);

  // Inputs, in the system's order.
  struct Registers {
    std::vector<std::int32_t> value[3], rate, iterates, previous, iterate_sources, previous_sources;
    std::vector<std::int32_t> held, updates;
    std::int32_t alpha = 0, step = 0, past[3] = {}, past_rate = 0;
  };
  // A number of a component: where it is, and which register it is loaded into (-1: it is zero).
  struct Number {
    std::int32_t group, parameter, member, input;
  };
  const StepProgram& program() const { return program_; }
  const Registers& registers() const { return registers_; }
  const std::vector<Number>& numbers() const { return numbers_; }

  StepLoop& loop() { return loop_; }
  const StepLoop& loop() const { return loop_; }
  StepCode::Part part(const EquationSystem& system, const StepLoopControl& control) const;
  std::vector<RegisterCopy> hand_over(const WholeStep& next) const;  // as store() and load() do it
  void add_registers(StepCode::Events& events) const;
  void load(const StepState& state);
  void store(StepState& state) const;
  void keep(Checkpoint& parts) { parts(loop_.register_file(), scheme_, length_); }
  // With StepOptions::events only:
  void set_scheme(const Scheme& scheme, double step);  // from the next step on
  void hold(std::span<const double> held);             // discrete variables from the next step on
  void updates(std::span<double> values) const;        // what they should become, after a step
  // Another run, with the numbers that the network's system has now and the state it begins with. False where
  // the elimination was made for others: a number has become zero or ceased to be it, or a pivot has become
  // small.
  bool restart(const Network& network, const StepState& state);
  // The same as operations of a list: what stands in every register then. Nothing where there is more to a
  // start than numbers, values and rates.
  std::optional<std::vector<RowValue>> write(RowList& list, const SystemRows& numbers,
                                             std::span<const RowValue> values,
                                             std::span<const RowValue> rates) const;
  // For whoever keeps values and formula (implicit_stage.h): the one past value of each differentiated
  // variable is its history. Iterates come first, then the limited arguments of exponentials.
  void set_alpha(double alpha);
  void set_histories(std::span<const double> histories);
  void values(std::span<double> values) const;
  std::size_t iterate_count() const { return registers_.iterates.size() + registers_.previous.size(); }
  void iterates(std::span<double> values) const;
  void set_iterates(std::span<const double> values);
  std::string still_changing(
      const Network& network) const;  // after a step that did not converge: which variable
  std::int32_t instructions() const { return static_cast<std::int32_t>(loop_.program().code.size()); }

 private:
  friend class WholeStepBuilder;
  StepProgram program_;  // empty: not recorded
  std::vector<Number> numbers_;
  Program pivots_;  // of the inputs at the start: the smallest pivot, relative to its row and column
  std::vector<double> pivot_registers_;
  Scheme scheme_;
  double length_ = 0.0;  // of a step
  Registers registers_;
  StepLoop loop_;
};

}  // namespace tellegen
