#include "tellegen/program/repeats.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

namespace tellegen {
namespace {

constexpr std::size_t many = 2000;  // instructions: less is a compiler's daily bread
constexpr std::size_t longest_block = 3000;
constexpr std::size_t fewest_times = 8;

std::array<std::int32_t, 4> slots(const Instruction& i) { return {i.target, i.a, i.b, i.c}; }

// Equal numbers: the same but for registers.
class Signatures {
 public:
  explicit Signatures(const Program& program) : program_(program) {}
  bool same(const Instruction& a, const Instruction& b) const {
    if (a.code != b.code || a.order != b.order) return false;
    if (a.code == Code::number) return program_.numbers[a.extra] == program_.numbers[b.extra];
    return a.extra == b.extra;
  }
  std::uint64_t hash(const Instruction& i) const {
    const std::uint64_t what = i.code == Code::number ? std::hash<double>()(program_.numbers[i.extra])
                                                      : static_cast<std::uint64_t>(i.extra);
    return (what * 64 + static_cast<std::uint64_t>(i.code)) * 64 + static_cast<std::uint64_t>(i.order);
  }

 private:
  const Program& program_;
};

// A block that repeats begins at two places from which `fewest_times - 1` instructions have the same
// signatures. Found by their hashes.
class Alike {
 public:
  Alike(std::span<const Instruction> code, const Signatures& signatures)
      : hash_(code.size()), next_(code.size(), code.size()) {
    constexpr std::size_t window = fewest_times - 1;
    std::unordered_map<std::uint64_t, std::size_t> last;
    for (std::size_t at = code.size() - std::min(code.size(), window - 1); at-- > 0;) {
      for (std::size_t k = 0; k < window; ++k) {
        hash_[at] = (hash_[at] ^ signatures.hash(code[at + k])) * 0x9e3779b97f4a7c15u;
        hash_[at] ^= hash_[at] >> 29;
      }
      const auto [found, inserted] = last.try_emplace(hash_[at], at);
      if (!inserted) next_[at] = std::exchange(found->second, at);
    }
  }
  std::size_t next(std::size_t at) const { return next_[at]; }  // the end where there is none
  bool may_repeat(std::size_t at, std::size_t period) const {
    for (std::size_t k = 2; k + 1 < fewest_times; ++k)
      if (k * period + fewest_times - 1 <= (fewest_times - 1) * period && hash_[at + k * period] != hash_[at])
        return false;
    return true;
  }

 private:
  std::vector<std::uint64_t> hash_;
  std::vector<std::size_t> next_;
};

// How often the block of this length repeats from here on, and by which strides.
std::size_t times(std::span<const Instruction> code, const Signatures& signatures, std::size_t begin,
                  std::size_t period, std::vector<Strides>& strides) {
  strides.clear();
  std::size_t at = begin;
  for (; at + period < code.size(); ++at) {
    const Instruction &now = code[at], &next = code[at + period];
    if (!signatures.same(now, next)) break;
    Strides step;
    const auto a = slots(now), b = slots(next);
    for (std::size_t k = 0; k < 4; ++k) step[k] = b[k] - a[k];
    if (const std::size_t place = at - begin; place < period)
      strides.push_back(step);
    else if (step != strides[place % period])
      break;
  }
  return (at - begin) / period + 1;
}

std::vector<Repeat> repeats_in(const Program& program, std::span<const Instruction> code) {
  std::vector<Repeat> found;
  const Signatures signatures(program);
  const Alike alike(code, signatures);
  std::vector<Strides> strides;
  for (std::size_t at = 0; at < code.size();) {
    Repeat best;
    for (std::size_t again = alike.next(at); again < code.size(); again = alike.next(again)) {
      const std::size_t period = again - at;
      if (period > longest_block || at + fewest_times * period > code.size()) break;
      if (!alike.may_repeat(at, period)) continue;
      const std::size_t count = times(code, signatures, at, period, strides);
      if (count < fewest_times || count * period <= best.count * best.period + period) continue;
      best = {at, period, count, strides, {}};
    }
    at += std::max<std::size_t>(1, best.count * best.period);
    if (best.count > 0) found.push_back(std::move(best));
  }
  return found;
}

// A register's block, where it is written once.
struct Home {
  std::int32_t section = -1, repeat = -1, time = -1;
  friend bool operator==(const Home&, const Home&) = default;
};

class Places {
 public:
  Places(const Procedure& procedure, Repeats& repeats)
      : p_(procedure.program), procedure_(procedure), r_(repeats) {}

