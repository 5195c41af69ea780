// Stops, bushings and tyres of mechanisms against closed forms and the balance of energy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <sstream>

#include "tellegen/simulate/test_run.h"
#include "tellegen/urdf/urdf.h"

namespace tellegen {
namespace {

Model read_mechanism(const std::string& parts) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(
      "[components]\ngravity = { kind = \"multibody.gravity\", g = [0, -10, 0] }\n" + parts, "mechanism.toml",
      options);
}

SimulationOptions located(double stop, double step) {
  SimulationOptions options = options_of("rk4", stop, step);
  options.event_bisections = 30;
  return options;
}

// A mass that falls by 0.2 m on a stop.
std::string falling_on(const std::string& stop) {
  return R"toml(
slide = { kind = "multibody.prismatic", from = "datum", to = "f", axis = [0, 1, 0], position0 = 0.2 }
mass  = { kind = "multibody.body", at = "f", mass = 2 }
stop  = { kind = "multibody.stop", joint = "slide", lower = 0, )toml" +
         stop + " }\n";
}

TEST(MechanismStop, without_damping_gives_back_what_it_took) {
  const double m = 2, k = 5e4, g = 10, h = 0.2;
  const double fall = std::sqrt(2 * h / g), w = std::sqrt(k / m), v = std::sqrt(2 * g * h);
  const double deepest = m * g / k * (1 + std::sqrt(1 + 2 * k * h / (m * g)));
  // In contact: y = -(m g/k)(1 - cos(w s)) - (v/w) sin(w s); it leaves where y = 0 again.
  const double contact = 2 * (M_PI - std::atan(v * w / g)) / w;
  const Model model = read_mechanism(falling_on("stiffness = 5e4"));
  const TestRun run(model, located(2 * fall + contact, (2 * fall + contact) / 20000),
                    {"slide.position", "slide.speed", "stop.contact", "stop.effort"});
  double lowest = 0.0;
  for (std::size_t row = 0; row < run.rows(); ++row) {
    lowest = std::min(lowest, run.at(row, "slide.position"));
    EXPECT_GE(run.at(row, "stop.effort"), 0.0);
  }
  EXPECT_NEAR(lowest, -deepest, 1e-6 * deepest);
  EXPECT_NEAR(run.last("slide.position"), h, 1e-7);
  EXPECT_NEAR(run.last("slide.speed"), 0.0, 1e-5);
  EXPECT_EQ(run.last("stop.contact"), 0.0);
  EXPECT_EQ(run.result.statistics.events, 2);
}

TEST(MechanismStop, with_damping_never_pulls_and_comes_to_rest_on_its_spring) {
  const Model model = read_mechanism(falling_on("stiffness = 5e4, damping = 150"));
  for (const char* method : {"rk4", "tr", "bdf2"}) {
    SCOPED_TRACE(method);
    SimulationOptions options = located(3.0, 1e-4);
    options.method = method;
    options.sample = 1e-3;
    const TestRun run(model, options, {"slide.position", "stop.contact", "stop.effort"});
    for (std::size_t row = 0; row < run.rows(); ++row) EXPECT_GE(run.at(row, "stop.effort"), -1e-9);
    EXPECT_NEAR(run.last("slide.position"), -2 * 10 / 5e4, 1e-9);
    EXPECT_EQ(run.last("stop.contact"), -1.0);
    EXPECT_GT(run.result.statistics.events, 2);
  }
}

TEST(MechanismStop, holds_a_hinge_on_either_side_and_balances_energy) {
  const Model model = read_mechanism(R"toml(
h    = { kind = "multibody.revolute", from = "datum", to = "f", angle0 = 0, speed0 = 6 }
bar  = { kind = "multibody.cylinder", at = "f", axis = [0, -1, 0], mass = 1, length = 0.5, radius = 0.02 }
stop = { kind = "multibody.stop", joint = "h", lower = "-20 deg", upper = "30 deg", stiffness = 4e3, damping = 2 }
)toml");
  SimulationOptions options = located(1.0, 1e-4);
  options.sample = 1e-3;
  options.balance = Balance::on;
  const TestRun run(model, options, {"h.angle", "stop.contact"});
  bool upper = false, lower = false;
  for (std::size_t row = 0; row < run.rows(); ++row) {
    upper = upper || run.at(row, "stop.contact") == 1.0;
    lower = lower || run.at(row, "stop.contact") == -1.0;
    EXPECT_LT(run.at(row, "h.angle"), M_PI / 6 + 0.1);
    EXPECT_GT(run.at(row, "h.angle"), -M_PI / 9 - 0.1);
  }
  EXPECT_TRUE(upper && lower);
  ASSERT_TRUE(run.result.balance->checked) << run.result.balance->reason;
  EXPECT_LT(run.result.balance->error, 1e-3) << run.result.balance->brief();
}

TEST(MechanismSolid, lies_along_an_axis_of_any_length) {
  for (const char* kind : {"cylinder", "tube", "cone"}) {
    SCOPED_TRACE(kind);
    const auto swung = [&](const char* axis) {
      const TestRun run(
          read_mechanism(fmt::format(R"toml(
h   = {{ kind = "multibody.spherical", from = "datum", to = "f", angle_3_rate0 = 2, angle_1_rate0 = 1 }}
bar = {{ kind = "multibody.{}", at = "f", axis = {}, mass = 1, length = 0.5, radius = 0.02{} }}
)toml",
                                     kind, axis, std::string_view(kind) == "tube" ? ", inner = 0.01" : "")),
          located(0.5, 1e-3), {"f.r31", "f.r12"});
      return std::array{run.last("f.r31"), run.last("f.r12")};
    };
    const auto once = swung("[0.6, -0.8, 0]"), more = swung("[3, -4, 0]");
    EXPECT_NEAR(more[0], once[0], 1e-12);
    EXPECT_NEAR(more[1], once[1], 1e-12);
  }
}

