// Mechanisms: the worked models against their references, joints against each other, and what is said to
// mechanisms that cannot be.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "tellegen/results/trajectory.h"
#include "tellegen/simulate/test_run.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
const fs::path models = TELLEGEN_SOURCE_DIR "/models";

// Largest difference of a column from the reference's, at the reference's times.
double largest_error(const Trajectory& run, const Trajectory& reference, const std::string& name,
                     const std::string& expected, double scale = 1.0) {
  const auto column = run.find(name), target = reference.find(expected);
  if (!column || !target) {
    ADD_FAILURE() << "no column " << (column ? expected : name);
    return 1e300;
  }
  double largest = 0.0;
  std::size_t row = 0;
  for (std::size_t r = 0; r < reference.rows(); ++r) {
    while (row + 1 < run.rows() && run.t[row] < reference.t[r] - 1e-9) ++row;
    EXPECT_NEAR(run.t[row], reference.t[r], 1e-9);
    largest = std::max(largest, std::abs(scale * run.at(row, *column) - reference.at(r, *target)));
  }
  return largest;
}

class MechanismModels : public testing::Test {
 protected:
  Trajectory run(std::vector<std::string> arguments) {
    const std::string file = (folder_ / "run.csv").string();
    arguments.insert(arguments.end(), {"--output", file});
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return read_csv(file);
  }
  static std::string model(const std::string& path) { return (models / path).string(); }
  TestFolder folder_;
};

TEST_F(MechanismModels, a_pendulum_swings_as_the_closed_form_says_through_either_tree) {
  const Trajectory reference = read_csv(models / "simple-pendulum/solution.csv");
  for (const char* file : {"simple-pendulum/model.toml", "simple-pendulum/absolute.toml"}) {
    SCOPED_TRACE(file);
    const Trajectory run = this->run({"sensitivity", model(file), "--of", "a,a_dot", "--wrt", "L,g"});
    EXPECT_LT(largest_error(run, reference, "a", "a"), 1e-9);
    EXPECT_LT(largest_error(run, reference, "a_dot", "a_dot"), 1e-9);
    EXPECT_LT(largest_error(run, reference, "d(a)/d(L)", "a_L"), 1e-8);
    EXPECT_LT(largest_error(run, reference, "d(a)/d(g)", "a_g"), 1e-8);
  }
}

TEST_F(MechanismModels, a_sliding_pendulum_and_all_its_sensitivities_are_those_of_the_reference) {
  const std::map<std::string, std::vector<std::string>> cases{
      {"solution.csv", {}}, {"solution_30deg.csv", {"--set", "s_start=0.5", "--set", "th_start=30deg"}}};
  for (const auto& [file, start] : cases) {
    SCOPED_TRACE(file);
    const Trajectory reference = read_csv(models / "sliding-pendulum" / file);
    std::vector<std::string> arguments{"sensitivity", model("sliding-pendulum/model.toml"),
                                       "--of",        "s,theta",
                                       "--wrt",       "L,m1,m2,k,xi,r,s0,g"};
    arguments.insert(arguments.end(), start.begin(), start.end());
    const Trajectory run = this->run(arguments);
    for (const std::string of : {"s", "theta"}) {
      EXPECT_LT(largest_error(run, reference, of, of), 1e-9);
      for (const std::string by : {"L", "m1", "m2", "k", "xi", "r", "s0", "g"})
        EXPECT_LT(largest_error(run, reference, fmt::format("d({})/d({})", of, by),
                                fmt::format("d_{}_d_{}", of, by)),
                  1e-8)
            << of << " by " << by;
    }
  }
}

TEST_F(MechanismModels, a_pendulum_in_three_dimensions_keeps_its_invariants_in_angles_and_quaternion) {
  const Trajectory reference = read_csv(models / "pendulum-3d/solution.csv");
  const Trajectory run = this->run({"sensitivity", model("pendulum-3d/model.toml"), "--of",
                                    "zeta,eta,xi,E,spin,vertical", "--wrt", "L,g"});
  for (const std::string of : {"zeta", "eta", "xi"}) {
    EXPECT_LT(largest_error(run, reference, of, of), 1e-8);
    for (const std::string by : {"L", "g"})
      EXPECT_LT(largest_error(run, reference, fmt::format("d({})/d({})", of, by), of + "_" + by), 1e-6);
  }
  const auto expect_constants = [](const Trajectory& t) {
    for (const char* name : {"E", "spin", "vertical"}) {
      const auto column = t.find(name).value();
      for (std::size_t r = 0; r < t.rows(); ++r)
        ASSERT_NEAR(t.at(r, column), t.at(0, column), 1e-10) << name << " in row " << r;
    }
  };
  expect_constants(run);
  const Trajectory turned = this->run({"simulate", model("pendulum-3d/quaternion.toml")});
  for (const std::string of : {"tip_x", "tip_y", "tip_z"})
    EXPECT_LT(largest_error(turned, reference, of, of), 1e-8);
  expect_constants(turned);
  // Where the second angle is a quarter turn, the angles end and the quaternion does not.
  std::string spinning = get(model("pendulum-3d/quaternion.toml"));
  const std::string start = "wx0 = 0.3, wz0 = 0.1";
  ASSERT_NE(spinning.find(start), std::string::npos);
  spinning.replace(spinning.find(start), start.size(), "wx0 = 2, wy0 = 5, wz0 = -3");
  spinning.insert(spinning.find("\n\n[simulation]"), "\nsine_of_eta = \"top.r13\"");
  const std::string file = (folder_ / "spinning.toml").string();
  put(file, spinning);
  const Trajectory any = this->run({"simulate", file});
  double least = 1.0, largest = -1.0;
  for (std::size_t r = 0; r < any.rows(); ++r) {
    least = std::min(least, any.at(r, any.find("sine_of_eta").value()));
    largest = std::max(largest, any.at(r, any.find("sine_of_eta").value()));
  }
  EXPECT_LT(least, -0.99);
  EXPECT_GT(largest, 0.99);
  expect_constants(any);
}

