// Models as FMUs: unpacked, loaded and stepped as an importer does it, and held against Tellegen's own steps.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <pugixml.hpp>

#include "runtime/tellegen_fmi2.h"
#include "runtime/tellegen_fmi3.h"
#include "tellegen/data/zip_library.h"
#include "tellegen/deploy/fmu_export.h"
#include "tellegen/model/read.h"
#include "tellegen/results/test_folder.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

const char* const events_model = R"toml(
name = "Heater & thermostat"
[parameters]
R1 = { value = "2 K/W", summary = "to the <air>" }
[inputs]
P = { value = "60 W" }
[components]
c = { kind = "thermal.capacitor", p = "body", n = "datum", C = 50, T0 = 300 }
r = { kind = "thermal.resistor", p = "body", n = "air", R = "R1" }
a = { kind = "thermal.fixed_temperature", p = "air", T = "if(t < 7.03, 300, 295)" }
cold = { kind = "signals.comparator", u = "-body.T", upper = -303, lower = -304 }
q = { kind = "thermal.heat_source", p = "datum", n = "body", Q = "cold.y*P" }
[outputs]
T = { value = "body.T", unit = "degC" }
on = "cold.y"
[simulation]
stop = "40 s"
step = "0.1 s"
method = "bdf2"
)toml";

struct Exported {
  Exported(const TestFolder& folder, int version)
      : file(folder / fmt::format("heater-{}.fmu", version)), code(file.string() + ".so") {
    ReadOptions options;
    options.library = TELLEGEN_SOURCE_DIR "/library";
    Model model = read_model_text(events_model, "heater.toml", options);
    make_external(model, "P");
    SimulationOptions run = complete_options(model, {});
    run.compile = false;
    run.restarts = true;
    run.sample = 0.0;
    run.external = {"P"};
    const EquationSystem system = build_system(model);
    Simulation exported(system, run, default_outputs(system, false));
    fmu = export_fmu(model, exported, {.name = "heater", .version = version});
    write_zip(file, fmu.files);
    Simulation simulation(system, run, default_outputs(system, false));
    width = simulation.outputs().size();
    rows.resize(400 * width);
    EXPECT_EQ(simulation.integrator().advance(400, rows.data()), 400);
  }
  const double* row(std::size_t step) const { return &rows[(step - 1) * width]; }

  fs::path file, code;
  FmuExport fmu;
  std::vector<double> rows;
  std::size_t width = 0;
};

// Compilers take their time: once for each version.
const Exported& exported_as(int version) {
  static const TestFolder folder;
  static const Exported two(folder, 2), three(folder, 3);
  return version == 2 ? two : three;
}

std::string file_in(const fs::path& archive, const std::string& name) {
  zip_t* zip = loaded_zip().zip_open(archive.c_str(), ZIP_RDONLY, nullptr);
  if (!zip) return {};
  std::string text;
  zip_stat_t info{};
  if (loaded_zip().zip_stat(zip, name.c_str(), 0, &info) == 0) {
    text.resize(info.size);
    zip_file_t* file = loaded_zip().zip_fopen(zip, name.c_str(), 0);
    loaded_zip().zip_fread(file, text.data(), text.size());
    loaded_zip().zip_fclose(file);
  }
  loaded_zip().zip_close(zip);
  return text;
}

