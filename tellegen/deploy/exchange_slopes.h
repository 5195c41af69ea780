// Derivatives of formulas along a list of assignments, by the chain rule: forward, and sparse.
#pragma once

#include <map>
#include <vector>

#include "tellegen/deploy/exchange_model.h"
#include "tellegen/program/program.h"

namespace tellegen {

class ExchangeSlopes {
 public:
  using Row = std::map<std::size_t, Expr>;  // known: d / d known, where it is not zero

  // What has to be computed is appended to `list`.
  ExchangeSlopes(Pool& pool, Assignments& list) : pool_(pool), list_(list) {}
  void add_known(Expr symbol);
  void set_kind(Expr symbol,
                ExchangeModel::Dependence kind);  // of one that changes less often; before what uses it
  void add_assigned(Expr symbol, Expr value);     // in symbols that were added before
  // Symbols that residuals determine: the implicit function theorem. False where its matrix has no acceptable
  // pivots at the points. `named`: so many of explicit_form's names are taken.
  bool add_implicit(const std::vector<Expr>& residuals, const std::vector<Expr>& symbols, std::size_t named,
                    std::vector<ExprMap<double>> points);

  Row slopes_of(Expr value);  // of a formula in the symbols added
  ExchangeModel::Dependence kind_of(Expr value) const;
  bool of_time(Expr value) const;

 private:
  Expr define(Expr value);  // a name for it
  void note(Expr symbol, Expr value);

  Pool& pool_;
  Assignments& list_;
  std::size_t knowns_ = 0;
  ExprMap<Row> slopes_;
  ExprMap<ExchangeModel::Dependence> kinds_;
  ExprMap<char> timed_;
};

}  // namespace tellegen
