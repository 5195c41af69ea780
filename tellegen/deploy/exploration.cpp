#include "tellegen/deploy/exploration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tellegen {
namespace {

enum { axis_back_end, axis_multipliers, axis_adders, axis_dividers, axis_latency, axis_bits, axis_coarser };

BackEnd::Cost state_machine_cost(const FixedStep& fixed, const HardwareUnits& units,
                                 const std::function<const HardwareSchedule&()>& schedule) {
  const HardwareSchedule& s = schedule();
  const AreaCounts counts = count_area(fixed, s, units);
  return {s.cycles, estimated_period(counts, units, fixed.bits), estimated_area(counts)};
}

BackEnd::Cost processor_cost(const FixedStep& fixed, const HardwareUnits&,
                             const std::function<const HardwareSchedule&()>&) {
  const MicroProgram program = micro_program(fixed, std::vector<std::int64_t>(fixed.states.size(), 0));
  return {program.cycles(), micro_period(program, fixed.bits), estimated_area(count_micro(fixed, program))};
}

bool has(const FixedStep& fixed, UnitKind kind) {
  return std::any_of(fixed.ops.begin(), fixed.ops.end(),
                     [&](const FixedOp& op) { return unit_of(op.kind) == kind; });
}

// Whatever decides a schedule, but for units.
std::vector<int> structure_of(const FixedStep& fixed) {
  std::vector<int> result{has(fixed, UnitKind::divider) ? fixed.bits : 0,
                          static_cast<int>(fixed.tables.size())};
  for (const FixedOp& op : fixed.ops)
    result.insert(result.end(), {static_cast<int>(op.kind), op.a.op, op.b.op, op.c.op, op.table});
  for (const int op : fixed.next) result.push_back(op);
  for (const auto& word : fixed.outputs) result.push_back(word.op);
  return result;
}

// The same on all machines, which std::uniform_int_distribution is not.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : state_(0x9e3779b97f4a7c15ULL * (seed + 1ULL)) {}
  double uniform() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1.0p-53;
  }
  int below(std::size_t count) { return static_cast<int>(uniform() * static_cast<double>(count)); }
  bool chance(double probability) { return uniform() < probability; }

 private:
  std::uint64_t state_;
};

// A search, and the different points it has looked at.
class Search {
 public:
  Search(DesignSpace& space, const DesignLimits& limits, const SearchOptions& options)
      : space_(space), limits_(limits), progress_(options.progress), dice_(options.seed) {}

  DesignGoal goal(const DesignGenes& given) {
    const DesignGenes genes = space_.canonical(given);
    const auto [found, added] = seen_.try_emplace(genes);
    if (added) {
      found->second = goal_of(space_.value(genes), limits_);
      if (seen_.size() == 1 || found->second < seen_.at(best_)) best_ = genes;
      if (progress_) progress_(seen_.size(), std::numeric_limits<double>::infinity());
    }
    return found->second;
  }
  DesignGenes random() {
    DesignGenes genes;
    for (const DesignSpace::Axis& axis : space_.axes()) genes.push_back(dice_.below(axis.values.size()));
    return genes;
  }
  std::size_t axes() const { return space_.axes().size(); }
  int values(std::size_t axis) const { return static_cast<int>(space_.axes()[axis].values.size()); }
  Dice& dice() { return dice_; }
  SearchResult result() const { return {best_, seen_.size()}; }

 private:
  DesignSpace& space_;
  const DesignLimits& limits_;
  const DesignProgress progress_;
  Dice dice_;
  std::map<DesignGenes, DesignGoal> seen_;
  DesignGenes best_;
};

// How steep the way from one point to another is: the less latency for the more resources, the better.
double slope(const DesignGoal& from, const DesignGoal& to) {
  if (from.excess > 0.0) return from.excess - to.excess;
  const double gained = from.time - to.time, spent = to.luts - from.luts;
  if (gained <= 0.0) return gained - 1.0;  // only LUTs are saved: last, the most time lost of all
  return spent > 0.0 ? gained / spent : std::numeric_limits<double>::infinity();
}

