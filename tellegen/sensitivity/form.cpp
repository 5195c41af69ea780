#include "tellegen/sensitivity/form.h"

#include <algorithm>
#include <cmath>

namespace tellegen {
namespace {

constexpr double negligible = 1e-12;  // of what was added: rounding of sines that add up to nothing
constexpr int highest_power = 4;

template <class Operation>
Signal combined(const Signal& a, const Signal& b, Operation operation) {
  if (a.constant() && b.constant()) return Signal(operation(a[0], b[0]));
  std::vector<double> values(std::max(a.rows(), b.rows()));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = operation(a[k], b[k]);
  return Signal(std::move(values));
}

}  // namespace

Signal::Signal(std::vector<double> values) : values_(std::move(values)) {
  if (values_.empty()) values_ = {0.0};
  if (std::all_of(values_.begin(), values_.end(), [&](double v) { return v == values_[0]; }))
    values_.resize(1);
}

double Signal::largest() const {
  double found = 0.0;
  for (double v : values_) found = std::max(found, std::abs(v));
  return found;
}

double Signal::rms() const {
  double sum = 0.0;
  for (double v : values_) sum += v * v;
  return std::sqrt(sum / static_cast<double>(values_.size()));
}

Signal operator+(const Signal& a, const Signal& b) {
  return combined(a, b, [](double x, double y) { return x + y; });
}
Signal operator*(const Signal& a, const Signal& b) {
  return combined(a, b, [](double x, double y) { return x * y; });
}

void Form::add(const Term& term) {
  if (term.signal.constant() && term.signal[0] == 0.0) return;
  const Scaled split = split_coefficient(term.factor);
  Term normal = term;
  if (term.factor.is_number()) {
    normal.factor = term.factor.pool().number(1.0);
    normal.signal = Signal(term.factor.number()) * term.signal;
  } else if (split.coefficient != 1.0) {
    normal.factor = split.rest;
    normal.signal = Signal(split.coefficient) * term.signal;
  }
  for (std::size_t k = 0; k < terms_.size(); ++k) {
    Term& t = terms_[k];
    if (!(t.factor == normal.factor && t.unknowns == normal.unknowns)) continue;
    const double before = t.signal.largest() + normal.signal.largest();
    t.signal = t.signal + normal.signal;
    if (t.signal.largest() <= negligible * before) terms_.erase(terms_.begin() + static_cast<long>(k));
    return;
  }
  terms_.push_back(std::move(normal));
}

void Form::add(const Form& other, double scale) {
  for (const Term& t : other.terms_) add({t.factor, t.unknowns, Signal(scale) * t.signal});
}

bool Form::known() const {
  return std::all_of(terms_.begin(), terms_.end(), [](const Term& t) { return t.unknowns.empty(); });
}

bool Form::numeric() const {
  return std::all_of(terms_.begin(), terms_.end(), [](const Term& t) { return t.factor.is_number(); });
}

bool Form::contains(Expr unknown) const {
  return std::any_of(terms_.begin(), terms_.end(), [&](const Term& t) {
    return std::find(t.unknowns.begin(), t.unknowns.end(), unknown) != t.unknowns.end();
  });
}

int Form::degree() const {
  std::size_t most = 0;
  for (const Term& t : terms_) most = std::max(most, t.unknowns.size());
  return static_cast<int>(most);
}

Expr Form::coefficient(Expr unknown) const {
  Expr sum;
  for (const Term& t : terms_) {
    if (std::find(t.unknowns.begin(), t.unknowns.end(), unknown) == t.unknowns.end()) continue;
    if (t.unknowns.size() > 1 || !t.signal.constant()) return {};
    const Expr part = t.signal[0] * t.factor;
    sum = sum ? sum + part : part;
  }
  return sum && !sum.is_number(0.0) ? sum : Expr();
}

Form Form::without(Expr unknown) const {
  Form rest;
  for (const Term& t : terms_)
    if (std::find(t.unknowns.begin(), t.unknowns.end(), unknown) == t.unknowns.end()) rest.add(t);
  return rest;
}

Form Form::substituted(Expr unknown, const Form& value) const {
  Form result;
  for (const Term& t : terms_) {
    const auto at = std::find(t.unknowns.begin(), t.unknowns.end(), unknown);
    if (at == t.unknowns.end()) {
      result.add(t);
      continue;
    }
    Form rest;
    Term others = t;
    others.unknowns.erase(others.unknowns.begin() + (at - t.unknowns.begin()));
    rest.add(others);
    result.add((rest * value).substituted(unknown, value));
  }
  return result;
}

Form Form::divided(Expr coefficient) const {
  Form result;
  for (const Term& t : terms_) result.add({t.factor / coefficient, t.unknowns, t.signal});
  return result;
}

Signal Form::value() const {
  Signal sum;
  for (const Term& t : terms_) sum = sum + t.signal;
  return sum;
}

Form operator*(const Form& a, const Form& b) {
  Form result;
  for (const Term& s : a.terms())
    for (const Term& t : b.terms()) {
      Term product{s.factor * t.factor, s.unknowns, s.signal * t.signal};
      product.unknowns.insert(product.unknowns.end(), t.unknowns.begin(), t.unknowns.end());
      std::sort(product.unknowns.begin(), product.unknowns.end());
      result.add(product);
    }
  return result;
}

void SignalTable::set(Expr symbol, Signal value) {
  known_[symbol] = std::move(value);
  cache_.clear();
}

Signal SignalTable::value(Expr e) {
  for (Expr node : nodes_of(std::span(&e, 1)))
    if (!cache_.contains(node)) cache_[node] = computed(node);
  return cache_.at(e);
}

Signal SignalTable::computed(Expr e) {
  if (e.is_number()) return Signal(e.number());
  if (e.is_symbol()) return known_.at(e);
  const std::span<const Expr> args = e.args();
  if (e.op() == Op::add || e.op() == Op::multiply) {
    Signal result(e.op() == Op::add ? 0.0 : 1.0);
    for (Expr a : args) result = e.op() == Op::add ? result + cache_.at(a) : result * cache_.at(a);
    return result;
  }
  std::vector<const Signal*> given;
  std::size_t rows = 1;
  for (Expr a : args) {
    given.push_back(&cache_.at(a));
    rows = std::max(rows, given.back()->rows());
  }
  std::vector<double> values(rows), at(args.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t a = 0; a < at.size(); ++a) at[a] = (*given[a])[row];
    values[row] = e.op() == Op::power    ? power_value(at[0], at[1])
                  : e.op() == Op::lookup ? e.table()->value_at(at.data(), e.order())
                                         : e.function().value(at.data(), static_cast<int>(at.size()));
  }
  return Signal(std::move(values));
}

