// The elementary functions: name, arity, value, derivative, C text and LaTeX text, one row each.
//
// This table is the only place that knows a function. The parser, the differentiator, the interpreter
// and every exporter read it; to add a function, add a row in functions.cpp.
#pragma once

#include <span>
#include <string_view>

namespace tellegen {

class Expr;

struct Function {
  std::string_view name;
  int arity;  // -1: two or more, nested in pairs (min, max)
  double (*value)(const double* args, int count);
  Expr (*derivative)(Expr call, int argument);  // empty Expr: zero almost everywhere
  std::string_view c;                           // "$1" is the first argument: "sin($1)"
  std::string_view latex;                       // likewise
  std::string_view summary;
  std::string_view infix = {};  // as text: "<" of lt, `a < b`; empty: name(a, b)
};

std::span<const Function> functions();
const Function* find_function(std::string_view name);

// base^exponent as the generated C computes it: products for 2 and 3, a square root for 0.5, otherwise
// pow; for a negative exponent the reciprocal of these.
double power_value(double base, double exponent);

}  // namespace tellegen
