#include "tellegen/symbolic/common.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "runtime/tellegen_math.h"
#include "tellegen/symbolic/walk.h"

namespace tellegen {
namespace {

bool worth_a_name(Expr e) {
  switch (e.op()) {
    case Op::number:
    case Op::symbol:
      return false;
    case Op::multiply:
      return !(e.args().size() == 2 && e.args()[0].is_number(-1.0));
    case Op::power:
      return !(e.args()[1].is_number(-1.0) && e.args()[0].is_symbol());
    default:
      return true;
  }
}

}  // namespace

NamedExpressions name_common(std::span<const Expr> roots) {
  NamedExpressions result;
  if (roots.empty()) return result;
  Pool& pool = roots.front().pool();
  // Symbols are made on the way, and making one ends a walk: positions are kept here.
  const Walk walk(roots);
  const std::vector<Expr> nodes = walk.nodes();
  std::vector<int> uses(nodes.size(), 0);
  std::set<std::string> taken;
  for (Expr root : roots) ++uses[walk[root]];
  for (Expr node : nodes) {
    if (node.is_symbol()) taken.insert(node.name());
    for (Expr arg : node.args()) ++uses[walk[arg]];
  }
  ExprMap<Expr> written;  // every node in the names so far
  int next = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Expr node = nodes[i];
    ExprMap<Expr> args;
    for (Expr arg : node.args()) args[arg] = written.at(arg);
    Expr value = node.args().empty() ? node : substitute(node, args);
    if (uses[i] > 1 && worth_a_name(node)) {
      std::string name;
      do name = "t" + std::to_string(++next);
      while (taken.contains(name));
      const Expr symbol = pool.symbol(name);
      result.named.emplace_back(symbol, value);
      value = symbol;
    }
    written[node] = value;
  }
  for (Expr root : roots) result.roots.push_back(written.at(root));
  return result;
}

Cost cost_of(std::span<const Expr> roots) {
  const OperationCount count = count_operations(roots, false);
  return {count.functions, count.additions, count.multiplications + count.divisions, 0};
}

Cost cost_of(const NamedExpressions& expressions) {
  std::vector<Expr> all = expressions.roots;
  for (const auto& [symbol, value] : expressions.named) all.push_back(value);
  Cost cost = cost_of(all);
  cost.assignments = static_cast<std::int64_t>(expressions.named.size());
  return cost;
}

ExprMap<Expr> shared_sines(Pool& pool, std::span<const Expr> roots) {
  struct Sine {
    Expr call, base;
    double shift;
  };
  std::vector<Sine> sines;
  ExprMap<std::vector<Expr>> arguments;  // different ones of each base
  for (Expr node : nodes_of(roots)) {
    if (node.op() != Op::call || (node.function().name != "sin" && node.function().name != "cos")) continue;
    Sine sine{node, node.args()[0], 0.0};
    if (sine.base.op() == Op::add)
      for (Expr term : node.args()[0].args())
        if (term.is_number()) sine.shift = term.number();
    sine.base = sine.base - sine.shift;
    auto& known = arguments[sine.base];
    if (std::find(known.begin(), known.end(), node.args()[0]) == known.end()) known.push_back(node.args()[0]);
    sines.push_back(sine);
  }
  ExprMap<Expr> written;
  for (const Sine& s : sines) {
    if (s.shift == 0.0 || arguments[s.base].size() < 2) continue;
    const Expr sine = pool.call("sin", {s.base}), cosine = pool.call("cos", {s.base});
    const double sn = tellegen_sin(s.shift), cs = tellegen_cos(s.shift);
    written[s.call] = s.call.function().name == "sin" ? cs * sine + sn * cosine : cs * cosine - sn * sine;
  }
  return written;
}

}  // namespace tellegen