namespace {

class FormReader {
 public:
  FormReader(SignalTable& known, const ExprMap<int>& parameters)
      : known_(known), parameters_(parameters), one_(known.pool().number(1.0)) {}

  std::optional<Form> read(Expr e) {
    const std::vector<Expr> symbols = symbols_of(std::span(&e, 1));
    const bool has_parameter =
        std::any_of(symbols.begin(), symbols.end(), [&](Expr s) { return parameters_.contains(s); });
    const bool has_signal =
        std::any_of(symbols.begin(), symbols.end(), [&](Expr s) { return known_.contains(s); });
    const bool has_unknown = std::any_of(symbols.begin(), symbols.end(), [&](Expr s) {
      return !parameters_.contains(s) && !known_.contains(s);
    });
    if (!has_parameter && !has_unknown) return single({one_, {}, known_.value(e)});
    if (!has_signal && !has_unknown) return single({e, {}, Signal(1.0)});
    switch (e.op()) {
      case Op::symbol:
        return single({one_, {e}, Signal(1.0)});
      case Op::add:
        return sum(e);
      case Op::multiply:
        return product(e);
      case Op::power:
        return power(e);
      default:
        return std::nullopt;
    }
  }

 private:
  static Form single(const Term& term) {
    Form form;
    form.add(term);
    return form;
  }

  std::optional<Form> sum(Expr e) {
    Form total;
    for (Expr a : e.args()) {
      const std::optional<Form> part = read(a);
      if (!part) return std::nullopt;
      total.add(*part);
    }
    return total;
  }

  std::optional<Form> product(Expr e) {
    Form total = single({one_, {}, Signal(1.0)});
    for (Expr a : e.args()) {
      const std::optional<Form> part = read(a);
      if (!part) return std::nullopt;
      total = total * *part;
    }
    return total;
  }

  std::optional<Form> power(Expr e) {
    const Expr exponent = e.args()[1];
    const std::optional<Form> base = read(e.args()[0]);
    if (!base || !exponent.is_number()) return std::nullopt;
    if (base->terms().size() == 1 && base->known()) {  // (a s)^n = a^n s^n
      const Term& t = base->terms()[0];
      std::vector<double> values(t.signal.rows());
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = power_value(t.signal[k], exponent.number());
      return single({pow(t.factor, exponent), {}, Signal(std::move(values))});
    }
    const double n = exponent.number();
    if (n != std::floor(n) || n < 2.0 || n > highest_power) return std::nullopt;
    Form total = *base;
    for (int k = 1; k < static_cast<int>(n); ++k) total = total * *base;
    return total;
  }

  SignalTable& known_;
  const ExprMap<int>& parameters_;
  Expr one_;
};

}  // namespace

std::optional<Form> form_of(Expr e, SignalTable& known, const ExprMap<int>& parameters) {
  return FormReader(known, parameters).read(e);
}

}  // namespace tellegen
