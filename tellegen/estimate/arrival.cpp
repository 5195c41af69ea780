#include "tellegen/estimate/arrival.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/estimate/filter.h"
#include "tellegen/numeric/decompose.h"
#include "tellegen/records/sensor_slopes.h"

namespace tellegen {
namespace {

constexpr std::int64_t most_looked_at = 2000;  // steps of a run whose norms are found

double spectral_norm(const Matrix& a) { return singular_values(a)[0]; }

// Units in which rows and columns of the largest entries are of like size off the diagonal [Osborne 1960].
// What couples in one direction only would shrink for ever: it may by 1e6 in all.
Vector balanced(const Matrix& largest, const Vector& begin) {
  Vector units = begin;
  const auto n = largest.rows();
  for (int round = 0; round < 200; ++round) {
    double change = 0.0;
    for (Eigen::Index k = 0; k < n; ++k) {
      double row = 0.0, column = 0.0;
      for (Eigen::Index j = 0; j < n; ++j) {
        if (j == k) continue;
        row = std::hypot(row, largest(k, j) * units[j] / units[k]);
        column = std::hypot(column, largest(j, k) * units[k] / units[j]);
      }
      if (row == 0.0 && column == 0.0) continue;
      double factor = row == 0.0 ? 1e-1 : column == 0.0 ? 1e1 : std::sqrt(row / column);
      const double least = 1e-6 * begin[k] / units[k], most = 1e6 * begin[k] / units[k];
      factor = std::clamp(factor, least, most);
      units[k] *= factor;
      change = std::max(change, std::abs(std::log(factor)));
    }
    if (change < 1e-3) break;
  }
  return units;
}

struct ArrivalStep {
  Matrix a, c, p;  // p before the readings; empty where it does not matter
};

ArrivalConditions::InUnits in_units(const std::vector<ArrivalStep>& steps, const Vector& units,
                                    const Vector& noise, double keep, bool invertible, bool full) {
  double norm = 0.0, information = full ? INFINITY : 0.0;
  const Vector inverse = units.cwiseInverse();
  for (const ArrivalStep& s : steps) {
    norm = std::max(norm, spectral_norm(inverse.asDiagonal() * s.a * units.asDiagonal()));
    if (!full) continue;
    const Matrix c = noise.cwiseInverse().asDiagonal() * s.c * units.asDiagonal();
    const Matrix p = inverse.asDiagonal() * s.p * inverse.asDiagonal();
    Matrix inner = c * p * c.transpose();
    inner.diagonal().array() += 1.0;
    const Matrix told = c.transpose() * solve_symmetric(inner, c);
    const double least = symmetric_eigen(0.5 * (told + told.transpose())).values[0];
    const double spread = symmetric_eigen(0.5 * (p + p.transpose())).values[0];
    information = std::min(information, std::max(0.0, least) * std::max(0.0, spread));
  }
  return arrival_bounds(norm, information, keep, invertible);
}

}  // namespace

ArrivalConditions::InUnits arrival_bounds(double norm, double information, double keep, bool invertible) {
  ArrivalConditions::InUnits result;
  result.norm = norm;
  result.information = information;
  const double growth = 1.0 - 1.0 / (norm * norm);
  // Above 1 no rate is enough.
  const auto bound = [&](double rest) -> std::optional<double> {
    if (!(rest > 0.0)) return std::nullopt;
    const double rate = std::max(0.0, growth / rest);
    return rate < 1.0 ? std::optional(rate) : std::nullopt;
  };
  if (invertible) result.invertible = bound(1.0 - keep * keep);
  result.general = bound(information - keep * keep);
  return result;
}

std::vector<std::string> ArrivalConditions::sentences() const {
  std::vector<std::string> said;
  const auto rate = [](const std::optional<double>& bound) -> std::string {
    if (!bound) return "not for any rate of arrival";
    return *bound == 0.0 ? "at any rate of arrival above 0"
                         : fmt::format("where more than {:.3g} % of the readings arrive", 100.0 * *bound);
  };
  said.push_back(
      fmt::format("a step of {} states grows by at most {:.6g} (SI), {:.6g} (in sizes of the states), "
                  "{:.6g} (in the best units found); the largest keep is {:g}",
                  states, si.norm, sized.norm, best.norm, keep));
  if (!is_full) {
    said.push_back(
        fmt::format("the conditions give nothing: {} sensor{} no inverse for {} states, and lambda_0 is "
                    "zero; a filter may "
                    "work all the same, or not",
                    sensors, sensors == 1 ? " has" : "s have", states));
    return said;
  }
  if (is_invertible)
    said.push_back(fmt::format("readings determine all states at once: the expected covariance is bounded {}",
                               rate(best.invertible)));
  else
    said.push_back(
        "the condition for invertible readings does not apply: there are more sensors than states");
  said.push_back(fmt::format("the condition for any readings (lambda_0 = {:.3g}): bounded {}",
                             best.information, rate(best.general)));
  if (best.invertible || best.general)
    said.push_back(
        "that is the filter's own covariance, on average over losses that do not depend on each "
        "other; the true error follows it only where model, noise and linearisation are right");
  else
    said.push_back("the conditions are sufficient, not necessary: a filter may work all the same, or not");
  return said;
}

std::optional<ArrivalConditions> arrival_conditions(const Model& model, const Record& record,
                                                    const std::vector<int>& unknowns) {
  Model run = with_inputs(model, record);
  for (ModelUnknown& unknown : run.unknowns) {
    unknown.start.reset();
    unknown.lower.reset();
    unknown.upper.reset();
  }
  const bool partial = model.estimation.estimator == "pkf";
  TwinModel twin(run, {.sensors = record.sensors, .unknowns = unknowns, .inputs = {}, .events = true});
  if (twin.has_events()) return std::nullopt;
  ArrivalConditions result;
  result.estimator = model.estimation.estimator;
  result.states = twin.size();
  result.sensors = twin.sensors();
  for (const TwinState& state : twin.states())
    if (partial) result.keep = std::max(result.keep, state.keep);

  const FilterOptions options{.step = record.step, .generate = false, .compile = false};
  const auto filter = partial ? partial_filter(twin, options) : extended_filter(twin, options);
  const auto n = static_cast<long>(twin.size());
  Vector noise(static_cast<long>(twin.sensors()));
  for (std::size_t s = 0; s < twin.sensors(); ++s) noise[static_cast<long>(s)] = twin.noise()[s];
  const std::vector<double> none(twin.sensors(), std::nan(""));
  Innovations innovations{none, none, std::vector<char>(twin.sensors(), 0), 0.0};
  TwinPoint point;
  std::vector<double> expected(twin.sensors());
  Vector lowest = twin.start(), highest = lowest;
  Matrix largest = Matrix::Zero(n, n);
  std::vector<ArrivalStep> steps;
  result.is_full = twin.sensors() >= twin.size();
  // A model whose slopes never change has one step; its covariance changes until it is settled.
  const std::int64_t rows = std::max<std::int64_t>(2, record.steps);
  const std::int64_t last = twin.constant_slopes() ? std::min(rows, most_looked_at) : rows;
  const std::int64_t every = std::max<std::int64_t>(1, last / most_looked_at);
  for (std::int64_t row = 0; row < last; ++row) {
    const double t = record.start + record.step * static_cast<double>(row);
    if (row > 0 && !filter->predict(t - record.step, nullptr, nullptr)) return std::nullopt;
    const Vector& x = filter->belief().x;
    if (!twin.evaluate_readings(x, t, nullptr, point)) return std::nullopt;
    lowest = lowest.cwiseMin(x);
    highest = highest.cwiseMax(x);
    const bool looked_at = row > 0 && row % every == 0;
    if (looked_at) {
      steps.push_back(
          {filter->transition(), point.readings_by_state, result.is_full ? filter->belief().p : Matrix()});
      largest = largest.cwiseMax(steps.back().a.cwiseAbs());
      if (result.is_full) {
        const Vector sizes = singular_values(noise.cwiseInverse().asDiagonal() * point.readings_by_state);
        result.is_full = sizes.size() == n && sizes[n - 1] > 1e-13 * sizes[0];
      }
    }
    // Readings that say what was expected: the filter goes along the model's run.
    for (std::size_t s = 0; s < expected.size(); ++s) expected[s] = point.readings[static_cast<long>(s)];
    if (!filter->correct(t, nullptr, expected.data(), innovations)) return std::nullopt;
  }
  result.looked_at = static_cast<std::int64_t>(steps.size());
  result.is_invertible = result.is_full && result.sensors == result.states;
  Vector sizes(n);
  for (long k = 0; k < n; ++k) {
    const TwinState& state = twin.states()[static_cast<std::size_t>(k)];
    sizes[k] = std::max(highest[k] - lowest[k], state.deviation);
    if (!(sizes[k] > 1e-9 * std::abs(state.start)))
      sizes[k] = state.start != 0.0 ? std::abs(state.start) : 1.0;
  }
  const auto in = [&](const Vector& units) {
    return in_units(steps, units, noise, result.keep, result.is_invertible, result.is_full);
  };
  result.si = in(Vector::Ones(n));
  result.sized = in(sizes);
  result.best = in(balanced(largest, sizes));
  // Balancing looks at sizes of entries, not at norms: what it began with may be better.
  for (const ArrivalConditions::InUnits* other : {&result.sized, &result.si})
    if (other->norm < result.best.norm) result.best = *other;
  return result;
}

}  // namespace tellegen
