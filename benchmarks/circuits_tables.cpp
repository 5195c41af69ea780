// One table per circuit and precision: our errors and times beside the published ones.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "benchmarks/circuits_sections.h"

namespace tellegen {
namespace {

// How the history before the first step is set up, where a method has one.
struct Start {
  std::string label, option = "trapezoidal";
  int steps = 0;
};

// The published settings first, then what Tellegen does by default where that differs.
std::vector<Start> starts_of(const std::string& circuit, const std::string& method) {
  if (method.rfind("BDF", 0) != 0) return {{"", "trapezoidal", 0}};
  const int order = method.back() - '0';
  if (circuit == "thermal") return {{fmt::format("{} TR steps", order), "trapezoidal", order}, {"default"}};
  if (circuit == "rectifier" || order == 1) return {{"default"}};
  return {{"constant", "constant", 0}, {"default"}};
}

// The computed errors belong to one start only.
bool coincides(const ComputedRow& computed, const PublishedRow& row, const Start& start) {
  if (computed.method != row.method || std::abs(computed.h / row.h - 1) > 1e-9) return false;
  if (computed.start.empty() || computed.problem == "rectifier") return true;
  if (computed.problem == "thermal") return start.steps > 0;
  if (computed.start == "zero") return start.option == "constant" || computed.method == "BDF1";
  return start.label == "default";
}

// The largest relative deviation from the computed errors.
std::optional<double> deviation(const std::string& circuit, const PublishedRow& row, const Start& start,
                                const Both& errors) {
  for (const ComputedRow& computed : computed_rows(circuit)) {
    if (!coincides(computed, row, start)) continue;
    const auto relative = [](double ours, double theirs) {
      return std::isnan(theirs) ? 0.0 : std::abs(ours / theirs - 1);
    };
    return std::max(relative(errors.first, computed.errors.first),
                    relative(errors.second, computed.errors.second));
  }
  return std::nullopt;
}

void fill_table(Circuits& run, const Circuit& circuit, Precision precision) {
  TextTable table{{"method", "h [ms]", "start", "iterations", "err " + circuit.first, "err " + circuit.second,
                   "off section 9", "publ. " + circuit.first, "publ. " + circuit.second, "precision",
                   "ns/step", "total [ms]", "x real time", "PC [ms]", "PC/ours", "BBB [ms]", "RPi [ms]"},
                  {}};
  const Both& bound = circuit.thresholds.of(precision);
  for (const PublishedRow& row : published_rows(circuit.name)) {
    if (row.precision != precision) continue;
    if (run.options.quick && row.method == "BDF1" && precision == Precision::high) continue;
    for (const Start& start : starts_of(circuit.name, row.method)) {
      SimulationOptions options = circuit_options(circuit, method_name(row.method), row.h);
      options.start = start.option;
      options.start_steps = start.steps;
      const CircuitRun ours = run_circuit(circuit, options, run.budget);
      const auto off = deviation(circuit.name, row, start, ours.errors);
      const std::string what = fmt::format("{} {} ms {}", row.method, brief_number(1e3 * row.h), start.label);
      bool good = run.report.require(ours.failure.empty(), what + ": " + ours.failure);
      good =
          good && run.report.require(!off || *off <= 0.02,
                                     fmt::format("{}: errors {:.4g} {}, {:.4g} {} are {:.1f} % off section 9",
                                                 what, ours.errors.first, circuit.unit1, ours.errors.second,
                                                 circuit.unit2, off ? 100 * *off : 0));
      const bool published = start.label != "default" || starts_of(circuit.name, row.method).size() == 1;
      std::vector<std::string> cells{row.method,
                                     cell(1e3 * row.h, 4),
                                     start.label,
                                     cell(ours.iterations_per_step()),
                                     cell(ours.errors.first),
                                     cell(ours.errors.second),
                                     off ? fmt::format("{:.1f} %", 100 * *off) : "",
                                     published ? cell(row.errors.first) : "",
                                     published ? cell(row.errors.second) : "",
                                     meets(ours.errors, bound) ? "met" : "not met"};
      if (good) {
        const double ms = 1e3 * ours.seconds;
        for (const double value : {ours.nanoseconds_per_step(), ms, circuit.thresholds.t_end / ours.seconds,
                                   row.pc_ms, row.pc_ms / ms, row.bbb_ms, row.rpi_ms}) {
          cells.push_back(cell(value));
        }
      }
      table.rows.push_back(std::move(cells));
    }
  }
  run.report.table(fmt::format("{}, {} precision ({:g} {}, {:g} {})", circuit.name, name_of(precision),
                               bound.first, circuit.unit1, bound.second, circuit.unit2),
                   table);
}

}  // namespace

void section_tables(Circuits& run, const std::string& name) {
  const Circuit& circuit = run.circuit(name);
  run.report.begin(
      {name,
       fmt::format("{}, 0 to {:g} s, fixed steps; Newton to tolerance", circuit.source,
                   circuit.thresholds.t_end),
       fmt::format("{} and {} at {} samples", circuit.first, circuit.second, circuit.thresholds.samples),
       "RMS error against the reference within 2 % of section 9 where the settings coincide"});
  fill_table(run, circuit, Precision::low);
  fill_table(run, circuit, Precision::high);
  run.report.note(
      "Published times: PC i7-8700K, BBB BeagleBone Black, RPi Raspberry Pi 4, with the published fixed "
      "number of "
      "iterations.");
}

void section_tune(Circuits& run) {
  run.report.begin({"tune", "every circuit, every fixed-step method; steps that divide the sample interval",
                    "cheapest step and iterations", "RMS errors within Table 5"});
  for (const char* name : {"rlc", "ladder_2", "rectifier", "thermal", "ladder_1000"}) {
    const Circuit& circuit = run.circuit(name);
    TextTable table{{"precision", "method", "setting", "steps", "err " + circuit.first,
                     "err " + circuit.second, "ns/step", "total [ms]", "x real time"},
                    {}};
    for (const Precision precision : {Precision::low, Precision::high}) {
      for (const std::string& method : tunable_methods()) {
        const TuneLimits limits{.steps = run.options.quick ? 400'000 : 4'000'000, .budget = run.budget / 2};
        const auto tuned = tune(circuit, method, precision, limits);
        if (!tuned) {
          table.rows.push_back({name_of(precision), method, "not met within the search"});
          continue;
        }
        const CircuitRun& best = tuned->run;
        table.rows.push_back({name_of(precision), method, in_words(tuned->options),
                              cell(best.statistics.steps), cell(best.errors.first), cell(best.errors.second),
                              cell(best.nanoseconds_per_step()), cell(1e3 * best.seconds),
                              cell(circuit.thresholds.t_end / best.seconds)});
      }
    }
    run.report.table(fmt::format("{}: cheapest settings", name), table);
  }
}

}  // namespace tellegen
