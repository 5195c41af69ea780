// Frames as ports of subsystems and in arrays, joints that close circuits, and mechanisms that begin in
// equilibrium.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tellegen/equations/sensitivity_graph.h"
#include "tellegen/model/mechanism_trees.h"
#include "tellegen/results/test_folder.h"
#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace {

void write(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

Model read_text(const std::string& text, const std::filesystem::path& file = "mechanism.toml") {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, file, options);
}

const std::string gravity =
    "[components]\ngravity = { kind = \"multibody.gravity\", g = [0, \"-9.81 m/s2\", 0] }\n";

// A leg of two links, and what stands on two of them.
const std::string leg = R"toml([parameters]
length = "0.4 m"
bent = 0.2
[ports]
hip = "top"
foot = "sole"
[components]
thigh = { kind = "multibody.revolute", from = "top", to = "upper", angle0 = "bent", stiffness = 90, damping = 2 }
bone  = { kind = "multibody.body", at = "upper", mass = 2, com = [0, "-length/2", 0], inertia = [0, 0, 0.03] }
to_knee = { kind = "multibody.arm", from = "upper", to = "knee_pin", offset = [0, "-length", 0] }
knee  = { kind = "multibody.revolute", from = "knee_pin", to = "lower", angle0 = "-2*bent", stiffness = 60, damping = 1 }
shin  = { kind = "multibody.body", at = "lower", mass = 1, com = [0, "-length/2", 0], inertia = [0, 0, 0.02] }
to_sole = { kind = "multibody.arm", from = "lower", to = "sole", offset = [0, "-length", 0] }
)toml";

std::string leg_written_out(const std::string& name, const std::string& hip, const std::string& foot,
                            double length) {
  return fmt::format(R"toml(
thigh_{0} = {{ kind = "multibody.revolute", from = "{1}", to = "upper_{0}", angle0 = 0.2, stiffness = 90, damping = 2 }}
bone_{0}  = {{ kind = "multibody.body", at = "upper_{0}", mass = 2, com = [0, {3}, 0], inertia = [0, 0, 0.03] }}
to_knee_{0} = {{ kind = "multibody.arm", from = "upper_{0}", to = "knee_pin_{0}", offset = [0, {4}, 0] }}
knee_{0}  = {{ kind = "multibody.revolute", from = "knee_pin_{0}", to = "lower_{0}", angle0 = -0.4, stiffness = 60, damping = 1 }}
shin_{0}  = {{ kind = "multibody.body", at = "lower_{0}", mass = 1, com = [0, {3}, 0], inertia = [0, 0, 0.02] }}
to_sole_{0} = {{ kind = "multibody.arm", from = "lower_{0}", to = "{2}", offset = [0, {4}, 0] }}
)toml",
                     name, hip, foot, -length / 2, -length);
}

const std::string trunk = gravity + R"toml(
rail  = { kind = "multibody.prismatic", from = "datum", to = "body", axis = [1, 0, 0], speed0 = 1 }
trunk = { kind = "multibody.body", at = "body", mass = 5 }
side  = { kind = "multibody.arm", from = "body", to = "right_hip", offset = [0.2, 0, 0] }
load  = { kind = "multibody.body", at = "right_foot", mass = 0.5 }
)toml";

TEST(MechanismPort, a_subsystem_is_joined_to_frames_as_if_it_were_written_out) {
  const TestFolder folder;
  write(folder / "leg.toml", leg);
  const Model used = read_text(trunk + R"toml(
left  = { model = "leg.toml", hip = "body", foot = "left_foot" }
right = { model = "leg.toml", hip = "right_hip", foot = "right_foot", length = "0.5 m" }
)toml",
                               folder / "model.toml");
  const Model flat = read_text(trunk + leg_written_out("l", "body", "left_foot", 0.4) +
                               leg_written_out("r", "right_hip", "right_foot", 0.5));
  const SimulationOptions options = options_of("rk4", 0.5, 1e-3);
  const TestRun a(used, options, {"left_foot.x", "right_foot.y", "left.knee.angle", "right.lower.x"});
  const TestRun b(flat, options, {"left_foot.x", "right_foot.y", "knee_l.angle", "lower_r.x"});
  for (std::size_t k = 0; k < a.result.names.size(); ++k)
    EXPECT_NEAR(a.last(a.result.names[k]), b.last(b.result.names[k]), 1e-12) << a.result.names[k];
  EXPECT_GT(std::abs(a.last("right_foot.y") + 0.9), 1e-3);
}

