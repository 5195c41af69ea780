#include "benchmarks/machine_steps.h"

#include <array>
#include <cmath>

namespace tellegen {
namespace {

constexpr double pi = 3.14159265358979323846, w_b = 2 * pi * 60, sqrt3 = 1.7320508075688772;

template <std::size_t N, class F, class Look>
void runge_kutta(std::array<double, N> z, double h, std::int64_t steps, std::int64_t stride, F&& f,
                 Look&& look) {
  std::array<double, N> k1, k2, k3, k4, s;
  for (std::int64_t step = 0; step < steps; ++step) {
    const double t = h * static_cast<double>(step);
    f(step, t, z, k1);
    for (std::size_t i = 0; i < N; ++i) s[i] = z[i] + 0.5 * h * k1[i];
    f(step, t + 0.5 * h, s, k2);
    for (std::size_t i = 0; i < N; ++i) s[i] = z[i] + 0.5 * h * k2[i];
    f(step, t + 0.5 * h, s, k3);
    for (std::size_t i = 0; i < N; ++i) s[i] = z[i] + h * k3[i];
    f(step, t + h, s, k4);
    for (std::size_t i = 0; i < N; ++i) z[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    if ((step + 1) % stride == 0) look(z);
  }
}

struct Vector {
  double q, d;
};
inline Vector to_qd(double a, double b, double c, double cs, double sn) {
  const double alpha = (2 * a - b - c) / 3, beta = (b - c) / sqrt3;
  return {alpha * cs + beta * sn, alpha * sn - beta * cs};
}
inline void from_qd(double q, double d, double zero, double cs, double sn, double* abc) {
  const double alpha = q * cs + d * sn, beta = q * sn - d * cs;
  abc[0] = zero + alpha;
  abc[1] = zero - 0.5 * alpha + 0.5 * sqrt3 * beta;
  abc[2] = zero - 0.5 * alpha - 0.5 * sqrt3 * beta;
}
inline void supply(double t, double* v) {
  const double cs = std::cos(w_b * t), sn = std::sin(w_b * t);
  v[0] = cs;
  v[1] = -0.5 * cs + 0.5 * sqrt3 * sn;
  v[2] = -0.5 * cs - 0.5 * sqrt3 * sn;
}

// The arctangent characteristic.
struct Curve {
  double tau, knee, Md, Ma, at_zero;
  Curve(double tau, double knee, double Md, double Ma)
      : tau(tau), knee(knee), Md(2 * Md / pi), Ma(Ma), at_zero(antiderivative(-knee)) {}
  double antiderivative(double x) const {
    return x * std::atan(tau * x) - std::log(1 + tau * tau * x * x) / (2 * tau);
  }
  void at(double flux, double& slope, double& ratio) const {
    const double x = flux - knee, angle = std::atan(tau * x);
    slope = Md * angle + Ma;
    ratio =
        flux > 1e-4 * knee
            ? (Md * (x * angle - std::log(1 + tau * tau * x * x) / (2 * tau) - at_zero) + Ma * flux) / flux
            : Md * std::atan(tau * (0.5 * flux - knee)) + Ma;
  }
};

HandRun generator_torque_step(double h, std::int64_t steps, std::int64_t stride) {
  constexpr double rs = 0.00243, Lls = 0.1538 / w_b, Lm = (1.457 - 0.1538) / w_b, J = 0.0658e6;
  constexpr double r1 = 0.00144, Y1 = w_b / 0.6578, r2 = 0.00681, Y2 = w_b / 0.07602, rf = 0.00075,
                   Yf = w_b / 0.1145, rk = 0.01080, Yk = w_b / 0.06577;
  const double V = 26e3 * std::sqrt(2.0 / 3), vfd = 2.48 * V * rf / (1.457 - 0.1538);
  const double Lq = 1 / (1 / Lm + Y1 + Y2), Ld = 1 / (1 / Lm + Yf + Yk);
  const auto torque_at = static_cast<std::int64_t>(std::llround(10 / h));
  const auto torque = [&](const auto& z, double cs, double sn) {
    const Vector i = to_qd(z[0], z[1], z[2], cs, sn);
    return 1.5 * ((Ld * i.d + Ld * (Yf * z[5] + Yk * z[6])) * i.q -
                  (Lq * i.q + Lq * (Y1 * z[3] + Y2 * z[4])) * i.d);
  };
  HandRun run;
  runge_kutta<9>(
      {53.22799497205987, 18648.363391803945, -18701.59138677601, 0, 0, 77.37864485502429, 65.10869759776826,
       376.99111843077515, -0.0024683672305074924},
      h, steps, stride,
      [&](std::int64_t step, double t, const auto& z, auto& k) {
        double v[3];
        supply(t, v);
        const double w = z[7], cs = std::cos(z[8]), sn = std::sin(z[8]);
        const Vector u = to_qd(V * v[0], V * v[1], V * v[2], cs, sn), i = to_qd(z[0], z[1], z[2], cs, sn);
        const double i0 = (z[0] + z[1] + z[2]) / 3, v0 = V * (v[0] + v[1] + v[2]) / 3;
        const double fq = Lq * (Y1 * z[3] + Y2 * z[4]), fd = Ld * (Yf * z[5] + Yk * z[6]);
        const double mq = Lq * i.q + fq, md = Ld * i.d + fd;
        k[3] = -r1 * Y1 * (z[3] - mq);
        k[4] = -r2 * Y2 * (z[4] - mq);
        k[5] = vfd - rf * Yf * (z[5] - md);
        k[6] = -rk * Yk * (z[6] - md);
        const double eq = w * fd + Lq * (Y1 * k[3] + Y2 * k[4]), ed = -w * fq + Ld * (Yf * k[5] + Yk * k[6]);
        from_qd((u.q - rs * i.q - eq + w * (Lq - Ld) * i.d) / (Lls + Lq),
                (u.d - rs * i.d - ed + w * (Lq - Ld) * i.q) / (Lls + Ld), (v0 - rs * i0) / Lls, cs, sn,
                k.data());
        k[7] = (1.5 * (md * i.q - mq * i.d) + (step >= torque_at ? 1.11e6 : 0)) / J;
        k[8] = w;
      },
      [&](const auto& z) {
        run.i_a.push_back(z[0]);
        run.T_e.push_back(torque(z, std::cos(z[8]), std::sin(z[8])));
      });
  return run;
}

HandRun motor_free_acceleration(double h, std::int64_t steps, std::int64_t stride) {
  constexpr double rs = 0.435, Lls = 0.754 / w_b, LM = 26.13 / w_b, rr = 0.816, Llr = 0.754 / w_b, J = 0.089;
  const double V = 220 * std::sqrt(2.0 / 3), L = 1 / (1 / LM + 1 / Llr), LD = Lls + L, g = L / Llr,
               RD = rs + g * g * rr;
  HandRun run;
  runge_kutta<7>(
      {}, h, steps, stride,
      [&](std::int64_t, double t, const auto& z, auto& k) {
        double v[3], e[3];
        supply(t, v);
        const double w = z[5], cs = std::cos(z[6]), sn = std::sin(z[6]);
        const Vector i = to_qd(z[0], z[1], z[2], cs, sn);
        const double fq = g * z[3], fd = g * z[4], mq = L * i.q + fq, md = L * i.d + fd;
        from_qd(w * fd + g * rr / Llr * (fq - z[3]), -w * fq + g * rr / Llr * (fd - z[4]), 0, cs, sn, e);
        for (int p = 0; p < 3; ++p) k[p] = (V * v[p] - RD * z[p] - e[p]) / LD;
        k[3] = -rr / Llr * (z[3] - mq);
        k[4] = -rr / Llr * (z[4] - md);
        k[5] = 2 / J * 3 * (md * i.q - mq * i.d);
        k[6] = w;
      },
      [&](const auto& z) {
        const Vector i = to_qd(z[0], z[1], z[2], std::cos(z[6]), std::sin(z[6]));
        run.i_a.push_back(z[0]);
        run.T_e.push_back(3 * (g * z[4] * i.q - g * z[3] * i.d));
      });
  return run;
}

// Common to both saturated machines: the main flux by Newton, then the rates of the phase currents.
struct Saturated {
  const Curve curve;
  double rs, Lls, S2, S, Bq, Bd;
  Vector flux(double aq, double ad, double& main, double& slope, double& ratio) const {
    double mq, md;
    for (int iteration = 0; iteration < 50; ++iteration) {
      curve.at(main, slope, ratio);
      const double nq = 1 / (Bq + ratio / S2), nd = 1 / (Bd + ratio);
      mq = aq * nq, md = ad * nd;
      const double size = std::sqrt(md * md + mq * mq / S2 + 1e-24 * curve.knee * curve.knee);
      const double by = main > 1e-4 * curve.knee ? (slope - ratio) / main : 0;  // d ratio/d flux
      const double change = (main - size) / (1 + by * (md * md * nd + mq * mq * nq / (S2 * S2)) / size);
      main -= change;
      if (std::abs(change) <= 1e-7 * (std::abs(main) + 1e-3)) break;
    }
    curve.at(main, slope, ratio);
    return {aq / (Bq + ratio / S2), ad / (Bd + ratio)};
  }
  void rates(const Vector& u, const Vector& i, const Vector& m, double main, double slope, double ratio,
             double w, double sq, double sd, double zero, double cs, double sn, double* k) const {
    const double uq = m.q / (S * main), ud = m.d / main, more = slope - ratio;
    const double Gq = (ratio + more * uq * uq) / S2 + Bq, Gd = ratio + more * ud * ud + Bd,
                 G = more * uq * ud / S;
    const double det = 1 / (Gq * Gd - G * G), Hq = Gd * det, Hd = Gq * det, H = -G * det;
    sq -= w * i.d;
    sd += w * i.q;
    const double oq = u.q - rs * i.q - (w * m.d + Hq * sq + H * sd),
                 od = u.d - rs * i.d - (-w * m.q + H * sq + Hd * sd);
    const double all = 1 / ((Lls + Hq) * (Lls + Hd) - H * H);
    from_qd(((Lls + Hd) * oq - H * od) * all, ((Lls + Hq) * od - H * oq) * all, zero, cs, sn, k);
  }
};

HandRun generator_fault(double h, std::int64_t steps, std::int64_t stride) {
  constexpr double r2 = 0.01675, Y2 = w_b / 0.1267, rf = 0.0005, Yf = w_b / 0.2523, rk = 0.01736,
                   Yk = w_b / 0.1970, J = 35.1e6;
  const double V = 20e3 * std::sqrt(2.0 / 3), vfd = 1.765 * V * rf / (1.0467 - 0.1478),
               S2 = (0.5911 - 0.1478) / (1.0467 - 0.1478);
  const Saturated m{
      Curve(0.3, 43.3962, 331.1652, 730.5857), 0.00243, 0.1478 / w_b, S2, std::sqrt(S2), Y2, Yf + Yk};
  const auto begin = static_cast<std::int64_t>(std::llround(10 / h)),
             end = static_cast<std::int64_t>(std::llround(10.1 / h));
  double main = 47.2069836, slope, ratio;
  HandRun run;
  runge_kutta<8>(
      {-11257.111417233838, 11679.10543712642, -421.9940198925833, -8.911098489979032, 66.92827826369208,
       45.46955756129238, 376.99111843077515, 0.28794508607613506},
      h, steps, stride,
      [&](std::int64_t step, double t, const auto& z, auto& k) {
        double v[3];
        supply(t, v);
        const double A = step >= begin && step < end ? 0 : V, w = z[6], cs = std::cos(z[7]),
                     sn = std::sin(z[7]);
        const Vector u = to_qd(A * v[0], A * v[1], A * v[2], cs, sn), i = to_qd(z[0], z[1], z[2], cs, sn);
        const Vector f = m.flux(i.q + Y2 * z[3], i.d + Yf * z[4] + Yk * z[5], main, slope, ratio);
        k[3] = -r2 * Y2 * (z[3] - f.q);
        k[4] = vfd - rf * Yf * (z[4] - f.d);
        k[5] = -rk * Yk * (z[5] - f.d);
        m.rates(u, i, f, main, slope, ratio, w, Y2 * k[3], Yf * k[4] + Yk * k[5],
                (A * (v[0] + v[1] + v[2]) - m.rs * (z[0] + z[1] + z[2])) / (3 * m.Lls), cs, sn, k.data());
        k[6] = 32 / J * (48 * (f.d * i.q - f.q * i.d) + 0.85 * 27.6e6);
        k[7] = w;
      },
      [&](const auto& z) {
        const Vector i = to_qd(z[0], z[1], z[2], std::cos(z[7]), std::sin(z[7]));
        const Vector f = m.flux(i.q + Y2 * z[3], i.d + Yf * z[4] + Yk * z[5], main, slope, ratio);
        run.i_a.push_back(z[0]);
        run.T_e.push_back(48 * (f.d * i.q - f.q * i.d));
      });
  return run;
}

HandRun motor_sag(double h, std::int64_t steps, std::int64_t stride) {
  constexpr double rr = 0.228, Y = w_b / 0.302, J = 1.662;
  const double V = 460 * std::sqrt(2.0 / 3);
  const Saturated m{Curve(20, 0.82, 62.75, 88.95), 0.087, 0.302 / w_b, 1, 1, Y, Y};
  const auto begin = static_cast<std::int64_t>(std::llround(3 / h)),
             end = static_cast<std::int64_t>(std::llround(3.1 / h));
  double main = 1e-12, slope, ratio;
  HandRun run;
  runge_kutta<7>(
      {}, h, steps, stride,
      [&](std::int64_t step, double t, const auto& z, auto& k) {
        double v[3];
        supply(t, v);
        const double A = step >= begin && step < end ? 0.5 : 1.1, w = z[5], cs = std::cos(z[6]),
                     sn = std::sin(z[6]);
        const double va = A * V * v[0], vb = 1.1 * V * v[1], vc = 1.1 * V * v[2];
        const Vector u = to_qd(va, vb, vc, cs, sn), i = to_qd(z[0], z[1], z[2], cs, sn);
        const Vector f = m.flux(i.q + Y * z[3], i.d + Y * z[4], main, slope, ratio);
        k[3] = -rr * Y * (z[3] - f.q);
        k[4] = -rr * Y * (z[4] - f.d);
        m.rates(u, i, f, main, slope, ratio, w, Y * k[3], Y * k[4],
                (va + vb + vc - m.rs * (z[0] + z[1] + z[2])) / (3 * m.Lls), cs, sn, k.data());
        k[5] = 2 / J * 3 * (f.d * i.q - f.q * i.d);
        k[6] = w;
      },
      [&](const auto& z) {
        const Vector i = to_qd(z[0], z[1], z[2], std::cos(z[6]), std::sin(z[6]));
        const Vector f = m.flux(i.q + Y * z[3], i.d + Y * z[4], main, slope, ratio);
        run.i_a.push_back(z[0]);
        run.T_e.push_back(3 * (f.d * i.q - f.q * i.d));
      });
  return run;
}

}  // namespace

HandRun hand_machine(std::string_view model, double h, std::int64_t steps, std::int64_t stride) {
  if (model == "generator-torque-step") return generator_torque_step(h, steps, stride);
  if (model == "motor-free-acceleration") return motor_free_acceleration(h, steps, stride);
  if (model == "generator-fault") return generator_fault(h, steps, stride);
  return motor_sag(h, steps, stride);
}

}  // namespace tellegen
