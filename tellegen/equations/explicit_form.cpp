#include "tellegen/equations/explicit_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tellegen/symbolic/straight.h"

namespace tellegen {
namespace {

constexpr std::size_t largest_block = 64, most_iterated = 24;

using List = std::vector<std::pair<Expr, Expr>>;
using Points = std::vector<ExprMap<double>>;

// A name for a value, evaluated at every point.
Expr define(Pool& pool, List& list, Points& points, Expr value) {
  if (value.is_number() || value.is_symbol()) return value;
  const Expr symbol = pool.symbol(fmt::format("~solved{}", list.size()));
  list.push_back({symbol, value});
  for (auto& at : points) at[symbol] = evaluate(value, at);
  return symbol;
}

// -e, written so that no sum has a sign in front of it: the opposite of each term is as short as the term.
Expr opposite(Pool& pool, Expr e) {
  if (e.op() != Op::add) return -e;
  std::vector<Expr> terms;
  for (Expr term : e.args()) terms.push_back(-term);
  return pool.add(terms);
}

struct Elimination {
  std::vector<std::vector<Expr>> matrix;  // rows: equations, columns: unknowns
  std::vector<Expr> right;                // matrix * x = right
  std::vector<int> row_of, column_order;  // per column its pivot row, -1: none
};

// Gaussian elimination in formulas. Columns without an acceptable pivot are left; false where `all` was asked
// for.
bool eliminate(Pool& pool, Elimination& e, List& list, Points& points, std::vector<Pivot>& pivots) {
  const std::size_t rows = e.matrix.size(), columns = rows == 0 ? 0 : e.matrix[0].size();
  e.row_of.assign(columns, -1);
  std::vector<char> used(rows, 0);
  const auto size_at = [&](Expr v, const ExprMap<double>& at) {
    const double value = std::abs(evaluate(v, at));
    return std::isfinite(value) ? value : 0.0;
  };
  for (std::size_t done = 0; done < columns; ++done) {
    // Relative to the largest entry of its row and column at every point; constants first.
    std::vector<std::vector<double>> row_size(points.size(), std::vector<double>(rows, 0.0));
    for (std::size_t p = 0; p < points.size(); ++p)
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns && !used[i]; ++j)
          if (e.row_of[j] < 0) row_size[p][i] = std::max(row_size[p][i], size_at(e.matrix[i][j], points[p]));
    int best_row = -1, best_column = -1;
    std::tuple<int, int, double> best{};
    for (std::size_t i = 0; i < rows; ++i) {
      if (used[i]) continue;
      int entries = 0;
      for (std::size_t j = 0; j < columns; ++j) entries += e.row_of[j] < 0 && !e.matrix[i][j].is_number(0);
      for (std::size_t j = 0; j < columns; ++j) {
        if (e.row_of[j] >= 0 || e.matrix[i][j].is_number(0)) continue;
        double smallest = 1.0;
        for (std::size_t p = 0; p < points.size(); ++p) {
          const double size = size_at(e.matrix[i][j], points[p]);
          smallest = std::min(smallest, row_size[p][i] > 0.0 ? size / row_size[p][i] : 0.0);
        }
        if (smallest < 1e-3) continue;
        const std::tuple rank{e.matrix[i][j].is_number() ? 0 : 1, entries, -smallest};
        if (best_row < 0 || rank < best)
          best = rank, best_row = static_cast<int>(i), best_column = static_cast<int>(j);
      }
    }
    if (best_row < 0) return false;
    pivots.push_back({e.matrix[best_row][best_column], {}});
    for (std::size_t j = 0; j < columns; ++j)
      if (e.row_of[j] < 0 && !e.matrix[best_row][j].is_number(0))
        pivots.back().row.push_back(e.matrix[best_row][j]);
    used[best_row] = 1;
    e.row_of[best_column] = best_row;
    e.column_order.push_back(best_column);
    const Expr inverse = define(pool, list, points, pow(e.matrix[best_row][best_column], -1.0));
    for (std::size_t i = 0; i < rows; ++i) {
      if (used[i] || e.matrix[i][best_column].is_number(0)) continue;
      const Expr factor = define(pool, list, points, e.matrix[i][best_column] * inverse);
      for (std::size_t j = 0; j < columns; ++j)
        if (e.row_of[j] < 0 && !e.matrix[best_row][j].is_number(0))
          e.matrix[i][j] = define(pool, list, points, e.matrix[i][j] - factor * e.matrix[best_row][j]);
      e.matrix[i][best_column] = pool.number(0);
      e.right[i] = define(pool, list, points, e.right[i] - factor * e.right[best_row]);
    }
  }
  return true;
}

// Back substitution; `assign` is told each unknown's value, last pivot first.
void substitute_back(Pool& pool, Elimination& e, List& list, Points& points, const std::vector<Expr>& names,
                     const std::function<Expr(std::size_t, Expr)>& assign) {
  std::vector<Expr> value = names;
  for (auto column = e.column_order.rbegin(); column != e.column_order.rend(); ++column) {
    const auto& row = e.matrix[e.row_of[*column]];
    std::vector<Expr> terms{e.right[e.row_of[*column]]};
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (static_cast<int>(j) == *column || row[j].is_number(0)) continue;
      // Only columns eliminated after this one still stand in its row.
      const auto at = std::find(e.column_order.begin(), e.column_order.end(), static_cast<int>(j));
      if (at > std::find(e.column_order.begin(), e.column_order.end(), *column))
        terms.push_back(-(row[j] * value[j]));
    }
    const Expr inverse = define(pool, list, points, pow(row[*column], -1.0));
    const Expr sum = pool.add(terms);
    value[*column] = assign(*column, inverse.is_number(-1) ? opposite(pool, sum) : sum * inverse);
  }
}

