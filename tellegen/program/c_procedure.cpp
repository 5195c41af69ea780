// Procedures as C: the one printer, for one instance and for many in lanes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tellegen/program/c_functions.h"
#include "tellegen/program/lanes.h"
#include "tellegen/program/liveness.h"
#include "tellegen/program/repeats.h"
#include "tellegen/program/single.h"

namespace tellegen {
namespace {

class Printer {
 public:
  explicit Printer(const Procedure& procedure)
      : procedure_(procedure), living_(living_registers(procedure)) {}
  Printer(const Procedure& procedure, const Reals& reals) : Printer(procedure) { reals_ = &reals; }
  Printer(const Procedure& procedure, const LanePlan& plan, const LaneTarget& target) : Printer(procedure) {
    plan_ = &plan;
    target_ = target;
  }

  std::string text(std::string_view prefix) {
    out_ = c_tables(procedure_.program);
    if (!reals_) repeats_ = find_repeats(procedure_);
    for (const Entry& e : procedure_.entries)
      if (e.compiled) {
        out_ += fmt::format("int {0}{1}({2}* w, {3}const {2}** in, {2}** out) {{\n", prefix, e.name, real(),
                            reals_ ? "double* p, " : "");
        entry(e);
      }
    return std::move(out_);
  }

  std::string lanes_text() {
    out_ = c_tables(procedure_.program) + c_lane_functions(target_);
    if (!target_.instructions.empty())
      out_ += fmt::format("__attribute__((target(\"{}\")))\n", target_.instructions);
    out_ += "int tellegen_lanes(double* w, const double** in, double** out) {\n";
    entry(procedure_.entries[plan_->entry]);
    return std::move(out_);
  }

 private:
  std::string_view real() const { return reals_ ? "float" : "double"; }
  bool precise(std::int32_t r) const { return !reals_ || reals_->precise[r]; }
  const char* type(std::int32_t r) const { return precise(r) ? "double" : "float"; }
  const char* narrowed(bool from_precise, bool to_precise) const {
    return from_precise && !to_precise ? "(float)" : "";
  }
  // What loops of the printed code step through stays where it is.
  bool in_memory(std::int32_t r) const { return !repeats_.in_memory.empty() && repeats_.in_memory[r]; }
  std::string name(std::int32_t r) const {
    return in_memory(r) ? fmt::format("w[{}]", r) : fmt::format("r{}", r);
  }
  // Of one instance, between calls.
  std::string kept(std::int32_t r) const {
    return reals_ && precise(r) ? fmt::format("p[{}]", reals_->slot[r]) : fmt::format("w[{}]", place(r));
  }
  bool varies(std::int32_t r) const { return plan_ && plan_->varying[r]; }
  int lanes() const { return plan_ ? target_.lanes() : 1; }
  std::int64_t place(std::int32_t r, int vector = 0) const {
    return static_cast<std::int64_t>(r) * lanes() + static_cast<std::int64_t>(vector) * target_.vector;
  }
  template <class Fn>
  void each_vector(Fn fn) const {
    for (int k = 0; k < target_.vectors; ++k) fn(k);
  }

