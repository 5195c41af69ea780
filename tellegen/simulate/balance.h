// Every run accounts for its energy.
//
// By Tellegen's theorem the powers of all edges of a domain add up to nothing at any instant. That says
// whether the network's equations are solved, and is looked at in the rows of the results. Whether the steps
// are right it cannot say: for that the energy that storages hold (`energy` of their kinds, a function of
// their states) is compared with what has flown into them through their edges,
//
//   sum of energy(end) - energy(start)   and   integral of (power of the edges - loss),
//
// the integral by the method's own formula, in every step and on both sides of events (Problem::totals). The
// difference is the energy that the integration has made or destroyed: numerical damping, steps too long for
// what happens in them, wrong starts after events. It is measured by the energy exchanged, the integral of
// the magnitudes of what sources and storages give and take, so that it is of the method's order in the step.
//
// Heat is counted as such: a thermal edge at the datum carries its through as power into the component, one
// between two nodes passes it on. Magnetic edges are not counted (their power is F*dphi/dt, and no reluctance
// has a state): what goes into a field counts as converted.
//
// A step makes the flow into a storage of a small difference of large potentials (C/h times a change of
// temperatures of 300 K): what the rounding of these leaves of the powers' sum is no error.
//
// The integrals drive nothing and leave the solution as it is. They would cost up to half of a small step,
// and as much as one of a large network, so a long run keeps them for its first steps only, unless each
// storage is asked for; `until` says how far they go.
#pragma once

#include <string>
#include <vector>

#include "tellegen/simulate/integrator.h"

namespace tellegen {

struct EnergyShare {
  std::string component;
  double stored = 0.0, flown_in = 0.0;  // J: by its states at the ends; through its edges
};

struct EnergyBalance {
  bool checked = false;
  std::string reason;  // where it is not
  double until = 0.0;  // s
  bool to_the_end = true;
  // All in J. delivered = flown_in + what was dissipated or converted.
  double delivered = 0.0, stored = 0.0, flown_in = 0.0, exchanged = 0.0;
  double error = 0.0, bound = 0.0;    // of flown_in against stored, relative to what was exchanged
  std::vector<std::string> unknown;   // components that store energy of which their kinds do not say how much
  std::vector<EnergyShare> shares{};  // by component, the one most in error first; where they were asked for
  // Largest sum of the powers of a domain's edges, relative to the largest sum of their magnitudes in the
  // run.
  bool power_checked = false;
  double power_error = 0.0, power_error_at = 0.0, power_bound = 0.0;
  std::string power_error_domain;
  bool closes() const;
  std::string brief() const;    // one line
  std::string warning() const;  // empty: both within their bounds
};

// The largest error of a balance that is the method's own: one in a hundred for fixed steps (one in twenty
// for backward Euler, which is of first order), a thousand tolerances for adaptive ones.
double balance_bound(const SimulationOptions& options);
// Of the powers: rounding, whatever the method. Of a variable step, rows at the instant of a jump have the
// rates of the equations, not differences over that instant.
double power_bound(const SimulationOptions& options);

// What a run has to keep for its balance, and how it is read afterwards.
class EnergyAccount {
 public:
  // `by_component`: an integral for each storage instead of one for all of them.
  EnergyAccount(const EquationSystem& system, bool by_component);

  // Totals and, behind the outputs that are there, those that the balance needs at samples. `powers`: also
  // the sums over edges.
  void add_to(Problem& problem, bool powers);
  // Rows with problem.outputs.size() values each, the first at t = 0.
  EnergyBalance balance(const Problem& problem, const Integrator& integrator, std::span<const double> rows,
                        std::span<const double> t) const;

 private:
  struct Store {
    std::string name;
    Expr power, energy;  // in columns; energy: only by component
  };
  void add_powers(const EquationSystem& system);
  double rounding(const Problem& problem, std::size_t domain) const;
  const EquationSystem& system_;
  bool by_component_;
  std::vector<Store> stores_;
  std::vector<Expr> energies_;  // all of them as one, or by component
  std::vector<Expr> sources_;
  std::vector<std::string> unknown_;
  std::vector<std::string> domains_;                   // whose edges are summed up at samples
  std::vector<Expr> sums_;                             // of each: sum, sum of magnitudes
  std::vector<std::vector<std::int32_t>> potentials_;  // of each: columns of their ends
  struct Storage {
    std::int32_t from, to;  // columns of its ends; -1: the datum
    double capacity;        // through by the rate of the across
  };
  std::vector<std::vector<Storage>> storages_;  // of each
  std::size_t first_output_ = 0;
  bool energy_in_rows_ = true, powers_ = false;
};

// A network of any size whose totals are kept for the first steps.
std::unique_ptr<Integrator> followed_network(const Problem& problem, Network network);

}  // namespace tellegen
