#include "tellegen/results/mechanism_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace tellegen {
namespace {

constexpr std::size_t most_rows = 1000;
constexpr std::array<std::string_view, 12> pose_names{"x",   "y",   "z",   "r11", "r12", "r13",
                                                      "r21", "r22", "r23", "r31", "r32", "r33"};

// How a joint is marked: a profile in units of the marker's size, turned about the joint's axis.
struct JointMark {
  std::vector<std::array<double, 2>> profile;
  int sides = 16;
};

std::vector<std::array<double, 2>> drum(double length, double radius) {
  return {{-length / 2, 0}, {-length / 2, radius}, {length / 2, radius}, {length / 2, 0}};
}

const std::map<std::string_view, JointMark>& joint_marks() {
  static const JointMark hinge{drum(3.0, 1.0)}, slide{drum(3.4, 1.5), 4}, sleeve{drum(4.4, 0.9)},
      ball{{{-1.2, 0}, {-0.85, 0.85}, {0, 1.2}, {0.85, 0.85}, {1.2, 0}}}, plate{drum(0.4, 2.4)},
      ring{{{-1.2, 0.8}, {-1.2, 1.8}, {1.2, 1.8}, {1.2, 0.8}, {-1.2, 0.8}}};
  static const std::map<std::string_view, JointMark> marks{
      {"revolute", hinge},      {"revolute_shaft", hinge},
      {"screw", sleeve},        {"prismatic", slide},
      {"prismatic_rod", slide}, {"cylindrical", sleeve},
      {"spherical", ball},      {"spherical_quaternion", ball},
      {"universal", ball},      {"planar", plate},
      {"bushing", ring}};
  return marks;
}

bool is_rigid(std::string_view kind) { return kind == "arm" || kind == "weld"; }

class SceneBuilder {
 public:
  SceneBuilder(const Model& model, const Trajectory& poses) : model_(model) {
    for (const ModelParameter& p : model.parameters) numbers_[p.symbol] = p.number;
    scene_.title = model.name;
    scene_.frames = scene_frames(model);
    scene_.frames.insert(scene_.frames.begin(), "datum");
    for (std::size_t f = 0; f < scene_.frames.size(); ++f) frame_of_[scene_.frames[f]] = static_cast<int>(f);
    take_poses(poses);
    group_bodies();
  }

  Scene run(const std::vector<std::string>& trails) {
    for (const ModelPart& part : model_.mechanism) {
      add_body(part);
      if (kind_of(part) == "gravity") set_up(part);
    }
    scene_.part_size = extent(1);
    for (const ModelPart& part : model_.mechanism) {
      add_marker(part);
      add_joint(part);
      add_line(part);
    }
    scene_.size = std::max(extent(scene_.t.size()), scene_.part_size);
    choose_view();
    for (const std::string& name : trails) scene_.trails.push_back(frame_of_.at(name));
    if (trails.empty()) choose_trails();
    return std::move(scene_);
  }

