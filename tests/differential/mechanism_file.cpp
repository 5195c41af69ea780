#include "tests/differential/mechanism_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>

namespace differential {
namespace {

using Vectors = std::vector<std::string>;

struct Fixed : Leaves<double> {
  const std::vector<double>* columns = nullptr;
  double t = 0.0;
  double time() override { return t; }
  double column(int k) override {
    if (!columns) throw OracleError("a formula where a number is needed");
    return (*columns)[static_cast<std::size_t>(k)];
  }
  double rate(int) override { throw OracleError("a rate in a mechanism"); }
  double discrete(int) override { throw OracleError("a discrete variable in a mechanism"); }
  bool positive(const double& d, bool or_zero) override { return or_zero ? d >= 0 : d > 0; }
};

struct InTime : Leaves<Dual> {
  double t = 0.0;
  Dual time() override {
    Dual d(t);
    d.slopes = {{0, 1.0}};
    return d;
  }
  Dual column(int) override { throw OracleError("a motion of more than time"); }
  Dual rate(int) override { throw OracleError("a motion of more than time"); }
  Dual discrete(int) override { throw OracleError("a motion of more than time"); }
  bool positive(const Dual& d, bool or_zero) override { return or_zero ? d.value >= 0 : d.value > 0; }
};

class Reader {
 public:
  explicit Reader(const std::string& text) : root_(toml::parse(text)) {}

  MechanismFile read() {
    const toml::table* components = root_["components"].as_table();
    if (!components) throw OracleError("no components");
    for (const auto& [name, node] : *components) read_part(std::string(name.str()), *node.as_table());
    for (const auto& [name, node] : *components) read_coupling(std::string(name.str()), *node.as_table());
    return std::move(file_);
  }

 private:
  TreePtr tree_of(const toml::node& node) {
    if (const auto number = node.value<double>()) return number_tree(*number);
    const auto text = node.value<std::string>();
    if (!text) throw OracleError("a value of another type");
    double value = 0.0;
    if (is_quantity(*text, value)) return number_tree(value);
    return parse_tree(*text, [this](const std::string& name) { return named(name); });
  }
  TreePtr named(const std::string& name) {
    if (name == "t") return leaf(Tree::What::time, 0);
    for (const char* section : {"parameters", "inputs"})
      if (const toml::node* node = root_[section][name].node()) return tree_of(*node);
    if (name.find('.') == std::string::npos) return nullptr;
    auto& all = file_.variables;
    const auto at = std::find(all.begin(), all.end(), name);
    if (at == all.end()) all.push_back(name);
    const auto index = std::find(all.begin(), all.end(), name) - all.begin();
    return leaf(Tree::What::column, static_cast<int>(index));
  }
  TreePtr formula(const toml::table& part, const std::string& key) {
    const toml::node* node = part.get(key);
    return node ? tree_of(*node) : nullptr;
  }
  double number(const toml::table& part, const std::string& key, double fallback = 0.0) {
    const TreePtr tree = formula(part, key);
    Fixed fixed;
    return tree ? evaluate(*tree, fixed) : fallback;
  }
  std::vector<TreePtr> formulas(const toml::table& part, const std::string& key) {
    std::vector<TreePtr> all;
    if (const toml::array* list = part[key].as_array())
      for (const toml::node& item : *list) all.push_back(tree_of(item));
    else
      for (const char* c : {"_x", "_y", "_z"}) {
        const TreePtr one = formula(part, key + c);
        all.push_back(one ? one : number_tree(0.0));
      }
    return all;
  }
  Vector3d vector(const toml::table& part, const std::string& key, const Vector3d& fallback) {
    if (const toml::array* list = part[key].as_array()) {
      Vector3d v;
      Fixed fixed;
      for (std::size_t i = 0; i < 3; ++i) v[static_cast<long>(i)] = evaluate(*tree_of(*list->get(i)), fixed);
      return v;
    }
    Vector3d v = fallback;
    for (int i = 0; i < 3; ++i) v[i] = number(part, key + "_" + "xyz"[i], fallback[i]);
    return v;
  }
  Vector3d direction(const toml::table& part, const std::string& key, const Vector3d& fallback) {
    const Vector3d v = vector(part, key, fallback);
    if (!(v.norm() > 0)) throw OracleError("an axis without a direction");
    return v / v.norm();
  }
  int frame(const toml::table& part, const char* key) {
    const auto name = part[key].value<std::string>();
    if (!name) throw OracleError("a part without a frame");
    const auto at = std::find(file_.frames.begin(), file_.frames.end(), *name);
    const auto index = static_cast<int>(at - file_.frames.begin());
    if (at == file_.frames.end()) file_.frames.push_back(*name);
    return index;
  }
  int joint(const toml::table& part, const char* key) {
    const auto name = part[key].value<std::string>();
    for (std::size_t k = 0; k < file_.joints.size(); ++k)
      if (name && file_.joints[k].name == *name) return static_cast<int>(k);
    throw OracleError("no joint of that name");
  }

