#include "tellegen/sweep/indices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tellegen {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t bootstrap_rounds = 500;

double mean(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

// Where on its axis a number lies, 0..1.
double along(const Axis& axis, double value) {
  if (axis.log) return std::log(value / axis.lower) / std::log(axis.upper / axis.lower);
  return (value - axis.lower) / (axis.upper - axis.lower);
}

MorrisIndex index_of(const std::vector<double>& effects) {
  MorrisIndex index{nan, nan, nan, effects.size()};
  if (effects.empty()) return index;
  index.mu = mean(effects);
  index.mu_star = index.sigma = 0.0;
  for (const double e : effects) {
    index.mu_star += std::fabs(e) / static_cast<double>(effects.size());
    index.sigma += (e - index.mu) * (e - index.mu);
  }
  index.sigma = effects.size() > 1 ? std::sqrt(index.sigma / static_cast<double>(effects.size() - 1)) : nan;
  return index;
}

// Results of the rows of A and B that are complete, less their mean: the estimators lose no digits to it.
struct SobolRows {
  std::size_t axes, rows = 0;
  std::vector<double> f;  // per row: A, B, AB_1, ...

  SobolRows(std::size_t axes, std::span<const double> results) : axes(axes) {
    const std::size_t block = axes + 2;
    for (std::size_t at = 0; at + block <= results.size(); at += block) {
      const auto row = results.subspan(at, block);
      if (std::all_of(row.begin(), row.end(), [](double v) { return std::isfinite(v); }))
        f.insert(f.end(), row.begin(), row.end());
    }
    rows = f.size() / block;
    if (rows == 0) return;
    double sum = 0.0;
    for (std::size_t r = 0; r < rows; ++r) sum += f[r * block] + f[r * block + 1];
    const double centre = sum / static_cast<double>(2 * rows);
    for (double& v : f) v -= centre;
  }

  // First order, then total, of every axis, over the rows that `chosen` names.
  template <class Chosen>
  void estimate(Chosen chosen, std::vector<double>& indices) const {
    indices.assign(2 * axes, 0.0);
    double sum = 0.0, squares = 0.0;
    for (std::size_t k = 0; k < rows; ++k) {
      const double* row = f.data() + chosen(k) * (axes + 2);
      const double a = row[0], b = row[1];
      sum += a + b;
      squares += a * a + b * b;
      for (std::size_t c = 0; c < axes; ++c) {
        const double ab = row[2 + c];
        indices[c] += b * (ab - a);
        indices[axes + c] += 0.5 * (a - ab) * (a - ab);
      }
    }
    const auto n = static_cast<double>(rows);
    const double variance = squares / (2 * n) - sum / (2 * n) * (sum / (2 * n));
    for (double& index : indices) index = variance > 0.0 ? index / n / variance : nan;
  }
};

std::vector<double> ranks_of(std::span<const double> x) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t k = 0; k < x.size(); ++k) order.push_back({x[k], k});
  std::sort(order.begin(), order.end());
  std::vector<double> ranks(x.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && order[last].first == order[first].first) ++last;
    for (std::size_t k = first; k < last; ++k)  // equals share the mean of their ranks
      ranks[order[k].second] = 0.5 * static_cast<double>(first + last - 1);
  }
  return ranks;
}

double correlation(std::span<const double> x, std::span<const double> y) {
  const double mx = mean(x), my = mean(y);
  double xy = 0.0, xx = 0.0, yy = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    xy += (x[k] - mx) * (y[k] - my);
    xx += (x[k] - mx) * (x[k] - mx);
    yy += (y[k] - my) * (y[k] - my);
  }
  return xx > 0.0 && yy > 0.0 ? xy / std::sqrt(xx * yy) : nan;
}

}  // namespace

