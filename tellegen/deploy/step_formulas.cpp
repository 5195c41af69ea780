#include "tellegen/deploy/step_formulas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>

#include "tellegen/deploy/formula_passes.h"

namespace tellegen {
namespace {

// A linear combination of nodes.
struct Combination {
  std::vector<FormulaTerm> terms;  // by node
  double constant = 0.0;
};

Combination combined(const Combination& x, double fx, const Combination& y, double fy) {
  Combination result{.terms = {}, .constant = fx * x.constant + fy * y.constant};
  std::map<int, std::pair<double, double>> sum;  // and its largest part, so that cancellation is seen
  const auto add = [&](const Combination& from, double by) {
    for (const FormulaTerm& t : from.terms) {
      auto& [value, largest] = sum[t.node];
      value += by * t.factor;
      largest = std::max(largest, std::abs(by * t.factor));
    }
  };
  add(x, fx);
  add(y, fy);
  for (const auto& [node, value] : sum)
    if (std::abs(value.first) > 1e-13 * value.second) result.terms.push_back({node, value.first});
  return result;
}

double rounded(double value) {  // for comparing factors that were computed in different orders
  if (value == 0.0) return 0.0;
  const double unit = std::exp2(std::floor(std::log2(std::abs(value))) - 40.0);
  return std::round(value / unit) * unit;
}

class Builder {
 public:
  explicit Builder(const StraightStep& step) : step_(step) {}

  StepFormulas build() {
    find_factors();
    values_.resize(static_cast<std::size_t>(step_.program.registers));
    for (const Instruction& i : step_.program.section(StraightStep::sources))
      if (i.code == Code::number) values_[i.target].constant = step_.program.numbers[i.extra];
    for (std::size_t k = 0; k < step_.states.size(); ++k)
      values_[step_.states[k].reg] = leaf(NodeKind::state, static_cast<int>(k));
    for (std::size_t k = 0; k < step_.given.size(); ++k)
      values_[step_.given[k]] = leaf(NodeKind::given, static_cast<int>(k));
    for (const Instruction& i : step_.program.section(StraightStep::step)) {
      Combination value = value_of(i);
      if (factor_[i.target] && value.terms.size() + (value.constant != 0.0) > 1) {
        const FormulaTerm term = angle_[i.target] ? FormulaTerm{sum_node(value), 1.0} : as_term(value);
        value = {.terms = {term}, .constant = 0.0};
      }
      values_[i.target] = std::move(value);
    }
    // A state plus its change: the change is small, and so has places behind those of the state.
    for (const StraightStep::State& s : step_.states) {
      const Combination& before = values_[s.reg];
      const Combination change = combined(values_[s.next], 1.0, before, -1.0);
      Combination next = before;
      if (change.terms.size() == 1 && change.constant == 0.0)
        next = combined(next, 1.0, change, 1.0);
      else if (!change.terms.empty() || change.constant != 0.0)
        next.terms.push_back({whole(change), 1.0});
      result_.next.push_back(whole(next));
    }
    for (const std::int32_t r : step_.outputs) result_.outputs.push_back(whole(values_[r]));
    return std::move(result_);
  }

 private:
  bool is_number(std::int32_t r) const { return values_[r].terms.empty(); }

  // Registers whose values are factors or arguments; those of sine and cosine count in turns, not in units
  // of their first term.
  void find_factors() {
    std::vector<char> number(static_cast<std::size_t>(step_.program.registers), 0);
    factor_ = angle_ = number;
    for (const Instruction& i : step_.program.code) {
      if (i.code == Code::number) number[i.target] = 1;
      const bool linear = i.code == Code::add || i.code == Code::subtract || i.code == Code::negate ||
                          (i.code == Code::multiply && (number[i.a] || number[i.b])) ||
                          (i.code == Code::divide && number[i.b]);
      if (!linear) for_each_operand(step_.program, i, [&](std::int32_t r) { factor_[r] = 1; });
      if (i.code == Code::call)
        if (const auto name = step_.program.functions[i.extra]->name; name == "sin" || name == "cos")
          angle_[i.a] = 1;
    }
  }

