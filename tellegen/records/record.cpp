#include "tellegen/records/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/model/reading.h"
#include "tellegen/model/time_origin.h"
#include "tellegen/records/data_file.h"
#include "tellegen/records/reading_check.h"
#include "tellegen/records/time_base.h"

namespace tellegen {
namespace {

constexpr double most_readings = 4e8;  // beyond that a step is a slip of the pen
constexpr double most_ticks = 2e6;     // steps of a record with irregular times

TimeBase time_base(const std::vector<double>& t) {
  IntervalFinder finder;
  for (std::size_t k = 0; k < t.size(); ++k)
    if (k == 0 || t[k] > t[k - 1]) finder.add(t[k]);
  TimeBase base;
  base.interval = finder.interval();
  for (std::size_t k = 1; k < t.size(); ++k) base.add(t[k - 1], t[k]);
  return base;
}

class RecordReader {
 public:
  RecordReader(const Model& model, const DataSource& source, const RecordOptions& options)
      : model_(model),
        source_(source),
        file_(source.name()),
        options_(options),
        exact_(options.resample == "exact") {}

  Record read() {
    record_.sensors = options_.sensors;
    record_.inputs = options_.inputs;
    record_.counts.resize(options_.sensors.size());
    of_.assign(options_.sensors.size(), 0);
    std::vector<DataFile::Wanted> wanted;
    for (int s : options_.sensors)
      wanted.push_back({model_.outputs[s].name, sensor_unit(model_, s), "sensor"});
    for (const std::string& name : options_.inputs) {
      wanted.push_back({name, input_unit(model_, name), "input"});
      check_interpolation(model_, name);
    }
    data_ = read_data_file(source_, wanted);
    width_ = wanted.size();
    base_ = time_base(data_.t);
    lay_steps();
    for (std::size_t s = 0; s < record_.sensors.size(); ++s) {
      drop_late(s);
      drop_impossible(s);
      used_.assign(data_.t.size(), 0);
      if (options_.resample == "linear")
        interpolate_readings(s);
      else
        place_readings(s);
      count(s);
    }
    if (!any_late_) record_.arrivals.clear();
    for (std::size_t k = 0; k < record_.inputs.size(); ++k) interpolate_input(k);
    tell_beside();
    faults_.throw_if_any();
    remark();
    record_.remarks.insert(record_.remarks.begin(), data_.remarks.begin(), data_.remarks.end());
    return std::move(record_);
  }

 private:
  void fault(std::string_view code, std::string message, std::vector<std::string> details = {},
             int line = 0) {
    faults_.add({file_, line}, code, std::move(message), std::move(details));
  }

  // The interval of the file, where its times are regular; otherwise these are the rows, or the step is the
  // tick of the clock they were written with.
  double chosen_step() {
    const double interval = base_.interval, first = data_.t.front(), span = data_.t.back() - first;
    if (!exact_ || !(interval > 0.0)) return interval;
    TickFinder ticks;
    bool regular = true;
    double last = first;
    ticks.add(first);
    for (double t : data_.t) {
      if (t <= last) continue;
      ticks.add(last = t);
      const double at = (t - first) / interval;
      regular = regular && std::abs(at - std::round(at)) <= close_enough;
    }
    if (regular) return interval;
    irregular_ = true;
    if (options_.clock && follows_any_clock(model_)) {
      lay_clock();
      return longest_prediction(interval, span);
    }
    if (ticks.tick() > 0.0 && span / ticks.tick() <= most_ticks) return ticks.tick();
    // Too fine, or no decimal: as near as so many steps allow, and how near is said.
    exact_ = false;
    double step = 1e4;
    while (span / step < 0.1 * most_ticks) step *= 0.5;
    return std::min(step, interval / 16.0);
  }

  void lay_clock() {
    own_clock_ = true;
    std::vector<double>& clock = record_.clock;
    for (double t : data_.t)
      if (t >= options_.from.value_or(t) && t <= options_.to.value_or(t)) clock.push_back(t);
    std::sort(clock.begin(), clock.end());  // late readings come later
    clock.erase(std::unique(clock.begin(), clock.end()), clock.end());
  }

