#include "tellegen/identify/experiment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/identifiability/identifiability.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace experiment_test {

Model read_text_model(const std::string& text) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, "test.toml", options);
}

ExperimentOptions options_for(const Model& model, double step) {
  ExperimentOptions options;
  options.sensors = model.estimation.sensors;
  for (const int u : model.estimation.unknowns) options.parameters.push_back(model.unknowns[u].parameter);
  options.step = step;
  return options;
}

// A resistor under a constant current: the deviation is noise/(A sqrt(readings)), so that A and the length go
// to their limits.
constexpr const char* resistor = R"toml(
[parameters]
R = 2
A = 1
T = 10
[components]
i = { kind = "electrical.current_source", p = "datum", n = "a", I = "A" }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = "R" }
[sensors]
v = { measures = "a.v", noise = 0.1 }
[unknowns]
R = {}
[simulation]
stop = "T"
step = 1
[objectives]
v_max = { maximum = "a.v" }
[experiment]
variables = { A = [0.1, 20], T = [5, 40] }
constraints = ["v_max <= 7"]
)toml";

TEST(Experiment, goes_to_the_limits_where_more_tells_more) {
  const Model model = read_text_model(resistor);
  const ExperimentResult found = design_experiment(model, options_for(model, 1.0));
  EXPECT_NEAR(found.before.worst, 0.1 / std::sqrt(11.0) / 2.0, 1e-9);
  EXPECT_NEAR(found.best.numbers[0], 3.5, 0.01);
  EXPECT_LE(found.best.broken, 1e-6);
  EXPECT_NEAR(found.best.worst, 0.1 / (3.5 * std::sqrt(41.0)) / 2.0, 0.01 * found.best.worst);
}

// A sine into a low-pass, whose corner is to be found: a grid of frequencies has no better one.
TEST(Experiment, finds_the_frequency_that_a_grid_finds) {
  const Model model = read_text_model(R"toml(
[parameters]
R = 1
C = 0.5
f = 0.01
[inputs]
u = "sin(2*pi*f*t)"
[components]
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "u" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "C", v0 = 0 }
[sensors]
v = { measures = "b.v", noise = 0.01 }
[unknowns]
C = {}
[simulation]
stop = 10
step = 0.05
[experiment]
variables = { f = [0.01, 10] }
)toml");
  const ExperimentOptions options = options_for(model, 0.1);
  const ExperimentResult found = design_experiment(model, options);
  double least = 1e9;
  Model tried = model;
  for (int k = 0; k <= 60; ++k) {
    const double f = 0.01 * std::pow(1000.0, k / 60.0);
    const int variable = model.experiment->variables[0].parameter;
    set_parameters(tried, std::span(&variable, 1), std::span(&f, 1));
    const Knowledge known =
        parameter_knowledge(tried, planned_record(options.sensors, 0.0, 10.0, 0.1), options.parameters, 1.0);
    least = std::min(least, known.deviation[0] / 0.5);
  }
  EXPECT_LT(found.best.worst, 1.001 * least);
  EXPECT_LT(found.best.worst, 0.5 * found.before.worst);
}

TEST(Experiment, says_what_no_experiment_tells_and_what_no_limit_allows) {
  std::string text = resistor;
  text.replace(text.find("[unknowns]"), 10, "[unknowns]\nR2 = {}");
  text.replace(text.find("R = 2\n"), 6, "R = 2\nR2 = 3\n");
  text.replace(text.find("R = \"R\""), 7, "R = \"R + R2\"");
  const Model model = read_text_model(text);
  const ExperimentResult open = design_experiment(model, options_for(model, 1.0));
  EXPECT_TRUE(std::isinf(open.best.worst));
  EXPECT_FALSE(open.known.sentences(false).empty());

  text = resistor;
  text.replace(text.find("v_max <= 7"), 10, "v_max <= 0.01");
  const Model tight = read_text_model(text);
  EXPECT_GT(design_experiment(tight, options_for(tight, 1.0)).best.broken, 1e-6);
}

TEST(Experiment, needs_a_section_with_variables) {
  std::string text = resistor;
  const Model model = read_text_model(text.substr(0, text.find("[experiment]")));
  EXPECT_THROW(design_experiment(model, options_for(model, 1.0)), ModelError);
  text.replace(text.find("variables"), 9, "variable");
  EXPECT_THROW(read_text_model(text), ModelError);
}

}  // namespace experiment_test
}  // namespace tellegen
