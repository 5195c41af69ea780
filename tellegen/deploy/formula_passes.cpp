#include "tellegen/deploy/formula_passes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <tuple>

namespace tellegen {
namespace {

constexpr double turn = 0.5 * std::numbers::inv_pi;  // scale of an angle: of one radian

// Factors that differ by rounding only are the same.
std::int64_t comparable(double value) {
  int exponent = 0;
  const double m = std::frexp(value, &exponent);
  return std::llround(std::ldexp(m, 40)) * 2048 + exponent;
}

}  // namespace

double mantissa(double value) {
  int exponent = 0;
  return 2.0 * std::frexp(std::abs(value), &exponent);
}

bool is_power_of_two(double value) {
  const double m = mantissa(value);
  return m - 1.0 < 1e-12 || 2.0 - m < 1e-12;
}

void share_pairs(StepFormulas& formulas) {
  auto& nodes = formulas.nodes;
  for (;;) {
    using Pair = std::tuple<int, int, std::int64_t>;
    std::map<Pair, std::vector<int>> sums;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      auto& terms = nodes[n].terms;
      std::sort(terms.begin(), terms.end(), [](const auto& x, const auto& y) { return x.node < y.node; });
      for (std::size_t i = 0; i < terms.size(); ++i)
        for (std::size_t j = i + 1; j < terms.size() && !nodes[terms[i].node].wraps; ++j)
          if (!nodes[terms[j].node].wraps)
            sums[{terms[i].node, terms[j].node, comparable(terms[j].factor / terms[i].factor)}].push_back(
                static_cast<int>(n));
    }
    const auto most = std::max_element(sums.begin(), sums.end(), [](const auto& x, const auto& y) {
      return x.second.size() < y.second.size();
    });
    if (most == sums.end() || most->second.size() < 2) return;
    const auto [first, second, ratio] = most->first;
    FormulaNode shared{.kind = NodeKind::sum};
    for (const FormulaTerm& t : nodes[most->second[0]].terms)
      if (t.node == first || t.node == second) shared.terms.push_back(t);
    shared.terms[1].factor /= shared.terms[0].factor;
    shared.terms[0].factor = 1.0;
    nodes.push_back(shared);
    for (const int n : most->second) {
      auto& terms = nodes[n].terms;
      double factor = 0.0;
      for (const FormulaTerm& t : terms)
        if (t.node == first) factor = t.factor;
      std::erase_if(terms, [&](const FormulaTerm& t) { return t.node == first || t.node == second; });
      terms.push_back({static_cast<int>(nodes.size()) - 1, factor});
    }
  }
}

void sort_formulas(StepFormulas& formulas) {
  std::vector<int> place(formulas.nodes.size(), -1);
  std::vector<FormulaNode> sorted;
  const auto visit = [&](int root, const auto& self) -> void {
    if (place[root] >= 0) return;
    FormulaNode node = formulas.nodes[root];
    for_each_node_operand(node, [&](int operand) { self(operand, self); });
    for (FormulaTerm& t : node.terms) t.node = place[t.node];
    for (int* operand : {&node.a, &node.b, &node.c})
      if (*operand >= 0) *operand = place[*operand];
    place[root] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(node));
  };
  for (std::size_t n = 0; n < formulas.nodes.size(); ++n)
    if (formulas.nodes[n].kind == NodeKind::state) visit(static_cast<int>(n), visit);
  for (auto* list : {&formulas.next, &formulas.outputs})
    for (int& n : *list) {
      visit(n, visit);
      n = place[n];
    }
  formulas.nodes = std::move(sorted);
}

void find_angles(StepFormulas& formulas) {
  auto& nodes = formulas.nodes;
  const auto whole = [](double factor) { return std::abs(factor - std::round(factor)) < 1e-9; };
  const auto movable = [&](int n) { return nodes[n].kind <= NodeKind::sum; };
  // Backwards from arguments: what enters them a whole number of times.
  std::set<int> angles;
  for (const FormulaNode& node : nodes)
    if (node.kind == NodeKind::sine || node.kind == NodeKind::cosine) angles.insert(node.a);
  for (std::size_t size = 0; size != angles.size();) {
    size = angles.size();
    for (const int n : std::vector<int>(angles.begin(), angles.end())) {
      for (const FormulaTerm& t : nodes[n].terms)
        if (whole(t.factor) && movable(t.node) &&
            (nodes[t.node].kind != NodeKind::sum || !nodes[t.node].fixed_scale))
          angles.insert(t.node);
      if (nodes[n].kind == NodeKind::state) angles.insert(formulas.next[nodes[n].leaf]);
    }
    // An output in which an angle is reads as an angle.
    for (const int n : formulas.outputs)
      if (nodes[n].kind == NodeKind::sum)
        for (const FormulaTerm& t : nodes[n].terms)
          if (angles.contains(t.node) && nodes[t.node].kind == NodeKind::state && whole(t.factor)) {
            angles.insert(n);
            for (const FormulaTerm& other : nodes[n].terms)
              if (whole(other.factor) && nodes[other.node].kind == NodeKind::given) angles.insert(other.node);
          }
  }
  for (const int n : angles) nodes[n].scale = turn, nodes[n].fixed_scale = true;
  // They wrap where nobody reads them otherwise; speeds that enter by chance a whole number of times do not.
  std::set<int> wrapping = angles;
  for (std::size_t size = wrapping.size() + 1; size != wrapping.size();) {
    size = wrapping.size();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const FormulaNode& node = nodes[n];
      const bool wraps = wrapping.contains(static_cast<int>(n));
      for (const FormulaTerm& t : node.terms)
        if (!wraps || !whole(t.factor)) wrapping.erase(t.node);
      if (node.kind != NodeKind::sine && node.kind != NodeKind::cosine)
        for (const int operand : {node.a, node.b, node.c}) wrapping.erase(operand);
    }
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (nodes[n].kind == NodeKind::state) {
        const int next = formulas.next[nodes[n].leaf];
        if (wrapping.contains(static_cast<int>(n)) != wrapping.contains(next))
          wrapping.erase(static_cast<int>(n)), wrapping.erase(next);
      }
  }
  for (const int n : wrapping) nodes[n].wraps = true;
}

}  // namespace tellegen
