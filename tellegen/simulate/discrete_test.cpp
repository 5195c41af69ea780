// Discrete variables in every method: a switch that closes at a voltage, a sampler, a two-point controller.
#include "tellegen/simulate/discrete.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tellegen/model/read.h"
#include "tellegen/simulate/adaptive.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace discrete_test {

ReadOptions library_only() {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return options;
}

namespace fs = std::filesystem;

fs::path folder_with_kinds() {
  const fs::path folder = fs::path(testing::TempDir()) / "tellegen-discrete";
  fs::create_directories(folder / "my");
  std::ofstream(folder / "my/contact.toml") << R"toml(
domain = "electrical"
edges = { main = ["p", "n"] }
[parameters]
u = { unit = "V" }
high = { unit = "V" }
low = { unit = "V" }
[discrete]
on = { start = 1, update = "if(u > high, 0, if(u < low, 1, on))" }
[equations]
terminal = ["main.v = if(on > 0.5, 1, 1e9)*main.i"]
)toml";
  std::ofstream(folder / "my/sampler.toml") << R"toml(
[parameters]
u = { unit = "any" }
T = { unit = "s" }
[discrete]
y = { update = "u", every = "T" }
[equations]
terminal = []
)toml";
  return folder;
}

SimulationResult run(const std::string& text, const std::string& method, double step, double stop,
                     int bisections = 0, const std::string& form = "auto") {
  const fs::path folder = folder_with_kinds();
  const Model model = read_model_text(text, folder / "model.toml", library_only());
  SimulationOptions options;
  options.stop = stop;
  options.step = step;
  options.sample = stop / 20;
  options.method = method;
  options.form = form;
  options.event_bisections = bisections;
  options.compile = false;
  return Simulation(model, options, {}).run();
}

// A capacitor charged by 10 V through 1000 ohm and a contact that opens above 5 V and stays open: from then
// on it discharges through 1 Mohm.
const std::string opening =
    "[components]\n"
    "v = { kind = \"electrical.voltage_source\", p = \"a\", n = \"datum\", V = 10.0 }\n"
    "s = { kind = \"my.contact\", p = \"a\", n = \"b\", u = \"c.v\", high = 5.0, low = 1.0 }\n"
    "r = { kind = \"electrical.resistor\", p = \"b\", n = \"c\", R = 999.0 }\n"
    "c1 = { kind = \"electrical.capacitor\", p = \"c\", n = \"datum\", C = 1e-6 }\n"
    "r2 = { kind = \"electrical.resistor\", p = \"c\", n = \"datum\", R = 1e6 }\n"
    "[outputs]\nv = \"c.v\"\non = \"s.on\"\n";

double opening_at(double t) {
  const double R = 1000.0 * 1e6 / (1e6 + 1000.0), top = 10.0 * 1e6 / (1e6 + 1000.0);
  const double event = -R * 1e-6 * std::log(1 - 5.0 / top);
  if (t < event) return top * (1 - std::exp(-t / (R * 1e-6)));
  const double off = 1e9 + 999.0, slow = 1e6 * off / (1e6 + off), end = 10.0 * 1e6 / (1e6 + off);
  return end + (5.0 - end) * std::exp(-(t - event) / (slow * 1e-6));
}

struct Method {
  const char *name, *form;
  int bisections;
  double tolerance;  // an event is met up to one step late: 5 V/ms * 1 us = 5 mV; or found
};

class OpeningContact : public testing::TestWithParam<Method> {};

