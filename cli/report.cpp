#include "cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/realtime.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

struct Range {
  double final = std::numeric_limits<double>::quiet_NaN(), low = final, high = final;
};

Range range_of(const Trajectory& trajectory, std::size_t column) {
  Range range;
  for (std::size_t r = 0; r < trajectory.rows(); ++r) {
    range.final = trajectory.at(r, column) + 0.0;  // no "-0"
    range.low = std::fmin(range.low, range.final);
    range.high = std::fmax(range.high, range.final);
  }
  return range;
}

const ColumnError* error_of(const RunReport& report, const std::string& name) {
  const auto found = std::find_if(report.errors.begin(), report.errors.end(),
                                  [&](const ColumnError& e) { return e.name == name; });
  return found == report.errors.end() ? nullptr : &*found;
}

}  // namespace

std::string output_table(const RunReport& report) {
  constexpr std::size_t longest = 40;
  const Trajectory& trajectory = report.trajectory;
  TextTable table{{"output", "unit", "final", "lowest", "highest"}, {}};
  const bool compared = !report.errors.empty();
  if (compared) table.header.insert(table.header.end(), {"RMS error", "largest error", "at t [s]"});
  for (std::size_t c = 0; c < std::min(longest, trajectory.columns()); ++c) {
    const Range range = range_of(trajectory, c);
    auto& row = table.rows.emplace_back(
        std::vector<std::string>{trajectory.names[c], trajectory.units[c], brief_number(range.final, 6),
                                 brief_number(range.low, 6), brief_number(range.high, 6)});
    if (!compared) continue;
    if (const ColumnError* error = error_of(report, trajectory.names[c]))
      row.insert(row.end(), {brief_number(error->rms), brief_number(error->largest),
                             brief_number(error->largest_at, 6)});
    else
      row.insert(row.end(), {"-", "-", "-"});
  }
  std::string text = to_text(table);
  if (trajectory.columns() > longest)
    text += fmt::format("and {} more; --output writes them all\n", trajectory.columns() - longest);
  return text;
}

nlohmann::ordered_json to_json(const RunReport& report) {
  const SimulationResult& summary = report.summary;
  const Statistics& statistics = summary.statistics;
  const double stop = report.trajectory.t.empty() ? 0.0 : report.trajectory.t.back();
  nlohmann::ordered_json json{
      {"model", report.model},
      {"file", report.file},
      {"method", report.options.method},
      {"form", report.options.form},
      {"step", summary.step},
      {"stop", stop},
      {"steps", statistics.steps},
      {"samples", report.trajectory.rows()},
      {"unknowns", statistics.unknowns},
      {"iterations", statistics.iterations},
      {"worst_iterations", statistics.worst_iterations},
      {"factorisations", statistics.factorisations},
      {"events", statistics.events},
      {"executor", statistics.executor},
      {"loop_seconds", summary.loop_seconds},
      {"worst_sample_seconds", summary.worst_sample_seconds},
      {"real_time_factor", summary.loop_seconds > 0.0 ? stop / summary.loop_seconds : 0.0},
  };
  if (!statistics.chatter.empty()) json["chatter"] = statistics.chatter;
  if (!statistics.warning.empty()) json["warning"] = statistics.warning;
  if (!summary.failure.empty()) json["failure"] = summary.failure;
  if (report.realtime) json["realtime"] = to_json(*report.realtime);
  auto& outputs = json["outputs"] = nlohmann::ordered_json::array();
  for (std::size_t c = 0; c < report.trajectory.columns(); ++c) {
    const Range range = range_of(report.trajectory, c);
    outputs.push_back({{"name", report.trajectory.names[c]},
                       {"unit", report.trajectory.units[c]},
                       {"final", range.final},
                       {"lowest", range.low},
                       {"highest", range.high}});
  }
  auto& errors = json["errors"] = nlohmann::ordered_json::array();
  for (const ColumnError& error : report.errors)
    errors.push_back({{"name", error.name},
                      {"unit", error.unit},
                      {"rms", error.rms},
                      {"largest", error.largest},
                      {"largest_at", error.largest_at}});
  json["written"] = report.written;
  return json;
}

}  // namespace tellegen
