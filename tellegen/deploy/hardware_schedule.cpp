#include "tellegen/deploy/hardware_schedule.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>

namespace tellegen {
namespace {

class Scheduler {
 public:
  Scheduler(const FixedStep& fixed, const HardwareUnits& units) : fixed_(fixed), units_(units) {
    const std::size_t n = fixed.ops.size();
    latency_.resize(n);
    readers_.resize(n);
    needed_ = needed_operations(fixed);
    for (std::size_t k = 0; k < n; ++k) {
      latency_[k] = latency_of(fixed, units, fixed.ops[k].kind);
      if (needed_[k])
        for_each_source(fixed.ops[k], [&](int s) { readers_[s].push_back(static_cast<int>(k)); });
    }
    way_.assign(n, 0);
    for (std::size_t k = n; k-- > 0;) {
      for (const int r : readers_[k]) way_[k] = std::max(way_[k], way_[r]);
      way_[k] += latency_[k];
    }
  }

  // Times only. `seed` breaks ties.
  HardwareSchedule times(std::uint32_t seed) const {
    HardwareSchedule result;
    const std::size_t n = fixed_.ops.size();
    result.places.resize(n);
    std::vector<int> order, ready(n, 0), waits(n, 0);
    for (std::size_t k = 0; k < n; ++k) {
      if (!needed_[k]) continue;
      if (unit_of(fixed_.ops[k].kind) == UnitKind::none) continue;
      order.push_back(static_cast<int>(k));
      for_each_source(fixed_.ops[k],
                      [&](int s) { waits[k] += unit_of(fixed_.ops[s].kind) != UnitKind::none; });
    }
    std::vector<std::uint32_t> tie(n);
    for (std::size_t k = 0; k < n; ++k)
      tie[k] =
          seed == 0 ? static_cast<std::uint32_t>(k) : repeatable_shuffle(seed, static_cast<std::uint32_t>(k));
    std::stable_sort(order.begin(), order.end(),
                     [&](int x, int y) { return way_[x] != way_[y] ? way_[x] > way_[y] : tie[x] < tie[y]; });
    std::vector<int> rank(n);
    for (std::size_t k = 0; k < order.size(); ++k) rank[order[k]] = static_cast<int>(k);

    // What could start, by rank: for multipliers, adders, dividers, wires, and for each table.
    using Queue = std::priority_queue<int, std::vector<int>, std::greater<>>;
    enum { multipliers, adders, dividers, wires, tables };
    std::vector<Queue> queues(tables + fixed_.tables.size());
    std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> arrivals;
    for (const int k : order)
      if (waits[k] == 0) arrivals.push({0, rank[k]});
    const auto queue_of = [&](const FixedOp& op) -> Queue& {
      switch (unit_of(op.kind)) {
        case UnitKind::multiplier:
          return queues[multipliers];
        case UnitKind::adder:
          return queues[adders];
        case UnitKind::divider:
          return queues[dividers];
        case UnitKind::table:
          return queues[static_cast<std::size_t>(tables + op.table)];
        default:
          return queues[wires];
      }
    };
    std::vector<int> divider_free(static_cast<std::size_t>(std::max(1, units_.dividers)), 0);
    std::size_t waiting = 0;  // in queues
    const auto start = [&](Queue& queue, int cycle, int unit) {
      const int k = order[queue.top()];
      queue.pop();
      --waiting;
      const int end = cycle + latency_[k];
      result.places[k].start = cycle;
      result.places[k].write = end - 1;
      result.places[k].unit = unit;
      result.cycles = std::max(result.cycles, end);
      for (const int r : readers_[k]) {
        ready[r] = std::max(ready[r], end);
        if (--waits[r] == 0) arrivals.push({ready[r], rank[r]});
      }
      return end;
    };
    for (int cycle = 0; waiting > 0 || !arrivals.empty(); ++cycle) {
      if (waiting == 0) cycle = arrivals.top().first;
      if (waiting > 0 && waiting == queues[dividers].size()) {  // until one is free, or something else comes
        int next = *std::min_element(divider_free.begin(), divider_free.end());
        if (!arrivals.empty()) next = std::min(next, arrivals.top().first);
        cycle = std::max(cycle, next);
      }
      for (; !arrivals.empty() && arrivals.top().first <= cycle; arrivals.pop(), ++waiting)
        queue_of(fixed_.ops[order[arrivals.top().second]]).push(arrivals.top().second);
      for (std::size_t q = 0; q < queues.size(); ++q) {
        if (q == dividers) {
          for (std::size_t unit = 0; unit < divider_free.size() && !queues[q].empty(); ++unit)
            if (divider_free[unit] <= cycle)
              divider_free[unit] = start(queues[q], cycle, static_cast<int>(unit));
          continue;
        }
        const int units = q == multipliers ? units_.multipliers
                          : q == adders    ? units_.adders
                          : q == wires     ? static_cast<int>(n)
                                           : HardwareUnits::table_ports;
        for (int unit = 0; unit < units && !queues[q].empty(); ++unit)
          start(queues[q], cycle, q == wires ? 0 : unit);
      }
    }
    return result;
  }

