// An FMU by the functions of FMI 2.0.
#include <fmt/format.h>

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "runtime/tellegen_fmi2.h"
#include "tellegen/fmu/instances.h"

namespace tellegen {
namespace {

class Fmi2Instance : public ContinuousFmu {
 public:
  Fmi2Instance(const FmuPlace& place, FmuInterface interface)
      : place_(place),
        d_(place.file->description()),
        code_(place.code),
        exchange_(interface == FmuInterface::model_exchange) {
    const auto instantiate =
        code_.function<fmi2Component(fmi2String, fmi2Type, fmi2String, fmi2String,
                                     const fmi2CallbackFunctions*, int, int)>("fmi2Instantiate");
    callbacks_ = {&Fmi2Instance::log, std::calloc, std::free, nullptr, this};
    const std::string resources = "file://" + (place.folder / "resources").string();
    component_ = instantiate(place_.name.c_str(), exchange_ ? fmi2ModelExchange : fmi2CoSimulation,
                             d_.token.c_str(), resources.c_str(), &callbacks_, fmi2False, fmi2True);
    if (!component_) throw FmuError("fmi2Instantiate returned nothing" + messages_.text());
  }
  ~Fmi2Instance() override {
    // After a fatal error nothing may be called any more.
    if (fatal_) return;
    try {
      if (running_) code_.function<fmi2Status(fmi2Component)>("fmi2Terminate")(component_);
      code_.function<void(fmi2Component)>("fmi2FreeInstance")(component_);
    } catch (const FmuError&) {
    }
  }

  void set(std::span<const int> variables, std::span<const double> values) override {
    for (const int index : variables) {
      const FmuVariable& v = d_.variables[static_cast<std::size_t>(index)];
      const double value = values[0];
      values = values.subspan(1);
      switch (v.type) {
        case FmuType::float64:
          set_one<fmi2Real>("fmi2SetReal", v, value);
          break;
        case FmuType::boolean:
          set_one<fmi2Boolean>("fmi2SetBoolean", v, value >= 0.5 ? fmi2True : fmi2False);
          break;
        default:
          set_one<fmi2Integer>("fmi2SetInteger", v, whole<fmi2Integer>(value));
      }
    }
  }
  void set_text(int index, const std::string& value) override {
    set_one<fmi2String>("fmi2SetString", d_.variables[static_cast<std::size_t>(index)], value.c_str());
  }
  void get(std::span<const int> variables, std::span<double> values) override {
    for (const int index : variables) {
      const FmuVariable& v = d_.variables[static_cast<std::size_t>(index)];
      switch (v.type) {
        case FmuType::float64:
          values[0] = get_one<fmi2Real>("fmi2GetReal", v);
          break;
        case FmuType::boolean:
          values[0] = get_one<fmi2Boolean>("fmi2GetBoolean", v) != fmi2False ? 1.0 : 0.0;
          break;
        default:
          values[0] = get_one<fmi2Integer>("fmi2GetInteger", v);
      }
      values = values.subspan(1);
    }
  }
  std::string text(int index) override {
    const fmi2String found =
        get_one<fmi2String>("fmi2GetString", d_.variables[static_cast<std::size_t>(index)]);
    return found ? found : "";
  }

  void enter_initialization() override {
    const auto setup =
        code_.function<fmi2Status(fmi2Component, int, double, double, int, double)>("fmi2SetupExperiment");
    check(setup(component_, d_.tolerance ? fmi2True : fmi2False, d_.tolerance.value_or(0.0), 0.0, fmi2False,
                0.0),
          "fmi2SetupExperiment");
    check(code_.function<fmi2Status(fmi2Component)>("fmi2EnterInitializationMode")(component_),
          "fmi2EnterInitializationMode");
  }
  void exit_initialization() override {
    check(code_.function<fmi2Status(fmi2Component)>("fmi2ExitInitializationMode")(component_),
          "fmi2ExitInitializationMode");
    running_ = true;
    if (!exchange_) step_ = code_.function<Step>("fmi2DoStep");
  }
  bool step(double t, double length) override {
    const fmi2Status status = step_(component_, t, length, fmi2True);
    if (status == fmi2Discard && is_terminated()) return false;
    if (status == fmi2Pending)
      throw FmuError("fmi2DoStep returned before its step was done, which cannot be waited for here");
    check(status, "fmi2DoStep");
    return true;
  }

