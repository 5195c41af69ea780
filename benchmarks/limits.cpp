#include "benchmarks/limits.h"

#include <utility>

#include "benchmarks/best_of.h"
#include "benchmarks/limit_steps.h"

namespace tellegen {
namespace {

using namespace limit;

// x_dot = a x + b E(t) with constant a and b: both formulas become one matrix and one vector.
//
//   trapezoidal  x_next = P x + p (E_next + E),   P = (2/h - a)^-1 (2/h + a),   p = (2/h - a)^-1 b
//   BDF3         x_next = Q (3 x - 3/2 x_1 + 1/3 x_2) + q E_next,   Q = (11/6h - a)^-1 / h,   q = h Q b
template <int n>
struct LinearStep {
  Matrix<n> P, Q;
  Vector<n> p, q;

  LinearStep(const Matrix<n>& a, const Vector<n>& b, double h) {
    Vector<n> one;
    one.fill(1);
    const Matrix<n> trapezoidal = inverse<n>(shifted<n>(2 / h, one, -1, a));
    P = multiply<n>(trapezoidal, shifted<n>(2 / h, one, 1, a));
    p = multiply<n>(trapezoidal, b);
    Q = inverse<n>(shifted<n>(bdf3.leading / h, one, -1, a));
    q = multiply<n>(Q, b);
    for (auto& column : Q) {
      for (double& entry : column) entry /= h;
    }
  }
};

// Takes all steps from x = 0; `done(x, E)` after each.
template <int n, class Done>
void run_linear(const LinearStep<n>& step, LimitFormula formula, long steps, double h, Done&& done) {
  SineSource source(h);
  Vector<n> x{}, x_1{}, x_2{};
  double e = 0;
  const long trapezoidal_steps = formula == LimitFormula::trapezoidal ? steps : bdf3.order - 1;
  for (long k = 0; k < trapezoidal_steps; ++k) {
    const double e_next = source.next();
    x_2 = x_1, x_1 = x;
    x = multiply<n>(step.P, x);
    for (int i = 0; i < n; ++i) x[i] += step.p[i] * (e_next + e);
    e = e_next;
    done(x, e);
  }
  for (long k = trapezoidal_steps; k < steps; ++k) {
    e = source.next();
    Vector<n> history;
    for (int i = 0; i < n; ++i) history[i] = bdf3.h1 * x[i] + (bdf3.h2 * x_1[i] + bdf3.h3 * x_2[i]);
    x_2 = x_1, x_1 = x;
    x = multiply<n>(step.Q, history);
    for (int i = 0; i < n; ++i) x[i] += step.q[i] * e;
    done(x, e);
  }
}

void require_trapezoidal_or_bdf3(LimitFormula formula) {
  if (formula == LimitFormula::bdf2) throw std::invalid_argument("limit: no BDF2 for this circuit");
}

constexpr double resistance = 10, inductance = 0.1, ladder_capacitance = 0.1;

// Two loops as four dense states i_1, i_2, v_1, v_2: 0.1 i_dot = E - M i - v, M = 10 [1 1; 1 2].
LimitRun limit_two_loops(LimitFormula formula, double h, LadderBranch branch, double budget) {
  const double r = resistance / inductance, l = 1 / inductance, c = 1 / ladder_capacitance;
  const Matrix<4> a{{{-r, -r, c, 0}, {-r, -2 * r, 0, c}, {-l, 0, 0, 0}, {0, -l, 0, 0}}};
  const LinearStep<4> step(a, {l, l, 0, 0}, h);
  Samples samples(1, 100, h);
  const int monitored = branch == LadderBranch::first ? 0 : 1;
  const auto run = [&] {
    samples.restart();
    run_linear<4>(step, formula, samples.steps(), h, [&](const Vector<4>& x, double) {
      samples.step([&] { return Monitored{x[2 + monitored], x[monitored]}; });
    });
  };
  return samples.finish(best_of(run, budget));
}

// The rail: -g u[k-1] + (2g + Y) u[k] - g u[k+1] = Y e[k], the last diagonal g + Y, with g E added to row 0.
//
// The elimination runs from both ends to the middle and the substitution back, so that two short chains of
// dependent operations overlap instead of one long chain.
class Rail {
 public:
  Rail(int loops, double admittance) : loops_(loops), middle_(loops / 2), carry_(loops), scale_(loops) {
    std::vector<double> pivot(loops);
    const auto diagonal = [&](int k) { return (k < loops - 1 ? 2 * g : g) + admittance; };
    for (int k = 0; k < middle_; ++k) pivot[k] = diagonal(k) - (k > 0 ? g * g / pivot[k - 1] : 0);
    for (int k = loops - 1; k > middle_; --k) {
      pivot[k] = diagonal(k) - (k < loops - 1 ? g * g / pivot[k + 1] : 0);
    }
    pivot[middle_] = diagonal(middle_) - g * g / pivot[middle_ - 1];
    if (middle_ + 1 < loops) pivot[middle_] -= g * g / pivot[middle_ + 1];
    for (int k = 0; k < loops; ++k) carry_[k] = g / pivot[k], scale_[k] = admittance / pivot[k];
  }

