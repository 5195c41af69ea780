#include "tests/differential/mechanism_oracle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "tests/differential/mechanism_file.h"

namespace differential {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// What an equation asks of the six speeds of one frame, those of its origin and those about the datum's axes.
struct Entry {
  int frame;
  Vector3d linear, angular;
};
struct Row {
  std::vector<Entry> entries;
  double speed = 0.0;         // the sum of entries times speeds has to be this ...
  double acceleration = 0.0;  // ... and of entries times accelerations this
};
Row sum(const Row& a, double factor, const Row& b) {
  Row r = a;
  for (const Entry& e : b.entries) r.entries.push_back({e.frame, factor * e.linear, factor * e.angular});
  r.speed += factor * b.speed;
  r.acceleration += factor * b.acceleration;
  return r;
}

struct Pose {
  Vector3d place = Vector3d::Zero(), velocity = Vector3d::Zero(), angular = Vector3d::Zero();
  Matrix3d orientation = Matrix3d::Identity();
};

// The motion of `to` in `from`, along the axes of `from`.
struct Relative {
  Vector3d place = Vector3d::Zero(), velocity = Vector3d::Zero(), angular = Vector3d::Zero();
  Matrix3d orientation = Matrix3d::Identity();
};

Matrix3d quaternion(const double* e) {
  return Eigen::Quaterniond(e[0], e[1], e[2], e[3]).normalized().toRotationMatrix();
}

// Columns: angular velocity, along the axes of `from`, by the rates of 1-2-3 angles a, b, c.
Matrix3d rates_123(double a, double b) {
  Matrix3d m;
  const Matrix3d first = turn(Vector3d::UnitX(), a);
  m.col(0) = Vector3d::UnitX();
  m.col(1) = first * Vector3d::UnitY();
  m.col(2) = first * (turn(Vector3d::UnitY(), b) * Vector3d::UnitZ());
  return m;
}
Vector3d angles_123(const Matrix3d& r) {
  return {std::atan2(-r(1, 2), r(2, 2)), std::asin(std::clamp(r(0, 2), -1.0, 1.0)),
          std::atan2(-r(0, 1), r(0, 0))};
}

Relative start_of(const FileJoint& j) {
  Relative m;
  const double* q = j.places.data();
  const double* u = j.speeds.data();
  const auto slide = [&](int k) { m.place = q[k] * j.axis, m.velocity = u[k] * j.axis; };
  const auto hinge = [&](int k) { m.orientation = turn(j.axis, q[k]), m.angular = u[k] * j.axis; };
  const auto ball = [&](int k) {
    m.orientation = turn_123(q[k], q[k + 1], q[k + 2]);
    m.angular = rates_123(q[k], q[k + 1]) * Vector3d(u[k], u[k + 1], u[k + 2]);
  };
  const auto attitude = [&](int k) {
    m.orientation = quaternion(q + k);
    m.angular = m.orientation * Vector3d(u[k], u[k + 1], u[k + 2]);
  };
  const auto anywhere = [&] { m.place = {q[0], q[1], q[2]}, m.velocity = {u[0], u[1], u[2]}; };
  if (j.kind == "arm") {
    m.place = j.offset;
    m.orientation = j.rotation;
  } else if (j.kind == "revolute") {
    hinge(0);
  } else if (j.kind == "prismatic") {
    slide(0);
  } else if (j.kind == "cylindrical") {
    slide(0);
    hinge(1);
  } else if (j.kind == "screw") {
    hinge(0);
    m.place = j.advance * q[0] * j.axis;
    m.velocity = j.advance * u[0] * j.axis;
  } else if (j.kind == "universal") {
    const Matrix3d first = turn(j.axis, q[0]);
    m.orientation = first * turn(j.second, q[1]);
    m.angular = u[0] * j.axis + u[1] * (first * j.second);
  } else if (j.kind == "spherical") {
    ball(0);
  } else if (j.kind == "planar") {
    const auto [x, y] = plane_across(j.axis);
    hinge(2);
    m.place = q[0] * x + q[1] * y;
    m.velocity = u[0] * x + u[1] * y;
  } else if (j.kind == "free") {
    anywhere();
    ball(3);
  } else if (j.kind == "spherical_quaternion") {
    attitude(0);
  } else if (j.kind == "free_quaternion") {
    anywhere();
    attitude(3);
  }
  return m;
}

}  // namespace

struct MechanismOracle::Held {
  explicit Held(const std::string& model) : file(read_mechanism(model)) {
    for (FileJoint& j : file.joints)
      if (j.kind == "revolute" || j.kind == "screw" || j.kind == "cylindrical" || j.kind == "planar")
        j.angle = angle_count++;
    poses.resize(file.frames.size());
    accelerations = VectorXd::Zero(6 * frame_count());
    angles = VectorXd::Zero(angle_count);
    columns.resize(file.variables.size());
  }

