#include "tellegen/sensitivity/reduction.h"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "tellegen/equations/storage.h"
#include "tellegen/equations/symbolic_model.h"
#include "tellegen/equations/system.h"
#include "tellegen/sensitivity/known_values.h"
#include "tellegen/simulate/initial.h"
#include "tellegen/simulate/tableau.h"

namespace tellegen {
namespace {

constexpr double same_rank = 1e-9;  // of the largest pivot

class Derivation {
 public:
  Derivation(const Model& model, const ReductionRequest& request)
      : model_(model), request_(request), known_(*model.pool) {
    result_.times = request.times;
    for (int p : request.unknowns) {
      parameters_[model_.parameters[p].symbol] = p;
      result_.parameters.push_back(model_.parameters[p].symbol);
    }
    known_.set(pool().symbol("t"), Signal(result_.times));
    try {
      starts_ = values_at_start(model_);
    } catch (const std::exception&) {
      // The numbers are no guess, so a start that has to be solved for may fail: everything begins at zero.
    }
    write_equations();
    find_states();
  }

  Reduction derive() {
    do form_equations();
    while (eliminate_numbers() || solve_known() || integrate_known());
    while (eliminate_by_parameters()) form_equations();
    collect();
    return std::move(result_);
  }

 private:
  struct Work {
    Expr residual;
    std::string name;
    std::optional<Form> form;
    bool done = false;
  };

  Pool& pool() const { return *model_.pool; }

  void add(Expr residual, std::string name) {
    work_.push_back({values_->put_into(residual), std::move(name), std::nullopt, false});
  }

  void write_equations() {
    const SymbolicModel symbolic = symbolic_model(model_);
    values_.emplace(model_, symbolic, parameters_);
    for (std::size_t k = 0; k < symbolic.terminal.size(); ++k)
      add(symbolic.terminal[k], model_.components[symbolic.component[k]].name);
    const Expr zero = pool().number(0.0);
    const auto potential = [&](NodeIndex n) { return n == datum_node ? zero : symbolic.node[n.value]; };
    std::vector<Expr> balance(symbolic.node.size(), zero);
    for (std::size_t e = 0; e < symbolic.graph.edges.size(); ++e) {
      const GraphEdge& edge = symbolic.graph.edges[e];
      add(symbolic.across[e] - potential(edge.from) + potential(edge.to), symbolic.across[e].name());
      balance[edge.from.value] = balance[edge.from.value] + symbolic.through[e];
      balance[edge.to.value] = balance[edge.to.value] - symbolic.through[e];
    }
    for (std::size_t n = 1; n < balance.size(); ++n)
      if (symbolic.node[n]) add(balance[n], "balance of " + symbolic.node[n].name());
    for (const ReductionRequest::Reading& reading : request_.readings) {
      const Expr symbol = pool().symbol("reading(" + reading.name + ")");
      known_.set(symbol, reading.signal);
      add(symbol - expand_names(model_, reading.value), "sensor " + reading.name);
    }
  }

  // A variable whose rate some equation has, and that rate.
  void find_states() {
    std::vector<Expr> residuals;
    for (const Work& w : work_) residuals.push_back(w.residual);
    for (Expr s : symbols_of(residuals)) {
      const std::string& name = s.name();
      if (!name.starts_with("der(") || !name.ends_with(")")) continue;
      const Expr variable = pool().symbol(std::string_view(name).substr(4, name.size() - 5));
      variable_of_[s] = variable;
      rate_of_[variable] = s;
    }
  }

  bool is_rate(Expr e) const { return variable_of_.contains(e); }
  bool is_known_rate(Expr e) const { return is_rate(e) && known_.contains(variable_of_.at(e)); }
  bool is_algebraic(Expr e) const { return !is_rate(e) && !rate_of_.contains(e); }
  double start(Expr variable) const {
    const auto found = starts_.find(variable.name());
    return found == starts_.end() || !std::isfinite(found->second) ? 0.0 : found->second;
  }

