// The equations of consistent initial values (initial.h), and the search for their solution: what they are
// and how they are explained in initial_problem.cpp, how they are solved in initial_search.cpp.
#pragma once

#include <limits>
#include <memory>
#include <optional>

#include "tellegen/equations/explain.h"
#include "tellegen/numeric/null_space.h"
#include "tellegen/numeric/sparse_lu.h"
#include "tellegen/simulate/given_start.h"
#include "tellegen/simulate/initial.h"

namespace tellegen {

class InitialProblem {
 public:
  // The start of a run.
  InitialProblem(Tableau& tableau, const Storage& storage, std::vector<ForcedNode> forced);
  // States held: their values are set before each solution.
  InitialProblem(Tableau& tableau, const Storage& storage);

  bool solve_from(double t, InitialState& state);
  void solve_afresh(double t, InitialState& state);
  void solve_afresh(double t, std::span<const double> values, InitialState& state);
  std::int64_t iterations() const { return iterations_; }

  // The matrix at a point, for derivatives.
  bool factor_at(double t, const InitialState& state);
  std::int32_t total() const { return total_; }
  bool takes_state(std::int32_t k) const {
    return redundant_of_[k] < 0 && given_[prescribed_[k]].what == GivenStart::What::value;
  }
  const SparseLu& lu() const { return *lu_; }

  std::vector<DerivativeEntry> rate_entries(std::span<const int> wrt, double t, bool at_start) const;

  void set_unknown_rates(UnknownRates unknown) { unknown_rates_ = unknown; }
  // Whether what is found first is only where the states come from.
  bool is_first_of_two() const { return sources_rest_ || !forced_.empty(); }

  InitialState solve();

 private:
  // What is given, and what follows from it.
  void free_what_forced_nodes_decide();
  void prefer_what_was_given();
  bool begins_steady() const;
  const StartCondition* condition_of(std::int32_t k) const;
  bool is_steady(std::int32_t k) const {  // its rate is to be zero
    return redundant_of_[k] < 0 && !condition_of(k) && given_[prescribed_[k]].what != GivenStart::What::value;
  }
  void find_source_rates();
  bool start_an_open_current_at_zero();

  // The matrix, and what is wrong with it.
  void prepare();
  void build_pattern();
  void check_structure();
  static bool contradicts(const NullSpace& null, std::span<const double> f);
  std::string joints_of(const NullSpace& null) const;
  Fault explain_singular(std::span<const double> f) const;
  ExprMap<double> numbers_at_point() const;
  void add_condition_slopes(std::int32_t row, const StartCondition& c, std::span<const int> wrt,
                            std::vector<DerivativeEntry>& entries) const;

  // In words.
  std::string variable(std::int32_t column) const;
  std::string equation(std::int32_t row) const;
  std::string described(std::int32_t column) const {
    return column < n_ ? described_column(system_, column) : "'" + variable(column) + "'";
  }
  Place place_of(std::int32_t row) const;
  std::vector<std::string> hints(std::int32_t row, std::string advice) const;

  // The search.
  bool near(const StartCondition& c) const { return held_near_ && c.such_that; }
  void guess();
  double source_value(EdgeIndex edge) const;
  void residual(std::vector<double>& f);
  bool factor();
  bool is_rounding(const std::vector<double>& f, double part) const;
  bool lower_gmin();
  bool raise_sources();
  bool settle_in_time();
  bool newton(int most);
  InitialState finish();

  Tableau& tableau_;
  const EquationSystem& system_;
  const Storage& storage_;
  std::vector<GivenStart> given_;
  std::vector<StartCondition> conditions_;
  std::vector<ForcedNode> forced_;        // after the rates: what flows into each of these nodes
  std::vector<std::int32_t> prescribed_;  // per state: the rate whose given value its row holds
  std::int32_t n_ = 0, first_forced_ = 0, total_ = 0;
  double t_ = 0.0;
  std::int64_t iterations_ = 0;
  SparsePattern pattern_, structure_;  // with and without the entries of gmin
  std::unique_ptr<SparseLu> lu_;
  std::vector<std::int32_t> position_;
  std::vector<int> redundant_of_;
  std::vector<double> source_rate_, z_, limits_, values_, by_x_, by_rate_, offset_;
  double gmin_ = 0.0, source_ = 1.0;
  double longest_step_ =
      std::numeric_limits<double>::infinity();  // of across variables, in Newton's iteration
  std::vector<double> anchor_, anchor_states_;  // where gmin leads to (empty: to zero), and states were
  double inverse_step_ = 0.0;                   // of states that end steady
  bool factored_ = false, explain_ = false, held_near_ = false;
  UnknownRates unknown_rates_ = UnknownRates::refused;
  bool sources_rest_ = false;  // their slopes do not enter: a steady state
  bool exact_ = false;         // exponentials as they are, not as limited in the last iteration
  struct Why {                 // there are no initial values
    std::string message;
    std::vector<std::string> details;
    std::optional<Fault> singular;
  } why_;
};

}  // namespace tellegen
