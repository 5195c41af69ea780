#include "tellegen/sweep/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tellegen/model/read.h"
#include "tellegen/program/test_cache.h"
#include "tellegen/results/test_folder.h"
#include "tellegen/sweep/journal.h"

namespace tellegen {
namespace evaluate_test {

const char* const divider = R"(
[parameters]
R1 = "1 kohm"
[components]
source = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "10 V" }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "R1" }
r2 = { kind = "electrical.resistor", p = "b", n = "datum", R = "1 kohm" }
c2 = { kind = "electrical.capacitor", p = "b", n = "datum", C = "1 uF" }
[outputs]
V = { value = "b.v", unit = "mV" }
[simulation]
stop = "1 ms"
step = "0.1 ms"
method = "exact"
)";

SampleTask task_of(std::vector<Axis> axes, std::vector<std::string> outputs = {}) {
  SampleTask task;
  task.read = [] { return read_model_text(divider, "divider.toml"); };
  task.axes = std::move(axes);
  task.outputs = std::move(outputs);
  Model model = task.read();
  check_task(model, task);
  return task;
}

TEST(Evaluate, takes_the_value_at_the_end_in_the_output_s_unit) {
  const SampleTask task = task_of({{"R1", "kohm"}, {"c2.C", "F"}});
  const std::vector<double> sample{3.0, 2e-6};
  const SampleOutcome outcome = evaluate_sample(task, sample);
  EXPECT_EQ(outcome.status, "");
  // From 0 V to 10 V/4, with (3 kohm || 1 kohm) 2 uF.
  ASSERT_EQ(outcome.values.size(), 1u);
  EXPECT_NEAR(outcome.values[0], 2500 * (1 - std::exp(-1e-3 / (750 * 2e-6))), 1e-6);
}

// What is built is built once; what comes out does not tell.
TEST(Evaluate, a_sample_does_not_depend_on_those_before) {
  for (const char* method : {"exact", "bdf2", "tr", "rk4", "adaptive"}) {
    std::vector<SampleTask> tasks(2, task_of({{"R1", "kohm"}, {"c2.C", "F"}}));
    tasks[1].runners = std::make_shared<SampleRunners>();
    for (SampleTask& task : tasks) task.simulation.method = method;
    const std::vector<double> first{0.5, 1e-6}, broken{-1.0, 1e-6}, second{3.0, 2e-6};
    for (const auto& sample : {first, broken, first}) evaluate_sample(tasks[0], sample);
    const SampleOutcome late = evaluate_sample(tasks[0], second), alone = evaluate_sample(tasks[1], second);
    EXPECT_EQ(late.status, "") << method;
    EXPECT_EQ(late.values, alone.values) << method;
    EXPECT_NEAR(late.values[0], 2500 * (1 - std::exp(-1e-3 / (750 * 2e-6))), 3.0) << method;
  }
}

// Parameters in a formula of the outputs need no other equations: one runner serves all samples.
TEST(Evaluate, parameters_in_an_output_s_formula_follow_the_sample) {
  for (const char* method : {"exact", "bdf2", "adaptive"}) {
    SampleTask task = task_of({{"R1", "kohm"}, {"c2.C", "F"}}, {"R1*r1.i^2", "V", "2*R1 + t", "b.v*R1"});
    task.simulation.method = method;
    const std::vector<double> first{0.5, 1e-6}, second{3.0, 2e-6};
    evaluate_sample(task, first);
    const SampleOutcome outcome = evaluate_sample(task, second);
    ASSERT_EQ(outcome.status, "") << method;
    ASSERT_EQ(outcome.values.size(), 4u);
    const double v = outcome.values[1] / 1000;  // V is in mV
    EXPECT_NEAR(v, 2.5 * (1 - std::exp(-1e-3 / (750 * 2e-6))), 3e-3) << method;
    EXPECT_NEAR(outcome.values[0], (10 - v) * (10 - v) / 3000, 1e-12) << method;
    EXPECT_DOUBLE_EQ(outcome.values[2], 6000.001) << method;
    EXPECT_DOUBLE_EQ(outcome.values[3], v * 3000) << method;
    int made = 0;
    task.runners->take([&]() -> std::unique_ptr<SampleRunner> { return ++made, nullptr; });
    EXPECT_EQ(made, 0) << method << ": the samples were built one by one";
  }
}