// In the angles of crank and rod and the slide's place, and in the two angles alone. K is both constants of
// the motor: the reference's derivatives by them are added up.
TEST_F(MechanismModels, a_motor_drives_a_slider_crank_as_the_reference_says_in_three_coordinates_and_in_two) {
  const Trajectory reference = read_csv(models / "slider-crank/solution.csv");
  const std::vector<std::string> by{"L1", "L2", "m1", "m2", "m3", "r1", "r2", "xi", "L", "R", "C", "K"};
  for (const char* file : {"slider-crank/model.toml", "slider-crank/two-coordinates.toml"}) {
    SCOPED_TRACE(file);
    const Trajectory run = this->run({"sensitivity", model(file), "--of", "alpha,alpha_dot,i_L,beta,s",
                                      "--wrt", fmt::format("{}", fmt::join(by, ","))});
    for (const std::string of : {"alpha", "alpha_dot", "i_L", "beta", "s"})
      EXPECT_LT(largest_error(run, reference, of, of), 1e-7) << of;
    for (const std::string of : {"alpha", "alpha_dot", "i_L"})
      for (const std::string& p : by)  // mH and mF
        EXPECT_LT(largest_error(run, reference, fmt::format("d({})/d({})", of, p),
                                fmt::format("d_{}_d_{}", of, p), p == "L" || p == "C" ? 1e3 : 1.0),
                  1e-5)
            << of << " by " << p;
    EXPECT_NEAR(run.at(0, run.find("beta").value()), 1.277954, 5e-7);
    EXPECT_NEAR(run.at(0, run.find("d(beta)/d(L2)").value()), 0.201008, 5e-7);
    EXPECT_LT(largest_error(run, reference, "d(beta)/d(L2)", "beta_L2"), 1e-5);
    EXPECT_LT(largest_error(run, reference, "d(s)/d(L2)", "s_L2"), 1e-5);
  }
}

TEST_F(MechanismModels, a_wishbone_guides_the_wheel_as_the_reference_says) {
  const Trajectory reference = read_csv(models / "double-wishbone/solution.csv");
  const std::string file = model("double-wishbone/model.toml");
  const Trajectory run = this->run({"simulate", file, "--step", "0.1", "--interpret"});
  EXPECT_LT(largest_error(run, reference, "camber", "camber"), 1e-10);
  EXPECT_LT(largest_error(run, reference, "toe", "toe"), 1e-10);
}

TEST_F(MechanismModels, derivatives_by_hard_points_are_differences_of_the_wishbone) {
  const std::string file = model("double-wishbone/model.toml");
  const std::map<std::string, double> points{{"Jy", 368.1}, {"Cy", 498}, {"Iz", 149.9}};
  const Trajectory run = this->run({"sensitivity", file, "--of", "camber,height", "--wrt", "Jy,Cy,Iz",
                                    "--step", "0.2", "--sample", "0.2"});
  for (const auto& [point, design] : points) {
    const auto moved = [&](double by) {
      const Trajectory t = this->run({"simulate", file, "--step", "0.2", "--sample", "0.2", "--interpret",
                                      "--set", fmt::format("{}={}mm", point, design + by)});
      std::vector<double> camber;
      for (std::size_t r = 0; r < t.rows(); ++r) camber.push_back(t.at(r, t.find("camber").value()));
      return camber;
    };
    const auto a = moved(-0.4), b = moved(-0.2), c = moved(0.2), d = moved(0.4);
    const auto column = run.find(fmt::format("d(camber)/d({})", point)).value();
    double largest = 0.0, apart = 0.0;
    ASSERT_EQ(run.rows(), a.size());
    for (std::size_t r = 0; r < run.rows(); ++r) {
      apart = std::max(apart, std::abs(run.at(r, column) - (a[r] - 8 * b[r] + 8 * c[r] - d[r]) / 2.4));
      largest = std::max(largest, std::abs(run.at(r, column)));
      const double height = run.at(r, run.find("height").value());
      if (point == "Jy" && std::abs(height - 360) > 1) {
        EXPECT_EQ(run.at(r, column) > 0, height > 360) << height;
      }
    }
    EXPECT_LT(apart, 1e-8 * largest) << point;
  }
}

TEST_F(MechanismModels, better_hard_points_keep_the_camber) {
  const auto moves = [&](const std::string& file) {
    const Trajectory run = this->run({"simulate", file, "--step", "0.1", "--interpret"});
    const auto camber = run.find("camber").value();
    double sum = 0.0;
    for (std::size_t r = 0; r < run.rows(); ++r)
      sum += std::pow(run.at(r, camber) - run.at(run.rows() / 2, camber),
                      2);  // half way up: the design position
    return sum;
  };
  const std::string design = model("double-wishbone/model.toml"), file = (folder_ / "design.toml").string(),
                    best = (folder_ / "best.toml").string();
  put(file, get(design) + R"toml(
[objectives]
change = { integral = "1e4*(atan(-(H.y - G.y)/(H.x - G.x)) - atan(-(Hy - Gy)/(Hx - Gx)))^2" }
[design]
variables = { Ay = ["460 mm", "500 mm"], By = ["480 mm", "520 mm"], Dy = ["250 mm", "280 mm"] }
minimize  = "change"
)toml");
  const Ran ran = run_program({"optimize", file, "--step", "0.1", "--output", best});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_LT(moves(best), 0.5 * moves(design));
}

