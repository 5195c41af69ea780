// `tellegen sweep` from outside: grids against closed forms, indices against a known function, and what
// happens to a study that is killed, wrong, failing, or spread over processes.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

const char* const charging = R"(
name = "charging"
[parameters]
R1 = "1 kohm"
C1 = "1 uF"
[components]
source = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "10 V" }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "R1" }
c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = "C1" }
[outputs]
V = { value = "b.v", unit = "V" }
[simulation]
stop = "1 ms"
step = "0.1 ms"
method = "exact"
)";

const char* const ishigami = R"toml(
name = "Ishigami's function"
[parameters]
x1 = 0
x2 = 0
x3 = 0
[components]
f = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "sin(x1) + 7*sin(x2)^2 + 0.1*x3^4*sin(x1)" }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = "1 ohm" }
[simulation]
stop = "1 s"
step = "1 s"
method = "bdf1"
)toml";
const Words over_the_cube{"--vary",    "x1=-3.141592653589793:3.141592653589793",
                          "--vary",    "x2=-3.141592653589793:3.141592653589793",
                          "--vary",    "x3=-3.141592653589793:3.141592653589793",
                          "--outputs", "r.i"};

struct Folder {
  Folder() {
    put(folder / "charging.toml", charging);
    put(folder / "ishigami.toml", ishigami);
  }
  std::string operator/(const std::string& name) const { return (folder / name).string(); }
  Ran sweep(const std::string& model, Words words, const std::string& output = "out.csv") const {
    words.insert(words.begin(), {"sweep", *this / model});
    words.insert(words.end(), {"--output", *this / output});
    return run_program(words);
  }
  TestFolder folder;
};

Words joined(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Words> rows_of(const fs::path& path) {
  std::vector<Words> rows;
  std::istringstream in(get(path));
  for (std::string line; std::getline(in, line);) {
    Words& cells = rows.emplace_back();
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, ',');) cells.push_back(cell);
  }
  return rows;
}

