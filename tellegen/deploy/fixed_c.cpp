// The bit-true model of the hardware as C99, and what a host computes before each step.
#include <fmt/format.h>

#include <cmath>

#include "tellegen/deploy/c_names.h"
#include "tellegen/deploy/hardware_design.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

// An operation as a C expression; the same as FixedMachine and the module do.
class CExpressions {
 public:
  explicit CExpressions(const FixedStep& fixed) : fixed_(fixed) {}

  std::string of(const FixedOp& op) const {
    const auto a = [&] { return operand(op, op.a); };
    const auto b = [&] { return operand(op, op.b); };
    const auto raw = [](const FixedOperand& x) { return fmt::format("v{}", x.op); };
    switch (op.kind) {
      case OpKind::constant:
        return fmt::format("{}", constant_raw(op));
      case OpKind::add:
        return a() + " + " + b();
      case OpKind::multiply:
        return shifted(raw(op.a) + " * " + raw(op.b), -result_shift(fixed_, op), false);
      case OpKind::divide:
        return fmt::format("{1} == 0 ? 0 : {0} / {1}", shifted(raw(op.a), result_shift(fixed_, op), false),
                           raw(op.b));
      case OpKind::root:
        return fmt::format("root({})",
                           shifted((op.a.negative ? "-" : "") + raw(op.a), result_shift(fixed_, op), false));
      case OpKind::table: {
        const FixedTable& table = fixed_.tables[op.table];
        return fmt::format("{}[(({} >> {}) + {}) & {}]", table.name, raw(op.a), table.shift, op.first,
                           table.entries.size() - 1);
      }
      case OpKind::offset: {
        const int shift = fixed_.tables[op.table].shift;
        return fmt::format("({} & {}) - {}", raw(op.a), (std::int64_t{1} << shift) - 1,
                           std::int64_t{1} << (shift - 1));
      }
      case OpKind::larger:
        return fmt::format("{0} > {1} ? {0} : {1}", a(), b());
      case OpKind::smaller:
        return fmt::format("{0} < {1} ? {0} : {1}", a(), b());
      case OpKind::below:
        return fmt::format("{} < {}", a(), b());
      case OpKind::at_most:
        return fmt::format("{} <= {}", a(), b());
      case OpKind::both:
        return fmt::format("{} != 0 && {} != 0", raw(op.a), raw(op.b));
      case OpKind::either:
        return fmt::format("{} != 0 || {} != 0", raw(op.a), raw(op.b));
      case OpKind::choice:
        return fmt::format("{} != 0 ? {} : {}", raw(op.c), a(), b());
      default:
        return "0";
    }
  }

 private:
  static std::string shifted(const std::string& x, int left, bool rounded) {
    if (left == 0) return "(" + x + ")";
    if (left > 0) return fmt::format("left({}, {})", x, std::min(left, 63));
    const int right = std::min(-left, 62);
    if (rounded) return fmt::format("(({} + {}) >> {})", x, std::int64_t{1} << (right - 1), right);
    return fmt::format("(({}) >> {})", x, right);
  }
  std::string operand(const FixedOp& to, const FixedOperand& x) const {
    const std::string value =
        fixed_.ops[x.op].kind == OpKind::constant
            ? fmt::format("({})", aligned_constant(fixed_, to, x))
            : shifted(fmt::format("v{}", x.op), operand_shift(fixed_, to, x), to.rounded);
    return x.negative ? "-" + value : value;
  }
  const FixedStep& fixed_;
};

// Constants are written where they are read, but for products.
std::vector<char> named_constants(const FixedStep& fixed, const std::vector<char>& needed) {
  std::vector<char> result(fixed.ops.size(), 0);
  for (std::size_t k = 0; k < fixed.ops.size(); ++k) {
    const FixedOp& op = fixed.ops[k];
    if (!needed[k]) continue;
    const bool aligns = op.kind == OpKind::add || op.kind == OpKind::larger || op.kind == OpKind::smaller ||
                        op.kind == OpKind::below || op.kind == OpKind::at_most;
    if (op.kind == OpKind::choice)
      result[op.c.op] = 1;
    else if (!aligns)
      for_each_source(op, [&](int s) { result[s] = 1; });
  }
  return result;
}

}  // namespace