  Combination leaf(NodeKind kind, int index) {
    FormulaNode node{.kind = kind};
    node.leaf = index;
    return {.terms = {{add_node(std::move(node)), 1.0}}, .constant = 0.0};
  }

  int add_node(FormulaNode node) {
    result_.nodes.push_back(std::move(node));
    return static_cast<int>(result_.nodes.size()) - 1;
  }

  int intern(FormulaNode node) {
    Key key{static_cast<double>(node.kind), static_cast<double>(node.a), static_cast<double>(node.b),
            static_cast<double>(node.c),    rounded(node.constant),      static_cast<double>(node.order),
            node.fixed_scale ? 1.0 : 0.0};
    for (const FormulaTerm& t : node.terms)
      key.insert(key.end(), {static_cast<double>(t.node), rounded(t.factor)});
    const auto [found, added] = known_.try_emplace({key, {node.call, node.table}}, 0);
    if (added) found->second = add_node(std::move(node));
    return found->second;
  }

  int sum_node(const Combination& value, bool fixed_scale = false) {
    FormulaNode node{.kind = NodeKind::sum, .terms = value.terms, .constant = value.constant};
    node.fixed_scale = fixed_scale;
    return intern(std::move(node));
  }

  // A combination as a number times one node.
  FormulaTerm as_term(const Combination& value) {
    if (value.terms.size() == 1 && value.constant == 0.0) return value.terms[0];
    const double first = value.terms.empty() ? value.constant : value.terms[0].factor;
    return {sum_node(combined(value, 1.0 / first, {}, 0.0)), first};
  }

  // A node that has just this value, at a scale of its own.
  int whole(const Combination& value) {
    return add_node({.kind = NodeKind::sum, .terms = value.terms, .constant = value.constant});
  }

  // Likewise, at scale 1: an operand that is compared with others, or looked up.
  int plain(std::int32_t r) { return sum_node(values_[r], true); }

  Combination of_node(FormulaNode node, double factor = 1.0) {
    return {.terms = {{intern(std::move(node)), factor}}, .constant = 0.0};
  }

  Combination product(const Combination& x, const Combination& y) {
    if (x.terms.empty()) return combined(y, x.constant, {}, 0.0);
    if (y.terms.empty()) return combined(x, y.constant, {}, 0.0);
    const FormulaTerm a = as_term(x), b = as_term(y);
    if (step_.switches)
      for (const auto& [inverse, other] : {std::pair{a, b}, {b, a}})
        if (const auto direct = over_denominator(inverse, other)) return *direct;
    FormulaNode node{.kind = NodeKind::product};
    node.a = std::min(a.node, b.node), node.b = std::max(a.node, b.node);
    return of_node(std::move(node), a.factor * b.factor);
  }

  std::optional<double> constant_of(int n) const {
    const FormulaNode& node = result_.nodes[n];
    if (node.kind != NodeKind::sum || !node.terms.empty() || node.constant == 0.0) return {};
    return node.constant;
  }

  // What switches makes pivots small and large, and a reciprocal in one word would have digits for the
  // largest only: the quotient is taken in the end.
  std::optional<Combination> over_denominator(const FormulaTerm& inverse, const FormulaTerm& other) {
    const FormulaNode& node = result_.nodes[inverse.node];
    if (node.kind != NodeKind::quotient) return {};
    const auto numerator = constant_of(node.a);
    if (!numerator) return {};
    FormulaNode direct{.kind = NodeKind::quotient};
    direct.a = other.node, direct.b = node.b;
    return of_node(std::move(direct), other.factor * inverse.factor * *numerator);
  }

  // 1/x of one of two numbers, a resistance that switches: one of their reciprocals.
  std::optional<FormulaTerm> reciprocal_choice(const FormulaTerm& x) {
    const FormulaNode& node = result_.nodes[x.node];
    if (node.kind != NodeKind::choice) return {};
    const auto a = constant_of(node.a), b = constant_of(node.b);
    if (!a || !b) return {};
    FormulaNode inverse{.kind = NodeKind::choice};
    inverse.c = node.c;
    inverse.a = sum_node({.terms = {}, .constant = 1.0 / (x.factor * *a)}, true);
    inverse.b = sum_node({.terms = {}, .constant = 1.0 / (x.factor * *b)}, true);
    return FormulaTerm{intern(std::move(inverse)), 1.0};
  }

