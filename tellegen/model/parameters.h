// Numbers of a model that are studied: differentiated, swept, optimised, calibrated.
//
// All of them are model parameters. A number that stands in a component (`r1.R`) becomes one, of that name,
// when it is first asked for; from then on nothing distinguishes the two.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/symbolic/evaluator.h"
#include "tellegen/symbolic/row_list.h"

namespace tellegen {

// The index of a parameter by its name, `R1` or `r1.R`. Throws ModelError (T140) where there is none or where
// it is no number of its own; the nearest names are suggested.
int study_parameter(Model& model, std::string_view name, const Place& place = {});

// Names study_parameter() knows: the model's parameters that are plain numbers; with `all` those that follow
// from others, and every number that stands in a component.
std::vector<std::string> parameter_names(const Model& model, bool all);

// The table of that name whose values are parameters; null where there is none.
ParameterTable* find_parameter_table(Model& model, std::string_view name);

// Where a parameter stands in Model::unknowns; one about which [unknowns] says nothing becomes one of them.
int unknown_of(Model& model, int parameter);

// Gives parameters new numbers and evaluates anew all that depends on them. Throws ModelError (T124, T125)
// where a component's bound is broken; the model is then as before.
void set_parameters(Model& model, std::span<const int> parameters, std::span<const double> values);

// All numbers of a model, in many lanes.
struct NumberRows {
  std::vector<RowValue> parameters;
  std::vector<std::vector<RowValue>> components;  // as Component::values
};

// The same for the same parameters again and again: what depends on them is looked up once, and nothing is
// allocated. The model must outlive it; its formulas stay as they were, so nobody else sets its parameters.
class ParameterSetter {
 public:
  ParameterSetter(Model& model, std::vector<int> parameters);
  void set(std::span<const double> values);  // with the bits of set_parameters(), and its faults
  // The same as operations of a list, from the parameters' values to all numbers; a requirement stands for a
  // fault. Not where the end of the run follows from them.
  NumberRows write(RowList& list, std::span<const RowValue> values) const;

 private:
  // What follows from the parameters: another one (component -1), or a number of a component.
  struct Follower {
    int component, index;
    Evaluator formula;
    Expr written;
  };
  struct Requirement {
    int component;
    Evaluator condition;  // in all numbers of the component
    Expr written;
  };
  bool fits(const Follower& follower, double value) const;

  Model& model_;
  const std::vector<int> parameters_;
  std::vector<Follower> followers_;  // after those they follow from
  std::vector<Requirement> requirements_;
  Evaluator stop_;
  std::vector<double> numbers_, own_, old_;
};

// d(parameter)/d(each of the parameters asked for), where not zero: by index into `wrt`.
using Slopes = std::map<int, double>;
class ParameterSlopes {
 public:
  ParameterSlopes(const Model& model, std::span<const int> wrt);
  Slopes of(Expr value) const;  // of an expression of parameters alone
  const Slopes& of_parameter(int parameter) const { return slopes_[parameter]; }

 private:
  ExprMap<int> index_;
  ExprMap<double> numbers_;
  std::vector<Slopes> slopes_;
};

}  // namespace tellegen
