#include "tellegen/program/reverse.h"

#include <fmt/format.h>
#include <algorithm>

namespace tellegen {

ReverseWriter::ReverseWriter(Program& program, SectionWriter& write, std::vector<char> active)
    : program_(program), write_(write), active_(std::move(active)), weights_(active_.size(), -1) {
  for (const Instruction& i : program.code) {
    for_each_operand(program, i, [&](std::int32_t reg) { active_[i.target] |= active_[reg]; });
    if (i.code == Code::call && program.functions[i.extra]->arity == 1)
      known_[{program.functions[i.extra], i.a}] = i.target;
  }
}

void ReverseWriter::forget() {
  std::fill(weights_.begin(), weights_.end(), -1);
  gated_.clear();
  ran_ = -1;
}

std::int32_t ReverseWriter::put(Instruction i) {
  i.target = write_.new_register();
  program_.code.push_back(i);
  return i.target;
}

void ReverseWriter::set_gated(std::int32_t weight) {
  if (gated_.size() <= static_cast<std::size_t>(weight)) gated_.resize(static_cast<std::size_t>(weight) + 1);
  gated_[weight] = 1;
}

void ReverseWriter::add_weight(std::int32_t reg, std::int32_t weight) { add(reg, weight); }

void ReverseWriter::add(std::int32_t reg, std::int32_t term, bool negative) {
  if (!active_[reg]) return;
  std::int32_t& weight = weights_[reg];
  const bool is_gated = gated(term) && (weight < 0 || gated(weight));
  if (weight < 0)
    weight = negative ? put({.code = Code::negate, .a = term}) : term;
  else
    weight = negative ? write_.subtract(weight, term) : write_.add(weight, term);
  if (is_gated) set_gated(weight);
}

template <class Fn>
std::int32_t ReverseWriter::where_not_zero(std::int32_t weight, Fn value) {
  if (!gated(weight)) return value();
  const std::int32_t result = write_.call("if", weight, value(), write_.number(0.0));
  set_gated(result);
  return result;
}

std::int32_t ReverseWriter::product(std::int32_t weight, std::int32_t factor) {
  return where_not_zero(weight, [&] { return write_.multiply(weight, factor); });
}

std::int32_t ReverseWriter::quotient(std::int32_t weight, std::int32_t divisor) {
  return where_not_zero(weight, [&] { return write_.divide(weight, divisor); });
}

void ReverseWriter::section(int s) {
  ran_ = std::max(ran_, s);
  // The program grows while it is read.
  const auto code = program_.section(s);
  const std::vector<Instruction> own(code.begin(), code.end());
  std::for_each(own.rbegin(), own.rend(), [&](const Instruction& i) { instruction(i); });
}

void ReverseWriter::gather(Sums& sums) {
  for (std::int32_t reg = 0; reg < static_cast<std::int32_t>(active_.size()); ++reg) {
    if (program_.section_of[reg] != 0 || weights_[reg] < 0) continue;
    const auto [sum, is_new] = sums.try_emplace(reg, -1);
    if (is_new) sum->second = write_.new_register();
    write_.assign(sum->second, write_.add(sum->second, weights_[reg]));
  }
}

std::vector<std::int32_t> ReverseWriter::back_to(const std::vector<std::int32_t>& inputs, const Sums& sums) {
  forget();
  for (const auto& [reg, sum] : sums) add_weight(reg, sum);
  section(0);
  std::vector<std::int32_t> weights;
  for (std::int32_t reg : inputs) weights.push_back(weights_[reg] < 0 ? write_.number(0.0) : weights_[reg]);
  return weights;
}

void ReverseWriter::instruction(const Instruction& i) {
  const std::int32_t weight = weights_[i.target];
  if (weight < 0) return;
  switch (i.code) {
    case Code::number:
      break;
    case Code::copy:
      add(i.a, weight);
      break;
    case Code::add:
      add(i.a, weight);
      add(i.b, weight);
      break;
    case Code::subtract:
      add(i.a, weight);
      add(i.b, weight, true);
      break;
    case Code::multiply:
      if (active_[i.a]) add(i.a, product(weight, i.b));
      if (active_[i.b]) add(i.b, product(weight, i.a));
      break;
    case Code::divide: {
      const std::int32_t part = quotient(weight, i.b);
      add(i.a, part);
      if (active_[i.b]) add(i.b, product(part, i.target), true);
      break;
    }
    case Code::negate:
      add(i.a, weight, true);
      break;
    case Code::square_root:
      add(i.a, quotient(product(weight, write_.number(0.5)), i.target));
      break;
    case Code::power:
    case Code::call:
      by_rule(i);
      break;
    case Code::lookup:
      by_table(i);
      break;
  }
}

// By the derivative that the table of functions has, written in the registers of the instruction.
void ReverseWriter::by_rule(const Instruction& i) {
  const std::int32_t weight = weights_[i.target];
  const std::int32_t registers[3] = {i.a, i.b, i.c};
  const Function* function = i.code == Code::call ? program_.functions[i.extra] : nullptr;
  if (function && function->name == "if") {  // the side that is not taken has no weight
    const std::int32_t zero = write_.number(0.0);
    for (const int side : {1, 2}) {
      if (!active_[registers[side]]) continue;
      const std::int32_t part =
          side == 1 ? write_.call("if", i.a, weight, zero) : write_.call("if", i.a, zero, weight);
      set_gated(part);
      add(registers[side], part);
    }
    return;
  }
  const auto circular = [&](std::string_view other) {
    const auto found = known_.find({find_function(other), i.a});
    const bool there = found != known_.end() && program_.section_of[found->second] <= ran_;
    return there ? found->second : write_.call(other, i.a);
  };
  if (function && function->name == "sin") return add(i.a, product(weight, circular("cos")));
  if (function && function->name == "cos") return add(i.a, product(weight, circular("sin")), true);

  Pool pool;
  const int count = !function ? 2 : function->arity < 0 ? 2 : function->arity;
  std::vector<ProgramInput> inputs;
  std::vector<Expr> arguments;
  std::vector<std::int32_t> where;
  for (int k = 0; k < count; ++k) {
    arguments.push_back(pool.symbol(fmt::format("a{}", k)));
    inputs.push_back({arguments.back(), 0});
    where.push_back(registers[k]);
  }
  const Expr value = function ? pool.call(*function, arguments) : pow(arguments[0], arguments[1]);
  const Expr known = pool.symbol("value");
  inputs.push_back({known, 0});
  where.push_back(i.target);
  for (int k = 0; k < count; ++k) {
    if (!active_[registers[k]]) continue;
    const Expr slope = substitute(derivative(value, arguments[k]), {{value, known}});
    if (slope.is_number(0.0)) continue;
    const ProgramRoot root{slope, 0};
    const std::int32_t factor =
        append(program_, make_program(pool, inputs, {}, std::span(&root, 1), 1), where).front();
    program_.section_end.pop_back();  // it belongs to the section that is written
    const std::int32_t part = product(weight, factor);
    if (slope.op() == Op::call && slope.function().name == "if") set_gated(part);
    add(registers[k], part);
  }
}

void ReverseWriter::by_table(const Instruction& i) {
  const std::shared_ptr<const Table> table = program_.tables[i.extra];
  const std::int32_t registers[3] = {i.a, i.b, i.c};
  for (int k = 0; k < table->dimensions; ++k) {
    const auto order = next_order(*table, i.order, static_cast<std::size_t>(k));
    if (!order || !active_[registers[k]]) continue;
    Instruction slope = i;
    slope.order = *order;
    add(registers[k], product(weights_[i.target], put(slope)));
  }
}

}  // namespace tellegen
