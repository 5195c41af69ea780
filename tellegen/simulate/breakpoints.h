// Times that no step of variable length goes across, and how long a step may be at most.
//
// Where a source has a kink or jumps (source_jumps.h), where a discrete variable is sampled, and where one
// that follows from time and discrete variables alone (a modulator's edge) changes. Where one is compared
// with a function of time (a carrier), also where that has a kink or jumps: a step could pass over a whole
// pulse, and nothing would tell. A step is no longer than a part of the period of the fastest sine of time:
// an estimate of the error looks at a few points only, and must not fall for all of them being alike.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tellegen/simulate/source_jumps.h"

namespace tellegen {

class Breakpoints {
 public:
  Breakpoints(const EquationSystem& system, double interval, double stop);  // interval: of rows
  // The first one after t, with discrete variables as they are now held.
  double next(double t, std::span<const double> held);
  bool jumps(double t) const;    // whether a source does at this one
  bool changes(double t) const;  // whether discrete variables may, by themselves
  bool samples(double t) const;  // whether a sampled variable is due there
  bool is_due(std::size_t discrete, double t) const;
  bool is_timed(std::size_t discrete) const;  // it changes by time alone, and by other discrete variables
  void pass(double t);                        // all of them up to t are behind
  void held_changed() { timed_known_ = false; }
  double longest_step() const { return longest_; }
  void keep(Checkpoint& parts) {
    jumps_.keep(parts);
    parts(samples_taken_, timed_next_, kink_next_, timed_known_);
  }

 private:
  using Symbols = std::vector<std::pair<Expr, int>>;      // of discrete variables
  std::optional<Symbols> discrete_symbols(Expr e) const;  // nothing where others are in it
  void find_carriers(Expr e);
  double next_timed(double t, std::span<const double> held);
  const EquationSystem& system_;
  double interval_;
  SourceJumps jumps_;
  std::vector<std::int64_t> samples_taken_;
  struct Timed {
    std::size_t discrete;
    Expr update;
    Symbols symbols;
  };
  std::vector<Timed> timed_;
  struct Carrier {
    Expr value;
    Symbols symbols;
  };
  std::vector<Carrier> carriers_;
  double timed_next_ = std::numeric_limits<double>::infinity();
  double kink_next_ = std::numeric_limits<double>::infinity();  // of a carrier that does not jump there
  bool timed_known_ = false;
  double longest_ = std::numeric_limits<double>::infinity();
};

}  // namespace tellegen