class Solver {
 public:
  Solver(Pool& pool, const MinimalForm& minimal, Points points)
      : pool_(pool), unknowns_(minimal.unknowns), residuals_(minimal.residuals), points_(std::move(points)) {}

  std::optional<ExplicitForm> solve() {
    const std::size_t n = unknowns_.size();
    uses_.resize(n);
    ExprMap<int> number;
    for (std::size_t j = 0; j < n; ++j) number[unknowns_[j]] = static_cast<int>(j);
    for (std::size_t i = 0; i < n; ++i) {
      for (Expr s : symbols_of(std::span(&residuals_[i], 1)))
        if (const auto j = number.find(s); j != number.end()) uses_[i].push_back(j->second);
      std::sort(uses_[i].begin(), uses_[i].end());
    }
    if (!match()) return std::nullopt;
    for (const std::vector<int>& block : blocks())
      if (!solve_block(block)) return std::nullopt;
    if (form_.iterated.size() > most_iterated) return std::nullopt;
    write_out_residuals();
    return std::move(form_);
  }

 private:
  // Each residual its own unknown: those that have only one left first, which is all there is to do where
  // each follows from those before it; then augmenting paths.
  bool match() {
    const std::size_t n = unknowns_.size();
    row_of_.assign(n, -1);
    column_of_.assign(n, -1);
    match_single();
    std::vector<char> seen;
    std::function<bool(int)> find = [&](int row) {
      for (int j : uses_[row]) {
        if (seen[j]) continue;
        seen[j] = 1;
        if (row_of_[j] < 0 || find(row_of_[j])) {
          row_of_[j] = row;
          column_of_[row] = j;
          return true;
        }
      }
      return false;
    };
    for (std::size_t i = 0; i < n; ++i) {
      if (column_of_[i] >= 0) continue;
      seen.assign(n, 0);
      if (!find(static_cast<int>(i))) return false;
    }
    return true;
  }

  void match_single() {
    const std::size_t n = unknowns_.size();
    std::vector<std::vector<int>> rows_with(n);
    std::vector<int> left(n), ready;
    for (std::size_t i = 0; i < n; ++i) {
      for (int j : uses_[i]) rows_with[j].push_back(static_cast<int>(i));
      left[i] = static_cast<int>(uses_[i].size());
      if (left[i] == 1) ready.push_back(static_cast<int>(i));
    }
    while (!ready.empty()) {
      const int row = ready.back();
      ready.pop_back();
      for (int j : uses_[row]) {
        if (row_of_[j] >= 0) continue;
        row_of_[j] = row;
        column_of_[row] = j;
        for (int other : rows_with[j])
          if (--left[other] == 1 && column_of_[other] < 0) ready.push_back(other);
        break;
      }
    }
  }

