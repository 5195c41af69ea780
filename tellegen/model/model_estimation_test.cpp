// [sensors] with limits, [unknowns], [estimate] and [calibrate]: what is read, and what is wrong with it.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tellegen/model/read.h"

namespace tellegen {
namespace model_estimation_test {

constexpr const char* network = R"toml(
[parameters]
Q0 = { value = 10, unit = "W" }
R1 = { value = 1000, unit = "mK/W" }
R2 = "2*R1"
[inputs]
room = { value = "300", unit = "K" }
[components]
source = { kind = "thermal.heat_source",       p = "datum", n = "n1", Q = "Q0" }
r1     = { kind = "thermal.resistor",          p = "n1", n = "n2", R = "R1" }
c1     = { kind = "thermal.capacitor",         p = "n2", n = "datum", C = "0.1 J/K", T0 = "299 K" }
r2     = { kind = "thermal.resistor",          p = "n2", n = "n3", R = "R2" }
air    = { kind = "thermal.fixed_temperature", p = "n3", T = "room" }
[outputs]
P = "r2.Q"
)toml";

constexpr const char* sensors = R"toml(
[sensors]
T1 = { measures = "n1.T", noise = "0.5 K" }
T2 = { measures = "n2.T", noise = "0.5 degC", unit = "degC", between = ["-40 degC", "125 degC"], stuck = "2 s" }
)toml";

Model read(const std::string& text) {
  return read_model_text(network + text, "test.toml", {TELLEGEN_SOURCE_DIR "/library", {}});
}

std::string faults_of(const std::string& text) {
  try {
    read(text);
    return "";
  } catch (const ModelError& error) {
    return error.what();
  }
}

struct Wrong {
  const char *text, *said;
};

void expect_faults(std::initializer_list<Wrong> all) {
  for (const Wrong& w : all) {
    const std::string fault = faults_of(std::string(sensors) + w.text);
    EXPECT_NE(fault.find(w.said), std::string::npos) << w.text << "\nshould say: " << w.said << "\n" << fault;
  }
}

TEST(Estimation, sensors_have_limits_in_si) {
  const Model model = read(sensors);
  EXPECT_FALSE(model.outputs[0].lowest);
  EXPECT_FALSE(model.outputs[0].stuck);
  EXPECT_NEAR(*model.outputs[1].lowest, 233.15, 1e-12);
  EXPECT_NEAR(*model.outputs[1].highest, 398.15, 1e-12);
  EXPECT_EQ(*model.outputs[1].stuck, 2.0);
  EXPECT_NEAR(*model.outputs[1].noise, 0.5, 1e-12);
}

TEST(Estimation, wrong_limits_are_faults) {
  for (const Wrong& w :
       std::initializer_list<Wrong>{{"between = [1, 2, 3]", "T162: 'between' of sensor 'T' needs two bounds"},
                                    {"between = \"1 K\"", "T162: 'between' of sensor 'T' needs two bounds"},
                                    {"between = [\"10 K\", \"1 K\"]",
                                     "T162: 'between' of sensor 'T' leaves nothing between its bounds"},
                                    {"between = [\"10 V\", \"20 K\"]", "T123"},
                                    {"stuck = \"0 s\"", "T124: 'stuck' of sensor 'T' must be above 0"},
                                    {"stuck = \"2 K\"", "T123"},
                                    {"betwen = [1, 2]", "did you mean 'between'?"}}) {
    const std::string fault =
        faults_of(std::string("[sensors]\nT = { measures = \"n1.T\", ") + w.text + " }\n");
    EXPECT_NE(fault.find(w.said), std::string::npos) << w.text << "\n" << fault;
  }
}

TEST(Estimation, unknowns_say_what_is_known_of_them) {
  const Model model = read(std::string(sensors) + R"toml(
[unknowns]
Q0     = { start = "0.2 kW", deviation = "50 W", walk = "1 W", over = "4 s" }
R1     = { start = "10 mK/W", between = ["1 mK/W", "1 K/W"], coordinate = "inverse", keep = 0.25 }
"c1.C" = { varies = "constant", coordinate = "log" }
)toml");
  ASSERT_EQ(model.unknowns.size(), 3u);
  const ModelUnknown &q = model.unknowns[0], &r = model.unknowns[1], &c = model.unknowns[2];
  EXPECT_EQ(model.parameters[q.parameter].name, "Q0");
  EXPECT_EQ(*q.start, 200.0);
  EXPECT_EQ(*q.deviation, 50.0);
  EXPECT_EQ(q.varies, ModelUnknown::Varies::walk);
  EXPECT_EQ(q.walk, 0.5);  // of one second: half of what it is after four
  EXPECT_EQ(q.coordinate, ModelUnknown::Coordinate::automatic);
  EXPECT_NEAR(*r.start, 0.01, 1e-15);
  EXPECT_NEAR(*r.lower, 0.001, 1e-15);
  EXPECT_NEAR(*r.upper, 1.0, 1e-15);
  EXPECT_EQ(r.coordinate, ModelUnknown::Coordinate::inverse);
  EXPECT_EQ(r.keep, 0.25);
  EXPECT_EQ(model.parameters[c.parameter].name, "c1.C");
  EXPECT_FALSE(c.start);
  EXPECT_EQ(c.coordinate, ModelUnknown::Coordinate::logarithm);
}