  Combination quotient(const Combination& x, const Combination& y) {
    if (y.terms.empty()) return combined(x, 1.0 / y.constant, {}, 0.0);
    if (y.terms.size() == 1 && y.constant == 0.0)
      if (const auto inverse = reciprocal_choice(y.terms[0]))
        return product(x, {.terms = {*inverse}, .constant = 0.0});
    const FormulaTerm a = as_term(x), b = as_term(y);
    FormulaNode node{.kind = NodeKind::quotient};
    node.a = a.node, node.b = b.node;
    return of_node(std::move(node), a.factor / b.factor);
  }

  // Of two operands at scale 1.
  Combination of_two(NodeKind kind, const Combination& a, const Combination& b) {
    FormulaNode node{.kind = kind};
    node.a = sum_node(a, true), node.b = sum_node(b, true);
    return of_node(std::move(node));
  }
  Combination chosen(const Combination& condition, const Combination& a, const Combination& b) {
    FormulaNode node{.kind = NodeKind::choice};
    node.c = sum_node(condition, true), node.a = sum_node(a, true), node.b = sum_node(b, true);
    return of_node(std::move(node));
  }
  static Combination difference(double from, const Combination& x) {
    return combined({.terms = {}, .constant = from}, 1.0, x, -1.0);
  }
  Combination magnitude(const Combination& x) { return of_two(NodeKind::larger, x, difference(0.0, x)); }

  // atan2(y, x) from the eighth of a turn beside an axis, where the quotient is at most 1.
  Combination arc(const Combination& y, const Combination& x) {
    const Combination across = magnitude(x), up = magnitude(y), zero;
    FormulaNode node{.kind = NodeKind::function};
    node.a =
        sum_node(quotient(of_two(NodeKind::smaller, across, up), of_two(NodeKind::larger, across, up)), true);
    node.call = find_function("atan");
    Combination angle = of_node(std::move(node));
    angle = chosen(of_two(NodeKind::below, across, up), difference(0.5 * std::numbers::pi, angle), angle);
    angle = chosen(of_two(NodeKind::below, x, zero), difference(std::numbers::pi, angle), angle);
    return chosen(of_two(NodeKind::below, y, zero), difference(0.0, angle), angle);
  }

  Combination with_operands(NodeKind kind, const Instruction& i, int count) {
    FormulaNode node{.kind = kind};
    node.a = plain(i.a);
    if (count > 1) node.b = plain(i.b);
    if (count > 2) node.c = plain(i.c);
    return of_node(std::move(node));
  }

  Combination power(const Instruction& i) {
    const Combination& x = values_[i.a];
    if (!is_number(i.b)) return refuse("a power with an exponent that is no number");
    const double e = values_[i.b].constant, size = std::abs(e);
    Combination result;
    if (size == 0.5)
      result = with_operands(NodeKind::root, i, 1);
    else if (size == 1.0)
      result = x;
    else if (size == 2.0)
      result = product(x, x);
    else if (size == 3.0)
      result = product(product(x, x), x);
    else
      return refuse(fmt::format("the power {:g}", e));
    return e < 0.0 ? quotient({.terms = {}, .constant = 1.0}, result) : result;
  }

  Combination refuse(const std::string& what) {
    if (result_.refused.empty()) result_.refused = what;
    return {};
  }

  Combination negated(const Combination& truth) {  // of 0 or 1
    return difference(1.0, truth);
  }

