// An FMU by the functions of FMI 3.0. In co-simulation its events stay its own: event mode is not asked for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/tellegen_fmi3.h"
#include "tellegen/fmu/instances.h"

namespace tellegen {
namespace {

constexpr int most_returns = 1000;  // of one communication step

class Fmi3Instance : public ContinuousFmu {
 public:
  Fmi3Instance(const FmuPlace& place, FmuInterface interface)
      : place_(place),
        d_(place.file->description()),
        code_(place.code),
        exchange_(interface == FmuInterface::model_exchange) {
    using Instantiate =
        fmi3Instance(fmi3String, fmi3String, fmi3String, bool, bool, bool, bool, const fmi3ValueReference*,
                     size_t, fmi3InstanceEnvironment, fmi3LogMessageCallback, fmi3IntermediateUpdateCallback);
    const std::string resources = (place.folder / "resources").string() + "/";
    using InstantiateExchange = fmi3Instance(fmi3String, fmi3String, fmi3String, bool, bool,
                                             fmi3InstanceEnvironment, fmi3LogMessageCallback);
    const char* function = exchange_ ? "fmi3InstantiateModelExchange" : "fmi3InstantiateCoSimulation";
    if (exchange_)
      instance_ = code_.function<InstantiateExchange>(function)(
          place_.name.c_str(), d_.token.c_str(), resources.c_str(), false, true, this, &Fmi3Instance::log);
    else
      instance_ = code_.function<Instantiate>(function)(place_.name.c_str(), d_.token.c_str(),
                                                        resources.c_str(), false, true, false, false, nullptr,
                                                        0, this, &Fmi3Instance::log, nullptr);
    if (!instance_) throw FmuError(std::string(function) + " returned nothing" + messages_.text());
  }
  ~Fmi3Instance() override {
    if (fatal_) return;  // nothing may be called any more
    try {
      if (running_) code_.function<fmi3Status(fmi3Instance)>("fmi3Terminate")(instance_);
      code_.function<void(fmi3Instance)>("fmi3FreeInstance")(instance_);
    } catch (const FmuError&) {
    }
  }

  void set(std::span<const int> variables, std::span<const double> values) override {
    for (const int index : variables) {
      const FmuVariable& v = d_.variables[static_cast<std::size_t>(index)];
      with_type(v.type, [&]<class T>(T, const char* name) { set_all<T>(name, v, values.first(v.size())); });
      values = values.subspan(v.size());
    }
  }
  void set_text(int index, const std::string& value) override {
    const FmuVariable& v = d_.variables[static_cast<std::size_t>(index)];
    const std::vector<fmi3String> texts(v.size(), value.c_str());
    using Call = fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, const fmi3String*, size_t);
    check(code_.function<Call>("fmi3SetString")(instance_, &v.reference, 1, texts.data(), texts.size()),
          "fmi3SetString", &v);
  }
  void get(std::span<const int> variables, std::span<double> values) override {
    for (const int index : variables) {
      const FmuVariable& v = d_.variables[static_cast<std::size_t>(index)];
      with_type(v.type, [&]<class T>(T, const char* name) { get_all<T>(name, v, values.first(v.size())); });
      values = values.subspan(v.size());
    }
  }
  std::string text(int index) override {
    const FmuVariable& v = d_.variables[static_cast<std::size_t>(index)];
    std::vector<fmi3String> texts(v.size(), nullptr);
    using Call = fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, fmi3String*, size_t);
    check(code_.function<Call>("fmi3GetString")(instance_, &v.reference, 1, texts.data(), texts.size()),
          "fmi3GetString", &v);
    return texts[0] ? texts[0] : "";
  }

  void enter_initialization() override {
    const auto enter = code_.function<fmi3Status(fmi3Instance, bool, double, double, bool, double)>(
        "fmi3EnterInitializationMode");
    check(enter(instance_, d_.tolerance.has_value(), d_.tolerance.value_or(0.0), 0.0, false, 0.0),
          "fmi3EnterInitializationMode");
  }
  void exit_initialization() override {
    check(code_.function<fmi3Status(fmi3Instance)>("fmi3ExitInitializationMode")(instance_),
          "fmi3ExitInitializationMode");
    running_ = true;
    if (!exchange_) step_ = code_.function<Step>("fmi3DoStep");
  }

