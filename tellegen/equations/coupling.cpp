#include "tellegen/equations/coupling.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tellegen {
namespace {

constexpr std::int32_t size_limit = 20000;  // columns; the elimination has no ordering worth the name

// A linear equation without rates, as one group has it: coefficients of its symbols, in parameters.
struct LinearEquation {
  std::vector<std::pair<int, Expr>> coefficients;  // symbol of the group
  Expr known;                                      // the rest: parameters and t
};

// Nothing where an equation is not linear, has rates, or depends on a discrete variable.
std::optional<LinearEquation> linear_equation(const Group& group, Expr residual) {
  for (int s : group.rated)
    if (depends_on(residual, group.symbols[s].rate)) return std::nullopt;
  for (int slot : group.held)
    if (depends_on(residual, group.parameters[slot])) return std::nullopt;
  LinearEquation equation;
  ExprMap<Expr> origin;
  for (int s = 0; s < static_cast<int>(group.symbols.size()); ++s) {
    const Expr slope = derivative(residual, group.symbols[s].symbol);
    if (slope.is_number(0)) continue;
    for (const LocalSymbol& other : group.symbols)
      if (depends_on(slope, other.symbol)) return std::nullopt;
    if (depends_on(slope, group.time)) return std::nullopt;
    equation.coefficients.push_back({s, slope});
    origin[group.symbols[s].symbol] = residual.pool().number(0);
  }
  equation.known = substitute(residual, origin);
  return equation;
}

// v = R*i, v = V(t), i = I(t) couple nothing that topology does not see; variables of two edges are coupled.
bool couples(const Group& group, const LinearEquation& equation) {
  int across = 0, through = 0;
  std::set<int> edges;
  for (const auto& [s, coefficient] : equation.coefficients) {
    const LocalSymbol& symbol = group.symbols[s];
    ++(symbol.what == LocalSymbol::What::through ? through : across);
    if (symbol.what != LocalSymbol::What::internal) edges.insert(symbol.index);
  }
  return across > 1 || through > 1 || edges.size() > 1;
}

class CouplingElimination {
 public:
  CouplingElimination(const EquationSystem& system, Storage& storage)
      : system_(system), storage_(storage), pool_(*system.model->pool) {}

  void run(std::span<const std::int32_t> last) {
    const auto states = std::count(storage_.is_state.begin(), storage_.is_state.end(), 1);
    if (states == 0 || system_.size() > size_limit || !read_equations()) return;
    write_balances();
    for (const auto& [g, equation] : equations_)
      for (std::int32_t m = 0; m < system_.groups[g].size(); ++m)
        write_equation(system_.groups[g], equation, m);
    first_state_row_ = rows_.size();
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(storage_.is_state.size()); ++k)
      if (storage_.is_state[k] && std::find(last.begin(), last.end(), k) == last.end()) write_state(k);
    for (std::int32_t k : last) write_state(k);
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (const auto& [column, value] : rows_[r].x) rows_with_[column].insert(r);
    eliminate_equations();
    for (std::size_t r = first_state_row_; r < rows_.size(); ++r) {
      if (rows_[r].x.empty())
        declare_redundant(rows_[r]);
      else
        pivot(r, largest(rows_[r]));
    }
  }

 private:
  struct Row {
    std::map<std::int32_t, double> x, states;  // sum of x + sum of states + sum of known = 0
    std::map<Expr, double> known;
    std::int32_t rate = -1;
  };

  bool read_equations() {
    bool any = false;
    for (std::size_t g = 0; g < system_.groups.size(); ++g) {
      if (system_.groups[g].kind < 0) return false;
      for (Expr residual : system_.groups[g].residuals)
        if (auto equation = linear_equation(system_.groups[g], residual)) {
          any = any || couples(system_.groups[g], *equation);
          equations_.push_back({g, std::move(*equation)});
        }
    }
    return any;
  }

  void add(Row& row, std::int32_t column, double value) {
    if (column >= 0 && value != 0.0) row.x[column] += value;
  }

  void write_balances() {
    rows_.resize(system_.node_columns);
    for (std::int32_t e = 0; e < system_.graph.edge_count(); ++e) {
      const GraphEdge& edge = system_.graph.edges[e];
      const auto through = system_.through_column(EdgeIndex{e});
      if (edge.from != datum_node) add(rows_[system_.node_column(edge.from)], through, 1.0);
      if (edge.to != datum_node) add(rows_[system_.node_column(edge.to)], through, -1.0);
    }
  }

