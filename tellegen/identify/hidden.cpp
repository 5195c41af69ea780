#include "tellegen/identify/hidden.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/identify/responses.h"
#include "tellegen/identify/smooth.h"
#include "tellegen/model/parameters.h"
#include "tellegen/symbolic/evaluator.h"

namespace tellegen {
namespace {

constexpr std::size_t tried = 4;  // numbers of the relation without the hidden variable
constexpr double faint = 0.02;    // of the largest sum of b^2: the hidden variable cannot be told there

Signal halfway(const Signal& signal, std::size_t rows) {
  if (signal.constant()) return signal;
  std::vector<double> values(rows - 1);
  for (std::size_t k = 0; k + 1 < rows; ++k) values[k] = 0.5 * (signal[k] + signal[k + 1]);
  return Signal(std::move(values));
}

Signal slope(const Signal& signal, const std::vector<double>& times) {
  if (signal.constant()) return Signal(0.0);
  std::vector<double> values(times.size() - 1);
  for (std::size_t k = 0; k + 1 < times.size(); ++k)
    values[k] = (signal[k + 1] - signal[k]) / (times[k + 1] - times[k]);
  return Signal(std::move(values));
}

bool has(const Term& term, Expr unknown) {
  return std::find(term.unknowns.begin(), term.unknowns.end(), unknown) != term.unknowns.end();
}

// a + z b = 0, halfway between the rows.
struct Pair {
  Form a, b;
};

class Elimination {
 public:
  explicit Elimination(Relations relations) : relations_(std::move(relations)) {}

  // Variables that stand in every product of unknowns.
  std::vector<Expr> candidates() const {
    std::vector<Expr> common;
    bool any = false;
    const auto look = [&](const Form& form) {
      for (const Term& t : form.terms()) {
        if (t.unknowns.size() < 2) continue;
        if (!any) common = t.unknowns;
        std::erase_if(common, [&](Expr u) { return !has(t, u); });
        any = true;
      }
    };
    for (const Relations::State& s : relations_.states) look(s.rate);
    for (const Relations::Equation& e : relations_.equations) look(e.form);
    std::erase_if(common, [&](Expr u) {
      return std::none_of(relations_.states.begin(), relations_.states.end(),
                          [&](const auto& s) { return s.variable == u; });
    });
    return common;
  }

  // Empty: it cannot be eliminated.
  std::vector<Pair> pairs(Expr hidden) const {
    Relations plain = relations_;  // states with sums as rates, and G, A and B of the others as equations
    std::vector<const Relations::State*> driven;
    std::erase_if(plain.states,
                  [&](const Relations::State& s) { return s.variable == hidden || s.rate.contains(hidden); });
    for (const Relations::State& s : relations_.states)
      if (!(s.variable == hidden) && s.rate.contains(hidden)) driven.push_back(&s);
    std::vector<Form> given;
    for (const Relations::State* s : driven) {
      std::optional<Form> form = given_by_equation(*s, driven, hidden);
      if (!form) return {};
      given.push_back(std::move(*form));
    }
    if (driven.size() < 2 || !poles_of(plain).empty()) return {};
    plain.equations.clear();
    for (std::size_t k = 0; k < driven.size(); ++k) {
      Form a, b;
      for (Term t : driven[k]->rate.terms()) {
        Form& to = has(t, hidden) ? b : a;
        if (has(t, hidden)) t.unknowns.erase(std::find(t.unknowns.begin(), t.unknowns.end(), hidden));
        to.add(t);
      }
      for (std::size_t j = 0; j < driven.size(); ++j) {
        a = a.substituted(driven[j]->variable, given[j]);
        b = b.substituted(driven[j]->variable, given[j]);
      }
      for (const Form& form : {given[k], a, b}) {
        if (!in_plain_states(form, plain)) return {};
        plain.equations.push_back({form, ""});
      }
    }
    const std::vector<Form> forms = equations_in_signals(plain, {});
    std::vector<Pair> result;
    for (std::size_t k = 0; k < forms.size(); k += 3) {
      Pair pair;
      for (const Term& t : merged(forms[k + 1])) pair.a.add({t.factor, {}, halfway(t.signal, rows())});
      for (const Term& t : merged(forms[k]))
        pair.a.add({t.factor, {}, Signal(-1.0) * slope(t.signal, relations_.times)});
      for (const Term& t : merged(forms[k + 2])) pair.b.add({t.factor, {}, halfway(t.signal, rows())});
      if (pair.b.empty()) return {};
      const Expr unit = simplest_factor(pair.b);
      result.push_back({pair.a.divided(unit), pair.b.divided(unit)});
    }
    return result;
  }