std::size_t lines_of(const fs::path& path) {
  const std::string text = get(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Until the file has so many, or the program has ended.
void wait_for_lines(const Running& running, const fs::path& path, std::size_t lines) {
  siginfo_t ended{};
  while (lines_of(path) < lines) {
    if (waitid(P_PID, static_cast<id_t>(running.child), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid != 0)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Sweep, a_grid_agrees_with_the_closed_form) {
  const Folder folder;
  const Ran ran = folder.sweep("charging.toml", {"--vary", "R1=0.5kohm:2kohm:4", "--vary",
                                                 "c1.C=0.5uF:2uF:log:3", "--plot", folder / "p.svg"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto rows = rows_of(folder / "out.csv");
  ASSERT_EQ(rows.size(), 13u);
  EXPECT_EQ(rows[0], (Words{"sample", "R1 [kohm]", "c1.C [F]", "V [V]", "status"}));
  for (std::size_t k = 1; k < rows.size(); ++k) {
    ASSERT_EQ(rows[k].size(), 5u);
    EXPECT_EQ(rows[k][0], std::to_string(k));
    EXPECT_EQ(rows[k][4], "ok");
    const double R = 1e3 * std::stod(rows[k][1]), C = std::stod(rows[k][2]), v = std::stod(rows[k][3]);
    EXPECT_NEAR(v, 10 * (1 - std::exp(-1e-3 / (R * C))), 1e-9);
  }
  EXPECT_EQ(rows[1][1], "0.5");
  EXPECT_NE(rows[1][2], rows[2][2]);  // the last axis is the fastest
  EXPECT_EQ(rows[1][1], rows[2][1]);
  EXPECT_NE(get(folder / "p.svg").find("c1.C = 1e-06 F"), std::string::npos);
  EXPECT_NE(ran.out.find("charging, grid: 12 samples of 2 parameters"), std::string::npos) << ran.out;
  EXPECT_FALSE(fs::exists(folder / "out.csv.journal"));
}

TEST(Sweep, listed_values_and_other_units) {
  const Folder folder;
  const Ran ran = folder.sweep("charging.toml", {"--vary", "R1=500 ohm,0.001 Mohm,2000"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto rows = rows_of(folder / "out.csv");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1][1] + " " + rows[2][1] + " " + rows[3][1], "0.5 1 2");
}

TEST(Sweep, morris_and_sobol_on_ishigami_s_function) {
  const Folder folder;
  const Ran morris = folder.sweep(
      "ishigami.toml", joined(over_the_cube, {"--design", "morris", "--trajectories", "12", "--json"}));
  ASSERT_EQ(morris.code, 0) << morris.err;
  const Json effects = Json::parse(morris.out);
  EXPECT_EQ(effects["samples"], 48);
  // 7*0.75*1.5, whichever trajectories were drawn: see tellegen/sweep/indices_test.cpp.
  EXPECT_NEAR(effects["results"][0]["indices"][1]["mu_star"].get<double>(), 7.875, 1e-6);
  EXPECT_EQ(effects["results"][0]["indices"][1]["parameter"], "x2");

  const Ran sobol = folder.sweep(
      "ishigami.toml", joined(over_the_cube, {"--design", "sobol", "--samples", "64", "--seed", "3", "--plot",
                                              folder / "s.svg", "--json", folder / "s.json"}));
  ASSERT_EQ(sobol.code, 0) << sobol.err;
  const Json parts = Json::parse(get(folder / "s.json"));
  EXPECT_EQ(parts["samples"], 320);
  const double total[] = {0.5576, 0.4424, 0.2437};  // closed form
  for (int k = 0; k < 3; ++k) {
    const Json& index = parts["results"][0]["indices"][k];
    EXPECT_NEAR(index["total"].get<double>(), total[k], 0.25);  // 64 rows
    EXPECT_LT(index["total_interval"][0].get<double>(), index["total_interval"][1].get<double>());
  }
  EXPECT_NE(get(folder / "s.svg").find("first order"), std::string::npos);
  EXPECT_NE(sobol.out.find("95 % of a bootstrap"), std::string::npos) << sobol.out;
}

TEST(Sweep, failed_samples_are_reported_and_the_others_survive) {
  const Folder folder;
  const Ran some = folder.sweep("charging.toml", {"--vary", "R1=-1kohm:2kohm:4"});
  ASSERT_EQ(some.code, 0) << some.err;
  EXPECT_NE(some.out.find("2 of 4 samples failed"), std::string::npos) << some.out;
  const auto rows = rows_of(folder / "out.csv");
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[1][2], "");
  EXPECT_NE(rows[1][3].find("T124: parameter 'R' of 'r1'"), std::string::npos);
  EXPECT_EQ(rows[4][3], "ok");
  EXPECT_NEAR(std::stod(rows[4][2]), 10 * (1 - std::exp(-0.5)), 1e-9);

  const Ran all = folder.sweep("charging.toml", {"--vary", "R1=-3kohm:-1kohm:3"}, "all.csv");
  EXPECT_EQ(all.code, 1);
  EXPECT_NE(all.err.find("T410: every sample failed"), std::string::npos) << all.err;
  EXPECT_EQ(rows_of(folder / "all.csv").size(), 4u);
}

// A study of `count` samples, killed as soon as its journal has grown to each of `kills` lines.
void expect_the_same_after_kills(const Folder& folder, Words words, std::size_t count,
                                 const std::vector<std::size_t>& kills) {
  const Ran whole = folder.sweep("ishigami.toml", words, "whole.csv");
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::string output = folder / "out.csv", journal = output + ".journal";
  words.insert(words.begin(), {"sweep", folder / "ishigami.toml"});
  words.insert(words.end(), {"--output", output});
  std::size_t before = 0;
  for (const std::size_t lines : kills) {
    const Running running = start_program(words);
    // The journal is replaced by one with the same entries at the start, and then grows.
    wait_for_lines(running, journal, lines + 1);
    kill(running.child, SIGKILL);
    const Ran killed = wait_for(running);
    EXPECT_EQ(killed.code, 128 + SIGKILL) << killed.err;
    EXPECT_FALSE(fs::exists(output));
    EXPECT_EQ(killed.err.find("resuming: ") != std::string::npos, before > 0) << killed.err;
    before = lines_of(journal) - 1;
    EXPECT_GE(before, lines);
  }
  const Ran last = run_program(words);
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_NE(last.err.find("resuming: " + std::to_string(before) + " of " + std::to_string(count)),
            std::string::npos)
      << last.err;
  EXPECT_TRUE(get(output) == get(folder / "whole.csv")) << "killed and whole studies differ";
  EXPECT_EQ(rows_of(output).size(), count + 1);
  EXPECT_FALSE(fs::exists(journal));
}

TEST(Sweep, killed_three_times_it_ends_with_the_same_bytes) {
  const Folder folder;
  expect_the_same_after_kills(folder,
                              joined(over_the_cube, {"--design", "lhs", "--samples", "400", "--seed", "3"}),
                              400, {40, 150, 290});
}

TEST(Sweep, another_study_does_not_take_over_a_journal) {
  const Folder folder;
  const Words words = joined(over_the_cube, {"--design", "lhs", "--samples", "2000"});
  Words all = joined({"sweep", folder / "ishigami.toml", "--output", folder / "out.csv"}, words);
  const Running running = start_program(all);
  wait_for_lines(running, folder / "out.csv.journal", 5);
  const Ran second = run_program(all);
  EXPECT_EQ(second.code, 2);
  EXPECT_NE(second.err.find("T585"), std::string::npos) << second.err;
  kill(running.child, SIGKILL);
  wait_for(running);

  const auto lines = lines_of(folder / "out.csv.journal");
  const Ran seed = run_program(joined(all, {"--seed", "2"}));
  EXPECT_EQ(seed.code, 2);
  EXPECT_NE(seed.err.find("T584"), std::string::npos) << seed.err;
  EXPECT_NE(seed.err.find("its samples is not the same"), std::string::npos) << seed.err;
  put(folder / "ishigami.toml", std::string(ishigami) + "# changed\n");
  const Ran model = run_program(all);
  EXPECT_EQ(model.code, 2);
  EXPECT_NE(model.err.find("its model is not the same"), std::string::npos) << model.err;
  EXPECT_EQ(lines_of(folder / "out.csv.journal"), lines);  // nothing was lost meanwhile

  const Ran restarted = folder.sweep(
      "ishigami.toml", joined(over_the_cube, {"--design", "lhs", "--samples", "9", "--restart"}));
  EXPECT_EQ(restarted.code, 0) << restarted.err;
  EXPECT_EQ(rows_of(folder / "out.csv").size(), 10u);
}

TEST(Sweep, jobs_do_not_change_the_results) {
  const Folder folder;
  const Words words = joined(over_the_cube, {"--design", "sobol", "--samples", "10"});
  EXPECT_EQ(folder.sweep("ishigami.toml", joined(words, {"--jobs", "1"}), "one.csv").code, 0);
  EXPECT_EQ(folder.sweep("ishigami.toml", joined(words, {"--jobs", "4", "--interpret"}), "four.csv").code, 0);
  EXPECT_TRUE(get(folder / "one.csv") == get(folder / "four.csv"));
  EXPECT_EQ(rows_of(folder / "one.csv").size(), 51u);
}

#ifdef TELLEGEN_MPIRUN
TEST(Sweep, two_ranks_give_what_one_process_gives) {
  const Folder folder;
  const Words words = joined(over_the_cube, {"--design", "lhs", "--samples", "60", "--jobs", "1"});
  ASSERT_EQ(folder.sweep("ishigami.toml", words, "one.csv").code, 0);
  const Words launch{"--allow-run-as-root", "--oversubscribe", "-n", "2", tested_program};
  const auto on_two = [&](const Words& more, const std::string& output) {
    Words all = joined(launch, {"sweep", folder / "ishigami.toml", "--output", folder / output});
    return start_program(joined(joined(all, words), more), TELLEGEN_MPIRUN);
  };
  const Ran two = wait_for(on_two({}, "two.csv"));
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_TRUE(get(folder / "one.csv") == get(folder / "two.csv"));
  EXPECT_NE(two.out.find("on 2 ranks"), std::string::npos) << two.out;
  EXPECT_EQ(two.out.find("wrote", two.out.find("wrote") + 1), std::string::npos) << "said twice";
  EXPECT_FALSE(fs::exists(folder / "two.csv.journal.1"));

  // Wrong input is told once, and nobody waits for anybody.
  const Ran wrong = wait_for(on_two({"--design", "lhz"}, "wrong.csv"));
  EXPECT_NE(wrong.code, 0);
  EXPECT_EQ(wrong.err.find("T583", wrong.err.find("T583") + 1), std::string::npos) << wrong.err;
}

TEST(Sweep, what_ranks_had_done_when_killed_is_resumed_by_one_process) {
  const Folder folder;
  const Words words = joined(over_the_cube, {"--design", "lhs", "--samples", "500"});
  ASSERT_EQ(folder.sweep("ishigami.toml", words, "one.csv").code, 0);
  Words all = joined({"--allow-run-as-root", "--oversubscribe", "-n", "2", tested_program, "sweep",
                      folder / "ishigami.toml", "--output", folder / "two.csv", "--jobs", "1"},
                     words);
  const Running running = start_program(all, TELLEGEN_MPIRUN);
  const std::string part = folder / "two.csv.journal.1";
  wait_for_lines(running, part, 20);
  kill(running.child, SIGKILL);  // of mpirun: its ranks notice and end, at whatever they were doing
  wait_for(running);
  Ran last;
  for (int k = 0; k < 600; ++k) {  // until they have ended
    last = folder.sweep("ishigami.toml", words, "two.csv");
    if (last.err.find("T585") == std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_TRUE(get(folder / "one.csv") == get(folder / "two.csv"));
  EXPECT_FALSE(fs::exists(part));
}
#else
TEST(Sweep, two_ranks_give_what_one_process_gives) { GTEST_SKIP() << "this build has no MPI"; }
#endif

struct WrongSweep {
  std::string name;
  Words words, said;
};
void PrintTo(const WrongSweep& wrong, std::ostream* out) { *out << wrong.name; }

class WrongSweeps : public testing::TestWithParam<WrongSweep> {};

TEST_P(WrongSweeps, are_told_with_code_2_and_leave_nothing) {
  const Folder folder;
  const std::size_t files = folder.folder.file_count();
  const Ran ran = folder.sweep("charging.toml", GetParam().words);
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(ran.out, "");
  for (const std::string& part : GetParam().said)
    EXPECT_NE(ran.err.find(part), std::string::npos) << part << "\nnot in\n" << ran.err;
  EXPECT_EQ(folder.folder.file_count(), files);
}

INSTANTIATE_TEST_SUITE_P(
    Sweep, WrongSweeps,
    testing::ValuesIn(std::vector<WrongSweep>{
        {"nothing_varies", {}, {"T582", "nothing varies"}},
        {"unknown_parameter",
         {"--vary", "R2=1ohm:2ohm:3"},
         {"T140", "no parameter 'R2'", "did you mean 'R1'?"}},
        {"unknown_number_of_a_component", {"--vary", "c1.c=1uF:2uF:3"}, {"T140", "did you mean 'c1.C'?"}},
        {"twice", {"--vary", "R1=1:2:3", "--vary", "R1=1:2:4"}, {"T582", "'R1' varies twice"}},
        {"upside_down", {"--vary", "R1=2ohm:1ohm:3"}, {"T581", "lower end is above", "R1=1ohm:2ohm"}},
        {"empty_range", {"--vary", "R1=2ohm:2ohm:3"}, {"T581", "both ends are the same"}},
        {"no_values", {"--vary", "R1=1ohm:2ohm:0"}, {"T581", "at least one value"}},
        {"log_from_zero", {"--vary", "R1=0ohm:2ohm:log:3"}, {"T581", "begins above zero"}},
        {"no_equals", {"--vary", "R1"}, {"T580", "R1=1ohm:10ohm:20"}},
        {"no_number", {"--vary", "R1=one:2ohm:3"}, {"T580", "'one' is not a number"}},
        {"wrong_unit", {"--vary", "R1=1V:2V:3"}, {"T580", "'1V' is in V, and 'R1' in kohm"}},
        {"unknown_unit", {"--vary", "R1=1oom:2oom:3"}, {"T580", "unknown unit 'oom'"}},
        {"wrong_ending", {"--vary", "R1=1ohm:2ohm:lgo:3"}, {"T580", "'lgo'", "did you mean 'log'?"}},
        {"no_count", {"--vary", "R1=1ohm:2ohm"}, {"T583", "how many values", "--design lhs"}},
        {"grid_for_morris",
         {"--vary", "R1=1ohm:2ohm:3", "--design", "morris"},
         {"T583", "values of a grid", "morris"}},
        {"unknown_design",
         {"--vary", "R1=1ohm:2ohm", "--design", "soboll"},
         {"T583", "did you mean 'sobol'?"}},
        {"no_samples", {"--vary", "R1=1ohm:2ohm", "--design", "lhs"}, {"T583", "needs --samples"}},
        {"zero_samples",
         {"--vary", "R1=1ohm:2ohm", "--design", "lhs", "--samples", "0"},
         {"T401", "above 0"}},
        {"samples_of_a_grid", {"--vary", "R1=1ohm:2ohm:3", "--samples", "9"}, {"T583", "takes no --samples"}},
        {"trajectories_of_lhs",
         {"--vary", "R1=1ohm:2ohm", "--design", "lhs", "--samples", "9", "--trajectories", "3"},
         {"T583", "--trajectories belongs to --design morris"}},
        {"too_many", {"--vary", "R1=1ohm:2ohm:90000", "--vary", "C1=1uF:2uF:90000"}, {"T583", "too many"}},
        {"unknown_output", {"--vary", "R1=1ohm:2ohm:3", "--outputs", "bb.v"}, {"bb.v", "b.v"}},
        {"zero_jobs", {"--vary", "R1=1ohm:2ohm:3", "--jobs", "0"}, {"T401", "above 0"}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Sweep, an_output_that_cannot_be_written_is_told_first) {
  const Folder folder;
  const Words words{"--vary", "R1=1ohm:2ohm:3"};
  EXPECT_NE(folder.sweep("charging.toml", words, "none/out.csv").err.find("T402"), std::string::npos);
  EXPECT_NE(folder.sweep("charging.toml", words, "out.h5").err.find("T402"), std::string::npos);
  EXPECT_NE(folder.sweep("charging.toml", words, "charging.toml").err.find("T402"), std::string::npos);
  EXPECT_EQ(get(folder / "charging.toml"), charging);
  EXPECT_EQ(folder.sweep("charging.toml", words, "none/out.csv").code, 2);
}

// The example of docs/machines.md against the closed form of its steady state: a salient machine whose
// voltage is 0.95*300 V/sqrt(3) and, at 600 rad/s, whose current is 40 A; resistances of winding and switch.
TEST(SweepProgram, a_map_of_torque_marks_what_is_demanded_and_not_given) {
  const TestFolder folder;
  const std::string page = get(std::filesystem::path(TELLEGEN_SOURCE_DIR) / "docs/machines.md");
  const std::string head = "# model: torque-map.toml\n";
  const auto begin = page.find(head) + head.size();
  ASSERT_NE(page.find(head), std::string::npos);
  put(folder / "map.toml", page.substr(begin, page.find("```", begin) - begin));
  const std::string csv = (folder / "map.csv").string(), html = (folder / "map.html").string();
  const auto sweep = [&](const std::string& require) {
    return run_program({"sweep", (folder / "map.toml").string(), "--vary", "speed=100,400,600", "--vary",
                        "T_ref=5,20,30", "--require", require, "--output", csv, "--report", html, "--json",
                        (folder / "map.json").string()});
  };
  const Ran ran = sweep("torque >= 0.99*T_ref");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("3 of 9 samples miss torque >= 0.99*T_ref"), std::string::npos) << ran.out;
  EXPECT_EQ(nlohmann::json::parse(get(folder / "map.json")).at("missed"), 3);
  const std::string table = get(csv);
  std::vector<std::vector<std::string>> rows;
  std::stringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  ASSERT_EQ(rows.size(), 10u);
  const auto row = [&](double speed, double torque) {
    for (const auto& r : rows)
      if (r[0] != "sample" && std::stod(r[1]) == speed && std::stod(r[2]) == torque) return r;
    return std::vector<std::string>(9);
  };
  // sample, speed, T_ref, torque, i_d, i_q, current, voltage, status
  EXPECT_NEAR(std::stod(row(400, 20)[4]), -26.4844, 0.1);
  EXPECT_NEAR(std::stod(row(400, 20)[5]), 22.7556, 0.05);
  EXPECT_EQ(row(400, 20)[8], "ok");
  EXPECT_NEAR(std::stod(row(600, 20)[3]), 9.3026, 0.1);
  EXPECT_NEAR(std::stod(row(600, 20)[6]), 40.0, 0.01);
  EXPECT_EQ(row(600, 20)[8], "misses torque >= 0.99*T_ref");
  EXPECT_NE(get(html).find("Crossed: misses torque &gt;= 0.99*T_ref."), std::string::npos);

  for (const auto& [text, what] : {std::pair{"torqe >= T_ref", "did you mean 'torque'?"},
                                   std::pair{"torque >=", "T588"}, std::pair{"torque", "compares nothing"}}) {
    const Ran wrong = sweep(text);
    EXPECT_EQ(wrong.code, 2);
    EXPECT_NE(wrong.err.find("T588"), std::string::npos) << wrong.err;
    EXPECT_NE(wrong.err.find(what), std::string::npos) << wrong.err;
  }
}

}  // namespace
}  // namespace tellegen
