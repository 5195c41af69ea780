// Steps of many machines that begin one after the other: list scheduling where a unit that is taken in one
// cycle is taken in every cycle that lies a whole number of intervals away. Machines do not depend on each
// other, so every interval has a schedule.
#include <algorithm>
#include <numeric>

#include "tellegen/deploy/hardware_schedule.h"

namespace tellegen {
namespace {

// Operations in the order in which they are placed: the longest way to the end first among those whose
// operands are placed.
std::vector<int> ways(const FixedStep& fixed, const HardwareUnits& units, const std::vector<char>& needed) {
  std::vector<int> way(fixed.ops.size(), 0);
  for (std::size_t k = fixed.ops.size(); k-- > 0;) {
    way[k] += latency_of(fixed, units, fixed.ops[k].kind);
    if (needed[k]) for_each_source(fixed.ops[k], [&](int s) { way[s] = std::max(way[s], way[k]); });
  }
  return way;
}

}  // namespace

int pipeline_depth(const FixedStep& fixed, const HardwareUnits& units) {
  const std::vector<int> way = ways(fixed, units, needed_operations(fixed));
  return way.empty() ? 0 : *std::max_element(way.begin(), way.end());
}

HardwareSchedule pipeline_step(const FixedStep& fixed, const HardwareUnits& units, int interval) {
  const std::size_t n = fixed.ops.size();
  const std::vector<char> needed = needed_operations(fixed);
  const std::vector<int> way = ways(fixed, units, needed);
  HardwareSchedule s;
  s.interval = interval;
  s.places.resize(n);
  std::vector<int> order, ends(n, 0);
  for (std::size_t k = 0; k < n; ++k)
    if (needed[k] && unit_of(fixed.ops[k].kind) != UnitKind::none) order.push_back(static_cast<int>(k));
  // Of operations that need the same unit those on the longest way choose first; operands come before.
  std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return way[x] > way[y]; });

  // By kind, and table: what begins at a cycle modulo the interval, and how many may.
  enum { multipliers, adders, dividers, tables };
  std::vector<std::vector<int>> taken(tables + fixed.tables.size(),
                                      std::vector<int>(static_cast<std::size_t>(interval), 0));
  std::vector<int> count(taken.size(), 0);
  const auto queue_of = [&](const FixedOp& op) -> int {
    switch (unit_of(op.kind)) {
      case UnitKind::multiplier:
        return multipliers;
      case UnitKind::adder:
        return adders;
      case UnitKind::divider:
        return dividers;
      case UnitKind::table:
        return tables + op.table;
      default:
        return -1;
    }
  };
  for (const int k : order)
    if (const int q = queue_of(fixed.ops[k]); q >= 0) ++count[static_cast<std::size_t>(q)];
  for (int& c : count) c = (c + interval - 1) / interval;
  for (const int k : order) {
    HardwareSchedule::Place& p = s.places[k];
    int start = 0;
    for_each_source(fixed.ops[k], [&](int source) { start = std::max(start, ends[source]); });
    p.unit = 0;
    if (const int q = queue_of(fixed.ops[k]); q >= 0) {
      auto& slots = taken[static_cast<std::size_t>(q)];
      while (slots[start % interval] == count[static_cast<std::size_t>(q)]) ++start;
      p.unit = slots[start % interval]++;
    }
    p.start = start;
    ends[k] = start + latency_of(fixed, units, fixed.ops[k].kind);
    p.write = ends[k] - 1;
    s.cycles = std::max(s.cycles, ends[k]);
  }
  s.multipliers = count[multipliers], s.adders = count[adders], s.dividers = count[dividers];

  // A value waits in registers one behind the other, of which each holds it for an interval.
  std::vector<int> last_read(n, -1);
  for (std::size_t k = 0; k < n; ++k)
    if (s.places[k].start >= 0)
      for_each_source(fixed.ops[k], [&](int source) {
        last_read[source] = std::max(last_read[source], s.places[k].start);
      });
  for (const int k : fixed.next) last_read[k] = s.cycles;
  for (const FixedStep::Word& word : fixed.outputs) last_read[word.op] = s.cycles;
  s.copies.assign(n, 0);
  for (std::size_t k = 0; k < n; ++k)
    if (fixed.ops[k].kind != OpKind::constant && last_read[k] >= 0)
      s.copies[k] = (last_read[k] - s.places[k].write + interval - 1) / interval;
  s.registers = std::accumulate(s.copies.begin(), s.copies.end(), 0);
  return s;
}

}  // namespace tellegen
