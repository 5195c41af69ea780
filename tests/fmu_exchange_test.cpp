// Models as FMUs for model exchange: integrated by Tellegen's own importer, and by the functions of the
// interface.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <pugixml.hpp>

#include "runtime/tellegen_fmi2.h"
#include "runtime/tellegen_fmi3.h"
#include "tellegen/deploy/fmu_export.h"
#include "tellegen/fmu/fmu.h"
#include "tellegen/fmu/shared_object.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/results/test_folder.h"
#include "tellegen/sensitivity/run.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// A thermostat: a comparator with hysteresis, a source that jumps at a known time, an input, two parameters.
const char* const heater_model = R"toml(
name = "Heater"
[parameters]
R1 = "2 K/W"
C1 = "50 J/K"
[inputs]
P = { value = "60 W" }
[components]
c = { kind = "thermal.capacitor", p = "body", n = "datum", C = "C1", T0 = 300 }
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

struct ExchangeExport {
  ExchangeExport(const TestFolder& folder, Model model, int version, const std::vector<std::string>& inputs,
                 double stop, const std::string& method = "")
      : file(folder / fmt::format("model{}.fmu", version)) {
    for (const std::string& input : inputs) make_external(model, input);
    SimulationOptions given = as_the_model_says();
    given.stop = stop;
    given.method = method;
    SimulationOptions run = complete_options(model, given);
    run.compile = false;
    run.restarts = true;
    run.sample = 0.0;
    run.external = inputs;
    const EquationSystem system = build_system(model);
    Simulation simulation(system, run, default_outputs(system, false));
    fmu = export_fmu(model, simulation, {.name = "model", .version = version});
    write_zip(file, fmu.files);
  }

  // The code for this machine, loaded.
  std::unique_ptr<SharedObject> load() const {
    utsname host{};
    uname(&host);
    for (const ExportedFile& f : fmu.files)
      if (f.name.starts_with("binaries/" + std::string(host.machine)) ||
          f.name.starts_with("binaries/linux64")) {
        if (!fs::exists(file.string() + ".so")) put(file.string() + ".so", f.text);  // it may be loaded
        return std::make_unique<SharedObject>(file.string() + ".so");
      }
    throw std::runtime_error("no code for this machine");
  }

  fs::path file;
  FmuExport fmu;
};

ReadOptions with_library() {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return options;
}

// Compilers take their time: once for each version. Value references: time, R1, C1, P, T, on, c.dT, its rate,
// two indicators.
enum : fmi3ValueReference { time_, R1, C1, P, T, on, state, rate, first_indicator };
const ExchangeExport& heater(int version) {
  static const TestFolder folder;
  static const auto make = [](int v) {
    return ExchangeExport(folder, read_model_text(heater_model, "heater.toml", with_library()), v, {"P"},
                          40.0);
  };
  static const ExchangeExport two = make(2), three = make(3);
  return version == 2 ? two : three;
}

int index_of(const FmuDescription& d, const std::string& name) {
  for (std::size_t k = 0; k < d.variables.size(); ++k)
    if (d.variables[k].name == name) return static_cast<int>(k);
  ADD_FAILURE() << name;
  return 0;
}

double value_of(FmuInstance& fmu, const FmuDescription& d, const std::string& name) {
  const int variable = index_of(d, name);
  double value = 0.0;
  fmu.get({&variable, 1}, {&value, 1});
  return value;
}

