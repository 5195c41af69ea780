// An exported estimator in single precision, row by row, exactly as its NAME.c takes them.
#pragma once

#include <vector>

#include "tellegen/estimate/filter_program.h"
#include "tellegen/program/single.h"

namespace tellegen {

// What NAME_filter.c and NAME_quantities.c are printed from, and their tables.
struct SingleFilterCode {
  const Procedure& filter;
  Reals filter_reals;
  FilterProgram::Places at;
  const Procedure& quantities;
  Reals quantity_reals;
  std::size_t states = 0;
  double step = 0.0;
  const std::vector<double>& numbers;             // that quantities take
  const std::vector<std::int32_t>&column, &last;  // of slopes: the state; of quantities: the end of theirs
  std::vector<char> held;                         // of inputs
};

class SingleFilter {
 public:
  // Before the first row. `registers` and `inputs` are rounded.
  SingleFilter(const SingleFilterCode& code, const std::vector<double>& registers,
               const std::vector<double>& inputs);
  // False where the filter has no finite states any more.
  bool step(const std::vector<double>& readings, const std::vector<double>& inputs);
  // Of each quantity its estimate and its standard deviation, one after the other.
  std::vector<double> estimates() const;

 private:
  void run(const char* entry);

  const SingleFilterCode& code_;
  std::vector<double> w_;  // registers of the filter: floats but for those that are precise
  std::vector<float> u_;
  long row_ = 0;
};

}  // namespace tellegen