std::string fixed_c_header(const HardwareDesign& d) {
  std::string guard;
  for (const unsigned char c : d.name) guard += static_cast<char>(std::toupper(c));
  return fmt::format(
      "/* {0}: the step in fixed point, as the hardware takes it. Printed by Tellegen. */\n"
      "#ifndef {1}_FIXED_H\n#define {1}_FIXED_H\n\n#include <stdint.h>\n\n"
      "enum {{ {2}_given_count = {3}, {2}_output_count = {4}, {2}_state_count = {5}, {2}_bits = {6} }};\n\n"
      "/* Words have {6} bits; README.md has the meaning of each. */\n"
      "void {2}_init(int32_t* x);\n"
      "/* One step: states x, given values u, outputs y. */\n"
      "void {2}_step(int32_t* x, const int32_t* u, int32_t* y);\n"
      "/* What a host gives to the step after `index` steps{7}. */\n"
      "void {2}_given(double index, const double* inputs, int32_t* u);\n\n#endif\n",
      c_comment(d.title), guard, d.name, d.fixed.given.size(), d.fixed.outputs.size(), d.fixed.states.size(),
      d.bits(), d.external.empty() ? "; there are no inputs" : ": inputs in SI units");
}

std::string fixed_c_model(const HardwareDesign& d) {
  const FixedStep& fixed = d.fixed;
  std::string out = fmt::format(
      "/* {0}: bit for bit what the hardware does.\n   Right shifts of negative numbers go down, as "
      "compilers do. */\n"
      "#include \"{1}_fixed.h\"\n\n"
      "static inline int64_t left(int64_t x, int places) {{ return (int64_t)((uint64_t)x << places); }}\n"
      "static inline int64_t word(int64_t x) {{ return left(x, {2}) >> {2}; }}\n",
      c_comment(d.title), d.name, 64 - d.bits());
  if (std::any_of(fixed.ops.begin(), fixed.ops.end(),
                  [](const FixedOp& op) { return op.kind == OpKind::root; }))
    out +=
        "static int64_t root(int64_t x) {\n  int64_t r = 0, bit;\n"
        "  for (bit = INT64_C(1) << 31; bit > 0; bit >>= 1)\n"
        "    if (x > 0 && (r + bit) * (r + bit) <= x) r += bit;\n  return r;\n}\n";
  for (const FixedTable& table : fixed.tables) {
    out += fmt::format("\nstatic const int32_t {}[{}] = {{", table.name, table.entries.size());
    for (std::size_t k = 0; k < table.entries.size(); ++k)
      out += fmt::format("{}{},", k % 12 == 0 ? "\n  " : " ", table_raw(table, k));
    out += "\n};\n";
  }
  out += fmt::format("\nvoid {}_init(int32_t* x) {{\n", d.name);
  for (std::size_t k = 0; k < d.start.size(); ++k) out += fmt::format("  x[{}] = {};\n", k, d.start[k]);
  out += fmt::format("}}\n\nvoid {}_step(int32_t* x, const int32_t* u, int32_t* y) {{\n", d.name);
  const std::vector<char> needed = needed_operations(fixed), named = named_constants(fixed, needed);
  const CExpressions expressions(fixed);
  std::size_t given = 0;
  for (std::size_t k = 0; k < fixed.ops.size(); ++k) {
    const FixedOp& op = fixed.ops[k];
    if (op.kind == OpKind::given)
      out += fmt::format("  const int64_t v{} = u[{}];\n", k, given++);
    else if (!needed[k] || (op.kind == OpKind::constant && !named[k]))
      continue;
    else if (op.kind == OpKind::state)
      out += fmt::format("  const int64_t v{} = x[{}];\n", k, op.leaf);
    else
      out += fmt::format("  const int64_t v{} = word({});\n", k, expressions.of(op));
  }
  for (std::size_t k = 0; k < fixed.outputs.size(); ++k)
    out += fmt::format("  y[{}] = (int32_t)v{};\n", k, fixed.outputs[k].op);
  for (std::size_t k = 0; k < fixed.next.size(); ++k)
    out += fmt::format("  x[{}] = (int32_t)v{};\n", k, fixed.next[k]);
  if (fixed.given.empty()) out += "  (void)u;\n";
  return out + "}\n";
}

