#include "tellegen/simulate/initial.h"

#include <fmt/format.h>

#include <utility>

#include "tellegen/equations/delayed.h"
#include "tellegen/simulate/delays.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/fmu_blocks.h"
#include "tellegen/simulate/initial_problem.h"
#include "tellegen/simulate/solution_afresh.h"

namespace tellegen {

InitialState find_initial_state(Tableau& tableau, const Storage& storage, UnknownRates unknown) {
  const EquationSystem& system = tableau.system();
  const auto forced = forced_nodes(system);
  InitialProblem problem(tableau, storage, forced);
  problem.set_unknown_rates(unknown);
  ColumnFormulas updates(system, update_expressions(system));
  std::vector<double> held(tableau.held().begin(), tableau.held().end()), next(held.size());
  bool sampled = false;
  std::vector<double> x_sampled;
  // Imported FMUs begin with the inputs that their own outputs lead to; where both go round in a circle, with
  // what that has come to.
  constexpr std::size_t fmu_rounds = 20;
  FmuBlocks fmus(system);
  if (!fmus.empty()) {
    fmus.initialize(held, held);
    tableau.hold(held);
  }
  // Each round settles at least one variable, unless they drive each other in a circle. Those with a sample
  // time are taken over once and together, when the others have settled: a sampled sum must not add up twice.
  for (std::size_t round = 0;; ++round) {
    InitialState state = problem.solve();
    if (problem.is_first_of_two()) {
      state.x_before = state.x;
      state.rates_before = state.rates;
      Reinitialisation from_states(tableau, storage, unknown);
      try {
        if (!from_states.find(0.0, state)) from_states.find_afresh(0.0, state);
      } catch (const SimulationError& error) {
        throw SimulationError(
            fmt::format("{} ({})",
                        forced.empty()
                            ? "no consistent initial values were found from the steady states"
                            : "no consistent initial values were found once the given nodes were released",
                        error.what()),
            0.0, error.details);
      }
    }
    updates.evaluate(state.x, 0.0, next.data());
    const auto take = [&](bool with_sample_time) {
      std::vector<double> values = held;
      for (std::size_t k = 0; k < held.size(); ++k)
        if ((system.discrete[k].every > 0.0) == with_sample_time && !is_delayed(system.discrete[k].update))
          values[k] = next[k];
      return values;
    };
    std::vector<double> taken = take(false);
    if (taken == held && !std::exchange(sampled, true)) {
      taken = take(true);
      x_sampled = state.x;
    }
    if (sampled && round < fmu_rounds) fmus.initialize(next, taken);
    if (taken == held) {
      begin_delays(system, next, held, state.x);
      state.held = std::move(held);
      state.x_sampled = std::move(x_sampled);
      return state;
    }
    if (round > 20 + held.size()) {
      std::string names;
      for (std::size_t k = 0; k < held.size(); ++k)
        if (taken[k] != held[k]) names += (names.empty() ? "'" : ", '") + system.discrete[k].name + "'";
      throw SimulationError(
          fmt::format("discrete variables do not settle at t = 0: {} change again and again", names), 0.0);
    }
    held = std::move(taken);
    tableau.hold(held);
  }
}

Reinitialisation::Reinitialisation(Tableau& tableau, const Storage& storage, UnknownRates unknown)
    : problem_(std::make_unique<InitialProblem>(tableau, storage)) {
  problem_->set_unknown_rates(unknown);
}
Reinitialisation::~Reinitialisation() = default;
bool Reinitialisation::find(double t, InitialState& state) { return problem_->solve_from(t, state); }
void Reinitialisation::find_afresh(double t, InitialState& state) { problem_->solve_afresh(t, state); }

SolutionAfresh::SolutionAfresh(Tableau& tableau, const Storage& storage)
    : problem_(std::make_unique<InitialProblem>(tableau, storage)) {
  problem_->set_unknown_rates(UnknownRates::zero);  // the step that follows finds them
}
SolutionAfresh::~SolutionAfresh() = default;
void SolutionAfresh::find(double t, std::span<const double> values, InitialState& state) {
  problem_->solve_afresh(t, values, state);
}
std::int64_t Reinitialisation::iterations() const { return problem_->iterations(); }

ConsistentDirections::ConsistentDirections(Tableau& tableau, const Storage& storage, At at)
    : problem_(at == At::start
                   ? std::make_unique<InitialProblem>(tableau, storage, forced_nodes(tableau.system()))
                   : std::make_unique<InitialProblem>(tableau, storage)),
      at_(at) {}
ConsistentDirections::~ConsistentDirections() = default;
ConsistentDirections::ConsistentDirections(ConsistentDirections&&) noexcept = default;
bool ConsistentDirections::is_first_of_two() const { return problem_->is_first_of_two(); }
bool ConsistentDirections::factor(const InitialState& state, double t) {
  return problem_->factor_at(t, state);
}
std::int32_t ConsistentDirections::size() const { return problem_->total(); }
bool ConsistentDirections::is_state(std::int32_t rate) const { return problem_->takes_state(rate); }
void ConsistentDirections::solve(std::span<double> b) const { problem_->lu().solve(b.data()); }
void ConsistentDirections::solve_transposed(std::span<double> b) const {
  problem_->lu().solve_transposed(b.data());
}
std::vector<DerivativeEntry> ConsistentDirections::rate_entries(std::span<const int> wrt, double t) const {
  return problem_->rate_entries(wrt, t, at_ == At::start);
}

}  // namespace tellegen
