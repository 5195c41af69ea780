#include "tellegen/equations/condense.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tellegen/equations/exponentials.h"
#include "tellegen/symbolic/straight.h"

namespace tellegen {
namespace {

class Condenser {
 public:
  Condenser(const EquationSystem& system, const Group& group)
      : system_(system), group_(group), kind_(kind_of(system, group)), pool_(*system.model->pool) {}

  CondensedGroup condense() {
    result_.alpha = pool_.symbol("~alpha");
    choose_columns();
    insert_formula();
    limit();
    linearise();
    balance_internal_nodes();
    eliminate();
    collect();
    return std::move(result_);
  }

 private:
  // Columns of the local matrix: own unknowns first, then terminals.
  using Row = std::map<int, Expr>;  // column -> coefficient; column -1: the constant

  static const Kind* kind_of(const EquationSystem& system, const Group& group) {
    return group.kind < 0 ? nullptr : &system.model->kinds[group.kind];
  }

  int ports() const { return kind_ ? kind_->port_count : 0; }
  int nodes() const { return kind_ ? static_cast<int>(kind_->nodes.size()) : 0; }

  int add_terminal(Terminal::What what, int index, const std::string& name) {
    result_.terminals.push_back({what, index, pool_.symbol(name)});
    return static_cast<int>(result_.terminals.size()) - 1;
  }

  void choose_columns() {
    const int symbols = static_cast<int>(group_.symbols.size());
    unknown_of_symbol_.assign(symbols, -1);
    unknown_of_node_.assign(nodes(), -1);
    for (int s = 0; s < symbols; ++s) {
      const auto what = group_.symbols[s].what;
      if ((what == LocalSymbol::What::through || what == LocalSymbol::What::internal) && !group_.keep[s])
        unknown_of_symbol_[s] = unknowns_++;
    }
    for (int n = ports(); n < nodes(); ++n)
      if (!group_.keep_node[n]) unknown_of_node_[n] = unknowns_++;
    for (int n = 0; n < nodes(); ++n)
      if (unknown_of_node_[n] < 0)
        terminal_of_node_[n] = add_terminal(Terminal::What::node, n, fmt::format("~e{}", n));
    for (int n = ports(); n < nodes(); ++n)
      if (group_.keep_node[n]) result_.kept_nodes.push_back(n);
    for (int s = 0; s < symbols; ++s) {
      const LocalSymbol& local = group_.symbols[s];
      if (local.what == LocalSymbol::What::external) {
        external_plus_[s] = add_terminal(Terminal::What::external_plus, s, fmt::format("~g{}", s));
        const auto& minus = group_.minus[s];
        if (std::any_of(minus.begin(), minus.end(), [](std::int32_t c) { return c >= 0; }))
          external_minus_[s] = add_terminal(Terminal::What::external_minus, s, fmt::format("~h{}", s));
      } else if (group_.keep[s]) {
        keep(s);
      }
    }
  }

  void keep(int s) {
    kept_terminal_[s] = add_terminal(Terminal::What::kept, s, fmt::format("~k{}", s));
    result_.kept_symbols.push_back(s);
  }

  // Columns and signs of a local symbol.
  std::vector<std::pair<int, double>> columns_of(int s) const {
    const LocalSymbol& local = group_.symbols[s];
    std::vector<std::pair<int, double>> columns;
    const auto node = [&](int n, double sign) {
      if (n < 0) return;
      if (unknown_of_node_[n] >= 0)
        columns.push_back({unknown_of_node_[n], sign});
      else
        columns.push_back({unknowns_ + terminal_of_node_.at(n), sign});
    };
    switch (local.what) {
      case LocalSymbol::What::across:
        node(kind_->edges[local.index].from, 1);
        node(kind_->edges[local.index].to, -1);
        break;
      case LocalSymbol::What::node:
        node(local.index, 1);
        break;
      case LocalSymbol::What::external:
        columns.push_back({unknowns_ + external_plus_.at(s), 1});
        if (const auto minus = external_minus_.find(s); minus != external_minus_.end())
          columns.push_back({unknowns_ + minus->second, -1});
        break;
      default:
        if (unknown_of_symbol_[s] >= 0)
          columns.push_back({unknown_of_symbol_[s], 1});
        else
          columns.push_back({unknowns_ + kept_terminal_.at(s), 1});
    }
    return columns;
  }

