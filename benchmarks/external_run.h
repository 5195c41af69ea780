// What another program answered, and how long its own analysis took.
#pragma once

#include <string>
#include <vector>

namespace tellegen {

enum class Precision { low, high };  // Table 5 of the paper: 1 mV and 1 mA, or 10 uV and 10 uA

struct ExternalRun {
  bool available = false;                // false: not installed, or it failed; `setting` then says why
  std::string version;                   // name and version of the program
  std::vector<double> t, first, second;  // the monitored variables at the samples
  double seconds = 0;                    // analysis only: process start, parsing and output are excluded
  long steps = 0;
  std::string setting;  // what was chosen: method, step, tolerances
};

}  // namespace tellegen