  // The rows of the record: steps from the first time of the file, those within the window.
  void lay_steps() {
    const double first = data_.t.front(), last = data_.t.back();
    record_.step = options_.step > 0.0 ? options_.step : chosen_step();
    if (!(record_.step > 0.0)) {
      fault("T597", "one time only, and no step", {"give the step of the estimation"});
      faults_.throw_if_any();
    }
    const double h = record_.step;
    const double low =
        options_.from ? std::max(0.0, std::ceil((*options_.from - first) / h - close_enough)) : 0.0;
    const bool nearest = !exact_ && options_.resample != "linear";
    const double end = std::floor((last - first) / h + (nearest ? 0.5 : close_enough));
    const double high =
        options_.to ? std::min(end, std::floor((*options_.to - first) / h + close_enough)) : end;
    if (own_clock_ ? record_.clock.empty() : !(low <= high)) {
      fault("T595", "nothing of the record lies in the window",
            {fmt::format("the window goes from {} to {}",
                         options_.from ? fmt::format("{:g} s", *options_.from) : "the beginning",
                         options_.to ? fmt::format("{:g} s", *options_.to) : "the end"),
             fmt::format("the record from {:g} s to {:g} s", first, last)});
      faults_.throw_if_any();
    }
    const double rows = own_clock_ ? static_cast<double>(record_.clock.size()) : high - low + 1.0;
    if (rows * static_cast<double>(width_ + 1) > most_readings) {
      fault("T597", fmt::format("a step of {} cuts the record into {:.3g} rows", seconds_text(h), rows),
            {fmt::format("the file has a row every {}", seconds_text(base_.interval))});
      faults_.throw_if_any();
    }
    record_.start = own_clock_ ? record_.clock.front() : first + low * h;
    record_.steps = static_cast<std::int64_t>(rows);
    record_.readings.assign(record_.steps * record_.sensors.size(), no_number);
    record_.given.assign(record_.steps * record_.inputs.size(), no_number);
    if (!data_.arrival.empty()) {
      record_.arrivals.resize(record_.readings.size());
      for (std::size_t k = 0; k < record_.readings.size(); ++k)
        record_.arrivals[k] = static_cast<std::int64_t>(k / record_.sensors.size());
    }
  }

  double& value(std::size_t row, std::size_t column) { return data_.values[row * width_ + column]; }
  double steps_from_start(double t) const {
    const std::vector<double>& clock = record_.clock;
    if (clock.empty()) return (t - record_.start) / record_.step;
    if (t < clock.front()) return -1.0;
    // Between two rows: half a step behind the first of them.
    const auto after = std::lower_bound(clock.begin(), clock.end(), t);
    return static_cast<double>(after - clock.begin()) - (after == clock.end() || *after > t ? 0.5 : 0.0);
  }
  double near() const { return record_.clock.empty() ? close_enough * record_.step : 0.0; }
  bool in_window(double t) const {
    const double at = steps_from_start(t);
    return at > -0.5 && at < static_cast<double>(record_.steps) - 0.5;
  }
  // The row at which a reading is known.
  std::int64_t arrival_row(double arrival) const {
    return static_cast<std::int64_t>(std::ceil(std::min(steps_from_start(arrival), 1e15) - close_enough));
  }

  void drop_late(std::size_t s) {
    if (data_.arrival.empty()) return;
    for (std::size_t row = 0; row < data_.t.size(); ++row) {
      double& reading = value(row, s);
      if (std::isnan(reading)) continue;
      const double late = data_.arrival[row] - data_.t[row];
      if (late <= options_.late + close_enough * record_.step &&
          arrival_row(data_.arrival[row]) < record_.steps)
        continue;
      // What comes within its own step is not late.
      if (late <= close_enough * record_.step) continue;
      reading = no_number;
      if (in_window(data_.t[row])) ++record_.counts[s].too_late;
    }
  }

  // Out of what the sensor can read, or the same for too long.
  void drop_impossible(std::size_t s) {
    Record::Count& counts = record_.counts[s];
    drop_impossible_of(
        model_.outputs[record_.sensors[s]], data_.t.size(), [&](std::size_t row) { return data_.t[row]; },
        [&](std::size_t row) -> double& { return value(row, s); },
        [&](std::size_t row, ReadingVerdict verdict) {
          if (!in_window(data_.t[row])) return;
          counts.out_of_range += verdict == ReadingVerdict::out_of_range;
          counts.stuck += verdict == ReadingVerdict::stuck;
        });
  }

