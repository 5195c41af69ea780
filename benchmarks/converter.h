// `tellegen benchmark converter`: a switching converter (buck.cir, a switch and a diode at 100 kHz for 10 ms)
// against ngspice at equal accuracy.
#pragma once

#include <filesystem>

namespace tellegen {

struct ConverterOptions {
  bool quick = false;          // one setting of each, once: for the tests
  std::filesystem::path json;  // file for everything that was printed
};

// Prints as it goes. False where an answer disagreed.
bool run_converter(const ConverterOptions& options);

}  // namespace tellegen
