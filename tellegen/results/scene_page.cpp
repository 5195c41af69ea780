#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "tellegen/results/html.h"
#include "tellegen/results/scene.h"
#include "tellegen/results/scene_texts.h"

namespace tellegen {
namespace {

// Of a rotation matrix, by its largest part, so that nothing is divided by a small number.
std::array<double, 4> quaternion_of(const std::array<Point3, 3>& r) {
  const double trace = r[0][0] + r[1][1] + r[2][2];
  const std::array<double, 4> squares{trace, r[0][0], r[1][1], r[2][2]};
  std::size_t k = 0;
  for (std::size_t i = 1; i < 4; ++i)
    if (squares[i] > squares[k]) k = i;
  std::array<double, 4> q{};
  if (k == 0) {
    q = {1 + trace, r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]};
  } else {
    const std::size_t i = k - 1, j = k % 3, l = (k + 1) % 3;
    q[0] = r[l][j] - r[j][l];
    q[i + 1] = 1 + r[i][i] - r[j][j] - r[l][l];
    q[j + 1] = r[i][j] + r[j][i];
    q[l + 1] = r[i][l] + r[l][i];
  }
  const double length = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (double& value : q) value /= length;
  return q;
}

std::string list(const Point3& p) { return fmt::format("[{:.6g},{:.6g},{:.6g}]", p[0], p[1], p[2]); }

// Place and quaternion of one frame over all rows; of a frame that stands still, once.
std::string motion_of(const Scene& scene, int frame) {
  std::string all, first;
  bool moves = false;
  for (std::size_t row = 0; row < scene.t.size(); ++row) {
    const FramePose& pose = scene.pose(row, frame);
    const auto q = quaternion_of(pose.rotation);
    const std::string text = fmt::format("{:.6g},{:.6g},{:.6g},{:.5g},{:.5g},{:.5g},{:.5g}", pose.position[0],
                                         pose.position[1], pose.position[2], q[0], q[1], q[2], q[3]);
    if (row == 0) first = text;
    moves = moves || text != first;
    all += (row == 0 ? "" : ",") + text;
  }
  return "[" + (moves ? all : first) + "]";
}

// Names are letters, digits, dots and brackets: nothing in them has to be escaped.
std::string scene_json(const Scene& scene) {
  std::string json =
      fmt::format("{{\"up\":{},\"centre\":{},\"size\":{:.6g},\"part\":{:.6g},\"view\":{},\n\"t\":[{:.7g}],\n",
                  list(scene.up), list(scene.centre), scene.size, scene.part_size, list(scene.view),
                  fmt::join(scene.t, ","));
  json += fmt::format("\"frames\":[\"{}\"],\n\"trails\":[{}],\n\"motion\":[\n",
                      fmt::join(scene.frames, "\",\""), fmt::join(scene.trails, ","));
  for (std::size_t f = 0; f < scene.frames.size(); ++f)
    json += (f == 0 ? "" : ",\n") + motion_of(scene, static_cast<int>(f));
  json += "],\n\"solids\":[\n";
  for (const SceneSolid& solid : scene.solids) {
    std::string points, faces;
    for (const Point3& p : solid.mesh.points) points += (points.empty() ? "" : ",") + list(p);
    for (const auto& face : solid.mesh.faces)
      faces += (faces.empty() ? "[" : ",[") + fmt::format("{}]", fmt::join(face, ","));
    json += fmt::format(
        "{}{{\"name\":\"{}\",\"frame\":{},\"colour\":{},\"named\":{},\"points\":[{}],\"faces\":[{}]}}",
        &solid == scene.solids.data() ? "" : ",\n", solid.name, solid.frame, solid.colour, solid.named,
        points, faces);
  }
  json += "],\n\"lines\":[\n";
  for (const SceneLine& line : scene.lines) {
    using Look = SceneLine::Look;
    json += fmt::format("{}{{\"look\":\"{}\",\"from\":{},\"to\":{},\"a\":{},\"b\":{},\"colour\":{}}}",
                        &line == scene.lines.data() ? "" : ",\n",
                        line.look == Look::bar      ? "bar"
                        : line.look == Look::spring ? "spring"
                                                    : "thin",
                        line.from, line.to, list(line.from_point), list(line.to_point), line.colour);
  }
  return json + "]}";
}

constexpr std::string_view controls = R"(<div class="controls">
<button id="play" type="button">Play</button>
<input id="time" type="range" aria-label="time">
<span id="clock"></span>
</div>
<div class="controls soft">
<label>speed <select id="speed"></select></label>
<label><input id="names" type="checkbox"> names</label>
<button id="home" type="button">Reset view</button>
<details><summary>trails</summary><div id="trails"></div></details>
<span id="scale"></span>
<span>drag: turn, wheel or two fingers: zoom, shift: move</span>
</div>
)";

}  // namespace

std::string to_html(const Scene& scene, const std::vector<Figure>& figures) {
  std::string plots;
  for (const Figure& figure : figures) plots += to_html(figure);
  const std::string title = escaped(scene.title);
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += fmt::format("<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n", title,
                      figure_style(), scene_style);
  html += fmt::format(
      "<div class=\"stage\">\n<h1>{0}</h1>\n<canvas id=\"view\" role=\"img\" aria-label=\"{0}\">"
      "</canvas>\n{1}</div>\n<div class=\"plots\">\n{2}</div>\n</main>\n",
      title, controls, plots);
  html += "<script type=\"application/json\" id=\"scene\">" + scene_json(scene) + "</script>\n";
  return html + "<script>\n" + std::string(scene_player) + "</script>\n</body>\n</html>\n";
}

}  // namespace tellegen
