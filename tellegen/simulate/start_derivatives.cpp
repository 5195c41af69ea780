#include "tellegen/simulate/start_derivatives.h"

#include <algorithm>
#include <utility>
namespace tellegen {

// One solution of the linear equations: its right-hand sides for all parameters and discrete variables.
struct StartDerivatives::Stage {
  ConsistentDirections directions;
  std::vector<DerivativeEntry> by_parameter, by_held;  // of by_held `parameter` is the discrete variable
};

StartDerivatives::~StartDerivatives() = default;
StartDerivatives::StartDerivatives(Tableau& tableau, const Storage& storage, const InitialState& state,
                                   std::span<const int> wrt)
    : system_(tableau.system()), count_(static_cast<int>(wrt.size())) {
  using At = ConsistentDirections::At;
  const ParameterDerivatives derivatives(system_, wrt);
  const auto add_stage = [&](ConsistentDirections directions, const InitialState& state) {
    Stage stage{std::move(directions), {}, {}};
    good_ = good_ && stage.directions.factor(state, 0.0);
    derivatives.evaluate(tableau, state.x, state.rates, 0.0, stage.by_parameter);
    for (DerivativeEntry& e : stage.by_parameter) e.value = -e.value;
    for (const DerivativeEntry& e : stage.directions.rate_entries(wrt, 0.0)) stage.by_parameter.push_back(e);
    for (std::size_t k = 0; k < system_.discrete.size(); ++k) {
      const Discrete& d = system_.discrete[k];
      const auto pairs = tableau.parameter_entries(d.group);
      const auto slopes = tableau.by_own_parameters(d.group, d.member, state.x, state.rates, 0.0);
      for (std::size_t i = 0; i < pairs.size(); ++i)
        if (pairs[i].second == held_slot(system_, d))
          stage.by_held.push_back({system_.groups[d.group].first_row[d.member] + pairs[i].first,
                                   static_cast<int>(k), -slopes[i]});
    }
    stages_.push_back(std::move(stage));
  };
  ConsistentDirections start(tableau, storage, At::start);
  const bool two = start.is_first_of_two();
  InitialState first = state;
  if (two && !state.x_before.empty()) first.x = state.x_before, first.rates = state.rates_before;
  add_stage(std::move(start), first);
  if (two) add_stage(ConsistentDirections(tableau, storage, At::event), state);
}

void StartDerivatives::forward(std::span<const double> held, std::vector<double>& x,
                               std::vector<double>& rates) const {
  const auto n = static_cast<std::size_t>(system_.size()), r = system_.rates.size();
  x.assign(n * count_, 0.0);
  rates.assign(r * count_, 0.0);
  std::vector<double> b;
  for (int p = 0; p < count_; ++p) {
    std::vector<double> states;
    for (const Stage& stage : stages_) {
      b.assign(stage.directions.size(), 0.0);
      for (const DerivativeEntry& e : stage.by_parameter)
        if (e.parameter == p) b[e.row] += e.value;
      for (const DerivativeEntry& e : stage.by_held) b[e.row] += e.value * held[e.parameter * count_ + p];
      for (std::size_t k = 0; k < states.size(); ++k)
        if (stage.directions.is_state(static_cast<std::int32_t>(k))) b[n + k] += states[k];
      stage.directions.solve(b);
      states.clear();
      for (const Rate& rate : system_.rates)
        states.push_back(symbol_value(system_.groups[rate.group], rate.symbol, rate.member, b));
    }
    std::copy_n(b.begin(), n, x.begin() + static_cast<long>(n) * p);
    std::copy_n(b.begin() + static_cast<long>(n), r, rates.begin() + static_cast<long>(r) * p);
  }
}

void StartDerivatives::backward(std::span<const double> x, std::span<const double> rates, std::span<double> p,
                                std::span<double> held) const {
  const auto n = static_cast<std::size_t>(system_.size());
  std::vector<double> b;
  for (std::size_t k = stages_.size(); k-- > 0;) {
    const Stage& stage = stages_[k];
    std::vector<double> next(stage.directions.size(), 0.0);
    if (k + 1 == stages_.size()) {
      std::copy(x.begin(), x.end(), next.begin());
      std::copy(rates.begin(), rates.end(), next.begin() + static_cast<long>(n));
    } else {  // the later stage took the states from here
      for (std::size_t i = 0; i < system_.rates.size(); ++i) {
        if (!stages_[k + 1].directions.is_state(static_cast<std::int32_t>(i))) continue;
        const Rate& rate = system_.rates[i];
        const Group& group = system_.groups[rate.group];
        if (const auto c = group.plus[rate.symbol][rate.member]; c >= 0) next[c] += b[n + i];
        if (const auto c = group.minus[rate.symbol][rate.member]; c >= 0) next[c] -= b[n + i];
      }
    }
    b.swap(next);
    stage.directions.solve_transposed(b);
    for (const DerivativeEntry& e : stage.by_parameter) p[e.parameter] += e.value * b[e.row];
    for (const DerivativeEntry& e : stage.by_held) held[e.parameter] += e.value * b[e.row];
  }
}

}  // namespace tellegen
