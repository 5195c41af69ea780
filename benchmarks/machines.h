// `tellegen benchmark machines`: the four machine scenarios against their references, against steps written
// by hand (machine_steps.h) and beside published FPGA times; error over step size of the three forms of one
// machine; a table in place of the saturation formula; an inverter with a permanent-magnet machine against
// ngspice.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tellegen {

struct MachinesOptions {
  bool quick = false;             // short runs, once: for the tests
  std::vector<std::string> only;  // scenarios, forms, table, inverter; empty: all
  std::filesystem::path json;     // file for everything that was printed
};

// Prints as it goes. False where an answer disagreed.
bool run_machines(const MachinesOptions& options);

}  // namespace tellegen
