// The sensitivity graph simulated, against finite differences of two runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/equations/sensitivity_graph.h"
#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace {

using Names = std::vector<std::string>;

// The shipped model with a parameter changed: one of the model, or a component's own.
Model changed(const std::string& name, const std::string& parameter, double change) {
  Model model = shipped_model(name);
  const ParameterRef ref = find_parameter(model, parameter);
  const double value = ref.number + change;
  if (ref.parameter >= 0) {
    ReadOptions options;
    options.library = TELLEGEN_SOURCE_DIR "/library";
    options.overrides.emplace_back(parameter, fmt::format("{:.17g}", value));
    return read_model(std::string(TELLEGEN_SOURCE_DIR "/models/") + name + "/model.toml", options);
  }
  ParameterValue& v = model.components[ref.component].values[ref.index];
  v.value = model.pool->number(value);
  v.number = value;
  return model;
}

struct Case {
  std::string model, parameter;
  Names variables;
  double stop, step;
};

void expect_finite_differences(const Case& c, const SimulationOptions& options, double relative = 1e-5) {
  SCOPED_TRACE(c.model + " " + c.parameter + " " + options.method + " " + options.form);
  const Model model = shipped_model(c.model);
  const Model combined = with_sensitivities(model, Names{c.parameter});
  Names copies = c.variables;
  for (const std::string& v : c.variables) copies.push_back(sensitivity_name(v, c.parameter));
  const double h = 1e-3 * find_parameter(model, c.parameter).number;
  const TestRun run(combined, options, copies), alone(model, options, c.variables),
      above(changed(c.model, c.parameter, h), options, c.variables),
      below(changed(c.model, c.parameter, -h), options, c.variables);
  ASSERT_EQ(run.rows(), above.rows());
  for (const std::string& v : c.variables) {
    double largest = 0.0, error = 0.0, apart = 0.0, size = 0.0;
    for (std::size_t r = 0; r < run.rows(); ++r) {
      const double expected = (above.at(r, v) - below.at(r, v)) / (2.0 * h);
      largest = std::max(largest, std::abs(expected));
      error = std::max(error, std::abs(run.at(r, sensitivity_name(v, c.parameter)) - expected));
      size = std::max(size, std::abs(alone.at(r, v)));
      apart = std::max(apart, std::abs(run.at(r, v) - alone.at(r, v)));
    }
    EXPECT_GT(largest, 0.0) << v;
    EXPECT_LT(error, relative * largest) << v;
    EXPECT_LE(apart, 1e-6 * size) << v;  // the model itself runs as it did
  }
}

const Case cases[] = {
    {"rlc", "r1.R", {"n3.v", "l1.i"}, 0.2, 1e-3},
    {"rlc", "c1.C", {"n3.v", "c2.i"}, 0.2, 1e-3},
    {"rlc", "e1.frequency", {"n3.v"}, 0.2, 1e-3},
    {"rc-thermal", "R1", {"n1.T"}, 0.1, 1e-3},
    {"rc-thermal", "C1", {"n2.T"}, 0.1, 1e-3},
    {"dc-motor", "motor.k", {"shaft.w", "motor.armature.i"}, 0.02, 1e-4},
    {"dc-motor", "rotor.J", {"shaft.w"}, 0.02, 1e-4},
    {"rectifier", "r1.R", {"l1.i", "n5.v"}, 0.03, 1e-4},
    {"rectifier", "T", {"l1.i"}, 0.03, 1e-4},
};

TEST(Sensitivity, agrees_with_finite_differences) {
  for (const Case& c : cases) {
    expect_finite_differences(c, options_of("bdf3", c.stop, c.step));
  }
}

TEST(Sensitivity, runs_by_any_method) {
  for (const char* method : {"rk4", "exact", "tr", "bdf1"})
    expect_finite_differences(cases[0], options_of(method, 0.02, 1e-3));
  SimulationOptions minimal = options_of("bdf3", 0.05, 1e-3);
  minimal.form = "minimal";
  expect_finite_differences(cases[0], minimal);
  SimulationOptions adaptive = options_of("adaptive", 0.05, 0.0);
  adaptive.tolerance = 1e-10;
  adaptive.sample = 0.005;
  expect_finite_differences(cases[0], adaptive, 1e-4);
}

TEST(Sensitivity, initial_values_have_theirs) {
  const Model model = model_of(R"(
r = { kind = "electrical.resistor", p = "a", n = "datum", R = 2 }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5, v0 = "3*V0" }
[parameters]
V0 = "1 V"
)");
  const TestRun run(with_sensitivities(model, Names{"V0"}), options_of("bdf3", 1.0, 1e-3), {"c.v_V0"});
  EXPECT_LT(run.largest_error("c.v_V0", [](double t) { return 3.0 * std::exp(-t); }), 1e-6);
}

TEST(Sensitivity, a_value_written_in_variables_is_differentiated_through_them) {
  const Model model = model_of(R"(
r = { kind = "electrical.resistor", p = "a", n = "datum", R = "2 + g*c.v" }
c = { kind = "electrical.capacitor", p = "a", n = "datum", C = 0.5, v0 = 3 }
[parameters]
g = 0.7
)");
  const TestRun run(with_sensitivities(model, Names{"g"}), options_of("bdf3", 1.0, 1e-3), {"c.v", "c.v_g"});
  // C v' = -v/(2 + g v): 2 ln v + g v = 2 ln 3 + 3 g - t/C, and so v_g = (3 - v)/(2/v + g).
  for (std::size_t r = 0; r < run.rows(); ++r) {
    const double v = run.at(r, "c.v");
    EXPECT_NEAR(run.at(r, "c.v_g"), (3.0 - v) / (2.0 / v + 0.7), 1e-6);
  }
}

TEST(Sensitivity, second_order_by_transforming_again) {
  const Model model = shipped_model("rlc");
  const Model second = with_sensitivities(with_sensitivities(model, Names{"r1.R"}), Names{"r1.R", "c1.C"});
  const SimulationOptions options = options_of("bdf3", 0.1, 1e-3);
  const TestRun run(second, options, {"n3.v_r1_R_r1_R", "n3.v_r1_R_c1_C"});
  const auto first = [&](const std::string& parameter, double change) {
    return TestRun(with_sensitivities(changed("rlc", parameter, change), Names{"r1.R"}), options,
                   {"n3.v_r1_R"});
  };
  for (const auto& [parameter, name] :
       {std::pair<std::string, std::string>{"r1.R", "n3.v_r1_R_r1_R"}, {"c1.C", "n3.v_r1_R_c1_C"}}) {
    const double h = 1e-4 * find_parameter(model, parameter).number;
    const TestRun above = first(parameter, h), below = first(parameter, -h);
    double largest = 0.0, error = 0.0;
    for (std::size_t r = 0; r < run.rows(); ++r) {
      const double expected = (above.at(r, "n3.v_r1_R") - below.at(r, "n3.v_r1_R")) / (2.0 * h);
      largest = std::max(largest, std::abs(expected));
      error = std::max(error, std::abs(run.at(r, name) - expected));
    }
    EXPECT_GT(largest, 0.0);
    EXPECT_LT(error, 1e-5 * largest) << name;
  }
}

}  // namespace
}  // namespace tellegen
