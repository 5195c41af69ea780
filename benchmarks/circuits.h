// `tellegen benchmark circuits`: the paper's Tables 7 to 19 and Figs. 10 to 15 again, with other programs and
// the hand-written limits beside them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

struct CircuitsOptions {
  bool quick = false;             // no run of many seconds: small ladders, no BDF1 at high precision
  bool tune = false;              // search the cheapest setting of every method
  std::vector<std::string> only;  // names of sections; empty: all
  std::filesystem::path json;     // file for everything that was printed
  std::filesystem::path output;   // folder for CSV files of the figures
};

struct SectionName {
  std::string_view name, summary;
};
std::vector<SectionName> circuits_sections();

// Prints as it goes. False where an answer disagreed.
bool run_circuits(const CircuitsOptions& options);

}  // namespace tellegen
