// What the registers of a run's steps hold, in the model's names and units: a number is followed from the
// model file to the registers that are read from it, and back.
//
// Registers of intermediate results have no names; nor have coefficients of a minimal form, in which numbers
// of the model have come together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct Signature {
  enum class Role { parameter, input, discrete, state, history, rate, time, output };
  struct Register {
    Role role;
    std::string name, unit;  // r1.R, u, s1.on, c1.v, t, an output's; of a rate the unit of its variable
    std::size_t part;        // StepCode::parts
    std::int32_t reg;
    int age = 0;                         // history: so many steps ago
    std::vector<std::string> follows{};  // of a parameter: the model's parameters that it is written in
  };
  std::vector<Register> registers;
  // All that has this name, and the numbers that follow from the model's parameter of this name.
  std::vector<Register> of(std::string_view name) const;
  std::vector<Register> at(std::size_t part, std::int32_t reg) const;
};

std::string_view role_name(Signature::Role role);

// A number in the parameters of the model; empty where it is none of the user's.
Expr number_formula(const EquationSystem& system, const StepCode::Number& number);

// Of a run by equal steps; without registers where its integrator has no code of a step.
Signature signature_of(const Simulation& simulation);
Signature signature_of(const Simulation& simulation, const StepCode& code);

}  // namespace tellegen
