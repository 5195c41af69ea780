#include "tellegen/model/array_names.h"

#include <algorithm>
#include <cctype>

namespace tellegen {
namespace {

// Whether "[2][7]" fits "[*][7]".
bool fits(std::string_view index, std::string_view pattern) {
  while (!pattern.empty() && !index.empty()) {
    const auto end = index.find(']') + 1, pattern_end = pattern.find(']') + 1;
    const std::string_view wanted = pattern.substr(0, pattern_end);
    if (wanted != "[*]" && wanted != index.substr(0, end)) return false;
    index.remove_prefix(end);
    pattern.remove_prefix(pattern_end);
  }
  return index.empty() && pattern.empty();
}

}  // namespace

IndexedName indexed(std::string_view name) {
  std::size_t begin = name.size();
  while (begin > 0 && name[begin - 1] == ']') {
    const auto open = name.rfind('[', begin - 1);
    if (open == std::string_view::npos) break;
    const std::string_view inner = name.substr(open + 1, begin - open - 2);
    if (inner.empty() ||
        !std::all_of(inner.begin(), inner.end(), [](unsigned char c) { return std::isdigit(c); }))
      break;
    begin = open;
  }
  return {name.substr(0, begin), name.substr(begin)};
}

std::vector<std::string> element_names(const ArrayIndices& arrays, std::string_view pattern) {
  const auto star = pattern.find("[*]");
  if (star == std::string_view::npos) return {std::string(pattern)};
  // The group of indices that the star belongs to.
  const std::string_view stem = indexed(pattern.substr(0, star)).stem;
  std::size_t end = stem.size();
  while (end < pattern.size() && pattern[end] == '[') end = pattern.find(']', end) + 1;
  std::vector<std::string> names;
  const auto array = arrays.find(std::string(stem));
  if (array == arrays.end()) return names;
  for (const std::string& index : array->second)
    if (fits(index, pattern.substr(stem.size(), end - stem.size())))
      for (std::string& name :
           element_names(arrays, std::string(stem) + index + std::string(pattern.substr(end))))
        names.push_back(std::move(name));
  return names;
}

}  // namespace tellegen
