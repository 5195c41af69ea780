// The four machine scenarios written by hand: voltage behind reactance, classical Runge-Kutta, one function
// for each. What a careful programmer would write for one machine; the measure of `tellegen benchmark
// machines`.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tellegen {

struct HandRun {
  std::vector<double> i_a, T_e;  // every `stride` steps, the start left out
};

// By the name of the model under models/. Steps of h from the model's own start.
HandRun hand_machine(std::string_view model, double h, std::int64_t steps, std::int64_t stride);

}  // namespace tellegen
