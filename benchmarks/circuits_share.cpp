// Where the time of a step goes.
//
// The step is one piece of generated code, and a clock inside it would cost more than what it times. So the
// parts are differences between whole loops that differ in one thing:
//
//   Newton iteration   loops with 4 and with 2 fixed iterations, over 2
//   factorisation      refactored in every step less reused (where the tangent is constant)
//   projection         trapezoidal rule with less without
//   outputs            a sample every step less a sample every interval
//   rest               what remains: sources, history, finish
#include <fmt/format.h>

#include <cmath>

#include "benchmarks/circuits_sections.h"

namespace tellegen {
namespace {

// Nanoseconds per step, shortest of many runs.
double per_step(const Circuit& circuit, const SimulationOptions& options, double budget) {
  CircuitRun run;
  // Fresh simulations of the one system; only the answer of a sample per interval has a reference.
  double best = std::numeric_limits<double>::infinity();
  for (double spent = 0; spent < budget;) {
    Simulation simulation(*circuit.system, options, circuit.outputs);
    const SimulationResult result = simulation.run();
    if (!result.failure.empty()) throw std::runtime_error(result.failure);
    best = std::min(best, 1e9 * result.loop_seconds / static_cast<double>(result.statistics.steps));
    spent += std::max(result.loop_seconds, 1e-3);
  }
  return best;
}

Circuit ladder_of_four() {
  Circuit circuit = generate_ladder(4);
  circuit.name = "ladder_4";
  return circuit;
}

}  // namespace

void section_share(Circuits& run) {
  run.report.begin({"share",
                    "rectifier and ladder of 4 loops, trapezoidal rule, factorised in every iteration",
                    "time per step by task, from differences between whole loops",
                    "the loops compared give the same answers within 1e-9"});
  TextTable table{
      {"circuit", "h [ms]", "total [ns]", "Newton [ns]", "of it factorisation", "projection", "outputs",
       "rest", "iterations", "Newton [%]", "factorisation [%]", "projection [%]", "outputs [%]", "rest [%]"},
      {}};
  const Circuit ladder = ladder_of_four();
  for (const bool diodes : {true, false}) {
    const Circuit& circuit = diodes ? run.circuit("rectifier") : ladder;
    SimulationOptions options = circuit_options(circuit, "tr", diodes ? 5e-5 : 2.5e-4);
    options.refactor = true;
    const auto answer = run_circuit(circuit, options);
    auto other = options;
    other.refactor = false;
    const auto reused = run_circuit(circuit, other);
    const double apart =
        std::max(rms_difference(answer.first, reused.first), rms_difference(answer.second, reused.second));
    if (!run.report.require(answer.failure.empty() && apart <= 1e-9,
                            fmt::format("{}: refactored and reused differ by {:.2g}", circuit.name, apart))) {
      continue;
    }
    const double total = per_step(circuit, options, run.budget);
    const double without_factorisation = per_step(circuit, other, run.budget);
    auto unprojected = options;
    unprojected.method = "trnp";
    const double projection = std::max(0.0, total - per_step(circuit, unprojected, run.budget));
    auto all_samples = options;
    all_samples.sample = options.step;
    const double stride = options.sample / options.step;
    const double outputs = std::max(0.0, per_step(circuit, all_samples, run.budget) - total) / (stride - 1);
    double newton = 0;
    if (diodes) {
      auto two = options, four = options;
      two.iterations = 2, four.iterations = 4;
      newton = (per_step(circuit, four, run.budget) - per_step(circuit, two, run.budget)) / 2 *
               answer.iterations_per_step();
    }
    const double factorisation = std::max(0.0, total - without_factorisation);
    if (!diodes) newton = factorisation;
    const double rest = std::max(0.0, total - newton - projection - outputs);
    const auto percent = [&](double part) { return cell(100 * part / total, 2); };
    table.rows.push_back({circuit.name, cell(1e3 * options.step), cell(total), cell(newton),
                          cell(factorisation), cell(projection, 2), cell(outputs, 2), cell(rest),
                          cell(answer.iterations_per_step()), percent(newton), percent(factorisation),
                          percent(projection), percent(outputs), percent(rest)});
  }
  run.report.table("share of time per step", table);
  run.report.note(
      "Differences of whole compiled loops. Rectifier: components, the trailing factorisation and "
      "substitution of an "
      "iteration are one piece of code (Newton); its constant part is factorised once. Ladder: linear, no "
      "iteration; "
      "substitution is in the rest.");
}

}  // namespace tellegen
