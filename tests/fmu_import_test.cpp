// FMUs of others in models: one written here in C, with an event, texts and calls that fail, and those that
// Tellegen exports itself.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tellegen/deploy/fmu_export.h"
#include "tellegen/deploy/zip_file.h"
#include "tellegen/estimate/twin.h"
#include "tellegen/fmu/fmu.h"
#include "tellegen/model/fmu_component.h"
#include "tellegen/model/read.h"
#include "tellegen/results/test_folder.h"
#include "tellegen/results/trajectory.h"
#include "tellegen/simulate/simulate.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// A tank: der(level) = gain*u, in steps of Euler's; `high` from a level of 1 on, `count` how often it has
// become so, with the level then set back. `mode` says what goes wrong: "fail" after t = 0.5, "crash" there,
// "end" there, "refuse" at once.
const char* const tank_code = R"c(
#include "tellegen_fmi2.h"
#include <stdlib.h>
#include <string.h>
typedef struct { double t, u, level, gain; int high, count, start; char mode[32]; fmi2CallbackFunctions f; } tank;
fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions* f, fmi2Boolean visible, fmi2Boolean logging) {
  tank* m = (tank*)f->allocateMemory(1, sizeof(tank));
  (void)name, (void)type, (void)resources, (void)visible, (void)logging;
  if (strcmp(guid, "{tank}") != 0) return 0;
  m->f = *f;
  m->gain = 1.0;
  m->level = 0.25;
  m->start = 3;
  strcpy(m->mode, "run");
  return m;
}
void fmi2FreeInstance(fmi2Component c) { ((tank*)c)->f.freeMemory(c); }
fmi2Status fmi2SetupExperiment(fmi2Component c, int a, double b, double d, int e, double g) {
  (void)c, (void)a, (void)b, (void)d, (void)e, (void)g;
  return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
  tank* m = (tank*)c;
  if (strcmp(m->mode, "refuse") != 0) return fmi2OK;
  m->f.logger(m->f.componentEnvironment, "tank", fmi2Error, "logStatusError", "cannot %s in mode %d", "start", 7);
  return fmi2Error;
}
fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
  ((tank*)c)->count = ((tank*)c)->start;
  return fmi2OK;
}
fmi2Status fmi2Terminate(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const double v[]) {
  size_t k;
  for (k = 0; k < n; ++k) {
    if (r[k] == 1) ((tank*)c)->u = v[k];
    else if (r[k] == 2) ((tank*)c)->level = v[k];
    else if (r[k] == 3) ((tank*)c)->gain = v[k];
    else return fmi2Error;
  }
  return fmi2OK;
}
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, double v[]) {
  size_t k;
  for (k = 0; k < n; ++k)
    if (r[k] == 2) v[k] = ((tank*)c)->level;
    else return fmi2Error;
  return fmi2OK;
}
fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, const int v[]) {
  if (n != 1 || r[0] != 6) return fmi2Error;
  ((tank*)c)->start = v[0];
  return fmi2OK;
}
fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, int v[]) {
  if (n != 1 || r[0] != 5) return fmi2Error;
  v[0] = ((tank*)c)->count;
  return fmi2OK;
}
fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference r[], size_t n, int v[]) {
  if (n != 1 || r[0] != 4) return fmi2Error;
  v[0] = ((tank*)c)->high;
  return fmi2OK;
}
fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2String v[]) {
  if (n != 1 || r[0] != 7 || strlen(v[0]) > 31) return fmi2Error;
  strcpy(((tank*)c)->mode, v[0]);
  return fmi2OK;
}
fmi2Status fmi2GetBooleanStatus(fmi2Component c, fmi2StatusKind kind, fmi2Boolean* v) {
  *v = kind == fmi2Terminated && strcmp(((tank*)c)->mode, "end") == 0;
  return fmi2OK;
}
fmi2Status fmi2DoStep(fmi2Component c, double t, double h, fmi2Boolean keep) {
  tank* m = (tank*)c;
  (void)keep;
  if (t > m->t + 1e-9 || t < m->t - 1e-9) return fmi2Error;
  if (t + h > 0.5 + 1e-9) {
    if (strcmp(m->mode, "end") == 0) return fmi2Discard;
    if (strcmp(m->mode, "crash") == 0) *(volatile int*)8 = 1;
    if (strcmp(m->mode, "fail") == 0) {
      m->f.logger(m->f.componentEnvironment, "tank", fmi2Error, "logStatusError", "it leaks at %g s", t);
      return fmi2Error;
    }
  }
  m->t = t + h;
  m->level += h * m->gain * m->u;
  m->high = m->level >= 1.0;
  if (m->high) m->count += 1, m->level -= 1.0;
  return fmi2OK;
}
)c";

