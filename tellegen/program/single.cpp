#include "tellegen/program/single.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "runtime/tellegen_single.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

// Functions that have a form in float.
struct SingleFunction {
  std::string_view name, c;
  float (*value)(const float* a);
};
using Floats = const float*;
constexpr SingleFunction single_functions[] = {
    {"sin", "tellegen_sinf($1)", [](Floats a) { return tellegen_sinf(a[0]); }},
    {"cos", "tellegen_cosf($1)", [](Floats a) { return tellegen_cosf(a[0]); }},
    {"exp", "tellegen_expf($1)", [](Floats a) { return tellegen_expf(a[0]); }},
    {"log", "tellegen_logf($1)", [](Floats a) { return tellegen_logf(a[0]); }},
    {"limexp", "tellegen_limexpf($1)", [](Floats a) { return tellegen_limexpf(a[0]); }},
    {"junction_limit", "tellegen_junction_limitf($1, $2)",
     [](Floats a) { return tellegen_junction_limitf(a[0], a[1]); }},
    {"sqrt", "sqrtf($1)", [](Floats a) { return std::sqrt(a[0]); }},
    {"abs", "fabsf($1)", [](Floats a) { return std::fabs(a[0]); }},
    {"floor", "floorf($1)", [](Floats a) { return std::floor(a[0]); }},
    {"ceil", "ceilf($1)", [](Floats a) { return std::ceil(a[0]); }},
    {"sign", "tellegen_signf($1)", [](Floats a) { return tellegen_signf(a[0]); }},
    {"min", "tellegen_minf($1, $2)", [](Floats a) { return tellegen_minf(a[0], a[1]); }},
    {"max", "tellegen_maxf($1, $2)", [](Floats a) { return tellegen_maxf(a[0], a[1]); }},
    {"if", "($1 != 0.0f ? $2 : $3)", [](Floats a) { return a[0] != 0.0f ? a[1] : a[2]; }},
    {"lt", "tellegen_ltf($1, $2)", [](Floats a) { return tellegen_ltf(a[0], a[1]); }},
    {"le", "tellegen_lef($1, $2)", [](Floats a) { return tellegen_lef(a[0], a[1]); }},
    {"gt", "tellegen_gtf($1, $2)", [](Floats a) { return tellegen_gtf(a[0], a[1]); }},
    {"ge", "tellegen_gef($1, $2)", [](Floats a) { return tellegen_gef(a[0], a[1]); }},
    {"eq", "tellegen_eqf($1, $2)", [](Floats a) { return tellegen_eqf(a[0], a[1]); }},
    {"ne", "tellegen_nef($1, $2)", [](Floats a) { return tellegen_nef(a[0], a[1]); }},
    {"and", "tellegen_andf($1, $2)", [](Floats a) { return tellegen_andf(a[0], a[1]); }},
    {"or", "tellegen_orf($1, $2)", [](Floats a) { return tellegen_orf(a[0], a[1]); }},
    {"not", "tellegen_notf($1)", [](Floats a) { return tellegen_notf(a[0]); }},
};

const SingleFunction* find_single(const Function& f) {
  const auto found = std::find_if(std::begin(single_functions), std::end(single_functions),
                                  [&](const SingleFunction& s) { return s.name == f.name; });
  return found == std::end(single_functions) ? nullptr : found;
}

bool is_arithmetic(Code code) {
  return code == Code::copy || code == Code::add || code == Code::subtract || code == Code::multiply ||
         code == Code::divide || code == Code::negate;
}
// Whose value is as precise as its arguments.
bool keeps(const Program& program, const Instruction& i) {
  if (is_arithmetic(i.code)) return true;
  if (i.code != Code::call) return false;
  const std::string_view name = program.functions[i.extra]->name;
  return name == "mod" || name == "floor" || name == "ceil";
}

bool any_precise(const Program& program, const Reals& reals, const Instruction& i) {
  bool any = false;
  for_each_operand(program, i, [&](std::int32_t r) { any = any || reals.precise[r]; });
  return any;
}
// Whether it is evaluated in double.
bool in_double(const Program& program, const Reals& reals, const Instruction& i) {
  if (reals.precise[i.target]) return true;
  return (i.code == Code::call || i.code == Code::lookup) && any_precise(program, reals, i);
}

template <class Fn>
void for_each_statement(const Body& body, Fn fn) {
  for (const Statement& s : body) {
    fn(s);
    for (const Body& b : s.bodies) for_each_statement(b, fn);
  }
}

// Registers that nothing changes, and what is computed from these alone.
std::vector<char> constants_of(const Procedure& procedure) {
  const Program& program = procedure.program;
  std::vector<char> constant(program.registers, 1);
  for (const Entry& e : procedure.entries)
    for_each_statement(e.body, [&](const Statement& s) {
      for (const RegisterCopy& c : s.copies) constant[c.target] = 0;
      if (s.flow == Flow::take)
        for (std::int32_t r : s.registers) constant[r] = 0;
    });
  std::vector<int> written(program.registers, 0);
  for (const Instruction& i : program.code) ++written[i.target];
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& i : program.code) {
      if (!constant[i.target]) continue;
      bool stays = written[i.target] == 1;
      for_each_operand(program, i, [&](std::int32_t r) { stays = stays && constant[r]; });
      if (!stays) constant[i.target] = 0, changed = true;
    }
  }
  return constant;
}

}  // namespace