 private:
  std::string_view kind_of(const ModelPart& part) const {
    const std::string_view name = model_.kinds[model_.components[part.component].kind].name;
    return name.substr(name.find('.') + 1);
  }
  int frame(const ModelPart& part, std::string_view key) const {
    const auto found = part.references.find(key);
    return found == part.references.end() ? -1 : frame_of_.at(found->second);
  }
  bool has(const ModelPart& part, const std::string& name) const {
    const auto& parameters = model_.kinds[model_.components[part.component].kind].parameters;
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const KindParameter& p) { return p.name == name; });
  }
  double number(const ModelPart& part, const std::string& name) const {
    const Component& component = model_.components[part.component];
    const auto& parameters = model_.kinds[component.kind].parameters;
    for (std::size_t k = 0; k < parameters.size(); ++k)
      if (parameters[k].name == name && component.values[k].value) {
        const double value = evaluate(component.values[k].value, numbers_);
        return std::isfinite(value) ? value : 0.0;
      }
    return 0.0;
  }
  Point3 vector(const ModelPart& part, const std::string& name) const {
    return {number(part, name + "_x"), number(part, name + "_y"), number(part, name + "_z")};
  }
  double marker() const { return 0.016 * scene_.part_size; }

  void take_poses(const Trajectory& poses) {
    const std::size_t stride = (poses.rows() + most_rows - 1) / most_rows, count = scene_.frames.size();
    for (std::size_t row = 0; row < poses.rows(); row += std::max<std::size_t>(stride, 1)) {
      const auto values = poses.row(row);
      if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) continue;
      scene_.t.push_back(poses.t[row]);
      scene_.poses.emplace_back();  // of the datum
      for (std::size_t f = 1; f < count; ++f) {
        FramePose& pose = scene_.poses.emplace_back();
        const auto at = [&](std::size_t k) { return poses.at(row, (f - 1) * pose_names.size() + k); };
        for (std::size_t i = 0; i < 3; ++i) {
          pose.position[i] = at(i);
          for (std::size_t j = 0; j < 3; ++j) pose.rotation[i][j] = at(3 + 3 * i + j);
        }
      }
    }
    if (!scene_.t.empty()) return;
    scene_.t.push_back(0.0);  // nothing is known: everything at the datum
    scene_.poses.resize(count);
  }

  // Frames that arms join are of one body.
  void group_bodies() {
    group_.resize(scene_.frames.size());
    std::iota(group_.begin(), group_.end(), 0);
    for (const ModelPart& part : model_.mechanism) {
      if (!is_rigid(kind_of(part))) continue;
      const int a = group_[frame(part, "from")], b = group_[frame(part, "to")];
      for (int& g : group_)
        if (g == std::max(a, b)) g = std::min(a, b);
    }
    std::map<int, int> colours;
    colours[0] = -1;
    for (const int g : group_) colours.emplace(g, static_cast<int>(colours.size()) - 1);
    for (int& g : group_) g = colours.at(g);
  }
  bool is_fixed(int frame) const { return group_[frame] < 0; }

  // Largest extent of frames and solids, over so many rows.
  double extent(std::size_t rows) {
    Point3 low, high;
    low.fill(1e300), high.fill(-1e300);
    const auto include = [&](const Point3& p) {
      for (std::size_t i = 0; i < 3; ++i) {
        if (!std::isfinite(p[i])) continue;
        low[i] = std::min(low[i], p[i]), high[i] = std::max(high[i], p[i]);
      }
    };
    for (std::size_t row = 0; row < std::min(rows, scene_.t.size()); ++row) {
      for (std::size_t f = 0; f < scene_.frames.size(); ++f)
        if (f > 0 || scene_.frames.size() < 3) include(scene_.pose(row, static_cast<int>(f)).position);
      for (const SceneSolid& solid : scene_.solids)
        for (const Point3& p : solid.mesh.points) include(scene_.pose(row, solid.frame)(p));
    }
    if (!(low[0] <= high[0])) low = high = {};
    scene_.centre = 0.5 * (low + high);
    extents_ = high - low;
    const double diagonal = std::sqrt(dot(extents_, extents_));
    return diagonal > 0.0 ? diagonal : 1.0;
  }

  void add_solid(const ModelPart& part, int frame, Mesh mesh, bool named) {
    scene_.solids.push_back(
        {model_.components[part.component].name, frame, named ? group_[frame] : -1, named, std::move(mesh)});
  }

  // Solids in pieces, so that near and far parts of a long one are sorted by themselves.
  static std::vector<std::array<double, 2>> in_pieces(double length, double radius, double end_radius) {
    std::vector<std::array<double, 2>> profile{{0, 0}};
    const int pieces = std::clamp(static_cast<int>(length / (4 * radius)), 1, 10);
    for (int k = 0; k <= pieces; ++k)
      profile.push_back({length * k / pieces, radius + (end_radius - radius) * k / pieces});
    if (end_radius > 0.0) profile.push_back({length, 0});
    return profile;
  }

  void add_body(const ModelPart& part) {
    const std::string_view kind = kind_of(part);
    const int at = frame(part, "at");
    const double length = number(part, "length"), radius = number(part, "radius");
    const Point3 axis = unit_vector(vector(part, "axis")), centre = vector(part, "com");
    if (kind == "cylinder")
      add_solid(part, at, turned_solid(in_pieces(length, radius, radius), {}, axis), true);
    if (kind == "cone") add_solid(part, at, turned_solid(in_pieces(length, radius, 0.0), {}, axis), true);
    if (kind == "tube") {
      const double inner = number(part, "inner");
      add_solid(
          part, at,
          turned_solid({{0, inner}, {0, radius}, {length, radius}, {length, inner}, {0, inner}}, {}, axis),
          true);
    }
    if (kind == "tyre") {
      const double half = 0.2 * radius;
      add_solid(part, frame(part, "to"),
                turned_solid({{-half, 0.6 * radius},
                              {-half, radius},
                              {half, radius},
                              {half, 0.6 * radius},
                              {-half, 0.6 * radius}},
                             {}, axis, 28),
                false);
    }
    if (kind == "sphere") add_solid(part, at, sphere_solid(centre, radius), true);
    if (kind == "box") add_solid(part, at, box_solid(centre, vector(part, "size")), true);
  }

  // A body without a shape: a ball at its centre of mass, joined to its frame.
  void add_marker(const ModelPart& part) {
    if (kind_of(part) != "body") return;
    const int at = frame(part, "at");
    const Point3 centre = vector(part, "com");
    add_solid(part, at, sphere_solid(centre, 2.0 * marker()), true);
    if (dot(centre, centre) > marker() * marker())
      scene_.lines.push_back({SceneLine::Look::bar, at, at, {}, centre, group_[at]});
  }

  void add_joint(const ModelPart& part) {
    const auto mark = joint_marks().find(kind_of(part));
    if (mark == joint_marks().end()) return;
    const int from = frame(part, "from"), to = frame(part, "to");
    const bool slides = mark->second.sides == 4;
    const Point3 axis = has(part, "axis_x") ? unit_vector(vector(part, "axis")) : Point3{0, 0, 1};
    auto profile = mark->second.profile;
    for (auto& [along, radius] : profile) along *= marker(), radius *= marker();
    add_solid(part, slides ? to : from, turned_solid(profile, {}, axis, mark->second.sides), false);
    if (slides) add_rail(from, to, axis);
    if (is_fixed(from) && !slides) add_ground(part, from);
  }

  // A foot below a frame that does not move.
  void add_ground(const ModelPart& part, int at) {
    const double s = marker();
    add_solid(
        part, 0,
        turned_solid({{-3.2 * s, 0}, {-3.2 * s, 2.2 * s}, {0, 0}}, scene_.pose(0, at).position, scene_.up, 4),
        false);
  }

  // The line on which a slide moves, as far as it comes.
  void add_rail(int from, int to, const Point3& axis) {
    double low = 0.0, high = 0.0;
    for (std::size_t row = 0; row < scene_.t.size(); ++row) {
      const FramePose& base = scene_.pose(row, from);
      const Point3 line = scene_.pose(row, to).position - base.position;
      double along = 0.0;
      for (std::size_t i = 0; i < 3; ++i) along += line[i] * dot(base.rotation[i], axis);
      low = std::min(low, along), high = std::max(high, along);
    }
    const double more = 4.0 * marker();
    scene_.lines.push_back(
        {SceneLine::Look::thin, from, from, (low - more) * axis, (high + more) * axis, -1});
  }

  void add_line(const ModelPart& part) {
    const std::string_view kind = kind_of(part);
    const int from = frame(part, "from"), to = frame(part, "to");
    if (from < 0 || to < 0 || (is_fixed(from) && is_fixed(to))) return;
    if (is_rigid(kind)) scene_.lines.push_back({SceneLine::Look::bar, from, to, {}, {}, group_[from]});
    if (kind == "rod") {
      scene_.lines.push_back({SceneLine::Look::bar, from, to, {}, {}, -1});
      for (const int end : {from, to}) {
        add_solid(part, end, sphere_solid({}, marker()), false);
        if (is_fixed(end)) add_ground(part, end);
      }
    }
    if (kind == "spring") scene_.lines.push_back({SceneLine::Look::spring, from, to, {}, {}, -1});
  }

  void set_up(const ModelPart& gravity) {
    const Point3 g = vector(gravity, "g");
    if (dot(g, g) > 0.0) scene_.up = unit_vector(-1.0 * g);
  }

  // A plane mechanism is seen from its front, another from a corner.
  void choose_view() {
    Point3 right{};
    double widest = -1.0, thinnest = 1e300;
    for (std::size_t i = 0; i < 3; ++i) {
      if (std::abs(scene_.up[i]) > 0.8) continue;
      if (extents_[i] > widest * 1.000001) widest = extents_[i], right = {}, right[i] = 1.0;
      thinnest = std::min(thinnest, extents_[i]);
    }
    const Point3 depth = unit_vector(cross(right, scene_.up));
    const bool is_plane = thinnest < 0.2 * scene_.size;
    scene_.view = unit_vector(depth + (is_plane ? 0.3 : 0.75) * right + (is_plane ? 0.22 : 0.45) * scene_.up);
  }

  // Frames that no joint leads on from, as long as they move; in a closed chain the one that moves farthest.
  void choose_trails() {
    std::vector<int> uses(scene_.frames.size());
    for (const ModelPart& part : model_.mechanism)
      for (const char* key : {"from", "to"})
        if (const int f = frame(part, key); f > 0) ++uses[f];
    double longest = 0.02 * scene_.size;
    int farthest = 0;
    for (int f = 1; f < static_cast<int>(uses.size()); ++f) {
      double path = 0.0;
      for (std::size_t row = 1; row < scene_.t.size(); ++row) {
        const Point3 step = scene_.pose(row, f).position - scene_.pose(row - 1, f).position;
        path += std::sqrt(dot(step, step));
      }
      if (uses[f] == 1 && path > 0.02 * scene_.size && scene_.trails.size() < 3) scene_.trails.push_back(f);
      if (path > longest * 1.001) longest = path, farthest = f;
    }
    if (scene_.trails.empty() && farthest > 0) scene_.trails.push_back(farthest);
  }

  const Model& model_;
  Scene scene_;
  ExprMap<double> numbers_;
  std::map<std::string, int, std::less<>> frame_of_;
  std::vector<int> group_;  // per frame: the colour of its body; -1: the ground
  Point3 extents_{};
};

}  // namespace