  void insert_formula() {
    ExprMap<Expr> rates;
    for (std::size_t k = 0; k < group_.rated.size(); ++k) {
      const LocalSymbol& local = group_.symbols[group_.rated[k]];
      result_.histories.push_back(pool_.symbol(fmt::format("~history{}", k)));
      rates[local.rate] = result_.alpha * local.symbol + result_.histories.back();
    }
    for (Expr r : group_.residuals) equations_.push_back(substitute(r, rates));
  }

  void limit() {
    std::set<Expr> variables;
    for (const LocalSymbol& s : group_.symbols) variables.insert(s.symbol);
    const auto list = limit_exponentials(pool_, equations_, variables);
    for (std::size_t k = 0; k < list.size(); ++k)
      result_.exponentials.push_back(
          {pool_.symbol(fmt::format("~previous{}", k)), list[k].limited, list[k].argument});
  }

  Expr iterate_of(int s) {
    const auto found = std::find(result_.iterated.begin(), result_.iterated.end(), s);
    if (found != result_.iterated.end()) return result_.iterates[found - result_.iterated.begin()];
    result_.iterated.push_back(s);
    result_.iterates.push_back(pool_.symbol("@" + group_.symbols[s].symbol.name()));
    return result_.iterates.back();
  }

  void linearise() {
    const int symbols = static_cast<int>(group_.symbols.size());
    ExprMap<int> index;
    for (int s = 0; s < symbols; ++s) index[group_.symbols[s].symbol] = s;
    // m follows from the argument at the iterate.
    for (auto& x : result_.exponentials) {
      ExprMap<Expr> at;
      for (Expr symbol : symbols_of(std::span(&x.argument, 1)))
        if (const auto s = index.find(symbol); s != index.end()) at[symbol] = iterate_of(s->second);
      result_.definitions.push_back(
          {x.limited, pool_.call("junction_limit", {substitute(x.argument, at), x.previous})});
    }
    for (Expr equation : equations_) {
      std::vector<Expr> of;  // all at once: an equation may have hundreds of names
      for (int s = 0; s < symbols; ++s) of.push_back(group_.symbols[s].symbol);
      const std::vector<Expr> slopes = gradient(equation, of);
      std::set<int> nonlinear;
      for (int s = 0; s < symbols; ++s) {
        for (Expr symbol : symbols_of(std::span(&slopes[s], 1)))
          if (const auto at = index.find(symbol); at != index.end()) nonlinear.insert(at->second);
      }
      for (Expr symbol : symbols_in_calls(equation))
        if (const auto at = index.find(symbol); at != index.end()) nonlinear.insert(at->second);
      ExprMap<Expr> at_iterate, at_origin;
      for (int s = 0; s < symbols; ++s) {
        const Expr symbol = group_.symbols[s].symbol;
        if (nonlinear.contains(s))
          at_iterate[symbol] = at_origin[symbol] = iterate_of(s);
        else
          at_origin[symbol] = pool_.number(0);
      }
      Row row;
      Expr constant = substitute(equation, at_origin);
      for (int s = 0; s < symbols; ++s) {
        if (slopes[s].is_number(0)) continue;
        const Expr slope = substitute(slopes[s], at_iterate);
        if (nonlinear.contains(s)) constant = constant - slope * iterate_of(s);
        for (const auto& [column, sign] : columns_of(s)) accumulate(row, column, sign * slope);
      }
      accumulate(row, -1, constant);
      rows_.push_back(std::move(row));
      for (int s : nonlinear)
        if (std::find(result_.nonlinear.begin(), result_.nonlinear.end(), s) == result_.nonlinear.end())
          result_.nonlinear.push_back(s);
    }
  }

  void balance_internal_nodes() {
    for (int n = ports(); n < nodes(); ++n) {
      if (unknown_of_node_[n] < 0) continue;
      Row row;
      for_each_through_at(n, [&](int s, double sign) {
        for (const auto& [column, factor] : columns_of(s))
          accumulate(row, column, pool_.number(sign * factor));
      });
      rows_.push_back(std::move(row));
    }
  }

