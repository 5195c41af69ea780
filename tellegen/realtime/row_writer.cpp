#include "tellegen/realtime/row_writer.h"

#include <csignal>
#include <stdexcept>

namespace tellegen {

RowWriter::RowWriter(const LastRows& rows, double period, RowSink& sink, std::chrono::milliseconds interval)
    : rows_(rows), period_(period), sink_(sink), copy_(rows.width()) {
  // Signals are the loop's: it must not sleep on where one asks it to stop.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, interval] { run(interval); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

RowWriter::~RowWriter() {
  done_ = true;
  if (thread_.joinable()) thread_.join();
}

void RowWriter::run(std::chrono::milliseconds interval) {
  while (!done_) {
    drain(rows_.published(), {});
    std::this_thread::sleep_for(interval);
  }
}

void RowWriter::finish(std::optional<double> last_time) {
  done_ = true;
  if (thread_.joinable()) thread_.join();
  drain(rows_.count(), last_time);
}

void RowWriter::drain(std::int64_t end, std::optional<double> last_time) {
  if (!failure_.empty() || next_ >= end) return;
  try {
    while (next_ < end) {
      if (const std::int64_t safe = rows_.safe_first(); next_ < safe) {
        lost_ += safe - next_;
        next_ = safe;
        continue;
      }
      const auto row = rows_.row(next_);
      copy_.assign(row.begin(), row.end());
      const bool last = last_time && next_ + 1 == end;
      sink_.row(last ? *last_time : period_ * static_cast<double>(next_), copy_);
      ++next_;
    }
    sink_.flush();
  } catch (const std::runtime_error& error) {
    failure_ = error.what();
  }
}

}  // namespace tellegen