  MechanismFile file;
  int angle_count = 0;
  double t = 0.0, stride = 0.02;
  std::vector<Pose> poses;      // frame 0 is the datum
  VectorXd angles;              // of hinges, over all their turns
  VectorXd accelerations;       // linear and angular of each frame but the datum
  std::vector<double> forces;   // multiplier of each equation
  std::vector<double> efforts;  // of each joint of one coordinate
  std::vector<double> columns;  // variables that formulas use
  std::vector<int> kept;        // equations that do not follow from others
  std::size_t equation_count = 0;
  bool started = false;

  long frame_count() const { return static_cast<long>(file.frames.size()) - 1; }

  // ---- equations

  // A direction n of A times the line from A's origin to B's.
  Row slide(int a, int b, const Vector3d& own) const {
    const Pose &A = poses[a], &B = poses[b];
    const Vector3d n = A.orientation * own, line = B.place - A.place, moved = A.angular.cross(n);
    Row r;
    r.entries = {{a, -n, n.cross(line)}, {b, n, Vector3d::Zero()}};
    r.acceleration = -(2 * moved.dot(B.velocity - A.velocity) + A.angular.cross(moved).dot(line));
    return r;
  }
  // The angular velocity of B in A along a direction n of A.
  Row hinge(int a, int b, const Vector3d& own) const {
    const Pose &A = poses[a], &B = poses[b];
    const Vector3d n = A.orientation * own;
    Row r;
    r.entries = {{a, Vector3d::Zero(), -n}, {b, Vector3d::Zero(), n}};
    r.acceleration = -A.angular.cross(n).dot(B.angular - A.angular);
    return r;
  }
  // An axis of A stays at its angle to one of B.
  Row two_axes(const FileJoint& j) const {
    const Pose &A = poses[j.from], &B = poses[j.to];
    const Vector3d a = A.orientation * j.axis, b = B.orientation * j.second, n = a.cross(b);
    Row r;
    r.entries = {{j.from, Vector3d::Zero(), n}, {j.to, Vector3d::Zero(), -n}};
    r.acceleration = -(A.angular - B.angular).dot(A.angular.cross(a).cross(b) + a.cross(B.angular.cross(b)));
    return r;
  }
  Row distance(int a, int b) const {
    const Vector3d line = poses[b].place - poses[a].place, rate = poses[b].velocity - poses[a].velocity;
    Row r;
    r.entries = {{a, -line, Vector3d::Zero()}, {b, line, Vector3d::Zero()}};
    r.acceleration = -rate.squaredNorm();
    return r;
  }
  // Of a joint of one coordinate: its speed.
  Row speed_of(const FileJoint& j) const {
    return j.kind == "prismatic" ? slide(j.from, j.to, j.axis) : hinge(j.from, j.to, j.axis);
  }

  std::vector<Row> rows_of(const FileJoint& j) const {
    std::vector<Row> rows;
    const int a = j.from, b = j.to;
    const auto sideways = plane_across(j.axis);
    const auto together = [&] {
      for (int i = 0; i < 3; ++i) rows.push_back(slide(a, b, Vector3d::Unit(i)));
    };
    const auto aligned = [&] {
      for (int i = 0; i < 3; ++i) rows.push_back(hinge(a, b, Vector3d::Unit(i)));
    };
    const auto on_axis = [&] {
      for (const Vector3d& n : sideways) rows.push_back(slide(a, b, n));
    };
    const auto same_axis = [&] {
      for (const Vector3d& n : sideways) rows.push_back(hinge(a, b, n));
    };
    const std::string& kind = j.kind;
    if (kind == "arm" || kind == "weld") {
      together();
      aligned();
    } else if (kind == "revolute") {
      together();
      same_axis();
    } else if (kind == "prismatic") {
      on_axis();
      aligned();
    } else if (kind == "cylindrical") {
      on_axis();
      same_axis();
    } else if (kind == "screw") {
      on_axis();
      same_axis();
      rows.push_back(sum(slide(a, b, j.axis), -j.advance, hinge(a, b, j.axis)));
    } else if (kind == "universal") {
      together();
      rows.push_back(two_axes(j));
    } else if (kind.starts_with("spherical")) {
      together();
    } else if (kind == "planar") {
      rows.push_back(slide(a, b, j.axis));
      same_axis();
    }
    return rows;
  }

  std::vector<Row> rows_of(const FileConstraint& c) const {
    if (c.kind == "rod") return {distance(c.from, c.to)};
    if (c.kind == "point_on_plane") return {slide(c.from, c.to, c.axis)};
    if (c.kind == "point_on_line") {
      const auto [x, y] = plane_across(c.axis);
      return {slide(c.from, c.to, x), slide(c.from, c.to, y)};
    }
    if (c.kind == "gear") return {sum(speed_of(file.joints[c.from]), -c.value, speed_of(file.joints[c.to]))};
    Row r = c.kind == "driver" ? speed_of(file.joints[c.from]) : slide(0, c.to, c.axis);
    constexpr double h = 1e-3;
    const auto rate = [&](double after) { return slope_in_time(*c.motion, t + after); };
    r.speed += rate(0);
    r.acceleration += (8 * (rate(h) - rate(-h)) - (rate(2 * h) - rate(-2 * h))) / (12 * h);
    return {r};
  }

