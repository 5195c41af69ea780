// Random mechanisms: a tree of arms and joints with bodies, then joints and constraints that close circuits.
// A circuit is closed by construction: the joint that closes it is put where the tree leaves it, and an arm
// is laid from there to the frame that it has to meet.
#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "tests/differential/expression.h"
#include "tests/differential/generator.h"
#include "tests/differential/mechanism_oracle.h"

namespace differential {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

struct JointWords {
  std::string kind;
  int freedoms;
  std::vector<std::string> places;  // coordinates; a start value has a 0 behind it
  double weight;
};
const std::vector<JointWords>& joint_words() {
  static const std::vector<JointWords> all{{"revolute", 1, {"angle"}, 6},
                                           {"prismatic", 1, {"position"}, 3},
                                           {"screw", 1, {"angle"}, 1.5},
                                           {"cylindrical", 2, {"position", "angle"}, 1.5},
                                           {"universal", 2, {"angle_1", "angle_2"}, 2},
                                           {"spherical", 3, {"angle_1", "angle_2", "angle_3"}, 2},
                                           {"planar", 3, {"x", "y", "angle"}, 1.5},
                                           {"spherical_quaternion", 3, {}, 1},
                                           {"free", 6, {"x", "y", "z", "angle_1", "angle_2", "angle_3"}, 0.7},
                                           {"free_quaternion", 6, {"x", "y", "z"}, 0.7}};
  return all;
}

class MechanismBuilder {
 public:
  explicit MechanismBuilder(Random& random) : random_(random) {}

  Draft build() {
    plane_ = random_.chance(0.25);
    circuits_ = random_.chance(0.45);
    at_rest_ = circuits_ && random_.chance(0.4);
    if (random_.chance(0.9)) {
      Vector3d g = plane_ || random_.chance(0.5) ? Vector3d(0, -9.81, 0) : 9.81 * anywhere().normalized();
      if (plane_) g = turn_z(random_.chance(0.3) ? random_.between(-1, 1) : 0.0) * g;
      add("g", "gravity", {}, {{"g", vector(g, "m/s2")}});
    }
    const int most = random_.chance(0.15) ? 12 : random_.range(1, 6);
    const int least = circuits_ ? 3 : 1;
    while (freedoms_ < most || freedoms_ < least) link(false);
    if (circuits_)
      for (int k = random_.chance(0.3) ? 2 : 1; k > 0; --k) close();
    for (int k = random_.below(3); k > 0; --k) spring();
    if (random_.chance(0.12)) bushing();
    if (random_.chance(0.35)) load();
    // In any order: but joints first in the file are independent where circuits are.
    for (std::size_t k = draft.parts.size(); k > 1; --k)
      std::swap(draft.parts[k - 1],
                draft.parts[static_cast<std::size_t>(random_.below(static_cast<int>(k)))]);
    draft.objectives.emplace_back("e", "{ end = " + quoted(random_.pick(ends_)) + " }");
    draft.simulation = {{"stop", "0.4"}, {"step", "0.0125"}};
    draft.seed = random_.bits();
    return std::move(draft);
  }

 private:
  Draft draft;
  Random& random_;
  bool plane_ = false, circuits_ = false, at_rest_ = false;
  int freedoms_ = 0;
  std::set<std::string> names_{"datum", "mechanism", "t", "pi", "e"};
  std::map<std::string, int> count_;
  struct Frame {
    std::string name, parent;
    int freedoms;  // of what joins it to its parent
  };
  std::vector<Frame> frames_{{"datum", "", 0}};
  std::vector<std::string> ends_{"mechanism.kinetic"};
  std::vector<std::pair<std::string, double>> coordinates_;  // of joints of one coordinate: joint, start

  // ---- text

  std::string fresh(const std::vector<std::string>& stems) {
    for (;;) {
      std::string name = random_.pick(stems);
      if (random_.chance(0.8))
        name += (random_.chance(0.2) ? "_" : "") + std::to_string(random_.range(1, 40));
      if (names_.insert(name).second) return name;
    }
  }
  std::string frame_name() {
    return fresh({"tip", "hub", "pin", "link", "seat", "f", "K", "end", "rail", "foot", "x", "Frame"});
  }