// Between events T follows an exponential: every time of switching is known in closed form.
TEST(FmuExchange, EventsAreFoundWhereTheClosedFormHasThem) {
  for (const int version : {2, 3}) {
    const auto file = open_fmu(heater(version).file);
    const FmuDescription& d = file->description();
    EXPECT_EQ(d.rates.size(), 1u);
    EXPECT_TRUE(d.directional);
    for (const bool isolate : {false, true}) {
      const auto fmu = file->start("heater", {.isolate = isolate, .exchange = true});
      fmu->enter_initialization();
      fmu->exit_initialization();
      double temperature = 300.0, at = 0.0;
      bool heating = true;
      int switches = 0;
      for (int k = 1; k <= 80; ++k) {
        const double to = 0.5 * k;
        ASSERT_TRUE(fmu->step(to - 0.5, 0.5));
        while (at < to) {
          const double air = at < 7.03 ? 300.0 : 295.0, rest = air + (heating ? 120.0 : 0.0);
          const double next = at < 7.03 ? std::min(to, 7.03) : to, bound = heating ? 304.0 : 303.0;
          const double crossing = at - 100.0 * std::log((bound - rest) / (temperature - rest));
          const bool crosses = crossing > at && crossing < next;
          const double end = crosses ? crossing : next;
          temperature = crosses ? bound : rest + (temperature - rest) * std::exp((at - end) / 100.0);
          if (crosses) heating = !heating, ++switches;
          at = end;
        }
        EXPECT_NEAR(value_of(*fmu, d, "T"), temperature, 2e-6) << to;
        EXPECT_EQ(value_of(*fmu, d, "on"), heating ? 1.0 : 0.0) << to;
      }
      EXPECT_GE(switches, 4);
    }
  }
}

// Communication points are sums, and events are not: one that lies by a last digit behind a point happens
// once.
TEST(FmuExchange, AnEventAHairBehindACommunicationPointHappens) {
  const auto file = open_fmu(heater(3).file);
  const auto before = file->start("heater", {.exchange = true}),
             beside = file->start("heater", {.exchange = true});
  const double point = std::nextafter(7.03, 0.0);
  for (FmuInstance* fmu : {before.get(), beside.get()}) {
    fmu->enter_initialization();
    fmu->exit_initialization();
  }
  ASSERT_TRUE(before->step(0.0, point));
  ASSERT_TRUE(before->step(point, 10.0 - point));
  ASSERT_TRUE(beside->step(0.0, 10.0));
  EXPECT_NEAR(value_of(*before, file->description(), "T"), value_of(*beside, file->description(), "T"), 1e-6);
}

struct Exchange3 {
  explicit Exchange3(const ExchangeExport& exported) : code(exported.load()) {
    const auto file = open_fmu(exported.file);
    instance = code->function<fmi3Instance(fmi3String, fmi3String, fmi3String, bool, bool, void*,
                                           fmi3LogMessageCallback)>("fmi3InstantiateModelExchange")(
        "one", file->description().token.c_str(), "", false, false, nullptr, nullptr);
    EXPECT_NE(instance, nullptr);
  }
  ~Exchange3() { code->function<void(fmi3Instance)>("fmi3FreeInstance")(instance); }
  fmi3Status call(const char* name) { return code->function<fmi3Status(fmi3Instance)>(name)(instance); }
  fmi3Status enter_initialization() {
    return code->function<fmi3Status(fmi3Instance, bool, double, double, bool, double)>(
        "fmi3EnterInitializationMode")(instance, false, 0.0, 0.0, false, 0.0);
  }
  fmi3Status update() {
    bool flags[5] = {};
    return code->function<fmi3Status(fmi3Instance, bool*, bool*, bool*, bool*, bool*, double*)>(
        "fmi3UpdateDiscreteStates")(instance, flags, flags + 1, flags + 2, flags + 3, flags + 4, &next);
  }
  void begin() {
    ASSERT_EQ(enter_initialization(), fmi3OK);
    ASSERT_EQ(call("fmi3ExitInitializationMode"), fmi3OK);
    ASSERT_EQ(update(), fmi3OK);
    ASSERT_EQ(call("fmi3EnterContinuousTimeMode"), fmi3OK);
  }
  fmi3Status set_time(double t) {
    return code->function<fmi3Status(fmi3Instance, double)>("fmi3SetTime")(instance, t);
  }
  fmi3Status set_states(std::vector<double> x) {
    return code->function<fmi3Status(fmi3Instance, const double*, size_t)>("fmi3SetContinuousStates")(
        instance, x.data(), x.size());
  }
  fmi3Status numbers(const char* name, std::vector<double>& values) {
    return code->function<fmi3Status(fmi3Instance, double*, size_t)>(name)(instance, values.data(),
                                                                           values.size());
  }
  fmi3Status set(fmi3ValueReference reference, double value) {
    return code->function<fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, const double*, size_t)>(
        "fmi3SetFloat64")(instance, &reference, 1, &value, 1);
  }
  double get(fmi3ValueReference reference) {
    double value = NAN;
    EXPECT_EQ((code->function<fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, double*, size_t)>(
                  "fmi3GetFloat64")(instance, &reference, 1, &value, 1)),
              fmi3OK);
    return value;
  }
  using References = std::vector<fmi3ValueReference>;
  fmi3Status derivative(const char* name, const References& unknowns, const References& knowns,
                        const std::vector<double>& seed, std::vector<double>& out) {
    return code
        ->function<fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, const fmi3ValueReference*,
                              size_t, const double*, size_t, double*, size_t)>(name)(
            instance, unknowns.data(), unknowns.size(), knowns.data(), knowns.size(), seed.data(),
            seed.size(), out.data(), out.size());
  }

  std::unique_ptr<SharedObject> code;
  fmi3Instance instance;
  double next = 0.0;
};