std::string with_gravity(const std::string& parts) {
  return "[components]\ngravity = { kind = \"multibody.gravity\" }\n" + parts;
}

Model read(const std::string& text) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, "mechanism.toml", options);
}

const std::string body =
    "body = { kind = \"multibody.body\", at = \"f\", mass = 2, com = [0.1, -0.3, 0.2], inertia = [0.1, 0.2, "
    "0.15, 0.01, "
    "-0.02, 0.03] }\ntip = { kind = \"multibody.arm\", from = \"f\", to = \"end\", offset = [0.3, -0.4, 0.2] "
    "}\n";

struct JointCase {
  std::string kind, geometry;
};
class EveryJoint : public testing::TestWithParam<JointCase> {};

// In the tree a joint is its motion, out of it its constraints: two independent descriptions of one thing.
TEST_P(EveryJoint, moves_alike_as_a_branch_and_as_a_chord) {
  const JointCase& c = GetParam();
  const std::string base =
      "lean = { kind = \"multibody.arm\", from = \"datum\", to = \"base\", offset = [0.2, 0.1, 0], rotation "
      "= [0.3, 0.2, "
      "-0.1] }\n";
  const Model branch = read(with_gravity(
      base +
      fmt::format("j = {{ kind = \"multibody.{}\", from = \"base\", to = \"f\"{} }}\n", c.kind, c.geometry) +
      body));
  const Model chord = read(with_gravity(
      base + "free = { kind = \"multibody.free\", from = \"base\", to = \"f\" }\n" +
      fmt::format("j = {{ kind = \"multibody.{}\", from = \"base\", to = \"f\"{}, cut = true }}\n", c.kind,
                  c.geometry) +
      body));
  const SimulationOptions options = options_of("rk4", 0.2, 0.002);
  const std::vector<std::string> outputs{
      "end.x",  "end.y",  "end.z",  "end.vx",
      "end.vy", "end.vz", "end.ay", "mechanism.kinetic + mechanism.potential"};
  const TestRun a(branch, options, outputs), b(chord, options, outputs);
  for (const std::string& name : outputs) EXPECT_NEAR(a.last(name), b.last(name), 1e-8) << name;
  EXPECT_NEAR(a.last(outputs.back()), a.at(0, outputs.back()), 1e-8);
  EXPECT_GT(std::abs(a.last("end.vy")), 0.1);
}

INSTANTIATE_TEST_SUITE_P(, EveryJoint,
                         testing::Values(JointCase{"revolute", ""},
                                         JointCase{"prismatic", ", axis = [1, 1, 0]"},
                                         JointCase{"cylindrical", ""}, JointCase{"screw", ", pitch = 0.3"},
                                         JointCase{"universal", ""}, JointCase{"spherical", ""},
                                         JointCase{"spherical_quaternion", ""}, JointCase{"planar", ""}),
                         [](const auto& info) { return info.param.kind; });

