#include "tellegen/records/sensor_slopes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tellegen/model/parameters.h"
#include "tellegen/model/time_origin.h"
#include "tellegen/sensitivity/run.h"
#include "tellegen/symbolic/table.h"

namespace tellegen {
namespace {

// Newton's, where a model is not linear: far below any noise.
constexpr double newton_tolerance = 1e-9;
// Part of noise/sqrt(rows) by which the steps may falsify a reading.
constexpr double negligible = 0.01;

constexpr double adaptive_tolerance = 1e-7;

// Held inputs that change at all.
bool has_jumps(const Model& model, const Record& record) {
  const std::size_t width = record.inputs.size();
  for (std::size_t k = 0; k < width; ++k)
    if (is_held(model, record.inputs[k]))
      for (std::size_t at = width + k; at < record.given.size(); at += width)
        if (record.given[at] != record.given[at - width]) return true;
  return false;
}

// What the record gives for one input: a number where it never changes.
Expr given_value(const Model& model, const Record& record, std::size_t input) {
  Pool& pool = *model.pool;
  std::vector<double> times, values;
  for (std::int64_t row = 0; row < record.steps; ++row) {
    times.push_back(record.time(row));
    values.push_back(record.given[row * record.inputs.size() + input]);
  }
  if (std::all_of(values.begin(), values.end(), [&](double v) { return v == values.front(); }))
    return pool.number(values.front());
  const bool held = is_held(model, record.inputs[input]);
  return pool.lookup(
      make_table(record.inputs[input], times, values, held ? Interpolation::hold : Interpolation::linear), 0,
      pool.symbol("t"));
}

// A parameter that the record gives over time is an input from now on; what follows from it, too.
class VaryingParameters {
 public:
  explicit VaryingParameters(Model& model) : model_(model) {}

  void give(int parameter, Expr value) {
    ModelParameter& p = model_.parameters[parameter];
    const Expr symbol = p.symbol;
    model_.inputs.push_back({p.name, p.unit, symbol, value, p.place});
    varying_[symbol] = value;
    p.symbol = model_.pool->symbol("constant(" + p.name + ")");  // nobody's any more
    for (std::size_t k = 0; k < model_.parameters.size(); ++k) {
      const Expr formula = model_.parameters[k].value;
      const auto used = symbols_of(std::span(&formula, 1));
      if (std::find(used.begin(), used.end(), symbol) == used.end()) continue;
      const Expr follows = substitute(formula, {{symbol, value}});
      model_.parameters[k].value = model_.pool->number(model_.parameters[k].number);
      give(static_cast<int>(k), follows);
    }
  }

  // Values of components that were constant until now. What no equation uses belongs to the start: that is
  // what the record says of t = 0.
  void mark() {
    const Expr t = model_.pool->symbol("t");
    for (Component& component : model_.components) {
      const Kind& kind = model_.kinds[component.kind];
      for (std::size_t k = 0; k < component.values.size(); ++k) {
        ParameterValue& v = component.values[k];
        if (!v.value || !v.constant || v.table) continue;
        const auto used = symbols_of(std::span(&v.value, 1));
        if (std::none_of(used.begin(), used.end(), [&](Expr s) { return varying_.contains(s); })) continue;
        if (in_equations(kind, model_.pool->symbol(kind.parameters[k].name)))
          v.constant = false;
        else
          v.value = substitute(substitute(v.value, varying_), {{t, model_.pool->number(0.0)}});
        if (v.value.is_number()) v.number = v.value.number();
      }
    }
  }

 private:
  static bool in_equations(const Kind& kind, Expr symbol) {
    return std::any_of(kind.equations.begin(), kind.equations.end(),
                       [&](const auto& equation) { return depends_on(equation.residual, symbol); });
  }

  Model& model_;
  ExprMap<Expr> varying_;
};

bool is_refused(const ModelError& error) {  // too large, not linear, sources of another form, events
  return std::all_of(error.faults().begin(), error.faults().end(), [](const Fault& f) {
    return f.code == "T215" || f.code == "T316" || f.code == "T317" || f.code == "T341";
  });
}

}  // namespace

Model with_inputs(const Model& model, const Record& record) {
  Model result = model;
  VaryingParameters varying(result);
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    const std::string& name = record.inputs[k];
    const Expr value = given_value(model, record, k);
    const auto called = [&](const auto& what) { return what.name == name; };
    if (const auto input = std::find_if(result.inputs.begin(), result.inputs.end(), called);
        input != result.inputs.end()) {
      input->value = input->bias < 0 ? value : value - result.parameters[input->bias].symbol;
      continue;
    }
    const auto parameter = std::find_if(result.parameters.begin(), result.parameters.end(), called);
    const auto index = static_cast<int>(parameter - result.parameters.begin());
    if (parameter == result.parameters.end())
      throw ModelError(
          {{model.file.string(), 0},
           "T600",
           fmt::format("the record gives '{}', which is no input or parameter of the model", name),
           {}});
    if (value.is_number())
      set_parameters(result, std::span(&index, 1), std::array{value.number()});
    else
      varying.give(index, value);
  }
  varying.mark();
  set_parameters(result, {}, {});  // evaluates anew what was marked
  return result;
}

