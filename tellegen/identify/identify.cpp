#include "tellegen/identify/identify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "tellegen/identify/hidden.h"
#include "tellegen/identify/smooth.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/time_origin.h"
#include "tellegen/records/statistics.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

constexpr double far_worse = 100.0;        // than the best: no candidate
constexpr double larger_than_noise = 1.5;  // residuals, in noise: the model does not explain them
constexpr double smallest_noise = 1e-6;    // of the largest reading: digits of a file
constexpr double far_from_start = 8.0;     // noise by which a first reading contradicts the model

class Identifier {
 public:
  Identifier(const Model& model, const Record& record, const std::vector<int>& unknowns,
             const IdentifyOptions& options)
      : model_(model), record_(record), unknowns_(unknowns), options_(options) {
    for (int u : unknowns) result_.parameters.push_back(model.unknowns[u].parameter);
    stage_.parameters = unknowns;
    options_.fit.restart = false;
    options_.fit.starts = 1;
  }

  Identification run() {
    estimate_noise();
    find_starts();
    fit();
    if (!result_.failure.empty()) return std::move(result_);
    judge_noise();
    if (options_.profile) find_profiles();
    return std::move(result_);
  }

 private:
  void estimate_noise() {
    for (std::size_t s = 0; s < record_.sensors.size(); ++s) {
      ModelOutput& sensor = model_.outputs[record_.sensors[s]];
      result_.noise_estimated.push_back(!sensor.noise);
      double largest = 0.0, found = std::numeric_limits<double>::quiet_NaN();
      const auto look = [&](const Record& record) {
        for (std::int64_t row = 0; row < record.steps; ++row)
          if (!std::isnan(record.reading(row, s)))
            largest = std::max(largest, std::abs(record.reading(row, s)));
        if (!sensor.noise && std::isnan(found)) found = noise_of_readings(record, s);
      };
      look(record_);
      for (const Record& more : options_.fit.more_records) look(more);
      least_noise_.push_back(smallest_noise * std::max(largest, 1e-300));
      if (!sensor.noise) {
        options_.fit.noise_unknown.push_back(record_.sensors[s]);
        sensor.noise = std::max(std::isnan(found) ? 0.0 : found, least_noise_.back());
      }
      result_.noise.push_back(*sensor.noise);
    }
  }

  void find_starts() {
    const auto began = std::chrono::steady_clock::now();
    std::vector<Relations> relations{derive_relations(model_, record_, result_.parameters)};
    for (const Record& more : options_.fit.more_records)
      relations.push_back(derive_relations(model_, more, result_.parameters));
    for (const Relations::Equation& e : relations.front().equations) result_.equations.push_back(e.name);
    result_.left_out = relations.front().left_out;
    std::vector<char> negative;
    for (int u : unknowns_) negative.push_back(model_.unknowns[u].lower.value_or(0.0) < 0.0);
    const std::vector<Expr> positive = kept_positive(relations.front().parameters);
    result_.search = search_relations(relations, negative, positive);
    if (result_.search.starts.empty() || !result_.search.missing.empty())
      if (auto hidden = search_hidden(model_, record_, result_.parameters, negative, positive)) {
        result_.hidden = std::move(hidden->name);
        result_.equations = std::move(hidden->equations);
        result_.left_out = std::move(hidden->left_out);
        result_.search = std::move(hidden->search);
      }
    // Bounds tell which of two that could change places is meant.
    std::stable_partition(result_.search.starts.begin(), result_.search.starts.end(),
                          [&](const RelationStart& s) {
                            for (std::size_t k = 0; k < unknowns_.size(); ++k) {
                              const ModelUnknown& u = model_.unknowns[unknowns_[k]];
                              if (s.numbers[k] < u.lower.value_or(s.numbers[k]) ||
                                  s.numbers[k] > u.upper.value_or(s.numbers[k]))
                                return false;
                            }
                            return true;
                          });
    for (Expr pole : result_.search.poles) result_.poles.push_back(to_text(pole));
    result_.search_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::vector<std::string> missing;
    for (std::size_t k = 0; k < unknowns_.size(); ++k) {
      const ModelParameter& p = model_.parameters[result_.parameters[k]];
      if (!result_.search.starts.empty() &&
          std::find(result_.search.missing.begin(), result_.search.missing.end(), p.symbol) ==
              result_.search.missing.end())
        continue;
      const std::optional<double> given = model_.unknowns[unknowns_[k]].start;
      if (!given) missing.push_back(p.name);
      if (result_.search.starts.empty())
        result_.search.starts.push_back({std::vector<double>(unknowns_.size()), 0.0});
      for (RelationStart& s : result_.search.starts) s.numbers[k] = given.value_or(p.number);
    }
    if (missing.empty()) return;
    std::vector<std::string> details;
    if (!result_.left_out.empty())
      details.push_back("not linear in what is unknown once the readings are put in: " +
                        joined(result_.left_out));
    details.push_back(
        "read more of the model's variables, or give these a start in [unknowns] and calibrate");
    throw ModelError({{model_.file.string(), 0},
                      "T650",
                      fmt::format("the equations give no start for {} from these readings", joined(missing)),
                      details});
  }

