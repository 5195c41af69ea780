// A procedure in single precision: which of its registers are float, and its instructions in them. C that is
// printed so and run_single() agree to the last bit: sums, products, quotients and roots of float are those
// of double, rounded.
//
// Time is not float: after some hours of milliseconds it would stand still. What counts steps, and what sums
// and products make of it and of numbers that nothing changes, stays double ("precise"): time, and angles
// that grow with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/program/procedure.h"

namespace tellegen {

struct Reals {
  std::vector<char> precise;  // of each register: double, the others are float
  std::vector<int> slot;      // of a precise one: its place among them, otherwise -1
  int slots = 0;
};

// `clock`: registers that count steps, or hold the time.
Reals single_precision(const Procedure& procedure, std::span<const std::int32_t> clock);

// Rounded to float, into the range of its normal numbers: what is tiny stays above zero, what is huge finite.
float single_number(double value);
std::string c_single_number(double value);

// As interpret() and c_instruction(), and as ProcedureCode and c_source() run and print a procedure. An entry
// is `int <prefix><name>(float* w, double* p, const float** in, float** out)`, where p has the precise
// registers.
void interpret_single(const Program& program, const Reals& reals, int section, double* registers);
int run_single(const Procedure& procedure, const Reals& reals, std::size_t entry, double* registers,
               const double** in, double** out);
std::string c_single_instruction(const Program& program, const Reals& reals, const Instruction& instruction);
std::string c_single_source(const Procedure& procedure, const Reals& reals, std::string_view prefix);

// "$1" and so on replaced: c_code.cpp.
std::string fill_template(std::string_view c, const std::string (&arguments)[3]);

}  // namespace tellegen
