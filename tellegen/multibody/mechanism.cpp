// The equations of a mechanism: tree, motion outward along it, forces inward, circuits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "tellegen/multibody/assembly.h"
#include "tellegen/multibody/circuits.h"
#include "tellegen/multibody/forces.h"
#include "tellegen/multibody/joint_motion.h"
#include "tellegen/multibody/recursion.h"

namespace tellegen {
namespace {

// Speeds of an open tree from which on recursion takes fewer operations than eliminating a full matrix.
constexpr std::size_t long_tree = 8;
// Where shafts drive joints, rotors on them may have no speeds of their own. Then every torque takes part in
// every acceleration, the recursion is one circle, and what the matrix has as one small block is many names.
constexpr std::size_t long_driven_tree = 31;

class MechanismFormulator {
 public:
  explicit MechanismFormulator(const Mechanism& m) : m_(m), pool_(*m.pool), zero_(pool_.number(0)) {}

  MechanismEquations run() {
    choose_tree();
    if (!out_.faults.empty()) return std::move(out_);
    is_long_ = is_long_tree();
    collect_rates();
    move_outward();
    apply_forces();
    move_inward();
    close_circuits();
    if (is_long_) recurse_along_tree();
    energies();
    return std::move(out_);
  }

 private:
  // A frame's motion in its own axes; the acceleration is that of a fall upward, so that bodies weigh.
  struct Local {
    int parent = -1, joint = -1;
    bool reversed = false;  // the frame is `from` of its joint
    Mat3 rotation;          // to the parent
    Vec3 position;          // in the parent
    Vec3 relative_angular, relative_velocity;
    Vec3 angular, angular_acceleration, velocity, acceleration, gravity;
    Vec3 force, moment;            // what its part of the tree takes, at the origin
    Vec3 load_force, load_moment;  // what acts on the frame itself
  };

  void fault(std::string_view code, std::string name, std::string message,
             std::vector<std::string> details = {}) {
    out_.faults.push_back({code, std::move(name), std::move(message), std::move(details)});
  }

