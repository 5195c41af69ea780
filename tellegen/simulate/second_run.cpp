#include "tellegen/simulate/second_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/simulate/adaptive.h"

namespace tellegen {
namespace {

std::vector<SecondRunDifference> differences_of(const SimulationResult& a, const SimulationResult& b) {
  const std::size_t width = a.names.size();
  // Runs that end by a condition end apart: their last rows are at times of their own.
  std::size_t rows = std::min(a.t.size(), b.t.size());
  while (rows > 1 && a.t[rows - 1] != b.t[rows - 1]) --rows;
  std::vector<SecondRunDifference> all;
  for (std::size_t k = 0; k < width; ++k) {
    SecondRunDifference d{a.names[k], a.units[k]};
    double low = a.values[k], high = low, size = 0.0, squares = 0.0;
    for (std::size_t row = 0; row < rows; ++row) {
      const double x = a.values[row * width + k], difference = std::abs(x - b.values[row * width + k]);
      low = std::min(low, x);
      high = std::max(high, x);
      size = std::max(size, std::abs(x));
      squares += difference * difference;
      if (difference > d.largest) d.largest = difference, d.at = a.t[row];
    }
    // What hardly changes is measured by its size: its range is rounding.
    const double range = std::max(high - low, 1e-6 * size);
    const double root = std::sqrt(squares / static_cast<double>(rows));
    d.relative = root == 0.0 ? 0.0 : range > 0.0 ? root / range : INFINITY;
    all.push_back(d);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& x, const auto& y) { return x.relative > y.relative; });
  return all;
}

}  // namespace

std::vector<SecondRun> second_runs(const std::function<void(const UseOfEquations&)>& with_new_equations,
                                   const SimulationOptions& options, const SimulationResult& run,
                                   double tolerance) {
  std::vector<SecondRun> all;
  SimulationOptions base = options;
  base.balance = Balance::off;
  const double step = run.step;
  base.sample = options.sample > 0.0 ? options.sample : options.step;
  const auto take = [&](std::string name, const SimulationOptions& with, double within) {
    SecondRun second{std::move(name), {}, within, {}};
    try {
      with_new_equations([&](const EquationSystem& system, const std::vector<OutputColumn>& columns) {
        const SimulationResult other = Simulation(system, with, columns).run();
        second.failure = other.failure;
        if (other.failure.empty()) second.differences = differences_of(run, other);
      });
    } catch (const SimulationError& error) {
      second.failure = error.what();
    } catch (const ModelError& error) {
      second.failure = error.faults().empty() ? error.what() : error.faults()[0].message;
    }
    all.push_back(std::move(second));
  };

  SimulationOptions other = base;
  const bool adaptive = traits_of(options.method).steps == MethodTraits::Steps::variable;
  other.slow.clear();
  other.slow_steps = 1;
  other.form = "auto";
  if (adaptive && (options.method == "adaptive-ida" || has_adaptive())) {
    other.method = options.method == "adaptive" ? "adaptive-ida" : "adaptive";
  } else if (adaptive) {
    other.method = "bdf2";
    other.step = std::min(step, base.sample);
  } else {
    other.method = "adaptive";
    other.tolerance = std::min(options.tolerance, 1e-6);
  }
  take("method " + other.method, other, tolerance);

  SimulationOptions finer = base;
  if (adaptive)
    finer.tolerance = 0.1 * options.tolerance;
  else
    finer.step = 0.5 * step;
  take(adaptive ? "a tenth of the tolerance" : "half the step", finer, tolerance);

  if (!adaptive && options.compile) {
    SimulationOptions interpreted = base;
    interpreted.compile = false;
    take("interpreted", interpreted, 0.0);
  }
  return all;
}

std::vector<std::string> second_run_warnings(const std::vector<SecondRun>& runs) {
  std::vector<std::string> warnings;
  for (const SecondRun& run : runs) {
    if (run.agrees()) continue;
    if (!run.failure.empty()) {
      warnings.push_back(fmt::format("the second run ({}) did not finish: {}", run.name, run.failure));
      continue;
    }
    const SecondRunDifference& worst = run.differences[0];
    warnings.push_back(fmt::format(
        "the second run ({}) differs: '{}' by {:.2g} of its range (root mean square; tolerance {:g}), most "
        "at t = "
        "{:.6g} s, by {:.6g} {}",
        run.name, worst.output, worst.relative, run.tolerance, worst.at, worst.largest, worst.unit));
  }
  return warnings;
}

}  // namespace tellegen
