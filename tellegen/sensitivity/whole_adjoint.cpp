#include "tellegen/sensitivity/whole_adjoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include "tellegen/equations/number_use.h"
#include "tellegen/model/parameters.h"
#include "tellegen/program/step_reverse.h"
#include "tellegen/sensitivity/formulas.h"
#include "tellegen/sensitivity/interruption.h"
#include "tellegen/sensitivity/jump_watch.h"
#include "tellegen/simulate/denormals.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/event_steps.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/simulate/source_jumps.h"
#include "tellegen/simulate/start_derivatives.h"
#include "tellegen/simulate/whole_step.h"

namespace tellegen {
namespace {

// Straight-line code longer than this takes a compiler longer than it saves.
constexpr std::int32_t most_instructions = 20000;
constexpr std::int64_t steps_in_one_go = 4096;  // then somebody may want to interrupt

bool is_for(const Model& model, const RunRequest& request) {
  const SimulationOptions& options = request.simulation;
  const bool ends = std::all_of(request.observed.begin(), request.observed.end(),
                                [](const Observed& o) { return o.what == Observed::What::end; });
  const bool moves = model.simulation.stop_formula &&
                     !ParameterSlopes(model, request.wrt).of(model.simulation.stop_formula).empty();
  return ends && !moves && options.stop_watch.empty() && options.iterations == 0 && !options.refactor &&
         request.trajectories.empty();
}

// Steps of one formula, forwards with their places kept, and backwards.
class Stretch {
 public:
  Stretch(const Network& network, const Problem& problem, const Scheme& scheme, std::span<const Expr> outputs,
          const StepState& state, const StepOptions& options)
      : step_(network, problem.storage, scheme, outputs, state, options, {}, true),
        reverse_(step_.program(), parameters(step_)) {
    std::copy_n(step_.loop().registers(), step_.program().program.inputs.size(), reverse_.registers());
    reverse_.prepare();
  }

  WholeStep& step() { return step_; }
  StepReverse& reverse() { return reverse_; }
  std::int32_t instructions() const { return step_.instructions(); }
  void compile_for(double executions) {
    step_.loop().compile_for(executions);
    reverse_.compile_for(executions);
  }

  bool forward(StepLoopControl& control, std::int64_t count) {
    const std::size_t width = reverse_.width();
    places_.resize(static_cast<std::size_t>(count) * width);
    for (std::int64_t done = 0; done < count; done += steps_in_one_go) {
      InterruptionWatch::ask();
      control.rows = places_.data() + static_cast<std::size_t>(done) * width;
      control.steps = std::min(steps_in_one_go, count - done);
      if (!step_.loop().run(control)) return false;
    }
    return std::all_of(places_.end() - static_cast<long>(std::min(width, places_.size())), places_.end(),
                       [](double v) { return std::isfinite(v); });
  }
  const double* last() const { return places_.data() + places_.size() - reverse_.width(); }
  bool empty() const { return places_.empty(); }

  // `observed`: weights of the outputs at the end; empty: nothing is observed there.
  void backward(std::span<const double> observed) {
    std::int64_t count = static_cast<std::int64_t>(places_.size() / reverse_.width());
    if (!observed.empty()) {
      reverse_.observed_step(last(), observed);
      --count;
    }
    for (; count > 0; count -= steps_in_one_go) {
      InterruptionWatch::ask();
      reverse_.steps(std::min(count, steps_in_one_go),
                     places_.data() + static_cast<std::size_t>(count) * reverse_.width());
    }
  }

  // Weights of a StepState, and of the numbers of components.
  void take_over(const Stretch& later) {
    const auto &to = step_.registers(), &from = later.step_.registers();
    for (int age = 0; age < 3; ++age)
      for (std::size_t k = 0; k < to.value[age].size(); ++k)
        reverse_.set_carried(to.value[age][k], later.reverse_.carried(from.value[age][k]));
    for (std::size_t k = 0; k < to.rate.size(); ++k)
      reverse_.set_carried(to.rate[k], later.reverse_.carried(from.rate[k]));
  }
  void add_gradient(const std::vector<std::vector<GroupSlope>>& slopes, std::vector<double>& gradient) {
    const std::vector<double> weights = reverse_.by_parameters();
    std::map<std::array<std::int32_t, 3>, double> of_number;
    std::size_t k = 0;
    for (const WholeStep::Number& n : step_.numbers())
      if (n.input >= 0) of_number[{n.group, n.parameter, n.member}] = weights[k++];
    for (std::size_t p = 0; p < slopes.size(); ++p)
      for (const GroupSlope& s : slopes[p]) gradient[p] += s.slope * of_number[{s.group, s.slot, s.member}];
  }