  void put(std::size_t s, std::int64_t row, double reading, double arrival) {
    const std::size_t at = row * record_.sensors.size() + s;
    record_.readings[at] = reading;
    if (data_.arrival.empty()) return;
    record_.arrivals[at] = std::max(row, arrival_row(arrival));
    any_late_ = any_late_ || record_.arrivals[at] > row;
  }
  double arrival(std::size_t row) const { return data_.arrival.empty() ? 0.0 : data_.arrival[row]; }

  // exact, nearest: each reading to its step.
  void place_readings(std::size_t s) {
    double nearest = 0.0;  // of what stands in the row that was last filled
    std::int64_t filled = -1;
    std::size_t from = 0;  // which row of the file it is from
    for (std::size_t row = 0; row < data_.t.size(); ++row) {
      const double at = steps_from_start(data_.t[row]);
      if (!in_window(data_.t[row])) continue;
      const double away = std::abs(at - std::round(at));
      if (exact_ && away > close_enough) {
        beside(row, away);
        continue;
      }
      moved_ = std::max(moved_, away);
      const double reading = value(row, s);
      if (std::isnan(reading)) continue;
      const auto step = static_cast<std::int64_t>(std::round(at));
      if (step == filled && nearest <= away) continue;
      put(s, step, reading, arrival(row));
      if (step == filled) used_[from] = 0;
      used_[from = row] = 1;
      filled = step;
      nearest = away;
    }
  }

  // A time beside the steps: counted once for each row, not for each sensor.
  void beside(std::size_t row, double away) {
    if (beside_ == 0) first_beside_ = row, beside_by_ = away;
    if (beside_ == 0 || row > last_beside_) ++beside_, last_beside_ = row;
  }

  void tell_beside() {
    if (beside_ == 0) return;
    fault(
        "T597", fmt::format("the time {:.10g} s lies beside the steps", data_.t[first_beside_]),
        {beside_ > 1 ? fmt::format("and so do {} more", beside_ - 1) : "",
         fmt::format("steps of {} from {:.10g} s; the next is {:.3g} of a step away",
                     seconds_text(record_.step), data_.t.front(), beside_by_),
         "leave the step away, and each reading is taken at its own time; or --resample nearest, or linear"},
        data_.lines[first_beside_]);
  }

  // linear: each step between the rows before and after it, where both were read.
  void interpolate_readings(std::size_t s) {
    std::size_t after = 0;  // the first row at or after the step
    for (std::int64_t step = 0; step < record_.steps; ++step) {
      const double t = record_.time(step), near = close_enough * record_.step;
      while (after < data_.t.size() && data_.t[after] < t - near) ++after;
      // Rows of one time are one row in parts: whichever has the reading.
      std::size_t at = after;
      while (at < data_.t.size() && data_.t[at] <= t + near && std::isnan(value(at, s))) ++at;
      if (at < data_.t.size() && data_.t[at] <= t + near) {
        put(s, step, value(at, s), arrival(at));
        used_[at] = 1;
        continue;
      }
      if (at != after || after == 0 || after == data_.t.size()) continue;
      const std::size_t p = read_at(after - 1, s, -1), n = read_at(after, s, +1);
      const double t0 = data_.t[p], t1 = data_.t[n], a = value(p, s), b = value(n, s);
      if (std::isnan(a) || std::isnan(b) || t1 - t0 > 1.5 * base_.interval) continue;
      put(s, step, a + (b - a) * ((t - t0) / (t1 - t0)), std::max(arrival(p), arrival(n)));
      used_[p] = used_[n] = 1;
    }
  }

  // Of the rows of one time, beginning with this one, the one that has the sensor's reading.
  std::size_t read_at(std::size_t row, std::size_t s, int way) {
    std::size_t at = row;
    while (at < data_.t.size() && data_.t[at] == data_.t[row] && std::isnan(value(at, s)))
      at += way;  // below zero it is beyond the end
    return at < data_.t.size() && data_.t[at] == data_.t[row] ? at : row;
  }

