#include "tellegen/service/live_twin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <istream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>
#include <utility>

#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

// Checkpoints go to the disk by a thread of their own: a period waits for a copy, not for a file. One that
// has not begun to be written is replaced by a newer one.
class Saver {
 public:
  Saver(Twin& twin, const LiveCheckpoints& checkpoints) : twin_(twin), checkpoints_(checkpoints) {
    if (twin.row() >= 0) saved_ = twin.time(twin.row());
    if (checkpoints.save) thread_ = std::thread([this] { write(); });
  }
  ~Saver() { end(); }
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Where enough time has passed.
  void look() {
    if (!checkpoints_.save || checkpoints_.every <= 0.0 || twin_.row() < 0) return;
    const double now = twin_.time(twin_.row());
    if (std::isnan(saved_)) saved_ = now;
    if (now < saved_ + checkpoints_.every * (1.0 - 1e-9)) return;
    saved_ = now;
    hand_over();
  }
  // The last one; throws what the writing threw.
  void finish() {
    if (checkpoints_.save && twin_.row() >= 0 && twin_.failure().empty()) hand_over();
    end();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void hand_over() {
    std::string bytes = twin_.checkpoint();
    const std::scoped_lock lock(mutex_);
    waiting_ = std::move(bytes);
    changed_.notify_one();
  }
  void end() {
    if (!thread_.joinable()) return;
    {
      const std::scoped_lock lock(mutex_);
      done_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }
  void write() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return done_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::string bytes = std::exchange(waiting_, {});
      lock.unlock();
      try {
        checkpoints_.save(bytes);
      } catch (...) {
        failure_ = std::current_exception();
      }
      lock.lock();
    }
  }

  Twin& twin_;
  const LiveCheckpoints& checkpoints_;
  double saved_ = std::numeric_limits<double>::quiet_NaN();
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool done_ = false;
  std::exception_ptr failure_;
};

class TwinWork : public PacedWork {
 public:
  TwinWork(Twin& twin, LiveColumns& columns, double period, Saver& saver)
      : twin_(twin),
        columns_(columns),
        saver_(saver),
        period_(period),
        start_(twin.row() < 0 ? 0.0 : twin.time(twin.row() + 1)),
        row_(columns.names_in().size(), no_number) {}

  void receive(std::span<const double> values) override {
    std::copy(values.begin(), values.end(), row_.begin());
    columns_.to_si(row_);
  }
  bool advance(std::span<double> row) override {
    time_ = start_ + period_ * static_cast<double>(k_++);
    const std::size_t sensors = columns_.sensors();
    const std::span<const double> readings(row_.data(), sensors),
        inputs(row_.data() + sensors, row_.size() - sensors);
    const bool waits =
        twin_.row() < 0 && std::any_of(inputs.begin(), inputs.end(), [](double v) { return std::isnan(v); });
    if (!waits) twin_.push(time_, readings, inputs);
    std::fill(row_.begin(), row_.end(), no_number);
    std::fill(row.begin(), row.end(), no_number);
    if (twin_.row() < 0) return true;
    columns_.row_of(twin_, cells_);
    std::copy(cells_.begin(), cells_.end(), row.begin());
    if (twin_.failure().empty()) saver_.look();
    return twin_.failure().empty();
  }
  double time() const override { return time_; }
  std::string failure() const override { return twin_.failure(); }

 private:
  Twin& twin_;
  LiveColumns& columns_;
  Saver& saver_;
  double period_, start_, time_ = 0.0;
  std::int64_t k_ = 0;
  std::vector<double> row_, cells_;
};

// Rows of a twin that was resumed do not begin at zero.
class ShiftedSink : public RowSink {
 public:
  ShiftedSink(RowSink& sink, double by) : sink_(sink), by_(by) {}
  void row(double time, std::span<const double> values) override { sink_.row(time + by_, values); }
  void flush() override { sink_.flush(); }

 private:
  RowSink& sink_;
  double by_;
};

const char* reason(Twin::Pushed pushed) {
  switch (pushed) {
    case Twin::Pushed::duplicate:
      return "its readings are known, or there are none";
    case Twin::Pushed::too_late:
      return "too late";
    case Twin::Pushed::beside:
      return "its time is on no step";
    default:
      return "";
  }
}

}  // namespace

LiveColumns::LiveColumns(const Model& model, const FollowOptions& options, const Twin& twin)
    : sensors_(options.sensors.size()), out_(model, options.sensors, twin.described()) {
  for (int s : options.sensors) {
    names_in_.push_back(model.outputs[s].name);
    units_in_.push_back(sensor_unit(model, s));
  }
  for (const std::string& input : options.inputs) {
    names_in_.push_back(input);
    units_in_.push_back(input_unit(model, input));
  }
}

void LiveColumns::to_si(std::span<double> values) const {
  for (std::size_t k = 0; k < values.size(); ++k)
    if (!units_in_[k].empty()) values[k] = units().to_si(values[k], units_in_[k]);
}

