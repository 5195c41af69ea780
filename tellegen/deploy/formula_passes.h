// What make_formulas() does to sums, products and functions, one after the other.
#pragma once

#include "tellegen/deploy/step_formulas.h"

namespace tellegen {

void share_pairs(StepFormulas& formulas);    // pairs of terms in the same ratio, in several sums
void sort_formulas(StepFormulas& formulas);  // operands first, and only what is needed
void find_angles(StepFormulas& formulas);    // arguments of sine and cosine in turns
void choose_scales(StepFormulas& formulas);

// 1 <= m < 2 with value = +-m 2^e; a factor is free where m is 1.
double mantissa(double value);
bool is_power_of_two(double value);

template <class Fn>
void for_each_node_operand(const FormulaNode& node, Fn fn) {
  for (const FormulaTerm& t : node.terms) fn(t.node);
  for (const int operand : {node.a, node.b, node.c})
    if (operand >= 0) fn(operand);
}

}  // namespace tellegen
