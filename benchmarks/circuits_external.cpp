// Other programs at equal precision: each at the cheapest setting found for it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchmarks/circuits_sections.h"
#include "benchmarks/ida_ladder.h"
#include "benchmarks/ngspice.h"

namespace tellegen {
namespace {

const std::vector<std::string> external_header{
    "circuit",     "precision", "their setting", "steps",     "err 1",          "err 2", "total [ms]",
    "our setting", "our steps", "our err 1",     "our err 2", "our total [ms]", "ratio"};

// One line of the comparison; the ratio, or NaN where there is nothing to compare.
double compare_with(Circuits& run, const std::string& name, Precision precision, const ExternalRun& theirs,
                    const CircuitRun& ours, const SimulationOptions& options, TextTable& table) {
  const Circuit& circuit = run.circuit(name);
  const Both& bound = circuit.thresholds.of(precision);
  const Both errors = errors_of(circuit, theirs.first, theirs.second);
  std::vector<std::string> cells{name,
                                 name_of(precision),
                                 theirs.setting,
                                 cell(static_cast<std::int64_t>(theirs.steps)),
                                 cell(errors.first),
                                 cell(errors.second)};
  const bool good =
      run.report.require(meets(errors, bound),
                         fmt::format("{} {}: {} misses the precision: {:.3g}, {:.3g}", name,
                                     name_of(precision), theirs.version, errors.first, errors.second)) &&
      run.report.require(meets(ours.errors, bound),
                         fmt::format("{} {}: ours misses the precision", name, name_of(precision)));
  const double ratio = good ? theirs.seconds / ours.seconds : std::nan("");
  if (good) {
    cells.insert(cells.end(),
                 {cell(1e3 * theirs.seconds), in_words(options), cell(ours.statistics.steps),
                  cell(ours.errors.first), cell(ours.errors.second), cell(1e3 * ours.seconds), cell(ratio)});
  }
  table.rows.push_back(std::move(cells));
  return ratio;
}

}  // namespace

void section_ngspice(Circuits& run) {
  run.report.begin({"ngspice",
                    "rlc, ladder of 2 and 1000 loops, rectifier; both programs at their cheapest setting",
                    "both monitored variables at the samples", "both meet the thresholds of Table 5"});
  struct SpiceTask {
    const char* circuit;
    SpiceCircuit spice;
    int loops;
    double bar;  // 0: none
  };
  TextTable table{external_header, {}};
  std::string version;
  for (const SpiceTask& task : {SpiceTask{"rlc", SpiceCircuit::rlc, 0, 100},
                                {"ladder_2", SpiceCircuit::ladder, 2, 0},
                                {"rectifier", SpiceCircuit::rectifier, 0, 20},
                                {"ladder_1000", SpiceCircuit::ladder, 1000, 30}}) {
    for (const Precision precision : {Precision::low, Precision::high}) {
      const SpiceSetting setting = spice_setting(task.spice, task.loops, precision);
      ExternalRun theirs = run_ngspice(task.spice, task.loops, setting, 1);
      if (!theirs.available) {
        run.report.note(theirs.setting);
        return;
      }
      const Tuned& tuned = run.cheapest(task.circuit, precision);
      CircuitRun ours;
      const int rounds = run.options.quick ? 2 : 5;
      for (int round = 0; round < rounds; ++round) {
        for (int k = 0; k < 3; ++k) repeat_circuit(run.circuit(task.circuit), tuned.options, ours);
        theirs.seconds = std::min(theirs.seconds, run_ngspice(task.spice, task.loops, setting, 1).seconds);
      }
      version = theirs.version;
      theirs.setting = fmt::format("trap {:g} ms", 1e3 * setting.max_step);
      const double ratio = compare_with(run, task.circuit, precision, theirs, ours, tuned.options, table);
      if (task.bar > 0 && precision == Precision::high && !std::isnan(ratio)) {
        run.report.add({fmt::format("ngspice / ours, {}, high", task.circuit), ratio, task.bar, true,
                        in_words(tuned.options)});
      }
    }
  }
  run.report.table(version + " (its transient time, in whole milliseconds) against Tellegen", table);
}

void section_ida(Circuits& run) {
  run.report.begin({"ida", "ladder of 2 and 1000 loops; both at the loosest setting that meets the precision",
                    "both monitored variables at the samples", "both meet the thresholds of Table 5"});
  TextTable table{external_header, {}};
  std::string version;
  for (const int loops : {2, 1000}) {
    const std::string name = fmt::format("ladder_{}", loops);
    for (const Precision precision : {Precision::low, Precision::high}) {
      const IdaTolerances tolerances = ida_tolerances(loops, precision);
      ExternalRun theirs = run_ida_ladder(loops, tolerances, 0);
      if (!theirs.available) {
        run.report.note(theirs.setting);
        return;
      }
      const Tuned& tuned = run.cheapest(name, precision);
      CircuitRun ours;
      for (int round = 0; round < 4; ++round) {
        for (int k = 0; k < 3; ++k) repeat_circuit(run.circuit(name), tuned.options, ours);
        theirs.seconds = std::min(theirs.seconds, run_ida_ladder(loops, tolerances, run.budget / 4).seconds);
      }
      version = theirs.version;
      theirs.setting = fmt::format("rtol {:g}", tolerances.relative);
      const double ratio = compare_with(run, name, precision, theirs, ours, tuned.options, table);
      if (loops == 1000 && precision == Precision::high && !std::isnan(ratio)) {
        run.report.add({"IDA / ours, ladder_1000, high", ratio, 5, true, in_words(tuned.options)});
      }
    }
  }
  run.report.table(version + " (integration only) against Tellegen", table);
}

}  // namespace tellegen
