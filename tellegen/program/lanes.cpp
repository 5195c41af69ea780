#include "tellegen/program/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "tellegen/program/liveness.h"

namespace tellegen {
namespace {

// Registers that may differ between lanes, found by going through the statements until nothing is new.
class LanePlanner {
 public:
  LanePlanner(const Procedure& procedure, std::size_t entry, std::vector<char> differ)
      : procedure_(procedure), living_(living_registers(procedure)) {
    plan_.entry = entry;
    plan_.varying = std::move(differ);
  }

  std::optional<LanePlan> plan() {
    const Body& all = procedure_.entries[plan_.entry].body;
    count_reads(all, reads_);
    do {
      changed_ = false;
      body(all);
    } while (changed_ && possible_);
    if (!possible_) return std::nullopt;
    return std::move(plan_);
  }

 private:
  using Counts = std::map<std::int32_t, int>;

  template <class Read, class Write>
  void each(const Statement& s, Read read, Write write) const {
    switch (s.flow) {
      case Flow::section:
        for (const Instruction& i : procedure_.program.section(s.index)) {
          for_each_operand(procedure_.program, i, read);
          write(i.target);
        }
        break;
      case Flow::copy:
        for (const RegisterCopy& c : s.copies) read(c.source), write(c.target);
        break;
      case Flow::leave:
      case Flow::when:
      case Flow::choose:
      case Flow::fail:
      case Flow::reload:
        read(s.reg);
        break;
      case Flow::emit:
        for (const std::int32_t reg : s.registers) read(reg);
        break;
      case Flow::take:
        for (const std::int32_t reg : s.registers) write(reg);
        break;
      case Flow::loop:
        break;
    }
    for (const Body& b : s.bodies)
      for (const Statement& inner : b) each(inner, read, write);
  }

  void count_reads(const Body& statements, Counts& counts) const {
    for (const Statement& s : statements)
      each(
          s, [&](std::int32_t reg) { ++counts[reg]; }, [](auto) {});
  }

  // Written in the loop and read behind it, before it or in its next turn.
  std::vector<char> kept_by(const Statement& loop) const {
    Counts inside;
    std::vector<char> written(procedure_.program.registers, 0);
    each(
        loop, [&](std::int32_t reg) { ++inside[reg]; }, [&](std::int32_t reg) { written[reg] = 1; });
    Liveness uses(procedure_.program);
    Liveness::Set sure(procedure_.program.registers, 0);
    std::vector<Liveness::Set> left;
    uses.body(loop.bodies[0], sure, left);
    for (std::size_t r = 0; r < written.size(); ++r) {
      if (!written[r]) continue;
      const auto reg = static_cast<std::int32_t>(r);
      const auto all = reads_.find(reg);
      const Counts::const_iterator own = inside.find(reg);
      const bool outside = all != reads_.end() && (own == inside.end() || all->second > own->second);
      written[r] = outside || living_[r] || uses.exposed[r];
    }
    return written;
  }

  void vary(std::int32_t reg) {
    changed_ = changed_ || !plan_.varying[reg];
    plan_.varying[reg] = 1;
  }

  void write(std::int32_t target, bool differs) {
    for (const Statement* loop : loops_)
      if (const auto parted = plan_.kept.find(loop); parted != plan_.kept.end())
        differs = differs || parted->second[target];
    if (differs) vary(target);
  }

  bool parted() const {
    return std::any_of(loops_.begin(), loops_.end(), [&](auto loop) { return plan_.kept.contains(loop); });
  }

  void body(const Body& statements) {
    const auto differs = [&](std::int32_t reg) { return plan_.varying[reg] != 0; };
    for (const Statement& s : statements) switch (s.flow) {
        case Flow::section:
          for (const Instruction& i : procedure_.program.section(s.index)) {
            bool any = false;
            for_each_operand(procedure_.program, i, [&](std::int32_t reg) { any = any || differs(reg); });
            write(i.target, any);
          }
          break;
        case Flow::copy:
          for (const RegisterCopy& c : s.copies) write(c.target, differs(c.source));
          break;
        case Flow::loop:
          loops_.push_back(&s);
          body(s.bodies[0]);
          loops_.pop_back();
          break;
        case Flow::leave:
          if (differs(s.reg) && !plan_.kept.contains(loops_.back())) {
            plan_.kept[loops_.back()] = kept_by(*loops_.back());
            changed_ = true;
          }
          break;
        case Flow::when:
        case Flow::choose:
          if (differs(s.reg)) possible_ = false;
          for (const Body& b : s.bodies) body(b);
          break;
        case Flow::emit:
          if (parted()) possible_ = false;
          break;
        case Flow::take:
          possible_ = false;
          break;
        case Flow::reload:
          if (differs(s.reg)) possible_ = false;
          break;
        case Flow::fail:
          break;
      }
  }