 private:
  static std::vector<std::int32_t> parameters(const WholeStep& step) {
    std::vector<std::int32_t> list;
    for (const WholeStep::Number& n : step.numbers())
      if (n.input >= 0) list.push_back(n.input);
    return list;
  }

  WholeStep step_;
  StepReverse reverse_;
  std::vector<double> places_;
};

class WholeAdjoint {
 public:
  WholeAdjoint(const Model& model, const RunRequest& request)
      : request_(request),
        system_(build_system(model)),
        problem_(prepare_problem(system_, request.simulation, {})),
        plan_(plan_method(problem_.options, problem_.step)),
        network_(build_network(system_)),
        slopes_(group_slopes(system_, request.wrt)),
        steps_(sample_count(problem_) * problem_.stride) {
    std::vector<ColumnValue> formulas;
    for (const Observed& o : request.observed)
      formulas.push_back(column_value(system_, o.value, request.wrt));
    observed_ = std::make_unique<DifferentiatedFormulas>(system_, formulas);
  }

  bool suits(double kept_bytes) {
    if (network_.size() > whole_step_limit || steps_ < 1) return false;
    if (!Schedule(system_, problem_.step).empty() ||
        !SourceJumps(system_, problem_.step, problem_.options.stop).empty() ||
        JumpWatch(system_, request_.wrt).looks())
      return false;
    // A number that is zero is structure, and has no derivatives in the program.
    for (const auto& of_parameter : slopes_)
      for (const GroupSlope& s : of_parameter)
        if (system_.groups[s.group].values[s.slot][s.member] == 0.0 && stands_in_equations(system_, s))
          return false;
    make_stretches();
    if (!follows_by_itself()) return false;
    const double numbers = static_cast<double>(steps_) * static_cast<double>(main_->reverse().width());
    return main_->instructions() <= most_instructions && 8.0 * numbers <= kept_bytes;
  }

  RunDerivatives run() {
    RunDerivatives result;
    Tableau tableau(system_);
    tableau.hold(problem_.initial.held);
    const StartDerivatives start(tableau, problem_.storage, problem_.initial, request_.wrt);
    if (!start.good())
      throw SimulationError("the start cannot be differentiated: its equations are singular", 0.0);
    const FlushDenormals flush;
    const auto began = std::chrono::steady_clock::now();
    if (!forward(result)) return result;
    for (std::int64_t s = 1; s <= sample_count(problem_); ++s)
      result.t.push_back(problem_.step * static_cast<double>(s * problem_.stride));
    result.end_time = result.t.back();
    result.end_time_gradient.assign(request_.wrt.size(), 0.0);

    Stretch& last = main_->empty() ? *starting_ : *main_;
    std::vector<double> x(static_cast<std::size_t>(system_.size()), 0.0);
    const std::span<const double> columns = last.reverse().outputs(last.last());
    for (std::size_t c = 0; c < columns.size(); ++c) x[observed_->columns()[c]] = columns[c];
    observed_->evaluate(x, result.end_time);
    result.values.assign(observed_->values().begin(), observed_->values().end());
    for (std::size_t k = 0; k < request_.observed.size(); ++k) {
      const std::vector<double> gradient = backward(static_cast<int>(k), start);
      result.gradient.insert(result.gradient.end(), gradient.begin(), gradient.end());
    }
    result.loop_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const bool compiled = last.step().loop().compiled() && last.reverse().compiled();
    result.method = fmt::format("adjoint of {} steps of {}, {}", steps_, request_.simulation.method,
                                compiled ? "compiled" : "interpreted");
    return result;
  }

 private:
  // Rates of redundant storage that are projected follow numbers of the elimination, which are no symbols in
  // the program. Parallel capacitors are one variable there.
  bool follows_by_itself() const {
    if (!plan_.project) return true;
    const std::vector<std::int32_t>& values = main_->step().registers().value[0];
    return std::all_of(
        problem_.storage.redundant.begin(), problem_.storage.redundant.end(), [&](const RedundantRate& r) {
          return std::find(values.begin(), values.end(), values[r.rate]) != values.begin() + r.rate;
        });
  }