TEST(MechanismBushing, swings_as_springs_along_its_axes_do) {
  const TestRun run(read_mechanism(R"toml(
free = { kind = "multibody.free", from = "datum", to = "f", x0 = 0.1, z0 = -0.05, angle_30 = 0.01 }
mass = { kind = "multibody.body", at = "f", mass = 2, inertia = [0.1, 0.2, 0.3] }
rubber = { kind = "multibody.bushing", from = "datum", to = "f", stiffness = [800, 1000, 200], damping = [4, 3, 0], turning_stiffness = [10, 20, 30], turning_damping = [0, 0, 0.6] }
)toml"),
                    options_of("rk4", 1.0, 1e-3), {"free.x", "free.y", "free.z", "free.angle_3"});
  const auto damped = [](double start, double m, double k, double d) {
    return [=](double t) {
      const double s = d / (2 * m), w = std::sqrt(k / m - s * s);
      return start * std::exp(-s * t) * (std::cos(w * t) + s / w * std::sin(w * t));
    };
  };
  EXPECT_LT(run.largest_error("free.x", damped(0.1, 2, 800, 4)), 1e-9);
  EXPECT_LT(run.largest_error("free.z", damped(-0.05, 2, 200, 0)), 1e-9);
  const auto sag = damped(1.0, 2, 1000, 3);
  EXPECT_LT(run.largest_error("free.y", [&](double t) { return -0.02 * (1 - sag(t)); }), 1e-9);
  // The moment is that of the sine.
  EXPECT_LT(run.largest_error("free.angle_3", damped(0.01, 0.3, 30, 0.6)), 1e-6);
}

TEST(MechanismBushing, neither_makes_nor_takes_energy_in_large_turns) {
  SimulationOptions options = options_of("rk4", 2.0, 5e-4);
  options.sample = 1e-2;
  options.balance = Balance::on;
  const TestRun run(read_mechanism(R"toml(
h     = { kind = "multibody.revolute", from = "datum", to = "carrier", axis = [1, 0.3, 0], speed0 = 2 }
block = { kind = "multibody.body", at = "carrier", mass = 1, com = [0, 0.1, 0], inertia = [0.1, 0.1, 0.2] }
free  = { kind = "multibody.free_quaternion", from = "datum", to = "f", x0 = 0.1, wx0 = 3, wy0 = 4, wz0 = 5 }
mass  = { kind = "multibody.body", at = "f", mass = 2, com = [0.02, 0, 0.01], inertia = [0.1, 0.2, 0.25] }
rubber = { kind = "multibody.bushing", from = "carrier", to = "f", stiffness = [800, 1000, 200], turning_stiffness = [4, 9, 2] }
)toml"),
                    options, {"mechanism.kinetic + mechanism.potential", "mechanism.kinetic"});
  const std::string energy = "mechanism.kinetic + mechanism.potential";
  EXPECT_LT(run.largest_error(energy, [&](double) { return run.at(0, energy); }), 1e-7);
  ASSERT_TRUE(run.result.balance->checked) << run.result.balance->reason;
  EXPECT_LT(run.result.balance->error, 1e-4) << run.result.balance->brief();
}

