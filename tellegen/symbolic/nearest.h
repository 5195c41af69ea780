// "Did you mean ...?": the candidate that fewest slips of the pen turn into the name.
//
// Slips are insertions, deletions, replacements and swaps of neighbours; capitals do not count. About
// one slip in three letters is close; beyond that the answer is empty, since a wild guess misleads.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tellegen {

std::string nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace tellegen
