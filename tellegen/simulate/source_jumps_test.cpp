#include "tellegen/simulate/source_jumps.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/simulate/adaptive.h"
#include "tellegen/simulate/second_run.h"
#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace source_jumps_test {

std::string driven(const std::string& source) {
  return "s = { kind = \"electrical.voltage_source\", p = \"a\", n = \"datum\", V = \"" + source +
         "\" }\nr = { kind = \"electrical.resistor\", p = \"a\", n = \"b\", R = 1 }\n"
         "c = { kind = \"electrical.capacitor\", p = \"b\", n = \"datum\", C = 0.1, v0 = 0 }\n";
}

std::vector<double> jumps_of(const std::string& components, double step, double stop) {
  const Model model = model_of(components);
  const EquationSystem system = build_system(model);
  std::vector<double> found;
  for (SourceJumps jumps(system, step, stop); jumps.next() <= stop; jumps.pass())
    if (jumps.jumps()) found.push_back(jumps.next());
  return found;
}

void expect_jumps(const std::string& source, const std::vector<double>& expected) {
  const std::vector<double> found = jumps_of(driven(source), 0.01, 1.0);
  ASSERT_EQ(found.size(), expected.size()) << source;
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-12) << source;
}

TEST(SourceJumps, are_known_where_what_decides_is_affine_in_time) {
  expect_jumps("if(t < 0.3, 3, -1)", {0.3});
  expect_jumps("if(t > 0.2 and t <= 0.7, 3, -1)", {0.2, 0.7});
  expect_jumps("sin(t)*t^3*(2*t > 0.5)", {0.25});
  expect_jumps("floor(3*t + 0.5)", {0.5 / 3, 0.5, 2.5 / 3});
  expect_jumps("mod(t, 0.4)", {0.4, 0.8});
  expect_jumps("if(t < 0.3, 0.5*b.v, 2)", {0.3});
  expect_jumps("if(sin(9*t) > 0, 1, 2)", {});
}

TEST(SourceJumps, a_kink_is_none) {
  expect_jumps("if(t < 0.3, t, 0.3)", {});
  expect_jumps("if(t < 0.3, t, 0.3 + 2*(t - 0.3))", {});
  expect_jumps("max(t - 0.4, 0)", {});
  expect_jumps("3*sin(20*t)", {});
}

TEST(SourceJumps, a_pulse_jumps_where_its_rise_is_shorter_than_a_step) {
  const std::string pulse =
      "s = { kind = \"electrical.pulse_voltage\", p = \"a\", n = \"datum\", high = 5, delay = 0.1, rise = "
      "RISE, "
      "fall = RISE, width = 0.2, period = 0.5 }\nr = { kind = \"electrical.resistor\", p = \"a\", n = "
      "\"datum\", R = 1 }\n";
  const auto with = [&](const std::string& rise) {
    std::string text = pulse;
    for (auto at = text.find("RISE"); at != std::string::npos; at = text.find("RISE"))
      text.replace(at, 4, rise);
    return jumps_of(text, 0.01, 1.0);
  };
  const std::vector<double> expected{0.1, 0.3, 0.6, 0.8}, found = with("1e-9");
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-8);
  EXPECT_TRUE(with("0.1").empty());
}

// v(1) of 3 V until T and -1 V then, through R C = 0.1 s.
double answer(double T) { return -1 + (3 * (1 - std::exp(-T / 0.1)) + 1) * std::exp(-(1 - T) / 0.1); }

// Second order: half the step, a quarter of the error; and much less than the first order's jump*h/(R C) to
// begin with.
TEST(SourceJumps, steps_are_of_second_order_across_them) {
  for (const char* method : {"bdf2", "bdf3", "tr"})
    for (const double T : {0.8, 0.80321, 0.80999}) {  // on the grid, and not
      const std::string components = driven(fmt::format("if(t < {}, 3, -1)", T));
      const auto error = [&](double step) {
        return TestRun(components, options_of(method, 1.0, step), {"b.v"}).last("b.v") - answer(T);
      };
      const double coarse = error(0.01), fine = error(0.0025);
      EXPECT_LT(std::abs(coarse), 0.005) << method << " " << T;  // first order: 0.06
      EXPECT_LT(std::abs(fine), 2.5e-4) << method << " " << T;
      if (T == 0.8) {
        EXPECT_LT(std::abs(fine), std::abs(coarse) / 15.0) << method;
      }
    }
}

TEST(SourceJumps, a_row_at_a_jump_is_of_the_values_after_it) {
  std::vector<std::string> methods{"bdf1", "bdf2", "bdf3", "tr", "exact", "rk4"};
  if (has_adaptive()) methods.push_back("adaptive");
  for (const std::string& method : methods) {
    const TestRun run(driven("if(t < 0.5, 3, -1)"), options_of(method, 1.0, 0.01), {"a.v", "r.i"});
    EXPECT_NEAR(run.at(49, "a.v"), 3.0, 1e-12) << method;
    EXPECT_NEAR(run.at(50, "a.v"), -1.0, 1e-12) << method;
    EXPECT_NEAR(run.at(50, "r.i"), -1 - 3 * (1 - std::exp(-5.0)), 0.02) << method;
  }
}

// A value sampled where its source jumps is the one after the jump.
TEST(SourceJumps, samples_are_taken_after_them) {
  const std::string text =
      driven("if(t < 0.5, 3, -1)") + "h = { kind = \"signals.sample_hold\", u = \"a.v\", period = 0.1 }\n";
  std::vector<std::string> methods{"bdf2", "tr", "bdf3"};
  if (has_adaptive()) methods.push_back("adaptive");
  for (const std::string& method : methods) {
    const TestRun run(text, options_of(method, 1.0, 0.02), {"h.y"});
    EXPECT_NEAR(run.at(24, "h.y"), 3.0, 1e-6) << method;
    EXPECT_NEAR(run.at(25, "h.y"), 3.0, 1e-6) << method;  // the row is before it
    EXPECT_NEAR(run.at(26, "h.y"), -1.0, 1e-6) << method;
  }
}

// What is held changes at rows: one method's row after the change against another's before it would differ
// by the whole jump.
TEST(SourceJumps, held_and_jumping_signals_agree_with_the_second_run) {
  if (!has_adaptive()) GTEST_SKIP() << "built without SUNDIALS";
  const auto with_new_equations = [](const UseOfEquations& use) {
    const Model model = model_of(driven("if(t < 0.5, 3, -1)") +
                                 "h = { kind = \"signals.sample_hold\", u = \"sin(6*t)\", period = 0.1 }\n");
    use(build_system(model), columns_of(model, {"a.v", "b.v", "h.y"}));
  };
  const SimulationOptions options = options_of("bdf2", 1.0, 0.005);
  SimulationResult run;
  with_new_equations([&](const EquationSystem& system, const std::vector<OutputColumn>& columns) {
    run = Simulation(system, options, columns).run();
  });
  EXPECT_EQ(second_run_warnings(second_runs(with_new_equations, options, run, 1e-3)),
            std::vector<std::string>{});
}

}  // namespace source_jumps_test
}  // namespace tellegen