const std::string rolling = R"toml(
ahead = { kind = "multibody.prismatic", from = "datum", to = "x", axis = [1, 0, 0], speed0 = 10 }
aside = { kind = "multibody.prismatic", from = "x", to = "z", axis = [0, 0, 1], applied = "if(t > 1, 30, 0)" }
heave = { kind = "multibody.prismatic", from = "z", to = "hub", axis = [0, 1, 0], position0 = 0.35 }
wheel = { kind = "multibody.body", at = "hub", mass = 20 }
)toml";

TEST(MechanismTyre, carries_its_load_and_slips_as_far_as_the_side_force_asks) {
  SimulationOptions options = located(4.0, 2e-4);
  options.sample = 1e-2;
  const TestRun run(read_mechanism(rolling + R"toml(
tyre = { kind = "multibody.tyre", from = "datum", to = "hub", radius = 0.3, stiffness = 2e5, damping = 800, cornering = 8 }
)toml"),
                    options,
                    {"tyre.load", "tyre.lateral", "tyre.slip", "tyre.contact", "heave.position",
                     "aside.speed", "ahead.speed"});
  EXPECT_EQ(run.at(0, "tyre.load"), 0.0);  // 5 cm over the road
  EXPECT_EQ(run.at(0, "tyre.contact"), 0.0);
  EXPECT_NEAR(run.last("tyre.load"), 200.0, 1e-6);
  EXPECT_NEAR(run.last("heave.position"), 0.3 - 200 / 2e5, 1e-9);
  EXPECT_NEAR(run.last("tyre.lateral"), -30.0, 1e-5);
  const double slip = std::atanh(30.0 / 200) / 8;
  EXPECT_NEAR(run.last("tyre.slip"), slip, 1e-6);
  EXPECT_NEAR(run.last("aside.speed"), std::tan(slip) * 10, 1e-3);
  EXPECT_NEAR(run.last("ahead.speed"), 10.0, 1e-9);  // it rolls
  for (std::size_t row = 0; row < run.rows(); ++row) EXPECT_GE(run.at(row, "tyre.load"), -1e-9);
}

TEST(MechanismTyre, pushes_no_harder_sideways_than_friction_allows) {
  SimulationOptions options = located(2.0, 2e-4);
  options.sample = 1e-2;
  options.balance = Balance::on;
  const TestRun run(read_mechanism(rolling + R"toml(
push = { kind = "multibody.force", at = "hub", force = [0, 0, 400] }
tyre = { kind = "multibody.tyre", from = "datum", to = "hub", radius = 0.3, stiffness = 2e5, damping = 800, cornering = 8, friction = 0.7 }
)toml"),
                    options, {"tyre.load", "tyre.lateral"});
  EXPECT_NEAR(run.last("tyre.lateral"), -0.7 * run.last("tyre.load"), 1e-2);
  ASSERT_TRUE(run.result.balance->checked) << run.result.balance->reason;
  EXPECT_LT(run.result.balance->error, 1e-3) << run.result.balance->brief();
}

TEST(MechanismTyre, on_a_moving_road_gives_the_road_its_reaction) {
  SimulationOptions options = located(4.0, 2e-4);
  options.sample = 1e-2;
  const TestRun run(read_mechanism(R"toml(
deck  = { kind = "multibody.prismatic", from = "datum", to = "road", axis = [0, 1, 0], stiffness = 1e4, damping = 500 }
plate = { kind = "multibody.body", at = "road", mass = 30 }
heave = { kind = "multibody.prismatic", from = "datum", to = "hub", axis = [0, 1, 0], position0 = 0.3 }
wheel = { kind = "multibody.body", at = "hub", mass = 20 }
tyre  = { kind = "multibody.tyre", from = "road", to = "hub", radius = 0.3, stiffness = 2e5, damping = 800 }
)toml"),
                    options, {"tyre.load", "deck.position"});
  EXPECT_NEAR(run.last("tyre.load"), 200.0, 1e-3);
  EXPECT_NEAR(run.last("deck.position"), -500.0 / 1e4, 1e-6);
}

