// Models in which something switches, is sampled or jumps: their data for runtime/tellegen_steps.h, of
// Runge-Kutta steps for runtime/tellegen_rk4_steps.h.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/tellegen_rk4_steps.h"
#include "runtime/tellegen_steps.h"
#include "tellegen/deploy/c_model.h"
#include "tellegen/program/c_functions.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

// C has no arrays of nothing.
std::size_t at_least_one(std::size_t count) { return std::max<std::size_t>(1, count); }

template <class Values, class Text>
std::string array(const char* type, const char* name, const Values& values, Text text) {
  std::string out = fmt::format("static const {} {}[{}] = {{", type, name, at_least_one(std::size(values)));
  for (const auto& value : values) out += text(value) + ", ";
  return out + (std::empty(values) ? "0};\n" : "};\n");
}

template <class Values>
std::string whole_numbers(const char* type, const char* name, const Values& values) {
  return array(type, name, values, [](auto value) { return std::to_string(static_cast<int>(value)); });
}

template <class Values>
std::string numbers(const char* name, const Values& values) {
  return array("double", name, values, [](double value) { return c_number(value); });
}

std::string in_braces(std::span<const double> values) {
  std::string out = "{";
  for (double v : values) out += c_number(v) + ", ";
  return out + "}";
}

// What decides updates that are functions of time: behind them, among the roots of their program.
std::size_t quantities(const StepCode::Events& e) {
  return e.timed_of.empty() ? 0 : e.timed_updates.roots.size() - e.timed_of.size();
}
// Numbers that their program takes in and gives out.
std::size_t timed_size(const StepCode::Events& e) {
  return 1 + e.timed_inputs.size() + e.timed_of.size() + quantities(e);
}

std::string timed_updates(const StepCode::Events& e) {
  if (e.timed_of.empty()) return {};
  Procedure procedure{.program = e.timed_updates};
  procedure.entries = {{"timed_updates", {run_section(0), emit(procedure.program.roots)}}};
  return "\n" + c_static_function(procedure, "timed_updates");
}

std::string known_to(const StepCode::Events& e) {
  return e.known_to < std::numeric_limits<double>::infinity() ? c_number(e.known_to) : "INFINITY";
}

std::string start_function(const CModel& m, const char* start) {
  return fmt::format(
      "\nstatic void start_run({}_state* s) {{\n  memcpy(s->held, held_start, sizeof held_start);\n"
      "  {}(&model, &s->run, s->each);\n}}\n",
      m.name, start);
}

std::string take_row(const CModel& m) {
  std::string out;
  for (std::size_t k = 0; k < m.outputs.size(); ++k)
    out += fmt::format("  y->{} = row[{}];\n", m.outputs[k], k);
  return out;
}

std::string rk4_tables(const CModel& m) {
  const StepCode::Events& e = *m.code.events;
  const StepCounters& c = m.last().counters;
  std::string out = "\n" + numbers("every", e.every) + numbers("held_start", e.held);
  out += whole_numbers("int", "held_register", e.held_registers) +
         whole_numbers("int", "update_register", e.updates);
  out += "/* When sources jump. */\n" + numbers("jump", e.jumps);
  out += "/* The states, and what they were before a step. */\n";
  out += whole_numbers("int", "state_register", e.stored) + whole_numbers("int", "begin_register", e.loaded);
  out += fmt::format(
      "\nstatic const tellegen_rk4_model model = {{\n  {}, {}, {}, /* step, bisections, width */\n"
      "  {}, every, held_register, update_register,\n  {}, jump, {},\n  {}, state_register, "
      "begin_register,\n",
      c_number(m.problem().step), e.bisections, m.outputs.size(), e.held.size(), e.jumps.size(), known_to(e),
      e.loaded.size());
  out += fmt::format(
      "  {}, {}, {}, {}, {}, {}, {}, {}, {}, /* length, origin, index, left, stride, phase, renew, happened, "
      "stopped */\n  {}prepare, {}run}};\n",
      e.step, e.origin, c.index, c.left, c.stride, c.phase, c.renew, e.happened, e.stopped, m.part_prefix(0),
      m.part_prefix(0));
  return out + start_function(m, "tellegen_rk4_run_start");
}

