// Runs of one model with different numbers, side by side in lanes (program/lanes.h).
//
//   for each lane: give the model its numbers, restart() the integrator, take(lane)
//   run(...)
//
// or, where a start is so many operations on numbers, all lanes at once: RowList::run(), take_rows(), run().
//
// The numbers of a lane are those that the integrator's own run would have, to the last bit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "tellegen/simulate/simulate.h"

namespace tellegen {

class RunLanes {
 public:
  virtual ~RunLanes() = default;
  virtual int lanes() const = 0;
  // Whether lanes pay from the first run on: there is nothing to be compiled.
  virtual bool pays_at_once() const { return false; }
  // The run that the integrator has been made ready for becomes that of this lane, from the first on. False
  // where lanes are taken by rows only.
  virtual bool take(int) { return false; }
  // The same for many lanes at once, where what they begin with is written down in a list once
  // (Simulation::write_start) and run for all: take_rows() is for lanes that are `good`. False where that
  // cannot be. To be written after a restart(), before any run.
  virtual bool write(RowList&, const Simulation&, const StartRows&) { return false; }
  virtual void take_rows(RowList&, std::span<const char>) {}
  // The lanes taken, from the start over so many samples; then none is taken. `ends`: the last row, in SI,
  // one number for each lane() of every output. good: not 0 where the run has come to its end in this lane,
  // with rows that are all finite; the others are for the integrator, which says what is wrong with them.
  // False where nothing could be run: without a compiler, or where it would take longer than `interpreting`
  // (seconds); lanes are then of no use, and nor are they where the equations cannot go side by side.
  virtual bool run(std::int64_t samples, double interpreting, std::span<double> ends, std::span<char> good,
                   const std::function<void()>& now_and_then) = 0;
};

// What an integrator also is whose runs can go side by side.
class HasLanes {
 public:
  virtual ~HasLanes() = default;
  virtual std::unique_ptr<RunLanes> lanes() = 0;  // null where these equations cannot
};

// Of a simulation that can be restarted; null where its runs have to be alone.
std::unique_ptr<RunLanes> lanes_of(Simulation& simulation);
// Outputs in SI to what run() gives: of each, `lanes` numbers.
void to_units(const Simulation& simulation, std::span<double> rows, std::size_t lanes = 1);

}  // namespace tellegen
