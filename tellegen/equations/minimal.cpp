#include "tellegen/equations/minimal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tellegen/symbolic/straight.h"

namespace tellegen {
namespace {

class Reduction {
 public:
  Reduction(const EquationSystem& system, const Storage& storage)
      : system_(system),
        storage_(storage),
        pool_(*system.model->pool),
        n_(system.size()),
        rates_(static_cast<std::int32_t>(system.rates.size())),
        size_(n_ + rates_) {
    for (std::size_t k = 0; k < system.discrete.size(); ++k)
      discrete_of_column_[system.discrete[k].column] = static_cast<std::int32_t>(k);
  }

  MinimalForm reduce() {
    choose_states();
    write_rows();
    eliminate();
    express();
    return std::move(form_);
  }

 private:
  // Unknown columns: 0..n-1 the tableau's, n.. the rates. Beside them each row carries known quantities:
  // states, then sources.
  struct Row {
    std::vector<double> unknown;
    std::vector<double> known;  // grows as sources are met
    Expr nonlinear;             // in column and rate symbols; empty: a linear row
    bool used = false;
  };

  Expr rate_symbol(std::int32_t k) { return pool_.symbol(fmt::format("~rate{}", k)); }

  void choose_states() {
    state_of_.assign(rates_, -1);
    for (std::int32_t k = 0; k < rates_; ++k)
      if (storage_.is_state[k]) {
        state_of_[k] = static_cast<int>(form_.state_rates.size());
        form_.state_rates.push_back(k);
      }
  }

  int source(Expr s) {
    const auto found = std::find(form_.sources.begin(), form_.sources.end(), s);
    if (found != form_.sources.end()) return static_cast<int>(found - form_.sources.begin());
    form_.sources.push_back(s);
    return static_cast<int>(form_.sources.size()) - 1;
  }

  void add_known(Row& row, std::size_t index, double value) {
    if (row.known.size() <= index) row.known.resize(index + 1, 0.0);
    row.known[index] += value;
  }

  Row& new_row() {
    rows_.push_back({std::vector<double>(size_, 0.0), {}, {}, false});
    return rows_.back();
  }

  void write_rows() {
    const std::size_t states = form_.state_rates.size();
    for (std::int32_t c = 0; c < system_.node_columns; ++c) new_row();  // balances
    for (std::int32_t e = 0; e < system_.graph.edge_count(); ++e) {
      const GraphEdge& edge = system_.graph.edges[e];
      const auto column = system_.through_column(EdgeIndex{e});
      if (edge.from != datum_node) rows_[system_.node_column(edge.from)].unknown[column] += 1.0;
      if (edge.to != datum_node) rows_[system_.node_column(edge.to)].unknown[column] -= 1.0;
    }
    for (const Group& group : system_.groups)
      for (std::int32_t m = 0; m < group.size(); ++m) write_terminal_rows(group, m);
    for (std::int32_t k = 0; k < rates_; ++k) {
      Row& row = new_row();
      const Rate& r = system_.rates[k];
      const Group& group = system_.groups[r.group];
      if (state_of_[k] >= 0) {
        add(row, group.plus[r.symbol][r.member], 1.0);
        add(row, group.minus[r.symbol][r.member], -1.0);
        add_known(row, state_of_[k], -1.0);
      }
    }
    for (const RedundantRate& r : storage_.redundant) {
      Row& row = rows_[rows_.size() - rates_ + r.rate];
      row.unknown[n_ + r.rate] = 1.0;
      if (r.drive) add_known(row, states + source(r.drive), -1.0);
      for (const auto& term : r.terms) {
        if (term.rate >= 0) {
          row.unknown[n_ + term.rate] -= term.sign;
        } else {
          const Expr rate = source_rate(system_, term.source);
          if (!rate)
            throw ModelError({{system_.model->file.string(), 0},
                              "T213",
                              fmt::format("'{}' follows a source that depends on other variables",
                                          rate_name(system_, r.rate)),
                              {"the minimal form needs that source's derivative", "use --form tableau"}});
          if (!rate.is_number(0)) add_known(row, states + source(rate), -term.sign);
        }
      }
    }
  }

  void add(Row& row, std::int32_t column, double value) {
    if (column >= 0) row.unknown[column] += value;
  }