const char* const tank_xml = R"xml(<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Tank" guid="{tank}">
  <CoSimulation modelIdentifier="tank" canHandleVariableCommunicationStepSize="true"/>
  <UnitDefinitions>
    <Unit name="mm"><BaseUnit m="1" factor="0.001"/></Unit>
    <Unit name="l/min"><BaseUnit m="3" s="-1" factor="1.6666666666666667e-5"/></Unit>
  </UnitDefinitions>
  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>
  <ModelVariables>
    <ScalarVariable name="in.flow" valueReference="1" causality="input"><Real start="0" unit="l/min"/></ScalarVariable>
    <ScalarVariable name="level[1]" valueReference="2" causality="output" initial="exact"><Real start="0.25" unit="mm"/></ScalarVariable>
    <ScalarVariable name="gain" valueReference="3" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="high" valueReference="4" causality="output"><Boolean/></ScalarVariable>
    <ScalarVariable name="count" valueReference="5" causality="output"><Integer/></ScalarVariable>
    <ScalarVariable name="first" valueReference="6" causality="parameter"><Integer start="3"/></ScalarVariable>
    <ScalarVariable name="mode" valueReference="7" causality="parameter"><String start="run"/></ScalarVariable>
  </ModelVariables>
</fmiModelDescription>
)xml";

// Compiled once.
const std::string& tank_object() {
  static const std::string object = [] {
    const fs::path folder = fs::path(testing::TempDir()) / fmt::format("tank-{}", getpid());
    fs::create_directories(folder);
    put(folder / "tank.c", tank_code);
    const std::string command =
        fmt::format("cc -std=c99 -shared -fPIC -O1 -I {}/runtime {} -o {}", TELLEGEN_SOURCE_DIR,
                    (folder / "tank.c").string(), (folder / "tank.so").string());
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::string bytes = get(folder / "tank.so");
    fs::remove_all(folder);
    return bytes;
  }();
  return object;
}

std::string tank_platform() {
  utsname host{};
  uname(&host);
  return std::string(host.machine) == "x86_64" ? "linux64" : std::string(host.machine) + "-linux";
}

void write_tank(const fs::path& file, const std::string& xml = tank_xml,
                const std::string& platform = tank_platform()) {
  write_zip(file, {{"modelDescription.xml", xml}, {"binaries/" + platform + "/tank.so", tank_object()}});
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// A tank whose level drives a circuit, and that is filled by what the circuit does.
const char* const plant = R"toml(
[parameters]
supply = 60.0
[components]
tank = { kind = "fmu:tank.fmu", "in.flow" = "1e-3/60*supply*(1 + 0*out.v)", gain = 0.9%s }
source = { kind = "electrical.voltage_source", p = "top", n = "datum", V = "1e3*tank.level_1" }
r = { kind = "electrical.resistor", p = "top", n = "out", R = 1 }
c = { kind = "electrical.capacitor", p = "out", n = "datum", C = 0.1, v0 = 0.25 }
[outputs]
level = { value = "tank.level_1", unit = "mm" }
count = "tank.count"
v = "out.v"
[simulation]
stop = "1 s"
step = "10 ms"
)toml";

