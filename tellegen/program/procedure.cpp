#include "tellegen/program/procedure.h"

#include <algorithm>
#include <cassert>

#include "tellegen/program/single.h"
#include "tellegen/symbolic/functions.h"

namespace tellegen {

Statement run_section(int section) { return {.flow = Flow::section, .index = section}; }
Statement copy_registers(std::vector<RegisterCopy> copies) {
  return {.flow = Flow::copy, .copies = std::move(copies)};
}
Statement loop(Body body) { return {.flow = Flow::loop, .bodies = {std::move(body)}}; }
Statement leave_when(std::int32_t reg) { return {.flow = Flow::leave, .reg = reg}; }
Statement when(std::int32_t reg, Body then, Body otherwise) {
  return {.flow = Flow::when, .reg = reg, .bodies = {std::move(then), std::move(otherwise)}};
}
Statement choose(std::int32_t reg, std::vector<Body> bodies) {
  return {.flow = Flow::choose, .reg = reg, .bodies = std::move(bodies)};
}
Statement take(std::vector<std::int32_t> registers) {
  return {.flow = Flow::take, .registers = std::move(registers)};
}
Statement emit(std::vector<std::int32_t> registers) {
  return {.flow = Flow::emit, .registers = std::move(registers)};
}
Statement reload(std::int32_t reg) { return {.flow = Flow::reload, .reg = reg}; }
Statement fail_when(std::int32_t reg, int status) {
  return {.flow = Flow::fail, .index = status, .reg = reg};
}

namespace {

// The one interpreter.
struct Run {
  const Program& program;
  double* r;
  const double** in;
  double** out;
  const Reals* reals = nullptr;  // null: double
  const MachineCode* machine = nullptr;
  int status = 0;

  void set(std::int32_t target, double value) {
    r[target] = reals && !reals->precise[target] ? static_cast<double>(static_cast<float>(value)) : value;
  }

  enum class Next { statement, left, ended };

  Next body(const Body& statements) {
    for (const Statement& s : statements)
      if (const Next next = statement(s); next != Next::statement) return next;
    return Next::statement;
  }

