#include "tellegen/symbolic/row_list.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/tellegen_math.h"
#include "tellegen/symbolic/functions.h"
#include "tellegen/symbolic/table.h"

namespace tellegen {
namespace {

constexpr std::size_t most_arguments = 3;

bool is_one(RowValue v) { return !v.varies() && v.number == 1.0; }

bool holds(RowCheck what, double a, double b) {
  switch (what) {
    case RowCheck::zero:
      return a == 0.0;
    case RowCheck::nonzero:
      return a != 0.0;
    case RowCheck::finite:
      return std::isfinite(a);
    case RowCheck::equal:
      return a == b;
    case RowCheck::above:
      return a > b;
    case RowCheck::at_least:
      return a >= b;
  }
  return false;
}

}  // namespace

RowValue RowList::input() {
  RowValue v;
  v.row = row_count_++;
  return v;
}

std::int32_t RowList::row_of(RowValue v) {
  if (v.varies()) return v.row;
  constants_.push_back({row_count_++, v.number});
  return constants_.back().first;
}

RowValue RowList::operation(Operation o, std::span<const RowValue> arguments) {
  if (arguments.size() > most_arguments) {
    possible_ = false;
    return std::numeric_limits<double>::quiet_NaN();
  }
  o.count = static_cast<std::int32_t>(arguments.size());
  const bool tests = o.code == Code::check || o.code == Code::cancels || o.code == Code::share;
  if (std::none_of(arguments.begin(), arguments.end(), [](RowValue v) { return v.varies(); })) {
    double numbers[most_arguments] = {};
    std::transform(arguments.begin(), arguments.end(), numbers, [](RowValue v) { return v.number; });
    const double result = value(o, numbers);
    if (tests && result == 0.0) possible_ = false;
    return result;
  }
  for (std::size_t k = 0; k < arguments.size(); ++k) o.operands[k] = row_of(arguments[k]);
  RowValue result;
  if (!tests) o.target = result.row = row_count_++;
  operations_.push_back(o);
  return result;
}

double RowList::value(const Operation& o, const double* a) const {
  switch (o.code) {
    case Code::add:
      return a[0] + a[1];
    case Code::subtract:
      return a[0] - a[1];
    case Code::multiply:
      return a[0] * a[1];
    case Code::divide:
      return a[0] / a[1];
    case Code::negate:
      return -a[0];
    case Code::subtract_product:
      return a[0] - a[1] * a[2];
    case Code::square_root:
      return std::sqrt(a[0]);
    case Code::raise:
      return tellegen_pow(a[0], a[1]);
    case Code::power:
      return power_value(a[0], a[1]);
    case Code::call:
      return functions_[o.extra]->value(a, o.count);
    case Code::look_up:
      return tables_[o.extra]->value_at(a, o.order);
    case Code::check:
      return holds(static_cast<RowCheck>(o.check), a[0], a[1]) ? 1.0 : 0.0;
    case Code::cancels: {
      const double change = a[1] * a[2];
      return std::abs(a[0] - change) <= o.number * std::max(std::abs(a[0]), std::abs(change)) ? 1.0 : 0.0;
    }
    case Code::share:
      return std::abs(a[0]) >= o.number * std::abs(a[1]) ? 1.0 : 0.0;
  }
  return 0.0;
}

RowValue RowList::add(RowValue a, RowValue b) { return operation({Code::add}, std::array{a, b}); }
RowValue RowList::subtract(RowValue a, RowValue b) {
  const bool nothing = !b.varies() && b.number == 0.0 && !std::signbit(b.number);
  return nothing ? a : operation({Code::subtract}, std::array{a, b});
}
RowValue RowList::multiply(RowValue a, RowValue b) {
  if (is_one(a)) return b;
  return is_one(b) ? a : operation({Code::multiply}, std::array{a, b});
}
RowValue RowList::divide(RowValue a, RowValue b) {
  return is_one(b) ? a : operation({Code::divide}, std::array{a, b});
}
RowValue RowList::negate(RowValue a) { return operation({Code::negate}, std::array{a}); }
RowValue RowList::subtract_product(RowValue a, RowValue b, RowValue c) {
  return operation({Code::subtract_product}, std::array{a, b, c});
}
RowValue RowList::square_root(RowValue a) { return operation({Code::square_root}, std::array{a}); }
RowValue RowList::raise(RowValue base, RowValue exponent) {
  return operation({Code::raise}, std::array{base, exponent});
}
RowValue RowList::power(RowValue base, RowValue exponent) {
  if (is_one(exponent)) return base;
  if (!exponent.varies() && exponent.number < 0.0) return divide(1.0, power(base, -exponent.number));
  return operation({Code::power}, std::array{base, exponent});
}

RowValue RowList::call(const Function& function, std::span<const RowValue> arguments) {
  Operation o{Code::call};
  o.extra = static_cast<std::int32_t>(functions_.size());
  functions_.push_back(&function);
  return operation(o, arguments);
}

RowValue RowList::look_up(std::shared_ptr<const Table> table, int order,
                          std::span<const RowValue> arguments) {
  Operation o{Code::look_up};
  o.extra = static_cast<std::int32_t>(tables_.size());
  o.order = order;
  tables_.push_back(std::move(table));
  return operation(o, arguments);
}

// As Evaluator does it: a product's divisors are multiplied with each other.
std::vector<RowValue> RowList::evaluate(std::span<const Expr> roots, const ExprMap<RowValue>& symbols) {
  ExprMap<RowValue> known;
  std::vector<RowValue> arguments;
  for (const Expr node : nodes_of(roots)) {
    if (node.is_number()) {
      known[node] = node.number();
      continue;
    }
    if (node.is_symbol()) {
      const auto found = symbols.find(node);
      known[node] =
          found == symbols.end() ? RowValue(std::numeric_limits<double>::quiet_NaN()) : found->second;
      continue;
    }
    arguments.clear();
    for (const Expr a : node.args()) arguments.push_back(known.at(a));
    RowValue result;
    switch (node.op()) {
      case Op::add:
        result = arguments[0];
        for (std::size_t k = 1; k < arguments.size(); ++k) result = add(result, arguments[k]);
        break;
      case Op::multiply: {
        RowValue above = 1.0, below = 1.0;
        for (std::size_t k = 0; k < arguments.size(); ++k) {
          const Expr factor = node.args()[k];
          if (factor.op() == Op::power && factor.args()[1].is_number() && factor.args()[1].number() < 0.0)
            below = multiply(below, power(known.at(factor.args()[0]), -factor.args()[1].number()));
          else
            above = multiply(above, arguments[k]);
        }
        result = divide(above, below);
        break;
      }
      case Op::power:
        result = power(arguments[0], arguments[1]);
        break;
      case Op::lookup:
        result = look_up(node.table(), node.order(), arguments);
        break;
      default:
        result = call(node.function(), arguments);
    }
    known[node] = result;
  }
  std::vector<RowValue> values;
  for (const Expr root : roots) values.push_back(known.at(root));
  return values;
}

void RowList::require(RowCheck what, RowValue a, RowValue b) {
  Operation o{Code::check};
  o.check = static_cast<std::uint8_t>(what);
  operation(o, std::array{a, b});
}

void RowList::require_cancelling(RowValue a, RowValue b, RowValue c, double rounding) {
  Operation o{Code::cancels};
  o.number = rounding;
  operation(o, std::array{a, b, c});
}

void RowList::require_share(RowValue a, RowValue b, double share) {
  Operation o{Code::share};
  o.number = share;
  operation(o, std::array{a, b});
}

void RowList::start(int lanes) {
  if (lanes == lanes_ && rows_.size() == static_cast<std::size_t>(row_count_) * lanes_) return;
  lanes_ = lanes;
  rows_.assign(static_cast<std::size_t>(row_count_) * lanes_, 0.0);
  for (const auto& [row, number] : constants_)
    std::fill_n(rows_.begin() + static_cast<std::ptrdiff_t>(row) * lanes_, lanes_, number);
}

void RowList::put(RowValue v, double* to) {
  if (v.varies())
    std::copy_n(row(v), lanes_, to);
  else
    std::fill_n(to, lanes_, v.number);
}

void RowList::run(std::span<char> good) {
  const auto at = [&](std::int32_t r) { return rows_.data() + static_cast<std::size_t>(r) * lanes_; };
  for (const Operation& o : operations_) {
    const double *a = at(o.operands[0]), *b = at(o.operands[1]), *c = at(o.operands[2]);
    double* to = o.target < 0 ? nullptr : at(o.target);
    const auto each = [&](auto number) {
      for (int l = 0; l < lanes_; ++l) to[l] = number(l);
    };
    const auto check = [&](auto holds_in) {
      for (int l = 0; l < lanes_; ++l) good[l] = good[l] != 0 && holds_in(l);
    };
    switch (o.code) {
      case Code::add:
        each([&](int l) { return a[l] + b[l]; });
        break;
      case Code::subtract:
        each([&](int l) { return a[l] - b[l]; });
        break;
      case Code::multiply:
        each([&](int l) { return a[l] * b[l]; });
        break;
      case Code::divide:
        each([&](int l) { return a[l] / b[l]; });
        break;
      case Code::subtract_product:
        each([&](int l) { return a[l] - b[l] * c[l]; });
        break;
      case Code::call: {
        const auto f = functions_[o.extra]->value;
        each([&](int l) {
          const double arguments[most_arguments] = {a[l], b[l], c[l]};
          return f(arguments, o.count);
        });
        break;
      }
      case Code::check:
        check([&](int l) { return holds(static_cast<RowCheck>(o.check), a[l], b[l]); });
        break;
      case Code::cancels:
        check([&](int l) {
          const double change = b[l] * c[l];
          return std::abs(a[l] - change) <= o.number * std::max(std::abs(a[l]), std::abs(change));
        });
        break;
      case Code::share:
        check([&](int l) { return std::abs(a[l]) >= o.number * std::abs(b[l]); });
        break;
      default:
        each([&](int l) {
          const double arguments[most_arguments] = {a[l], b[l], c[l]};
          return value(o, arguments);
        });
    }
  }
}

}  // namespace tellegen
