#include "tellegen/simulate/stop.h"

#include <fmt/format.h>

#include "tellegen/model/observers.h"

namespace tellegen {

void add_stop_watch(Model& model, SimulationOptions& options) {
  if (!model.simulation.stop_when || !options.stop_watch.empty()) return;
  options.stop_watch = add_watch(model, "stop_when", model.simulation.stop_when, model.simulation.place);
}

std::int32_t watch_event(const EquationSystem& system, const std::string& watch) {
  for (std::size_t k = 0; k < system.discrete.size(); ++k)
    if (system.discrete[k].name == watch + ".seen") return static_cast<std::int32_t>(k);
  throw ModelError({{system.model->file.string(), 0},
                    "T330",
                    fmt::format("no condition '{}' is watched in this run", watch),
                    {"a condition is added to the model before its equations are built"}});
}

}  // namespace tellegen