// C T' = P on - (T - air)/R.
TEST(FmuExchange, DerivativesAreThoseOfTheFormula) {
  Exchange3 fmu(heater(3));
  fmu.begin();
  EXPECT_EQ(fmu.next, 7.03);
  ASSERT_EQ(fmu.set_states({302.0}), fmi3OK);
  std::vector<double> rates(1), out(1);
  ASSERT_EQ(fmu.numbers("fmi3GetContinuousStateDerivatives", rates), fmi3OK);
  EXPECT_NEAR(rates[0], (60.0 - 2.0 / 2.0) / 50.0, 1e-14);
  const std::pair<fmi3ValueReference, double> expected[] = {
      {state, -1.0 / 100.0}, {P, 1.0 / 50.0}, {R1, 2.0 / 4.0 / 50.0}, {C1, -59.0 / 2500.0}};
  for (const auto& [known, slope] : expected) {
    ASSERT_EQ(fmu.derivative("fmi3GetDirectionalDerivative", {rate}, {known}, {2.0}, out), fmi3OK);
    EXPECT_NEAR(out[0], 2.0 * slope, 1e-14) << known;
  }
  std::vector<double> adjoint(4);
  ASSERT_EQ(fmu.derivative("fmi3GetAdjointDerivative", {rate, T}, {state, P, R1, C1}, {3.0, 5.0}, adjoint),
            fmi3OK);
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(adjoint[k], 3.0 * expected[k].second + (k == 0 ? 5.0 : 0.0), 1e-13) << k;
  // What is no known, or stands twice.
  EXPECT_EQ(fmu.derivative("fmi3GetDirectionalDerivative", {rate}, {T}, {1.0}, out), fmi3Error);
  EXPECT_EQ(fmu.derivative("fmi3GetDirectionalDerivative", {state}, {P}, {1.0}, out), fmi3Error);
  EXPECT_EQ(fmu.derivative("fmi3GetDirectionalDerivative", {rate}, {P, P}, {1.0, 1.0}, out), fmi3Error);
}

TEST(FmuExchange, SourcesKeepTheirValueUntilTheirEvent) {
  Exchange3 fmu(heater(3));
  fmu.begin();
  std::vector<double> before(1), after(1);
  ASSERT_EQ(fmu.set_time(7.03), fmi3OK);
  ASSERT_EQ(fmu.numbers("fmi3GetContinuousStateDerivatives", before), fmi3OK);
  ASSERT_EQ(fmu.call("fmi3EnterEventMode"), fmi3OK);
  ASSERT_EQ(fmu.update(), fmi3OK);
  ASSERT_EQ(fmu.call("fmi3EnterContinuousTimeMode"), fmi3OK);
  ASSERT_EQ(fmu.numbers("fmi3GetContinuousStateDerivatives", after), fmi3OK);
  EXPECT_NEAR(after[0] - before[0], -5.0 / 100.0, 1e-14);
}