  void interpolate_input(std::size_t k) {
    const std::size_t column = record_.sensors.size() + k, width = record_.inputs.size();
    const bool held = is_held(model_, record_.inputs[k]);
    std::int64_t moved = 0;  // changes of a held input between two steps
    // Of two values at one time the first counts.
    const auto next = [&](std::size_t row, double after_time) {
      while (row < data_.t.size() && (std::isnan(value(row, column)) || data_.t[row] <= after_time)) ++row;
      return row;
    };
    std::size_t before = next(0, -std::numeric_limits<double>::infinity()), after = before;
    if (before == data_.t.size() ||
        data_.t[before] > record_.start + (record_.clock.empty() ? 0.5 * record_.step : 0.0)) {
      fault("T596", fmt::format("input '{}' is missing at the beginning", record_.inputs[k]),
            {before == data_.t.size() ? "its column is empty"
                                      : fmt::format("the first value stands at {:.10g} s", data_.t[before])});
      return;
    }
    for (std::int64_t step = 0; step < record_.steps; ++step) {
      const double t = record_.time(step);
      while (after < data_.t.size() && data_.t[after] <= t + near()) {
        moved +=
            step > 0 && held && value(after, column) != value(before, column) && data_.t[after] < t - near();
        before = after;
        after = next(after + 1, data_.t[after]);
      }
      double& given = record_.given[step * width + k];
      given = value(before, column);
      const double t0 = data_.t[before];
      if (!held && after < data_.t.size() && t - t0 > near())
        given += (value(after, column) - given) * ((t - t0) / (data_.t[after] - t0));
    }
    if (moved > 0)
      record_.remarks.push_back(fmt::format(
          "input '{}' is held, and {} of its changes between two steps count from the next step on",
          record_.inputs[k], moved));
  }

  void count(std::size_t s) {
    Record::Count& counts = record_.counts[s];
    for (std::size_t row = 0; row < data_.t.size(); ++row)
      if (!std::isnan(value(row, s)) && in_window(data_.t[row])) {
        ++of_[s];
        counts.displaced += !used_[row];
      }
    const std::size_t width = record_.sensors.size();
    for (std::int64_t step = 0; step < record_.steps; ++step) {
      if (std::isnan(record_.readings[step * width + s])) {
        ++counts.missing;
        continue;
      }
      ++counts.taken;
      if (!record_.arrivals.empty() && record_.arrivals[step * width + s] > step) ++counts.late;
    }
    if (counts.taken > 0 || beside_ > 0) return;
    std::vector<std::string> why;
    if (counts.out_of_range > 0)
      why.push_back(fmt::format("{} readings are out of its range", counts.out_of_range));
    if (counts.stuck > 0) why.push_back(fmt::format("{} readings are stuck", counts.stuck));
    if (counts.too_late > 0) why.push_back(fmt::format("{} readings arrive too late", counts.too_late));
    const std::string& name = model_.outputs[record_.sensors[s]].name;
    if (why.empty())
      why.push_back(options_.resample == "linear" ? "no two readings follow each other"
                                                  : "its column is empty");
    fault("T596", fmt::format("all readings of sensor '{}' are missing", name), std::move(why));
  }

  void remark() {
    std::vector<std::string>& remarks = record_.remarks;
    if (own_clock_)
      remarks.push_back(base_.irregular());
    else
      for (std::string& text : base_.remarks()) remarks.push_back(std::move(text));
    if (irregular_ && exact_ && !own_clock_)
      remarks.push_back(fmt::format("irregular times: each reading is taken at its own, on steps of {}",
                                    seconds_text(record_.step)));
    if (options_.resample != "linear" && !exact_ && moved_ > 1e-3)
      remarks.push_back(fmt::format("readings were moved to the nearest step, by up to {}",
                                    seconds_text(moved_ * record_.step)));
    for (std::size_t s = 0; s < record_.sensors.size(); ++s)
      if (const Record::Count& c = record_.counts[s]; c.displaced > 0)
        remarks.push_back(fmt::format(
            "{} of {} readings of '{}' are not used: {}{}", c.displaced, of_[s],
            model_.outputs[record_.sensors[s]].name,
            options_.resample == "linear" ? "no step lies beside them"
            : exact_                      ? "another one has the same time"
                                          : "another one lies nearer to the same step",
            exact_ ? "" : fmt::format("; a shorter step than {} uses more", seconds_text(record_.step))));
    if (options_.resample == "linear" && std::abs(record_.step - base_.interval) > 1e-6 * base_.interval)
      remarks.push_back(
          fmt::format("readings every {} were interpolated to steps of {}: their noise is no longer "
                      "independent",
                      seconds_text(base_.interval), seconds_text(record_.step)));
  }