TEST_P(OpeningContact, follows_the_closed_form) {
  const Method& method = GetParam();
  const auto result = run(opening, method.name, 1e-6, 2e-3, method.bisections, method.form);
  ASSERT_EQ(result.failure, "");
  EXPECT_EQ(result.statistics.events, 1);
  for (std::size_t k = 0; k < result.t.size(); ++k) {
    EXPECT_NEAR(result.values[2 * k], opening_at(result.t[k]), method.tolerance) << "t = " << result.t[k];
    EXPECT_EQ(result.values[2 * k + 1], result.t[k] < 0.69e-3 ? 1.0 : 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Methods, OpeningContact,
    testing::Values(Method{"bdf1", "tableau", 0, 8e-3}, Method{"bdf2", "tableau", 0, 6e-3},
                    Method{"bdf3", "tableau", 0, 6e-3}, Method{"tr", "tableau", 0, 6e-3},
                    Method{"tr", "tableau", 12, 5e-5}, Method{"bdf2", "minimal", 12, 5e-5},
                    Method{"tr", "minimal", 0, 6e-3}, Method{"rk4", "auto", 0, 6e-3},
                    Method{"rk4", "auto", 12, 5e-6}, Method{"adaptive", "auto", 0, 1e-4}));

TEST(Discrete, a_network_too_large_for_one_program_meets_the_same_events) {
  std::string ladder = opening.substr(0, opening.find("[outputs]"));
  for (int k = 0; k < 80; ++k)
    ladder += "ra" + std::to_string(k) + " = { kind = \"electrical.resistor\", p = \"" +
              (k == 0 ? "a" : "n" + std::to_string(k)) + "\", n = \"n" + std::to_string(k + 1) +
              "\", R = 1.0 }\nca" + std::to_string(k) + " = { kind = \"electrical.capacitor\", p = \"n" +
              std::to_string(k + 1) + "\", n = \"datum\", C = 1e-9 }\n";
  ladder += "[outputs]\nv = \"c.v\"\non = \"s.on\"\n";
  for (const auto& [method, bisections, tolerance] :
       {std::tuple{"tr", 0, 6e-3}, std::tuple{"bdf2", 0, 6e-3}, std::tuple{"bdf2", 12, 5e-5}}) {
    const auto result = run(ladder, method, 1e-6, 2e-3, bisections);
    ASSERT_EQ(result.failure, "");
    EXPECT_NE(result.statistics.executor.find("kernels per kind"), std::string::npos);
    EXPECT_EQ(result.statistics.events, 1);
    for (std::size_t k = 0; k < result.t.size(); ++k)
      EXPECT_NEAR(result.values[2 * k], opening_at(result.t[k]), tolerance) << method;
  }
}

// A two-point controller between 4 V and 5 V switches for ever.
TEST(Discrete, a_two_point_controller_keeps_its_band_in_every_method) {
  std::string text = opening;
  text.replace(text.find("low = 1.0"), 9, "low = 4.0");
  text.replace(text.find("R = 1e6"), 7, "R = 2e3");
  std::int64_t events = 0;
  for (const char* method : {"adaptive", "tr", "bdf2", "rk4"}) {
    const auto result = run(text, method, 1e-6, 20e-3);
    ASSERT_EQ(result.failure, "") << method;
    for (std::size_t k = 2; k < result.t.size(); ++k) {
      EXPECT_GT(result.values[2 * k], 3.99);
      EXPECT_LT(result.values[2 * k], 5.01);
    }
    if (events == 0) events = result.statistics.events;
    EXPECT_NEAR(static_cast<double>(result.statistics.events), static_cast<double>(events), 2.0) << method;
    EXPECT_EQ(result.statistics.chatter, "");
  }
  EXPECT_GT(events, 20);
}

TEST(Discrete, a_contact_without_hysteresis_is_reported_as_chattering) {
  std::string text = opening;
  text.replace(text.find("low = 1.0"), 9, "low = 5.0");
  text.replace(text.find("R = 1e6"), 7, "R = 2e3");
  const auto fixed = run(text, "tr", 1e-6, 4e-3);
  ASSERT_EQ(fixed.failure, "");
  EXPECT_NE(fixed.statistics.chatter.find("'s.on'"), std::string::npos) << fixed.statistics.chatter;
  EXPECT_NE(fixed.brief().find("chatters"), std::string::npos);
  const auto variable = run(text, "adaptive", 1e-6, 4e-3);
  EXPECT_EQ(variable.failure, "");
  EXPECT_NE(variable.statistics.chatter.find("'s.on'"), std::string::npos) << variable.statistics.chatter;
  if (!has_adaptive()) return;
  const auto adaptive = run(text, "adaptive-ida", 1e-6, 4e-3);
  EXPECT_NE(adaptive.failure.find("'s.on' chatters"), std::string::npos)
      << adaptive.failure << adaptive.brief();
}

// u = t sampled every 3 ms by steps of 1 ms: y is the last multiple.
TEST(Discrete, a_sampler_samples_at_its_own_rate) {
  const std::string text =
      "[components]\n"
      "v = { kind = \"electrical.voltage_source\", p = \"a\", n = \"datum\", V = \"t\" }\n"
      "r = { kind = \"electrical.resistor\", p = \"a\", n = \"datum\", R = 1.0 }\n"
      "s = { kind = \"my.sampler\", u = \"a.v\", T = 3e-3 }\n[outputs]\ny = \"s.y\"\n";
  for (const char* method : {"tr", "bdf3", "rk4", "adaptive"}) {
    const auto result = run(text, method, 1e-3, 20e-3);
    ASSERT_EQ(result.failure, "") << method;
    for (std::size_t k = 0; k < result.t.size(); ++k) {
      // A row at the sampling itself: fixed steps report the value before, adaptive the one after.
      const bool at_sampling = k % 3 == 0;
      if (at_sampling) continue;
      EXPECT_NEAR(result.values[k], 3e-3 * static_cast<double>(k / 3), 1e-9) << method << " row " << k;
    }
  }
  // Without a state it is sampled when it is due; with one, at the end of a step.
  const std::string storing =
      "[components]\nc = { kind = \"electrical.capacitor\", p = \"a\", n = \"datum\", C = 1.0 }\n" +
      text.substr(std::string("[components]\n").size());
  EXPECT_THROW(run(storing, "tr", 5e-3, 0.1), ModelError);
}

TEST(Discrete, an_input_from_outside_holds_until_it_is_set_again) {
  Model model = read_model_text(
      "[inputs]\nu = 2.0\n[components]\n"
      "v = { kind = \"electrical.voltage_source\", p = \"a\", n = \"datum\", V = \"u\" }\n"
      "r = { kind = \"electrical.resistor\", p = \"a\", n = \"b\", R = 1.0 }\n"
      "c = { kind = \"electrical.capacitor\", p = \"b\", n = \"datum\", C = 1.0 }\n"
      "[outputs]\na = \"a.v\"\nu_now = \"u\"\nb = \"b.v\"\n",
      "test.toml", library_only());
  make_external(model, "u");
  EXPECT_THROW(make_external(model, "w"), ModelError);
  for (const char* method : {"tr", "bdf1", "bdf3", "rk4", "adaptive"}) {
    SimulationOptions options;
    options.stop = 1.0;
    options.step = 0.01;
    options.sample = 0.1;
    options.method = method;
    options.external = {"u"};
    options.compile = false;
    Simulation simulation(model, options, {});
    double row[3] = {};
    ASSERT_EQ(simulation.integrator().advance(1, row), 1) << simulation.integrator().failure();
    EXPECT_EQ(row[0], 2.0);
    EXPECT_NEAR(row[2], 2.0 * (1 - std::exp(-0.1)), 2e-3) << method;
    simulation.integrator().set_input(0, -1.0);
    ASSERT_EQ(simulation.integrator().advance(1, row), 1) << simulation.integrator().failure();
    EXPECT_EQ(row[0], -1.0) << method;
    EXPECT_EQ(row[1], -1.0);
    const double first = 2.0 * (1 - std::exp(-0.1));
    EXPECT_NEAR(row[2], -1.0 + (first + 1.0) * std::exp(-0.1), 2e-2) << method;
  }
}

// Saved after any row, destroyed and read into a run made anew: the rows that follow are the same to the bit,
// with what had come from outside before and with what comes later.
TEST(Discrete, a_run_with_inputs_from_outside_goes_on_where_it_was_saved) {
  Model model = read_model_text(
      "[inputs]\nu = 2.0\n[components]\n"
      "v = { kind = \"electrical.voltage_source\", p = \"a\", n = \"datum\", V = \"u\" }\n"
      "r = { kind = \"electrical.resistor\", p = \"a\", n = \"b\", R = 1.0 }\n"
      "c = { kind = \"electrical.capacitor\", p = \"b\", n = \"datum\", C = 1.0 }\n"
      "[outputs]\nb = \"b.v\"\n",
      "test.toml", library_only());
  make_external(model, "u");
  constexpr int rows = 20;
  for (const char* method : {"tr", "trnp", "bdf1", "bdf2", "bdf3", "rk4", "adaptive"}) {
    SimulationOptions options;
    options.stop = 2.0;
    options.step = 0.01;
    options.sample = 0.1;
    options.method = method;
    options.external = {"u"};
    options.compile = false;
    const auto advance = [](Integrator& run, int from, int to, std::vector<double>& values) {
      for (int k = from; k < to; ++k) {
        if (k % 3 == 1) run.set_input(0, 1.0 + 0.3 * k);
        ASSERT_EQ(run.advance(1, &values[static_cast<std::size_t>(k)]), 1) << run.failure();
      }
    };
    std::vector<double> whole(rows), parts(rows);
    Simulation uninterrupted(model, options, {});
    advance(uninterrupted.integrator(), 0, rows, whole);
    for (const int cut : {1, 2, 7, 13}) {
      Checkpoint saved;
      {
        Simulation first(model, options, {});
        advance(first.integrator(), 0, cut, parts);
        ASSERT_TRUE(first.integrator().keep(saved)) << method;
      }
      Simulation second(model, options, {});
      Checkpoint read(saved.bytes());
      ASSERT_TRUE(second.integrator().keep(read) && read.good()) << method;
      advance(second.integrator(), cut, rows, parts);
      EXPECT_EQ(parts, whole) << method << " after " << cut;
    }
  }
}

TEST(Discrete, switching_quantities_are_what_comparisons_compare) {
  Pool pool;
  const Expr x = pool.symbol("x"), t = pool.symbol("t");
  const Expr value = pool.call("if", {pool.call("gt", {x, t}), pool.call("abs", {x}), pool.number(1)});
  const auto found = switching_quantities(std::span(&value, 1));
  ASSERT_EQ(found.size(), 2u);
}

}  // namespace discrete_test
}  // namespace tellegen
