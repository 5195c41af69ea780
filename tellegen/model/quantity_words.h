// What the words of a column's name say of its quantity: "Battery current" is in A, "Cycle_Index" in nothing.
#pragma once

#include <string_view>

namespace tellegen {

// 1 where a word names a quantity that has this unit; -1 where the words name another one, a time, a rate or
// a counter; 0 where they say nothing.
double quantity_likeness(std::string_view column, std::string_view unit);

}  // namespace tellegen
