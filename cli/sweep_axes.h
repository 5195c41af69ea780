// The --vary of `tellegen sweep`: which parameters vary, and over what.
//
//   R1=1ohm:10ohm        a range           R1=1ohm:10ohm:log       uniform in the logarithm
//   R1=1ohm:10ohm:20     20 values         R1=1ohm:10ohm:log:20    20 values, equal in ratio
//   R1=1ohm,2ohm,5ohm    these values
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/sweep/samples.h"

namespace tellegen {

// One --vary as it was typed.
struct VaryText {
  std::string whole, name;
  std::vector<std::string> numbers;  // the bounds, or all values
  bool listed = false, log = false;
  std::optional<int> count;
  bool is_grid() const { return listed || count; }
};

// Throws ModelError (T580, T582).
std::vector<VaryText> read_vary(const std::vector<std::string>& texts);

// With the units that the model's parameters have. Throws ModelError (T140, T580, T581).
std::vector<Axis> axes_of(Model& model, const std::vector<VaryText>& vary);

}  // namespace tellegen