TEST(FmuExchange, StatesAreKeptSetAndSerialisedToTheBit) {
  Exchange3 fmu(heater(3)), other(heater(3));
  fmu.begin();
  ASSERT_EQ(fmu.set_time(3.0), fmi3OK);
  ASSERT_EQ(fmu.set_states({304.5}), fmi3OK);
  ASSERT_EQ(fmu.call("fmi3EnterEventMode"), fmi3OK);
  ASSERT_EQ(fmu.set(R1, 2.5), fmi3OK);
  ASSERT_EQ(fmu.update(), fmi3OK);
  EXPECT_EQ(fmu.get(on), 0.0);
  const auto bytes_of = [](Exchange3& f, fmi3FMUState kept) {
    std::size_t size = 0;
    EXPECT_EQ((f.code->function<fmi3Status(fmi3Instance, fmi3FMUState, size_t*)>(
                  "fmi3SerializedFMUStateSize")(f.instance, kept, &size)),
              fmi3OK);
    std::vector<fmi3Byte> bytes(size);
    EXPECT_EQ((f.code->function<fmi3Status(fmi3Instance, fmi3FMUState, fmi3Byte*, size_t)>(
                  "fmi3SerializeFMUState")(f.instance, kept, bytes.data(), size)),
              fmi3OK);
    return bytes;
  };
  const auto keep = [](Exchange3& f) {
    fmi3FMUState kept = nullptr;
    EXPECT_EQ(
        (f.code->function<fmi3Status(fmi3Instance, fmi3FMUState*)>("fmi3GetFMUState")(f.instance, &kept)),
        fmi3OK);
    return kept;
  };
  fmi3FMUState kept = keep(fmu), copied = nullptr;
  const auto bytes = bytes_of(fmu, kept);
  ASSERT_EQ((other.code->function<fmi3Status(fmi3Instance, const fmi3Byte*, size_t, fmi3FMUState*)>(
                "fmi3DeserializeFMUState")(other.instance, bytes.data(), bytes.size(), &copied)),
            fmi3OK);
  ASSERT_EQ((other.code->function<fmi3Status(fmi3Instance, fmi3FMUState)>("fmi3SetFMUState")(other.instance,
                                                                                             copied)),
            fmi3OK);
  for (Exchange3* f : {&fmu, &other}) {
    ASSERT_EQ(f->call("fmi3EnterContinuousTimeMode"), fmi3OK);
    ASSERT_EQ(f->set_states({303.7}), fmi3OK);
  }
  EXPECT_EQ(fmu.get(rate), other.get(rate));
  EXPECT_NEAR(fmu.get(rate), -3.7 / 2.5 / 50.0, 1e-15);
  fmi3FMUState now = keep(fmu), there = keep(other);
  EXPECT_EQ(bytes_of(fmu, now), bytes_of(other, there));
  const auto free = fmu.code->function<fmi3Status(fmi3Instance, fmi3FMUState*)>("fmi3FreeFMUState");
  for (fmi3FMUState* s : {&kept, &copied, &now, &there}) EXPECT_EQ(free(fmu.instance, s), fmi3OK);
}

