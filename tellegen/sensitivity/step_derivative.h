// One step of a run, differentiated: the sensitivity graph with the integration formula put in.
//
//   K u = -(A h + B e)        u: the network's unknowns; h: histories; e: directions, one per terminal
//   equation d   =  V u + W h + U e    d: the differentiated variables c   =  P u + Q h + R e    c: columns
//   of the tableau that somebody asks for
//
// The matrices come from each component's differentiated and condensed terminal equations, once for each
// group; what does not change along the run is computed once. Forward, the directions of four parameters are
// solved for at a time; back, the same matrices are used transposed. The tangent is that of the point
// reached, not of the last iterate, so the derivative is exact for the step that was taken.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tellegen/equations/linearised.h"
#include "tellegen/equations/slopes.h"
#include "tellegen/numeric/sparse_rows.h"
#include "tellegen/program/batch.h"
#include "tellegen/simulate/parameter_derivatives.h"

namespace tellegen {

struct LaneEntry {
  std::int32_t row = 0;
  int lane = 0;
  double value = 0.0;
};

class StepDerivative {
 public:
  StepDerivative(const EquationSystem& system, std::span<const int> wrt,
                 std::span<const std::int32_t> columns);
  StepDerivative(const StepDerivative&) = delete;
  bool compile();

  // The point that a step reached: matrices and directions from here on are those of that step. False where
  // its equations are singular.
  bool at(double alpha, std::span<const double> x, std::span<const double> rates, double t,
          std::span<const double> held);
  // dF/dp, dF/d(discrete variable) and dF/dt there; rows are the tableau's.
  std::span<const DerivativeEntry> by_parameter() const { return by_parameter_; }
  std::span<const DerivativeEntry> by_held() const { return by_held_; }
  std::span<const DerivativeEntry> by_time() const { return by_time_; }

  // Four lanes: history [rate][lane] to values [rate][lane]; columns [column][lane] where not null.
  void forward(const double* history, std::span<const LaneEntry> directions, double* values, double* columns);
  // One vector back: adds to history what values and columns contribute, and sets directions (per row).
  void backward(std::span<const double> values, std::span<const double> columns, std::span<double> history,
                std::span<double> directions);

  std::int32_t unknowns() const { return network_.size(); }
  std::int64_t factorisations() const { return factorisations_; }

 private:
  enum Which { k, a, b, v, w, u, p, q, r, count };
  struct Stamp {
    Which matrix;
    std::int32_t reg = 0;
    bool varies = false;
    std::vector<std::pair<std::int32_t, std::int32_t>> at;  // member, place in the matrix
  };
  struct GroupPart {
    Batch batch;
    std::int32_t alpha = 0, time = 0, first_parameter = 0;
    std::vector<Stamp> stamps;
  };
  // An entry of dF/dp: which register of which member, times what.
  struct Term {
    std::int32_t group = 0, reg = 0, member = 0;
    double factor = 1.0;
  };
  void build_group(std::size_t index, std::span<const std::int32_t> columns,
                   std::span<const std::vector<GroupSlope>> slopes);
  void fill(bool varying);
  double* values_of(Which matrix);
  void evaluate(std::span<const Term> terms, std::vector<DerivativeEntry>& entries);

  const EquationSystem& system_;
  EquationSystem linear_;
  Network network_;
  Pool& pool_;
  std::vector<GroupPart> groups_;
  PatternBuilder pattern_;
  std::unique_ptr<SparseLu> lu_;
  std::unique_ptr<LaneSolver> solver_;
  SparseRows rows_[count];
  std::vector<double> k_values_, base_[count], constant_p_;
  bool varies_[count] = {};
  std::vector<DerivativeEntry> by_parameter_, by_held_, by_time_;
  std::vector<Term> parameter_terms_, held_terms_, time_terms_;
  std::vector<double> work_, right_, unknowns_, columns_work_, held_;
  double alpha_ = 0.0;
  bool dirty_ = true;  // constant entries have changed
  int steady_ = 0;     // points since the matrix changed
  std::int64_t factorisations_ = 0;
};

}  // namespace tellegen
