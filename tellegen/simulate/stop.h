// The end of a run at an event: where a condition becomes true (`stop_when` of [simulation]).
//
// The condition is a watch among the components (model/observers.h), so it is located like every other event;
// the integrators end the run at the event at which its discrete variable becomes 1. A condition that is true
// at the start leaves one row. `stop` still bounds the run.
#pragma once

#include "tellegen/simulate/integrator.h"

namespace tellegen {

// To be called before the equations are built; does nothing where the model has no stop condition.
void add_stop_watch(Model& model, SimulationOptions& options);

// The discrete variable `seen` of a watch. Throws ModelError (T330) where the system has none.
std::int32_t watch_event(const EquationSystem& system, const std::string& watch);

}  // namespace tellegen