  std::vector<Row> all_rows() const {
    std::vector<Row> rows;
    for (const FileJoint& j : file.joints)
      for (Row& r : rows_of(j)) rows.push_back(std::move(r));
    for (const FileConstraint& c : file.constraints)
      for (Row& r : rows_of(c)) rows.push_back(std::move(r));
    return rows;
  }

  VectorXd spread(const Row& row) const {
    VectorXd v = VectorXd::Zero(6 * frame_count());
    for (const Entry& e : row.entries)
      if (e.frame > 0) {
        v.segment<3>(6 * (e.frame - 1)) += e.linear;
        v.segment<3>(6 * (e.frame - 1) + 3) += e.angular;
      }
    return v;
  }
  VectorXd speeds() const {
    VectorXd v(6 * frame_count());
    for (long k = 0; k < frame_count(); ++k) {
      v.segment<3>(6 * k) = poses[static_cast<std::size_t>(k) + 1].velocity;
      v.segment<3>(6 * k + 3) = poses[static_cast<std::size_t>(k) + 1].angular;
    }
    return v;
  }

  // ---- forces

  Relative seen(int a, int b) const {
    const Pose &A = poses[a], &B = poses[b];
    const Vector3d line = B.place - A.place;
    const Matrix3d back = A.orientation.transpose();
    return {back * line, back * (B.velocity - A.velocity - A.angular.cross(line)),
            back * (B.angular - A.angular), back * B.orientation};
  }

  double coordinate(const FileJoint& j) const {
    return j.kind == "prismatic" ? j.axis.dot(seen(j.from, j.to).place) : angles[j.angle];
  }
  double speed(const FileJoint& j) const {
    const Relative m = seen(j.from, j.to);
    return j.axis.dot(j.kind == "prismatic" ? m.velocity : m.angular);
  }

  double variable(const std::string& name) const {
    const auto dot = name.find('.');
    const std::string owner = name.substr(0, dot), what = name.substr(dot + 1);
    for (std::size_t f = 1; f < file.frames.size(); ++f) {
      if (file.frames[f] != owner) continue;
      const std::string all = "xyz";
      const Pose& p = poses[f];
      if (what.size() == 1 && all.find(what) != all.npos) return p.place[static_cast<long>(all.find(what))];
      if (what.size() == 2 && what[0] == 'v') return p.velocity[static_cast<long>(all.find(what[1]))];
      if (what.size() == 2 && what[0] == 'w') return p.angular[static_cast<long>(all.find(what[1]))];
    }
    for (const FileJoint& j : file.joints) {
      if (j.name != owner || (j.kind != "revolute" && j.kind != "prismatic")) continue;
      if (what == "angle" || what == "position") return coordinate(j);
      if (what == "speed") return speed(j);
    }
    throw OracleError("a variable the oracle does not know: " + name);
  }
  double now(const TreePtr& tree) const { return tree ? value_of(*tree, columns, t) : 0.0; }

  void push(VectorXd& f, int frame, const Vector3d& force, const Vector3d& moment) const {
    if (frame == 0) return;
    f.segment<3>(6 * (frame - 1)) += force;
    f.segment<3>(6 * (frame - 1) + 3) += moment;
  }

  double pull(const FileSpring& s, Vector3d& along) const {
    const Vector3d line = poses[s.to].place - poses[s.from].place;
    const double length = line.norm();
    along = line / length;
    return now(s.stiffness) * (length - now(s.length)) + now(s.preload) +
           now(s.damping) * along.dot(poses[s.to].velocity - poses[s.from].velocity);
  }

  static Vector3d turning_potential(const FileBushing& b) {  // factors of 1 - r_ii
    const Vector3d& k = b.turning_stiffness;
    return Vector3d::Constant(k.sum() / 2) - k;
  }

