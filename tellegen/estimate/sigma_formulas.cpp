// Sigma points in formulas, as unscented.cpp takes them: 2n + 1 points with the belief's mean and covariance,
// each led over the step by the flow from where it is.
#include <algorithm>
#include <cmath>

#include "tellegen/estimate/filter_formulas.h"

namespace tellegen {

bool FilterFormulas::points_matter(TwinModel& model) { return !model.constant_slopes() || model.bounded(); }

bool FilterFormulas::needs_points(TwinModel& model, std::size_t reading) {
  const std::vector<Expr>& states = model.form().states;
  const auto is_state = [&](Expr s) { return std::find(states.begin(), states.end(), s) != states.end(); };
  const Expr formula = model.formulas()->readings[reading];
  for (std::size_t k = 0; k < states.size(); ++k) {
    const Expr slope = derivative(formula, states[k]);
    const auto [low, high] = model.bounds(k);
    if (!slope.is_number(0) && (std::isfinite(low) || std::isfinite(high))) return true;
    const auto symbols = symbols_of(std::span(&slope, 1));
    if (std::any_of(symbols.begin(), symbols.end(), is_state)) return true;
  }
  return false;
}

std::size_t FilterFormulas::readings_by_points(TwinModel& model) {
  std::size_t count = 0;
  for (std::size_t r = 0; r < model.sensors(); ++r) count += needs_points(model, r);
  return count;
}

// Columns c with c c' + ... = (n + kappa) P, by Cholesky; the states in the order of their variances, the
// largest first, which only the numbers tell: each column is selected.
std::vector<FilterFormulas::Exprs> FilterFormulas::factor(Assignments& list) {
  const Expr zero = pool_.number(0), one = pool_.number(1);
  Exprs rest = p_, key(n_);  // what columns have left of P; variances, -1 where a state had its column
  const auto left = [&](std::size_t i, std::size_t j) -> Expr& {
    return i <= j ? rest[i * n_ - i * (i + 1) / 2 + j] : rest[j * n_ - j * (j + 1) / 2 + i];
  };
  for (std::size_t i = 0; i < n_; ++i) key[i] = list.define(pool_.call("max", {left(i, i), zero}));
  std::vector<Exprs> columns;
  for (std::size_t k = 0; k < n_; ++k) {
    Expr largest = key[0], found = zero;
    for (std::size_t i = 1; i < n_; ++i) largest = pool_.call("max", {largest, key[i]});
    largest = list.define(largest);
    Exprs is(n_), column(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      is[i] = list.define(pool_.call("ge", {key[i], largest}) * (one - found));
      found = list.define(found + is[i]);
    }
    const auto selected = [&](const auto& value) {
      Expr result = value(n_ - 1);
      for (std::size_t j = n_ - 1; j-- > 0;) result = pool_.call("if", {is[j], value(j), result});
      return list.define(result);
    };
    const Expr pivot = selected([&](std::size_t j) { return left(j, j); });
    // What rounding leaves of a state that is known exactly is no spread.
    const Expr inverse = list.define(pool_.call(
        "if", {pool_.call("gt", {pivot, least_pivot * largest}), one / pool_.call("sqrt", {pivot}), zero}));
    for (std::size_t i = 0; i < n_; ++i) {
      const Expr value = selected([&](std::size_t j) { return left(i, j); });
      column[i] = list.define(pool_.call("if", {pool_.call("lt", {key[i], zero}), zero, value * inverse}));
    }
    for (std::size_t i = 0; i < n_; ++i) key[i] = list.define(pool_.call("if", {is[i], -one, key[i]}));
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = i; j < n_; ++j) left(i, j) = list.define(left(i, j) - column[i] * column[j]);
    columns.push_back(column);
  }
  return columns;
}

double FilterFormulas::kappa() const { return std::max(0.0, 3.0 - static_cast<double>(n_)); }

// The middle, where it has a weight, then one beside the other of each column.
std::vector<FilterFormulas::Exprs> FilterFormulas::points_of(Assignments& list,
                                                             const std::vector<Exprs>& columns) {
  const Expr reach = number(std::sqrt(static_cast<double>(n_) + kappa()));
  std::vector<Exprs> all;
  if (kappa() > 0.0) all.push_back(x_);
  for (const double sign : {1.0, -1.0})
    for (const Exprs& column : columns) {
      all.emplace_back();
      for (std::size_t i = 0; i < n_; ++i)
        all.back().push_back(list.define(x_[i] + sign * (reach * column[i])));
    }
  return all;
}