TEST(MechanismPort, leads_through_subsystems_and_may_be_the_ground) {
  const TestFolder folder;
  write(folder / "leg.toml", leg);
  write(folder / "pair.toml", R"toml([ports]
hips = "pelvis"
[components]
one = { model = "leg.toml", hip = "pelvis", foot = "foot_1" }
two = { model = "leg.toml", hip = "pelvis", foot = "foot_2", bent = 0.3 }
tie = { kind = "multibody.spring", from = "foot_1", to = "foot_2", stiffness = 100 }
stop = { kind = "multibody.stop", joint = "two.knee", upper = 0.1, stiffness = 500 }
)toml");
  const Model model = read_text(gravity +
                                    "legs = { model = \"pair.toml\", hips = \"datum\" }\n[outputs]\nsole = "
                                    "\"legs.one.sole.x\"\nhip = \"legs.two.top.x\"\n",
                                folder / "model.toml");
  const TestRun run(
      model, options_of("rk4", 0.1, 1e-3),
      {"legs.foot_1.x", "sole", "legs.one.knee_pin.x", "legs.one.lower.r12", "hip", "legs.two.knee.angle"});
  EXPECT_EQ(run.last("sole"), run.last("legs.foot_1.x"));
  EXPECT_NEAR(run.last("legs.foot_1.x"),
              run.last("legs.one.knee_pin.x") - 0.4 * run.last("legs.one.lower.r12"), 1e-12);
  EXPECT_EQ(run.last("hip"), 0.0);
}

TEST(MechanismPort, wrong_ones_are_explained) {
  const TestFolder folder;
  write(folder / "leg.toml", leg);
  const auto said = [&](const std::string& parts) {
    try {
      read_text(gravity + parts, folder / "model.toml");
    } catch (const ModelError& error) {
      return to_text(error.faults().front());
    }
    return std::string("no fault");
  };
  EXPECT_NE(
      said("a = { model = \"leg.toml\", hip = \"datum\" }\n").find("port 'foot' of 'a' is not connected"),
      std::string::npos);
  EXPECT_NE(said("a = { model = \"leg.toml\", hip = \"datum\" }\n").find("add foot = \"frame\" to it"),
            std::string::npos);
  EXPECT_NE(said("a = { model = \"leg.toml\", hip = \"nowhere\", foot = \"f\" }\n").find("hangs on nothing"),
            std::string::npos);
  EXPECT_NE(said("a = { model = \"leg.toml\", hip = 3, foot = \"f\" }\n").find("port 'hip' of 'a'"),
            std::string::npos);
}

TEST(MechanismArray, frames_and_joints_have_indices) {
  const Model array = read_text(gravity + R"toml(
root = { kind = "multibody.weld", from = "datum", to = "e[0]" }
h = { kind = "multibody.revolute", count = 3, from = "e[i-1]", to = "f[i]", angle0 = 0.3 }
b = { kind = "multibody.body", count = 3, at = "f[i]", mass = "1 + 0.1*i", com = [0, -0.5, 0], inertia = [0, 0, 0.08] }
a = { kind = "multibody.arm", count = 3, from = "f[i]", to = "e[i]", offset = [0, -1, 0] }
)toml");
  std::string parts = gravity, from = "datum";
  for (int k = 1; k <= 3; ++k) {
    parts += fmt::format(R"toml(
h{0} = {{ kind = "multibody.revolute", from = "{1}", to = "f{0}", angle0 = 0.3 }}
b{0} = {{ kind = "multibody.body", at = "f{0}", mass = {2}, com = [0, -0.5, 0], inertia = [0, 0, 0.08] }}
a{0} = {{ kind = "multibody.arm", from = "f{0}", to = "e{0}", offset = [0, -1, 0] }}
)toml",
                         k, from, 1 + 0.1 * k);
    from = fmt::format("e{}", k);
  }
  const SimulationOptions options = options_of("rk4", 0.3, 1e-3);
  EXPECT_NEAR(TestRun(array, options, {"e[3].x"}).last("e[3].x"),
              TestRun(read_text(parts), options, {"e3.x"}).last("e3.x"), 1e-12);
}

