#include "tellegen/urdf/urdf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "tellegen/model/document.h"
#include "tellegen/model/reading.h"

namespace tellegen {
namespace {

using Numbers = std::array<double, 3>;
using Matrix = std::array<Numbers, 3>;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}

// Roll, pitch, yaw about fixed axes: Rz(yaw) Ry(pitch) Rx(roll).
Matrix from_rpy(const Numbers& rpy) {
  const double cr = std::cos(rpy[0]), sr = std::sin(rpy[0]), cp = std::cos(rpy[1]), sp = std::sin(rpy[1]),
               cy = std::cos(rpy[2]), sy = std::sin(rpy[2]);
  return {Numbers{cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr},
          Numbers{sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr}, Numbers{-sp, cp * sr, cp * cr}};
}

// The same turn in body-fixed 1-2-3 angles: Rx(a) Ry(b) Rz(c).
Numbers to_123(const Matrix& r) {
  const double level = std::hypot(r[0][0], r[0][1]);
  const double b = std::atan2(r[0][2], level);
  if (level < 1e-12) return {0.0, b, std::atan2(r[1][0], r[1][1])};
  return {std::atan2(-r[1][2], r[2][2]), b, std::atan2(-r[0][1], r[0][0])};
}

bool is_zero(const Numbers& v) { return v[0] == 0.0 && v[1] == 0.0 && v[2] == 0.0; }
std::string list(const Numbers& v) { return fmt::format("[{}, {}, {}]", v[0], v[1], v[2]); }

class RobotConverter {
 public:
  RobotConverter(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  ConvertedRobot run() {
    pugi::xml_document document;
    const auto parsed = document.load_buffer(text_.data(), text_.size());
    if (!parsed) {
      fault_at(parsed.offset, fmt::format("the file is not valid XML: {}", parsed.description()));
      faults_.throw_if_any();
    }
    const pugi::xml_node robot = document.child("robot");
    if (!robot) {
      fault_at(0, "the file has no <robot>");
      faults_.throw_if_any();
    }
    for (const pugi::xml_node node : robot.children()) {
      const std::string_view tag = node.name();
      if (tag.starts_with("xacro:")) {
        fault_at(node.offset_debug(),
                 fmt::format("<{}>: this is a xacro file, of which URDF is made first", tag),
                 {"expand it: xacro robot.urdf.xacro > robot.urdf"});
        faults_.throw_if_any();
      }
      if (tag == "link")
        add_link(node);
      else if (tag == "joint")
        joints_.push_back(node);
      else if (node.type() == pugi::node_element && tag != "material")
        left_out_.insert(fmt::format("<{}>", tag));
    }
    std::string parts;
    for (const pugi::xml_node joint : joints_) parts += joint_text(joint);
    for (const pugi::xml_node joint : joints_) parts += mimic_text(joint);
    faults_.throw_if_any();  // a joint that is wrong leaves links behind
    std::vector<std::string> roots;
    for (const auto& [name, node] : links_)
      if (!children_.contains(name)) roots.push_back(name);
    if (links_.empty()) fault_at(robot.offset_debug(), "the robot has no links");
    if (roots.size() > 1)
      fault_at(links_.at(roots[1]).offset_debug(),
               fmt::format("links {} are children of no joint: a robot has one root", joined(roots)));
    if (!links_.empty() && roots.empty())
      fault_at(robot.offset_debug(), "every link is the child of a joint: the joints go in a circle");
    faults_.throw_if_any();
    return {whole_text(robot, roots[0], parts), notes()};
  }

 private:
  void fault_at(std::ptrdiff_t offset, std::string message, std::vector<std::string> details = {}) {
    const auto end = text_.begin() + std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text_));
    const int line = 1 + static_cast<int>(std::count(text_.begin(), end, '\n'));
    faults_.add({name_, line}, "T196", std::move(message), std::move(details));
  }

  // Letters, digits and underscores; not the name of anything else.
  std::string own_name(std::string_view from, const std::string& suffix = "") {
    std::string name;
    for (const char c : from) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "_" + name;
    name += suffix;
    while (name == "datum" || name == "t" || name == "pi" || !names_.insert(name).second) name += "_";
    return name;
  }

  double number(const pugi::xml_node& node, const char* attribute, double fallback) {
    const pugi::xml_attribute a = node.attribute(attribute);
    if (!a) return fallback;
    const std::string_view text = a.value();
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      fault_at(node.offset_debug(),
               fmt::format("'{}' of <{}> is '{}', which is not a number", attribute, node.name(), text));
    return value;
  }

