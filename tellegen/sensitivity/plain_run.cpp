// Values alone, from a Simulation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/sensitivity/run.h"

namespace tellegen {
RunDerivatives plain_run(const Model& model, const RunRequest& request) {
  constexpr double never = std::numeric_limits<double>::quiet_NaN();
  RunDerivatives answer;
  answer.method = "values alone";
  std::vector<OutputColumn> columns;
  const auto column = [&](Expr value) { columns.push_back({"", "", value}); };
  for (const Observed& o : request.observed) {
    if (o.what == Observed::What::time_when) {
      column(model.pool->symbol(o.value.name() + ".time"));
      column(model.pool->symbol(o.value.name() + ".seen"));
    } else {
      column(o.value);
    }
  }
  const std::size_t first_trajectory = columns.size();
  for (const OutputColumn& t : request.trajectories) columns.push_back({t.name, "", t.value});
  for (std::size_t k = 0; k < columns.size(); ++k)  // what a failure calls them
    if (columns[k].name.empty())
      columns[k].name = columns[k].value.is_symbol() ? columns[k].value.name() : "observed value";
  const std::size_t width = columns.size();
  if (columns.empty()) column(model.pool->symbol("t"));

  SimulationResult result;
  try {
    result = Simulation(model, request.simulation, std::move(columns)).run();
  } catch (const SimulationError& error) {
    answer.failure = error.what();
    return answer;
  }
  answer.failure = result.failure;
  answer.t = std::move(result.t);
  answer.end_time = answer.t.back();
  const std::size_t rows = answer.t.size(), stride = std::max<std::size_t>(1, width);
  const auto at = [&](std::size_t row, std::size_t c) { return result.values[row * stride + c]; };
  std::size_t c = 0;
  for (const Observed& o : request.observed) {
    double value = at(rows - 1, c);
    if (o.what == Observed::What::time_when) {
      value = at(rows - 1, c + 1) > 0.5 ? value : never;
      ++c;
    }
    for (std::size_t row = 0; row + 1 < rows; ++row) {
      if (o.what == Observed::What::maximum) value = std::max(value, at(row, c));
      if (o.what == Observed::What::minimum) value = std::min(value, at(row, c));
    }
    answer.values.push_back(value);
    ++c;
  }
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t k = first_trajectory; k < width; ++k) answer.trajectories.push_back(at(row, k));
  return answer;
}

}  // namespace tellegen