TEST(FmuExchange, WrongCallsAreErrors) {
  Exchange3 fmu(heater(3));
  std::vector<double> one(1), two(2);
  EXPECT_EQ(fmu.call("fmi3EnterContinuousTimeMode"), fmi3Error);
  EXPECT_EQ(fmu.update(), fmi3Error);
  EXPECT_EQ(fmu.set_states({300.0}), fmi3Error);
  EXPECT_EQ(fmu.call("fmi3Terminate"), fmi3Error);
  EXPECT_EQ(fmu.call("fmi3ExitInitializationMode"), fmi3Error);
  fmu.begin();
  EXPECT_EQ(fmu.update(), fmi3Error);
  EXPECT_EQ(fmu.enter_initialization(), fmi3Error);
  EXPECT_EQ(fmu.set_states({300.0, 300.0}), fmi3Error);
  EXPECT_EQ(fmu.numbers("fmi3GetContinuousStateDerivatives", two), fmi3Error);
  EXPECT_EQ(fmu.set(R1, 3.0), fmi3Error);  // in event mode only
  EXPECT_EQ(fmu.set(P, 10.0), fmi3OK);
  EXPECT_EQ(fmu.set(state, 310.0), fmi3Error);
  EXPECT_EQ(fmu.set_time(NAN), fmi3Error);
  bool flags[3];
  double last = 0.0;
  EXPECT_EQ((fmu.code->function<fmi3Status(fmi3Instance, double, double, bool, bool*, bool*, bool*, double*)>(
                "fmi3DoStep")(fmu.instance, 0.0, 0.1, true, flags, flags + 1, flags + 2, &last)),
            fmi3Error);
  // No equations can be solved with it.
  EXPECT_EQ(fmu.call("fmi3EnterEventMode"), fmi3OK);
  EXPECT_EQ(fmu.set(C1, 0.0), fmi3OK);
  EXPECT_EQ(fmu.update(), fmi3Error);
  EXPECT_EQ(fmu.call("fmi3Reset"), fmi3OK);
  fmu.begin();
  EXPECT_EQ(fmu.call("fmi3Terminate"), fmi3OK);
  EXPECT_EQ(fmu.set(P, 10.0), fmi3Error);
  EXPECT_EQ(fmu.set_states({300.0}), fmi3Error);
  EXPECT_EQ(fmu.numbers("fmi3GetContinuousStates", one), fmi3OK);
}

TEST(FmuExchange, TheDescriptionNamesStatesRatesAndWhatTheyDependOn) {
  for (const int version : {2, 3}) {
    pugi::xml_document document;
    for (const ExportedFile& f : heater(version).fmu.files)
      if (f.name == "modelDescription.xml") {
        ASSERT_TRUE(document.load_string(f.text.c_str()));
      }
    const pugi::xml_node root = document.document_element(), structure = root.child("ModelStructure");
    EXPECT_EQ(std::string(root.first_child().name()), "ModelExchange");
    const std::string depends = version == 2 ? "1 4 7" : "0 3 6";
    const pugi::xml_node unknown = version == 2 ? structure.child("Derivatives").child("Unknown")
                                                : structure.child("ContinuousStateDerivative");
    EXPECT_EQ(unknown.attribute("dependencies").value(), depends);
    EXPECT_EQ(unknown.attribute("dependenciesKind").value(), std::string("dependent discrete tunable"));
    const auto indicators = structure.children("EventIndicator");
    EXPECT_EQ(version == 2 ? root.attribute("numberOfEventIndicators").as_int()
                           : std::distance(indicators.begin(), indicators.end()),
              2);
  }
}

// One of each kind: linear, a machine with an iterated unknown, a sampled controller, a mechanism, a network
// with parameters in formulas. Each against a run with a variable step and a tight tolerance.
TEST(FmuExchange, ShippedModelsAreIntegratedAsSimulateDoes) {
  struct Case {
    const char* model;
    double stop, bound;
  };
  const TestFolder folder;
  for (const Case& c : {Case{"rlc", 1.0, 1e-7}, Case{"motor-free-acceleration", 0.05, 1e-7},
                        Case{"speed-control", 0.0205, 1e-7}, Case{"simple-pendulum", 0.5, 1e-7},
                        Case{"pmsm-thermal", 100.0, 1e-7}}) {
    const Model model =
        read_model(fmt::format(TELLEGEN_SOURCE_DIR "/models/{}/model.toml", c.model), with_library());
    const ExchangeExport exported(folder, model, 3, {}, c.stop);
    ASSERT_EQ(exported.fmu.no_exchange, "") << c.model;
    EXPECT_EQ(exported.fmu.no_derivatives, "") << c.model;
    SimulationOptions given = as_the_model_says();
    given.stop = c.stop;
    given.method = "adaptive";
    given.tolerance = 1e-9;
    given.sample = c.stop / 10.0;
    SimulationOptions options = complete_options(model, given);
    options.compile = false;
    const EquationSystem system = build_system(model);
    Simulation simulation(system, options, default_outputs(system, false));
    const std::size_t width = simulation.outputs().size();
    std::vector<double> rows(10 * width), largest(width, 1e-30);
    ASSERT_EQ(simulation.integrator().advance(10, rows.data()), 10) << simulation.integrator().failure();
    for (std::size_t k = 0; k < rows.size(); ++k)
      largest[k % width] = std::max(largest[k % width], std::abs(rows[k]));
    const auto file = open_fmu(exported.file);
    const auto fmu = file->start(c.model, {.exchange = true});
    fmu->enter_initialization();
    fmu->exit_initialization();
    for (std::size_t k = 0; k < 10; ++k) {
      ASSERT_TRUE(fmu->step(given.sample * static_cast<double>(k), given.sample));
      for (std::size_t y = 0; y < width; ++y)
        EXPECT_NEAR(value_of(*fmu, file->description(), exported.fmu.outputs[y]), rows[k * width + y],
                    c.bound * largest[y])
            << c.model << " " << exported.fmu.outputs[y] << " " << k;
    }
  }
}

