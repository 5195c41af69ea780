// A run whose rows go to its file as they are made, so that memory does not grow with them.
#pragma once

#include <cstdint>
#include <filesystem>

#include "cli/report.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

// Whether the rows of this run are too many to be kept, and a file is there for them.
bool is_too_long_to_keep(const Simulation& simulation);
// Throws ModelError (T310) where the disk has no room for the file.
void check_disk(const Simulation& simulation, const std::filesystem::path& path);

struct StreamedRun {
  SimulationResult result;  // names and units, no rows
  Trajectory ends;          // the first row, the lowest and the highest values, the last row
  std::int64_t rows = 0;    // written
};
StreamedRun run_streamed(Simulation& simulation, const std::filesystem::path& path, const Progress& progress);

}  // namespace tellegen