// The code of an FMU for this machine.
class Library {
 public:
  Library(const Exported& exported, int version) {
    utsname host{};
    uname(&host);
    std::string target = std::string(host.machine) + "-linux";
    if (version == 2 && target == "x86_64-linux") target = "linux64";
    const std::string code = file_in(exported.file, "binaries/" + target + "/heater.so");
    put(exported.code, code);
    handle_ = dlopen(exported.code.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() {
    if (handle_) dlclose(handle_);
  }
  template <class Function>
  Function* get(const char* name) const {
    void* found = dlsym(handle_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Function*>(found);
  }

 private:
  void* handle_ = nullptr;
};

using Status3 = fmi3Status(fmi3Instance);
using Get3 = fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, double*, size_t);
using Set3 = fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, const double*, size_t);

std::vector<std::string> messages;
void log2(void*, fmi2String, fmi2Status, fmi2String, fmi2String message, ...) { messages.push_back(message); }
void log3(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String message) {
  messages.push_back(message);
}

// An importer's side of one instance, FMI 3.
struct Heater3 {
  // `update` is called with the instance itself.
  Heater3(const Library& library, const std::string& token, fmi3IntermediateUpdateCallback update = nullptr,
          bool early_return = false, const std::vector<fmi3ValueReference>& intermediate = {},
          bool event_mode = false)
      : l(library) {
    instance = l.get<fmi3Instance(fmi3String, fmi3String, fmi3String, bool, bool, bool, bool,
                                  const fmi3ValueReference*, size_t, void*, fmi3LogMessageCallback,
                                  fmi3IntermediateUpdateCallback)>("fmi3InstantiateCoSimulation")(
        "one", token.c_str(), "", false, true, event_mode, early_return, intermediate.data(),
        intermediate.size(), this, log3, update);
  }
  ~Heater3() { l.get<void(fmi3Instance)>("fmi3FreeInstance")(instance); }
  fmi3Status begin(double start = 0.0) {
    const fmi3Status status = l.get<fmi3Status(fmi3Instance, bool, double, double, bool, double)>(
        "fmi3EnterInitializationMode")(instance, false, 0.0, start, false, 0.0);
    return status == fmi3OK ? l.get<Status3>("fmi3ExitInitializationMode")(instance) : status;
  }
  fmi3Status step(double from, double length) {
    bool event = false;
    early = false;
    return l.get<fmi3Status(fmi3Instance, double, double, bool, bool*, bool*, bool*, double*)>("fmi3DoStep")(
        instance, from, length, false, &event, &terminate, &early, &reached);
  }
  std::array<double, 2> outputs() {
    const fmi3ValueReference references[] = {3, 4};
    std::array<double, 2> values{};
    EXPECT_EQ(l.get<Get3>("fmi3GetFloat64")(instance, references, 2, values.data(), 2), fmi3OK);
    return values;
  }
  fmi3Status set(fmi3ValueReference reference, double value) {
    return l.get<Set3>("fmi3SetFloat64")(instance, &reference, 1, &value, 1);
  }

  const Library& l;
  fmi3Instance instance;
  bool terminate = false, early = false;
  double reached = 0.0;
  std::vector<double> seen;  // in intermediate update mode
};

std::string token_of(const Exported& exported, const char* attribute) {
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(file_in(exported.file, "modelDescription.xml").c_str()));
  return document.document_element().attribute(attribute).value();
}

TEST(Fmu, takes_the_steps_of_a_simulation_to_the_bit) {
  const Exported& exported = exported_as(3);
  const Library library(exported, 3);
  const std::string token = token_of(exported, "instantiationToken");
  Heater3 one(library, token), other(library, token);
  ASSERT_NE(one.instance, nullptr);
  ASSERT_EQ(one.begin(), fmi3OK);
  ASSERT_EQ(other.begin(), fmi3OK);
  EXPECT_EQ(one.outputs()[0], 300.0);
  for (int k = 1; k <= 400; ++k) {
    ASSERT_EQ(one.step(0.1 * (k - 1), 0.1), fmi3OK);
    EXPECT_EQ(one.reached, 0.1 * (k - 1) + 0.1);
    EXPECT_EQ(std::memcmp(one.outputs().data(), exported.row(k), 16), 0) << k;
    if (k % 4 != 0) continue;  // the other instance: four at once
    ASSERT_EQ(other.step(0.1 * (k - 4), 0.4), fmi3OK);
    EXPECT_EQ(std::memcmp(other.outputs().data(), exported.row(k), 16), 0) << k;
  }
  EXPECT_FALSE(one.terminate);
  int changes = 0;
  for (int k = 2; k <= 400; ++k) changes += exported.row(k)[1] != exported.row(k - 1)[1];
  EXPECT_GE(changes, 4);
}

// Those steps that end in it; what is left over belongs to the next.
TEST(Fmu, a_communication_step_may_have_any_length) {
  const Exported& exported = exported_as(3);
  const Library library(exported, 3);
  Heater3 one(library, token_of(exported, "instantiationToken"));
  ASSERT_EQ(one.begin(), fmi3OK);
  for (int k = 0; k < 100; ++k) {
    ASSERT_EQ(one.step(0.07 * k, 0.07), fmi3OK);
    const int steps = static_cast<int>(0.7 * (k + 1) + 1e-6);
    const double start[] = {300.0, 0.0};
    EXPECT_EQ(one.outputs()[0], steps == 0 ? start[0] : exported.row(steps)[0]) << k;
  }
}

