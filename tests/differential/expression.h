// The oracles' own reader and evaluator of expressions: it shares no code with tellegen/symbolic.
//
// An expression is a tree; names are bound while it is read, by a function that the reader is given. It is
// evaluated with numbers of any type: `double`, or `Dual`, a value with its derivatives by columns.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace differential {

struct OracleError : std::runtime_error {  // the oracle cannot say: no verdict
  using std::runtime_error::runtime_error;
};

struct Tree;
using TreePtr = std::shared_ptr<const Tree>;

struct Tree {
  enum class What { number, time, column, rate, discrete, call, table };
  What what = What::number;
  double number = 0.0;
  int index = -1;        // of a column, a rate, a discrete variable
  std::string function;  // of a call: "+", "if", "sin", ...
  std::vector<TreePtr> arguments;
  std::vector<std::pair<double, double>> points;  // of a table
  bool hold = false;                              // of a table: steps instead of lines
};

TreePtr number_tree(double value);
TreePtr leaf(Tree::What what, int index);
TreePtr call_tree(std::string function, std::vector<TreePtr> arguments);

// What a name stands for; "der(x)" is asked for as binding("der x"). Null: unknown, which throws OracleError.
using Binding = std::function<TreePtr(const std::string& name)>;
TreePtr parse_tree(std::string_view text, const Binding& binding);

// "5 mV" as 0.005: number and unit with an optional prefix. Throws OracleError where the unit is not known
// here.
double unit_factor(const std::string& unit);
bool is_quantity(std::string_view text, double& value);

// A value and its derivatives by some columns, in increasing order of the column.
struct Dual {
  double value = 0.0;
  std::vector<std::pair<int, double>> slopes;
  Dual(double v = 0.0) : value(v) {}  // NOLINT: numbers are Duals
};

// A function of one argument; null where there is none of this name.
struct Function {
  double (*value)(double);
  double (*slope)(double);
};
const Function* function_named(const std::string& name);

// How leaves are evaluated, and what comparisons do: a `true` here is the branch an `if` takes.
template <class Number>
struct Leaves {
  virtual ~Leaves() = default;
  virtual Number time() = 0;
  virtual Number column(int index) = 0;
  virtual Number rate(int index) = 0;
  virtual Number discrete(int index) = 0;
  virtual bool positive(const Number& difference, bool or_zero) = 0;  // difference > 0 (>= 0)
  virtual void piece(double) {}  // which piece of a piecewise function is taken: floor, mod, sign, a table
  // A chance to give a function of time its own meaning; false: evaluate as usual.
  virtual bool special(const std::string&, const std::vector<Number>&, Number&) { return false; }
};

double evaluate(const Tree& tree, Leaves<double>& leaves);
Dual evaluate(const Tree& tree, Leaves<Dual>& leaves);

}  // namespace differential
