#include "tellegen/sensitivity/formulas.h"

#include <algorithm>

namespace tellegen {
namespace {

std::vector<ColumnValue> column_values(const EquationSystem& system, std::span<const Expr> formulas,
                                       std::span<const int> wrt) {
  std::vector<ColumnValue> values;
  for (Expr f : formulas) values.push_back(column_value(system, f, wrt));
  return values;
}

}  // namespace

DifferentiatedFormulas::DifferentiatedFormulas(const EquationSystem& system, std::span<const Expr> formulas,
                                               std::span<const int> wrt)
    : DifferentiatedFormulas(system, column_values(system, formulas, wrt)) {}

DifferentiatedFormulas::DifferentiatedFormulas(const EquationSystem& system,
                                               std::span<const ColumnValue> formulas) {
  Pool& pool = *system.model->pool;
  const Expr t = pool.symbol("t");
  std::vector<Expr> all;
  for (const ColumnValue& f : formulas) {
    all.push_back(f.value);
    for (const auto& [parameter, slope] : f.by_parameter) all.push_back(slope);
  }
  std::vector<ProgramInput> inputs{{t, 0}};
  for (Expr s : symbols_of(all))
    if (s != t) {
      inputs.push_back({s, 0});
      columns_.push_back(static_cast<std::int32_t>(std::stol(s.name().substr(1))));
    }
  std::vector<ProgramRoot> roots;
  for (const ColumnValue& f : formulas) roots.push_back({f.value, 0});
  for (const ColumnValue& f : formulas) roots.push_back({derivative(f.value, t), 0});
  for (int k = 0; k < static_cast<int>(formulas.size()); ++k) {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (const Expr d = derivative(formulas[k].value, inputs[c + 1].symbol); !d.is_number(0)) {
        by_column_.push_back({k, columns_[c], 0.0});
        roots.push_back({d, 0});
      }
  }
  for (int k = 0; k < static_cast<int>(formulas.size()); ++k)
    for (const auto& [parameter, slope] : formulas[k].by_parameter) {
      by_parameter_.push_back({k, parameter, 0.0});
      roots.push_back({slope, 0});
    }
  program_ = make_program(pool, inputs, {}, roots, 1);
  registers_.resize(program_.registers);
  values_.resize(formulas.size());
  by_time_.resize(formulas.size());
}

void DifferentiatedFormulas::evaluate(std::span<const double> x, double t) {
  registers_[0] = t;
  for (std::size_t c = 0; c < columns_.size(); ++c) registers_[c + 1] = x[columns_[c]];
  interpret(program_, 0, registers_.data());
  auto root = program_.roots.begin();
  for (double& v : values_) v = registers_[*root++];
  for (double& v : by_time_) v = registers_[*root++];
  for (Slope& s : by_column_) s.value = registers_[*root++];
  for (Slope& s : by_parameter_) s.value = registers_[*root++];
}

double DifferentiatedFormulas::along(std::size_t formula, std::span<const double> dx, double dt,
                                     int parameter) const {
  const int k = static_cast<int>(formula);
  double total = by_time_[formula] * dt;
  for (const Slope& s : std::ranges::equal_range(by_column_, k, {}, &Slope::formula))
    total += s.value * dx[s.of];
  for (const Slope& s : std::ranges::equal_range(by_parameter_, k, {}, &Slope::formula))
    if (s.of == parameter) total += s.value;
  return total;
}

}  // namespace tellegen
