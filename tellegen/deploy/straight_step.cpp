#include "tellegen/deploy/straight_step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "tellegen/deploy/instruction_recorder.h"

namespace tellegen {
namespace {

constexpr const char* no_convergence = "Newton's iteration did not converge in the first step";

// Follows the entries of a part once.
class Follower {
 public:
  // `changing`: registers that the step reads and then writes; they are no numbers.
  Follower(const StepCode::Part& part, const std::vector<char>& changing, InstructionRecorder& recorder)
      : part_(part),
        changing_(changing),
        recorder_(recorder),
        node_(part.registers.size(), -1),
        begin_(part.registers.size(), -1),
        written_(part.registers.size(), 0) {
    for (const std::int32_t r : part.inputs) {
      external_.push_back(recorder_.leaf(part.registers[r]));
      node_[r] = external_.back();
    }
    index_ = recorder_.leaf(part.registers[part.counters.index]);
    node_[part.counters.index] = index_;
    for (const auto& [reg, value] : {std::pair{part.counters.left, 1.0},
                                     {part.counters.stride, 1.0},
                                     {part.counters.phase, 0.0},
                                     {part.counters.renew, 1.0}})
      if (reg >= 0) node_[reg] = recorder_.number(value);
  }
  bool follow() {
    for (const char* name : {"prepare", "run"})
      for (const Entry& entry : part_.procedure.entries)
        if (entry.name == name && body(entry.body) == Outcome::failed) return false;
    return true;
  }
  std::int32_t index() const { return index_; }
  const std::vector<std::int32_t>& external() const { return external_; }
  const std::vector<std::int32_t>& outputs() const { return outputs_; }
  const std::vector<StraightStep::Assumption>& assumptions() const { return assumptions_; }
  std::int32_t first_read(std::int32_t reg) const {
    return begin_[reg];
  }  // -1: written before, or never read
  std::int32_t last(std::int32_t reg) { return read(reg); }
  std::vector<char> changed() const {
    std::vector<char> result(written_.size());
    for (std::size_t r = 0; r < result.size(); ++r) result[r] = written_[r] && begin_[r] >= 0;
    return result;
  }

 private:
  enum class Outcome { normal, left, failed };

  std::int32_t read(std::int32_t reg) {
    if (node_[reg] < 0) {
      node_[reg] =
          changing_[reg] ? recorder_.leaf(part_.registers[reg]) : recorder_.number(part_.registers[reg]);
      begin_[reg] = node_[reg];
    }
    return node_[reg];
  }
  void write(std::int32_t reg, std::int32_t node) {
    node_[reg] = node;
    written_[reg] = 1;
  }
  // The value of a condition, which is assumed to be the same in every step.
  double condition(std::int32_t reg) {
    const std::int32_t node = read(reg);
    if (!recorder_.is_number(node)) assumptions_.push_back({node, recorder_.value(node) != 0.0});
    return recorder_.value(node);
  }

  Outcome body(const Body& statements) {
    for (const Statement& s : statements) {
      const Outcome outcome = statement(s);
      if (outcome != Outcome::normal) return outcome;
    }
    return Outcome::normal;
  }

  Outcome statement(const Statement& s) {
    const Program& program = part_.procedure.program;
    switch (s.flow) {
      case Flow::section:
        for (Instruction i : program.section(s.index)) {
          const std::int32_t target = i.target;
          if (i.code == Code::number) {
            write(target, recorder_.number(program.numbers[i.extra]));
            continue;
          }
          int operands = 0;
          for_each_operand(program, i, [&](std::int32_t) { ++operands; });
          std::int32_t* all[3] = {&i.a, &i.b, &i.c};
          for (int k = 0; k < 3; ++k) *all[k] = k < operands ? read(*all[k]) : 0;
          write(target, recorder_.record(i));
        }
        break;
      case Flow::copy:
        for (const RegisterCopy& c : s.copies) write(c.target, read(c.source));
        break;
      case Flow::loop:
        for (;;) {
          const Outcome outcome = body(s.bodies[0]);
          if (outcome == Outcome::left) break;
          if (outcome == Outcome::failed) return outcome;
        }
        break;
      case Flow::leave:
        if (condition(s.reg) != 0.0) return Outcome::left;
        break;
      case Flow::when:
        return body(s.bodies[condition(s.reg) != 0.0 ? 0 : 1]);
      case Flow::choose: {
        const auto last = static_cast<double>(s.bodies.size() - 1);
        return body(s.bodies[static_cast<std::size_t>(std::clamp(condition(s.reg), 0.0, last))]);
      }
      case Flow::take:
        return Outcome::failed;  // a loop of steps takes nothing
      case Flow::emit:
        outputs_.clear();
        for (const std::int32_t r : s.registers) outputs_.push_back(read(r));
        break;
      case Flow::reload:
        break;
      case Flow::fail:
        if (condition(s.reg) != 0.0) return Outcome::failed;
        break;
    }
    return Outcome::normal;
  }

