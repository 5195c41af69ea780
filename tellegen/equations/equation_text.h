// Symbolic equations for people and for compilers: text, LaTeX, C99.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tellegen/equations/branch_chord.h"

namespace tellegen {

// What is printed: residuals with their common subexpressions named, and what each symbol is.
struct EquationPage {
  std::string model, form;
  std::vector<Expr> unknowns;
  NamedExpressions equations;
  std::vector<std::pair<Expr, Expr>> solved;
  std::vector<Expr> parameters;
  std::vector<double> numbers;  // of the parameters
  std::vector<Expr> held;
};
EquationPage page_of(const SymbolicModel& model, const SymbolicEquations& equations, std::string form);

// The minimal form: one equation for each state, with numbers as coefficients. Throws what minimal_form()
// does.
EquationPage minimal_page(const Model& model);

// Unknowns and their rates to the left, the rest to the right: "L*der(l1.i) + R1*l1.i = V0".
struct EquationSides {
  Expr left, right;
};
std::vector<EquationSides> sides(const EquationPage& page);

std::string equations_as_text(const EquationPage& page);
std::string equations_as_latex(const EquationPage& page);  // an align* environment

// A self-contained file with one function of the residuals; `runtime` is the text of runtime/tellegen_math.h.
std::string equations_as_c(const EquationPage& page, std::string_view runtime);

}  // namespace tellegen
