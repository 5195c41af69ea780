#include "tellegen/multibody/joint_motion.h"

#include <cmath>
#include <numbers>

namespace tellegen {

Mat3 turn_about(const Vec3& n, Expr angle) {
  Pool& pool = angle.pool();
  const Expr s = pool.call("sin", {angle}), c = pool.call("cos", {angle});
  const Expr rest = pool.number(1) - c;
  Mat3 turn;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) turn[i][j] = rest * (n[i] * n[j]) + (i == j ? c : pool.number(0));
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    turn[j][i] = turn[j][i] + s * n[k];
    turn[i][j] = turn[i][j] - s * n[k];
  }
  return turn;
}

Mat3 turn_123(Expr a, Expr b, Expr c) {
  Pool& pool = a.pool();
  const Mat3 unit = unit_matrix(pool);
  return turn_about(unit[0], a) * turn_about(unit[1], b) * turn_about(unit[2], c);
}

JointSize size_of(JointKind kind) {
  switch (kind) {
    case JointKind::rigid:
      return {0, 0};
    case JointKind::revolute:
    case JointKind::prismatic:
    case JointKind::screw:
      return {1, 1};
    case JointKind::cylindrical:
    case JointKind::universal:
      return {2, 2};
    case JointKind::spherical:
    case JointKind::planar:
      return {3, 3};
    case JointKind::spherical_quaternion:
      return {4, 3};
    case JointKind::free:
      return {6, 6};
    case JointKind::free_quaternion:
      return {7, 6};
  }
  return {0, 0};
}

int closing_equations(JointKind kind) { return 6 - size_of(kind).speeds; }

namespace {

Vec3 vector_of(const std::vector<Expr>& list, std::size_t first) {
  return {list[first], list[first + 1], list[first + 2]};
}

// Angular velocity, in the turned frame, of 1-2-3 angles a, b, c with rates p.
Vec3 angular_123(Expr b, Expr c, const Vec3& p) {
  Pool& pool = b.pool();
  const Expr sb = pool.call("sin", {b}), cb = pool.call("cos", {b});
  const Expr sc = pool.call("sin", {c}), cc = pool.call("cos", {c});
  return {p[0] * cb * cc + p[1] * sc, p[1] * cc - p[0] * cb * sc, p[0] * sb + p[2]};
}

// The quaternion may have any length: the matrix divides by its square, so its drift turns nothing.
Mat3 turn_quaternion(const std::vector<Expr>& e, std::size_t k) {
  Pool& pool = e[k].pool();
  const Expr w = e[k], x = e[k + 1], y = e[k + 2], z = e[k + 3];
  const Expr s = pool.number(2) / (w * w + x * x + y * y + z * z), one = pool.number(1);
  return {Vec3{one - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)},
          Vec3{s * (x * y + w * z), one - s * (x * x + z * z), s * (y * z - w * x)},
          Vec3{s * (x * z - w * y), s * (y * z + w * x), one - s * (x * x + y * y)}};
}

// e' = E(e) w/2, for an angular velocity in the turned frame.
void quaternion_rates(const std::vector<Expr>& e, std::size_t k, const Vec3& v, std::vector<Expr>& rates) {
  const Expr w = e[k], x = e[k + 1], y = e[k + 2], z = e[k + 3];
  rates.push_back(-(x * v[0] + y * v[1] + z * v[2]) / 2.0);
  rates.push_back((w * v[0] + y * v[2] - z * v[1]) / 2.0);
  rates.push_back((w * v[1] + z * v[0] - x * v[2]) / 2.0);
  rates.push_back((w * v[2] + x * v[1] - y * v[0]) / 2.0);
}

}  // namespace

RelativeMotion relative_motion(const Mechanism& mechanism, const MechanismJoint& joint) {
  Pool& pool = *mechanism.pool;
  RelativeMotion m{unit_matrix(pool), zero_vector(pool), zero_vector(pool), joint.u};
  const auto& q = joint.q;
  const auto& u = joint.u;
  switch (joint.kind) {
    case JointKind::rigid:
      m.rotation = joint.rotation;
      m.position = joint.offset;
      break;
    case JointKind::revolute:
      m.rotation = turn_about(joint.axis, q[0]);
      m.angular = u[0] * joint.axis;
      break;
    case JointKind::prismatic:
      m.position = q[0] * joint.axis;
      break;
    case JointKind::cylindrical:
      m.position = q[0] * joint.axis;
      m.rotation = turn_about(joint.axis, q[1]);
      m.angular = u[1] * joint.axis;
      break;
    case JointKind::screw:
      m.position = (joint.pitch * q[0] / (2 * std::numbers::pi)) * joint.axis;
      m.rotation = turn_about(joint.axis, q[0]);
      m.angular = u[0] * joint.axis;
      break;
    case JointKind::universal: {
      const Mat3 second = turn_about(joint.second, q[1]);
      m.rotation = turn_about(joint.axis, q[0]) * second;
      m.angular = u[0] * (transposed(second) * joint.axis) + u[1] * joint.second;
      break;
    }
    case JointKind::spherical:
      m.rotation = turn_123(q[0], q[1], q[2]);
      m.angular = angular_123(q[1], q[2], vector_of(u, 0));
      break;
    case JointKind::planar: {
      const auto [first, second] = across(mechanism, joint.axis);
      m.position = q[0] * first + q[1] * second;
      m.rotation = turn_about(joint.axis, q[2]);
      m.angular = u[2] * joint.axis;
      break;
    }
    case JointKind::free:
      m.position = vector_of(q, 0);
      m.rotation = turn_123(q[3], q[4], q[5]);
      m.angular = angular_123(q[4], q[5], vector_of(u, 3));
      break;
    case JointKind::spherical_quaternion:
    case JointKind::free_quaternion: {
      const std::size_t k = joint.kind == JointKind::free_quaternion ? 3 : 0;
      if (k == 3) m.position = vector_of(q, 0);
      m.rotation = turn_quaternion(q, k);
      m.angular = vector_of(u, k);
      m.rates.resize(k);
      quaternion_rates(q, k, m.angular, m.rates);
      break;
    }
  }
  return m;
}

