// Where parameters enter a system: which numbers of which members follow them, and how fast.
#pragma once

#include <span>
#include <vector>

#include "tellegen/equations/system.h"
#include "tellegen/model/parameters.h"

namespace tellegen {

struct GroupSlope {
  std::int32_t group = 0, member = 0;
  int slot = 0;        // in Group::parameters
  double slope = 0.0;  // d(number)/d(parameter)
};

// Per parameter of the model asked for. Numbers that stay zero are left out.
std::vector<std::vector<GroupSlope>> group_slopes(const EquationSystem& system, std::span<const int> wrt);

// An output or objective in columns and t, and what it has of each parameter beside: d(value)/d(parameter)
// with all columns held, where that is not zero.
struct ColumnValue {
  Expr value;
  std::map<int, Expr> by_parameter;  // by index into `wrt`
};
ColumnValue column_value(const EquationSystem& system, Expr value, std::span<const int> wrt);

}  // namespace tellegen
