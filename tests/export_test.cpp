// Models as C: built by the system's compiler, run, and held against Tellegen's own steps bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tellegen/deploy/c_export.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/results/test_folder.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
const std::string models = TELLEGEN_SOURCE_DIR "/models/";

Model read(const std::string& file) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model(file, options);
}

int sh(const std::string& command) { return std::system((command + " > /dev/null").c_str()); }

std::string build_in(const fs::path& folder, const std::string& flags = "-O1") {
  return "cd " + folder.string() + " && cc -std=c99 -Wall -Wextra -Werror " + flags +
         " -ffp-contract=off *.c -o replay -lm";
}

// What stands against an export, or nothing: the files lie in the folder.
std::string exported(Model& model, const std::string& method, const fs::path& folder, std::int64_t steps,
                     CExport* result = nullptr, bool straight_line = false,
                     const std::vector<std::string>& external = {}) {
  SimulationOptions options;
  options.method = method;
  options.external = external;
  try {
    options = complete_options(model, options);
    options.compile = false;
    options.restarts = true;
    options.straight_line = straight_line;
    options.sample = 0.0;
    const EquationSystem system = build_system(model);
    Simulation simulation(system, options, default_outputs(system, false));
    const CExport c = export_c(model, simulation, {.name = "model", .vector = steps});
    for (const ExportedFile& file : c.files) put(folder / file.name, file.text);
    if (result) *result = c;
    return "";
  } catch (const ModelError& error) {
    return error.what();
  }
}

TEST(Export, every_model_that_fits_gives_the_same_bits) {
  int good = 0, other_method = 0;
  for (const auto& entry : fs::directory_iterator(models)) {
    const std::string name = entry.path().filename();
    // These take the compiler long.
    if (!fs::exists(entry.path() / "model.toml") || name == "double-wishbone" || name == "motor-sag" ||
        name.ends_with("-mec"))
      continue;
    Model model = read((entry.path() / "model.toml").string());
    if (!model.simulation.step) continue;
    std::string method = model.simulation.method.value_or("bdf2");
    if (method.starts_with("adaptive")) method = "bdf2";
    const TestFolder folder;
    const fs::path path = folder / "c";
    fs::create_directories(path);
    std::string why = exported(model, method, path, 70);
    if (!why.empty()) {  // what some methods cannot, bdf2 can
      EXPECT_NE(why.find("T420"), std::string::npos) << name << ": " << why;
      why = exported(model, "bdf2", path, 70);
      ++other_method;
    }
    ASSERT_EQ(why, "") << name;
    ASSERT_EQ(sh(build_in(path, "-O0")), 0) << name;
    EXPECT_EQ(sh(path.string() + "/replay"), 0) << name;
    ++good;
  }
  EXPECT_GE(good, 25);
  EXPECT_LE(other_method, 4);
}