// Six drives of the library on a robot from a URDF file, under the control of the model as it is shipped.
TEST(RobotArm, follows_its_reference_and_its_powers_add_up_to_nothing) {
  const Model model = shipped_model("robot-arm");
  SimulationOptions options = as_the_model_says();
  options.balance = Balance::by_component;
  const std::string joints[] = {"turn", "shoulder", "bend", "roll", "nod", "spin"};
  const double wanted[] = {1.2, 0.9, 0.8, -1.0, 0.7, 1.5};
  std::vector<std::string> outputs{"mechanism.kinetic", "mechanism.potential"};
  for (int k = 0; k < 6; ++k) {
    outputs.push_back(fmt::format("{}*progress - {}.angle", wanted[k], joints[k]));
    outputs.push_back(fmt::format("drive_{}.winding.T", k + 1));
  }
  const TestRun run(model, complete_options(model, options), outputs);
  for (int k = 0; k < 6; ++k) {
    EXPECT_LT(run.largest_error(outputs[2 + 2 * k], [](double) { return 0.0; }), 5e-4) << joints[k];
    EXPECT_NEAR(run.last(outputs[2 + 2 * k]), 0.0, 1e-5) << joints[k];
    EXPECT_GT(run.last(outputs[3 + 2 * k]), run.at(0, outputs[3 + 2 * k])) << joints[k];
  }
  EXPECT_LT(run.last("mechanism.kinetic"), 1e-6);
  // The shoulder and the elbow have let everything behind them down (place and mass of arm.urdf).
  const double a = 0.9, b = 0.9 + 0.8;
  const double beyond_elbow = 3 * 0.075 + (2.2 + 1.2 + 4.5) * 0.15 + 2.2 * 0.1 + (1.2 + 4.5) * 0.2;
  const double beyond_wrist = 1.2 * 0.04 + 4.5 * 0.08 + 2.5 * 0.05 + 2 * 0.1;
  const double beyond_shoulder = 6 * 0.2 + (3 + 2.2 + 1.2 + 4.5) * 0.4;
  // The wrist's axis has been rolled out of the plane of the arm: direction of the last links.
  const double roll = -1.0, nod = 0.7,
               down = std::cos(b) * std::cos(nod) - std::sin(b) * std::sin(nod) * std::cos(roll);
  EXPECT_NEAR(run.at(0, "mechanism.potential") - run.last("mechanism.potential"),
              9.80665 * (beyond_shoulder * (1 - std::cos(a)) + beyond_elbow * (1 - std::cos(b)) +
                         beyond_wrist * (1 - down)),
              1e-3);
  ASSERT_TRUE(run.result.balance->checked && run.result.balance->to_the_end) << run.result.balance->reason;
  EXPECT_LT(run.result.balance->error, 1e-5) << run.result.balance->brief();
  ASSERT_TRUE(run.result.balance->power_checked);
  EXPECT_LT(run.result.balance->power_error, 1e-9) << run.result.balance->power_error_domain;
}

// Rotors without states of their own couple all accelerations: of explicit steps that was a circle of names.
TEST(MechanismDrive, rotors_on_a_chain_of_fourteen_joints_have_formulas) {
  std::string parts, from = "datum";
  for (int k = 0; k < 14; ++k) {
    parts += fmt::format(
        "h{0} = {{ kind = \"multibody.revolute_shaft\", from = \"{1}\", to = \"f{0}\", r = \"s{0}\", c = "
        "\"datum\", "
        "angle0 = 0.1, damping = 0.1 }}\n"
        "b{0} = {{ kind = \"multibody.body\", at = \"f{0}\", mass = 1, com = [0, -0.15, 0], inertia = [0.01, "
        "0, "
        "0.01] }}\n"
        "a{0} = {{ kind = \"multibody.arm\", from = \"f{0}\", to = \"e{0}\", offset = [0, -0.3, 0] }}\n"
        "g{0} = {{ kind = \"rotational.gear\", p = \"m{0}\", r = \"s{0}\", c = \"datum\", ratio = 30 }}\n"
        "r{0} = {{ kind = \"rotational.inertia\", p = \"m{0}\", J = 2e-5 }}\n",
        k, from);
    from = fmt::format("e{}", k);
  }
  const Model model = read_mechanism(parts);
  SimulationOptions options = options_of("rk4", 0.2, 1e-3);
  options.compile = false;
  const TestRun explicit_run(model, options, {"e13.x"});
  EXPECT_EQ(explicit_run.result.statistics.executor, "explicit form, interpreted");
  options.method = "tr";
  options.step = 2.5e-4;
  const TestRun implicit_run(model, options, {"e13.x"});
  EXPECT_NEAR(explicit_run.last("e13.x"), implicit_run.last("e13.x"), 1e-6);
}