  const Procedure& procedure_;
  const std::vector<char> living_;
  Counts reads_;
  LanePlan plan_;
  std::vector<const Statement*> loops_;
  bool changed_ = false, possible_ = true;
};

// Functions with a form for whole vectors; all others are called lane by lane.
constexpr std::string_view vector_functions[] = {"lt",  "le",  "gt",  "ge",     "eq",
                                                 "ne",  "and", "or",  "not",    "if",
                                                 "min", "max", "exp", "limexp", "junction_limit",
                                                 "abs"};

}  // namespace

LaneTarget lanes_of_this_machine() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return {.vector = 8, .instructions = "avx512f,avx512dq"};
  if (__builtin_cpu_supports("avx2")) return {.vector = 4, .instructions = "avx2"};
#endif
  return {};
}

std::optional<LanePlan> plan_lanes(const Procedure& procedure, std::size_t entry, std::vector<char> differ) {
  return LanePlanner(procedure, entry, std::move(differ)).plan();
}

std::string c_lane_instruction(const Program& program, const Instruction& i, const LanePlan& plan,
                               const LaneTarget& target, int vector) {
  const auto plain = [&](std::int32_t r) {
    return plan.varying[r] ? fmt::format("r{}_{}", r, vector) : fmt::format("r{}", r);
  };
  const auto whole = [&](std::int32_t r) {
    return plan.varying[r] ? plain(r) : fmt::format("lanes_splat({})", plain(r));
  };
  bool differs = false;
  for_each_operand(program, i, [&](std::int32_t r) { differs = differs || plan.varying[r]; });
  switch (i.code) {
    case Code::copy:
      return fmt::format("{} = {};", plain(i.target), whole(i.a));
    case Code::add:
    case Code::subtract:
    case Code::multiply:
    case Code::divide:
    case Code::negate:
      if (differs) return c_instruction(program, i, plain);
      break;
    case Code::call: {
      const Function& f = *program.functions[i.extra];
      if (std::find(std::begin(vector_functions), std::end(vector_functions), f.name) ==
          std::end(vector_functions))
        break;
      const std::int32_t arguments[] = {i.a, i.b, i.c};
      std::string list;
      for (int k = 0; k < (f.arity < 0 ? 2 : f.arity); ++k) list += (k > 0 ? ", " : "") + whole(arguments[k]);
      return fmt::format("{} = lanes_{}({});", plain(i.target), f.name, list);
    }
    default:
      break;
  }
  const auto element = [&](std::int32_t r) { return plan.varying[r] ? plain(r) + "[l]" : plain(r); };
  return fmt::format("for (int l = 0; l < {}; ++l) {}", target.vector, c_instruction(program, i, element));
}

