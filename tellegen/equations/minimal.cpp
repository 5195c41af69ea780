#include "tellegen/equations/minimal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "tellegen/model/named_formula.h"
#include "tellegen/symbolic/straight.h"

namespace tellegen {
namespace {

constexpr std::string_view coefficient_name = "~coefficient", own_number_name = "~number";

// A row of numbers, by column.
struct RowEntry {
  std::int32_t column;
  Traced value;
};
using SparseRow = std::vector<RowEntry>;

SparseRow::iterator place_of(SparseRow& row, std::int32_t column) {
  return std::lower_bound(row.begin(), row.end(), column,
                          [](const RowEntry& entry, std::int32_t c) { return entry.column < c; });
}

Traced* find_entry(SparseRow& row, std::int32_t column) {
  const auto at = place_of(row, column);
  return at != row.end() && at->column == column ? &at->value : nullptr;
}

void add_entry(Tape& tape, SparseRow& row, std::int32_t column, Traced value) {
  const auto at = place_of(row, column);
  if (at != row.end() && at->column == column)
    at->value = tape.add(at->value, value);
  else
    row.insert(at, {column, value});
}

// row -= factor other, without `eliminated`; columns that are new in it are told to `filled`. What rounding
// leaves of an exact cancellation is a zero.
template <class Filled>
void subtract(Tape& tape, SparseRow& row, Traced factor, const SparseRow& other, std::int32_t eliminated,
              SparseRow& work, const Filled& filled) {
  work.clear();
  auto a = row.begin();
  const auto copy_until = [&](std::int32_t column) {
    for (; a != row.end() && a->column < column; ++a)
      if (a->column != eliminated) work.push_back(*a);
  };
  for (const auto& [column, value] : other) {
    copy_until(column);
    const bool there = a != row.end() && a->column == column;
    const Traced before = there ? a->value : Traced{};
    if (there) ++a;
    if (column == eliminated) continue;
    const double change = factor.value * value.value, after = before.value - change;
    if (std::abs(after) < 1e-14 * std::max(std::abs(before.value), std::abs(change)) || after == 0.0) {
      tape.cancels(before, factor, value);
      continue;
    }
    work.push_back({column, tape.subtract_product(before, factor, value)});
    if (!there) filled(column);
  }
  copy_until(std::numeric_limits<std::int32_t>::max());
  row.swap(work);
}

class Reduction {
 public:
  Reduction(const EquationSystem& system, const Storage& storage, bool renumbered)
      : system_(system),
        storage_(storage),
        pool_(*system.model->pool),
        n_(system.size()),
        rates_(static_cast<std::int32_t>(system.rates.size())),
        size_(n_ + rates_),
        tape_(renumbered && system.discrete.empty() && storage.redundant.empty()) {
    for (std::size_t k = 0; k < system.discrete.size(); ++k)
      discrete_of_column_[system.discrete[k].column] = static_cast<std::int32_t>(k);
  }

  MinimalForm reduce() {
    choose_states();
    write_rows();
    eliminate();
    express();
    if (tape_.records() && !has_literals_) keep_tape();
    return std::move(form_);
  }

 private:
  // Unknown columns: 0..n-1 the tableau's, n.. the rates. Beside them each row carries known quantities:
  // states, then sources.
  struct Row {
    SparseRow unknown, known;
    Expr nonlinear;  // in column and rate symbols; empty: a linear row
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

  int source(Expr s, Expr derived_from) {
    // Two sources may have one derivative and jump at different times; one may stand beside its derivative.
    const auto [found, inserted] =
        (derived_from ? derivative_index_ : source_index_)
            .try_emplace(derived_from ? derived_from : s, static_cast<int>(form_.sources.size()));
    if (inserted) {
      form_.sources.push_back(s);
      form_.derived_from.push_back(derived_from);
    }
    return found->second;
  }

  void add_source(Row& row, Expr s, double factor, Expr derived_from = {}) {
    add_entry(tape_, row.known, static_cast<std::int32_t>(form_.state_rates.size()) + source(s, derived_from),
              {factor});
  }