  void write_equation(const Group& group, const LinearEquation& equation, std::int32_t m) {
    ExprMap<double> values;
    ExprMap<Expr> numbers;
    for (std::size_t p = 0; p < group.parameters.size(); ++p) {
      values[group.parameters[p]] = group.values[p][m];
      numbers[group.parameters[p]] = pool_.number(group.values[p][m]);
    }
    Row row;
    for (const auto& [s, coefficient] : equation.coefficients) {
      const double value = evaluate(coefficient, values);
      add(row, group.plus[s][m], value);
      add(row, group.minus[s][m], -value);
    }
    std::erase_if(row.x, [](const auto& entry) { return entry.second == 0.0; });
    if (row.x.empty()) return;
    if (const Expr known = substitute(equation.known, numbers); !known.is_number()) row.known[known] = 1.0;
    double size = 0.0;
    for (const auto& [column, value] : row.x) size = std::max(size, std::abs(value));
    for (auto& [column, value] : row.x) value /= size;
    for (auto& [known, value] : row.known) value /= size;
    rows_.push_back(std::move(row));
  }

  void write_state(std::int32_t k) {
    const Rate& r = system_.rates[k];
    const Group& group = system_.groups[r.group];
    Row row;
    row.rate = k;
    row.states[k] = -1.0;
    add(row, group.plus[r.symbol][r.member], 1.0);
    add(row, group.minus[r.symbol][r.member], -1.0);
    rows_.push_back(std::move(row));
  }

  static std::int32_t largest(const Row& row) {
    const auto by_size = [](const auto& a, const auto& b) { return std::abs(a.second) < std::abs(b.second); };
    return std::max_element(row.x.begin(), row.x.end(), by_size)->first;
  }

  // The shortest row next, in it the column in fewest rows; no pivot that is small in its row.
  void eliminate_equations() {
    std::set<std::pair<std::size_t, std::size_t>> waiting;  // length, row
    for (std::size_t r = 0; r < first_state_row_; ++r)
      if (!rows_[r].x.empty()) waiting.insert({rows_[r].x.size(), r});
    while (!waiting.empty()) {
      const std::size_t r = waiting.begin()->second;
      waiting.erase(waiting.begin());
      const double size = std::abs(rows_[r].x.at(largest(rows_[r])));
      std::int32_t best = -1;
      for (const auto& [column, value] : rows_[r].x)
        if (std::abs(value) >= 0.1 * size &&
            (best < 0 || rows_with_[column].size() < rows_with_[best].size()))
          best = column;
      const std::set<std::size_t> touched = rows_with_[best];
      for (std::size_t other : touched)
        if (other != r) waiting.erase({rows_[other].x.size(), other});
      pivot(r, best);
      for (std::size_t other : touched)
        if (other != r && other < first_state_row_ && !rows_[other].x.empty())
          waiting.insert({rows_[other].x.size(), other});
    }
  }

  // Removes a column from all other rows, and this row from the play.
  void pivot(std::size_t r, std::int32_t column) {
    const Row row = rows_[r];
    for (const auto& entry : row.x) rows_with_[entry.first].erase(r);
    const std::set<std::size_t> others = rows_with_[column];
    for (std::size_t other : others) {
      Row& into = rows_[other];
      const double factor = into.x.at(column) / row.x.at(column);
      for (const auto& [c, value] : row.x) {
        double& entry = into.x[c];
        const double before = entry;
        entry -= factor * value;
        // What rounding leaves of an exact cancellation is a zero.
        if (c == column || std::abs(entry) < 1e-12 * std::max(std::abs(before), std::abs(factor * value))) {
          into.x.erase(c);
          rows_with_[c].erase(other);
        } else {
          rows_with_[c].insert(other);
        }
      }
      for (const auto& [k, value] : row.states) into.states[k] -= factor * value;
      for (const auto& [s, value] : row.known) into.known[s] -= factor * value;
    }
  }

  // The row says: sum of states + known = 0, with -1 for its own.
  void declare_redundant(const Row& row) {
    const double own = row.states.at(row.rate);
    RedundantRate redundant{row.rate, {}, {}, {}};
    for (const auto& [k, value] : row.states)
      if (k != row.rate && std::abs(value) > 1e-12)
        redundant.terms.push_back({k, EdgeIndex{-1}, -value / own});
    std::vector<Expr> drive, driven_by;
    for (const auto& [s, value] : row.known)
      if (value != 0.0) {
        drive.push_back(-value / own * derivative(s, pool_.symbol("t")));
        driven_by.push_back(-value / own * s);
      }
    if (!drive.empty()) {
      redundant.drive = pool_.add(drive);
      redundant.driven_by = pool_.add(driven_by);
    }
    storage_.is_state[row.rate] = 0;
    storage_.redundant.push_back(std::move(redundant));
  }

  const EquationSystem& system_;
  Storage& storage_;
  Pool& pool_;
  std::vector<std::pair<std::size_t, LinearEquation>> equations_;
  std::vector<Row> rows_;
  std::size_t first_state_row_ = 0;
  std::map<std::int32_t, std::set<std::size_t>> rows_with_;
};

}  // namespace

void add_couplings(const EquationSystem& system, Storage& storage, std::span<const std::int32_t> last) {
  CouplingElimination(system, storage).run(last);
}

}  // namespace tellegen
