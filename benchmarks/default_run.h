// `tellegen benchmark default`: circuits with default settings against ngspice with its own, and at equal
// accuracy. Errors of both against a converged solution come before times.
#pragma once

#include <filesystem>

namespace tellegen {

struct DefaultRunOptions {
  bool quick = false;          // two circuits, once: for the tests
  std::filesystem::path json;  // file for everything that was printed
};

// Prints as it goes. False where an answer disagreed.
bool run_default_benchmark(const DefaultRunOptions& options);

}  // namespace tellegen
