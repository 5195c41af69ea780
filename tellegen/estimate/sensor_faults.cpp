#include "tellegen/estimate/sensor_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "tellegen/estimate/filter.h"
#include "tellegen/estimate/suspicion.h"
#include "tellegen/estimate/widen.h"
#include "tellegen/model/sensor_error.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

using FaultKind = SensorFault::Kind;

constexpr std::int64_t horizon = 2000;    // rows after the alarm that a hypothesis is tested on
constexpr int most_onsets = 40;           // tried at once
constexpr int most_faults = 4;            // of one record
constexpr double least_statistic = 36.0;  // of a fault that is named: six standard deviations
constexpr double as_likely = 4.0;         // onsets of a statistic so much smaller are possible too
constexpr double nearly_as_likely = 9.0;  // and so are other faults

struct FaultHypothesis {
  int sensor = -1;  // in Record::sensors; -1: a state begins elsewhere
  FaultKind kind = FaultKind::offset;
  long state = -1;
  std::int64_t onset = 0;
  double c = 0.0, j = 0.0;
  double statistic() const { return j > 0.0 ? c * c / j : 0.0; }
  // An offset needs less of a story than a drift or a scale.
  double rank() const { return statistic() - (kind == FaultKind::offset && sensor >= 0 ? 0.0 : as_likely); }
};

// All hypotheses led along the filter's corrections.
class SignatureBank : public CorrectionListener {
 public:
  SignatureBank(const Model& model, const Record& record, std::vector<FaultHypothesis> hypotheses)
      : record_(record), hypotheses_(std::move(hypotheses)) {
    std::stable_sort(hypotheses_.begin(), hypotheses_.end(),
                     [](const auto& a, const auto& b) { return a.onset < b.onset; });
    for (int s : record.sensors) {
      const std::string unit = sensor_unit(model, s);
      zeros_.push_back(unit.empty() ? 0.0 : units().to_si(0.0, unit));
    }
  }

  void begin(const TwinModel& plant) {
    effects_ = Matrix::Zero(static_cast<long>(plant.size()), static_cast<long>(hypotheses_.size()));
    for (std::size_t k = 0; k < hypotheses_.size(); ++k)
      if (hypotheses_[k].state >= 0) effects_(hypotheses_[k].state, static_cast<long>(k)) = 1.0;
  }

  void predicted(const Matrix& transition) {
    if (active_ > 0) effects_.leftCols(active_) = (transition * effects_.leftCols(active_)).eval();
  }

  void at_row(std::int64_t row) {
    row_ = row;
    while (active_ < static_cast<long>(hypotheses_.size()) &&
           hypotheses_[static_cast<std::size_t>(active_)].onset <= row)
      ++active_;
  }

  void corrected(std::size_t sensor, const Vector& slopes, const Vector& gain, double innovation,
                 double variance) override {
    if (active_ == 0) return;
    signature_.noalias() = effects_.leftCols(active_).transpose() * slopes;
    const double reading = record_.reading(row_, sensor);
    for (long k = 0; k < active_; ++k) {
      FaultHypothesis& h = hypotheses_[static_cast<std::size_t>(k)];
      if (h.sensor == static_cast<int>(sensor)) {
        if (h.kind == FaultKind::offset)
          signature_[k] += 1.0;
        else if (h.kind == FaultKind::drift)
          signature_[k] += record_.time(row_) - record_.time(h.onset);
        else
          signature_[k] += reading - innovation - zeros_[sensor];  // of what is measured, not of what is read
      }
      h.c += signature_[k] * innovation / variance;
      h.j += signature_[k] * signature_[k] / variance;
    }
    effects_.leftCols(active_).noalias() -= gain * signature_.transpose();
  }

  const std::vector<FaultHypothesis>& hypotheses() const { return hypotheses_; }

 private:
  const Record& record_;
  std::vector<FaultHypothesis> hypotheses_;
  std::vector<double> zeros_;
  Matrix effects_;  // of a fault of size one on the error of the state
  Vector signature_;
  long active_ = 0;
  std::int64_t row_ = 0;
};

