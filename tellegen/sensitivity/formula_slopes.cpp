#include "tellegen/sensitivity/formula_slopes.h"

#include <string>

namespace tellegen {

FormulaSlopes::FormulaSlopes(const EquationSystem& system, std::span<const Expr> formulas,
                             std::span<const int> wrt) {
  std::vector<Expr> all;
  const auto add = [&](Expr e) {
    all.push_back(e);
    return all.size() - 1;
  };
  for (Expr formula : formulas) {
    const ColumnValue in_numbers = column_value(system, formula, wrt);
    Part part;
    part.value = add(in_numbers.value);
    for (Expr s : symbols_of(std::span(&in_numbers.value, 1))) {
      const Expr slope = derivative(in_numbers.value, s);
      if (slope.is_number(0)) continue;
      if (s.name() == "t")
        part.by_time = static_cast<std::ptrdiff_t>(add(slope));
      else
        part.by_column.push_back({static_cast<std::int32_t>(std::stol(s.name().substr(1))), add(slope)});
    }
    for (const auto& [p, slope] : in_numbers.by_parameter) part.by_parameter[p] = add(slope);
    parts_.push_back(std::move(part));
  }
  formulas_ = std::make_unique<ColumnFormulas>(system, all);
  numbers_.resize(all.size());
}

void FormulaSlopes::evaluate(std::span<const double> x, double t) {
  formulas_->evaluate(x, t, numbers_.data());
}

double FormulaSlopes::along(std::size_t k, std::span<const double> dx, double dt, int parameter) const {
  const Part& part = parts_[k];
  double total = 0.0;
  for (const auto& [column, at] : part.by_column) total += numbers_[at] * dx[column];
  if (part.by_time >= 0) total += numbers_[part.by_time] * dt;
  if (const auto p = part.by_parameter.find(parameter); p != part.by_parameter.end())
    total += numbers_[p->second];
  return total;
}

}  // namespace tellegen