std::string plant_with(const std::string& more) { return replaced(plant, "%s", more); }

Model read_plant(const TestFolder& folder, const std::string& text) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, folder / "plant.toml", options);
}

SimulationResult run_plant(const Model& model, const std::string& method) {
  SimulationOptions given;
  given.method = method;
  given.compile = false;
  return Simulation(model, complete_options(model, given), {}).run();
}

double value(const SimulationResult& r, std::size_t row, std::size_t column) {
  return r.values[row * r.names.size() + column];
}

std::string codes(const ModelError& error) {
  std::string all;
  for (const Fault& f : error.faults()) all += f.code + " " + f.message + "\n";
  return all;
}

std::string fault_of(const TestFolder& folder, const std::string& text, const std::string& method = "bdf2") {
  try {
    const SimulationResult r = run_plant(read_plant(folder, text), method);
    return "failed: " + r.failure;
  } catch (const ModelError& error) {
    return codes(error);
  } catch (const SimulationError& error) {
    return std::string("no start: ") + error.what();
  }
}

// The tank by itself: 60 l/min = 1 m3/s in its units, times the gain, from 0.25 mm on; set back at 1.
double tank_level(std::size_t row, double rate = 0.9 * 60.0) {
  double level = 0.25;
  for (std::size_t k = 0; k < row; ++k) {
    level += 0.01 * rate;
    if (level >= 1.0) level -= 1.0;
  }
  return level;
}

TEST(FmuImport, AllMethodsRunAnFmuAsItRunsByItself) {
  const TestFolder folder;
  write_tank(folder / "tank.fmu");
  const Model model = read_plant(folder, plant_with(""));
  for (const char* method : {"bdf1", "bdf2", "bdf3", "tr", "rk4", "adaptive", "adaptive-ida"}) {
    const SimulationResult r = run_plant(model, method);
    ASSERT_EQ(r.failure, "") << method;
    ASSERT_EQ(r.t.size(), 101u) << method;
    for (std::size_t row = 0; row < r.t.size(); ++row)
      EXPECT_NEAR(value(r, row, 0), tank_level(row), 1e-9) << method << " at " << r.t[row];
    // 54 mm in all, set back each time it is 1 mm; the integer is that before the sampling at 1 s.
    EXPECT_EQ(value(r, 0, 1), 0.0) << method;  // counts from the parameter on once it runs
    EXPECT_GE(value(r, 100, 1), 3.0 + 52.0) << method;
  }
}

TEST(FmuImport, TheCircuitSeesAStraightLineBetweenPoints) {
  const TestFolder folder;
  write_tank(folder / "tank.fmu");
  // Slowly filled: 2 mm/s, no event until 0.375 s. der(v) = (u - v)/RC with u = 0.25 + 2 t.
  const Model model = read_plant(
      folder, replaced(replaced(plant_with(", every = \"50 ms\""), "gain = 0.9", "gain = 1"), "60.0", "2.0"));
  for (const char* method : {"bdf3", "rk4", "adaptive"}) {
    const SimulationResult r = run_plant(model, method);
    ASSERT_EQ(r.failure, "");
    for (std::size_t row = 0; r.t[row] < 0.34; ++row) {
      const double t = r.t[row], exact = 0.25 + 2.0 * (t - 0.1 * (1.0 - std::exp(-t / 0.1)));
      EXPECT_NEAR(value(r, row, 0), 0.25 + 2.0 * t, 1e-9) << method << " at " << t;
      EXPECT_NEAR(value(r, row, 2), exact, 2e-4) << method << " at " << t;
    }
  }
}

TEST(FmuImport, IsolatedIsTheSameToTheBit) {
  const TestFolder folder;
  write_tank(folder / "tank.fmu");
  const SimulationResult here = run_plant(read_plant(folder, plant_with("")), "bdf2");
  const SimulationResult there = run_plant(read_plant(folder, plant_with(", isolate = true")), "bdf2");
  ASSERT_EQ(there.failure, "");
  EXPECT_EQ(here.values, there.values);
}

