// --require of a sweep: what a sample must meet, a condition on its results, what varies and the model's
// parameters, all in SI: "torque >= 0.98*T_ref".
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/sweep/evaluate.h"
#include "tellegen/sweep/samples.h"

namespace tellegen {

class SweepRequirement {
 public:
  // Throws ModelError: T588 where the text cannot be read, or names what a sample does not have.
  SweepRequirement(std::string text, const Model& model, const std::vector<Axis>& axes,
                   const std::vector<ResultColumn>& columns);

  const std::string& text() const { return text_; }
  // In the units of axes and columns. A result that is missing meets nothing.
  bool met(std::span<const double> sample, std::span<const double> results) const;

 private:
  struct Name {
    Expr symbol;
    std::string unit;
    bool result;
    std::size_t at;
  };
  std::string text_;
  std::unique_ptr<Pool> pool_;
  Expr condition_;
  std::vector<Name> names_;
  ExprMap<double> constants_;
};

}  // namespace tellegen