// Once many have been interpreted, samples go side by side; what comes out does not tell, and a broken one
// among them is the only one that suffers.
TEST(Evaluate, samples_side_by_side_are_samples_alone_to_the_last_bit) {
  const TestCache cache;
  constexpr std::size_t count = 2000;
  SampleSet samples;
  samples.width = 2;
  for (std::size_t k = 0; k < count; ++k) {
    samples.values.push_back(k % 37 == 5 ? -1.0 : 0.5 + 0.001 * static_cast<double>(k));
    samples.values.push_back(1.0 + 0.01 * static_cast<double>(k % 10));
  }
  for (const char* method : {"bdf2", "exact"}) {
    SampleTask task = task_of({{"R1", "kohm"}, {"c2.C", "uF"}}, {"R1*r1.i^2", "V"});
    task.simulation.method = method;
    task.simulation.stop = 1.0;
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<SampleOutcome> outcomes(count);
    SampleLoop loop = sample_loop(task, samples);
    loop.finished = [&](std::size_t k, SampleOutcome outcome) { outcomes[k] = std::move(outcome); };
    run_samples(all, 2, loop);
    EXPECT_GT(task.runners->lanes(), 1);
    SampleTask alone = task;
    alone.runners = std::make_shared<SampleRunners>();
    alone.simulation.compile = false;
    for (std::size_t k = 3; k < count; k += k < 1940 ? 97 : 1) {
      const SampleOutcome one = evaluate_sample(alone, samples.row(k));
      EXPECT_EQ(outcomes[k].status, one.status);
      EXPECT_EQ(one.status.empty(), k % 37 != 5) << one.status;
      if (one.status.empty()) {
        EXPECT_EQ(outcomes[k].values, one.values) << k;
      }
    }
  }
}

// Zero is structure: such a sample takes the long way, and comes out as well.
TEST(Evaluate, a_number_that_becomes_zero_has_equations_of_its_own) {
  const SampleTask task = task_of({{"source.V", "V"}});
  const std::vector<double> some{5.0}, none{0.0};
  EXPECT_NEAR(evaluate_sample(task, some).values[0], 2500 * (1 - std::exp(-1e-3 / (500 * 1e-6))), 1e-6);
  EXPECT_EQ(evaluate_sample(task, none).values[0], 0.0);
  EXPECT_NEAR(evaluate_sample(task, some).values[0], 2500 * (1 - std::exp(-1e-3 / (500 * 1e-6))), 1e-6);
}

TEST(Evaluate, a_broken_bound_is_the_sample_s_status) {
  const SampleTask task = task_of({{"r2.R", "ohm"}}, {"b.v", "r1.i"});
  const std::vector<double> negative{-1.0}, good{1.0};
  const SampleOutcome outcome = evaluate_sample(task, negative);
  EXPECT_NE(outcome.status.find("T124: parameter 'R' of 'r2'"), std::string::npos) << outcome.status;
  ASSERT_EQ(outcome.values.size(), 2u);
  EXPECT_TRUE(std::isnan(outcome.values[0]));
  EXPECT_EQ(evaluate_sample(task, good).status, "");
}

TEST(Evaluate, a_result_that_is_not_finite_is_the_sample_s_status) {
  const SampleTask task = task_of({{"R1", "ohm"}}, {"log(R1 - 1000)*b.v"});
  const std::vector<double> sample{500.0};
  EXPECT_EQ(evaluate_sample(task, sample).status, "'log(R1 - 1000)*b.v' has no finite value");
}