// The record and the model; where the record has a clock of its own, both in steps of it.
struct SensorRun::Stepped {
  Stepped(const Model& given_model, const Record& given_record) : model(&given_model), record(&given_record) {
    if (!given_record.clock.empty()) follow_clock(given_record);
  }
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;

  const Model* model;
  const Record* record;
  std::vector<std::int64_t> rows;  // of the record, among the steps; empty: all

 private:
  void follow_clock(const Record& given) {
    constexpr double longest = 4.0;     // step, in usual intervals
    constexpr double most_parts = 1e6;  // of all
    const std::size_t width = given.inputs.size();
    const double each = std::max(longest * given.step, given.end() / most_parts);
    own_record_.sensors = given.sensors;
    own_record_.inputs = given.inputs;
    own_record_.step = 1.0;
    std::vector<double> times;
    const auto add = [&](double t, const double* from, const double* to, double along) {
      times.push_back(t);
      for (std::size_t k = 0; k < width; ++k) {
        const double change = along < 1.0 && is_held(*model, given.inputs[k]) ? 0.0 : to[k] - from[k];
        own_record_.given.push_back(from[k] + change * along);
      }
    };
    if (given.time(0) > 0.0) add(0.0, given.given.data(), given.given.data(), 0.0);  // a run begins at zero
    for (std::int64_t row = 0; row < given.steps; ++row) {
      const double t = given.time(row), before = times.empty() ? t : times.back();
      const double* to = given.given.data() + static_cast<std::size_t>(row) * width;
      const double* from = row == 0 ? to : to - width;
      const double parts = std::max(1.0, std::ceil((t - before) / each - 1e-9));
      for (double part = 1.0; part < parts; ++part)
        add(before + (t - before) * part / parts, from, to, part / parts);
      add(t, to, to, 1.0);
      rows.push_back(static_cast<std::int64_t>(times.size()) - 1);
    }
    own_record_.steps = static_cast<std::int64_t>(times.size());
    own_model_ = times.size() > 1 ? with_clock(*model, times) : *model;
    own_model_.simulation.step.reset();  // which is in seconds
    model = &own_model_;
    record = &own_record_;
  }
  Model own_model_;
  Record own_record_;
};

SensorRun::SensorRun(const Model& model, const Record& record, std::vector<int> parameters,
                     const SimulationOptions& integration)
    : SensorRun(Stepped(model, record), std::move(parameters), integration) {}

SensorRun::SensorRun(const Stepped& stepped, std::vector<int> parameters,
                     const SimulationOptions& integration)
    : model_(with_inputs(*stepped.model, *stepped.record)),
      sensors_(stepped.record->sensors),
      parameters_(std::move(parameters)),
      steps_(stepped.record->steps),
      rows_(stepped.rows),
      simulation_(integration) {
  const Model& model = *stepped.model;
  const Record& record = *stepped.record;
  const double before = record.start / record.step;
  first_ = std::llround(before);
  if (first_ < 0 || std::abs(before - static_cast<double>(first_)) > 1e-6)
    throw ModelError(
        {{model.file.string(), 0},
         "T600",
         fmt::format("the record begins at t = {:g} s, which is not a whole number of its steps of {:g} s "
                     "after the start of the run at t = 0",
                     record.start, record.step),
         {"shift its times, or give a step that divides them"}});
  model_.simulation.stop_formula = {};
  model_.simulation.stop_when = {};
  simulation_.stop_watch = "";
  simulation_.sample = record.step;
  simulation_.stop = record.step * static_cast<double>(std::max<std::int64_t>(1, first_ + steps_ - 1));
  if (simulation_.step == 0.0 || !rows_.empty())
    simulation_.step = model.simulation.step.value_or(record.step);
  simulation_.step = std::min(simulation_.step, record.step);
  simulation_.tolerance = std::min(simulation_.tolerance, newton_tolerance);
  // Of irregular rows a step is what the accuracy asks for, whatever the method.
  if (!simulation_.method.empty() && (rows_.empty() || simulation_.method.starts_with("adaptive"))) {
    simulation_ = complete_options(model_, simulation_);
    return;
  }
  choose_steps(record);
}