  // Kruskal: rigid arms, joints that the user wants or that carry efforts, then by the number of coordinates
  // they bring.
  void choose_tree() {
    std::vector<int> order(m_.joints.size());
    std::iota(order.begin(), order.end(), 0);
    const auto rank = [&](int k) {
      const MechanismJoint& j = m_.joints[k];
      const int stage = j.wanted ? 1 : j.cut ? 4 : j.kind == JointKind::rigid ? 0 : j.has_effort ? 2 : 3;
      return std::tuple(stage, size_of(j.kind).speeds);
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
    std::vector<int> root(m_.frames.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](int f) {
      while (root[f] != f) f = root[f] = root[root[f]];
      return f;
    };
    out_.in_tree.assign(m_.joints.size(), 0);
    for (int k : order) {
      const int a = find(m_.joints[k].from), b = find(m_.joints[k].to);
      if (a == b) continue;
      root[a] = b;
      out_.in_tree[k] = 1;
    }
    for (std::size_t f = 1; f < m_.frames.size(); ++f)
      if (find(static_cast<int>(f)) != find(0))
        fault("T191", m_.frames[f], fmt::format("frame '{}' hangs on nothing", m_.frames[f]),
              {"no chain of joints and arms joins it to the datum",
               "add a joint; multibody.free where it is to move freely"});
    for (std::size_t k = 0; k < m_.joints.size(); ++k)
      if (!out_.in_tree[k] && m_.joints[k].wanted)
        fault(
            "T222", m_.joints[k].name,
            fmt::format("'{}' closes a circuit with the other joints of the chosen tree", m_.joints[k].name),
            {"leave one of them out"});
      else if (!out_.in_tree[k] && m_.joints[k].has_effort)
        fault("T192", m_.joints[k].name,
              fmt::format("'{}' closes a circuit of joints, and has a port, a spring, friction or a driver",
                          m_.joints[k].name),
              {"every other joint of the circuit has one too, or is rigid",
               "a joint of the circuit without any of these is cut: add one, or move the effort to a "
               "multibody.spring or multibody.torque"});
  }

  bool is_long_tree() const {
    std::size_t speeds = 0;
    bool open = m_.constraints.empty(), driven = false;
    for (std::size_t k = 0; k < m_.joints.size(); ++k) {
      speeds += m_.joints[k].u.size();
      open = open && out_.in_tree[k];
      driven = driven || m_.joints[k].preferred;
    }
    return open && speeds >= (driven ? long_driven_tree : long_tree);
  }

  void collect_rates() {
    relative_.resize(m_.joints.size());
    rates_[pool_.symbol("t")] = pool_.number(1);
    for (std::size_t k = 0; k < m_.joints.size(); ++k) {
      if (!out_.in_tree[k]) continue;
      const MechanismJoint& j = m_.joints[k];
      relative_[k] = relative_motion(m_, j);
      for (std::size_t i = 0; i < j.q.size(); ++i) rates_[j.q[i]] = relative_[k].rates[i];
      for (std::size_t i = 0; i < j.u.size(); ++i) rates_[j.u[i]] = j.a[i];
    }
  }

  Expr name(int joint, Expr value) {
    if (value.is_number() || value.is_symbol()) return value;
    const Expr symbol =
        pool_.symbol(fmt::format("{}.recursion_w{}", m_.joints[joint].name, out_.named.size() + 1));
    out_.named.push_back({joint, symbol, value});
    return symbol;
  }

  Vec3 rate(const Vec3& v) const {
    return {time_derivative(v[0], rates_), time_derivative(v[1], rates_), time_derivative(v[2], rates_)};
  }

  void move_outward() {
    const std::size_t n = m_.frames.size();
    local_.resize(n);
    out_.frames.resize(n);
    std::vector<std::vector<int>> joints_at(n);
    for (std::size_t k = 0; k < m_.joints.size(); ++k)
      if (out_.in_tree[k])
        for (int f : {m_.joints[k].from, m_.joints[k].to}) joints_at[f].push_back(static_cast<int>(k));
    const Vec3 zero = zero_vector(pool_);
    for (Local& l : local_) l.load_force = l.load_moment = zero;
    Local& datum = local_[0];
    datum.angular = datum.angular_acceleration = datum.velocity = datum.force = datum.moment = zero;
    datum.acceleration = -m_.gravity;
    datum.gravity = m_.gravity;
    FrameMotion& ground = out_.frames[0];
    ground.orientation = unit_matrix(pool_);
    ground.position = ground.velocity = ground.acceleration = ground.angular = ground.angular_acceleration =
        zero;
    order_ = {0};
    for (std::size_t next = 0; next < order_.size(); ++next)
      for (int k : joints_at[order_[next]]) {
        const int p = order_[next];
        if (local_[p].joint == k) continue;
        const int c = m_.joints[k].from == p ? m_.joints[k].to : m_.joints[k].from;
        place(p, c, k);
        order_.push_back(c);
      }
  }

  void place(int p, int c, int k) {
    const RelativeMotion& m = relative_[k];
    Local& child = local_[c];
    const Local& parent = local_[p];
    child.parent = p;
    child.joint = k;
    child.reversed = m_.joints[k].to == p;
    child.rotation = child.reversed ? transposed(m.rotation) : m.rotation;
    child.position = child.reversed ? -(child.rotation * m.position) : m.position;
    child.relative_angular = child.reversed ? -(m.rotation * m.angular) : m.angular;
    child.relative_velocity = rate(child.position);
    const Mat3 back = transposed(child.rotation);
    const Vec3 turning = back * parent.angular;
    child.gravity = back * parent.gravity;
    child.angular = turning + child.relative_angular;
    // A sum of a sum is one sum: without a name it would be as long as the way to the datum.
    if (is_long_)
      for (Expr& e : child.angular) e = name(k, e);
    child.angular_acceleration = back * parent.angular_acceleration + rate(child.relative_angular) +
                                 cross(turning, child.relative_angular);
    const Vec3& r = child.position;
    child.velocity = back * (parent.velocity + cross(parent.angular, r) + child.relative_velocity);
    child.acceleration = back * (parent.acceleration + cross(parent.angular_acceleration, r) +
                                 cross(parent.angular, cross(parent.angular, r)) +
                                 pool_.number(2) * cross(parent.angular, child.relative_velocity) +
                                 rate(child.relative_velocity));
    child.force = child.moment = zero_vector(pool_);
    // The same along the datum's axes, for circuits and outputs.
    FrameMotion& w = out_.frames[c];
    const FrameMotion& v = out_.frames[p];
    w.orientation = v.orientation * child.rotation;
    const Vec3 arm = v.orientation * r, moving = v.orientation * child.relative_velocity;
    const Vec3 turned = w.orientation * child.relative_angular;
    w.position = v.position + arm;
    w.velocity = v.velocity + cross(v.angular, arm) + moving;
    w.angular = v.angular + turned;
    w.angular_acceleration =
        v.angular_acceleration + w.orientation * rate(child.relative_angular) + cross(v.angular, turned);
    w.acceleration = v.acceleration + cross(v.angular_acceleration, arm) +
                     cross(v.angular, cross(v.angular, arm)) + pool_.number(2) * cross(v.angular, moving) +
                     v.orientation * rate(child.relative_velocity);
  }

  // Inertia takes force, what acts from outside gives it.
  void apply_forces() {
    for (const MechanismBody& b : m_.bodies) {
      Local& f = local_[b.frame];
      const Vec3 at_centre = f.acceleration + cross(f.angular_acceleration, b.centre) +
                             cross(f.angular, cross(f.angular, b.centre));
      const Vec3 force = b.mass * at_centre;
      f.force = f.force + force;
      // One after the other: terms of a sum stand in the order in which they are made, on every processor.
      const Vec3 turning = b.inertia * f.angular_acceleration;
      const Vec3 gyroscopic = cross(f.angular, b.inertia * f.angular);
      const Vec3 carried = cross(b.centre, force);
      f.moment = f.moment + turning + gyroscopic + carried;
    }
    for (const MechanismForce& a : m_.forces) {
      const Mat3 to_own = transposed(out_.frames[a.frame].orientation) * out_.frames[a.in].orientation;
      const bool own = a.frame == a.in;
      load(a.frame, own ? a.force : to_own * a.force, own ? a.torque : to_own * a.torque);
    }
    collect_laws();
    for (const ForceLaw& law : laws_)
      for (const FrameLoad& l : law.loads) {
        const Mat3 to_own = transposed(out_.frames[l.frame].orientation);
        load(l.frame, to_own * l.force, to_own * l.moment);
      }
  }

  void load(int frame, const Vec3& force, const Vec3& moment) {
    Local& f = local_[frame];
    f.force = f.force - force;
    f.moment = f.moment - moment;
    f.load_force = f.load_force + force;
    f.load_moment = f.load_moment + moment;
  }

  void recurse_along_tree() {
    std::vector<TreeLink> links(local_.size());
    for (int f : order_) {
      const Local& l = local_[f];
      if (l.joint < 0) continue;
      links[f] = {l.parent,
                  l.joint,
                  l.rotation,
                  l.position,
                  l.relative_angular,
                  l.relative_velocity,
                  l.angular,
                  rate(l.relative_angular),
                  rate(l.relative_velocity),
                  l.load_force,
                  l.load_moment,
                  m_.joints[l.joint].effort};
    }
    const TreeRecursion recursion = recurse(m_, links, order_);
    if (recursion.undetermined) {  // the equations of motion stay, and their faults name the joint
      start_values();
      return;
    }
    out_.named.insert(out_.named.end(), recursion.definitions.begin(), recursion.definitions.end());
    std::vector<int> frame_of(m_.joints.size(), 0);
    for (int f : order_)
      if (local_[f].joint >= 0) frame_of[local_[f].joint] = f;
    for (CoordinateMotion& c : out_.coordinates)
      c.motion = c.a - recursion.accelerations[frame_of[c.joint]][c.index];
    start_values();
  }

  ExprMap<double> start_position() const {
    ExprMap<double> at = m_.numbers;
    at[pool_.symbol("t")] = 0.0;
    for (const MechanismJoint& j : m_.joints)
      for (std::size_t i = 0; i < j.q.size(); ++i) at[j.q[i]] = j.start[i];
    return at;
  }

  // Speeds at rest, accelerations as they follow.
  void start_values() {
    ExprMap<double> at = start_position();
    for (const MechanismJoint& j : m_.joints) {
      for (Expr u : j.u) at[u] = 0.0;
      for (Expr a : j.a) at[a] = 0.0;
    }
    for (NamedFormula& n : out_.named) {
      const double value = evaluate(n.value, at);
      n.start = at[n.symbol] = std::isfinite(value) ? value : 0.0;
    }
  }

  void collect_laws() {
    for (const MechanismSpring& s : m_.springs) laws_.push_back(spring_law(s, out_.frames));
    for (const MechanismBushing& b : m_.bushings) laws_.push_back(bushing_law(b, out_.frames));
    for (const MechanismTyre& t : m_.tyres) {
      const TyreMotion motion = tyre_motion(t, out_.frames);
      out_.tyres.push_back({motion.deflection, motion.rate, motion.slip});
      laws_.push_back(tyre_law(t, motion, out_.frames));
    }
  }

  void move_inward() {
    out_.joint_force.assign(m_.joints.size(), zero_vector(pool_));
    out_.joint_moment.assign(m_.joints.size(), zero_vector(pool_));
    std::vector<std::vector<Expr>> projected(m_.joints.size());
    for (auto f = order_.rbegin(); f != order_.rend(); ++f) {
      const Local& child = local_[*f];
      if (child.joint < 0) continue;
      Local& parent = local_[child.parent];
      const Vec3 force = child.rotation * child.force;
      const Vec3 moment = child.rotation * child.moment;
      parent.force = parent.force + force;
      parent.moment = parent.moment + moment + cross(child.position, force);
      const MechanismJoint& joint = m_.joints[child.joint];
      add_to_joint(child, child.force, child.moment);
      for (Expr u : joint.u) {
        Expr sum = zero_;
        for (std::size_t i = 0; i < 3; ++i)
          sum = sum + child.moment[i] * derivative(child.relative_angular[i], u) +
                force[i] * derivative(child.relative_velocity[i], u);
        projected[child.joint].push_back(sum);
      }
    }
    for (std::size_t k = 0; k < m_.joints.size(); ++k) {
      const MechanismJoint& joint = m_.joints[k];
      if (!out_.in_tree[k]) continue;
      const std::size_t plain =
          size_of(joint.kind).coordinates == size_of(joint.kind).speeds ? joint.u.size() : joint.u.size() - 3;
      for (std::size_t i = 0; i < joint.u.size(); ++i) {
        CoordinateMotion c;
        c.joint = static_cast<int>(k);
        c.index = static_cast<int>(i);
        c.q = i < plain ? joint.q[i] : Expr();
        c.u = joint.u[i];
        c.a = joint.a[i];
        c.motion = projected[k][i];
        if (!joint.effort.empty()) c.motion = c.motion - joint.effort[i];
        out_.coordinates.push_back(c);
      }
      for (std::size_t i = plain; i < joint.q.size(); ++i)
        out_.quaternion_rates.push_back({joint.q[i], relative_[k].rates[i]});
    }
  }

  // By how much `to` of a joint out of the tree has turned about its axis, as far as joints of its circuit
  // turn about the same: between turns the circuit itself says the rest.
  Expr turned_along_tree(const MechanismJoint& joint) const {
    ExprMap<double> at = start_position();
    const auto direction = [&](int frame, const Vec3& axis) {
      std::array<double, 3> v;
      for (std::size_t i = 0; i < 3; ++i) v[i] = evaluate((out_.frames[frame].orientation * axis)[i], at);
      return v;
    };
    const auto own = direction(joint.from, joint.axis);
    Expr sum = zero_;
    const auto add_path = [&](int frame, double sign) {
      for (; local_[frame].joint >= 0; frame = local_[frame].parent) {
        const MechanismJoint& j = m_.joints[local_[frame].joint];
        const bool turns = j.kind == JointKind::revolute || j.kind == JointKind::screw ||
                           j.kind == JointKind::cylindrical || j.kind == JointKind::planar;
        if (!turns) continue;
        const auto axis = direction(j.from, j.axis);
        const double along = own[0] * axis[0] + own[1] * axis[1] + own[2] * axis[2];
        if (std::abs(along) > 0.99)
          sum = sum + (std::copysign(1.0, along) * sign * (local_[frame].reversed ? -1 : 1)) * j.q.back();
      }
    };
    add_path(joint.to, 1.0);
    add_path(joint.from, -1.0);
    return sum;
  }

  struct ClosingLoad {
    std::size_t circuit;
    Vec3 force, moment;
  };

  void close_circuits() {
    out_.constraints = m_.constraints;
    out_.closing.assign(m_.constraints.size(), -1);
    out_.closing_motions.resize(m_.joints.size());
    for (std::size_t k = 0; k < m_.joints.size(); ++k) {
      if (out_.in_tree[k]) continue;
      out_.closing_motions[k] =
          closing_motion(m_, m_.joints[k], turned_along_tree(m_.joints[k]), out_.frames);
      MechanismConstraint c;
      c.what = MechanismConstraint::What::closure;
      c.name = m_.joints[k].name;
      c.from = m_.joints[k].from;
      c.to = m_.joints[k].to;
      c.multipliers = m_.joints[k].reactions;
      out_.constraints.push_back(std::move(c));
      out_.closing.push_back(static_cast<int>(k));
    }
    if (out_.constraints.empty()) return;
    std::vector<ClosingLoad> loads;
    for (std::size_t k = 0; k < out_.constraints.size(); ++k) {
      const int closing = out_.closing[k];
      const auto equations =
          circuit_equations(m_, out_.constraints[k], closing,
                            closing < 0 ? zero_ : turned_along_tree(m_.joints[closing]), out_.frames, rates_);
      for (std::size_t i = 0; i < equations.size(); ++i) {
        CircuitEquation e;
        e.constraint = static_cast<int>(k);
        e.index = static_cast<int>(i);
        e.multiplier = out_.constraints[k].multipliers[i];
        e.position = equations[i].position;
        e.velocity = equations[i].velocity;
        e.acceleration = equations[i].acceleration;
        e.redundant = e.position.is_number(0);
        out_.circuits.push_back(e);
        loads.push_back({out_.circuits.size() - 1, equations[i].force, equations[i].moment});
      }
    }
    if (!divide_coordinates()) return;
    transmit(loads);
    for (CircuitEquation& e : out_.circuits) {
      if (e.redundant) continue;
      for (CoordinateMotion& c : out_.coordinates)
        c.motion = c.motion - e.multiplier * derivative(e.velocity, c.u);
    }
  }

  std::string driven_by(const MechanismConstraint& c) const {
    return c.what == MechanismConstraint::What::driver ? m_.joints[c.from].name : m_.frames[c.to];
  }

  // What keeps circuits closed acts on the frames that they join, and through the joints of the tree behind.
  void transmit(const std::vector<ClosingLoad>& loads) {
    const Vec3 zero = zero_vector(pool_);
    std::vector<std::array<Vec3, 2>> taken(m_.frames.size(), {zero, zero});  // force and moment at the origin
    const auto act = [&](int frame, const Vec3& force, const Vec3& moment) {  // along the datum's axes
      const Mat3 to_own = transposed(out_.frames[frame].orientation);
      taken[frame][0] = taken[frame][0] - to_own * force;
      taken[frame][1] = taken[frame][1] - to_own * moment;
    };
    for (const ClosingLoad& load : loads) {
      const CircuitEquation& e = out_.circuits[load.circuit];
      if (e.redundant) continue;
      const MechanismConstraint& c = out_.constraints[e.constraint];
      const Vec3 force = e.multiplier * load.force, moment = e.multiplier * load.moment;
      if (const int joint = out_.closing[e.constraint]; joint >= 0) {
        out_.joint_force[joint] = out_.joint_force[joint] + force;
        out_.joint_moment[joint] = out_.joint_moment[joint] + moment;
      }
      if (c.what == MechanismConstraint::What::gear || c.what == MechanismConstraint::What::driver)
        continue;  // between joints, and part of what these transmit
      const FrameMotion &from = out_.frames[c.from], &to = out_.frames[c.to];
      const Vec3 f = from.orientation * force, m = from.orientation * moment;
      act(c.to, f, m);
      act(c.from, -f, -m - cross(to.position - from.position, f));
    }
    for (auto f = order_.rbegin(); f != order_.rend(); ++f) {
      const Local& child = local_[*f];
      if (child.joint < 0) continue;
      const auto& [own_force, own_moment] = taken[*f];
      const Vec3 force = child.rotation * own_force, moment = child.rotation * own_moment;
      auto& parent = taken[child.parent];
      parent[0] = parent[0] + force;
      parent[1] = parent[1] + moment + cross(child.position, force);
      add_to_joint(child, own_force, own_moment);
    }
  }

  // Force and moment that a frame takes through the joint by which it hangs in the tree.
  void add_to_joint(const Local& child, const Vec3& own_force, const Vec3& own_moment) {
    Vec3 &force = out_.joint_force[child.joint], &moment = out_.joint_moment[child.joint];
    const Vec3& r = relative_[child.joint].position;
    force = force + (child.reversed ? -own_force : child.rotation * own_force);
    moment = moment + (child.reversed ? cross(r, own_force) - own_moment : child.rotation * own_moment);
  }

  // What closes it says that axes are in line, and they are so either way.
  bool is_upside_down(const MechanismJoint& j, const ExprMap<double>& at) const {
    const Mat3 turned = transposed(out_.frames[j.from].orientation) * out_.frames[j.to].orientation;
    switch (j.kind) {
      case JointKind::revolute:
      case JointKind::cylindrical:
      case JointKind::screw:
      case JointKind::planar:
        return evaluate(dot(j.axis, turned * j.axis), at) < 0.0;
      case JointKind::rigid:
      case JointKind::prismatic: {
        const Mat3 rest = transposed(j.rotation) * turned;
        return evaluate(rest[0][0] + rest[1][1] + rest[2][2], at) < 0.0;
      }
      default:
        return false;
    }
  }

  bool divide_coordinates() {
    AssemblyProblem p;
    p.numbers = m_.numbers;
    p.numbers[pool_.symbol("t")] = 0.0;
    std::vector<int> of;  // circuit equations
    for (std::size_t k = 0; k < out_.circuits.size(); ++k) {
      const CircuitEquation& e = out_.circuits[k];
      if (e.redundant) continue;
      using What = MechanismConstraint::What;
      const What what = out_.constraints[e.constraint].what;
      of.push_back(static_cast<int>(k));
      p.equations.push_back(e.position);
      p.last.push_back(what == What::driver || what == What::point_driver);
    }
    std::vector<int> coordinate;  // of each in the problem: in out_.coordinates, -1: of a quaternion
    for (std::size_t k = 0; k < m_.joints.size(); ++k) {
      if (!out_.in_tree[k]) continue;
      const MechanismJoint& j = m_.joints[k];
      for (std::size_t i = 0; i < j.q.size(); ++i) {
        int own = -1;
        for (std::size_t c = 0; c < out_.coordinates.size(); ++c)
          if (out_.coordinates[c].q == j.q[i]) own = static_cast<int>(c);
        bool driven = false;
        for (const MechanismConstraint& c : out_.constraints)
          driven = driven || (c.what == MechanismConstraint::What::driver && c.from == static_cast<int>(k));
        coordinate.push_back(own);
        p.coordinates.push_back(j.q[i]);
        p.start.push_back(j.start[i]);
        p.mobility.push_back(driven ? 1.0 : j.preferred ? 1e-4 : j.start[i] != 0.0 ? 1e-1 : 1.0);
        p.preference.push_back(driven ? 1 << 20
                                      : (j.preferred ? 0 : 1000) + static_cast<int>(p.start.size()));
        p.fixed.push_back(own < 0);
      }
    }
    const Assembly a = assemble(p);
    const auto name_of = [&](int equation) {
      return out_.constraints[out_.circuits[of[equation]].constraint].name;
    };
    if (a.status == Assembly::Status::open) {
      fault(
          "T193", name_of(a.worst),
          fmt::format("the circuit that '{}' closes cannot be closed from the given start", name_of(a.worst)),
          {fmt::format("nearest, it stays open by {:.4g} (metres, or a cosine between axes)", a.gap),
           "look for a length that is too short, or give start values (angle0, position0) nearer to the "
           "assembled position"});
      return false;
    }
    if (a.status == Assembly::Status::start_moved) {
      fault(
          "T193", name_of(a.worst),
          fmt::format("the circuit that '{}' closes cannot be closed with '{}' at {:g}", name_of(a.worst),
                      a.moved < 0 ? "" : p.coordinates[a.moved].name(), a.moved < 0 ? 0.0 : p.start[a.moved]),
          {a.moved < 0 ? "" : fmt::format("it closes with {:.6g}", a.values[a.moved])});
      return false;
    }
    if (a.status == Assembly::Status::stuck) {
      fault("T194", name_of(a.worst), fmt::format("'{}' decides a quaternion", name_of(a.worst)),
            {"coordinates of a quaternion cannot follow from a circuit: use the kind in 1-2-3 angles"});
      return false;
    }
    if (a.status == Assembly::Status::singular) {
      fault("T198", name_of(a.worst),
            fmt::format("the circuit that '{}' closes starts in a change point (singular configuration)",
                        name_of(a.worst)),
            {"its links are in line there, or otherwise so that it could move on in two ways, and what "
             "keeps it closed is not decided",
             "give start values (angle0, position0) a little beside this position"});
      return false;
    }
    ExprMap<double> at = p.numbers;
    for (std::size_t k = 0; k < a.values.size(); ++k) at[p.coordinates[k]] = a.values[k];
    for (std::size_t k = 0; k < m_.joints.size(); ++k) {
      const MechanismJoint& j = m_.joints[k];
      if (out_.in_tree[k] || !is_upside_down(j, at)) continue;
      fault("T193", j.name,
            fmt::format("from the given start, the circuit that '{}' closes is closed upside down", j.name),
            {fmt::format("axes of '{}' and '{}' that are to point in one direction point against each other",
                         m_.frames[j.from], m_.frames[j.to]),
             "give start values (angle0, position0) nearer to the assembled position"});
    }
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (!a.redundant[i]) continue;
      CircuitEquation& e = out_.circuits[of[i]];
      e.redundant = true;
      if (p.last[i])
        fault("T195", name_of(static_cast<int>(i)),
              fmt::format("driver '{}' prescribes what other joints and drivers already decide",
                          name_of(static_cast<int>(i))),
              {"remove one of them",
               fmt::format(
                   "or the mechanism stands at a dead point (toggle), where the motion of '{}' does not "
                   "decide that of the other joints of its circuits: start it in another position",
                   driven_by(out_.constraints[out_.circuits[of[i]].constraint]))});
    }
    for (std::size_t d = 0; d < a.dependent.size(); ++d) {
      CoordinateMotion& c = out_.coordinates[coordinate[a.dependent[d]]];
      c.independent = false;
      c.constraint = of[a.equation_of[d]];
      c.start = a.values[a.dependent[d]];
    }
    return out_.faults.empty();
  }