double FilterFormulas::weight(std::size_t point) const {
  const double all = static_cast<double>(n_) + kappa();
  return kappa() > 0.0 && point == 0 ? kappa() / all : 0.5 / all;
}

void FilterFormulas::spread_points() {
  for (const Exprs& point : points_of(spread, factor(spread)))
    points.insert(points.end(), point.begin(), point.end());
  at.point = static_cast<std::int32_t>(registers.size());
  for (std::size_t i = 0; i < n_; ++i) point_.push_back(input("z", i));
  at.points = static_cast<std::int32_t>(registers.size());
  for (std::size_t k = 0; k < points.size(); ++k) input("point", k);
  for (std::size_t i = 0; i < n_; ++i) {
    x_[i] = within_bounds(predict, i, point_[i]);
    names_[model_.form().states[i]] = x_[i];
  }
}

void FilterFormulas::gather_points() {
  const std::size_t count = points.size() / n_;
  const auto at_point = [&](std::size_t k, std::size_t i) {
    return registers[static_cast<std::size_t>(at.points) + k * n_ + i].symbol;
  };
  std::vector<Exprs> beside(count);
  for (std::size_t i = 0; i < n_; ++i) {
    std::vector<Expr> terms;
    for (std::size_t k = 0; k < count; ++k) terms.push_back(number(weight(k)) * at_point(k, i));
    const Expr mean = gather.define(pool_.add(terms));
    for (std::size_t k = 0; k < count; ++k) beside[k].push_back(gather.define(at_point(k, i) - mean));
    gathered.push_back(within_bounds(gather, i, mean));
  }
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = i; j < n_; ++j) {
      std::vector<Expr> terms;
      for (std::size_t k = 0; k < count; ++k)
        terms.push_back(number(weight(k)) * (beside[k][i] * beside[k][j]));
      if (i == j) terms.push_back(noise_[i]);
      gathered.push_back(pool_.add(terms));
    }
}

Expr FilterFormulas::reading_at(std::size_t reading, const Exprs& point) {
  ExprMap<Expr> names = names_;
  for (std::size_t i = 0; i < n_; ++i) names[model_.form().states[i]] = within_bounds(correct, i, point[i]);
  return correct.define(substitute(model_.formulas()->readings[reading], names));
}

//   where it reads:  y- = sum of w y_k,  S = sum of w (y_k - y-)^2 + r,  c = sum of w (y_k - y-)(x_k - x)
//                    x += c (y - y-)/S,  P -= c c'/S
void FilterFormulas::correct_by_points(std::size_t reading, double gate) {
  const std::vector<Exprs> columns = factor(correct), around = points_of(correct, columns);
  Exprs values;
  std::vector<Expr> terms;
  for (std::size_t k = 0; k < around.size(); ++k) {
    values.push_back(reading_at(reading, around[k]));
    terms.push_back(number(weight(k)) * values[k]);
  }
  const Expr mean = correct.define(pool_.add(terms));
  terms.assign(1, number(model_.noise()[reading] * model_.noise()[reading]));
  for (std::size_t k = 0; k < around.size(); ++k) {
    const Expr off = correct.define(values[k] - mean);
    terms.push_back(number(weight(k)) * (off * off));
  }
  const Expr variance = correct.define(pool_.add(terms));
  const Expr innovation = correct.define(readings_[reading] - mean);
  innovations.push_back(innovation);
  variances.push_back(variance);
  const Expr scale = correct.define(taken(reading, innovation, variance, gate) / variance);
  Exprs apart, cross;  // values beside one another; c
  const std::size_t first = around.size() - 2 * n_;
  const Expr reach = number(weight(first) * std::sqrt(static_cast<double>(n_) + kappa()));
  for (std::size_t k = 0; k < n_; ++k)
    apart.push_back(correct.define(reach * (values[first + k] - values[first + n_ + k])));
  for (std::size_t i = 0; i < n_; ++i) {
    terms.clear();
    for (std::size_t k = 0; k < n_; ++k) terms.push_back(apart[k] * columns[k][i]);
    cross.push_back(correct.define(pool_.add(terms)));
  }
  const Expr move = correct.define(scale * innovation);
  for (std::size_t i = 0; i < n_; ++i) x_[i] = correct.define(x_[i] + cross[i] * move);
  for (std::size_t i = 0; i < n_; ++i) {
    const Expr part = correct.define(scale * cross[i]);
    for (std::size_t j = i; j < n_; ++j) p(i, j) = correct.define(p(i, j) - part * cross[j]);
  }
}

}  // namespace tellegen