  std::string number(double value, const std::string& unit, int digits = 3) {
    static const std::map<std::string, std::vector<std::string>> spelled{
        {"m", {"m", "cm", "mm"}},         {"kg", {"kg", "g"}},
        {"rad", {"rad", "deg"}},          {"rad/s", {"rad/s", "rpm", "deg/s"}},
        {"m/s", {"m/s", "cm/s", "km/h"}}, {"m/s2", {"m/s2", "cm/s2"}},
        {"kg m2", {"kg m2", "kg cm2"}},   {"N/m", {"N/m", "kN/m"}},
        {"N s/m", {"N s/m", "kN s/m"}},   {"N m/rad", {"N m/rad"}},
        {"N m s/rad", {"N m s/rad"}},     {"N", {"N", "kN", "mN"}},
        {"N m", {"N m", "mN m", "kN m"}}, {"kg/m3", {"kg/m3"}}};
    if (value == 0.0) return "0";
    const std::string plain = number_text(value, digits);
    const auto units = spelled.find(unit);
    if (units == spelled.end() || random_.chance(0.5)) return plain;
    if (random_.chance(0.55)) {
      const std::string u = random_.pick(units->second);
      return quoted(number_text(value / unit_factor(u), digits) + " " + u);
    }
    if (digits > 6) return plain;
    const std::string p = fresh({"p", "q", "len", "L"});
    switch (random_.below(3)) {
      case 0:
        draft.parameters.emplace_back(p, plain);
        return quoted(p);
      case 1:
        draft.parameters.emplace_back(p, number_text(value * 2, digits));
        return quoted(p + "/2");
      default:
        draft.parameters.emplace_back(p, number_text(std::abs(value), digits));
        return quoted((value < 0 ? "-" : "") + p + "*(1 + 0*" + p + ")");
    }
  }
  std::string vector(const Vector3d& v, const std::string& unit, int digits = 3) {
    return "[" + number(v[0], unit, digits) + ", " + number(v[1], unit, digits) + ", " +
           number(v[2], unit, digits) + "]";
  }
  std::string direction(const Vector3d& v) {
    std::string text = "[";
    for (int i = 0; i < 3; ++i) text += (i ? ", " : "") + number_text(v[i], 4);
    return text + "]";
  }
  // A formula of time.
  std::string signal(double size) {
    const std::string a = number_text(size * random_.between(0.3, 1.5)),
                      w = number_text(random_.between(1, 9), 2);
    switch (random_.below(4)) {
      case 0:
        return a;
      case 1:
        return quoted(a + "*sin(" + w + "*t)");
      case 2:
        return quoted(a + "*exp(-" + w + "*t)");
      default:
        return quoted(a + "*(1 - 2*t) + " + number_text(0.3 * size) + "*cos(" + w + "*t)");
    }
  }

  std::string add(const std::string& stem, const std::string& kind, Fields ports, Fields values) {
    const std::string name = fresh({stem, stem + "a", "the_" + stem});
    draft.parts.push_back({name, "multibody." + kind, std::move(ports), std::move(values)});
    return name;
  }

  // ---- geometry

  static Matrix3d turn_z(double angle) {
    return Eigen::AngleAxisd(angle, Vector3d::UnitZ()).toRotationMatrix();
  }
  Vector3d anywhere() { return {random_.between(-1, 1), random_.between(-1, 1), random_.between(-1, 1)}; }
  Vector3d offset(double size) {
    Vector3d v = size * anywhere();
    if (random_.chance(0.4))
      v = size * random_.between(0.3, 1) * Vector3d::Unit(random_.below(plane_ ? 2 : 3));
    if (plane_) v[2] = random_.chance(0.2) ? 0.1 : 0.0;
    return v;
  }
  Vector3d axis() {
    if (random_.chance(0.5)) return (random_.chance(0.25) ? -1.0 : 1.0) * Vector3d::Unit(random_.below(3));
    Vector3d v = anywhere() * random_.logarithmic(0.5, 4);
    if (random_.chance(0.3)) v[random_.below(3)] = 0.0;
    return v.norm() < 0.1 ? Vector3d(1, 2, -2) : v;
  }
  Vector3d axis_of(const std::string& kind) {
    if (!plane_) return axis();
    if (kind != "prismatic" && kind != "point_on_line")
      return (random_.chance(0.2) ? -2.0 : 1.0) * Vector3d::UnitZ();
    return random_.chance(0.5) ? Vector3d::UnitX()
                               : Vector3d(random_.between(0.2, 1), random_.between(-1, 1), 0);
  }

