#include "cli/motion.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/model/reading.h"
#include "tellegen/results/mechanism_scene.h"

namespace tellegen {

std::vector<CLI::Option*> add_motion_options(CLI::App& command, MotionRequest& request, const char* group) {
  auto* page = command.add_option("--animate", request.page, "page that plays the motion of a mechanism")
                   ->type_name("F.html")
                   ->group(group);
  auto* picture = command.add_option("--picture", request.picture, "the mechanism where the run begins")
                      ->type_name("F.svg")
                      ->group(group);
  command
      .add_option("--trails", request.trails,
                  "frames whose paths --animate draws; those at the ends if not given")
      ->type_name("LIST")
      ->needs(page)
      ->group(group);
  return {page, picture};
}

void check_motion_targets(const MotionRequest& request) {
  if (!request.page.empty())
    check_writable({tellegen_simulate, "--animate"}, request.page, {".html", ".htm"});
  if (!request.picture.empty()) check_writable({tellegen_simulate, "--picture"}, request.picture, {".svg"});
}

std::vector<std::string> motion_files(const MotionRequest& request) {
  std::vector<std::string> files;
  for (const std::string& file : {request.page, request.picture})
    if (!file.empty()) files.push_back(file);
  return files;
}

void add_pose_columns(const MotionRequest& request, const Model& model, std::vector<OutputColumn>& columns) {
  if (motion_files(request).empty()) return;
  const std::vector<std::string> frames = scene_frames(model);
  if (frames.empty())
    throw command_fault(
        tellegen_simulate, "T404",
        fmt::format("'{}' has no mechanism to {}", model.file.string(),
                    request.page.empty() ? "draw" : "animate"),
        {"--animate and --picture show frames of bodies and joints (kinds multibody.*; docs/mechanisms.md)",
         "--plot draws outputs over time"});
  for (const std::string& name : split_list(request.trails))
    if (std::find(frames.begin(), frames.end(), name) == frames.end())
      throw command_fault(tellegen_simulate, "T401", fmt::format("--trails: there is no frame '{}'", name),
                          {did_you_mean(name, frames), "frames: " + joined(frames)});
  for (const std::string& name : pose_variables(model))
    columns.push_back({name, "", parse_value(model, name, {std::string(tellegen_simulate), 0})});
}

Trajectory split_off(Trajectory& trajectory, std::size_t first) {
  Trajectory rest;
  if (trajectory.columns() <= first) return rest;
  const std::size_t width = trajectory.columns();
  rest.names.assign(trajectory.names.begin() + static_cast<long>(first), trajectory.names.end());
  rest.units.assign(trajectory.units.begin() + static_cast<long>(first), trajectory.units.end());
  rest.t = trajectory.t;
  std::vector<double> kept;
  for (std::size_t row = 0; row < trajectory.rows(); ++row)
    for (std::size_t c = 0; c < width; ++c) (c < first ? kept : rest.values).push_back(trajectory.at(row, c));
  trajectory.names.resize(first);
  trajectory.units.resize(first);
  trajectory.values = std::move(kept);
  return rest;
}

std::string motion_text(const MotionRequest& request, const std::string& file, const Model& model,
                        const Trajectory& poses, const Trajectory& outputs) {
  const Scene scene = mechanism_scene(model, poses, split_list(request.trails));
  return file == request.page ? to_html(scene, output_figures(outputs)) : to_svg(scene);
}

}  // namespace tellegen