std::string c_lane_functions(const LaneTarget& target) {
  std::string attributes = "always_inline";
  if (!target.instructions.empty()) attributes += fmt::format(", target(\"{}\")", target.instructions);
  std::string splat;
  for (int l = 0; l < target.vector; ++l) splat += l > 0 ? ", a" : "a";
  std::string text = fmt::format(
      "typedef double V __attribute__((vector_size({0})));\n"
      "typedef double U __attribute__((vector_size({0}), aligned(8), may_alias));\n"
      "typedef long long M __attribute__((vector_size({0})));\n"
      "typedef unsigned long long N __attribute__((vector_size({0})));\n"
      "#define LANES {1}\n"
      "#define FN static inline __attribute__(({2}))\n"
      "FN V lanes_splat(double a) {{ return (V){{{3}}}; }}\n",
      8 * target.vector, target.vector, attributes, splat);
  text += R"(FN V lanes_load(const double* p) { return *(const U*)p; }
FN void lanes_store(double* p, V a) { *(U*)p = a; }
FN V lanes_pick(M m, V a, V b) { return (V)(((M)a & m) | ((M)b & ~m)); }
FN int lanes_any(M m) { long long any = 0; for (int l = 0; l < LANES; ++l) any |= m[l]; return any != 0; }
FN V lanes_truth(M m) { return (V)(m & (M)lanes_splat(1.0)); }
FN V lanes_lt(V a, V b) { return lanes_truth(a < b); }
FN V lanes_le(V a, V b) { return lanes_truth(a <= b); }
FN V lanes_gt(V a, V b) { return lanes_truth(a > b); }
FN V lanes_ge(V a, V b) { return lanes_truth(a >= b); }
FN V lanes_eq(V a, V b) { return lanes_truth(a == b); }
FN V lanes_ne(V a, V b) { return lanes_truth(a != b); }
FN V lanes_and(V a, V b) { return lanes_truth((a != 0.0) & (b != 0.0)); }
FN V lanes_or(V a, V b) { return lanes_truth((a != 0.0) | (b != 0.0)); }
FN V lanes_not(V a) { return lanes_truth(~(a != 0.0)); }
FN V lanes_if(V a, V b, V c) { return lanes_pick(a != 0.0, b, c); }
FN V lanes_min(V a, V b) { return lanes_pick(a < b, a, b); }
FN V lanes_max(V a, V b) { return lanes_pick(a > b, a, b); }
FN V lanes_abs(V a) { return (V)((M)a & 0x7fffffffffffffffLL); }
/* tellegen_exp, the same operations for all lanes. Below -746 an exponential is 0: less than half of the
   smallest number there is. */
FN V lanes_exp(V a) {
  const M near = lanes_abs(a) <= 670.0, none = a < -746.0, far = ~(near | none);
  V y = lanes_splat(0.0);
  if (lanes_any(near)) {
    const V x = (V)((M)a & near), shifted = x * 0x1.71547652b82fep7 + 0x1.8p52;
    const V k = shifted - 0x1.8p52;
    const V r = (x - k * 0x1.62e42fef8p-8) - (k * 0x1.1cf79abc9e3b4p-43 - 0.0), r2 = r * r;
    const N i = 2 * ((N)shifted & 127);
    V rest;
    N scale;
    for (int l = 0; l < LANES; ++l) rest[l] = tellegen_from_bits(tellegen_exp_table[i[l]]);
    for (int l = 0; l < LANES; ++l) scale[l] = tellegen_exp_table[i[l] + 1];
    const V s = (V)(scale + ((N)shifted << 45));
    rest = rest + r + r2 * (0x1.ffffffffffdb8p-2 + r * 0x1.5555555555439p-3) +
           r2 * r2 * (0x1.55555cf9a577bp-5 + r * 0x1.1111168163aaep-7);
    y = (V)((M)(s + s * rest) & near);
  }
  if (lanes_any(far))
    for (int l = 0; l < LANES; ++l)
      if (far[l]) y[l] = tellegen_exp(a[l]);
  return y;
}
FN V lanes_limexp(V a) {
  const V knee = lanes_splat(TELLEGEN_LIMEXP_KNEE);
  const M low = a <= knee;
  const V e = lanes_exp(lanes_pick(low, a, knee));
  return lanes_pick(low, e, e * (1.0 + (a - knee)));
}
FN V lanes_junction_limit(V u, V p) {
  if (lanes_any((u > 4.0) & (lanes_abs(u - p) > 2.0)))
    for (int l = 0; l < LANES; ++l) u[l] = tellegen_junction_limit(u[l], p[l]);
  return u;
}
)";
  return text;
}

std::shared_ptr<const LaneCode> LaneCode::make(const Procedure& procedure, std::size_t entry,
                                               std::vector<char> differ, double interpreting,
                                               const LaneTarget& target) {
  if (has_large_tables(procedure.program)) return nullptr;
  auto plan = plan_lanes(procedure, entry, std::move(differ));
  if (!plan) return nullptr;
  // Threads of a study ask for the same code at once: the second finds it in the cache.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  auto code = compile_c(c_lanes(procedure, *plan, target), interpreting);
  if (!code) return nullptr;
  auto made = std::make_shared<LaneCode>();
  made->function_ = code->function<Function>("tellegen_lanes");
  made->plan_ = std::move(*plan);
  made->target_ = target;
  made->code_ = std::move(code);
  return made;
}

}  // namespace tellegen
