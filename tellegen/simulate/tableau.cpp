#include "tellegen/simulate/tableau.h"

#include <algorithm>
#include <cmath>

#include "tellegen/equations/exponentials.h"
#include "tellegen/symbolic/functions.h"

namespace tellegen {

Tableau::Tableau(const EquationSystem& system) : system_(&system) {
  Pool& pool = *system.model->pool;
  for (const Group& group : system.groups) {
    GroupTableau g;
    std::vector<Expr> equations = group.residuals, arguments;
    std::set<Expr> variables;
    for (const LocalSymbol& s : group.symbols) variables.insert(s.symbol);
    const auto exponentials = limit_exponentials(pool, equations, variables);
    for (const auto& x : exponentials) arguments.push_back(x.argument);
    g.exponentials = static_cast<int>(exponentials.size());
    g.first_limit = limits_;
    limits_ += g.exponentials * group.size();

    std::vector<ProgramInput> inputs;
    for (const LocalSymbol& s : group.symbols) inputs.push_back({s.symbol, 0});
    for (int s : group.rated) inputs.push_back({group.symbols[s].rate, 0});
    for (Expr p : group.parameters) inputs.push_back({p, 0});
    inputs.push_back({group.time, 0});
    for (const auto& x : exponentials) inputs.push_back({x.limited, 0});
    const auto make = [&](const std::vector<Expr>& values) {
      std::vector<ProgramRoot> roots;
      for (Expr v : values) roots.push_back({v, 0});
      return make_program(pool, inputs, {}, roots, 1);
    };

    std::vector<Expr> slopes, time_slopes, parameter_slopes;
    std::vector<Expr> symbols;
    for (const LocalSymbol& s : group.symbols) symbols.push_back(s.symbol);
    for (int q = 0; q < static_cast<int>(equations.size()); ++q) {
      const std::vector<Expr> by_symbol = gradient(equations[q], symbols);
      for (int s = 0; s < static_cast<int>(group.symbols.size()); ++s)
        if (!by_symbol[s].is_number(0)) {
          g.x_pairs.push_back({q, s});
          slopes.push_back(by_symbol[s]);
        }
    }
    for (int q = 0; q < static_cast<int>(equations.size()); ++q)
      for (int k = 0; k < static_cast<int>(group.rated.size()); ++k)
        if (const Expr d = derivative(equations[q], group.symbols[group.rated[k]].rate); !d.is_number(0)) {
          g.rate_pairs.push_back({q, k});
          slopes.push_back(d);
        }
    for (int q = 0; q < static_cast<int>(group.residuals.size()); ++q) {
      time_slopes.push_back(derivative(group.residuals[q], group.time));
      const std::vector<Expr> by_parameter = gradient(group.residuals[q], group.parameters);
      for (std::size_t p = 0; p < group.parameters.size(); ++p)
        if (!by_parameter[p].is_number(0)) {
          g.parameter_entries.push_back({q, static_cast<int>(p)});
          parameter_slopes.push_back(by_parameter[p]);
        }
    }
    g.arguments = make(arguments);
    g.residual = make(equations);
    g.jacobian = make(slopes);
    g.by_time = make(time_slopes);
    g.by_parameter = make(parameter_slopes);
    std::size_t registers = registers_.size();
    for (const Program* p : {&g.arguments, &g.residual, &g.jacobian, &g.by_time, &g.by_parameter})
      registers = std::max(registers, static_cast<std::size_t>(p->registers));
    registers_.resize(registers);

    // An across variable is the difference of two columns: two entries, the second with the opposite sign.
    g.first_x = x_entries_.size();
    g.first_rate = rate_entries_.size();
    for (std::int32_t m = 0; m < group.size(); ++m) {
      for (const auto& [q, s] : g.x_pairs) {
        x_entries_.push_back({group.first_row[m] + q, group.plus[s][m]});
        x_entries_.push_back({group.first_row[m] + q, group.minus[s][m]});
      }
      for (const auto& [q, k] : g.rate_pairs)
        rate_entries_.push_back({group.first_row[m] + q, group.first_rate[m] + k});
    }
    groups_.push_back(std::move(g));
  }
  for (std::size_t k = 0; k < system.discrete.size(); ++k) {
    const Discrete& d = system.discrete[k];
    held_.push_back(d.start);
    auto& first = groups_[d.group].first_discrete;
    first.resize(system.groups[d.group].size());
    if (d.held == 0) first[d.member] = static_cast<std::int32_t>(k);
  }
  for (std::int32_t e = 0; e < system.graph.edge_count(); ++e) {
    const GraphEdge& edge = system.graph.edges[e];
    x_entries_.push_back({system.node_column(edge.from), system.through_column(EdgeIndex{e})});
    x_entries_.push_back({system.node_column(edge.to), system.through_column(EdgeIndex{e})});
  }
}

double Tableau::rate_value(std::span<const double> x, std::int32_t rate) const {
  const Rate& r = system_->rates[rate];
  return symbol_value(system_->groups[r.group], r.symbol, r.member, x);
}

void Tableau::load(const Group& group, const GroupTableau& g, std::int32_t m, std::span<const double> x,
                   std::span<const double> rates, double t, const double* limits) {
  double* r = registers_.data();
  for (int s = 0; s < static_cast<int>(group.symbols.size()); ++s) *r++ = symbol_value(group, s, m, x);
  for (std::size_t k = 0; k < group.rated.size(); ++k) *r++ = rates[group.first_rate[m] + k];
  for (const auto& values : group.values) *r++ = values[m];
  // Discrete variables are the last of the parameters.
  for (std::size_t k = 0; k < group.held.size(); ++k)
    r[static_cast<long>(k) - static_cast<long>(group.held.size())] = held_[g.first_discrete[m] + k];
  *r++ = t;
  for (int k = 0; k < g.exponentials; ++k)
    *r++ = limits ? limits[g.first_limit + m * g.exponentials + k] : 0.0;
}

void Tableau::residual(std::span<const double> x, std::span<const double> rates, double t,
                       std::span<double> limits, std::span<double> f) {
  std::fill(f.begin(), f.end(), 0.0);
  limited_by_ = 0.0;
  static const Function& limit = *find_function("junction_limit");
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const Group& group = system_->groups[k];
    const GroupTableau& g = groups_[k];
    const auto first_limit_register = g.residual.inputs.size() - g.exponentials;
    for (std::int32_t m = 0; m < group.size(); ++m) {
      load(group, g, m, x, rates, t, limits.empty() ? nullptr : limits.data());
      // One after the other: an exponential may stand in the argument of another.
      for (int e = 0; e < g.exponentials; ++e) {
        interpret(g.arguments, 0, registers_.data());
        const double u = registers_[g.arguments.roots[e]];
        double value = u;
        if (!limits.empty()) {
          double& memory = limits[g.first_limit + m * g.exponentials + e];
          const double args[2] = {u, memory};
          memory = value = limit.value(args, 2);
          if (std::max(u, value) > -30) limited_by_ = std::max(limited_by_, std::abs(u - value));
        }
        registers_[first_limit_register + e] = value;
      }
      interpret(g.residual, 0, registers_.data());
      for (std::size_t q = 0; q < g.residual.roots.size(); ++q)
        f[group.first_row[m] + q] = registers_[g.residual.roots[q]];
    }
  }
  for (std::int32_t e = 0; e < system_->graph.edge_count(); ++e) {
    const GraphEdge& edge = system_->graph.edges[e];
    const double through = x[system_->through_column(EdgeIndex{e})];
    if (edge.from != datum_node) f[system_->node_column(edge.from)] += through;
    if (edge.to != datum_node) f[system_->node_column(edge.to)] -= through;
  }
}

