// Functions of the expression language that are written out where they stand: sums of many, and the reference
// frames of three-phase machines.
//
// clang-format off
//   f_q = 2/3 [f_a cos th + f_b cos(th - 120 deg) + f_c cos(th + 120 deg)]
//   f_d = 2/3 [f_a sin th + f_b sin(th - 120 deg) + f_c sin(th + 120 deg)]
//   f_0 = (f_a + f_b + f_c)/3,  f_alpha = (2 f_a - f_b - f_c)/3,  f_beta = (f_b - f_c)/sqrt(3)
//   f_a = f_q cos th + f_d sin th + f_0;  b and c with th - 120 deg and th + 120 deg
// clang-format on
//
// Frames are written in one sine and one cosine of the angle. So everything that knows expressions
// (derivatives, C, LaTeX) knows them, and equal parts of several are computed once.
// (Krause, Analysis of Electric Machinery, chapter 3.)
#pragma once

#include <span>
#include <string_view>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct WrittenFunction {
  std::string_view name;
  int arity;  // -1: one or more
  Expr (*written_out)(Pool& pool, std::span<const Expr> args);
  std::string_view summary;
};

std::span<const WrittenFunction> written_functions();
const WrittenFunction* find_written_function(std::string_view name);

}  // namespace tellegen
