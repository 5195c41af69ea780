// Models as C: built by the system's compiler, run, and held against Tellegen's own steps bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

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
                     CExport* result = nullptr) {
  SimulationOptions options;
  options.method = method;
  try {
    options = complete_options(model, options);
    options.compile = false;
    options.restarts = options.straight_line = true;
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
  ASSERT_EQ(exported(model, "bdf2", path, 500), "");
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

TEST(Export, every_method_starts_as_it_does_here) {
  for (const char* method : {"bdf1", "bdf2", "bdf3", "tr", "trnp", "rk4"})
    for (const char* name : {"rlc", "rectifier"}) {
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
  refused({"kf", "--as", "verilog"}, "T401: an estimator is exported as C or as an FMU");
  refused({"kf", "--real", "float"}, "T401: estimators are exported in double only");
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
      run_program({"export", models + "rlc/model.toml", "--output", to + "2", "--method", "exact"});
  EXPECT_EQ(exact.code, 2);
  EXPECT_NE(exact.err.find("T420: this run cannot be exported as C: it is run by 'exact discretisation'"),
            std::string::npos)
      << exact.err;
  EXPECT_FALSE(fs::exists(to + "2"));
  put(path / "mine" / "notes.txt", "precious");
  EXPECT_EQ(run_program({"export", models + "rlc/model.toml", "--output", (path / "mine").string()}).code, 2);
  EXPECT_EQ(run_program({"export", models + "rlc/model.toml", "--output", to, "--as", "ada"}).code, 2);
  EXPECT_EQ(run_program({"export", models + "rlc/model.toml", "--output", to, "--method", "adaptive"}).code,
            2);
}

}  // namespace
}  // namespace tellegen
