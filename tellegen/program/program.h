// A program: an ordered list of assignments in sections, the one form that is interpreted, emitted as C
// and exported.
//
// An Assignments list is written in symbols. Each input has a section: the earliest one in which its value
// is known (0: parameters and step size, 1: time and history, 2: the Newton iterate, ...). make_program
// gives every value the section of its latest input, takes out of each formula whatever an earlier section
// can compute (a sum or product is split by section), drops what no root needs, and lowers the rest to
// three-address instructions. Later sections read the registers of earlier ones.
//
// Interpreter and C run the same instructions in the same order, so they agree to the last bit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tellegen/symbolic/expression.h"
#include "tellegen/symbolic/functions.h"
#include "tellegen/symbolic/row_list.h"

namespace tellegen {

struct Assignment {
  Expr symbol, value;
};

class Assignments {
 public:
  explicit Assignments(Pool& pool) : pool_(pool) {}
  Pool& pool() { return pool_; }
  // A symbol that stands for `value` from here on (the value itself where it is a number or a symbol).
  Expr define(Expr value);
  void assign(Expr symbol, Expr value) { list_.push_back({symbol, value}); }
  std::span<const Assignment> list() const { return list_; }

 private:
  Pool& pool_;
  std::vector<Assignment> list_;
};

struct ProgramInput {
  Expr symbol;
  int section = 0;
};

enum class Code : std::uint8_t {
  number,
  copy,
  add,
  subtract,
  multiply,
  divide,
  negate,
  square_root,
  power,
  call,
  lookup
};

struct Instruction {
  Code code;
  std::int32_t target = 0;
  std::int32_t a = 0, b = 0, c = 0;  // registers
  std::int32_t extra = 0;            // index of a number, function or table; see order for lookups
  std::int32_t order = 0;
};

struct Program {
  std::vector<ProgramInput> inputs;  // registers 0 .. inputs.size()-1
  std::vector<Instruction> code;
  std::vector<std::int32_t> section_end;  // code of section s ends here
  std::vector<std::int32_t> section_of;   // per register: input's or defining section
  std::vector<std::int32_t> roots;        // registers, in the order asked for; never an input's
  std::vector<double> numbers;
  std::vector<const Function*> functions;
  std::vector<std::shared_ptr<const Table>> tables;
  std::int32_t registers = 0;

  std::span<const Instruction> section(int s) const {
    const auto begin = s == 0 ? 0 : section_end[s - 1];
    return std::span(code).subspan(begin, section_end[s] - begin);
  }
  int sections() const { return static_cast<int>(section_end.size()); }
};

// A root may be asked for not before some section (an output that is wanted at samples only).
struct ProgramRoot {
  Expr value;
  int section = 0;
};

// Sections from `late` on run less often than those before them: what only they need is computed there.
Program make_program(Pool& pool, std::span<const ProgramInput> inputs,
                     std::span<const Assignment> assignments, std::span<const ProgramRoot> roots,
                     int sections, int late = 3);

// Run one section on a register file of program.registers doubles.
void interpret(const Program& program, int section, double* registers);

// The same as operations of a list.
void write_section(RowList& list, const Program& program, int section, std::span<RowValue> registers);

// Registers an instruction reads.
template <class Fn>
void for_each_operand(const Program& program, const Instruction& i, Fn fn) {
  int operands = 2;
  switch (i.code) {
    case Code::number:
      operands = 0;
      break;
    case Code::copy:
    case Code::negate:
    case Code::square_root:
      operands = 1;
      break;
    case Code::lookup:
      operands = program.tables[i.extra]->dimensions;
      break;
    case Code::call: {
      const int arity = program.functions[i.extra]->arity;
      operands = arity < 0 ? 2 : arity;
      break;
    }
    default:
      break;
  }
  const std::int32_t all[3] = {i.a, i.b, i.c};
  for (int k = 0; k < operands; ++k) fn(all[k]);
}

// One instruction as C: "r7 = r3*r5;" without the type, registers named by `name`.
std::string c_instruction(const Program& program, const Instruction& instruction,
                          const std::function<std::string(std::int32_t)>& name);
std::string c_tables(const Program& program);   // definitions that the instructions' lookups refer to
bool has_large_tables(const Program& program);  // long records, which no compiler should read

}  // namespace tellegen
