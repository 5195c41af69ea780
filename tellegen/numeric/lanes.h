// Vectors side by side: four of them, entry by entry, so that one coefficient serves four.
#pragma once

#include <cstddef>

namespace tellegen {

inline constexpr int lanes = 4;

// Two numbers as one: what every 64-bit processor has registers for. Written out, because compilers do not
// take these loops together by themselves at -O2.
typedef double NumberPair __attribute__((vector_size(16), aligned(8), may_alias));
inline const NumberPair& pair_at(const double* p) { return *reinterpret_cast<const NumberPair*>(p); }
inline NumberPair& pair_at(double* p) { return *reinterpret_cast<NumberPair*>(p); }

}  // namespace tellegen
