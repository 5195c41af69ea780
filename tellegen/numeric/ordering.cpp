#include "tellegen/numeric/ordering.h"

#include <amd.h>

#include <algorithm>

namespace tellegen {
namespace {

constexpr std::int32_t smallest_part = 100;  // cutting something shorter gains nothing
constexpr std::int32_t widest_cut = 4;
constexpr int cuts_deep = 2;  // up to four parts: enough to hide the latency

// Undirected neighbours, without the diagonal.
struct Neighbours {
  std::vector<std::int32_t> start, node;
  std::span<const std::int32_t> of(std::int32_t i) const {
    return std::span(node).subspan(start[i], start[i + 1] - start[i]);
  }
};

Neighbours neighbours(std::int32_t n, const std::int32_t* column_start, const std::int32_t* row) {
  Neighbours result;
  result.start.assign(n + 1, 0);
  const auto each = [&](auto&& fn) {
    for (std::int32_t c = 0; c < n; ++c)
      for (std::int32_t k = column_start[c]; k < column_start[c + 1]; ++k)
        if (row[k] != c) fn(row[k], c), fn(c, row[k]);
  };
  each([&](std::int32_t a, std::int32_t) { ++result.start[a + 1]; });
  for (std::int32_t i = 0; i < n; ++i) result.start[i + 1] += result.start[i];
  result.node.resize(result.start[n]);
  std::vector<std::int32_t> at(result.start.begin(), result.start.end() - 1);
  each([&](std::int32_t a, std::int32_t b) { result.node[at[a]++] = b; });
  return result;
}

class Dissection {
 public:
  Dissection(std::int32_t n, const std::int32_t* column_start, const std::int32_t* row)
      : graph_(neighbours(n, column_start, row)), part_(n, 0), local_(n, -1), distance_(n, -1) {}

  std::vector<std::int32_t> order() {
    std::vector<std::int32_t> all(part_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
    dissect(all, 0);
    return std::move(order_);
  }

 private:
  void dissect(const std::vector<std::int32_t>& nodes, int depth) {
    std::vector<std::int32_t> before, cut, after;
    if (depth >= cuts_deep || static_cast<std::int32_t>(nodes.size()) < 2 * smallest_part ||
        !find_cut(nodes, before, cut, after)) {
      minimum_degree(nodes);
      return;
    }
    dissect(before, depth + 1);
    dissect(after, depth + 1);
    order_.insert(order_.end(), cut.begin(), cut.end());
  }

  // Nodes of this part by distance from `from`; unreached ones come last.
  std::vector<std::int32_t> breadth_first(const std::vector<std::int32_t>& nodes, std::int32_t from,
                                          std::int32_t part) {
    for (std::int32_t i : nodes) distance_[i] = -1;
    std::vector<std::int32_t> reached{from};
    distance_[from] = 0;
    for (std::size_t k = 0; k < reached.size(); ++k)
      for (std::int32_t j : graph_.of(reached[k]))
        if (part_[j] == part && distance_[j] < 0) {
          distance_[j] = distance_[reached[k]] + 1;
          reached.push_back(j);
        }
    return reached;
  }

  // The narrowest level near the middle of a breadth-first search from an end.
  bool find_cut(const std::vector<std::int32_t>& nodes, std::vector<std::int32_t>& before,
                std::vector<std::int32_t>& cut, std::vector<std::int32_t>& after) {
    const std::int32_t part = ++parts_;
    for (std::int32_t i : nodes) part_[i] = part;
    const std::int32_t end = breadth_first(nodes, nodes.front(), part).back();
    const auto reached = breadth_first(nodes, end, part);
    if (reached.size() != nodes.size()) return false;  // several pieces: minimum degree keeps them apart
    const std::int32_t levels = distance_[reached.back()] + 1;
    std::vector<std::int32_t> width(levels, 0);
    for (std::int32_t i : reached) ++width[distance_[i]];
    std::int32_t best = -1, passed = 0;
    for (std::int32_t l = 0; l < levels; ++l) {
      const bool middle = passed > static_cast<std::int32_t>(nodes.size()) * 2 / 5 &&
                          passed < static_cast<std::int32_t>(nodes.size()) * 3 / 5;
      if (middle && (best < 0 || width[l] < width[best])) best = l;
      passed += width[l];
    }
    if (best < 0 || width[best] > widest_cut) return false;
    for (std::int32_t i : reached)
      (distance_[i] < best ? before : distance_[i] == best ? cut : after).push_back(i);
    return true;
  }

  void minimum_degree(const std::vector<std::int32_t>& nodes) {
    const auto n = static_cast<std::int32_t>(nodes.size());
    for (std::int32_t k = 0; k < n; ++k) local_[nodes[k]] = k;
    std::vector<std::int32_t> start{0}, row, permutation(n);
    for (std::int32_t i : nodes) {
      for (std::int32_t j : graph_.of(i))
        if (local_[j] >= 0) row.push_back(local_[j]);
      std::sort(row.begin() + start.back(), row.end());
      row.erase(std::unique(row.begin() + start.back(), row.end()), row.end());
      start.push_back(static_cast<std::int32_t>(row.size()));
    }
    amd_order(n, start.data(), row.data(), permutation.data(), nullptr, nullptr);
    for (std::int32_t k : permutation) order_.push_back(nodes[k]);
    for (std::int32_t i : nodes) local_[i] = -1;
  }

  Neighbours graph_;
  std::vector<std::int32_t> part_, local_, distance_, order_;
  std::int32_t parts_ = 0;
};

}  // namespace

std::vector<std::int32_t> elimination_order(std::int32_t size, const std::int32_t* column_start,
                                            const std::int32_t* row) {
  return Dissection(size, column_start, row).order();
}

}  // namespace tellegen
