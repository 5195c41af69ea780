// Variables that only name a formula, so that others stay short (multibody/recursion.h). Whoever eliminates
// variables leaves them: written out, sums of sums would grow with the length of a mechanism.
#pragma once

#include <string_view>

namespace tellegen {

inline constexpr std::string_view named_formula_prefix = "recursion_";
inline bool names_a_formula(std::string_view variable) { return variable.starts_with(named_formula_prefix); }

}  // namespace tellegen