  void find() {
    home_.resize(p_.registers);
    written_.assign(p_.registers, 0);
    escapes_.assign(p_.registers, 0);
    each_instruction([&](const Instruction& i, const Home& here) {
      home_[i.target] = here;
      if (written_[i.target]++) escapes_[i.target] = 1;
    });
    std::vector<char> known(p_.registers, 0);  // written before, in its block
    each_instruction([&](const Instruction& i, const Home& here) {
      for_each_operand(p_, i, [&](std::int32_t reg) {
        if (here.repeat < 0 || home_[reg] != here || !known[reg]) escapes_[reg] = 1;
      });
      known[i.target] = 1;
    });
    for (const Entry& e : procedure_.entries) look_at(e.body);
    for (std::int32_t reg : procedure_.exported) escapes_[reg] = 1;
    for (std::int32_t reg : p_.roots) escapes_[reg] = 1;
    r_.in_memory.assign(p_.registers, 0);
    for (std::size_t s = 0; s < r_.of_section.size(); ++s)
      for (Repeat& repeat : r_.of_section[s]) place(p_.section(static_cast<int>(s)), repeat);
  }

 private:
  template <class Fn>
  void each_instruction(Fn fn) {
    for (std::size_t s = 0; s < r_.of_section.size(); ++s) {
      const auto code = p_.section(static_cast<int>(s));
      const auto& list = r_.of_section[s];
      std::size_t next = 0;
      for (std::size_t at = 0; at < code.size(); ++at) {
        while (next < list.size() && at >= list[next].begin + list[next].period * list[next].count) ++next;
        Home here{static_cast<std::int32_t>(s), -1, -1};
        if (next < list.size() && at >= list[next].begin) {
          here.repeat = static_cast<std::int32_t>(next);
          here.time = static_cast<std::int32_t>((at - list[next].begin) / list[next].period);
        }
        fn(code[at], here);
      }
    }
  }

  void look_at(const Body& body) {
    for (const Statement& s : body) {
      if (s.reg >= 0) escapes_[s.reg] = 1;
      for (const RegisterCopy& c : s.copies) escapes_[c.source] = escapes_[c.target] = 1;
      for (std::int32_t reg : s.registers) escapes_[reg] = 1;
      for (const Body& inner : s.bodies) look_at(inner);
    }
  }

  void place(std::span<const Instruction> code, Repeat& repeat) {
    repeat.local.assign(repeat.period, 1);
    for (std::size_t p = 0; p < repeat.period; ++p)
      for (std::size_t k = 0; k < repeat.count; ++k)
        if (escapes_[code[repeat.begin + k * repeat.period + p].target]) repeat.local[p] = 0;
    for (std::size_t p = 0; p < repeat.period; ++p) {
      const auto first = slots(code[repeat.begin + p]);
      for (std::size_t slot = 0; slot < 4; ++slot) {
        const std::int32_t stride = repeat.strides[p][slot];
        if (stride == 0 || (slot == 0 && repeat.local[p])) continue;
        if (slot > 0 && is_local(code, repeat, first[slot])) continue;
        for (std::size_t k = 0; k < repeat.count; ++k)
          r_.in_memory[first[slot] + static_cast<std::int32_t>(k) * stride] = 1;
      }
    }
  }

  // The register of the first time, written in this block and nowhere needed else.
  bool is_local(std::span<const Instruction> code, const Repeat& repeat, std::int32_t reg) const {
    for (std::size_t p = 0; p < repeat.period; ++p)
      if (repeat.local[p] && code[repeat.begin + p].target == reg) return true;
    return false;
  }

  const Program& p_;
  const Procedure& procedure_;
  Repeats& r_;
  std::vector<Home> home_;
  std::vector<int> written_;
  std::vector<char> escapes_;
};

// Two loops of a section as one, where that can be: the new order of its instructions, empty where not.
class Joining {
 public:
  Joining(const Program& program, std::span<const Instruction> code) : program_(program), code_(code) {
    writer_.assign(static_cast<std::size_t>(program.registers), -1);
    for (std::size_t at = 0; at < code.size(); ++at) {
      std::int32_t& writer = writer_[static_cast<std::size_t>(code[at].target)];
      once_ = once_ && writer < 0;
      writer = static_cast<std::int32_t>(at);
    }
  }
  bool writes_once() const { return once_; }

