// Tellegen as a library: what an embedding program includes.
//
//   #include <tellegen/tellegen.h>
//
//   const auto model = tellegen::attempt([] { return tellegen::read_any_model("inverter.toml"); });
//   if (!model)
//     for (const tellegen::Fault& fault : model.faults()) std::puts(to_text(fault).c_str());
//   else
//     const tellegen::SimulationResult run = tellegen::simulate(*model);
//
// A wrong input throws a ModelError with all its faults, a model without a consistent start a
// SimulationError; what goes wrong in a working run is told in the result's `failure`. attempt() hands
// exceptions over as values. Nothing here needs the headers of another library. docs/embedding.md has
// examples.
#pragma once

#include <concepts>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tellegen/calibrate/calibrate.h"
#include "tellegen/estimate/estimate.h"
#include "tellegen/estimate/online_twin.h"
#include "tellegen/estimate/sensor_faults.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/rewrite.h"
#include "tellegen/netlist/netlist.h"
#include "tellegen/optimize/optimize.h"
#include "tellegen/records/record.h"
#include "tellegen/sensitivity/study.h"
#include "tellegen/simulate/compiled_model.h"
#include "tellegen/simulate/signature.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/sweep/evaluate.h"
#include "tellegen/sweep/samples.h"

namespace tellegen {

std::string_view version();

// A value, or what is wrong.
template <class T>
class Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}
  Outcome(std::vector<Fault> faults) : faults_(std::move(faults)) {}
  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  std::optional<T> value_;
  std::vector<Fault> faults_;
};

// The faults of what is being thrown; to be called in a catch block. What is not ours becomes one fault.
std::vector<Fault> current_faults();

template <std::invocable Fn>
Outcome<std::invoke_result_t<Fn>> attempt(Fn&& fn) {
  try {
    return std::forward<Fn>(fn)();
  } catch (...) {
    return current_faults();
  }
}

// A run as `tellegen simulate` makes it. `outputs` are formulas of the model's variables; none: its sensors
// and outputs. The energy balance is kept.
SimulationResult simulate(Model model, SimulationOptions options = as_the_model_says(),
                          const std::vector<std::string>& outputs = {});

// Objectives and d objective/d parameter at the model's own numbers; [objective][parameter], SI.
StudyResult differentiate(const Model& model, const std::vector<std::string>& objectives,
                          const std::vector<std::string>& parameters, const StudyOptions& options = {});

// The design that [design] asks for.
OptimizeResult optimize(const Model& model, const OptimizeOptions& options = {});

// Every row of `samples` run by `jobs` threads, in their order; a sample that fails says so in its status.
// Where `progress` throws, the sweep ends with that. `columns`, if given, becomes what the values are.
std::vector<SampleOutcome> sweep(SampleTask task, const SampleSet& samples, int jobs = 1,
                                 const Progress& progress = {}, std::vector<ResultColumn>* columns = nullptr);

// The record of a file, as the model's [estimation] reads it.
Record read_record(const Model& model, const std::filesystem::path& file);

// A record's estimate with its sensors judged, as `tellegen estimate` makes it.
Estimate estimate(const Model& model, const Record& record);

// The stages of [calibrate], or all constant unknowns at once.
CalibrationResult calibrate(const Model& model, const Record& record);

// A column of a result, by its name; empty where there is none.
std::vector<double> column(const SimulationResult& result, std::string_view name);

}  // namespace tellegen