  // A unit that has had these sources before saves legs of multiplexers.
  void bind_units(HardwareSchedule& s) const {
    for (const UnitKind kind : {UnitKind::multiplier, UnitKind::adder}) {
      std::vector<std::vector<char>> seen(
          static_cast<std::size_t>(kind == UnitKind::multiplier ? units_.multipliers : units_.adders),
          std::vector<char>(fixed_.ops.size(), 0));
      std::vector<std::vector<int>> started(static_cast<std::size_t>(s.cycles));
      for (std::size_t k = 0; k < s.places.size(); ++k)
        if (s.places[k].start >= 0 && unit_of(fixed_.ops[k].kind) == kind)
          started[s.places[k].start].push_back(static_cast<int>(k));
      for (const std::vector<int>& together : started) {
        std::vector<char> taken(seen.size(), 0);
        for (const int k : together) {
          int best = -1, most = -1;
          for (std::size_t u = 0; u < seen.size(); ++u) {
            if (taken[u]) continue;
            int common = 0;
            for_each_source(fixed_.ops[k], [&](int source) { common += seen[u][source]; });
            if (common > most) most = common, best = static_cast<int>(u);
          }
          taken[best] = 1;
          s.places[k].unit = best;
          for_each_source(fixed_.ops[k], [&](int source) { seen[best][source] = 1; });
          (kind == UnitKind::multiplier ? s.multipliers : s.adders) =
              std::max(kind == UnitKind::multiplier ? s.multipliers : s.adders, best + 1);
        }
      }
    }
    for (std::size_t k = 0; k < s.places.size(); ++k)
      if (unit_of(fixed_.ops[k].kind) == UnitKind::divider)
        s.dividers = std::max(s.dividers, s.places[k].unit + 1);
  }

  void bind_registers(HardwareSchedule& s) const {
    std::vector<int> last_read(fixed_.ops.size(), -1);
    for (std::size_t k = 0; k < fixed_.ops.size(); ++k)
      if (s.places[k].start >= 0)
        for_each_source(fixed_.ops[k], [&](int source) {
          last_read[source] = std::max(last_read[source], s.places[k].start);
        });
    // A state's next value is written to its register where nobody reads the old one any more.
    s.copied.assign(fixed_.states.size(), 0);
    for (std::size_t k = 0; k < fixed_.states.size(); ++k) {
      const int next = fixed_.next[k];
      s.places[next].state = static_cast<int>(k);
      s.copied[k] = s.places[next].write < last_read[fixed_.states[k].op];
      if (s.copied[k]) last_read[next] = s.cycles - 1;
    }
    std::vector<int> order(fixed_.ops.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int x, int y) { return s.places[x].write < s.places[y].write; });
    struct Free {
      int from, unit;
    };
    std::vector<Free> registers;
    for (const int k : order) {
      HardwareSchedule::Place& p = s.places[k];
      if (p.start < 0 || last_read[k] < 0) continue;
      if (p.state >= 0 && !s.copied[p.state]) continue;
      const int unit = 16 * static_cast<int>(unit_of(fixed_.ops[k].kind)) + p.unit;
      int best = -1;
      for (std::size_t r = 0; r < registers.size(); ++r)
        if (registers[r].from <= p.write &&
            (best < 0 || (registers[r].unit == unit && registers[best].unit != unit)))
          best = static_cast<int>(r);
      if (best < 0) {
        best = static_cast<int>(registers.size());
        registers.push_back({});
      }
      // Written at the end of one cycle, read up to the last: free for whatever is written at the end of
      // that.
      registers[best] = {last_read[k], unit};
      p.reg = best;
    }
    s.registers = static_cast<int>(registers.size());
  }

 private:
  const FixedStep& fixed_;
  const HardwareUnits& units_;
  std::vector<int> latency_, way_;
  std::vector<char> needed_;
  std::vector<std::vector<int>> readers_;
};

}  // namespace

int latency_of(const FixedStep& fixed, const HardwareUnits& units, FixedOp::Kind kind) {
  switch (unit_of(kind)) {
    case UnitKind::none:
      return 0;
    case UnitKind::multiplier:
      return units.multiplier_latency;
    case UnitKind::divider:
      return fixed.bits + 1;
    case UnitKind::table:
      return HardwareUnits::table_latency;
    case UnitKind::adder:
    case UnitKind::wire:
      return 1;
  }
  return 1;
}

UnitKind unit_of(FixedOp::Kind kind) {
  switch (kind) {
    case OpKind::constant:
    case OpKind::state:
    case OpKind::given:
    case OpKind::function:
      return UnitKind::none;
    case OpKind::multiply:
      return UnitKind::multiplier;
    case OpKind::add:
      return UnitKind::adder;
    case OpKind::divide:
    case OpKind::root:
      return UnitKind::divider;
    case OpKind::table:
      return UnitKind::table;
    default:
      return UnitKind::wire;
  }
}

std::vector<char> needed_operations(const FixedStep& fixed) {
  std::vector<char> result(fixed.ops.size(), 0);
  for (const int op : fixed.next) result[op] = 1;
  for (const auto& word : fixed.outputs) result[word.op] = 1;
  for (std::size_t k = fixed.ops.size(); k-- > 0;)
    if (result[k]) for_each_source(fixed.ops[k], [&](int s) { result[s] = 1; });
  return result;
}

std::uint32_t repeatable_shuffle(std::uint32_t seed, std::uint32_t k) {
  std::uint32_t x = seed * 0x9e3779b9U + k;
  x ^= x >> 16, x *= 0x7feb352dU, x ^= x >> 15, x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

HardwareSchedule schedule_step(const FixedStep& fixed, const HardwareUnits& units) {
  const Scheduler scheduler(fixed, units);
  HardwareSchedule best = scheduler.times(0);
  const std::uint32_t tries = fixed.ops.size() > 2000 ? 8 : 100;
  for (std::uint32_t seed = 1; seed <= tries; ++seed)
    if (HardwareSchedule other = scheduler.times(seed); other.cycles < best.cycles) best = std::move(other);
  scheduler.bind_units(best);
  scheduler.bind_registers(best);
  return best;
}

}  // namespace tellegen
