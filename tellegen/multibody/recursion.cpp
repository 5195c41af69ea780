#include "tellegen/multibody/recursion.h"

#include <fmt/format.h>

#include <algorithm>

#include "tellegen/multibody/joint_motion.h"

namespace tellegen {
namespace {

using Vec6 = std::array<Expr, 6>;  // turning, then moving; of forces moment, then force
using Mat6 = std::array<Vec6, 6>;

class TreeRecurser {
 public:
  TreeRecurser(const Mechanism& m, std::span<const TreeLink> links, std::span<const int> order)
      : m_(m), pool_(*m.pool), links_(links), order_(order), work_(links.size()) {}

  TreeRecursion run() {
    numbers_.assign(m_.joints.size(), 0);
    for (Work& w : work_) {
      for (auto* v : {&w.force, &w.motion}) v->fill(pool_.number(0));
      for (Vec6& row : w.inertia) row.fill(pool_.number(0));
      w.angular = zero_vector(pool_);
    }
    for (std::size_t i = 0; i < 3; ++i) work_[0].motion[3 + i] = -m_.gravity[i];
    for (int f : order_.subspan(1)) turn(f);
    take_bodies();
    for (std::size_t k = order_.size(); k-- > 1;) articulate(order_[k]);
    if (result_.undetermined) return std::move(result_);
    result_.accelerations.resize(links_.size());
    for (int f : order_.subspan(1)) accelerate(f);
    keep_needed();
    return std::move(result_);
  }

 private:
  struct Freedom {
    Vec6 way, inertia;  // s, U
    Expr effort, inverse;
  };
  struct Work {
    Vec3 angular;
    Mat6 inertia;
    Vec6 force, motion;
    Vec6 moved;  // what the joint adds to the parent's acceleration where its own are zero
    std::vector<Freedom> freedoms;
  };

  Expr define(int f, Expr value) {
    if (split_coefficient(value).rest.is_symbol() || value.is_number()) return value;
    const int joint = links_[f].joint;
    if (const auto known = names_.find(value); known != names_.end()) return known->second;
    const Expr symbol =
        pool_.symbol(fmt::format("{}.recursion_{}", m_.joints[joint].name, ++numbers_[joint]));
    result_.definitions.push_back({joint, symbol, value});
    return names_[value] = symbol;
  }

  Vec3 half(const Vec6& v, std::size_t from) const { return {v[from], v[from + 1], v[from + 2]}; }
  static Vec6 join(const Vec3& a, const Vec3& b) { return {a[0], a[1], a[2], b[0], b[1], b[2]}; }
  static Expr dot6(const Vec6& a, const Vec6& b) {
    Expr sum = a[0] * b[0];
    for (std::size_t i = 1; i < 6; ++i) sum = sum + a[i] * b[i];
    return sum;
  }

  void turn(int f) {
    const TreeLink& l = links_[f];
    Work& w = work_[f];
    const Mat3 back = transposed(l.rotation);
    const Vec3& before = work_[l.parent].angular;
    const Vec3 turning = back * before;
    w.angular = l.angular;
    // Of the rates, what is left without the joint's own accelerations.
    ExprMap<Expr> still;
    for (Expr a : m_.joints[l.joint].a) still[a] = pool_.number(0);
    const auto without = [&](const Vec3& v) {
      return Vec3{substitute(v[0], still), substitute(v[1], still), substitute(v[2], still)};
    };
    const Vec3 swing = cross(before, cross(before, l.position)) +
                       pool_.number(2) * cross(before, l.relative_velocity) + without(l.velocity_rate);
    w.moved = join(without(l.angular_rate) + cross(turning, l.relative_angular), back * swing);
    for (Expr u : m_.joints[l.joint].u) {
      const auto by = [&](const Vec3& v) {
        return Vec3{derivative(v[0], u), derivative(v[1], u), derivative(v[2], u)};
      };
      w.freedoms.push_back({join(by(l.relative_angular), back * by(l.relative_velocity)), {}, {}, {}});
    }
  }