TEST(Evaluate, objectives_and_outputs_side_by_side) {
  SampleTask task = task_of({{"R1", "kohm"}});
  const std::string text = std::string(divider) + R"(
[objectives]
heat = { integral = "r1.v*r1.i", unit = "mJ" }
half = { time_when = "b.v > 1", unit = "us" }
)";
  task.read = [text] { return read_model_text(text, "divider.toml"); };
  task.outputs = {};
  Model model = task.read();
  const auto own = check_task(model, task);
  ASSERT_EQ(own.size(), 2u);  // objectives go before outputs
  EXPECT_EQ(own[0].name + " " + own[0].unit + ", " + own[1].name + " " + own[1].unit, "heat mJ, half us");
  task.objectives = {"half"};
  task.outputs = {"V"};
  task.simulation.method = "tr";
  task.simulation.step = 1e-6;
  check_task(model, task);
  const std::vector<double> sample{3.0}, slow{99.0};
  const SampleOutcome outcome = evaluate_sample(task, sample);
  ASSERT_EQ(outcome.status, "");
  // From 0 V to 10 V/4, with (3 kohm || 1 kohm) 1 uF.
  EXPECT_NEAR(outcome.values[0], -750 * std::log(1 - 1 / 2.5), 1.0);
  EXPECT_NEAR(outcome.values[1], 2500 * (1 - std::exp(-1e-3 / 750e-6)), 0.1);
  // It never gets to 1 V.
  EXPECT_EQ(evaluate_sample(task, slow).status, "'half' has no finite value");
  task.objectives = {"halve"};
  EXPECT_NE(message_of([&] { check_task(model, task); }).find("did you mean 'half'?"), std::string::npos);
}

TEST(Evaluate, does_not_depend_on_the_samples_before) {
  const SampleTask task = task_of({{"R1", "ohm"}, {"c2.C", "F"}}, {"b.v", "b.v*R1/3 + c2.i"});
  const std::vector<double> sample{1234.5, 1.1e-6};
  const std::vector<double> first = evaluate_sample(task, sample).values;
  for (const double r : {10.0, 1234.5, 99.0}) {
    const std::vector<double> other{r, 1.1e-6};
    evaluate_sample(task, other);
  }
  EXPECT_EQ(evaluate_sample(task, sample).values, first);
}

TEST(Evaluate, tells_unknown_names_before_any_sample) {
  SampleTask task = task_of({{"R1", "ohm"}});
  Model model = task.read();
  task.axes = {{"R11", ""}};
  EXPECT_NE(message_of([&] { check_task(model, task); }).find("did you mean 'R1'?"), std::string::npos);
  task.axes = {{"R1", ""}};
  task.outputs = {"bb.v"};
  EXPECT_NE(message_of([&] { check_task(model, task); }).find("bb.v"), std::string::npos);
}

TEST(Evaluate, a_fingerprint_changes_with_the_file_and_with_its_tables) {
  TestFolder folder;
  const std::string model = R"(
[inputs]
u = { table = "u.csv", column = "u" }
[components]
source = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "u" }
r1 = { kind = "electrical.resistor", p = "a", n = "datum", R = "1 ohm" }
)";
  const auto fingerprint = [&](const std::string& text, const std::string& table) {
    put(folder / "m.toml", text);
    put(folder / "u.csv", table);
    return model_fingerprint(read_model(folder / "m.toml"));
  };
  const std::string one = fingerprint(model, "t,u\n0,1\n1,2\n");
  EXPECT_EQ(fingerprint(model, "t,u\n0,1\n1,2\n"), one);
  EXPECT_NE(fingerprint(model, "t,u\n0,1\n1,3\n"), one);
  EXPECT_NE(fingerprint(model + "# other\n", "t,u\n0,1\n1,2\n"), one);
}

}  // namespace evaluate_test
}  // namespace tellegen