// One neighbour of `at` after the other: one or two coordinates, 20 % of them, moved by a step.
template <class Fn>
void for_each_neighbour(Search& search, const DesignGenes& at, int moved, Fn fn) {
  const auto move = [&](DesignGenes& genes, std::size_t axis, int by) {
    genes[axis] += by;
    return genes[axis] >= 0 && genes[axis] < search.values(axis);
  };
  for (std::size_t first = 0; first < search.axes(); ++first)
    for (const int by : {-1, 1}) {
      DesignGenes one = at;
      if (!move(one, first, by)) continue;
      if (moved == 1) {
        fn(one);
        continue;
      }
      for (std::size_t second = first + 1; second < search.axes(); ++second)
        for (const int other : {-1, 1})
          if (DesignGenes two = one; move(two, second, other)) fn(two);
    }
}

double excess_over(double value, double limit) {
  return value > limit ? std::log(value / std::max(limit, 1e-12)) : 0.0;
}

}  // namespace

const std::vector<BackEnd>& back_ends() {
  static const std::vector<BackEnd> all{{"units", true, state_machine_cost},
                                        {"microcode", false, processor_cost}};
  return all;
}

DesignRanges usual_ranges() {
  const auto all = [](int first, int last) {
    std::vector<int> values(static_cast<std::size_t>(last - first + 1));
    std::iota(values.begin(), values.end(), first);
    return values;
  };
  return {.multipliers = all(1, 8),
          .adders = all(1, 8),
          .dividers = all(1, 4),
          .latency = {1, 2},
          .bits = all(14, longest_word),
          .coarser = {0, 3, 6, 9},
          .back_end = all(0, static_cast<int>(back_ends().size()) - 1)};
}

DesignLimits no_limits() {
  constexpr double none = std::numeric_limits<double>::infinity();
  return {none, none, none, none};
}

DesignGoal goal_of(const DesignValue& v, const DesignLimits& limits) {
  const double excess = excess_over(v.error, limits.error) + excess_over(v.area.luts, limits.luts) +
                        excess_over(v.area.dsps, limits.dsps) +
                        excess_over(v.area.ram_blocks, limits.ram_blocks) + (v.overflows ? 100.0 : 0.0);
  return {excess, v.time(), v.area.luts};
}

DesignSpace::DesignSpace(const HardwareProblem& problem, const DesignRanges& ranges)
    : problem_(problem), axes_{{"back end", ranges.back_end}, {"multipliers", ranges.multipliers},
                               {"adders", ranges.adders},     {"dividers", ranges.dividers},
                               {"latency", ranges.latency},   {"bits", ranges.bits},
                               {"coarser", ranges.coarser}} {
  // Coordinates that this step does not have.
  const FixedStep step = lower_formulas(problem.formulas, {}, {});
  const bool tables = has(step, UnitKind::table) || !step.functions.empty();
  if (!has(step, UnitKind::divider)) axes_[axis_dividers].values.resize(1);
  if (!tables) axes_[axis_coarser].values.resize(1);
}

double DesignSpace::size() const {
  double size = 1.0;
  for (const Axis& axis : axes_) size *= static_cast<double>(axis.values.size());
  return size;
}

DesignGenes DesignSpace::canonical(DesignGenes genes) const {
  if (!back_ends()[axes_[axis_back_end].values[genes[axis_back_end]]].has_units)
    for (const int axis : {axis_multipliers, axis_adders, axis_dividers, axis_latency}) genes[axis] = 0;
  return genes;
}

HardwarePoint DesignSpace::point(const DesignGenes& genes) const {
  const auto at = [&](int axis) { return axes_[axis].values[genes[axis]]; };
  HardwarePoint p;
  p.back_end = at(axis_back_end);
  p.units.multipliers = at(axis_multipliers);
  p.units.adders = at(axis_adders);
  p.units.dividers = at(axis_dividers);
  p.units.multiplier_latency = at(axis_latency);
  p.bits = at(axis_bits);
  p.table_bits = std::max(1, p.bits - at(axis_coarser));
  return p;
}

