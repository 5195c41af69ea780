// Robots in URDF (the Unified Robot Description Format) as model files.
//
// A link is a frame, with a multibody.body where it has an inertial; a joint is an arm from the parent link
// to the joint's place and a joint from there to the child link. The link that is no child stands on the
// datum. z is up, as ROS has it. Meshes, limits, transmissions and what simulators add are left out, each
// with a note.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

struct ConvertedRobot {
  std::string toml;
  std::vector<std::string> notes;  // what was left out
};

// Throws ModelError.
ConvertedRobot convert_urdf(const std::filesystem::path& file);
ConvertedRobot convert_urdf_text(std::string_view text, const std::string& name);

}  // namespace tellegen
