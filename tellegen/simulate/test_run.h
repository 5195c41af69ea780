// A model's text, run: for the tests of this folder and of tests/.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tellegen/model/test_text.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

// Interpreted unless a test is about compilation: compiling costs more than these runs.
inline SimulationOptions options_of(const std::string& method, double stop, double step) {
  SimulationOptions options;
  options.method = method;
  options.stop = stop;
  options.step = step;
  options.compile = false;
  return options;
}

inline std::vector<OutputColumn> columns_of(const Model& model, const std::vector<std::string>& names) {
  std::vector<OutputColumn> columns;
  for (const std::string& name : names) columns.push_back({name, "", parse_value(model, name, {})});
  return columns;
}

// Results by name of the output, which may be any expression of the model.
struct TestRun {
  TestRun(const Model& model, const SimulationOptions& options, const std::vector<std::string>& outputs)
      : result(Simulation(model, options, columns_of(model, outputs)).run()) {
    EXPECT_EQ(result.failure, "");
  }
  TestRun(std::string_view components, const SimulationOptions& options,
          const std::vector<std::string>& outputs)
      : TestRun(model_of(components), options, outputs) {}

  std::size_t rows() const { return result.t.size(); }
  double at(std::size_t row, const std::string& name) const {
    const auto k = std::find(result.names.begin(), result.names.end(), name) - result.names.begin();
    EXPECT_LT(k, static_cast<long>(result.names.size())) << name;
    return result.values.at(row * result.names.size() + static_cast<std::size_t>(k));
  }
  double last(const std::string& name) const { return at(rows() - 1, name); }
  template <class Function>
  double largest_error(const std::string& name, Function expected) const {
    double largest = 0.0;
    for (std::size_t r = 0; r < rows(); ++r)
      largest = std::max(largest, std::abs(at(r, name) - expected(result.t[r])));
    return largest;
  }
  SimulationResult result;
};

// The codes of the faults that preparing or running throws, or "".
inline std::string fault_codes_of(std::string_view components, const SimulationOptions& options) {
  try {
    const Model model = model_of(components);
    Simulation(model, options, {}).run();
  } catch (const ModelError& error) {
    std::string codes;
    for (const Fault& f : error.faults()) codes += (codes.empty() ? "" : " ") + f.code;
    return codes;
  }
  return "";
}

// Everything an integrator needs, to construct one directly or to spoil the initial values first.
struct TestProblem {
  TestProblem(const Model& model, const SimulationOptions& options, const std::vector<std::string>& outputs)
      : system(build_system(model)),
        problem(Simulation(system, options,
                           outputs.empty() ? default_outputs(system, true) : columns_of(model, outputs))
                    .problem()) {}
  TestProblem(const TestProblem&) = delete;
  EquationSystem system;
  Problem problem;

  // Rows of all samples until `stop`.
  template <class AnyIntegrator>
  std::vector<double> rows(AnyIntegrator& integrator) const {
    const auto samples = static_cast<std::int64_t>(
        std::floor(problem.options.stop / (problem.step * static_cast<double>(problem.stride)) * (1 + 1e-9)));
    std::vector<double> rows(static_cast<std::size_t>(samples) * problem.outputs.size());
    EXPECT_EQ(integrator.advance(samples, rows.data()), samples) << integrator.failure();
    return rows;
  }
};

}  // namespace tellegen
