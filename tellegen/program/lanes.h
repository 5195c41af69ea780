// Many instances of one procedure side by side, in lanes: a register becomes a row of numbers, one for each
// lane, and the vector units of the machine work on rows.
//
// What is the same in all lanes (time, counters, numbers that nobody varies) stays one number; which
// registers these are follows from those that differ at the start. Where lanes part, because an iteration has
// converged in some, those that have left the loop keep their values until all have left. A lane in which the
// procedure fails is dead from there on; the others are not touched.
//
// Each lane does the operations of the procedure in its order, and elementary functions are called lane by
// lane: numbers of a lane are those of a run alone, to the last bit, whoever its neighbours are.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/program/compile.h"
#include "tellegen/program/procedure.h"

namespace tellegen {

struct LaneTarget {
  int vector = 2;                      // numbers in a vector of the machine
  int vectors = 2;                     // side by side, so that one need not wait for the other
  std::string_view instructions = {};  // beyond those every machine of its kind has
  int lanes() const { return vector * vectors; }
};
LaneTarget lanes_of_this_machine();

// How an entry runs in lanes.
struct LanePlan {
  std::size_t entry = 0;
  std::vector<char> varying;  // per register: may differ between lanes
  // Of a loop that lanes leave one by one: registers that those who have left must keep.
  std::map<const Statement*, std::vector<char>> kept;
};
// `differ`: registers that differ between lanes at the start. Nothing where lanes would have to take
// different ways through a condition, or write rows at different times.
std::optional<LanePlan> plan_lanes(const Procedure& procedure, std::size_t entry, std::vector<char> differ);

// The entry as `int tellegen_lanes(double* w, const double** in, double** out)`, for compile_c(): register r
// of lane l is w[r*lanes + l]. Behind all registers stands a row that is not 0 where a lane is alive, and one
// that stays 0 as long as a lane's outputs are finite. Each row of outputs, with one number for each lane, is
// written over the last one.
std::string c_lanes(const Procedure& procedure, const LanePlan& plan, const LaneTarget& target);

// One instruction for one vector; registers that vary are called r<number>_<vector>.
std::string c_lane_instruction(const Program& program, const Instruction& instruction, const LanePlan& plan,
                               const LaneTarget& target, int vector);
std::string c_lane_functions(const LaneTarget& target);  // that these instructions call

// The compiled entry.
class LaneCode {
 public:
  // Null where it cannot run in lanes, where there is no compiler, or where interpreting (seconds) is
  // shorter.
  static std::shared_ptr<const LaneCode> make(const Procedure& procedure, std::size_t entry,
                                              std::vector<char> differ, double interpreting,
                                              const LaneTarget& target = lanes_of_this_machine());
  int lanes() const { return target_.lanes(); }
  const std::vector<char>& varying() const { return plan_.varying; }
  void call(double* rows, double* outputs) const { function_(rows, nullptr, &outputs); }
  static constexpr std::int32_t extra_rows = 2;  // behind the registers: alive, and not finite

 private:
  using Function = int(double*, const double**, double**);
  LanePlan plan_;
  LaneTarget target_;
  std::shared_ptr<const CompiledCode> code_;
  Function* function_ = nullptr;
};

}  // namespace tellegen