// Switches, a controller that is sampled, sources that jump within steps and at their ends, one change that
// follows another: the whole run.
TEST(Export, events_happen_as_they_do_here) {
  const char* text = R"toml(
name = "Events"
[parameters]
R1 = "1 kohm"
C1 = "50 uF"
hot = 0.6
[components]
e1 = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "if(t < 0.1003, 3, -1) + if(mod(t, 0.05) < 0.0123, 1, 0)" }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "R1" }
c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = "C1" }
d1 = { kind = "electrical.diode", p = "b", n = "c" }
r2 = { kind = "electrical.resistor", p = "c", n = "datum", R = "R1" }
over = { kind = "signals.comparator", u = "b.v", upper = "hot", lower = "0.9*hot" }
next = { kind = "signals.comparator", u = "over.y", upper = 0.5 }
held = { kind = "signals.sample_hold", u = "b.v", period = "7.5 ms" }
edge = { kind = "signals.pwm", u = "0.3 + 0.1*held.y", period = "9 ms" }
s1 = { kind = "electrical.switch", p = "b", n = "d", cp = "g", cn = "datum", Ron = 100, Vt = 0.5, Vh = 0.1 }
g1 = { kind = "electrical.voltage_source", p = "g", n = "datum", V = "next.y*edge.y" }
r3 = { kind = "electrical.resistor", p = "d", n = "datum", R = "R1" }
[outputs]
v = "b.v"
switch = "s1.on"
held = "held.y"
[simulation]
stop = "0.3 s"
step = "1 ms"
)toml";
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  for (const std::string method : {"bdf1", "bdf2", "bdf3", "tr", "trnp", "rk4"}) {
    std::string circuit = text;
    const bool is_rk4 = method == "rk4";
    if (is_rk4) {  // which has no code for junctions
      const std::string diode = R"("electrical.diode", p = "b", n = "c")";
      circuit.replace(circuit.find(diode), diode.size(),
                      R"("electrical.resistor", p = "b", n = "c", R = 300)");
    }
    Model model = read_model_text(circuit, "events.toml", options);
    const TestFolder folder;
    const fs::path path = folder / "c";
    fs::create_directories(path);
    CExport result;
    ASSERT_EQ(exported(model, method, path, 1000, &result), "") << method;
    if (!is_rk4) {
      EXPECT_EQ(result.parameters, (std::vector<std::string>{"R1", "C1"}));
      EXPECT_EQ(result.fixed,
                (std::vector<std::string>{"hot: an output or a change at an event has it in its formula"}));
    }
    ASSERT_EQ(sh(build_in(path)), 0) << method;
    EXPECT_EQ(sh(path.string() + "/replay"), 0) << method;
    // Restored wherever it was saved it does the same; beyond the jumps that it knows it says so.
    put(path / "main.c", R"(#include <string.h>
#include "model.h"
int main(void) {
  static model_state s, kept;
  model_outputs y[300], z;
  model_init(&s, 0);
  for (int k = 0; k < 300; ++k) {
    model_save(&s, &kept);
    if (model_step(&s, &y[k]) != 0) return 1;
    model_restore(&s, &kept);
    if (model_step(&s, &z) != 0 || memcmp(&z, &y[k], sizeof z) != 0) return 2;
  }
  model_init(&s, 0);
  if (model_run(&s, 300, &z) != 0 || memcmp(&z, &y[299], sizeof z) != 0) return 3;
  if (model_step(&s, &z) != 2) return 4;
  return model_time(&s) > 0.2999 && model_time(&s) < 0.3001 ? 0 : 5;
}
)");
    ASSERT_EQ(sh(build_in(path)), 0) << method;
    EXPECT_EQ(sh(path.string() + "/replay"), 0) << method;
  }
}

// More unknowns than are eliminated in formulas here: the code solves them all the same, and its answers are
// those of a run that chooses its pivots as it goes.
TEST(Export, networks_beyond_64_unknowns) {
  std::string text =
      "name = \"Ladder\"\n[components]\ne = { kind = \"electrical.voltage_source\", p = \"n0\", n "
      "= \"datum\", V = \"sin(300*t)\" }\n";
  for (int k = 1; k <= 120; ++k)
    text += fmt::format(
        "r{0} = {{ kind = \"electrical.resistor\", p = \"n{1}\", n = \"n{0}\", R = {2} }}\n"
        "c{0} = {{ kind = \"electrical.capacitor\", p = \"n{0}\", n = \"datum\", C = \"2 uF\", v0 = 0 }}\n",
        k, k - 1, 10 + k % 7);
  text += "[outputs]\nv = \"n60.v\"\nend = \"n120.v\"\n[simulation]\nstop = \"50 ms\"\nstep = \"0.1 ms\"\n";
  ReadOptions reading;
  reading.library = TELLEGEN_SOURCE_DIR "/library";
  Model model = read_model_text(text, "ladder.toml", reading);
  const TestFolder folder;
  const fs::path path = folder / "c";
  fs::create_directories(path);
  ASSERT_EQ(exported(model, "bdf2", path, 500, nullptr, true), "");
  ASSERT_EQ(sh(build_in(path, "-O0")), 0);
  EXPECT_EQ(sh(path.string() + "/replay"), 0);
  SimulationOptions options;
  options.method = "bdf2";
  options = complete_options(model, options);
  options.compile = false;
  const SimulationResult here = Simulation(model, options, {}).run();
  options.straight_line = true;
  const SimulationResult there = Simulation(model, options, {}).run();
  EXPECT_NE(here.statistics.executor, there.statistics.executor);
  ASSERT_EQ(here.values.size(), there.values.size());
  for (std::size_t k = 0; k < here.values.size(); ++k) ASSERT_NEAR(here.values[k], there.values[k], 1e-12);
}

