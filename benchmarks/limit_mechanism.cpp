// Mechanisms of the benchmark as somebody would write them by hand: the fewest coordinates, Lagrange's
// equations with their common parts named, or for chains the articulated-body recursion in the plane.
//
// [Featherstone 2008] Featherstone, Rigid Body Dynamics Algorithms, ch. 7.
#include "benchmarks/limit_mechanism.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "benchmarks/best_of.h"

namespace tellegen {
namespace {

// Classical Runge-Kutta: coordinates q and speeds u in one state of length 2n, slopes(y, dy).
template <class State, class Slopes>
void runge_kutta(State& y, double h, int steps, Slopes&& slopes) {
  State k1 = y, k2 = y, k3 = y, k4 = y, at = y;
  const std::size_t n = y.size();
  for (int step = 0; step < steps; ++step) {
    slopes(y, k1);
    for (std::size_t i = 0; i < n; ++i) at[i] = y[i] + 0.5 * h * k1[i];
    slopes(at, k2);
    for (std::size_t i = 0; i < n; ++i) at[i] = y[i] + 0.5 * h * k2[i];
    slopes(at, k3);
    for (std::size_t i = 0; i < n; ++i) at[i] = y[i] + h * k3[i];
    slopes(at, k4);
    for (std::size_t i = 0; i < n; ++i) y[i] += h / 6 * (k1[i] + 2 * (k2[i] + k3[i]) + k4[i]);
  }
}

// Two bars on hinges, in their angles from the vertical.
std::vector<double> double_pendulum(const MechanismCase& c) {
  const CaseLink &a = c.links[0], &b = c.links[1];
  const double l1 = -a.centre[1], l2 = -b.centre[1], L1 = -b.place[1];
  const double m11 = a.inertia[2] + a.mass * l1 * l1 + b.mass * L1 * L1,
               m22 = b.inertia[2] + b.mass * l2 * l2;
  const double coupling = b.mass * L1 * l2, w1 = (a.mass * l1 + b.mass * L1) * case_gravity,
               w2 = b.mass * l2 * case_gravity;
  std::array<double, 4> y{a.q[0], a.q[0] + b.q[0], a.u[0], a.u[0] + b.u[0]};
  runge_kutta(y, c.step, c.steps, [&](const std::array<double, 4>& s, std::array<double, 4>& d) {
    const double s1 = std::sin(s[0]), c1 = std::cos(s[0]), s2 = std::sin(s[1]), c2 = std::cos(s[1]);
    const double m12 = coupling * (c1 * c2 + s1 * s2), turn = coupling * (s1 * c2 - c1 * s2);
    const double r1 = -turn * s[3] * s[3] - w1 * s1, r2 = turn * s[2] * s[2] - w2 * s2;
    const double inverse = 1 / (m11 * m22 - m12 * m12);
    d = {s[2], s[3], (m22 * r1 - m12 * r2) * inverse, (m11 * r2 - m12 * r1) * inverse};
  });
  return {y[0], y[1] - y[0]};
}

// A round bar on a ball joint: Euler's equations in its axes, turning in 1-2-3 angles.
std::vector<double> pendulum_3d(const MechanismCase& c) {
  const CaseLink& l = c.links[0];
  const double arm = -l.centre[1], across = l.inertia[0] + l.mass * arm * arm, along = l.inertia[1];
  const double weight = l.mass * case_gravity * arm;
  const double s2 = std::sin(l.q[1]), c2 = std::cos(l.q[1]), s3 = std::sin(l.q[2]), c3 = std::cos(l.q[2]);
  std::array<double, 6> y{l.q[0],
                          l.q[1],
                          l.q[2],
                          l.u[0] * c2 * c3 + l.u[1] * s3,
                          l.u[1] * c3 - l.u[0] * c2 * s3,
                          l.u[0] * s2 + l.u[2]};
  const double gyration = (along - across) / across, pull = weight / across;
  runge_kutta(y, c.step, c.steps, [&](const std::array<double, 6>& s, std::array<double, 6>& d) {
    const double sa = std::sin(s[0]), ca = std::cos(s[0]), sb = std::sin(s[1]), cb = std::cos(s[1]),
                 sc = std::sin(s[2]), cc = std::cos(s[2]);
    const double wx = s[3], wy = s[4], wz = s[5];
    // The vertical in the bar's axes: second row of Rx Ry Rz.
    const double vx = ca * sc + sa * sb * cc, vz = -sa * cb;
    const double first = (wx * cc - wy * sc) / cb;
    d = {first,
         wx * sc + wy * cc,
         wz - first * sb,
         gyration * wy * wz + pull * vz,
         0.0,
         -gyration * wx * wy - pull * vx};
  });
  return {y[0], y[1], y[2]};
}

// Crank, rod and slider in the crank's angle alone.
std::vector<double> slider_crank(const MechanismCase& c) {
  const CaseLink &crank = c.links[0], &rod = c.links[1], &slider = c.links[2];
  const double L1 = rod.place[0], L2 = c.loops[0].first_point[0], l1 = crank.centre[0], l2 = rod.centre[0];
  const double I1 = crank.inertia[2] + crank.mass * l1 * l1, I2 = rod.inertia[2], m2 = rod.mass,
               m3 = slider.mass, ratio = L1 / L2, w1 = crank.mass * l1 * case_gravity, w2 = m2 * case_gravity;
  std::array<double, 2> y{crank.q[0], crank.u[0]};
  runge_kutta(y, c.step, c.steps, [&](const std::array<double, 2>& s, std::array<double, 2>& d) {
    const double sa = std::sin(s[0]), ca = std::cos(s[0]);
    const double sp = -ratio * sa, cp = std::sqrt(1 - sp * sp), over = 1 / cp;
    const double f = -ratio * ca * over, ff = (ratio * sa + f * f * sp) * over;  // d rod/d crank, d2
    const double sx = L1 * sa * (f - 1), sxx = L1 * (ca * (f - 1) + sa * ff);
    const double x = -L1 * sa - l2 * sp * f, xx = -L1 * ca - l2 * (cp * f * f + sp * ff);
    const double z = L1 * ca + l2 * cp * f, zz = -L1 * sa + l2 * (cp * ff - sp * f * f);
    const double mass = I1 + m2 * (x * x + z * z) + I2 * f * f + m3 * sx * sx;
    const double turn = m2 * (x * xx + z * zz) + I2 * f * ff + m3 * sx * sxx;
    d = {s[1], -(turn * s[1] * s[1] + w1 * ca + w2 * z) / mass};
  });
  const double rod_angle = std::asin(-ratio * std::sin(y[0]));
  return {y[0], rod_angle - y[0], L1 * std::cos(y[0]) + L2 * std::cos(rod_angle)};
}

// Bars on hinges along z, each at the end of the one before: vectors along the ground's axes, so nothing is
// turned.
std::vector<double> chain(const MechanismCase& c) {
  struct Link {
    double sine, cosine, speed;       // of the bar from the vertical
    double rx, ry, cx, cy;            // joint from the parent's joint; acceleration there by turning
    double J, hx, hy, mxx, mxy, myy;  // articulated inertia about the joint
    double n, fx, fy;                 // what it takes with no acceleration
    double inverse;
  };
  const std::size_t count = c.links.size();
  std::vector<Link> links(count);
  std::vector<double> y(2 * count);
  for (std::size_t k = 0; k < count; ++k) y[k] = c.links[k].q[0], y[count + k] = c.links[k].u[0];
  runge_kutta(y, c.step, c.steps, [&](const std::vector<double>& s, std::vector<double>& d) {
    double angle = 0, speed = 0, sine = 0, cosine = 1;
    for (std::size_t k = 0; k < count; ++k) {
      Link& l = links[k];
      const CaseLink& own = c.links[k];
      const double along = own.place[1];  // on the parent's axis
      l.rx = -along * sine, l.ry = along * cosine;
      l.cx = -speed * speed * l.rx, l.cy = -speed * speed * l.ry;
      angle += s[k], speed += s[count + k];
      sine = std::sin(angle), cosine = std::cos(angle);
      const double to = own.centre[1], x = -to * sine, z = to * cosine;
      l.speed = speed, l.sine = sine, l.cosine = cosine;
      l.J = own.inertia[2] + own.mass * to * to;
      l.hx = -own.mass * z, l.hy = own.mass * x;
      l.mxx = l.myy = own.mass, l.mxy = 0;
      l.fx = -own.mass * speed * speed * x, l.fy = -own.mass * speed * speed * z, l.n = 0;
    }
    for (std::size_t k = count; k-- > 0;) {
      Link& l = links[k];
      l.inverse = 1 / l.J;
      if (k == 0) break;
      const double tx = l.hx * l.inverse, ty = l.hy * l.inverse;
      const double mxx = l.mxx - tx * l.hx, mxy = l.mxy - tx * l.hy, myy = l.myy - ty * l.hy;
      const double fx = l.fx - tx * l.n + mxx * l.cx + mxy * l.cy,
                   fy = l.fy - ty * l.n + mxy * l.cx + myy * l.cy;
      const double ex = -l.ry, ey = l.rx;  // what a turn of the parent does to the joint
      const double gx = mxx * ex + mxy * ey, gy = mxy * ex + myy * ey;
      Link& p = links[k - 1];
      p.mxx += mxx, p.mxy += mxy, p.myy += myy;
      p.hx += gx, p.hy += gy;
      p.J += ex * gx + ey * gy;
      p.fx += fx, p.fy += fy;
      p.n += ex * fx + ey * fy;
    }
    double ax = 0, ay = case_gravity, turning = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const Link& l = links[k];
      ax += l.cx - turning * l.ry, ay += l.cy + turning * l.rx;
      const double next = -(l.n + l.hx * ax + l.hy * ay) * l.inverse;
      d[k] = s[count + k];
      d[count + k] = next - turning;
      turning = next;
    }
  });
  return {y.begin(), y.begin() + static_cast<long>(count)};
}

}  // namespace

std::optional<CaseAnswer> limit_mechanism(const MechanismCase& c) {
  std::vector<double> (*by_hand)(const MechanismCase&) = nullptr;
  if (c.name == "double pendulum") by_hand = double_pendulum;
  if (c.name == "3-D pendulum") by_hand = pendulum_3d;
  if (c.name == "slider-crank") by_hand = slider_crank;
  if (c.name.starts_with("chain")) by_hand = chain;
  if (!by_hand) return std::nullopt;
  CaseAnswer answer;
  answer.program = "by hand";
  answer.seconds_per_step = best_of([&] { answer.q = by_hand(c); }, 0.3) / c.steps;
  return answer;
}

}  // namespace tellegen