const DesignSpace::Words& DesignSpace::words(const HardwarePoint& p) {
  const auto [found, added] = words_.try_emplace({p.bits, p.units.multiplier_latency, p.table_bits});
  Words& w = found->second;
  if (!added) return w;
  w.fixed = make_fixed(
      problem_.formulas, problem_.step, problem_.scenario,
      {.bits = p.bits, .multiplier_latency = p.units.multiplier_latency, .table_bits = p.table_bits});
  const FixedPointRun run = run_fixed(w.fixed, problem_.step, problem_.scenario);
  for (const FixedError& e : run.errors) w.error = std::max(w.error, e.largest);
  w.overflows = run.overflows > 0;
  for (FixedTable& table : w.fixed.tables) table.entries = {};  // large, and the area does not ask for them
  w.structure =
      structures_.try_emplace(structure_of(w.fixed), static_cast<int>(structures_.size())).first->second;
  return w;
}

const HardwareSchedule& DesignSpace::schedule(const Words& words, const HardwareUnits& units) {
  const auto [found, added] = schedules_.try_emplace(
      {words.structure, units.multipliers, units.adders, units.dividers, units.multiplier_latency});
  if (added) found->second = schedule_step(words.fixed, units);
  return found->second;
}

const DesignValue& DesignSpace::value(const DesignGenes& genes) {
  const auto [found, added] = values_.try_emplace(canonical(genes));
  DesignValue& v = found->second;
  if (!added) return v;
  v.point = point(genes);
  const Words& w = words(v.point);
  const BackEnd::Cost cost = back_ends()[v.point.back_end].cost(
      w.fixed, v.point.units, [&]() -> const HardwareSchedule& { return schedule(w, v.point.units); });
  v.cycles = cost.cycles;
  v.period = cost.period;
  v.area = cost.area;
  v.error = w.error;
  v.overflows = w.overflows;
  return v;
}

SearchResult enumerate(DesignSpace& space, const DesignLimits& limits, const DesignProgress& progress) {
  Search search(space, limits, {});
  DesignGenes genes(space.axes().size(), 0);
  // Words change last: their runs take longest, and a progress in them is what is worth showing.
  for (std::size_t done = 1;; ++done) {
    search.goal(genes);
    if (progress) progress(done, space.size());
    std::size_t axis = 0;
    while (axis < genes.size() && ++genes[axis] == search.values(axis)) genes[axis++] = 0;
    if (axis == genes.size()) return search.result();
  }
}

SearchResult gradient_descent(DesignSpace& space, const DesignLimits& limits, const SearchOptions& options) {
  Search search(space, limits, options);
  for (int start = 0; start < options.starts; ++start) {
    DesignGenes at = search.random();
    for (bool moves = true; moves;) {
      moves = false;
      const DesignGoal here = search.goal(at);
      for (int moved = 1; moved <= 2 && !moves; ++moved) {
        DesignGenes next;
        double steepest = 0.0;
        DesignGoal reached;
        for_each_neighbour(search, at, moved, [&](const DesignGenes& neighbour) {
          const DesignGoal there = search.goal(neighbour);
          if (!(there < here)) return;
          const double s = slope(here, there);
          if (moves && (s < steepest || (s == steepest && !(there < reached)))) return;
          moves = true;
          next = neighbour, steepest = s, reached = there;
        });
        if (moves) at = next;
      }
    }
  }
  return search.result();
}