TEST(FmuImport, WhatGoesWrongWhileItRunsEndsTheRunAndIsNamed) {
  const TestFolder folder;
  write_tank(folder / "tank.fmu");
  for (const char* method : {"bdf2", "rk4", "adaptive", "adaptive-ida"}) {
    const SimulationResult failed = run_plant(read_plant(folder, plant_with(", mode = \"fail\"")), method);
    EXPECT_NE(failed.failure.find("FMU 'tank' (tank.fmu): fmi2DoStep returned fmi2Error: it leaks at 0.5 s"),
              std::string::npos)
        << method << ": " << failed.failure;
    EXPECT_EQ(failed.t.size(), 51u) << method;  // rows up to there are good
    EXPECT_NEAR(value(failed, 50, 0), tank_level(50), 1e-9) << method;
    const SimulationResult ended = run_plant(read_plant(folder, plant_with(", mode = \"end\"")), method);
    EXPECT_EQ(ended.failure, "") << method;
    EXPECT_EQ(ended.note, "FMU 'tank' (tank.fmu): it has ended the simulation at t = 0.51 s") << method;
    EXPECT_EQ(ended.t.size(), 52u) << method;
  }
  const SimulationResult crashed =
      run_plant(read_plant(folder, plant_with(", mode = \"crash\", isolate = true")), "bdf2");
  EXPECT_NE(crashed.failure.find("FMU 'tank' (tank.fmu): its process crashed (signal 11"), std::string::npos)
      << crashed.failure;
  EXPECT_NE(crashed.failure.find("while it made the step to t = 0.51 s"), std::string::npos);
  EXPECT_EQ(crashed.t.size(), 51u);
  for (const char* isolate : {"", ", isolate = true"})
    EXPECT_NE(fault_of(folder, plant_with(std::string(", mode = \"refuse\"") + isolate))
                  .find("no start: FMU 'tank' (tank.fmu): fmi2EnterInitializationMode returned fmi2Error: "
                        "cannot start in mode 7"),
              std::string::npos);
}

TEST(FmuImport, ParametersTextsAndInitialValuesAreSet) {
  const TestFolder folder;
  write_tank(folder / "tank.fmu");
  const Model model = read_plant(folder, plant_with(", first = 40, level_1_start = \"0.5 mm\""));
  const SimulationResult r = run_plant(model, "bdf2");
  ASSERT_EQ(r.failure, "");
  EXPECT_NEAR(value(r, 0, 0), 0.5, 1e-12);
  EXPECT_GE(value(r, 100, 1), 40.0 + 52.0);
}

TEST(FmuImport, WrongEntriesAreFaults) {
  const TestFolder folder;
  write_tank(folder / "tank.fmu");
  const auto expect = [&](const std::string& more, const char* what) {
    const std::string said = fault_of(folder, plant_with(more));
    EXPECT_NE(said.find(what), std::string::npos) << more << ": " << said;
  };
  expect(", gian = 1", "T111 fmu:tank.fmu has no port or parameter 'gian'");
  expect(", first = 1.5", "T692 parameter 'first' of 'tank' is 1.5, and must be a whole number (Int32)");
  expect(", first = \"t\"", "T692 parameter 'first' of 'tank' must be constant");
  expect(", mode = 3", "T102");
  expect(", high = 1", "T692 'high' is an output of the FMU 'tank', not an input or a parameter");
  expect(", \"level[1]\" = 3", "T692 'level[1]' is an output");
  expect(", every = \"1 m\"", "T12");
  expect(", every = \"1 ms\"", "T319 'tank' is sampled every 0.001 s, the step is 0.01 s");
  expect(", level_1_start = \"1 s\"", "T12");
  expect(", isolate = 3", "T102");
}