// A model, a record, what is allowed for in them, and what they come to.
struct Attempt {
  Model model;
  Record record;
  EstimateOptions options;
  std::vector<SensorFault> faults;
  Estimate estimate;
  bool consistent() const { return estimate.failure.empty() && estimate.inconsistent.empty(); }
  double badness() const {
    if (!estimate.failure.empty()) return INFINITY;
    double sum = 0.0;
    for (const InconsistentStretch& s : estimate.inconsistent)
      sum += static_cast<double>(s.last - s.first + 1) * s.ratio;
    return sum;
  }
  void run() { estimate = tellegen::estimate(model, record, options); }
};

// The statistics of hypotheses, over the record up to `end`.
std::vector<FaultHypothesis> tested(const Attempt& attempt, std::vector<FaultHypothesis> hypotheses,
                                    std::int64_t end) {
  const Record& record = attempt.record;
  const Model model = begun_with(attempt.model, record);
  TwinOptions twin;
  twin.sensors = record.sensors;
  twin.unknowns = model.estimation.unknowns;
  twin.inputs = record.inputs;
  twin.input_noise = true;
  twin.compile = attempt.options.compile;
  TwinModel plant(model, twin);
  SignatureBank bank(model, record, std::move(hypotheses));
  bank.begin(plant);
  FilterOptions options;
  options.step = record.step;
  options.euler = attempt.options.euler;
  options.generate = false;
  options.any_length = !record.clock.empty();
  options.compile = attempt.options.compile;
  options.listener = &bank;
  const auto filter = extended_filter(plant, options);
  const std::size_t sensors = record.sensors.size(), inputs = record.inputs.size();
  Innovations innovations{std::vector<double>(sensors), std::vector<double>(sensors),
                          std::vector<char>(sensors), 0.0};
  std::vector<double> rates(inputs);
  std::vector<char> held;
  for (const std::string& input : record.inputs) held.push_back(is_held(model, input));
  Matrix transition;
  for (std::int64_t row = 0; row < end; ++row) {
    const auto at = static_cast<std::size_t>(row);
    const double* given = record.given.data() + at * inputs;
    if (row > 0) {
      const double t = record.time(row - 1), length = record.length(row);
      for (std::size_t k = 0; k < inputs; ++k)
        rates[k] = held[k] ? 0.0 : (given[k] - (given - inputs)[k]) / length;
      if (record.clock.empty() ? !filter->predict(t, given - inputs, rates.data())
                               : !filter->predict_over(t, length, given - inputs, rates.data(), &transition))
        break;
      bank.predicted(record.clock.empty() ? filter->transition() : transition);
    }
    widen(plant, *filter, row, attempt.options.widenings);
    bank.at_row(row);
    if (!filter->correct(record.time(row), given, record.readings.data() + at * sensors, innovations)) break;
  }
  return bank.hypotheses();
}

const FaultHypothesis& best_of(const std::vector<FaultHypothesis>& tested) {
  return *std::max_element(tested.begin(), tested.end(),
                           [](const auto& a, const auto& b) { return a.rank() < b.rank(); });
}

struct Isolated {
  FaultHypothesis fault;
  std::int64_t earliest = 0;  // onset that is nearly as likely
  std::vector<FaultHypothesis> others;
};

std::vector<FaultHypothesis> hypotheses_at(const Attempt& attempt, const std::set<std::int64_t>& onsets,
                                           std::size_t states, bool starts) {
  std::vector<FaultHypothesis> all;
  for (std::int64_t onset : onsets)
    for (std::size_t s = 0; s < attempt.record.sensors.size(); ++s)
      for (FaultKind kind : {FaultKind::offset, FaultKind::drift, FaultKind::scale})
        all.push_back({static_cast<int>(s), kind, -1, onset});
  if (starts)
    for (std::size_t k = 0; k < states; ++k) all.push_back({-1, FaultKind::offset, static_cast<long>(k), 0});
  return all;
}

