#include "tellegen/program/step_loop.h"

#include <fmt/format.h>

#include <algorithm>

namespace tellegen {

StepLoop::StepLoop(StepProgram program)
    : step_(std::move(program)), registers_(step_.program.registers, 0.0) {}

void StepLoop::compile() {
  code_ = compile_c(c_step_loop(step_));
  if (!code_) return;
  run_ = code_->function<int(double*, StepLoopControl*)>("tellegen_run");
  if (step_.event >= 0) prepare_ = code_->function<void(double*)>("tellegen_prepare");
}

bool StepLoop::run(StepLoopControl& control) {
  return run_ ? run_(registers_.data(), &control) == 0 : run_interpreted(control);
}

bool StepLoop::run_interpreted(StepLoopControl& c) {
  double* r = registers_.data();
  const Program& program = step_.program;
  for (std::int64_t k = 0; k < c.steps; ++k) {
    if (step_.time >= 0) r[step_.time] = c.origin + c.step * static_cast<double>(c.index + 1);
    if (!step_.renew_copies.empty() && (c.renew || c.index % 64 == 0)) {
      r[step_.renew_time] = r[step_.time];
      interpret(program, 5, r);
      for (const RegisterCopy& copy : step_.renew_copies) r[copy.target] = r[copy.source];
      c.renew = 0;
    }
    interpret(program, 1, r);
    if (step_.error >= 0) {
      std::int64_t iterations = 0;
      for (;;) {
        for (const RegisterCopy& copy : step_.iterate_copies) r[copy.target] = r[copy.source];
        interpret(program, 2, r);
        ++iterations;
        if (c.fixed_iterations > 0 ? iterations >= c.fixed_iterations : r[step_.error] <= 1.0) break;
        if (iterations >= c.max_iterations) return false;
      }
      c.iterations += iterations;
      c.worst = std::max(c.worst, iterations);
    }
    interpret(program, 3, r);
    ++c.index;
    if (++c.phase == c.stride) {
      c.phase = 0;
      interpret(program, 4, r);
      for (std::int32_t output : step_.outputs) *c.rows++ = r[output];
    }
    for (const RegisterCopy& copy : step_.step_copies) r[copy.target] = r[copy.source];
    if (step_.event >= 0 && r[step_.event] != 0.0) {
      c.event = 1;
      break;
    }
  }
  return true;
}

std::string c_step_loop(const StepProgram& step) {
  const Program& program = step.program;
  const auto name = [](std::int32_t r) { return fmt::format("r{}", r); };
  std::string out = c_tables(program);
  const auto instructions = [&](int section, const char* indent) {
    for (const Instruction& i : program.section(section))
      out += fmt::format("{}{}\n", indent, c_instruction(program, i, name));
  };
  const auto copies = [&](const std::vector<RegisterCopy>& list, const char* indent) {
    for (const RegisterCopy& c : list) out += fmt::format("{}r{} = r{};\n", indent, c.target, c.source);
  };
  // Only registers that live from call to call are loaded and stored: inputs, what section 0 computed for
  // later, and the sources of the first iteration's copies.
  std::vector<char> loaded(program.registers, 0), stored(program.registers, 0), used(program.registers, 0);
  const auto inputs = static_cast<std::int32_t>(program.inputs.size());
  for (int s = 1; s < program.sections(); ++s)
    for (const Instruction& i : program.section(s)) {
      used[i.a] = 1;
      used[i.b] = used[i.c] = 1;
    }
  for (const auto* list : {&step.iterate_copies, &step.step_copies, &step.renew_copies})
    for (const RegisterCopy& c : *list)
      used[c.source] = used[c.target] = stored[c.target] = loaded[c.target] = 1;
  for (std::int32_t r : step.outputs) used[r] = 1;
  for (std::int32_t r : step.watched) used[r] = stored[r] = 1;
  if (step.event >= 0) used[step.event] = 1;
  for (std::int32_t r = 0; r < program.registers; ++r)
    if (used[r] && (r < inputs || program.section_of[r] == 0)) loaded[r] = 1;
  for (const RegisterCopy& c : step.iterate_copies) loaded[c.source] = stored[c.source] = 1;

  out +=
      "typedef struct { double step; long long index, steps, stride, phase, max_iterations, "
      "fixed_iterations;\n"
      "  double* rows; long long iterations, worst, renew; double origin; long long event; } "
      "tellegen_control;\n"
      "int tellegen_run(double* w, tellegen_control* c) {\n"
      "  const double step = c->step, origin = c->origin;\n  long long index = c->index, phase = c->phase, "
      "k;\n"
      "  const long long steps = c->steps, stride = c->stride;\n  double* rows = c->rows;\n  int status = "
      "0;\n";
  for (std::int32_t r = 0; r < program.registers; ++r)
    out += loaded[r] ? fmt::format("  double r{0} = w[{0}];\n", r) : fmt::format("  double r{};\n", r);
  out += "  for (k = 0; k < steps; ++k) {\n";
  if (step.time >= 0) out += fmt::format("    r{} = origin + step * (double)(index + 1);\n", step.time);
  if (!step.renew_copies.empty()) {
    out += fmt::format("    if (c->renew || (index & 63) == 0) {{\n      r{} = r{};\n", step.renew_time,
                       step.time);
    instructions(5, "      ");
    copies(step.renew_copies, "      ");
    out += "      c->renew = 0;\n    }\n";
  }
  instructions(1, "    ");
  if (step.error >= 0) {
    out += "    { long long iterations = 0;\n      for (;;) {\n";
    if (step.reload >= 0) out += fmt::format("        r{0} = *(volatile double*)(w + {0});\n", step.reload);
    copies(step.iterate_copies, "        ");
    instructions(2, "        ");
    out += fmt::format(
        "        ++iterations;\n"
        "        if (c->fixed_iterations > 0 ? iterations >= c->fixed_iterations : r{} <= 1.0) break;\n"
        "        if (iterations >= c->max_iterations) {{ status = 1; goto done; }}\n"
        "      }}\n      c->iterations += iterations;\n      if (iterations > c->worst) c->worst = "
        "iterations;\n    }}\n",
        step.error);
  }
  instructions(3, "    ");
  out += "    ++index;\n    if (++phase == stride) {\n      phase = 0;\n";
  instructions(4, "      ");
  for (std::int32_t r : step.outputs) out += fmt::format("      *rows++ = r{};\n", r);
  out += "    }\n";
  copies(step.step_copies, "    ");
  if (step.event >= 0) out += fmt::format("    if (r{} != 0.0) {{ c->event = 1; break; }}\n", step.event);
  out += "  }\n";
  if (step.error >= 0) out += "done:\n";
  out += "  c->index = index; c->phase = phase; c->rows = rows;\n";
  for (std::int32_t r = 0; r < program.registers; ++r)
    if (stored[r] || r == step.time) out += fmt::format("  w[{0}] = r{0};\n", r);
  out += "  return status;\n}\n";
  if (step.event >= 0) {
    out += "void tellegen_prepare(double* w) {\n";
    for (const Instruction& i : program.section(0))
      out += "  " + c_instruction(program, i, [](std::int32_t r) { return fmt::format("w[{}]", r); }) + "\n";
    out += "}\n";
  }
  return out;
}

}  // namespace tellegen
