#include "tellegen/program/rk4_reverse.h"

namespace tellegen {
namespace {

struct Rk4Entries {
  enum : std::size_t { prepare, observe, steps, finish };
};

// Values at a place, from time on.
Body evaluate(const Rk4Program& step, int last) {
  std::vector<RegisterCopy> iterates;
  for (std::size_t k = 0; k < step.iterates.size(); ++k)
    iterates.push_back({step.iterates[k], step.solutions[k]});
  Body body{copy_registers(iterates)};
  for (int s = 1; s <= last; ++s) body.push_back(run_section(s));
  return body;
}

// And backwards; what was found by iteration hands its weight to what the next iterate would be.
void go_back(ReverseWriter& reverse, const Rk4Program& step, int last) {
  for (int s = last; s >= 1; --s) {
    reverse.section(s);
    if (s != 4) continue;
    for (std::size_t k = 0; k < step.solutions.size(); ++k)
      if (const auto weight = reverse.weight(step.solutions[k]); weight >= 0)
        reverse.add_weight(step.next[k], weight);
  }
}

}  // namespace

Rk4Reverse::Rk4Reverse(const Rk4Program& step, const std::vector<std::int32_t>& parameters)
    : outputs_(step.outputs),
      width_(place_registers(step).size()),
      code_(procedure(step, parameters, gathered_)),
      registers_(code_.procedure().program.registers, 0.0),
      values_(outputs_.size()) {}

Procedure Rk4Reverse::procedure(const Rk4Program& step, const std::vector<std::int32_t>& parameters,
                                Gathered& g) {
  Procedure result{.program = step.program};
  SectionWriter write(result.program);
  std::vector<char> moves(result.program.registers, 0);
  for (const auto* list : {&step.states, &step.solutions, &parameters})
    for (std::int32_t reg : *list) moves[reg] = 1;
  ReverseWriter reverse(result.program, write, std::move(moves));
  const std::size_t n = step.states.size();
  const std::vector<std::int32_t> place = place_registers(step);
  for (std::int32_t* reg : {&g.left, &g.length}) *reg = write.new_register();
  for (std::size_t i = 0; i < n; ++i) g.states.push_back(write.new_register());
  for (std::size_t k = 0; k < step.outputs.size(); ++k) g.observed.push_back(write.new_register());

  // A step backwards.
  const auto h = g.length, zero = write.number(0.0), half = write.multiply(write.number(0.5), h),
             third = write.divide(h, write.number(3.0)), sixth = write.divide(h, write.number(6.0));
  const auto stage = write.new_register(), of_step = write.new_register(), of_next = write.new_register();
  std::vector<std::int32_t> before, behind;  // weights before the step; of the states at the stage behind
  for (std::size_t i = 0; i < n; ++i) {
    before.push_back(write.new_register());
    behind.push_back(write.new_register());
  }
  Body steps{write.end()};
  const auto done = write.call("le", g.left, write.number(0.0));
  Body turn{write.end(), leave_when(done)};
  write.assign(g.left, write.subtract(g.left, write.number(1.0)));
  write.assign(stage, write.number(3.0));
  for (std::size_t i = 0; i < n; ++i) {
    write.assign(before[i], g.states[i]);
    write.assign(behind[i], zero);
  }
  turn.push_back(write.end());
  std::vector<Body> factors;
  for (const auto& [step_factor, next_factor] :
       {std::pair{sixth, half}, {third, half}, {third, h}, {sixth, zero}}) {
    write.assign(of_step, step_factor);
    write.assign(of_next, next_factor);
    factors.push_back({write.end()});
  }
  // The places come in the order of the run, and are taken from the last on.
  Statement previous = take(place);
  previous.index = static_cast<std::int32_t>(2 * place.size());
  Body at_stage{choose(stage, factors), previous};
  const Body values = evaluate(step, 4);
  at_stage.insert(at_stage.end(), values.begin(), values.end());
  for (std::size_t i = 0; i < n; ++i)
    reverse.add_weight(step.slopes[i],
                       write.add(write.multiply(of_step, g.states[i]), write.multiply(of_next, behind[i])));
  go_back(reverse, step, 4);
  for (std::size_t i = 0; i < n; ++i)
    if (const auto weight = reverse.weight(step.states[i]); weight >= 0) {
      write.assign(behind[i], weight);
      write.assign(before[i], write.add(before[i], weight));
    }
  reverse.gather(g.early);
  write.assign(stage, write.subtract(stage, write.number(1.0)));
  const auto first = write.call("lt", stage, write.number(0.0));
  at_stage.push_back(write.end());
  at_stage.push_back(leave_when(first));
  turn.push_back(loop(at_stage));
  for (std::size_t i = 0; i < n; ++i) write.assign(g.states[i], before[i]);
  turn.push_back(write.end());
  steps.push_back(loop(turn));

  // What is observed.
  Body observe{take(place)};
  const Body all = evaluate(step, 7);
  observe.insert(observe.end(), all.begin(), all.end());
  reverse.forget();
  for (std::size_t k = 0; k < step.outputs.size(); ++k) reverse.add_weight(step.outputs[k], g.observed[k]);
  go_back(reverse, step, 7);
  for (std::size_t i = 0; i < n; ++i)
    if (const auto weight = reverse.weight(step.states[i]); weight >= 0)
      write.assign(g.states[i], write.add(g.states[i], weight));
  reverse.gather(g.early);
  observe.push_back(write.end());
  observe.push_back(emit(step.outputs));

  // Back to the parameters.
  g.parameters = reverse.back_to(parameters, g.early);
  Body finish{write.end(), emit(g.parameters)};

  result.entries = {{"prepare", {run_section(0)}},
                    {"observe", observe, false},
                    {"steps", steps},
                    {"finish", finish, false}};
  return result;
}

void Rk4Reverse::begin() {
  for (std::int32_t reg : gathered_.states) registers_[reg] = 0.0;
  for (const auto& [reg, sum] : gathered_.early) registers_[sum] = 0.0;
}

std::span<const double> Rk4Reverse::observe(const double* place, int output) {
  for (std::size_t k = 0; k < gathered_.observed.size(); ++k)
    registers_[gathered_.observed[k]] = static_cast<int>(k) == output ? 1.0 : 0.0;
  double* to = values_.data();
  code_.call(Rk4Entries::observe, registers_.data(), &place, &to);
  return values_;
}

void Rk4Reverse::steps(std::int64_t count, double length, const double* places) {
  registers_[gathered_.left] = static_cast<double>(count);
  registers_[gathered_.length] = length;
  places += width_;
  code_.call(Rk4Entries::steps, registers_.data(), &places);
}

std::vector<double> Rk4Reverse::by_states() const {
  std::vector<double> weights;
  for (std::int32_t reg : gathered_.states) weights.push_back(registers_[reg]);
  return weights;
}

std::vector<double> Rk4Reverse::by_parameters() {
  std::vector<double> weights(gathered_.parameters.size());
  double* to = weights.data();
  code_.call(Rk4Entries::finish, registers_.data(), nullptr, &to);
  return weights;
}

}  // namespace tellegen
