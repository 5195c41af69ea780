#include "tellegen/program/rk4_loop.h"

#include <algorithm>

namespace tellegen {
namespace {

constexpr double aside = 1e-9;    // of a step
constexpr double never = -1e300;  // no time is this

}  // namespace

std::vector<std::int32_t> place_registers(const Rk4Program& step) {
  std::vector<std::int32_t> place{step.time};
  place.insert(place.end(), step.states.begin(), step.states.end());
  place.insert(place.end(), step.solutions.begin(), step.solutions.end());
  for (const RegisterCopy& kept : step.kept) place.push_back(kept.target);
  return place;
}

Rk4Loop::Rk4Loop(Rk4Program program)
    : step_(std::move(program)),
      code_(procedure(step_, counters_)),
      registers_(code_.procedure().program.registers, 0.0) {
  step_.program = {};
}

Procedure Rk4Loop::procedure(const Rk4Program& step, Counters& c) {
  Procedure result{.program = step.program};
  SectionWriter write(result.program);
  const std::size_t n = step.states.size();
  const bool any_slow = step.slow_steps > 1, jumps = step.jumps >= 0;
  const auto slow = [&](std::size_t i) { return any_slow && step.slow[i]; };
  for (std::int32_t* counter :
       {&c.step, &c.origin, &c.index, &c.left, &c.stride, &c.phase, &c.newton.most, &c.newton.fixed,
        &c.newton.iterations, &c.newton.worst, &c.renew, &c.happened, &c.stopped, &c.slow_phase, &c.follow})
    *counter = write.new_register();
  for (auto* list : {&c.z, &c.first, &c.middle, &c.last})
    for (std::size_t i = 0; i < n; ++i) list->push_back(write.new_register());
  for (std::size_t i = 0; step.returns && i < n; ++i) c.begin.push_back(write.new_register());
  const std::size_t totals = step.totals.size();
  for (auto* list : {&c.total, &c.total_first, &c.total_middle})
    for (std::size_t k = 0; k < totals; ++k) list->push_back(write.new_register());
  for (std::size_t k = 0; step.returns && k < totals; ++k) c.total_begin.push_back(write.new_register());
  const auto h = c.step, stage = write.new_register(), at = write.new_register(),
             evaluated_at = write.new_register(), sample = write.new_register(),
             signature = write.new_register(), finished = write.new_register();

  // Once a call.
  const auto half = write.multiply(write.number(0.5), h), sixth = write.divide(h, write.number(6.0)),
             beside = write.multiply(write.number(aside), h);
  write.assign(c.happened, write.number(0.0));
  write.assign(evaluated_at, write.number(never));  // parameters may have changed
  std::int32_t begin_aside = -1;
  if (jumps) write.assign(step.jump_time, write.add(c.origin, write.multiply(h, c.index)));
  Body run{write.end()};
  if (jumps) {
    // Slopes from the right where something jumps just here; anywhere else at the time itself.
    const auto at_begin = write.new_register();
    begin_aside = write.new_register();
    run.push_back(run_section(9));
    run.push_back(copy_registers({{at_begin, step.jumps}}));
    write.assign(step.jump_time, write.add(write.add(c.origin, write.multiply(h, c.index)), beside));
    run.push_back(write.end());
    run.push_back(run_section(9));
    run.push_back(copy_registers({{signature, step.jumps}}));
    write.assign(begin_aside,
                 write.call("if", write.call("ne", at_begin, signature), beside, write.number(0.0)));
    run.push_back(write.end());
  }

  // A step begins.
  const auto done = write.call("le", c.left, write.number(0.0));
  Body turn{write.end(), leave_when(done)};
  const auto t = write.add(c.origin, write.multiply(h, c.index)),
             end = write.add(c.origin, write.multiply(h, write.add(c.index, write.number(1.0)))),
             since = write.multiply(h, c.slow_phase);  // the slow states took their step
  write.assign(stage, write.call("if", c.renew, write.number(0.0), write.number(1.0)));
  write.assign(sample, write.number(0.0));
  for (std::size_t i = 0; i < c.begin.size(); ++i) write.assign(c.begin[i], c.z[i]);
  for (std::size_t k = 0; k < c.total_begin.size(); ++k) write.assign(c.total_begin[k], c.total[k]);
  std::int32_t jump = -1, before = end, after = end, begin = t;
  if (jumps) {
    write.assign(step.jump_time, write.add(end, beside));
    turn.push_back(write.end());
    turn.push_back(run_section(9));
    jump = write.call("ne", step.jumps, signature);
    write.assign(signature, step.jumps);
    const auto by = write.call("if", jump, beside, write.number(0.0));
    before = write.subtract(end, by);
    after = write.add(end, by);
    begin = write.add(t, begin_aside);
  }
  turn.push_back(write.end());

  // Stages 0 to 3; 4: the slopes at the end, 5: the same from the right. Where each is.
  const auto place = [&](std::int32_t time, std::int32_t by, const std::vector<std::int32_t>* along) {
    write.assign(at, time);
    for (std::size_t i = 0; i < n; ++i) {
      std::int32_t value = c.z[i];
      if (slow(i))
        value = write.add(value, write.multiply(by < 0 ? since : write.add(since, by), c.first[i]));
      else if (along)
        value = write.add(value, write.multiply(by, (*along)[i]));
      write.assign(step.states[i], value);
    }
    return Body{write.end()};
  };
  std::vector<Body> places;
  places.push_back(place(begin, -1, nullptr));
  const auto middle = write.add(t, half);
  places.push_back(place(middle, half, &c.first));
  const auto again = write.add(t, half);
  places.push_back(place(again, half, &c.last));
  places.push_back(place(before, h, &c.last));
  places.push_back(place(before, h, nullptr));
  if (jumps) places.push_back(place(after, h, nullptr));

  // Slopes there.
  const auto moved = write.call("ne", at, evaluated_at);
  Body evaluate{choose(stage, places), write.end(),
                when(moved, {copy_registers({{step.time, at}, {evaluated_at, at}}), run_section(1)})};
  Body solve{run_section(2)};
  if (step.error >= 0) {
    std::vector<RegisterCopy> next, found;
    for (std::size_t i = 0; i < step.next.size(); ++i) {
      next.push_back({step.iterates[i], step.next[i]});
      found.push_back({step.solutions[i], step.iterates[i]});
    }
    const Body newton = iterate_until(write, {run_section(3), copy_registers(next)}, step.error, c.newton);
    solve.insert(solve.end(), newton.begin(), newton.end());
    solve.push_back(copy_registers(found));
  }
  solve.push_back(run_section(4));
  evaluate.insert(evaluate.end(), solve.begin(), solve.end());
  if (step.records) evaluate.push_back(emit(place_registers(step)));
  for (Body* body : {&solve, &evaluate})
    if (!step.kept.empty()) body->push_back(copy_registers(step.kept));
  if (totals > 0)
    evaluate.push_back(when(c.follow, {run_section(5), run_section(6), run_section(7), run_section(8)}));

  std::vector<Body> uses;
  // What each stage does with them: first keeps the first, last the last, middle the sum of the two between.
  const auto go_on = [&](double next) { write.assign(stage, write.number(next)); };
  const auto use = [&](Body text) {
    text.push_back(write.end());
    return text;
  };
  // Of the totals likewise, where they are followed.
  const auto follow = [&](auto&& of_total) {
    if (totals == 0) return;
    for (std::size_t k = 0; k < totals; ++k) of_total(k, step.totals[k]);
    uses.back().push_back(when(c.follow, {write.end()}));
  };
  const auto keep_first = [&](std::size_t k, std::int32_t rate) { write.assign(c.total_first[k], rate); };
  const Body slow_slopes = any_slow ? Body{run_section(5)} : Body{};
  const auto at_start = write.call("eq", c.index, write.number(0.0));
  for (std::size_t i = 0; i < n; ++i) {
    const auto k = step.slopes[i];
    write.assign(c.first[i], slow(i) ? write.call("if", at_start, k, c.first[i]) : k);
    if (slow(i)) write.assign(c.last[i], k);
  }
  go_on(1);
  uses.push_back(use(slow_slopes));
  follow(keep_first);
  for (std::size_t i = 0; i < n; ++i)
    if (!slow(i)) write.assign(c.last[i], step.slopes[i]), write.assign(c.middle[i], step.slopes[i]);
  go_on(2);
  uses.push_back(use({}));
  follow([&](std::size_t k, std::int32_t rate) { write.assign(c.total_middle[k], rate); });
  for (std::size_t i = 0; i < n; ++i)
    if (!slow(i)) {
      write.assign(c.last[i], step.slopes[i]);
      write.assign(c.middle[i], write.add(c.middle[i], step.slopes[i]));
    }
  go_on(3);
  uses.push_back(use({}));
  follow([&](std::size_t k, std::int32_t rate) {
    write.assign(c.total_middle[k], write.add(c.total_middle[k], rate));
  });
  const auto two = write.number(2.0), one = write.number(1.0);
  const auto moves = [&](std::int32_t value, std::int32_t first, std::int32_t middle, std::int32_t last) {
    write.assign(
        value, write.add(value, write.multiply(
                                    sixth, write.add(write.add(first, write.multiply(two, middle)), last))));
  };
  for (std::size_t i = 0; i < n; ++i)
    if (!slow(i)) moves(c.z[i], c.first[i], c.middle[i], step.slopes[i]);
  write.assign(c.index, write.add(c.index, one));
  write.assign(c.left, write.subtract(c.left, one));
  const auto phase = write.add(c.phase, one);
  write.assign(sample, write.call("eq", phase, c.stride));
  write.assign(c.phase, write.call("if", sample, write.number(0.0), phase));
  if (jumps && !any_slow)
    write.assign(stage, write.call("if", jump, write.number(5.0), write.number(4.0)));
  else
    go_on(4);
  uses.push_back(use({}));
  follow([&](std::size_t k, std::int32_t rate) {
    moves(c.total[k], c.total_first[k], c.total_middle[k], rate);
  });
  for (std::size_t i = 0; i < n; ++i) {
    const auto k = step.slopes[i];
    if (slow(i))
      write.assign(c.middle[i], write.add(c.middle[i], write.multiply(half, write.add(c.last[i], k))));
    write.assign(slow(i) ? c.last[i] : c.first[i], k);
  }
  if (jumps) {
    write.assign(stage, write.number(5.0));
    write.assign(finished, write.call("eq", jump, write.number(0.0)));
  } else {
    write.assign(finished, write.number(1.0));
  }
  uses.push_back(use(slow_slopes));
  follow(keep_first);
  if (jumps) {
    for (std::size_t i = 0; i < n; ++i) write.assign(slow(i) ? c.last[i] : c.first[i], step.slopes[i]);
    write.assign(finished, write.number(1.0));
    uses.push_back(use(slow_slopes));
    follow(keep_first);
  }
  write.assign(finished, write.number(0.0));
  evaluate.push_back(write.end());
  evaluate.push_back(choose(stage, uses));
  evaluate.push_back(leave_when(finished));
  turn.push_back(loop(evaluate));

  // Outputs: from the right of a jump, as everywhere.
  Body row{run_section(6), run_section(7)};
  if (step.follows) row.push_back(when(c.follow, {run_section(8)}));
  row.push_back(emit(step.outputs));
  if (!any_slow) row.insert(row.begin(), run_section(5));
  if (!step.records) turn.push_back(when(sample, row));
  if (any_slow) {
    const auto steps = write.number(static_cast<double>(step.slow_steps));
    const auto passed = write.add(c.slow_phase, write.number(1.0));
    write.assign(c.slow_phase, passed);
    const auto due = write.call("ge", passed, steps);
    turn.push_back(write.end());
    const auto length = write.multiply(h, write.number(static_cast<double>(step.slow_steps)));
    for (std::size_t i = 0; i < n; ++i)
      if (slow(i)) {
        write.assign(c.first[i], write.divide(c.middle[i], length));
        write.assign(c.z[i], write.add(c.z[i], c.middle[i]));
        write.assign(c.middle[i], write.number(0.0));
      }
    write.assign(c.slow_phase, write.number(0.0));
    turn.push_back(when(due, {write.end()}));
  }
  write.assign(c.renew, write.number(0.0));
  turn.push_back(write.end());
  if (step.event >= 0) {
    turn.insert(turn.end(), {run_section(5), run_section(6)});
    write.assign(c.happened, write.call("ne", step.event, write.number(0.0)));
    turn.push_back(write.end());
    if (step.stop >= 0) {
      const auto stops = write.call("and", c.happened, step.stop);
      write.assign(c.stopped, stops);
      const auto missing = write.call("and", stops, write.call("eq", sample, write.number(0.0)));
      turn.push_back(write.end());
      Body end_row{run_section(7)};
      if (step.follows) end_row.push_back(when(c.follow, {run_section(8)}));
      end_row.push_back(emit(step.outputs));
      turn.push_back(when(missing, end_row));
    }
    turn.push_back(leave_when(c.happened));
  }
  run.push_back(loop(turn));
  // Where nothing can happen within the loop, what is sampled at its end is still to be found.
  if (step.event < 0 && !step.watched.empty()) run.insert(run.end(), {run_section(5), run_section(6)});

  Body slopes{run_section(1)};
  slopes.insert(slopes.end(), solve.begin(), solve.end());
  if (any_slow) slopes.push_back(run_section(5));
  result.entries = {{"prepare", {run_section(0)}}, {"run", run}, {"slopes", slopes, false}};
  result.exported = step.watched;
  result.exported.insert(result.exported.end(), {c.happened, c.stopped});
  for (const auto* list : {&c.begin, &c.total, &c.total_begin})
    result.exported.insert(result.exported.end(), list->begin(), list->end());
  return result;
}

void Rk4Loop::start(const std::vector<double>& states) {
  for (std::size_t i = 0; i < states.size(); ++i) registers_[counters_.z[i]] = states[i];
}

std::vector<double> Rk4Loop::totals() const {
  std::vector<double> totals;
  for (std::int32_t reg : counters_.total) totals.push_back(registers_[reg]);
  return totals;
}

bool Rk4Loop::has_totals() const {
  return std::any_of(counters_.total.begin(), counters_.total.end(),
                     [&](std::int32_t reg) { return registers_[reg] != 0.0; });
}

void Rk4Loop::undo_step() {
  for (std::size_t i = 0; i < counters_.begin.size(); ++i)
    registers_[counters_.z[i]] = registers_[counters_.begin[i]];
  for (std::size_t k = 0; k < counters_.total_begin.size(); ++k)
    registers_[counters_.total[k]] = registers_[counters_.total_begin[k]];
}

bool Rk4Loop::slopes(double t, const double* states, double* slopes) {
  double* r = registers_.data();
  r[step_.time] = t;
  r[counters_.newton.most] = static_cast<double>(Rk4Control{}.max_iterations);
  for (std::size_t i = 0; i < step_.states.size(); ++i) r[step_.states[i]] = states[i];
  if (code_.call(2, r) != 0) return false;
  for (std::size_t i = 0; i < step_.states.size(); ++i) slopes[i] = r[step_.slopes[i]];
  return true;
}

void Rk4Loop::load(const Rk4Control& control, double* r) const {
  const auto set = [&](std::int32_t reg, auto value) { r[reg] = static_cast<double>(value); };
  const Counters& c = counters_;
  set(c.step, control.step);
  set(c.origin, control.origin);
  set(c.index, control.index);
  set(c.left, control.steps);
  set(c.stride, control.stride);
  set(c.phase, control.phase);
  set(c.newton.most, control.max_iterations);
  set(c.newton.fixed, control.fixed_iterations);
  set(c.newton.iterations, control.iterations);
  set(c.newton.worst, control.worst);
  set(c.renew, control.fresh);
  set(c.slow_phase, control.slow_phase);
  set(c.follow, control.follow);
  set(c.stopped, control.stopped);
}

StepCode::Part Rk4Loop::part(const Rk4Control& control) const {
  StepCode::Part part{.procedure = code_.procedure(), .registers = registers_, .counters = counters_};
  part.time = step_.time;
  part.outputs = step_.outputs;
  for (const std::int32_t z : counters_.z) part.states.push_back({.values = {z, -1, -1}});
  load(one_step(control), part.registers.data());
  return part;
}

void Rk4Loop::add_registers(StepCode::Events& events) const {
  events.stored = counters_.z;
  events.loaded = counters_.begin;
  events.step = counters_.step;
  events.origin = counters_.origin;
  events.happened = counters_.happened;
  events.stopped = counters_.stopped;
}

bool Rk4Loop::run(Rk4Control& control) {
  double* r = registers_.data();
  const auto get = [&](std::int32_t reg) { return static_cast<std::int64_t>(r[reg]); };
  const Counters& c = counters_;
  load(control, r);
  const bool converged = code_.call(1, r, nullptr, &control.rows) == 0;
  control.index = get(c.index);
  control.phase = get(c.phase);
  control.iterations = get(c.newton.iterations);
  control.worst = get(c.newton.worst);
  control.fresh = get(c.renew);
  control.event = get(c.happened);
  control.stopped = get(c.stopped);
  control.slow_phase = get(c.slow_phase);
  return converged;
}

}  // namespace tellegen