  std::string arm(const std::string& from, double size) {
    const std::string to = frame_name();
    Fields values;
    const Vector3d v = offset(size);
    values.emplace_back("offset", vector(v, "m"));
    if (random_.chance(0.4)) {
      Vector3d angles = 1.2 * anywhere();
      if (plane_) angles[0] = angles[1] = 0.0;
      values.emplace_back("rotation", vector(angles, "rad"));
    }
    add("arm", "arm", {{"from", from}, {"to", to}}, values);
    frames_.push_back({to, from, 0});
    return to;
  }

  const JointWords& joint_kind(int most) {
    for (;;) {
      const JointWords& w = random_.pick(joint_words());
      if (w.freedoms > most || random_.uniform() * 6 > w.weight) continue;
      if (plane_ && w.kind != "revolute" && w.kind != "prismatic" && w.kind != "planar") continue;
      return w;
    }
  }

  // Start values, and what acts in the joint.
  Fields joint_values(const JointWords& w, const std::string& from_moving, bool acts) {
    Fields values;
    const std::string& kind = w.kind;
    const auto is_angle = [](const std::string& c) { return c.starts_with("angle"); };
    if (kind == "universal") {
      Vector3d a = axis(), b = axis();
      b = a.cross(b).norm() < 0.2 ? a.unitOrthogonal() : Vector3d(b - a * (a.dot(b) / a.squaredNorm()));
      if (random_.chance(0.4)) a = Vector3d::UnitX(), b = Vector3d::UnitY();
      // Across each other to the last digit: a circuit asks for it.
      values.emplace_back("axis", precise(a));
      values.emplace_back("second", precise(b));
    } else if (kind == "revolute" || kind == "prismatic" || kind == "screw" || kind == "cylindrical" ||
               kind == "planar") {
      const bool left_out = random_.chance(0.15) && !(plane_ && kind != "revolute");
      if (!left_out) values.emplace_back("axis", direction(axis_of(kind)));
    }
    if (kind == "screw") values.emplace_back("pitch", number(random_.between(0.05, 0.6), "m"));
    const bool plain = kind == "revolute" || kind == "prismatic";
    for (const std::string& c : w.places) {
      const double place =
          is_angle(c) ? random_.between(-1, 1) * (c == "angle_2" ? 0.6 : 1.6) : random_.between(-0.3, 0.3);
      if (random_.chance(0.85)) values.emplace_back(c + "0", number(place, is_angle(c) ? "rad" : "m"));
      if (!at_rest_ && random_.chance(0.6))
        values.emplace_back(plain ? "speed0" : c + "_rate0",
                            number(is_angle(c) ? random_.between(-3, 3) : random_.between(-1, 1),
                                   is_angle(c) ? "rad/s" : "m/s"));
    }
    if (kind.ends_with("quaternion")) {
      if (random_.chance(0.8))
        for (const char* e : {"e0_0", "e1_0", "e2_0", "e3_0"})
          values.emplace_back(e, number_text(random_.between(0.1, 1) * (random_.chance(0.4) ? -1 : 1)));
      for (const char* u : {"wx0", "wy0", "wz0"})
        if (!at_rest_ && random_.chance(0.6)) values.emplace_back(u, number(random_.between(-3, 3), "rad/s"));
    }
    if (plain && acts) efforts(kind, from_moving, values);
    return values;
  }
  void efforts(const std::string& kind, const std::string& frame, Fields& values) {
    const bool turns = kind == "revolute";
    if (random_.chance(0.25)) {
      values.emplace_back("stiffness",
                          number(random_.between(1, 8) * (turns ? 1 : 8), turns ? "N m/rad" : "N/m"));
      if (random_.chance(0.5))
        values.emplace_back("rest", number(random_.between(-0.5, 0.5), turns ? "rad" : "m"));
    }
    if (random_.chance(0.25))
      values.emplace_back("damping", number(random_.logarithmic(0.05, 1), turns ? "N m s/rad" : "N s/m"));
    if (random_.chance(0.08)) {
      values.emplace_back("friction", number(random_.between(0.1, 1), turns ? "N m" : "N"));
      values.emplace_back("slip", number_text(random_.between(0.5, 2)));
    }
    if (random_.chance(0.2))
      values.emplace_back("applied", signal(turns ? 1 : 3));
    else if (random_.chance(0.06) && frame != "datum")
      values.emplace_back("applied", quoted("-0.5*" + frame + ".vx + sin(" + frame + ".y)"));
  }