  static bool may_jump(Expr value) {
    for (const Expr node : nodes_of(std::span(&value, 1))) {
      if (node.op() == Op::lookup && node.table()->interpolation == Interpolation::hold) return true;
      if (node.op() != Op::call) continue;
      for (std::string_view name :
           {"if", "floor", "ceil", "sign", "mod", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not"})
        if (node.function().name == name) return true;
    }
    return false;
  }

  Row& new_row() { return rows_.emplace_back(); }

  void write_rows() {
    for (std::int32_t c = 0; c < system_.node_columns; ++c) new_row();  // balances
    for (std::int32_t e = 0; e < system_.graph.edge_count(); ++e) {
      const GraphEdge& edge = system_.graph.edges[e];
      const auto column = system_.through_column(EdgeIndex{e});
      if (edge.from != datum_node) add(rows_[system_.node_column(edge.from)], column, 1.0);
      if (edge.to != datum_node) add(rows_[system_.node_column(edge.to)], column, -1.0);
    }
    for (const Group& group : system_.groups) write_terminal_rows(group);
    for (std::int32_t k = 0; k < rates_; ++k) {
      Row& row = new_row();
      const Rate& r = system_.rates[k];
      const Group& group = system_.groups[r.group];
      if (state_of_[k] >= 0) {
        add(row, group.plus[r.symbol][r.member], 1.0);
        add(row, group.minus[r.symbol][r.member], -1.0);
        add_entry(tape_, row.known, state_of_[k], {-1.0});
      }
    }
    for (const RedundantRate& r : storage_.redundant) {
      Row& row = rows_[rows_.size() - rates_ + r.rate];
      add(row, n_ + r.rate, 1.0);
      if (r.drive) add_source(row, r.drive, -1.0, may_jump(r.driven_by) ? r.driven_by : Expr{});
      for (const auto& term : r.terms) {
        if (term.rate >= 0) {
          add(row, n_ + term.rate, -term.sign);
        } else {
          const Expr rate = source_rate(system_, term.source);
          if (!rate)
            throw ModelError({{system_.model->file.string(), 0},
                              "T213",
                              fmt::format("'{}' follows a source that depends on other variables",
                                          rate_name(system_, r.rate)),
                              {"the minimal form needs that source's derivative", "use --form tableau"}});
          const Expr value = source_value(system_, term.source);
          if (may_jump(value))
            add_source(row, rate, -term.sign, value);
          else if (!rate.is_number(0))
            add_source(row, rate, -term.sign);
        }
      }
    }
  }

  void add(Row& row, std::int32_t column, Traced value) {
    if (column >= 0) add_entry(tape_, row.unknown, column, value);
  }
  void add(Row& row, std::int32_t column, double value) { add(row, column, Traced{value}); }

  // An equation whose slopes are functions of its component's numbers, for all members of a group.
  struct LinearEquation {
    std::vector<Expr> slopes, rate_slopes;  // by symbol, by rated symbol
    Expr remainder;                         // in numbers, time and discrete variables
  };

  std::optional<LinearEquation> linear_equation(const Group& group, Expr equation) {
    ExprMap<char> numbers;
    for (Expr p : group.parameters) numbers[p] = 1;
    for (int held : group.held) numbers.erase(group.parameters[held]);
    LinearEquation linear;
    ExprMap<Expr> zero;
    const std::vector<Expr> in_calls = symbols_in_calls(equation);
    const auto slope_by = [&](Expr symbol, std::vector<Expr>& slopes) {
      if (std::find(in_calls.begin(), in_calls.end(), symbol) != in_calls.end()) return false;
      slopes.push_back(derivative(equation, symbol));
      zero[symbol] = pool_.number(0);
      for (Expr s : symbols_of(std::span(&slopes.back(), 1)))
        if (!numbers.contains(s)) return false;
      return true;
    };
    for (const LocalSymbol& local : group.symbols)
      if (!slope_by(local.symbol, linear.slopes)) return std::nullopt;
    for (int rated : group.rated)
      if (!slope_by(group.symbols[rated].rate, linear.rate_slopes)) return std::nullopt;
    linear.remainder = substitute(equation, zero);
    return linear;
  }

  void write_terminal_rows(const Group& group) {
    std::vector<std::optional<LinearEquation>> linear;
    std::vector<char> whole;  // it has a name for a formula, which is to stay one
    for (Expr equation : group.residuals) {
      whole.push_back(has_named_formula(group, equation));
      linear.push_back(whole.back() ? std::nullopt : linear_equation(group, equation));
    }
    ExprMap<double> values;
    for (std::int32_t m = 0; m < group.size(); ++m) {
      for (std::size_t p = 0; p < group.parameters.size(); ++p)
        values[group.parameters[p]] = group.values[p][m];
      ExprMap<Expr> numbers;  // where an equation needs them
      for (std::size_t e = 0; e < group.residuals.size(); ++e) {
        Row& row = new_row();
        const auto finite = [&](const std::vector<Expr>& slopes) {
          return std::all_of(slopes.begin(), slopes.end(),
                             [&](Expr slope) { return std::isfinite(evaluate(slope, values)); });
        };
        if (!linear[e] && tape_.records()) {
          write_nonlinear_row(row, group, m, group.residuals[e], values, whole[e]);
          continue;
        }
        if (!linear[e] || !finite(linear[e]->slopes) || !finite(linear[e]->rate_slopes)) {
          if (numbers.empty()) numbers = numbers_of(group, m);
          has_literals_ = true;
          write_nonlinear_row(row, group, m, substitute(group.residuals[e], numbers), {}, whole[e]);
          continue;
        }
        for (std::size_t s = 0; s < group.symbols.size(); ++s)
          if (const Traced slope = slope_at(linear[e]->slopes[s], group, m, values); slope.value != 0.0) {
            add(row, group.plus[s][m], slope);
            add(row, group.minus[s][m], tape_.multiply({-1.0}, slope));
          }
        for (std::size_t k = 0; k < group.rated.size(); ++k)
          if (const Traced slope = slope_at(linear[e]->rate_slopes[k], group, m, values); slope.value != 0.0)
            add(row, n_ + group.first_rate[m] + static_cast<std::int32_t>(k), slope);
        Expr remainder = linear[e]->remainder;
        if (remainder.is_number(0)) continue;
        if (tape_.records()) {
          add_source(row, in_own_numbers(remainder, group, m), 1.0);
          continue;
        }
        if (numbers.empty()) numbers = numbers_of(group, m);
        remainder = substitute(remainder, numbers);
        if (!remainder.is_number(0)) add_source(row, remainder, 1.0);
      }
    }
  }

  bool has_named_formula(const Group& group, Expr equation) const {
    if (group.kind < 0) return false;
    const Kind& kind = system_.model->kinds[group.kind];
    for (const LocalSymbol& s : group.symbols)
      if (s.what == LocalSymbol::What::internal && names_a_formula(kind.variables[s.index].name) &&
          depends_on(equation, s.symbol))
        return true;
    return false;
  }

  Traced slope_at(Expr slope, const Group& group, std::int32_t m, const ExprMap<double>& values) {
    if (slope.is_number()) return {slope.number()};
    const Traced value = tape_.input(evaluate(slope, values));
    if (!tape_.records()) return value;
    form_.inputs.push_back({Evaluator(std::span(&slope, 1), group.parameters),
                            static_cast<std::int32_t>(&group - system_.groups.data()), m, slope});
    if (value.value == 0.0) tape_.is_zero(value);
    return value;
  }

  // A source whose numbers stay symbols, parameters of the form.
  Expr in_own_numbers(Expr source, const Group& group, std::int32_t m) {
    const auto g = static_cast<std::int32_t>(&group - system_.groups.data());
    ExprMap<Expr> own;
    for (std::size_t p = 0; p < group.parameters.size(); ++p) {
      if (!depends_on(source, group.parameters[p])) continue;
      const Expr symbol = pool_.symbol(fmt::format("{}{}.{}.{}", own_number_name, g, m, p));
      own[group.parameters[p]] = symbol;
      if (std::find(form_.parameters.begin(), form_.parameters.end(), symbol) != form_.parameters.end())
        continue;
      form_.parameters.push_back(symbol);
      form_.values.push_back(group.values[p][m]);
      form_.own_numbers.push_back({g, static_cast<std::int32_t>(p), m});
    }
    return substitute(source, own);
  }

  void keep_tape() {
    form_.value_slots.resize(form_.values.size(), -1);
    form_.tape = std::make_shared<Tape>(std::move(tape_));
  }

  ExprMap<Expr> numbers_of(const Group& group, std::int32_t m) {
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
    return numbers;
  }

  // `values`: of the numbers that are symbols in the residual.
  void write_nonlinear_row(Row& row, const Group& group, std::int32_t m, Expr residual,
                           const ExprMap<double>& values, bool whole) {
    ExprMap<Expr> rest;
    const std::vector<Expr> in_calls = symbols_in_calls(residual);
    const auto straight = [&](Expr slope, Expr symbol) {
      if (whole) return slope.is_number(0);
      if (std::find(in_calls.begin(), in_calls.end(), symbol) != in_calls.end()) return false;
      const auto symbols = symbols_of(std::span(&slope, 1));
      return std::all_of(symbols.begin(), symbols.end(), [&](Expr s) { return values.contains(s); }) &&
             std::isfinite(evaluate(slope, values));
    };
    for (std::size_t s = 0; s < group.symbols.size(); ++s) {
      const LocalSymbol& local = group.symbols[s];
      if (const Expr by = derivative(residual, local.symbol); straight(by, local.symbol)) {
        if (const Traced slope = slope_at(by, group, m, values); slope.value != 0.0) {
          add(row, group.plus[s][m], slope);
          add(row, group.minus[s][m], tape_.multiply({-1.0}, slope));
        }
        rest[local.symbol] = pool_.number(0);
      } else {
        rest[local.symbol] = column(group.plus[s][m]) - column(group.minus[s][m]);
        nonlinear_columns_.insert({group.plus[s][m], group.minus[s][m]});
      }
    }
    for (std::size_t k = 0; k < group.rated.size(); ++k) {
      const Expr rate = group.symbols[group.rated[k]].rate;
      const auto index = group.first_rate[m] + static_cast<std::int32_t>(k);
      if (const Expr by = derivative(residual, rate); straight(by, rate)) {
        if (const Traced slope = slope_at(by, group, m, values); slope.value != 0.0)
          add(row, n_ + index, slope);
        rest[rate] = pool_.number(0);
      } else {
        rest[rate] = rate_symbol(index);
        nonlinear_columns_.insert(n_ + index);
      }
    }
    const Expr remainder = in_own_numbers(substitute(residual, rest), group, m);
    // Known beforehand: time, discrete variables ("h3") and numbers.
    bool known = true;
    for (Expr s : symbols_of(std::span(&remainder, 1)))
      known = known && (s.name() == "t" || s.name()[0] == 'h' || s.name().starts_with(own_number_name));
    if (!known)
      row.nonlinear = remainder;
    else if (!remainder.is_number(0))
      add_source(row, remainder, 1.0);
  }

  Expr column(std::int32_t c) { return c < 0 ? pool_.number(0) : column_symbol(system_, c); }

  // What a row offers: the column to eliminate by it, and how willingly. Rows scaled to their largest entry;
  // among acceptable pivots the sparsest row, linear variables first.
  struct Offer {
    int nonlinear = 0, entries = 0;
    std::int32_t row = -1, column = -1;
    auto operator<=>(const Offer&) const = default;
  };
  Offer offer_of(std::int32_t r) const {
    const Row& row = rows_[r];
    double largest = 0.0;
    int entries = 0;
    for (const auto& [c, v] : row.unknown) {
      largest = std::max(largest, std::abs(v.value));
      entries += v.value != 0.0;
    }
    Offer best{2, entries, r, -1};
    if (row.used || row.nonlinear || entries == 0) return best;
    for (const auto& [c, v] : row.unknown) {
      if (std::abs(v.value) < 0.1 * largest) continue;
      if (const int nonlinear = nonlinear_columns_.contains(c); nonlinear < best.nonlinear)
        best.nonlinear = nonlinear, best.column = c;
      if (best.nonlinear == 0) break;
    }
    return best;
  }

  // Forward: each pivot leaves the rows that are not used yet, so what a row still has are later pivots'
  // columns. Backward: those are put in.
  void eliminate() {
    pivot_row_.assign(size_, -1);
    for (Row& row : rows_)
      std::erase_if(row.unknown, [&](const RowEntry& entry) {
        if (entry.value.value != 0.0) return false;
        tape_.is_zero(entry.value);
        return true;
      });
    std::vector<std::vector<std::int32_t>> rows_with(size_);  // and some that no longer have the column
    std::set<Offer> offers;
    std::vector<Offer> offered;
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(rows_.size()); ++r) {
      for (const auto& [c, v] : rows_[r].unknown) rows_with[c].push_back(r);
      offered.push_back(offer_of(r));
      if (offered.back().column >= 0) offers.insert(offered.back());
    }
    std::vector<std::int32_t> order;
    SparseRow work;
    while (!offers.empty()) {
      const Offer pivot = *offers.begin();
      offers.erase(offers.begin());
      Row& row = rows_[pivot.row];
      row.used = true;
      pivot_row_[pivot.column] = pivot.row;
      order.push_back(pivot.column);
      const Traced chosen = *find_entry(row.unknown, pivot.column);
      if (tape_.records()) {
        std::vector<Traced> others;
        for (const auto& [c, v] : row.unknown) others.push_back(v);
        tape_.is_large_among(chosen, others);
      }
      const Traced inverse = tape_.invert(chosen);
      for (auto& [c, v] : row.unknown) v = tape_.multiply(v, inverse);
      for (auto& [c, v] : row.known) v = tape_.multiply(v, inverse);
      *find_entry(row.unknown, pivot.column) = {1.0};
      const std::vector<std::int32_t> touched = std::move(rows_with[pivot.column]);
      for (const std::int32_t r : touched) {
        Row& other = rows_[r];
        if (other.used) continue;
        const Traced* entry = find_entry(other.unknown, pivot.column);
        if (!entry) continue;
        const Traced factor = *entry;
        subtract(tape_, other.unknown, factor, row.unknown, pivot.column, work,
                 [&](std::int32_t c) { rows_with[c].push_back(r); });
        subtract(tape_, other.known, factor, row.known, -1, work, [](std::int32_t) {});
        if (offered[r].column >= 0) offers.erase(offered[r]);
        offered[r] = offer_of(r);
        if (offered[r].column >= 0) offers.insert(offered[r]);
      }
    }
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      Row& row = rows_[pivot_row_[*at]];
      std::vector<std::int32_t> later;
      for (const auto& [c, v] : row.unknown)
        if (c != *at && pivot_row_[c] >= 0) later.push_back(c);
      for (const std::int32_t c : later) {
        const Traced* entry = find_entry(row.unknown, c);
        if (!entry) continue;
        const Traced factor = *entry;
        const Row& other = rows_[pivot_row_[c]];
        subtract(tape_, row.unknown, factor, other.unknown, c, work, [](std::int32_t) {});
        subtract(tape_, row.known, factor, other.known, -1, work, [](std::int32_t) {});
      }
    }
  }