// x and dx/dp led along Runge-Kutta steps by what the FMU says are a run and its sensitivities. Some
// derivatives are the small difference of large terms (by theory the torque of a generator in steady state
// does not depend on the voltage): those are compared to the terms, and to the output over the parameter.
TEST(FmuExchange, DirectionalDerivativesLedAlongARunAreItsSensitivities) {
  for (const std::string name : {"ladder-2", "sliding-pendulum", "generator-torque-step", "choke"}) {
    const TestFolder folder;
    const Model model = read_model(TELLEGEN_SOURCE_DIR "/models/" + name + "/model.toml", with_library());
    const ExchangeExport exported(folder, model, 3, {}, *model.simulation.stop, "bdf2");
    ASSERT_EQ(exported.fmu.no_derivatives, "") << name;
    ASSERT_FALSE(exported.fmu.parameters.empty()) << name;
    const double h = *model.simulation.step;
    const std::size_t steps = 60;
    const auto file = open_fmu(exported.file);
    const FmuDescription& d = file->description();
    Exchange3::References states, rates, outputs, parameters;
    RunRequest request;
    for (const std::string& output : exported.fmu.outputs) {
      outputs.push_back(static_cast<fmi3ValueReference>(index_of(d, output)));
      request.trajectories.push_back(
          {output, "", std::ranges::find(model.outputs, output, &ModelOutput::name)->value});
    }
    for (const FmuDescription::Rate& r : d.rates) {
      states.push_back(r.state);
      rates.push_back(r.rate);
      const std::string state_name = std::ranges::find(d.variables, r.state, &FmuVariable::reference)->name;
      request.trajectories.push_back({state_name, "", parse_value(model, state_name, {})});
    }
    for (const std::string& parameter : exported.fmu.parameters) {
      parameters.push_back(static_cast<fmi3ValueReference>(index_of(d, parameter)));
      request.wrt.push_back(static_cast<int>(
          std::ranges::find(model.parameters, parameter, &ModelParameter::name) - model.parameters.begin()));
    }
    SimulationOptions given = as_the_model_says();
    given.method = "rk4";
    given.stop = h * static_cast<double>(steps);
    given.sample = h;
    request.simulation = complete_options(model, given);
    request.simulation.compile = false;
    const RunDerivatives run = forward_run(model, request);
    ASSERT_EQ(run.failure, "") << name;

    const std::size_t n = states.size(), m = outputs.size(), count = parameters.size();
    Exchange3 fmu(exported);
    fmu.begin();
    using Numbers = std::vector<double>;
    const auto start = [&](std::size_t k, std::size_t p) { return run.by_parameter[(m + k) * count + p]; };
    Numbers x(n);
    ASSERT_EQ(fmu.numbers("fmi3GetContinuousStates", x), fmi3OK);
    std::vector<Numbers> slopes(count, Numbers(n));  // of x, by parameter
    for (std::size_t p = 0; p < count; ++p)
      for (std::size_t k = 0; k < n; ++k) slopes[p][k] = start(k, p);
    // Of unknowns along (slope, 1).
    const auto along = [&](const Exchange3::References& unknowns, const Numbers& slope, std::size_t p) {
      Exchange3::References knowns = states;
      knowns.push_back(parameters[p]);
      Numbers seed = slope, out(unknowns.size());
      seed.push_back(1.0);
      EXPECT_EQ(fmu.derivative("fmi3GetDirectionalDerivative", unknowns, knowns, seed, out), fmi3OK);
      return out;
    };
    std::vector<double> worst(m * count), largest(m * count), terms(m * count);
    const auto compare = [&](std::size_t row) {
      for (std::size_t p = 0; p < count; ++p) {
        const Numbers found = along(outputs, slopes[p], p);
        for (std::size_t y = 0; y < m; ++y) {
          const double expected = run.by_parameter[(row * (m + n) + y) * count + p];
          const std::size_t at = y * count + p;
          worst[at] = std::max(worst[at], std::abs(found[y] - expected));
          largest[at] = std::max(largest[at], std::abs(expected));
        }
        const double number = model.parameters[static_cast<std::size_t>(request.wrt[p])].number;
        Numbers sum(m);
        for (std::size_t k = 0; k < n; ++k) {
          Numbers one(m);
          const double seed = std::abs(slopes[p][k]) + std::abs(x[k] / number);
          EXPECT_EQ(fmu.derivative("fmi3GetDirectionalDerivative", outputs, {states[k]}, {seed}, one),
                    fmi3OK);
          for (std::size_t y = 0; y < m; ++y) sum[y] += std::abs(one[y]);
        }
        for (std::size_t y = 0; y < m; ++y) terms[y * count + p] = std::max(terms[y * count + p], sum[y]);
      }
    };
    compare(0);
    for (std::size_t row = 1; row <= steps; ++row) {
      const Numbers x0 = x;
      const std::vector<Numbers> slopes0 = slopes;
      Numbers rate(n);
      std::vector<Numbers> slope_rates(count, Numbers(n));
      const double weights[] = {1.0 / 6, 2.0 / 6, 2.0 / 6, 1.0 / 6}, places[] = {0.0, 0.5, 0.5, 1.0};
      for (int stage = 0; stage < 4; ++stage) {
        Numbers at = x0;
        std::vector<Numbers> slopes_at = slopes0;
        for (std::size_t k = 0; k < n && stage > 0; ++k) {
          at[k] += places[stage] * h * rate[k];
          for (std::size_t p = 0; p < count; ++p) slopes_at[p][k] += places[stage] * h * slope_rates[p][k];
        }
        ASSERT_EQ(fmu.set_time(h * (static_cast<double>(row - 1) + places[stage])), fmi3OK);
        ASSERT_EQ(fmu.set_states(at), fmi3OK);
        ASSERT_EQ(fmu.numbers("fmi3GetContinuousStateDerivatives", rate), fmi3OK);
        for (std::size_t p = 0; p < count; ++p) slope_rates[p] = along(rates, slopes_at[p], p);
        for (std::size_t k = 0; k < n; ++k) {
          x[k] += weights[stage] * h * rate[k];
          for (std::size_t p = 0; p < count; ++p) slopes[p][k] += weights[stage] * h * slope_rates[p][k];
        }
      }
      ASSERT_EQ(fmu.set_time(h * static_cast<double>(row)), fmi3OK);
      ASSERT_EQ(fmu.set_states(x), fmi3OK);
      compare(row);
    }
    for (std::size_t y = 0; y < m; ++y)
      for (std::size_t p = 0; p < count; ++p) {
        const std::size_t at = y * count + p;
        EXPECT_LE(worst[at], 1e-10 * largest[at] + 1e-13 * terms[at])
            << name << ": " << exported.fmu.outputs[y] << " by " << exported.fmu.parameters[p];
      }
  }
}

