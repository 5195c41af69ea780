#include "tellegen/deploy/hardware_schedule.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace tellegen {
namespace {

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
    std::vector<int> divider_free(static_cast<std::size_t>(std::max(1, units_.dividers)), 0);
    for (int cycle = 0; !order.empty(); ++cycle) {
      int multipliers = 0, adders = 0;
      std::vector<int> ports(fixed_.tables.size(), 0), later;
      for (const int k : order) {
        const UnitKind kind = unit_of(fixed_.ops[k].kind);
        bool starts = waits[k] == 0 && ready[k] <= cycle;
        int unit = 0;
        if (starts && kind == UnitKind::multiplier)
          starts = (unit = multipliers) < units_.multipliers;
        else if (starts && kind == UnitKind::adder)
          starts = (unit = adders) < units_.adders;
        else if (starts && kind == UnitKind::table)
          starts = (unit = ports[fixed_.ops[k].table]) < HardwareUnits::table_ports;
        else if (starts && kind == UnitKind::divider) {
          while (unit < static_cast<int>(divider_free.size()) && divider_free[unit] > cycle) ++unit;
          starts = unit < static_cast<int>(divider_free.size());
        }
        if (!starts) {
          later.push_back(k);
          continue;
        }
        multipliers += kind == UnitKind::multiplier;
        adders += kind == UnitKind::adder;
        if (kind == UnitKind::table) ++ports[fixed_.ops[k].table];
        if (kind == UnitKind::divider) divider_free[unit] = cycle + latency_[k];
        result.places[k].start = cycle;
        result.places[k].write = cycle + latency_[k] - 1;
        result.places[k].unit = unit;
        result.cycles = std::max(result.cycles, cycle + latency_[k]);
        for (const int r : readers_[k]) {
          --waits[r];
          ready[r] = std::max(ready[r], cycle + latency_[k]);
        }
      }
      order = std::move(later);
    }
    return result;
  }

  // A unit that has had these sources before saves legs of multiplexers.
  void bind_units(HardwareSchedule& s) const {
    for (const UnitKind kind : {UnitKind::multiplier, UnitKind::adder}) {
      std::vector<std::vector<int>> seen(
          static_cast<std::size_t>(kind == UnitKind::multiplier ? units_.multipliers : units_.adders));
      for (int cycle = 0; cycle < s.cycles; ++cycle) {
        std::vector<char> taken(seen.size(), 0);
        for (std::size_t k = 0; k < s.places.size(); ++k) {
          if (s.places[k].start != cycle || unit_of(fixed_.ops[k].kind) != kind) continue;
          int best = -1, most = -1;
          for (std::size_t u = 0; u < seen.size(); ++u) {
            if (taken[u]) continue;
            int common = 0;
            for_each_source(fixed_.ops[k], [&](int source) {
              common += std::find(seen[u].begin(), seen[u].end(), source) != seen[u].end();
            });
            if (common > most) most = common, best = static_cast<int>(u);
          }
          taken[best] = 1;
          s.places[k].unit = best;
          for_each_source(fixed_.ops[k], [&](int source) { seen[best].push_back(source); });
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