  // What components can be built of: bounds of their parameters, where these are made of several numbers that
  // are sought (L_s - L_m).
  std::vector<Expr> kept_positive(const std::vector<Expr>& sought) const {
    std::vector<Expr> result;
    const auto add = [&](Expr difference) {
      std::size_t count = 0;
      ExprMap<Expr> numbers;
      for (Expr s : symbols_of(std::span(&difference, 1))) {
        if (std::find(sought.begin(), sought.end(), s) != sought.end()) {
          ++count;
          continue;
        }
        for (const ModelParameter& p : model_.parameters)
          if (p.symbol == s) numbers[s] = model_.pool->number(p.number);  // it follows nothing that is sought
        if (!numbers.contains(s)) return;  // of inputs, time: not of numbers alone
      }
      if (count > 1) result.push_back(substitute(difference, numbers));
    };
    for (const Component& component : model_.components) {
      const Kind& kind = model_.kinds[component.kind];
      for (std::size_t p = 0; p < kind.parameters.size(); ++p) {
        const ParameterValue& value = component.values[p];
        if (!value.value || !value.constant) continue;
        const KindParameter& bounds = kind.parameters[p];
        for (const auto& low : {bounds.above, bounds.at_least})
          if (low) add(value.value - *low);
        for (const auto& high : {bounds.below, bounds.at_most})
          if (high) add(model_.pool->number(*high) - value.value);
      }
    }
    return result;
  }

  // The start as the model's numbers; false: numbers that a component cannot have.
  // What has `vanished` is sought as a number that may be zero, everything else in ratios.
  bool begin_at(Model& model, const std::vector<double>& numbers,
                const std::vector<char>& vanished = {}) const {
    std::vector<double> between = numbers;
    for (std::size_t k = 0; k < unknowns_.size(); ++k) {
      ModelUnknown& unknown = model.unknowns[unknowns_[k]];
      if (unknown.lower) between[k] = std::max(between[k], *unknown.lower);
      if (unknown.upper) between[k] = std::min(between[k], *unknown.upper);
      if (!unknown.lower && between[k] > 0.0) {  // positive, unless bounds say otherwise
        unknown.lower = 0.0;
        if (unknown.coordinate == ModelUnknown::Coordinate::automatic)
          unknown.coordinate = !vanished.empty() && vanished[k] ? ModelUnknown::Coordinate::value
                                                                : ModelUnknown::Coordinate::logarithm;
      }
      unknown.start = between[k];
    }
    try {
      set_parameters(model, result_.parameters, between);
    } catch (const ModelError&) {
      return false;
    }
    return true;
  }

  void fit() {
    std::optional<ModelError> refused;
    const double best_cost = result_.search.starts.front().cost;
    for (const RelationStart& start : result_.search.starts) {
      if (result_.fitted_costs.size() >= options_.fits || start.cost > far_worse * best_cost) break;
      Model model = model_;
      if (!begin_at(model, start.numbers)) continue;
      try {
        if (take(fit_from(model, start.numbers))) return;
      } catch (const ModelError& error) {  // numbers with which the model cannot run
        if (!refused) refused = error;
      }
    }
    if (!result_.fit.stages.empty()) return;
    result_.failure = "no parameters that the model can run with satisfy the relations between the readings";
    if (refused) result_.failure += ": " + refused->faults().front().message;
    result_.quality = std::numeric_limits<double>::infinity();
  }

