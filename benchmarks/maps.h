// `tellegen benchmark maps`: a map of 100 x 100 points looked up at random positions: by generated C, by the
// interpreter, and by a function written by hand. Points at equal and at unequal distances, cubics and
// straight lines.
#pragma once

#include <filesystem>

namespace tellegen {

struct MapsOptions {
  bool quick = false;          // once
  std::filesystem::path json;  // file for everything that was printed
};

// Prints as it goes. False where an answer disagreed.
bool run_maps(const MapsOptions& options);

}  // namespace tellegen
