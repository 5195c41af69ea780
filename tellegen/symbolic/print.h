// Expression to text: as a person writes it (`parse` reads it back), as LaTeX, as C.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tellegen/symbolic/expression.h"

namespace tellegen {

std::string to_text(Expr e);
std::string to_latex(Expr e);

// Numbers with all their digits; always a valid C double expression. `name_of` may name any node
// (a symbol, or a subexpression already assigned); an empty answer prints the node itself.
// Needs runtime/tellegen_math.h. A lookup reads the `tellegen_table` that `table_name` names; without
// one, "table_" and the table's own name.
std::string to_c(Expr e, const std::function<std::string(Expr)>& name_of,
                 const std::function<std::string(const Table&)>& table_name = {});

std::string c_table(const Table& table, const std::string& identifier);  // its definition, file scope
std::string c_identifier(std::string_view name);  // `j1.T'` as j1_T_: what C does not allow becomes _

std::string c_number(double value);     // round-trips, contains '.' or 'e', or INFINITY / NAN
std::string text_number(double value);  // shortest that round-trips

}  // namespace tellegen
