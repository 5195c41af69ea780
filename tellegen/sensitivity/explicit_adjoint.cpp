#include "tellegen/sensitivity/explicit_adjoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tellegen/equations/number_use.h"
#include "tellegen/model/parameter_inputs.h"
#include "tellegen/model/parameters.h"
#include "tellegen/program/rk4_reverse.h"
#include "tellegen/sensitivity/extremes.h"
#include "tellegen/sensitivity/interruption.h"
#include "tellegen/sensitivity/jump_watch.h"
#include "tellegen/simulate/denormals.h"
#include "tellegen/simulate/parameter_problem.h"
#include "tellegen/simulate/rk4_program.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/simulate/source_jumps.h"
#include "tellegen/simulate/start_derivatives.h"

namespace tellegen {
namespace {

// What this way cannot do.
struct Unsuitable {
  std::string why;
};

std::string why_unsuitable(const Model& model, const RunRequest& request) {
  for (const Component& c : model.components)
    for (const KindDiscrete& d : model.kinds[c.kind].discrete)
      if (d.update != d.held) return fmt::format("discrete variables of '{}' change", c.name);
  if (!request.trajectories.empty()) return "derivatives over time are asked for";
  if (request.simulation.slow_steps > 1) return "it has slow states";
  if (request.simulation.iterations > 0) return "its iterations are counted, not to a tolerance";
  if (model.simulation.stop_formula &&
      !ParameterSlopes(model, request.wrt).of(model.simulation.stop_formula).empty())
    return "the end of the run moves with a parameter";
  return {};
}

class ExplicitAdjoint {
 public:
  ExplicitAdjoint(const Model& model, const RunRequest& request, double kept_bytes)
      : request_(request),
        kept_bytes_(kept_bytes),
        parameters_(request.wrt.size()),
        system_(build_system(model)),
        problem_(prepare_problem(system_, request.simulation, {})),
        changed_(model),
        names_(names(model, request.wrt)),
        replaced_(replace_parameters(changed_, inputs(changed_, names_))),
        changed_system_(changed_system()),
        full_(changed_problem()),
        minimal_(full_),
        built_(explicit_program(minimal_)),
        loop_(built_.program),
        reverse_(built_.program, parameter_registers()),
        width_(static_cast<std::int64_t>(reverse_.width())),
        steps_(sample_count(full_) * full_.stride) {
    built_.program.program = {};
    refuse_jumps_within_steps();
    if (request.simulation.compile) {
      loop_.compile_for(steps_to_come(full_));
      // Four places a step, once for each observed value.
      reverse_.compile_for(4.0 * static_cast<double>(request.observed.size()) * steps_to_come(full_));
    }
    begin();
  }

  RunDerivatives run() {
    RunDerivatives result;
    result.method = "adjoint of rk4";
    Tableau tableau(system_);
    tableau.hold(problem_.initial.held);
    const StartDerivatives start(tableau, problem_.storage, problem_.initial, request_.wrt);
    if (!start.good())
      throw SimulationError("the start cannot be differentiated: its equations are singular", 0.0);
    const FlushDenormals flush;
    const auto began = std::chrono::steady_clock::now();
    if (!forward(result)) return result;
    result.loop_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    for (std::size_t k = 0; k < request_.observed.size(); ++k) {
      const auto back = std::chrono::steady_clock::now();
      std::vector<double> gradient = backward(static_cast<int>(k));
      result.loop_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - back).count();
      through_start(start, gradient);
      result.gradient.insert(result.gradient.end(), gradient.begin(), gradient.end());
    }
    result.values = best_;
    result.end_time = full_.step * static_cast<double>(steps_);
    result.end_time_gradient.assign(parameters_, 0.0);
    for (std::int64_t s = 1; s <= sample_count(full_); ++s)
      result.t.push_back(full_.step * static_cast<double>(s * full_.stride));
    result.method = fmt::format("adjoint of {} steps of rk4, {}, {} checkpoints", steps_,
                                loop_.compiled() && reverse_.compiled() ? "compiled" : "interpreted",
                                checkpoints_.size());
    for (const std::string& choice : JumpWatch(system_, request_.wrt).names())
      result.warnings.push_back(fmt::format(
          "where {} switches, derivatives of method 'rk4' leave out that parameters move the time of "
          "it; method adaptive has it",
          choice));
    return result;
  }

 private:
  // The run can go on from here.
  struct RunCheckpoint {
    Rk4Control control;
    std::vector<double> registers, place;  // the last place is the first of what follows
  };

  static std::vector<std::string> names(const Model& model, std::span<const int> wrt) {
    std::vector<std::string> names;
    for (int p : wrt) names.push_back(model.parameters[p].name);
    return names;
  }

