#include <sys/single_threaded.h>

#include <cassert>
#include <cmath>
#include <limits>

#include "tellegen/symbolic/node.h"

namespace tellegen {

Op Expr::op() const { return node_->op; }
std::uint32_t Expr::id() const { return node_->id; }
bool Expr::is_number() const { return node_->op == Op::number; }
bool Expr::is_number(double value) const { return is_number() && node_->payload.number == value; }
bool Expr::is_symbol() const { return node_->op == Op::symbol; }
std::span<const Expr> Expr::args() const { return {node_->args, node_->count}; }
int Expr::order() const { return node_->order; }
Pool& Expr::pool() const { return *node_->pool; }

double Expr::number() const {
  assert(op() == Op::number);
  return node_->payload.number;
}

const std::string& Expr::name() const {
  assert(op() == Op::symbol);
  return *node_->payload.name;
}

const Function& Expr::function() const {
  assert(op() == Op::call);
  return *node_->payload.function;
}

const std::shared_ptr<const Table>& Expr::table() const {
  assert(op() == Op::lookup);
  return *node_->payload.table;
}

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 32);
}

}  // namespace

PoolLock Pool::State::lock() {
  PoolLock held(busy, std::defer_lock);
  if (!__libc_single_threaded) held.lock();
  return held;
}

Expr Pool::State::intern(Op op, ExprNode::Payload payload, std::span<const Expr> arguments, int order) {
  const PoolLock held = lock();
  std::uint64_t identity = op == Op::multiply ? 0 : payload.bits;
  std::uint64_t hash =
      mix(mix(static_cast<std::uint64_t>(op) + 1, identity), static_cast<std::uint64_t>(order));
  for (Expr e : arguments) {
    assert(e && &e.pool() == &pool);
    hash = mix(hash, e.node_->id);
  }
  const std::size_t mask = slots.size() - 1;
  std::size_t at = hash & mask;
  for (; slots[at].node; at = (at + 1) & mask) {
    const ExprNode& node = *slots[at].node;
    if (slots[at].hash == hash && node.op == op && node.order == order && node.count == arguments.size() &&
        (op == Op::multiply || node.payload.bits == identity) &&
        std::equal(arguments.begin(), arguments.end(), node.args))
      return Expr(&node);
  }
  assert(count < std::numeric_limits<std::uint32_t>::max());
  Expr* copy = nullptr;
  if (!arguments.empty()) {
    copy = args.allocate(arguments.size());
    std::copy(arguments.begin(), arguments.end(), copy);
  }
  ExprNode* node = nodes.allocate(1);
  node->op = op;
  node->order = static_cast<std::uint8_t>(order);
  node->id = count++;
  node->count = static_cast<std::uint32_t>(arguments.size());
  node->args = copy;
  node->pool = &pool;
  node->payload = payload;
  slots[at] = {hash, node};
  if (2 * std::size_t{count} > slots.size()) grow();
  return Expr(node);
}

void Pool::State::grow() {
  std::vector<Slot> larger(2 * slots.size());
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : slots) {
    if (!slot.node) continue;
    std::size_t at = slot.hash & mask;
    while (larger[at].node) at = (at + 1) & mask;
    larger[at] = slot;
  }
  slots = std::move(larger);
}

Pool::Pool() : state_(std::make_unique<State>(*this)) {}
Pool::~Pool() = default;

std::size_t Pool::size() const {
  const PoolLock held = state_->lock();
  return state_->count;
}

PoolLock Pool::walked(std::uint64_t& mark) {
  PoolLock held = state_->lock();
  mark = ++state_->walks;
  return held;
}

Expr Pool::number(double value) {
  if (value == 0.0) value = 0.0;  // one zero, without a sign
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return state_->intern(Op::number, {.number = value}, {});
}

Expr Pool::symbol(std::string_view name) {
  const PoolLock held = state_->lock();
  auto found = state_->symbols.find(name);
  if (found != state_->symbols.end()) return found->second;
  const std::string& kept = state_->names.emplace_back(name);
  return state_->symbols[kept] = state_->intern(Op::symbol, {.name = &kept}, {});
}

Expr Pool::call(const Function& function, std::span<const Expr> args) {
  const int count = static_cast<int>(args.size());
  assert(function.arity == count || (function.arity == -1 && count >= 2));
  if (function.arity == -1 && count > 2) {
    Expr result = args[0];
    for (Expr next : args.subspan(1)) result = call(function, std::array{result, next});
    return result;
  }
  if (function.name == "if") {
    if (args[0].is_number()) return args[0].number() != 0.0 ? args[1] : args[2];
    if (args[1] == args[2]) return args[1];
  }
  if (count <= 3 && std::all_of(args.begin(), args.end(), [](Expr e) { return e.is_number(); })) {
    double values[3] = {};
    std::transform(args.begin(), args.end(), values, [](Expr e) { return e.number(); });
    double value = function.value(values, count);
    if (std::isfinite(value)) return number(value);
  }
  return state_->intern(Op::call, {.function = &function}, args);
}

Expr Pool::call(std::string_view name, std::initializer_list<Expr> args) {
  const Function* function = find_function(name);
  assert(function);
  return call(*function, std::span(args.begin(), args.size()));
}

Expr Pool::lookup(std::shared_ptr<const Table> table, int order, std::span<const Expr> args) {
  assert(table && order >= 0 && static_cast<std::size_t>(table->dimensions) == args.size());
  if (!table->terms.empty()) {
    std::vector<Expr> sum;
    for (const Table::Term& term : table->terms)
      sum.push_back(symbol(term.parameter) * lookup(term.shape, order, args));
    return add(sum);
  }
  const bool formal = table->formal();
  if (!formal) {
    const int most = table->interpolation == Interpolation::hold     ? 0
                     : table->interpolation == Interpolation::linear ? 1
                                                                     : 3;
    for (std::size_t k = 0; k < args.size(); ++k)
      if (((order >> (2 * k)) & 3) > most) return number(0.0);
    if (std::all_of(args.begin(), args.end(), [](Expr e) { return e.is_number(); })) {
      double at[3] = {};
      for (std::size_t k = 0; k < args.size(); ++k) at[k] = args[k].number();
      return number(table->value_at(at, order));
    }
  }
  // Formal tables of one name are one table.
  const PoolLock held = state_->lock();
  auto& kept = formal ? state_->formal_table_of[table->name] : state_->table_of[table.get()];
  if (!kept) kept = &state_->tables.emplace_back(std::move(table));
  return state_->intern(Op::lookup, {.table = kept}, args, order);
}

Expr Pool::lookup(std::shared_ptr<const Table> table, int order, Expr x) {
  return lookup(std::move(table), order, std::span(&x, 1));
}

}  // namespace tellegen