// In double such networks go by tables: the kernels and the sparse solution of `simulate` itself, so that
// every bit is that of an ordinary run. Linear, with junctions, with switches and samples.
TEST(Export, networks_by_tables_take_the_steps_of_simulate) {
  const std::string ladder = R"toml(
name = "Ladder"
[parameters]
R0 = "10 ohm"
[inputs]
level = 0.7
[components]
e = { kind = "electrical.voltage_source", p = "n[0]", n = "datum", V = "2*sin(300*t) + level" }
r = { kind = "electrical.resistor", count = 90, p = "n[i-1]", n = "n[i]", R = "R0 + mod(i, 7)" }
c = { kind = "electrical.capacitor", count = 90, p = "n[i]", n = "datum", C = "2 uF", v0 = 0 }
)toml";
  const std::string diodes =
      "d = { kind = \"electrical.diode\", count = 10, p = \"n[9*i]\", n = \"m[i]\" }\n"
      "load = { kind = \"electrical.resistor\", count = 10, p = \"m[i]\", n = \"datum\", R = 200 }\n";
  const std::string switches =
      "over = { kind = \"signals.comparator\", u = \"n[20].v\", upper = 0.4, lower = 0.2 }\n"
      "held = { kind = \"signals.sample_hold\", u = \"n[5].v\", period = \"1.7 ms\" }\n"
      "s = { kind = \"electrical.switch\", p = \"n[30]\", n = \"datum\", cp = \"g\", cn = \"datum\", Ron = "
      "50, Vt = "
      "0.5, Vh = 0.1 }\n"
      "g = { kind = \"electrical.voltage_source\", p = \"g\", n = \"datum\", V = \"over.y + 0.1*held.y\" }\n";
  const std::string end =
      "[outputs]\nv = \"n[45].v\"\ncurrent = \"c[50].i\"\npower = \"r[7].v*r[7].i\"\n"
      "[simulation]\nstop = \"20 ms\"\nstep = \"0.1 ms\"\n";
  ReadOptions reading;
  reading.library = TELLEGEN_SOURCE_DIR "/library";
  for (const std::string& more : {std::string(), diodes, switches, diodes + switches})
    for (const char* method : {"bdf1", "bdf3", "tr"}) {
      Model model = read_model_text(ladder + more + end, "ladder.toml", reading);
      const TestFolder folder;
      const fs::path path = folder / "c";
      fs::create_directories(path);
      CExport result;
      ASSERT_EQ(exported(model, method, path, 200, &result), "") << method << more;
      EXPECT_TRUE(fs::exists(path / "tellegen_network.h"));
      EXPECT_EQ(result.parameters, std::vector<std::string>{"R0"});
      ASSERT_EQ(sh(build_in(path, "-O0")), 0) << method << more;
      EXPECT_EQ(sh(path.string() + "/replay"), 0) << method << more;
    }
}

