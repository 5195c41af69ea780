// A model made ready once, and runs of it in as many threads as one likes, each with numbers of its own.
//
//   const CompiledModel compiled({.read = [] { return read_any_model("rc.toml"); }, .parameters = {"R1"}});
//   std::jthread other([&] {
//     ModelInstance instance(compiled);
//     instance.set(std::array{2e3});
//     const SimulationResult run = instance.run();
//   });
//
// Nobody changes a CompiledModel; an instance is one thread's at a time. Its results are those of a run
// alone, to the last bit, whatever other instances do.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tellegen/model/parameters.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct CompiledModelOptions {
  std::function<Model()> read;            // always the same model, from any thread
  std::vector<std::string> parameters;    // that instances may set
  std::vector<std::string> outputs = {};  // formulas; none: the model's sensors and outputs
  SimulationOptions simulation = as_the_model_says();
};

class CompiledModel {
 public:
  // Throws what Simulation throws.
  explicit CompiledModel(CompiledModelOptions options);
  const std::vector<double>& nominal() const { return nominal_; }  // the model's own numbers, SI

 private:
  friend class ModelInstance;
  // What a simulation is made of, by itself.
  struct Prepared {
    std::unique_ptr<Model> model;
    std::vector<int> parameters;
    SimulationOptions simulation;
    std::vector<OutputColumn> outputs;
  };
  Prepared read() const;

  CompiledModelOptions options_;
  Prepared first_;
  std::vector<double> nominal_;
  // Instances are built from formulas that are there already: terms are ordered by age.
  mutable std::mutex building_;
};

class ModelInstance {
 public:
  explicit ModelInstance(const CompiledModel& compiled);  // which must outlive it; from any thread
  // The parameters from the next run on, SI. Throws ModelError where a component's bound is broken; the
  // numbers are then as before.
  void set(std::span<const double> numbers);
  // From the start. Numbers that need other equations (one has become zero) are built for once, from a model
  // read anew. Throws as Simulation does.
  SimulationResult run(const Progress& progress = {});

 private:
  void build(CompiledModel::Prepared prepared);

  const CompiledModel& compiled_;
  std::unique_ptr<Model> model_;
  std::optional<ParameterSetter> setter_;
  std::unique_ptr<Simulation> simulation_;
  double stop_ = 0.0;
  std::vector<double> numbers_;
  bool fresh_ = true;  // built with these numbers, and not run yet
};

}  // namespace tellegen
