// tellegen benchmark estimate-size: the Kalman filter of regular thermal networks of 100 to 5000 nodes with
// 10 sensors, 201 rows: against a textbook filter on dense matrices, reduced against full, and seconds from
// text to estimate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tellegen {

struct EstimateSizeOptions {
  std::vector<int> nodes{100, 1000, 5000};
  int rows = 201;
  std::string json;
};

// A block of nodes, each a capacity, with conductances to its neighbours, every fifth to the air; a heat flow
// that is unknown, one that the data give, and 10 sensors.
std::string thermal_block(int nodes);

bool run_estimate_size(const EstimateSizeOptions& options);

}  // namespace tellegen
