#include "tellegen/sweep/samples.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "runtime/tellegen_math.h"

namespace tellegen {
namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ull;

std::uint64_t hash(std::uint64_t seed, std::uint64_t sequence, std::uint64_t k) {
  return tellegen_mix(tellegen_mix(tellegen_mix(seed + golden) + sequence + golden) + k + golden);
}

// 0..1 to the axis.
double on_axis(const Axis& axis, double u) {
  if (u <= 0.0) return axis.lower;
  if (u >= 1.0) return axis.upper;
  if (axis.log) return axis.lower * std::pow(axis.upper / axis.lower, u);
  return (1.0 - u) * axis.lower + u * axis.upper;
}

// 0.4, not 0.39999999999999997: what a person would have written in its place.
double tidy(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", value);
  return std::strtod(text, nullptr);
}

// A permutation of 0..count-1 [Fisher and Yates].
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t sequence) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t k = count; k > 1; --k) {
    const auto other = static_cast<std::size_t>(uniform_number(seed, sequence, k) * static_cast<double>(k));
    std::swap(order[k - 1], order[other]);
  }
  return order;
}

// Columns of a Latin hypercube in 0..1, row by row.
std::vector<double> unit_hypercube(std::size_t samples, std::size_t width, std::uint64_t seed) {
  std::vector<double> u(samples * width);
  for (std::size_t c = 0; c < width; ++c) {
    const auto layer = shuffled(samples, seed, 2 * c);
    for (std::size_t r = 0; r < samples; ++r)
      u[r * width + c] =
          (static_cast<double>(layer[r]) + uniform_number(seed, 2 * c + 1, r)) / static_cast<double>(samples);
  }
  return u;
}

}  // namespace

double uniform_number(std::uint64_t seed, std::uint64_t sequence, std::uint64_t k) {
  return static_cast<double>(hash(seed, sequence, k) >> 11) * 0x1p-53;
}

std::vector<double> grid_values(double lower, double upper, bool log, int count) {
  std::vector<double> values(count);
  const double last = count - 1;
  for (int k = 0; k < count; ++k)
    values[k] =
        tidy(log ? lower * std::pow(upper / lower, k / last) : (lower * (last - k) + upper * k) / last);
  values.front() = lower;  // to the last bit, and also where there is one only
  if (count > 1) values.back() = upper;
  return values;
}

SampleSet grid_samples(const std::vector<Axis>& axes) {
  std::size_t rows = 1;
  for (const Axis& axis : axes) rows *= axis.values.size();
  SampleSet set{axes.size(), std::vector<double>(rows * axes.size())};
  for (std::size_t r = 0; r < rows; ++r) {
    std::size_t rest = r;
    for (std::size_t c = axes.size(); c-- > 0; rest /= axes[c].values.size())
      set.values[r * axes.size() + c] = axes[c].values[rest % axes[c].values.size()];
  }
  return set;
}

SampleSet latin_hypercube(const std::vector<Axis>& axes, std::size_t samples, std::uint64_t seed) {
  const std::size_t width = axes.size();
  SampleSet set{width, unit_hypercube(samples, width, seed)};
  for (std::size_t k = 0; k < set.values.size(); ++k) set.values[k] = on_axis(axes[k % width], set.values[k]);
  return set;
}

SampleSet morris_samples(const std::vector<Axis>& axes, std::size_t trajectories, std::uint64_t seed) {
  const std::size_t width = axes.size();
  SampleSet set{width, {}};
  set.values.reserve(trajectories * (width + 1) * width);
  std::vector<double> at(width);
  const auto add = [&] {
    for (std::size_t c = 0; c < width; ++c) set.values.push_back(on_axis(axes[c], at[c]));
  };
  for (std::size_t t = 0; t < trajectories; ++t) {
    // Levels 0 and 1/3 can go up by 2/3, 2/3 and 1 can go down.
    for (std::size_t c = 0; c < width; ++c) at[c] = std::floor(4.0 * uniform_number(seed, 2 * t, c)) / 3.0;
    add();
    for (const std::size_t c : shuffled(width, seed, 2 * t + 1)) {
      at[c] += at[c] < 0.5 ? morris_step : -morris_step;
      add();
    }
  }
  return set;
}

SampleSet sobol_samples(const std::vector<Axis>& axes, std::size_t base, std::uint64_t seed) {
  const std::size_t width = axes.size();
  const std::vector<double> u = unit_hypercube(base, 2 * width, seed);
  SampleSet set{width, {}};
  set.values.reserve(base * (width + 2) * width);
  for (std::size_t r = 0; r < base; ++r) {
    const double *a = u.data() + r * 2 * width, *b = a + width;
    const auto add = [&](const double* row, std::size_t replaced) {
      for (std::size_t c = 0; c < width; ++c)
        set.values.push_back(on_axis(axes[c], c == replaced ? b[c] : row[c]));
    };
    add(a, width);
    add(b, width);
    for (std::size_t c = 0; c < width; ++c) add(a, c);
  }
  return set;
}

}  // namespace tellegen
