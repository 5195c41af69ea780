#include "tellegen/sensitivity/rank.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/model/units.h"

namespace tellegen {
namespace {

double size_of(const std::string& unit) {
  return unit.empty() ? 1.0 : units().to_si(1.0, unit) - units().to_si(0.0, unit);
}

}  // namespace

std::vector<Importance> importance(const Study& study, const StudyResult& at, std::size_t objective) {
  std::vector<Importance> ranking;
  const double value = at.values[objective];
  for (std::size_t p = 0; p < study.parameter_count(); ++p) {
    const double derivative = at.gradient[objective * study.parameter_count() + p];
    const double score = value == 0.0 ? std::numeric_limits<double>::quiet_NaN()
                                      : derivative * std::abs(study.parameter(p).number / value);
    ranking.push_back({p, derivative, score});
  }
  const auto weight = [](const Importance& i) { return std::isnan(i.score) ? 0.0 : std::abs(i.score); };
  std::stable_sort(ranking.begin(), ranking.end(),
                   [&](const Importance& a, const Importance& b) { return weight(a) > weight(b); });
  return ranking;
}

double in_units(double derivative, const std::string& objective_unit, const std::string& parameter_unit) {
  return derivative * size_of(parameter_unit) / size_of(objective_unit);
}

std::string derivative_unit(const std::string& objective_unit, const std::string& parameter_unit) {
  const bool plain = parameter_unit.empty() || parameter_unit == "1";
  if (plain) return objective_unit;
  const std::string above = objective_unit.empty() ? "1" : objective_unit;
  const bool compound = parameter_unit.find_first_of(" /*.") != std::string::npos;
  return above + "/" + (compound ? "(" + parameter_unit + ")" : parameter_unit);
}

}  // namespace tellegen
