// Which columns a run reports, and a reference that must fit them.
#pragma once

#include <string>
#include <vector>

#include "tellegen/results/trajectory.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

// `list`: variables, the model's own outputs and formulas ("n3.v, r1.i*2"); empty: the model's sensors and
// outputs, or every variable where it has none or `all` is set. A plain variable has its own unit. Faults are
// those of `--outputs` of the command.
std::vector<OutputColumn> chosen_columns(std::string_view command, const EquationSystem& system,
                                         const std::string& list, bool all);

// For `tellegen simulate`. Throws ModelError where the reference cannot be read or has a column, a unit or a
// time that the run will not have: told before a long run, not after it.
Trajectory read_reference(const std::string& file, const std::vector<OutputColumn>& columns,
                          const SimulationOptions& options);

}  // namespace tellegen