  VectorXd loads() {
    for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = variable(file.variables[k]);
    VectorXd f = VectorXd::Zero(6 * frame_count());
    for (const FileBody& b : file.bodies) {
      const Pose& p = poses[b.frame];
      const Vector3d c = p.orientation * b.centre, weight = b.mass * file.gravity;
      const Matrix3d inertia = p.orientation * b.inertia * p.orientation.transpose();
      const Vector3d falls = weight - b.mass * p.angular.cross(p.angular.cross(c));
      push(f, b.frame, falls, c.cross(falls) - p.angular.cross(inertia * p.angular));
    }
    efforts.assign(file.joints.size(), 0.0);
    for (std::size_t k = 0; k < file.joints.size(); ++k) {
      const FileJoint& j = file.joints[k];
      if (j.kind != "revolute" && j.kind != "prismatic") continue;
      const double u = speed(j);
      efforts[k] = now(j.applied) - now(j.stiffness) * (coordinate(j) - now(j.rest)) - now(j.damping) * u -
                   now(j.friction) * std::tanh(u / now(j.slip));
      f += efforts[k] * spread(speed_of(j));
    }
    for (const FileSpring& s : file.springs) {
      Vector3d along;
      const double tension = pull(s, along);
      push(f, s.from, tension * along, Vector3d::Zero());
      push(f, s.to, -tension * along, Vector3d::Zero());
    }
    for (const FileBushing& b : file.bushings) {
      const Relative m = seen(b.from, b.to);
      const Vector3d g = turning_potential(b);
      Vector3d moment = -b.turning_damping.cwiseProduct(m.angular);
      for (int i = 0; i < 3; ++i)  // a small turn w takes r_ii along by (w x column i)_i
        moment += g[i] * m.orientation.col(i).cross(Vector3d::Unit(i));
      const Vector3d force = -b.stiffness.cwiseProduct(m.place) - b.damping.cwiseProduct(m.velocity);
      const Matrix3d& r = poses[b.from].orientation;
      push(f, b.to, r * force, r * moment);
      push(f, b.from, -(r * force), -(r * (moment + m.place.cross(force))));
    }
    for (const FileLoad& l : file.loads) {
      const Vector3d v =
          poses[l.in].orientation * Vector3d(now(l.along[0]), now(l.along[1]), now(l.along[2]));
      push(f, l.at, l.turns ? Vector3d::Zero() : v, l.turns ? v : Vector3d::Zero());
    }
    return f;
  }

  MatrixXd masses() const {
    MatrixXd m = MatrixXd::Zero(6 * frame_count(), 6 * frame_count());
    for (const FileBody& b : file.bodies) {
      if (b.frame == 0) continue;
      const Matrix3d& r = poses[b.frame].orientation;
      const Matrix3d c = cross_matrix(r * b.centre);
      auto block = m.block<6, 6>(6 * (b.frame - 1), 6 * (b.frame - 1));
      block.topLeftCorner<3, 3>() += b.mass * Matrix3d::Identity();
      block.topRightCorner<3, 3>() -= b.mass * c;
      block.bottomLeftCorner<3, 3>() += b.mass * c;
      block.bottomRightCorner<3, 3>() += r * b.inertia * r.transpose() - b.mass * c * c;
    }
    return m;
  }

  void choose_rows() {
    const std::vector<Row> rows = all_rows();
    equation_count = rows.size();
    kept.clear();
    if (rows.empty()) return;
    MatrixXd j(6 * frame_count(), static_cast<long>(rows.size()));
    for (std::size_t k = 0; k < rows.size(); ++k) j.col(static_cast<long>(k)) = spread(rows[k]);
    Eigen::ColPivHouseholderQR<MatrixXd> qr(j);
    qr.setThreshold(1e-8);
    for (long k = 0; k < qr.rank(); ++k) kept.push_back(qr.colsPermutation().indices()[k]);
    std::sort(kept.begin(), kept.end());
  }

  void accelerate() {
    const std::vector<Row> rows = all_rows();
    const long n = 6 * frame_count(), m = static_cast<long>(kept.size());
    MatrixXd a = MatrixXd::Zero(n + m, n + m);
    VectorXd b(n + m);
    a.topLeftCorner(n, n) = masses();
    b.head(n) = loads();
    for (long k = 0; k < m; ++k) {
      const Row& row = rows[static_cast<std::size_t>(kept[static_cast<std::size_t>(k)])];
      const VectorXd v = spread(row);
      a.block(n + k, 0, 1, n) = v.transpose();
      a.block(0, n + k, n, 1) = -v;
      b[n + k] = row.acceleration;
    }
    const Eigen::PartialPivLU<MatrixXd> factors(a);
    if (!started && !(factors.rcond() > 1e-12)) throw OracleError("masses do not decide all accelerations");
    const VectorXd x = factors.solve(b);
    if (!x.allFinite()) throw OracleError("no finite accelerations");
    accelerations = x.head(n);
    forces.assign(rows.size(), 0.0);
    for (long k = 0; k < m; ++k)
      forces[static_cast<std::size_t>(kept[static_cast<std::size_t>(k)])] = x[n + k];
    started = true;
  }

  // ---- in time

