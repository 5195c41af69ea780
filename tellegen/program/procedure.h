// A procedure: the control flow around the sections of a program, as data. One interpreter runs it and one
// printer writes it as C, so what belongs to a loop, to an iteration or to samples only is said once.
//
// Everything works on one register file. Counters are registers too (whole numbers are exact in a double):
// a copy of the file is all there is to save. Which registers live from one call to the next follows from the
// statements, nobody lists them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/program/compile.h"
#include "tellegen/program/machine_code.h"
#include "tellegen/program/program.h"

namespace tellegen {

struct RegisterCopy {
  std::int32_t target = 0, source = 0;
};

enum class Flow : std::uint8_t {
  section,  // `index` of the program
  copy,     // `copies`, in order
  loop,     // bodies[0] again and again, until a leave
  leave,    // the innermost loop, where `reg` is not 0
  when,     // bodies[0] where `reg` is not 0, else bodies[1] where there is one
  choose,   // bodies[reg]
  take,     // the next numbers of the input stream, into `registers`
  emit,     // `registers`, to the output stream
  reload,   // `reg` afresh, so that a compiler cannot take what depends on it out of a loop
  fail      // end with status `index`, where `reg` is not 0
};

struct Statement;
using Body = std::vector<Statement>;

struct Statement {
  Flow flow;
  std::int32_t index = -1, reg = -1;
  std::vector<RegisterCopy> copies = {};
  std::vector<std::int32_t> registers = {};
  std::vector<Body> bodies = {};
};

Statement run_section(int section);
Statement copy_registers(std::vector<RegisterCopy> copies);
Statement loop(Body body);
Statement leave_when(std::int32_t reg);
Statement when(std::int32_t reg, Body then, Body otherwise = {});
Statement choose(std::int32_t reg, std::vector<Body> bodies);
Statement take(std::vector<std::int32_t> registers);
Statement emit(std::vector<std::int32_t> registers);
Statement reload(std::int32_t reg);
Statement fail_when(std::int32_t reg, int status = 1);

struct Entry {
  std::string name = {};
  Body body = {};
  bool compiled = true;  // false: called too seldom to be worth a compiler's time
};

struct Procedure {
  Program program = {};
  std::vector<Entry> entries = {};
  std::vector<std::int32_t> exported = {};  // registers that others read after a call
};

// Registers that some entry reads before it has written them, and those exported: what lives between calls.
std::vector<char> living_registers(const Procedure& procedure);

// Each entry as `int <prefix><name>(double* w, const double** in, double** out)`; the result is its status.
std::string c_source(const Procedure& procedure, std::string_view prefix = "tellegen_");

// The structure, without a register file: threads may share it.
class ProcedureCode {
 public:
  explicit ProcedureCode(Procedure procedure)
      : procedure_(std::move(procedure)), machine_(MachineCode::make(procedure_.program)) {}
  const Procedure& procedure() const { return procedure_; }
  // From now on call() is compiled code, where there is a compiler, and where it takes less than
  // interpreting.
  void compile(double interpreting = std::numeric_limits<double>::infinity());
  void compile_for(double executions);
  bool compiled() const { return code_ != nullptr; }
  // Runs an entry; the streams are moved on. 0, or the status of a fail.
  int call(std::size_t entry, double* registers, const double** in = nullptr, double** out = nullptr) const;

 private:
  void load(std::string_view source, double interpreting);
  using Function = int(double*, const double**, double**);
  Procedure procedure_;
  std::shared_ptr<const MachineCode> machine_;  // of its sections; null: interpret()
  std::shared_ptr<const CompiledCode> code_;
  std::vector<Function*> functions_;
};

// Sections written instruction by instruction, behind those that a program has: counters and conditions.
class SectionWriter {
 public:
  explicit SectionWriter(Program& program) : program_(program) {}
  std::int32_t new_register();
  std::int32_t number(double value);
  std::int32_t add(std::int32_t a, std::int32_t b) { return put({.code = Code::add, .a = a, .b = b}); }
  std::int32_t subtract(std::int32_t a, std::int32_t b) {
    return put({.code = Code::subtract, .a = a, .b = b});
  }
  std::int32_t multiply(std::int32_t a, std::int32_t b) {
    return put({.code = Code::multiply, .a = a, .b = b});
  }
  std::int32_t divide(std::int32_t a, std::int32_t b) { return put({.code = Code::divide, .a = a, .b = b}); }
  std::int32_t call(std::string_view function, std::int32_t a, std::int32_t b = 0, std::int32_t c = 0);
  void assign(std::int32_t target, std::int32_t value) {  // a register that has a meaning of its own
    program_.code.push_back({.code = Code::copy, .target = target, .a = value});
  }
  Statement end();  // what was written since the last end, as a section

 private:
  std::int32_t put(Instruction instruction);
  Program& program_;
};

// Newton's iteration, the same for every loop: `iterate` until `error` is at most 1, or a fixed number of
// times; fails where that takes too long. Where the error has ceased to fall, one of `rounding` will do.
struct IterationRegisters {
  std::int32_t most, fixed;        // iterations of one solution; fixed 0: to tolerance
  std::int32_t iterations, worst;  // of all together, of one
};
Body iterate_until(SectionWriter& write, Body iterate, std::int32_t error,
                   const IterationRegisters& registers, double rounding = 1.0);

// Puts `other` behind `program`: its sections follow, its inputs are the registers of `inputs`. Gives the
// registers that the roots of `other` have there.
std::vector<std::int32_t> append(Program& program, const Program& other,
                                 const std::vector<std::int32_t>& inputs);

}  // namespace tellegen