  static std::vector<Expr> unknowns_of(const Form& form) {
    std::vector<Expr> found;
    for (const Term& t : form.terms())
      for (Expr u : t.unknowns)
        if (std::find(found.begin(), found.end(), u) == found.end()) found.push_back(u);
    return found;
  }

  void form_equations() {
    for (Work& w : work_) {
      if (w.form) continue;
      w.form = formed(w.residual);
    }
  }

  // With everything that is solved put in.
  std::optional<Form> formed(Expr e) {
    std::optional<Form> form = form_of(e, known_, parameters_);
    for (bool changed = form.has_value(); changed;) {
      changed = false;
      for (const auto& [variable, value] : solved_)
        if (form->contains(variable)) {
          form = form->substituted(variable, value);
          changed = true;
        }
    }
    return form;
  }

  void replace(Expr variable, const Form& value) {
    for (Work& w : work_)
      if (w.form && !w.done && w.form->contains(variable)) w.form = w.form->substituted(variable, value);
    for (auto& [other, form] : solved_)
      if (form.contains(variable)) form = form.substituted(variable, value);
    solved_.emplace_back(variable, value);
  }

  void set_known(Expr variable, const Signal& value) {
    known_.set(variable, value);
    Form form;
    form.add({pool().number(1.0), {}, value});
    replace(variable, form);
    if (value.constant())
      if (const auto rate = rate_of_.find(variable); rate != rate_of_.end()) replace(rate->second, Form());
  }

  // A variable that stands in an equation with a number: the shortest equation first.
  bool eliminate_numbers() {
    Work* best = nullptr;
    Expr variable;
    for (Work& w : work_) {
      if (w.done || !w.form || (best && w.form->terms().size() >= best->form->terms().size())) continue;
      for (Expr u : unknowns_of(*w.form)) {
        const Expr c = is_algebraic(u) ? w.form->coefficient(u) : Expr();
        if (!c || !c.is_number()) continue;
        best = &w, variable = u;
        break;
      }
    }
    if (best) solve(*best, variable);
    return best != nullptr;
  }

  void solve(Work& w, Expr variable) {
    const Form value = w.form->without(variable).divided(-w.form->coefficient(variable));
    w.done = true;
    if (is_algebraic(variable) && value.known() && value.numeric())
      set_known(variable, value.value());
    else
      replace(variable, value);
  }

  // Equations without parameters and rates, joined by their unknowns: what they give on every row.
  bool solve_known() {
    std::vector<Work*> usable;
    for (Work& w : work_) {
      if (w.done || !w.form || !w.form->numeric() || w.form->degree() > 1) continue;
      const std::vector<Expr> unknowns = unknowns_of(*w.form);
      if (!unknowns.empty() &&
          std::none_of(unknowns.begin(), unknowns.end(), [&](Expr u) { return is_rate(u); }))
        usable.push_back(&w);
    }
    for (std::size_t k = 0; k < usable.size(); ++k) {
      std::vector<Work*> joined{usable[k]};
      std::vector<Expr> unknowns = unknowns_of(*usable[k]->form);
      for (bool grown = true; grown;) {
        grown = false;
        for (Work* w : usable) {
          if (std::find(joined.begin(), joined.end(), w) != joined.end()) continue;
          const std::vector<Expr> more = unknowns_of(*w->form);
          if (std::none_of(more.begin(), more.end(), [&](Expr u) {
                return std::find(unknowns.begin(), unknowns.end(), u) != unknowns.end();
              }))
            continue;
          joined.push_back(w);
          for (Expr u : more)
            if (std::find(unknowns.begin(), unknowns.end(), u) == unknowns.end()) unknowns.push_back(u);
          grown = true;
        }
      }
      if (solve_together(joined, unknowns)) return true;
    }
    return false;
  }