TEST(Fmu, states_are_kept_and_brought_back) {
  const Exported& exported = exported_as(3);
  const Library library(exported, 3);
  const std::string token = token_of(exported, "instantiationToken");
  Heater3 one(library, token), other(library, token);
  ASSERT_EQ(one.begin(), fmi3OK);
  ASSERT_EQ(one.step(0.0, 7.0), fmi3OK);
  fmi3FMUState state = nullptr, copy = nullptr;
  ASSERT_EQ(library.get<fmi3Status(fmi3Instance, fmi3FMUState*)>("fmi3GetFMUState")(one.instance, &state),
            fmi3OK);
  ASSERT_EQ(one.step(7.0, 20.0), fmi3OK);
  size_t size = 0;
  library.get<fmi3Status(fmi3Instance, fmi3FMUState, size_t*)>("fmi3SerializedFMUStateSize")(one.instance,
                                                                                             state, &size);
  std::vector<fmi3Byte> bytes(size);
  ASSERT_EQ(library.get<fmi3Status(fmi3Instance, fmi3FMUState, fmi3Byte*, size_t)>("fmi3SerializeFMUState")(
                one.instance, state, bytes.data(), size),
            fmi3OK);
  ASSERT_EQ(library.get<fmi3Status(fmi3Instance, const fmi3Byte*, size_t, fmi3FMUState*)>(
                "fmi3DeserializeFMUState")(other.instance, bytes.data(), size, &copy),
            fmi3OK);
  ASSERT_EQ(library.get<fmi3Status(fmi3Instance, fmi3FMUState)>("fmi3SetFMUState")(other.instance, copy),
            fmi3OK);
  ASSERT_EQ(other.step(7.0, 20.0), fmi3OK);
  EXPECT_EQ(one.outputs(), other.outputs());
  EXPECT_EQ(std::memcmp(one.outputs().data(), exported.row(270), 16), 0);
  for (fmi3FMUState* s : {&state, &copy})
    library.get<fmi3Status(fmi3Instance, fmi3FMUState*)>("fmi3FreeFMUState")(one.instance, s);
  // And from the start again.
  ASSERT_EQ(library.get<Status3>("fmi3Reset")(one.instance), fmi3OK);
  ASSERT_EQ(one.begin(), fmi3OK);
  ASSERT_EQ(one.step(0.0, 27.0), fmi3OK);
  EXPECT_EQ(one.outputs(), other.outputs());
}

TEST(Fmu, parameters_and_inputs_are_set_and_what_is_wrong_is_said) {
  const Exported& exported = exported_as(3);
  const Library library(exported, 3);
  const std::string token = token_of(exported, "instantiationToken");
  Heater3 stranger(library, "{of another model}"), late(library, token), one(library, token);
  EXPECT_EQ(stranger.instance, nullptr);
  messages.clear();
  EXPECT_EQ(late.begin(3.0), fmi3Error);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("starts at t = 0"), std::string::npos);
  EXPECT_EQ(one.step(0.0, 0.1), fmi3Error);  // not initialised
  ASSERT_EQ(one.set(1, 4.0), fmi3OK);        // R1
  ASSERT_EQ(one.set(2, 20.0), fmi3OK);       // P
  EXPECT_EQ(one.set(3, 1.0), fmi3Error);     // an output
  EXPECT_EQ(one.set(9, 1.0), fmi3Error);
  EXPECT_EQ(one.set(2, std::nan("")), fmi3Error);
  ASSERT_EQ(one.begin(), fmi3OK);
  ASSERT_EQ(one.step(0.0, 5.0), fmi3OK);
  // Twice the resistance and 20 W: 80 K above the air in the end.
  EXPECT_NEAR(one.outputs()[0], 300.0 + 80.0 * (1.0 - std::exp(-5.0 / 200.0)), 0.05);
}

