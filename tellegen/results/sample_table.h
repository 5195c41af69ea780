// The samples of a study as a CSV file: a row for each, in order, numbered from 1.
//
//   sample,R1 [ohm],n2.v [V],status
//   1,1,4.99,ok
//   2,-1,,T124: parameter 'R' of 'r1' must be above 0
//
// Numbers are the shortest that read back as the same double; a missing one is an empty cell.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tellegen {

struct SampleTable {
  std::vector<std::string> names, units;  // of the columns between sample and status
  std::vector<double> values;             // row by row
  std::vector<std::string> status;        // one per row; empty: ok
};

void write_csv(const std::filesystem::path& path, const SampleTable& table);  // whole or not at all

}  // namespace tellegen