  VectorXd state() const {
    VectorXd y(18 * frame_count() + angles.size());
    for (long k = 0; k < frame_count(); ++k) {
      const Pose& p = poses[static_cast<std::size_t>(k) + 1];
      y.segment<9>(18 * k) = Eigen::Map<const Eigen::Matrix<double, 9, 1>>(p.orientation.data());
      y.segment<3>(18 * k + 9) = p.place;
      y.segment<3>(18 * k + 12) = p.velocity;
      y.segment<3>(18 * k + 15) = p.angular;
    }
    y.tail(angles.size()) = angles;
    return y;
  }
  void set(const VectorXd& y) {
    for (long k = 0; k < frame_count(); ++k) {
      Pose& p = poses[static_cast<std::size_t>(k) + 1];
      p.orientation = Eigen::Map<const Matrix3d>(y.data() + 18 * k);
      p.place = y.segment<3>(18 * k + 9);
      p.velocity = y.segment<3>(18 * k + 12);
      p.angular = y.segment<3>(18 * k + 15);
    }
    angles = y.tail(angles.size());
  }
  VectorXd rates(const VectorXd& y, double at) {
    set(y);
    t = at;
    accelerate();
    VectorXd d(y.size());
    for (long k = 0; k < frame_count(); ++k) {
      const Pose& p = poses[static_cast<std::size_t>(k) + 1];
      const Matrix3d turned = cross_matrix(p.angular) * p.orientation;
      d.segment<9>(18 * k) = Eigen::Map<const Eigen::Matrix<double, 9, 1>>(turned.data());
      d.segment<3>(18 * k + 9) = p.velocity;
      d.segment<6>(18 * k + 12) = accelerations.segment<6>(6 * k);
    }
    for (const FileJoint& j : file.joints)
      if (j.angle >= 0) d[18 * frame_count() + j.angle] = j.axis.dot(seen(j.from, j.to).angular);
    return d;
  }

  void advance(double to) {
    constexpr int columns_most = 8;
    while (to - t > 1e-14) {
      const double from = t, h = std::min(stride, to - t);
      const VectorXd y = state(), first = rates(y, from);
      std::vector<VectorXd> table;
      bool settled = false;
      int k = 0;
      for (; k < columns_most && !settled; ++k) {
        const int n = 2 * (k + 1);
        const double part = h / n;
        VectorXd before = y, here = y + part * first;
        for (int i = 1; i < n; ++i) {
          VectorXd next = before + 2 * part * rates(here, from + i * part);
          before = std::move(here);
          here = std::move(next);
        }
        std::vector<VectorXd> row{(0.5 * (before + here + part * rates(here, from + h))).eval()};
        for (int i = 1; i <= k; ++i) {
          const double ratio = static_cast<double>(n) / (n - 2 * i);
          row.push_back(row[i - 1] + (row[i - 1] - table[i - 1]) / (ratio * ratio - 1));
        }
        if (k > 0) settled = ((row[k] - row[k - 1]).array().abs() < 1e-11 * (1 + row[k].array().abs())).all();
        table = std::move(row);
      }
      if (!settled && h > 1e-5) {
        set(y);
        t = from;
        stride = h / 2;
        continue;
      }
      if (!settled) throw OracleError("does not settle");
      if (k < 6 && h == stride) stride *= 1.6;
      set(table.back());
      t = from + h;
    }
    t = to;
    accelerate();
  }

  // ---- what it shows

  void observe_frame(std::size_t f, std::map<std::string, double>& out) const {
    const Pose& p = poses[f];
    const Vector3d a = accelerations.segment<3>(6 * (static_cast<long>(f) - 1));
    for (int i = 0; i < 3; ++i) {
      const std::string c(1, "xyz"[i]), name = file.frames[f] + ".";
      out[name + c] = p.place[i];
      out[name + "v" + c] = p.velocity[i];
      out[name + "a" + c] = a[i];
      out[name + "w" + c] = p.angular[i];
      for (int k = 0; k < 3; ++k)
        out[name + "r" + std::to_string(i + 1) + std::to_string(k + 1)] = p.orientation(i, k);
    }
  }

