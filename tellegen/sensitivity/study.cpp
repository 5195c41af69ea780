#include "tellegen/sensitivity/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tellegen/model/observers.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/sensitivity/gradient.h"
#include "tellegen/simulate/stop.h"

namespace tellegen {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// A fixed step ends where the run does: the sample interval is shortened until a whole number of them fits,
// so that what is observed at the end moves smoothly with a stop that does.
void fit_samples(SimulationOptions& options) {
  const double sample = options.sample > 0.0 ? options.sample : options.step;
  if (!std::isfinite(options.stop) || !(sample > 0.0)) return;
  options.sample = options.stop / std::max(1.0, std::ceil(options.stop / sample * (1 - 1e-9)));
}

std::string run_title(const Model& model, int run) {
  return run < 0 ? std::string("the run") : fmt::format("run '{}'", model.runs[run].name);
}

// One of the unit a parameter is given in, in SI: what "small" means where the parameter itself is 0.
double unit_size(const ModelParameter& parameter) {
  if (parameter.unit.empty()) return 1.0;
  return std::abs(units().to_si(1.0, parameter.unit) - units().to_si(0.0, parameter.unit));
}

int objective_named(const Model& model, std::string_view name) {
  for (std::size_t k = 0; k < model.objectives.size(); ++k)
    if (model.objectives[k].name == name) return static_cast<int>(k);
  return -1;
}

void add_once(std::vector<std::string>& texts, std::string text) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
}

}  // namespace

int find_objective(const Model& model, const std::string& name) {
  if (const int found = objective_named(model, name); found >= 0) return found;
  std::vector<std::string> known;
  for (const ModelObjective& o : model.objectives) known.push_back(o.name);
  FaultList faults;
  faults.add({model.file.string(), 0}, "T141", fmt::format("there is no objective '{}'", name),
             {did_you_mean(name, known),
              known.empty() ? "the model has no [objectives]" : "objectives: " + joined(known)});
  faults.throw_if_any();
  return -1;
}

Study::Study(Model model, const std::vector<std::string>& objectives,
             const std::vector<std::string>& parameters, StudyOptions options)
    : model_(std::move(model)), options_(std::move(options)), needed_(model_.objectives.size(), 0) {
  for (const std::string& name : parameters) parameters_.push_back(study_parameter(model_, name));
  for (const int p : parameters_) {
    nominal_.push_back(model_.parameters[p].number);
    scales_.push_back(unit_size(model_.parameters[p]));
  }
  for (const std::string& name : objectives) {
    objectives_.push_back(find_objective(model_, name));
    need(objectives_.back());
  }
  for (int run = -1; run < static_cast<int>(model_.runs.size()); ++run) {
    bool wanted = false;
    for (std::size_t k = 0; k < needed_.size(); ++k)
      wanted |= needed_[k] && model_.objectives[k].what != ModelObjective::What::formula &&
                model_.objectives[k].run == run;
    if (wanted) runs_.push_back(prepare(run));
  }
}

// The objective and, of a formula, all that it is made of. There are no circles: the reader looked.
void Study::need(int index) {
  if (needed_[index]) return;
  needed_[index] = 1;
  const ModelObjective& objective = model_.objectives[index];
  if (objective.what != ModelObjective::What::formula) return;
  for (Expr s : symbols_of(std::span(&objective.value, 1)))
    if (const int other = objective_named(model_, s.name()); other >= 0) need(other);
}

Study::PreparedRun Study::prepare(int run) const {
  PreparedRun prepared;
  prepared.model = model_;
  prepared.run = run;
  prepared.wrt = parameters_;
  Model& model = prepared.model;
  Pool& pool = *model.pool;
  if (run >= 0) {
    // A studied parameter that the run replaces lives on beside it, as what the model says: I = "-I".
    for (const auto& [p, value] : model_.runs[run].parameters) {
      ModelParameter outside = model.parameters[p];
      outside.name = fmt::format("model({})", outside.name);
      outside.symbol = pool.symbol(outside.name);
      model.parameters[p].value = substitute(value, {{model.parameters[p].symbol, outside.symbol}});
      const int index = static_cast<int>(model.parameters.size());
      std::replace(prepared.wrt.begin(), prepared.wrt.end(), p, index);
      model.parameters.push_back(std::move(outside));
    }
    if (const Expr stop = model_.runs[run].stop) {
      model.simulation.stop_formula = stop;
      prepared.own_stop = true;
    }
  }
  if (options_.simulation.stop > 0.0 && !prepared.own_stop) model.simulation.stop_formula = {};
  for (std::size_t k = 0; k < needed_.size(); ++k) {
    const ModelObjective& o = model_.objectives[k];
    if (!needed_[k] || o.what == ModelObjective::What::formula || o.run != run) continue;
    prepared.objectives.push_back(static_cast<int>(k));
    switch (o.what) {
      case ModelObjective::What::integral:
        prepared.observed.push_back(
            {Observed::What::end, pool.symbol(add_integral(model, o.name, o.value, o.place))});
        break;
      case ModelObjective::What::time_when:
        prepared.observed.push_back(
            {Observed::What::time_when, pool.symbol(add_watch(model, o.name, o.value, o.place))});
        break;
      case ModelObjective::What::maximum:
        prepared.observed.push_back({Observed::What::maximum, o.value});
        break;
      case ModelObjective::What::minimum:
        prepared.observed.push_back({Observed::What::minimum, o.value});
        break;
      default:
        prepared.observed.push_back({Observed::What::end, o.value});
    }
  }
  SimulationOptions watched;
  add_stop_watch(model, watched);
  prepared.stop_watch = watched.stop_watch;
  for (const Component& c : model.components) prepared.has_events |= !model.kinds[c.kind].discrete.empty();
  return prepared;
}

