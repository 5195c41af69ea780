// The table of integration methods. To add one, add a row.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tellegen/simulate/adaptive.h"
#include "tellegen/simulate/balance.h"
#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/minimal_problem.h"
#include "tellegen/simulate/network_integrator.h"
#include "tellegen/simulate/variable_step.h"
#include "tellegen/simulate/whole_integrator.h"

namespace tellegen {
namespace {

std::unique_ptr<Integrator> fixed_step(const Problem& problem) {
  if (problem.options.form == "minimal") return minimal_fixed_step(problem);
  Network network = build_network(*problem.system);
  if (network.size() <= (problem.options.straight_line ? straight_line_limit : whole_step_limit))
    return std::make_unique<WholeIntegrator>(problem, std::move(network));
  if (!problem.totals.empty()) return followed_network(problem, std::move(network));
  return std::make_unique<NetworkIntegrator>(problem, std::move(network));
}

using Steps = MethodTraits::Steps;
using Formula = MethodTraits::Formula;

constexpr IntegratorEntry table[] = {
    {"bdf1",
     "backward Euler: first order, L-stable",
     fixed_step,
     {Steps::fixed, Formula::backward_differences, 1}},
    {"bdf2",
     "second-order backward differences, L-stable",
     fixed_step,
     {Steps::fixed, Formula::backward_differences, 2}},
    {"bdf3",
     "third-order backward differences, for smooth problems",
     fixed_step,
     {Steps::fixed, Formula::backward_differences, 3}},
    {"tr",
     "trapezoidal rule with the rates of redundant storage projected",
     fixed_step,
     {Steps::fixed, Formula::trapezoidal, 2, true}},
    {"trnp", "trapezoidal rule without projection", fixed_step, {Steps::fixed, Formula::trapezoidal, 2}},
    {"rk4",
     "classical Runge-Kutta on the minimal form: explicit, for smooth systems",
     minimal_rk4,
     {Steps::fixed, Formula::none, 4, false, true}},
    {"exact",
     "matrix exponential, for linear networks: exact at any step",
     minimal_exact,
     {Steps::samples, Formula::none, 0}},
    {"adaptive",
     "variable step under error control, fourth order, L-stable, events located; the default without a step",
     make_variable_step,
     {.steps = Steps::variable, .formula = Formula::none, .order = 4, .records = true}},
    {"adaptive-ida",
     "SUNDIALS IDAS: variable step and order, events located; for reference",
     make_adaptive,
     {Steps::variable, Formula::none, 5}},
};

}  // namespace

std::span<const IntegratorEntry> integrators() { return table; }

const MethodTraits& traits_of(std::string_view method) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const IntegratorEntry& e) { return e.name == method; });
  if (found == std::end(table)) throw std::invalid_argument(fmt::format("there is no method '{}'", method));
  return found->traits;
}

std::int64_t followed_steps(const Problem& problem) {
  constexpr std::int64_t part = 16;  // one in so many
  const auto steps = static_cast<std::int64_t>(std::ceil(problem.options.stop / problem.step));
  if (problem.totals.empty() && problem.followed_outputs == 0) return 0;
  // Of a short run as many as cost about a millisecond.
  std::vector<Expr> followed = problem.totals;
  followed.insert(followed.end(), problem.outputs.end() - static_cast<long>(problem.followed_outputs),
                  problem.outputs.end());
  const auto operations = static_cast<std::int64_t>(nodes_of(followed).size());
  const std::int64_t few = std::clamp<std::int64_t>(1000000 / operations, 100, 10000);
  const std::int64_t wanted =
      problem.options.balance == Balance::by_component ? steps + problem.stride : std::max(few, steps / part);
  return (wanted + problem.stride - 1) / problem.stride * problem.stride;
}

std::string not_finite(const Problem& problem, const double* row, double t) {
  for (std::size_t k = 0; k < problem.outputs.size(); ++k)
    if (!std::isfinite(row[k]))
      return fmt::format(
          "the solution is not finite any more at t = {:.9g} s: {}", t,
          k < problem.output_names.size() ? problem.output_names[k] : fmt::format("output {}", k + 1));
  return {};
}

}  // namespace tellegen
