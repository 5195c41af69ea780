#include "tellegen/program/step_reverse.h"

namespace tellegen {
namespace {

struct StepEntries {
  enum : std::size_t { prepare, outputs, observed, steps, finish };
};

class StepReverseWriter {
 public:
  StepReverseWriter(const StepProgram& step, const std::vector<std::int32_t>& parameters,
                    std::map<std::int32_t, std::int32_t>& carried, ReverseWriter::Sums& early)
      : step_(step),
        result_{.program = step.program},
        write_(result_.program),
        reverse_(result_.program, write_, moving(step, parameters)),
        carried_(carried),
        early_(early) {
    for (std::int32_t reg : step.carried()) carried_[reg] = write_.new_register();
  }

  // The step again, and back through it; its outputs, where they have weights, at its end.
  Body turn(const std::vector<std::int32_t>* outputs) {
    Body body;
    if (!step_.renew_copies.empty()) {
      body.push_back(copy_registers({{step_.renew_time, step_.time}}));
      body.push_back(run_section(6));
      body.push_back(copy_registers(step_.renew_copies));
    }
    const int last = outputs ? 4 : 3;
    for (int s = 1; s <= last; ++s) body.push_back(run_section(s));
    reverse_.forget();
    for (std::size_t k = 0; outputs && k < outputs->size(); ++k)
      reverse_.add_weight(step_.outputs[k], (*outputs)[k]);
    // What is carried on: in the order of the copies, backwards.
    std::map<std::int32_t, std::int32_t> weights = carried_;
    for (auto c = step_.step_copies.rbegin(); c != step_.step_copies.rend(); ++c) {
      const auto target = weights.find(c->target);
      if (target == weights.end() || target->second < 0) continue;
      const std::int32_t weight = target->second;
      target->second = -1;
      if (const auto source = weights.find(c->source); source != weights.end())
        source->second = source->second < 0 ? weight : write_.add(source->second, weight);
      else
        reverse_.add_weight(c->source, weight);
    }
    for (int s = last; s >= 1; --s) reverse_.section(s);
    for (const RegisterCopy& sine : step_.renew_copies)
      if (const auto weight = reverse_.weight(sine.target); weight >= 0)
        reverse_.add_weight(sine.source, weight);
    if (!step_.renew_copies.empty()) reverse_.section(6);
    std::vector<RegisterCopy> before;
    for (const auto& [reg, weight] : weights) {
      std::int32_t sum = reverse_.weight(reg);
      if (weight >= 0) sum = sum < 0 ? weight : write_.add(sum, weight);
      before.push_back({carried_[reg], sum < 0 ? write_.number(0.0) : sum});
    }
    reverse_.gather(early_);
    body.push_back(write_.end());
    // All at once: one may be moved to where another is read.
    std::vector<RegisterCopy> aside;
    for (RegisterCopy& copy : before) {
      const std::int32_t between = write_.new_register();
      aside.push_back({between, copy.source});
      copy.source = between;
    }
    body.push_back(copy_registers(aside));
    body.push_back(copy_registers(before));
    return body;
  }

  Body finish(const std::vector<std::int32_t>& parameters) {
    const std::vector<std::int32_t> weights = reverse_.back_to(parameters, early_);
    return {write_.end(), emit(weights)};
  }

  SectionWriter& write() { return write_; }
  Procedure& result() { return result_; }

 private:
  static std::vector<char> moving(const StepProgram& step, const std::vector<std::int32_t>& parameters) {
    std::vector<char> moves(static_cast<std::size_t>(step.program.registers), 0);
    for (std::int32_t reg : step.carried()) moves[reg] = 1;
    for (const RegisterCopy& sine : step.renew_copies) moves[sine.target] = 1;
    for (std::int32_t reg : parameters) moves[reg] = 1;
    return moves;
  }

  const StepProgram& step_;
  Procedure result_;
  SectionWriter write_;
  ReverseWriter reverse_;
  std::map<std::int32_t, std::int32_t>& carried_;
  ReverseWriter::Sums& early_;
};

}  // namespace

StepReverse::StepReverse(const StepProgram& step, const std::vector<std::int32_t>& parameters)
    : width_(step.place_again().size()),
      code_(procedure(step, parameters, gathered_)),
      registers_(code_.procedure().program.registers, 0.0),
      values_(step.outputs.size()) {}

Procedure StepReverse::procedure(const StepProgram& step, const std::vector<std::int32_t>& parameters,
                                 Gathered& g) {
  StepReverseWriter writer(step, parameters, g.carried, g.early);
  SectionWriter& write = writer.write();
  const std::vector<std::int32_t> place = step.place_again();
  g.left = write.new_register();
  for (std::size_t k = 0; k < step.outputs.size(); ++k) g.outputs.push_back(write.new_register());

  const auto done = write.call("le", g.left, write.number(0.0));
  Body steps{write.end(), leave_when(done)};
  write.assign(g.left, write.subtract(g.left, write.number(1.0)));
  steps.push_back(write.end());
  // The places come in the order of the run, and are taken from the last on.
  steps.push_back(take(place));
  steps.back().index = static_cast<std::int32_t>(2 * place.size());
  const Body turn = writer.turn(nullptr);
  steps.insert(steps.end(), turn.begin(), turn.end());

  Body observed{take(place)}, outputs = observed;
  const Body last = writer.turn(&g.outputs);
  observed.insert(observed.end(), last.begin(), last.end());
  for (const Statement& s : last) {
    outputs.push_back(s);
    if (s.flow == Flow::section && s.index == 4) break;
  }
  outputs.push_back(emit(step.outputs));

  Body finish = writer.finish(parameters);
  g.parameters = finish.back().registers;
  Procedure result = std::move(writer.result());
  result.entries = {{"prepare", {run_section(0)}},
                    {"outputs", outputs, false},
                    {"observed", observed, false},
                    {"steps", {loop(steps)}},
                    {"finish", finish, false}};
  return result;
}

void StepReverse::begin() {
  for (const auto* list : {&gathered_.carried, &gathered_.early})
    for (const auto& [reg, weight] : *list) registers_[weight] = 0.0;
}

std::span<const double> StepReverse::outputs(const double* place) {
  double* to = values_.data();
  code_.call(StepEntries::outputs, registers_.data(), &place, &to);
  return values_;
}

void StepReverse::observed_step(const double* place, std::span<const double> weights) {
  for (std::size_t k = 0; k < weights.size(); ++k) registers_[gathered_.outputs[k]] = weights[k];
  code_.call(StepEntries::observed, registers_.data(), &place);
}

void StepReverse::steps(std::int64_t count, const double* places) {
  registers_[gathered_.left] = static_cast<double>(count);
  places += width_;
  code_.call(StepEntries::steps, registers_.data(), &places);
}

double StepReverse::carried(std::int32_t input) const {
  const auto found = gathered_.carried.find(input);
  return found == gathered_.carried.end() ? 0.0 : registers_[found->second];
}

void StepReverse::set_carried(std::int32_t input, double weight) {
  if (const auto found = gathered_.carried.find(input); found != gathered_.carried.end())
    registers_[found->second] = weight;
}

std::vector<double> StepReverse::by_parameters() {
  std::vector<double> weights(gathered_.parameters.size());
  double* to = weights.data();
  code_.call(StepEntries::finish, registers_.data(), nullptr, &to);
  return weights;
}

}  // namespace tellegen
