// Names with indices: cell[3], x[2][7].
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tellegen {

// "cell[3]" -> "cell" and "[3]"; the second is empty where the name has no index.
struct IndexedName {
  std::string_view stem, index;
};
IndexedName indexed(std::string_view name);

// The indices of each array by its stem: "cell" -> "[1]", "[2]", ...
using ArrayIndices = std::unordered_map<std::string, std::vector<std::string>>;

// The names that `cell[*].T`, `pack[2].cell[*].T` or `x[*][3].T` stands for.
std::vector<std::string> element_names(const ArrayIndices& arrays, std::string_view pattern);

}  // namespace tellegen
