#include "benchmarks/limit_filter.h"

#include <Eigen/Dense>
#include <stdexcept>

#include "benchmarks/best_of.h"

namespace tellegen {
namespace {

template <int N, int M>
LimitFilterRun run(const LimitFilterProblem& problem, const std::vector<double>& readings, double budget) {
  using Square = Eigen::Matrix<double, N, N>;
  using State = Eigen::Matrix<double, N, 1>;
  using RowMajor = Eigen::Matrix<double, N, N, Eigen::RowMajor>;
  const Square phi = Eigen::Map<const RowMajor>(problem.phi.data());
  const State g = Eigen::Map<const State>(problem.g.data()), q = Eigen::Map<const State>(problem.q.data());
  State h[M];
  for (int s = 0; s < M; ++s) h[s] = Eigen::Map<const State>(problem.h.data() + s * N);
  LimitFilterRun result;
  const long rows = static_cast<long>(readings.size()) / M;
  State x;
  Square p;
  result.seconds = best_of(
      [&] {
        x = Eigen::Map<const State>(problem.x.data());
        p = Eigen::Map<const RowMajor>(problem.p.data());
        const double* y = readings.data();
        for (long k = 0; k < rows; ++k, y += M) {
          if (k > 0) {
            x = (phi * x + g).eval();
            p = (phi * p * phi.transpose()).eval();
            p.diagonal() += q;
          }
          for (int s = 0; s < M; ++s) {
            if (!(y[s] == y[s])) continue;
            const State w = p * h[s];
            const double variance = h[s].dot(w) + problem.r[static_cast<std::size_t>(s)];
            const State gain = w / variance;
            x += gain * (y[s] - h[s].dot(x) - problem.d[static_cast<std::size_t>(s)]);
            p += gain * (variance * gain - w).transpose() - w * gain.transpose();
          }
        }
      },
      budget);
  result.x.assign(x.data(), x.data() + N);
  const RowMajor end = p;
  result.p.assign(end.data(), end.data() + N * N);
  return result;
}

}  // namespace

LimitFilterRun limit_filter(const LimitFilterProblem& problem, const std::vector<double>& readings,
                            double budget) {
  if (problem.states == 3 && problem.sensors == 2) return run<3, 2>(problem, readings, budget);
  if (problem.states == 6 && problem.sensors == 3) return run<6, 3>(problem, readings, budget);
  if (problem.states == 8 && problem.sensors == 3) return run<8, 3>(problem, readings, budget);
  throw std::invalid_argument("limit_filter: not written for this size");
}

}  // namespace tellegen