  void take_bodies() {
    for (const MechanismBody& b : m_.bodies) {
      if (b.frame == 0) continue;
      Work& w = work_[b.frame];
      const Vec3& c = b.centre;
      const Expr square = dot(c, c), zero = pool_.number(0);
      for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
        for (std::size_t n = 0; n < 3; ++n) {
          const Expr parallel = (i == n ? square : zero) - c[i] * c[n];
          w.inertia[i][n] = w.inertia[i][n] + b.inertia[i][n] + b.mass * parallel;
        }
        w.inertia[3 + i][3 + i] = w.inertia[3 + i][3 + i] + b.mass;
        // Moment of the centre's inertia: c x a.
        w.inertia[i][3 + k] = w.inertia[i][3 + k] + b.mass * c[j];
        w.inertia[i][3 + j] = w.inertia[i][3 + j] - b.mass * c[k];
      }
      const Vec3 drawn = b.mass * cross(w.angular, cross(w.angular, c));
      const Vec3 moment = cross(w.angular, b.inertia * w.angular) + cross(c, drawn);
      for (std::size_t i = 0; i < 3; ++i) {
        w.force[i] = w.force[i] + moment[i];
        w.force[3 + i] = w.force[3 + i] + drawn[i];
      }
    }
    for (std::size_t f = 1; f < links_.size(); ++f) {
      Work& w = work_[f];
      for (std::size_t i = 0; i < 3; ++i) {
        w.force[i] = w.force[i] - links_[f].moment[i];
        w.force[3 + i] = w.force[3 + i] - links_[f].force[i];
      }
      mirror(w.inertia);
    }
  }

  static void mirror(Mat6& m) {
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < i; ++j) m[i][j] = m[j][i];
  }
  Vec6 times(const Mat6& m, const Vec6& v) const {
    Vec6 product;
    for (std::size_t i = 0; i < 6; ++i) product[i] = dot6(m[i], v);
    return product;
  }

