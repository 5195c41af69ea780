#include "tellegen/deploy/exchange_slopes.h"

#include <algorithm>

#include "tellegen/equations/explicit_form.h"

namespace tellegen {

using Dependence = ExchangeModel::Dependence;

void ExchangeSlopes::add_known(Expr symbol) {
  slopes_[symbol][knowns_++] = pool_.number(1);
  kinds_[symbol] = Dependence::dependent;
}

void ExchangeSlopes::set_kind(Expr symbol, Dependence kind) { kinds_[symbol] = kind; }

Dependence ExchangeSlopes::kind_of(Expr value) const {
  Dependence kind = Dependence::constant;
  for (Expr s : symbols_of(std::span(&value, 1)))
    if (const auto found = kinds_.find(s); found != kinds_.end()) kind = std::max(kind, found->second);
  return kind;
}

bool ExchangeSlopes::of_time(Expr value) const {
  const Expr t = pool_.symbol("t");
  const auto symbols = symbols_of(std::span(&value, 1));
  return std::any_of(symbols.begin(), symbols.end(), [&](Expr s) { return s == t || timed_.contains(s); });
}

void ExchangeSlopes::note(Expr symbol, Expr value) {
  kinds_[symbol] = kind_of(value);
  if (of_time(value)) timed_[symbol] = 1;
}

Expr ExchangeSlopes::define(Expr value) {
  const Expr name = list_.define(value);
  if (name != value) note(name, value);
  return name;
}

ExchangeSlopes::Row ExchangeSlopes::slopes_of(Expr value) {
  std::vector<Expr> inner;
  for (Expr s : symbols_of(std::span(&value, 1)))
    if (const auto found = slopes_.find(s); found != slopes_.end() && !found->second.empty())
      inner.push_back(s);
  const std::vector<Expr> by = gradient(value, inner);
  std::map<std::size_t, std::vector<Expr>> terms;
  for (std::size_t k = 0; k < inner.size(); ++k) {
    if (by[k].is_number(0)) continue;
    const Row& row = slopes_.at(inner[k]);
    const Expr factor = row.size() > 1 ? define(by[k]) : by[k];
    for (const auto& [known, slope] : row) terms[known].push_back(factor * slope);
  }
  Row result;
  for (const auto& [known, sum] : terms)
    if (const Expr slope = pool_.add(sum); !slope.is_number(0)) result[known] = define(slope);
  return result;
}

void ExchangeSlopes::add_assigned(Expr symbol, Expr value) {
  slopes_[symbol] = slopes_of(value);
  note(symbol, value);
}

bool ExchangeSlopes::add_implicit(const std::vector<Expr>& residuals, const std::vector<Expr>& symbols,
                                  std::size_t named, std::vector<ExprMap<double>> points) {
  std::vector<std::vector<Expr>> tangent;
  std::vector<Row> by_known;
  for (Expr r : residuals) {
    tangent.push_back(gradient(r, symbols));
    by_known.push_back(slopes_of(r));  // the symbols themselves have no slopes yet
  }
  for (Expr s : symbols) kinds_[s] = Dependence::dependent;
  // Names of explicit_form go on from those that are taken.
  std::vector<std::pair<Expr, Expr>> steps(named);
  std::vector<Row> found(symbols.size());
  for (std::size_t known = 0; known < knowns_; ++known) {
    std::vector<Expr> right;
    bool any = false;
    for (const Row& row : by_known) {
      const auto at = row.find(known);
      right.push_back(at == row.end() ? pool_.number(0) : -at->second);
      any = any || at != row.end();
    }
    if (!any) continue;
    // Defined names in `right` are worth nothing at the points; only pivots are judged there.
    for (Expr r : right)
      for (Expr s : symbols_of(std::span(&r, 1)))
        for (auto& point : points) point.try_emplace(s, 1.0);
    const std::size_t before = steps.size();
    std::vector<Pivot> pivots;
    const std::vector<Expr> solution = solve_in_formulas(pool_, tangent, right, steps, points, pivots);
    if (solution.empty()) return false;
    for (std::size_t k = before; k < steps.size(); ++k) {
      list_.assign(steps[k].first, steps[k].second);
      kinds_[steps[k].first] = Dependence::dependent;
    }
    for (std::size_t k = 0; k < symbols.size(); ++k)
      if (!solution[k].is_number(0)) found[k][known] = solution[k];
  }
  const bool timed = std::any_of(residuals.begin(), residuals.end(), [&](Expr r) { return of_time(r); });
  for (std::size_t k = 0; k < symbols.size(); ++k) {
    slopes_[symbols[k]] = std::move(found[k]);
    if (timed) timed_[symbols[k]] = 1;
  }
  return true;
}

}  // namespace tellegen
