// The rows of a paced run go to a file while it runs: a thread of its own takes what the loop has published
// and hands it on, a few times a second. The loop waits for nobody; what is killed leaves what it had.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tellegen/realtime/realtime.h"

namespace tellegen {

// Where rows go. Called by one thread at a time; what cannot be written is a std::runtime_error.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void row(double time, std::span<const double> values) = 0;
  virtual void flush() = 0;  // until here it must survive the end of the process
};

class RowWriter {
 public:
  // Begins at once; before the thread that runs the loop gets its rights, which it would inherit.
  RowWriter(const LastRows& rows, double period, RowSink& sink,
            std::chrono::milliseconds interval = std::chrono::milliseconds(50));
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // All that is left; the last row has this time where the run ended between two periods.
  void finish(std::optional<double> last_time);
  std::int64_t lost() const { return lost_; }              // rows overwritten before they could be written
  const std::string& failure() const { return failure_; }  // of the sink; after it nothing was written

 private:
  void run(std::chrono::milliseconds interval);
  void drain(std::int64_t end, std::optional<double> last_time);

  const LastRows& rows_;
  double period_;
  RowSink& sink_;
  std::int64_t next_ = 0, lost_ = 0;
  std::string failure_;
  std::vector<double> copy_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace tellegen