// The importer is called after each of the model's own steps.
TEST(Fmu, steps_in_between_are_shown) {
  const Exported& exported = exported_as(3);
  const Library library(exported, 3);
  const std::string token = token_of(exported, "instantiationToken");
  const auto update = [](fmi3InstanceEnvironment environment, double t, bool set, bool get, bool finished,
                         bool may_return, bool*, double*) {
    auto& heater = *static_cast<Heater3*>(environment);
    EXPECT_TRUE(set && get && finished && !may_return);
    heater.seen.insert(heater.seen.end(), {t, heater.outputs()[0], heater.outputs()[1]});
  };
  Heater3 one(library, token, update, false, {3, 2});
  ASSERT_NE(one.instance, nullptr);
  ASSERT_EQ(one.begin(), fmi3OK);
  for (int k = 0; k < 40; ++k) ASSERT_EQ(one.step(k, 1.0), fmi3OK);
  EXPECT_FALSE(one.early);
  ASSERT_EQ(one.seen.size(), 3 * 400u);
  for (int k = 1; k <= 400; ++k) {
    EXPECT_NEAR(one.seen[3 * (k - 1)], 0.1 * k, 1e-12);
    EXPECT_EQ(std::memcmp(&one.seen[3 * (k - 1) + 1], exported.row(k), 16), 0) << k;
  }
  messages.clear();
  EXPECT_EQ(Heater3(library, token, update, false, {99}).instance, nullptr);
  EXPECT_EQ(messages, std::vector<std::string>{"there is no variable with value reference 99"});
}

// What is set there holds from the next step on, as if it had been set between communication steps; a return
// that is asked for is one at that time, between two steps too.
TEST(Fmu, inputs_are_set_in_between_and_an_early_return_is_asked_for) {
  const Exported& exported = exported_as(3);
  const Library library(exported, 3);
  const std::string token = token_of(exported, "instantiationToken");
  const auto update = [](fmi3InstanceEnvironment environment, double t, bool, bool, bool, bool may_return,
                         bool* requested, double* until) {
    auto& heater = *static_cast<Heater3*>(environment);
    EXPECT_TRUE(may_return);
    if (std::abs(t - 1.0) < 1e-9) {
      EXPECT_EQ(heater.set(2, 90.0), fmi3OK);
      EXPECT_EQ(heater.set(1, 3.0), fmi3Error);  // a parameter
      EXPECT_EQ(heater.step(1.0, 0.1), fmi3Error);
    }
    if (std::abs(t - 2.0) > 1e-9) return;
    *requested = true;
    *until = 2.25;
  };
  Heater3 one(library, token, update, true), other(library, token);
  ASSERT_EQ(one.begin(), fmi3OK);
  ASSERT_EQ(other.begin(), fmi3OK);
  messages.clear();
  ASSERT_EQ(one.step(0.0, 5.0), fmi3OK);
  EXPECT_TRUE(one.early);
  EXPECT_FALSE(one.terminate);
  EXPECT_EQ(one.reached, 2.25);
  EXPECT_EQ(messages, (std::vector<std::string>{
                          "parameter 1 can be set between communication steps, not within one",
                          "fmi3DoStep cannot be called: the instance is in intermediate update mode"}));
  ASSERT_EQ(other.step(0.0, 1.0), fmi3OK);
  ASSERT_EQ(other.set(2, 90.0), fmi3OK);
  ASSERT_EQ(other.step(1.0, 1.25), fmi3OK);
  EXPECT_EQ(one.outputs(), other.outputs());
  ASSERT_EQ(one.step(2.25, 1.0), fmi3OK);
  ASSERT_EQ(other.step(2.25, 1.0), fmi3OK);
  EXPECT_EQ(one.outputs(), other.outputs());
}