std::optional<Isolated> isolated(const Attempt& attempt, std::size_t states) {
  const InconsistentStretch& alarm = attempt.estimate.inconsistent.front();
  const std::int64_t rows = static_cast<std::int64_t>(attempt.estimate.t.size());
  const std::int64_t end = std::min(rows, alarm.first + horizon);
  // A stretch may begin before the fault: a window is inconsistent where its end is.
  const std::int64_t before = alarm.short_window ? 48 : 512;
  const std::int64_t after =
      alarm.short_window ? 64 : std::clamp<std::int64_t>(alarm.last - alarm.first, 64, 512);
  const std::int64_t low = std::max<std::int64_t>(0, alarm.first - before);
  const std::int64_t high = std::min(end - 1, alarm.first + after);
  const std::int64_t stride = std::max<std::int64_t>(1, (high - low) / most_onsets);
  std::set<std::int64_t> onsets;
  for (std::int64_t row = low; row <= high; row += stride) onsets.insert(row);
  for (std::int64_t back : {512, 1024, 2048, 4096})
    if (alarm.first > back) onsets.insert(alarm.first - back);
  const bool from_the_start = alarm.first < 512;
  if (from_the_start) onsets.insert(0);
  auto results = tested(attempt, hypotheses_at(attempt, onsets, states, from_the_start), end);
  FaultHypothesis best = best_of(results);
  if (best.sensor >= 0) {
    // The onset to the row, near the best of them.
    std::int64_t down = 0, up = end - 1;
    for (std::int64_t onset : onsets) {
      if (onset < best.onset) down = onset;
      if (onset > best.onset) {
        up = std::min(up, onset);
        break;
      }
    }
    std::set<std::int64_t> fine;
    const std::int64_t step = std::max<std::int64_t>(1, (up - down) / most_onsets);
    for (std::int64_t row = down; row <= up; row += step) fine.insert(row);
    fine.insert(best.onset);
    if (step > 1 || stride > 1) {
      const auto more = tested(attempt, hypotheses_at(attempt, fine, states, false), end);
      results.insert(results.end(), more.begin(), more.end());
      best = best_of(results);
    }
  }
  if (best.statistic() < least_statistic) return std::nullopt;
  Isolated found{best, best.onset, {}};
  std::map<std::tuple<int, int, long>, FaultHypothesis> others;
  for (const FaultHypothesis& h : results) {
    if (h.sensor == best.sensor && h.kind == best.kind && h.state == best.state) {
      if (h.statistic() >= best.statistic() - as_likely) found.earliest = std::min(found.earliest, h.onset);
      continue;
    }
    if (h.statistic() < best.statistic() - nearly_as_likely) continue;
    FaultHypothesis& other = others[{h.sensor, static_cast<int>(h.kind), h.state}];
    if (h.statistic() > other.statistic()) other = h;
  }
  for (const auto& [key, other] : others) found.others.push_back(other);
  return found;
}

std::string amount_text(const Model& model, int sensor, FaultKind kind, double size, double deviation) {
  if (kind == FaultKind::scale)
    return fmt::format("{:+.3g} % (standard deviation {:.2g} %)", 100.0 * size, 100.0 * deviation);
  const std::string unit = sensor_unit(model, sensor);
  const std::string of = kind == FaultKind::drift ? "/s" : "";
  const std::string shown = difference_unit(unit);
  return fmt::format("{:+.3g} {}{} (standard deviation {:.2g})", deviation_in_unit(size, unit), shown, of,
                     deviation_in_unit(deviation, unit));
}

constexpr const char* kind_words[] = {"an offset", "a drift", "a scale", "stuck"};

std::string sentence(const Model& model, const SensorFault& fault) {
  if (fault.kind == FaultKind::stuck) {
    const std::string unit = sensor_unit(model, fault.sensor);
    return fmt::format(
        "sensor '{}' is stuck at {:.6g} {} from t = {:.6g} s to {:.6g} s; these readings are not used",
        fault.name, unit.empty() ? fault.size : units().from_si(fault.size, unit), unit, fault.onset,
        fault.end);
  }
  std::string text = fmt::format(
      "sensor '{}' has {} of {} from t = {:.6g} s on", fault.name, kind_words[static_cast<int>(fault.kind)],
      amount_text(model, fault.sensor, fault.kind, fault.size, fault.deviation), fault.onset);
  if (fault.left_out)
    text += "; its readings are not used from then on";
  else if (!fault.observable)
    text += "; its size cannot be known from the other readings, so the sensor gives nothing from then on";
  else
    text += "; it is estimated as an unknown from then on";
  for (std::size_t k = 0; k < fault.others.size(); ++k)
    text += (k == 0 ? " (nearly as likely: " : ", ") + fault.others[k] +
            (k + 1 == fault.others.size() ? ")" : "");
  return text;
}

