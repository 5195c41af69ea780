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

// The integral of a term from row to row: its signal over time, or over the variable whose rate it has.
std::vector<double> increments(const Relations& relations, const Term& term) {
  const std::vector<double>& times = relations.times;
  std::vector<double> result(times.size(), 0.0);
  const Signal* over = term.unknowns.empty() ? nullptr : &relations.integrated.at(term.unknowns[0]);
  for (std::size_t k = 1; k < times.size(); ++k)
    result[k] = 0.5 * (term.signal[k - 1] + term.signal[k]) *
                (over ? (*over)[k] - (*over)[k - 1] : times[k] - times[k - 1]);
  return result;
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
    std::vector<std::vector<double>> increments;  // per state of the block; empty: nothing
  };

  void integrate(const std::vector<int>& block) {
    const auto n = static_cast<Eigen::Index>(block.size());
    std::vector<std::vector<Signal>> a(block.size(), std::vector<Signal>(block.size()));
    std::vector<Source> sources;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const Form rate = without_states(relations_.states[block[i]].rate);
      for (const Term& t : rate.terms()) {
        if (const int j = place_in(relations_, block, t); j >= 0)
          a[i][j] = a[i][j] + Signal(t.factor.is_number() ? 1.0 : poles_.at(t.factor)) * t.signal;
        else
          drive(sources, t, i, block.size());
      }
    }
    const Expr one = relations_.parameters.front().pool().number(1.0);
    if (std::none_of(sources.begin(), sources.end(), [&](const Source& s) { return s.factor == one; }))
      sources.push_back({one, std::vector<std::vector<double>>(block.size())});
    const auto width = static_cast<Eigen::Index>(sources.size());
    Eigen::MatrixXd z = Eigen::MatrixXd::Zero(n, width), before(n, n), after(n, n);
    for (Eigen::Index s = 0; s < width; ++s)
      for (Eigen::Index i = 0; i < n && sources[s].factor == one; ++i)
        z(i, s) = relations_.states[block[i]].start;
    std::vector<std::vector<std::vector<double>>> values(
        block.size(),
        std::vector<std::vector<double>>(sources.size(), std::vector<double>(relations_.times.size())));
    bool constant = true;
    for (const auto& row : a)
      for (const Signal& s : row) constant = constant && s.constant();
    Eigen::PartialPivLU<Eigen::MatrixXd> lu;
    double last = 0.0;
    for (std::size_t k = 0; k < relations_.times.size(); ++k) {
      const double h = k == 0 ? 0.0 : relations_.times[k] - relations_.times[k - 1];
      if (k > 0) {
        const bool again = !constant || k == 1 || h != last;
        for (Eigen::Index i = 0; again && i < n; ++i)
          for (Eigen::Index j = 0; j < n; ++j) {
            before(i, j) = (i == j) + 0.5 * h * a[i][j][k - 1];
            after(i, j) = (i == j) - 0.5 * h * a[i][j][k];
          }
        if (again) lu.compute(after);
        last = h;
        Eigen::MatrixXd right = before * z;
        for (Eigen::Index s = 0; s < width; ++s)
          for (Eigen::Index i = 0; i < n; ++i)
            if (!sources[s].increments[i].empty()) right(i, s) += sources[s].increments[i][k];
        z = lu.solve(right);
      }
      for (Eigen::Index s = 0; s < width; ++s)
        for (Eigen::Index i = 0; i < n; ++i) values[i][s][k] = z(i, s);
    }
    for (std::size_t i = 0; i < block.size(); ++i) {
      Form state;
      for (std::size_t s = 0; s < sources.size(); ++s)
        state.add({sources[s].factor, {}, Signal(std::move(values[i][s]))});
      solved_.emplace_back(relations_.states[block[i]].variable, std::move(state));
    }
  }

  void drive(std::vector<Source>& sources, const Term& term, std::size_t state, std::size_t states) const {
    auto found = std::find_if(sources.begin(), sources.end(),
                              [&](const Source& s) { return s.factor == term.factor; });
    if (found == sources.end()) {
      sources.push_back({term.factor, std::vector<std::vector<double>>(states)});
      found = sources.end() - 1;
    }
    const std::vector<double> more = increments(relations_, term);
    std::vector<double>& sum = found->increments[state];
    if (sum.empty()) sum.assign(more.size(), 0.0);
    for (std::size_t k = 0; k < more.size(); ++k) sum[k] += more[k];
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
      std::vector<double> sum = increments(relations, t);
      for (std::size_t k = 1; k < sum.size(); ++k) sum[k] += sum[k - 1];
      integrated.add({t.factor, {}, Signal(std::move(sum))});
    }
    result.push_back(std::move(integrated));
  }
  return result;
}

}  // namespace tellegen