std::vector<MorrisIndex> morris_indices(const std::vector<Axis>& axes, const SampleSet& samples,
                                        std::span<const double> results) {
  std::vector<std::vector<double>> effects(axes.size());
  for (std::size_t r = 0; r + 1 < samples.rows(); ++r) {
    if ((r + 1) % (axes.size() + 1) == 0) continue;  // from one trajectory to the next
    const auto from = samples.row(r), to = samples.row(r + 1);
    for (std::size_t c = 0; c < axes.size(); ++c) {
      if (from[c] == to[c]) continue;
      const double step = along(axes[c], to[c]) - along(axes[c], from[c]);
      const double effect = (results[r + 1] - results[r]) / step;
      if (std::isfinite(effect)) effects[c].push_back(effect);
    }
  }
  std::vector<MorrisIndex> indices;
  for (const auto& of_axis : effects) indices.push_back(index_of(of_axis));
  return indices;
}

std::vector<SobolIndex> sobol_indices(std::size_t axes, std::span<const double> results, std::uint64_t seed) {
  std::vector<SobolIndex> indices(axes, {{nan, nan, nan}, {nan, nan, nan}});
  const SobolRows rows(axes, results);
  if (rows.rows < 2) return indices;
  std::vector<double> values, round;
  rows.estimate([](std::size_t k) { return k; }, values);
  std::vector<std::vector<double>> rounds(2 * axes);
  for (std::size_t b = 0; b < bootstrap_rounds; ++b) {
    rows.estimate(
        [&](std::size_t k) {
          return static_cast<std::size_t>(uniform_number(seed ^ 0xb007, b, k) *
                                          static_cast<double>(rows.rows));
        },
        round);
    for (std::size_t i = 0; i < round.size(); ++i)
      if (std::isfinite(round[i])) rounds[i].push_back(round[i]);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& interval = i < axes ? indices[i].first : indices[i - axes].total;
    interval.value = values[i];
    auto& drawn = rounds[i];
    if (drawn.size() < bootstrap_rounds / 2) continue;
    std::sort(drawn.begin(), drawn.end());
    const double last = static_cast<double>(drawn.size() - 1);
    interval.low = drawn[static_cast<std::size_t>(std::lround(0.025 * last))];
    interval.high = drawn[static_cast<std::size_t>(std::lround(0.975 * last))];
  }
  return indices;
}

std::vector<double> rank_correlations(const SampleSet& samples, std::span<const double> results) {
  const std::vector<double> one(results.begin(), results.end());
  return rank_correlations(samples, std::span(&one, 1)).front();
}

std::vector<std::vector<double>> rank_correlations(const SampleSet& samples,
                                                   std::span<const std::vector<double>> results) {
  std::vector<std::vector<double>> all, x_ranks;
  std::vector<std::size_t> ranked;  // the samples that x_ranks are of
  for (const std::vector<double>& of_samples : results) {
    std::vector<double> y;
    std::vector<std::size_t> finite;
    for (std::size_t r = 0; r < of_samples.size(); ++r)
      if (std::isfinite(of_samples[r])) {
        y.push_back(of_samples[r]);
        finite.push_back(r);
      }
    auto& correlations = all.emplace_back(samples.width, nan);
    if (y.size() < 2) continue;
    if (finite != ranked) {
      x_ranks.clear();
      for (std::size_t c = 0; c < samples.width; ++c) {
        std::vector<double> x;
        for (const std::size_t r : finite) x.push_back(samples.row(r)[c]);
        x_ranks.push_back(ranks_of(x));
      }
      ranked = std::move(finite);
    }
    const std::vector<double> y_ranks = ranks_of(y);
    for (std::size_t c = 0; c < samples.width; ++c) correlations[c] = correlation(x_ranks[c], y_ranks);
  }
  return all;
}

SampleSummary summary_of(std::span<const double> results) {
  SampleSummary summary{0, nan, nan, nan, nan};
  std::vector<double> finite;
  for (const double v : results)
    if (std::isfinite(v)) finite.push_back(v);
  summary.count = finite.size();
  if (finite.empty()) return summary;
  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  summary.lowest = *low, summary.highest = *high, summary.mean = mean(finite);
  double squares = 0.0;
  for (const double v : finite) squares += (v - summary.mean) * (v - summary.mean);
  if (finite.size() > 1) summary.deviation = std::sqrt(squares / static_cast<double>(finite.size() - 1));
  return summary;
}

}  // namespace tellegen