  // fn(symbol of the through, +1 where it leaves node n into the edge).
  template <class Fn>
  void for_each_through_at(int n, Fn fn) const {
    for (int s = 0; s < static_cast<int>(group_.symbols.size()); ++s) {
      if (group_.symbols[s].what != LocalSymbol::What::through) continue;
      const KindEdge& edge = kind_->edges[group_.symbols[s].index];
      if (edge.from == n) fn(s, 1.0);
      if (edge.to == n) fn(s, -1.0);
    }
  }

  void accumulate(Row& row, int column, Expr value) {
    const auto [at, is_new] = row.try_emplace(column, value);
    if (!is_new) at->second = at->second + value;
    if (at->second.is_number(0)) row.erase(at);
  }

  Expr define(Expr value) {
    if (value.is_number() || value.is_symbol()) return value;
    const Expr symbol = pool_.symbol(fmt::format("~c{}", result_.definitions.size()));
    result_.definitions.push_back({symbol, value});
    return symbol;
  }

  // 0: parameters and alpha, 1: time and history, 2: the iterate.
  int section_of(Expr e) {
    int section = 0;
    for (Expr s : symbols_of(std::span(&e, 1))) {
      auto known = section_.find(s);
      if (known == section_.end()) {
        int of_symbol = 0;
        const auto is = [&](std::span<const Expr> list) {
          return std::find(list.begin(), list.end(), s) != list.end();
        };
        if (s == group_.time || is(result_.histories)) of_symbol = 1;
        if (is(result_.iterates) || s.name().starts_with("@")) of_symbol = 2;  // "@v": a point (linearised.h)
        for (const auto& x : result_.exponentials)
          if (s == x.limited || s == x.previous) of_symbol = 2;
        for (const Definition& d : result_.definitions)
          if (d.symbol == s) of_symbol = std::max(of_symbol, section_of(d.value));
        known = section_.emplace(s, of_symbol).first;
      }
      section = std::max(section, known->second);
    }
    return section;
  }

  bool has_alpha(Expr e) {
    for (Expr s : symbols_of(std::span(&e, 1))) {
      auto known = has_alpha_.find(s);
      if (known == has_alpha_.end()) {
        const auto d = std::find_if(result_.definitions.begin(), result_.definitions.end(),
                                    [&](const Definition& x) { return x.symbol == s; });
        const bool has = s == result_.alpha || (d != result_.definitions.end() && has_alpha(d->value));
        known = has_alpha_.emplace(s, has).first;
      }
      if (known->second) return true;
    }
    return false;
  }

  // A state that would be found as the rate of another (of y where der(y) = x): in short steps nothing but
  // rounding is left of it. Such a row is for the other one.
  bool differentiates(const Row& row, int column, Expr coefficient) {
    const bool state = std::any_of(group_.rated.begin(), group_.rated.end(),
                                   [&](int s) { return unknown_of_symbol_[s] == column; });
    return state && !has_alpha(coefficient) && std::any_of(row.begin(), row.end(), [&](const auto& other) {
             return other.first >= 0 && other.first != column && has_alpha(other.second);
           });
  }

  // What rounding may leave of an expression that is zero: to first order, what its parts bring and what
  // adding them up does. `brought`: by symbols.
  static double rounding_of(Expr e, const ExprMap<double>& at, const ExprMap<double>& brought) {
    constexpr double eps = std::numeric_limits<double>::epsilon();
    struct Part {
      double value = 0.0, rounding = 0.0;
    };
    ExprMap<Part> parts;
    for (Expr node : nodes_of(std::span(&e, 1))) {  // children first
      Part& part = parts[node];
      const bool sum = node.op() == Op::add, leaf = node.is_number() || node.is_symbol();
      if (!sum) part.value = evaluate(node, at);
      if (leaf) {
        if (const auto known = brought.find(node); known != brought.end()) part.rounding = known->second;
        continue;
      }
      for (Expr child : node.args()) {
        const Part& own = parts.at(child);
        const double size = std::abs(own.value);
        if (sum)
          part.value += own.value, part.rounding += own.rounding + eps * size;
        else if (size > 0.0)
          part.rounding += std::abs(part.value) * (own.rounding / size);
      }
      part.rounding += eps * std::abs(part.value);
    }
    return parts.at(e).rounding;
  }

