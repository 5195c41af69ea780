// Canonical sums, products and powers.
//
// A sum gathers (coefficient, rest) and a product (base, exponent), sorts by the creation of the rest or
// base, and merges neighbours. Merging may uncover something to flatten (0.5*s + 0.5*s is s, itself a
// sum), so gathering repeats until nothing does; each repetition takes away one level of nesting.
#include "tellegen/symbolic/expression.h"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <memory_resource>

#include "tellegen/symbolic/node.h"

namespace tellegen {
namespace {

// A vector whose first few elements cost no allocation.
struct Scratch {
  std::byte storage[1024];
  std::pmr::monotonic_buffer_resource memory{storage, sizeof storage};
};

struct Term {
  double coefficient;
  Expr rest;
};

// base ^ (number + symbolic); `whole` is the factor as it was given, empty once merged with another.
struct Factor {
  Expr base;
  double number;
  Expr symbolic;
  Expr whole;
};

// Stable, so that coefficients and exponents add up as they were written; most lists are short, and
// std::stable_sort would allocate.
template <class List, class Key>
void sort_by_creation(List& list, Key key) {
  if (list.size() > 16)
    return std::stable_sort(list.begin(), list.end(),
                            [&](const auto& a, const auto& b) { return key(a).id() < key(b).id(); });
  for (std::size_t i = 1; i < list.size(); ++i)
    for (std::size_t j = i; j > 0 && key(list[j]).id() < key(list[j - 1]).id(); --j)
      std::swap(list[j], list[j - 1]);
}

bool is_integer(double value) { return std::trunc(value) == value && std::abs(value) < 1e9; }

Factor as_factor(Expr e) {
  if (e.op() != Op::power) return {e, 1.0, {}, e};
  Expr base = e.args()[0], exponent = e.args()[1];
  if (exponent.is_number()) return {base, exponent.number(), {}, e};
  return {base, 0.0, exponent, e};
}

}  // namespace

Scaled split_coefficient(Expr e) {
  if (e.op() != Op::multiply || !e.args()[0].is_number()) return {1.0, e};
  return {e.args()[0].number(), Expr(e.node_->payload.rest)};
}

Expr Pool::State::scale(double coefficient, Expr rest) {
  if (coefficient == 1.0) return rest;
  Scratch scratch;
  std::pmr::vector<Expr> factors(&scratch.memory);
  factors.reserve(1 + std::max<std::size_t>(1, rest.args().size()));
  factors.push_back(pool.number(coefficient));
  if (rest.op() == Op::multiply)
    factors.insert(factors.end(), rest.args().begin(), rest.args().end());
  else
    factors.push_back(rest);
  return intern(Op::multiply, {.rest = rest.node_}, factors);
}

Expr Pool::add(std::span<const Expr> summands) {
  Expr only;
  int nonzero = 0;
  for (Expr e : summands)
    if (!e.is_number(0.0)) only = e, ++nonzero;
  if (nonzero == 0) return number(0.0);
  if (nonzero == 1) return only;

  Scratch scratch;
  std::pmr::vector<Term> terms(&scratch.memory);
  terms.reserve(summands.size());
  double constant = 0.0;
  auto gather = [&](double coefficient, Expr e) {
    if (e.is_number()) {
      constant += coefficient * e.number();
      return;
    }
    Scaled inner = split_coefficient(e);
    terms.push_back({coefficient * inner.coefficient, inner.rest});
  };
  for (Expr e : summands) gather(1.0, e);
  for (bool flatten = true; flatten;) {
    for (std::size_t i = 0, count = terms.size(); i < count; ++i) {
      Term t = terms[i];
      if (t.rest.op() != Op::add || std::abs(t.coefficient) != 1.0) continue;
      terms[i].coefficient = 0.0;
      for (Expr e : t.rest.args()) gather(t.coefficient, e);
    }
    sort_by_creation(terms, [](const Term& t) { return t.rest; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < terms.size();) {
      Term merged = terms[i];
      for (++i; i < terms.size() && terms[i].rest == merged.rest; ++i)
        merged.coefficient += terms[i].coefficient;
      if (merged.coefficient != 0.0) terms[kept++] = merged;
    }
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(kept), terms.end());
    flatten = std::any_of(terms.begin(), terms.end(), [](const Term& t) {
      return t.rest.op() == Op::add && std::abs(t.coefficient) == 1.0;
    });
  }

  if (terms.empty()) return number(constant);
  std::pmr::vector<Expr> args(&scratch.memory);
  args.reserve(terms.size() + 1);
  for (const Term& t : terms) args.push_back(state_->scale(t.coefficient, t.rest));
  if (constant != 0.0) args.push_back(number(constant));
  return args.size() == 1 ? args[0] : state_->intern(Op::add, {.bits = 0}, args);
}

Expr Pool::multiply(std::span<const Expr> given) {
  Scratch scratch;
  std::pmr::vector<Factor> factors(&scratch.memory);
  factors.reserve(given.size());
  double coefficient = 1.0;
  auto gather_one = [&](Expr e) {
    if (e.is_number())
      coefficient *= e.number();
    else
      factors.push_back(as_factor(e));
  };
  auto gather = [&](Expr e) {
    if (e.op() == Op::multiply)
      for (Expr factor : e.args()) gather_one(factor);
    else
      gather_one(e);
  };
  for (Expr e : given) gather(e);
  for (bool again = true; again;) {
    again = false;
    sort_by_creation(factors, [](const Factor& f) { return f.base; });
    std::size_t kept = 0;
    std::pmr::vector<Expr> uncovered(&scratch.memory);
    for (std::size_t i = 0; i < factors.size();) {
      Factor merged = factors[i];
      for (++i; i < factors.size() && factors[i].base == merged.base; ++i) {
        merged.number += factors[i].number;
        Expr other = factors[i].symbolic;
        if (other) merged.symbolic = merged.symbolic ? merged.symbolic + other : other;
        merged.whole = Expr();
      }
      if (!merged.whole) {
        Expr exponent = merged.symbolic ? merged.symbolic + merged.number : number(merged.number);
        Expr whole = power(merged.base, exponent);
        Factor simpler = whole.is_number() ? Factor{} : as_factor(whole);
        if (!simpler.base || whole.op() == Op::multiply || !(simpler.base == merged.base)) {
          uncovered.push_back(whole);
          continue;
        }
        merged = simpler;
      }
      factors[kept++] = merged;
    }
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(kept), factors.end());
    for (Expr e : uncovered) {
      again = again || !e.is_number();
      gather(e);
    }
  }

