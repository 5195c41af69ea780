// The tableau in numbers: residual F(x, r, t) and its derivatives, for everything that is done once or
// seldom (initial values, consistent rates, the adaptive method, checks). The step loops have their own,
// condensed form; this one has all variables and no approximation.
//
// Group by group the same small programs are interpreted over all members. Exponentials may be limited
// between Newton iterations (condense.h); in the plain evaluation m = u, which is exact.
#pragma once

#include <span>
#include <vector>

#include "tellegen/equations/system.h"
#include "tellegen/numeric/sparse_lu.h"
#include "tellegen/program/program.h"

namespace tellegen {

class Tableau {
 public:
  explicit Tableau(const EquationSystem& system);

  std::int32_t size() const { return system_->size(); }
  std::int32_t rate_count() const { return static_cast<std::int32_t>(system_->rates.size()); }
  const EquationSystem& system() const { return *system_; }

  // Where the derivatives of one evaluation stand. Rows as in the system; columns of `by_rate` are rates. A
  // row or column of -1 is the datum's: its value is there and means nothing.
  struct Entry {
    std::int32_t row, column;
  };
  std::span<const Entry> x_entries() const { return x_entries_; }
  std::span<const Entry> rate_entries() const { return rate_entries_; }

  // `limits`: one number per exponential and member, the last limited argument; updated. Empty: exact.
  void residual(std::span<const double> x, std::span<const double> rates, double t, std::span<double> limits,
                std::span<double> f);
  void jacobian(std::span<const double> x, std::span<const double> rates, double t,
                std::span<const double> limits, std::span<double> by_x, std::span<double> by_rate);
  // dF/dt with everything else held.
  void by_time(std::span<const double> x, std::span<const double> rates, double t, std::span<double> f);
  // Derivatives of one member's equations by its own numbers (Group::parameters, discrete variables too):
  // which (equation, number), and their values, good until the next call.
  std::span<const std::pair<int, int>> parameter_entries(int group) const {
    return groups_[group].parameter_entries;
  }
  std::span<const double> by_own_parameters(int group, std::int32_t member, std::span<const double> x,
                                            std::span<const double> rates, double t);
  std::int32_t limit_count() const { return limits_; }
  // The largest |u - m| of the last residual: how far the exponentials are from their arguments.
  double limited_by() const { return limited_by_; }

  // Discrete variables begin with their start values.
  void hold(std::span<const double> held) { held_.assign(held.begin(), held.end()); }
  std::span<const double> held() const { return held_; }

  double rate_value(std::span<const double> x,
                    std::int32_t rate) const;  // the differentiated variable itself

 private:
  struct GroupTableau {
    Program arguments, residual, jacobian, by_time, by_parameter;
    std::vector<std::pair<int, int>> parameter_entries;  // (equation, parameter), by_parameter's roots
    int exponentials = 0;
    std::int32_t first_limit = 0;                          // exponentials * member + k
    std::vector<std::int32_t> first_discrete;              // per member, where the kind has any
    std::size_t first_x = 0, first_rate = 0;               // in the entries
    std::vector<std::pair<int, int>> x_pairs, rate_pairs;  // (equation, symbol)
  };
  void load(const Group& group, const GroupTableau& g, std::int32_t member, std::span<const double> x,
            std::span<const double> rates, double t, const double* limits);

  const EquationSystem* system_;
  std::vector<GroupTableau> groups_;
  std::vector<Entry> x_entries_, rate_entries_;
  std::vector<double> registers_, held_, own_slopes_;
  std::int32_t limits_ = 0;
  double limited_by_ = 0.0;
};

}  // namespace tellegen