  void entry(const Entry& e) {
    const Liveness uses = Liveness::of(procedure_, e);
    out_ += "  int status = 0;\n";
    const bool takes = has(e.body, Flow::take), emits = has(e.body, Flow::emit),
               fails = has(e.body, Flow::fail);
    if (takes) out_ += fmt::format("  const {}* from = *in;\n", real());
    if (emits) out_ += fmt::format("  {}* to = *out;\n", real());
    // A living register that is written somewhere is loaded too: the path taken may leave it as it was.
    const auto stored = [&](std::int32_t r) {
      return living_[r] && uses.written_somewhere[r] && !in_memory(r);
    };
    const std::vector<char> local = local_registers();
    const auto is_variable = [&](std::int32_t r) { return uses.named[r] && !in_memory(r) && !local[r]; };
    for (std::int32_t r = 0; r < procedure_.program.registers; ++r)
      if (is_variable(r)) declare(r, uses.exposed[r] || stored(r));
    const std::int32_t alive = procedure_.program.registers;
    if (plan_)
      each_vector([&](int k) {
        line(2, fmt::format("M alive_{} = lanes_load(w + {}) != 0.0;", k, place(alive, k)));
        line(2, fmt::format("V finite_{} = lanes_load(w + {});", k, place(alive + 1, k)));
      });
    labels_ = 0;
    body(e.body, 2, -1);
    if (fails) out_ += "ended:;\n";
    for (std::int32_t r = 0; r < procedure_.program.registers; ++r)
      if (stored(r))
        store(r);
      else if (is_variable(r) && !uses.read_somewhere[r] && !varies(r))
        out_ += fmt::format("  (void)r{};\n", r);  // compilers warn
    if (plan_)
      each_vector([&](int k) {
        line(2, fmt::format("lanes_store(w + {}, lanes_truth(alive_{}));", place(alive, k), k));
        line(2, fmt::format("lanes_store(w + {}, finite_{});", place(alive + 1, k), k));
      });
    if (takes) out_ += "  *in = from;\n";
    if (emits && !plan_) out_ += "  *out = to;\n";
    out_ +=
        fmt::format("  (void)w; {}(void)in; (void)out;\n  return status;\n}}\n", reals_ ? "(void)p; " : "");
  }

  void declare(std::int32_t r, bool loaded) {
    if (varies(r))
      each_vector([&](int k) {
        line(2, loaded ? fmt::format("V r{}_{} = lanes_load(w + {});", r, k, place(r, k))
                       : fmt::format("V r{}_{} = {{0.0}};", r, k));
      });
    else
      line(2, loaded ? fmt::format("{} r{} = {};", type(r), r, kept(r)) : fmt::format("{} r{};", type(r), r));
  }

  void store(std::int32_t r) {
    if (varies(r))
      each_vector([&](int k) { line(2, fmt::format("lanes_store(w + {}, r{}_{});", place(r, k), r, k)); });
    else if (plan_)
      line(2, fmt::format("for (int l = 0; l < {}; ++l) w[{} + l] = r{};", lanes(), place(r), r));
    else
      line(2, fmt::format("{} = r{};", kept(r), r));
  }

  static bool has(const Body& statements, Flow flow) {
    return std::any_of(statements.begin(), statements.end(), [&](const Statement& s) {
      return s.flow == flow ||
             std::any_of(s.bodies.begin(), s.bodies.end(), [&](const Body& b) { return has(b, flow); });
    });
  }

  void line(int indent, const std::string& text) {
    out_.append(static_cast<std::size_t>(indent), ' ');
    out_ += text;
    out_ += '\n';
  }

  // The lanes that are in the innermost loop.
  std::string mask(int vector) const {
    return parted_.empty() ? fmt::format("alive_{}", vector)
                           : fmt::format("on{}_{}", parted_.back().first, vector);
  }
  void goto_where_none(int indent, const std::string& label) {
    std::string all;
    each_vector([&](int k) { all += (k > 0 ? " | " : "") + mask(k); });
    line(indent, fmt::format("if (!lanes_any({})) goto {};", all, label));
  }

  // A register that varies: `text` writes vector k of it, and lanes that have left keep what they had.
  template <class Text>
  void write(int indent, std::int32_t r, Text text) {
    const bool kept =
        std::any_of(parted_.begin(), parted_.end(), [&](const auto& loop) { return (*loop.second)[r] != 0; });
    each_vector([&](int k) {
      line(indent,
           kept ? fmt::format("{{ const V old = r{0}_{1}; {2} r{0}_{1} = lanes_pick({3}, r{0}_{1}, old); }}",
                              r, k, text(k), mask(k))
                : text(k));
    });
  }

  void instruction(int indent, const Instruction& i) {
    if (!varies(i.target))
      line(indent, c_instruction(procedure_.program, i, [&](std::int32_t r) { return name(r); }));
    else
      write(indent, i.target,
            [&](int k) { return c_lane_instruction(procedure_.program, i, *plan_, target_, k); });
  }

