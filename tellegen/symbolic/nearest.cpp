#include "tellegen/symbolic/nearest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

namespace tellegen {
namespace {

bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Optimal string alignment distance, three rows of the usual table at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> older, old(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) old[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({old[j] + 1, row[j - 1] + 1, old[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], older[j - 2] + 1);
    }
    older = old;
    old = row;
  }
  return old[b.size()];
}

}  // namespace

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  const std::size_t allowed = std::max<std::size_t>(1, (name.size() + 1) / 3);
  std::size_t best = allowed + 1;
  std::string result;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= best) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= best || distance >= longer) continue;  // nothing in common is not close
    best = distance;
    result = candidate;
  }
  return result;
}

}  // namespace tellegen