  void articulate(int f) {
    const TreeLink& l = links_[f];
    Work& w = work_[f];
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = i; j < 6; ++j) w.inertia[i][j] = define(f, w.inertia[i][j]);
    mirror(w.inertia);
    for (Expr& e : w.force) e = define(f, e);
    for (std::size_t n = 0; n < w.freedoms.size(); ++n) {
      Freedom& s = w.freedoms[n];
      s.inertia = times(w.inertia, s.way);
      for (Expr& e : s.inertia) e = define(f, e);
      const Expr inertia = dot6(s.way, s.inertia);
      if (inertia.is_number(0)) {
        result_.undetermined = true;
        return;
      }
      s.inverse = define(f, pow(inertia, -1.0));
      const Expr pull = -dot6(s.way, w.force);
      s.effort = define(f, l.effort.empty() ? pull : l.effort[n] + pull);
      const Expr still = s.effort * s.inverse;
      for (std::size_t i = 0; i < 6; ++i) {
        if (s.inertia[i].is_number(0)) continue;
        const Expr share = define(f, s.inertia[i] * s.inverse);
        for (std::size_t j = i; j < 6; ++j)
          if (!s.inertia[j].is_number(0)) w.inertia[i][j] = w.inertia[i][j] - share * s.inertia[j];
        w.force[i] = w.force[i] + s.inertia[i] * still;
      }
      // What is exactly nothing, along the joint's own way, is known to be so.
      for (std::size_t i = 0; i < 6; ++i)
        if (is_unit(s.way, i)) {
          for (std::size_t j = 0; j < 6; ++j) w.inertia[std::min(i, j)][std::max(i, j)] = pool_.number(0);
          w.force[i] = l.effort.empty() ? pool_.number(0) : l.effort[n];
        }
      if (n + 1 < w.freedoms.size())
        for (std::size_t i = 0; i < 6; ++i) {
          for (std::size_t j = i; j < 6; ++j) w.inertia[i][j] = define(f, w.inertia[i][j]);
          w.force[i] = define(f, w.force[i]);
        }
      mirror(w.inertia);
    }
    if (l.parent == 0) return;
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = i; j < 6; ++j) w.inertia[i][j] = define(f, w.inertia[i][j]);
      w.moved[i] = define(f, w.moved[i]);
    }
    mirror(w.inertia);
    const Vec6 carried = times(w.inertia, w.moved);
    Vec6 force;
    for (std::size_t i = 0; i < 6; ++i) force[i] = define(f, w.force[i] + carried[i]);
    give_to_parent(f, force);
  }

  static bool is_unit(const Vec6& s, std::size_t i) {
    for (std::size_t j = 0; j < 6; ++j)
      if (!s[j].is_number(i == j ? 1.0 : 0.0)) return false;
    return true;
  }

  void give_to_parent(int f, const Vec6& force) {
    const TreeLink& l = links_[f];
    const Mat6& own = work_[f].inertia;
    Work& p = work_[l.parent];
    const auto block = [&](std::size_t row, std::size_t column) {
      Mat3 b;
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) b[i][j] = own[row + i][column + j];
      Mat3 turned = l.rotation * b;
      for (Vec3& r : turned)
        for (Expr& e : r) e = define(f, e);
      turned = turned * transposed(l.rotation);
      return turned;
    };
    Mat3 turning = block(0, 0), mixed = block(0, 3), moving = block(3, 3);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        mixed[i][j] = define(f, mixed[i][j]);
        moving[i][j] = j < i ? moving[j][i] : define(f, moving[i][j]);
      }
    // Shifted by r:  A - B r + r B' - r C r,  B + r C,  C, with r for r x.
    const auto cross_rows = [&](const Mat3& m) {  // r m
      const Mat3 columns = transposed(m);
      return transposed(
          Mat3{cross(l.position, columns[0]), cross(l.position, columns[1]), cross(l.position, columns[2])});
    };
    const Mat3 shifted = cross_rows(moving);              // r C
    const Mat3 sideways = cross_rows(transposed(mixed));  // r B', the transpose of -B r
    const Mat3 twice = cross_rows(transposed(shifted));   // r (r C)' = -r C r
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        p.inertia[i][j] = p.inertia[i][j] + turning[i][j] + sideways[i][j] + sideways[j][i] + twice[i][j];
        p.inertia[i][3 + j] = p.inertia[i][3 + j] + mixed[i][j] + shifted[i][j];
        p.inertia[3 + i][3 + j] = p.inertia[3 + i][3 + j] + moving[i][j];
      }
    mirror(p.inertia);
    Vec3 along = l.rotation * half(force, 3);
    for (Expr& e : along) e = define(f, e);
    const Vec3 moment = l.rotation * half(force, 0) + cross(l.position, along);
    for (std::size_t i = 0; i < 3; ++i) {
      p.force[i] = p.force[i] + moment[i];
      p.force[3 + i] = p.force[3 + i] + along[i];
    }
  }

  void accelerate(int f) {
    const TreeLink& l = links_[f];
    Work& w = work_[f];
    const Vec6& parent = work_[l.parent].motion;
    const Mat3 back = transposed(l.rotation);
    const Vec3 turning = half(parent, 0);
    w.motion = join(back * turning, back * (half(parent, 3) + cross(turning, l.position)));
    for (std::size_t i = 0; i < 6; ++i) w.motion[i] = define(f, w.motion[i] + w.moved[i]);
    auto& accelerations = result_.accelerations[f];
    accelerations.resize(w.freedoms.size());
    for (std::size_t n = w.freedoms.size(); n-- > 0;) {
      const Freedom& s = w.freedoms[n];
      accelerations[n] = (s.effort - dot6(s.inertia, w.motion)) * s.inverse;
      const Expr a = m_.joints[l.joint].a[n];
      for (std::size_t i = 0; i < 6; ++i) w.motion[i] = define(f, w.motion[i] + s.way[i] * a);
    }
  }

  void keep_needed() {
    ExprMap<char> needed;
    const auto need = [&](Expr e) {
      for (Expr s : symbols_of(std::span(&e, 1))) needed[s] = 1;
    };
    for (const auto& list : result_.accelerations)
      for (Expr e : list) need(e);
    std::vector<NamedFormula> kept;
    for (auto d = result_.definitions.rbegin(); d != result_.definitions.rend(); ++d)
      if (needed.contains(d->symbol)) {
        need(d->value);
        kept.push_back(*d);
      }
    std::reverse(kept.begin(), kept.end());
    result_.definitions = std::move(kept);
  }

  const Mechanism& m_;
  Pool& pool_;
  std::span<const TreeLink> links_;
  std::span<const int> order_;
  std::vector<Work> work_;
  std::vector<int> numbers_;  // per joint: names given
  ExprMap<Expr> names_;
  TreeRecursion result_;
};

}  // namespace

TreeRecursion recurse(const Mechanism& mechanism, std::span<const TreeLink> links,
                      std::span<const int> order) {
  return TreeRecurser(mechanism, links, order).run();
}

}  // namespace tellegen