TEST(Mechanisms, every_method_swings_a_double_pendulum_alike) {
  const Model model = read(with_gravity(R"toml(
h1 = { kind = "multibody.revolute", from = "datum", to = "f", angle0 = 0.5 }
b1 = { kind = "multibody.body", at = "f", mass = 1, com = [0, -0.5, 0], inertia = [0, 0, 0.05] }
a1 = { kind = "multibody.arm", from = "f", to = "e", offset = [0, -1, 0] }
h2 = { kind = "multibody.revolute", from = "e", to = "g", angle0 = 0.5 }
b2 = { kind = "multibody.body", at = "g", mass = 1, com = [0, -0.5, 0], inertia = [0, 0, 0.05] }
)toml"));
  const double expected = TestRun(model, options_of("rk4", 1.0, 1e-3), {"h2.angle"}).last("h2.angle");
  for (const auto& [method, error] :
       std::map<std::string, double>{{"tr", 1e-5}, {"bdf2", 1e-4}, {"bdf3", 1e-5}, {"adaptive", 1e-4}})
    EXPECT_NEAR(
        TestRun(model, options_of(method, 1.0, method == "tr" ? 5e-4 : 1e-3), {"h2.angle"}).last("h2.angle"),
        expected, error)
        << method;
}

const std::string four_bar = with_gravity(R"toml(
crank  = { kind = "multibody.revolute", from = "datum", to = "f1", angle0 = 1.0, speed0 = 3 }
b1     = { kind = "multibody.cylinder", at = "f1", mass = 1, length = 0.3, radius = 0.02 }
a1     = { kind = "multibody.arm", from = "f1", to = "e1", offset = [0.3, 0, 0] }
pin    = { kind = "multibody.revolute", from = "e1", to = "f2", angle0 = -0.5 }
b2     = { kind = "multibody.cylinder", at = "f2", mass = 2, length = 0.9, radius = 0.02 }
a2     = { kind = "multibody.arm", from = "f2", to = "e2", offset = [0.9, 0, 0] }
ground = { kind = "multibody.arm", from = "datum", to = "g", offset = [1, 0, 0] }
rocker = { kind = "multibody.revolute", from = "g", to = "f3", angle0 = 1.5 }
b3     = { kind = "multibody.cylinder", at = "f3", mass = 1.5, length = 0.7, radius = 0.02 }
a3     = { kind = "multibody.arm", from = "f3", to = "e3", offset = [0.7, 0, 0] }
close  = { kind = "multibody.revolute", from = "e2", to = "e3" }
)toml");

TEST(Mechanisms, a_four_bar_stays_closed_and_keeps_its_energy) {
  const std::string energy = "mechanism.kinetic + mechanism.potential";
  SimulationOptions options = options_of("rk4", 1.0, 1e-3);
  options.balance = Balance::on;
  const TestRun run(read(four_bar), options,
                    {"e3.x - e2.x", "e3.y - e2.y", "e3.vx - e2.vx", "e3.vy - e2.vy", energy, "crank.angle"});
  for (std::size_t r = 0; r < run.rows(); r += 100) {
    EXPECT_NEAR(run.at(r, "e3.x - e2.x"), 0.0, 1e-12);
    EXPECT_NEAR(run.at(r, "e3.y - e2.y"), 0.0, 1e-12);
    EXPECT_NEAR(run.at(r, "e3.vx - e2.vx"), 0.0, 1e-11);
    EXPECT_NEAR(run.at(r, "e3.vy - e2.vy"), 0.0, 1e-11);
    EXPECT_NEAR(run.at(r, energy), run.at(0, energy), 1e-8);
  }
  EXPECT_GT(run.last("crank.angle"), 2.0);
  ASSERT_TRUE(run.result.balance && run.result.balance->checked);
  EXPECT_LT(run.result.balance->error, 1e-8);
}

// A million steps. What is not closed is measured by the longest link, and by the fastest point.
TEST_F(MechanismModels, a_four_bar_stays_closed_and_keeps_its_energy_over_a_million_steps) {
  const std::string file = (folder_ / "four-bar.toml").string();
  put(file, four_bar + R"toml(
[outputs]
energy = "mechanism.kinetic + mechanism.potential"
open = "sqrt((e3.x - e2.x)^2 + (e3.y - e2.y)^2)"
apart = "sqrt((e3.vx - e2.vx)^2 + (e3.vy - e2.vy)^2)"
fast = "sqrt(e1.vx^2 + e1.vy^2)"
turned = "crank.angle"
[simulation]
method = "rk4"
stop = 100
step = 1e-4
sample = 0.05
)toml");
  const Trajectory run = this->run({"simulate", file});
  const auto at = [&](std::size_t r, const char* name) { return run.at(r, run.find(name).value()); };
  double fastest = 0, largest = 0;
  for (std::size_t r = 0; r < run.rows(); ++r) {
    fastest = std::max(fastest, at(r, "fast"));
    largest = std::max(largest, std::abs(at(r, "energy")));
  }
  for (std::size_t r = 0; r < run.rows(); ++r) {
    ASSERT_LE(at(r, "open"), 1e-10) << r;  // of 1 m
    ASSERT_LE(at(r, "apart"), 1e-9 * fastest) << r;
    ASSERT_NEAR(at(r, "energy"), at(0, "energy"), 1e-8 * largest) << r;
  }
  EXPECT_GT(std::abs(at(run.rows() - 1, "turned")), 10.0);
}

TEST(Mechanisms, a_circuit_in_space_may_be_plane_without_saying_so) {
  // The same linkage and gravity, both leaning: some of the equations are redundant, and not to the letter.
  std::string text = four_bar;
  for (std::size_t at; (at = text.find("from = \"datum\"")) != std::string::npos;)
    text.replace(at, 14, "from = \"base\"");
  text.insert(text.find("multibody.gravity\"") + 18,
              ", g = [0, \"-9.80665*cos(0.5)\", \"-9.80665*sin(0.5)\"]");
  text.insert(
      text.find("crank "),
      "lean = { kind = \"multibody.arm\", from = \"datum\", to = \"base\", rotation = [0.5, 0, 0] }\n");
  const TestRun plane(read(four_bar), options_of("rk4", 0.1, 1e-3), {"crank.angle"});
  const TestRun leaning(read(text), options_of("rk4", 0.1, 1e-3),
                        {"crank.angle", "e3.x - e2.x", "e3.y - e2.y", "e3.z - e2.z"});
  for (const char* gap : {"e3.x - e2.x", "e3.y - e2.y", "e3.z - e2.z"})
    EXPECT_NEAR(leaning.last(gap), 0.0, 1e-12);
  EXPECT_NEAR(leaning.last("crank.angle"), plane.last("crank.angle"), 1e-9);
}

TEST(Mechanisms, a_shaft_adds_the_inertia_that_it_turns) {
  const std::string pendulum = R"toml(
b = { kind = "multibody.body", at = "f", mass = 1, com = [0, -0.5, 0], inertia = [0, 0, )toml";
  const Model alone =
      read(with_gravity("h = { kind = \"multibody.revolute\", from = \"datum\", to = \"f\", angle0 = 0.5 }" +
                        pendulum + "0.35] }\n"));
  const Model driven =
      read(with_gravity("h = { kind = \"multibody.revolute_shaft\", from = \"datum\", to = \"f\", angle0 = "
                        "0.5, r = \"shaft\", c = \"datum\" }"
                        "\nrotor = { kind = \"rotational.inertia\", p = \"shaft\", J = 0.3 }" +
                        pendulum + "0.05] }\n"));
  const SimulationOptions options = options_of("rk4", 1.0, 1e-3);
  EXPECT_NEAR(TestRun(driven, options, {"h.angle"}).last("h.angle"),
              TestRun(alone, options, {"h.angle"}).last("h.angle"), 1e-12);
}

TEST(Mechanisms, springs_forces_and_rods_do_what_mechanics_says) {
  // A mass on a spring between points, pushed: x'' = (F - k (x - l) - c x')/m.
  const Model model = read(R"toml([components]
slide  = { kind = "multibody.prismatic", from = "datum", to = "f", position0 = 1 }
mass   = { kind = "multibody.body", at = "f", mass = 2 }
spring = { kind = "multibody.spring", from = "datum", to = "f", stiffness = 50, length = 0.8, damping = 3 }
push   = { kind = "multibody.force", at = "f", force = ["4*sin(3*t)", 5, 0] }
)toml");
  const Model plain = read(R"toml([components]
mass   = { kind = "translational.mass", p = "f", m = 2 }
spring = { kind = "translational.spring", p = "f", n = "datum", c = 50, x0 = 0.2 }
damper = { kind = "translational.damper", p = "f", n = "datum", d = 3 }
push   = { kind = "translational.force_source", p = "f", n = "datum", F = "-4*sin(3*t)" }
)toml");
  const SimulationOptions options = options_of("rk4", 1.0, 1e-3);
  const TestRun run(model, options, {"slide.speed", "slide.reaction_fy"});
  EXPECT_NEAR(std::abs(run.last("slide.speed")), std::abs(TestRun(plain, options, {"f.v"}).last("f.v")),
              1e-9);
  EXPECT_NEAR(run.last("slide.reaction_fy"), -5.0, 1e-12);

  // A rod keeps a free mass on a circle: the pendulum of its length.
  const TestRun rod(read(with_gravity(R"toml(
free = { kind = "multibody.planar", from = "datum", to = "f", x0 = 0.6, y0 = -0.8 }
mass = { kind = "multibody.body", at = "f", mass = 2, inertia = [0, 0, 1] }
rod  = { kind = "multibody.rod", from = "datum", to = "f", length = 1 }
)toml")),
                    options, {"f.x", "f.y", "rod.force"});
  const TestRun pendulum(read(with_gravity(R"toml(
h    = { kind = "multibody.revolute", from = "datum", to = "g", angle0 = "atan2(0.6, 0.8)" }
arm  = { kind = "multibody.arm", from = "g", to = "f", offset = [0, -1, 0] }
mass = { kind = "multibody.body", at = "f", mass = 2 }
)toml")),
                         options, {"f.x", "f.y", "h.reaction_fx", "h.reaction_fy"});
  EXPECT_NEAR(rod.last("f.x"), pendulum.last("f.x"), 1e-9);
  EXPECT_NEAR(rod.last("rod.force"),
              -std::hypot(pendulum.last("h.reaction_fx"), pendulum.last("h.reaction_fy")), 1e-7);
}

TEST(Mechanisms, gears_and_drivers_prescribe_motion_and_report_what_it_takes) {
  const TestRun run(read(R"toml([components]
h1    = { kind = "multibody.revolute", from = "datum", to = "f" }
b1    = { kind = "multibody.body", at = "f", mass = 1, inertia = [0, 0, 0.5] }
h2    = { kind = "multibody.revolute", from = "datum", to = "g" }
b2    = { kind = "multibody.body", at = "g", mass = 1, inertia = [0, 0, 0.2] }
gear  = { kind = "multibody.gear", first = "h2", second = "h1", ratio = -3 }
drive = { kind = "multibody.driver", joint = "h1", motion = "0.1*sin(2*t)" }
)toml"),
                    options_of("bdf1", 0.5, 0.1), {"h1.angle", "h2.speed", "drive.torque"});
  const double t = 0.5;
  EXPECT_NEAR(run.last("h1.angle"), 0.1 * std::sin(2 * t), 1e-12);
  EXPECT_NEAR(run.last("h2.speed"), -0.6 * std::cos(2 * t), 1e-12);
  EXPECT_NEAR(run.last("drive.torque"), -(0.5 + 9 * 0.2) * 0.4 * std::sin(2 * t), 1e-10);
}

TEST(Mechanisms, numbers_of_parts_are_parameters_of_the_model) {
  const Model model = read(four_bar);
  const auto has = [&](const std::string& name) {
    return std::any_of(model.parameters.begin(), model.parameters.end(),
                       [&](const ModelParameter& p) { return p.name == name; });
  };
  EXPECT_TRUE(has("b2.mass"));
  EXPECT_TRUE(has("a2.offset_x"));
  EXPECT_FALSE(has("a2.offset_y"));  // a zero is structure
}

// A crank through three turns, its rod on either side: angles go on where their sines come round.
TEST(Mechanisms, a_slider_crank_turns_without_iteration_and_counts_its_turns) {
  const double L1 = 0.5, L2 = 1.5;
  for (const double rod0 : {-0.3, 3.4}) {
    const Model model = read(with_gravity(fmt::format(R"toml(
h1 = {{ kind = "multibody.revolute", from = "datum", to = "f1", angle0 = 0.4, speed0 = 20 }}
b1 = {{ kind = "multibody.body", at = "f1", mass = 5, inertia = [0, 0, 2] }}
a1 = {{ kind = "multibody.arm", from = "f1", to = "e1", offset = [{}, 0, 0] }}
h2 = {{ kind = "multibody.revolute", from = "e1", to = "f2", angle0 = {} }}
b2 = {{ kind = "multibody.body", at = "f2", mass = 0.2, com = [0.7, 0, 0], inertia = [0, 0, 0.05] }}
a2 = {{ kind = "multibody.arm", from = "f2", to = "e2", offset = [{}, 0, 0] }}
p  = {{ kind = "multibody.prismatic", from = "datum", to = "s", axis = [1, 0, 0], position0 = {} }}
b3 = {{ kind = "multibody.body", at = "s", mass = 0.3 }}
c  = {{ kind = "multibody.revolute", from = "e2", to = "s", cut = true }}
)toml",
                                                      L1, rod0 - 0.4, L2, rod0 < 1 ? 1.9 : -1.0)));
    SimulationOptions options = options_of("rk4", 1.0, 1e-3);
    options.balance = Balance::on;
    const TestRun run(model, options, {"h1.angle", "h2.angle", "p.position"});
    EXPECT_EQ(run.result.statistics.iterations, 0);
    EXPECT_GT(run.last("h1.angle"), 6 * 3.1416);
    for (std::size_t r = 0; r < run.rows(); ++r) {
      const double a = run.at(r, "h1.angle"), slope = std::asin(-L1 * std::sin(a) / L2);
      const double rod = rod0 < 1 ? slope : 3.14159265358979323846 - slope;
      ASSERT_NEAR(run.at(r, "h2.angle"), rod - a, 1e-12) << r;
      ASSERT_NEAR(run.at(r, "p.position"), L1 * std::cos(a) + L2 * std::cos(rod), 1e-12) << r;
    }
    ASSERT_TRUE(run.result.balance && run.result.balance->checked);
    EXPECT_LT(run.result.balance->error, 1e-8);
  }
}

// A motor's spindle moves a table: what the screw closes counts its turns.
TEST(Mechanisms, a_screw_that_closes_a_circuit_advances_turn_after_turn) {
  const Model model = read(R"toml([components]
turn  = { kind = "multibody.revolute_shaft", from = "datum", to = "spindle", r = "shaft", c = "datum", axis = [1, 0, 0], speed0 = 40 }
rotor = { kind = "rotational.inertia", p = "shaft", J = 0.01 }
slide = { kind = "multibody.prismatic", from = "datum", to = "table", axis = [1, 0, 0], damping = 200 }
load  = { kind = "multibody.body", at = "table", mass = 20 }
nut   = { kind = "multibody.screw", from = "table", to = "spindle", axis = [1, 0, 0], pitch = -0.01 }
)toml");
  // J w' = -p F, m (p w)' = F - d p w with p = pitch/(2 pi): w falls as exp(-t d p^2/(J + m p^2)).
  const double p = 0.01 / (2 * M_PI), rate = 200 * p * p / (0.01 + 20 * p * p);
  for (const char* method : {"rk4", "tr", "adaptive"}) {
    SCOPED_TRACE(method);
    SimulationOptions options = options_of(method, 2.0, 1e-2);
    options.tolerance = 1e-7;
    const TestRun run(model, options, {"turn.angle", "slide.position", "nut.angle"});
    EXPECT_NEAR(run.last("turn.angle"), 40 / rate * -std::expm1(-2 * rate), 1e-3);
    EXPECT_NEAR(run.last("slide.position"), p * run.last("turn.angle"), 1e-9);
    EXPECT_NEAR(run.last("nut.angle"), run.last("turn.angle"), 1e-9);
  }
}

// The rocker of a crank and rocker decides the crank only until its end, and the crank passes there. From the
// same start, with the crank as the state, there is no such point.
TEST(Mechanisms, links_pass_a_dead_point_of_the_state) {
  std::string text = four_bar;
  const auto line = [&](const std::string& name) {
    const auto from = text.find(name + " "), to = text.find('\n', from) + 1;
    const std::string found = text.substr(from, to - from);
    text.erase(from, to - from);
    return found;
  };
  const std::string ground = line("ground"), rest = line("b3") + line("a3");
  line("rocker");
  text.erase(text.find("gravity ="), text.find('\n', text.find("gravity =")) - text.find("gravity =") + 1);
  const std::string rocker =
      "rocker = { kind = \"multibody.revolute\", from = \"g\", to = \"f3\", angle0 = 1.8, speed0 = -1 }\n";
  std::string led = text;
  led.insert(led.find("crank "), ground + rocker + rest);
  const auto run = [](const std::string& parts, double stop, double tolerance) {
    SimulationOptions options = options_of("adaptive", stop, 1e-2);
    options.tolerance = tolerance;
    return TestRun(read(parts), options, {"crank.angle", "crank.speed"});
  };
  const TestRun start = run(led, 0.01, 1e-9);
  text.replace(text.find("angle0 = 1.0, speed0 = 3"), 24,
               fmt::format("angle0 = {:.17g}, speed0 = {:.17g}", start.at(0, "crank.angle"),
                           start.at(0, "crank.speed")));
  const double expected = run(text + ground + rocker + rest, 3.0, 1e-9).last("crank.angle");
  EXPECT_NEAR(expected, -7.366, 1e-3);
  EXPECT_NEAR(run(led, 3.0, 1e-4).last("crank.angle"), expected, 0.1);
  EXPECT_NEAR(run(led, 3.0, 1e-7).last("crank.angle"), expected, 1e-2);
  // So near that no step passes it, the run ends there.
  SimulationOptions options = options_of("adaptive", 3.0, 1e-2);
  options.tolerance = 1e-9;
  const Model model = read(led);
  const SimulationResult last = Simulation(model, options, columns_of(model, {"crank.angle"})).run();
  if (last.failure.empty()) {
    EXPECT_NEAR(last.values.back(), expected, 1e-3);
  } else {
    EXPECT_NE(last.failure.find("'crank' is in a dead point at t = "), std::string::npos) << last.failure;
  }
}

// Joints of every kind in one tree with branches, one of them held the other way round.
const std::string long_tree = with_gravity(R"toml(
h1 = { kind = "multibody.universal", from = "datum", to = "f1", angle_10 = 0.4, angle_1_rate0 = 1.5, angle_20 = 0.3 }
b1 = { kind = "multibody.body", at = "f1", mass = 2, com = [0.1, -0.3, 0.2], inertia = [0.1, 0.2, 0.15, 0.01, -0.02, 0.03] }
a1 = { kind = "multibody.arm", from = "f1", to = "e1", offset = [0.3, -0.4, 0.2], rotation = [0.2, 0.5, -0.3] }
h2 = { kind = "multibody.prismatic", from = "e1", to = "f2", axis = [1, 2, 0], position0 = 0.1, stiffness = 300, damping = 2 }
b2 = { kind = "multibody.box", at = "f2", mass = 1, size = [0.1, 0.2, 0.3], com = [0, 0.1, 0] }
h3 = { kind = "multibody.spherical_quaternion", from = "f2", to = "f3" }
b3 = { kind = "multibody.body", at = "f3", mass = 1.5, com = [0, -0.4, 0.1], inertia = [0.1, 0.02, 0.1] }
h4 = { kind = "multibody.cylindrical", from = "f4", to = "f2", axis = [0, 0, 1], angle0 = 0.7, position0 = 0.2 }
b4 = { kind = "multibody.body", at = "f4", mass = 0.7, com = [0.3, 0, 0.1], inertia = [0.05, 0.06, 0.07] }
h5 = { kind = "multibody.revolute", from = "f4", to = "f5", axis = [0, 1, 1], angle0 = -0.5, damping = 0.1 }
b5 = { kind = "multibody.body", at = "f5", mass = 0.9, com = [0, 0.2, -0.3], inertia = [0.03, 0.04, 0.05] }
pull = { kind = "multibody.spring", from = "datum", to = "f5", stiffness = 20, length = 0.5 }
push = { kind = "multibody.torque", at = "f3", torque = [0.2, "0.3*sin(5*t)", 0] }
)toml");

TEST(Mechanisms, accelerations_by_recursion_balance_every_joint) {
  const Model model = read(long_tree);
  const auto named = std::count_if(model.kinds.begin(), model.kinds.end(), [](const Kind& kind) {
    return std::any_of(kind.variables.begin(), kind.variables.end(),
                       [](const KindVariable& v) { return v.name.starts_with("recursion_"); });
  });
  EXPECT_GE(named, 5);
  // What a joint transmits comes from Newton and Euler, link by link: along what it lets free, its effort.
  const std::string along = "(h5.reaction_my + h5.reaction_mz)/sqrt(2)",
                    slide = "(h2.reaction_fx + 2*h2.reaction_fy)/sqrt(5)";
  SimulationOptions options = options_of("rk4", 0.5, 1e-3);
  options.balance = Balance::on;
  const TestRun run(model, options,
                    {along, "h5.torque", slide, "h2.force", "h3.reaction_mx", "h3.reaction_my",
                     "h3.reaction_mz", "h1.reaction_mx", "h4.reaction_fz", "h4.reaction_mz"});
  for (std::size_t r = 0; r < run.rows(); r += 50) {
    EXPECT_NEAR(run.at(r, along), run.at(r, "h5.torque"), 1e-10);
    EXPECT_NEAR(run.at(r, slide), run.at(r, "h2.force"), 1e-10);
    for (const char* free : {"h3.reaction_mx", "h3.reaction_my", "h3.reaction_mz", "h4.reaction_fz",
                             "h4.reaction_mz", "h1.reaction_mx"})
      EXPECT_NEAR(run.at(r, free), 0.0, 1e-10) << free;
  }
  ASSERT_TRUE(run.result.balance && run.result.balance->checked);
  EXPECT_LT(run.result.balance->error, 1e-7);
  const double expected = run.last("h2.force");
  for (const char* method : {"tr", "bdf2", "adaptive"})
    EXPECT_NEAR(TestRun(model, options_of(method, 0.5, 1e-3), {"h2.force"}).last("h2.force"), expected,
                method == std::string("tr") ? 2e-2 : 2e-1)
        << method;
}

std::string chain_of(int links) {
  std::string text = "[components]\ngravity = { kind = \"multibody.gravity\", g = [0, -9.81, 0] }\n";
  for (int k = 0; k < links; ++k)
    text += fmt::format(R"toml(
h{0} = {{ kind = "multibody.revolute", from = "{1}", to = "f{0}", angle0 = {2} }}
b{0} = {{ kind = "multibody.body", at = "f{0}", mass = 1, com = [0, -0.5, 0], inertia = [0, 0, 0.08] }}
a{0} = {{ kind = "multibody.arm", from = "f{0}", to = "e{0}", offset = [0, -1, 0] }}
)toml",
                        k, k == 0 ? "datum" : fmt::format("e{}", k - 1), k == 0 ? 0.5 : 0.0);
  return text;
}

// Long enough that its instructions become loops; the interpreter knows none.
TEST(Mechanisms, a_long_chain_compiles_to_the_bits_of_the_interpreter) {
  const Model model = read(chain_of(60));
  SimulationOptions options = options_of("rk4", 0.02, 1e-3);
  const std::vector<std::string> outputs{"h0.angle", "h30.speed", "h59.angle", "h59.acceleration"};
  const TestRun interpreted(model, options, outputs);
  Simulation simulation(model, options, columns_of(model, outputs));
  simulation.integrator().compile(std::numeric_limits<double>::infinity());
  const SimulationResult compiled = simulation.run();
  EXPECT_EQ(compiled.statistics.executor, "explicit form, compiled");
  EXPECT_EQ(compiled.values, interpreted.result.values);
}

// What is wrong, where, and in which words.
struct Broken {
  std::string name, parts, code, says;
  int line;
};
class BrokenMechanism : public testing::TestWithParam<Broken> {};

TEST_P(BrokenMechanism, is_explained_by_name_and_line) {
  try {
    read("[components]\n" + GetParam().parts);
    FAIL() << "no fault";
  } catch (const ModelError& error) {
    const Fault& fault = error.faults().front();
    EXPECT_EQ(fault.code, GetParam().code);
    EXPECT_EQ(fault.place.line, GetParam().line);
    EXPECT_NE(to_text(fault).find(GetParam().says), std::string::npos) << to_text(fault);
  }
}

const std::string hinge = "h = { kind = \"multibody.revolute\", from = \"datum\", to = \"f\" }\n";

INSTANTIATE_TEST_SUITE_P(
    , BrokenMechanism,
    testing::Values(
        Broken{"frame_on_nothing", hinge + "b = { kind = \"multibody.body\", at = \"g\", mass = 1 }\n",
               "T191", "frame 'g' hangs on nothing", 3},
        Broken{"axis_of_zeros",
               "h = { kind = \"multibody.revolute\", from = \"datum\", to = \"f\", axis = [0, 0, 0] }\n",
               "T190", "'axis' of 'h' has no direction", 2},
        Broken{"rod_too_short",
               "a = { kind = \"multibody.arm\", from = \"f\", to = \"e\", offset = [1, 0, 0] }\n" + hinge +
                   "g = { kind = \"multibody.arm\", from = \"datum\", to = \"p\", offset = [3, 0, 0] }\nr = "
                   "{ kind = "
                   "\"multibody.rod\", from = \"p\", to = \"e\", length = 1 }\n",
               "T193", "the circuit that 'r' closes cannot be closed", 5},
        Broken{"driven_twice",
               hinge + "d1 = { kind = \"multibody.driver\", joint = \"h\", motion = \"t\" }\nd2 = { kind = "
                       "\"multibody.driver\", joint = \"h\", motion = \"t\" }\n",
               "T195", "driver 'd2' prescribes what other joints and drivers already decide", 4},
        Broken{"driver_of_no_joint",
               hinge + "d = { kind = \"multibody.driver\", joint = \"hh\", motion = \"t\" }\n", "T190",
               "'joint' of 'd' is 'hh', which is not a joint with one coordinate", 3},
        Broken{"motion_of_a_variable",
               hinge + "k = { kind = \"multibody.revolute\", from = \"f\", to = \"g\" }\nd = { kind = "
                       "\"multibody.driver\", joint = \"h\", motion = \"k.angle\" }\n",
               "T127", "the motion of 'd' depends on 'k.angle'", 4},
        Broken{"mass_that_varies",
               hinge + "b = { kind = \"multibody.body\", at = \"f\", mass = \"1 + t\" }\n", "T190",
               "'mass' of 'b' depends on more than parameters", 3},
        Broken{"two_gravities",
               hinge + "g1 = { kind = \"multibody.gravity\" }\ng2 = { kind = \"multibody.gravity\" }\n",
               "T190", "two components of kind 'multibody.gravity'", 4},
        Broken{"frame_not_given", "h = { kind = \"multibody.revolute\", from = \"datum\" }\n", "T112",
               "'to' of 'h' is not given", 2},
        Broken{"vector_of_two",
               "a = { kind = \"multibody.arm\", from = \"datum\", to = \"f\", offset = [1, 2] }\n", "T102",
               "'offset' of 'a' has 2 entries", 2},
        Broken{"axis_by_its_letter",
               "h = { kind = \"multibody.revolute\", from = \"datum\", to = \"f\", axis = \"z\" }\n", "T102",
               "'axis' of 'h' is not a list", 2},
        Broken{"component_called_like_a_frame",
               hinge + "f = { kind = \"multibody.body\", at = \"f\", mass = 1 }\n", "T106",
               "'f' is both a component and a frame", 2},
        Broken{
            "quaternion_in_a_circuit",
            "q = { kind = \"multibody.spherical_quaternion\", from = \"datum\", to = \"f\" }\na = { kind = "
            "\"multibody.arm\", from = \"f\", to = \"e\", offset = [1, 0, 0] }\nr = { kind = "
            "\"multibody.point_on_plane\", "
            "from = \"datum\", to = \"e\" }\n",
            "T194", "'r' decides a quaternion", 4},
        Broken{
            "closed_upside_down",
            "h = { kind = \"multibody.revolute\", from = \"datum\", to = \"f\", angle0 = 0.5 }\na = { kind = "
            "\"multibody.arm\", from = \"f\", to = \"e\", offset = [0.3, 0, 0] }\nk = { kind = "
            "\"multibody.spherical\", from = \"e\", to = \"g\", angle_10 = 2.6, angle_20 = 0.3 }\nb = { kind "
            "= "
            "\"multibody.arm\", from = \"g\", to = \"p\", offset = [0.9, 0, 0] }\nc = { kind = "
            "\"multibody.arm\", from = \"datum\", to = \"q\", offset = [1, 0, 0] }\nm = { kind = "
            "\"multibody.revolute\", from = \"q\", to = \"r\", angle0 = 1.5 }\nd = { kind = "
            "\"multibody.arm\", from = \"r\", to = \"s\", offset = [0.7, 0, 0] }\nw = { kind = "
            "\"multibody.revolute\", from = \"p\", to = \"s\", cut = true }\n",
            "T193", "is closed upside down", 9},
        Broken{
            "start_in_a_change_point",
            "h = { kind = \"multibody.revolute\", from = \"datum\", to = \"f\" }\na = { kind = "
            "\"multibody.arm\", from = \"f\", to = \"e\", offset = [1, 0, 0] }\nk = { kind = "
            "\"multibody.revolute\", from = \"e\", to = \"g\" }\nb = { kind = \"multibody.arm\", from = "
            "\"g\", to = \"p\", offset = [2, 0, 0] }\nc = { kind = \"multibody.arm\", from = \"datum\", to = "
            "\"q\", offset = [2, 0, 0] }\nm = { kind = \"multibody.revolute\", from = \"q\", to = \"r\" }\nd "
            "= "
            "{ kind = \"multibody.arm\", from = \"r\", to = \"s\", offset = [1, 0, 0] }\nw = { kind = "
            "\"multibody.revolute\", from = \"p\", to = \"s\" }\n",
            "T198", "the circuit that 'w' closes starts in a change point", 9},
        Broken{
            "shafts_all_around",
            "h = { kind = \"multibody.revolute\", from = \"datum\", to = \"f\", damping = 1 }\nk = { kind = "
            "\"multibody.revolute\", from = \"datum\", to = \"f\", damping = 1 }\n",
            "T192", "'k' closes a circuit of joints, and has a port", 3}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tellegen