TEST(Export, tables_of_time_decide_events) {
  const char* text = R"toml(
name = "Tables of time"
[tables]
f = [[0.0, 0.0], [0.4, 1.0], [1.0, 0.2]]
[components]
e1 = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "5 V" }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = 1000 }
c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = "50 uF" }
over = { kind = "signals.comparator", u = "f(t)", upper = 0.5, lower = 0.3 }
s1 = { kind = "electrical.switch", p = "b", n = "datum", cp = "g", cn = "datum", Ron = 100, Vt = 0.5, Vh = 0.1 }
g1 = { kind = "electrical.voltage_source", p = "g", n = "datum", V = "over.y" }
[outputs]
v = "b.v"
[simulation]
stop = "1 s"
step = "1 ms"
)toml";
  ReadOptions reading;
  reading.library = TELLEGEN_SOURCE_DIR "/library";
  Model model = read_model_text(text, "tables.toml", reading);
  const TestFolder folder;
  const fs::path path = folder / "c";
  fs::create_directories(path);
  ASSERT_EQ(exported(model, "bdf2", path, 1000), "");
  ASSERT_EQ(sh(build_in(path, "-O0")), 0);
  EXPECT_EQ(sh(path.string() + "/replay"), 0);
}

TEST(Export, every_method_starts_as_it_does_here) {
  for (const char* method : {"bdf1", "bdf2", "bdf3", "tr", "trnp", "rk4", "exact"})
    for (const char* name : {"rlc", "rectifier"}) {
      if (method == std::string("exact") && name == std::string("rectifier")) continue;  // not linear
      Model model = read(models + name + "/model.toml");
      const TestFolder folder;
      const fs::path path = folder / "c";
      fs::create_directories(path);
      const std::string why = exported(model, method, path, 200);
      if (method == std::string("rk4") && !why.empty()) continue;  // too stiff for it
      ASSERT_EQ(why, "") << method;
      ASSERT_EQ(sh(build_in(path)), 0) << method;
      EXPECT_EQ(sh(path.string() + "/replay"), 0) << name << ", " << method;
    }
}

