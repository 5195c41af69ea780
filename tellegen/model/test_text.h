// Models written as text, for the tests of this folder and of those above it.
#pragma once

#include <string>
#include <string_view>

#include "tellegen/model/read.h"

namespace tellegen {

// The lines of [components], and after them any other section.
inline Model model_of(std::string_view components) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text("name = \"test\"\n[components]\n" + std::string(components), "test.toml", options);
}

inline Model shipped_model(const std::string& name) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model(std::string(TELLEGEN_SOURCE_DIR "/models/") + name + "/model.toml", options);
}

}  // namespace tellegen
