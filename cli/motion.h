// --animate and --picture of `simulate`: the motion of a mechanism to look at.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/results/trajectory.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct MotionRequest {
  std::string page, picture, trails;
};

std::vector<CLI::Option*> add_motion_options(CLI::App& command, MotionRequest& request, const char* group);
void check_motion_targets(const MotionRequest& request);
std::vector<std::string> motion_files(const MotionRequest& request);  // those asked for

// The variables that the motion needs, behind what the user wants to see. Throws where the model has no
// frames, or a trail names none.
void add_pose_columns(const MotionRequest& request, const Model& model, std::vector<OutputColumn>& columns);

// The columns from `first` on, taken off.
Trajectory split_off(Trajectory& trajectory, std::size_t first);

// What goes into one of motion_files().
std::string motion_text(const MotionRequest& request, const std::string& file, const Model& model,
                        const Trajectory& poses, const Trajectory& outputs);

}  // namespace tellegen
