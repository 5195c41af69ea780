#include "tellegen/multibody/forces.h"

namespace tellegen {
namespace {

// Along the datum's axes, as an observer on frame a sees them.
struct SeenMotion {
  Vec3 line, velocity;  // of b's origin
};
SeenMotion seen_from(const FrameMotion& a, const FrameMotion& b) {
  const Vec3 line = b.position - a.position;
  return {line, b.velocity - a.velocity - cross(a.angular, line)};
}

Expr power_of(const std::vector<FrameLoad>& loads, std::span<const FrameMotion> frames) {
  Expr power = loads[0].force[0].pool().number(0);
  for (const FrameLoad& load : loads)
    power =
        power + dot(load.force, frames[load.frame].velocity) + dot(load.moment, frames[load.frame].angular);
  return power;
}

}  // namespace

ForceLaw spring_law(const MechanismSpring& s, std::span<const FrameMotion> frames) {
  Pool& pool = s.stiffness.pool();
  const Vec3 line = frames[s.to].position - frames[s.from].position;
  const Vec3 speed = frames[s.to].velocity - frames[s.from].velocity;
  const Expr length = pool.call("sqrt", {dot(line, line)});
  const Expr longer = length - s.length, rate = dot(line, speed) / length;
  const Expr pull = s.stiffness * longer + s.damping * rate + s.preload;
  const Vec3 force = (pull / length) * line;  // on `from`
  const Vec3 none = zero_vector(pool);
  return {{{s.from, force, none}, {s.to, -force, none}},
          s.stiffness * longer * longer / 2.0 + s.preload * longer,
          -(s.damping * rate * rate)};
}

ForceLaw bushing_law(const MechanismBushing& b, std::span<const FrameMotion> frames) {
  const FrameMotion &from = frames[b.from], &to = frames[b.to];
  Pool& pool = b.stiffness[0].pool();
  const Mat3 back = transposed(from.orientation);
  const SeenMotion seen = seen_from(from, to);
  const Vec3 place = back * seen.line, speed = back * seen.velocity;
  const Vec3 turning = back * (to.angular - from.angular);
  const Mat3 r = back * to.orientation;
  Vec3 force, moment;  // on `to`, along the axes of `from`
  Expr potential = pool.number(0), lost = pool.number(0);
  for (std::size_t i = 0; i < 3; ++i) {
    force[i] = -(b.stiffness[i] * place[i]) - b.damping[i] * speed[i];
    potential = potential + b.stiffness[i] * place[i] * place[i] / 2.0;
    lost = lost + b.damping[i] * speed[i] * speed[i] + b.turning_damping[i] * turning[i] * turning[i];
  }
  Vec3 g;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    g[i] = (b.turning_stiffness[j] + b.turning_stiffness[k] - b.turning_stiffness[i]) / 2.0;
    potential = potential + g[i] * (pool.number(1) - r[i][i]);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    moment[i] = g[k] * r[j][k] - g[j] * r[k][j] - b.turning_damping[i] * turning[i];
  }
  const Vec3 f = from.orientation * force, m = from.orientation * moment;
  return {{{b.to, f, m}, {b.from, -f, -(m + cross(seen.line, f))}}, potential, -lost};
}

TyreMotion tyre_motion(const MechanismTyre& t, std::span<const FrameMotion> frames) {
  Pool& pool = t.radius.pool();
  TyreMotion m;
  const SeenMotion seen = seen_from(frames[t.from], frames[t.to]);
  m.line = seen.line;
  m.normal = frames[t.from].orientation * t.normal;
  const Vec3 across = cross(frames[t.to].orientation * t.axis, m.normal);
  m.forward = pow(dot(across, across), -0.5) * across;
  m.side = cross(m.normal, m.forward);
  m.height = dot(m.normal, m.line);
  m.deflection = t.radius - m.height;
  m.rate = -dot(m.normal, seen.velocity);
  const Expr ahead = dot(m.forward, seen.velocity);
  m.slip =
      pool.call("atan", {dot(m.side, seen.velocity) / pool.call("sqrt", {ahead * ahead + t.slow * t.slow})});
  return m;
}

ForceLaw tyre_law(const MechanismTyre& t, const TyreMotion& m, std::span<const FrameMotion> frames) {
  const ExprMap<Expr> motion{{t.deflection, m.deflection}, {t.rate, m.rate}, {t.slip, m.slip}};
  const Expr load = substitute(t.load, motion), lateral = substitute(t.lateral, motion);
  const Vec3 force = load * m.normal + lateral * m.side;
  ForceLaw law;
  law.loads.push_back({t.to, force, (m.height * lateral) * m.forward});
  if (t.from != 0) {
    const Vec3 contact = m.line - m.height * m.normal;
    law.loads.push_back({t.from, -force, -cross(contact, force)});
  }
  law.potential = t.radius.pool().number(0);
  law.power = power_of(law.loads, frames);
  return law;
}

}  // namespace tellegen