  Combination call(const Instruction& i) {
    const Function& f = *step_.program.functions[i.extra];
    const std::string_view name = f.name;
    if (name == "sin" || name == "cos") {
      FormulaNode node{.kind = name == "sin" ? NodeKind::sine : NodeKind::cosine};
      const Combination& angle = values_[i.a];
      const bool alone = angle.terms.size() == 1 && angle.constant == 0.0 && angle.terms[0].factor == 1.0 &&
                         result_.nodes[angle.terms[0].node].kind <= NodeKind::sum;
      node.a = alone ? angle.terms[0].node : sum_node(angle, true);
      return of_node(std::move(node));
    }
    if (name == "abs") return magnitude(values_[i.a]);
    if (name == "atan2") return arc(values_[i.a], values_[i.b]);
    if (name == "if") {
      FormulaNode node{.kind = NodeKind::choice};
      node.a = plain(i.b), node.b = plain(i.c), node.c = plain(i.a);
      return of_node(std::move(node));
    }
    if (name == "not") return negated(values_[i.a]);
    if (name == "sqrt") return with_operands(NodeKind::root, i, 1);
    if (name == "hypot") {
      const Combination& x = values_[i.a];
      const Combination& y = values_[i.b];
      FormulaNode node{.kind = NodeKind::root};
      node.a = sum_node(combined(product(x, x), 1.0, product(y, y), 1.0), true);
      return of_node(std::move(node));
    }
    if (name == "gt" || name == "ge") {
      Instruction swapped = i;
      std::swap(swapped.a, swapped.b);
      return with_operands(name == "gt" ? NodeKind::below : NodeKind::at_most, swapped, 2);
    }
    static const std::map<std::string_view, NodeKind> binary = {
        {"max", NodeKind::larger}, {"min", NodeKind::smaller}, {"lt", NodeKind::below},
        {"le", NodeKind::at_most}, {"and", NodeKind::both},    {"or", NodeKind::either}};
    if (const auto found = binary.find(name); found != binary.end())
      return with_operands(found->second, i, 2);
    static const char* smooth[] = {"atan", "log", "exp", "tanh", "sinh", "cosh", "asinh", "log10", "limexp"};
    if (std::find(std::begin(smooth), std::end(smooth), name) != std::end(smooth)) {
      FormulaNode node{.kind = NodeKind::function};
      node.a = plain(i.a);
      node.call = &f;
      return of_node(std::move(node));
    }
    return refuse(fmt::format("the function '{}'", name));
  }

  Combination value_of(const Instruction& i) {
    const Program& program = step_.program;
    switch (i.code) {
      case Code::number:
        return {.terms = {}, .constant = program.numbers[i.extra]};
      case Code::copy:
        return values_[i.a];
      case Code::add:
        return combined(values_[i.a], 1.0, values_[i.b], 1.0);
      case Code::subtract:
        return combined(values_[i.a], 1.0, values_[i.b], -1.0);
      case Code::negate:
        return combined(values_[i.a], -1.0, {}, 0.0);
      case Code::multiply:
        return product(values_[i.a], values_[i.b]);
      case Code::divide:
        return quotient(values_[i.a], values_[i.b]);
      case Code::square_root:
        return with_operands(NodeKind::root, i, 1);
      case Code::power:
        return power(i);
      case Code::call:
        return call(i);
      case Code::lookup: {
        if (program.tables[i.extra]->dimensions != 1) return refuse("a table of several arguments");
        FormulaNode node{.kind = NodeKind::function};
        node.a = plain(i.a);
        node.table = program.tables[i.extra].get();
        node.order = i.order;
        return of_node(std::move(node));
      }
    }
    return {};
  }

  using Key = std::vector<double>;
  const StraightStep& step_;
  StepFormulas result_;
  std::vector<Combination> values_;  // per register
  std::vector<char> factor_, angle_;
  std::map<std::pair<Key, std::pair<const void*, const void*>>, int> known_;
};

}  // namespace

StepFormulas make_formulas(const StraightStep& step) {
  StepFormulas formulas = Builder(step).build();
  if (!formulas.refused.empty()) return formulas;
  sort_formulas(formulas);
  find_angles(formulas);
  share_pairs(formulas);
  sort_formulas(formulas);
  choose_scales(formulas);
  return formulas;
}

}  // namespace tellegen
