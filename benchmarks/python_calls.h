// `tellegen benchmark python`: what a call from Python costs beside the same call of the C++ library: a run
// of a small compiled model with another number, again and again, and a sweep.
#pragma once

#include <filesystem>

namespace tellegen {

struct PythonOptions {
  int calls = 500;
  int samples = 10'000;        // of the sweep
  std::filesystem::path json;  // file for everything that was printed
};

// Prints as it goes. False where an answer disagreed.
bool run_python_benchmark(const PythonOptions& options);

}  // namespace tellegen
