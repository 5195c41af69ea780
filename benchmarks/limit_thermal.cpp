#include <cmath>
#include <numbers>
#include <utility>

#include "benchmarks/best_of.h"
#include "benchmarks/limit_steps.h"
#include "benchmarks/limits.h"

// The motor, reduced exactly. Its two ends are equal and are folded into one of twice the conductance,
// capacity and loss; the nodes without capacity are eliminated. That leaves the heat flow q over the air gap
// and a chain of seven temperatures, padded to eight for the vector units:
//
//   magnets T2 - axis T1 - bearings - plates - housing T9 - yoke T8 - copper T7,   C x_dot = -G x + s + b q.
//
// q enters through one constant vector, so every step is one constant matrix product, x = free + w q, and the
// scalar equation q = g(film) (T3 - T4) whose both arguments are linear in q: the Sherman-Morrison form of
// the rank-one change of the air-gap conductance g.

namespace tellegen {
namespace {

using namespace limit;

constexpr int states = 8;
enum State { magnets, axis, bearings, plates, housing, yoke, copper, padding };
constexpr double outer_rotor = 0.015, tooth_1 = 0.025;  // K/W, either side of the air gap
constexpr double water = 0.001, water_temperature = 320, environment = 300, tooth_loss = 200;

// Conductance of the air gap in W/K at the film temperature: Taylor number, Nusselt number, conductivity of
// air.
double air_gap_conductance(double film) {
  constexpr double gap = 0.82e-3, radius = 72.61e-3, omega = 1570, area = 0.0311, pi = std::numbers::pi;
  static const double taylor_times_nu_squared = [] {  // Eqs. A4 to A8 of the paper
    const double x = (gap / radius) / (1 - gap / (2 * radius));
    const double p = 0.0571 * (1 - 0.625 * x) + 0.00056 / (1 - 0.625 * x);
    const double fg = std::pow(pi, 4) / (p * 1697 * std::pow(1 - gap / (2 * radius), 2));
    return omega * omega * radius * gap * gap * gap / fg;
  }();
  const double ratio = film / 273.15, ratio_15 = ratio * std::sqrt(ratio);
  const double nu = 1.716e-5 * ratio_15 * 383.55 / (film + 110.4) * (287.05 / 101325) * film;
  const double conductivity = 0.0241 * ratio_15 * 467.15 / (film + 194);
  const double taylor = taylor_times_nu_squared / (nu * nu);
  const double nusselt = taylor >= 1e4    ? 0.409 * std::pow(taylor, 0.241)
                         : taylor >= 1700 ? 0.128 * std::pow(taylor, 0.367)
                                          : 2.0;
  return nusselt * conductivity / (2 * gap) * area;
}

// C, G, s, b, and the tooth temperature T5 = tooth_7 T7 + tooth_8 T8 + tooth_q (q + tooth_loss).
struct Motor {
  Vector<states> capacity{5000, 2000, 2 * 500, 2 * 300, 3000, 1500, 2000, 1};
  Vector<states> source{150, 0, 2 * 50, 0, water_temperature / water, 0, 2000, 0};
  Vector<states> from_gap{};
  Matrix<states> conductance{};
  double tooth_7, tooth_8, tooth_q;

  void connect(State a, State b, double resistance) {
    conductance[a][a] += 1 / resistance, conductance[b][b] += 1 / resistance;
    conductance[a][b] -= 1 / resistance, conductance[b][a] -= 1 / resistance;
  }

  Motor() {
    connect(magnets, axis, 0.025);
    connect(axis, bearings, (1 + 3) / 2.0);  // axis and bearing resistance in series, at each end
    connect(bearings, plates, 0.5 / 2);
    connect(plates, housing, 0.25 / 2);
    connect(housing, yoke, 0.0025);
    conductance[housing][housing] += 1 / water;
    conductance[padding][padding] = 1;

    // Tooth 5 and slot 6:  (g65 + g58) T5 - g65 T6 = g58 T8 + q + loss,
    //                      (g76 + g65 + g68) T6 - g65 T5 = g76 T7 + g68 T8.
    const double g65 = 1 / 0.01, g58 = 1 / 0.01, g76 = 1 / 0.05, g68 = 1 / 0.001;
    const double k55 = g65 + g58, k66 = g76 + g65 + g68, determinant = k55 * k66 - g65 * g65;
    tooth_q = k66 / determinant;
    tooth_7 = g65 * g76 / determinant;
    tooth_8 = (k66 * g58 + g65 * g68) / determinant;
    const double slot_q = g65 / determinant, slot_7 = k55 * g76 / determinant;
    const double slot_8 = (g65 * g58 + k55 * g68) / determinant;
    conductance[copper][copper] += g76 * (1 - slot_7);
    conductance[yoke][copper] -= g76 * slot_8;  // column, row
    conductance[yoke][yoke] += g58 * (1 - tooth_8) + g68 * (1 - slot_8);
    conductance[copper][yoke] -= g58 * tooth_7 + g68 * slot_7;
    from_gap[magnets] = -1;
    from_gap[copper] = g76 * slot_q;
    from_gap[yoke] = g58 * tooth_q + g68 * slot_q;
    for (State k : {copper, yoke}) source[k] += from_gap[k] * tooth_loss;
  }