TEST(Estimation, names_with_a_dot_may_be_written_without_quotes) {
  const Model model = read("[unknowns]\nc1.C = { start = 2.0 }\n");
  ASSERT_EQ(model.unknowns.size(), 1u);
  EXPECT_EQ(model.parameters[model.unknowns[0].parameter].name, "c1.C");
}

TEST(Estimation, wrong_unknowns_are_faults) {
  expect_faults({
      {"[unknowns]\nR3 = {}", "T140"},
      {"[unknowns]\nR2 = {}", "T160: unknown 'R2' follows from other parameters"},
      {"[unknowns]\nR2 = {}", "find what it is made of: 'R1'"},
      {"[unknowns]\nR1 = { varies = \"wlk\" }", "T161: 'varies' of unknown 'R1' cannot be 'wlk'"},
      {"[unknowns]\nR1 = { varies = \"wlk\" }", "did you mean 'walk'?"},
      {"[unknowns]\nR1 = { coordinate = \"1/R\" }", "it is one of 'auto', 'value', 'inverse', 'log'"},
      {"[unknowns]\nR1 = { varies = \"walk\" }", "T161: unknown 'R1' varies, and nothing says how far"},
      {"[unknowns]\nR1 = { varies = \"oscillator\" }",
       "T161: unknown 'R1' is an oscillator without a frequency"},
      {"[unknowns]\nR1 = { start = \"1 W\" }", "T123"},
      {"[unknowns]\nR1 = { start = \"two\" }",
       "T102: 'start' of unknown 'R1' must be a number or a quantity"},
      {"[unknowns]\nR1 = { deviation = \"-1 K/W\" }", "T124: 'deviation' of unknown 'R1' must be at least 0"},
      {"[unknowns]\nR1 = { keep = 1.5 }", "T124: 'keep' of unknown 'R1' must be at most 1"},
      {"[unknowns]\nR1 = { between = [1] }", "T162: 'between' of unknown 'R1' needs two bounds"},
      {"[unknowns]\nR1 = { between = [\"2 K/W\", \"1 K/W\"] }", "leaves nothing between its bounds"},
      {"[unknowns]\nR1 = { between = [\"2 K/W\", \"3 K/W\"] }",
       "T162: the start of unknown 'R1' is not between"},
      {"[unknowns]\nQ0 = { start = \"0 W\", coordinate = \"inverse\" }",
       "must be above 0 in this coordinate"},
      {"[unknowns]\nR1 = 3", "T102"},
      {"[unknowns]\nR1 = { strt = 1.0 }", "did you mean 'start'?"},
  });
}

TEST(Estimation, takes_all_sensors_and_unknowns_unless_told_otherwise) {
  const Model all = read(std::string(sensors) + "[unknowns]\nR1 = {}\nQ0 = {}\n");
  EXPECT_EQ(all.estimation.sensors, (std::vector<int>{0, 1}));
  EXPECT_EQ(all.estimation.unknowns, (std::vector<int>{0, 1}));
  EXPECT_EQ(all.estimation.estimator, "ekf");
  EXPECT_EQ(all.estimation.resample, "exact");
  const Model some = read(std::string(sensors) + R"toml(
[unknowns]
R1 = {}
Q0 = {}
[estimate]
estimator = "ukf"
sensors   = ["T2"]
unknowns  = ["Q0", "c1.C"]
inputs    = ["room", "R1"]
step      = "2 ms"
late      = "10 ms"
gate      = 0.999
resample  = "linear"
[estimate.states]
"*.dT"  = { deviation = "1 K", noise = "1 mK", over = "4 s" }
c1.dT   = { start = "20 K", rate_noise = 3.0, keep = 0.5 }
)toml");
  const ModelEstimation& e = some.estimation;
  EXPECT_EQ(e.estimator, "ukf");
  EXPECT_EQ(e.sensors, std::vector<int>{1});
  ASSERT_EQ(e.unknowns.size(), 2u);
  EXPECT_EQ(e.unknowns[0], 1);
  EXPECT_EQ(some.parameters[some.unknowns[e.unknowns[1]].parameter].name, "c1.C");  // not in [unknowns]
  EXPECT_EQ(e.inputs, (std::vector<std::string>{"room", "R1"}));
  EXPECT_EQ(*e.step, 0.002);
  EXPECT_EQ(e.late, 0.01);
  EXPECT_EQ(*e.gate, 0.999);
  EXPECT_EQ(e.resample, "linear");
  ASSERT_EQ(e.states.size(), 2u);
  EXPECT_EQ(e.states[0].pattern, "*.dT");
  EXPECT_EQ(*e.states[0].deviation, 1.0);
  EXPECT_NEAR(e.states[0].noise, 0.0005, 1e-15);
  EXPECT_EQ(e.states[1].pattern, "c1.dT");
  EXPECT_EQ(*e.states[1].start, 20.0);
  EXPECT_EQ(e.states[1].keep, 0.5);
}