std::string rk4_functions(const CModel& m) {
  const StepCode::Events& e = *m.code.events;
  std::string out = fmt::format(
      "\nint {0}_run({0}_state* s{1}, long steps, {0}_outputs* y) {{\n"
      "  double row[{2}], updates[{3}];\n  int taken[{3}], status;\n  tellegen_rk4_stepper stepper;\n"
      "  stepper.model = &model;\n  stepper.run = &s->run;\n  stepper.w = s->w0;\n  stepper.held = "
      "s->held;\n"
      "  stepper.each = s->each;\n  stepper.updates = updates;\n  stepper.taken = taken;\n"
      "  if (steps <= 0) return 0;\n",
      m.name, m.inputs_parameter(), at_least_one(m.outputs.size()), at_least_one(e.held.size()));
  for (std::size_t k = 0; k < m.inputs.size(); ++k)
    out +=
        fmt::format("  tellegen_rk4_run_input(&stepper, {}, u->{});\n", m.problem().external[k], m.inputs[k]);
  out +=
      "  /* The run may be over already, and then there are no outputs. */\n"
      "  if (s->run.ended) return 2;\n"
      "  status = tellegen_rk4_run_steps(&stepper, steps, row);\n"
      "  if (status == 1 || !y || (status == 2 && !s->run.ended)) return status;\n";
  out += take_row(m) + "  return status;\n}\n";
  return out + fmt::format(
                   "\ndouble {0}_time(const {0}_state* s) {{ return tellegen_rk4_run_time(&model, &s->run); "
                   "}}\n",
                   m.name);
}

}  // namespace

std::vector<std::string> c_event_headers(const CModel& m) {
  if (m.code.events->explicit_steps) return {"tellegen_events.h", "tellegen_rk4.h", "tellegen_rk4_steps.h"};
  return {"tellegen_events.h", "tellegen_steps.h"};
}

std::string c_event_state(const CModel& m) {
  const StepCode::Events& e = *m.code.events;
  if (e.explicit_steps)
    return fmt::format(
        "tellegen_rk4_run run;\n  tellegen_sampling each[{0}];\n  double held[{0}]; /* discrete variables "
        "*/",
        at_least_one(e.held.size()));
  return fmt::format(
      "tellegen_run run;\n  tellegen_sampling each[{0}];\n  double held[{0}]; /* discrete variables */\n"
      "  double aside[{1}];",
      at_least_one(e.held.size()), at_least_one(2 * e.stored.size()));
}

std::size_t c_event_bytes(const CModel& m) {
  const StepCode::Events& e = *m.code.events;
  const std::size_t discrete = at_least_one(e.held.size());
  if (e.explicit_steps)
    return sizeof(tellegen_rk4_run) + discrete * (sizeof(tellegen_sampling) + sizeof(double));
  return sizeof(tellegen_run) + discrete * (sizeof(tellegen_sampling) + sizeof(double)) +
         at_least_one(2 * e.stored.size()) * sizeof(double);
}