  double tooth(const Vector<states>& x, double q) const {
    return tooth_7 * x[copper] + tooth_8 * x[yoke] + tooth_q * (q + tooth_loss);
  }
};

// The formula C (a x_next) + G x_next = ...: propagation of the past, response to s and to the gap.
struct Step {
  Matrix<states> propagate;
  Vector<states> constant, gap;
  double rise, film_rise;  // change of T3 - T4 and of the film temperature with q

  // `weight` of s: 2 for the trapezoidal rule, which sums both ends of the step, else 1.
  Step(const Motor& motor, double a, double weight, const Matrix<states>& past) {
    const auto solve = inverse<states>(shifted<states>(a, motor.capacity, 1, motor.conductance));
    propagate = multiply<states>(solve, past);
    constant = multiply<states>(solve, motor.source);
    for (double& value : constant) value *= weight;
    gap = multiply<states>(solve, motor.from_gap);
    set_rises(motor);
  }
  // At t = 0 the states are given: they do not respond.
  explicit Step(const Motor& motor) : propagate{}, constant{}, gap{} { set_rises(motor); }

  void set_rises(const Motor& motor) {
    const double t3 = gap[magnets] - outer_rotor;
    const double t4 = motor.tooth(gap, 1) - motor.tooth_q * tooth_loss + tooth_1;
    rise = t3 - t4, film_rise = (t3 + t4) / 2;
  }
};

// Heat flow over the gap, with the states free + gap q. The conductance changes by 5e-5 of itself per kelvin,
// so one iteration shrinks an error of the film temperature by 1e-4: a correction of 0.01 K leaves 1e-6 K.
double gap_flow(const Motor& motor, const Step& step, const Vector<states>& free, double& film) {
  const double t3 = free[magnets], t4 = motor.tooth(free, 0);
  for (int iteration = 0;; ++iteration) {
    const double g = air_gap_conductance(film);
    const double q = g * (t3 - t4) / (1 - g * step.rise);
    const double corrected = (t3 + t4) / 2 + step.film_rise * q;
    const double correction = std::abs(corrected - film);
    film = corrected;
    if (correction < 1e-2 || iteration == 9) return q;
  }
}

}  // namespace

LimitRun limit_thermal(LimitFormula formula, double h, double budget) {
  if (formula == LimitFormula::bdf2) throw std::invalid_argument("limit: no BDF2 for this circuit");
  const Motor motor;
  const auto past = [&](double a, double sign) {
    return shifted<states>(a, motor.capacity, sign, motor.conductance);
  };
  const Step start(motor), trapezoidal(motor, 2 / h, 2, past(2 / h, -1));
  const Step bdf(motor, bdf3.leading / h, 1, past(1 / h, 0));
  Samples samples(5000, 5000, h);
  const long starting_steps = formula == LimitFormula::trapezoidal ? samples.steps() : bdf3.order;
  const auto run = [&] {
    samples.restart();
    Vector<states> x, x_1{}, x_2{};
    x.fill(environment);
    double film = environment;
    double q = gap_flow(motor, start, x, film);
    double film_1 = film;
    for (long k = 0; k < samples.steps(); ++k) {
      const bool starting = k < starting_steps;
      const Step& step = starting ? trapezoidal : bdf;
      Vector<states> history = x;
      if (!starting) {
        for (int i = 0; i < states; ++i) {
          history[i] = bdf3.h1 * x[i] + (bdf3.h2 * x_1[i] + bdf3.h3 * x_2[i]);
        }
      }
      Vector<states> next = multiply<states>(step.propagate, history);
      const double q_past = starting ? q : 0;
      for (int i = 0; i < states; ++i) next[i] += step.constant[i] + step.gap[i] * q_past;
      film = 2 * film - std::exchange(film_1, film);  // the guess: extrapolated
      q = gap_flow(motor, step, next, film);
      for (int i = 0; i < states; ++i) next[i] += step.gap[i] * q;
      x_2 = x_1, x_1 = x, x = next;
      samples.step([&] { return Monitored{x[magnets], (x[housing] - water_temperature) / water}; });
    }
  };
  return samples.finish(best_of(run, budget));
}

}  // namespace tellegen
