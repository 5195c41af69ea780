// Where the time of a step goes.
//
// The step is one piece of code, and a clock inside it would cost more than what it times. So the parts are
// differences between whole loops that differ in one thing:
//
//   Newton          loops with 4 and with 2 fixed iterations, over 2, times the iterations of a step
//   factorisation   refactored in every iteration less reused as far as possible
//   projection      trapezoidal rule with less without
//   outputs         a sample every step less a sample every interval
//   rest            what remains: sources, history, substitution of a linear circuit, finish
//
// Compiled, the parts overlap in the processor and the compiler moves work between them; interpreted, one
// instruction comes after the other. Both are shown.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "benchmarks/circuits_sections.h"
#include "tellegen/equations/network.h"

namespace tellegen {
namespace {

enum Variant { all, reused, unprojected, every_sample, two_iterations, four_iterations, variants };

SimulationOptions variant_of(SimulationOptions options, int variant) {
  if (variant == reused) options.refactor = false;
  if (variant == unprojected) options.method = "trnp";
  if (variant == every_sample) options.sample = options.step;
  if (variant == two_iterations) options.iterations = 2;
  if (variant == four_iterations) options.iterations = 4;
  return options;
}

struct ShareTimes {
  double of[variants];  // nanoseconds per step, the shortest loop
  double iterations = 0;
};

ShareTimes measure_shares(const Circuit& circuit, const SimulationOptions& options, int rounds) {
  ShareTimes times;
  std::fill(std::begin(times.of), std::end(times.of), std::numeric_limits<double>::infinity());
  // In turn: differences of small numbers must not see a disturbance on one side only.
  for (int round = 0; round < rounds; ++round) {
    for (int variant = 0; variant < variants; ++variant) {
      Simulation simulation(*circuit.system, variant_of(options, variant), circuit.outputs);
      const SimulationResult result = simulation.run();
      if (!result.failure.empty()) throw std::runtime_error(result.failure);
      const auto steps = static_cast<double>(result.statistics.steps);
      times.of[variant] = std::min(times.of[variant], 1e9 * result.loop_seconds / steps);
      if (variant == all) times.iterations = static_cast<double>(result.statistics.iterations) / steps;
    }
  }
  return times;
}

std::vector<std::string> share_row(const Circuit& circuit, const SimulationOptions& options, int rounds) {
  const ShareTimes times = measure_shares(circuit, options, rounds);
  const double total = times.of[all];
  const auto less = [](double with, double without) { return std::max(0.0, with - without); };
  // A linear circuit is solved once, whatever the number of iterations.
  const bool iterative = build_network(*circuit.system).iterative();
  const double newton =
      iterative ? less(times.of[four_iterations], times.of[two_iterations]) / 2 * times.iterations : 0;
  const double factorisation = less(total, times.of[reused]);
  const double projection = less(total, times.of[unprojected]);
  const double stride = options.sample / options.step;
  const double outputs = less(times.of[every_sample], total) / (stride - 1);
  const double rest = total - (iterative ? newton : factorisation) - projection - outputs;
  const auto percent = [&](double part) { return fmt::format("{:.1f}", 100 * part / total); };
  return {circuit.loops > 0 ? fmt::format("ladder_{}", circuit.loops) : circuit.name,
          options.compile ? "compiled" : "interpreted",
          cell(1e3 * options.step),
          cell(times.iterations),
          cell(total),
          iterative ? percent(newton) : "-",
          percent(factorisation),
          percent(projection),
          percent(outputs),
          percent(rest)};
}

}  // namespace

void section_share(Circuits& run) {
  run.report.begin({"share",
                    "rectifier and ladder of 4 loops, trapezoidal rule, factorised in every iteration",
                    "time per step by task, from differences between whole loops",
                    "refactored and reused give the same answers within 1e-9"});
  TextTable table{{"circuit", "loop", "h [ms]", "iterations", "ns/step", "Newton [%]",
                   "of it factorisation [%]", "projection [%]", "outputs [%]", "rest [%]"},
                  {}};
  const Circuit ladder = generate_ladder(4);
  for (const bool diodes : {true, false}) {
    const Circuit& circuit = diodes ? run.circuit("rectifier") : ladder;
    SimulationOptions options = circuit_options(circuit, "tr", diodes ? 5e-5 : 2.5e-4);
    options.refactor = true;
    const CircuitRun one = run_circuit(circuit, options),
                     other = run_circuit(circuit, variant_of(options, reused));
    const double apart =
        std::max(rms_difference(one.first, other.first), rms_difference(one.second, other.second));
    if (!run.report.require(
            one.failure.empty() && apart <= 1e-9,
            fmt::format("{}: refactored and reused differ by {:.2g}", circuit.source, apart))) {
      continue;
    }
    table.rows.push_back(share_row(circuit, options, run.options.quick ? 10 : 40));
    options.compile = false;
    table.rows.push_back(share_row(circuit, options, run.options.quick ? 3 : 10));
  }
  run.report.table("share of time per step", table);
  run.report.note(
      "By differences of whole loops, each the shortest of many runs in turn. Newton: components, "
      "factorisation and "
      "substitution of an iteration. The ladder is linear: no iteration, its substitution is in the rest.");
}

}  // namespace tellegen
