#include "tellegen/estimate/sensor_slopes.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <chrono>
#include <cmath>

#include "tellegen/estimate/test_twin.h"
#include "tellegen/model/parameters.h"

namespace tellegen {
namespace {

SimulationOptions integration_of(const std::string& method, double step = 0.0) {
  SimulationOptions options;
  options.method = method;
  options.form = options.start = "";
  options.step = step;
  options.compile = std::getenv("TIMING") != nullptr;
  return options;
}

TEST(Timing, x) {
  if (!std::getenv("TIMING")) GTEST_SKIP();
  const Model model = shipped_model("inverter");
  const auto p = parameters_of(model, {"R_dbc", "R_hs", "R_w", "C_dbc", "C_hs", "C_w"});
  const Record record = rows_of(sensors_of(model, {"S1", "S_hs", "S_w"}), 1e-3, 5001);
  const auto exact = sensor_slopes(model, record, p, integration_of("exact"));
  for (std::string method : {"exact", "tr", "bdf2", "bdf3"}) {
    SensorRun run(model, record, p, integration_of(method));
    std::vector<double> n;
    for (int k : p) n.push_back(model.parameters[k].number);
    run.at(n);
    const auto t = std::chrono::steady_clock::now();
    for (int k = 0; k < 5; ++k) run.at(n);
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count() / 5;
    const auto got = run.at(n);
    double worst = 0, ws = 0;
    for (std::size_t k = 0; k < got.values.size(); ++k)
      worst = std::max(worst, std::abs(got.values[k] - exact.values[k]));
    for (std::size_t k = 0; k < got.slopes.size(); ++k)
      ws = std::max(ws, std::abs(got.slopes[k] - exact.slopes[k]) * n[k % 6]);
    fmt::print("{} {:.4f} s worst {} {} K\n", run.method(), s, worst, ws);
  }
}

}  // namespace
}  // namespace tellegen
