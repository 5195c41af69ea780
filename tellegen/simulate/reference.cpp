#include "tellegen/simulate/reference.h"

#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

struct Difference {
  double worst = 0.0;            // relative to the output's range
  std::vector<double> absolute;  // per output
};

Difference difference(const SimulationResult& a, const SimulationResult& b) {
  const std::size_t width = a.names.size(), rows = std::min(a.t.size(), b.t.size());
  Difference d;
  for (std::size_t k = 0; k < width; ++k) {
    double low = a.values[k], high = low, largest = 0.0;
    for (std::size_t r = 0; r < rows; ++r) {
      const double v = a.values[r * width + k];
      low = std::min(low, v);
      high = std::max(high, v);
      largest = std::max(largest, std::abs(v - b.values[r * width + k]));
    }
    d.absolute.push_back(largest);
    const double range = std::max(high - low, 1e-12 * std::max(std::abs(high), std::abs(low)));
    if (range > 0.0) d.worst = std::max(d.worst, largest / range);
  }
  return d;
}

}  // namespace

ReferenceResult find_reference(const EquationSystem& system, SimulationOptions options,
                               const std::vector<OutputColumn>& outputs, const ReferenceOptions& wanted,
                               const std::function<void(const ReferenceRound&)>& report) {
  ReferenceResult result;
  options.tolerance =
      std::min(options.tolerance, 1e-2 * wanted.agreement);  // Newton must not be what limits it
  if (options.sample == 0.0) options.sample = options.step;
  const auto run = [&](const char* method) {
    options.method = method;
    return Simulation(system, options, outputs).run();
  };
  SimulationResult last;
  for (int halving = 0; halving <= wanted.most_halvings; ++halving, options.step /= 2) {
    SimulationResult bdf = run("bdf3"), tr = run("tr");
    if (!bdf.failure.empty() || !tr.failure.empty()) {
      // Too long a step for this model: try a shorter one, and say so if none works.
      result.solution = std::move(bdf);
      if (result.solution.failure.empty()) result.solution.failure = tr.failure;
      continue;
    }
    const Difference methods = difference(bdf, tr);
    ReferenceRound round{bdf.step, methods.worst, 1.0};
    result.differences = methods.absolute;
    if (!last.t.empty()) {
      const Difference steps = difference(bdf, last);
      round.since_last = steps.worst;
      for (std::size_t k = 0; k < steps.absolute.size(); ++k)
        result.differences[k] = std::max(result.differences[k], steps.absolute[k]);
    }
    last = bdf;
    result.solution = std::move(bdf);
    result.rounds.push_back(round);
    if (report) report(round);
    if (round.between_methods <= wanted.agreement && round.since_last <= wanted.agreement) {
      result.converged = true;
      break;
    }
  }
  return result;
}

}  // namespace tellegen