TEST(Fmu, wrong_calls_say_what_is_wrong) {
  const Exported& exported = exported_as(3);
  const Library library(exported, 3);
  const std::string token = token_of(exported, "instantiationToken");
  Heater3 one(library, token);
  const auto says = [&](fmi3Status status, const std::string& why) {
    EXPECT_EQ(status, fmi3Error) << why;
    EXPECT_EQ(messages, std::vector<std::string>{why});
    messages.clear();
  };
  messages.clear();
  says(one.step(0.0, 0.1), "fmi3DoStep cannot be called: the instance is before its initialization");
  says(one.set(9, 1.0), "there is no variable with value reference 9");
  says(one.set(0, 1.0), "variable 0 cannot be set: it is time");
  says(one.set(3, 1.0), "variable 3 cannot be set: it is an output");
  says(one.set(5, 1.0), "variable 5 cannot be set: it is a state, which SetContinuousStates sets");
  says(one.set(2, INFINITY), "variable 2 cannot be set to inf");
  const double number = 1.0;
  const fmi3ValueReference input = 2;
  says(library.get<Set3>("fmi3SetFloat64")(one.instance, &input, 1, &number, 0),
       "fmi3SetFloat64: 0 values are given, not 1");
  const int whole = 1;
  says(library.get<fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, const int*, size_t)>(
           "fmi3SetInt32")(one.instance, &input, 1, &whole, 1),
       "fmi3SetInt32: all variables are Float64");
  says(library.get<fmi3Status(fmi3Instance, double)>("fmi3SetTime")(one.instance, 1.0),
       "fmi3SetTime is for model exchange: this instance is for co-simulation");
  says(library.get<Status3>("fmi3EnterStepMode")(one.instance),
       "fmi3EnterStepMode: co-simulation has no event mode to come from");
  says(library.get<Status3>("fmi3EnterConfigurationMode")(one.instance),
       "fmi3EnterConfigurationMode: this FMU does not offer it");
  ASSERT_EQ(one.begin(), fmi3OK);
  says(one.begin(), "fmi3EnterInitializationMode cannot be called: the instance is in step mode");
  says(one.step(0.0, -1.0), "a step of -1 s is none");
  says(one.step(2.0, 1.0), "the step begins at t = 2 s, and the instance is at t = 0 s");
  ASSERT_EQ(library.get<Status3>("fmi3Terminate")(one.instance), fmi3OK);
  says(one.set(2, 1.0), "fmi3SetFloat64 cannot be called: the instance is terminated");
  EXPECT_EQ(Heater3(library, "{another}").instance, nullptr);
  EXPECT_EQ(Heater3(library, token, nullptr, false, {}, true).instance, nullptr);
  EXPECT_EQ(messages, (std::vector<std::string>{"the token (GUID) is that of another model",
                                                "co-simulation has no event mode"}));
}

TEST(Fmu, of_version_2_takes_the_same_steps) {
  const Exported& exported = exported_as(2);
  const Library library(exported, 2);
  const fmi2CallbackFunctions callbacks{log2, nullptr, nullptr, nullptr, nullptr};
  const std::string guid = token_of(exported, "guid");
  using Plain = fmi2Status(fmi2Component);
  const fmi2Component c = library.get<fmi2Component(fmi2String, fmi2Type, fmi2String, fmi2String,
                                                    const fmi2CallbackFunctions*, int, int)>(
      "fmi2Instantiate")("one", fmi2CoSimulation, guid.c_str(), "", &callbacks, 0, 0);
  ASSERT_NE(c, nullptr);
  ASSERT_EQ(library.get<fmi2Status(fmi2Component, int, double, double, int, double)>("fmi2SetupExperiment")(
                c, 0, 0.0, 0.0, 0, 0.0),
            fmi2OK);
  ASSERT_EQ(library.get<Plain>("fmi2EnterInitializationMode")(c), fmi2OK);
  ASSERT_EQ(library.get<Plain>("fmi2ExitInitializationMode")(c), fmi2OK);
  for (int k = 1; k <= 400; ++k) {
    ASSERT_EQ(
        library.get<fmi2Status(fmi2Component, double, double, int)>("fmi2DoStep")(c, 0.1 * (k - 1), 0.1, 0),
        fmi2OK);
    const fmi2ValueReference references[] = {3, 4};
    double values[2] = {};
    ASSERT_EQ(library.get<fmi2Status(fmi2Component, const fmi2ValueReference*, size_t, double*)>(
                  "fmi2GetReal")(c, references, 2, values),
              fmi2OK);
    EXPECT_EQ(std::memcmp(values, exported.row(k), 16), 0) << k;
  }
  library.get<void(fmi2Component)>("fmi2FreeInstance")(c);
}

