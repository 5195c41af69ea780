#include "tellegen/program/step_loop.h"

#include <algorithm>

namespace tellegen {
namespace {

constexpr int renewal = 64;  // steps after which sines of time are computed from scratch

}  // namespace

std::vector<std::int32_t> StepProgram::carried() const {
  std::vector<std::int32_t> list;
  for (const RegisterCopy& c : step_copies) {
    const auto same = [&](const RegisterCopy& other) { return other.target == c.target; };
    if (std::none_of(renew_copies.begin(), renew_copies.end(), same)) list.push_back(c.target);
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

std::vector<std::int32_t> StepProgram::place(std::int32_t RegisterCopy::*iterate) const {
  std::vector<std::int32_t> list{time};
  for (std::int32_t reg : carried()) list.push_back(reg);
  for (const RegisterCopy& c : iterate_copies) list.push_back(c.*iterate);
  return list;
}

StepLoop::StepLoop(StepProgram program)
    : time_(program.time),
      outputs_(program.outputs),
      code_(procedure(std::move(program), counters_)),
      registers_(code_.procedure().program.registers, 0.0) {}

Procedure StepLoop::procedure(StepProgram step, Counters& c) {
  Procedure result{.program = std::move(step.program)};
  SectionWriter write(result.program);
  for (std::int32_t* counter :
       {&c.step, &c.origin, &c.index, &c.left, &c.stride, &c.phase, &c.renew, &c.renewed_ago, &c.newton.most,
        &c.newton.fixed, &c.newton.iterations, &c.newton.worst, &c.follow})
    *counter = write.new_register();

  const auto done = write.call("le", c.left, write.number(0.0));
  Body turn{write.end(), leave_when(done)};

  const auto next = write.add(c.index, write.number(1.0));
  // A multiple, not a sum: samples are exact.
  if (step.time >= 0) write.assign(step.time, write.add(c.origin, write.multiply(c.step, next)));
  const auto renew = write.call("or", c.renew, write.call("eq", c.renewed_ago, write.number(0.0)));
  turn.push_back(write.end());
  if (!step.renew_copies.empty()) {
    write.assign(c.renew, write.number(0.0));
    Body renewed{copy_registers({{step.renew_time, step.time}}), run_section(6),
                 copy_registers(step.renew_copies)};
    renewed.push_back(write.end());
    turn.push_back(when(renew, renewed));
  }
  turn.push_back(run_section(1));

  if (step.error >= 0) {
    Body iterate;
    if (step.reload >= 0) iterate.push_back(reload(step.reload));
    iterate.push_back(copy_registers(step.iterate_copies));
    iterate.push_back(run_section(2));
    const Body newton = iterate_until(write, iterate, step.error, c.newton, step.rounding);
    turn.insert(turn.end(), newton.begin(), newton.end());
  }
  turn.push_back(run_section(3));

  const auto one = write.number(1.0);
  write.assign(c.index, next);
  write.assign(c.left, write.subtract(c.left, one));
  const auto ago = write.add(c.renewed_ago, one), phase = write.add(c.phase, one);
  write.assign(c.renewed_ago,
               write.call("if", write.call("ge", ago, write.number(renewal)), write.number(0.0), ago));
  const auto sample = write.call("eq", phase, c.stride);
  write.assign(c.phase, write.call("if", sample, write.number(0.0), phase));
  turn.push_back(write.end());
  if (step.follows)
    turn.push_back(when(c.follow, {run_section(4), run_section(5), copy_registers(step.followed_copies)}));
  if (step.records)
    turn.push_back(emit(step.place_after()));
  else
    turn.push_back(when(sample, {run_section(4), emit(step.outputs)}));
  turn.push_back(copy_registers(step.step_copies));
  if (step.event >= 0) turn.push_back(leave_when(step.event));

  result.entries = {{"prepare", {run_section(0)}}, {"run", {loop(turn)}}};
  result.exported = step.watched;
  if (step.event >= 0) result.exported.push_back(step.event);
  return result;
}

void StepLoop::load(const StepLoopControl& control, double* r) const {
  const auto set = [&](std::int32_t reg, auto value) { r[reg] = static_cast<double>(value); };
  const Counters& c = counters_;
  set(c.step, control.step);
  set(c.origin, control.origin);
  set(c.index, control.index);
  set(c.left, control.steps);
  set(c.stride, control.stride);
  set(c.phase, control.phase);
  set(c.renew, control.renew);
  set(c.renewed_ago, control.index % renewal);
  set(c.newton.most, control.max_iterations);
  set(c.newton.fixed, control.fixed_iterations);
  set(c.newton.iterations, control.iterations);
  set(c.newton.worst, control.worst);
  set(c.follow, control.follow);
}

StepCode::Part StepLoop::part(const StepLoopControl& control) const {
  StepCode::Part part{.procedure = code_.procedure(), .registers = registers_, .counters = counters_};
  part.time = time_;
  part.outputs = outputs_;
  load(one_step(control), part.registers.data());
  return part;
}

void StepLoop::hand_over(const StepLoop& next, std::vector<RegisterCopy>& copies) const {
  copies.push_back({next.counters_.index, counters_.index});
  copies.push_back({next.counters_.renewed_ago, counters_.renewed_ago});
}

void StepLoop::add_counters(StepCode::Events& events) const {
  events.origin = counters_.origin;
  events.step = counters_.step;
  events.renewed_ago = counters_.renewed_ago;
  events.fixed = counters_.newton.fixed;
}

bool StepLoop::run(StepLoopControl& control) {
  double* r = registers_.data();
  const Counters& c = counters_;
  load(control, r);
  const bool converged = code_.call(run_entry, r, nullptr, &control.rows) == 0;
  control.index = static_cast<std::int64_t>(r[c.index]);
  control.phase = static_cast<std::int64_t>(r[c.phase]);
  control.renew = static_cast<std::int64_t>(r[c.renew]);
  control.iterations = static_cast<std::int64_t>(r[c.newton.iterations]);
  control.worst = static_cast<std::int64_t>(r[c.newton.worst]);
  return converged;
}

}  // namespace tellegen