  std::vector<std::size_t> order(const Repeat& first, const Repeat& second) const {
    const std::size_t first_end = first.begin + first.count * first.period;
    // Of what stands between them: how many times of the first it needs, itself or by what it reads.
    std::vector<std::size_t> needs(code_.size(), 0);
    std::size_t ahead = lead(first, second);
    std::vector<std::size_t> order, early, behind;
    for (std::size_t at = 0; at < first.begin; ++at) order.push_back(at);
    for (std::size_t at = first_end; at < second.begin; ++at) {
      each_writer(at, [&](std::size_t writer) {
        if (writer >= first.begin)
          needs[at] = std::max(
              needs[at], writer < first_end ? (writer - first.begin) / first.period + 1 : needs[writer]);
      });
      (needs[at] == 0 ? order : needs[at] <= fewest_times ? early : behind).push_back(at);
      if (needs[at] <= fewest_times) ahead = std::max(ahead, needs[at]);
    }
    if (ahead >= first.count) return {};
    // The second advances beside the first until it needs something that waits for the first's end.
    std::size_t pairs = std::min(first.count - ahead, second.count);
    for (std::size_t at = second.begin; at < second.begin + pairs * second.period; ++at)
      each_writer(at, [&](std::size_t writer) {
        if (writer >= first_end && writer < second.begin && needs[writer] > fewest_times)
          pairs = std::min(pairs, (at - second.begin) / second.period);
      });
    if (pairs < fewest_times || 2 * pairs < std::min(first.count, second.count)) return {};
    const auto block = [&](const Repeat& r, std::size_t time) {
      for (std::size_t p = 0; p < r.period; ++p) order.push_back(r.begin + time * r.period + p);
    };
    for (std::size_t time = 0; time < ahead; ++time) block(first, time);
    order.insert(order.end(), early.begin(), early.end());
    for (std::size_t time = 0; time < pairs; ++time) block(first, ahead + time), block(second, time);
    for (std::size_t time = ahead + pairs; time < first.count; ++time) block(first, time);
    order.insert(order.end(), behind.begin(), behind.end());
    for (std::size_t at = second.begin + pairs * second.period; at < code_.size(); ++at) order.push_back(at);
    return order;
  }

 private:
  template <class Fn>
  void each_writer(std::size_t at, Fn fn) const {
    for_each_operand(program_, code_[at], [&](std::int32_t reg) {
      const std::int32_t writer = writer_[static_cast<std::size_t>(reg)];
      if (writer >= 0 && static_cast<std::size_t>(writer) < at) fn(static_cast<std::size_t>(writer));
    });
  }

  // How many times the first has to be ahead of the second.
  std::size_t lead(const Repeat& first, const Repeat& second) const {
    std::size_t ahead = 0;
    for (std::size_t time = 0; time < second.count; ++time)
      for (std::size_t p = 0; p < second.period; ++p)
        each_writer(second.begin + time * second.period + p, [&](std::size_t writer) {
          if (writer < first.begin || writer >= first.begin + first.count * first.period) return;
          const std::size_t needed = (writer - first.begin) / first.period;
          if (needed > time) ahead = std::max(ahead, needed - time);
        });
    return ahead;
  }

  const Program& program_;
  std::span<const Instruction> code_;
  std::vector<std::int32_t> writer_;  // per register: its instruction; -1: of another section, or an input
  bool once_ = true;
};

// Joins the two loops with most to do beside each other; false where no two can be joined.
bool join_two(Program& program, int section) {
  const auto code = program.section(section);
  const Joining joining(program, code);
  if (!joining.writes_once()) return false;
  const std::vector<Repeat> loops = repeats_in(program, code);
  std::vector<std::size_t> best;
  std::size_t most = 0;
  for (std::size_t i = 0; i < loops.size(); ++i)
    for (std::size_t j = i + 1; j < loops.size(); ++j) {
      const std::size_t beside =
          std::min(loops[i].period, loops[j].period) * std::min(loops[i].count, loops[j].count);
      if (beside <= most || loops[i].period + loops[j].period > longest_block) continue;
      if (std::vector<std::size_t> order = joining.order(loops[i], loops[j]); !order.empty())
        best = std::move(order), most = beside;
    }
  std::vector<Instruction> joined;
  for (std::size_t at : best) joined.push_back(code[at]);
  std::copy(joined.begin(), joined.end(), program.code.begin() + (code.data() - program.code.data()));
  return !best.empty();
}

}  // namespace

void advance_together(Program& program) {
  if (program.code.size() < many) return;
  constexpr int most_joined = 8;
  for (int s = 0; s < program.sections(); ++s)
    for (int joined = 0; joined < most_joined && join_two(program, s); ++joined) {
    }
}

Repeats find_repeats(const Procedure& procedure) {
  Repeats repeats;
  bool any = false;
  const bool is_long = procedure.program.code.size() >= many;
  for (int s = 0; s < procedure.program.sections(); ++s) {
    repeats.of_section.emplace_back();
    if (is_long) repeats.of_section.back() = repeats_in(procedure.program, procedure.program.section(s));
    any = any || !repeats.of_section.back().empty();
  }
  if (any)
    Places(procedure, repeats).find();
  else
    repeats.in_memory.assign(procedure.program.registers, 0);
  return repeats;
}

}  // namespace tellegen