// Not only what a run with numbers that can be changed gives: what `simulate` gives, with its account of
// energy.
TEST(Export, the_command_writes_the_bits_of_simulate) {
  for (const std::string name : {"pmsm-thermal", "motor-sag", "inverter", "motor-thermal"}) {
    const TestFolder folder;
    const std::string to = (folder / "c").string(), file = models + name + "/model.toml";
    const Ran ran = run_program({"export", file, "--output", to, "--vector", "1"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    ASSERT_EQ(sh(build_in(to, "-O0")), 0) << name;
    ASSERT_EQ(std::system((to + "/replay 40 > " + to + "/said").c_str()), 0) << name;
    Model model = read(file);
    SimulationOptions options = complete_options(model, as_the_model_says());
    options.balance = Balance::on;
    options.compile = false;
    options.sample = 0.0;
    const EquationSystem system = build_system(model);
    Simulation simulation(system, options, default_outputs(system, false));
    const std::size_t width = simulation.outputs().size();
    std::vector<double> rows(40 * simulation.problem().outputs.size());
    ASSERT_EQ(simulation.integrator().advance(40, rows.data()), 40);
    std::istringstream said(get(to + "/said"));
    for (std::size_t row = 0; row < 40; ++row)
      for (std::size_t column = 0; column < width; ++column) {
        std::string value;
        said >> value;
        EXPECT_EQ(std::strtod(value.c_str(), nullptr),
                  rows[row * simulation.problem().outputs.size() + column])
            << name << ", row " << row << ", column " << column;
      }
  }
}

// From one matrix exponential; where a source becomes another function of time it would be another.
TEST(Export, exact_steps_follow_smooth_sources) {
  const std::string text = R"toml(
[components]
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "1 + 2*t + 3*exp(-t)*sin(5*t)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = 4 }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = 0.1, v0 = 0.5 }
[outputs]
v = "b.v"
i = "r.i"
[simulation]
stop = "3 s"
step = "0.1 s"
method = "exact"
)toml";
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  Model model = read_model_text(text, "smooth.toml", options);
  const TestFolder folder;
  const fs::path path = folder / "c";
  fs::create_directories(path);
  ASSERT_EQ(exported(model, "exact", path, 30), "");
  ASSERT_EQ(sh(build_in(path)), 0);
  EXPECT_EQ(sh(path.string() + "/replay"), 0);
  std::string steps = text;
  steps.replace(steps.find("2*t"), 3, "if(t < 0.7, 2, 3)");
  Model jumping = read_model_text(steps, "jumping.toml", options);
  EXPECT_NE(exported(jumping, "exact", path, 30).find("another function of time from t = 0.7 s on"),
            std::string::npos);
}

// A program of a user: other numbers, saved and restored, many steps at once.
TEST(Export, numbers_can_be_set_and_states_saved) {
  const char* text = R"(
name = "Charging"
[parameters]
R1 = "1 kohm"
C1 = { value = "2*C0", unit = "F" }
C0 = "0.5 mF"
[components]
e1 = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "5 V" }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = "R1" }
c1 = { kind = "electrical.capacitor", p = "b", n = "datum", C = "C1" }
[outputs]
v = { value = "b.v", unit = "V" }
double = { value = "2*b.v", unit = "V" }
[simulation]
stop = "1 s"
step = "1 ms"
method = "bdf3"
)";
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  Model model = read_model_text(text, "charging.toml", options);
  study_parameter(model, "e1.V");
  const TestFolder folder;
  const fs::path path = folder / "c";
  fs::create_directories(path);
  CExport result;
  ASSERT_EQ(exported(model, "bdf3", path, 50, &result), "");
  EXPECT_EQ(result.parameters, (std::vector<std::string>{"R1", "C0", "e1.V"}));
  put(path / "main.c", R"(#include <math.h>
#include <string.h>
#include "model.h"
int main(void) {
  static model_state s, kept;
  model_outputs y, z;
  model_parameters p;
  model_init(&s, &y);
  if (y.v != 0.0) return 1;
  /* The same numbers again change nothing. */
  kept = s;
  p = s.parameters;
  if (model_set_parameters(&s, &p) != 0) return 2;
  if (model_run(&s, 300, &y) != 0 || model_run(&kept, 300, &z) != 0) return 3;
  if (memcmp(&y, &z, sizeof y) != 0) return 4;
  if (fabs(y.v - 5.0 * (1.0 - exp(-0.3))) > 1e-5 || y.double_2 != 2.0 * y.v) return 5;
  if (fabs(model_time(&s) - 0.3) > 1e-12) return 6;
  /* Saved, and gone on from twice. */
  static char bytes[sizeof(model_state)];
  model_save(&s, bytes);
  for (int k = 0; k < 100; ++k) model_step(&s, &y);
  model_restore(&s, bytes);
  model_run(&s, 100, &z);
  if (memcmp(&y, &z, sizeof y) != 0) return 7;
  /* Ten times the capacitance from here on. */
  model_restore(&s, bytes);
  p.C0 *= 10.0;
  p.e1_V = 10.0;
  if (model_set_parameters(&s, &p) != 0) return 8;
  model_run(&s, 1000, &z);
  const double v0 = 5.0 * (1.0 - exp(-0.3));
  return fabs(z.v - (10.0 + (v0 - 10.0) * exp(-0.1))) < 2e-3 ? 0 : 9;
}
)");
  ASSERT_EQ(sh(build_in(path)), 0);
  EXPECT_EQ(sh(path.string() + "/replay"), 0);
}