  const StepCode::Part& part_;
  const std::vector<char>& changing_;
  InstructionRecorder& recorder_;
  std::vector<std::int32_t> node_, begin_;
  std::vector<char> written_;
  std::int32_t index_ = -1;
  std::vector<std::int32_t> external_, outputs_;
  std::vector<StraightStep::Assumption> assumptions_;
};

// The outputs that belong to the end of a step, from the values at its end, as functions of the values at its
// beginning; nothing where they need more than these.
class OutputsBefore {
 public:
  OutputsBefore(InstructionRecorder& recorder, std::map<std::int32_t, std::int32_t> known,
                std::vector<char> leaves)
      : recorder_(recorder), known_(std::move(known)), leaves_(std::move(leaves)) {}
  std::optional<std::vector<std::int32_t>> of(const std::vector<std::int32_t>& outputs) {
    const std::vector<Instruction> code = recorder_.code();
    defining_.assign(static_cast<std::size_t>(recorder_.program().registers), -1);
    for (std::size_t k = 0; k < code.size(); ++k) defining_[code[k].target] = static_cast<std::int32_t>(k);
    std::vector<std::int32_t> result;
    for (const std::int32_t output : outputs) result.push_back(moved(output, code));
    if (!possible_) return {};
    return result;
  }

 private:
  std::int32_t moved(std::int32_t node, const std::vector<Instruction>& code) {
    if (const auto found = known_.find(node); found != known_.end()) return found->second;
    if (static_cast<std::size_t>(node) < leaves_.size() && leaves_[node]) {
      possible_ = false;
      return node;
    }
    if (defining_[node] < 0) return node;
    Instruction i = code[defining_[node]];
    if (i.code == Code::number) return node;
    int operands = 0;
    for_each_operand(recorder_.program(), i, [&](std::int32_t) { ++operands; });
    std::int32_t* all[3] = {&i.a, &i.b, &i.c};
    for (int k = 0; k < operands; ++k) *all[k] = moved(*all[k], code);
    return known_[node] = recorder_.record(i);
  }