std::string c_event_tables(const CModel& m) {
  const StepCode::Events& e = *m.code.events;
  if (e.explicit_steps) return rk4_tables(m);
  const StepCounters& c = m.last().counters;
  bool follows = false;
  for (std::size_t k = 0; k < e.every.size(); ++k) follows = follows || (e.every[k] == 0.0 && !e.external[k]);
  std::string out;
  if (!e.timed_of.empty()) out += "#include \"tellegen_math.h\"\n" + timed_updates(e);
  out += "\n";
  out += numbers("every", e.every) + numbers("held_start", e.held);
  out += whole_numbers("char", "timed", e.timed) + whole_numbers("char", "factor", e.factor);
  out += whole_numbers("int", "held_register", e.held_registers) +
         whole_numbers("int", "update_register", e.updates);
  out += whole_numbers("int", "timed_input", e.timed_inputs) + whole_numbers("int", "timed_root", e.timed_of);
  out += "/* When sources jump. */\n" + numbers("jump", e.jumps);
  out += whole_numbers("int", "formula_register", e.formula);
  out += "/* What is put aside while a step is done again, and where it comes back to. */\n";
  out += whole_numbers("int", "stored", e.stored) + whole_numbers("int", "loaded", e.loaded);
  out += fmt::format(
      "\nstatic const tellegen_model model = {{\n  {0}, /* step */\n"
      "  {1}, {2}, {18}, {3}, {4}, {5}, {6}, {7}, /* order, restart_steps, jumps_share, bisections, "
      "stop_event,\n     follows, start_steps, fixed_iterations */\n  {8},\n  {9},\n"
      "  {10}, every, timed, factor, held_register, update_register,\n"
      "  {11}, {12}, {17}, timed_input, timed_root,\n  {13}, jump, {14},\n"
      "  formula_register, {15}, {16}, stored, loaded,\n",
      c_number(m.problem().step), e.order, e.restart_steps, e.bisections, e.stop_event, follows ? 1 : 0,
      e.start_steps, e.fixed_iterations, in_braces(e.own), in_braces(e.start), e.held.size(),
      e.timed_inputs.size(), e.timed_of.size(), e.jumps.size(), known_to(e), e.stored.size(), e.values,
      quantities(e), e.jumps_share);
  out += fmt::format(
      "  {}, {}, {}, {}, {}, {}, {}, {}, {}, /* origin, length, index, left, stride, phase, renew, "
      "renewed_ago, fixed */\n  {}prepare, {}run, {}}};\n",
      e.origin, e.step, c.index, c.left, c.stride, c.phase, c.renew, e.renewed_ago, e.fixed, m.part_prefix(0),
      m.part_prefix(0), e.timed_of.empty() ? "0" : "timed_updates");
  return out + start_function(m, "tellegen_run_start");
}

std::string c_event_functions(const CModel& m) {
  const StepCode::Events& e = *m.code.events;
  if (e.explicit_steps) return rk4_functions(m);
  std::string out = fmt::format(
      "\nint {0}_run({0}_state* s{1}, long steps, {0}_outputs* y) {{\n"
      "  double row[{2}], other_row[{2}], work[{3}];\n  int taken[{4}], status;\n"
      "  tellegen_stepper stepper;\n",
      m.name, m.inputs_parameter(), at_least_one(m.outputs.size()),
      at_least_one(2 * e.held.size() + timed_size(e) + 3 * quantities(e)), at_least_one(e.held.size()));
  out += fmt::format(
      "  stepper.model = &model;\n  stepper.run = &s->run;\n  stepper.w = s->w0;\n  stepper.held = s->held;\n"
      "  stepper.aside = s->aside;\n  stepper.each = s->each;\n  stepper.updates = work;\n"
      "  stepper.before = work + {0};\n  stepper.timed_values = work + {1};\n  stepper.deciding = work + "
      "{2};\n"
      "  stepper.taken = taken;\n"
      "  stepper.row = stepper.to = row;\n  stepper.other_row = other_row;\n  if (steps <= 0) return 0;\n",
      e.held.size(), 2 * e.held.size(), 2 * e.held.size() + timed_size(e));
  for (std::size_t k = 0; k < m.inputs.size(); ++k)
    out += fmt::format("  tellegen_run_input(&stepper, {}, u->{});\n", m.problem().external[k], m.inputs[k]);
  out +=
      "  /* The run may be over already, and then there are no outputs. */\n"
      "  if (s->run.now.ended) return 2;\n"
      "  status = tellegen_run_steps(&stepper, steps);\n"
      "  if (status == 1 || !y || (status == 2 && !s->run.now.ended)) return status;\n";
  out += take_row(m) + "  return status;\n}\n";
  return out + fmt::format(
                   "\ndouble {0}_time(const {0}_state* s) {{ return tellegen_run_time(&model, &s->run); }}\n",
                   m.name);
}

}  // namespace tellegen