  void solve(double source, const double* __restrict e, double* __restrict u) const {
    const double* __restrict carry = carry_.data();
    const double* __restrict scale = scale_.data();
    const int pairs = loops_ - 1 - middle_;  // rows below the middle; above it are as many or one more
    double from_top = source, from_bottom = 0;
    for (int k = 0; k < pairs; ++k) {
      const int j = loops_ - 1 - k;
      u[k] = from_top = carry[k] * from_top + scale[k] * e[k];
      u[j] = from_bottom = carry[j] * from_bottom + scale[j] * e[j];
    }
    if (pairs < middle_) u[pairs] = from_top = carry[pairs] * from_top + scale[pairs] * e[pairs];
    const double centre = carry[middle_] * (from_top + from_bottom) + scale[middle_] * e[middle_];
    u[middle_] = centre;
    double up = centre, down = centre;
    for (int k = 1; k <= pairs; ++k) {
      u[middle_ - k] = up = u[middle_ - k] + carry[middle_ - k] * up;
      u[middle_ + k] = down = u[middle_ + k] + carry[middle_ + k] * down;
    }
    if (pairs < middle_) u[0] += carry[0] * up;
  }

 private:
  static constexpr double g = 1 / resistance;
  int loops_, middle_;
  std::vector<double> carry_, scale_;
};

// One series L-C branch under a formula with derivative factor a: u = Z i + e with e from the past.
struct Branch {
  double a, per_ca, z, y;
  explicit Branch(double factor)
      : a(factor), per_ca(1 / (ladder_capacitance * a)), z(inductance * a + per_ca), y(1 / z) {}
};

// State of all branches. `i`, `v`: newest first; `u`: rail potentials; `e`: right-hand side.
struct Ladder {
  explicit Ladder(int n) : loops(n), u(n), e(n), i{u, u, u}, v{u, u, u} {}
  void clear() {
    for (auto* column : {&u, &i[0], &i[1], &i[2], &v[0], &v[1], &v[2]}) column->assign(loops, 0.0);
  }
  int loops;
  std::vector<double> u, e;
  std::array<std::vector<double>, 3> i, v;
};

// Makes the oldest column the newest; its old content is still there, which the BDF3 step uses.
void rotate(std::array<std::vector<double>, 3>& columns) {
  std::swap(columns[2], columns[1]);
  std::swap(columns[1], columns[0]);
}

// u_next + u = L a (i_next - i) + v_next + v and v_next = v + (i_next + i) / (C a), a = 2/h.
void trapezoidal_step(const Branch& b, const Rail& rail, double source, Ladder& ladder) {
  rotate(ladder.i), rotate(ladder.v);
  const int n = ladder.loops;
  double* __restrict e = ladder.e.data();
  double* __restrict u = ladder.u.data();
  double* __restrict i_next = ladder.i[0].data();
  double* __restrict v_next = ladder.v[0].data();
  const double* __restrict i = ladder.i[1].data();
  const double* __restrict v = ladder.v[1].data();
  const double factor = b.per_ca - inductance * b.a;
  for (int k = 0; k < n; ++k) e[k] = factor * i[k] + 2 * v[k] - u[k];
  rail.solve(source, e, u);
  for (int k = 0; k < n; ++k) {
    i_next[k] = (u[k] - e[k]) * b.y;
    v_next[k] = v[k] + b.per_ca * (i_next[k] + i[k]);
  }
}

// u = L (a i - i_past) + v and C (a v - v_past) = i, a = 11/6h.
void bdf3_step(const Branch& b, const Rail& rail, double h, double source, Ladder& ladder) {
  rotate(ladder.i), rotate(ladder.v);
  const int n = ladder.loops;
  double* __restrict e = ladder.e.data();
  double* __restrict u = ladder.u.data();
  double* __restrict i_next = ladder.i[0].data();  // holds the oldest currents until overwritten
  double* __restrict v_next = ladder.v[0].data();
  const double* __restrict i = ladder.i[1].data();
  const double* __restrict v = ladder.v[1].data();
  const double* __restrict i_1 = ladder.i[2].data();
  const double* __restrict v_1 = ladder.v[2].data();
  const double i_scale = -inductance / h, v_scale = 1 / (b.a * h);
  for (int k = 0; k < n; ++k) {
    const double i_past = bdf3.h1 * i[k] + bdf3.h2 * i_1[k] + bdf3.h3 * i_next[k];
    const double v_past = v_scale * (bdf3.h1 * v[k] + bdf3.h2 * v_1[k] + bdf3.h3 * v_next[k]);
    e[k] = i_scale * i_past + v_past;
    v_next[k] = v_past;
  }
  rail.solve(source, e, u);
  for (int k = 0; k < n; ++k) {
    i_next[k] = (u[k] - e[k]) * b.y;
    v_next[k] += b.per_ca * i_next[k];
  }
}

}  // namespace

LimitRun limit_rlc(LimitFormula formula, double h, double budget) {
  require_trapezoidal_or_bdf3(formula);
  constexpr double c1 = 0.4, c2 = 0.2, c = c1 + c2;
  const Matrix<2> a{{{-1 / (resistance * c), 1 / inductance}, {-1 / c, 0}}};  // states V3, I_L1
  const LinearStep<2> step(a, {1 / (resistance * c), 0}, h);
  Samples samples(10, 1000, h);
  std::array<double, 8> tableau{};  // V1, V2, V3 and the currents of E1, R1, L1, C1, C2
  const auto run = [&] {
    samples.restart();
    run_linear<2>(step, formula, samples.steps(), h, [&](const Vector<2>& x, double e) {
      const double i_r = (e - x[0]) * (1 / resistance), i_c = i_r - x[1];
      tableau = {0, e, x[0], -i_r, i_r, x[1], i_c * (c1 / c), i_c * (c2 / c)};
      keep(tableau.data());
      samples.step([&] { return Monitored{x[0], x[1]}; });
    });
  };
  return samples.finish(best_of(run, budget));
}

LimitRun limit_ladder(LimitFormula formula, int loops, double h, LadderBranch branch, double budget) {
  require_trapezoidal_or_bdf3(formula);
  if (loops < 2) throw std::invalid_argument("limit: a ladder has at least two loops");
  if (loops == 2) return limit_two_loops(formula, h, branch, budget);
  const Branch trapezoidal(2 / h), bdf(bdf3.leading / h);
  const Rail trapezoidal_rail(loops, trapezoidal.y), bdf_rail(loops, bdf.y);
  Ladder ladder(loops);
  Samples samples(1, 100, h);
  const int monitored = branch == LadderBranch::first ? 0 : loops - 1;
  const long starting_steps = formula == LimitFormula::trapezoidal ? samples.steps() : bdf3.order - 1;
  const auto run = [&] {
    samples.restart();
    ladder.clear();
    SineSource source(h);
    for (long k = 0; k < samples.steps(); ++k) {
      if (k < starting_steps) {
        trapezoidal_step(trapezoidal, trapezoidal_rail, source.next(), ladder);
      } else {
        bdf3_step(bdf, bdf_rail, h, source.next(), ladder);
      }
      samples.step([&] { return Monitored{ladder.v[0][monitored], ladder.i[0][monitored]}; });
    }
  };
  return samples.finish(best_of(run, budget));
}

}  // namespace tellegen
