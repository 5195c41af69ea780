#include "tellegen/simulate/equilibrium.h"

#include <cmath>
#include <random>

namespace tellegen {
namespace {

// The differentiated variables of a vector of columns, largest first of all.
double largest_storage(const Tableau& tableau, std::span<const double> x) {
  double largest = 0.0;
  for (std::int32_t k = 0; k < tableau.rate_count(); ++k)
    largest = std::max(largest, std::abs(tableau.rate_value(x, k)));
  return largest;
}

}  // namespace

std::optional<double> growth_of_disturbances(const EquationSystem& system, const InitialState& state,
                                             double stop) {
  // Modes that swing change their size on the way by no more than 1.2^40.
  constexpr int iterations = 120, watched = 40;
  constexpr double shortest = 1e-6, noticeable = 0.2, growths = 1.0;
  Tableau tableau(system);
  tableau.hold(state.held);
  const std::int32_t n = tableau.size();
  if (tableau.rate_count() == 0 || n == 0 || static_cast<std::int32_t>(state.x.size()) < n)
    return std::nullopt;
  std::vector<double> by_x(tableau.x_entries().size()), by_rate(tableau.rate_entries().size());
  tableau.jacobian(std::span(state.x).first(n), state.rates, 0.0, {}, by_x, by_rate);

  const auto columns = [&](std::int32_t rate) {
    const Rate& r = system.rates[rate];
    const Group& group = system.groups[r.group];
    return std::pair(group.plus[r.symbol][r.member], group.minus[r.symbol][r.member]);
  };
  PatternBuilder builder(n);
  for (const auto& e : tableau.x_entries()) builder.add(e.row, e.column);
  for (const auto& e : tableau.rate_entries()) {
    const auto [plus, minus] = columns(e.column);
    builder.add(e.row, plus);
    builder.add(e.row, minus);
  }
  SparseLu lu(builder.build());

  std::mt19937 random(1);
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  std::optional<double> fastest;
  for (double h = stop; h >= shortest * stop; h /= 3.0) {
    std::vector<double> values(lu.pattern().nonzeros(), 0.0);
    std::int32_t entry = 0;
    const auto put = [&](double v) {
      if (const std::int32_t at = builder.position(entry++); at >= 0) values[at] += v;
    };
    for (const double v : by_x) put(v);
    for (const double v : by_rate) put(v / h), put(-v / h);
    if (!lu.factor(values)) continue;
    std::vector<double> x(n), y(n);
    for (double& v : x) v = any(random);
    double sum = 0.0;
    for (int k = 0; k < iterations; ++k) {
      std::fill(y.begin(), y.end(), 0.0);
      for (std::size_t e = 0; e < by_rate.size(); ++e) {
        const auto& [row, rate] = tableau.rate_entries()[e];
        if (row >= 0) y[row] += by_rate[e] / h * tableau.rate_value(x, rate);
      }
      lu.solve(y.data());
      const double before = largest_storage(tableau, x), after = largest_storage(tableau, y);
      if (!(before > 0.0) || !std::isfinite(after) || after == 0.0) return std::nullopt;
      if (k >= iterations - watched) sum += std::log(after / before);
      for (std::int32_t c = 0; c < n; ++c) x[c] = y[c] / after;
    }
    const double growth = std::exp(sum / watched);
    if (growth < 1.0 + noticeable) continue;
    const double rate = (1.0 - 1.0 / growth) / h;
    if (rate * stop >= growths && rate > fastest.value_or(0.0)) fastest = rate;
  }
  return fastest;
}

}  // namespace tellegen