TEST(MechanismStart, a_speed_that_nothing_follows_from_is_noted) {
  const auto notes = [](const std::string& crank, const std::string& slide) {
    std::vector<std::string> said;
    ReadOptions options;
    options.library = TELLEGEN_SOURCE_DIR "/library";
    options.notes = &said;
    read_model_text(
        "[components]\ncrank = { kind = \"multibody.revolute\", from = \"datum\", to = \"disc\"" + crank +
            " }\nround = { kind = \"multibody.sphere\", at = \"disc\", mass = 1, radius = 0.1 }\n"
            "pin = { kind = \"multibody.arm\", from = \"disc\", to = \"end\", offset = [0.1, 0, 0] }\n"
            "slide = { kind = \"multibody.prismatic\", from = \"datum\", to = \"yoke\", axis = [1, 0, 0]" +
            slide +
            " }\nslot = { kind = \"multibody.point_on_line\", from = \"yoke\", to = \"end\", axis = [0, 1, "
            "0] }\n",
        "yoke.toml", options);
    return said;
  };
  EXPECT_TRUE(notes(", speed0 = 2", "").empty());
  EXPECT_TRUE(notes(", speed0 = 2", ", speed0 = 1").empty());
  const auto said = notes("", ", speed0 = 1");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("yoke.toml:5: note: the speed that 'slide' is given"), std::string::npos) << said[0];
}

TEST(RobotArm, is_what_its_urdf_file_says) {
  const std::string folder = TELLEGEN_SOURCE_DIR "/models/robot-arm/";
  std::ifstream file(folder + "model.toml");
  std::stringstream text;
  text << file.rdbuf();
  std::istringstream converted(convert_urdf(folder + "arm.urdf").toml);
  int parts = 0;
  for (std::string line; std::getline(converted, line);)
    if (line.find("multibody.body") != line.npos || line.find("multibody.arm") != line.npos) {
      ++parts;
      EXPECT_NE(text.str().find(line), std::string::npos) << line;
    }
  EXPECT_EQ(parts, 13);
}

struct WrongLoad {
  std::string name, part, code, says;
};
class WrongMechanismLoad : public testing::TestWithParam<WrongLoad> {};

TEST_P(WrongMechanismLoad, is_explained_by_name_and_line) {
  try {
    read_mechanism("h = { kind = \"multibody.revolute\", from = \"datum\", to = \"f\" }\n" + GetParam().part);
    FAIL() << "no fault";
  } catch (const ModelError& error) {
    const Fault& fault = error.faults().front();
    EXPECT_EQ(fault.code, GetParam().code);
    EXPECT_EQ(fault.place.line, 4);
    EXPECT_NE(to_text(fault).find(GetParam().says), std::string::npos) << to_text(fault);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , WrongMechanismLoad,
    testing::Values(
        WrongLoad{"stop_of_no_joint",
                  "s = { kind = \"multibody.stop\", joint = \"g\", upper = 1, stiffness = 1 }\n", "T190",
                  "'joint' of 's' is 'g', which is not a joint with one coordinate"},
        WrongLoad{"stop_without_a_joint", "s = { kind = \"multibody.stop\", upper = 1, stiffness = 1 }\n",
                  "T112", "'joint' of 's' is not given"},
        WrongLoad{"stops_crossed",
                  "s = { kind = \"multibody.stop\", joint = \"h\", lower = 2, upper = 1, stiffness = 1 }\n",
                  "T133", "the upper stop lies above the lower one"},
        WrongLoad{"stop_that_moves",
                  "s = { kind = \"multibody.stop\", joint = \"h\", upper = \"1 + t\", stiffness = 1 }\n",
                  "T190", "'upper' of 's' depends on more than parameters"},
        WrongLoad{"bushing_without_end",
                  "b = { kind = \"multibody.bushing\", from = \"f\", stiffness = [1, 1, 1] }\n", "T112",
                  "'to' of 'b' is not given"},
        WrongLoad{"bushing_of_two",
                  "b = { kind = \"multibody.bushing\", from = \"datum\", to = \"f\", stiffness = [1, 1] }\n",
                  "T102", "'stiffness' of 'b' has 2 entries"},
        WrongLoad{"road_without_normal",
                  "w = { kind = \"multibody.tyre\", from = \"datum\", to = \"f\", radius = 1, stiffness = 1, "
                  "normal = [0, 0, "
                  "0] }\n",
                  "T190", "'normal' of 'w' has no direction"},
        WrongLoad{"tyre_of_no_size",
                  "w = { kind = \"multibody.tyre\", from = \"datum\", to = \"f\", stiffness = 1 }\n", "T113",
                  "'radius'"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tellegen