// bdf3 with the longest steps whose error is far below what the readings can tell: its derivatives cost a
// fifth of those of `exact`. Where 64 steps a row do not do, `exact`, for models that it can run.
//
// A held input jumps at rows. `exact` and rk4 take it from the left up to there and from the right from then
// on, and `adaptive` begins anew; the implicit fixed steps would be of first order.
void SensorRun::choose_steps(const Record& record) {
  SimulationOptions tried = simulation_;
  const std::string asked = std::exchange(tried.method, "exact");
  std::vector<double> noise, exact = values(tried);
  const bool jumps = !rows_.empty() || has_jumps(model_, record);  // or the length of a step does
  simulation_.method = !asked.empty() ? asked : jumps ? "rk4" : "bdf3";
  if (jumps && !exact.empty()) {
    simulation_ = complete_options(model_, tried);
    return;
  }
  for (int s : sensors_) noise.push_back(model_.outputs[s].noise.value_or(0.0));
  // Errors e of the readings move the parameters that are found by at most |e/noise| of their standard
  // deviations, in the Euclidean norm over all readings: what counts is their sum, not the largest, which
  // stands where a pulse begins.
  const auto close = [&](const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() != b.size()) return false;  // a run that failed
    const std::size_t width = noise.size();
    std::vector<double> squares(width), largest(width);
    for (std::size_t k = 0; k < a.size(); ++k) {
      const double error = a[k] - b[k];
      if (noise[k % width] == 0.0 && !(std::abs(error) <= 1e-7 * std::abs(b[k]))) return false;
      squares[k % width] += error * error;
      largest[k % width] = std::max(largest[k % width], std::abs(b[k]));
    }
    double sum = 0.0;
    bool beyond_files = true;  // of readings without noise: no file has so many digits
    for (std::size_t s = 0; s < width; ++s) {
      if (noise[s] > 0.0) sum += squares[s] / (noise[s] * noise[s]);
      const double rms = std::sqrt(squares[s] * static_cast<double>(width) / static_cast<double>(a.size()));
      beyond_files = beyond_files && rms <= 1e-8 * largest[s];
    }
    return sum <= negligible * negligible || beyond_files;  // false where it is not a number
  };
  tried = simulation_;
  std::vector<double> now = values(tried);
  bool converged = false;
  for (int halved = 0; halved < 7 && !now.empty(); ++halved) {
    simulation_.step = tried.step;
    tried.step *= 0.5;
    std::vector<double> finer;
    if (exact.empty()) finer = values(tried);
    if (close(now, exact.empty() ? finer : exact)) {
      converged = true;
      break;
    }
    if (halved == 0 && exact.empty() && reduce(close, now, finer)) return;
    if (halved == 6 && !exact.empty()) simulation_.method = "exact";
    now = exact.empty() ? std::move(finer) : values(tried);
  }
  if (jumps && !converged) {
    simulation_.method = "adaptive";
    simulation_.step = record.step;
    simulation_.tolerance = adaptive_tolerance;
  }
  simulation_ = complete_options(model_, simulation_);
  if (exact.empty() && converged && !now.empty()) reduce(close, now, now);
}

// Whether the model's reduced equations are used, with as many steps as they themselves ask for. Their
// readings must be those of the model itself, as far as two runs of it tell: where steps of half the length
// make a difference, the rest of it is left to the reduced equations.
bool SensorRun::reduce(const Agree& close, const std::vector<double>& coarse,
                       const std::vector<double>& fine) {
  std::vector<Expr> outputs;
  std::vector<double> numbers, before, values;
  for (int s : sensors_) outputs.push_back(model_.outputs[s].value);
  for (int p : parameters_) numbers.push_back(model_.parameters[p].number);
  for (int steps = 2; steps <= 32; steps *= 2) {
    std::unique_ptr<ReducedRun> run =
        ReducedRun::build(model_, parameters_, outputs, simulation_.sample, first_ + steps_, steps);
    if (!run) return false;
    if (steps == 2 && !run->values(numbers, true, before)) before.clear();
    if (!run->values(numbers, false, values)) {
      before.clear();
      continue;
    }
    if (!before.empty() && close(before, values)) {
      if (!close(before, fine) && !nearer(before, fine, coarse)) return false;
      run->use_coarse_steps();
      reduced_ = std::move(run);
      reduced_step_ = simulation_.sample / (steps / 2);
      return true;
    }
    before = values;
  }
  return false;
}