Reals single_precision(const Procedure& procedure, std::span<const std::int32_t> clock) {
  const Program& program = procedure.program;
  std::vector<char> constant = constants_of(procedure);
  Reals reals;
  std::vector<char>& precise = reals.precise;
  precise.assign(program.registers, 0);
  for (std::int32_t r : clock) precise[r] = 1, constant[r] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& i : program.code) {
      if (precise[i.target] || !keeps(program, i)) continue;
      bool of_time = any_precise(program, reals, i);
      for_each_operand(program, i, [&](std::int32_t r) { of_time = of_time && (precise[r] || constant[r]); });
      if (of_time) precise[i.target] = changed = true;
    }
    for (const Entry& e : procedure.entries)
      for_each_statement(e.body, [&](const Statement& s) {
        for (const RegisterCopy& c : s.copies)
          if (precise[c.source] && !precise[c.target]) precise[c.target] = changed = true;
      });
  }
  std::vector<char> beside(program.registers, 0);  // numbers in formulas of time
  for (const Instruction& i : program.code)
    if (in_double(program, reals, i)) for_each_operand(program, i, [&](std::int32_t r) { beside[r] = 1; });
  for (const Instruction& i : program.code)
    if (i.code == Code::number && beside[i.target]) precise[i.target] = 1;
  reals.slot.assign(program.registers, -1);
  for (std::int32_t r = 0; r < program.registers; ++r)
    if (precise[r]) reals.slot[r] = reals.slots++;
  return reals;
}

float single_number(double value) {
  if (value == 0.0 || !std::isfinite(value)) return static_cast<float>(value);
  const double size =
      std::clamp(std::fabs(value), static_cast<double>(FLT_MIN), static_cast<double>(FLT_MAX));
  return static_cast<float>(std::copysign(size, value));
}

std::string c_single_number(double value) {
  const float rounded = single_number(value);
  if (!std::isfinite(rounded)) return c_number(rounded);
  std::string text = fmt::format("{}", rounded);  // shortest that is read back as this float
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

void interpret_single(const Program& program, const Reals& reals, int section, double* r) {
  const auto rounded = [&](const Instruction& i, double value) {
    return reals.precise[i.target] ? value : static_cast<double>(static_cast<float>(value));
  };
  for (const Instruction& i : program.section(section)) {
    if (i.code == Code::number) {
      const double value = program.numbers[i.extra];
      r[i.target] = reals.precise[i.target] ? value : static_cast<double>(single_number(value));
      continue;
    }
    double a[3] = {r[i.a], r[i.b], r[i.c]};
    if (!in_double(program, reals, i)) {
      const float f[3] = {static_cast<float>(a[0]), static_cast<float>(a[1]), static_cast<float>(a[2])};
      if (i.code == Code::call)
        if (const SingleFunction* own = find_single(*program.functions[i.extra])) {
          r[i.target] = static_cast<double>(own->value(f));
          continue;
        }
      for (int k = 0; k < 3; ++k) a[k] = static_cast<double>(f[k]);
    }
    switch (i.code) {
      case Code::number:
        break;
      case Code::copy:
        r[i.target] = rounded(i, a[0]);
        break;
      case Code::add:
        r[i.target] = rounded(i, a[0] + a[1]);
        break;
      case Code::subtract:
        r[i.target] = rounded(i, a[0] - a[1]);
        break;
      case Code::multiply:
        r[i.target] = rounded(i, a[0] * a[1]);
        break;
      case Code::divide:
        r[i.target] = rounded(i, a[0] / a[1]);
        break;
      case Code::negate:
        r[i.target] = -a[0];
        break;
      case Code::square_root:
        r[i.target] = rounded(i, std::sqrt(a[0]));
        break;
      case Code::power:
        r[i.target] = rounded(i, tellegen_pow(a[0], a[1]));
        break;
      case Code::call: {
        const Function& f = *program.functions[i.extra];
        r[i.target] = rounded(i, f.value(a, f.arity < 0 ? 2 : f.arity));
        break;
      }
      case Code::lookup:
        r[i.target] = rounded(i, program.tables[i.extra]->value_at(a, i.order));
        break;
    }
  }
}

std::string c_single_instruction(const Program& program, const Reals& reals, const Instruction& i) {
  const auto plain = [](std::int32_t r) { return fmt::format("r{}", r); };
  const std::string target = plain(i.target);
  if (reals.precise[i.target]) return c_instruction(program, i, plain);
  if (i.code == Code::number)
    return fmt::format("{} = {};", target, c_single_number(program.numbers[i.extra]));
  const bool wide = in_double(program, reals, i);
  const auto operand = [&](std::int32_t r) {
    return !wide && reals.precise[r] ? fmt::format("(float)r{}", r) : plain(r);
  };
  if (!wide && i.code == Code::square_root) return fmt::format("{} = sqrtf({});", target, operand(i.a));
  if (!wide && i.code == Code::call)
    if (const SingleFunction* own = find_single(*program.functions[i.extra])) {
      const std::string args[3] = {operand(i.a), operand(i.b), operand(i.c)};
      return fmt::format("{} = {};", target, fill_template(own->c, args));
    }
  std::string text = c_instruction(program, i, operand);
  if (i.code != Code::call && i.code != Code::lookup && i.code != Code::power) return text;
  const std::size_t value = target.size() + 3;  // behind " = "
  return fmt::format("{} = (float)({});", target, text.substr(value, text.size() - value - 1));
}

}  // namespace tellegen