TEST(Estimation, wrong_estimations_are_faults) {
  expect_faults({
      {"[estimate]\nsensors = [\"T3\"]", "T163: there is no sensor 'T3'"},
      {"[estimate]\nsensors = [\"T3\"]", "sensors: 'T1', 'T2'"},
      {"[estimate]\nsensors = [\"P\"]", "T163: there is no sensor 'P'"},
      {"[estimate]\nsensors = \"T1\"", "T102"},
      {"[estimate]\nunknowns = [\"R9\"]", "T140"},
      {"[estimate]\ninputs = [\"rom\"]", "T163: there is no input or parameter 'rom'"},
      {"[estimate]\ninputs = [\"rom\"]", "did you mean 'room'?"},
      {"[estimate]\nresample = \"near\"", "T161: 'resample' of [estimate] cannot be 'near'"},
      {"[estimate]\ngate = 1.5", "T124: 'gate' of [estimate] must lie between 0 and 1"},
      {"[estimate]\nstep = \"0 s\"", "T124"},
      {"[estimate.states]\nc1.dT = { keep = 1.5 }",
       "T124: 'keep' of state 'c1.dT' of [estimate] must be at most 1"},
      {"[estimate]\nstep = \"1 K\"", "T123"},
      {"[estimate]\nstates = { \"c1.dT\" = { noise = \"1 W\" } }", "T123"},
      {"[estimate]\nstates = { \"c1.dT\" = { nois = 1.0 } }", "did you mean 'noise'?"},
      {"[estimate]\nestimater = \"ekf\"", "did you mean 'estimator'?"},
  });
}

TEST(Estimation, calibration_is_one_stage_or_several) {
  const Model one =
      read(std::string(sensors) +
           "[calibrate]\nparameters = [\"R1\"]\nsensors = [\"T2\"]\nwindow = [\"4 s\", \"5 s\"]\n");
  ASSERT_EQ(one.calibration.size(), 1u);
  EXPECT_EQ(one.parameters[one.unknowns[one.calibration[0].parameters[0]].parameter].name, "R1");
  EXPECT_EQ(one.calibration[0].sensors, std::vector<int>{1});
  EXPECT_EQ(*one.calibration[0].from, 4.0);
  EXPECT_EQ(*one.calibration[0].to, 5.0);
  const Model two =
      read(std::string(sensors) +
           "[calibrate]\nstages = [{ parameters = [\"R1\"] }, { parameters = [\"c1.C\", \"Q0\"] }]\n");
  ASSERT_EQ(two.calibration.size(), 2u);
  EXPECT_EQ(two.calibration[1].parameters.size(), 2u);
  EXPECT_FALSE(two.calibration[1].from);
}

TEST(Estimation, wrong_calibrations_are_faults) {
  expect_faults({
      {"[calibrate]\nsensors = [\"T1\"]", "T161: a stage of [calibrate] has no 'parameters'"},
      {"[calibrate]\nparameters = [\"R7\"]", "T140"},
      {"[calibrate]\nparameters = [\"R1\"]\nwindow = [\"4 s\"]",
       "T162: 'window' of [calibrate] needs two times"},
      {"[calibrate]\nparameters = [\"R1\"]\nwindow = [\"5 s\", \"4 s\"]",
       "T162: the window of [calibrate] is empty"},
      {"[calibrate]\nparameters = [\"R1\"]\nwindow = [\"5 K\", \"4 s\"]", "T123"},
      {"[calibrate]\nstages = 3", "T102"},
      {"[calibrate]\nparameter = [\"R1\"]", "did you mean 'parameters'?"},
  });
}

}  // namespace model_estimation_test
}  // namespace tellegen
