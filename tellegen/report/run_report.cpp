#include "tellegen/report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

nlohmann::ordered_json to_json(const DurationHistogram& histogram) {
  nlohmann::ordered_json json{{"median", histogram.quantile(0.5)},
                              {"p9999", histogram.quantile(0.9999)},
                              {"worst", histogram.longest()},
                              {"histogram", nlohmann::ordered_json::array()}};
  for (const auto& bin : histogram.bins())
    json["histogram"].push_back({{"to", bin.to}, {"count", bin.count}});
  return json;
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

std::string share_table(const EnergyBalance& balance) {
  constexpr std::size_t longest = 20;
  TextTable table{{"component", "flowed in [J]", "stored [J]", "difference / exchanged"}, {}};
  for (std::size_t k = 0; k < std::min(longest, balance.shares.size()); ++k) {
    const EnergyShare& share = balance.shares[k];
    const double difference = std::abs(share.flown_in - share.stored);
    table.rows.push_back({share.component, brief_number(share.flown_in, 6), brief_number(share.stored, 6),
                          brief_number(balance.exchanged > 0.0 ? difference / balance.exchanged : 0.0)});
  }
  return to_text(table);
}

std::string second_run_table(const RunReport& report) {
  constexpr std::size_t longest = 3;
  TextTable table{{"second run", "output", "unit", "difference / range", "largest", "at t [s]", ""}, {}};
  for (const SecondRun& run : report.second_runs) {
    if (!run.failure.empty()) table.rows.push_back({run.name, "-", "-", "-", "-", "-", "did not finish"});
    for (std::size_t k = 0; k < std::min(longest, run.differences.size()); ++k) {
      const SecondRunDifference& d = run.differences[k];
      table.rows.push_back({k == 0 ? run.name : "", d.output, d.unit, brief_number(d.relative),
                            brief_number(d.largest), brief_number(d.at, 6),
                            d.relative <= run.tolerance ? "" : "differs"});
    }
  }
  return to_text(table);
}

namespace {

nlohmann::ordered_json balance_json(const EnergyBalance& balance) {
  nlohmann::ordered_json json{{"checked", balance.checked}};
  if (balance.checked) {
    json.update({{"until", balance.until},
                 {"delivered", balance.delivered},
                 {"stored", balance.stored},
                 {"flown_in", balance.flown_in},
                 {"dissipated_or_converted", balance.delivered - balance.flown_in},
                 {"exchanged", balance.exchanged},
                 {"error", balance.error},
                 {"bound", balance.bound}});
  } else {
    json["reason"] = balance.reason;
  }
  if (balance.power_checked)
    json.update({{"power_error", balance.power_error},
                 {"power_error_at", balance.power_error_at},
                 {"power_error_domain", balance.power_error_domain},
                 {"power_bound", balance.power_bound}});
  json["unknown"] = balance.unknown;
  if (!balance.shares.empty()) {
    auto& shares = json["shares"] = nlohmann::ordered_json::array();
    for (const EnergyShare& share : balance.shares)
      shares.push_back(
          {{"component", share.component},
           {"stored", share.stored},
           {"flown_in", share.flown_in},
           {"error",
            balance.exchanged > 0.0 ? std::abs(share.flown_in - share.stored) / balance.exchanged : 0.0}});
  }
  return json;
}

nlohmann::ordered_json second_runs_json(const std::vector<SecondRun>& runs) {
  auto list = nlohmann::ordered_json::array();
  for (const SecondRun& run : runs) {
    nlohmann::ordered_json json{{"run", run.name}, {"agrees", run.agrees()}, {"tolerance", run.tolerance}};
    if (!run.failure.empty()) json["failure"] = run.failure;
    auto& outputs = json["outputs"] = nlohmann::ordered_json::array();
    for (const SecondRunDifference& d : run.differences)
      outputs.push_back({{"name", d.output},
                         {"unit", d.unit},
                         {"relative", d.relative},
                         {"largest", d.largest},
                         {"largest_at", d.at}});
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

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
      {"samples",
       report.streamed_rows ? *report.streamed_rows : static_cast<std::int64_t>(report.trajectory.rows())},
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
  json["warnings"] = report.warnings;
  if (summary.balance) json["balance"] = balance_json(*summary.balance);
  if (!report.second_runs.empty()) json["second_runs"] = second_runs_json(report.second_runs);
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
  if (!report.measures.empty()) json["measures"] = to_json(report.measures);
  if (!report.fourier.empty()) json["fourier"] = to_json(report.fourier);
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

nlohmann::ordered_json to_json(const RealtimeReport& report) {
  const PacketCounts& p = report.packets;
  nlohmann::ordered_json json{{"period", report.period},
                              {"periods", report.periods},
                              {"missed", report.missed},
                              {"interrupted", report.interrupted},
                              {"kept_from", report.kept_from},
                              {"rows_not_written", report.not_written},
                              {"lateness", to_json(report.lateness)},
                              {"execution", to_json(report.execution)}};
  if (report.listened)
    json["packets_in"] = {
        {"received", p.received},   {"lost", p.lost},           {"late", p.late},
        {"duplicate", p.duplicate}, {"malformed", p.malformed}, {"superseded", p.superseded},
        {"restarts", p.restarts},   {"foreign", p.foreign},     {"foreign_sender", report.foreign_sender},
        {"held_periods", p.held}};
  if (report.sent) json["packets_out"] = {{"sent", p.sent}, {"not_sent", p.unsent}};
  return json;
}

}  // namespace tellegen
