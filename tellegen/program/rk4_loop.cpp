#include "tellegen/program/rk4_loop.h"

#include <fmt/format.h>

#include <algorithm>

namespace tellegen {
namespace {

constexpr double aside = 1e-9;  // of a step

}  // namespace

Rk4Loop::Rk4Loop(Rk4Program program) : step_(std::move(program)), registers_(step_.program.registers, 0.0) {
  const std::size_t n = step_.states.size();
  z_.assign(n, 0.0);
  stage_.assign(n, 0.0);
  for (auto& k : k_) k.assign(n, 0.0);
  kept_.assign(3 * n, 0.0);
  // A number stands in the first section that uses it; a later one may run before that.
  for (const Instruction& i : step_.program.code)
    if (i.code == Code::number) registers_[i.target] = step_.program.numbers[i.extra];
}

void Rk4Loop::compile() {
  code_ = compile_c(c_rk4_loop(step_));
  if (!code_) return;
  run_ = code_->function<int(double*, double*, double*, Rk4Control*)>("tellegen_rk4");
  prepare_ = code_->function<void(double*)>("tellegen_prepare");
}

void Rk4Loop::prepare() {
  prepare_ ? prepare_(registers_.data()) : interpret(step_.program, 0, registers_.data());
}

bool Rk4Loop::run(Rk4Control& control) {
  return run_ ? run_(registers_.data(), z_.data(), kept_.data(), &control) == 0 : run_interpreted(control);
}

bool Rk4Loop::slopes(double t, const double* states, double* slopes) {
  Rk4Control control;
  return evaluate(control, t, states, slopes);
}

bool Rk4Loop::evaluate(Rk4Control& c, double t, const double* states, double* slopes) {
  double* r = registers_.data();
  const Program& program = step_.program;
  const std::size_t n = step_.states.size();
  if (step_.time >= 0) r[step_.time] = t;
  interpret(program, 1, r);
  for (std::size_t i = 0; i < n; ++i) r[step_.states[i]] = states[i];
  interpret(program, 2, r);
  if (step_.error >= 0) {
    std::int64_t iterations = 0;
    for (;;) {
      interpret(program, 3, r);
      for (std::size_t i = 0; i < step_.next.size(); ++i) r[step_.iterates[i]] = r[step_.next[i]];
      ++iterations;
      if (c.fixed_iterations > 0 ? iterations >= c.fixed_iterations : r[step_.error] <= 1.0) break;
      if (iterations >= c.max_iterations) return false;
    }
    c.iterations += iterations;
    c.worst = std::max(c.worst, iterations);
    for (std::size_t i = 0; i < step_.next.size(); ++i) r[step_.solutions[i]] = r[step_.iterates[i]];
  }
  interpret(program, 4, r);
  if (step_.slow_steps > 1) interpret(program, 5, r);
  for (std::size_t i = 0; i < n; ++i) slopes[i] = r[step_.slopes[i]];
  return true;
}

// The same arithmetic as the generated loop, operation by operation.
bool Rk4Loop::run_interpreted(Rk4Control& c) {
  const std::size_t n = step_.states.size();
  const double h = c.step;
  double* r = registers_.data();
  double *first = kept_.data(), *gathered = first + n, *seen = first + 2 * n;
  double since = 0.0;  // the slow states took their step
  const auto move = [&](double by, const double* k) {
    for (std::size_t i = 0; i < n; ++i)
      stage_[i] = is_slow(i) ? z_[i] + (since + by) * first[i] : z_[i] + by * k[i];
  };
  const auto jumps_at = [&](double t) {
    if (step_.jumps < 0) return 0.0;
    r[step_.jump_time] = t;
    interpret(step_.program, 8, r);
    return r[step_.jumps];
  };
  // Slopes at a beginning: of slow states only what was seen, unless nothing is known of them yet.
  const auto begin = [&](double t, double after) {
    for (std::size_t i = 0; i < n; ++i) stage_[i] = is_slow(i) ? z_[i] + (since + after) * first[i] : z_[i];
    if (!evaluate(c, t, stage_.data(), k_[3].data())) return false;
    for (std::size_t i = 0; i < n; ++i) {
      if (!is_slow(i) || (c.index == 0 && after == 0.0)) first[i] = k_[3][i];
      seen[i] = k_[3][i];
    }
    return true;
  };
  c.event = 0;
  double signature = jumps_at(h * static_cast<double>(c.index) + aside * h);
  for (std::int64_t step = 0; step < c.steps; ++step) {
    const double t = h * static_cast<double>(c.index), end = h * static_cast<double>(c.index + 1);
    since = h * static_cast<double>(c.slow_phase);
    const double next = jumps_at(end + aside * h);
    const bool jump = next != signature;
    const double offset = jump ? aside * h : 0.0;
    signature = next;
    if (c.fresh && !begin(t + (step_.jumps < 0 ? 0.0 : aside * h), 0.0)) return false;
    move(0.5 * h, first);
    if (!evaluate(c, t + 0.5 * h, stage_.data(), k_[1].data())) return false;
    move(0.5 * h, k_[1].data());
    if (!evaluate(c, t + 0.5 * h, stage_.data(), k_[2].data())) return false;
    move(h, k_[2].data());
    if (!evaluate(c, end - offset, stage_.data(), k_[3].data())) return false;
    for (std::size_t i = 0; i < n; ++i)
      if (!is_slow(i)) z_[i] = z_[i] + h / 6.0 * (first[i] + 2.0 * (k_[1][i] + k_[2][i]) + k_[3][i]);
    ++c.index;
    const bool sample = ++c.phase == c.stride;
    if (sample) c.phase = 0;
    std::copy(seen, seen + n, k_[0].begin());
    if ((!jump || step_.slow_steps > 1) && !begin(end - offset, h)) return false;
    for (std::size_t i = 0; i < n; ++i)
      if (is_slow(i)) gathered[i] = gathered[i] + 0.5 * h * (k_[0][i] + seen[i]);
    if (jump && !begin(end + offset, h)) return false;
    if (sample) {  // from the right of a jump, as everywhere
      for (int section : {5, 6, 7}) interpret(step_.program, section, r);
      for (std::int32_t output : step_.outputs) *c.rows++ = r[output];
    }
    if (++c.slow_phase >= step_.slow_steps) {
      for (std::size_t i = 0; i < n; ++i)
        if (is_slow(i)) {
          first[i] = gathered[i] / (h * static_cast<double>(step_.slow_steps));
          z_[i] = z_[i] + gathered[i];
          gathered[i] = 0.0;
        }
      c.slow_phase = 0;
    }
    c.fresh = 0;
    if (step_.event < 0) continue;
    for (int section : {5, 6}) interpret(step_.program, section, r);
    if (r[step_.event] == 0.0) continue;
    c.event = 1;
    if (step_.stop >= 0 && r[step_.stop] != 0.0) {
      c.stopped = 1;
      if (sample) return true;  // its row is written
      interpret(step_.program, 7, r);
      for (std::int32_t output : step_.outputs) *c.rows++ = r[output];
    }
    return true;
  }
  if (!step_.watched.empty())
    for (int section : {5, 6}) interpret(step_.program, section, r);
  return true;
}

std::string c_rk4_loop(const Rk4Program& step) {
  const Program& program = step.program;
  const std::size_t n = step.states.size();
  const auto name = [](std::int32_t r) { return fmt::format("r{}", r); };
  std::string out = c_tables(program);
  const auto instructions = [&](int section, const char* indent) {
    std::string text;
    for (const Instruction& i : program.section(section))
      if (i.code != Code::number) text += fmt::format("{}{}\n", indent, c_instruction(program, i, name));
    return text;
  };
  std::vector<char> used(program.registers, 0), stored(program.registers, 0), loaded(program.registers, 0);
  const auto inputs = static_cast<std::int32_t>(program.inputs.size());
  for (int s = 1; s < program.sections(); ++s)
    for (const Instruction& i : program.section(s)) used[i.target] = used[i.a] = used[i.b] = used[i.c] = 1;
  for (const auto* list : {&step.states, &step.slopes, &step.iterates, &step.next, &step.solutions,
                           &step.outputs, &step.watched})
    for (std::int32_t r : *list) used[r] = 1;
  for (std::int32_t r : {step.time, step.event, step.stop, step.error, step.jump_time, step.jumps})
    if (r >= 0) used[r] = 1;
  for (std::int32_t r = 0; r < program.registers; ++r)
    loaded[r] = used[r] && (r < inputs || program.section_of[r] == 0);
  for (const auto* list : {&step.iterates, &step.solutions, &step.watched})
    for (std::int32_t r : *list) stored[r] = 1;
  out +=
      "typedef struct { double step; long long index, steps, stride, phase, max_iterations, "
      "fixed_iterations;\n"
      "  double* rows; long long iterations, worst, fresh, event, stopped, slow_phase; } tellegen_control;\n"
      "int tellegen_rk4(double* w, double* zs, double* ks, tellegen_control* c) {\n"
      "  const double h = c->step, h2 = 0.5 * h, h6 = h / 6.0;\n"
      "  long long index = c->index, phase = c->phase, k; const long long steps = c->steps, stride = "
      "c->stride;\n"
      "  double* rows = c->rows; int status = 0, stage, sample = 0;\n  double t, end, at, last = 0.0 / "
      "0.0;\n";
  // A number stands in the first section that uses it; a later one may run before that.
  for (int s = 1; s < program.sections(); ++s)
    for (const Instruction& i : program.section(s))
      if (i.code == Code::number) {
        out += "  const double " + c_instruction(program, i, name) + "\n";
        used[i.target] = 0;
      }
  for (std::int32_t r = 0; r < program.registers; ++r)
    if (used[r])
      out += loaded[r] ? fmt::format("  double r{0} = w[{0}];\n", r) : fmt::format("  double r{} = 0;\n", r);
  const bool any_slow = step.slow_steps > 1;
  const auto slow = [&](std::size_t i) { return any_slow && step.slow[i]; };
  for (std::size_t i = 0; i < n; ++i) {
    out += fmt::format("  double z{0} = zs[{0}], a{0} = ks[{0}], s{0} = 0;\n", i);
    // Of a slow state m is the change gathered, b the slope last seen.
    out += slow(i) ? fmt::format("  double m{0} = ks[{1}], b{0} = ks[{2}];\n", i, n + i, 2 * n + i)
                   : fmt::format("  double m{0} = 0, b{0} = 0;\n", i);
  }
  if (any_slow) out += "  long long slow_phase = c->slow_phase; double since;\n";
  const auto jumps_at = [&](const char* t, const char* indent) {
    return fmt::format("{0}r{1} = {2} + {3} * h;\n", indent, step.jump_time, t, aside) +
           instructions(8, indent);
  };
  out += "  c->event = 0;\n";
  if (step.jumps >= 0)
    out += "  double signature; int jump;\n" + jumps_at("h * (double)index", "  ") +
           fmt::format("  signature = r{};\n", step.jumps);
  out += "  for (k = 0; k < steps; ++k) {\n    t = h * (double)index; end = h * (double)(index + 1);\n";
  if (step.jumps >= 0)
    out += jumps_at("end", "    ") +
           fmt::format("    jump = r{0} != signature; signature = r{0};\n", step.jumps);
  if (any_slow) out += "    since = h * (double)slow_phase;\n";
  out += "    stage = c->fresh ? 0 : 1; sample = 0;\n";
  const auto plus = [&](const char* t, char sign) {
    return step.jumps < 0 ? std::string(t) : fmt::format("{0} {1} (jump ? {2} * h : 0.0)", t, sign, aside);
  };
  // Stages 0 to 3; 4: the slopes at the end, 5: the same from the right.
  out += "    for (;;) {\n      switch (stage) {\n";
  const auto stage = [&](int number, const std::string& at, const char* after, const char* from) {
    out += fmt::format("        case {}: at = {};", number, at);
    for (std::size_t i = 0; i < n; ++i)
      out += slow(i) ? fmt::format(" s{0} = z{0} + (since + {1}) * a{0};", i, after)
             : *from ? fmt::format(" s{0} = z{0} + {1} * {2}{0};", i, after, from)
                     : fmt::format(" s{0} = z{0};", i);
    out += " break;\n";
  };
  stage(0, step.jumps < 0 ? "t" : fmt::format("t + {} * h", aside), "0.0", "");
  stage(1, "t + h2", "h2", "a");
  stage(2, "t + h2", "h2", "b");
  stage(3, plus("end", '-'), "h", "b");
  stage(4, plus("end", '-'), "h", "");
  stage(5, plus("end", '+'), "h", "");
  out += "        default: at = 0.0;\n      }\n";
  if (step.time >= 0) {
    out += fmt::format("      if (at != last) {{\n        r{} = at; last = at;\n", step.time);
    out += instructions(1, "        ") + "      }\n";
  }
  for (std::size_t i = 0; i < n; ++i) out += fmt::format("      r{} = s{};\n", step.states[i], i);
  out += instructions(2, "      ");
  if (step.error >= 0) {
    out += "      { long long iterations = 0;\n        for (;;) {\n" + instructions(3, "          ");
    for (std::size_t i = 0; i < step.next.size(); ++i)
      out += fmt::format("          r{} = r{};\n", step.iterates[i], step.next[i]);
    out += fmt::format(
        "          ++iterations;\n"
        "          if (c->fixed_iterations > 0 ? iterations >= c->fixed_iterations : r{} <= 1.0) break;\n"
        "          if (iterations >= c->max_iterations) {{ status = 1; goto done; }}\n        }}\n"
        "        c->iterations += iterations; if (iterations > c->worst) c->worst = iterations; }}\n",
        step.error);
    for (std::size_t i = 0; i < step.next.size(); ++i)
      out += fmt::format("      r{} = r{};\n", step.solutions[i], step.iterates[i]);
  }
  out += instructions(4, "      ");
  // What each stage does with its slopes: a keeps the first, b the last, m the sum of the two in the middle.
  const auto each = [&](const std::string& what, const std::string& of_slow = "") {
    std::string text;
    for (std::size_t i = 0; i < n; ++i)
      text += fmt::format(fmt::runtime(slow(i) ? of_slow : what), fmt::arg("i", i),
                          fmt::arg("k", step.slopes[i]));
    return text;
  };
  const std::string slow_slopes = any_slow ? instructions(5, "          ") : "";
  out += "      switch (stage) {\n";
  out += "        case 0:\n" + slow_slopes + "          " +
         each("a{i} = r{k}; ", "if (index == 0) a{i} = r{k}; b{i} = r{k}; ") + "stage = 1; continue;\n";
  out += "        case 1: " + each("b{i} = r{k}; m{i} = r{k}; ") + "stage = 2; continue;\n";
  out += "        case 2: " + each("b{i} = r{k}; m{i} = m{i} + r{k}; ") + "stage = 3; continue;\n";
  out += "        case 3: " + each("z{i} = z{i} + h6 * (a{i} + 2.0 * m{i} + r{k}); ") +
         "++index; if (++phase == stride) { phase = 0; sample = 1; }\n";
  out += step.jumps >= 0 && !any_slow ? "          stage = jump ? 5 : 4; continue;\n"
                                      : "          stage = 4; continue;\n";
  out += "        case 4:\n" + slow_slopes + "          " +
         each("a{i} = r{k}; ", "m{i} = m{i} + h2 * (b{i} + r{k}); b{i} = r{k}; ") + "\n";
  if (step.jumps >= 0)
    out += "          if (jump) { stage = 5; continue; }\n          break;\n        case 5:\n" + slow_slopes +
           "          " + each("a{i} = r{k}; ", "b{i} = r{k}; ") + "\n";
  out += "          break;\n        default: break;\n      }\n      break;\n    }\n";
  // From the right of a jump, as everywhere.
  out += "    if (sample) {\n" + (any_slow ? "" : instructions(5, "      ")) + instructions(6, "      ") +
         instructions(7, "      ");
  for (std::int32_t r : step.outputs) out += fmt::format("      *rows++ = r{};\n", r);
  out += "    }\n";
  if (any_slow) {
    out += fmt::format("    if (++slow_phase >= {}) {{ ", step.slow_steps) +
           each("", fmt::format("a{{i}} = m{{i}} / (h * (double){}); z{{i}} = z{{i}} + m{{i}}; m{{i}} = 0; ",
                                step.slow_steps)) +
           "slow_phase = 0; }\n";
  }
  out += "    c->fresh = 0;\n";
  if (step.event >= 0) {
    out += instructions(5, "    ") + instructions(6, "    ");
    out += fmt::format("    if (r{} != 0.0) {{\n      c->event = 1;\n", step.event);
    if (step.stop >= 0) {
      out += fmt::format("      if (r{} != 0.0) {{\n        c->stopped = 1;\n        if (!sample) {{\n",
                         step.stop);
      out += instructions(7, "          ");
      for (std::int32_t r : step.outputs) out += fmt::format("          *rows++ = r{};\n", r);
      out += "        }\n      }\n";
    }
    out += "      break;\n    }\n";
  }
  out += "  }\n";
  // Where nothing can happen within the loop, what is sampled at its end is still to be found.
  if (step.event < 0 && !step.watched.empty()) out += instructions(5, "  ") + instructions(6, "  ");
  if (step.error >= 0) out += "done:\n";
  out += "  c->index = index; c->phase = phase; c->rows = rows;\n";
  for (std::size_t i = 0; i < n; ++i) {
    out += fmt::format("  zs[{0}] = z{0}; ks[{0}] = a{0};\n", i);
    if (slow(i)) out += fmt::format("  ks[{1}] = m{0}; ks[{2}] = b{0};\n", i, n + i, 2 * n + i);
  }
  if (any_slow) out += "  c->slow_phase = slow_phase;\n";
  for (std::int32_t r = 0; r < program.registers; ++r)
    if (stored[r]) out += fmt::format("  w[{0}] = r{0};\n", r);
  out += "  return status;\n}\nvoid tellegen_prepare(double* w) {\n";
  for (const Instruction& i : program.section(0))
    out += "  " + c_instruction(program, i, [](std::int32_t r) { return fmt::format("w[{}]", r); }) + "\n";
  return out + "  (void)w;\n}\n";
}

}  // namespace tellegen
