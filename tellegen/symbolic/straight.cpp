#include "tellegen/symbolic/straight.h"

namespace tellegen {

std::vector<Expr> symbols_in_calls(Expr e) {
  std::vector<Expr> inside;
  for (Expr node : nodes_of(std::span(&e, 1))) {
    if (node.op() != Op::call && node.op() != Op::lookup) continue;
    const bool chooses = node.op() == Op::call && node.function().name == "if";
    const auto args = node.args().first(chooses ? 1 : node.args().size());
    inside.insert(inside.end(), args.begin(), args.end());
  }
  return symbols_of(inside);
}

}  // namespace tellegen