  void observe_joint(const FileJoint& j, std::map<std::string, double>& out) const {
    const Pose &A = poses[j.from], &B = poses[j.to];
    const Relative m = seen(j.from, j.to);
    const Matrix3d back = A.orientation.transpose();
    const auto acceleration = [&](int f, int half) -> Vector3d {
      if (f == 0) return Vector3d::Zero();
      return accelerations.segment<3>(6 * (f - 1) + 3 * half);
    };
    const Vector3d line = B.place - A.place, own = A.angular, turning = acceleration(j.from, 1);
    const Vector3d linear = back * (acceleration(j.to, 0) - acceleration(j.from, 0) - turning.cross(line) -
                                    own.cross(own.cross(line))) -
                            2 * (back * own).cross(m.velocity);
    const Vector3d angular = back * (acceleration(j.to, 1) - turning) - (back * own).cross(m.angular);
    const std::string& kind = j.kind;
    const bool plain = kind == "revolute" || kind == "prismatic";
    const auto put = [&](const std::string& name, double place, double speed, double rate) {
      out[j.name + "." + name] = place;
      out[j.name + "." + (plain ? "speed" : name + "_rate")] = speed;
      out[j.name + "." + (plain ? "acceleration" : name + "_acceleration")] = rate;
    };
    const auto along = [&](const std::string& name, const Vector3d& n) {
      put(name, n.dot(m.place), n.dot(m.velocity), n.dot(linear));
    };
    const auto about = [&] { put("angle", angles[j.angle], j.axis.dot(m.angular), j.axis.dot(angular)); };
    const auto ball = [&] {
      const Vector3d q = angles_123(m.orientation);
      const Matrix3d e = rates_123(q[0], q[1]);
      const Vector3d u = e.inverse() * m.angular;
      const Vector3d second = (u[0] * e.col(0)).cross(e.col(1));
      const Vector3d third = (u[0] * e.col(0) + u[1] * e.col(1)).cross(e.col(2));
      const Vector3d a = e.inverse() * (angular - u[1] * second - u[2] * third);
      for (int i = 0; i < 3; ++i) put("angle_" + std::to_string(i + 1), q[i], u[i], a[i]);
    };
    if (kind == "revolute" || kind == "screw") about();
    if (kind == "prismatic" || kind == "cylindrical") along("position", j.axis);
    if (kind == "cylindrical") about();
    if (kind == "planar") {
      const auto [x, y] = plane_across(j.axis);
      along("x", x);
      along("y", y);
      about();
    }
    if (kind == "universal") {
      Eigen::Matrix<double, 3, 2> e;
      e.col(0) = j.axis;
      e.col(1) = m.orientation * j.second;
      const auto about_axis = [](const Vector3d& n, Vector3d a, Vector3d b) {
        a -= n.dot(a) * n, b -= n.dot(b) * n;
        return std::atan2(n.dot(a.cross(b)), a.dot(b));
      };
      const Eigen::Vector2d u = e.colPivHouseholderQr().solve(m.angular);
      const Vector3d moved = u[0] * e.col(0).cross(e.col(1));
      const Eigen::Vector2d a = e.colPivHouseholderQr().solve(angular - u[1] * moved);
      put("angle_1", about_axis(j.axis, j.second, e.col(1)), u[0], a[0]);
      put("angle_2", about_axis(j.second, m.orientation.transpose() * j.axis, j.axis), u[1], a[1]);
    }
    if (kind.starts_with("free"))
      for (int i = 0; i < 3; ++i) along(std::string(1, "xyz"[i]), Vector3d::Unit(i));
    if (kind == "spherical" || kind == "free") ball();
    if (kind.ends_with("quaternion"))
      for (int i = 0; i < 3; ++i) {
        out[j.name + ".w" + "xyz"[i]] = (m.orientation.transpose() * m.angular)[i];
        out[j.name + ".alpha_" + "xyz"[i]] = (m.orientation.transpose() * angular)[i];
      }
  }

  // What equations, springs, gears and drivers of a joint do to its `to`.
  void observe_reactions(std::map<std::string, double>& out) const {
    std::vector<Vector3d> force(file.joints.size(), Vector3d::Zero()), moment = force;
    const auto act = [&](std::size_t joint, const Row& row, double factor) {
      for (const Entry& e : row.entries)
        if (e.frame == file.joints[joint].to) {
          force[joint] += factor * e.linear;
          moment[joint] += factor * e.angular;
        }
    };
    std::size_t next = 0;
    for (std::size_t k = 0; k < file.joints.size(); ++k) {
      for (const Row& row : rows_of(file.joints[k])) act(k, row, forces[next++]);
      if (efforts[k] != 0.0) act(k, speed_of(file.joints[k]), efforts[k]);
    }
    for (const FileConstraint& c : file.constraints) {
      const double multiplier = forces[next];
      const std::string name = c.name + ".";
      if (c.kind == "rod")
        out[name + "force"] = multiplier * (poses[c.to].place - poses[c.from].place).norm();
      if (c.kind == "point_on_plane" || c.kind == "point_driver") out[name + "force"] = multiplier;
      if (c.kind == "gear" || c.kind == "driver") {
        const auto first = static_cast<std::size_t>(c.from), second = static_cast<std::size_t>(c.to);
        out[name + "torque"] = multiplier;
        act(first, speed_of(file.joints[first]), multiplier);
        if (c.kind == "gear") act(second, speed_of(file.joints[second]), -c.value * multiplier);
      }
      if (c.kind == "point_on_line") {
        out[name + "force_1"] = multiplier;
        out[name + "force_2"] = forces[next + 1];
      }
      next += rows_of(c).size();
    }
    for (std::size_t k = 0; k < file.joints.size(); ++k) {
      const FileJoint& j = file.joints[k];
      const Matrix3d back = poses[j.from].orientation.transpose();
      for (int i = 0; i < 3; ++i) {
        out[j.name + ".reaction_f" + "xyz"[i]] = (back * force[k])[i];
        out[j.name + ".reaction_m" + "xyz"[i]] = (back * moment[k])[i];
      }
    }
  }

