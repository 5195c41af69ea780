#include "tellegen/simulate/implicit_stage.h"

#include <algorithm>
#include <optional>

#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/network_step.h"
#include "tellegen/simulate/whole_step.h"

namespace tellegen {
namespace {

// The history is an input: the one past value, taken as it is.
Scheme formula_of(double alpha) { return {1, false, alpha, {1.0, 0.0, 0.0}, 0.0}; }

StepOptions stage_options(const Problem& problem) {
  StepOptions options;
  options.step = problem.step;
  options.tolerance = std::min(problem.options.tolerance, 1e-4);
  options.project = false;
  options.refactor = problem.options.refactor;
  options.restarts = problem.options.restarts;
  options.any_length = true;
  return options;
}

constexpr double printing_one = 2e-6;  // seconds, an instruction
constexpr double few_instructions = 1000.0;

class WholeStage : public ImplicitStage {
 public:
  WholeStage(const Problem& problem, Network network, std::span<const Expr> outputs, double alpha)
      : network_(std::move(network)),
        step_(network_, problem.storage, formula_of(alpha), outputs, state_of(network_, problem),
              stage_options(problem), problem.totals) {
    control_.stride = 2;
    fixed_iterations = problem.options.iterations;
  }
  bool restart(const Problem& problem) override {
    iterations = worst_iterations = factorisations = 0;
    return problem.totals.empty() && step_.restart(network_, state_of(network_, problem));
  }
  void set_alpha(double alpha) override { step_.set_alpha(alpha); }
  void hold(std::span<const double> held) override { step_.hold(held); }
  bool solve(double t, std::span<const double> history, std::span<double> values, double* row) override {
    step_.set_histories(history);
    control_.origin = t;
    control_.index = 0;
    control_.phase = row ? 1 : 0;  // a row at every second phase
    control_.rows = row;
    control_.steps = 1;
    control_.renew = 1;
    control_.iterations = control_.worst = 0;
    control_.max_iterations = max_iterations;
    control_.fixed_iterations = fixed_iterations;
    const bool good = step_.loop().run(control_);
    iterations += control_.iterations;
    worst_iterations = std::max(worst_iterations, control_.worst);
    if (good) step_.values(values);
    return good;
  }
  void updates(double, std::span<double> values) override { step_.updates(values); }
  std::size_t iterate_count() const override { return step_.iterate_count(); }
  void iterates(std::span<double> values) const override { step_.iterates(values); }
  void set_iterates(std::span<const double> values) override { step_.set_iterates(values); }
  std::string still_changing() const override { return step_.still_changing(network_); }
  void keep(Checkpoint& parts) override {
    ImplicitStage::keep(parts);
    step_.keep(parts);
  }
  bool keeps_totals() const override { return true; }
  const Network& network() const override { return network_; }
  std::string executor() const override {
    return compiled() ? "whole step, compiled" : "whole step, interpreted";
  }
  void compile(double interpreting) override { step_.loop().compile(interpreting); }
  bool compiled() const override { return const_cast<WholeStep&>(step_).loop().compiled(); }
  double printing_seconds() const override { return printing_one * step_.instructions(); }

 private:
  static StepState state_of(const Network& network, const Problem& problem) {
    StepState state = start_state(network, problem.initial);
    for (auto& values : state.value) values.resize(values.size() + problem.totals.size(), 0.0);
    state.rate.insert(state.rate.end(), problem.totals_start.begin(), problem.totals_start.end());
    return state;
  }
  Network network_;
  WholeStep step_;
  StepLoopControl control_;
};

class NetworkStage : public ImplicitStage {
 public:
  NetworkStage(const Problem& problem, Network network, std::span<const Expr> outputs, double alpha)
      : network_(std::move(network)),
        step_(network_, problem.storage, formula_of(alpha), outputs, start_state(network_, problem.initial),
              options_of(problem)) {
    fixed_iterations = problem.options.iterations;
    if (problem.totals.empty()) return;
    std::vector<Expr> followed = problem.totals;
    followed.push_back(problem.stored);
    followed.push_back(problem.exchanged);
    integrands_.emplace(*problem.system, followed);
    step_.want_columns(integrands_->columns());
    columns_.resize(problem.system->size());
  }
  void integrands(double t, std::span<double> values) override {
    step_.columns(columns_);
    integrands_->evaluate(columns_, t, values.data());
  }
  void set_alpha(double alpha) override { step_.set_scheme(formula_of(alpha)); }
  void hold(std::span<const double> held) override { step_.hold(held); }
  bool solve(double t, std::span<const double> history, std::span<double> values, double* row) override {
    step_.set_histories(history);
    const auto result = step_.step(t, fixed_iterations, max_iterations);
    iterations += result.iterations;
    worst_iterations = std::max(worst_iterations, result.iterations);
    factorisations += result.factorisations;
    if (!result.converged) return false;
    step_.values(values);
    if (row) step_.outputs(t, row);
    return true;
  }
  void updates(double t, std::span<double> values) override { step_.updates(t, values); }
  std::size_t iterate_count() const override { return step_.iterate_count(); }
  void iterates(std::span<double> values) const override { step_.iterates(values); }
  void set_iterates(std::span<const double> values) override { step_.set_iterates(values); }
  std::string still_changing() const override { return step_.largest_change(); }
  void keep(Checkpoint& parts) override {
    ImplicitStage::keep(parts);
    step_.keep(parts);
  }
  void begin_aside() override { step_.begin_aside(); }
  void end_aside() override { step_.end_aside(); }
  bool keeps_totals() const override { return false; }
  const Network& network() const override { return network_; }
  std::string executor() const override {
    return compiled_ ? "kernels per kind, compiled" : "kernels per kind, interpreted";
  }
  void compile(double interpreting) override { compiled_ = step_.compile(interpreting); }
  bool compiled() const override { return compiled_; }
  double printing_seconds() const override { return printing_one * few_instructions; }  // of its kinds

 private:
  static StepOptions options_of(const Problem& problem) {
    StepOptions options = stage_options(problem);
    options.events = true;
    options.record = !problem.totals.empty();
    return options;
  }
  Network network_;
  NetworkStep step_;
  std::optional<ColumnFormulas> integrands_;
  std::vector<double> columns_;
  bool compiled_ = false;
};

}  // namespace

std::vector<double> ImplicitStage::iterates_of(const InitialState& state) const {
  const StepState start = start_state(network(), state);
  std::vector<double> values = start.iterates;
  values.insert(values.end(), start.previous.begin(), start.previous.end());
  return values;
}

std::unique_ptr<ImplicitStage> make_implicit_stage(const Problem& problem, std::span<const Expr> outputs,
                                                   double alpha) {
  Network network = build_network(*problem.system);
  if (network.size() <= whole_step_limit)
    return std::make_unique<WholeStage>(problem, std::move(network), outputs, alpha);
  return std::make_unique<NetworkStage>(problem, std::move(network), outputs, alpha);
}

}  // namespace tellegen