std::array<Vec3, 2> across(const Mechanism& mechanism, const Vec3& axis) {
  Pool& pool = *mechanism.pool;
  const Mat3 unit = unit_matrix(pool);
  std::array<double, 3> n;
  for (std::size_t i = 0; i < 3; ++i) n[i] = evaluate(axis[i], mechanism.numbers);
  // Along coordinate axes: x and y for z, y and z for x, z and x for y.
  for (std::size_t i = 0; i < 3; ++i)
    if (axis[i].is_number(1)) return {unit[(i + 1) % 3], unit[(i + 2) % 3]};
  std::size_t smallest = 0;
  for (std::size_t i = 1; i < 3; ++i)
    if (std::abs(n[i]) < std::abs(n[smallest])) smallest = i;
  Vec3 first = cross(axis, unit[smallest]);
  first = pow(dot(first, first), -0.5) * first;
  return {first, cross(axis, first)};
}

Expr turned_angle(const Mechanism& mechanism, const MechanismJoint& joint, const Mat3& rotation, Expr about) {
  Pool& pool = *mechanism.pool;
  const auto [first, second] = across(mechanism, joint.axis);
  const Vec3 turned = rotation * first;
  const Expr sine = dot(second, turned), cosine = dot(first, turned);
  const Expr s = pool.call("sin", {about}), c = pool.call("cos", {about});
  return about + pool.call("atan2", {sine * c - cosine * s, cosine * c + sine * s});
}

std::vector<Expr> closure(const Mechanism& mechanism, const MechanismJoint& joint, const Mat3& rotation,
                          const Vec3& position, Expr about) {
  Pool& pool = *mechanism.pool;
  const std::array<Vec3, 2> sideways = across(mechanism, joint.axis);
  std::vector<Expr> zeros;
  const auto same_place = [&](const Vec3& offset) {
    for (std::size_t i = 0; i < 3; ++i) zeros.push_back(position[i] - offset[i]);
  };
  const auto on_axis = [&] {
    for (const Vec3& direction : sideways) zeros.push_back(dot(direction, position));
  };
  const auto same_axis = [&] {
    const Vec3 turned = rotation * joint.axis;
    for (const Vec3& direction : sideways) zeros.push_back(dot(direction, turned));
  };
  const auto same_orientation = [&](const Mat3& of) {
    const Mat3 rest = transposed(of) * rotation;
    zeros.push_back(rest[0][1]);
    zeros.push_back(rest[1][2]);
    zeros.push_back(rest[2][0]);
  };
  switch (joint.kind) {
    case JointKind::rigid:
      same_place(joint.offset);
      same_orientation(joint.rotation);
      break;
    case JointKind::revolute:
      same_place(zero_vector(pool));
      same_axis();
      break;
    case JointKind::prismatic:
      on_axis();
      same_orientation(unit_matrix(pool));
      break;
    case JointKind::cylindrical:
      on_axis();
      same_axis();
      break;
    case JointKind::screw:
      on_axis();
      same_axis();
      zeros.push_back(dot(joint.axis, position) -
                      joint.pitch * turned_angle(mechanism, joint, rotation, about) / (2 * std::numbers::pi));
      break;
    case JointKind::universal:
      same_place(zero_vector(pool));
      zeros.push_back(dot(joint.axis, rotation * joint.second));
      break;
    case JointKind::spherical:
    case JointKind::spherical_quaternion:
      same_place(zero_vector(pool));
      break;
    case JointKind::planar:
      zeros.push_back(dot(joint.axis, position));
      same_axis();
      break;
    case JointKind::free:
    case JointKind::free_quaternion:
      break;
  }
  return zeros;
}

Expr time_derivative(Expr e, const ExprMap<Expr>& rates) {
  const auto symbols = symbols_of(std::span(&e, 1));
  std::vector<Expr> moving;
  for (Expr s : symbols)
    if (rates.contains(s)) moving.push_back(s);
  std::vector<Expr> terms{e.pool().number(0)};
  const auto slopes = gradient(e, moving);
  for (std::size_t k = 0; k < moving.size(); ++k) terms.push_back(slopes[k] * rates.at(moving[k]));
  return e.pool().add(terms);
}

}  // namespace tellegen