// Twice the power from half the time on, by an implicit and by the explicit method.
TEST(Export, inputs_come_from_the_caller) {
  const TestFolder folder;
  put(folder / "heater.toml", R"([inputs]
P = { value = "10 W" }
[components]
c = { kind = "thermal.capacitor", p = "body", n = "datum", C = 50, T0 = 300 }
r = { kind = "thermal.resistor", p = "body", n = "air", R = 2 }
a = { kind = "thermal.fixed_temperature", p = "air", T = 300 }
q = { kind = "thermal.heat_source", p = "datum", n = "body", Q = "P" }
[outputs]
T = { value = "body.T", unit = "degC" }
[simulation]
stop = "100 s"
step = "0.1 s"
)");
  for (const char* method : {"bdf3", "rk4"}) {
    const std::string to = (folder / method).string();
    const Ran ran = run_program(
        {"export", (folder / "heater.toml").string(), "--method", method, "--inputs", "P", "--output", to});
    ASSERT_EQ(ran.code, 0) << ran.err;
    put(to + "/main.c", R"(#include <math.h>
#include "heater.h"
int main(void) {
  heater_state s;
  heater_outputs y;
  heater_inputs u = {10.0};
  heater_init(&s, &y);
  for (int k = 0; k < 500; ++k)
    if (heater_step(&s, &u, &y) != 0) return 1;
  const double middle = 20.0 * (1.0 - exp(-0.5));
  if (fabs(y.T - 300.0 - middle) > 1e-5) return 2;
  u.P = 20.0;
  if (heater_run(&s, &u, 500, &y) != 0) return 3;
  return fabs(y.T - 300.0 - (40.0 + (middle - 40.0) * exp(-0.5))) < 2e-2 ? 0 : 4;
}
)");
    ASSERT_EQ(sh(build_in(to)), 0);
    EXPECT_EQ(sh(to + "/replay"), 0) << method;
  }
  const Ran twice = run_program(
      {"export", (folder / "heater.toml").string(), "--inputs", "P, P", "--output", (folder / "x").string()});
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.err.find("T401: --inputs names 'P' twice"), std::string::npos) << twice.err;
}

// In float, but for time: after more steps than a float can count it still goes on, and a source of time with
// it.
TEST(Export, single_precision_keeps_time) {
  const TestFolder folder;
  put(folder / "heater.toml", R"toml([inputs]
P = { value = "10 W" }
[parameters]
C1 = "50 J/K"
[components]
c = { kind = "thermal.capacitor", p = "body", n = "datum", C = "C1", T0 = 300 }
r = { kind = "thermal.resistor", p = "body", n = "air", R = 2 }
a = { kind = "thermal.fixed_temperature", p = "air", T = "300 + 5*sin(0.001*t)" }
q = { kind = "thermal.heat_source", p = "datum", n = "body", Q = "P" }
[outputs]
T = { value = "body.T", unit = "degC" }
air = "air.T"
[simulation]
stop = "100 s"
step = "0.1 s"
)toml");
  const std::string to = (folder / "c").string();
  const Ran ran = run_program({"export", (folder / "heater.toml").string(), "--method", "bdf2", "--inputs",
                               "P", "--real", "float", "--output", to});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("in single precision"), std::string::npos) << ran.out;
  ASSERT_EQ(sh(build_in(to)), 0);
  EXPECT_EQ(sh(to + "/replay"), 0);
  put(to + "/main.c", R"(#include <math.h>
#include <string.h>
#include "heater.h"
int main(void) {
  static heater_state s, kept;
  heater_outputs y, z;
  heater_inputs u = {10.0f};
  heater_parameters p;
  heater_init(&s, &y);
  p = s.parameters;
  if (sizeof y.T != sizeof(float) || heater_set_parameters(&s, &p) != 0) return 1;
  if (heater_run(&s, &u, 20000000, &y) != 0) return 2;
  if (fabs(heater_time(&s) - 2e6) > 0.01) return 3;
  if (fabs(y.air - (300.0 + 5.0 * sin(2e3))) > 1e-3) return 4;
  heater_save(&s, &kept);
  for (int k = 0; k < 100000; ++k)
    if (heater_step(&s, &u, &y) != 0) return 5;
  heater_restore(&s, &kept);
  if (heater_run(&s, &u, 100000, &z) != 0 || memcmp(&y, &z, sizeof y) != 0) return 6;
  return fabs(y.air - (300.0 + 5.0 * sin(2010.0))) > 1e-3 || fabs(y.T - y.air - 20.0) > 0.6 ? 7 : 0;
}
)");
  ASSERT_EQ(sh(build_in(to)), 0);
  EXPECT_EQ(sh(to + "/replay"), 0);
  const Ran events = run_program({"export", models + "pmsm-inverter/model.toml", "--real", "float",
                                  "--output", (folder / "x").string()});
  EXPECT_EQ(events.code, 2);
  EXPECT_NE(events.err.find("cannot be exported in single precision"), std::string::npos) << events.err;
  const Ran fmu = run_program({"export", (folder / "heater.toml").string(), "--real", "float", "--as", "fmu",
                               "--output", (folder / "x.fmu").string()});
  EXPECT_EQ(fmu.code, 2);
}

