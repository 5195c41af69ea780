#include "tellegen/simulate/compiled_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace compiled_model_test {

constexpr const char* divider = R"toml(
u = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "if(t < T, 1, 3)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
d = { kind = "electrical.diode", p = "b", n = "c", Is = "1 nA" }
s = { kind = "electrical.capacitor", p = "c", n = "datum", C = "1 uF" }
l = { kind = "electrical.resistor", p = "c", n = "datum", R = "10 kohm" }
[parameters]
R = "1 kohm"
T = "2 ms"
[simulation]
stop = "5*T"
step = "0.1 ms"
)toml";

CompiledModelOptions request(std::function<Model()> read, std::vector<std::string> parameters,
                             const std::string& method) {
  CompiledModelOptions options{.read = std::move(read), .parameters = std::move(parameters)};
  options.simulation.method = method;
  options.simulation.compile = false;
  if (method == "adaptive") options.simulation.sample = 1e-3;
  return options;
}

std::vector<double> scaled(const CompiledModel& compiled, double factor) {
  std::vector<double> numbers = compiled.nominal();
  for (double& n : numbers) n *= factor;
  return numbers;
}

using Rows = std::vector<double>;
constexpr std::array factors{1.0, 1.02, 0.97, 1.05, 1.0};

std::vector<Rows> runs(const CompiledModel& compiled) {
  ModelInstance instance(compiled);
  std::vector<Rows> all;
  for (const double factor : factors) {
    instance.set(scaled(compiled, factor));
    const SimulationResult result = instance.run();
    EXPECT_EQ(result.failure, "");
    all.push_back(result.values);
  }
  return all;
}

// What each of four threads finds with one model is what a model of its own finds. tests/threads runs this
// under the thread sanitizer.
void expect_same_alone_and_together(const CompiledModelOptions& options) {
  const std::vector<Rows> alone = runs(CompiledModel(options));
  const CompiledModel shared(options);
  std::array<std::vector<Rows>, 4> together;
  {
    std::vector<std::jthread> threads;
    for (auto& found : together) threads.emplace_back([&] { found = runs(shared); });
  }
  for (const auto& found : together) EXPECT_EQ(found, alone) << options.simulation.method;
  EXPECT_NE(alone[0], alone[1]);
  EXPECT_EQ(alone[0], alone[4]);
}

TEST(CompiledModel, threads_share_it_and_find_what_each_finds_alone) {
  for (const char* method : {"bdf2", "tr", "adaptive"})
    expect_same_alone_and_together(request([] { return model_of(divider); }, {"R", "T"}, method));
}

TEST(CompiledModel, threads_share_models_with_events_tables_and_explicit_forms) {
  const struct {
    const char *model, *method;
    double stop, step;
  } cases[] = {{"rc-thermal", "exact", 1.0, 1e-3},
               {"rectifier", "bdf3", 0.01, 1e-5},
               {"dc-motor", "rk4", 1e-2, 1e-4},
               {"buck-converter", "bdf1", 1e-4, 1e-7}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.model);
    const Model model = shipped_model(c.model);
    CompiledModelOptions options =
        request([&] { return shipped_model(c.model); }, {parameter_names(model, false).front()}, c.method);
    options.simulation.stop = c.stop;
    options.simulation.step = options.simulation.sample = c.step;
    expect_same_alone_and_together(options);
  }
}

TEST(CompiledModel, numbers_far_from_the_models_are_right) {
  const auto read = [] {
    return model_of(R"(
u = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "1 V" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "1 ohm" }
l = { kind = "electrical.inductor", p = "b", n = "c", L = "L" }
s = { kind = "electrical.resistor", p = "c", n = "datum", R = "1 ohm" }
[parameters]
L = "1 mH"
[simulation]
stop = "5 ms"
step = "0.1 ms"
method = "bdf2"
)");
  };
  CompiledModelOptions options = request(read, {"L"}, "");
  options.outputs = {"s.i"};
  const CompiledModel compiled(options);
  ModelInstance instance(compiled);
  instance.set(std::array{1e-9});
  EXPECT_NEAR(instance.run().values.back(), 0.5, 1e-9);
  instance.set(compiled.nominal());
  EXPECT_EQ(instance.run().values, ModelInstance(compiled).run().values);
}

// An instance that has run with other numbers before, and a model read with these.
TEST(CompiledModel, numbers_set_later_give_the_rows_of_a_model_that_has_them) {
  const struct {
    const char *model, *method;
    double stop, sample;
  } cases[] = {{"rectifier", "adaptive", 0.02, 1e-4},    {"rectifier", "bdf3", 0.01, 1e-5},
               {"pmsm-drive", "adaptive", 0.01, 1e-4},   {"slider-crank", "adaptive", 0.5, 1e-2},
               {"motor-thermal", "adaptive", 0.1, 1e-2}, {"dc-motor", "rk4", 1e-2, 1e-4}};
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.model, c.method));
    const Model model = shipped_model(c.model);
    const std::string name = parameter_names(model, false).front();
    CompiledModelOptions options = request([&] { return shipped_model(c.model); }, {name}, c.method);
    options.simulation.stop = c.stop;
    options.simulation.sample = c.sample;
    if (options.simulation.method != "adaptive") options.simulation.step = c.sample;
    const CompiledModel compiled(options);
    ModelInstance instance(compiled);
    instance.run();
    instance.set(scaled(compiled, 1.03));
    const SimulationResult later = instance.run();
    options.read = [&] {
      Model other = shipped_model(c.model);
      set_parameters(other, std::array{study_parameter(other, name)}, scaled(compiled, 1.03));
      return other;
    };
    const CompiledModel fresh(options);
    EXPECT_EQ(later.values, ModelInstance(fresh).run().values);
  }
}

TEST(CompiledModel, a_number_out_of_bounds_leaves_the_last) {
  const CompiledModel compiled(request([] { return model_of(divider); }, {"R", "T"}, "bdf2"));
  ModelInstance instance(compiled);
  const Rows before = instance.run().values;
  EXPECT_THROW(instance.set(std::array{-1.0, 2e-3}), ModelError);
  EXPECT_EQ(instance.run().values, before);
}

TEST(CompiledModel, wrong_names_are_told_at_once) {
  CompiledModelOptions options = request([] { return model_of(divider); }, {"Rr", "C"}, "bdf2");
  options.outputs = {"c.w"};
  try {
    const CompiledModel compiled(options);
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults().size(), 3u);
  }
}

}  // namespace compiled_model_test
}  // namespace tellegen
