// Log files as they come, through the program: what is in them, calibration, estimation.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tellegen/data/table_source.h"
#include "tellegen/results/test_folder.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

const std::string bench = TELLEGEN_SOURCE_DIR "/models/bench-motor";

class Records : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder / name).string(); }

  // The rows of the worked log: time, housing, loss, air.
  static std::vector<std::vector<double>> rows() {
    const auto table = open_table(bench + "/log.csv", {});
    table->choose({table->time_column(), 2, 3, 4});
    std::vector<std::vector<double>> all;
    for (TableBlock block; table->next(block);)
      for (std::size_t r = 0; r < block.rows; ++r) {
        auto& row = all.emplace_back();
        for (const auto& column : block.columns) row.push_back(column[r]);
      }
    return all;
  }

  // The worked model without [columns].
  std::string plain_model() const {
    std::string text = get(bench + "/model.toml");
    const std::size_t from = text.find("[columns]"), to = text.find("[simulation]");
    put(folder / "motor.toml", text.erase(from, to - from));
    return path("motor.toml");
  }

  static nlohmann::json parsed(const Ran& ran) { return nlohmann::json::parse(ran.out, nullptr, false); }

  // The parameters found lie within three of their standard deviations of the truth.
  static void expect_truth(const Ran& ran, const std::string& what) {
    ASSERT_EQ(ran.code, 0) << what << "\n" << ran.err << ran.out;
    const nlohmann::json json = parsed(ran);
    ASSERT_FALSE(json.is_discarded()) << what;
    const std::map<std::string, double> truth{{"R_wh", 0.42}, {"R_ha", 0.31}, {"C_w", 80.0}, {"C_h", 600.0}};
    int seen = 0;
    for (const auto& stage : json["stages"])
      for (const auto& p : stage["parameters"]) {
        const double found = p["after_si"], deviation = p["deviation"];
        EXPECT_LT(std::abs(found - truth.at(p["name"])), 3.0 * deviation) << what << " " << p["name"];
        EXPECT_LT(deviation, 0.2 * found) << what << " " << p["name"];
        ++seen;
      }
    EXPECT_EQ(seen, 4) << what;
  }

  TestFolder folder;
};

TEST_F(Records, the_worked_log_calibrates_to_the_truth_as_it_is) {
  expect_truth(run_program({"calibrate", bench + "/model.toml", "--data", bench + "/log.csv", "--interpret",
                            "--json"}),
               "log.csv");
}