  Numbers vector(const pugi::xml_node& node, const char* attribute, Numbers fallback) {
    const pugi::xml_attribute a = node.attribute(attribute);
    if (!a) return fallback;
    std::string_view rest = a.value();
    Numbers v{};
    for (double& x : v) {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n+"), rest.size()));
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), x);
      if (error != std::errc() || !std::isfinite(x)) {
        fault_at(node.offset_debug(), fmt::format("'{}' of <{}> is '{}', which is not three numbers",
                                                  attribute, node.name(), a.value()));
        return fallback;
      }
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    }
    return v;
  }

  void add_link(const pugi::xml_node& node) {
    const std::string name = node.attribute("name").value();
    if (name.empty() || !links_.emplace(name, node).second)
      return fault_at(node.offset_debug(),
                      name.empty() ? "a <link> has no name" : fmt::format("there are two links '{}'", name));
    order_.push_back(name);
    frames_[name] = own_name(name);
    for (const char* shown : {"visual", "collision"})
      if (node.child(shown)) left_out_.insert(fmt::format("<{}>", shown));
  }

  std::string body_text(const std::string& link) {
    const pugi::xml_node inertial = links_.at(link).child("inertial");
    if (!inertial) return "";
    const pugi::xml_node origin = inertial.child("origin"), i = inertial.child("inertia");
    const Numbers centre = vector(origin, "xyz", {});
    const Matrix turn = from_rpy(vector(origin, "rpy", {}));
    const double xy = number(i, "ixy", 0), xz = number(i, "ixz", 0), yz = number(i, "iyz", 0);
    const Matrix own{Numbers{number(i, "ixx", 0), xy, xz}, Numbers{xy, number(i, "iyy", 0), yz},
                     Numbers{xz, yz, number(i, "izz", 0)}};
    Matrix back{};
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) back[a][b] = turn[b][a];
    Matrix in = is_zero(vector(origin, "rpy", {})) ? own : product(product(turn, own), back);
    const double rounding = 1e-14 * (std::abs(own[0][0]) + std::abs(own[1][1]) + std::abs(own[2][2]));
    for (Numbers& row : in)
      for (double& element : row)
        if (std::abs(element) <= rounding) element = 0.0;
    return fmt::format(
        "{} = {{ kind = \"multibody.body\", at = \"{}\", mass = {}{}, inertia = [{}, {}, {}, {}, {}, {}] "
        "}}\n",
        own_name(link, "_body"), frames_.at(link), number(inertial.child("mass"), "value", 0),
        is_zero(centre) ? "" : ", com = " + list(centre), in[0][0], in[1][1], in[2][2], in[0][1], in[0][2],
        in[1][2]);
  }

  std::string joint_text(const pugi::xml_node& node) {
    const std::string name = node.attribute("name").value(), type = node.attribute("type").value();
    const auto link = [&](const char* tag) -> std::string {
      std::string of = node.child(tag).attribute("link").value();
      if (frames_.contains(of)) return of;
      fault_at(node.offset_debug(),
               fmt::format("<{}> of joint '{}' is '{}', which is not a link", tag, name, of),
               {did_you_mean(of, order_)});
      return "";
    };
    const std::string parent = link("parent"), child = link("child");
    if (parent.empty() || child.empty()) return "";
    if (!children_.insert(child).second)
      fault_at(node.offset_debug(), fmt::format("link '{}' is the child of two joints", child));
    static const std::map<std::string, std::string> kinds{
        {"revolute", "revolute"}, {"continuous", "revolute"}, {"prismatic", "prismatic"},
        {"fixed", "weld"},        {"floating", "free"},       {"planar", "planar"}};
    const auto kind = kinds.find(type);
    if (kind == kinds.end()) {
      fault_at(node.offset_debug(), fmt::format("joint '{}' is of type '{}'", name, type),
               {"known types: revolute, continuous, prismatic, fixed, floating, planar"});
      return "";
    }
    for (const char* tag : {"limit", "safety_controller", "calibration"})
      if (node.child(tag) && !(type == "fixed" && std::string_view(tag) == "limit"))
        left_out_.insert(fmt::format("<{}>", tag));
    const pugi::xml_node origin = node.child("origin");
    const Numbers place = vector(origin, "xyz", {}), rpy = vector(origin, "rpy", {});
    const std::string component = own_name(name);
    std::string text, from = frames_.at(parent);
    const std::string turned = is_zero(rpy) ? "" : ", rotation = " + list(to_123(from_rpy(rpy)));
    const std::string moved = is_zero(place) ? "" : ", offset = " + list(place);
    if (type == "fixed")
      return fmt::format("{} = {{ kind = \"multibody.arm\", from = \"{}\", to = \"{}\"{}{} }}\n", component,
                         from, frames_.at(child), moved, turned);
    if (!turned.empty() || !moved.empty()) {
      const std::string frame = own_name(name, "_place");
      text = fmt::format("{} = {{ kind = \"multibody.arm\", from = \"{}\", to = \"{}\"{}{} }}\n",
                         own_name(name, "_mount"), from, frame, moved, turned);
      from = frame;
    }
    text += fmt::format("{} = {{ kind = \"multibody.{}\", from = \"{}\", to = \"{}\"", component,
                        kind->second, from, frames_.at(child));
    if (type != "floating") text += ", axis = " + list(vector(node.child("axis"), "xyz", {1, 0, 0}));
    const pugi::xml_node dynamics = node.child("dynamics");
    const bool one = kind->second == "revolute" || kind->second == "prismatic";
    for (const char* effort : {"damping", "friction"})
      if (const double value = number(dynamics, effort, 0.0); value != 0.0) {
        rubs_ = rubs_ || one;
        if (one)
          text += fmt::format(", {} = {}", effort, value);
        else
          left_out_.insert(fmt::format("{} of joint '{}'", effort, name));
      }
    if (one) single_[name] = component;
    if (one)
      outputs_ += fmt::format("{} = \"{}.{}\"\n", own_name(name, "_q"), component,
                              kind->second == "revolute" ? "angle" : "position");
    return text + " }\n";
  }

  // A joint that follows another one.
  std::string mimic_text(const pugi::xml_node& node) {
    const pugi::xml_node mimic = node.child("mimic");
    if (!mimic) return "";
    const std::string name = node.attribute("name").value(), followed = mimic.attribute("joint").value();
    if (std::none_of(joints_.begin(), joints_.end(),
                     [&](const pugi::xml_node& j) { return j.attribute("name").value() == followed; })) {
      fault_at(mimic.offset_debug(),
               fmt::format("joint '{}' mimics '{}', which is not a joint", name, followed));
      return "";
    }
    const auto own = single_.find(name), other = single_.find(followed);
    if (own == single_.end() || other == single_.end()) {
      left_out_.insert(fmt::format("<mimic> of joint '{}': '{}' has not one coordinate", name,
                                   own == single_.end() ? name : followed));
      return "";
    }
    const double offset = number(mimic, "offset", 0.0);
    return fmt::format(
        "{} = {{ kind = \"multibody.gear\", first = \"{}\", second = \"{}\", ratio = {}{} }}\n",
        own_name(name, "_mimic"), own->second, other->second, number(mimic, "multiplier", 1.0),
        offset == 0.0 ? "" : fmt::format(", offset = {}", offset));
  }

  std::string whole_text(const pugi::xml_node& robot, const std::string& root, const std::string& parts) {
    std::string text =
        fmt::format("name = \"{}\"\n\n[components]\n", own_title(robot.attribute("name").value()));
    text +=
        fmt::format("{} = {{ kind = \"multibody.gravity\", g = [0, 0, -9.80665] }}\n", own_name("gravity"));
    text += fmt::format("{} = {{ kind = \"multibody.weld\", from = \"datum\", to = \"{}\" }}\n",
                        own_name("base_weld"), frames_.at(root));
    for (const std::string& link : order_) text += body_text(link);
    faults_.throw_if_any();
    text += parts;
    if (!outputs_.empty()) text += "\n[outputs]\n" + outputs_;
    text += "\n[simulation]\nstop   = \"1 s\"\nsample = \"10 ms\"\n";
    // What rubs on a light link is stiff: then the default method, which finds its steps.
    return rubs_ ? text : text + "step   = \"1 ms\"\nmethod = \"rk4\"\n";
  }

  static std::string own_title(std::string_view from) {
    std::string title;
    for (const char c : from)
      if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' ') title += c;
    return title.empty() ? "robot" : title;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> list;
    for (const std::string& what : left_out_)
      list.push_back(fmt::format("{}: note: {} left out", name_, what));
    return list;
  }

  const std::string_view text_;
  const std::string name_;
  FaultList faults_;
  std::map<std::string, pugi::xml_node> links_;
  std::vector<std::string> order_;
  std::map<std::string, std::string> frames_;  // of links
  std::map<std::string, std::string> single_;  // components of joints of one coordinate, by joint
  std::vector<pugi::xml_node> joints_;
  std::set<std::string> children_, left_out_, names_;
  std::string outputs_;
  bool rubs_ = false;  // a joint has damping or friction
};

}  // namespace

ConvertedRobot convert_urdf_text(std::string_view text, const std::string& name) {
  return RobotConverter(text, name).run();
}

ConvertedRobot convert_urdf(const std::filesystem::path& file) {
  return convert_urdf_text(read_text(file, {file.string(), 0}), file.string());
}

}  // namespace tellegen