  const Model& model_;
  const DataSource& source_;
  const std::string file_;
  const RecordOptions& options_;
  bool exact_;  // each reading at its own time
  bool irregular_ = false, own_clock_ = false;
  FaultList faults_;
  DataFile data_;
  std::size_t width_ = 0;
  TimeBase base_;
  Record record_;
  bool any_late_ = false;
  double moved_ = 0.0;       // the furthest, in steps
  std::int64_t beside_ = 0;  // rows
  std::size_t first_beside_ = 0, last_beside_ = 0;
  double beside_by_ = 0.0;
  std::vector<std::int64_t> of_;  // readings in the window, per sensor
  std::vector<char> used_;        // rows of the file, of the sensor that is being read
};

}  // namespace

std::string Record::rows_text() const {
  return clock.empty() ? fmt::format("{} rows every {:g} s", steps, step)
                       : fmt::format("{} rows at irregular times", steps);
}

RecordOptions record_options(const Model& model) {
  RecordOptions options;
  options.sensors = model.estimation.sensors;
  options.inputs = model.estimation.inputs;
  options.step = model.estimation.step.value_or(0.0);
  options.late = model.estimation.late;
  options.resample = model.estimation.resample;
  return options;
}

Record read_record(const Model& model, const DataSource& source, const RecordOptions& options) {
  return RecordReader(model, source, options).read();
}

void check_noise(const Model& model, const std::vector<int>& sensors) {
  FaultList faults;
  for (int s : sensors) {
    const ModelOutput& sensor = model.outputs[s];
    if (sensor.noise && *sensor.noise > 0.0) continue;
    const std::string unit = sensor_unit(model, s);
    faults.add(
        sensor.place, "T598",
        sensor.noise ? fmt::format("the noise of sensor '{}' is zero", sensor.name)
                     : fmt::format("sensor '{}' has no noise", sensor.name),
        {"an estimator weighs readings by their noise",
         fmt::format("write noise = \"0.5{}{}\": its standard deviation", unit.empty() ? "" : " ", unit)});
  }
  faults.throw_if_any();
}

std::string sensor_unit(const Model& model, int sensor) {
  const ModelOutput& output = model.outputs[sensor];
  if (output.unit.empty() && output.value.is_symbol())
    if (const auto ref = find_variable(model, output.value.name())) return variable_unit(model, *ref);
  return output.unit;
}

std::string input_unit(const Model& model, std::string_view name) {
  for (const ModelInput& input : model.inputs)
    if (input.name == name) return input.unit;
  for (const ModelParameter& parameter : model.parameters)
    if (parameter.name == name) return parameter.unit;
  for (const ModelOutput& output : model.outputs)
    if (output.name == name) return output.unit;
  return "";
}

void check_interpolation(const Model& model, const std::string& name) {
  for (const ModelInput& input : model.inputs)
    if (input.name == name && input.interpolation == Interpolation::cubic)
      throw ModelError({input.place,
                        "T607",
                        fmt::format("input '{}' is given by data, and is 'cubic'", name),
                        {"between rows of data an input is 'linear' or 'hold'"}});
}

bool is_held(const Model& model, std::string_view input) {
  return std::any_of(model.inputs.begin(), model.inputs.end(), [&](const ModelInput& i) {
    return i.name == input && i.interpolation == Interpolation::hold;
  });
}

Record from_zero(Record record) {
  for (double& t : record.clock) t -= record.start;
  record.start = 0.0;
  return record;
}

Record with_sensors(const Record& record, const std::vector<int>& sensors) {
  Record result = record;
  result.sensors = sensors;
  result.readings.clear();
  result.arrivals.clear();
  result.counts.assign(record.counts.empty() ? 0 : sensors.size(), {});
  std::vector<std::ptrdiff_t> from;  // -1: it has none
  for (int s : sensors) {
    const auto found = std::find(record.sensors.begin(), record.sensors.end(), s);
    from.push_back(found == record.sensors.end() ? -1 : found - record.sensors.begin());
  }
  for (std::size_t s = 0; s < result.counts.size(); ++s) {
    if (from[s] >= 0)
      result.counts[s] = record.counts[static_cast<std::size_t>(from[s])];
    else
      result.counts[s].missing = record.steps;
  }
  for (std::int64_t row = 0; row < record.steps; ++row)
    for (const std::ptrdiff_t s : from) {
      result.readings.push_back(s < 0 ? std::numeric_limits<double>::quiet_NaN()
                                      : record.reading(row, static_cast<std::size_t>(s)));
      if (!record.arrivals.empty())
        result.arrivals.push_back(
            s < 0 ? row
                  : record.arrivals[static_cast<std::size_t>(row) * record.sensors.size() +
                                    static_cast<std::size_t>(s)]);
    }
  return result;
}

}  // namespace tellegen
