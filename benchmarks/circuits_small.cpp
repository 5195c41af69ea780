// Two small studies of the paper: the direct ODE approach (section 2.1) and the start of the motor (Fig. 15).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchmarks/circuits_sections.h"
#include "benchmarks/direct_ode.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {

void section_direct(Circuits& run) {
  run.report.begin({"direct", "RLC and ladder of 2 loops as A x_dot + b = 0, dense LU at every evaluation",
                    "rank of A at the start; errors and drift of the constraints",
                    "RLC must be singular, rank 7 of 8"});
  const DirectOdeRun rlc = run_direct_ode(direct_rlc(), DirectFormula::trapezoidal, 2.5e-3);
  run.report.require(rlc.singular && rlc.rank == 7, fmt::format("RLC: rank {} of {}", rlc.rank, rlc.size));
  run.report.note(
      fmt::format("RLC: A has rank {} of {}: the direct approach fails on it.", rlc.rank, rlc.size));

  const Circuit& circuit = run.circuit("ladder_2");
  TextTable table{{"method", "h [ms]", "err V6", "err I_L2", "largest ||Phi||", "us/step", "total [ms]"}, {}};
  for (const DirectFormula formula : {DirectFormula::trapezoidal, DirectFormula::runge_kutta}) {
    for (const double h : {2.5e-3, 2.5e-4}) {
      const DirectOdeRun direct = run_direct_ode(direct_two_loops(), formula, h);
      const bool trapezoidal = formula == DirectFormula::trapezoidal;
      const Both errors = errors_of(circuit, direct.first, direct.second);
      const double drift =
          direct.drift.empty() ? 0 : *std::max_element(direct.drift.begin(), direct.drift.end());
      table.rows.push_back({trapezoidal ? "direct, trapezoidal" : "direct, Runge-Kutta 4", cell(1e3 * h),
                            cell(errors.first), cell(errors.second), cell(drift),
                            cell(1e6 * direct.seconds / static_cast<double>(direct.steps)),
                            cell(1e3 * direct.seconds)});
    }
  }
  for (const double h : {2.5e-3, 2.5e-4}) {
    const CircuitRun ours = run_circuit(circuit, circuit_options(circuit, "tr", h), run.budget);
    table.rows.push_back({"tr (Tellegen)", cell(1e3 * h), cell(ours.errors.first), cell(ours.errors.second),
                          "-", cell(1e-3 * ours.nanoseconds_per_step()), cell(1e3 * ours.seconds)});
  }
  run.report.table("ladder of 2 loops: drift of the direct approach", table);
}

namespace {

// T9 of the motor every second of the first 20.
std::vector<double> housing_temperature(const Circuit& circuit, const std::string& method, double h,
                                        const std::string& start) {
  SimulationOptions options = circuit_options(circuit, method, h);
  options.stop = 20;
  options.sample = 1;
  options.start = start;
  const Expr value = parse_value(*circuit.model, "housing.T", {});
  Simulation simulation(*circuit.system, options, {{"T9", "K", value}});
  const SimulationResult result = simulation.run();
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  return result.values;
}

}  // namespace

void section_start(Circuits& run) {
  const Circuit& circuit = run.circuit("thermal");
  run.report.begin({"start", "motor, first 20 s, h = 1 s, constant history and trapezoidal start",
                    "T9 (housing) at every second",
                    "the fine solution unchanged within 1e-5 K when its step is halved"});
  const auto fine = housing_temperature(circuit, "bdf3", 1e-3, "trapezoidal");
  const double moved = rms_difference(fine, housing_temperature(circuit, "bdf3", 2e-3, "trapezoidal"));
  if (!run.report.require(moved <= 1e-5, fmt::format("the fine solution moves by {:.2g} K", moved))) return;
  Trajectory curves{{"fine"}, {"K"}, {}, {}};
  std::vector<std::vector<double>> columns{fine};
  for (const char* method : {"bdf2", "bdf3"}) {
    for (const char* start : {"constant", "trapezoidal"}) {
      curves.names.push_back(fmt::format("{} {}", method, start));
      curves.units.push_back("K");
      columns.push_back(housing_temperature(circuit, method, 1, start));
    }
  }
  TextTable table{{"t [s]", "fine T9 [K]"}, {}};
  for (std::size_t c = 1; c < columns.size(); ++c) table.header.push_back(curves.names[c] + " - fine");
  for (std::size_t k = 0; k < fine.size(); ++k) {
    std::vector<double> row;
    std::vector<std::string> cells{std::to_string(k), cell(fine[k], 7)};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      row.push_back(columns[c][k]);
      if (c > 0) cells.push_back(fmt::format("{:.2e}", columns[c][k] - fine[k]));
    }
    curves.append(static_cast<double>(k), row);
    table.rows.push_back(std::move(cells));
  }
  run.report.table("T9 of the motor: deviation from the fine solution [K]", table);
  if (!run.options.output.empty()) write_csv(run.options.output / "start.csv", curves);
}

}  // namespace tellegen