  void write_terminal_rows(const Group& group, std::int32_t m) {
    const std::size_t states = form_.state_rates.size();
    ExprMap<Expr> numbers;
    for (std::size_t p = 0; p < group.parameters.size(); ++p)
      numbers[group.parameters[p]] = pool_.number(group.values[p][m]);
    for (std::size_t k = 0; k < system_.discrete.size() && !group.held.empty(); ++k)
      if (const Discrete& d = system_.discrete[k]; &system_.groups[d.group] == &group && d.member == m)
        numbers[group.parameters[held_slot(system_, d)]] = discrete_symbol(system_, static_cast<int>(k));
    // A discrete variable of another component is known, like its own.
    for (std::size_t s = 0; s < group.symbols.size(); ++s)
      if (group.symbols[s].what == LocalSymbol::What::external && group.minus[s][m] < 0)
        if (const auto k = discrete_of_column_.find(group.plus[s][m]); k != discrete_of_column_.end())
          numbers[group.symbols[s].symbol] = discrete_symbol(system_, k->second);
    for (Expr equation : group.residuals) {
      const Expr residual = substitute(equation, numbers);
      Row& row = new_row();
      ExprMap<Expr> rest;
      const std::vector<Expr> in_calls = symbols_in_calls(residual);
      const auto straight = [&](Expr slope, Expr symbol) {
        return slope.is_number() && std::find(in_calls.begin(), in_calls.end(), symbol) == in_calls.end();
      };
      for (std::size_t s = 0; s < group.symbols.size(); ++s) {
        const LocalSymbol& local = group.symbols[s];
        if (const Expr slope = derivative(residual, local.symbol); straight(slope, local.symbol)) {
          add(row, group.plus[s][m], slope.number());
          add(row, group.minus[s][m], -slope.number());
          rest[local.symbol] = pool_.number(0);
        } else {
          rest[local.symbol] = column(group.plus[s][m]) - column(group.minus[s][m]);
          nonlinear_columns_.insert({group.plus[s][m], group.minus[s][m]});
        }
      }
      for (std::size_t k = 0; k < group.rated.size(); ++k) {
        const Expr rate = group.symbols[group.rated[k]].rate;
        const auto index = group.first_rate[m] + static_cast<std::int32_t>(k);
        if (const Expr slope = derivative(residual, rate); straight(slope, rate)) {
          row.unknown[n_ + index] += slope.number();
          rest[rate] = pool_.number(0);
        } else {
          rest[rate] = rate_symbol(index);
          nonlinear_columns_.insert(n_ + index);
        }
      }
      const Expr remainder = substitute(residual, rest);
      // Known beforehand: time, and discrete variables ("h3").
      bool known = true;
      for (Expr s : symbols_of(std::span(&remainder, 1)))
        known = known && (s.name() == "t" || s.name()[0] == 'h');
      if (!known)
        row.nonlinear = remainder;
      else if (!remainder.is_number(0))
        add_known(row, states + source(remainder), 1.0);
    }
  }

  Expr column(std::int32_t c) { return c < 0 ? pool_.number(0) : column_symbol(system_, c); }

  void eliminate() {
    const std::size_t known = form_.state_rates.size() + form_.sources.size();
    for (Row& row : rows_) row.known.resize(known, 0.0);
    pivot_row_.assign(size_, -1);
    for (;;) {
      // Rows scaled to their largest entry; among acceptable pivots the sparsest row, linear variables first.
      int best_row = -1, best_column = -1;
      std::tuple<int, int> best{};
      for (int r = 0; r < static_cast<int>(rows_.size()); ++r) {
        const Row& row = rows_[r];
        if (row.used || row.nonlinear) continue;
        double largest = 0.0;
        int entries = 0;
        for (double v : row.unknown) {
          largest = std::max(largest, std::abs(v));
          entries += v != 0.0;
        }
        if (entries == 0) continue;
        for (std::int32_t c = 0; c < size_; ++c) {
          if (std::abs(row.unknown[c]) < 0.1 * largest) continue;
          const std::tuple rank{nonlinear_columns_.contains(c) ? 1 : 0, entries};
          if (best_row < 0 || rank < best) best = rank, best_row = r, best_column = c;
        }
      }
      if (best_row < 0) break;
      pivot(best_row, best_column);
    }
  }