SearchResult genetic_search(DesignSpace& space, const DesignLimits& limits, const SearchOptions& options) {
  constexpr double crossover = 0.8, mutation = 0.1;
  constexpr std::size_t elite = 2;
  Search search(space, limits, options);
  Dice& dice = search.dice();
  struct Chromosome {
    DesignGoal goal;
    DesignGenes genes;
    auto operator<=>(const Chromosome&) const = default;
  };
  std::vector<Chromosome> population;
  const auto size = static_cast<std::size_t>(std::max(2, options.population));
  for (int tries = 0; population.size() < size && tries < 100 * options.population; ++tries) {
    const DesignGenes genes = search.random();
    if (std::none_of(population.begin(), population.end(), [&](const auto& c) { return c.genes == genes; }))
      population.push_back({search.goal(genes), genes});
  }
  // The better of two.
  const auto selected = [&]() -> const DesignGenes& {
    const Chromosome &x = population[dice.below(population.size())],
                     &y = population[dice.below(population.size())];
    return (x.goal < y.goal ? x : y).genes;
  };
  for (int generation = 0; generation < options.generations; ++generation) {
    std::sort(population.begin(), population.end());
    std::vector<Chromosome> next(
        population.begin(),
        population.begin() + static_cast<std::ptrdiff_t>(std::min(elite, population.size())));
    while (next.size() < population.size()) {
      DesignGenes child = selected();
      if (dice.chance(crossover)) {
        const DesignGenes other = selected();
        for (std::size_t k = 0; k < child.size(); ++k)
          if (dice.chance(0.5)) child[k] = other[k];
      }
      for (std::size_t k = 0; k < child.size(); ++k)
        if (dice.chance(mutation)) child[k] = dice.below(static_cast<std::size_t>(search.values(k)));
      const DesignGoal goal = search.goal(child);
      next.push_back({goal, std::move(child)});
    }
    population = std::move(next);
  }
  return search.result();
}

std::vector<DesignValue> design_front(const DesignSpace& space, const DesignLimits& limits, FrontOf what) {
  std::vector<DesignValue> all, front;
  for (const auto& [genes, v] : space.values())
    if (goal_of(v, limits).excess == 0.0) all.push_back(v);
  const auto key = [](const DesignValue& v) { return std::tuple(v.time(), v.area.luts, v.error); };
  std::stable_sort(all.begin(), all.end(), [&](const auto& x, const auto& y) { return key(x) < key(y); });
  for (const DesignValue& v : all)
    if (std::none_of(front.begin(), front.end(), [&](const DesignValue& f) {
          return f.area.luts <= v.area.luts && (what == FrontOf::time_and_luts || f.error <= v.error);
        }))
      front.push_back(v);
  return front;
}

std::vector<DesignValue> spread(const std::vector<DesignValue>& front, std::size_t count) {
  if (front.size() <= count || count == 0) return front;
  const auto place = [](const DesignValue& v) {
    return std::array{std::log(v.time()), std::log(v.area.luts), 0.25 * std::log(v.error + 1e-12)};
  };
  std::vector<char> taken(front.size(), 0);
  std::vector<double> distance(front.size(), std::numeric_limits<double>::infinity());
  const auto take = [&](std::size_t k) {
    taken[k] = 1;
    for (std::size_t j = 0; j < front.size(); ++j) {
      double d = 0.0;
      for (std::size_t c = 0; c < 3; ++c) d += std::pow(place(front[j])[c] - place(front[k])[c], 2);
      distance[j] = std::min(distance[j], d);
    }
  };
  const auto least = [&](auto fn) {
    return static_cast<std::size_t>(
        std::min_element(front.begin(), front.end(),
                         [&](const auto& x, const auto& y) { return fn(x) < fn(y); }) -
        front.begin());
  };
  take(0);
  take(least([](const DesignValue& v) { return v.area.luts; }));
  take(least([](const DesignValue& v) { return v.error; }));
  while (static_cast<std::size_t>(std::count(taken.begin(), taken.end(), 1)) < count)
    take(static_cast<std::size_t>(std::max_element(distance.begin(), distance.end()) - distance.begin()));
  std::vector<DesignValue> result;
  for (std::size_t k = 0; k < front.size(); ++k)
    if (taken[k]) result.push_back(front[k]);
  return result;
}

std::string export_options(const HardwarePoint& p) {
  std::string text;
  if (!back_ends()[p.back_end].has_units) {
    text = fmt::format("--core {}", back_ends()[p.back_end].name);
  } else {
    text = fmt::format("--multipliers {} --adders {}", p.units.multipliers, p.units.adders);
    if (p.units.dividers > 1) text += fmt::format(" --dividers {}", p.units.dividers);
    if (p.units.multiplier_latency != 1) text += fmt::format(" --latency {}", p.units.multiplier_latency);
  }
  text += fmt::format(" --bits {}", p.bits);
  if (p.table_bits != p.bits) text += fmt::format(" --table-bits {}", p.table_bits);
  return text;
}

}  // namespace tellegen
