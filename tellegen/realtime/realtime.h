// A simulation against the wall clock.
//
//   period k = 0, 1, ... begins at start + k h, h the sample interval:
//     inputs    everything that has come is read, the newest is in force from t = k h on
//     step      from t = k h to (k + 1) h
//     outputs   of t = (k + 1) h are sent
//
// So a row leaves as soon as it is known, up to a period before the wall clock reaches its time; what the
// other side answers within the period is in force when the clock gets there. The row of t = 0 is sent before
// the first period.
//
// Lateness is when a period's work began after it should have; execution time is the work: receive, step and
// send. A deadline is missed where the work had not ended when the next period began. The next begins at
// once then, without sleep, until the clock is caught up with: simulated time never slips, and each period
// that ended too late counts.
//
// In the loop nothing is allocated, thrown or locked; what integrators do not promise (adaptive) is theirs.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tellegen/realtime/clock.h"
#include "tellegen/realtime/duration_histogram.h"
#include "tellegen/realtime/exchange.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

// value = slope*x + offset
struct LinearUnit {
  double slope = 1.0, offset = 0.0;
  double operator()(double x) const { return slope * x + offset; }
};

// What is done in the periods: a simulation's steps, or those of a twin.
class PacedWork {
 public:
  virtual ~PacedWork() = default;
  // Values that have just come, in their units.
  virtual void receive(std::span<const double> values) = 0;
  // One period: its row, in the outputs' units. False where there is none: failure() says why, or the model
  // has ended.
  virtual bool advance(std::span<double> row) = 0;
  virtual double time() const = 0;  // of the last row
  virtual std::string failure() const = 0;
  virtual std::optional<double> ended() const { return std::nullopt; }
};

struct PacedTask {
  Integrator& integrator;
  double period = 0.0;                                              // seconds
  std::int64_t periods = std::numeric_limits<std::int64_t>::max();  // that many means: until stopped
  std::vector<LinearUnit> inputs, outputs;                          // to SI, from SI
};

// The last rows of a run, in memory that does not grow. One thread fills them; another may read those that
// are published and not soon to be overwritten.
class LastRows {
 public:
  LastRows(std::size_t width, std::int64_t rows);
  std::size_t width() const { return width_; }
  std::span<double> next();                      // in the place of the oldest, where there is no other
  void forget_last() { --count_; }               // what next() gave was not filled
  std::int64_t first() const { return first_; }  // that is kept
  std::int64_t count() const { return count_; }  // with those that are not
  std::vector<double> take();                    // those kept, oldest first

  void publish() { published_.store(count_, std::memory_order_release); }  // what next() gave is filled
  std::int64_t published() const { return published_.load(std::memory_order_acquire); }
  // The first row that stays for a while, whatever is added; and a row from there on.
  std::int64_t safe_first() const {
    return std::max<std::int64_t>(0, published() - capacity_ + std::min(spare, capacity_ / 2));
  }
  std::span<const double> row(std::int64_t k) const {
    return {values_.data() + static_cast<std::size_t>(k % capacity_) * width_, width_};
  }
  static constexpr std::int64_t spare = 256;  // rows that the loop may add while one is read

 private:
  std::size_t width_;
  std::int64_t capacity_, first_ = 0, count_ = 0;
  std::vector<double> values_;
  std::atomic<std::int64_t> published_{0};
};

class RowSink;  // row_writer.h

struct RealtimeReport {
  double period = 0.0;
  std::int64_t periods = 0, missed = 0;
  DurationHistogram lateness, execution;
  bool interrupted = false;
  double execution_seconds = 0.0;  // of all periods
  bool listened = false, sent = false;
  PacketCounts packets;
  std::string foreign_sender;    // the first whose packets were refused
  double kept_from = 0.0;        // seconds: rows before this time were not kept in memory
  bool streamed = false;         // all rows went to the sink, but for:
  std::int64_t not_written = 0;  // rows, the disk being too slow
  std::string write_failure;     // what stopped the writing; empty: nothing
  std::optional<double> ended;   // by the model's stop condition, at this time
  std::string failure;           // of the integrator
  std::string text() const;
};

// The loop; `exchange` may be absent.
RealtimeReport run_paced(PacedWork& work, double period, std::int64_t periods, LastRows& rows,
                         Exchange* exchange, Clock& clock, const std::atomic<bool>& stop);
// Of a simulation: `rows` has the row of t = 0.
RealtimeReport run_paced(PacedTask& task, LastRows& rows, Exchange* exchange, Clock& clock,
                         const std::atomic<bool>& stop);

struct RealtimeOptions {
  int priority = 0;  // of SCHED_FIFO, 1 to 99; 0: as the process is
  bool lock_memory = false;
  std::size_t kept_bytes = std::size_t{64} << 20;  // of results: the last rows, where there are more
};

struct RealtimeRun {
  SimulationResult result;
  RealtimeReport report;
};

// Until the simulation's stop, which may be infinite, or until `stop` is set.
RealtimeRun run_realtime(Simulation& simulation, const RealtimeOptions& options, Exchange* exchange,
                         Clock& clock, const std::atomic<bool>& stop, RowSink* sink = nullptr);

}  // namespace tellegen