  void pivot(int r, std::int32_t column) {
    Row& row = rows_[r];
    row.used = true;
    pivot_row_[column] = r;
    const double inverse = 1.0 / row.unknown[column];
    for (double& v : row.unknown) v *= inverse;
    for (double& v : row.known) v *= inverse;
    row.unknown[column] = 1.0;
    for (Row& other : rows_) {
      const double factor = other.unknown[column];
      if (&other == &row || factor == 0.0) continue;
      for (std::int32_t c = 0; c < size_; ++c) {
        const double before = other.unknown[c];
        if (row.unknown[c] == 0.0) continue;
        double& v = other.unknown[c];
        v -= factor * row.unknown[c];
        // What rounding leaves of an exact cancellation is a zero.
        if (std::abs(v) < 1e-14 * std::max(std::abs(before), std::abs(factor * row.unknown[c]))) v = 0.0;
      }
      other.unknown[column] = 0.0;
      for (std::size_t k = 0; k < row.known.size(); ++k) other.known[k] -= factor * row.known[k];
    }
  }

  Expr coefficient(double value) {
    if (value == 0.0 || value == 1.0 || value == -1.0) return pool_.number(value);
    const Expr symbol = pool_.symbol(fmt::format("~coefficient{}", form_.values.size()));
    form_.parameters.push_back(symbol);
    form_.values.push_back(value);
    return symbol;
  }

  void express() {
    const std::size_t states = form_.state_rates.size(), sources = form_.sources.size();
    for (std::size_t k = 0; k < states; ++k)
      form_.states.push_back(column_symbol(system_, static_cast<int>(k)));
    std::vector<std::int32_t> left;
    std::size_t nonlinear_rows = 0;
    for (std::int32_t c = 0; c < size_; ++c)
      if (pivot_row_[c] < 0) left.push_back(c);
    for (const Row& row : rows_) nonlinear_rows += static_cast<bool>(row.nonlinear);
    if (left.size() != nonlinear_rows) explain_singular(left);
    for (std::size_t k = 0; k < left.size(); ++k)
      form_.unknowns.push_back(column_symbol(system_, static_cast<int>(states + k)));
    form_.unknown_columns = left;

    // Any column in states, unknowns and sources. Exactly: column = -(row without it).
    std::vector<int> index_of_left(size_, -1);
    for (std::size_t k = 0; k < left.size(); ++k) index_of_left[left[k]] = static_cast<int>(k);
    const auto value_of = [&](std::int32_t column) {
      if (index_of_left[column] >= 0) return form_.unknowns[index_of_left[column]];
      return -linear_part(rows_[pivot_row_[column]], column, index_of_left);
    };
    ExprMap<Expr> solved;
    for (std::int32_t c = 0; c < n_; ++c) {
      form_.columns.push_back(value_of(c));
      solved[column_symbol(system_, c)] = form_.columns.back();
    }
    std::vector<Expr> rate_values;
    for (std::int32_t k = 0; k < rates_; ++k) {
      rate_values.push_back(value_of(n_ + k));
      solved[rate_symbol(k)] = rate_values.back();
    }
    for (std::int32_t k : form_.state_rates) form_.derivatives.push_back(rate_values[k]);
    for (const Row& row : rows_)
      if (row.nonlinear)
        form_.residuals.push_back(linear_part(row, -1, index_of_left) + substitute(row.nonlinear, solved));
    if (!form_.linear()) return;
    const auto copy = [&](std::vector<double>& by_state, std::vector<double>& by_source,
                          std::int32_t column) {
      const Row& row = rows_[pivot_row_[column]];
      for (std::size_t k = 0; k < states; ++k) by_state.push_back(-row.known[k]);
      for (std::size_t k = 0; k < sources; ++k) by_source.push_back(-row.known[states + k]);
    };
    for (std::int32_t k : form_.state_rates) copy(form_.a, form_.b, n_ + k);
    for (std::int32_t c = 0; c < n_; ++c) copy(form_.c, form_.d, c);
  }

  Expr linear_part(const Row& row, std::int32_t without, const std::vector<int>& index_of_left) {
    const std::size_t states = form_.state_rates.size();
    std::vector<Expr> terms;
    for (std::int32_t c = 0; c < size_; ++c)
      if (c != without && row.unknown[c] != 0.0 && index_of_left[c] >= 0)
        terms.push_back(coefficient(row.unknown[c]) * form_.unknowns[index_of_left[c]]);
    for (std::size_t k = 0; k < row.known.size(); ++k)
      if (row.known[k] != 0.0)
        terms.push_back(coefficient(row.known[k]) *
                        (k < states ? form_.states[k] : form_.sources[k - states]));
    return pool_.add(terms);
  }

