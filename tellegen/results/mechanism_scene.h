// The mechanism of a model as a scene: its bodies in their own shapes, its joints, arms, rods and springs.
#pragma once

#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/results/scene.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {

std::vector<std::string> scene_frames(const Model& model);  // without the datum; empty: no mechanism

// The variables that say where the frames are: `tip.x` to `tip.r33` of each.
std::vector<std::string> pose_variables(const Model& model);

// `poses` has these as its columns. Rows are thinned where they are many more than a screen shows in a
// minute. Trails: names of frames; none: those at the ends of chains.
Scene mechanism_scene(const Model& model, const Trajectory& poses, const std::vector<std::string>& trails);

// Outputs with one unit in one figure.
std::vector<Figure> output_figures(const Trajectory& outputs);

}  // namespace tellegen