StudyResult Study::values(std::span<const double> numbers) { return at(numbers, false); }
StudyResult Study::evaluate(std::span<const double> numbers) { return at(numbers, true); }

StudyResult Study::at(std::span<const double> numbers, bool gradient) {
  set_parameters(model_, parameters_, numbers);
  std::vector<RunDerivatives> answers;
  for (PreparedRun& run : runs_) {
    const bool differences = options_.method == StudyOptions::Method::finite_difference;
    answers.push_back(gradient && differences ? by_differences(run, numbers)
                                              : once(run, numbers, gradient, std::nullopt));
    if (answers.back().failure.empty()) continue;
    StudyResult failed;
    failed.failure = fmt::format("{} failed: {}", run_title(model_, run.run), answers.back().failure);
    failed.values.assign(objectives_.size(), nan);
    if (gradient) failed.gradient.assign(objectives_.size() * parameters_.size(), nan);
    failed.warnings = answers.back().warnings;
    return failed;
  }
  return combine(answers, gradient);
}

RunDerivatives Study::once(PreparedRun& run, std::span<const double> numbers, bool gradient,
                           std::optional<double> held_end) {
  ++evaluations_;
  set_parameters(run.model, run.wrt, numbers);
  RunRequest request;
  SimulationOptions given = options_.simulation;
  if (run.own_stop) given.stop = 0.0;
  given.stop_watch = run.stop_watch;
  if (held_end) given.stop = *held_end, given.stop_watch.clear();
  request.simulation = complete_options(run.model, given);
  request.observed = run.observed;
  request.fixed_end_time = options_.fixed_end_time;
  SimulationOptions& simulation = request.simulation;
  if (simulation.stop_watch.empty()) fit_samples(simulation);
  if (run.has_events) simulation.event_bisections = std::max(simulation.event_bisections, event_bisections);
  if (!gradient) return plain_run(run.model, request);
  request.wrt = run.wrt;
  switch (options_.method) {
    case StudyOptions::Method::adjoint:
      return adjoint_run(run.model, request);
    case StudyOptions::Method::forward:
      return forward_run(run.model, request);
    default:
      return gradient_run(run.model, request);
  }
}

// Central differences; one-sided where the other side cannot be had.
RunDerivatives Study::by_differences(PreparedRun& run, std::span<const double> numbers) {
  RunDerivatives answer = once(run, numbers, false, std::nullopt);
  answer.method = "finite differences";
  if (!answer.failure.empty()) return answer;
  const std::size_t count = answer.values.size(), width = parameters_.size();
  answer.gradient.assign(count * width, 0.0);
  answer.end_time_gradient.assign(width, 0.0);
  const std::optional<double> held = options_.fixed_end_time ? std::optional(answer.end_time) : std::nullopt;
  std::vector<double> moved(numbers.begin(), numbers.end());
  for (std::size_t p = 0; p < width; ++p) {
    const double size = numbers[p] != 0.0 ? std::abs(numbers[p]) : scales_[p];
    const auto beside = [&](double sign) {
      moved[p] = numbers[p] + sign * options_.difference_step * size;
      RunDerivatives there;
      try {
        there = once(run, moved, false, held);
      } catch (const ModelError& error) {  // beyond a component's bound
        there.failure = error.faults().front().message;
      }
      if (!there.failure.empty()) there.values.assign(count, nan), there.end_time = nan;
      return there;
    };
    const RunDerivatives above = beside(1.0);
    const double above_at = moved[p];
    const RunDerivatives below = beside(-1.0);
    const double below_at = moved[p];
    moved[p] = numbers[p];
    const auto slope = [&](double high, double here, double low, const std::string& what) {
      const double right = (high - here) / (above_at - numbers[p]),
                   left = (here - low) / (numbers[p] - below_at);
      const std::string& name = model_.parameters[parameters_[p]].name;
      if (std::isnan(here)) return nan;
      if (std::isnan(right) || std::isnan(left)) {
        const char* where = std::isnan(right) ? (std::isnan(left) ? "on either side of" : "above") : "below";
        add_once(answer.warnings,
                 fmt::format("{} has no value {} the '{}' of the study: its derivative is {}", what, where,
                             name, std::isnan(right) && std::isnan(left) ? "not known" : "one-sided"));
        return std::isnan(right) ? left : right;
      }
      // Twice the curvature times the step where all is smooth.
      if (std::abs(right - left) * size > 0.01 * std::abs(here) &&
          std::abs(right - left) > 0.05 * std::max(std::abs(right), std::abs(left)))
        add_once(answer.warnings,
                 fmt::format("{} has a kink at '{}' as it is: its slope is {:.4g} below and {:.4g} above",
                             what, name, left, right));
      return (high - low) / (above_at - below_at);
    };
    for (std::size_t k = 0; k < count; ++k)
      answer.gradient[k * width + p] =
          slope(above.values[k], answer.values[k], below.values[k],
                fmt::format("objective '{}'", model_.objectives[run.objectives[k]].name));
    answer.end_time_gradient[p] = (above.end_time - below.end_time) / (above_at - below_at);
  }
  return answer;
}