  [[noreturn]] void explain_singular(const std::vector<std::int32_t>& left) {
    std::vector<std::string> details;
    for (std::size_t k = 0; k < left.size() && k < 5; ++k)
      details.push_back(
          fmt::format("not determined: {}", left[k] < n_ ? column_name(system_, left[k])
                                                         : "der(" + rate_name(system_, left[k] - n_) + ")"));
    details.push_back(
        "storage components that are coupled rigidly (by a gear, a transformer) share one state; use --form "
        "tableau");
    throw ModelError({{system_.model->file.string(), 0},
                      "T214",
                      "the states of the minimal form cannot be separated",
                      details});
  }

  const EquationSystem& system_;
  const Storage& storage_;
  Pool& pool_;
  const std::int32_t n_, rates_, size_;
  MinimalForm form_;
  std::vector<int> state_of_;
  std::vector<Row> rows_;
  std::vector<std::int32_t> pivot_row_;
  std::set<std::int32_t> nonlinear_columns_;
  std::map<std::int32_t, std::int32_t> discrete_of_column_;
};

}  // namespace

MinimalForm minimal_form(const EquationSystem& system, const Storage& storage) {
  if (system.size() > minimal_form_limit)
    throw ModelError({{system.model->file.string(), 0},
                      "T215",
                      fmt::format("the minimal form is for small systems: {} variables, {} at most",
                                  system.size(), minimal_form_limit),
                      {"use --form tableau"}});
  return Reduction(system, storage).reduce();
}

EquationSystem as_system(const EquationSystem& full, const MinimalForm& minimal) {
  EquationSystem system;
  system.model = full.model;
  Pool& pool = *full.model->pool;
  const auto states = minimal.states.size(), unknowns = minimal.unknowns.size();
  system.internal_columns = static_cast<std::int32_t>(states + unknowns);
  for (std::int32_t k : minimal.state_rates) system.names.push_back(rate_name(full, k));
  for (std::int32_t c : minimal.unknown_columns)
    system.names.push_back(c < full.size() ? column_name(full, c)
                                           : "der(" + rate_name(full, c - full.size()) + ")");
  Group group;
  group.time = pool.symbol("t");
  group.parameters = minimal.parameters;
  for (double v : minimal.values) group.values.push_back({v});
  for (std::size_t k = 0; k < full.discrete.size(); ++k) {
    group.held.push_back(static_cast<int>(group.parameters.size()));
    group.parameters.push_back(discrete_symbol(full, static_cast<int>(k)));
    group.values.push_back({full.discrete[k].start});
    group.additive.push_back(0);
    Discrete d = full.discrete[k];
    d.group = d.member = 0;
    d.held = static_cast<int>(k);
    d.column = -1;
    d.update = in_minimal_columns(minimal, d.update);
    system.discrete.push_back(std::move(d));
  }
  for (std::size_t k = 0; k < states + unknowns; ++k) {
    const bool state = k < states;
    const Expr symbol = state ? minimal.states[k] : minimal.unknowns[k - states];
    const Expr rate = state ? pool.symbol("der(" + symbol.name() + ")") : Expr();
    group.symbols.push_back({LocalSymbol::What::internal, static_cast<int>(k), symbol, rate});
    group.keep.push_back(1);
    group.plus.push_back({static_cast<std::int32_t>(k)});
    group.minus.push_back({-1});
    if (state) {
      group.rated.push_back(static_cast<int>(k));
      group.residuals.push_back(rate - minimal.derivatives[k]);
      system.rates.push_back({0, 0, static_cast<int>(k)});
    }
  }
  for (Expr g : minimal.residuals) group.residuals.push_back(g);
  group.components = {-1};
  group.first_row = {0};
  group.first_rate = {0};
  for (std::size_t k = 0; k < group.held.size(); ++k) {
    const Expr held = group.parameters[group.held[k]];
    bool additive = true;
    for (Expr residual : group.residuals)
      for (const LocalSymbol& s : group.symbols)
        additive = additive && !depends_on(derivative(residual, s.symbol), held);
    group.additive[k] = additive;
  }
  system.groups.push_back(std::move(group));
  return system;
}

Expr in_minimal_columns(const MinimalForm& minimal, Expr value) {
  ExprMap<Expr> columns;
  for (Expr s : symbols_of(std::span(&value, 1)))
    if (s.name() != "t" && s.name()[0] != 'h') columns[s] = minimal.columns[std::stol(s.name().substr(1))];
  ExprMap<Expr> numbers;
  for (std::size_t k = 0; k < minimal.parameters.size(); ++k)
    numbers[minimal.parameters[k]] = value.pool().number(minimal.values[k]);
  return substitute(substitute(value, columns), numbers);
}

}  // namespace tellegen
