// Where parameters enter a system: which numbers of which members follow them, and how fast.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tellegen/equations/storage.h"
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

// d/dp of what the rates of redundant storage follow (equations/storage.h), at a time and for given rates:
// per redundant rate. Sources are differentiated as formulas; the factors of rigid couplings come out of an
// elimination in numbers, and their slopes of two more such eliminations.
class RedundantSlopes {
 public:
  RedundantSlopes(const EquationSystem& system, const Storage& storage, std::span<const int> wrt);
  std::vector<Slopes> at(double t, std::span<const double> rates) const;

 private:
  struct Moved {
    double step = 1.0;  // of the parameter
    std::array<std::vector<RedundantRate>, 2> couplings{};
  };
  const EquationSystem& system_;
  const Storage& storage_;
  std::vector<int> wrt_;
  std::vector<std::vector<GroupSlope>> by_parameter_;
  std::vector<Moved> moved_;
};
std::vector<Slopes> redundant_slopes(const EquationSystem& system, const Storage& storage,
                                     std::span<const int> wrt, double t, std::span<const double> rates);

}  // namespace tellegen
