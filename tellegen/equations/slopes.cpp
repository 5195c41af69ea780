#include "tellegen/equations/slopes.h"

#include <unordered_map>

namespace tellegen {

std::vector<std::vector<GroupSlope>> group_slopes(const EquationSystem& system, std::span<const int> wrt) {
  const Model& model = *system.model;
  const ParameterSlopes slopes(model, wrt);
  std::unordered_map<std::string, int> parameter_by_name;
  for (std::size_t k = 0; k < model.parameters.size(); ++k)
    parameter_by_name[model.parameters[k].name] = static_cast<int>(k);
  std::vector<std::vector<GroupSlope>> result(wrt.size());
  for (std::size_t g = 0; g < system.groups.size(); ++g) {
    const Group& group = system.groups[g];
    if (group.kind < 0) continue;
    const Kind& kind = model.kinds[group.kind];
    for (std::size_t slot = 0; slot + group.held.size() < group.parameters.size(); ++slot) {
      const std::string& name = group.parameters[slot].name();
      // "$R1": a model parameter inside a formula; otherwise one of the kind's own.
      const bool of_model = name[0] == '$';
      std::size_t own = 0;
      while (!of_model && own < kind.parameters.size() && kind.parameters[own].name != name) ++own;
      const auto add = [&](std::int32_t m, const Slopes& of) {
        for (const auto& [k, slope] : of)
          if (slope != 0.0)
            result[k].push_back({static_cast<std::int32_t>(g), m, static_cast<int>(slot), slope});
      };
      for (std::int32_t m = 0; m < group.size(); ++m)
        if (of_model)
          add(m, slopes.of_parameter(parameter_by_name.at(name.substr(1))));
        else if (own < kind.parameters.size())
          add(m, slopes.of(model.components[group.components[m]].values[own].value));
    }
  }
  return result;
}

ColumnValue column_value(const EquationSystem& system, Expr value, std::span<const int> wrt) {
  ColumnValue result{in_columns(system, value), {}};
  const Model& model = *system.model;
  const ParameterSlopes slopes(model, wrt);
  Pool& pool = *model.pool;
  std::map<int, std::vector<Expr>> terms;
  const Expr expanded = expand_names(model, value);
  for (std::size_t q = 0; q < model.parameters.size(); ++q) {
    const Slopes& of = slopes.of_parameter(static_cast<int>(q));
    if (of.empty() || !depends_on(expanded, model.parameters[q].symbol)) continue;
    const Expr slope = in_columns(system, derivative(expanded, model.parameters[q].symbol));
    for (const auto& [k, inner] : of) terms[k].push_back(inner * slope);
  }
  for (auto& [k, list] : terms)
    if (const Expr total = pool.add(list); !total.is_number(0)) result.by_parameter[k] = total;
  return result;
}

}  // namespace tellegen
