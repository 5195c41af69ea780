// scene_player.js and scene_page.css, taken into the program when it is built.
#pragma once

#include <string_view>

namespace tellegen {

extern const std::string_view scene_player, scene_style;

}  // namespace tellegen