  // A number that the noise drives below zero runs towards it without end in ratios: it is zero then.
  CalibrationResult fit_from(const Model& begun, const std::vector<double>& start) const {
    constexpr double nothing = 1e-3;  // of what it began with
    CalibrationResult fitted = calibrate(begun, record_, {stage_}, options_.fit);
    const StageResult& stage = fitted.stages[0];
    if (stage.starts.empty() || stage.found().path.empty()) return fitted;
    std::vector<double> numbers = stage.found().numbers;
    std::vector<char> vanished;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      vanished.push_back(numbers[k] < nothing * start[k]);
      if (vanished[k]) numbers[k] = nothing * start[k];
    }
    Model model = model_;
    if (std::find(vanished.begin(), vanished.end(), 1) == vanished.end() ||
        !begin_at(model, numbers, vanished))
      return fitted;
    return calibrate(model, record_, {stage_}, options_.fit);
  }

  // True: no other need be looked for. Where readings leave a direction open, they do so from any start.
  bool take(CalibrationResult fitted) {
    const StageResult& stage = fitted.stages[0];
    const bool last = !stage.open.empty() || (fitted.good() && fitted.consistent());
    const double cost = stage.starts.empty() ? std::numeric_limits<double>::infinity() : stage.found().cost;
    const double before = result_.fit.stages.empty() ? std::numeric_limits<double>::infinity() : lowest_;
    result_.fitted_costs.push_back(cost);
    result_.fitted_numbers.push_back(stage.starts.empty() ? std::vector<double>() : stage.found().numbers);
    if (result_.fit.stages.empty() || cost < before) {
      lowest_ = cost;
      result_.fit = std::move(fitted);
    }
    return last;
  }

  // Noise that is found from the fit takes whatever the model does not explain for noise, but for this:
  // readings jump from row to row by less.
  void judge_noise() {
    const StageResult& stage = result_.fit.stages[0];
    result_.quality = stage.failure.empty() ? stage.chi_square : std::numeric_limits<double>::infinity();
    judge_noise(record_, 0);
    for (std::size_t r = 0; r < options_.fit.more_records.size(); ++r)
      judge_noise(options_.fit.more_records[r], (r + 1) * record_.sensors.size());
  }

  // `first`: where its sensors begin in the result.
  void judge_noise(const Record& record, std::size_t first) {
    const StageResult& stage = result_.fit.stages[0];
    for (std::size_t s = 0; s < record.sensors.size() && first + s < stage.residual_rms.size(); ++s) {
      const double left = stage.residual_rms[first + s];
      if (!result_.noise_estimated[s] || !(left > 0.0)) continue;
      if (first == 0) result_.noise[s] = left;
      if (left <= least_noise_[s]) continue;  // no model is better than this
      const double jumps = noise_of_readings(record, s), ratio = left / jumps;
      if (std::isnan(jumps) || !std::isfinite(ratio)) continue;
      result_.quality = std::max(result_.quality, ratio * ratio);
      const SensorStatistics& statistics = stage.sensors[first + s];
      const bool white = std::isnan(statistics.whiteness) || statistics.whiteness > 1e-3;
      if (ratio > larger_than_noise && !white)
        result_.misfit.push_back(
            fmt::format("{}: the fit leaves {:.3g}, and readings jump from row to row by {:.3g}",
                        statistics.name, left, jumps));
    }
  }

  // Both ends by false position on the square root of what the cost has risen by: nearly a straight line.
  void find_profiles() {
    const StageResult& best = result_.fit.stages[0];
    options_.fit.noise_unknown.clear();
    for (std::size_t s = 0; s < record_.sensors.size(); ++s)
      model_.outputs[record_.sensors[s]].noise = result_.noise[s];
    for (std::size_t k = 0; k < unknowns_.size(); ++k) {
      const double deviation = best.parameters[k].deviation;
      ProfileInterval interval{result_.parameters[k], std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::quiet_NaN()};
      if (std::isfinite(deviation) && unknowns_.size() > 1) {
        interval.low = profile_end(k, -deviation);
        interval.high = profile_end(k, deviation);
      }
      result_.profile.push_back(interval);
    }
  }

  double profile_end(std::size_t k, double deviation) {
    const double wanted = std::sqrt(chi_square_quantile(0.95, 1.0));
    const double inflation = result_.fit.stages[0].inflation;
    double at = wanted;
    for (int pass = 0; pass < 4; ++pass) {
      const double risen = root_of_rise(k, at * deviation) / inflation;
      if (!std::isfinite(risen) || risen <= 0.0) return std::numeric_limits<double>::quiet_NaN();
      const double next = at * wanted / risen;
      const bool settled = std::abs(next - at) < 0.01 * at;
      at = std::clamp(next, 0.2 * at, 5.0 * at);
      if (settled) break;
    }
    return result_.fit.stages[0].parameters[k].after + at * deviation;
  }

  double root_of_rise(std::size_t k, double change) {
    const StageResult& best = result_.fit.stages[0];
    Model model = model_;
    std::vector<double> numbers = best.found().numbers;
    numbers[k] += change;
    if (!begin_at(model, numbers)) return std::numeric_limits<double>::quiet_NaN();
    CalibrationStage others = stage_;
    others.parameters.erase(others.parameters.begin() + static_cast<long>(k));
    const CalibrationResult fitted = calibrate(model, record_, {others}, options_.fit);
    const StageResult& stage = fitted.stages[0];
    if (stage.starts.empty() || !stage.found().converged) return std::numeric_limits<double>::quiet_NaN();
    return std::sqrt(std::max(0.0, 2.0 * (stage.found().cost - best.found().cost)));
  }

  Model model_;
  const Record& record_;
  std::vector<int> unknowns_;
  IdentifyOptions options_;
  CalibrationStage stage_;
  double lowest_ = 0.0;  // cost of the best fit
  std::vector<double> least_noise_;
  Identification result_;
};

}  // namespace

