#include "tellegen/multibody/circuits.h"

#include <fmt/format.h>

#include "tellegen/multibody/joint_motion.h"

namespace tellegen {
namespace {

// How one frame moves as seen in another, along that one's axes.
struct MotionInFrame {
  Vec3 place, speed, acceleration, turning, turning_rate;
  Mat3 orientation;
};

MotionInFrame seen(Pool& pool, const FrameMotion& a, const FrameMotion& b) {
  const Mat3 back = transposed(a.orientation);
  const Vec3 line = b.position - a.position, own = back * a.angular;
  MotionInFrame m;
  m.place = back * line;
  m.speed = back * (b.velocity - a.velocity - cross(a.angular, line));
  m.acceleration = back * (b.acceleration - a.acceleration - cross(a.angular_acceleration, line) -
                           cross(a.angular, cross(a.angular, line))) -
                   pool.number(2) * cross(own, m.speed);
  m.turning = back * (b.angular - a.angular);
  m.turning_rate = back * (b.angular_acceleration - a.angular_acceleration) - cross(own, m.turning);
  m.orientation = back * b.orientation;
  return m;
}

// Zeros of the place and orientation of one frame in another, with their first and second time derivatives.
// They are differentiated in symbols of the relative motion, which are then replaced by what they are: far
// shorter than derivatives by every coordinate on the way.
// What counts turns jumps with them and has no rate.
template <class Zeros>
std::vector<CircuitZero> between(Pool& pool, const MotionInFrame& motion, Expr about, Zeros zeros) {
  const Expr turned = about.is_number() ? about : pool.symbol("~about");
  ExprMap<Expr> values, rates{{pool.symbol("t"), pool.number(1)}};
  if (!about.is_number()) values[turned] = about;
  const auto symbols = [&](const char* name, const Vec3& value) {
    Vec3 v;
    for (std::size_t i = 0; i < 3; ++i) {
      v[i] = pool.symbol(fmt::format("~{}{}", name, i));
      values[v[i]] = value[i];
    }
    return v;
  };
  const auto follow = [&](const Vec3& v, const Vec3& rate) {
    for (std::size_t i = 0; i < 3; ++i) rates[v[i]] = rate[i];
  };
  const Vec3 p = symbols("place", motion.place), v = symbols("speed", motion.speed),
             w = symbols("turning", motion.turning);
  follow(p, v);
  follow(v, symbols("acceleration", motion.acceleration));
  follow(w, symbols("turning_rate", motion.turning_rate));
  const Mat3 r{symbols("row0", motion.orientation[0]), symbols("row1", motion.orientation[1]),
               symbols("row2", motion.orientation[2])};
  const Mat3 columns = transposed(r);
  for (std::size_t j = 0; j < 3; ++j) follow(columns[j], cross(w, columns[j]));

  std::vector<CircuitZero> circuits;
  for (Expr zero : zeros(r, p, turned)) {
    const Expr first = time_derivative(zero, rates), second = time_derivative(first, rates);
    CircuitZero& made = circuits.emplace_back();
    made.position = substitute(zero, values);
    made.velocity = substitute(first, values);
    made.acceleration = substitute(second, values);
    for (std::size_t i = 0; i < 3; ++i) {
      made.force[i] = substitute(derivative(first, v[i]), values);
      made.moment[i] = substitute(derivative(first, w[i]), values);
    }
  }
  return circuits;
}

// The distance of two frames where all coordinates are zero.
Expr design_length(const Mechanism& mechanism, const FrameMotion& a, const FrameMotion& b) {
  Pool& pool = *mechanism.pool;
  const Expr zero = pool.number(0);
  const Vec3 line = b.position - a.position;
  ExprMap<Expr> design{{pool.symbol("t"), zero}};
  for (const MechanismJoint& j : mechanism.joints) {
    for (Expr q : j.q) design[q] = zero;
    if (j.q.size() > j.u.size()) design[j.q[j.q.size() - 4]] = pool.number(1);
  }
  return substitute(pool.call("sqrt", {dot(line, line)}), design);
}

// Whether the joint holds two points together.
bool holds_points(JointKind kind) {
  return kind == JointKind::revolute || kind == JointKind::universal || kind == JointKind::spherical ||
         kind == JointKind::spherical_quaternion;
}

}  // namespace

std::vector<CircuitZero> circuit_equations(const Mechanism& mechanism, const MechanismConstraint& c,
                                           int closing, Expr about, std::span<const FrameMotion> frames,
                                           const ExprMap<Expr>& rates) {
  Pool& pool = *mechanism.pool;
  using What = MechanismConstraint::What;
  if (c.what == What::gear || c.what == What::driver) {
    const Expr other = c.what == What::gear ? c.value * mechanism.joints[c.to].q[0] + c.offset : c.value;
    const Expr zero = mechanism.joints[c.from].q[0] - other;
    const Expr first = time_derivative(zero, rates);
    const Vec3 none = zero_vector(pool);
    return {{zero, first, time_derivative(first, rates), none, none}};
  }
  const FrameMotion &a = frames[c.from], &b = frames[c.to];
  const auto zeros = [&](const Mat3& rotation, const Vec3& place, Expr turned) -> std::vector<Expr> {
    switch (c.what) {
      case What::closure:
        return closure(mechanism, mechanism.joints[closing], rotation, place, turned);
      case What::distance:
        return {pool.call("sqrt", {dot(place, place)}) -
                (c.value ? c.value : design_length(mechanism, a, b))};
      case What::line: {
        const auto [first, second] = across(mechanism, c.axis);
        return {dot(first, place), dot(second, place)};
      }
      case What::point_driver:
        return {dot(c.axis, place) - c.value};
      default:
        return {dot(c.axis, place)};
    }
  };
  auto circuits = between(pool, seen(pool, a, b), about, zeros);
  // Along the datum's axes nothing turns: the shortest equations, and one angle alone often has a formula.
  if (closing >= 0 && holds_points(mechanism.joints[closing].kind))
    for (std::size_t i = 0; i < 3; ++i)
      circuits[i] = {b.position[i] - a.position[i], b.velocity[i] - a.velocity[i],
                     b.acceleration[i] - a.acceleration[i], a.orientation[i], zero_vector(pool)};
  return circuits;
}

ClosingMotion closing_motion(const Mechanism& mechanism, const MechanismJoint& joint, Expr about,
                             std::span<const FrameMotion> frames) {
  Pool& pool = *mechanism.pool;
  const MotionInFrame motion = seen(pool, frames[joint.from], frames[joint.to]);
  ClosingMotion found;
  const auto along = [&](const Vec3& direction) {
    found.q.push_back(dot(direction, motion.place));
    found.u.push_back(dot(direction, motion.speed));
    found.a.push_back(dot(direction, motion.acceleration));
  };
  const auto turn = [&] {
    found.q.push_back(turned_angle(mechanism, joint, motion.orientation, about));
    found.u.push_back(dot(joint.axis, motion.turning));
    found.a.push_back(dot(joint.axis, motion.turning_rate));
  };
  switch (joint.kind) {
    case JointKind::revolute:
    case JointKind::screw:
      turn();
      break;
    case JointKind::prismatic:
      along(joint.axis);
      break;
    case JointKind::cylindrical:
      along(joint.axis);
      turn();
      break;
    case JointKind::planar:
      for (const Vec3& direction : across(mechanism, joint.axis)) along(direction);
      turn();
      break;
    default:
      break;
  }
  return found;
}

}  // namespace tellegen
