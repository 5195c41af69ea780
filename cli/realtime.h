// `tellegen simulate --realtime`: its options, its sockets, its signals and its report.
#pragma once

#include <signal.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/realtime/realtime.h"
#include "tellegen/realtime/row_writer.h"
#include "tellegen/results/csv_stream.h"

namespace tellegen {

// The command line as it was typed.
struct RealtimeRequest {
  bool on = false, lock_memory = false;
  std::string listen, from, send, external;
  int priority = 0;
  std::optional<std::int64_t> max_miss;
};

// Returns --realtime itself, for what it excludes. `external`: with the option to choose among inputs.
CLI::Option* add_realtime_options(CLI::App& command, RealtimeRequest& request, bool external = true);

// Before anything is read: addresses that are none.
void check_addresses(const RealtimeRequest& request);

// Inputs that come from outside, made so: those named, or all of the model where it listens and none is
// named.
std::vector<std::string> make_external(const RealtimeRequest& request, Model& model);

// Until the simulation's stop, SIGINT or SIGTERM. Says on standard error what it waits for. Rows go to the
// stream as they are made; it may be absent.
RealtimeRun run_in_real_time(const RealtimeRequest& request, Simulation& simulation, CsvStream* stream);

// The sockets that are asked for; nothing where none is.
std::unique_ptr<Exchange> open_exchange(const RealtimeRequest& request, std::size_t inputs,
                                        std::size_t outputs, bool missing = false);

// While it lives, SIGINT and SIGTERM set asked(): the first ends the run with its report, a second one ends
// the program at once.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static const std::atomic<bool>& asked();

 private:
  struct sigaction before_[2];
};

// Rows of a run to a file.
struct StreamSink : RowSink {
  explicit StreamSink(CsvStream& to) : stream(to) {}
  void row(double time, std::span<const double> values) override { stream.row(time, values); }
  void flush() override { stream.flush(); }
  CsvStream& stream;
};

// Why the run is no success though it ended: more missed deadlines than allowed. Empty otherwise.
std::string too_many_missed(const RealtimeRequest& request, const RealtimeReport& report);

}  // namespace tellegen