SensorFault described(const Attempt& attempt, const TwinModel& plant, const Isolated& found) {
  SensorFault fault;
  const FaultHypothesis& h = found.fault;
  fault.kind = h.kind;
  fault.sensor = attempt.record.sensors[static_cast<std::size_t>(h.sensor)];
  fault.name = attempt.model.outputs[fault.sensor].name;
  fault.size = h.c / h.j;
  fault.deviation = 1.0 / std::sqrt(h.j);
  fault.onset = attempt.record.time(h.onset);
  fault.end = attempt.record.time(attempt.record.steps - 1);
  fault.statistic = h.statistic();
  for (const FaultHypothesis& other : found.others)
    fault.others.push_back(
        other.sensor >= 0
            ? fmt::format(
                  "{} of '{}'", kind_words[static_cast<int>(other.kind)],
                  attempt.model.outputs[attempt.record.sensors[static_cast<std::size_t>(other.sensor)]].name)
            : fmt::format("'{}' begins elsewhere",
                          plant.states()[static_cast<std::size_t>(other.state)].name));
  return fault;
}

// The attempt with the fault as an unknown from its onset on.
Attempt allowed_for(const Attempt& attempt, const SensorFault& fault, std::int64_t earliest) {
  Attempt next{attempt.model, attempt.record, attempt.options, attempt.faults, {}};
  const SensorError kind = fault.kind == FaultKind::offset  ? SensorError::offset
                           : fault.kind == FaultKind::drift ? SensorError::drift
                                                            : SensorError::scale;
  const double widened = 10.0 * std::max(std::abs(fault.size), fault.deviation);
  const int parameter = add_sensor_error(next.model, fault.sensor, kind, attempt.record.time(earliest));
  const auto known = std::find_if(next.model.unknowns.begin(), next.model.unknowns.end(),
                                  [&](const ModelUnknown& u) { return u.parameter == parameter; });
  const auto index = static_cast<int>(known - next.model.unknowns.begin());
  if (known == next.model.unknowns.end()) {
    ModelUnknown unknown;
    unknown.parameter = parameter;
    unknown.coordinate = ModelUnknown::Coordinate::value;
    unknown.start = 0.0;
    unknown.deviation = 1e-6 * widened;  // sigma points need some spread
    unknown.place = next.model.parameters[parameter].place;
    next.model.unknowns.push_back(unknown);
  }
  auto& estimated = next.model.estimation.unknowns;
  if (std::find(estimated.begin(), estimated.end(), index) == estimated.end()) estimated.push_back(index);
  next.options.widenings.push_back({earliest, next.model.parameters[parameter].name, widened});
  next.faults.push_back(fault);
  next.run();
  return next;
}

// The attempt without the sensor from the onset on.
Attempt without(const Attempt& attempt, SensorFault fault, std::int64_t earliest) {
  Attempt next{attempt.model, attempt.record, attempt.options, attempt.faults, {}};
  const auto& sensors = attempt.record.sensors;
  const auto s =
      static_cast<std::size_t>(std::find(sensors.begin(), sensors.end(), fault.sensor) - sensors.begin());
  for (std::int64_t row = earliest; row < next.record.steps; ++row)
    next.record.readings[static_cast<std::size_t>(row) * sensors.size() + s] = std::nan("");
  fault.left_out = true;
  next.faults.push_back(fault);
  next.run();
  return next;
}