StudyResult Study::combine(const std::vector<RunDerivatives>& answers, bool gradient) {
  StudyResult result;
  const std::size_t width = gradient ? parameters_.size() : 0;
  std::vector<std::optional<Total>> totals(model_.objectives.size());
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    for (std::size_t k = 0; k < runs_[r].objectives.size(); ++k) {
      const auto first = answers[r].gradient.begin() + static_cast<std::ptrdiff_t>(k * width);
      const int index = runs_[r].objectives[k];
      totals[index] = Total{answers[r].values[k], {first, first + static_cast<std::ptrdiff_t>(width)}};
      if (std::isnan(answers[r].values[k]))
        add_once(
            result.warnings,
            model_.objectives[index].what == ModelObjective::What::time_when
                ? fmt::format("objective '{}' has no value: its condition does not become true before the "
                              "end at t = {:.6g} s",
                              model_.objectives[index].name, answers[r].end_time)
                : fmt::format("objective '{}' is not a number", model_.objectives[index].name));
    }
    for (const std::string& w : answers[r].warnings) add_once(result.warnings, w);
    result.runs.push_back({runs_[r].run < 0 ? "" : model_.runs[runs_[r].run].name, answers[r].end_time});
    result.method = answers[r].method;
  }
  const ParameterSlopes slopes(model_, parameters_);
  ExprMap<double> numbers;
  ExprMap<int> parameter_of;
  for (std::size_t p = 0; p < model_.parameters.size(); ++p) {
    numbers[model_.parameters[p].symbol] = model_.parameters[p].number;
    parameter_of[model_.parameters[p].symbol] = static_cast<int>(p);
  }
  const std::function<const Total&(int)> total_of = [&](int index) -> const Total& {
    if (totals[index]) return *totals[index];
    const Expr value = model_.objectives[index].value;
    Total total{0.0, std::vector<double>(width, 0.0)};
    const auto symbols = symbols_of(std::span(&value, 1));
    for (Expr s : symbols)
      if (const int other = objective_named(model_, s.name()); other >= 0) numbers[s] = total_of(other).value;
    total.value = tellegen::evaluate(value, numbers);
    for (Expr s : symbols) {
      if (width == 0) break;
      const double slope = tellegen::evaluate(derivative(value, s), numbers);
      if (slope == 0.0) continue;
      if (const auto p = parameter_of.find(s); p != parameter_of.end()) {
        for (const auto& [k, inner] : slopes.of_parameter(p->second)) total.gradient[k] += slope * inner;
      } else {
        const Total& other = total_of(objective_named(model_, s.name()));
        for (std::size_t k = 0; k < width; ++k) total.gradient[k] += slope * other.gradient[k];
      }
    }
    totals[index] = std::move(total);
    return *totals[index];
  };
  for (const int index : objectives_) {
    const Total& total = total_of(index);
    result.values.push_back(total.value);
    result.gradient.insert(result.gradient.end(), total.gradient.begin(), total.gradient.end());
    if (!std::isfinite(total.value) && model_.objectives[index].what == ModelObjective::What::formula)
      add_once(result.warnings,
               fmt::format("objective '{}' is not a finite number", model_.objectives[index].name));
  }
  if (runs_.empty()) result.method = "formulas alone";
  return result;
}

}  // namespace tellegen
