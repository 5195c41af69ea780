// The oracles' own reading of a model file: the equations of the tableau, from the text of the kinds.
//
//   columns   across variables of nodes (datum left out), through variables of edges, internal variables
//   rows      one balance of through variables per node, then the terminal equations of each component
//
// Slow, dense, plain. Kinds are read from the library's files, or from `textbook.toml` beside this file,
// where the relations of linear components are written down a second time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/differential/expression.h"

namespace differential {

struct Tableau {
  struct Discrete {
    std::string name;
    TreePtr update;
    double start = 0.0, every = 0.0;
  };
  struct Given {  // an initial value
    TreePtr variable;
    double value = 0.0;
    std::string name;
    bool by_default = false;  // the model does not give it, the kind does
  };
  std::vector<std::string> columns;
  std::vector<TreePtr> residuals;
  std::vector<Discrete> discrete;
  std::vector<Given> initial;
  std::map<std::string, double> parameters;
  std::function<TreePtr(const std::string& text)> parse;  // an expression in the model's names
  int size() const { return static_cast<int>(columns.size()); }
};

// `textbook`: kinds from textbook.toml instead of the library. Throws OracleError for what the oracle does
// not know.
Tableau read_tableau(const std::string& model, bool textbook);

}  // namespace differential
