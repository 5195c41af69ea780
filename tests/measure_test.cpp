// .measure, .four and .step of netlists from outside: against closed forms, and against ngspice where it is
// installed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>

#include "tests/program.h"

namespace tellegen {
namespace {

using Json = nlohmann::json;

// A low-pass of 1 ms charged to 1 V by an edge at 1 ms. The run's rows are coarse on purpose.
const std::string charging =
    "charging\nv1 in 0 pwl(0 0 1m 0 1.000001m 1)\nr1 in out 1k\nc1 out 0 1u\n.tran 0.5m 10m\n";

struct Measured {
  Ran ran;
  Json json;
  std::optional<double> value(const std::string& name) const {
    for (const Json& m : json.value("measures", Json::array()))
      if (m["name"] == name && !m["value"].is_null()) return m["value"].get<double>();
    return std::nullopt;
  }
  std::string reason(const std::string& name) const {
    for (const Json& m : json.value("measures", Json::array()))
      if (m["name"] == name) return m.value("reason", "");
    return "there is no such measure";
  }
};

Measured measured(const std::string& text, std::vector<std::string> options = {}) {
  const TestFolder folder;
  put(folder / "m.cir", text + ".end\n");
  options.insert(options.begin(), {"simulate", (folder / "m.cir").string(), "--json"});
  Measured result{run_program(options), {}};
  if (result.ran.code == 0) result.json = Json::parse(result.ran.out);
  return result;
}

TEST(Measures, are_of_the_solution_and_not_of_its_rows) {
  const Measured m =
      measured(charging +
               ".meas tran rise trig v(out) val=0.1 rise=1 targ v(out) val=0.9 rise=1\n.meas tran half when "
               "v(out)=0.5\n"
               ".meas tran then find v(out) at=3m\n.meas tran now find i(r1) when v(out)=0.75\n"
               ".meas tran slope deriv v(out) at=2m\n.meas tran mean avg v(out) from=1m to=4m\n"
               ".meas tran heat integ v(in,out)*i(r1)\n.meas tran top max v(out)\n.meas tran eff rms v(in) "
               "from=0 to=2m\n"
               ".meas tran sum param='rise/1m + half'\n.meas tran late find v(out) at='half+1m'\n");
  ASSERT_EQ(m.ran.code, 0) << m.ran.err;
  const double tau = 1e-3, begin = 1.0000005e-3;
  EXPECT_NEAR(*m.value("rise"), tau * std::log(9.0), 1e-7);
  EXPECT_NEAR(*m.value("half"), begin + tau * std::log(2.0), 1e-7);
  EXPECT_NEAR(*m.value("then"), 1 - std::exp(-(3e-3 - begin) / tau), 1e-4);
  EXPECT_NEAR(*m.value("now"), 0.25e-3, 1e-7);
  EXPECT_NEAR(*m.value("slope"), std::exp(-(2e-3 - begin) / tau) / tau, 0.2);
  EXPECT_NEAR(*m.value("mean"), 1 - (1 - std::exp(-3.0)) / 3, 1e-4);
  EXPECT_NEAR(*m.value("heat"), 0.5e-6, 1e-10);
  EXPECT_NEAR(*m.value("top"), 1 - std::exp(-9.0), 1e-4);
  EXPECT_NEAR(*m.value("eff"), std::sqrt(0.5), 1e-4);
  EXPECT_NEAR(*m.value("sum"), *m.value("rise") / 1e-3 + *m.value("half"), 1e-12);
  EXPECT_NEAR(*m.value("late"), 1 - 0.5 * std::exp(-1.0), 1e-4);
}

TEST(Measures, follow_a_tighter_tolerance) {
  const Measured m = measured(charging + ".meas tran half when v(out)=0.5\n", {"--tolerance", "1e-8"});
  EXPECT_NEAR(*m.value("half"), 1.0000005e-3 + 1e-3 * std::log(2.0), 1e-11);
}

TEST(Measures, change_no_row_of_the_results) {
  const Measured with = measured(charging + ".meas tran top max v(in)*v(out)\n"),
                 without = measured(charging);
  EXPECT_EQ(with.json["outputs"], without.json["outputs"]);
  EXPECT_EQ(with.json["steps"], without.json["steps"]);
}

TEST(Measures, what_is_not_reached_says_why_and_the_run_is_good) {
  const Measured m = measured(charging +
                              ".meas tran never when v(out)=2\n.meas tran second when v(out)=0.5 rise=2\n"
                              ".meas tran after find v(out) at=20m\n.meas tran of param='never+1'\n");
  ASSERT_EQ(m.ran.code, 0) << m.ran.err;
  EXPECT_EQ(m.reason("never"), "not reached: there are no crossings, and number 1 is asked for");
  EXPECT_EQ(m.reason("second"), "not reached: there is 1 rise, and number 2 is asked for");
  EXPECT_NE(m.reason("after").find("not in the run"), std::string::npos);
  EXPECT_NE(m.reason("of").find("another measure"), std::string::npos);
}

TEST(Measures, of_a_circuit_without_states_lie_between_its_rows) {
  const Measured m = measured(
      "divider\nv1 a 0 sin(0 2 1k)\nv2 p 0 pulse(0 1 0.31m 1u 1u 2u 1m)\nr1 a b 1k\nr2 b 0 1k\nr3 p 0 1k\n"
      ".tran 0.1m 2.03m\n.meas tran top max v(b)\n.meas tran at max_at v(b)\n.meas tran area integ v(p) "
      "to=1m\n"
      ".meas tran up when v(p)=0.5 rise=2\n.meas tran mean rms v(b) from=0 to=1m\n");
  ASSERT_EQ(m.ran.code, 0) << m.ran.err;
  EXPECT_NEAR(*m.value("top"), 1.0, 1e-5);
  EXPECT_NEAR(std::fmod(*m.value("at"), 1e-3), 0.25e-3, 1e-6);
  EXPECT_NEAR(*m.value("area"), 3e-6, 1e-10);
  EXPECT_NEAR(*m.value("up"), 1.3105e-3, 1e-9);
  EXPECT_NEAR(*m.value("mean"), std::sqrt(0.5), 1e-5);
}

TEST(Measures, of_a_fixed_step_are_of_its_rows) {
  const Measured m = measured(charging + ".meas tran half when v(out)=0.5\n.meas tran mean avg v(out)\n",
                              {"--method", "bdf2", "--step", "5us", "--sample", "50us"});
  ASSERT_EQ(m.ran.code, 0) << m.ran.err;
  EXPECT_NEAR(*m.value("half"), 1e-3 + 1e-3 * std::log(2.0), 3e-6);
  EXPECT_NEAR(*m.value("mean"), 0.8, 2e-4);
}

TEST(Measures, begin_where_tran_says) {
  const Measured m = measured(
      "sine\nv1 a 0 sin(0 1 1k 0 200)\nr1 a b 1k\nc1 b 0 1n\n.tran 10u 5m 2m\n.meas tran top max v(a)\n");
  EXPECT_NEAR(*m.value("top"), std::exp(-200 * 2.25e-3), 1e-3);
}

TEST(Measures, of_a_span_begin_after_both_its_begin_and_its_delay) {
  const Measured m = measured(charging +
                              ".meas tran a min v(out) from=2m to=5m td=3m\n"
                              ".meas tran b min v(out) from=3m td=2m\n");
  EXPECT_NEAR(*m.value("a"), 1 - std::exp(-2.0), 1e-4);
  EXPECT_NEAR(*m.value("b"), 1 - std::exp(-2.0), 1e-4);
}

TEST(Measures, faults_name_the_line) {
  const Measured m = measured(charging + ".meas tran x find v(out)\n");
  EXPECT_EQ(m.ran.code, 2);
  EXPECT_NE(m.ran.err.find("m.cir:6: T502"), std::string::npos) << m.ran.err;
}

TEST(Measures, stand_in_the_summary) {
  const TestFolder folder;
  put(folder / "m.cir", charging + ".meas tran half when v(out)=0.5\n.meas tran never when v(out)=2\n.end\n");
  const Ran ran = run_program({"simulate", (folder / "m.cir").string()});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("half"), std::string::npos);
  EXPECT_NE(ran.out.find("not reached"), std::string::npos);
}

// A square wave of 1 V has harmonics 2/(pi k), the odd ones.
TEST(Harmonics, of_a_square_wave) {
  const Measured m = measured(
      "square\nv1 a 0 pulse(0 1 0 1p 1p 0.5m 1m)\nr1 a b 1k\nc1 b 0 1p\n.tran 10u 3m\n.four 1k v(a)\n");
  ASSERT_EQ(m.ran.code, 0) << m.ran.err;
  const Json& harmonics = m.json["fourier"][0]["harmonics"];
  ASSERT_EQ(harmonics.size(), 10u);
  EXPECT_NEAR(harmonics[0]["magnitude"].get<double>(), 0.5, 1e-6);
  double squares = 0.0;
  for (int k = 1; k < 10; ++k) {
    EXPECT_NEAR(harmonics[k]["magnitude"].get<double>(), k % 2 ? 2 / (M_PI * k) : 0.0, 1e-5) << k;
    if (k % 2) {
      EXPECT_NEAR(harmonics[k]["phase"].get<double>(), 0.0, 1e-3) << k;
    }
    if (k > 1 && k % 2) squares += 1.0 / (k * k);
  }
  EXPECT_NEAR(m.json["fourier"][0]["total_harmonic_distortion_percent"].get<double>(),
              100 * std::sqrt(squares), 1e-2);
}

TEST(Harmonics, of_a_period_longer_than_the_run_are_none) {
  const Measured m = measured(charging + ".four 10 v(out)\n");
  ASSERT_EQ(m.ran.code, 0);
  EXPECT_NE(m.json["fourier"][0]["reason"].get<std::string>().find("longer than the run"), std::string::npos);
}

const std::string stepped =
    "stepped\nv1 in 0 pwl(0 0 1u 1)\nr1 in out {r}\nc1 out 0 {c}\n.param c=1u\n.tran 0.1m {20*c*1k}\n"
    ".step param r list 500 1k\n.step param c 1u 2u 1u\n.meas tran rise trig v(out) val=0.1 targ v(out) "
    "val=0.9\n";

TEST(Steps, simulate_makes_one_run_and_says_so) {
  const Measured m = measured(stepped);
  ASSERT_EQ(m.ran.code, 0) << m.ran.err;
  EXPECT_NE(m.ran.err.find("tellegen sweep"), std::string::npos) << m.ran.err;
  EXPECT_NE(m.ran.err.find("r = 500, c = 1e-06"), std::string::npos) << m.ran.err;
  EXPECT_NEAR(*m.value("rise"), 0.5e-3 * std::log(9.0), 1e-6);
}

TEST(Steps, sweep_takes_its_axes_and_columns_from_the_netlist) {
  const TestFolder folder;
  put(folder / "s.cir", stepped + ".end\n");
  const Ran ran = run_program(
      {"sweep", (folder / "s.cir").string(), "--output", (folder / "s.csv").string(), "--jobs", "1"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(get(folder / "s.csv"));
  std::string line;
  int rows = 0;
  while (std::getline(lines, line)) {
    double r = 0.0, c = 0.0, rise = 0.0;
    if (std::sscanf(line.c_str(), "%*d,%lf,%lf,%lf", &r, &c, &rise) != 3) continue;
    ++rows;
    EXPECT_NEAR(rise, r * c * std::log(9.0), 1e-6) << line;
  }
  EXPECT_EQ(rows, 4) << get(folder / "s.csv");
}

TEST(Steps, sweep_without_any_says_that_nothing_varies) {
  const TestFolder folder;
  put(folder / "s.cir", charging + ".end\n");
  const Ran ran =
      run_program({"sweep", (folder / "s.cir").string(), "--output", (folder / "s.csv").string()});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("T582"), std::string::npos) << ran.err;
}

// What ngspice says of the same, "name = value".
TEST(Measures, agree_with_ngspice) {
  if (std::system("ngspice --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "ngspice is not installed";
  const std::string text =
      "rectifier\nv1 in 0 sin(0 5 1k)\nd1 in out dx\nr1 out 0 1k\nc1 out 0 1u\n.model dx d(is=1e-14 n=1.1)\n"
      ".tran 1u 5m 0 1u\n.meas tran top max v(out)\n.meas tran low min v(out) from=2m to=5m\n"
      ".meas tran ripple pp v(out) from=2m to=4m\n.meas tran mean avg v(out) from=2m to=4m\n"
      ".meas tran eff rms v(in) from=1m to=3m\n.meas tran on when v(in)=v(out) rise=2 td=1m\n"
      ".meas tran period trig v(out) val=3.5 rise=1 targ v(out) val=3.5 rise=2\n"
      ".meas tran v3 find v(out) at=3.1m\n.meas tran vd find v(in) when v(out)=3.5 fall=1\n"
      ".meas tran charge integ i(v1) from=0 to=2m\n.meas tran tlow min_at v(out) from=2m to=3m\n"
      ".meas tran two param='top-low'\n.meas tran never when v(out)=7\n";
  const TestFolder folder;
  put(folder / "r.cir", text + ".end\n");
  const std::string answer = (folder / "answer").string();
  const int code =
      std::system(("cd " + (folder / "").string() + " && ngspice -b r.cir > " + answer + " 2>&1").c_str());
  ASSERT_GE(code, 0);  // of a measure that failed it is not 0
  std::map<std::string, double> theirs;
  const std::string said = get(answer);
  const std::regex one(R"((^|\n)(\w+)\s+=\s+([-+.\deE]+))");
  for (std::sregex_iterator at(said.begin(), said.end(), one), end; at != end; ++at)
    theirs[(*at)[2]] = std::stod((*at)[3]);
  const Measured ours = measured(text);
  ASSERT_EQ(ours.ran.code, 0) << ours.ran.err;
  int compared = 0;
  for (const Json& m : ours.json["measures"]) {
    const std::string name = m["name"];
    ASSERT_EQ(theirs.contains(name), !m["value"].is_null()) << name << "\n" << said;
    if (m["value"].is_null()) continue;
    EXPECT_NEAR(m["value"].get<double>(), theirs[name], 2e-3 * std::abs(theirs[name]) + 1e-9) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 12);
}

}  // namespace
}  // namespace tellegen