// What the last estimate says of the sizes.
void read_sizes(Attempt& attempt) {
  const Estimate& e = attempt.estimate;
  if (e.t.empty()) return;
  constexpr const char* names[] = {".bias", ".drift", ".scale"};
  for (SensorFault& fault : attempt.faults) {
    if (fault.kind == FaultKind::stuck || fault.left_out) continue;
    const std::string unknown = fault.name + names[static_cast<int>(fault.kind)];
    double widened = 0.0;
    int times = 0;
    for (const auto& w : attempt.options.widenings)
      if (w.unknown == unknown) widened = std::max(widened, w.deviation), ++times;
    for (std::size_t q = 0; q < e.quantities.size(); ++q)
      if (e.quantities[q].name == unknown && times == 1) {
        const std::size_t last = (e.t.size() - 1) * e.quantities.size() + q;
        fault.size = e.mean[last];
        fault.deviation = e.deviation[last];
        fault.observable = fault.deviation < 0.3 * widened;
      }
  }
}

// Deviations grow by the root of the ratio from where a stretch begins: a filter does not forget at its end.
// One that settles does: there it ends with the last of them.
void inflate(Estimate& e, bool settles = false) {
  if (e.inconsistent.empty()) return;
  std::int64_t end = 0;
  for (const InconsistentStretch& s : e.inconsistent) end = std::max(end, s.last);
  const std::size_t width = e.quantities.size();
  double factor = 1.0;
  std::size_t next = 0;
  for (std::size_t row = 0; row < e.t.size(); ++row) {
    for (; next < e.inconsistent.size() && e.inconsistent[next].first <= static_cast<std::int64_t>(row);
         ++next)
      factor = std::max(factor, std::sqrt(e.inconsistent[next].ratio));
    if (settles && static_cast<std::int64_t>(row) > end) break;
    if (factor > 1.0)
      for (std::size_t q = 0; q < width; ++q) e.deviation[row * width + q] *= factor;
  }
  for (std::size_t k = 0; k < e.smooth_deviation.size(); ++k)
    if (!settles || static_cast<std::int64_t>(k / width) <= end) e.smooth_deviation[k] *= factor;
  e.inflation = factor;
}

double mean_nis(const Estimate& e) {
  if (!e.failure.empty()) return INFINITY;
  double sum = 0.0, count = 0.0;
  for (std::size_t k = 0; k < e.innovation.size(); ++k) {
    const double z = e.innovation[k] / e.innovation_deviation[k];
    if (std::isnan(z)) continue;
    sum += z * z;
    count += 1.0;
  }
  return count > 0.0 ? sum / count : INFINITY;
}

// Mistakes in the columns, where much of the record is inconsistent.
std::vector<std::string> mistakes_in(const Attempt& attempt) {
  std::int64_t flagged = 0;
  for (const InconsistentStretch& s : attempt.estimate.inconsistent)
    flagged = std::max(flagged, s.last - s.first + 1);
  if (5 * flagged < attempt.record.steps) return {};
  const std::int64_t rows =
      std::min<std::int64_t>(attempt.record.steps, attempt.estimate.inconsistent.front().first + horizon);
  const Record part = first_rows(attempt.record, rows);
  EstimateOptions options = attempt.options;
  options.smooth = options.tune = false;
  const auto quality = [&](const Record& record) {
    try {
      const Estimate e = estimate(attempt.model, record, options);
      return e.inconsistent.empty() ? std::min(1.0, mean_nis(e)) : mean_nis(e);
    } catch (const ModelError&) {
      return static_cast<double>(INFINITY);
    }
  };
  std::vector<std::string> texts;
  for (const Suspicion& s : suspicions(attempt.model, part, mean_nis(attempt.estimate), quality))
    texts.push_back(s.text);
  return texts;
}

}  // namespace

