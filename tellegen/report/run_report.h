// What `simulate` says about a run: a table for people, JSON for machines.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/realtime/realtime.h"
#include "tellegen/report/measure_report.h"
#include "tellegen/results/compare.h"
#include "tellegen/results/trajectory.h"
#include "tellegen/simulate/second_run.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct RunReport {
  std::string model, file;
  SimulationOptions options;
  SimulationResult summary;  // names, times and values have moved on into `trajectory`
  std::string brief;
  Trajectory trajectory;
  std::vector<ColumnError> errors;   // against a reference, where one was given
  std::vector<std::string> written;  // files
  std::optional<RealtimeReport> realtime;
  std::vector<SecondRun> second_runs{};   // with --verify
  std::vector<std::string> warnings{};    // all of them
  std::vector<MeasureResult> measures{};  // of a netlist
  std::vector<FourierResult> fourier{};
  // Rows that went to the file as they were made; `trajectory` then holds the first row, the lowest and
  // highest values, and the last row.
  std::optional<std::int64_t> streamed_rows{};
};

// Final value, lowest and highest of every output, and its error; cut where there are too many for a screen.
std::string output_table(const RunReport& report);

// Which storage took in and holds how much energy, the one most in error first.
std::string share_table(const EnergyBalance& balance);

// With --verify: the second runs, and in each the outputs that differ most.
std::string second_run_table(const RunReport& report);

nlohmann::ordered_json to_json(const RunReport& report);
nlohmann::ordered_json to_json(const RealtimeReport& report);

}  // namespace tellegen