  // Tarjan: strongly connected residuals, each block after those it needs. Without recursion: a chain of
  // formulas may be as long as a mechanism.
  std::vector<std::vector<int>> blocks() {
    const int n = static_cast<int>(unknowns_.size());
    std::vector<int> index(n, -1), low(n, 0), stack;
    std::vector<char> on_stack(n, 0);
    std::vector<std::vector<int>> result;
    struct Visit {
      int row;
      std::size_t use = 0;
    };
    std::vector<Visit> path;
    int next = 0;
    const auto begin = [&](int v) {
      index[v] = low[v] = next++;
      stack.push_back(v);
      on_stack[v] = 1;
      path.push_back({v});
    };
    const auto end = [&](int v) {
      if (low[v] != index[v]) return;
      result.emplace_back();
      for (int w = -1; w != v;) {
        w = stack.back();
        stack.pop_back();
        on_stack[w] = 0;
        result.back().push_back(w);
      }
    };
    for (int root = 0; root < n; ++root) {
      if (index[root] >= 0) continue;
      begin(root);
      while (!path.empty()) {
        Visit& at = path.back();
        if (at.use < uses_[at.row].size()) {
          const int w = row_of_[uses_[at.row][at.use++]];
          if (index[w] < 0)
            begin(w);
          else if (on_stack[w])
            low[at.row] = std::min(low[at.row], index[w]);
          continue;
        }
        const int v = at.row;
        path.pop_back();
        end(v);
        if (!path.empty()) low[path.back().row] = std::min(low[path.back().row], low[v]);
      }
    }
    return result;
  }

  bool solve_block(const std::vector<int>& rows) {
    if (rows.size() > largest_block) return false;
    std::vector<Expr> unknowns;
    for (int r : rows) unknowns.push_back(unknowns_[column_of_[r]]);
    std::vector<std::vector<Expr>> tangent;
    std::vector<Expr> flat;
    for (int r : rows) {
      tangent.push_back(gradient(residuals_[r], unknowns));
      flat.insert(flat.end(), tangent.back().begin(), tangent.back().end());
    }
    // Those that stand in the tangent remain to be iterated on.
    std::vector<Expr> linear, torn;
    auto nonlinear = symbols_of(flat);
    for (int r : rows)
      for (Expr s : symbols_in_calls(residuals_[r])) nonlinear.push_back(s);
    for (Expr w : unknowns)
      (std::find(nonlinear.begin(), nonlinear.end(), w) == nonlinear.end() ? linear : torn).push_back(w);
    Elimination e;
    ExprMap<Expr> zero;
    for (Expr w : linear) zero[w] = pool_.number(0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<Expr> row;
      for (Expr w : linear) {
        const auto j = std::find(unknowns.begin(), unknowns.end(), w) - unknowns.begin();
        row.push_back(define(pool_, form_.solved, points_, tangent[i][j]));
      }
      e.matrix.push_back(std::move(row));
      e.right.push_back(
          define(pool_, form_.solved, points_, opposite(pool_, substitute(residuals_[rows[i]], zero))));
    }
    if (!linear.empty() && !eliminate(pool_, e, form_.solved, points_, form_.pivots)) return false;
    std::vector<char> used(rows.size(), 0);
    for (int r : e.row_of)
      if (r >= 0) used[r] = 1;
    substitute_back(pool_, e, form_.solved, points_, linear, [&](std::size_t j, Expr value) {
      form_.solved.push_back({linear[j], value});
      for (auto& at : points_) at[linear[j]] = evaluate(value, at);
      return linear[j];
    });
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!used[i]) form_.residuals.push_back(e.right[i]);
    form_.iterated.insert(form_.iterated.end(), torn.begin(), torn.end());
    return form_.residuals.size() == form_.iterated.size();
  }

  void write_out_residuals() {
    if (form_.iterated.empty()) return;
    ExprMap<Expr> written;
    for (const auto& [symbol, value] : form_.solved) written[symbol] = substitute(value, written);
    for (Expr& r : form_.residuals) r = substitute(r, written);
  }

  Pool& pool_;
  const std::vector<Expr>& unknowns_;
  const std::vector<Expr>& residuals_;
  Points points_;
  std::vector<std::vector<int>> uses_;
  std::vector<int> row_of_, column_of_;
  ExplicitForm form_;
};

}  // namespace

std::optional<ExplicitForm> explicit_form(Pool& pool, const MinimalForm& minimal,
                                          std::vector<ExprMap<double>> points) {
  return Solver(pool, minimal, std::move(points)).solve();
}

std::vector<Expr> solve_in_formulas(Pool& pool, std::vector<std::vector<Expr>> matrix,
                                    std::vector<Expr> right, std::vector<std::pair<Expr, Expr>>& list,
                                    std::vector<ExprMap<double>>& points, std::vector<Pivot>& pivots) {
  Elimination e{std::move(matrix), std::move(right), {}, {}};
  for (auto& row : e.matrix)
    for (Expr& v : row) v = define(pool, list, points, v);
  if (!eliminate(pool, e, list, points, pivots)) return {};
  std::vector<Expr> x(e.right.size());
  substitute_back(pool, e, list, points, x,
                  [&](std::size_t j, Expr value) { return x[j] = define(pool, list, points, value); });
  return x;
}

}  // namespace tellegen
