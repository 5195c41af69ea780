#include "tellegen/simulate/conditions.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tellegen {

Conditions::Conditions(const EquationSystem& system) : system_(system), updates_(make_list()) {}

ColumnFormulas Conditions::make_list() {
  const Model& model = *system_.model;
  Pool& pool = *model.pool;
  for (std::size_t g = 0; g < system_.groups.size(); ++g) {
    const Group& group = system_.groups[g];
    std::vector<ProgramRoot> roots;
    for (Expr e : switching_quantities(group.residuals)) {
      ExprMap<Expr> visible;
      for (const KindDiscrete& d : model.kinds[group.kind].discrete)
        visible[d.held] = model.kinds[group.kind].variables[d.variable].symbol;
      roots.push_back({substitute(e, visible), 0});
    }
    std::vector<ProgramInput> inputs;
    for (const LocalSymbol& s : group.symbols) inputs.push_back({s.symbol, 0});
    for (int s : group.rated) inputs.push_back({group.symbols[s].rate, 0});
    for (Expr p : group.parameters) inputs.push_back({p, 0});
    inputs.push_back({group.time, 0});
    programs_.push_back(make_program(pool, inputs, {}, roots, 1));
    for (std::int32_t m = 0; m < group.size(); ++m)
      for (const ProgramRoot& root : roots)
        list_.push_back(
            {model.components[group.components[m]].name, static_cast<std::int32_t>(g), m, root.value});
    registers_.resize(std::max<std::size_t>(registers_.size(), programs_.back().registers));
  }
  of_equations_ = list_.size();
  std::vector<Expr> quantities;
  ExprMap<char> known;  // a watch's two variables ask the same
  for (const Discrete& d : system_.discrete) {
    if (d.every > 0.0) continue;
    const int component = system_.groups[d.group].components[d.member];
    const Expr update = model.kinds[model.components[component].kind].discrete[d.held].update;
    const Expr full = expand_names(model, in_full_names(model, component, update));
    for (Expr e : switching_quantities(std::span(&full, 1))) {
      const Expr in_numbers = in_columns(system_, e);
      if (std::exchange(known[in_numbers], 1)) continue;
      quantities.push_back(in_numbers);
      list_.push_back({d.name, -1, -1, e});
    }
  }
  return {system_, quantities};
}

void Conditions::evaluate(std::span<const double> x, std::span<const double> rates, double t,
                          double* values) {
  for (std::size_t g = 0; g < programs_.size(); ++g) {
    const Program& program = programs_[g];
    if (program.roots.empty()) continue;
    const Group& group = system_.groups[g];
    for (std::int32_t m = 0; m < group.size(); ++m) {
      double* r = registers_.data();
      for (int s = 0; s < static_cast<int>(group.symbols.size()); ++s) *r++ = symbol_value(group, s, m, x);
      for (std::size_t k = 0; k < group.rated.size(); ++k) *r++ = rates[group.first_rate[m] + k];
      for (const auto& v : group.values) *r++ = v[m];
      *r++ = t;
      interpret(program, 0, registers_.data());
      for (std::int32_t root : program.roots) *values++ = registers_[root];
    }
  }
  updates_.evaluate(x, t, values);
}

std::vector<std::int32_t> Conditions::columns() const {
  std::vector<std::int32_t> columns(updates_.columns().begin(), updates_.columns().end());
  for (std::size_t k = 0; k < of_equations_; ++k) {
    const Group& group = system_.groups[list_[k].group];
    for (std::size_t s = 0; s < group.symbols.size(); ++s)
      if (depends_on(list_[k].quantity, group.symbols[s].symbol))
        for (const auto& ends : {group.plus[s], group.minus[s]})
          if (const auto column = ends[list_[k].member]; column >= 0) columns.push_back(column);
  }
  return columns;
}

namespace {

// Where a quantity changes its sign with one of its variables.
std::optional<double> place_of_change(Expr quantity, Expr symbol, ExprMap<double>& numbers) {
  double& x = numbers[symbol];
  const double kept = x;
  const auto negative = [&](double at) {
    x = at;
    return evaluate(quantity, numbers) < 0.0;
  };
  std::optional<double> found;
  for (double size = 1e9; size > 1e-9 && !found; size /= 4.0)
    for (const double sign : {1.0, -1.0})
      if (double low = 0.25 * sign * size, high = sign * size; !found && negative(low) != negative(high)) {
        for (int round = 0; round < 60; ++round)
          (negative(0.5 * (low + high)) == negative(low) ? low : high) = 0.5 * (low + high);
        found = high;
      }
  if (!found && negative(-1e-9) != negative(1e-9)) found = 0.0;
  x = kept;
  return found;
}

bool jumps_where(Expr quantity, const Group& group, ExprMap<double> numbers) {
  Expr symbol;
  std::optional<double> place;
  bool of_variables = false;
  for (const LocalSymbol& s : group.symbols)
    if (!place && depends_on(quantity, s.symbol)) {
      of_variables = true;
      symbol = s.symbol;
      place = place_of_change(quantity, symbol, numbers);
    }
  if (!place) return of_variables;  // of time and numbers alone it is a breakpoint
  double& x = numbers[symbol];
  const double at = *place, aside = 1e-6 * (1e-3 + std::abs(at));
  for (Expr residual : group.residuals) {
    double r[4];
    for (int k = 0; k < 4; ++k) {
      constexpr double places[] = {-2.0, -1.0, 1.0, 2.0};
      x = at + places[k] * aside;
      r[k] = evaluate(residual, numbers);
    }
    const double beside = std::abs(r[1] - r[0]) + std::abs(r[3] - r[2]),
                 size = std::abs(r[1]) + std::abs(r[2]);
    if (!(std::abs(r[2] - r[1]) <= 10.0 * beside + 1e-9 * size)) return true;
  }
  return false;
}

}  // namespace

bool equations_jump(const EquationSystem& system) {
  constexpr std::int32_t most_members = 4;  // of a group that are looked at
  for (const Group& group : system.groups) {
    const std::vector<Expr> quantities = jumping_quantities(group.residuals);
    for (std::int32_t m = 0; m < std::min(group.size(), most_members) && !quantities.empty(); ++m) {
      ExprMap<double> numbers{{group.time, 0.1}};
      double some = 0.3;  // nothing special
      for (const LocalSymbol& s : group.symbols) {
        numbers[s.symbol] = some = -0.83 * some + 0.11;
        if (s.rate) numbers[s.rate] = some;
      }
      for (std::size_t p = 0; p < group.parameters.size(); ++p)
        numbers[group.parameters[p]] = group.values[p][m];
      for (Expr quantity : quantities)
        if (jumps_where(quantity, group, numbers)) return true;
    }
  }
  return false;
}

}  // namespace tellegen