  void section(int index, int indent) {
    const auto code = procedure_.program.section(index);
    std::size_t at = 0;
    if (!repeats_.of_section.empty())
      for (const Repeat& r : repeats_.of_section[static_cast<std::size_t>(index)]) {
        straight(code.subspan(at, r.begin - at), indent);
        line(indent, fmt::format("for (long k = 0; k < {}; ++k) {{", r.count));
        repeat(code, r, indent + 2);
        line(indent, "}");
        at = r.begin + r.period * r.count;
      }
    straight(code.subspan(at), indent);
  }

  // Sine and cosine of one angle are taken together.
  void straight(std::span<const Instruction> code, int indent) {
    std::map<std::int32_t, std::int32_t> sines, cosines;  // of an angle: what takes it
    for (const Instruction& i : code) {
      if (is_call(i, "sin")) sines[i.a] = i.target;
      if (is_call(i, "cos")) cosines[i.a] = i.target;
    }
    std::set<std::int32_t> done;
    for (const Instruction& i : code) {
      const bool both =
          (is_call(i, "sin") || is_call(i, "cos")) && sines.contains(i.a) && cosines.contains(i.a);
      if (reals_) {
        line(indent, c_single_instruction(procedure_.program, *reals_, i));
      } else if (both && !varies(i.target)) {
        if (!done.insert(i.a).second) continue;
        line(indent, fmt::format("{{ const tellegen_pair both = tellegen_sine_cosine({}); {} = both.hi; {} = "
                                 "both.lo; }}",
                                 name(i.a), name(sines[i.a]), name(cosines[i.a])));
      } else {
        instruction(indent, i);
      }
    }
  }

  // Its block once, registers by their strides.
  void repeat(std::span<const Instruction> code, const Repeat& r, int indent) {
    std::map<std::int32_t, std::size_t> local;  // registers of the first time
    const auto slot = [&](std::size_t p, std::int32_t k) {
      const Instruction& i = code[r.begin + p];
      const std::int32_t reg = std::array{i.target, i.a, i.b, i.c}[static_cast<std::size_t>(k)],
                         stride = r.strides[p][static_cast<std::size_t>(k)];
      if (const auto found = local.find(reg); k > 0 && stride != 0 && found != local.end())
        return fmt::format("t{}", found->second);
      if (k == 0 && r.local[p]) return fmt::format("const double t{}", p);
      return stride == 0 ? name(reg)
                         : fmt::format("w[{} {} {}*k]", reg, stride < 0 ? '-' : '+', std::abs(stride));
    };
    const std::map<std::size_t, std::size_t> pairs = sines_and_cosines(code, r);
    std::set<std::size_t> done;
    for (std::size_t p = 0; p < r.period; ++p) {
      const Instruction& i = code[r.begin + p];
      if (const auto pair = pairs.find(p); pair != pairs.end()) {
        if (!done.contains(p)) {
          line(indent, fmt::format("const tellegen_pair both{} = tellegen_sine_cosine({});", p, slot(p, 1)));
          for (const std::size_t of : {p, pair->second}) {
            const bool sine = is_call(code[r.begin + of], "sin");
            line(indent, fmt::format("{} = both{}.{};", slot(of, 0), p, sine ? "hi" : "lo"));
          }
          done.insert(pair->second);
        }
      } else {
        Instruction numbered = i;
        numbered.target = 0, numbered.a = 1, numbered.b = 2, numbered.c = 3;
        line(indent, c_instruction(procedure_.program, numbered, [&](std::int32_t k) { return slot(p, k); }));
      }
      if (r.local[p]) local[i.target] = p;
    }
  }

