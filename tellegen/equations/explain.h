// Rows and columns as a user can find them: with component, kind, line and what stands in the file.
#pragma once

#include <cstdint>
#include <string>

#include "tellegen/equations/system.h"

namespace tellegen {

// The component whose terminal equation a row is; -1 for the balance of a node.
int component_of_row(const EquationSystem& system, std::int32_t row);
Place place_of_row(const EquationSystem& system, std::int32_t row);  // of the component, or of the node

// "'a.v' (node of 'c1' in line 4, 'i1' in line 5)", "'r1.i' (line 3)".
std::string described_column(const EquationSystem& system, std::int32_t column);

// "'i1' (line 5, I = a.v^2)".
std::string described_component(const Model& model, int component);

// A variable in the equations of one member of a group: "'d1.v' (line 3)", "'a.v' in 'i1' (line 5, I =
// a.v^2)".
std::string described_symbol(const EquationSystem& system, int group, std::int32_t member, int symbol);

// "V = sin(t)/t": the parameters of a component that are formulas. Empty where all are numbers.
std::string formulas_of(const Model& model, const Component& component);

}  // namespace tellegen