void Tableau::jacobian(std::span<const double> x, std::span<const double> rates, double t,
                       std::span<const double> limits, std::span<double> by_x, std::span<double> by_rate) {
  std::size_t at_x = 0, at_rate = 0;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const Group& group = system_->groups[k];
    const GroupTableau& g = groups_[k];
    const auto first_limit_register = g.jacobian.inputs.size() - g.exponentials;
    for (std::int32_t m = 0; m < group.size(); ++m) {
      load(group, g, m, x, rates, t, limits.empty() ? nullptr : limits.data());
      for (int e = 0; limits.empty() && e < g.exponentials; ++e) {
        interpret(g.arguments, 0, registers_.data());
        registers_[first_limit_register + e] = registers_[g.arguments.roots[e]];
      }
      interpret(g.jacobian, 0, registers_.data());
      std::size_t root = 0;
      for (std::size_t i = 0; i < g.x_pairs.size(); ++i, ++root) {
        by_x[at_x++] = registers_[g.jacobian.roots[root]];
        by_x[at_x++] = -registers_[g.jacobian.roots[root]];
      }
      for (std::size_t i = 0; i < g.rate_pairs.size(); ++i, ++root)
        by_rate[at_rate++] = registers_[g.jacobian.roots[root]];
    }
  }
  for (std::int32_t e = 0; e < system_->graph.edge_count(); ++e) {
    by_x[at_x++] = 1.0;
    by_x[at_x++] = -1.0;
  }
}

void Tableau::by_time(std::span<const double> x, std::span<const double> rates, double t,
                      std::span<double> f) {
  std::fill(f.begin(), f.end(), 0.0);
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const Group& group = system_->groups[k];
    const GroupTableau& g = groups_[k];
    for (std::int32_t m = 0; m < group.size(); ++m) {
      load(group, g, m, x, rates, t, nullptr);
      interpret(g.by_time, 0, registers_.data());
      for (std::size_t q = 0; q < g.by_time.roots.size(); ++q)
        f[group.first_row[m] + q] = registers_[g.by_time.roots[q]];
    }
  }
}

std::span<const double> Tableau::by_own_parameters(int group, std::int32_t member, std::span<const double> x,
                                                   std::span<const double> rates, double t) {
  const GroupTableau& g = groups_[group];
  load(system_->groups[group], g, member, x, rates, t, nullptr);
  interpret(g.by_parameter, 0, registers_.data());
  own_slopes_.resize(g.by_parameter.roots.size());
  for (std::size_t k = 0; k < own_slopes_.size(); ++k) own_slopes_[k] = registers_[g.by_parameter.roots[k]];
  return own_slopes_;
}

}  // namespace tellegen