// The same four-bar, opened at either of two hinges: what is said of a joint does not depend on where.
std::string four_bar(const std::string& pin, const std::string& close) {
  return gravity + fmt::format(R"toml(
crank  = {{ kind = "multibody.revolute", from = "datum", to = "f1", angle0 = 1.0, speed0 = 3 }}
b1     = {{ kind = "multibody.cylinder", at = "f1", mass = 1, length = 0.3, radius = 0.02 }}
a1     = {{ kind = "multibody.arm", from = "f1", to = "e1", offset = [0.3, 0, 0] }}
pin    = {{ kind = "multibody.revolute", from = "e1", to = "f2", angle0 = -0.5{} }}
b2     = {{ kind = "multibody.cylinder", at = "f2", mass = 2, length = 0.9, radius = 0.02 }}
a2     = {{ kind = "multibody.arm", from = "f2", to = "e2", offset = [0.9, 0, 0] }}
ground = {{ kind = "multibody.arm", from = "datum", to = "g", offset = [1, 0, 0] }}
rocker = {{ kind = "multibody.revolute", from = "g", to = "f3", angle0 = 1.5 }}
b3     = {{ kind = "multibody.cylinder", at = "f3", mass = 1.5, length = 0.7, radius = 0.02 }}
a3     = {{ kind = "multibody.arm", from = "f3", to = "e3", offset = [0.7, 0, 0] }}
close  = {{ kind = "multibody.revolute", from = "e2", to = "e3"{} }}
)toml",
                               pin, close);
}

TEST(MechanismClosing, a_joint_moves_and_carries_the_same_in_the_tree_and_out_of_it) {
  std::vector<std::string> outputs;
  for (const char* joint : {"pin", "close", "rocker"})
    for (const char* what : {"angle", "speed", "acceleration", "reaction_fx", "reaction_fy", "reaction_mz"})
      outputs.push_back(fmt::format("{}.{}", joint, what));
  const SimulationOptions options = options_of("rk4", 0.3, 1e-3);
  const TestRun a(read_text(four_bar("", ", cut = true")), options, outputs);
  const TestRun b(read_text(four_bar(", cut = true", "")), options, outputs);
  for (const std::string& name : outputs)
    for (const std::size_t row : {std::size_t{0}, a.rows() - 1}) {
      const double turns = name.ends_with("angle") ? 2 * 3.14159265358979323846 : 1e300;
      EXPECT_NEAR(std::remainder(a.at(row, name) - b.at(row, name), turns), 0.0, 1e-7) << name;
    }
  EXPECT_GT(std::abs(a.last("close.reaction_fx")), 0.1);
}