// Readings and inputs in, estimates and deviations out, of nonlinear models too.
TEST(Export, estimators_follow_rows_to_the_bit) {
  const TestFolder folder;
  // Of the last the quantities follow from an algebraic equation.
  for (const std::string file : {"inverter/model", "pmsm-estimation/model", "rc-thermal/network"})
    for (const std::string estimator : {"kf", "ekf", "pkf", "ukf", "steady"}) {
      if (estimator == "steady" && file != "inverter/model") continue;  // the others are not linear
      if (estimator != "kf" && file == "rc-thermal/network") continue;
      const std::string name = file.substr(0, file.find('/'));
      const std::string to = (folder / (name + estimator)).string();
      const Ran ran = run_program(
          {"export", models + file + ".toml", "--estimator", estimator, "--vector", "60", "--output", to});
      ASSERT_EQ(ran.code, 0) << ran.err;
      EXPECT_NE(ran.out.find("estimates:"), std::string::npos) << ran.out;
      ASSERT_EQ(sh(build_in(to)), 0) << name << ", " << estimator;
      EXPECT_EQ(sh(to + "/replay"), 0) << name << ", " << estimator;
    }
  const auto refused = [&](std::vector<std::string> arguments, const char* why) {
    arguments.insert(arguments.begin(), {"export", models + "inverter/model.toml", "--output",
                                         (folder / "x").string(), "--estimator"});
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
  };
  refused({"ekf-perfect"}, "T420: the estimator 'ekf-perfect' of this model cannot be exported as C");
  refused({"kf", "--as", "verilog"}, "T401: an estimator as Verilog needs a record: ranges are its own");
  refused({"kf", "--as", "fmu", "--real", "float"}, "T401: --real is for --as c");
}

