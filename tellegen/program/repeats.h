// Straight-line code that says the same again and again: the links of a chain, one after the other. A section
// of ten thousands of instructions is mostly short blocks that repeat, each time with registers a fixed
// distance further on; written as loops it is short again, for the compiler and for the processor's memory.
// The instructions stay the same and in the same order.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tellegen/program/procedure.h"

namespace tellegen {

using Strides = std::array<std::int32_t, 4>;  // of target, a, b, c from one time to the next

struct Repeat {
  std::size_t begin = 0, period = 0, count = 0;  // in the section's code
  std::vector<Strides> strides;                  // per instruction of the block
  std::vector<char> local;                       // per instruction: its result is used in this block alone
};

// Of a program with many instructions; others have none.
struct Repeats {
  std::vector<std::vector<Repeat>> of_section;
  std::vector<char> in_memory;  // registers that loops step through
};
Repeats find_repeats(const Procedure& procedure);

// Where two recursions of a section run the same way along the links and the second needs of each link only
// what the first has there, or before: afterwards they advance together, link by link. One by one each would
// wait for its own last result; together the processor has the other's to work on. For programs in which
// each register is written once; values and registers stay what they were.
void advance_together(Program& program);

}  // namespace tellegen