  void read_part(const std::string& name, const toml::table& part) {
    const std::string whole = part["kind"].value_or(std::string());
    if (!whole.starts_with("multibody.")) throw OracleError("a kind the oracle does not know: " + whole);
    const std::string kind = whole.substr(10);
    static const Vectors bodies{"body", "cylinder", "tube", "cone", "sphere", "box"};
    static const Vectors constraints{"rod",  "point_on_line", "point_on_plane",
                                     "gear", "driver",        "point_driver"};
    const auto among = [&](const Vectors& list) {
      return std::find(list.begin(), list.end(), kind) != list.end();
    };
    if (kind == "gravity") {
      file_.gravity = vector(part, "g", {0, -9.80665, 0});
    } else if (among(bodies)) {
      read_body(kind, part);
    } else if (kind == "spring") {
      file_.springs.push_back({frame(part, "from"), frame(part, "to"), formula(part, "stiffness"),
                               formula(part, "length"), formula(part, "damping"), formula(part, "preload")});
    } else if (kind == "bushing") {
      const Vector3d none = Vector3d::Zero();
      const int from = frame(part, "from"), to = frame(part, "to");
      file_.bushings.push_back({from, to, vector(part, "stiffness", none), vector(part, "damping", none),
                                vector(part, "turning_stiffness", none),
                                vector(part, "turning_damping", none)});
    } else if (kind == "force" || kind == "torque") {
      FileLoad load;
      load.at = frame(part, "at");
      load.in = part.contains("in") ? frame(part, "in") : 0;
      load.turns = kind == "torque";
      load.along = formulas(part, kind);
      file_.loads.push_back(load);
    } else if (!among(constraints)) {
      read_joint(name, kind, part);
    }
  }

  void read_joint(const std::string& name, const std::string& kind, const toml::table& part) {
    FileJoint j;
    j.name = name;
    j.kind = kind;
    j.from = frame(part, "from");
    j.to = frame(part, "to");
    static const std::map<std::string, Vectors> known{
        {"arm", {}},
        {"weld", {}},
        {"revolute", {"angle"}},
        {"prismatic", {"position"}},
        {"screw", {"angle"}},
        {"cylindrical", {"position", "angle"}},
        {"universal", {"angle_1", "angle_2"}},
        {"spherical", {"angle_1", "angle_2", "angle_3"}},
        {"planar", {"x", "y", "angle"}},
        {"free", {"x", "y", "z", "angle_1", "angle_2", "angle_3"}},
        {"spherical_quaternion", {"e0_", "e1_", "e2_", "e3_"}},
        {"free_quaternion", {"x", "y", "z", "e0_", "e1_", "e2_", "e3_"}}};
    const auto found = known.find(kind);
    if (found == known.end()) throw OracleError("a kind the oracle does not know: " + kind);
    const bool plain = kind == "revolute" || kind == "prismatic";
    for (const std::string& c : found->second) {
      j.places.push_back(number(part, c + "0", c == "e0_" ? 1.0 : 0.0));
      if (c.front() != 'e') j.speeds.push_back(number(part, plain ? "speed0" : c + "_rate0"));
    }
    if (kind.ends_with("quaternion"))
      for (const char* w : {"wx0", "wy0", "wz0"}) j.speeds.push_back(number(part, w));
    const bool along_x = kind == "prismatic" || kind == "universal";
    j.axis = direction(part, "axis", along_x ? Vector3d::UnitX() : Vector3d::UnitZ());
    if (kind == "universal") j.second = direction(part, "second", Vector3d::UnitY());
    j.advance = number(part, "pitch") / (2 * std::numbers::pi);
    if (kind == "arm") {
      j.offset = vector(part, "offset", Vector3d::Zero());
      const Vector3d angles = vector(part, "rotation", Vector3d::Zero());
      j.rotation = turn_123(angles[0], angles[1], angles[2]);
    }
    if (plain) {
      j.applied = formula(part, "applied");
      j.stiffness = formula(part, "stiffness");
      j.rest = formula(part, "rest");
      j.damping = formula(part, "damping");
      j.friction = formula(part, "friction");
      j.slip = formula(part, "slip");
      if (!j.slip) j.slip = number_tree(kind == "revolute" ? 1e-2 : 1e-3);
    }
    file_.joints.push_back(j);
  }