  bool solve_together(const std::vector<Work*>& equations, const std::vector<Expr>& unknowns) {
    const auto rows = result_.times.size();
    const auto m = static_cast<Eigen::Index>(equations.size()),
               n = static_cast<Eigen::Index>(unknowns.size());
    std::vector<std::vector<double>> values(unknowns.size(), std::vector<double>(rows));
    std::vector<char> given(unknowns.size(), 1);
    Eigen::MatrixXd matrix(m, n);
    Eigen::VectorXd right(m);
    Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> decomposition;
    decomposition.setThreshold(same_rank);
    for (std::size_t row = 0; row < rows; ++row) {
      matrix.setZero();
      right.setZero();
      for (Eigen::Index e = 0; e < m; ++e)
        for (const Term& t : equations[e]->form->terms()) {
          if (t.unknowns.empty()) {
            right(e) -= t.signal[row];
            continue;
          }
          const auto u = std::find(unknowns.begin(), unknowns.end(), t.unknowns[0]) - unknowns.begin();
          matrix(e, u) += t.signal[row];
        }
      decomposition.compute(matrix);
      if (decomposition.rank() < n && !keep_given(decomposition.pseudoInverse() * matrix, given))
        return false;
      const Eigen::VectorXd x = decomposition.solve(right);
      for (std::size_t u = 0; u < unknowns.size(); ++u) values[u][row] = x(static_cast<Eigen::Index>(u));
    }
    for (Work* w : equations) {
      const std::vector<Expr> own = unknowns_of(*w->form);
      w->done = std::all_of(own.begin(), own.end(), [&](Expr u) {
        return given[std::find(unknowns.begin(), unknowns.end(), u) - unknowns.begin()];
      });
    }
    for (std::size_t u = 0; u < unknowns.size(); ++u)
      if (given[u]) set_known(unknowns[u], Signal(std::move(values[u])));
    return true;
  }

  // Unknowns that the null space touches are not given by the equations. False: none is given.
  static bool keep_given(const Eigen::MatrixXd& projector, std::vector<char>& given) {
    for (std::size_t u = 0; u < given.size(); ++u)
      if (std::abs(projector(static_cast<Eigen::Index>(u), static_cast<Eigen::Index>(u)) - 1.0) > 1e-6)
        given[u] = 0;
    return std::any_of(given.begin(), given.end(), [](char g) { return g != 0; });
  }

  bool integrate_known() {
    for (Work& w : work_) {
      if (w.done || !w.form || !w.form->numeric()) continue;
      const std::vector<Expr> unknowns = unknowns_of(*w.form);
      if (unknowns.size() != 1 || !is_rate(unknowns[0]) || is_known_rate(unknowns[0])) continue;
      const Expr c = w.form->coefficient(unknowns[0]);
      if (!c) continue;
      const Signal rate = w.form->without(unknowns[0]).divided(-c).value();
      std::vector<double> values(result_.times.size());
      const Expr variable = variable_of_.at(unknowns[0]);
      values[0] = start(variable);
      for (std::size_t k = 1; k < values.size(); ++k)
        values[k] = values[k - 1] + 0.5 * (rate[k - 1] + rate[k]) * (result_.times[k] - result_.times[k - 1]);
      w.done = true;
      set_known(variable, Signal(std::move(values)));
      return true;
    }
    return false;
  }

  // Variables first, then rates; each from the equation that feeds the fewest states back into their own
  // rates.
  bool eliminate_by_parameters() {
    Work* best = nullptr;
    Expr variable;
    int lowest = 0;
    for (Work& w : work_) {
      if (w.done || !w.form) continue;
      const std::vector<Expr> unknowns = unknowns_of(*w.form);
      for (Expr u : unknowns) {
        const bool rate = is_rate(u) && !is_known_rate(u);
        if ((!is_algebraic(u) && !rate) || !w.form->coefficient(u)) continue;
        const int price = 1000 * (rate ? 1 : 0) + 100 * other_rates(unknowns, u) +
                          10 * fed_back(unknowns, u) + static_cast<int>(w.form->terms().size());
        if (best && price >= lowest) continue;
        best = &w, variable = u, lowest = price;
      }
    }
    if (best) solve(*best, variable);
    return best != nullptr;
  }

  int other_rates(const std::vector<Expr>& unknowns, Expr self) const {
    return static_cast<int>(std::count_if(unknowns.begin(), unknowns.end(), [&](Expr u) {
      return !(u == self) && is_rate(u) && !is_known_rate(u);
    }));
  }