// The vectors are computed in single precision here, so every bit is the same; estimates stay near
// those in double; where they cannot there is a fault.
TEST(Export, estimators_in_single_precision) {
  const TestFolder folder;
  struct Case {
    const char *file, *estimator;
  };
  for (const Case& c :
       {Case{"inverter/model", "kf"}, Case{"inverter/model", "steady"}, Case{"pmsm-estimation/model", "ekf"},
        Case{"motor-faults/model", "ukf"}, Case{"rc-thermal/network", "pkf"}}) {
    const std::string to = (folder / (std::string(c.estimator) + std::string(c.file).substr(0, 2))).string();
    const Ran ran = run_program({"export", models + c.file + ".toml", "--estimator", c.estimator, "--real",
                                 "float", "--vector", "200", "--name", "twin", "--output", to, "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto json = nlohmann::json::parse(ran.out);
    EXPECT_EQ(json["real"], "float");
    double largest = 0.0;
    for (const auto& difference : json["differences"]) largest = std::max(largest, difference.get<double>());
    EXPECT_GT(largest, 0.0) << c.file;
    EXPECT_LT(largest, 1e-3) << c.file << ", " << c.estimator;
    ASSERT_EQ(sh(build_in(to)), 0) << c.file << ", " << c.estimator;
    EXPECT_EQ(sh(to + "/replay"), 0) << c.file << ", " << c.estimator;
    EXPECT_NE(get(to + "/twin.h").find("float w["), std::string::npos);
  }
  const Ran lost = run_program({"export", models + "pmsm-estimation/model.toml", "--estimator", "ukf",
                                "--real", "float", "--vector", "200", "--output", (folder / "x").string()});
  EXPECT_EQ(lost.code, 2);
  EXPECT_NE(lost.err.find("cannot be exported in single precision: "), std::string::npos) << lost.err;
}

TEST(Export, the_command_writes_a_folder_and_says_what_it_cannot) {
  const TestFolder folder;
  const fs::path path = folder / "c";
  const std::string to = (path / "rlc").string();
  const Ran ran = run_program({"export", models + "rlc/model.toml", "--output", to, "--method", "tr"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("operations"), std::string::npos) << ran.out;
  EXPECT_EQ(sh(build_in(to)), 0);
  EXPECT_EQ(sh(to + "/replay"), 0);
  EXPECT_EQ(run_program({"export", models + "rlc/model.toml", "--output", to}).code, 0);  // once more

  fs::create_directories(path / "mine");
  const Ran exact =
      run_program({"export", models + "inverter/case2.toml", "--output", to + "2", "--method", "exact"});
  EXPECT_EQ(exact.code, 2);
  EXPECT_NE(exact.err.find("T420: this run cannot be exported as C: with method 'exact' a source is another"),
            std::string::npos)
      << exact.err;
  EXPECT_FALSE(fs::exists(to + "2"));
  put(path / "mine" / "notes.txt", "precious");
  EXPECT_EQ(run_program({"export", models + "rlc/model.toml", "--output", (path / "mine").string()}).code, 2);
  EXPECT_EQ(run_program({"export", models + "rlc/model.toml", "--output", to, "--as", "ada"}).code, 2);
  EXPECT_EQ(run_program({"export", models + "rlc/model.toml", "--output", to, "--method", "adaptive"}).code,
            2);
}

// What would be ignored is a fault that names the option and what it is for.
TEST(Export, options_without_effect_are_faults) {
  const TestFolder folder;
  const std::string rlc = models + "rlc/model.toml", inverter = models + "inverter/model.toml";
  struct Case {
    std::string model;
    std::vector<std::string> options;
    const char* why;
  };
  for (const Case& c :
       {Case{rlc, {"--core", "microcode"}, "--core is for --as verilog"},
        Case{rlc, {"--as", "fmu", "--bits", "20"}, "--bits is for --as verilog"},
        Case{rlc, {"--fmi", "2"}, "--fmi is for --as fmu"},
        Case{rlc, {"--as", "fmu", "--real", "float"}, "--real is for --as c"},
        Case{rlc, {"--as", "fmu", "--vector", "5"}, "--vector is for --as c and --as verilog"},
        Case{rlc, {"--as", "verilog", "--parameters", "r1.R"}, "--parameters is for --as c and"},
        Case{rlc, {"--as", "verilog", "--interval", "3"}, "--interval is for --core pipeline"},
        Case{
            rlc, {"--as", "verilog", "--core", "microcode", "--adders", "3"}, "--adders is for --core units"},
        Case{rlc, {"--data", "x.csv"}, "--data is for --estimator with --as verilog"},
        Case{inverter, {"--estimator", "kf", "--method", "tr"}, "--method is for a model's step"},
        Case{inverter, {"--estimator", "kf", "--outputs", "T1"}, "--outputs is for a model's"}}) {
    std::vector<std::string> arguments{"export", c.model, "--output", (folder / "x.fmu").string()};
    arguments.insert(arguments.end(), c.options.begin(), c.options.end());
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.code, 2) << c.why;
    EXPECT_NE(ran.err.find(std::string("tellegen export: T401: ") + c.why), std::string::npos) << ran.err;
  }
  const Ran outputs =
      run_program({"export", rlc, "--outputs", "l1.i, l9.i", "--output", (folder / "x").string()});
  EXPECT_EQ(outputs.code, 2);
  EXPECT_NE(outputs.err.find("tellegen export --outputs: T"), std::string::npos) << outputs.err;
}

}  // namespace
}  // namespace tellegen
