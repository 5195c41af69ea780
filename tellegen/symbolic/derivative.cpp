// Forward differentiation over the graph, children first. Each node carries its derivatives with
// respect to the symbols it depends on, and only those, so a Jacobian row costs what it contains.
//
//   (f1*...*fn)' = sum of fi' * the other factors          (b^e)' = b^e * (e'*log(b) + e*b'/b)
//   g(a1, ..., an)' = sum of dg/dai * ai'
//
// A derivative that is switched off must not leak: 0*inf is NaN. So a partial derivative that is a
// choice with a zero branch moves inside, if(c, 1, 0)*a' becoming if(c, a', 0), and choices with one
// condition are joined: if(c, a, b)' is if(c, a', b').
#include <algorithm>
#include <vector>

#include "tellegen/symbolic/expression.h"
#include "tellegen/symbolic/walk.h"

namespace tellegen {
namespace {

struct Part {
  std::size_t symbol;  // index into the symbols asked for
  Expr value;          // the derivative, or one summand of it
};

bool is_choice(Expr e) { return e.op() == Op::call && e.function().name == "if"; }

Expr chain(Expr partial, Expr inner) {
  if (is_choice(partial)) {
    auto args = partial.args();
    // The side that is not taken stays zero, even where the other is not finite.
    const auto side = [&](Expr value) { return value.is_number(0.0) ? value : value * inner; };
    if (args[1].is_number(0.0) || args[2].is_number(0.0))
      return partial.pool().call("if", {args[0], side(args[1]), side(args[2])});
  }
  return partial * inner;
}

// Adds up the parts of each symbol; the result is sorted by symbol and free of zeros.
std::vector<Part> collect(std::vector<Part>& parts, bool join_choices) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.symbol < b.symbol; });
  std::vector<Part> result;
  std::vector<Expr> terms;
  for (std::size_t i = 0; i < parts.size();) {
    const std::size_t symbol = parts[i].symbol;
    terms.clear();
    for (; i < parts.size() && parts[i].symbol == symbol; ++i) {
      Expr next = parts[i].value;
      auto same = [&](Expr e) { return is_choice(e) && e.args()[0] == next.args()[0]; };
      auto other =
          join_choices && is_choice(next) ? std::find_if(terms.begin(), terms.end(), same) : terms.end();
      if (other == terms.end()) {
        terms.push_back(next);
      } else {
        auto a = other->args(), b = next.args();
        *other = next.pool().call("if", {a[0], a[1] + b[1], a[2] + b[2]});
      }
    }
    Expr sum = terms.front().pool().add(terms);
    if (!sum.is_number(0.0)) result.push_back({symbol, sum});
  }
  return result;
}

// d e / d argument k, empty where it is zero.
Expr partial_derivative(Expr e, std::size_t k) {
  Pool& pool = e.pool();
  auto args = e.args();
  switch (e.op()) {
    case Op::add:
      return pool.number(1.0);
    case Op::multiply: {
      std::vector<Expr> others(args.begin(), args.end());
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
      return pool.multiply(others);
    }
    case Op::power:
      if (k == 0) return args[1] * pow(args[0], args[1] - 1.0);
      return e * pool.call("log", {args[0]});
    case Op::call:
      return e.function().derivative(e, static_cast<int>(k));
    case Op::lookup: {
      const auto order = next_order(*e.table(), e.order(), k);
      if (!order) return {};
      Expr slope = pool.lookup(e.table(), *order, args);
      return slope.is_number(0.0) ? Expr() : slope;
    }
    case Op::number:
    case Op::symbol:
      break;
  }
  return {};
}

}  // namespace

std::vector<Expr> gradient(Expr e, std::span<const Expr> symbols) {
  Pool& pool = e.pool();
  Walk walk(std::span(&e, 1));
  std::vector<std::vector<Part>> of_node(walk.size());
  for (std::size_t s = 0; s < symbols.size(); ++s)
    if (walk.contains(symbols[s])) of_node[walk[symbols[s]]].push_back({s, pool.number(1.0)});
  std::vector<Part> parts;
  for (std::size_t i = 0; i < walk.size(); ++i) {
    Expr node = walk.nodes()[i];
    if (!of_node[i].empty()) continue;  // one of the symbols
    parts.clear();
    for (std::size_t k = 0; k < node.args().size(); ++k) {
      const std::vector<Part>& inner = of_node[walk[node.args()[k]]];
      if (inner.empty()) continue;
      Expr partial = partial_derivative(node, k);
      if (!partial) continue;
      for (const Part& part : inner) parts.push_back({part.symbol, chain(partial, part.value)});
    }
    if (!parts.empty()) of_node[i] = collect(parts, node.op() == Op::call);
  }
  std::vector<Expr> result(symbols.size(), pool.number(0.0));
  for (const Part& part : of_node[walk[e]]) result[part.symbol] = part.value;
  return result;
}

Expr derivative(Expr e, Expr symbol) { return gradient(e, std::span(&symbol, 1)).front(); }

}  // namespace tellegen