  void body(const std::string& at) {
    Fields values;
    static const std::vector<std::string> kinds{"body", "body", "body",   "cylinder",
                                                "tube", "cone", "sphere", "box"};
    const std::string kind = random_.pick(kinds);
    const double mass = random_.logarithmic(0.3, 4);
    const bool dense = kind != "body" && random_.chance(0.3);
    if (dense)
      values.emplace_back("density", number(random_.between(300, 4000), "kg/m3"));
    else
      values.emplace_back("mass", number(mass, "kg"));
    const Vector3d com = offset(0.3);
    if (kind == "body") {
      if (random_.chance(0.8)) values.emplace_back("com", vector(com, "m"));
      // Second moments along three directions.
      const Vector3d p = mass * Vector3d(random_.logarithmic(0.003, 0.05), random_.logarithmic(0.003, 0.05),
                                         random_.logarithmic(0.003, 0.05));
      Matrix3d i = (p.sum() * Vector3d::Ones() - p).asDiagonal();
      if (random_.chance(0.5)) {
        values.emplace_back("inertia", vector(i.diagonal(), "kg m2"));
      } else {
        const Matrix3d q =
            Eigen::AngleAxisd(random_.between(0, 3), (anywhere() + Vector3d(0, 0, 1.1)).normalized())
                .toRotationMatrix();
        i = q * i * q.transpose();
        if (plane_) i(0, 2) = i(1, 2) = 0.0;
        const auto element = [&](int r, int c) { return number(i(r, c), "kg m2"); };
        values.emplace_back("inertia", "[" + element(0, 0) + ", " + element(1, 1) + ", " + element(2, 2) +
                                           ", " + element(0, 1) + ", " + element(0, 2) + ", " +
                                           element(1, 2) + "]");
      }
    } else if (kind == "sphere" || kind == "box") {
      if (kind == "sphere")
        values.emplace_back("radius", number(random_.between(0.06, 0.15), "m"));
      else
        values.emplace_back(
            "size",
            vector({random_.between(0.1, 0.4), random_.between(0.1, 0.4), random_.between(0.1, 0.4)}, "m"));
      if (random_.chance(0.6)) values.emplace_back("com", vector(com, "m"));
    } else {
      values.emplace_back("length", number(random_.between(0.1, 0.5), "m"));
      values.emplace_back("radius", number(random_.between(0.05, 0.12), "m"));
      if (kind == "tube") values.emplace_back("inner", number(random_.between(0.01, 0.04), "m"));
      if (plane_ || random_.chance(0.8))
        values.emplace_back(
            "axis",
            direction(plane_ ? Vector3d(random_.between(0.2, 1), random_.between(-1, 1), 0) : axis()));
    }
    add("b", kind, {{"at", at}}, values);
  }

  std::string pick_frame(bool recent = true) {
    const int n = static_cast<int>(frames_.size());
    return frames_[static_cast<std::size_t>(recent && random_.chance(0.5)
                                                ? random_.range(std::max(0, n - 3), n - 1)
                                                : random_.below(n))]
        .name;
  }

  // A joint from a frame of the tree to a new one, and its body.
  void link(bool bare_before) {
    std::string from = bare_before ? frames_.back().name : pick_frame();
    if (!bare_before && random_.chance(0.55)) from = arm(from, 0.5);
    const JointWords& w = joint_kind(12);
    const std::string to = frame_name();
    const bool reversed = random_.chance(0.25);
    const Fields values = joint_values(w, from, true);
    const std::string name =
        add("h", w.kind, {{"from", reversed ? to : from}, {"to", reversed ? from : to}}, values);
    frames_.push_back({to, from, w.freedoms});
    freedoms_ += w.freedoms;
    if (w.freedoms == 1) {
      for (const auto& [key, value] : values)
        if ((key == "angle0" || key == "position0") && value.front() != '"' &&
            std::atof(value.c_str()) != 0.0)
          coordinates_.emplace_back(name, std::atof(value.c_str()));
      if (w.kind != "screw") ends_.push_back(name + (w.kind == "revolute" ? ".angle" : ".position"));
    }
    ends_.push_back(to + (random_.chance(0.5) ? ".x" : ".vy"));
    if (!bare_before && !plane_ && w.freedoms == 1 && random_.chance(0.12)) {
      link(true);  // no mass between two joints
      return;
    }
    std::string at = to;
    if (random_.chance(0.15)) {
      at = frame_name();
      add("weld", "weld", {{"from", random_.chance(0.5) ? to : at}, {"to", ""}}, {});
      auto& ports = draft.parts.back().ports;
      ports[1].second = ports[0].second == to ? at : to;
      frames_.push_back({at, to, 0});
    } else if (random_.chance(0.2)) {
      at = arm(to, 0.3);
    }
    body(at);
    if (random_.chance(0.15)) body(at);
  }

