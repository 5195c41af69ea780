#include "tellegen/equations/exponentials.h"

#include <fmt/format.h>

#include <algorithm>

namespace tellegen {

std::vector<LimitedExponential> limit_exponentials(Pool& pool, std::vector<Expr>& equations,
                                                   const std::set<Expr>& variables) {
  std::vector<LimitedExponential> list;
  const auto varies = [&](Expr e) {
    const auto symbols = symbols_of(std::span(&e, 1));
    return std::any_of(symbols.begin(), symbols.end(), [&](Expr s) { return variables.contains(s); });
  };
  for (;;) {
    Expr found;
    for (Expr node : nodes_of(equations))  // children before parents
      if (node.op() == Op::call && node.function().name == "limexp" && varies(node)) {
        found = node;
        break;
      }
    if (!found) return list;
    const Expr u = found.args()[0], m = pool.symbol(fmt::format("~limited{}", list.size()));
    list.push_back({u, m});
    const ExprMap<Expr> replacement{{found, pool.call("exp", {m}) * (u - m + 1.0)}};
    for (Expr& e : equations) e = substitute(e, replacement);
  }
}

}  // namespace tellegen