// A screw, a slide and a plane, each as a chord beside a free joint.
TEST(MechanismClosing, slides_and_planes_show_their_motion) {
  const auto model = [](const std::string& joint, bool cut) {
    return read_text(gravity +
                     "lean = { kind = \"multibody.arm\", from = \"datum\", to = \"base\", offset = [0.2, "
                     "0.1, 0], rotation = [0.3, 0.2, -0.1] }\n" +
                     (cut ? "free = { kind = \"multibody.free\", from = \"base\", to = \"f\" }\n" : "") +
                     fmt::format("j = {{ kind = \"multibody.{}, from = \"base\", to = \"f\"{} }}\n", joint,
                                 cut ? ", cut = true" : "") +
                     "body = { kind = \"multibody.body\", at = \"f\", mass = 2, com = [0.1, -0.3, 0.2], "
                     "inertia = [0.1, 0.2, 0.15] }\n");
  };
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases{
      {"prismatic\", axis = [1, 1, 0]", {"position", "speed", "acceleration"}},
      {"cylindrical\"",
       {"position", "angle", "position_rate", "angle_rate", "position_acceleration", "angle_acceleration"}},
      {"screw\", pitch = 0.3", {"angle", "angle_rate", "angle_acceleration"}},
      {"planar\"",
       {"x", "y", "angle", "x_rate", "y_rate", "angle_rate", "x_acceleration", "angle_acceleration"}}};
  for (const auto& [joint, variables] : cases) {
    std::vector<std::string> outputs;
    for (const std::string& v : variables) outputs.push_back("j." + v);
    for (const char* axis : {"fx", "fy", "fz", "mx", "my", "mz"})
      outputs.push_back(fmt::format("j.reaction_{}", axis));
    const SimulationOptions options = options_of("rk4", 0.1, 1e-3);
    const TestRun branch(model(joint, false), options, outputs), chord(model(joint, true), options, outputs);
    for (const std::string& name : outputs)
      EXPECT_NEAR(branch.last(name), chord.last(name), 1e-8) << joint << ": " << name;
  }
}

TEST(MechanismStart, in_equilibrium_nothing_moves) {
  const auto start = [](const std::string& parts, const std::vector<std::string>& outputs) {
    return TestRun(read_text(gravity + parts), options_of("rk4", 0.2, 1e-3), outputs);
  };
  // A mass on a spring between points: m g = k (l - x).
  const TestRun hung = start(R"toml(
slide = { kind = "multibody.prismatic", from = "datum", to = "f", axis = [0, -1, 0], position0 = 1 }
mass = { kind = "multibody.body", at = "f", mass = 2 }
spring = { kind = "multibody.spring", from = "datum", to = "f", stiffness = 500, length = 0.8 }
[initial]
steady = "mechanism"
)toml",
                             {"slide.position", "slide.speed"});
  EXPECT_NEAR(hung.at(0, "slide.position"), 0.8 + 2 * 9.81 / 500, 1e-9);
  EXPECT_NEAR(hung.last("slide.position"), 0.8 + 2 * 9.81 / 500, 1e-9);
  EXPECT_NEAR(hung.last("slide.speed"), 0.0, 1e-9);
  // In a circuit: what follows from the crank stands still with it.
  const TestRun bars(read_text(four_bar("", "") + "\n[initial]\nsteady = \"mechanism\"\n"),
                     options_of("rk4", 0.2, 1e-3), {"crank.angle", "rocker.angle", "crank.acceleration"});
  EXPECT_NEAR(bars.last("crank.angle"), bars.at(0, "crank.angle"), 1e-8);
  EXPECT_NEAR(bars.last("rocker.angle"), bars.at(0, "rocker.angle"), 1e-8);
  EXPECT_GT(std::abs(bars.at(0, "crank.angle") - 1.0), 1e-3);
  // A rotor on the shaft of a hinge has the state of the speed.
  const TestRun driven = start(R"toml(
h = { kind = "multibody.revolute_shaft", from = "datum", to = "f", r = "s", c = "datum", angle0 = 0.1, stiffness = 20 }
b = { kind = "multibody.body", at = "f", mass = 1, com = [1, 0, 0] }
rotor = { kind = "rotational.inertia", p = "s", J = 0.3 }
[initial]
steady = "mechanism"
)toml",
                               {"h.angle", "20*h.angle + 9.81*cos(h.angle)"});
  EXPECT_NEAR(driven.at(0, "20*h.angle + 9.81*cos(h.angle)"), 0.0, 1e-9);
  EXPECT_NEAR(driven.last("h.angle"), driven.at(0, "h.angle"), 1e-9);
}