  if (factors.empty()) return number(coefficient);
  // 0 absorbs everything but a constant that could not be folded: 0/0 stays.
  auto constant = [](const Factor& f) { return f.base.is_number(); };
  if (coefficient == 0.0 && std::none_of(factors.begin(), factors.end(), constant)) return number(0.0);
  std::pmr::vector<Expr> args(&scratch.memory);
  args.reserve(factors.size());
  for (const Factor& f : factors) args.push_back(f.whole);
  Expr rest = args.size() == 1 ? args[0] : state_->intern(Op::multiply, {.rest = nullptr}, args);
  return state_->scale(coefficient, rest);
}

Expr Pool::power(Expr base, Expr exponent) {
  if (exponent.is_number(0.0)) return number(1.0);
  if (exponent.is_number(1.0)) return base;
  if (base.is_number(1.0)) return base;
  if (exponent.is_number()) {
    const double n = exponent.number();
    if (base.is_number()) {
      double value = power_value(base.number(), n);
      if (std::isfinite(value)) return number(value);
    } else if (is_integer(n) && base.op() == Op::power) {
      return power(base.args()[0], n * base.args()[1]);
    } else if (is_integer(n) && base.op() == Op::multiply) {
      Scratch scratch;
      std::pmr::vector<Expr> factors(&scratch.memory);
      for (Expr factor : base.args()) factors.push_back(power(factor, exponent));
      return multiply(factors);
    }
  }
  return state_->intern(Op::power, {.bits = 0}, std::array{base, exponent});
}

Expr operator+(Expr a, Expr b) { return a.pool().add(std::array{a, b}); }
Expr operator-(Expr a, Expr b) { return a.pool().add(std::array{a, -b}); }
Expr operator*(Expr a, Expr b) { return a.pool().multiply(std::array{a, b}); }
Expr operator-(Expr a) { return -1.0 * a; }
Expr operator+(Expr a, double b) { return a + a.pool().number(b); }
Expr operator-(Expr a, double b) { return a + a.pool().number(-b); }
Expr operator*(double a, Expr b) { return b.pool().number(a) * b; }
Expr operator/(Expr a, double b) { return a / a.pool().number(b); }
Expr pow(Expr base, Expr exponent) { return base.pool().power(base, exponent); }
Expr pow(Expr base, double exponent) { return pow(base, base.pool().number(exponent)); }

// The numbers are divided once, not multiplied by a rounded reciprocal: 49/49 is 1.
Expr operator/(Expr a, Expr b) {
  Pool& pool = a.pool();
  auto parts = [&](Expr e) {
    return e.is_number() ? Scaled{e.number(), pool.number(1.0)} : split_coefficient(e);
  };
  auto [a_number, a_rest] = parts(a);
  auto [b_number, b_rest] = parts(b);
  const double quotient = a_number / b_number;
  if (!std::isfinite(quotient)) return a * pow(b, -1.0);
  return pool.multiply(std::array{pool.number(quotient), a_rest, pow(b_rest, -1.0)});
}

}  // namespace tellegen
