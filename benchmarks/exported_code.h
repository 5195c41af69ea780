// `tellegen benchmark export`: the steps that `tellegen export` writes as C, beside Tellegen's own loop over
// the same steps of the same run; and an estimator beside the twin that `estimate` runs. Then every model by
// every method (exported_models.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/exported_models.h"

namespace tellegen {

struct ExportedCodeOptions {
  bool quick = false;             // few steps, three times
  std::filesystem::path json;     // file for everything that was printed
  std::vector<std::string> only;  // times, models; empty: both, with --quick a sample of models
  ExportedModelsOptions models;
};

// Prints as it goes. False where an answer disagreed.
bool run_exported_code(const ExportedCodeOptions& options);

}  // namespace tellegen
