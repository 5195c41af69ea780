// A sparse linear map computed row by row: a row combines inputs and earlier rows; some rows are results.
//
//   program.begin_row(); program.add(variable, factor); ...   row of a triangular solve, of a product, ...
//   program.begin_result(target, at); ...                     goes to targets[target][at], used by nothing
//   program.finish(); program.run<width>(work, targets);
//
// finish() puts a row into those that use it where that saves entries: the node between two components in
// series, the variable that is another one. What is left is taken level by level (a level needs only earlier
// ones), in runs of equally many entries, as RowSolver does. Vectors come side by side in lanes of `width`.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tellegen/numeric/sparse_lu.h"

namespace tellegen {

class RowProgram {
 public:
  explicit RowProgram(std::int32_t inputs) : inputs_(inputs) {}

  // Variables are numbered: inputs, then rows as they begin.
  std::int32_t begin_row();
  void begin_result(int target, std::int32_t at);
  void add(std::int32_t variable, double factor);  // to the row begun last, each once
  void finish();

  // work: lanes of all inputs, filled in by the caller, then room for the rows.
  std::size_t work_size(int width) const { return static_cast<std::size_t>(width) * variables_; }
  std::size_t entries() const { return index_.size(); }  // multiplications of a run
  std::int32_t levels() const { return levels_; }
  template <int width>
  void run(double* work, double* const* targets) const;

 private:
  struct Row {
    std::vector<std::pair<std::int32_t, double>> entries;
    std::int32_t at = 0;
    int target = -1;  // -1: an intermediate row
    bool gone = false;
  };
  struct Run {
    std::int32_t rows = 0, entries = 0;  // entries of each row
    int target = -1;
  };
  void simplify();

  std::int32_t inputs_;
  std::vector<Row> rows_;
  // Finished: rows in the order they are taken.
  std::vector<Run> runs_;
  std::vector<std::uint32_t> index_;  // variables
  std::vector<double> value_;
  std::vector<std::int32_t> at_;  // of results
  std::int32_t variables_ = 0;
  std::int32_t levels_ = 0;
};

// The rows of a solution with a matrix's factors. right(row) adds the right-hand side of an original row to
// the row just begun. Returns the variable of each unknown.
using RightSide = std::function<void(std::int32_t)>;
std::vector<std::int32_t> add_solution(RowProgram& program, const SparseLu::Factors& f,
                                       const RightSide& right);
// With the transposed matrix: right(column), and the variable of each row.
std::vector<std::int32_t> add_transposed_solution(RowProgram& program, const SparseLu::Factors& f,
                                                  const RightSide& right);

}  // namespace tellegen
