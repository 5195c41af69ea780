// For tests: a shipped model with a run as `tellegen export` takes it.
#pragma once

#include <memory>
#include <string>

#include "tellegen/model/read.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct TestExport {
  explicit TestExport(const std::string& name, double stop = 0.0)
      : model(read_model(TELLEGEN_SOURCE_DIR "/models/" + name + "/model.toml",
                         {TELLEGEN_SOURCE_DIR "/library", {}})),
        system(build_system(model)) {
    SimulationOptions options;
    options.method.clear();
    options.stop = stop;
    options = complete_options(model, options);
    options.compile = false;
    options.restarts = true;
    options.sample = 0.0;
    simulation = std::make_unique<Simulation>(system, options, default_outputs(system, false));
  }
  Model model;
  EquationSystem system;
  std::unique_ptr<Simulation> simulation;
};

}  // namespace tellegen