TEST_F(Records, every_shape_of_the_record_calibrates_to_the_truth) {
  const std::string model = plain_model();
  struct Shape {
    std::string name, head, columns;
    std::function<std::string(const std::vector<double>&)> row;
  };
  const auto comma = [](std::string text) {
    for (char& c : text)
      if (c == '.') c = ',';
    return text;
  };
  const auto clock = [](double t) {
    const int s = 36000 + static_cast<int>(t);
    return fmt::format("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  };
  const auto plain = [](const std::vector<double>& r) {
    return fmt::format("{},{},{},{}", r[0], r[1], r[2], r[3]);
  };
  const std::vector<Shape> shapes{
      {"iso", "time,T_h,P,amb", "",
       [&](const auto& r) { return fmt::format("2026-03-01T{}Z,{},{},{}", clock(r[0]), r[1], r[2], r[3]); }},
      {"epoch", "time,T_h,P,amb", "",
       [](const auto& r) { return fmt::format("{:.1f},{},{},{}", 1.7e9 + r[0], r[1], r[2], r[3]); }},
      {"semicolon and decimal comma", "time;T_h;P;amb", "",
       [&](const auto& r) { return comma(fmt::format("{};{};{};{}", r[0], r[1], r[2], r[3])); }},
      {"row of units", "time,T_h,P,amb\ns,degC,W,degC", "", plain},
      {"lines before", "Logger: ACME 3000\nSerial 1234\n\ntime,T_h,P,amb", "", plain},
      {"other names", "Zeit,Gehäuse Temp [°C],Verlust (W),Umgebung [°C]",
       "T_h=Gehäuse Temp [°C], P=Verlust (W), amb=Umgebung [°C]", plain},
      {"other units", "time [min],T_h [degF],P [kW],amb [K]", "",
       [](const auto& r) {
         return fmt::format("{:.8f},{},{},{}", r[0] / 60.0, r[1] * 1.8 + 32.0, r[2] * 1e-3, r[3] + 273.15);
       }},
      {"far from zero", "time,T_h,P,amb", "",
       [](const auto& r) { return fmt::format("{},{},{},{}", r[0] + 36000.0, r[1], r[2], r[3]); }},
      {"a time twice", "time,T_h,P,amb", "",
       [&](const auto& r) { return plain(r) + (r[0] == 100.0 ? "\n" + plain(r) : ""); }},
  };
  const auto all = rows();
  ASSERT_EQ(all.size(), 361u);
  for (const Shape& shape : shapes) {
    std::string text = shape.head + "\n";
    for (const auto& row : all) text += shape.row(row) + "\n";
    put(folder / "shape.csv", text);
    std::vector<std::string> arguments{"calibrate",       model,         "--data",
                                       path("shape.csv"), "--interpret", "--json"};
    if (!shape.columns.empty()) arguments.insert(arguments.end(), {"--columns", shape.columns});
    expect_truth(run_program(arguments), shape.name);
  }
}

// A resistor of 1 ohm that carries a current of up to 0.9 A: what a file makes of it, and what was said of
// the file.
constexpr const char* one_ohm = R"toml(
[parameters]
R = "2 ohm"
[inputs]
I = { value = 0, unit = "A" }
[components]
s = { kind = "electrical.current_source", p = "datum", n = "a", I = "I" }
r = { kind = "electrical.resistor", p = "a", n = "datum", R = "R" }
[sensors]
V = { measures = "a.v", noise = "1 mV" }
[unknowns]
R = {}
[estimate]
inputs = ["I"]
[simulation]
stop = "10 s"
step = "1 s"
)toml";

TEST_F(Records, a_unit_without_brackets_counts) {
  put(folder / "rc.toml", one_ohm);
  const auto found = [&](const std::string& head, const std::string& columns, std::string& said) {
    std::string text = head + "\n";
    for (int k = 0; k < 60; ++k) text += fmt::format("{},{},{}\n", 100 * k, 100 * (k % 10), 0.1 * (k % 10));
    put(folder / "rc.csv", text);
    std::vector<std::string> arguments{"calibrate",    path("rc.toml"), "--data",
                                       path("rc.csv"), "--interpret",   "--json"};
    if (!columns.empty()) arguments.insert(arguments.end(), {"--columns", columns});
    const Ran ran = run_program(arguments);
    const nlohmann::json json = parsed(ran);
    said = json.dump();
    return ran.code == 2 || json.is_discarded()
               ? std::nan("")
               : json["stages"].back()["parameters"][0]["after_si"].get<double>();
  };
  std::string said;
  for (const auto& [head, columns] : {std::pair{"time/ms,I/mA,Ewe/V", "V=Ewe/V, I=I/mA"},
                                      {"time/ms,I/mA,V", ""},
                                      {"time [ms],I mA,V", "I=I mA"},
                                      {"time [ms],\"I, mA (S/N: 1)\",V", "I=I"},
                                      {"Time_ms,Strom_mA,V", "I=Strom_mA"}}) {
    EXPECT_NEAR(found(head, columns, said), 1.0, 1e-3) << head << "\n" << said;
    EXPECT_NE(said.find("units from the names of columns"), std::string::npos) << said;
  }
  EXPECT_NEAR(found("time [ms],Strom,V", "I=Strom [mA]", said), 1.0, 1e-3) << said;
  EXPECT_NEAR(found("Zeit,Strom,V", "I=Strom [mA], time=Zeit [ms]", said), 1.0, 1e-3) << said;
  EXPECT_TRUE(std::isnan(found("time/ms,I/mA,Ewe/V", "V=I/mA, I=Ewe/V", said)));
  EXPECT_NE(said.find("T593"), std::string::npos) << said;
  // What is missing is proposed by its unit, and each column once.
  EXPECT_TRUE(std::isnan(found("time/ms,Strom/mA,Ewe/V", "", said)));
  EXPECT_NE(said.find("V=Ewe/V"), std::string::npos) << said;
  EXPECT_NE(said.find("I=Strom/mA"), std::string::npos) << said;
}

// As a battery cycler writes it: names say which quantity a column is, and most are none that is asked for.
TEST_F(Records, a_quantity_s_name_is_proposed_and_counters_times_and_rates_are_not) {
  put(folder / "rc.toml", one_ohm);
  std::string text =
      "Data_Point,Test_Time,DateTime,Step_Index,Cycle_Index,Current,Voltage,Charge_Capacity,dV/dt\n";
  for (int k = 0; k < 60; ++k)
    text += fmt::format("{},{},{},1,1,{},{},{},0.1\n", k + 1, k, 1499006353 + k, 0.1 * (k % 10),
                        0.1 * (k % 10), 0.01 * k);
  put(folder / "arbin.csv", text);
  const nlohmann::json json =
      parsed(run_program({"data", path("arbin.csv"), "--model", path("rc.toml"), "--json"}));
  EXPECT_EQ(json.value("columns_option", ""), "V=Voltage, I=Current") << json.dump();
  const Ran fault = run_program({"calibrate", path("rc.toml"), "--data", path("arbin.csv")});
  EXPECT_EQ(fault.code, 2);
  EXPECT_NE(fault.err.find("\"V=Voltage\" would take that column"), std::string::npos) << fault.err;
  EXPECT_NE(fault.err.find("\"I=Current\" would take that column"), std::string::npos) << fault.err;
}

TEST_F(Records, the_time_is_the_column_that_is_named_so_and_a_guess_is_said) {
  const std::string model = plain_model();
  const auto calibrated = [&](const std::string& name, const std::function<std::string(double)>& time) {
    std::string text = "Rec#," + name + ",T_h,P,amb\n";
    int record = 0;
    for (const auto& r : rows())
      text += fmt::format("{},{},{},{},{}\n", ++record, time(r[0]), r[1], r[2], r[3]);
    put(folder / "maccor.csv", text);
    return run_program({"calibrate", model, "--data", path("maccor.csv"), "--interpret", "--json"});
  };
  const auto clock = [](double t, const char* days) {
    const int s = static_cast<int>(t);
    return fmt::format("{} {:02}:{:02}:{:02}.00", days, s / 3600, s / 60 % 60, s % 60);
  };
  expect_truth(calibrated("TestTime", [&](double t) { return clock(t, "0d"); }), "Maccor");
  const Ran unread = calibrated("TestTime", [&](double t) { return clock(t, "since noon"); });
  EXPECT_EQ(unread.code, 2);
  EXPECT_NE(unread.out.find("T592"), std::string::npos) << unread.out;
  EXPECT_NE(unread.out.find("--time-format"), std::string::npos) << unread.out;
  const Ran guessed = calibrated("note", [](double) { return "x"; });
  EXPECT_NE(guessed.out.find("times 'Rec#', a column that increases"), std::string::npos) << guessed.out;
}

TEST_F(Records, times_are_proposed_to_nobody_and_an_absurd_gap_is_said) {
  std::string text = "#,Date Time,\"Temp, °C (S/N: 1)\",Loss\n";
  for (int k = 0; k < 20; ++k)
    text += fmt::format("{},03/{:02}/2026 10:00:{:02},20.5,1\n", k, k < 10 ? 1 : 9, k);
  put(folder / "gap.csv", text);
  const Ran missing = run_program({"calibrate", plain_model(), "--data", path("gap.csv"), "--json"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.out.find("T_h=Temp, °C (S/N: 1)"), std::string::npos) << missing.out;
  EXPECT_EQ(missing.out.find("=Date Time"), std::string::npos) << missing.out;
  const Ran survey = run_program({"data", path("gap.csv")});
  EXPECT_NE(survey.out.find("a gap of 6.9e+05 intervals"), std::string::npos) << survey.out;
}

TEST_F(Records, a_number_that_stands_for_no_reading_is_a_fault_until_it_is_named) {
  const std::string model = plain_model();
  std::string text = "time,T_h,P,amb\n";
  for (const auto& r : rows())
    text += fmt::format("{},{},{},{}\n", r[0], std::fmod(r[0], 200.0) == 0.0 ? -9999.0 : r[1], r[2], r[3]);
  put(folder / "sentinel.csv", text);
  std::vector<std::string> arguments{"calibrate",          model,         "--data",
                                     path("sentinel.csv"), "--interpret", "--json"};
  const Ran ran = run_program(arguments);
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.out.find("-9999 in column 'T_h' does not look like a reading"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("--missing -9999 leaves them out"), std::string::npos) << ran.out;
  arguments.insert(arguments.end(), {"--missing", "-9999"});
  expect_truth(run_program(arguments), "sentinel");
  arguments.back() = "none";
  EXPECT_NE(run_program(arguments).code, 2);
}

TEST_F(Records, what_was_calibrated_is_what_the_estimator_starts_from) {
  const Ran calibrated = run_program({"calibrate", bench + "/model.toml", "--data", bench + "/log.csv",
                                      "--interpret", "--output", path("twin.toml")});
  ASSERT_EQ(calibrated.code, 0) << calibrated.err;
  const Ran estimated = run_program({"estimate", path("twin.toml"), "--data", bench + "/log.csv",
                                     "--interpret", "--window", "0:5s", "--anyway", "--json"});
  ASSERT_EQ(estimated.code, 0) << estimated.err;
  // After two readings nothing but the start has been learnt.
  for (const auto& e : parsed(estimated)["estimated"])
    if (e["name"] == "C_h") {
      EXPECT_NEAR(e["end"].get<double>(), 600.0, 40.0);
      EXPECT_LT(e["deviation"].get<double>(), 40.0);
    }
}

// A cell with pairs of resistance and capacitance, and a pulse whose current stays until the next row.
TEST_F(Records, an_input_that_was_held_is_named_where_it_was_taken_as_straight) {
  const std::string model = R"toml(name = "cell"
[parameters]
R0 = "2 mohm"
R1 = "1 mohm"
C1 = "1.5 kF"
[inputs]
I = { points = [[0, 0], [5, 50], [12, -30], [20, 60], [28, -60], [35, 0]], unit = "A"%HOLD% }
[components]
source = { kind = "electrical.current_source", p = "datum", n = "plus", I = "I" }
cell = { kind = "battery.equivalent_circuit_thermal", p = "plus", n = "datum", h = "core", OCV = [[0, 3], [1, 4]], R0 = "R0", R1 = "R1", C1 = "C1", R2 = "1 mohm", C2 = "60 kF", capacity = "50 Ah", soc0 = 0.6, alpha = -0.005 }
mass = { kind = "thermal.capacitor", p = "core", n = "datum", C = "900 J/K", T0 = "25 degC" }
[sensors]
V = { measures = "plus.v", noise = "0.02 mV" }
[unknowns]
R0 = { start = "1 mohm" }
R1 = { start = "2 mohm" }
C1 = { start = "3 kF" }
[estimate]
inputs = ["I"]
[simulation]
stop = "45 s"
step = "1 s"
)toml";
  const auto with = [&](const std::string& hold) {
    std::string text = model;
    return text.replace(text.find("%HOLD%"), 6, hold);
  };
  put(path("held.toml"), with(", interpolation = \"hold\""));
  put(path("straight.toml"), with(""));
  const Ran made =
      run_program({"synthesize", path("held.toml"), "--method", "adaptive", "--output", path("pulse.csv")});
  ASSERT_EQ(made.code, 0) << made.err;
  const Ran right = run_program({"calibrate", path("held.toml"), "--data", path("pulse.csv"), "--interpret"});
  EXPECT_EQ(right.code, 0) << right.err;
  const Ran wrong =
      run_program({"calibrate", path("straight.toml"), "--data", path("pulse.csv"), "--interpret"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("likely reason: 'I' is held from row to row"), std::string::npos) << wrong.err;
}

TEST_F(Records, data_shows_what_is_in_a_file_and_proposes_the_mapping) {
  const Ran ran = run_program({"data", bench + "/log.csv", "--model", plain_model(), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json json = parsed(ran);
  EXPECT_EQ(json["rows"], 361);
  EXPECT_EQ(json["interval"], 5.0);
  EXPECT_EQ(json["columns"][2]["unit"], "degC");
  std::map<std::string, std::string> mapping;
  for (const auto& m : json["mapping"]) mapping[m["name"]] = m["column"];
  EXPECT_EQ(mapping, (std::map<std::string, std::string>{
                         {"T_h", "Gehäuse Temp"}, {"P", "Verlust"}, {"amb", "Umgebung"}}));
  // What it proposes is what the others take.
  expect_truth(run_program({"calibrate", path("motor.toml"), "--data", bench + "/log.csv", "--columns",
                            json["columns_option"], "--interpret", "--json"}),
               "proposed");
  const Ran text = run_program({"data", bench + "/log.csv", "--model", path("motor.toml")});
  EXPECT_NE(text.out.find("sensor T_h?"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("[columns]"), std::string::npos) << text.out;
}

TEST_F(Records, check_says_what_this_record_can_tell) {
  const Ran whole =
      run_program({"check", bench + "/model.toml", "--estimate", "--data", bench + "/log.csv", "--json"});
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(parsed(whole)["all_known"], true);
  const Ran little = run_program(
      {"check", bench + "/model.toml", "--estimate", "--data", bench + "/log.csv", "--window", "0:30s"});
  EXPECT_EQ(little.code, 1) << little.out;
}

TEST_F(Records, faults_are_json_where_json_is_asked_for) {
  put(folder / "bad.csv", "time,T_h,P,amb\n0,20,1,22\n1,abc,1,22\n");
  const Ran ran = run_program({"calibrate", plain_model(), "--data", path("bad.csv"), "--json"});
  EXPECT_EQ(ran.code, 2);
  const nlohmann::json json = parsed(ran);
  ASSERT_FALSE(json.is_discarded()) << ran.out;
  EXPECT_EQ(json["faults"][0]["code"], "T594");
  EXPECT_EQ(json["faults"][0]["line"], 3);
}

TEST_F(Records, a_full_disk_is_an_error) {
  const std::string command =
      std::string(tested_program) + " data " + bench + "/log.csv > /dev/full 2> " + path("err.txt");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_NE(get(path("err.txt")).find("cannot write to standard output"), std::string::npos)
      << get(path("err.txt"));
}

TEST_F(Records, a_number_of_a_component_is_set) {
  const std::vector<std::string> simulate{"simulate", bench + "/model.toml", "--interpret", "--stop", "10s",
                                          "--json"};
  const auto last = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = simulate;
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--output", path("run.csv")});
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const std::string text = get(path("run.csv"));
    return text.substr(text.rfind('\n', text.size() - 2));
  };
  EXPECT_NE(last({}), last({"--set", "ch.T0=30degC"}));
  const Ran wrong = run_program({"simulate", bench + "/model.toml", "--set", "ch.T0=5V"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("T123"), std::string::npos) << wrong.err;
  const Ran none = run_program({"simulate", bench + "/model.toml", "--set", "ch.X=5"});
  EXPECT_EQ(none.code, 2) << none.out;
}

TEST_F(Records, a_folder_of_own_kinds_is_given_once) {
  fs::create_directories(folder / "kinds_of_mine/thermal");
  put(folder / "kinds_of_mine/thermal/plate.toml", get(TELLEGEN_SOURCE_DIR "/library/thermal/resistor.toml"));
  std::string text = get(bench + "/model.toml");
  text.replace(text.find("thermal.resistor"), 16, "thermal.plate");
  fs::create_directories(folder / "elsewhere");
  put(folder / "elsewhere/motor.toml", text);
  EXPECT_EQ(run_program({"check", path("elsewhere/motor.toml")}).code, 2);
  EXPECT_EQ(run_program({"check", path("elsewhere/motor.toml"), "--library", path("kinds_of_mine")}).code, 0);
  const Ran listed = run_program({"library", "thermal.plate", "--library", path("kinds_of_mine")});
  EXPECT_NE(listed.out.find("plate.toml"), std::string::npos) << listed.out << listed.err;
  const Ran all = run_program({"library", "--library", path("kinds_of_mine")});
  EXPECT_NE(all.out.find("thermal.plate "), std::string::npos) << all.out;
}

TEST_F(Records, the_worked_answers_of_own_kinds_are_checked) {
  const std::string kind =
      "domain = 'electrical'\nedges = { e = ['p', 'n'] }\n[parameters]\nG = { unit = 'S' }\n[equations]\n"
      "terminal = ['i = G*v']\n[[check]]\ngiven = { G = 2, v = 3 }\nexpect = { t = 1, i = 6 }\n";
  put(folder / "model.toml",
      "[components]\nv = { kind = 'electrical.voltage_source', p = 'a', n = 'datum', V = 1 }\n"
      "g = { kind = 'leak', p = 'a', n = 'datum', G = 1 }\n");
  fs::create_directories(folder / "kinds");
  put(folder / "kinds/leak.toml", kind);
  const Ran model = run_program({"check", path("model.toml")});
  EXPECT_EQ(model.code, 0) << model.err;
  EXPECT_NE(model.out.find("1 of leak holds"), std::string::npos) << model.out;
  const Ran good = run_program({"library", "--check", path("kinds")});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_NE(good.out.find("1 worked answer of 1 kind holds"), std::string::npos) << good.out;

  put(folder / "kinds/leak.toml", kind + "[[check]]\ngiven = { G = 2, v = 3 }\nexpect = { t = 1, i = 7 }\n");
  for (const Ran& wrong :
       {run_program({"check", path("model.toml")}), run_program({"library", "--check", path("kinds")})}) {
    EXPECT_EQ(wrong.code, 2);
    EXPECT_NE(wrong.err.find("leak.toml:10: T571: kind 'leak' does not give its worked answer 2"),
              std::string::npos)
        << wrong.err;
    EXPECT_NE(wrong.err.find("i = 6 at t = 1 s, and 7 is expected"), std::string::npos) << wrong.err;
  }
  // An answer without its time, and one that lacks a parameter.
  put(folder / "kinds/leak.toml", kind +
                                      "[[check]]\ngiven = { v = 3 }\nexpect = { t = 1, i = 6 }\n"
                                      "[[check]]\ngiven = { G = 2, v = 3 }\nexpect = { i = 6 }\n");
  const Ran both = run_program({"library", "--check", path("kinds")});
  EXPECT_NE(both.err.find("leak.toml:10: T571"), std::string::npos) << both.err;
  EXPECT_NE(both.err.find("it has no time"), std::string::npos) << both.err;
  EXPECT_EQ(run_program({"library", "--check", path("nowhere")}).code, 2);
}

TEST_F(Records, compare_takes_other_times_more_columns_and_other_units) {
  put(folder / "reference.csv", "t [s],T_w [K],extra\n0,295.15,1\n2.5,295.3,2\n10,296,3\n");
  const Ran ran = run_program({"simulate", bench + "/model.toml", "--interpret", "--stop", "10s", "--compare",
                               path("reference.csv")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("'extra'"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("1 of 3 times"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace tellegen
