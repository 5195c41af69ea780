#include "tellegen/sweep/runner.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tellegen/equations/system.h"
#include "tellegen/model/units.h"
#include "tellegen/sensitivity/interruption.h"

namespace tellegen {
namespace {

// Only the last row is asked for. A run of fixed steps writes no more than so many, where the steps stay the
// same to the last bit; not one alone, so that a long run can still be interrupted.
constexpr int most_rows = 20;

void write_few_rows(SimulationOptions& options) {
  if (traits_of(options.method).steps != MethodTraits::Steps::fixed || options.slow_steps > 1 ||
      !options.stop_watch.empty() || !std::isfinite(options.stop))
    return;
  const auto steps_in = [&](double sample) { return std::ceil(sample / options.step * (1 - 1e-9)); };
  const auto rows_of = [&](double sample) { return std::floor(options.stop / sample * (1 + 1e-9)); };
  const double sample = options.sample > 0.0 ? options.sample : options.step;
  const double step = sample / steps_in(sample), steps = rows_of(sample) * steps_in(sample);
  for (int rows = most_rows; rows > 0 && rows < rows_of(sample); --rows) {
    const double longer = step * (steps / rows);
    if (std::fmod(steps, rows) != 0.0 || rows_of(longer) != rows || longer / steps_in(longer) != step ||
        rows * steps_in(longer) != steps)
      continue;
    options.sample = longer;
    return;
  }
}

}  // namespace

SampleRunner::SampleRunner(Model model, std::vector<int> parameters, SimulationOptions options,
                           std::vector<OutputColumn> outputs)
    : model_(std::move(model)),
      parameters_(std::move(parameters)),
      setter_(model_, parameters_),
      compile_(options.compile) {
  options.restarts = true;
  options.compile = false;
  // Exact at any step, and only the end is asked for: one will do.
  if (traits_of(options.method).steps == MethodTraits::Steps::samples && !model_.simulation.stop_formula &&
      options.stop_watch.empty())
    options.sample = options.stop;
  if (!model_.simulation.stop_formula) write_few_rows(options);
  ask_for(std::move(outputs));
  simulation_.emplace(model_, options, columns_);
  probe();
  if (!model_.simulation.stop_formula) lanes_ = lanes_of(*simulation_);
  together_ = lanes_ && lanes_->pays_at_once();
}

void SampleRunner::ask_for(std::vector<OutputColumn> outputs) {
  const Expr time = model_.pool->symbol("t");
  const auto is_parameter = [&](Expr symbol) {
    return std::any_of(model_.parameters.begin(), model_.parameters.end(),
                       [&](const ModelParameter& p) { return p.symbol == symbol; });
  };
  for (OutputColumn& output : outputs) {
    const Expr formula = expand_names(model_, output.value);
    const std::vector<Expr> symbols = symbols_of(std::span(&formula, 1));
    if (std::none_of(symbols.begin(), symbols.end(), is_parameter)) {
      asked_.push_back({columns_.size()});
      columns_.push_back(std::move(output));
      continue;
    }
    asked_.push_back({0, formula, output.unit});
    for (const Expr symbol : symbols)
      if (!is_parameter(symbol) && !(symbol == time) &&
          std::none_of(columns_.begin(), columns_.end(),
                       [&](const OutputColumn& c) { return c.unit.empty() && c.value == symbol; }))
        columns_.push_back({symbol.name(), "", symbol});
  }
  if (columns_.empty() && !asked_.empty()) columns_.push_back({"t", "", time});  // formulas of numbers only
}

// All numbers a little different: what cannot do with that cannot do with any.
void SampleRunner::probe() {
  std::vector<double> nominal, beside;
  for (const int p : parameters_) nominal.push_back(model_.parameters[p].number);
  bool fits = false;
  for (const double factor : {1 - 1e-7, 1 + 1e-7}) {  // one side may be beyond a bound
    beside.clear();
    for (const double number : nominal) beside.push_back(number == 0.0 ? factor - 1 : number * factor);
    try {
      setter_.set(beside);
    } catch (const ModelError&) {
      continue;
    }
    fits = simulation_->restart(simulation_->problem().options.stop);
    break;
  }
  if (!fits) throw NeedsOtherEquations{};
}

std::optional<std::vector<double>> SampleRunner::final_values(std::span<const double> numbers) {
  setter_.set(numbers);
  const double stop =
      model_.simulation.stop_formula ? *model_.simulation.stop : simulation_->problem().options.stop;
  if (!simulation_->restart(stop)) return std::nullopt;
  const SimulationResult result =
      simulation_->run(long_ ? Progress([](double) { InterruptionWatch::ask(); }) : Progress());
  long_ = result.loop_seconds > InterruptionWatch::worth_asking;
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  interpreted_seconds_ += result.loop_seconds;
  if (compile_ && watch_.due(interpreted_seconds_)) {
    // Side by side, unless that was offered already and nobody made use of it.
    together_ = lanes_ && (ran_together_ || !std::exchange(offered_, true));
    if (!together_ || ran_together_) simulation_->integrator().compile(interpreted_seconds_);
  }
  return asked_values(
      std::span(result.values.end() - static_cast<std::ptrdiff_t>(result.names.size()), result.values.end()),
      result.t.back());
}

bool SampleRunner::has_formulas() const {
  return std::any_of(asked_.begin(), asked_.end(),
                     [](const Asked& asked) { return static_cast<bool>(asked.formula); });
}

std::vector<double> SampleRunner::asked_values(std::span<const double> end, double t) const {
  if (asked_.empty()) return std::vector<double>(end.begin(), end.end());
  std::vector<double> values;
  ExprMap<double> known;
  for (const Asked& asked : asked_) {
    if (!asked.formula) {
      values.push_back(end[asked.column]);
      continue;
    }
    if (known.empty()) {
      known[model_.pool->symbol("t")] = t;
      for (const ModelParameter& p : model_.parameters) known[p.symbol] = p.number;
      for (std::size_t c = 0; c < columns_.size(); ++c)
        if (columns_[c].unit.empty() && columns_[c].value.is_symbol()) known[columns_[c].value] = end[c];
    }
    const double value = evaluate(asked.formula, known);
    values.push_back(asked.unit.empty() ? value : units().from_si(value, asked.unit));
  }
  return values;
}

// Once, from a run that is ready to begin.
void SampleRunner::write_start(std::span<const std::vector<double>> numbers) {
  looked_for_start_ = true;
  const double stop = simulation_->problem().options.stop;
  for (const std::vector<double>& some : numbers) {
    try {
      setter_.set(some);
      if (!simulation_->restart(stop)) return;
    } catch (const std::exception&) {  // the next may fit
      continue;
    }
    RowList list;
    inputs_.clear();
    for (std::size_t p = 0; p < parameters_.size(); ++p) inputs_.push_back(list.input());
    const NumberRows rows = setter_.write(list, inputs_);
    const std::optional<StartRows> start = simulation_->write_start(list, rows);
    if (start && list.possible() && lanes_->write(list, *simulation_, *start)) start_ = std::move(list);
    return;
  }
}

// Which samples the lanes have taken, in their order. Those left out say alone what is wrong with them.
std::vector<std::size_t> SampleRunner::take_each(std::span<const std::vector<double>> numbers) {
  std::vector<std::size_t> of_lane;
  for (std::size_t k = 0; k < numbers.size() && usable_; ++k) {
    try {
      setter_.set(numbers[k]);
      usable_ = simulation_->restart(simulation_->problem().options.stop);
    } catch (const std::exception&) {
      continue;
    }
    if (!usable_) break;
    if (lanes_->take(static_cast<int>(of_lane.size()))) of_lane.push_back(k);
  }
  return of_lane;
}

std::vector<std::size_t> SampleRunner::take_together(std::span<const std::vector<double>> numbers) {
  const auto width = static_cast<std::size_t>(lanes_->lanes());
  start_->start(static_cast<int>(width));
  for (std::size_t p = 0; p < inputs_.size(); ++p)
    for (std::size_t lane = 0; lane < width; ++lane)
      start_->row(inputs_[p])[lane] = numbers[lane < numbers.size() ? lane : 0][p];
  good_.assign(width, 0);
  std::fill_n(good_.begin(), numbers.size(), 1);
  start_->run(good_);
  std::vector<std::size_t> of_lane;
  if (std::none_of(good_.begin(), good_.end(), [](char g) { return g != 0; })) return of_lane;
  lanes_->take_rows(*start_, good_);
  for (std::size_t k = 0; k < numbers.size(); ++k) of_lane.push_back(k);
  return of_lane;
}

std::vector<std::optional<std::vector<double>>> SampleRunner::final_values(
    std::span<const std::vector<double>> numbers) {
  std::vector<std::optional<std::vector<double>>> values(numbers.size());
  if (!usable_ || !lanes_) return values;
  if (!looked_for_start_) write_start(numbers);
  if (!start_ && lanes_->pays_at_once()) {  // it is starts that they share
    together_ = false;
    lanes_.reset();
    return values;
  }
  const std::vector<std::size_t> of_lane = start_ ? take_together(numbers) : take_each(numbers);
  if (of_lane.empty()) return values;
  const auto width = static_cast<std::size_t>(lanes_->lanes());
  const std::int64_t samples = sample_count(simulation_->problem());
  ends_.resize(width * columns_.size());
  good_.resize(width);
  if (!lanes_->run(samples, interpreted_seconds_, ends_, good_, [] { InterruptionWatch::ask(); })) {
    together_ = offered_ = false;  // until the watch is due again
    simulation_->integrator().compile(interpreted_seconds_);
    return values;
  }
  ran_together_ = true;
  const double t = simulation_->sample_interval() * static_cast<double>(samples);
  const bool formulas = has_formulas();
  to_units(*simulation_, ends_, width);
  std::vector<double> row(columns_.size());
  for (std::size_t lane = 0; lane < of_lane.size(); ++lane) {
    if (!good_[lane]) continue;
    for (std::size_t c = 0; c < columns_.size(); ++c) row[c] = ends_[width * c + lane];
    if (formulas) setter_.set(numbers[of_lane[lane]]);
    values[of_lane[lane]] = asked_values(row, t);
  }
  return values;
}

std::unique_ptr<SampleRunner> SampleRunners::take(
    const std::function<std::unique_ptr<SampleRunner>()>& make) {
  {
    const std::lock_guard lock(mutex_);
    if (none_) return nullptr;
    if (!free_.empty()) {
      std::unique_ptr<SampleRunner> runner = std::move(free_.back());
      free_.pop_back();
      return runner;
    }
  }
  std::unique_ptr<SampleRunner> runner = make();
  if (!runner) {
    const std::lock_guard lock(mutex_);
    none_ = true;
  }
  return runner;
}

void SampleRunners::give_back(std::unique_ptr<SampleRunner> runner) {
  const std::lock_guard lock(mutex_);
  lanes_ = std::max(lanes_.load(), runner->lanes());  // the others will follow
  free_.push_back(std::move(runner));
}

}  // namespace tellegen