  // An FMU may return early, and is then called for what is left.
  bool step(double t, double length) override {
    const double end = t + length;
    double at = t;
    for (int returns = 0; end - at > 1e-9 * length; ++returns) {
      bool event = false, terminate = false, early = false;
      double last = end;
      const fmi3Status status = step_(instance_, at, end - at, true, &event, &terminate, &early, &last);
      if (terminate) return false;
      check(status, "fmi3DoStep");
      if (!early) return true;
      if (!(last > at) || returns > most_returns)
        throw FmuError(fmt::format("fmi3DoStep does not get beyond t = {:.9g} s", last));
      at = last;
    }
    return true;
  }

  std::size_t states() override { return count("fmi3GetNumberOfContinuousStates"); }
  std::size_t indicators() override { return count("fmi3GetNumberOfEventIndicators"); }
  void get_states(std::span<double> x) override { numbers("fmi3GetContinuousStates", x); }
  void get_nominals(std::span<double> x) override { numbers("fmi3GetNominalsOfContinuousStates", x); }
  void get_rates(std::span<double> rates) override { numbers("fmi3GetContinuousStateDerivatives", rates); }
  void get_indicators(std::span<double> z) override { numbers("fmi3GetEventIndicators", z); }
  void set_time(double t) override {
    check(code_.function<fmi3Status(fmi3Instance, double)>("fmi3SetTime")(instance_, t), "fmi3SetTime");
  }
  void set_states(std::span<const double> x) override {
    if (x.empty()) return;
    using Call = fmi3Status(fmi3Instance, const double*, size_t);
    check(code_.function<Call>("fmi3SetContinuousStates")(instance_, x.data(), x.size()),
          "fmi3SetContinuousStates");
  }
  void slope(std::size_t state, std::span<double> rates) override {
    using Call = fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, const fmi3ValueReference*,
                            size_t, const double*, size_t, double*, size_t);
    std::vector<fmi3ValueReference> unknowns;
    for (const FmuDescription::Rate& r : d_.rates) unknowns.push_back(r.rate);
    const fmi3ValueReference known = d_.rates[state].state;
    const double seed = 1.0;
    check(code_.function<Call>("fmi3GetDirectionalDerivative")(
              instance_, unknowns.data(), unknowns.size(), &known, 1, &seed, 1, rates.data(), rates.size()),
          "fmi3GetDirectionalDerivative");
  }
  void enter_event_mode() override { plain("fmi3EnterEventMode"); }
  void enter_continuous_mode() override { plain("fmi3EnterContinuousTimeMode"); }
  Event update_discrete() override {
    bool again = false, over = false, nominals = false, values = false, defined = false;
    double next = 0.0;
    using Call = fmi3Status(fmi3Instance, bool*, bool*, bool*, bool*, bool*, double*);
    check(code_.function<Call>("fmi3UpdateDiscreteStates")(instance_, &again, &over, &nominals, &values,
                                                           &defined, &next),
          "fmi3UpdateDiscreteStates");
    Event event{again, over, values};
    if (defined) event.next = next;
    return event;
  }
  Completed completed_step() override {
    bool event = false, over = false;
    using Call = fmi3Status(fmi3Instance, bool, bool*, bool*);
    check(code_.function<Call>("fmi3CompletedIntegratorStep")(instance_, true, &event, &over),
          "fmi3CompletedIntegratorStep");
    return {event, over};
  }

 private:
  void plain(const char* function) {
    check(code_.function<fmi3Status(fmi3Instance)>(function)(instance_), function);
  }
  std::size_t count(const char* function) {
    std::size_t found = 0;
    check(code_.function<fmi3Status(fmi3Instance, size_t*)>(function)(instance_, &found), function);
    return found;
  }
  void numbers(const char* function, std::span<double> values) {
    if (values.empty()) return;
    check(code_.function<fmi3Status(fmi3Instance, double*, size_t)>(function)(instance_, values.data(),
                                                                              values.size()),
          function);
  }

  using Step = fmi3Status(fmi3Instance, double, double, bool, bool*, bool*, bool*, double*);

  template <class Visitor>
  static void with_type(FmuType type, const Visitor& visit) {
    switch (type) {
      case FmuType::float64:
        return visit(fmi3Float64{}, "Float64");
      case FmuType::float32:
        return visit(fmi3Float32{}, "Float32");
      case FmuType::int64:
        return visit(fmi3Int64{}, "Int64");
      case FmuType::int32:
        return visit(fmi3Int32{}, "Int32");
      case FmuType::int16:
        return visit(fmi3Int16{}, "Int16");
      case FmuType::int8:
        return visit(fmi3Int8{}, "Int8");
      case FmuType::uint64:
        return visit(fmi3UInt64{}, "UInt64");
      case FmuType::uint32:
        return visit(fmi3UInt32{}, "UInt32");
      case FmuType::uint16:
        return visit(fmi3UInt16{}, "UInt16");
      case FmuType::uint8:
        return visit(fmi3UInt8{}, "UInt8");
      case FmuType::boolean:
        return visit(fmi3Boolean{}, "Boolean");
      default:
        throw FmuError("texts and bytes are no numbers");
    }
  }

  template <class T>
  static T to(double value) {
    if constexpr (std::is_same_v<T, bool>)
      return value >= 0.5;
    else if constexpr (std::is_integral_v<T>)
      return whole<T>(value);
    else
      return static_cast<T>(value);
  }

  template <class T>
  void set_all(const std::string& type, const FmuVariable& v, std::span<const double> values) {
    const auto native = std::make_unique<T[]>(values.size());
    std::transform(values.begin(), values.end(), native.get(), to<T>);
    using Call = fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, const T*, size_t);
    const std::string function = "fmi3Set" + type;
    check(code_.function<Call>(function.c_str())(instance_, &v.reference, 1, native.get(), values.size()),
          function.c_str(), &v);
  }
  template <class T>
  void get_all(const std::string& type, const FmuVariable& v, std::span<double> values) {
    const auto native = std::make_unique<T[]>(values.size());
    using Call = fmi3Status(fmi3Instance, const fmi3ValueReference*, size_t, T*, size_t);
    const std::string function = "fmi3Get" + type;
    check(code_.function<Call>(function.c_str())(instance_, &v.reference, 1, native.get(), values.size()),
          function.c_str(), &v);
    std::transform(native.get(), native.get() + values.size(), values.begin(),
                   [](T value) { return static_cast<double>(value); });
  }

  void check(fmi3Status status, const char* function, const FmuVariable* v = nullptr) {
    if (status == fmi3OK || status == fmi3Warning) {
      messages_.clear();
      return;
    }
    fatal_ = fatal_ || status == fmi3Fatal;
    constexpr const char* names[] = {"fmi3OK", "fmi3Warning", "fmi3Discard", "fmi3Error", "fmi3Fatal"};
    const bool known = status >= fmi3OK && status <= fmi3Fatal;
    throw FmuError(fmt::format("{}{} returned {}{}", function, v ? " of '" + v->name + "'" : "",
                               known ? names[status] : "what FMI does not know", messages_.text()));
  }

  static void log(fmi3InstanceEnvironment self, fmi3Status status, fmi3String category, fmi3String message) {
    if (self && message && status != fmi3OK)
      static_cast<Fmi3Instance*>(self)->messages_.add(category ? category : "", message);
  }

  FmuPlace place_;
  const FmuDescription& d_;
  SharedObject code_;
  FmuMessages messages_;
  fmi3Instance instance_ = nullptr;
  Step* step_ = nullptr;
  bool exchange_, running_ = false, fatal_ = false;
};

}  // namespace

std::unique_ptr<ContinuousFmu> start_fmi3(const FmuPlace& place, FmuInterface interface) {
  return std::make_unique<Fmi3Instance>(place, interface);
}

}  // namespace tellegen
