// A run whose rows go to its file as they are made, so that memory does not grow with them.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "tellegen/report/run_report.h"
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
  bool interrupted = false;
};

// A run that is saved on its way, or goes on from where one was saved.
struct SavedRun {
  std::string resume;                            // what was saved; empty: from the start
  double every = 0.0;                            // time of the model; 0: at the end only
  std::function<void(const std::string&)> save;  // empty: never
  const std::atomic<bool>* stop = nullptr;       // asks the run to end early, saved
};
// `path` empty: no file. Of a run that goes on, the rows behind those that are done.
StreamedRun run_streamed(Simulation& simulation, const std::filesystem::path& path, const Progress& progress,
                         const SavedRun& saved = {});

}  // namespace tellegen
