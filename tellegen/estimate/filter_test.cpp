// What every estimator does by itself: rows without readings, another process noise, generated code.
#include "tellegen/estimate/filter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>

#include "tellegen/estimate/filter_program.h"
#include "tellegen/records/choice.h"
#include "tellegen/records/test_twin.h"
#include "tellegen/results/test_folder.h"

namespace tellegen {
namespace filter_test {

const std::string names[] = {"kf", "ekf", "pkf", "ukf", "ekf-perfect", "steady"};

class Rig {
 public:
  explicit Rig(const Model& model, bool plain = false) : twin(model, options(model, plain)) {
    filter.step = 0.01;
    filter.compile = false;
    none.assign(twin.sensors(), std::nan(""));
    innovations = {none, none, std::vector<char>(twin.sensors(), 0), 0.0};
  }
  std::unique_ptr<Filter> make(const std::string& name) {
    return find_estimator(name, {}).make(twin, filter);
  }

  TwinModel twin;
  FilterOptions filter;
  std::vector<double> none;
  Innovations innovations;

 private:
  static TwinOptions options(const Model& model, bool plain) {
    TwinOptions options;
    options.sensors = sensors_named(model, {"S1", "S3"});
    options.unknowns = model.estimation.unknowns;
    options.compile = false;
    options.plain = plain;
    return options;
  }
};

Model wandering_source() {
  Model model = twin_model_file("rc-thermal/network.toml");
  model.estimation.unknowns = unknowns_named(model, {"Q0"});
  return model;
}

TEST(Filter, a_row_without_readings_has_no_likelihood) {
  for (const std::string& name : names) {
    Rig rig(wandering_source(), name == "ekf-perfect");
    const auto filter = rig.make(name);
    const std::vector<double> readings{305.0, 302.0};
    for (int row = 0; row < 3; ++row) {
      ASSERT_TRUE(filter->correct(0.01 * row, nullptr, readings.data(), rig.innovations)) << name;
      if (row > 0) {
        EXPECT_NE(rig.innovations.log_likelihood, 0.0) << name;
      }
      ASSERT_TRUE(filter->predict(0.01 * row, nullptr, nullptr)) << name;
    }
    ASSERT_TRUE(filter->correct(0.03, nullptr, rig.none.data(), rig.innovations)) << name;
    EXPECT_EQ(rig.innovations.log_likelihood, 0.0) << name;
  }
}

// Which executor carries the filter must not matter: a process noise that is set counts as one that was
// given.
TEST(Filter, takes_another_process_noise_at_any_time) {
  for (const std::string& name : names)
    for (const bool generate : {true, false}) {
      Model model = wandering_source();
      Rig given(model, name == "ekf-perfect");
      model.unknowns[model.estimation.unknowns[0]].walk = 7.0;
      Rig other(model, name == "ekf-perfect");
      given.filter.generate = other.filter.generate = generate;
      const auto a = given.make(name), b = other.make(name);
      ASSERT_TRUE(a->predict(0.0, nullptr, nullptr));
      a->restore(b->save());
      a->set_process_noise(b->process_noise());
      const std::vector<double> readings{305.0, 302.0};
      for (int row = 0; row < 5; ++row) {
        ASSERT_TRUE(a->predict(0.01 * row, nullptr, nullptr)) << name;
        ASSERT_TRUE(b->predict(0.01 * row, nullptr, nullptr)) << name;
        ASSERT_TRUE(a->correct(0.01 * row + 0.01, nullptr, readings.data(), given.innovations)) << name;
        ASSERT_TRUE(b->correct(0.01 * row + 0.01, nullptr, readings.data(), other.innovations)) << name;
      }
      EXPECT_EQ(a->belief().x, b->belief().x) << name;
      EXPECT_EQ(a->belief().p, b->belief().p) << name;
    }
}

// The same rows, some with readings missing or far off.
void follow_alike(const Rig& rig, Filter& formulas, Filter& matrices, const std::string& what) {
  ASSERT_NE(formulas.executor(), matrices.executor()) << what;
  Innovations a = rig.innovations, b = rig.innovations;
  const double step = rig.filter.step;
  for (int row = 0; row < 25; ++row) {
    std::vector<double> readings{300.0 + 0.4 * row, 299.0 + 0.1 * row};
    if (row % 4 == 1) readings[0] = std::nan("");
    if (row % 5 == 2) readings[1] = std::nan("");
    if (row == 13) readings[0] = 1000.0;
    ASSERT_TRUE(formulas.predict(step * row, nullptr, nullptr)) << what;
    ASSERT_TRUE(matrices.predict(step * row, nullptr, nullptr)) << what;
    const Matrix &phi = formulas.transition(), &as_matrices = matrices.transition();
    if (as_matrices.size() > 0) {
      EXPECT_LT((phi - as_matrices).cwiseAbs().maxCoeff(), 1e-10 * as_matrices.cwiseAbs().maxCoeff()) << what;
    }
    ASSERT_TRUE(formulas.correct(step * (row + 1), nullptr, readings.data(), a)) << what;
    ASSERT_TRUE(matrices.correct(step * (row + 1), nullptr, readings.data(), b)) << what;
    EXPECT_EQ(a.refused, b.refused) << what << ", row " << row;
    EXPECT_NEAR(a.log_likelihood, b.log_likelihood, 1e-8 * (1 + std::abs(b.log_likelihood))) << what;
    const Belief &x = formulas.belief(), &y = matrices.belief();
    for (long i = 0; i < x.x.size(); ++i)
      EXPECT_NEAR(x.x[i], y.x[i], 1e-10 * (1 + std::abs(y.x[i]))) << what << ", row " << row;
    EXPECT_LT((x.p - y.p).cwiseAbs().maxCoeff(), 1e-9 * y.p.cwiseAbs().maxCoeff()) << what;
  }
}

// A nonlinear step written out is the one of matrices, for steps of any length (the exponential is halved
// as often as it needs), by both discretisations, with readings missing, refused and bounds in the way.
TEST(Filter, nonlinear_steps_are_the_same_in_formulas) {
  for (const std::string name : {"ekf", "pkf", "ukf"})
    for (const double step : {0.01, 2.0, 300.0})
      for (const bool euler : {false, true}) {
        if (euler && step > 0.1) continue;  // diverges, as it should
        Model model = twin_model_file("rc-thermal/network.toml");
        model.estimation.unknowns = unknowns_named(model, {"R1", "R2", "R3"});
        Rig rig(model);
        rig.filter.step = step;
        rig.filter.euler = euler;
        rig.filter.gate = 30.0;
        const auto formulas = rig.make(name);
        rig.filter.generate = false;
        const auto matrices = rig.make(name);
        const std::string what = fmt::format("{}, {}, {}", name, step, euler);
        ASSERT_NO_FATAL_FAILURE(follow_alike(rig, *formulas, *matrices, what));
      }
}

// Where slopes are constant, so are the matrices; a steady gain takes rows with gaps as one of matrices does.
TEST(Filter, linear_steps_are_the_same_in_formulas) {
  for (const std::string name : {"kf", "pkf", "ukf", "steady"})
    for (const bool bounded : {false, true})
      for (const bool euler : {false, true}) {
        Model model = wandering_source();
        if (bounded) model.unknowns[model.estimation.unknowns[0]].upper = 1.5;
        Rig rig(model);
        rig.filter.euler = euler;
        rig.filter.gate = 30.0;
        const auto formulas = rig.make(name);
        rig.filter.generate = false;
        const auto matrices = rig.make(name);
        const std::string what = fmt::format("{}, {}, {}", name, bounded, euler);
        ASSERT_NO_FATAL_FAILURE(follow_alike(rig, *formulas, *matrices, what));
      }
}

// The heat flow is a table over time: it drives the states, and the reading of the node it flows into.
Model driven_by_a_table(const TestFolder& folder) {
  std::string text = get(std::string(TELLEGEN_SOURCE_DIR) + "/models/rc-thermal/network.toml");
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("Q = \"Q0\"", "Q = \"Q0 + flow\"");
  replace("[components]",
          "[inputs]\nflow = { points = [[0.0, 0.0], [0.02, 5.0], [0.1, 2.0]] }\n[components]");
  put(folder / "model.toml", text);
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  Model model = read_model(folder / "model.toml", options);
  model.estimation.unknowns = unknowns_named(model, {"Q0"});
  return model;
}

void follow(Rig& rig, Filter& filter) {
  const std::vector<double> readings{305.0, 302.0};
  for (int row = 0; row < 8; ++row) {
    ASSERT_TRUE(filter.predict(0.01 * row, nullptr, nullptr));
    ASSERT_TRUE(filter.correct(0.01 * row + 0.01, nullptr, readings.data(), rig.innovations));
  }
}

TEST(FilterProgram, compiles_where_both_parts_look_up_a_table) {
  const TestFolder folder;
  Rig rig(driven_by_a_table(folder));
  const auto interpreted = rig.make("ekf");
  ASSERT_EQ(interpreted->executor(), "generated, interpreted");
  rig.filter.compile = true;
  const auto compiled = rig.make("ekf");
  if (!compile_c("int none;\n")) GTEST_SKIP() << "no compiler here";
  EXPECT_EQ(compiled->executor(), "generated C");
  follow(rig, *compiled);
  follow(rig, *interpreted);
  EXPECT_EQ(compiled->belief().x, interpreted->belief().x);
  EXPECT_EQ(compiled->belief().p, interpreted->belief().p);
}

TEST(FilterProgram, a_compiler_that_fails_is_reported) {
  const TestFolder folder;
  // One that refuses filters, and nothing else.
  put(folder / "cc.sh",
      "#!/bin/sh\nfor f in \"$@\"; do case \"$f\" in *.c) "
      "grep -q tellegen_correct \"$f\" && exit 1;; esac; done\nexec cc \"$@\"\n");
  chmod((folder / "cc.sh").c_str(), 0700);
  const char* before = std::getenv("TELLEGEN_COMPILER");
  const std::string kept = before ? before : "";
  setenv("TELLEGEN_COMPILER", (folder / "cc.sh").c_str(), 1);
  Rig rig(wandering_source());
  rig.filter.compile = true;
  const bool works = compile_c("int none;\n") != nullptr;
  const std::string executor = works ? rig.make("ekf")->executor() : "";
  before ? setenv("TELLEGEN_COMPILER", kept.c_str(), 1) : unsetenv("TELLEGEN_COMPILER");
  if (!works) GTEST_SKIP() << "no compiler here";
  EXPECT_EQ(executor, "generated, interpreted: the C compiler failed on it");
}

}  // namespace filter_test
}  // namespace tellegen
