// Which of the designs of a step is the fastest within limits, and what faster ones cost.
//
// A design point takes one value from each axis: how many multipliers, adders and dividers, how many cycles a
// product takes, how long words are, how good tables. Its value comes from the scheduler, from a run of the
// whole scenario in whole numbers, and from the area model: milliseconds instead of synthesis, so that a
// space of thousands of points can be enumerated. Two searches are those of Yadav's dissertation (section
// 5.6), which minimise the latency with the resources as limits:
//
//   gradient descent   from a random point, always to the neighbour (20 % of the coordinates moved by a step)
//                      with the steepest slope dL/dR of latency over resources; from many starts
//   genetic search     coordinates are genes; crossover with probability 0.8, mutation with 0.1
//
// Where the space was enumerated, one sees whether they find its optimum.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tellegen/deploy/area_model.h"
#include "tellegen/deploy/verilog_export.h"

namespace tellegen {

// To add one: a row in back_ends().
struct BackEnd {
  const char* name;  // as --core has it
  bool has_units;    // whether it makes a difference how many
  struct Cost {
    int cycles = 0;
    double period = 0.0;
    HardwareArea area;
  };
  // `schedule`: made where it is asked for, and kept.
  Cost (*cost)(const FixedStep& fixed, const HardwareUnits& units,
               const std::function<const HardwareSchedule&()>& schedule);
};
const std::vector<BackEnd>& back_ends();

// The values that each coordinate may take; of those that make no difference to a step only the first is
// used.
struct DesignRanges {
  std::vector<int> multipliers, adders, dividers, latency, bits;
  std::vector<int> coarser;         // tables are good for so many bits less than words have
  std::vector<int> back_end = {0};  // in back_ends()
};
DesignRanges usual_ranges();

using DesignGenes = std::vector<int>;  // index of the value on each axis

struct HardwarePoint {
  int back_end = 0;
  HardwareUnits units;
  int bits = 27, table_bits = 27;
};

struct DesignValue {
  HardwarePoint point;
  int cycles = 0;
  double period = 0.0;
  double error = 0.0;  // the largest of all outputs, relative to its largest value; of angles in turns
  bool overflows = false;
  HardwareArea area;
  double time() const { return cycles * period; }
};

// Infinite: no limit.
struct DesignLimits {
  double error, luts, dsps, ram_blocks;
};
DesignLimits no_limits();

// What is minimised, the first first.
struct DesignGoal {
  double excess = 0.0;  // over limits
  double time = 0.0;
  double luts = 0.0;
  auto operator<=>(const DesignGoal&) const = default;
};
DesignGoal goal_of(const DesignValue& value, const DesignLimits& limits);

class DesignSpace {
 public:
  struct Axis {
    const char* name;
    std::vector<int> values;
  };

  DesignSpace(const HardwareProblem& problem, const DesignRanges& ranges);
  const std::vector<Axis>& axes() const { return axes_; }
  double size() const;
  HardwarePoint point(const DesignGenes& genes) const;
  // The same design, where a back end does not ask for all coordinates.
  DesignGenes canonical(DesignGenes genes) const;
  const DesignValue& value(const DesignGenes& genes);  // kept, by canonical genes
  std::size_t evaluated() const { return values_.size(); }
  const std::map<DesignGenes, DesignValue>& values() const { return values_; }

 private:
  struct Words {
    FixedStep fixed;
    double error = 0.0;
    bool overflows = false;
    int structure = 0;  // steps with the same have the same schedules
  };
  const Words& words(const HardwarePoint& point);
  const HardwareSchedule& schedule(const Words& words, const HardwareUnits& units);

  const HardwareProblem& problem_;
  std::vector<Axis> axes_;
  std::map<std::vector<int>, Words> words_;
  std::map<std::vector<int>, int> structures_;
  std::map<std::vector<int>, HardwareSchedule> schedules_;
  std::map<DesignGenes, DesignValue> values_;
};

using DesignProgress = std::function<void(std::size_t done, double of)>;  // of: infinite where nobody knows

struct SearchOptions {
  std::uint32_t seed = 1;
  int starts = 30;                        // of gradient descent
  int population = 60, generations = 60;  // of genetic search
  DesignProgress progress = {};
};
struct SearchResult {
  DesignGenes best;
  std::size_t evaluations = 0;  // different points
};

SearchResult enumerate(DesignSpace& space, const DesignLimits& limits, const DesignProgress& progress = {});
SearchResult gradient_descent(DesignSpace& space, const DesignLimits& limits, const SearchOptions& options);
SearchResult genetic_search(DesignSpace& space, const DesignLimits& limits, const SearchOptions& options);

// Of all values so far that keep the limits: those that no other one beats in time and LUTs, or in time, LUTs
// and error. The fastest first.
enum class FrontOf { time_and_luts, time_luts_and_error };
std::vector<DesignValue> design_front(const DesignSpace& space, const DesignLimits& limits, FrontOf what);
// So many of them, far from each other and with the extremes.
std::vector<DesignValue> spread(const std::vector<DesignValue>& front, std::size_t count);

// "--multipliers 4 --adders 3 ...", as `tellegen export` takes it.
std::string export_options(const HardwarePoint& point);

}  // namespace tellegen
