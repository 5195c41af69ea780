// Values alone, from a Simulation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/sensitivity/interruption.h"
#include "tellegen/sensitivity/run.h"

namespace tellegen {

std::vector<OutputColumn> PlainRun::columns_of(const Model& model, const RunRequest& request) {
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
  for (const OutputColumn& t : request.trajectories) columns.push_back({t.name, "", t.value});
  for (OutputColumn& c : columns)  // what a failure calls them
    if (c.name.empty()) c.name = c.value.is_symbol() ? c.value.name() : "observed value";
  if (columns.empty()) column(model.pool->symbol("t"));
  return columns;
}

PlainRun::PlainRun(const Model& model, const RunRequest& request)
    : observed_(request.observed),
      trajectories_(request.trajectories.size()),
      simulation_(model, request.simulation, columns_of(model, request)) {}

RunDerivatives PlainRun::run() {
  constexpr double never = std::numeric_limits<double>::quiet_NaN();
  RunDerivatives answer;
  answer.method = "values alone";
  SimulationResult result =
      simulation_.run(long_ ? Progress([](double) { InterruptionWatch::ask(); }) : Progress());
  long_ = result.loop_seconds > InterruptionWatch::worth_asking;
  answer.failure = result.failure;
  answer.loop_seconds = result.loop_seconds;
  answer.t = std::move(result.t);
  answer.end_time = answer.t.back();
  const std::size_t rows = answer.t.size(), stride = result.names.size();
  const auto at = [&](std::size_t row, std::size_t c) { return result.values[row * stride + c]; };
  std::size_t c = 0;
  for (const Observed& o : observed_) {
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
  answer.trajectories.reserve(rows * trajectories_);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t k = c; k < c + trajectories_; ++k) answer.trajectories.push_back(at(row, k));
  return answer;
}

RunDerivatives plain_run(const Model& model, const RunRequest& request) {
  try {
    return PlainRun(model, request).run();
  } catch (const SimulationError& error) {
    RunDerivatives answer;
    answer.method = "values alone";
    answer.failure = error.what();
    return answer;
  }
}

}  // namespace tellegen
