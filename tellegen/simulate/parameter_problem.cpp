#include "tellegen/simulate/parameter_problem.h"

#include <map>
#include <string>

namespace tellegen {

void start_like(Problem& problem, const EquationSystem& itself, const InitialState& start) {
  const EquationSystem& system = *problem.system;
  std::map<std::string, double> columns, rates, held;
  for (std::int32_t c = 0; c < itself.size(); ++c) columns[column_name(itself, c)] = start.x[c];
  for (std::size_t k = 0; k < itself.rates.size(); ++k)
    rates[rate_name(itself, static_cast<std::int32_t>(k))] = start.rates[k];
  for (std::size_t k = 0; k < itself.discrete.size(); ++k) held[itself.discrete[k].name] = start.held[k];
  InitialState& initial = problem.initial;
  for (const Discrete& d : system.discrete) {
    const auto found = held.find(d.name);
    initial.held.push_back(found == held.end() ? d.start : found->second);
    if (found == held.end()) columns[column_name(system, d.column)] = d.start;  // a parameter
  }
  for (std::int32_t c = 0; c < system.size(); ++c) initial.x.push_back(columns.at(column_name(system, c)));
  for (std::size_t k = 0; k < system.rates.size(); ++k)
    initial.rates.push_back(rates.at(rate_name(system, static_cast<std::int32_t>(k))));
}

}  // namespace tellegen
