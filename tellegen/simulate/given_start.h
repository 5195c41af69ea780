// What a model says about its start: values of differentiated variables and of nodes, conditions in their
// place.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tellegen/equations/storage.h"
#include "tellegen/simulate/parameter_derivatives.h"

namespace tellegen {

struct GivenStart {
  enum class What : char { nothing, value, steady, condition } what = What::nothing;
  double value = 0.0;
  bool by_user = false;  // not merely a kind's default
  Expr formula;          // of the value, in the model's parameters
  int condition = -1;    // in the list of conditions
};

// What holds at the start in place of a value: an equation of columns, rates and parameters.
struct StartCondition {
  Expr residual;                             // in columns, rates and numbers
  std::vector<std::pair<int, Expr>> slopes;  // by column, or by n + rate
  Expr with_parameters;                      // the same with the model's parameters as symbols
  std::string text;
  Place place;
  bool such_that = false;  // for one variable, whose value is known roughly
};

// A node whose potential the user gave.
struct ForcedNode {
  std::int32_t column = 0;
  double value = 0.0;
  Expr formula;  // of the value, in parameters
  std::string name;
  Place place;
};

// What is said about every differentiated variable: by the component's parameters, or by [initial].
std::vector<GivenStart> given_values(const EquationSystem& system);

// d(given value)/dp of every differentiated variable.
std::vector<Slopes> given_slopes(const EquationSystem& system, std::span<const int> wrt);

std::vector<ForcedNode> forced_nodes(const EquationSystem& system);

// What [initial] says in equations: { such_that = ... }, and the [steady] of a component's kind. Variables
// whose values they replace are marked. Throws ModelError (T320) where a condition is for no state.
std::vector<StartCondition> given_conditions(const EquationSystem& system, const Storage& storage,
                                             std::vector<GivenStart>& given);

Expr rate_symbol(Pool& pool, std::int32_t rate);  // of a rate in a condition

}  // namespace tellegen
