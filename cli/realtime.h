// `tellegen simulate --realtime`: its options, its sockets, its signals and its report.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/realtime/realtime.h"
#include "tellegen/results/csv_stream.h"

namespace tellegen {

// The command line as it was typed.
struct RealtimeRequest {
  bool on = false, lock_memory = false;
  std::string listen, from, send, external;
  int priority = 0;
  std::optional<std::int64_t> max_miss;
};

// Returns --realtime itself, for what it excludes.
CLI::Option* add_realtime_options(CLI::App& command, RealtimeRequest& request);

// Before anything is read: addresses that are none.
void check_addresses(const RealtimeRequest& request);

// Inputs that come from outside, made so: those named, or all of the model where it listens and none is
// named.
std::vector<std::string> make_external(const RealtimeRequest& request, Model& model);

// Until the simulation's stop, SIGINT or SIGTERM. Says on standard error what it waits for. Rows go to the
// stream as they are made; it may be absent.
RealtimeRun run_in_real_time(const RealtimeRequest& request, Simulation& simulation, CsvStream* stream);

// Why the run is no success though it ended: more missed deadlines than allowed. Empty otherwise.
std::string too_many_missed(const RealtimeRequest& request, const RealtimeReport& report);

nlohmann::ordered_json to_json(const RealtimeReport& report);

}  // namespace tellegen