  // Is a coefficient certainly not zero? Numbers and parameters can be looked at; of what changes from
  // iteration to iteration only `1 + something`, the shape that a series resistance gives, is trusted.
  bool safe_pivot(Expr e, int section) {
    if (e.is_number()) return std::abs(e.number()) > 1e-12;
    Expr value = e;
    while (value.is_symbol()) {
      const auto d = std::find_if(result_.definitions.begin(), result_.definitions.end(),
                                  [&](const Definition& x) { return x.symbol == value; });
      if (d == result_.definitions.end()) break;
      value = d->value;
    }
    if (section == 2) return value.op() == Op::add && value.args().back().is_number();
    if (section == 1) return false;
    for (std::int32_t m = 0; m < group_.size(); ++m) {
      ExprMap<double> at{{result_.alpha, 1.0}}, rounding;
      for (std::size_t p = 0; p < group_.parameters.size(); ++p)
        at[group_.parameters[p]] = group_.values[p][m];
      const bool first = m == 0;  // what cancels does so in all of them
      for (const Definition& d : result_.definitions) {
        if (first) rounding[d.symbol] = rounding_of(d.value, at, rounding);
        at[d.symbol] = evaluate(d.value, at);
      }
      const double v = evaluate(e, at);
      if (!(std::abs(v) > 1e-300) || !std::isfinite(v)) return false;
      if (first && std::abs(v) < 100.0 * rounding_of(e, at, rounding)) return false;
      if (m >= 1000 && value.is_symbol()) break;  // a bare parameter: its bound says the rest
    }
    return true;
  }

  void eliminate() {
    std::vector<char> used(rows_.size(), 0);
    pivot_row_.assign(unknowns_, -1);
    for (;;) {
      int best_row = -1, best_column = -1;
      std::tuple<bool, int, int, int, std::size_t> best{};
      for (int r = 0; r < static_cast<int>(rows_.size()); ++r) {
        if (used[r]) continue;
        int row_section = 0;
        for (const auto& [column, e] : rows_[r])
          if (column >= 0) row_section = std::max(row_section, section_of(e));
        for (const auto& [column, e] : rows_[r]) {
          if (column < 0 || column >= unknowns_ || pivot_row_[column] >= 0) continue;
          const int section = section_of(e);
          const int quality = e.is_number() ? 0 : 1 + section;
          const int magnitude = e.is_number() && std::abs(std::abs(e.number()) - 1.0) < 1e-12 ? 0 : 1;
          const std::tuple rank{differentiates(rows_[r], column, e), row_section, quality, magnitude,
                                rows_[r].size()};
          if (best_row >= 0 && !(rank < best)) continue;
          if (!safe_pivot(e, section)) continue;
          best = rank, best_row = r, best_column = column;
        }
      }
      if (best_row < 0) break;
      used[best_row] = 1;
      pivot_row_[best_column] = best_row;
      pivot(best_row, best_column);
    }
    for (int r = 0; r < static_cast<int>(rows_.size()); ++r)
      if (!used[r]) kept_rows_.push_back(r);
  }

  void pivot(int r, int column) {
    Row& row = rows_[r];
    const Expr pivot = row.at(column);
    row.erase(column);
    for (auto& [c, e] : row) e = define(e / pivot);
    for (int other = 0; other < static_cast<int>(rows_.size()); ++other) {
      if (other == r) continue;
      const auto at = rows_[other].find(column);
      if (at == rows_[other].end()) continue;
      const Expr factor = at->second;
      rows_[other].erase(at);
      for (const auto& [c, e] : row) accumulate(rows_[other], c, -(factor * e));
      for (auto& [c, e] : rows_[other]) e = define(e);
    }
    row[column] = pool_.number(1);
  }

