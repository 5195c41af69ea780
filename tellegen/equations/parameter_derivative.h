// Derivatives of a model's values with respect to one of its parameters, at fixed time.
//
// A parameter is a model parameter (`R1`: everything that is written in it follows) or a component's own
// (`r1.R`: only that component is touched, and the defaults of its kind that are written in R).
//
//   d value/d p = sum of (d value/d s) * s_p   over the symbols s of the value
//
// where s_p is known for parameters and inputs, zero for t, and for a variable of the model the variable of
// the sensitivity graph that sensitivity_name() names.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tellegen/model/model.h"

namespace tellegen {

// "c1.v", "R1" -> "c1.v_R1"; "der(c1.v)" -> "der(c1.v_R1)"; "c1.v", "r1.R" -> "c1.v_r1_R"
std::string sensitivity_name(std::string_view variable, std::string_view parameter);

struct ParameterRef {
  std::string name;  // "R1", "r1.R"
  std::string unit;
  double number = 0.0;
  int parameter = -1;              // in Model::parameters, or
  int component = -1, index = -1;  // a component, and one of its kind's parameters
};

// Throws ModelError (T220) where there is no such parameter or its value is not a number: a table, one that
// was left out, one that varies in time.
ParameterRef find_parameter(const Model& model, std::string_view name);

class ParameterDerivative {
 public:
  ParameterDerivative(const Model& model, ParameterRef parameter);
  const ParameterRef& parameter() const { return parameter_; }
  Expr of(Expr value);                          // in the model's full names
  Expr of_component(int component, int index);  // the value of a component's parameter; zero for a table
  Expr of_symbol(Expr symbol);                  // s_p

 private:
  const Model& model_;
  ParameterRef parameter_;
  ExprMap<Expr> known_;   // model parameters, inputs and t
  ExprMap<Expr> values_;  // of model parameters and inputs: what they are written in
  std::map<std::pair<int, int>, Expr> components_;
};

}  // namespace tellegen
