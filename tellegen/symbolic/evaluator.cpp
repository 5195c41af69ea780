#include "tellegen/symbolic/evaluator.h"

#include <limits>

namespace tellegen {

Evaluator::Evaluator(std::span<const Expr> roots, std::span<const Expr> symbols) : nodes_(nodes_of(roots)) {
  ExprMap<int> place;
  values_.assign(nodes_.size(), std::numeric_limits<double>::quiet_NaN());
  std::size_t most = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const Expr node = nodes_[k];
    place[node] = static_cast<int>(k);
    std::vector<int> args;
    if (node.is_number())
      values_[k] = node.number();
    else if (!node.is_symbol())
      for (Expr a : node.args()) args.push_back(place.at(a));
    most = std::max(most, args.size());
    inverse_.emplace_back();
    if (node.op() == Op::multiply)
      for (std::size_t a = 0; a < args.size(); ++a) {
        const Expr factor = node.args()[a];
        const bool divides =
            factor.op() == Op::power && factor.args()[1].is_number() && factor.args()[1].number() < 0.0;
        inverse_.back().push_back(divides ? -factor.args()[1].number() : 0.0);
        if (divides) args[a] = place.at(factor.args()[0]);
      }
    args_.push_back(std::move(args));
  }
  at_.resize(most);
  std::vector<char> read(nodes_.size(), 0);
  for (Expr r : roots) {
    roots_.push_back(place.at(r));
    read[place.at(r)] = 1;
  }
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    if (!read[k]) args_[k].clear();  // a power that only divides
    for (const int a : args_[k]) read[a] = 1;
  }
  for (Expr s : symbols) {
    const auto found = place.find(s);
    symbols_.push_back(found == place.end() ? -1 : found->second);
  }
}

void Evaluator::run(std::span<const double> symbols, std::span<double> roots) {
  for (std::size_t k = 0; k < symbols.size(); ++k)
    if (symbols_[k] >= 0) values_[symbols_[k]] = symbols[k];
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const std::vector<int>& args = args_[k];
    if (args.empty()) continue;
    const Op op = nodes_[k].op();
    if (op == Op::add) {
      double value = values_[args[0]];
      for (std::size_t a = 1; a < args.size(); ++a) value += values_[args[a]];
      values_[k] = value;
      continue;
    }
    if (op == Op::multiply) {
      double numerator = 1.0, denominator = 1.0;
      for (std::size_t a = 0; a < args.size(); ++a) {
        const double value = values_[args[a]], exponent = inverse_[k][a];
        if (exponent == 0.0)
          numerator *= value;
        else
          denominator *= power_value(value, exponent);
      }
      values_[k] = numerator / denominator;
      continue;
    }
    for (std::size_t a = 0; a < args.size(); ++a) at_[a] = values_[args[a]];
    values_[k] = op == Op::power    ? power_value(at_[0], at_[1])
                 : op == Op::lookup ? nodes_[k].table()->value_at(at_.data(), nodes_[k].order())
                                    : nodes_[k].function().value(at_.data(), static_cast<int>(args.size()));
  }
  for (std::size_t r = 0; r < roots.size(); ++r) roots[r] = values_[roots_[r]];
}

}  // namespace tellegen