  std::size_t states() override { return d_.rates.size(); }
  std::size_t indicators() override { return d_.event_indicators; }
  void get_states(std::span<double> x) override { numbers("fmi2GetContinuousStates", x); }
  void get_nominals(std::span<double> x) override { numbers("fmi2GetNominalsOfContinuousStates", x); }
  void get_rates(std::span<double> rates) override { numbers("fmi2GetDerivatives", rates); }
  void get_indicators(std::span<double> z) override { numbers("fmi2GetEventIndicators", z); }
  void set_time(double t) override {
    check(code_.function<fmi2Status(fmi2Component, double)>("fmi2SetTime")(component_, t), "fmi2SetTime");
  }
  void set_states(std::span<const double> x) override {
    if (x.empty()) return;
    using Call = fmi2Status(fmi2Component, const double*, size_t);
    check(code_.function<Call>("fmi2SetContinuousStates")(component_, x.data(), x.size()),
          "fmi2SetContinuousStates");
  }
  void slope(std::size_t state, std::span<double> rates) override {
    using Call = fmi2Status(fmi2Component, const fmi2ValueReference*, size_t, const fmi2ValueReference*,
                            size_t, const double*, double*);
    std::vector<fmi2ValueReference> unknowns;
    for (const FmuDescription::Rate& r : d_.rates) unknowns.push_back(r.rate);
    const fmi2ValueReference known = d_.rates[state].state;
    const double seed = 1.0;
    check(code_.function<Call>("fmi2GetDirectionalDerivative")(component_, unknowns.data(), unknowns.size(),
                                                               &known, 1, &seed, rates.data()),
          "fmi2GetDirectionalDerivative");
  }
  void enter_event_mode() override { plain("fmi2EnterEventMode"); }
  void enter_continuous_mode() override { plain("fmi2EnterContinuousTimeMode"); }
  Event update_discrete() override {
    fmi2EventInfo info{};
    check(
        code_.function<fmi2Status(fmi2Component, fmi2EventInfo*)>("fmi2NewDiscreteStates")(component_, &info),
        "fmi2NewDiscreteStates");
    Event event{info.newDiscreteStatesNeeded != fmi2False, info.terminateSimulation != fmi2False,
                info.valuesOfContinuousStatesChanged != fmi2False};
    if (info.nextEventTimeDefined) event.next = info.nextEventTime;
    return event;
  }
  Completed completed_step() override {
    fmi2Boolean event = fmi2False, over = fmi2False;
    using Call = fmi2Status(fmi2Component, fmi2Boolean, fmi2Boolean*, fmi2Boolean*);
    check(code_.function<Call>("fmi2CompletedIntegratorStep")(component_, fmi2True, &event, &over),
          "fmi2CompletedIntegratorStep");
    return {event != fmi2False, over != fmi2False};
  }

 private:
  void plain(const char* function) {
    check(code_.function<fmi2Status(fmi2Component)>(function)(component_), function);
  }
  void numbers(const char* function, std::span<double> values) {
    if (values.empty()) return;
    check(code_.function<fmi2Status(fmi2Component, double*, size_t)>(function)(component_, values.data(),
                                                                               values.size()),
          function);
  }

  using Step = fmi2Status(fmi2Component, double, double, int);

  template <class T>
  void set_one(const char* function, const FmuVariable& v, T value) {
    const auto call =
        code_.function<fmi2Status(fmi2Component, const fmi2ValueReference*, size_t, const T*)>(function);
    check(call(component_, &v.reference, 1, &value), function, &v);
  }
  template <class T>
  T get_one(const char* function, const FmuVariable& v) {
    T value{};
    const auto call =
        code_.function<fmi2Status(fmi2Component, const fmi2ValueReference*, size_t, T*)>(function);
    check(call(component_, &v.reference, 1, &value), function, &v);
    return value;
  }

  bool is_terminated() {
    fmi2Boolean ended = fmi2False;
    const auto ask =
        code_.function<fmi2Status(fmi2Component, fmi2StatusKind, fmi2Boolean*)>("fmi2GetBooleanStatus");
    return ask(component_, fmi2Terminated, &ended) == fmi2OK && ended != fmi2False;
  }

  void check(fmi2Status status, const char* function, const FmuVariable* v = nullptr) {
    if (status == fmi2OK || status == fmi2Warning) {
      messages_.clear();
      return;
    }
    fatal_ = fatal_ || status == fmi2Fatal;
    constexpr const char* names[] = {"fmi2OK",    "fmi2Warning", "fmi2Discard",
                                     "fmi2Error", "fmi2Fatal",   "fmi2Pending"};
    const bool known = status >= fmi2OK && status <= fmi2Pending;
    throw FmuError(fmt::format("{}{} returned {}{}", function, v ? " of '" + v->name + "'" : "",
                               known ? names[status] : "what FMI does not know", messages_.text()));
  }

  static void log(fmi2ComponentEnvironment self, fmi2String, fmi2Status status, fmi2String category,
                  fmi2String message, ...) {
    if (!self || !message || status == fmi2OK) return;
    char text[1000];
    va_list arguments;
    va_start(arguments, message);
    std::vsnprintf(text, sizeof text, message, arguments);
    va_end(arguments);
    static_cast<Fmi2Instance*>(self)->messages_.add(category ? category : "", text);
  }

  FmuPlace place_;
  const FmuDescription& d_;
  SharedObject code_;
  FmuMessages messages_;
  fmi2CallbackFunctions callbacks_{};
  fmi2Component component_ = nullptr;
  Step* step_ = nullptr;
  bool exchange_, running_ = false, fatal_ = false;
};

}  // namespace

std::unique_ptr<ContinuousFmu> start_fmi2(const FmuPlace& place, FmuInterface interface) {
  return std::make_unique<Fmi2Instance>(place, interface);
}

}  // namespace tellegen