std::vector<SensorFault> remove_stuck(const Model& model, Record& record) {
  constexpr double level = 1e-11;
  constexpr std::size_t fewest = 5;
  std::vector<SensorFault> found;
  const std::size_t width = record.sensors.size();
  for (std::size_t s = 0; s < width; ++s) {
    const ModelOutput& sensor = model.outputs[record.sensors[s]];
    if (sensor.stuck || !sensor.noise || !(*sensor.noise > 0.0)) continue;
    std::vector<std::int64_t> rows;
    for (std::int64_t row = 0; row < record.steps; ++row)
      if (!std::isnan(record.reading(row, s))) rows.push_back(row);
    // The steps in which it is written, and how often it repeats itself but for its longest repetition.
    double quantum = INFINITY;
    std::size_t repeats = 0, run = 0, longest = 0;
    for (std::size_t k = 1; k < rows.size(); ++k) {
      const double change = std::abs(record.reading(rows[k], s) - record.reading(rows[k - 1], s));
      if (change > 0.0) quantum = std::min(quantum, change);
      run = change > 0.0 ? 0 : run + 1;
      repeats += change == 0.0;
      longest = std::max(longest, run);
    }
    if (longest < fewest || !std::isfinite(quantum)) continue;
    const double often = static_cast<double>(repeats - longest) /
                         static_cast<double>(std::max<std::size_t>(1, rows.size() - longest));
    const double by_chance = std::max(often, std::erf(quantum / (2.0 * M_SQRT2 * *sensor.noise)));
    if (by_chance > 0.9) continue;
    const std::size_t enough = std::max(
        fewest, static_cast<std::size_t>(std::ceil(std::log(level) / std::log(std::max(1e-300, by_chance)))));
    for (std::size_t k = 1; k < rows.size();) {
      std::size_t end = k;
      const double value = record.reading(rows[k - 1], s);
      while (end < rows.size() && record.reading(rows[end], s) == value) ++end;
      if (end - k >= enough) {
        SensorFault fault;
        fault.kind = FaultKind::stuck;
        fault.sensor = record.sensors[s];
        fault.name = sensor.name;
        fault.size = value;
        fault.onset = record.time(rows[k]);
        fault.end = record.time(rows[end - 1]);
        fault.left_out = true;
        fault.text = sentence(model, fault);
        found.push_back(std::move(fault));
        // The first of them may have been read in good order; the others were not.
        for (std::size_t j = k; j < end; ++j)
          record.readings[static_cast<std::size_t>(rows[j]) * width + s] = std::nan("");
      }
      k = std::max(k + 1, end);
    }
  }
  return found;
}

namespace {

bool changes_at_events(const Model& model) {
  return std::any_of(model.components.begin(), model.components.end(),
                     [&](const Component& c) { return !model.kinds[c.kind].discrete.empty(); });
}

}  // namespace

