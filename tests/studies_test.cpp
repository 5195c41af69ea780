// `tellegen rank` and `tellegen optimize` from outside.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A source with inner resistance feeds a load through a switch that opens; closed forms for everything.
const std::string text = R"toml(name = "load"   # stays
[parameters]
V     = "10 V"
Ri    = { value = 50, unit = "ohm", summary = "inner resistance" }
R     = "0.12 kohm"     # the load
phase = "0 deg"
idle  = 1
[components]
source = { kind = "electrical.voltage_source", p = "s", n = "datum", V = "V*(1 + 0.1*sin(phase))" }
inner  = { kind = "electrical.resistor", p = "s", n = "out", R = "Ri" }
load   = { kind = "electrical.resistor", p = "out", n = "datum", R = "R" }
[simulation]
stop = "10 ms"
step = "1 ms"
[objectives]
power = { end = "load.v*load.i", unit = "mW" }
heat  = { integral = "inner.v*inner.i", unit = "mJ" }
never = { time_when = "load.v > 100" }
[design]
variables = { R = ["10 ohm", "0.2 kohm"] }
maximize  = "power"
)toml";

class Studies : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content = text) {
    put(folder_ / name, content);
    return (folder_ / name).string();
  }
  std::string with(const std::string& name, const std::string& old, const std::string& now) {
    std::string changed = text;
    return file(name, changed.replace(changed.find(old), old.size(), now));
  }
  Ran run(std::vector<std::string> arguments) {
    arguments.push_back("--interpret");
    return run_program(arguments);
  }
  TestFolder folder_;
};

json parameter(const json& objective, const std::string& name) {
  for (const json& p : objective.at("parameters"))
    if (p.at("name") == name) return p;
  ADD_FAILURE() << name;
  return {};
}

