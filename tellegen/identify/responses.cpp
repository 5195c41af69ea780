#include "tellegen/identify/responses.h"

#include <Eigen/LU>
#include <algorithm>

namespace tellegen {
namespace {

// Blocks of states that depend on one another, each after those it depends on.
std::vector<std::vector<int>> blocks_of(const Relations& relations) {
  const int n = static_cast<int>(relations.states.size());
  std::vector<std::vector<char>> reaches(n, std::vector<char>(n, 0));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      reaches[i][j] = i == j || relations.states[i].rate.contains(relations.states[j].variable);
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) reaches[i][j] = reaches[i][j] || (reaches[i][k] && reaches[k][j]);
  std::vector<std::vector<int>> blocks;
  std::vector<char> done(n, 0);
  while (std::find(done.begin(), done.end(), 0) != done.end())
    for (int i = 0; i < n; ++i) {
      if (done[i]) continue;
      std::vector<int> block;
      bool ready = true;
      for (int j = 0; j < n; ++j) {
        if (done[j] || !reaches[i][j]) continue;
        if (reaches[j][i])
          block.push_back(j);
        else
          ready = false;
      }
      if (!ready) continue;
      for (int j : block) done[j] = 1;
      blocks.push_back(std::move(block));
    }
  return blocks;
}

int place_in(const Relations& relations, const std::vector<int>& block, const Term& term) {
  for (std::size_t k = 0; k < block.size(); ++k)
    if (!term.unknowns.empty() && term.unknowns[0] == relations.states[block[k]].variable)
      return static_cast<int>(k);
  return -1;
}

// Between two rows, as a cubic through their neighbours goes: noise is not made larger, and what turns with
// the supply's frequency is integrated to fourth order.
double middle(const Signal& signal, std::size_t k, std::size_t rows) {
  if (signal.constant()) return signal[0];
  if (k < 2 || k + 1 >= rows) return 0.5 * (signal[k - 1] + signal[k]);
  return (9.0 * (signal[k - 1] + signal[k]) - signal[k - 2] - signal[k + 1]) / 16.0;
}

// A term over the step that ends at row k: its rate at the beginning, in the middle and at the end. Where it
// has the rate of a known variable, what that changed by.
struct OverStep {
  double begin = 0.0, middle = 0.0, end = 0.0;
};
OverStep over_step(const Relations& relations, const Term& term, std::size_t k) {
  const std::vector<double>& times = relations.times;
  OverStep rate{term.signal[k - 1], middle(term.signal, k, times.size()), term.signal[k]};
  if (term.unknowns.empty()) return rate;
  const Signal& over = relations.integrated.at(term.unknowns[0]);
  const double slope = (over[k] - over[k - 1]) / (times[k] - times[k - 1]);
  return {rate.begin * slope, rate.middle * slope, rate.end * slope};
}

class Responses {
 public:
  Responses(const Relations& relations, const ExprMap<double>& poles) : relations_(relations), poles_(poles) {
    for (const std::vector<int>& block : blocks_of(relations)) integrate(block);
  }

  Form without_states(const Form& form) const {
    Form result = form;
    for (const auto& [variable, value] : solved_)
      if (result.contains(variable)) result = result.substituted(variable, value);
    return result;
  }

 private:
  struct Source {  // one factor of the block, and what it drives
    Expr factor;
    std::vector<std::vector<OverStep>> rates;  // per state of the block; empty: nothing
  };

  void integrate(const std::vector<int>& block) {
    std::vector<std::vector<Signal>> a(block.size(), std::vector<Signal>(block.size()));
    const Expr one = relations_.parameters.front().pool().number(1.0);
    std::vector<Source> sources{{one, std::vector<std::vector<OverStep>>(block.size())}};
    for (std::size_t i = 0; i < block.size(); ++i) {
      const Form rate = without_states(relations_.states[block[i]].rate);
      for (const Term& t : rate.terms()) {
        if (const int j = place_in(relations_, block, t); j >= 0)
          a[i][j] = a[i][j] + Signal(t.factor.is_number() ? 1.0 : poles_.at(t.factor)) * t.signal;
        else
          drive(sources, t, i, block.size());
      }
    }
    std::vector<std::vector<std::vector<double>>> values(
        block.size(),
        std::vector<std::vector<double>>(sources.size(), std::vector<double>(relations_.times.size())));
    Eigen::MatrixXd z = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(block.size()),
                                              static_cast<Eigen::Index>(sources.size()));
    for (std::size_t i = 0; i < block.size(); ++i)
      z(static_cast<Eigen::Index>(i), 0) = relations_.states[block[i]].start;
    for (std::size_t k = 0; k < relations_.times.size(); ++k) {
      if (k > 0) z = stepped(z, a, sources, k);
      for (std::size_t i = 0; i < block.size(); ++i)
        for (std::size_t s = 0; s < sources.size(); ++s)
          values[i][s][k] = z(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(s));
    }
    for (std::size_t i = 0; i < block.size(); ++i) {
      Form state;
      for (std::size_t s = 0; s < sources.size(); ++s)
        state.add({sources[s].factor, {}, Signal(std::move(values[i][s]))});
      solved_.emplace_back(relations_.states[block[i]].variable, std::move(state));
    }
  }