  // What the others of the mechanism give to a body: the rate of its kinetic energy and its height's.
  Expr power_into(const MechanismBody& b, const Vec3& velocity) const {
    const Local& f = local_[b.frame];
    const Vec3 at_centre = f.acceleration + cross(f.angular_acceleration, b.centre) +
                           cross(f.angular, cross(f.angular, b.centre));
    return b.mass * dot(velocity, at_centre) + dot(f.angular, b.inertia * f.angular_acceleration);
  }

  void energies() {
    out_.kinetic = out_.potential = out_.power = out_.exchanged = zero_;
    for (std::size_t k = 0; k < m_.joints.size(); ++k)
      for (std::size_t i = 0; out_.in_tree[k] && i < m_.joints[k].effort.size(); ++i)
        out_.power = out_.power + m_.joints[k].effort[i] * m_.joints[k].u[i];
    for (const MechanismForce& a : m_.forces) {
      const Mat3& to_datum = out_.frames[a.in].orientation;
      out_.power = out_.power + dot(to_datum * a.force, out_.frames[a.frame].velocity) +
                   dot(to_datum * a.torque, out_.frames[a.frame].angular);
    }
    for (const CircuitEquation& e : out_.circuits)  // of drivers: the multiplier on the motion they prescribe
      if (!e.redundant) out_.power = out_.power - e.multiplier * derivative(e.position, pool_.symbol("t"));
    for (const MechanismBody& b : m_.bodies) {
      const Local& f = local_[b.frame];
      const Vec3 v = f.velocity + cross(f.angular, b.centre);
      if (!is_long_) out_.exchanged = out_.exchanged + pool_.call("abs", {power_into(b, v)});
      out_.kinetic = out_.kinetic + (b.mass * dot(v, v) + dot(f.angular, b.inertia * f.angular)) / 2.0;
      const FrameMotion& w = out_.frames[b.frame];
      out_.potential = out_.potential - b.mass * dot(m_.gravity, w.position + w.orientation * b.centre);
      out_.power = out_.power + b.mass * dot(f.gravity, v);
    }
    for (const ForceLaw& law : laws_) {
      out_.power = out_.power + law.power - time_derivative(law.potential, rates_);
      out_.potential = out_.potential + law.potential;
    }
  }

  const Mechanism& m_;
  Pool& pool_;
  Expr zero_;
  MechanismEquations out_;
  std::vector<RelativeMotion> relative_;
  ExprMap<Expr> rates_;
  std::vector<Local> local_;
  std::vector<int> order_;
  std::vector<ForceLaw> laws_;
  bool is_long_ = false;
};

}  // namespace

MechanismEquations mechanism_equations(const Mechanism& mechanism) {
  return MechanismFormulator(mechanism).run();
}

}  // namespace tellegen