  static ExprMap<Expr> inputs(Model& model, const std::vector<std::string>& names) {
    ExprMap<Expr> replaced = add_parameter_inputs(model, names);
    if (replaced.size() != names.size()) throw Unsuitable{"a parameter has the name of an input"};
    return replaced;
  }

  EquationSystem changed_system() {
    for (const std::string& name : names_) make_external(changed_, name);
    EquationSystem system = build_system(changed_);
    // Where a parameter could not be replaced (in a table, say) its derivative would be missing.
    for (const auto& left : group_slopes(system, request_.wrt))
      for (const GroupSlope& number : left)
        if (stands_in_equations(system, number))
          throw Unsuitable{"a parameter stands where it cannot be an input"};
    return system;
  }

  Problem changed_problem() {
    SimulationOptions options = request_.simulation;
    options.restarts = false;
    options.balance = Balance::off;
    options.recorded.clear();
    options.external = names_;
    std::vector<OutputColumn> observed;
    for (const Observed& o : request_.observed)
      observed.push_back({"", "", substitute(expand_names(changed_, o.value), replaced_)});
    Problem problem = problem_without_start(changed_system_, options, observed);
    start_like(problem, system_, problem_.initial);
    return problem;
  }

  static MinimalRk4 explicit_program(const MinimalProblem& minimal) {
    if (minimal.form.states.empty()) throw Unsuitable{"it has no states"};
    auto built = make_rk4_program(minimal, false);
    if (!built) throw Unsuitable{"its equations have no explicit form"};
    built->program.records = true;
    return std::move(*built);
  }

  std::vector<std::int32_t> parameter_registers() const {
    std::vector<std::int32_t> registers;
    for (std::int32_t input : full_.external) registers.push_back(built_.held[input]);
    return registers;
  }

  void refuse_jumps_within_steps() const {
    SourceJumps jumps(changed_system_, full_.step, full_.options.stop);
    for (; jumps.next() < full_.options.stop; jumps.pass()) {
      const double steps = jumps.next() / full_.step;
      if (std::abs(steps - std::round(steps)) > TELLEGEN_LEAST_PART && jumps.jumps())
        throw Unsuitable{fmt::format("a source jumps within a step, at t = {:.9g} s", jumps.next())};
    }
  }

  void begin() {
    for (double* r : {loop_.registers(), reverse_.registers()}) {
      built_.begin(minimal_, r);
      for (std::size_t k = 0; k < built_.held.size(); ++k) r[built_.held[k]] = full_.initial.held[k];
    }
    loop_.prepare();
    reverse_.prepare();
    const std::vector<double>& x = minimal_.problem.initial.x;
    const std::vector<double> states(x.begin(), x.begin() + static_cast<long>(minimal_.form.states.size()));
    // The form is another one than that of the model itself: does it start with the same slopes?
    std::vector<double> slopes(states.size());
    if (!loop_.slopes(1e-9 * full_.step, states.data(), slopes.data()))
      throw Unsuitable{"its explicit form does not start"};
    double largest = 0.0;
    for (double rate : minimal_.problem.initial.rates) largest = std::max(largest, std::abs(rate));
    for (std::size_t i = 0; i < states.size(); ++i) {
      const double rate = minimal_.problem.initial.rates[i];
      if (!(std::abs(slopes[i] - rate) <=
            1e-5 * std::max(std::abs(slopes[i]), std::abs(rate)) + 1e-9 * largest))
        throw Unsuitable{"its explicit form starts with other slopes"};
    }
    built_.begin(minimal_, loop_.registers());
    loop_.start(states);
    loop_.prepare();
    control_.step = full_.step;
  }

  double* place(std::int64_t index) { return places_.data() + index * width_; }

  // The places of the steps from a checkpoint on.
  bool record(std::size_t segment) {
    const RunCheckpoint& from = checkpoints_[segment];
    const std::int64_t first = static_cast<std::int64_t>(segment) * segment_,
                       count = std::min(segment_, steps_ - first);
    loop_.register_file() = from.registers;
    control_ = from.control;
    control_.steps = count;
    control_.rows = places_.data();
    if (segment > 0) control_.rows = std::copy(from.place.begin(), from.place.end(), control_.rows);
    recorded_ = segment;
    return loop_.run(control_);
  }