  // To row k, all sources at once: by the classical Runge-Kutta formula, or where a pole is too fast for it
  // by the trapezoidal rule.
  Eigen::MatrixXd stepped(const Eigen::MatrixXd& z, const std::vector<std::vector<Signal>>& a,
                          const std::vector<Source>& sources, std::size_t k) const {
    const double h = relations_.times[k] - relations_.times[k - 1];
    const Eigen::Index n = z.rows();
    Eigen::MatrixXd begin(n, n), between(n, n), end(n, n);
    Eigen::MatrixXd from = Eigen::MatrixXd::Zero(n, z.cols()), over = from, to = from;
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) {
        const Signal& entry = a[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
        begin(i, j) = entry[k - 1];
        between(i, j) = middle(entry, k, relations_.times.size());
        end(i, j) = entry[k];
      }
      for (Eigen::Index s = 0; s < z.cols(); ++s) {
        const auto& rates = sources[static_cast<std::size_t>(s)].rates[static_cast<std::size_t>(i)];
        if (rates.empty()) continue;
        from(i, s) = rates[k].begin;
        over(i, s) = rates[k].middle;
        to(i, s) = rates[k].end;
      }
    }
    if (h * std::max(begin.cwiseAbs().maxCoeff(), end.cwiseAbs().maxCoeff()) > 1.0) {
      const Eigen::MatrixXd unit = Eigen::MatrixXd::Identity(n, n);
      return (unit - 0.5 * h * end)
          .partialPivLu()
          .solve((unit + 0.5 * h * begin) * z + 0.5 * h * (from + to));
    }
    const Eigen::MatrixXd k1 = begin * z + from;
    const Eigen::MatrixXd k2 = between * (z + 0.5 * h * k1) + over;
    const Eigen::MatrixXd k3 = between * (z + 0.5 * h * k2) + over;
    const Eigen::MatrixXd k4 = end * (z + h * k3) + to;
    return z + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4);
  }

  void drive(std::vector<Source>& sources, const Term& term, std::size_t state, std::size_t states) const {
    auto found = std::find_if(sources.begin(), sources.end(),
                              [&](const Source& s) { return s.factor == term.factor; });
    if (found == sources.end()) {
      sources.push_back({term.factor, std::vector<std::vector<OverStep>>(states)});
      found = sources.end() - 1;
    }
    std::vector<OverStep>& sum = found->rates[state];
    sum.resize(relations_.times.size());
    for (std::size_t k = 1; k < sum.size(); ++k) {
      const OverStep more = over_step(relations_, term, k);
      sum[k].begin += more.begin;
      sum[k].middle += more.middle;
      sum[k].end += more.end;
    }
  }

  const Relations& relations_;
  const ExprMap<double>& poles_;
  std::vector<std::pair<Expr, Form>> solved_;
};

}  // namespace

std::vector<Expr> poles_of(const Relations& relations) {
  std::vector<Expr> poles;
  for (const std::vector<int>& block : blocks_of(relations))
    for (int i : block)
      for (const Term& t : relations.states[i].rate.terms())
        if (place_in(relations, block, t) >= 0 && !t.factor.is_number() &&
            std::find(poles.begin(), poles.end(), t.factor) == poles.end())
          poles.push_back(t.factor);
  return poles;
}

std::vector<Form> equations_in_signals(const Relations& relations, const ExprMap<double>& poles) {
  const Responses responses(relations, poles);
  std::vector<Form> result;
  for (const Relations::Equation& equation : relations.equations) {
    const Form form = responses.without_states(equation.form);
    if (form.known()) {
      result.push_back(form);
      continue;
    }
    Form integrated;
    for (const Term& t : form.terms()) {
      std::vector<double> sum(relations.times.size(), 0.0);
      for (std::size_t k = 1; k < sum.size(); ++k) {
        const OverStep rate = over_step(relations, t, k);
        sum[k] = sum[k - 1] + (relations.times[k] - relations.times[k - 1]) / 6.0 *
                                  (rate.begin + 4.0 * rate.middle + rate.end);
      }
      integrated.add({t.factor, {}, Signal(std::move(sum))});
    }
    result.push_back(std::move(integrated));
  }
  return result;
}

}  // namespace tellegen