TEST_F(Studies, rank_tells_scores_and_derivatives_in_the_units_of_the_file) {
  const fs::path plot = folder_ / "bars.svg";
  const Ran ran = run({"rank", file("m.toml"), "--of", "power", "--json", "--plot", plot.string()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json found = json::parse(ran.out).at("points")[0].at("objectives")[0];
  EXPECT_NEAR(found.at("value").get<double>(), 1e3 * 120 * std::pow(10.0 / 170, 2), 1e-6);
  EXPECT_EQ(found.at("parameters")[0].at("name"), "V");
  EXPECT_NEAR(parameter(found, "V").at("score").get<double>(), 2.0, 1e-6);
  EXPECT_NEAR(parameter(found, "Ri").at("score").get<double>(), -2 * 50.0 / 170, 1e-6);
  EXPECT_NEAR(parameter(found, "R").at("score").get<double>(), 1 - 2 * 120.0 / 170, 1e-6);
  // Per degree, though the value is 0 and the score with it.
  const double power = found.at("value");
  EXPECT_NEAR(parameter(found, "phase").at("derivative").get<double>(), 2 * 0.1 * power * M_PI / 180, 1e-4);
  EXPECT_EQ(parameter(found, "phase").at("score"), 0.0);
  EXPECT_EQ(parameter(found, "idle").at("derivative"), 0.0);
  const std::string warnings = json::parse(ran.out).at("warnings").dump();
  EXPECT_NE(warnings.find("'idle' has no effect"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("'phase' is 0"), std::string::npos) << warnings;
  EXPECT_NE(get(plot).find("<svg"), std::string::npos);
}

TEST_F(Studies, rank_is_a_table_for_people) {
  const Ran ran = run({"rank", file("m.toml"), "--of", "power,heat", "--wrt", "Ri,load.R"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("power = 415.225 mW"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("mJ/ohm"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("load.R"), std::string::npos) << ran.out;
}

TEST_F(Studies, rank_at_several_operating_points) {
  const fs::path plot = folder_ / "curves.svg";
  const Ran ran = run({"rank", file("m.toml"), "--of", "power", "--wrt", "R,V", "--sweep",
                       "Ri=50ohm,0.12kohm,500", "--json", "--plot", plot.string()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json points = json::parse(ran.out).at("points");
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[1].at("at").at("value"), 120.0);
  EXPECT_NEAR(parameter(points[1].at("objectives")[0], "R").at("score").get<double>(), 0.0, 1e-6);
  EXPECT_TRUE(fs::exists(plot));
  const Ran table = run({"rank", file("m.toml"), "--of", "power", "--wrt", "R,V", "--sweep", "Ri=50ohm,500"});
  EXPECT_NE(table.out.find("Ri = 500 ohm"), std::string::npos) << table.out;
}

TEST_F(Studies, rank_says_what_is_wrong) {
  const std::string model = file("m.toml");
  const auto said = [&](std::vector<std::string> arguments, int code, const std::string& what) {
    arguments.insert(arguments.begin(), {"rank", model});
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_NE(ran.err.find(what), std::string::npos) << ran.err;
  };
  said({"--of", "pwoer"}, 2, "did you mean 'power'?");
  said({"--of", "power", "--wrt", "r"}, 2, "T140");
  said({"--of", "never"}, 1, "objective 'never' has no value");
  said({"--of", "power", "--sweep", "Ri=3V"}, 2, "'3V' is no value of 'Ri'");
  said({"--of", "power", "--sweep", "Ri"}, 2, "T401");
  said({"--of", "power", "--method", "adjoint", "--derivatives", "forward"}, 2, "contradict each other");
  said({"--of", "power", "--derivatives", "forwrd"}, 2, "did you mean 'forward'?");
  said({"--of", "power", "--plot", "x.pdf"}, 2, "T402");
}

TEST_F(Studies, optimize_matches_the_load_and_writes_the_model_file) {
  const std::string model = file("m.toml");
  const fs::path output = folder_ / "best.toml", plot = folder_ / "path.svg";
  const Ran ran = run({"optimize", model, "--json", "--output", output.string(), "--plot", plot.string()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json found = json::parse(ran.out);
  EXPECT_TRUE(found.at("converged").get<bool>());
  const double best = found.at("variables")[0].at("after_si");
  EXPECT_NEAR(best, 50.0, 0.05);
  EXPECT_TRUE(fs::exists(plot));
  // Everything but the number is as it was, and the number reads back.
  std::string expected = text;
  const std::string written = get(output);
  const auto at = written.find("\"", written.find("R     =")) + 1;
  const std::string number = written.substr(at, written.find(" kohm", at) - at);
  EXPECT_EQ(written, expected.replace(expected.find("0.12 kohm"), 4, number));
  const Ran again = run({"rank", output.string(), "--of", "power", "--wrt", "R", "--json"});
  const json read = json::parse(again.out).at("points")[0].at("objectives")[0];
  EXPECT_DOUBLE_EQ(parameter(read, "R").at("value").get<double>() * 1e3, best);
}

TEST_F(Studies, optimize_is_a_table_for_people) {
  const Ran ran = run({"optimize", file("m.toml"), "--minimize", "heat"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("load: minimize heat, slsqp"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("upper bound"), std::string::npos) << ran.out;
}

TEST_F(Studies, optimize_holds_constraints_and_says_what_the_start_breaks) {
  const std::string model = with("m.toml", "maximize  = \"power\"",
                                 "maximize  = \"power\"\nconstraints = [\"heat <= 5 mJ\", \"R >= 75\"]");
  const Ran ran = run({"optimize", model, "--set", "R=20", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json found = json::parse(ran.out);
  EXPECT_NEAR(found.at("variables")[0].at("after_si").get<double>(), 75, 1e-3);
  EXPECT_EQ(found.at("starts")[0].at("broken_at_start"), (json{"heat <= 5 mJ", "R >= 75"}));
  EXPECT_EQ(found.at("constraints")[1].at("state"), "active");
}

TEST_F(Studies, optimize_that_cannot_hold_or_reach_ends_with_1) {
  const Ran held = run({"optimize", with("m.toml", "maximize  = \"power\"",
                                         "maximize  = \"power\"\nconstraints = [\"heat <= 0.5 mJ\"]")});
  EXPECT_EQ(held.code, 1);
  EXPECT_NE(held.err.find("no point was found that holds 'heat <= 0.5 mJ'"), std::string::npos) << held.err;
  const Ran early = run({"optimize", file("m.toml"), "--evaluations", "2"});
  EXPECT_EQ(early.code, 1);
  EXPECT_NE(early.err.find("T410"), std::string::npos) << early.err;
  EXPECT_NE(early.out.find("variable"), std::string::npos) << early.out;
}

TEST_F(Studies, the_same_seed_gives_the_same_answer) {
  const std::string model = file("m.toml");
  const auto once = [&](const std::string& seed) {
    json found = json::parse(run({"optimize", model, "--starts", "3", "--seed", seed, "--json"}).out);
    return found;
  };
  EXPECT_EQ(once("5"), once("5"));
  EXPECT_NE(once("5").at("starts"), once("6").at("starts"));
}

TEST_F(Studies, a_front_of_two_goals_and_a_surface_over_two_variables) {
  const std::string model = with("m.toml", "maximize  = \"power\"",
                                 "minimize = { power = -1.0, heat = 1.0 }\nweights = \"ranges\"");
  const fs::path plot = folder_ / "front.svg";
  const Ran front = run({"optimize", model, "--pareto", "4", "--json", "--plot", plot.string()});
  ASSERT_EQ(front.code, 0) << front.err;
  const json points = json::parse(front.out).at("front");
  EXPECT_EQ(points.size(), 4u);
  for (std::size_t k = 1; k < points.size(); ++k) {
    EXPECT_LT(points[k].at("objectives").at("power"), points[k - 1].at("objectives").at("power"));
    EXPECT_LT(points[k].at("objectives").at("heat"), points[k - 1].at("objectives").at("heat"));
  }
  EXPECT_TRUE(fs::exists(plot));
  const std::string two = with("two.toml", "variables = { R = [\"10 ohm\", \"0.2 kohm\"] }",
                               "variables = { R = [\"10 ohm\", \"0.2 kohm\"], Ri = [20, 60] }");
  const fs::path map = folder_ / "map.svg";
  const Ran surface =
      run({"optimize", two, "--surface", "R,Ri", "--surface-points", "4", "--json", "--plot", map.string()});
  ASSERT_EQ(surface.code, 0) << surface.err;
  EXPECT_EQ(json::parse(surface.out).at("surface").at("z").size(), 16u);
  EXPECT_TRUE(fs::exists(map));
}

// Two samples share the maximum, and V moves one of them only.
TEST_F(Studies, a_derivative_with_a_warning_is_a_fault_under_strict) {
  const std::string model = file("two_maxima.toml", R"toml(name = "two maxima"
[parameters]
V = "10 V"
W = "10 V"
[components]
source = { kind = "electrical.voltage_source", p = "s", n = "datum", V = "if(t < 0.0055, V, W)" }
load   = { kind = "electrical.resistor", p = "s", n = "datum", R = 100 }
[simulation]
stop = "10 ms"
step = "1 ms"
[objectives]
most = { maximum = "load.v" }
[design]
variables = { V = ["5 V", "20 V"] }
minimize  = "most"
)toml");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"rank", model, "--of", "most"},
                                                  {"sensitivity", model, "--of", "most"},
                                                  {"optimize", model}}) {
    const Ran lenient = run(command);
    EXPECT_EQ(lenient.code, 0) << lenient.err;
    EXPECT_NE((lenient.out + lenient.err).find("several samples share the maximum"), std::string::npos)
        << command[0] << lenient.out << lenient.err;
    std::vector<std::string> strictly = command;
    strictly.push_back("--strict");
    const Ran strict = run(strictly);
    EXPECT_EQ(strict.code, 1) << command[0];
    EXPECT_NE(strict.err.find("with --strict a warning is a fault: several samples share"), std::string::npos)
        << strict.err;
  }
}

TEST_F(Studies, optimize_says_what_is_wrong) {
  const auto said = [&](const std::string& model, std::vector<std::string> arguments,
                        const std::string& what) {
    arguments.insert(arguments.begin(), {"optimize", model});
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find(what), std::string::npos) << ran.err;
  };
  const std::string model = file("m.toml");
  std::string none = text;
  said(file("none.toml", none.substr(0, none.find("[design]"))), {}, "T148");
  said(model, {"--pareto", "5"}, "a front needs two goals");
  said(model, {"--minimize", "heat=x"}, "has no weight");
  said(model, {"--minimize", "haet"}, "did you mean 'heat'?");
  said(model, {"--surface", "R,Q"}, "'Q' is no variable of [design]");
  said(model, {"--output", model}, "would replace");
  said(model, {"--algorithm", "slqsp"}, "did you mean 'slsqp'?");
  said(with("low.toml", "\"10 ohm\"", "\"-1 ohm\""), {}, "T145");
}

}  // namespace
}  // namespace tellegen