TEST(FmuImport, WrongFilesAreFaults) {
  const TestFolder folder;
  const auto expect = [&](const char* what) {
    const std::string said = fault_of(folder, plant_with(""));
    EXPECT_NE(said.find(what), std::string::npos) << said;
  };
  expect("T690");
  expect("there is no such file");
  put(folder / "tank.fmu", "no archive");
  expect("it is no FMU: not a zip archive");
  write_zip(folder / "tank.fmu", {{"other.xml", "<a/>"}});
  expect("it has no modelDescription.xml");
  write_tank(folder / "tank.fmu", "<fmiModelDescription");
  expect("its modelDescription.xml is no XML");
  write_tank(folder / "tank.fmu", replaced(tank_xml, "fmiVersion=\"2.0\"", "fmiVersion=\"1.0\""));
  expect("it is of FMI version '1.0'; FMI 2 and 3 can be run");
  write_tank(folder / "tank.fmu", replaced(tank_xml, "<CoSimulation", "<ScheduledExecution"));
  expect("it has neither co-simulation nor model exchange");
  write_tank(folder / "tank.fmu", replaced(tank_xml, "canHandle", "needsExecutionTool=\"true\" canHandle"));
  expect("it needs the tool that made it");
  write_tank(folder / "tank.fmu", tank_xml, "win64");
  expect("it has no code for this machine");
  expect("it has code for win64");
  write_zip(folder / "tank.fmu",
            {{"modelDescription.xml", tank_xml}, {"binaries/" + tank_platform() + "/tank.so", "no code"}});
  expect("its code cannot be loaded");
  write_tank(folder / "tank.fmu", replaced(tank_xml, "{tank}", "{other}"));
  expect("fmi2Instantiate returned nothing");
  write_zip(folder / "tank.fmu", {{"modelDescription.xml", tank_xml},
                                  {"binaries/" + tank_platform() + "/tank.so", tank_object()},
                                  {"../outside", "x"}});
  expect("unsafe file name");
  EXPECT_FALSE(fs::exists(folder / "outside"));
}

TEST(FmuImport, StudiesThatNeedEquationsRefuseByName) {
  const TestFolder folder;
  write_tank(folder / "tank.fmu");
  put(folder / "plant.toml", plant_with(""));
  const std::string file = (folder / "plant.toml").string();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"export", file, "--method", "bdf2", "--output", (folder / "out").string()},
           {"simulate", file, "--output", (folder / "a.csv").string(), "--checkpoint",
            (folder / "a.run").string()},
           {"sensitivity", file, "--of", "out.v", "--wrt", "r.R"}}) {
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find("T693: 'tank' is an imported FMU"), std::string::npos) << ran.err;
  }
}