// A choke's field is iterated on, over a magnetisation curve with knees: from where it was solved last
// Newton's iteration does not always find it. A state that is set at once gives what it gives after a slow
// way there.
TEST(FmuExchange, StatesFarFromTheLastOnesAreAsGoodAsNearOnes) {
  const TestFolder folder;
  const Model model = read_model(TELLEGEN_SOURCE_DIR "/models/choke/model.toml", with_library());
  const ExchangeExport exported(folder, model, 3, {}, 0.02);
  ASSERT_EQ(exported.fmu.no_exchange, "");
  const auto file = open_fmu(exported.file);
  const FmuDescription& d = file->description();
  Exchange3 at_once(exported), slowly(exported);
  at_once.begin();
  slowly.begin();
  std::vector<double> there(1), gone(1), nominal(1);
  ASSERT_EQ(at_once.numbers("fmi3GetNominalsOfContinuousStates", nominal), fmi3OK);
  EXPECT_NEAR(nominal[0], 1e-3, 1e-15);  // of 0.4 mWb
  EXPECT_EQ(d.rates.size(), 1u);
  double from = 0.0;
  for (const double flux : {4e-4, -3e-4, 0.0, 3.9e-4, -1e-4, -4.5e-4, 2e-4, 1.0, -1.0, 3e-4}) {
    ASSERT_EQ(at_once.set_states({flux}), fmi3OK);
    ASSERT_EQ(at_once.numbers("fmi3GetContinuousStateDerivatives", there), fmi3OK) << flux;
    for (int k = 1; k <= 300; ++k) {
      ASSERT_EQ(slowly.set_states({from + (flux - from) * k / 300}), fmi3OK);
      ASSERT_EQ(slowly.numbers("fmi3GetContinuousStateDerivatives", gone), fmi3OK) << flux << " " << k;
    }
    EXPECT_NEAR(there[0], gone[0], 1e-9 * std::abs(gone[0])) << flux;
    from = flux;
  }
}

