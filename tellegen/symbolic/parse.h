// Text to expression. Usual precedence: or, and, not, comparison, + -, * /, unary -, ^ (to the right).
// Names may contain dots and end in primes: `j1.T`, `cell_2.r.i`. `if(c, a, b)` chooses; comparisons
// are 1 or 0. `der(x)` of a name is the symbol "der(x)". A call of a name in `tables` is a lookup,
// f'(x) its slope. `pi` is the number. Nesting is bounded, so no text exhausts the stack.
//
// Names may have indices: `cell[3].T`. An argument of sum, mean, min or max that has `cell[*].T` in it stands
// for as many arguments as there are elements; `elements` gives their names.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

struct ParseError : std::runtime_error {
  ParseError(const std::string& message, std::size_t column) : std::runtime_error(message), column(column) {}
  std::size_t column;  // of the offending character, from 0
};

using ElementNames = std::function<std::vector<std::string>(std::string_view name)>;

Expr parse(Pool& pool, std::string_view text, const TableMap& tables = {}, const ElementNames& elements = {});

// "left = right" as two expressions; throws ParseError where there is not exactly one `=`.
struct ParsedEquation {
  Expr left, right;
};
ParsedEquation parse_equation(Pool& pool, std::string_view text, const TableMap& tables = {});

}  // namespace tellegen