  Expr coefficient(Traced coefficient) {
    const double value = coefficient.value;
    if (coefficient.slot < 0 && (value == 0.0 || value == 1.0 || value == -1.0)) return pool_.number(value);
    const Expr symbol = pool_.symbol(fmt::format("{}{}", coefficient_name, form_.values.size()));
    form_.parameters.push_back(symbol);
    form_.values.push_back(value);
    form_.value_slots.resize(form_.values.size(), -1);
    form_.value_slots.back() = coefficient.slot;
    return symbol;
  }

  void express() {
    const std::size_t states = form_.state_rates.size();
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
    for (std::size_t k = 0; k < states; ++k)
      for (const auto& [c, v] : rows_[pivot_row_[n_ + form_.state_rates[k]]].known) {
        const auto row = static_cast<std::int32_t>(k), first = static_cast<std::int32_t>(states);
        if (c < first)
          form_.a.push_back({row, c, -v.value, v.slot});
        else
          form_.b.push_back({row, c - first, -v.value, v.slot});
      }
  }

  Expr linear_part(const Row& row, std::int32_t without, const std::vector<int>& index_of_left) {
    const std::size_t states = form_.state_rates.size();
    std::vector<Expr> terms;
    for (const auto& [c, v] : row.unknown)
      if (c != without && v.value != 0.0 && index_of_left[c] >= 0)
        terms.push_back(coefficient(v) * form_.unknowns[index_of_left[c]]);
    for (const auto& [c, v] : row.known) {
      const auto k = static_cast<std::size_t>(c);
      if (v.value != 0.0)
        terms.push_back(coefficient(v) * (k < states ? form_.states[k] : form_.sources[k - states]));
    }
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
  ExprMap<int> source_index_, derivative_index_;
  Tape tape_;
  bool has_literals_ = false;  // an equation has the model's numbers in its formula
};

}  // namespace

void check_written_out(const EquationSystem& system) {
  // Variables of a mechanism are few to begin with, or each has a formula of its own.
  std::int32_t size = system.size();
  for (const Component& c : system.model->components) {
    const Kind& kind = system.model->kinds[c.kind];
    if (kind.edges.empty() && kind.name.starts_with("multibody."))
      size -= static_cast<std::int32_t>(kind.variables.size());
  }
  if (size <= written_out_limit) return;
  throw ModelError(
      {{system.model->file.string(), 0},
       "T215",
       fmt::format("the minimal form is written out for small systems only: {} variables, {} at most", size,
                   written_out_limit),
       {"use --form tableau, and method tr, bdf2 or adaptive instead of rk4"}});
}

MinimalForm minimal_form(const EquationSystem& system, const Storage& storage, bool renumbered) {
  return Reduction(system, storage, renumbered).reduce();
}

bool renumber(MinimalForm& form, const EquationSystem& system) {
  if (!form.tape) return false;
  std::vector<double>&inputs = form.input_values, &values = form.member_values;
  inputs.resize(form.inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    MinimalForm::Input& input = form.inputs[k];
    values.clear();
    for (const std::vector<double>& of_members : system.groups[input.group].values)
      values.push_back(of_members[input.member]);
    input.slope.run(values, std::span(&inputs[k], 1));
  }
  if (!form.tape->replay(inputs)) return false;
  for (std::size_t k = 0; k < form.own_numbers.size(); ++k) {
    const MinimalForm::OwnNumber& n = form.own_numbers[k];
    form.values[k] = system.groups[n.group].values[n.parameter][n.member];
  }
  for (std::size_t k = 0; k < form.values.size(); ++k)
    if (form.value_slots[k] >= 0) form.values[k] = form.tape->value(form.value_slots[k]);
  for (auto* matrix : {&form.a, &form.b})
    for (MinimalForm::Entry& entry : *matrix)
      if (entry.slot >= 0) entry.value = -form.tape->value(entry.slot);
  return true;
}

FormRows write_renumbered(RowList& list, const MinimalForm& form, const EquationSystem& system,
                          const SystemRows& numbers) {
  std::vector<RowValue> inputs;
  for (const MinimalForm::Input& input : form.inputs) {
    const Group& group = system.groups[input.group];
    ExprMap<RowValue> known;
    for (std::size_t p = 0; p < group.parameters.size(); ++p)
      known[group.parameters[p]] = numbers[input.group][p][input.member];
    inputs.push_back(list.evaluate(std::span(&input.written, 1), known).front());
  }
  const std::vector<RowValue> slots = form.tape->write(list, inputs);
  FormRows rows;
  rows.values.assign(form.values.begin(), form.values.end());
  for (std::size_t k = 0; k < form.own_numbers.size(); ++k) {
    const MinimalForm::OwnNumber& n = form.own_numbers[k];
    rows.values[k] = numbers[n.group][n.parameter][n.member];
  }
  for (std::size_t k = 0; k < form.values.size(); ++k)
    if (form.value_slots[k] >= 0) rows.values[k] = slots[form.value_slots[k]];
  const auto entries = [&](const std::vector<MinimalForm::Entry>& matrix, std::vector<RowValue>& to) {
    for (const MinimalForm::Entry& e : matrix)
      to.push_back(e.slot >= 0 ? list.negate(slots[e.slot]) : RowValue(e.value));
  };
  entries(form.a, rows.a);
  entries(form.b, rows.b);
  return rows;
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
  ExprMap<char> columns;
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
    columns[symbol] = 1;
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
    for (Expr residual : group.residuals) {
      const Expr by_held = derivative(residual, held);
      for (Expr s : symbols_of(std::span(&by_held, 1))) additive = additive && !columns.contains(s);
    }
    group.additive[k] = additive;
  }
  system.groups.push_back(std::move(group));
  return system;
}

Expr in_minimal_columns(const MinimalForm& minimal, Expr value) {
  ExprMap<Expr> columns;
  for (Expr s : symbols_of(std::span(&value, 1)))
    if (s.name() != "t" && s.name()[0] != 'h') columns[s] = minimal.columns[std::stol(s.name().substr(1))];
  const Expr written = substitute(value, columns);
  if (minimal.tape) return written;
  ExprMap<Expr> numbers;
  for (Expr s : symbols_of(std::span(&written, 1)))
    if (s.name().starts_with(coefficient_name))
      numbers[s] = value.pool().number(minimal.values[std::stoul(s.name().substr(coefficient_name.size()))]);
  return substitute(written, numbers);
}

}  // namespace tellegen