Estimate judged_estimate(const Model& model, const Record& record, const EstimateOptions& options) {
  Attempt first{model, record, options, {}, {}};
  first.faults = remove_stuck(model, first.record);
  first.run();
  // A filter that corrects nothing is a simulation: what is wrong with it says nothing of the sensors.
  if (first.consistent() || !first.estimate.corrects) {
    first.estimate.faults = first.faults;
    return std::move(first.estimate);
  }
  // To the end of the record, whatever happens on the way.
  Attempt whole{first.model, first.record, first.options, first.faults, {}};
  whole.options.anyway = true;
  whole.options.progress = {};
  whole.record.arrivals.clear();
  const bool rerun = !first.estimate.failure.empty();
  if (rerun)
    whole.run();
  else
    whole.estimate = first.estimate;
  const std::vector<InconsistentStretch> stretches = whole.estimate.inconsistent;
  const auto given_up = [&](std::vector<std::string> said) {
    Estimate e = std::move(first.estimate);
    e.faults = first.faults;
    e.reasons = std::move(said);
    if (e.inconsistent.empty()) e.inconsistent = stretches;
    inflate(e);
    return e;
  };
  const std::string estimator = whole.estimate.estimator;
  if (!whole.estimate.failure.empty() || whole.estimate.inconsistent.empty()) return given_up({});
  std::vector<std::string> reasons = mistakes_in(whole);
  if (!reasons.empty()) return given_up(std::move(reasons));
  if (options.passes > 1 || estimator == "ekf-perfect") return given_up({});
  if (changes_at_events(model))
    return given_up(
        {"something switches at another time than in the model; faults of sensors are not looked for where "
         "it has events"});
  if (estimator == "steady") whole.options.estimator = "ekf";  // a steady gain cannot learn a new unknown

  Attempt best = std::move(whole);
  std::optional<std::pair<SensorFault, std::int64_t>> last;
  for (int round = 0; round < most_faults && !best.consistent(); ++round) {
    TwinOptions twin;
    twin.sensors = best.record.sensors;
    twin.unknowns = best.model.estimation.unknowns;
    twin.inputs = best.record.inputs;
    twin.input_noise = true;
    twin.compile = false;
    const TwinModel plant(begun_with(best.model, best.record), twin);
    const auto found = isolated(best, plant.size());
    if (!found) break;
    if (found->fault.sensor < 0) {
      const TwinState& state = plant.states()[static_cast<std::size_t>(found->fault.state)];
      // A filter on its way from a start that is far off settles: what comes after is consistent.
      std::int64_t settled = 0;
      for (const InconsistentStretch& stretch : best.estimate.inconsistent)
        settled = std::max(settled, stretch.last);
      const double away = found->fault.c / found->fault.j;
      if (best.faults.empty() && !rerun && 2 * settled < best.record.steps) {
        Estimate e = std::move(best.estimate);
        inflate(e, true);
        e.warnings.push_back(fmt::format(
            "until t = {:.6g} s the estimator settles from its start of '{}'{}; standard deviations are "
            "multiplied by up to {:.3g} there",
            best.record.time(settled), state.name,
            std::abs(away) > 3.0 * state.deviation ? ", which is further off than its deviation says" : "",
            e.inflation));
        e.inconsistent.clear();
        e.inflation = 1.0;
        return e;
      }
      reasons.push_back(fmt::format(
          "'{}' seems to begin {:.3g} away from where the estimator begins: give it a larger deviation",
          state.name, found->fault.c / found->fault.j));
      break;
    }
    const SensorFault fault = described(best, plant, *found);
    Attempt next = allowed_for(best, fault, found->earliest);
    if (!next.consistent()) {
      Attempt other = without(best, fault, found->earliest);
      if (other.consistent() || other.badness() < 0.1 * next.badness()) next = std::move(other);
    }
    if (!(next.badness() < 0.5 * best.badness())) break;
    best = std::move(next);
  }
  if (best.faults.size() == first.faults.size()) {
    if (reasons.empty())
      reasons.push_back("no fault of a single sensor, and no mistake in a column, explains it");
    return given_up(std::move(reasons));
  }
  read_sizes(best);
  for (SensorFault& fault : best.faults) fault.text = sentence(best.model, fault);
  Estimate e = std::move(best.estimate);
  e.faults = best.faults;
  e.reasons = std::move(reasons);
  inflate(e);
  return e;
}

std::vector<std::string> nothing_corrected() {
  return {
      "the filter corrects nothing: no unknown is estimated, no start of a state has a deviation and nothing "
      "is disturbed by noise; this is a simulation, whatever the sensors read",
      "name what is not known in [unknowns], or give states in [estimate]: states = { \"*\" = { deviation = "
      "1, noise = 0.1 } }"};
}

std::vector<std::string> complaints(const Estimate& e) {
  std::vector<std::string> all;
  if (!e.corrects) all = nothing_corrected();
  for (const SensorFault& fault : e.faults) all.push_back(fault.text);
  constexpr std::size_t shown = 5;
  for (std::size_t k = 0; k < e.inconsistent.size() && k < shown; ++k) {
    const InconsistentStretch& s = e.inconsistent[k];
    all.push_back(fmt::format(
        "innovations of '{}' are inconsistent from t = {:.6g} s to {:.6g} s: {:.3g} times what the filter "
        "expects",
        s.sensor, s.from, s.to, s.ratio));
  }
  if (e.inconsistent.size() > shown)
    all.push_back(fmt::format("{} more inconsistent stretches", e.inconsistent.size() - shown));
  for (const std::string& reason : e.reasons) all.push_back("likely reason: " + reason);
  if (e.inflation > 1.0)
    all.push_back(fmt::format("standard deviations are multiplied by up to {:.3g}, the root of that ratio",
                              e.inflation));
  return all;
}

}  // namespace tellegen
