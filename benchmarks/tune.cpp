#include "benchmarks/tune.h"

#include <algorithm>
#include <cmath>

#include "tellegen/equations/network.h"
#include "tellegen/simulate/integrator.h"

namespace tellegen {
namespace {

// Errors of one run with `divisions` steps in every sample interval; nothing where it fails.
class Trials {
 public:
  Trials(const Circuit& circuit, SimulationOptions options, Precision precision)
      : circuit_(circuit), options_(std::move(options)), bound_(circuit.thresholds.of(precision)) {}

  bool meets_with(std::int64_t divisions) {
    options_.step = circuit_.interval() / static_cast<double>(divisions);
    const CircuitRun run = run_circuit(circuit_, options_);
    return run.failure.empty() && meets(run.errors, bound_);
  }

  std::optional<std::int64_t> fewest(std::int64_t most) {
    std::int64_t above = 1;
    while (!meets_with(above)) {
      above *= 2;
      if (above > most) return std::nullopt;
    }
    // A scan from below, in at most 24 strides: errors need not fall steadily.
    const std::int64_t below = above / 2, stride = std::max<std::int64_t>(1, (above - below) / 24);
    for (std::int64_t k = below + stride; k < above; k += stride) {
      if (meets_with(k)) return k;
    }
    return above;
  }

 private:
  const Circuit& circuit_;
  SimulationOptions options_;
  Both bound_;
};

}  // namespace

std::vector<std::string> tunable_methods() {
  std::vector<std::string> names;
  for (const IntegratorEntry& entry : integrators()) {
    if (entry.traits.steps != MethodTraits::Steps::variable) names.emplace_back(entry.name);
  }
  return names;
}

std::optional<Tuned> tune(const Circuit& circuit, const std::string& method, Precision precision,
                          const TuneLimits& limits) {
  std::vector<SimulationOptions> candidates{circuit_options(circuit, method, circuit.interval())};
  if (build_network(*circuit.system).iterative()) {
    for (const double tolerance : {1e-4, 1e-2}) {
      candidates.push_back(candidates.front());
      candidates.back().tolerance = tolerance;
    }
    for (const int iterations : {1, 2, 3, 4}) {
      candidates.push_back(candidates.front());
      candidates.back().iterations = iterations;
    }
  }
  std::optional<Tuned> best;
  std::int64_t most = limits.steps / circuit.thresholds.samples;
  for (SimulationOptions& options : candidates) {
    try {
      const auto divisions = Trials(circuit, options, precision).fewest(most);
      if (!divisions) continue;
      // Fewer iterations cannot pay for more than a few times the steps.
      most = std::min(most, 6 * *divisions);
      options.step = circuit.interval() / static_cast<double>(*divisions);
      CircuitRun run = run_circuit(circuit, options, limits.budget);
      if (!best || run.seconds < best->run.seconds) best = Tuned{options, std::move(run)};
    } catch (const std::exception&) {
      return std::nullopt;  // a method that does not take this circuit says so when it is built
    }
  }
  return best;
}

}  // namespace tellegen
