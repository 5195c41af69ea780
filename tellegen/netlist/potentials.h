#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tellegen {

// Nodes whose differences of potential are fixed: each has a root and a voltage above it.
class Potentials {
 public:
  struct Point {
    std::size_t root;
    double above;
  };
  std::size_t index(const std::string& node) {
    const auto [found, fresh] = index_.try_emplace(node, up_.size());
    if (fresh) up_.push_back({found->second, 0.0}), names_.push_back(node);
    return found->second;
  }
  Point of(std::size_t node) const {
    Point point{node, 0.0};
    while (up_[point.root].root != point.root)
      point = {up_[point.root].root, point.above + up_[point.root].above};
    return point;
  }
  // `a` lies `voltage` above `b`. Ground stays a root.
  void fix(std::size_t a, std::size_t b, double voltage) {
    const Point from = of(a), to = of(b);
    if (from.root == to.root) return;
    if (from.root == 0)
      up_[to.root] = {from.root, from.above - voltage - to.above};
    else
      up_[from.root] = {to.root, to.above + voltage - from.above};
  }
  std::size_t size() const { return up_.size(); }
  const std::string& name(std::size_t k) const { return names_[k]; }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<Point> up_;
  std::vector<std::string> names_;
};

}  // namespace tellegen