  // ---- circuits

  int path_freedoms(std::string a, std::string b) const {
    const auto way = [&](std::string f) {
      std::vector<const Frame*> up;
      while (f != "datum")
        for (const Frame& frame : frames_)
          if (frame.name == f) {
            up.push_back(&frame);
            f = frame.parent;
            break;
          }
      return up;
    };
    const auto first = way(std::move(a)), second = way(std::move(b));
    int sum = 0;
    for (const Frame* f : first)
      sum += std::find(second.begin(), second.end(), f) == second.end() ? f->freedoms : 0;
    for (const Frame* f : second)
      sum += std::find(first.begin(), first.end(), f) == first.end() ? f->freedoms : 0;
    return sum;
  }

  static std::string precise(const Vector3d& v) {
    return "[" + number_text(v[0], 17) + ", " + number_text(v[1], 17) + ", " + number_text(v[2], 17) + "]";
  }

  bool close() {
    for (int attempt = 0; attempt < 30; ++attempt) {
      const std::string a = pick_frame(false), b = pick_frame(false);
      const int path = path_freedoms(a, b);
      if (path < 2) continue;
      const int choice = random_.below(8);
      if (choice == 0 && gear()) return true;
      if (choice == 1 && drive()) return true;
      if (choice == 2) return rod(a, b);
      if (choice == 3 && path > 2) return guide(a, b, random_.chance(0.5));
      if (choice >= 4 && joint_closes(a, b, path)) return true;
    }
    return false;
  }
  bool rod(const std::string& a, const std::string& b) {
    return with_tree([&](MechanismOracle& o) {
      const double length = (o.place(a) - o.place(b)).norm();
      if (length < 0.1) return false;
      closing_.insert(add("rod", "rod", {{"from", a}, {"to", b}}, {{"length", number_text(length, 17)}}));
      freedoms_ -= 1;
      return true;
    });
  }
  bool guide(const std::string& a, const std::string& b, bool line) {
    return with_tree([&](MechanismOracle& o) {
      const Vector3d n = axis_of("point_on_line");
      const Vector3d sideways = line ? n.normalized() : n.cross(anywhere()).normalized();
      const Vector3d at = o.orientation(a).transpose() * (o.place(b) - o.place(a)) -
                          (line || !plane_ ? random_.between(-0.3, 0.3) : 0.0) * sideways;
      const std::string from = frame_name();
      add("arm", "arm", {{"from", a}, {"to", from}}, {{"offset", precise(at)}});
      frames_.push_back({from, a, 0});
      closing_.insert(add("c", line ? "point_on_line" : "point_on_plane", {{"from", from}, {"to", b}},
                          {{"axis", precise(n)}}));
      freedoms_ -= line && !plane_ ? 2 : 1;
      return true;
    });
  }
  bool gear() {
    if (coordinates_.size() < 2) return false;
    const auto first = random_.pick(coordinates_), second = random_.pick(coordinates_);
    if (first.first == second.first) return false;
    const auto plain = [&](const std::string& joint) {
      return std::any_of(draft.parts.begin(), draft.parts.end(), [&](const Part& p) {
        return p.name == joint && (p.kind == "multibody.revolute" || p.kind == "multibody.prismatic");
      });
    };
    if (!plain(first.first) || !plain(second.first)) return false;
    closing_.insert(add("gear", "gear", {{"first", first.first}, {"second", second.first}},
                        {{"ratio", number_text(first.second / second.second, 17)}}));
    freedoms_ -= 1;
    return true;
  }
  bool drive() {
    for (const Part& p : draft.parts)
      if (p.kind == "multibody.driver") return false;
    std::vector<std::pair<std::string, double>> able;
    for (const auto& c : coordinates_)
      for (const Part& p : draft.parts)
        if (p.name == c.first && (p.kind == "multibody.revolute" || p.kind == "multibody.prismatic"))
          able.push_back(c);
    if (able.empty()) return false;
    const auto [joint, start] = random_.pick(able);
    closing_.insert(
        add("d", "driver", {{"joint", joint}},
            {{"motion", quoted(number_text(start) + " + " + number_text(random_.between(0.1, 0.6)) + "*sin(" +
                               number_text(random_.between(1, 6), 2) + "*t)")}}));
    freedoms_ -= 1;
    return true;
  }
  bool joint_closes(const std::string& a, const std::string& b, int path) {
    const JointWords& w = joint_kind(5);
    if (w.kind.ends_with("quaternion")) return false;
    const int taken = plane_ ? (w.kind == "planar" ? 0 : 2) : 6 - w.freedoms;
    if (taken == 0 || path <= taken || freedoms_ <= taken) return false;
    const auto parts = draft.parts;
    const auto frames = frames_;
    const std::string from = random_.chance(0.5) ? arm(a, 0.4) : a, to = frame_name();
    Fields values = joint_values(w, from, false);
    if (random_.chance(0.3)) values.emplace_back("cut", "true");
    add("h", w.kind, {{"from", from}, {"to", to}}, values);
    const bool closed = with_tree([&](MechanismOracle& o) {
      const Matrix3d r = o.orientation(b).transpose() * o.orientation(to);
      if (std::abs(r(0, 2)) > 0.98) return false;
      const Vector3d angles(std::atan2(-r(1, 2), r(2, 2)), std::asin(r(0, 2)), std::atan2(-r(0, 1), r(0, 0)));
      closing_.insert(add("arm", "arm", {{"from", b}, {"to", to}},
                          {{"offset", precise(o.orientation(b).transpose() * (o.place(to) - o.place(b)))},
                           {"rotation", precise(plane_ ? Vector3d(0, 0, angles[2]) : angles)}}));
      return true;
    });
    if (!closed) {
      draft.parts = parts;
      frames_ = frames;
      return false;
    }
    frames_.push_back({to, b, 0});
    freedoms_ -= taken;
    return true;
  }
  // With the frames where they stand without what closes circuits.
  template <class Action>
  bool with_tree(Action action) {
    Draft open = draft;
    std::erase_if(open.parts, [&](const Part& p) { return closing_.contains(p.name); });
    try {
      MechanismOracle oracle(open.text());
      if (!oracle.is_tree()) return false;
      oracle.start();
      return action(oracle);
    } catch (const OracleError&) {
      return false;
    }
  }
  std::set<std::string> closing_;

