// `tellegen benchmark mechanisms`: open and closed chains beside Simbody and DART, where a build found them:
// the same integrator (classical Runge-Kutta), the same step, answers compared before times.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/mechanism_case.h"

namespace tellegen {

struct MechanismsOptions {
  bool quick = false;                              // short runs, once: for the tests
  std::vector<int> chain{1, 2, 5, 10, 100, 1000};  // links
  int longest = 1000;                              // chain that Tellegen itself is given
  std::filesystem::path json;                      // file for everything that was printed
};

// Double pendulum, 3-D pendulum, slider-crank, 4-bar, arm of six joints, Stewart platform, corner of a car on
// double wishbones; and a chain of so many links.
std::vector<MechanismCase> mechanism_cases();
MechanismCase chain_case(int count);

std::string model_text(const MechanismCase& c);                     // as a model file
std::vector<std::string> coordinate_names(const MechanismCase& c);  // in it, in the order of CaseAnswer::q

// Prints as it goes. False where an answer disagreed.
bool run_mechanisms(const MechanismsOptions& options);

}  // namespace tellegen