  // The relations without the hidden variable, integrated, in the parameters that they contain.
  Relations crossed(const std::vector<Pair>& pairs) const {
    Relations result;
    for (std::size_t k = 0; k + 1 < rows(); ++k)
      result.times.push_back(0.5 * (relations_.times[k] + relations_.times[k + 1]));
    for (std::size_t s = 0; s < pairs.size(); ++s)
      for (std::size_t t = s + 1; t < pairs.size(); ++t) {
        Form product = pairs[s].a * pairs[t].b, integrated;
        product.add(pairs[t].a * pairs[s].b, -1.0);
        for (const Term& term : product.terms()) {
          std::vector<double> sum(rows() - 1);
          double total = 0.0;
          for (std::size_t k = 0; k < sum.size(); ++k)
            sum[k] = total += term.signal[k] * (relations_.times[k + 1] - relations_.times[k]);
          integrated.add({term.factor, {}, Signal(std::move(sum))});
        }
        if (!integrated.empty()) result.equations.push_back({std::move(integrated), ""});
      }
    std::vector<Expr> factors;
    for (const Relations::Equation& e : result.equations)
      for (const Term& t : e.form.terms()) factors.push_back(t.factor);
    const std::vector<Expr> used = symbols_of(factors);
    for (Expr p : relations_.parameters)
      if (std::find(used.begin(), used.end(), p) != used.end()) result.parameters.push_back(p);
    return result;
  }

  // States whose rates contain the hidden variable.
  std::vector<std::string> names(Expr hidden) const {
    std::vector<std::string> result;
    for (const Relations::State& s : relations_.states)
      if (!(s.variable == hidden) && s.rate.contains(hidden)) result.push_back(s.variable.name());
    return result;
  }

  // The hidden variable on the rows; NaN where nothing depends on it.
  std::vector<double> values(Expr hidden, const std::vector<Pair>& pairs, const std::vector<Expr>& parameters,
                             const std::vector<double>& numbers) const {
    std::vector<double> product(rows() - 1, 0.0), square(rows() - 1, 0.0);
    for (const Pair& pair : pairs) {
      const std::vector<double> a = evaluated(pair.a, parameters, numbers),
                                b = evaluated(pair.b, parameters, numbers);
      for (std::size_t k = 0; k < a.size(); ++k) {
        product[k] += a[k] * b[k];
        square[k] += b[k] * b[k];
      }
    }
    std::vector<double> found(rows(), std::numeric_limits<double>::quiet_NaN());
    for (const Relations::State& s : relations_.states)
      if (s.variable == hidden) found[0] = s.start;
    // Least squares over a few rows, in which it is taken to be constant: noise counts little where b is
    // small.
    const std::ptrdiff_t half = std::max<std::ptrdiff_t>(1, std::ssize(product) / 200),
                         end = std::ssize(product);
    double largest = 0.0, sum = 0.0, weight = 0.0;
    for (double b : square) largest = std::max(largest, b);
    for (std::ptrdiff_t k = 0; k < std::min(half, end); ++k) sum += product[k], weight += square[k];
    for (std::ptrdiff_t row = 1; row < end; ++row) {  // halves row - half to row + half - 1 lie around it
      if (row + half - 1 < end) sum += product[row + half - 1], weight += square[row + half - 1];
      if (row - half - 1 >= 0) sum -= product[row - half - 1], weight -= square[row - half - 1];
      if (row >= half && row + half <= end && weight > faint * largest * 2.0 * static_cast<double>(half))
        found[row] = -sum / weight;
    }
    return found;
  }

 private:
  std::size_t rows() const { return relations_.times.size(); }
  std::vector<Term> merged(const Form& form) const { return independent_terms(form, rows()); }

  // An equation may be multiplied by any combination of parameters; but the least squares of one that is
  // multiplied by an inductance are smallest where there is none. So one term shall have none before it.
  static Expr simplest_factor(const Form& form) {
    Expr best;
    std::size_t fewest = 0;
    for (const Term& t : form.terms()) {
      const auto operations = static_cast<std::size_t>(count_operations(std::span(&t.factor, 1)).nodes);
      if (!best || operations < fewest) best = t.factor, fewest = operations;
    }
    return best;
  }

  std::optional<Form> given_by_equation(const Relations::State& state,
                                        const std::vector<const Relations::State*>& driven,
                                        Expr hidden) const {
    for (const Relations::Equation& e : relations_.equations) {
      const Expr c = e.form.contains(hidden) ? Expr() : e.form.coefficient(state.variable);
      const bool others = std::any_of(driven.begin(), driven.end(), [&](const Relations::State* s) {
        return !(s->variable == state.variable) && e.form.contains(s->variable);
      });
      if (c && !others) return e.form.without(state.variable).divided(-c);
    }
    return std::nullopt;
  }

  static bool in_plain_states(const Form& form, const Relations& plain) {
    return std::all_of(form.terms().begin(), form.terms().end(), [&](const Term& t) {
      return t.unknowns.empty() ||
             (t.unknowns.size() == 1 &&
              std::any_of(plain.states.begin(), plain.states.end(),
                          [&](const Relations::State& s) { return s.variable == t.unknowns[0]; }));
    });
  }

