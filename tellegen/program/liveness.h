// Which registers of a procedure an entry reads before it has surely written them, and which it writes.
#pragma once

#include <cstdint>
#include <vector>

#include "tellegen/program/procedure.h"

namespace tellegen {

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

}  // namespace tellegen