TEST(FmuImport, AnFmuIsAModelByItself) {
  const TestFolder folder;
  write_tank(folder / "tank.fmu");
  const std::string file = (folder / "tank.fmu").string(), csv = (folder / "run.csv").string();
  const Ran ran = run_program({"simulate", file, "--set", "gain=0.5", "--output", csv, "--isolate"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(get(csv).substr(0, get(csv).find('\n')), "t [s],level_1 [mm],high,count")
      << get(csv).substr(0, 200);
  const Ran checked = run_program({"check", file});
  EXPECT_EQ(checked.code, 0) << checked.err;
  for (const char* word : {"in_flow", "in.flow", "l/min", "level[1]", "level_1", "first", "mode"})
    EXPECT_NE(checked.out.find(word), std::string::npos) << word << "\n" << checked.out;
}

// What Tellegen exports, Tellegen imports: every row as `simulate` has it.
TEST(FmuImport, ExportedModelsComeBackAsTheyAre) {
  const TestFolder folder;
  ReadOptions reading;
  reading.library = TELLEGEN_SOURCE_DIR "/library";
  for (const int version : {2, 3}) {
    Model model = read_model(TELLEGEN_SOURCE_DIR "/models/rlc/model.toml", reading);
    SimulationOptions options = complete_options(model, {});
    options.compile = false;
    options.restarts = true;
    options.sample = 0.0;
    options.stop = 200 * options.step;
    const EquationSystem system = build_system(model);
    Simulation exported(system, options, default_outputs(system, false));
    const FmuExport fmu = export_fmu(model, exported, {.name = "rlc", .version = version});
    write_zip(folder / "rlc.fmu", fmu.files);
    options.restarts = false;
    const SimulationResult expected = Simulation(system, options, default_outputs(system, false)).run();
    const Model imported = read_model(folder / "rlc.fmu", reading);
    SimulationOptions again;
    again.step = options.step;
    again.stop = options.stop;
    const SimulationResult found = Simulation(imported, complete_options(imported, again), {}).run();
    ASSERT_EQ(found.failure, "");
    ASSERT_EQ(found.t.size(), expected.t.size());
    ASSERT_EQ(found.names.size(), expected.names.size());
    for (std::size_t k = 0; k < found.values.size(); ++k)
      EXPECT_NEAR(found.values[k], expected.values[k], 1e-12 * (1.0 + std::abs(expected.values[k]))) << k;
  }
}

const char* const watched_body = R"toml(
name = "Watched body"
[parameters]
P = { value = "10 W" }
[inputs]
air = { value = "293.15 K", unit = "degC" }
[components]
c = { kind = "thermal.capacitor", p = "body", n = "datum", C = 50, T0 = 300 }
r = { kind = "thermal.resistor", p = "body", n = "out", R = 2 }
a = { kind = "thermal.fixed_temperature", p = "out", T = "air" }
q = { kind = "thermal.heat_source", p = "datum", n = "body", Q = "P" }
[sensors]
S = { measures = "body.T", noise = "0.1 K" }
[unknowns]
P = { start = "5 W", deviation = "5 W", varies = "walk", walk = 0.5, coordinate = "value" }
[estimate]
unknowns = ["P"]
inputs = ["air"]
step = "0.1 s"
[estimate.states]
"body.T" = { deviation = 1, noise = 0.01 }
[simulation]
stop = "4 s"
step = "0.1 s"
method = "tr"
)toml";

const char* const plant_with_twin = R"toml(
[components]
c = { kind = "thermal.capacitor", p = "body", n = "datum", C = 50, T0 = 300 }
r = { kind = "thermal.resistor", p = "body", n = "out", R = 2 }
a = { kind = "thermal.fixed_temperature", p = "out", T = "293.15 + t" }
q = { kind = "thermal.heat_source", p = "datum", n = "body", Q = 10 }
twin = { kind = "fmu:twin.fmu", S = "body.T", air = "293.15 + t", every = "0.1 s" }
[outputs]
S = { value = "body.T", unit = "K" }
air = { value = "293.15 + t", unit = "K" }
heat = "twin.P"
heat_sd = "twin.P_sd"
S_estimate = "twin.S_estimate"
S_sd = "twin.S_sd"
[simulation]
stop = "4 s"
step = "0.1 s"
method = "tr"
)toml";

