// `tellegen benchmark machine-extraction`: the wound-rotor machine of models/wrsm-mec from its cross-section.
// Inductances and the transient against their reference, seconds for five cycles beside the published ones,
// and the qd0 model from the transient, beside published tables.
#pragma once

#include <filesystem>

namespace tellegen {

struct MachineExtractionOptions {
  bool quick = false;          // once, fewer angles: for the tests
  std::filesystem::path json;  // file for everything that was printed
};

// Prints as it goes. False where an answer disagreed.
bool run_machine_extraction(const MachineExtractionOptions& options);

}  // namespace tellegen