// Of every sensor: whether `a` is half as far from `b` as `c` is, or nearer.
bool SensorRun::nearer(const std::vector<double>& a, const std::vector<double>& b,
                       const std::vector<double>& c) const {
  if (a.size() != b.size() || b.size() != c.size()) return false;
  const std::size_t width = sensors_.size();
  for (std::size_t s = 0; s < width; ++s) {
    double one = 0.0, other = 0.0;
    for (std::size_t k = s; k < b.size(); k += width) {
      one += (a[k] - b[k]) * (a[k] - b[k]);
      other += (c[k] - b[k]) * (c[k] - b[k]);
    }
    if (!(one <= 0.25 * other)) return false;
  }
  return true;
}

// Of the sensors at all samples; empty where the method cannot run the model.
std::vector<double> SensorRun::values(const SimulationOptions& options) const {
  RunRequest request;
  request.simulation = complete_options(model_, options);
  for (int s : sensors_) request.trajectories.push_back({"", "", model_.outputs[s].value});
  try {
    const RunDerivatives run = plain_run(model_, request);
    return run.failure.empty() ? run.trajectories : std::vector<double>();
  } catch (const ModelError& error) {
    if (!is_refused(error)) throw;
    return {};
  }
}

SensorSlopes SensorRun::at(std::span<const double> numbers) {
  try {
    set_parameters(model_, parameters_, numbers);
    return run(numbers);
  } catch (const ModelError& error) {
    SensorSlopes failed;
    failed.failure = error.faults().front().message;
    return failed;
  } catch (const SimulationError& error) {
    SensorSlopes failed;
    failed.failure = error.what();
    return failed;
  }
}

RunRequest SensorRun::request() const {
  RunRequest request;
  request.simulation = simulation_;
  request.wrt = parameters_;
  for (int s : sensors_)
    request.trajectories.push_back({model_.outputs[s].name, "", model_.outputs[s].value});
  return request;
}

RunDerivatives SensorRun::derivatives(std::span<const double> numbers) {
  if (parameters_.empty()) return plain_run(model_, request());
  // Building pays from the second time on.
  if (++evaluations_ == 2 && traits_of(simulation_.method).steps == MethodTraits::Steps::fixed) {
    RunRequest restarting = request();
    restarting.simulation.restarts = true;
    restarting.simulation.compile = false;
    try {
      again_ = std::make_unique<CombinedRun>(model_, restarting);
    } catch (const ModelError& error) {
      if (!is_refused(error)) throw;
    } catch (const SimulationError&) {
    }
  }
  if (again_ && again_->restart(numbers)) {
    RunDerivatives run = again_->run();
    interpreted_seconds_ += run.loop_seconds;
    if (simulation_.compile && watch_.due(interpreted_seconds_)) again_->compile(interpreted_seconds_);
    return run;
  }
  again_.reset();
  return forward_run(model_, request());
}

SensorSlopes SensorRun::run(std::span<const double> numbers) {
  RunDerivatives run;
  if (!reduced_)
    run = derivatives(numbers);
  else if (!reduced_->run(numbers, run.trajectories, run.by_parameter))
    run.failure = "a sensor's value is not finite";
  SensorSlopes result;
  result.steps = rows_.empty() ? steps_ : static_cast<std::int64_t>(rows_.size());
  result.sensors = sensors_.size();
  result.parameters = parameters_.size();
  result.failure = run.failure;
  if (!run.failure.empty()) return result;
  const std::size_t width = result.sensors, before = static_cast<std::size_t>(first_) * width,
                    size = static_cast<std::size_t>(steps_) * width;
  const auto part = [&](const std::vector<double>& all, std::size_t each) {
    std::vector<double> chosen;
    for (std::int64_t row : rows_) {
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * width * each);
      chosen.insert(chosen.end(), at, at + static_cast<std::ptrdiff_t>(width * each));
    }
    if (!rows_.empty()) return chosen;
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(before * each);
    return std::vector<double>(from, from + static_cast<std::ptrdiff_t>(size * each));
  };
  result.values = part(run.trajectories, 1);
  result.slopes = part(run.by_parameter, result.parameters);
  if (!std::all_of(result.values.begin(), result.values.end(), [](double v) { return std::isfinite(v); }))
    result.failure = "a sensor's value is not finite";
  return result;
}

std::string SensorRun::steps_text() const {
  if (rows_.empty()) return fmt::format("{}, steps of {:g} s", method(), step());
  if (method().starts_with("adaptive")) return std::string(method());
  return fmt::format("{}, {:.0f} step{} from row to row", method(), std::ceil(1.0 / step() - 1e-9),
                     step() < 1.0 ? "s" : "");
}

SensorSlopes sensor_slopes(const Model& model, const Record& record, const std::vector<int>& parameters,
                           const SimulationOptions& integration) {
  SensorRun run(model, record, parameters, integration);
  std::vector<double> numbers;
  for (int p : parameters) numbers.push_back(model.parameters[p].number);
  return run.at(numbers);
}

}  // namespace tellegen