// The readings come from a model in which the estimator runs: its estimates of a row are there one
// communication step later, and are those of `estimate`.
TEST(FmuImport, an_estimator_follows_the_model_it_stands_in) {
  const TestFolder folder;
  put(folder / "body.toml", watched_body);
  for (const std::string estimator : {"kf", "ukf", "steady"})
    for (const std::string version : {"3", "2"}) {
      if (estimator != "kf" && version == "2") continue;
      const std::string fmu = (folder / "twin.fmu").string();
      const Ran exported = run_program({"export", (folder / "body.toml").string(), "--estimator", estimator,
                                        "--as", "fmu", "--fmi", version, "--output", fmu});
      ASSERT_EQ(exported.code, 0) << exported.err;
      put(folder / "plant.toml", plant_with_twin);
      const std::string run = (folder / "run.csv").string(), estimate = (folder / "estimate.csv").string();
      const Ran simulated = run_program({"simulate", (folder / "plant.toml").string(), "--output", run});
      ASSERT_EQ(simulated.code, 0) << simulated.err;
      const Ran estimated = run_program({"estimate", (folder / "body.toml").string(), "--data", run,
                                         "--estimator", estimator, "--anyway", "--output", estimate});
      ASSERT_EQ(estimated.code, 0) << estimated.err;
      const Trajectory by_fmu = read_csv(run), here = read_csv(estimate);
      const auto column = [](const Trajectory& of, const std::string& name) {
        for (std::size_t k = 0; k < of.names.size(); ++k)
          if (of.names[k] == name) return k;
        ADD_FAILURE() << "no column " << name;
        return std::size_t{0};
      };
      for (std::size_t row = 0; row < 40; ++row) {
        const auto alike = [&](const char* there, const char* name) {
          const double a = by_fmu.at(row + 1, column(by_fmu, there)), b = here.at(row, column(here, name));
          EXPECT_NEAR(a, b, 1e-12 * std::abs(b)) << estimator << ", " << name << ", row " << row;
        };
        alike("heat", "P");
        alike("heat_sd", "P_sd");
        alike("S_estimate", "S");
        alike("S_sd", "S_sd");
      }
    }
}

// A reading that is not a number is missing; those that are counted are counted once, however long a
// communication step is.
TEST(FmuImport, an_estimator_takes_missing_readings) {
  const TestFolder folder;
  put(folder / "body.toml", watched_body);
  const std::string path = (folder / "twin.fmu").string();
  ASSERT_EQ(run_program({"export", (folder / "body.toml").string(), "--estimator", "ekf", "--as", "fmu",
                         "--output", path})
                .code,
            0);
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  const Model model = read_model(folder / "body.toml", options);
  FollowOptions follow;
  follow.sensors = model.estimation.sensors;
  follow.inputs = model.estimation.inputs;
  follow.step = 0.1;
  follow.estimator = "ekf";
  Twin twin(model, follow);
  const auto file = open_fmu(path);
  const auto instance = file->start("twin", {});
  std::vector<int> in, out;
  for (std::size_t k = 0; k < file->description().variables.size(); ++k) {
    const FmuVariable& v = file->description().variables[k];
    if (v.causality == "input") in.push_back(static_cast<int>(k));
    if (v.causality == "output") out.push_back(static_cast<int>(k));
    if (v.name == "S") {
      ASSERT_EQ(v.start.size(), 1u);
      EXPECT_TRUE(std::isnan(v.start[0]));
    }
  }
  ASSERT_EQ(in.size(), 2u);
  instance->enter_initialization();
  instance->exit_initialization();
  const double none = std::nan("");
  std::vector<double> values(out.size());
  for (int row = 0; row < 30; ++row) {
    const std::vector<double> given{row % 3 == 1 ? none : 300.0 + 0.2 * row, 293.15};
    instance->set(in, given);
    // Every third time two rows at once: the second has no reading.
    const int rows = row % 3 == 2 ? 2 : 1;
    for (int k = 0; k < rows; ++k)
      twin.push(0.1 * (row + k), std::vector<double>{k == 0 ? given[0] : none},
                std::vector<double>{given[1]});
    ASSERT_TRUE(instance->step(0.1 * row, 0.1 * rows));
    row += rows - 1;
    instance->get(out, values);
    const Twin::Quantities& q = twin.quantities();
    ASSERT_EQ(static_cast<long>(out.size()), 2 * q.mean.size());
    for (long k = 0; k < q.mean.size(); ++k) {
      EXPECT_EQ(values[static_cast<std::size_t>(2 * k)], q.mean[k]) << row;
      EXPECT_EQ(values[static_cast<std::size_t>(2 * k + 1)], q.deviation[k]) << row;
    }
  }
}

}  // namespace
}  // namespace tellegen