  Next statement(const Statement& s) {
    switch (s.flow) {
      case Flow::section:
        if (reals)
          interpret_single(program, *reals, s.index, r);
        else if (machine)
          machine->run(s.index, r);
        else
          interpret(program, s.index, r);
        return Next::statement;
      case Flow::copy:
        for (const RegisterCopy& c : s.copies) set(c.target, r[c.source]);
        return Next::statement;
      case Flow::loop:
        for (;;) {
          const Next next = body(s.bodies[0]);
          if (next == Next::left) return Next::statement;
          if (next == Next::ended) return next;
        }
      case Flow::leave:
        return r[s.reg] != 0.0 ? Next::left : Next::statement;
      case Flow::when:
        return body(s.bodies[r[s.reg] != 0.0 ? 0 : 1]);
      case Flow::choose:
        return body(s.bodies[static_cast<std::size_t>(r[s.reg])]);
      case Flow::take:
        if (s.index > 0) *in -= s.index;
        for (std::int32_t reg : s.registers) set(reg, *(*in)++);
        return Next::statement;
      case Flow::emit:
        for (std::int32_t reg : s.registers)
          *(*out)++ = reals ? static_cast<double>(static_cast<float>(r[reg])) : r[reg];
        return Next::statement;
      case Flow::reload:
        return Next::statement;
      case Flow::fail:
        if (r[s.reg] == 0.0) return Next::statement;
        status = s.index;
        return Next::ended;
    }
    return Next::statement;
  }
};

}  // namespace

int run_single(const Procedure& procedure, const Reals& reals, std::size_t entry, double* registers,
               const double** in, double** out) {
  Run run{procedure.program, registers, in, out, &reals};
  run.body(procedure.entries[entry].body);
  return run.status;
}

void ProcedureCode::compile(double interpreting) {
  if (!has_large_tables(procedure_.program)) load(c_source(procedure_), interpreting);
}

void ProcedureCode::compile_for(double executions) {
  if (has_large_tables(procedure_.program)) return;
  const std::string source = c_source(procedure_);
  load(source, seconds_of_interpreting(source, executions));
}

void ProcedureCode::load(std::string_view source, double interpreting) {
  code_ = compile_c(source, interpreting);
  functions_.clear();
  if (!code_) return;
  for (const Entry& e : procedure_.entries)
    functions_.push_back(e.compiled ? code_->function<Function>(("tellegen_" + e.name).c_str()) : nullptr);
}

int ProcedureCode::call(std::size_t entry, double* registers, const double** in, double** out) const {
  if (code_ && functions_[entry]) return functions_[entry](registers, in, out);
  Run run{procedure_.program, registers, in, out, nullptr, machine_.get()};
  run.body(procedure_.entries[entry].body);
  return run.status;
}

std::int32_t SectionWriter::new_register() {
  program_.section_of.push_back(program_.sections());
  return program_.registers++;
}

std::int32_t SectionWriter::put(Instruction instruction) {
  instruction.target = new_register();
  program_.code.push_back(instruction);
  return instruction.target;
}

std::int32_t SectionWriter::number(double value) {
  program_.numbers.push_back(value);
  return put({.code = Code::number, .extra = static_cast<std::int32_t>(program_.numbers.size()) - 1});
}

std::int32_t SectionWriter::call(std::string_view function, std::int32_t a, std::int32_t b, std::int32_t c) {
  const Function* known = find_function(function);
  assert(known);
  const auto at = std::find(program_.functions.begin(), program_.functions.end(), known);
  const auto index = static_cast<std::int32_t>(at - program_.functions.begin());
  if (at == program_.functions.end()) program_.functions.push_back(known);
  return put({.code = Code::call, .a = a, .b = b, .c = c, .extra = index});
}

Statement SectionWriter::end() {
  program_.section_end.push_back(static_cast<std::int32_t>(program_.code.size()));
  return run_section(program_.sections() - 1);
}

Body iterate_until(SectionWriter& write, Body iterate, std::int32_t error, const IterationRegisters& r,
                   double rounding) {
  const auto count = write.new_register();
  write.assign(count, write.number(0.0));
  std::int32_t smallest = -1, stagnant = -1;
  if (rounding > 1.0) {
    smallest = write.new_register(), stagnant = write.new_register();
    write.assign(smallest, write.number(1e300));
    write.assign(stagnant, write.number(0.0));
  }
  Body body{write.end()};
  write.assign(count, write.add(count, write.number(1.0)));
  auto enough = write.number(1.0);
  if (rounding > 1.0) {
    const auto falls = write.call("lt", error, write.multiply(write.number(0.5), smallest));
    write.assign(stagnant,
                 write.call("if", falls, write.number(0.0), write.add(stagnant, write.number(1.0))));
    write.assign(smallest, write.call("min", smallest, error));
    enough = write.call("if", write.call("ge", stagnant, write.number(4.0)), write.number(rounding), enough);
  }
  const auto converged = write.call("if", write.call("gt", r.fixed, write.number(0.0)),
                                    write.call("ge", count, r.fixed), write.call("le", error, enough));
  const auto too_many = write.call("ge", count, r.most);
  iterate.insert(iterate.end(), {write.end(), leave_when(converged), fail_when(too_many)});
  body.push_back(loop(std::move(iterate)));
  write.assign(r.iterations, write.add(r.iterations, count));
  write.assign(r.worst, write.call("max", r.worst, count));
  body.push_back(write.end());
  return body;
}

std::vector<std::int32_t> append(Program& program, const Program& other,
                                 const std::vector<std::int32_t>& inputs) {
  const auto own = static_cast<std::int32_t>(other.inputs.size());
  const std::int32_t first = program.registers - own;
  const auto moved = [&](std::int32_t reg) { return reg < own ? inputs[reg] : first + reg; };
  const auto sections = program.sections();
  const auto code = static_cast<std::int32_t>(program.code.size());
  const auto numbers = static_cast<std::int32_t>(program.numbers.size());
  const auto functions = static_cast<std::int32_t>(program.functions.size());
  const auto tables = static_cast<std::int32_t>(program.tables.size());
  for (Instruction i : other.code) {
    i.target = moved(i.target), i.a = moved(i.a), i.b = moved(i.b), i.c = moved(i.c);
    if (i.code == Code::number) i.extra += numbers;
    if (i.code == Code::call) i.extra += functions;
    if (i.code == Code::lookup) i.extra += tables;
    program.code.push_back(i);
  }
  for (std::int32_t end : other.section_end) program.section_end.push_back(code + end);
  for (std::int32_t r = own; r < other.registers; ++r)
    program.section_of.push_back(sections + other.section_of[r]);
  program.registers += other.registers - own;
  program.numbers.insert(program.numbers.end(), other.numbers.begin(), other.numbers.end());
  program.functions.insert(program.functions.end(), other.functions.begin(), other.functions.end());
  program.tables.insert(program.tables.end(), other.tables.begin(), other.tables.end());
  std::vector<std::int32_t> roots;
  for (std::int32_t root : other.roots) roots.push_back(moved(root));
  return roots;
}

}  // namespace tellegen