  // Places in the block that take the sine and the cosine of one angle, by each other.
  std::map<std::size_t, std::size_t> sines_and_cosines(std::span<const Instruction> code,
                                                       const Repeat& r) const {
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> sines;  // by the angle and its stride
    std::map<std::size_t, std::size_t> pairs;
    const auto angle = [&](std::size_t p) { return std::pair(code[r.begin + p].a, r.strides[p][1]); };
    for (std::size_t p = 0; p < r.period; ++p)
      if (is_call(code[r.begin + p], "sin")) sines[angle(p)] = p;
    for (std::size_t p = 0; p < r.period; ++p)
      if (is_call(code[r.begin + p], "cos"))
        if (const auto sine = sines.find(angle(p)); sine != sines.end() && !pairs.contains(sine->second))
          pairs[p] = sine->second, pairs[sine->second] = p;
    return pairs;
  }

  bool is_call(const Instruction& i, std::string_view function) const {
    return i.code == Code::call && procedure_.program.functions[i.extra]->name == function;
  }

  // What loops have as variables of their own.
  std::vector<char> local_registers() const {
    std::vector<char> local(procedure_.program.registers, 0);
    for (std::size_t s = 0; s < repeats_.of_section.size(); ++s) {
      const auto code = procedure_.program.section(static_cast<int>(s));
      for (const Repeat& r : repeats_.of_section[s])
        for (std::size_t k = 0; k < r.period * r.count; ++k)
          if (r.local[k % r.period]) local[code[r.begin + k].target] = 1;
    }
    return local;
  }

  void leave(int indent, const Statement& s, int innermost) {
    if (!varies(s.reg)) {
      line(indent, fmt::format("if ({} != 0.0) goto left{};", name(s.reg), innermost));
      return;
    }
    each_vector([&](int k) { line(indent, fmt::format("{} &= r{}_{} == 0.0;", mask(k), s.reg, k)); });
    goto_where_none(indent, fmt::format("left{}", innermost));
  }

  void fail(int indent, const Statement& s, int innermost) {
    if (!plan_) {
      line(indent, fmt::format("if ({} != 0.0) {{ status = {}; goto ended; }}", name(s.reg), s.index));
      return;
    }
    each_vector([&](int k) {
      std::string text = fmt::format(
          "{{ const M failed = {} & ({} != 0.0); alive_{} &= ~failed;", mask(k),
          varies(s.reg) ? fmt::format("r{}_{}", s.reg, k) : fmt::format("lanes_splat(r{})", s.reg), k);
      for (const auto& loop : parted_) text += fmt::format(" on{}_{} &= ~failed;", loop.first, k);
      line(indent, text + " }");
    });
    std::string all;
    each_vector([&](int k) { all += fmt::format("{}alive_{}", k > 0 ? " | " : "", k); });
    line(indent, fmt::format("if (!lanes_any({})) {{ status = {}; goto ended; }}", all, s.index));
    if (!parted_.empty() && parted_.back().first == innermost)
      goto_where_none(indent, fmt::format("left{}", innermost));
  }

  void body(const Body& statements, int indent, int innermost) {
    for (const Statement& s : statements) switch (s.flow) {
        case Flow::section:
          section(s.index, indent);
          break;
        case Flow::copy:
          for (const RegisterCopy& c : s.copies) copy(indent, c);
          break;
        case Flow::loop: {
          const int label = labels_++;
          const auto kept = plan_ ? plan_->kept.find(&s) : decltype(plan_->kept.end()){};
          const bool parts = plan_ && kept != plan_->kept.end();
          if (parts) {
            each_vector([&](int k) { line(indent, fmt::format("M on{}_{} = {};", label, k, mask(k))); });
            parted_.push_back({label, &kept->second});
          }
          line(indent, "for (;;) {");
          body(s.bodies[0], indent + 2, label);
          line(indent, "}");
          line(indent, fmt::format("left{}:;", label));
          if (parts) parted_.pop_back();
          break;
        }
        case Flow::leave:
          leave(indent, s, innermost);
          break;
        case Flow::when:
          line(indent, fmt::format("if ({} != 0.0) {{", name(s.reg)));
          body(s.bodies[0], indent + 2, innermost);
          if (!s.bodies[1].empty()) {
            line(indent, "} else {");
            body(s.bodies[1], indent + 2, innermost);
          }
          line(indent, "}");
          break;
        case Flow::choose:
          line(indent, fmt::format("switch ((int){}) {{", name(s.reg)));
          for (std::size_t k = 0; k < s.bodies.size(); ++k) {
            line(indent + 2, k + 1 < s.bodies.size() ? fmt::format("case {}:", k) : "default:");
            body(s.bodies[k], indent + 4, innermost);
            line(indent + 4, "break;");
          }
          line(indent, "}");
          break;
        case Flow::take:
          if (s.index > 0) line(indent, fmt::format("from -= {};", s.index));
          for (std::int32_t r : s.registers) line(indent, fmt::format("{} = *from++;", name(r)));
          break;
        case Flow::emit:
          emit(indent, s.registers);
          break;
        case Flow::reload:
          line(indent, fmt::format("{} = *(volatile {}*)&{};", name(s.reg), type(s.reg), kept(s.reg)));
          break;
        case Flow::fail:
          fail(indent, s, innermost);
          break;
      }
  }

