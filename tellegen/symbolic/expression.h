// Expressions: immutable, hash-consed, in an arena.
//
// Equal expressions of one pool are one node, so comparing is comparing handles and common
// subexpressions are free. Sums and products are n-ary and kept in a canonical order:
//
//   a - b  is  a + (-1)*b        a / b  is  a * b^(-1)        sqrt(a) is a call, a^0.5 is a power
//
// Building simplifies what is always true (constants folded, like terms and like factors collected,
// 0 and 1 absorbed); it never expands a product over a sum. The number of a sum is its last term, the
// number of a product its first factor, and a constant that would not be finite (1/0) stays written
// out. A pool only grows and is freed whole; it belongs to one model. Threads may share it: walking a graph
// marks its nodes, so a walk keeps the others waiting. But terms are ordered by age, so the last digits of
// what several threads build at once depend on who came first: build in one thread (compiled_model.h).
// Nothing else in Tellegen holds formulas.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tellegen/symbolic/functions.h"
#include "tellegen/symbolic/table.h"

namespace tellegen {

class Pool;
using PoolLock = std::unique_lock<std::recursive_mutex>;
struct ExprNode;
struct Scaled;

enum class Op : std::uint8_t { number, symbol, add, multiply, power, call, lookup };

// A handle, as cheap as a pointer. A default-constructed one is empty ("no expression").
class Expr {
 public:
  Expr() = default;
  explicit operator bool() const { return node_ != nullptr; }
  Op op() const;
  std::uint32_t id() const;  // dense, in order of creation: children before parents
  double number() const;     // of a number
  bool is_number() const;
  bool is_number(double value) const;
  bool is_symbol() const;
  const std::string& name() const;                    // of a symbol
  std::span<const Expr> args() const;                 // terms, factors, {base, exponent}, arguments
  const Function& function() const;                   // of a call
  const std::shared_ptr<const Table>& table() const;  // of a lookup
  int order() const;                                  // of a lookup: 0 value, 1 slope, ...; see table.h
  Pool& pool() const;
  friend bool operator==(Expr a, Expr b) { return a.node_ == b.node_; }
  friend bool operator<(Expr a, Expr b) { return a.id() < b.id(); }  // order of creation

 private:
  friend class Pool;
  friend class Walk;
  friend Scaled split_coefficient(Expr e);
  explicit Expr(const ExprNode* node) : node_(node) {}
  const ExprNode* node_ = nullptr;
};

struct Scaled {
  double coefficient;
  Expr rest;
};

struct ExprHash {
  std::size_t operator()(Expr e) const { return e ? e.id() * 0x9E3779B97F4A7C15ull : 0; }
};
template <class T>
using ExprMap = std::unordered_map<Expr, T, ExprHash>;

class Pool {
 public:
  Pool();
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Expr number(double value);
  Expr symbol(std::string_view name);
  Expr add(std::span<const Expr> terms);
  Expr multiply(std::span<const Expr> factors);
  Expr power(Expr base, Expr exponent);
  Expr call(const Function& function, std::span<const Expr> args);
  Expr call(std::string_view function, std::initializer_list<Expr> args);  // asserts that it exists
  Expr lookup(std::shared_ptr<const Table> table, int order, std::span<const Expr> args);
  Expr lookup(std::shared_ptr<const Table> table, int order, Expr x);
  std::size_t size() const;  // nodes made so far; ids are below it

 private:
  friend class Walk;
  PoolLock walked(std::uint64_t& mark);  // for a walk of this mark
  struct State;
  std::unique_ptr<State> state_;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator+(Expr a, double b);
Expr operator-(Expr a, double b);
Expr operator*(double a, Expr b);
Expr operator/(Expr a, double b);
Expr pow(Expr base, Expr exponent);
Expr pow(Expr base, double exponent);

// The number in front of e and what it multiplies: {-2, a*b} of -2*a*b, {1, e} of anything else.
Scaled split_coefficient(Expr e);

// d e / d symbol, every other symbol held constant. Calls and lookups by their table's rule.
Expr derivative(Expr e, Expr symbol);

// Several derivatives of one expression share one walk of its graph.
std::vector<Expr> gradient(Expr e, std::span<const Expr> symbols);

// All replacements at once (not one after the other). Tables of lookups are replaced by name: a
// kind's formal table (Table::name, no points) becomes a component's own.
using TableMap = std::map<std::string, std::shared_ptr<const Table>, std::less<>>;
Expr substitute(Expr e, const ExprMap<Expr>& replacements, const TableMap& tables = {});

// The distinct symbols of e, by name; the distinct nodes below the roots, children first.
std::vector<Expr> symbols_of(std::span<const Expr> roots);
std::vector<Expr> nodes_of(std::span<const Expr> roots);
bool depends_on(Expr e, Expr symbol);

// Value with every symbol given; NaN for a symbol that `values` lacks.
double evaluate(Expr e, const ExprMap<double>& values);

// Operations of the graph (each distinct node once) and of the tree written out in full.
struct OperationCount {
  std::int64_t additions = 0, multiplications = 0, divisions = 0, functions = 0, nodes = 0;
};
OperationCount count_operations(std::span<const Expr> roots, bool shared = true);

}  // namespace tellegen