  bool forward(RunDerivatives& result) {
    const double bytes = 4.0 * static_cast<double>(width_) * sizeof(double);
    segment_ = std::min(steps_, static_cast<std::int64_t>(std::max(
                                    std::ceil(std::sqrt(static_cast<double>(steps_))), kept_bytes_ / bytes)));
    places_.resize(static_cast<std::size_t>((4 * segment_ + 1) * width_));
    best_.assign(request_.observed.size(), 0.0);
    best_step_.assign(request_.observed.size(), -1);
    const bool extremes = std::any_of(request_.observed.begin(), request_.observed.end(), is_extreme);
    checkpoints_.push_back({control_, loop_.register_file(), {}});
    for (std::int64_t first = 0; first < steps_; first += segment_) {
      InterruptionWatch::ask();
      const auto segment = static_cast<std::size_t>(first / segment_);
      const std::int64_t count = std::min(segment_, steps_ - first);
      const bool converged = record(segment);
      const double t = control_.step * static_cast<double>(control_.index);
      if (!converged) {
        result.failure = fmt::format("Newton's iteration did not converge at t = {:.9g} s", t);
        return false;
      }
      const double* last = place(4 * count);
      if (!std::all_of(last, last + width_, [](double v) { return std::isfinite(v); })) {
        result.failure = fmt::format(
            "states are not finite before t = {:.9g} s; rk4 is explicit, the step is too long for the "
            "fastest "
            "part of the model",
            t);
        return false;
      }
      if (first == 0) look(0, place(0), extremes);
      for (std::int64_t s = first + 1; s <= first + count; ++s)
        if (s == steps_ || (extremes && s % full_.stride == 0)) look(s, place(4 * (s - first)), extremes);
      if (first + count < steps_)
        checkpoints_.push_back({control_, loop_.register_file(), {last, last + width_}});
    }
    return true;
  }

  void look(std::int64_t step, const double* at, bool extremes) {
    if (step < steps_ && !extremes) return;
    const std::span<const double> values = reverse_.observe(at, -1);
    for (std::size_t k = 0; k < best_.size(); ++k) {
      const Observed& observed = request_.observed[k];
      if (best_step_[k] < 0 ||
          (is_extreme(observed) ? is_beyond(observed, values[k], best_[k]) : step == steps_)) {
        best_[k] = values[k];
        best_step_[k] = step;
      }
    }
  }

  std::vector<double> backward(int output) {
    reverse_.begin();
    const std::int64_t from = best_step_[static_cast<std::size_t>(output)];
    bool observed = false;
    for (std::size_t segment = checkpoints_.size(); segment-- > 0;) {
      InterruptionWatch::ask();
      const std::int64_t first = static_cast<std::int64_t>(segment) * segment_;
      if (from < first || (from == first && segment > 0)) continue;
      if (recorded_ != segment) record(segment);
      const std::int64_t count = std::min(segment_, from - first);
      if (!observed) reverse_.observe(place(4 * count), output);
      observed = true;
      reverse_.steps(count, full_.step, place(4 * count));
    }
    return reverse_.by_parameters();
  }

  // States of the form, as variables of the model itself; and these by the parameters.
  void through_start(const StartDerivatives& start, std::vector<double>& gradient) const {
    const std::vector<double> weights = reverse_.by_states();
    std::vector<double> x(static_cast<std::size_t>(system_.size()), 0.0), rates(system_.rates.size(), 0.0),
        held(system_.discrete.size(), 0.0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::string name = rate_name(changed_system_, minimal_.form.state_rates[i]);
      std::int32_t k = 0;
      while (rate_name(system_, k) != name) ++k;
      const Rate& r = system_.rates[k];
      const Group& group = system_.groups[r.group];
      if (const auto c = group.plus[r.symbol][r.member]; c >= 0) x[c] += weights[i];
      if (const auto c = group.minus[r.symbol][r.member]; c >= 0) x[c] -= weights[i];
    }
    start.backward(x, rates, gradient, held);
  }

  const RunRequest& request_;
  double kept_bytes_;
  std::size_t parameters_;
  EquationSystem system_;
  Problem problem_;
  Model changed_;  // its parameters are inputs
  std::vector<std::string> names_;
  ExprMap<Expr> replaced_;
  EquationSystem changed_system_;
  Problem full_;
  MinimalProblem minimal_;
  MinimalRk4 built_;
  Rk4Loop loop_;
  Rk4Reverse reverse_;
  std::int64_t width_, steps_, segment_ = 1;
  Rk4Control control_;
  std::vector<RunCheckpoint> checkpoints_;
  std::vector<double> places_;  // of one segment
  std::size_t recorded_ = 0;    // which
  std::vector<double> best_;
  std::vector<std::int64_t> best_step_;
};

}  // namespace

std::optional<RunDerivatives> explicit_adjoint_run(const Model& model, const RunRequest& request,
                                                   std::string& why_not, double kept_bytes) {
  why_not = why_unsuitable(model, request);
  if (!why_not.empty()) return std::nullopt;
  try {
    return ExplicitAdjoint(model, request, kept_bytes).run();
  } catch (const SimulationError& error) {
    RunDerivatives failed;
    failed.method = "adjoint of rk4";
    failed.failure = error.what();
    return failed;
  } catch (const Unsuitable& unsuitable) {
    why_not = unsuitable.why;
  } catch (const ModelError& error) {
    why_not = error.faults().front().message;
  }
  return std::nullopt;
}

}  // namespace tellegen
