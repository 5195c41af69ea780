// What the hand-written limits share: the sample grid, the 5 Hz source, small dense matrices, formula
// constants.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

#include "benchmarks/limits.h"

namespace tellegen::limit {

struct Monitored {
  double first, second;
};

// Stores the monitored variables every `every` steps.
class Samples {
 public:
  Samples(double t_end, int count, double h)
      : every_(std::lround(t_end / count / h)), steps_(every_ * count) {
    if (every_ < 1 || std::abs(every_ * h * count - t_end) > 1e-9 * t_end) {
      throw std::invalid_argument("limit: the step does not divide the sample interval");
    }
    run_.steps = steps_;
    run_.t.resize(count), run_.first.resize(count), run_.second.resize(count);
    for (int i = 0; i < count; ++i) run_.t[i] = (i + 1) * t_end / count;
  }
  long steps() const { return steps_; }
  void restart() { next_ = 0, left_ = every_; }

  // Call once after every step; `monitored` is evaluated at the samples only.
  template <class Evaluate>
  void step(Evaluate&& monitored) {
    if (--left_ > 0) return;
    left_ = every_;
    const Monitored value = monitored();
    run_.first[next_] = value.first, run_.second[next_] = value.second;
    ++next_;
  }
  LimitRun finish(double seconds) {
    run_.seconds = seconds;
    return std::move(run_);
  }

 private:
  LimitRun run_;
  long every_, steps_;
  long left_ = 0;
  int next_ = 0;
};

// 100 sin(10 pi k h), k = 1, 2, ...: a rotation per step, set right by sin and cos every 256 steps.
class SineSource {
 public:
  explicit SineSource(double h) : h_(h), cos_step_(std::cos(omega * h)), sin_step_(std::sin(omega * h)) {}
  double next() {
    if ((++k_ & 255) == 0) {
      const double phase = 2 * std::numbers::pi * std::fmod(5.0 * h_ * static_cast<double>(k_), 1.0);
      sin_ = 100 * std::sin(phase), cos_ = 100 * std::cos(phase);
    } else {
      const double sin_next = sin_ * cos_step_ + cos_ * sin_step_;
      cos_ = cos_ * cos_step_ - sin_ * sin_step_;
      sin_ = sin_next;
    }
    return sin_;
  }

 private:
  static constexpr double omega = 10 * std::numbers::pi;
  double h_, cos_step_, sin_step_, sin_ = 0, cos_ = 100;
  long k_ = 0;
};

// The compiler must assume that *data is read here, so a stored result cannot be optimised away.
inline void keep(const void* data) { asm volatile("" : : "r"(data) : "memory"); }

template <int n>
using Vector = std::array<double, n>;
template <int n>
using Matrix = std::array<Vector<n>, n>;  // columns

template <int n>
inline Vector<n> multiply(const Matrix<n>& a, const Vector<n>& x) {
  Vector<n> y;
  for (int i = 0; i < n; ++i) y[i] = a[0][i] * x[0];
  for (int j = 1; j < n; ++j) {
    for (int i = 0; i < n; ++i) y[i] += a[j][i] * x[j];
  }
  return y;
}

template <int n>
Matrix<n> multiply(const Matrix<n>& a, const Matrix<n>& b) {
  Matrix<n> c;
  for (int j = 0; j < n; ++j) c[j] = multiply<n>(a, b[j]);
  return c;
}

// Gauss-Jordan without pivoting: every matrix inverted here is diagonally heavy. Not timed.
template <int n>
Matrix<n> inverse(Matrix<n> a) {
  Matrix<n> b{};
  for (int j = 0; j < n; ++j) b[j][j] = 1;
  for (int p = 0; p < n; ++p) {
    const double pivot = 1 / a[p][p];
    for (int j = 0; j < n; ++j) a[j][p] *= pivot, b[j][p] *= pivot;
    for (int i = 0; i < n; ++i) {
      const double factor = a[p][i];
      if (i == p || factor == 0) continue;
      for (int j = 0; j < n; ++j) a[j][i] -= factor * a[j][p], b[j][i] -= factor * b[j][p];
    }
  }
  return b;
}

// alpha * diag + sign * a.
template <int n>
Matrix<n> shifted(double alpha, const Vector<n>& diagonal, double sign, const Matrix<n>& a) {
  Matrix<n> result;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) result[j][i] = sign * a[j][i] + (i == j ? alpha * diagonal[i] : 0);
  }
  return result;
}

// x_next_dot = leading / h * x_next - (h1 x + h2 x_1 + h3 x_2) / h.
struct Bdf {
  int order;
  double leading, h1, h2, h3;
};
inline constexpr Bdf bdf2{2, 3.0 / 2, 2, -1.0 / 2, 0};
inline constexpr Bdf bdf3{3, 11.0 / 6, 3, -3.0 / 2, 1.0 / 3};

}  // namespace tellegen::limit