TEST(Fmu, is_described) {
  for (const int version : {3, 2}) {
    const Exported& exported = exported_as(version);
    const fs::path& file = exported.file;
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(file_in(file, "modelDescription.xml").c_str()));
    const pugi::xml_node root = document.document_element();
    EXPECT_STREQ(root.attribute("modelName").value(), "Heater & thermostat");
    EXPECT_EQ(root.child("DefaultExperiment").attribute("stepSize").as_double(), 0.1);
    std::vector<std::string> names;
    for (const pugi::xml_node v : root.child("ModelVariables").children()) {
      EXPECT_EQ(v.attribute("valueReference").as_uint(), names.size());
      names.push_back(fmt::format("{} {} {}", v.attribute("name").value(), v.attribute("causality").value(),
                                  v.attribute("variability").value()));
    }
    EXPECT_EQ(names, (std::vector<std::string>{
                         "time independent continuous", "R1 parameter tunable", "P input continuous",
                         "T output continuous", "on output continuous", "c.dT local continuous",
                         "der(c.dT) local continuous", "event_indicator_1 local continuous",
                         "event_indicator_2 local continuous"}));
    const pugi::xml_node kelvin = root.child("UnitDefinitions").find_child_by_attribute("Unit", "name", "K");
    EXPECT_EQ(kelvin.child("DisplayUnit").attribute("offset").as_double(), -273.15);
    EXPECT_EQ(kelvin.child("BaseUnit").attribute("K").as_int(), 1);
    EXPECT_NE(file_in(file, "documentation/index.html").find("to the &lt;air&gt;"), std::string::npos);
    EXPECT_NE(file_in(file, "sources/heater.c"), "");
    // The rate of a state has a unit of its own; only FMI 3 knows of steps in between.
    const pugi::xml_node rate =
        root.child("UnitDefinitions").find_child_by_attribute("Unit", "name", "K/s").child("BaseUnit");
    EXPECT_EQ(rate.attribute("K").as_int(), 1);
    EXPECT_EQ(rate.attribute("s").as_int(), -1);
    const pugi::xml_node derivative =
        root.child("ModelVariables").find_child_by_attribute("name", "der(c.dT)");
    EXPECT_STREQ((version == 3 ? derivative : derivative.child("Real")).attribute("unit").value(), "K/s");
    EXPECT_EQ(root.child("CoSimulation").attribute("providesIntermediateUpdate").as_bool(), version == 3);
    const std::string icon = file_in(file, version == 3 ? "terminalsAndIcons/icon.png" : "model.png");
    EXPECT_EQ(icon.substr(0, 8), "\x89PNG\r\n\x1a\n");
    EXPECT_EQ(file_in(file, "terminalsAndIcons/terminalsAndIcons.xml").empty(), version == 2);
    EXPECT_EQ(file_in(file, "sources/buildDescription.xml").empty(), version == 2);
  }
}

TEST(Fmu, the_command_writes_a_file) {
  const TestFolder folder;
  const std::string to = (folder / "rlc.fmu").string(), model = TELLEGEN_SOURCE_DIR "/models/rlc/model.toml";
  const Ran ran = run_program({"export", model, "--as", "fmu", "--output", to});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("FMI 3.0"), std::string::npos) << ran.out;
  EXPECT_NE(file_in(to, "modelDescription.xml").find("modelIdentifier=\"rlc\""), std::string::npos);
  EXPECT_EQ(run_program({"export", model, "--as", "fmu", "--fmi", "2", "--output", to}).code, 0);
  EXPECT_NE(file_in(to, "modelDescription.xml").find("fmiVersion=\"2.0\""), std::string::npos);
  const Ran version = run_program({"export", model, "--as", "fmu", "--fmi", "1", "--output", to});
  EXPECT_EQ(version.code, 2);
  EXPECT_NE(version.err.find("T401: --fmi is 2 or 3, not 1"), std::string::npos) << version.err;
  const Ran name = run_program({"export", model, "--as", "fmu", "--output", (folder / "rlc").string()});
  EXPECT_EQ(name.code, 2);
  EXPECT_NE(name.err.find("does not end in .fmu"), std::string::npos) << name.err;
}

}  // namespace
}  // namespace tellegen
