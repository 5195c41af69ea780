#include "tellegen/program/step_loop.h"

namespace tellegen {
namespace {

constexpr int renewal = 64;  // steps after which sines of time are computed from scratch

}  // namespace

StepLoop::StepLoop(StepProgram program)
    : code_(procedure(std::move(program), counters_)), registers_(code_.procedure().program.registers, 0.0) {}

Procedure StepLoop::procedure(StepProgram step, Counters& c) {
  Procedure result{.program = std::move(step.program)};
  SectionWriter write(result.program);
  for (std::int32_t* counter : {&c.step, &c.origin, &c.index, &c.left, &c.stride, &c.phase, &c.renew,
                                &c.renewed_ago, &c.most, &c.fixed, &c.iterations, &c.worst})
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
    Body renewed{copy_registers({{step.renew_time, step.time}}), run_section(5),
                 copy_registers(step.renew_copies)};
    renewed.push_back(write.end());
    turn.push_back(when(renew, renewed));
  }
  turn.push_back(run_section(1));

  if (step.error >= 0) {
    const auto count = write.new_register();
    write.assign(count, write.number(0.0));
    turn.push_back(write.end());
    Body iterate;
    if (step.reload >= 0) iterate.push_back(reload(step.reload));
    iterate.push_back(copy_registers(step.iterate_copies));
    iterate.push_back(run_section(2));
    write.assign(count, write.add(count, write.number(1.0)));
    const auto zero = write.number(0.0);
    const auto converged = write.call("if", write.call("gt", c.fixed, zero), write.call("ge", count, c.fixed),
                                      write.call("le", step.error, write.number(1.0)));
    const auto too_many = write.call("ge", count, c.most);
    iterate.insert(iterate.end(), {write.end(), leave_when(converged), fail_when(too_many)});
    turn.push_back(loop(iterate));
    write.assign(c.iterations, write.add(c.iterations, count));
    write.assign(c.worst, write.call("max", c.worst, count));
    turn.push_back(write.end());
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
  turn.push_back(when(sample, {run_section(4), emit(step.outputs)}));
  turn.push_back(copy_registers(step.step_copies));
  if (step.event >= 0) turn.push_back(leave_when(step.event));

  result.entries = {{"prepare", {run_section(0)}}, {"run", {loop(turn)}}};
  result.exported = step.watched;
  if (step.event >= 0) result.exported.push_back(step.event);
  return result;
}

bool StepLoop::run(StepLoopControl& control) {
  double* r = registers_.data();
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
  set(c.most, control.max_iterations);
  set(c.fixed, control.fixed_iterations);
  set(c.iterations, control.iterations);
  set(c.worst, control.worst);
  const bool converged = code_.call(1, r, nullptr, &control.rows) == 0;
  control.index = static_cast<std::int64_t>(r[c.index]);
  control.phase = static_cast<std::int64_t>(r[c.phase]);
  control.renew = static_cast<std::int64_t>(r[c.renew]);
  control.iterations = static_cast<std::int64_t>(r[c.iterations]);
  control.worst = static_cast<std::int64_t>(r[c.worst]);
  return converged;
}

}  // namespace tellegen
