// Instructions in the order in which they were met, each result once, numbers worked out.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "tellegen/program/program.h"

namespace tellegen {

// Instructions whose results are shared; every node has the value it had when the step was followed.
class InstructionRecorder {
 public:
  explicit InstructionRecorder(const Program& of) {
    program_.functions = of.functions;
    program_.tables = of.tables;
  }
  Program& program() { return program_; }
  double value(std::int32_t node) const { return values_[node]; }
  bool is_number(std::int32_t node) const { return number_of_[node] >= 0; }

  std::int32_t leaf(double value) { return add_node(value, -1); }
  std::int32_t number(double value) {
    const auto [found, added] = numbers_.try_emplace(std::bit_cast<std::uint64_t>(value), 0);
    if (added) {
      program_.numbers.push_back(value);
      const auto extra = static_cast<std::int32_t>(program_.numbers.size() - 1);
      found->second = add_node(value, extra);
      code_.push_back({.code = Code::number, .target = found->second, .extra = extra});
    }
    return found->second;
  }
  // `i` with nodes for registers.
  std::int32_t record(Instruction i) {
    if (i.code == Code::number) return number(program_.numbers[i.extra]);
    if (i.code == Code::copy) return i.a;
    bool constant = true;
    for_each_operand(program_, i, [&](std::int32_t r) { constant = constant && is_number(r); });
    if (!constant)
      if (const auto same = simplified(i)) return *same;
    const double value = evaluate(i);
    if (constant) return number(value);
    const auto key = std::tuple(i.code, i.a, i.b, i.c, i.extra, i.order);
    const auto [found, added] = known_.try_emplace(key, 0);
    if (added) {
      found->second = i.target = add_node(value, -1);
      code_.push_back(i);
    }
    return found->second;
  }
  const std::vector<Instruction>& code() const { return code_; }

 private:
  std::int32_t add_node(double value, std::int32_t number) {
    values_.push_back(value);
    number_of_.push_back(number);
    return program_.registers++;
  }
  bool is(std::int32_t node, double number) const { return is_number(node) && values_[node] == number; }

  // What is one of its operands, or a number, whatever the others are.
  std::optional<std::int32_t> simplified(const Instruction& i) {
    if (i.code == Code::multiply && (is(i.a, 0.0) || is(i.b, 0.0))) return number(0.0);
    if (i.code == Code::multiply && is(i.a, 1.0)) return i.b;
    if ((i.code == Code::multiply || i.code == Code::divide) && is(i.b, 1.0)) return i.a;
    if (i.code == Code::add && is(i.a, 0.0)) return i.b;
    if ((i.code == Code::add || i.code == Code::subtract) && is(i.b, 0.0)) return i.a;
    if (i.code != Code::call) return {};
    const std::string_view name = program_.functions[i.extra]->name;
    if (name == "if" && is_number(i.a)) return values_[i.a] != 0.0 ? i.b : i.c;
    if (name == "ne" && i.a == i.b) return number(0.0);
    return {};
  }

  double evaluate(Instruction i) {
    Program one;
    if (i.code == Code::call) one.functions = {program_.functions[i.extra]};
    if (i.code == Code::lookup) one.tables = {program_.tables[i.extra]};
    i.extra = 0;
    double r[4] = {values_[i.a], values_[i.b], values_[i.c], 0.0};
    i.a = 0, i.b = 1, i.c = 2, i.target = 3;
    one.code = {i};
    one.section_end = {1};
    interpret(one, 0, r);
    return r[3];
  }

  Program program_;
  std::vector<double> values_;
  std::vector<std::int32_t> number_of_;
  std::map<std::uint64_t, std::int32_t> numbers_;
  std::map<std::tuple<Code, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t>,
           std::int32_t>
      known_;
  std::vector<Instruction> code_;
};

}  // namespace tellegen
