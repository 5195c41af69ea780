#include "tellegen/equations/linearised.h"

#include <fmt/format.h>

namespace tellegen {

Expr point_symbol(Expr symbol) { return symbol.pool().symbol("@" + symbol.name()); }
Expr direction_symbol(Pool& pool, int equation) { return pool.symbol(fmt::format("~direction{}", equation)); }

EquationSystem linearised_system(const EquationSystem& system) {
  EquationSystem linear = system;
  Pool& pool = *system.model->pool;
  for (Group& group : linear.groups) {
    ExprMap<Expr> at;
    for (const LocalSymbol& s : group.symbols) {
      at[s.symbol] = point_symbol(s.symbol);
      if (s.rate) at[s.rate] = point_symbol(s.rate);
    }
    for (std::size_t q = 0; q < group.residuals.size(); ++q) {
      const Expr residual = group.residuals[q];
      std::vector<Expr> terms{direction_symbol(pool, static_cast<int>(q))};
      for (const LocalSymbol& s : group.symbols)
        for (Expr x : {s.symbol, s.rate})
          if (x) terms.push_back(substitute(derivative(residual, x), at) * x);
      group.residuals[q] = pool.add(terms);
    }
  }
  return linear;
}

namespace {

// Reads the coefficients of linear expressions, definitions written out.
class Reader {
 public:
  Reader(const EquationSystem& linear, const Group& group, const CondensedGroup& form)
      : pool_(*linear.model->pool), form_(form) {
    for (const Definition& d : form.definitions) meaning_[d.symbol] = substitute(d.value, meaning_);
    for (std::size_t q = 0; q < group.residuals.size(); ++q)
      directions_.push_back(direction_symbol(pool_, static_cast<int>(q)));
  }

  Expr written_out(Expr e) const { return substitute(e, meaning_); }

  void by_terminal(std::vector<LinearGroup::Coefficient>& to, int row, Expr e) const {
    for (std::size_t t = 0; t < form_.terminals.size(); ++t) add(to, row, t, e, form_.terminals[t].symbol);
  }
  void by_history(std::vector<LinearGroup::Coefficient>& to, int row, Expr e) const {
    for (std::size_t k = 0; k < form_.histories.size(); ++k) add(to, row, k, e, form_.histories[k]);
  }
  void by_direction(std::vector<LinearGroup::Coefficient>& to, int row, Expr e) const {
    for (std::size_t q = 0; q < directions_.size(); ++q) add(to, row, q, e, directions_[q]);
  }

 private:
  void add(std::vector<LinearGroup::Coefficient>& to, int row, std::size_t column, Expr e,
           Expr symbol) const {
    if (const Expr c = derivative(e, symbol); !c.is_number(0))
      to.push_back({row, static_cast<int>(column), c});
  }
  Pool& pool_;
  const CondensedGroup& form_;
  ExprMap<Expr> meaning_;
  std::vector<Expr> directions_;
};

}  // namespace

LinearGroup linear_group(const EquationSystem& linear, const Group& group, const CondensedGroup& form) {
  const Reader reader(linear, group, form);
  LinearGroup result;
  for (int r = 0; r < static_cast<int>(form.rows.size()); ++r) {
    const CondensedRow& row = form.rows[r];
    for (std::size_t t = 0; t < row.coefficients.size(); ++t)
      if (row.coefficients[t])
        result.row_by_terminal.push_back({r, static_cast<int>(t), reader.written_out(row.coefficients[t])});
    const Expr constant = reader.written_out(row.constant);
    reader.by_history(result.row_by_history, r, constant);
    reader.by_direction(result.row_by_direction, r, constant);
  }
  for (int k = 0; k < static_cast<int>(group.rated.size()); ++k) {
    const Expr value = reader.written_out(form.symbol_values[group.rated[k]]);
    reader.by_terminal(result.value_by_terminal, k, value);
    reader.by_history(result.value_by_history, k, value);
    reader.by_direction(result.value_by_direction, k, value);
  }
  return result;
}

LinearGroup linear_recovery(const EquationSystem& linear, const Group& group, const CondensedGroup& form) {
  const Reader reader(linear, group, form);
  LinearGroup result;
  int row = 0;
  const auto add = [&](Expr value) {
    const Expr written = reader.written_out(value);
    reader.by_terminal(result.value_by_terminal, row, written);
    reader.by_history(result.value_by_history, row, written);
    reader.by_direction(result.value_by_direction, row, written);
    ++row;
  };
  for (Expr v : form.symbol_values) add(v);
  for (Expr v : form.node_values) add(v);
  return result;
}

}  // namespace tellegen
