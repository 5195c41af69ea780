#include "tellegen/simulate/dead_points.h"

#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

// Changes that are looked at: of the largest speed and position of any joint until now, or as angles.
constexpr double least_turn = 1e-3, least_jump = 0.1;

const KindVariable* find_variable(const Kind& kind, const std::string& name) {
  const auto at = std::find_if(kind.variables.begin(), kind.variables.end(),
                               [&](const KindVariable& v) { return v.name == name; });
  return at == kind.variables.end() ? nullptr : &*at;
}

struct Coordinate {
  const KindVariable *position, *acceleration;  // null: the variable is no speed of a joint
};

// Of "angle_1_rate": "angle_1" and "angle_1_acceleration". Of "speed": "angle" or "position", "acceleration".
Coordinate coordinate_of(const Kind& kind, const std::string& speed) {
  if (speed == "speed") {
    const KindVariable* angle = find_variable(kind, "angle");
    return {angle ? angle : find_variable(kind, "position"), find_variable(kind, "acceleration")};
  }
  constexpr std::string_view rate = "_rate";
  if (!speed.ends_with(rate)) return {};
  const std::string name = speed.substr(0, speed.size() - rate.size());
  return {find_variable(kind, name), find_variable(kind, name + "_acceleration")};
}

}  // namespace

DeadPoints::DeadPoints(const EquationSystem& system) {
  const Model& model = *system.model;
  Pool& pool = *model.pool;
  for (const ModelPart& part : model.mechanism) {
    const Component& component = model.components[part.component];
    const Kind& kind = model.kinds[component.kind];
    for (const KindVariable& speed : kind.variables) {
      const auto [position, acceleration] = coordinate_of(kind, speed.name);
      if (!position || !acceleration) continue;
      const Expr rate = pool.symbol("der(" + speed.symbol.name() + ")");
      const bool leads = std::any_of(kind.equations.begin(), kind.equations.end(),
                                     [&](const KindEquation& e) { return depends_on(e.residual, rate); });
      if (leads) continue;
      names_.push_back(component.name);
      for (const KindVariable* v : {position, &speed, acceleration})
        formulas_.push_back(in_columns(system, pool.symbol(component.name + "." + v->name)));
    }
  }
  peak_.assign(formulas_.size(), 0.0);
}

std::string DeadPoints::jumping(std::span<const double> values, double t, double h) const {
  if (t != last_time_) return {};
  const auto unaccounted = [&](std::size_t k) {
    const double change = values[k] - last_[k], accounted = h / 2 * (last_[k + 1] + values[k + 1]);
    return std::abs(change - accounted) > 0.5 * std::abs(change);
  };
  double farthest = 0.0, fastest = 0.0;
  for (std::size_t q = 0; q < peak_.size(); q += 3) {
    farthest = std::max(farthest, peak_[q]);
    fastest = std::max(fastest, peak_[q + 1]);
  }
  for (std::size_t n = 0; n < names_.size(); ++n) {
    const std::size_t q = 3 * n, u = q + 1;
    const bool jumps =
        std::abs(values[q] - last_[q]) > least_jump * std::min(1.0, farthest) && unaccounted(q);
    const bool turns =
        values[u] * last_[u] < 0.0 && std::abs(values[u] - last_[u]) > least_turn * fastest && unaccounted(u);
    if (jumps || turns) return names_[n];
  }
  return {};
}

void DeadPoints::pass(std::span<const double> values, double t) {
  last_time_ = t;
  last_.assign(values.begin(), values.end());
  for (std::size_t k = 0; k < values.size(); ++k) peak_[k] = std::max(peak_[k], std::abs(values[k]));
}

}  // namespace tellegen