  // ---- forces

  void spring() {
    const std::string a = pick_frame(false), b = pick_frame(false);
    if (path_freedoms(a, b) == 0) return;
    with_tree([&](MechanismOracle& o) {
      const double length = (o.place(a) - o.place(b)).norm();
      if (length < 0.15) return false;
      Fields values{{"stiffness", number(random_.between(5, 60), "N/m")}};
      if (random_.chance(0.7)) values.emplace_back("length", number(length * random_.between(0.6, 1.3), "m"));
      if (random_.chance(0.5)) values.emplace_back("damping", number(random_.between(0.2, 3), "N s/m"));
      if (random_.chance(0.2)) values.emplace_back("preload", number(random_.between(-3, 3), "N"));
      add("s", "spring", {{"from", a}, {"to", b}}, values);
      return true;
    });
  }
  void bushing() {
    const std::string a = pick_frame(false), b = pick_frame(false);
    if (path_freedoms(a, b) == 0) return;
    Fields values;
    const auto three = [&](double low, double high) {
      return Vector3d(random_.between(low, high), random_.between(low, high), random_.between(low, high));
    };
    values.emplace_back("stiffness", vector(three(5, 40), "N/m"));
    if (random_.chance(0.5)) values.emplace_back("damping", vector(three(0.1, 2), "N s/m"));
    if (random_.chance(0.7)) values.emplace_back("turning_stiffness", vector(three(0.5, 4), "N m/rad"));
    if (random_.chance(0.4)) values.emplace_back("turning_damping", vector(three(0.02, 0.2), "N m s/rad"));
    if (!plane_) add("u", "bushing", {{"from", a}, {"to", b}}, values);
  }
  void load() {
    const std::string at = pick_frame(false);
    if (at == "datum") return;
    const bool turns = random_.chance(0.5);
    Fields ports{{"at", at}};
    if (random_.chance(0.6)) ports.emplace_back("in", random_.chance(0.5) ? at : pick_frame(false));
    std::array<std::string, 3> f;
    for (std::string& one : f) one = random_.chance(0.4) ? "0" : signal(turns ? 0.5 : 3);
    if (plane_) (turns ? f[0] = f[1] : f[2]) = "0";
    add("f", turns ? "torque" : "force", ports,
        {{turns ? "torque" : "force", "[" + f[0] + ", " + f[1] + ", " + f[2] + "]"}});
  }
};

}  // namespace

Draft mechanism_draft(Random& random) { return MechanismBuilder(random).build(); }

}  // namespace differential