  void read_body(const std::string& kind, const toml::table& part) {
    constexpr double pi = std::numbers::pi;
    FileBody b;
    b.frame = frame(part, "at");
    b.mass = number(part, "mass");
    if (kind == "body") {
      b.centre = vector(part, "com", Vector3d::Zero());
      if (const toml::array* list = part["inertia"].as_array()) {
        std::array<double, 6> i{};
        Fixed fixed;
        for (std::size_t k = 0; k < list->size(); ++k) i[k] = evaluate(*tree_of(*list->get(k)), fixed);
        b.inertia << i[0], i[3], i[4], i[3], i[1], i[5], i[4], i[5], i[2];
      }
    } else if (kind == "box" || kind == "sphere") {
      b.centre = vector(part, "com", Vector3d::Zero());
      const Vector3d size = kind == "box" ? vector(part, "size", Vector3d::Zero()) : Vector3d::Zero();
      const double r = number(part, "radius");
      const double volume = kind == "box" ? size.prod() : 4 * pi * r * r * r / 3;
      if (!part.contains("mass")) b.mass = number(part, "density") * volume;
      const Vector3d squares =
          kind == "box" ? Vector3d(size.cwiseAbs2() / 12) : Vector3d::Constant(r * r / 5);
      for (int i = 0; i < 3; ++i) b.inertia(i, i) = b.mass * (squares.sum() - squares[i]);
    } else {  // of revolution: second moments of mass along the axis and across it, about the centre
      const Vector3d n = direction(part, "axis", Vector3d::UnitX());
      const double h = number(part, "length"), r = number(part, "radius"), inner = number(part, "inner");
      const double section = pi * (r * r - inner * inner);
      double volume = section * h, centre = h / 2, along = h * h / 12, across = (r * r + inner * inner) / 4;
      if (kind == "cone") volume /= 3, centre = h / 4, along = 3 * h * h / 80, across = 3 * r * r / 20;
      if (!part.contains("mass")) b.mass = number(part, "density") * volume;
      b.centre = centre * n;
      const Matrix3d line = n * n.transpose(), plane = Matrix3d::Identity() - line;
      b.inertia = b.mass * ((2 * across) * line + (along + across) * plane);
    }
    if (!(b.mass > 0)) throw OracleError("a body without mass");
    file_.bodies.push_back(b);
  }

  // Parts that name joints come after these.
  void read_coupling(const std::string& name, const toml::table& part) {
    FileConstraint c;
    c.name = name;
    c.kind = part["kind"].value_or(std::string()).substr(10);
    if (c.kind == "gear") {
      c.from = joint(part, "first");
      c.to = joint(part, "second");
      c.value = number(part, "ratio");
    } else if (c.kind == "driver") {
      c.from = c.to = joint(part, "joint");
      c.motion = formula(part, "motion");
    } else if (c.kind == "point_driver") {
      c.to = frame(part, "at");
      c.axis = direction(part, "axis", Vector3d::UnitY());
      c.motion = formula(part, "motion");
    } else if (c.kind == "rod" || c.kind == "point_on_line" || c.kind == "point_on_plane") {
      c.from = frame(part, "from");
      c.to = frame(part, "to");
      c.value = number(part, "length");
      if (c.kind == "rod" && !(c.value > 0)) throw OracleError("a rod of the design length");
      if (c.kind != "rod")
        c.axis = direction(part, "axis", c.kind == "point_on_line" ? Vector3d::UnitX() : Vector3d::UnitZ());
    } else {
      return;
    }
    file_.constraints.push_back(c);
  }

  toml::table root_;
  MechanismFile file_;
};

}  // namespace

MechanismFile read_mechanism(const std::string& model) { return Reader(model).read(); }

double value_of(const Tree& tree, const std::vector<double>& columns, double t) {
  Fixed fixed;
  fixed.columns = &columns;
  fixed.t = t;
  return evaluate(tree, fixed);
}

double slope_in_time(const Tree& tree, double t) {
  InTime leaves;
  leaves.t = t;
  const Dual d = evaluate(tree, leaves);
  return d.slopes.empty() ? 0.0 : d.slopes[0].second;
}

Matrix3d cross_matrix(const Vector3d& v) {
  Matrix3d m;
  m << 0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0;
  return m;
}
Matrix3d turn(const Vector3d& axis, double angle) {
  return Eigen::AngleAxisd(angle, axis).toRotationMatrix();
}
Matrix3d turn_123(double a, double b, double c) {
  return turn(Vector3d::UnitX(), a) * turn(Vector3d::UnitY(), b) * turn(Vector3d::UnitZ(), c);
}

std::array<Vector3d, 2> plane_across(const Vector3d& axis) {
  for (int i = 0; i < 3; ++i)
    if (axis[i] == 1.0) return {Vector3d::Unit((i + 1) % 3), Vector3d::Unit((i + 2) % 3)};
  int smallest = 0;
  for (int i = 1; i < 3; ++i)
    if (std::abs(axis[i]) < std::abs(axis[smallest])) smallest = i;
  const Vector3d first = axis.cross(Vector3d::Unit(smallest)).normalized();
  return {first, axis.cross(first)};
}

}  // namespace differential