  int fed_back(const std::vector<Expr>& unknowns, Expr variable) const {
    int found = 0;
    for (Expr z : unknowns) {
      const auto rate = rate_of_.find(z);
      if (rate == rate_of_.end()) continue;
      found += std::any_of(work_.begin(), work_.end(), [&](const Work& w) {
        return w.form && !w.done && w.form->contains(rate->second) && w.form->contains(variable);
      });
    }
    return found;
  }

  // States whose rates are sums of signals and such states; equations between these.
  void collect() {
    std::vector<Reduction::State> states;
    for (const auto& [rate, form] : solved_)
      if (is_rate(rate) && !is_known_rate(rate) && !known_.contains(variable_of_.at(rate)))
        states.push_back({variable_of_.at(rate), form, start(variable_of_.at(rate))});
    const auto is_usable = [&](const Form& form) {
      const auto is_one = [&](Expr u) {
        return is_known_rate(u) ||
               std::any_of(states.begin(), states.end(), [&](const auto& s) { return s.variable == u; });
      };
      return std::all_of(form.terms().begin(), form.terms().end(), [&](const Term& t) {
        return (t.unknowns.size() <= 1 || request_.products) &&
               std::all_of(t.unknowns.begin(), t.unknowns.end(), is_one);
      });
    };
    while (std::erase_if(states, [&](const auto& s) { return !is_usable(s.rate); }) > 0) {
    }
    for (Work& w : work_) {
      if (w.done) continue;
      if (!w.form || !is_usable(*w.form)) {
        result_.left_out.push_back(w.name);
        continue;
      }
      const bool says_nothing = w.form->numeric() && w.form->known();
      if (!w.form->empty() && !says_nothing) result_.equations.push_back({*w.form, w.name});
    }
    for (Expr output : request_.outputs) {
      std::optional<Form> form = formed(values_->put_into(expand_names(model_, output)));
      result_.outputs.push_back(form && is_usable(*form) ? std::move(form) : std::nullopt);
    }
    keep_needed(states);
    for (const auto& [rate, variable] : variable_of_)
      if (known_.contains(variable)) result_.integrated[rate] = known_.at(variable);
  }

  void keep_needed(const std::vector<Reduction::State>& states) {
    std::set<Expr> needed;
    const auto need = [&](const Form& form) {
      std::size_t before = needed.size();
      for (Expr u : unknowns_of(form))
        if (!is_rate(u)) needed.insert(u);
      return needed.size() > before;
    };
    for (const Reduction::Equation& e : result_.equations) need(e.form);
    for (const std::optional<Form>& output : result_.outputs)
      if (output) need(*output);
    for (bool grown = true; grown;) {
      grown = false;
      for (const Reduction::State& s : states)
        if (needed.contains(s.variable)) grown = need(s.rate) || grown;
    }
    for (const Reduction::State& s : states)
      if (needed.contains(s.variable)) result_.states.push_back(s);
  }

  Model model_;
  const ReductionRequest& request_;
  SignalTable known_;
  ExprMap<int> parameters_;
  std::optional<KnownValues> values_;
  ExprMap<Expr> variable_of_, rate_of_;
  std::map<std::string, double> starts_;
  std::vector<Work> work_;
  std::vector<std::pair<Expr, Form>> solved_;
  Reduction result_;
};

}  // namespace

// Every variable's value at the start, by name, with the numbers that the model has.
std::map<std::string, double> values_at_start(const Model& model) {
  const EquationSystem system = build_system(model);
  Tableau tableau(system);
  const InitialState state = find_initial_state(tableau, analyse_storage(system));
  std::map<std::string, double> values;
  for (std::int32_t c = 0; c < system.size(); ++c) values[column_name(system, c)] = state.x[c];
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(system.rates.size()); ++r)
    values[rate_name(system, r)] = tableau.rate_value(state.x, r);
  return values;
}

Reduction reduce_to_states(const Model& model, const ReductionRequest& request) {
  return Derivation(model, request).derive();
}

}  // namespace tellegen