// The pendulum of the thesis, Figure 4.4: its hinge and the plane joint of its centre, either in the tree,
// for the system and for the sensitivities (equation 4.70 is the third). In closed form a_L = -(t/(2 L)) a'.
TEST(MechanismTrees, of_system_and_sensitivities_may_differ) {
  const std::string pendulum = R"toml([parameters]
L = "1 m"
a0 = "30 deg"
[components]
gravity = { kind = "multibody.gravity", g = [0, -9.8, 0] }
centre  = { kind = "multibody.planar", from = "datum", to = "middle", angle0 = "a0", x0 = "L/2*sin(a0)", y0 = "-L/2*cos(a0)" }
bar     = { kind = "multibody.body", at = "middle", mass = 1, inertia = [0, 0, "L^2/12"] }
arm     = { kind = "multibody.arm", from = "middle", to = "end", offset = [0, "L/2", 0] }
h       = { kind = "multibody.revolute", from = "datum", to = "end", angle0 = "a0" }
)toml";
  ReadOptions reading;
  reading.library = TELLEGEN_SOURCE_DIR "/library";
  for (const std::string system : {"h", "centre"})
    for (const std::string own : {"h", "centre"}) {
      SCOPED_TRACE(system + ", sensitivities " + own);
      MechanismTrees trees{{system}, {own}};
      const Model model = read_model_text(pendulum, "pendulum.toml", reading, trees);
      const Model combined = with_sensitivities(model, std::vector<std::string>{"L"}, trees.differentiated);
      const std::string rate = system == "h" ? "h.speed" : "centre.angle_rate";
      EXPECT_TRUE(find_variable(combined, own + ".angle_L"));
      const auto x = find_variable(combined, "centre.x_L");
      EXPECT_EQ(x && x->what == VariableRef::What::internal, own == "centre");
      const TestRun run(combined, options_of("rk4", 10, 1e-3), {own + ".angle_L", rate});
      for (std::size_t r = 0; r < run.rows(); r += 100)
        ASSERT_NEAR(run.at(r, own + ".angle_L"), -run.result.t[r] / 2 * run.at(r, rate), 1e-8)
            << run.result.t[r];
    }
}

TEST(MechanismTrees, that_cannot_be_are_refused) {
  ReadOptions reading;
  reading.library = TELLEGEN_SOURCE_DIR "/library";
  const auto said = [&](const std::string& parts, MechanismTrees trees) {
    try {
      read_model_text(gravity + parts, "mechanism.toml", reading, trees);
    } catch (const ModelError& error) {
      return to_text(error.faults().front());
    }
    return std::string("no fault");
  };
  const std::string twice = R"toml(
h = { kind = "multibody.revolute", from = "datum", to = "f" }
k = { kind = "multibody.spherical", from = "datum", to = "f" }
b = { kind = "multibody.body", at = "f", mass = 1, com = [0, -1, 0], inertia = [1, 1, 1] }
)toml";
  EXPECT_NE(said(twice, {{"h", "k"}, {}}).find("T222"), std::string::npos);
  EXPECT_NE(said(twice, {{"h"}, {"k"}}).find("T197"), std::string::npos);
}

// In a chain of so many links the last one stood still without a word.
TEST(Mechanisms, a_long_chain_whose_last_link_has_no_mass_is_explained_by_the_joint) {
  std::string text = "[components]\n", from = "datum";
  for (int k = 0; k < 9; ++k) {
    const std::string axis = k % 3 == 0 ? "[1, 0, 0]" : k % 3 == 1 ? "[0, 1, 0]" : "[0, 0, 1]";
    text +=
        fmt::format("h{0} = {{ kind = \"multibody.revolute\", from = \"{1}\", to = \"f{0}\", axis = {2} }}\n",
                    k, from, axis);
    if (k < 8)
      text += fmt::format(
          "b{0} = {{ kind = \"multibody.body\", at = \"f{0}\", mass = 1, inertia = [0.1, 0.1, 0.1] }}\n", k);
    text += fmt::format(
        "a{0} = {{ kind = \"multibody.arm\", from = \"f{0}\", to = \"e{0}\", offset = [0.5, 0.1, 0] }}\n", k);
    from = fmt::format("e{}", k);
  }
  SimulationOptions options;
  options.stop = 0.1;
  options.step = 0.01;
  try {
    const Model model = read_text(text);
    Simulation(model, complete_options(model, options), {}).run();
    FAIL() << "it ran";
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("nothing with mass moves along with 'h8'"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tellegen
