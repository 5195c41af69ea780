#include "tellegen/program/procedure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <map>
#include <set>

#include "tellegen/program/repeats.h"
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
  int status = 0;

  enum class Next { statement, left, ended };

  Next body(const Body& statements) {
    for (const Statement& s : statements)
      if (const Next next = statement(s); next != Next::statement) return next;
    return Next::statement;
  }

  Next statement(const Statement& s) {
    switch (s.flow) {
      case Flow::section:
        interpret(program, s.index, r);
        return Next::statement;
      case Flow::copy:
        for (const RegisterCopy& c : s.copies) r[c.target] = r[c.source];
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
        for (std::int32_t reg : s.registers) r[reg] = *(*in)++;
        return Next::statement;
      case Flow::emit:
        for (std::int32_t reg : s.registers) *(*out)++ = r[reg];
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

// What an entry reads before it has surely written it, what it writes, and what it names at all.
struct Liveness {
  using Set = std::vector<char>;
  const Program& program;
  Set exposed, written_somewhere, named, read_somewhere;

  explicit Liveness(const Program& p)
      : program(p),
        exposed(p.registers, 0),
        written_somewhere(p.registers, 0),
        named(p.registers, 0),
        read_somewhere(p.registers, 0) {}

  void read(std::int32_t reg, const Set& written) {
    named[reg] = read_somewhere[reg] = 1;
    if (!written[reg]) exposed[reg] = 1;
  }
  void write(std::int32_t reg, Set& written) { named[reg] = written_somewhere[reg] = written[reg] = 1; }

  static void both(Set& a, const Set& b) {
    for (std::size_t k = 0; k < a.size(); ++k) a[k] = a[k] && b[k];
  }

  // `left`: what is surely written wherever the innermost loop is left.
  void body(const Body& statements, Set& written, std::vector<Set>& left) {
    for (const Statement& s : statements) switch (s.flow) {
        case Flow::section:
          for (const Instruction& i : program.section(s.index)) {
            for_each_operand(program, i, [&](std::int32_t reg) { read(reg, written); });
            write(i.target, written);
          }
          break;
        case Flow::copy:
          for (const RegisterCopy& c : s.copies) read(c.source, written), write(c.target, written);
          break;
        case Flow::loop: {
          std::vector<Set> leaves;
          body(s.bodies[0], written, leaves);
          if (leaves.empty()) break;
          written = leaves[0];
          for (const Set& l : leaves) both(written, l);
          break;
        }
        case Flow::leave:
          read(s.reg, written);
          left.push_back(written);
          break;
        case Flow::when:
        case Flow::choose: {
          read(s.reg, written);
          Set after;
          for (const Body& b : s.bodies) {
            Set branch = written;
            body(b, branch, left);
            if (after.empty())
              after = branch;
            else
              both(after, branch);
          }
          written = after;
          break;
        }
        case Flow::take:
          for (std::int32_t reg : s.registers) write(reg, written);
          break;
        case Flow::emit:
          for (std::int32_t reg : s.registers) read(reg, written);
          break;
        case Flow::reload:
        case Flow::fail:
          read(s.reg, written);
          break;
      }
  }

  static Liveness of(const Procedure& procedure, const Entry& entry) {
    Liveness result(procedure.program);
    Set written(procedure.program.registers, 0);
    std::vector<Set> left;
    result.body(entry.body, written, left);
    return result;
  }
};

// The one printer.
class Printer {
 public:
  Printer(const Procedure& procedure, std::string_view prefix) : procedure_(procedure), prefix_(prefix) {}

  std::string text() {
    out_ = c_tables(procedure_.program);
    repeats_ = find_repeats(procedure_);
    const std::vector<char> living = living_registers(procedure_);
    for (const Entry& e : procedure_.entries)
      if (e.compiled) entry(e, living);
    return std::move(out_);
  }

 private:
  void entry(const Entry& e, const std::vector<char>& living) {
    const Liveness uses = Liveness::of(procedure_, e);
    out_ += fmt::format("int {}{}(double* w, const double** in, double** out) {{\n  int status = 0;\n",
                        prefix_, e.name);
    const bool takes = has(e.body, Flow::take), emits = has(e.body, Flow::emit),
               fails = has(e.body, Flow::fail);
    if (takes) out_ += "  const double* from = *in;\n";
    if (emits) out_ += "  double* to = *out;\n";
    // A living register that is written somewhere is loaded too: the path taken may leave it as it was.
    // What loops step through stays where it is.
    const auto stored = [&](std::int32_t r) {
      return living[r] && uses.written_somewhere[r] && !repeats_.in_memory[r];
    };
    const std::vector<char> local = local_registers();
    const auto is_variable = [&](std::int32_t r) {
      return uses.named[r] && !repeats_.in_memory[r] && !local[r];
    };
    for (std::int32_t r = 0; r < procedure_.program.registers; ++r)
      if (is_variable(r))
        out_ += uses.exposed[r] || stored(r) ? fmt::format("  double r{0} = w[{0}];\n", r)
                                             : fmt::format("  double r{};\n", r);
    labels_ = 0;
    body(e.body, 2, -1);
    if (fails) out_ += "ended:;\n";
    for (std::int32_t r = 0; r < procedure_.program.registers; ++r)
      if (stored(r))
        out_ += fmt::format("  w[{0}] = r{0};\n", r);
      else if (is_variable(r) && !uses.read_somewhere[r])
        out_ += fmt::format("  (void)r{};\n", r);  // compilers warn
    if (takes) out_ += "  *in = from;\n";
    if (emits) out_ += "  *out = to;\n";
    out_ += "  (void)w; (void)in; (void)out;\n  return status;\n}\n";
  }

  static bool has(const Body& statements, Flow flow) {
    return std::any_of(statements.begin(), statements.end(), [&](const Statement& s) {
      return s.flow == flow ||
             std::any_of(s.bodies.begin(), s.bodies.end(), [&](const Body& b) { return has(b, flow); });
    });
  }

  void line(int indent, const std::string& text) {
    out_.append(static_cast<std::size_t>(indent), ' ');
    out_ += text;
    out_ += '\n';
  }

  std::string name(std::int32_t r) const {
    return repeats_.in_memory[r] ? fmt::format("w[{}]", r) : fmt::format("r{}", r);
  }

  void section(int index, int indent) {
    const auto code = procedure_.program.section(index);
    std::size_t at = 0;
    const auto straight = [&](std::size_t end) {
      for (; at < end; ++at)
        line(indent, c_instruction(procedure_.program, code[at], [&](std::int32_t r) { return name(r); }));
    };
    for (const Repeat& r : repeats_.of_section[static_cast<std::size_t>(index)]) {
      straight(r.begin);
      line(indent, fmt::format("for (long k = 0; k < {}; ++k) {{", r.count));
      repeat(code, r, indent + 2);
      line(indent, "}");
      at += r.period * r.count;
    }
    straight(code.size());
  }

  // Its block once, registers by their strides.
  void repeat(std::span<const Instruction> code, const Repeat& r, int indent) {
    std::map<std::int32_t, std::size_t> local;  // registers of the first time
    for (std::size_t p = 0; p < r.period; ++p) {
      const Instruction& i = code[r.begin + p];
      const std::int32_t registers[4] = {i.target, i.a, i.b, i.c};
      const auto slot = [&](std::int32_t k) {
        const std::int32_t reg = registers[k], stride = r.strides[p][static_cast<std::size_t>(k)];
        if (const auto found = local.find(reg); k > 0 && stride != 0 && found != local.end())
          return fmt::format("t{}", found->second);
        if (k == 0 && r.local[p]) return fmt::format("const double t{}", p);
        return stride == 0 ? name(reg)
                           : fmt::format("w[{} {} {}*k]", reg, stride < 0 ? '-' : '+', std::abs(stride));
      };
      Instruction numbered = i;
      numbered.target = 0, numbered.a = 1, numbered.b = 2, numbered.c = 3;
      line(indent, c_instruction(procedure_.program, numbered, slot));
      if (r.local[p]) local[i.target] = p;
    }
  }

  // What loops have as variables of their own.
  std::vector<char> local_registers() const {
    std::vector<char> local(procedure_.program.registers, 0);
    for (std::size_t s = 0; s < repeats_.of_section.size(); ++s) {
      const auto code = procedure_.program.section(static_cast<int>(s));
      for (const Repeat& r : repeats_.of_section[s])
        for (std::size_t k = 0; k < r.period * r.count; ++k)
          if (r.local[k % r.period]) local[code[r.begin + k].target] = 1;
    }
    return local;
  }

  void body(const Body& statements, int indent, int innermost) {
    for (const Statement& s : statements) switch (s.flow) {
        case Flow::section:
          section(s.index, indent);
          break;
        case Flow::copy:
          for (const RegisterCopy& c : s.copies) line(indent, name(c.target) + " = " + name(c.source) + ";");
          break;
        case Flow::loop: {
          const int label = labels_++;
          line(indent, "for (;;) {");
          body(s.bodies[0], indent + 2, label);
          line(indent, "}");
          line(indent, fmt::format("left{}:;", label));
          break;
        }
        case Flow::leave:
          line(indent, fmt::format("if ({} != 0.0) goto left{};", name(s.reg), innermost));
          break;
        case Flow::when:
          line(indent, fmt::format("if ({} != 0.0) {{", name(s.reg)));
          body(s.bodies[0], indent + 2, innermost);
          if (!s.bodies[1].empty()) {
            line(indent, "} else {");
            body(s.bodies[1], indent + 2, innermost);
          }
          line(indent, "}");
          break;
        case Flow::choose:
          line(indent, fmt::format("switch ((int){}) {{", name(s.reg)));
          for (std::size_t k = 0; k < s.bodies.size(); ++k) {
            line(indent + 2, k + 1 < s.bodies.size() ? fmt::format("case {}:", k) : "default:");
            body(s.bodies[k], indent + 4, innermost);
            line(indent + 4, "break;");
          }
          line(indent, "}");
          break;
        case Flow::take:
          for (std::int32_t r : s.registers) line(indent, fmt::format("{} = *from++;", name(r)));
          break;
        case Flow::emit:
          for (std::int32_t r : s.registers) line(indent, fmt::format("*to++ = {};", name(r)));
          break;
        case Flow::reload:
          line(indent, fmt::format("{} = *(volatile double*)(w + {});", name(s.reg), s.reg));
          break;
        case Flow::fail:
          line(indent, fmt::format("if ({} != 0.0) {{ status = {}; goto ended; }}", name(s.reg), s.index));
          break;
      }
  }

  const Procedure& procedure_;
  std::string_view prefix_;
  Repeats repeats_;
  std::string out_;
  int labels_ = 0;
};

}  // namespace

std::vector<char> living_registers(const Procedure& procedure) {
  std::vector<char> living(procedure.program.registers, 0);
  for (const Entry& entry : procedure.entries) {
    const Liveness uses = Liveness::of(procedure, entry);
    for (std::size_t r = 0; r < living.size(); ++r) living[r] = living[r] || uses.exposed[r];
  }
  for (std::int32_t r : procedure.exported) living[r] = 1;
  const Repeats repeats = find_repeats(procedure);
  for (std::size_t r = 0; r < living.size(); ++r) living[r] = living[r] || repeats.in_memory[r];
  return living;
}

std::string c_source(const Procedure& procedure, std::string_view prefix) {
  return Printer(procedure, prefix).text();
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
  Run run{procedure_.program, registers, in, out};
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