std::string fixed_c_host(const HardwareDesign& d) {
  const StraightStep& step = d.step;
  std::string out = fmt::format(
      "/* Given values of a step, in double and then as words. */\n#include \"tellegen_math.h\"\n"
      "#include \"{0}_fixed.h\"\n\n{1}\n"
      "/* Rounded; an angle in turns wraps, everything else stays within the word. */\n"
      "static int32_t as_word(double x, int point, int angle) {{\n  const double largest = {2};\n"
      "  double raw;\n  if (angle) x -= floor(x + 0.5);\n  raw = floor(ldexp(x, point) + 0.5);\n"
      "  if (raw > largest) raw = angle ? -largest - 1.0 : largest;\n  if (raw < -largest - 1.0) raw = "
      "-largest - 1.0;\n"
      "  return (int32_t)raw;\n}}\n\n"
      "void {0}_given(double index, const double* inputs, int32_t* u) {{\n",
      d.name, c_tables(step.program), c_number(std::exp2(d.bits() - 1) - 1.0));
  const auto name = [](std::int32_t r) { return fmt::format("r{}", r); };
  out += fmt::format("  const double r{} = index;\n", step.index);
  for (std::size_t k = 0; k < step.external.size(); ++k)
    out += fmt::format("  const double r{} = inputs[{}];\n", step.external[k], k);
  for (const Instruction& i : step.program.section(StraightStep::sources))
    out += "  const double " + c_instruction(step.program, i, name) + "\n";
  for (std::size_t k = 0; k < d.fixed.given.size(); ++k) {
    const FixedStep::Word& word = d.fixed.given[k];
    const FixedOp& op = d.fixed.ops[word.op];
    out += fmt::format("  u[{}] = as_word(r{} * {}, {}, {});\n", k, step.given[op.leaf], c_number(word.scale),
                       op.point, word.angle ? 1 : 0);
  }
  for (const Instruction& i : step.program.section(StraightStep::sources))
    out += fmt::format("  (void)r{};\n", i.target);
  for (const std::int32_t r : step.external) out += fmt::format("  (void)r{};\n", r);
  return out + fmt::format("  (void)r{};\n  (void)inputs;\n  (void)u;\n}}\n", step.index);
}

std::string fixed_c_replay(const HardwareDesign& d) {
  return filled_in(
      R"(/* The steps of {NAME}_vectors.hex by the bit-true model: exit code 0 where every bit is the same. */
)"
      "#include <stdio.h>\n\n#include \"{NAME}_fixed.h\"\n"
      R"(
static int32_t next_word(FILE* file) {
  unsigned long raw = 0;
  if (fscanf(file, "%lx", &raw) != 1) raw = 0;
  return (int32_t)((int64_t)((uint64_t)raw << {UNUSED}) >> {UNUSED});
}

int main(void) {
  static int32_t x[{MACHINES}][{X}];
  int32_t u[{U}], y[{Y}];
  long bad = 0, step;
  int k, m;
  FILE* file = fopen("{NAME}_vectors.hex", "r");
  if (!file) return 2;
{BEGIN}  for (step = 0; step < {STEPS}; ++step)
    for (m = 0; m < {MACHINES}; ++m) {
      for (k = 0; k < {NAME}_given_count; ++k) u[k] = next_word(file);
      {NAME}_step(x[m], u, y);
      for (k = 0; k < {NAME}_output_count; ++k) bad += next_word(file) != y[k];
      for (k = 0; k < {NAME}_state_count; ++k) bad += next_word(file) != x[m][k];
    }
  fclose(file);
  printf("%ld steps, %ld words differ\n", step, bad);
  return bad != 0;
}
)",
      {{"BEGIN", d.machines > 0 ? "  for (m = 0; m < " + std::to_string(d.machines) +
                                      "; ++m)\n    for (k = 0; k < {NAME}_state_count; ++k) x[m][k] = "
                                      "next_word(file);\n"
                                : "  {NAME}_init(x[0]);\n"},
       {"NAME", d.name},
       {"UNUSED", std::to_string(64 - d.bits())},
       {"MACHINES", std::to_string(std::max(1, d.machines))},
       {"X", std::to_string(std::max<std::size_t>(1, d.fixed.states.size()))},
       {"U", std::to_string(std::max<std::size_t>(1, d.fixed.given.size()))},
       {"Y", std::to_string(std::max<std::size_t>(1, d.fixed.outputs.size()))},
       {"STEPS", std::to_string(d.vector_steps)}});
}

}  // namespace tellegen
