#include "tellegen/simulate/dead_points.h"

#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

// Changes that are looked at: of the largest speed and position of any joint until now, or as angles.
constexpr double least_turn = 1e-3, least_jump = 0.1;

// "speed" and "acceleration", "angle_1_rate" and "angle_1_acceleration".
std::string acceleration_of(const std::string& speed) {
  if (speed == "speed") return "acceleration";
  return speed.ends_with("_rate") ? speed.substr(0, speed.size() - 4) + "acceleration" : "";
}

}  // namespace

DeadPoints::DeadPoints(const EquationSystem& system) {
  const Model& model = *system.model;
  Pool& pool = *model.pool;
  for (const ModelPart& part : model.mechanism) {
    const Component& component = model.components[part.component];
    const Kind& kind = model.kinds[component.kind];
    for (const KindVariable& speed : kind.variables) {
      const auto at = std::find_if(kind.variables.begin(), kind.variables.end(), [&](const KindVariable& v) {
        return v.name == acceleration_of(speed.name);
      });
      const Expr rate = pool.symbol("der(" + speed.symbol.name() + ")");
      const bool leads = std::any_of(kind.equations.begin(), kind.equations.end(),
                                     [&](const KindEquation& e) { return depends_on(e.residual, rate); });
      if (at == kind.variables.end() || leads) continue;
      names_.push_back(component.name);
      const KindVariable& position =
          *(&speed - (&*at - &speed));  // coordinates, their speeds, their accelerations
      for (const KindVariable* v : {&position, &speed, &*at})
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