std::vector<std::string> contradicted_starts(const Model& model, const Record& record,
                                             const Identification& found) {
  std::vector<std::string> told;
  if (record.steps < 2) return told;
  const std::size_t width = record.sensors.size();
  Record begin = record;
  begin.start = 0.0;
  begin.steps = 2;
  begin.readings.resize(2 * width);
  begin.given.resize(2 * record.inputs.size());
  begin.arrivals.clear();
  SensorSlopes run;
  try {
    run = sensor_slopes(record.start != 0.0 ? with_time_origin(model, record.start) : model, begin,
                        found.parameters, as_the_model_says());
  } catch (const std::exception&) {  // nothing can be said of a run that cannot be made
    return told;
  }
  if (!run.failure.empty()) return told;
  for (std::size_t s = 0; s < width; ++s) {
    bool depends = false;
    for (std::size_t k = 0; k < found.parameters.size(); ++k) depends = depends || run.slope(0, s, k) != 0.0;
    const double reading = record.reading(0, s), value = run.values[s], noise = noise_of_readings(record, s);
    if (depends || std::isnan(reading) || !(std::abs(reading - value) > far_from_start * noise)) continue;
    const ModelOutput& sensor = model.outputs[record.sensors[s]];
    told.push_back(
        fmt::format("'{}' begins with {:.4g}, and the model's run with {:.4g} (SI), whatever the "
                    "parameters are",
                    sensor.name, reading, value));
  }
  return told;
}

double noise_of_readings(const Record& record, std::size_t sensor) {
  std::vector<double> readings;
  for (std::int64_t row = 0; row < record.steps; ++row) readings.push_back(record.reading(row, sensor));
  return white_noise(readings);
}

Identification identify(const Model& model, const Record& record, const std::vector<int>& unknowns,
                        const IdentifyOptions& options) {
  if (!record.clock.empty())
    throw ModelError({{model.file.string(), 0},
                      "T634",
                      "identification needs readings at equal steps",
                      {"read the record on the tick of its clock: RecordOptions::clock"}});
  return Identifier(model, record, unknowns, options).run();
}

}  // namespace tellegen
