#include "tellegen/equations/number_use.h"

#include <algorithm>

namespace tellegen {

bool stands_in_equations(const EquationSystem& system, const GroupSlope& number) {
  const Group& group = system.groups[number.group];
  return std::any_of(group.residuals.begin(), group.residuals.end(),
                     [&](Expr residual) { return depends_on(residual, group.parameters[number.slot]); });
}

}  // namespace tellegen