  void make_stretches() {
    std::vector<Expr> outputs;
    for (std::int32_t c : observed_->columns()) outputs.push_back(column_symbol(system_, c));
    state_ = start_state(network_, problem_.initial);
    StepOptions options;
    options.step = problem_.step;
    options.tolerance = problem_.options.tolerance;
    options.project = plan_.project;
    if (plan_.start_steps > 0) {
      StepOptions starting = options;
      starting.keep_all_past = true;
      starting_ = std::make_unique<Stretch>(network_, problem_, trapezoidal(problem_.step), outputs, state_,
                                            starting);
    }
    main_ = std::make_unique<Stretch>(network_, problem_, plan_.scheme, outputs, state_, options);
    if (problem_.options.compile) main_->compile_for(steps_to_come(problem_));
  }

  bool forward(RunDerivatives& result) {
    StepLoopControl control;
    control.step = problem_.step;
    const std::int64_t starting = starting_ ? std::min<std::int64_t>(plan_.start_steps, steps_) : 0;
    bool good = !starting_ || starting_->forward(control, starting);
    if (good && starting_) {
      starting_->step().store(state_);
      main_->step().load(state_);
      control.renew = 1;
    }
    if (good && starting < steps_) good = main_->forward(control, steps_ - starting);
    if (!good)
      result.failure = fmt::format("Newton's iteration did not converge in the step to t = {:.9g} s",
                                   control.step * static_cast<double>(control.index + 1));
    return good;
  }

  std::vector<double> backward(int observed, const StartDerivatives& start) {
    std::vector<double> weights(observed_->columns().size(), 0.0), gradient(request_.wrt.size(), 0.0);
    for (const auto& s : observed_->by_column())
      if (s.formula == observed)
        weights[static_cast<std::size_t>(
            std::find(observed_->columns().begin(), observed_->columns().end(), s.of) -
            observed_->columns().begin())] += s.value;
    for (const auto& s : observed_->by_parameter())
      if (s.formula == observed) gradient[s.of] += s.value;
    Stretch* first = main_.get();
    main_->reverse().begin();
    if (!main_->empty()) {
      main_->backward(weights);
      main_->add_gradient(slopes_, gradient);
    }
    if (starting_) {
      first = starting_.get();
      starting_->reverse().begin();
      starting_->take_over(*main_);
      starting_->backward(main_->empty() ? std::span<const double>(weights) : std::span<const double>());
      starting_->add_gradient(slopes_, gradient);
    }
    // What the first step began with. Variables between the same columns are one, and counted once.
    std::vector<double> x(static_cast<std::size_t>(system_.size()), 0.0), rates(system_.rates.size(), 0.0),
        held(system_.discrete.size(), 0.0);
    const auto& registers = first->step().registers();
    for (std::size_t k = 0; k < rates.size(); ++k) {
      const auto before = registers.value[0].begin() + static_cast<long>(k);
      if (std::find(registers.value[0].begin(), before, *before) != before) continue;
      const Rate& r = system_.rates[k];
      const Group& group = system_.groups[r.group];
      double total = 0.0;
      for (int age = 0; age < 3; ++age) total += first->reverse().carried(registers.value[age][k]);
      if (const auto c = group.plus[r.symbol][r.member]; c >= 0) x[c] += total;
      if (const auto c = group.minus[r.symbol][r.member]; c >= 0) x[c] -= total;
      rates[k] = first->reverse().carried(registers.rate[k]);
    }
    start.backward(x, rates, gradient, held);
    return gradient;
  }

  const RunRequest& request_;
  EquationSystem system_;
  Problem problem_;
  MethodPlan plan_;
  Network network_;
  std::vector<std::vector<GroupSlope>> slopes_;
  std::int64_t steps_;
  std::unique_ptr<DifferentiatedFormulas> observed_;
  StepState state_;
  std::unique_ptr<Stretch> starting_, main_;
};

}  // namespace

std::optional<RunDerivatives> whole_adjoint_run(const Model& model, const RunRequest& request,
                                                double kept_bytes) {
  if (!is_for(model, request)) return std::nullopt;
  WholeAdjoint adjoint(model, request);
  if (!adjoint.suits(kept_bytes)) return std::nullopt;
  return adjoint.run();
}

}  // namespace tellegen