// Code that repeats is printed as loops, which step through registers in memory.
TEST(FmuExchange, HundredsOfEqualComparatorsSwitch) {
  const TestFolder folder;
  const Model model = read_model_text(R"toml(
name = "Ladder of thresholds"
[components]
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = 1 }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "1 kohm" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "1 mF", v0 = 0 }
over = { kind = "signals.comparator", count = 280, u = "b.v", upper = "i/281", lower = "i/281 - 0.001" }
[outputs]
first = "over[1].y"
middle = "over[140].y"
last = "over[280].y"
[simulation]
stop = "2 s"
step = "10 ms"
method = "bdf2"
)toml",
                                      "thresholds.toml", with_library());
  const ExchangeExport exported(folder, model, 3, {}, 2.0);
  ASSERT_EQ(exported.fmu.no_exchange, "");
  const auto has_loops = [&] {
    for (const ExportedFile& f : exported.fmu.files)
      if (f.name == "sources/fmu_model.h") return f.text.find("FMU_MEMORY = 0") == std::string::npos;
    return false;
  };
  EXPECT_TRUE(has_loops());
  const auto file = open_fmu(exported.file);
  const auto fmu = file->start("thresholds", {.exchange = true});
  fmu->enter_initialization();
  fmu->exit_initialization();
  ASSERT_TRUE(fmu->step(0.0, 0.5));  // 1 - exp(-0.5) = 0.39
  EXPECT_EQ(value_of(*fmu, file->description(), "first"), 1.0);
  EXPECT_EQ(value_of(*fmu, file->description(), "middle"), 0.0);
  ASSERT_TRUE(fmu->step(0.5, 0.5));  // 0.63
  EXPECT_EQ(value_of(*fmu, file->description(), "middle"), 1.0);
  EXPECT_EQ(value_of(*fmu, file->description(), "last"), 0.0);
}

TEST(FmuExchange, AModelWithoutAnExplicitFormHasCoSimulationAlone) {
  const TestFolder folder;
  const Ran run = run_program({"export", TELLEGEN_SOURCE_DIR "/models/rectifier/model.toml", "--as", "fmu",
                               "--output", (folder / "r.fmu").string()});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("no model exchange: "), std::string::npos) << run.out;
  const auto file = open_fmu(folder / "r.fmu");
  EXPECT_TRUE(file->description().model_exchange.empty());
  EXPECT_THROW(file->start("r", {.exchange = true}), FmuError);
}

}  // namespace
}  // namespace tellegen
