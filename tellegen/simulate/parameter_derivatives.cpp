#include "tellegen/simulate/parameter_derivatives.h"

#include <map>

namespace tellegen {

ParameterDerivatives::ParameterDerivatives(const EquationSystem& system, std::span<const int> wrt)
    : count_(static_cast<int>(wrt.size())), touched_(wrt.size(), 0) {
  const auto slopes = group_slopes(system, wrt);
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<GroupSlope>> members;
  for (std::size_t p = 0; p < slopes.size(); ++p)
    for (const GroupSlope& s : slopes[p]) {
      members[{s.group, s.member}].push_back({static_cast<std::int32_t>(p), s.member, s.slot, s.slope});
      touched_[p] = 1;
    }
  for (auto& [at, list] : members) members_.push_back({at.first, at.second, std::move(list)});
}

void ParameterDerivatives::evaluate(Tableau& tableau, std::span<const double> x,
                                    std::span<const double> rates, double t,
                                    std::vector<DerivativeEntry>& entries) const {
  entries.clear();
  const EquationSystem& system = tableau.system();
  for (const Member& member : members_) {
    const auto pairs = tableau.parameter_entries(member.group);
    if (pairs.empty()) continue;
    const auto slopes = tableau.by_own_parameters(member.group, member.member, x, rates, t);
    const std::int32_t row = system.groups[member.group].first_row[member.member];
    for (std::size_t k = 0; k < pairs.size(); ++k)
      for (const GroupSlope& s : member.slopes)
        if (s.slot == pairs[k].second)
          entries.push_back({row + pairs[k].first, s.group, slopes[k] * s.slope});
  }
}

}  // namespace tellegen
