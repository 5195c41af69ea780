#include "tellegen/symbolic/walk.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "tellegen/symbolic/node.h"

namespace tellegen {

Walk::Walk(std::span<const Expr> roots) {
  struct Visit {
    Expr e;
    std::uint32_t next = 0;  // argument to look at next
  };
  constexpr std::uint32_t pending = std::numeric_limits<std::uint32_t>::max();
  std::vector<Visit> stack;
  for (Expr root : roots) {
    if (!root) continue;
    if (mark_ == 0) held_ = root.pool().walked(mark_);
    if (root.node_->mark == mark_) continue;
    root.node_->mark = mark_;
    root.node_->position = pending;
    stack.push_back({root});
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next == top.e.node_->count) {
        top.e.node_->position = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back(top.e);
        stack.pop_back();
        continue;
      }
      Expr child = top.e.node_->args[top.next++];
      if (child.node_->mark == mark_) continue;
      child.node_->mark = mark_;
      child.node_->position = pending;
      stack.push_back({child});
    }
  }
}

bool Walk::contains(Expr e) const { return mark_ != 0 && e.node_->mark == mark_; }

std::size_t Walk::operator[](Expr e) const {
  assert(contains(e));
  return e.node_->position;
}

std::vector<Expr> nodes_of(std::span<const Expr> roots) { return Walk(roots).nodes(); }

std::vector<Expr> symbols_of(std::span<const Expr> roots) {
  const Walk walk(roots);
  std::vector<Expr> symbols;
  for (Expr e : walk.nodes())
    if (e.is_symbol()) symbols.push_back(e);
  std::sort(symbols.begin(), symbols.end(), [](Expr a, Expr b) { return a.name() < b.name(); });
  return symbols;
}

bool depends_on(Expr e, Expr symbol) {
  if (e < symbol) return false;  // made before it
  return Walk(std::span(&e, 1)).contains(symbol);
}

Expr substitute(Expr e, const ExprMap<Expr>& replacements, const TableMap& tables) {
  Walk walk(std::span(&e, 1));
  Pool& pool = e.pool();
  std::vector<Expr> result(walk.size());
  std::vector<Expr> args;
  for (std::size_t i = 0; i < walk.size(); ++i) {
    Expr node = walk.nodes()[i];
    if (auto found = replacements.find(node); found != replacements.end()) {
      result[i] = found->second;
      continue;
    }
    args.clear();
    for (Expr arg : node.args()) args.push_back(result[walk[arg]]);
    const bool same = std::equal(args.begin(), args.end(), node.args().begin());
    if (node.op() == Op::lookup) {
      auto own = node.table()->formal() ? tables.find(node.table()->name) : tables.end();
      const auto& table = own == tables.end() ? node.table() : own->second;
      result[i] = pool.lookup(table, node.order(), args);
    } else if (same) {
      result[i] = node;
    } else if (node.op() == Op::add) {
      result[i] = pool.add(args);
    } else if (node.op() == Op::multiply) {
      result[i] = pool.multiply(args);
    } else if (node.op() == Op::power) {
      result[i] = pool.power(args[0], args[1]);
    } else {
      result[i] = pool.call(node.function(), args);
    }
  }
  return result.back();
}

namespace {

// Numerator over denominator, in the order and with the roundings of to_c.
double product_value(Expr product, const std::vector<double>& values, const Walk& walk) {
  double numerator = 1.0, denominator = 1.0;
  for (Expr factor : product.args()) {
    if (factor.op() == Op::power && factor.args()[1].is_number() && factor.args()[1].number() < 0.0)
      denominator *= power_value(values[walk[factor.args()[0]]], -factor.args()[1].number());
    else
      numerator *= values[walk[factor]];
  }
  return numerator / denominator;
}

}  // namespace

double evaluate(Expr e, const ExprMap<double>& given) {
  Walk walk(std::span(&e, 1));
  std::vector<double> values(walk.size());
  std::vector<double> args;
  for (std::size_t i = 0; i < walk.size(); ++i) {
    Expr node = walk.nodes()[i];
    double& value = values[i];
    auto argument = [&](std::size_t k) { return values[walk[node.args()[k]]]; };
    switch (node.op()) {
      case Op::number:
        value = node.number();
        break;
      case Op::symbol: {
        auto found = given.find(node);
        value = found == given.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
        break;
      }
      case Op::add:
        value = argument(0);
        for (std::size_t k = 1; k < node.args().size(); ++k) value += argument(k);
        break;
      case Op::multiply:
        value = product_value(node, values, walk);
        break;
      case Op::power:
        value = power_value(argument(0), argument(1));
        break;
      case Op::call:
        args.clear();
        for (Expr arg : node.args()) args.push_back(values[walk[arg]]);
        value = node.function().value(args.data(), static_cast<int>(args.size()));
        break;
      case Op::lookup:
        args.clear();
        for (Expr arg : node.args()) args.push_back(values[walk[arg]]);
        value = node.table()->value_at(args.data(), node.order());
        break;
    }
  }
  return values.back();
}

namespace {

// A tree written out may be astronomically large: counts stop at the largest number.
std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

// Of one node alone. A division is counted at the power that causes it, not again in the product.
OperationCount operations_of(Expr e) {
  OperationCount count{.nodes = 1};
  const auto args = static_cast<std::int64_t>(e.args().size());
  if (e.op() == Op::add) count.additions = args - 1;
  if (e.op() == Op::call || e.op() == Op::lookup) count.functions = 1;
  if (e.op() == Op::multiply) {
    auto free = [](Expr f) {
      return f.is_number(-1.0) ||
             (f.op() == Op::power && f.args()[1].is_number() && f.args()[1].number() < 0.0);
    };
    count.multiplications =
        std::max<std::int64_t>(0, args - 1 - std::count_if(e.args().begin(), e.args().end(), free));
  }
  if (e.op() == Op::power) {
    Expr exponent = e.args()[1];
    const double n = exponent.is_number() ? std::abs(exponent.number()) : 0.0;
    if (exponent.is_number() && exponent.number() < 0.0) count.divisions = 1;
    if (n == 2.0 || n == 3.0)
      count.multiplications = static_cast<std::int64_t>(n) - 1;
    else if (n != 1.0)
      count.functions = 1;
  }
  return count;
}

}  // namespace

OperationCount count_operations(std::span<const Expr> roots, bool shared) {
  Walk walk(roots);
  std::vector<std::int64_t> times(walk.size(), shared ? 1 : 0);
  if (!shared) {
    for (Expr root : roots)
      if (root) times[walk[root]] = saturating_add(times[walk[root]], 1);
    for (std::size_t i = walk.size(); i-- > 0;)
      for (Expr arg : walk.nodes()[i].args()) times[walk[arg]] = saturating_add(times[walk[arg]], times[i]);
  }
  OperationCount total;
  for (std::size_t i = 0; i < walk.size(); ++i) {
    OperationCount one = operations_of(walk.nodes()[i]);
    for (auto member : {&OperationCount::additions, &OperationCount::multiplications,
                        &OperationCount::divisions, &OperationCount::functions, &OperationCount::nodes})
      total.*member = saturating_add(total.*member, saturating_multiply(times[i], one.*member));
  }
  return total;
}

}  // namespace tellegen