  InstructionRecorder& recorder_;
  std::map<std::int32_t, std::int32_t> known_;
  std::vector<char> leaves_;
  std::vector<std::int32_t> defining_;
  bool possible_ = true;
};

// The parts before the last, taken as the simulator takes them; then the registers of the last.
std::optional<StepCode::Part> last_part(const StepCode& code) {
  std::vector<double> registers = code.parts.front().registers;
  std::int64_t taken = 0;
  for (std::size_t k = 0; k + 1 < code.parts.size(); ++k) {
    const StepCode::Part& part = code.parts[k];
    const ProcedureCode run(part.procedure);
    std::vector<double> unused(1 << 16);
    run.call(0, registers.data());
    for (std::int64_t s = 0; s < part.steps; ++s, ++taken) {
      registers[part.counters.left] = registers[part.counters.stride] = 1.0;
      registers[part.counters.phase] = 0.0;
      double* out = unused.data();
      if (run.call(1, registers.data(), nullptr, &out) != 0) return {};
    }
    std::vector<double> next = code.parts[k + 1].registers;
    for (const RegisterCopy& c : part.hand_over) next[c.target] = registers[c.source];
    registers = std::move(next);
  }
  StepCode::Part last = code.parts.back();
  last.registers = std::move(registers);
  if (taken > 0) last.registers[last.counters.index] = static_cast<double>(taken);
  last.registers[last.counters.stride] = 1.0;
  last.registers[last.counters.phase] = 0.0;
  last.registers[last.counters.renew] = 1.0;
  return last;
}

// Events are not located: what switches does so at the end of the step in which it has reason to. A method
// must then need nothing from before the step but the values there.
std::string why_not_without_location(const StepCode& code) {
  const StepCode::Events& e = *code.events;
  if (e.explicit_steps || e.order > 2 || e.start_steps > 0 || e.own[2] != 0.0)
    return "it has events, and a method with which they must be located: bdf1 and tr can do without";
  if (e.stop_event >= 0) return "it stops at a condition";
  return {};
}

// Behind the step, discrete variables take their updates; those that are sampled where the time has come.
void update_after_step(const StepCode::Events& events, StepCode::Part& part) {
  SectionWriter write(part.procedure.program);
  Body& body = part.procedure.entries[1].body;  // "run"
  Body& turn = body.front().bodies.front();
  // What ends the loop where something has happened; before it is what ends it when the step is taken.
  turn.erase(
      std::remove_if(turn.begin() + 2, turn.end(), [](const Statement& s) { return s.flow == Flow::leave; }),
      turn.end());
  std::vector<std::pair<std::int32_t, std::int32_t>> taken;
  for (std::size_t k = 0; k < events.updates.size(); ++k) {
    if (events.external[k]) continue;
    const std::int32_t held = events.held_registers[k];
    std::int32_t next = events.updates[k];
    if (events.every[k] > 0.0) {
      const std::int32_t every = write.number(std::round(events.every[k] / part.registers[events.step]));
      const std::int32_t beside = write.call("mod", part.counters.index, every);
      next = write.call("if", write.call("eq", beside, write.number(0.0)), next, held);
    }
    taken.emplace_back(held, next);
  }
  body.push_back(write.end());
  std::vector<RegisterCopy> copies, kept;
  for (const auto& [held, next] : taken) kept.push_back({write.new_register(), next});
  for (std::size_t k = 0; k < taken.size(); ++k) copies.push_back({taken[k].first, kept[k].target});
  body.push_back(copy_registers(kept));
  body.push_back(copy_registers(copies));
  part.registers.resize(static_cast<std::size_t>(part.procedure.program.registers), 0.0);
}

// Which nodes outputs need, and the states that these need, and so on.
std::vector<char> needed(const StraightStep& step, const std::vector<Instruction>& code) {
  std::vector<char> result(static_cast<std::size_t>(step.program.registers), 0);
  for (const std::int32_t output : step.outputs) result[output] = 1;
  for (bool grows = true; grows;) {
    for (auto i = code.rbegin(); i != code.rend(); ++i)
      if (result[i->target]) for_each_operand(step.program, *i, [&](std::int32_t r) { result[r] = 1; });
    grows = false;
    for (const StraightStep::State& s : step.states)
      if (result[s.reg] && !result[s.next]) result[s.next] = 1, grows = true;
  }
  return result;
}

}  // namespace

StraightStep straight_step(const StepCode& code) {
  StraightStep result;
  result.refused = code.refused;
  if (result.refused.empty() && code.events) result.refused = why_not_without_location(code);
  if (!result.refused.empty()) return result;
  auto part = code.events ? code.parts.back() : last_part(code);
  if (!part) {
    result.refused = no_convergence;
    return result;
  }
  if (code.events) update_after_step(*code.events, *part);
  result = straight_step(*part, true);
  result.switches = code.events.has_value();
  return result;
}

StraightStep straight_step(const StepCode::Part& part, bool move_outputs) {
  StraightStep result;
  const auto fails = [&] {
    result.refused = no_convergence;
    return result;
  };

  // Once to see what changes, once more to write it down.
  std::vector<char> changing(part.registers.size(), 0);
  {
    InstructionRecorder recorder(part.procedure.program);
    Follower first(part, changing, recorder);
    if (!first.follow()) return fails();
    changing = first.changed();
  }
  InstructionRecorder recorder(part.procedure.program);
  Follower follower(part, changing, recorder);
  if (!follower.follow()) return fails();
  result.index = follower.index();
  result.first_index = part.registers[part.counters.index];
  result.external = follower.external();
  result.assumptions = follower.assumptions();
  std::map<std::int32_t, std::int32_t> before;
  std::vector<char> leaves(static_cast<std::size_t>(recorder.program().registers), 0);
  leaves[result.index] = 1;
  for (std::size_t r = 0; r < changing.size(); ++r) {
    const auto reg = static_cast<std::int32_t>(r);
    if (!changing[r] || follower.first_read(reg) < 0) continue;
    result.states.push_back({follower.first_read(reg), follower.last(reg), part.registers[r]});
    before[result.states.back().next] = result.states.back().reg;
    leaves[result.states.back().reg] = 1;
  }
  before[follower.last(part.counters.index)] = result.index;
  result.outputs = follower.outputs();
  if (move_outputs)
    if (const auto moved = OutputsBefore(recorder, before, leaves).of(result.outputs)) {
      result.outputs = *moved;
      result.outputs_before = true;
    }

  // Two sections, of what is needed only.
  result.program = recorder.program();
  const std::vector<Instruction> all = recorder.code();
  std::vector<char> keep = needed(result, all), known(keep.size(), 0);
  std::erase_if(result.states, [&](const StraightStep::State& s) { return !keep[s.reg]; });
  std::erase_if(result.assumptions, [&](const StraightStep::Assumption& a) {
    // Of counters and the like only: what they read is not there any more.
    bool whole = true;
    std::vector<char> reads(keep.size(), 0);
    reads[a.reg] = 1;
    for (auto i = all.rbegin(); i != all.rend(); ++i)
      if (reads[i->target]) for_each_operand(result.program, *i, [&](std::int32_t r) { reads[r] = 1; });
    for (std::size_t r = 0; r < changing.size(); ++r)
      if (const auto leaf = follower.first_read(static_cast<std::int32_t>(r)); changing[r] && leaf >= 0)
        whole = whole && (!reads[leaf] || keep[leaf]);
    if (whole)
      for (std::size_t r = 0; r < reads.size(); ++r) keep[r] = keep[r] || reads[r];
    return !whole;
  });
  known[result.index] = 1;
  for (const std::int32_t r : result.external) known[r] = 1;
  std::vector<Instruction> sections[2];
  std::vector<char> given(keep.size(), 0), number(keep.size(), 0);
  for (const Instruction& i : all) {
    if (!keep[i.target]) continue;
    bool sources = true;
    for_each_operand(result.program, i, [&](std::int32_t r) { sources = sources && known[r]; });
    known[i.target] = sources;
    number[i.target] = i.code == Code::number;
    sections[sources ? 0 : 1].push_back(i);
    if (!sources)
      for_each_operand(result.program, i,
                       [&](std::int32_t r) { given[r] = given[r] || (known[r] && !number[r]); });
  }
  for (const std::int32_t r : result.outputs) given[r] = given[r] || (known[r] && !number[r]);
  for (const StraightStep::State& s : result.states)
    given[s.next] = given[s.next] || (known[s.next] && !number[s.next]);
  for (std::size_t r = 0; r < given.size(); ++r)
    if (given[r]) result.given.push_back(static_cast<std::int32_t>(r));
  result.program.code = sections[0];
  result.program.code.insert(result.program.code.end(), sections[1].begin(), sections[1].end());
  result.program.section_end = {static_cast<std::int32_t>(sections[0].size()),
                                static_cast<std::int32_t>(result.program.code.size())};
  return result;
}

std::vector<double> first_registers(const StraightStep& step) {
  std::vector<double> registers(static_cast<std::size_t>(step.program.registers), 0.0);
  for (const StraightStep::State& s : step.states) registers[s.reg] = s.start;
  return registers;
}

}  // namespace tellegen