  // In lanes a row takes the place of the last one, and only whether all have been finite is kept of it.
  void copy(int indent, const RegisterCopy& c) {
    if (plan_)
      instruction(indent, {.code = Code::copy, .target = c.target, .a = c.source});
    else
      line(indent, fmt::format("{} = {}{};", name(c.target), narrowed(precise(c.source), precise(c.target)),
                               name(c.source)));
  }

  void emit(int indent, const std::vector<std::int32_t>& registers) {
    if (!plan_) {
      for (const std::int32_t r : registers)
        line(indent, fmt::format("*to++ = {}{};", narrowed(precise(r), !reals_), name(r)));
      return;
    }
    each_vector([&](int k) {
      std::string none;  // 0 where all are finite
      std::int64_t at = static_cast<std::int64_t>(k) * target_.vector;
      std::set<std::int32_t> seen;
      for (const std::int32_t r : registers) {
        const std::string value =
            varies(r) ? fmt::format("r{}_{}", r, k) : fmt::format("lanes_splat(r{})", r);
        line(indent, fmt::format("lanes_store(to + {}, {});", at, value));
        at += lanes();
        if (seen.insert(r).second) none += fmt::format("{}{} * 0.0", none.empty() ? "" : " + ", value);
      }
      if (!none.empty()) line(indent, fmt::format("finite_{} += {};", k, none));
    });
  }

  const Procedure& procedure_;
  const std::vector<char> living_;
  const Reals* reals_ = nullptr;    // null: double
  const LanePlan* plan_ = nullptr;  // null: one instance
  LaneTarget target_;
  Repeats repeats_;
  std::string out_;
  int labels_ = 0;
  std::vector<std::pair<int, const std::vector<char>*>> parted_;  // loops around, by label
};

}  // namespace

std::vector<char> living_registers(const Procedure& procedure) {
  std::vector<char> living(procedure.program.registers, 0);
  for (const Entry& entry : procedure.entries) {
    const Liveness uses = Liveness::of(procedure, entry);
    for (std::size_t r = 0; r < living.size(); ++r) living[r] = living[r] || uses.exposed[r];
  }
  for (std::int32_t r : procedure.exported) living[r] = 1;
  const Repeats repeats = find_repeats(procedure);
  for (std::size_t r = 0; r < living.size(); ++r) living[r] = living[r] || repeats.in_memory[r];
  return living;
}

std::string c_source(const Procedure& procedure, std::string_view prefix) {
  return Printer(procedure).text(prefix);
}

std::string c_static_function(const Procedure& procedure, std::string_view name) {
  Procedure named = procedure;
  named.entries[0].name.clear();
  std::string text = with_table_names(c_source(named, name), name);
  text.insert(text.find(fmt::format("int {}(", name)), "static ");
  return text;
}

std::string c_single_source(const Procedure& procedure, const Reals& reals, std::string_view prefix) {
  return Printer(procedure, reals).text(prefix);
}

std::string c_lanes(const Procedure& procedure, const LanePlan& plan, const LaneTarget& target) {
  return Printer(procedure, plan, target).lanes_text();
}

}  // namespace tellegen
