// What a person who knows the one mechanism can reach by hand, with the same integrator and step.
#pragma once

#include <optional>

#include "benchmarks/mechanism_case.h"

namespace tellegen {

// Empty for a mechanism that nobody has written by hand.
std::optional<CaseAnswer> limit_mechanism(const MechanismCase& c);

}  // namespace tellegen
