// An equation whose measured quantities are numbers already: a sum of
//
//   factor(parameters) * signal(t) * unknown variables
//
// A signal is a number at each row of a record. What is linear in unknown variables and in combinations of
// parameters, once measured quantities are put in, can be read off.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

// One number for each row, or one for all.
class Signal {
 public:
  Signal(double constant = 0.0) : values_{constant} {}
  explicit Signal(std::vector<double> values);  // those that are equal become one
  bool constant() const { return values_.size() == 1; }
  double operator[](std::size_t row) const { return constant() ? values_[0] : values_[row]; }
  std::size_t rows() const { return values_.size(); }  // 1: constant
  double largest() const;                              // magnitude
  double rms() const;

 private:
  std::vector<double> values_;
};
Signal operator+(const Signal& a, const Signal& b);
Signal operator*(const Signal& a, const Signal& b);

struct Term {
  Expr factor;                 // in unknown parameters; a number is in the signal
  std::vector<Expr> unknowns;  // variables and rates, sorted; none: known
  Signal signal;
};

// A sum of terms. Equal factors and unknowns are one term; those that vanish on every row are none: voltages
// of a star point add up to zero whatever it does.
class Form {
 public:
  void add(const Term& term);
  void add(const Form& other, double scale = 1.0);
  const std::vector<Term>& terms() const { return terms_; }
  bool empty() const { return terms_.empty(); }
  bool known() const;    // no unknown variable
  bool numeric() const;  // no parameter
  bool contains(Expr unknown) const;
  int degree() const;  // most unknowns in a product
  // Numbers and parameters that multiply `unknown`; empty: a signal that changes, or a product with others.
  Expr coefficient(Expr unknown) const;
  Form without(Expr unknown) const;
  Form substituted(Expr unknown, const Form& value) const;
  Form divided(Expr coefficient) const;
  Signal value() const;  // where it is known and numeric

 private:
  std::vector<Term> terms_;
};
Form operator*(const Form& a, const Form& b);

// Values of expressions on the rows, from those of symbols.
class SignalTable {
 public:
  explicit SignalTable(Pool& pool) : pool_(pool) {}
  void set(Expr symbol, Signal value);
  bool contains(Expr symbol) const { return known_.contains(symbol); }
  const Signal& at(Expr symbol) const { return known_.at(symbol); }
  Pool& pool() const { return pool_; }
  Signal value(Expr e);  // all its symbols are known

 private:
  Signal computed(Expr e);
  Pool& pool_;
  ExprMap<Signal> known_, cache_;
};

// An expression of known symbols, `parameters` and unknown variables as a form. Empty: it is no sum of such
// products (an unknown variable in a sine).
std::optional<Form> form_of(Expr e, SignalTable& known, const ExprMap<int>& parameters);

}  // namespace tellegen