  // How far the equations are open in place.
  double open_places() const {
    double worst = 0.0;
    const auto zero = [&](double v) { worst = std::max(worst, std::abs(v)); };
    for (std::size_t f = 1; f < poses.size(); ++f)
      zero((poses[f].orientation * poses[f].orientation.transpose() - Matrix3d::Identity()).norm());
    for (const FileJoint& j : file.joints) {
      const Relative m = seen(j.from, j.to);
      const std::string& kind = j.kind;
      const Vector3d off_axis = m.place - j.axis.dot(m.place) * j.axis;
      const double tilt = (m.orientation * j.axis - j.axis).norm();
      if (kind == "arm" || kind == "weld")
        zero((m.place - j.offset).norm() + (m.orientation - j.rotation).norm());
      else if (kind == "revolute")
        zero(m.place.norm() + tilt);
      else if (kind == "prismatic")
        zero(off_axis.norm() + (m.orientation - Matrix3d::Identity()).norm());
      else if (kind == "cylindrical" || kind == "screw")
        zero(off_axis.norm() + tilt);
      else if (kind == "universal")
        zero(m.place.norm() + std::abs(j.axis.dot(m.orientation * j.second) - j.axis.dot(j.second)));
      else if (kind.starts_with("spherical"))
        zero(m.place.norm());
      else if (kind == "planar")
        zero(std::abs(j.axis.dot(m.place)) + tilt);
      if (kind == "screw") zero(j.axis.dot(m.place) - j.advance * angles[j.angle]);
    }
    for (const FileConstraint& c : file.constraints) {
      if (c.kind == "gear") {
        zero(coordinate(file.joints[c.from]) - c.value * coordinate(file.joints[c.to]));
      } else if (c.kind == "driver") {
        zero(coordinate(file.joints[c.from]) - now(c.motion));
      } else if (c.kind == "point_driver") {
        zero(c.axis.dot(poses[c.to].place) - now(c.motion));
      } else {
        const Vector3d d = seen(c.from, c.to).place;
        if (c.kind == "rod") zero(d.norm() - c.value);
        if (c.kind == "point_on_plane") zero(c.axis.dot(d));
        if (c.kind == "point_on_line") zero((d - c.axis.dot(d) * c.axis).norm());
      }
    }
    return worst;
  }
};

MechanismOracle::MechanismOracle(const std::string& model) : held_(std::make_unique<Held>(model)) {}
MechanismOracle::~MechanismOracle() = default;

bool MechanismOracle::is_tree() const {
  const MechanismFile& f = held_->file;
  return f.constraints.empty() && f.joints.size() + 1 == f.frames.size();
}

void MechanismOracle::start() {
  Held& h = *held_;
  std::vector<char> placed(h.poses.size(), 0);
  placed[0] = 1;
  for (bool any = true; any;) {
    any = false;
    for (const FileJoint& j : h.file.joints) {
      if (placed[j.from] == placed[j.to]) continue;
      const Relative m = start_of(j);
      Pose &A = h.poses[j.from], &B = h.poses[j.to];
      if (placed[j.from]) {
        const Matrix3d& r = A.orientation;
        B.orientation = r * m.orientation;
        B.place = A.place + r * m.place;
        B.angular = A.angular + r * m.angular;
        B.velocity = A.velocity + A.angular.cross(r * m.place) + r * m.velocity;
      } else {
        A.orientation = B.orientation * m.orientation.transpose();
        const Matrix3d& r = A.orientation;
        A.place = B.place - r * m.place;
        A.angular = B.angular - r * m.angular;
        A.velocity = B.velocity - A.angular.cross(r * m.place) - r * m.velocity;
      }
      placed[j.from] = placed[j.to] = 1;
      any = true;
    }
  }
  if (std::count(placed.begin(), placed.end(), 0) > 0) throw OracleError("a frame hangs on nothing");
  for (const FileJoint& j : h.file.joints)
    if (j.angle >= 0) h.angles[j.angle] = j.places.back();
  h.choose_rows();
  h.accelerate();
}

std::vector<std::string> MechanismOracle::start_variables() const {
  std::vector<std::string> names;
  for (std::size_t f = 1; f < held_->file.frames.size(); ++f)
    for (const char* what : {"x", "y", "z", "vx", "vy", "vz", "wx", "wy", "wz", "r11", "r12", "r13", "r21",
                             "r22", "r23", "r31", "r32", "r33"})
      names.push_back(held_->file.frames[f] + "." + what);
  return names;
}

void MechanismOracle::start_at(const std::function<double(const std::string&)>& first) {
  Held& h = *held_;
  for (std::size_t f = 1; f < h.poses.size(); ++f) {
    const std::string name = h.file.frames[f] + ".";
    Pose& p = h.poses[f];
    for (int i = 0; i < 3; ++i) {
      p.place[i] = first(name + "xyz"[i]);
      p.velocity[i] = first(name + "v" + "xyz"[i]);
      p.angular[i] = first(name + "w" + "xyz"[i]);
      for (int k = 0; k < 3; ++k)
        p.orientation(i, k) = first(name + "r" + std::to_string(i + 1) + std::to_string(k + 1));
    }
  }
  for (const FileJoint& j : h.file.joints) {
    if (j.angle < 0) continue;
    const Relative m = h.seen(j.from, j.to);
    const auto [x, y] = plane_across(j.axis);
    const double angle = std::atan2(y.dot(m.orientation * x), x.dot(m.orientation * x));
    const double guess =
        j.kind == "screw" && j.advance != 0.0 ? j.axis.dot(m.place) / j.advance : j.places.back();
    h.angles[j.angle] = angle + 2 * std::numbers::pi * std::round((guess - angle) / (2 * std::numbers::pi));
  }
  h.choose_rows();
  h.accelerate();
}

