// Scales of sums, states and given values: one after the other takes the one with which the fewest products
// with numbers are left, until none gets better.
#include <algorithm>
#include <cmath>
#include <set>

#include "tellegen/deploy/formula_passes.h"

namespace tellegen {
namespace {

bool has_free_scale(const FormulaNode& node) { return node.kind <= NodeKind::sum && !node.fixed_scale; }

// Those that follow from their operands'.
void follow_scales(std::vector<FormulaNode>& nodes, std::size_t from) {
  for (std::size_t n = from; n < nodes.size(); ++n) {
    FormulaNode& node = nodes[n];
    if (node.kind == NodeKind::product)
      node.scale = mantissa(nodes[node.a].scale * nodes[node.b].scale);
    else if (node.kind == NodeKind::quotient)
      node.scale = mantissa(nodes[node.a].scale / nodes[node.b].scale);
  }
}

// A state and its next value are one register.
void join_states(StepFormulas& formulas) {
  for (FormulaNode& node : formulas.nodes)
    if (node.kind == NodeKind::state) formulas.nodes[formulas.next[node.leaf]].scale = node.scale;
}

std::int64_t comparable_mantissa(double value) {
  const double m = mantissa(value);
  return 2.0 - m < 1e-11 ? 0 : std::llround((m - 1.0) * 1e11);
}

}  // namespace

int constant_products(const StepFormulas& formulas) {
  std::set<std::pair<int, std::int64_t>> products;
  for (const FormulaNode& node : formulas.nodes)
    for (const FormulaTerm& t : node.terms)
      if (const auto m = comparable_mantissa(t.factor * node.scale / formulas.nodes[t.node].scale); m != 0)
        products.insert({t.node, m});
  return static_cast<int>(products.size());
}

void choose_scales(StepFormulas& formulas) {
  auto& nodes = formulas.nodes;
  std::vector<char> is_next(nodes.size(), 0);
  for (const int n : formulas.next) is_next[n] = 1;
  std::vector<std::vector<int>> readers(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n)
    for (const FormulaTerm& t : nodes[n].terms) readers[t.node].push_back(static_cast<int>(n));
  join_states(formulas);
  follow_scales(nodes, 0);
  int best = constant_products(formulas);
  const int rounds = nodes.size() > 1500 ? 1 : 4;
  for (int round = 0; round < rounds; ++round) {
    const int before = best;
    for (std::size_t n = nodes.size(); n-- > 0;) {
      if (!has_free_scale(nodes[n]) || is_next[n]) continue;
      std::set<double> candidates{1.0};
      for (const FormulaTerm& t : nodes[n].terms) candidates.insert(mantissa(nodes[t.node].scale / t.factor));
      for (const int reader : readers[n])
        for (const FormulaTerm& t : nodes[reader].terms)
          if (t.node == static_cast<int>(n)) candidates.insert(mantissa(t.factor * nodes[reader].scale));
      double kept = nodes[n].scale;
      for (const double candidate : candidates) {
        nodes[n].scale = candidate;
        join_states(formulas);
        follow_scales(nodes, n);
        const int products = constant_products(formulas);
        if (products < best) best = products, kept = candidate;
      }
      nodes[n].scale = kept;
      join_states(formulas);
      follow_scales(nodes, n);
    }
    if (best == before) break;
  }
}

}  // namespace tellegen
