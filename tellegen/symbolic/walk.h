// The distinct nodes below some roots, children first, each with a dense position.
//
// Positions are marks on the nodes themselves, so a table per node is a plain vector; they hold until
// the next Walk in the same pool, and other threads wait for the end of this one. No recursion: a graph may
// be deeper than any stack.
#pragma once

#include <span>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

class Walk {
 public:
  explicit Walk(std::span<const Expr> roots);  // empty roots are passed over
  const std::vector<Expr>& nodes() const { return nodes_; }
  std::size_t size() const { return nodes_.size(); }
  bool contains(Expr e) const;
  std::size_t operator[](Expr e) const;  // position of a node that the walk contains

 private:
  std::uint64_t mark_ = 0;
  PoolLock held_;
  std::vector<Expr> nodes_;
};

}  // namespace tellegen