void MechanismOracle::advance(double to) { held_->advance(to); }
double MechanismOracle::open_places() { return held_->open_places(); }

double MechanismOracle::open_speeds() {
  const VectorXd v = held_->speeds();
  double worst = 0.0;
  for (const Row& row : held_->all_rows())
    worst = std::max(worst, std::abs(held_->spread(row).dot(v) - row.speed));
  return worst;
}

int MechanismOracle::freedoms() {
  return static_cast<int>(6 * held_->frame_count()) - static_cast<int>(held_->kept.size());
}
bool MechanismOracle::unique_reactions() { return held_->kept.size() == held_->equation_count; }

bool MechanismOracle::near_singular() {
  for (const FileJoint& j : held_->file.joints)
    if ((j.kind == "spherical" || j.kind == "free") &&
        std::abs(held_->seen(j.from, j.to).orientation(0, 2)) > 0.95)
      return true;
  return false;
}

int MechanismOracle::speeds_that_hold() {
  int count = 0;
  for (const FileJoint& j : held_->file.joints) {
    std::map<std::string, double> now;
    held_->observe_joint(j, now);
    const auto holds = [&](const std::string& name, double value) {
      const auto at = now.find(j.name + "." + name);
      count += at != now.end() && std::abs(at->second - value) < 1e-7 * (1 + std::abs(value));
    };
    static const std::map<std::string, std::vector<std::string>> rates{
        {"revolute", {"speed"}},
        {"prismatic", {"speed"}},
        {"screw", {"angle_rate"}},
        {"cylindrical", {"position_rate", "angle_rate"}},
        {"universal", {"angle_1_rate", "angle_2_rate"}},
        {"spherical", {"angle_1_rate", "angle_2_rate", "angle_3_rate"}},
        {"planar", {"x_rate", "y_rate", "angle_rate"}},
        {"free", {"x_rate", "y_rate", "z_rate", "angle_1_rate", "angle_2_rate", "angle_3_rate"}},
        {"spherical_quaternion", {"wx", "wy", "wz"}},
        {"free_quaternion", {"x_rate", "y_rate", "z_rate", "wx", "wy", "wz"}}};
    if (const auto found = rates.find(j.kind); found != rates.end())
      for (std::size_t k = 0; k < j.speeds.size(); ++k) holds(found->second[k], j.speeds[k]);
  }
  return count;
}

std::map<std::string, double> MechanismOracle::observe() {
  Held& h = *held_;
  std::map<std::string, double> out;
  for (std::size_t f = 1; f < h.poses.size(); ++f) h.observe_frame(f, out);
  for (std::size_t k = 0; k < h.file.joints.size(); ++k) {
    const FileJoint& j = h.file.joints[k];
    h.observe_joint(j, out);
    if (j.kind == "revolute") out[j.name + ".torque"] = h.efforts[k];
    if (j.kind == "prismatic") out[j.name + ".force"] = h.efforts[k];
  }
  h.observe_reactions(out);
  const VectorXd v = h.speeds();
  out["mechanism.kinetic"] = 0.5 * v.dot(h.masses() * v);
  out["mechanism.potential"] = potential();
  return out;
}

double MechanismOracle::potential() {
  const Held& h = *held_;
  double sum = 0.0;
  for (const FileBody& b : h.file.bodies)
    sum -= b.mass * h.file.gravity.dot(h.poses[b.frame].place + h.poses[b.frame].orientation * b.centre);
  for (const FileSpring& s : h.file.springs) {
    const double longer = (h.poses[s.to].place - h.poses[s.from].place).norm() - h.now(s.length);
    sum += h.now(s.stiffness) * longer * longer / 2 + h.now(s.preload) * longer;
  }
  for (const FileBushing& b : h.file.bushings) {
    const Relative m = h.seen(b.from, b.to);
    sum += b.stiffness.dot(m.place.cwiseAbs2()) / 2 +
           Held::turning_potential(b).dot((Matrix3d::Identity() - m.orientation).diagonal());
  }
  return sum;
}

Vector3d MechanismOracle::place(const std::string& frame) const {
  const auto& names = held_->file.frames;
  const auto at = std::find(names.begin(), names.end(), frame) - names.begin();
  return held_->poses.at(static_cast<std::size_t>(at)).place;
}
Matrix3d MechanismOracle::orientation(const std::string& frame) const {
  const auto& names = held_->file.frames;
  const auto at = std::find(names.begin(), names.end(), frame) - names.begin();
  return held_->poses.at(static_cast<std::size_t>(at)).orientation;
}

}  // namespace differential
