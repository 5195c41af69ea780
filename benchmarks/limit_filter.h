// A Kalman filter as a person writes it for one model: sizes known to the compiler, constant matrices,
// readings one after the other, covariance in Joseph's form. What generated code is held against.
#pragma once

#include <vector>

namespace tellegen {

// x' = Phi x + g, readings H x + d; N states, M sensors.
struct LimitFilterProblem {
  int states = 0, sensors = 0;
  std::vector<double> phi, g, q;  // row major; q: variance added in each step
  std::vector<double> h, d, r;    // r: variances of the readings
  std::vector<double> x, p;       // start
};

struct LimitFilterRun {
  std::vector<double> x, p;  // at the end
  double seconds = 0.0;      // best repetition
};

// `readings`: [row][sensor], NaN: missing. Throws std::invalid_argument for a size it was not written for.
LimitFilterRun limit_filter(const LimitFilterProblem& problem, const std::vector<double>& readings,
                            double budget);

}  // namespace tellegen
