// A step in fixed point as the program of a small processor: one instruction a clock cycle, all words in one
// memory, one multiplier. Slower than units of its own for a step (hardware_schedule.h), and of nearly the
// same size whatever the model is.
//
// An instruction passes six stages: fetched, words read, shifted, added or multiplied, products summed,
// written; so its result can be read by one that starts `micro_latency` cycles later.
#pragma once

#include <cstdint>
#include <vector>

#include "tellegen/deploy/fixed_step.h"

namespace tellegen {

constexpr int micro_latency = 5;

struct MicroInstruction {
  enum class Kind {
    nothing,
    add,
    multiply,
    table,
    offset,  // from the middle of a table's cell
    divide,  // begins; `take` has the result
    root,
    take,
    test,  // for `choose` in the next instruction
    choose,
    larger,
    smaller,
    below,
    at_most,
    both,
    either
  };
  Kind kind = Kind::nothing;
  int a = 0, b = 0;            // words that are read
  int to = -1;                 // word that is written; -1: none
  int left_a = 0, left_b = 0;  // places by which they are shifted; negative: to the right
  bool negative_a = false, negative_b = false, rounded = false;
  int right = 0;   // places by which a product is shifted to the right; a dividend or radicand to the left
  int lookup = 0;  // of MicroProgram::lookups
};
using MicroKind = MicroInstruction::Kind;

// Which entries of which table: see OpKind::table.
struct MicroLookup {
  int table = 0, first = 0;
  bool operator==(const MicroLookup&) const = default;
};

struct MicroProgram {
  std::vector<MicroInstruction> rows;  // the step; from `restart` on: states take their first values
  int restart = 0;
  // Word 0 is 0. Then given values, outputs, states, as FixedStep has them; constants; what lies between.
  std::vector<std::int64_t> words;  // contents before the first step
  int first_given = 1, first_output = 1, first_state = 1;
  std::vector<MicroLookup> lookups;
  int cycles() const { return restart; }
  int instructions = 0;  // of a step, that do something
  bool has(MicroKind kind) const;
};

int bits_for(int largest);  // of a number up to this one

// A shift by a number of places that an instruction gives, 0 for the one that goes furthest to the left.
struct MicroShifter {
  int least = 0, most = 0;  // places to the left
  bool any = false;
  void take(int left);
  int bits() const;  // that say how far
};

// What the processor of a program has to be.
struct MicroShape {
  MicroShifter a, b, product, dividend;
  bool compares = false, divides = false;
  int operand_bits = 0;  // of what is added and compared
  int address_bits = 0, lookup_bits = 0;
  int instruction_bits() const;
};
MicroShape micro_shape(const MicroProgram& program, int bits);

// `start`: raw states.
MicroProgram micro_program(const FixedStep& fixed, const std::vector<std::int64_t>& start);

}  // namespace tellegen
