// What a handle points at, and the arena that makes equal nodes one node. Only symbolic/ includes this.
//
// Nodes and argument lists lie in chunks that never move. The table of all nodes is open addressing
// with linear probing; a slot keeps the hash, so most misses touch no node and growing rehashes none.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct ExprNode {
  union Payload {
    double number;
    const std::string* name;
    const Function* function;
    const std::shared_ptr<const Table>* table;
    const ExprNode* rest;  // of a product that starts with a number: the product without it
    std::uint64_t bits;
  };
  Op op = Op::number;
  std::uint8_t order = 0;
  std::uint32_t id = 0;
  std::uint32_t count = 0;
  mutable std::uint32_t position = 0;  // where the last walk put this node ...
  mutable std::uint64_t mark = 0;      // ... and which walk that was
  const Expr* args = nullptr;
  Pool* pool = nullptr;
  Payload payload = {};
};

// Grows in chunks, each larger than the last up to a limit, and frees everything at once.
template <class T>
class Chunks {
 public:
  T* allocate(std::size_t count) {
    if (count > left_) {
      left_ = std::max(count, next_size_);
      next_size_ = std::min<std::size_t>(2 * next_size_, 16384);
      chunks_.push_back(std::make_unique<T[]>(left_));
      free_ = chunks_.back().get();
    }
    T* result = free_;
    free_ += count;
    left_ -= count;
    return result;
  }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  T* free_ = nullptr;
  std::size_t left_ = 0, next_size_ = 64;
};

struct Pool::State {
  struct Slot {
    std::uint64_t hash = 0;
    const ExprNode* node = nullptr;
  };

  explicit State(Pool& pool) : pool(pool), slots(256) {}

  // The one node with these parts. A payload's bits are part of what makes nodes equal, except `rest`.
  Expr intern(Op op, ExprNode::Payload payload, std::span<const Expr> args, int order = 0);
  Expr scale(double coefficient, Expr rest);  // coefficient * rest, the inverse of split_coefficient
  void grow();

  // Held by walks and by whatever makes nodes; for nothing where the program has one thread only.
  PoolLock lock();

  Pool& pool;
  std::recursive_mutex busy;
  Chunks<ExprNode> nodes;
  Chunks<Expr> args;
  std::vector<Slot> slots;  // a power of two of them, at most half full
  std::uint32_t count = 0;
  std::uint64_t walks = 0;
  std::deque<std::string> names;
  std::unordered_map<std::string_view, Expr> symbols;
  std::deque<std::shared_ptr<const Table>> tables;
  std::unordered_map<const Table*, const std::shared_ptr<const Table>*> table_of;
  std::map<std::string, const std::shared_ptr<const Table>*, std::less<>> formal_table_of;
};

}  // namespace tellegen
