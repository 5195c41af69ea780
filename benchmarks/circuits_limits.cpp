// Our step loop against the limits written by hand: same circuit, formula, step, start and answers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "benchmarks/circuits_sections.h"
#include "benchmarks/limits.h"

namespace tellegen {
namespace {

struct LimitTask {
  const char* circuit;
  const char* method;
  LimitFormula formula;
  double h;
  int start_steps;  // 0: as many as the formula needs
};

constexpr LimitTask limit_tasks[] = {
    {"rlc", "tr", LimitFormula::trapezoidal, 2.5e-4, 0},
    {"rlc", "bdf3", LimitFormula::bdf3, 2.5e-4, 0},
    {"ladder_2", "tr", LimitFormula::trapezoidal, 2.5e-4, 0},
    {"ladder_2", "bdf3", LimitFormula::bdf3, 2.5e-4, 0},
    {"rectifier", "tr", LimitFormula::trapezoidal, 5e-5, 0},
    {"rectifier", "bdf2", LimitFormula::bdf2, 5e-5, 0},
    {"rectifier", "bdf3", LimitFormula::bdf3, 1e-4, 0},
    {"thermal", "tr", LimitFormula::trapezoidal, 0.1, 0},
    {"thermal", "bdf3", LimitFormula::bdf3, 0.25, 3},
    {"ladder_1000", "tr", LimitFormula::trapezoidal, 5e-4, 0},
    {"ladder_1000", "bdf3", LimitFormula::bdf3, 5e-4, 0},
};

LimitRun run_limit(const LimitTask& task, double budget) {
  const std::string circuit = task.circuit;
  if (circuit == "rlc") return limit_rlc(task.formula, task.h, budget);
  if (circuit == "ladder_2") return limit_ladder(task.formula, 2, task.h, LadderBranch::last, budget);
  if (circuit == "rectifier") return limit_rectifier(task.formula, task.h, budget);
  if (circuit == "thermal") return limit_thermal(task.formula, task.h, budget);
  return limit_ladder(task.formula, 1000, task.h, LadderBranch::first, budget);
}

}  // namespace

void section_limits(Circuits& run) {
  run.report.begin({"limits", "each circuit with the same formula, step and start in Tellegen and by hand",
                    "both monitored variables at the samples",
                    "RMS difference of the two at most 1 % of the high-precision threshold"});
  TextTable table{{"circuit", "method", "h [ms]", "difference 1", "difference 2", "ours [ns/step]",
                   "limit [ns/step]", "ratio", "iterations"},
                  {}};
  std::map<std::string, std::pair<double, std::string>> worst;
  for (const LimitTask& task : limit_tasks) {
    const Circuit& circuit = run.circuit(task.circuit);
    SimulationOptions options = circuit_options(circuit, task.method, task.h);
    options.start_steps = task.start_steps;
    CircuitRun ours;
    LimitRun limit;
    // In turn, so that a disturbance of the machine does not fall on one of them alone.
    const int rounds = run.options.quick ? 8 : 20;
    for (int round = 0; round < rounds; ++round) {
      repeat_circuit(circuit, options, ours);
      LimitRun again = run_limit(task, run.budget / rounds);
      if (round == 0 || again.seconds < limit.seconds) limit = std::move(again);
    }
    const Both difference{rms_difference(ours.first, limit.first), rms_difference(ours.second, limit.second)};
    const Both& high = circuit.thresholds.high;
    const bool good = run.report.require(
        ours.failure.empty() && meets(difference, {0.01 * high.first, 0.01 * high.second}),
        fmt::format("{} {}: differs from the limit by {:.3g} {}, {:.3g} {} {}", task.circuit, task.method,
                    difference.first, circuit.unit1, difference.second, circuit.unit2, ours.failure));
    std::vector<std::string> cells{task.circuit, task.method, cell(1e3 * task.h), cell(difference.first, 2),
                                   cell(difference.second, 2)};
    if (good) {
      const double theirs = 1e9 * limit.seconds / static_cast<double>(limit.steps);
      const double ratio = ours.nanoseconds_per_step() / theirs;
      cells.insert(cells.end(), {cell(ours.nanoseconds_per_step()), cell(theirs), cell(ratio),
                                 cell(ours.iterations_per_step())});
      auto& entry = worst[task.circuit];
      if (ratio > entry.first) entry = {ratio, in_words(options)};
    }
    table.rows.push_back(std::move(cells));
  }
  run.report.table("step loop against the hand-written limit", table);
  for (const auto& [circuit, entry] : worst) {
    run.report.add({"step loop / limit, " + circuit, entry.first, circuit == "rectifier" ? 5.0 : 4.0, false,
                    "worst of the methods: " + entry.second});
  }
}

}  // namespace tellegen