void LiveColumns::row_of(Twin& twin, std::vector<double>& out) {
  const Twin::Quantities& now = twin.quantities();
  const Innovations& innovations = twin.innovations();
  innovation_deviation_.resize(sensors_);
  for (std::size_t s = 0; s < sensors_; ++s) innovation_deviation_[s] = std::sqrt(innovations.variance[s]);
  const auto span = [](const Vector& v) { return std::span(v.data(), static_cast<std::size_t>(v.size())); };
  out_.convert({span(now.mean), span(now.deviation), {}, {}, innovations.value, innovation_deviation_}, out);
}

RealtimeReport run_live(Twin& twin, LiveColumns& columns, const LiveOptions& options, Exchange* exchange,
                        Clock& clock, const std::atomic<bool>& stop, RowSink* sink) {
  const double period = twin.time(1) - twin.time(0);
  const std::size_t width = columns.out().names().size();
  const std::size_t row_bytes = std::max<std::size_t>(1, width) * sizeof(double);
  const auto room = static_cast<std::int64_t>(
      std::max<std::size_t>(2 * LastRows::spare, options.realtime.kept_bytes / row_bytes));
  LastRows rows(width, options.periods < room ? options.periods + 1 + LastRows::spare : room);
  Saver saver(twin, options.checkpoints);
  TwinWork work(twin, columns, period, saver);
  RealtimeReport report;
  std::optional<RowWriter> writer;
  std::optional<ShiftedSink> shifted;
  if (sink)
    writer.emplace(rows, period, shifted.emplace(*sink, twin.row() < 0 ? 0.0 : twin.time(twin.row() + 1)));
  {
    const SchedulingRights rights(options.realtime.priority, options.realtime.lock_memory);
    report = run_paced(work, period, options.periods, rows, exchange, clock, stop);
  }
  if (writer) {
    writer->finish(std::nullopt);
    report.streamed = true;
    report.not_written = writer->lost();
    report.write_failure = writer->failure();
  }
  saver.finish();
  return report;
}

RealtimeReport run_lines(Twin& twin, LiveColumns& columns, const LiveCheckpoints& checkpoints,
                         std::istream& in, std::ostream& out, Clock& clock, const std::atomic<bool>& stop) {
  using nlohmann::ordered_json;
  RealtimeReport report;
  report.period = twin.time(1) - twin.time(0);
  Saver saver(twin, checkpoints);
  std::int64_t first = 0, execution = 0;
  double first_time = 0.0;
  const auto& names = columns.names_in();
  std::vector<double> values(names.size()), cells;
  std::string line;
  while (!stop && std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::int64_t begin = clock.now();
    ordered_json answer;
    double t = no_number;
    std::string problem;
    const nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
    const auto number = [&](const std::string& name) {
      const auto found = row.find(name);
      if (found == row.end() || found->is_null()) return no_number;
      if (!found->is_number()) problem = fmt::format("'{}' is not a number", name);
      return found->is_number() ? found->get<double>() : no_number;
    };
    if (!row.is_object()) {
      problem = "the line is not a JSON object";
    } else {
      t = number("t");
      for (const auto& [key, value] : row.items())
        if (key != "t" && std::find(names.begin(), names.end(), key) == names.end())
          problem = fmt::format("there is no sensor or input '{}'{}{}", key,
                                names.empty() ? "" : "; there are ", joined(names));
      for (std::size_t k = 0; k < names.size(); ++k) values[k] = number(names[k]);
      if (problem.empty() && std::isnan(t)) problem = "a row without its time 't'";
    }
    if (problem.empty()) {
      columns.to_si(values);
      const std::span<const double> all(values);
      try {
        const Twin::Pushed pushed =
            twin.push(t, all.first(columns.sensors()), all.subspan(columns.sensors()));
        answer["t"] = t;
        if (pushed == Twin::Pushed::failed && !twin.diverged()) {
          answer["failure"] = twin.failure();
        } else if (*reason(pushed)) {
          answer["not_used"] = reason(pushed);
        } else {
          columns.row_of(twin, cells);
          answer["t"] = twin.quantities().t;
          for (std::size_t k = 0; k < cells.size(); ++k)
            answer[columns.out().names()[k]] = std::isnan(cells[k]) ? ordered_json() : ordered_json(cells[k]);
          if (!twin.failure().empty()) answer["failure"] = twin.failure();
        }
      } catch (const ModelError& error) {
        problem = error.faults().front().message;
      }
    }
    if (!problem.empty()) answer = {{"error", problem}};
    out << answer.dump() << '\n' << std::flush;
    const std::int64_t end = clock.now();
    if (!std::isnan(t) && problem.empty()) {
      if (report.periods == 0) first = begin, first_time = t;
      const std::int64_t due = first + std::llround(1e9 * (t - first_time));
      report.lateness.add(begin - due);
      report.execution.add(end - begin);
      execution += end - begin;
      report.missed += end > due + std::llround(1e9 * report.period);
      ++report.periods;
    }
    if (!twin.failure().empty()) break;
    saver.look();
  }
  report.interrupted = stop;
  report.failure = twin.failure();
  report.execution_seconds = 1e-9 * static_cast<double>(execution);
  saver.finish();
  return report;
}

}  // namespace tellegen
