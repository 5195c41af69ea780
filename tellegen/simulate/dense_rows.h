// Many rows inside one step, from few solutions: every output is a polynomial of fourth degree through five
// of them, where it meets two more within what is allowed; else in each half of the step, and in halves of
// halves down to a few rows, which are solved one by one.
//
// What becomes of one output depends on this output alone: asking for others changes no bit of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tellegen/numeric/byte_stream.h"

namespace tellegen {

class DenseRows {
 public:
  // The outputs at theta, from 0 at the begin of the step to 1; false: no solution.
  using Solve = std::function<bool(double theta, double* row)>;
  DenseRows(std::size_t width, double allowed)
      : width_(width), allowed_(allowed), peak_(width), seen_(width), noise_(width) {}

  static bool pays(std::int64_t rows) { return rows >= fewest_; }
  void begin(double end, std::int64_t rows);  // of the next step, or the part of it before theta = end
  bool row(double theta, const Solve& solve, double* row);  // `solve` may write to it meanwhile
  void keep(Checkpoint& parts) { parts(end_, rows_, peak_, seen_); }

 private:
  static constexpr std::int64_t fewest_ = 16;
  using Piece = std::pair<int, std::uint32_t>;  // halved so often, which of these parts
  const std::vector<double>* node(std::uint32_t place, const Solve& solve);
  bool find_noise(const Solve& solve);
  const std::vector<char>* refused(Piece piece, const Solve& solve);

  std::size_t width_;
  double allowed_;  // of an output's largest value
  double end_ = 1.0;
  std::int64_t rows_ = 0;
  std::vector<double> peak_, seen_;  // largest values before this step, and with its rows
  std::vector<double> noise_;        // allowed because of rounding in this step
  std::map<std::uint32_t, std::vector<double>> nodes_;
  std::map<Piece, std::vector<char>> refused_;  // outputs that the polynomial does not meet
  std::vector<std::size_t> left_;
  std::vector<double> solved_, row_;
};

}  // namespace tellegen