std::vector<std::string> scene_frames(const Model& model) {
  std::vector<std::string> frames;
  if (model.mechanism.empty()) return frames;
  for (const Component& component : model.components)
    if (model.kinds[component.kind].name == "multibody.frame") frames.push_back(component.name);
  return frames;
}

std::vector<std::string> pose_variables(const Model& model) {
  std::vector<std::string> names;
  for (const std::string& frame : scene_frames(model))
    for (std::string_view variable : pose_names) names.push_back(fmt::format("{}.{}", frame, variable));
  return names;
}

Scene mechanism_scene(const Model& model, const Trajectory& poses, const std::vector<std::string>& trails) {
  return SceneBuilder(model, poses).run(trails);
}

std::vector<Figure> output_figures(const Trajectory& outputs) {
  constexpr std::size_t most_figures = 8, most_lines = 6;
  std::vector<Figure> figures;
  std::vector<std::string> units;
  for (std::size_t c = 0; c < outputs.columns(); ++c) {
    const std::string& unit = outputs.units[c];
    std::size_t k = 0;
    while (k < figures.size() && (units[k] != unit || figures[k].lines.size() >= most_lines)) ++k;
    if (k == most_figures) continue;
    if (k == figures.size()) {
      units.push_back(unit);
      Figure& figure = figures.emplace_back();
      figure.y_label = unit.empty() ? "" : "[" + unit + "]";
      figure.x_label = "t [s]";
      figure.height = 190;
    }
    FigureLine line;
    line.name = outputs.names[c];
    line.colour = static_cast<int>(figures[k].lines.size());
    line.x = outputs.t;
    for (std::size_t row = 0; row < outputs.rows(); ++row) line.y.push_back(outputs.at(row, c));
    figures[k].lines.push_back(std::move(line));
  }
  for (Figure& figure : figures)  // a single curve is named above, not in a legend
    if (figure.lines.size() == 1) {
      figure.y_label = figure.lines[0].name + (figure.y_label.empty() ? "" : " ") + figure.y_label;
      figure.lines[0].name.clear();
    }
  return figures;
}

}  // namespace tellegen