  void collect() {
    // An unknown without a pivot is kept after all: it becomes a terminal. Its column moves to the end.
    std::map<int, int> moved;  // unknown column -> terminal
    for (int s = 0; s < static_cast<int>(group_.symbols.size()); ++s)
      if (unknown_of_symbol_[s] >= 0 && pivot_row_[unknown_of_symbol_[s]] < 0) {
        moved[unknown_of_symbol_[s]] = static_cast<int>(result_.terminals.size());
        keep(s);
      }
    for (int n = ports(); n < nodes(); ++n)
      if (unknown_of_node_[n] >= 0 && pivot_row_[unknown_of_node_[n]] < 0) {
        moved[unknown_of_node_[n]] = add_terminal(Terminal::What::node, n, fmt::format("~e{}", n));
        terminal_of_node_[n] = moved[unknown_of_node_[n]];
        result_.kept_nodes.push_back(n);
      }
    const auto terminal_at = [&](int column) {
      return column >= unknowns_ ? column - unknowns_ : moved.at(column);
    };
    // value of an unknown or terminal column, in terminals
    const auto value_of = [&](int column) -> Expr {
      if (column >= unknowns_ || moved.contains(column)) return result_.terminals[terminal_at(column)].symbol;
      std::vector<Expr> terms;
      for (const auto& [c, e] : rows_[pivot_row_[column]]) {
        if (c == column) continue;
        terms.push_back(c < 0 ? -e : -(e * result_.terminals[terminal_at(c)].symbol));
      }
      return pool_.add(terms);
    };
    result_.node_values.assign(nodes(), Expr());
    for (int n = 0; n < nodes(); ++n)
      result_.node_values[n] =
          value_of(unknown_of_node_[n] >= 0 ? unknown_of_node_[n] : unknowns_ + terminal_of_node_.at(n));
    for (int s = 0; s < static_cast<int>(group_.symbols.size()); ++s) {
      std::vector<Expr> terms;
      for (const auto& [column, sign] : columns_of(s)) terms.push_back(sign * value_of(column));
      result_.symbol_values.push_back(pool_.add(terms));
    }
    const std::size_t terminals = result_.terminals.size();
    const auto add_to = [&](CondensedRow& out, int column, double sign) {
      const auto put = [&](int c, Expr e) {
        Expr& into = c < 0 ? out.constant : out.coefficients[terminal_at(c)];
        into = into ? into + sign * e : sign * e;
        if (c >= 0 && into.is_number(0)) into = Expr();
      };
      if (column >= unknowns_ || moved.contains(column)) return put(column, pool_.number(1));
      for (const auto& [c, e] : rows_[pivot_row_[column]])
        if (c != column) put(c, -e);
    };
    for (int n = 0; n < nodes(); ++n) {
      if (unknown_of_node_[n] >= 0) continue;  // condensed, or kept with its balance among the kept rows
      CondensedRow out{n, std::vector<Expr>(terminals), pool_.number(0)};
      for_each_through_at(n, [&](int s, double sign) {
        for (const auto& [column, factor] : columns_of(s)) add_to(out, column, sign * factor);
      });
      result_.rows.push_back(std::move(out));
    }
    for (int r : kept_rows_) {
      CondensedRow out{-1, std::vector<Expr>(terminals), pool_.number(0)};
      for (const auto& [c, e] : rows_[r]) {
        if (c < 0)
          out.constant = e;
        else
          out.coefficients[terminal_at(c)] = e;
      }
      result_.rows.push_back(std::move(out));
    }
    // What the exponentials' arguments have become.
    ExprMap<Expr> solved;
    for (std::size_t s = 0; s < group_.symbols.size(); ++s)
      solved[group_.symbols[s].symbol] = result_.symbol_values[s];
    for (auto& x : result_.exponentials) x.argument = substitute(x.argument, solved);
  }

  const EquationSystem& system_;
  const Group& group_;
  const Kind* kind_;
  Pool& pool_;
  CondensedGroup result_;
  int unknowns_ = 0;
  std::vector<int> unknown_of_symbol_, unknown_of_node_;
  std::map<int, int> terminal_of_node_, kept_terminal_, external_plus_, external_minus_;
  std::vector<Expr> equations_;
  std::vector<Row> rows_;
  std::vector<int> pivot_row_;  // per unknown
  std::vector<int> kept_rows_;
  ExprMap<int> section_;
  ExprMap<bool> has_alpha_;
};

}  // namespace

CondensedGroup condense(const EquationSystem& system, const Group& group) {
  return Condenser(system, group).condense();
}

}  // namespace tellegen