  std::vector<double> evaluated(const Form& form, const std::vector<Expr>& parameters,
                                const std::vector<double>& numbers) const {
    std::vector<Expr> factors;
    for (const Term& t : form.terms()) factors.push_back(t.factor);
    Evaluator program(factors, parameters);
    std::vector<double> at(factors.size()), sum(rows() - 1, 0.0);
    program.run(numbers, at);
    for (std::size_t k = 0; k < at.size(); ++k)
      for (std::size_t row = 0; row < sum.size(); ++row) sum[row] += at[k] * form.terms()[k].signal[row];
    return sum;
  }

  Relations relations_;
};

// The other parameters, once those of the eliminated relation have numbers and the hidden variable is read.
struct Rest {
  const Model& model;
  const Record& record;
  const std::vector<int>& unknowns;
  const std::vector<char>& negative;
  const std::vector<Expr>& positive;

  std::vector<RelationStart> starts(Expr hidden, const std::vector<double>& values,
                                    const std::vector<Expr>& found, const RelationStart& first,
                                    HiddenVariable& result) const {
    std::vector<double> numbers(unknowns.size());
    std::vector<int> set, open;
    std::vector<char> open_negative;
    ExprMap<Expr> known;
    std::vector<double> set_numbers;
    for (std::size_t k = 0; k < unknowns.size(); ++k) {
      const Expr symbol = model.parameters[unknowns[k]].symbol;
      const auto at = std::find(found.begin(), found.end(), symbol);
      if (at == found.end()) {
        open.push_back(unknowns[k]);
        open_negative.push_back(negative[k]);
        continue;
      }
      numbers[k] = first.numbers[static_cast<std::size_t>(at - found.begin())];
      known[symbol] = model.pool->number(numbers[k]);
      set.push_back(unknowns[k]);
      set_numbers.push_back(numbers[k]);
    }
    if (open.empty()) return {{numbers, first.cost}};
    const std::vector<double> smooth = smoothed(values, white_noise(values));
    Model with = model;
    try {
      set_parameters(with, set, set_numbers);
    } catch (const ModelError&) {
      return {};
    }
    const Relations relations =
        derive_relations(with, record, open, {{hidden.name(), hidden, Signal(smooth)}});
    std::vector<Expr> kept;
    for (Expr e : positive)
      if (const Expr rest = substitute(e, known); !rest.is_number()) kept.push_back(rest);
    const RelationSearch search = search_relations({&relations, 1}, open_negative, kept);
    if (!search.missing.empty()) return {};
    result.left_out = relations.left_out;
    result.search.regressions += search.regressions;
    for (const Relations::Equation& e : relations.equations)
      if (std::find(result.equations.begin(), result.equations.end(), e.name) == result.equations.end())
        result.equations.push_back(e.name);
    std::vector<RelationStart> all;
    for (const RelationStart& s : search.starts) {
      std::size_t at = 0;
      for (std::size_t k = 0; k < unknowns.size(); ++k)
        if (std::find(open.begin(), open.end(), unknowns[k]) != open.end()) numbers[k] = s.numbers[at++];
      all.push_back({numbers, first.cost});
    }
    return all;
  }
};

}  // namespace

std::optional<HiddenVariable> search_hidden(const Model& model, const Record& record,
                                            const std::vector<int>& unknowns,
                                            const std::vector<char>& negative,
                                            const std::vector<Expr>& positive) {
  if (record.steps < 4) return std::nullopt;
  const Relations whole = derive_relations(model, record, unknowns, {}, true);
  const Elimination elimination(whole);
  for (Expr hidden : elimination.candidates()) {
    const std::vector<Pair> pairs = elimination.pairs(hidden);
    if (pairs.empty()) continue;
    const Relations crossed = elimination.crossed(pairs);
    std::vector<char> may_be_negative;
    for (std::size_t k = 0; k < whole.parameters.size(); ++k)
      if (std::find(crossed.parameters.begin(), crossed.parameters.end(), whole.parameters[k]) !=
          crossed.parameters.end())
        may_be_negative.push_back(negative[k]);
    const auto in_crossed = [&](Expr e) {
      const std::vector<Expr> symbols = symbols_of(std::span(&e, 1));
      return std::all_of(symbols.begin(), symbols.end(), [&](Expr s) {
        return std::find(crossed.parameters.begin(), crossed.parameters.end(), s) != crossed.parameters.end();
      });
    };
    std::vector<Expr> kept_positive;
    for (Expr e : positive)
      if (in_crossed(e)) kept_positive.push_back(e);
    const RelationSearch first = search_relations({&crossed, 1}, may_be_negative, kept_positive);
    HiddenVariable result;
    result.name = hidden.name();
    result.equations = elimination.names(hidden);
    result.search.regressions = first.regressions;
    const Rest rest{model, record, unknowns, negative, positive};
    for (std::size_t k = 0; k < first.starts.size() && k < tried; ++k) {
      const std::vector<double> values =
          elimination.values(hidden, pairs, crossed.parameters, first.starts[k].numbers);
      for (RelationStart& s : rest.starts(hidden, values, crossed.parameters, first.starts[k], result))
        result.search.starts.push_back(std::move(s));
    }
    if (!result.search.starts.empty()) return result;
  }
  return std::nullopt;
}

}  // namespace tellegen
