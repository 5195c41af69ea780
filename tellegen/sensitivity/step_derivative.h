// One step of a run, differentiated: the sensitivity graph with the integration formula put in.
//
//   K u = -(A h + B e)        u: the network's unknowns; h: histories; e: directions, one per terminal
//   equation d   =  V u + W h + U e    d: the differentiated variables c   =  P u + Q h + R e    c: columns
//   of the tableau that somebody asks for
//
// The matrices come from each component's differentiated and condensed terminal equations, once for each
// group; what does not change along the run is computed once. Forward, the directions of eight parameters are
// solved for at a time, or of four; back, the same matrices are used transposed. The tangent is that of the
// point reached, not of the last iterate, so the derivative is exact for the step that was taken.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tellegen/equations/linearised.h"
#include "tellegen/equations/slopes.h"
#include "tellegen/numeric/row_program.h"
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
  bool compile(double executions);

  // Before the run: programs for the formula that most of its steps use.
  enum class Way { forward, backward };
  void prepare(double alpha, std::span<const double> held, Way way);
  // The point that a step reached: matrices and directions from here on are those of that step. `point`: the
  // columns of the tableau, the rates, and a zero. False where the equations are singular.
  std::size_t point_size() const {
    return static_cast<std::size_t>(system_.size()) + system_.rates.size() + 1;
  }
  bool at(double alpha, std::span<const double> point, double t, std::span<const double> held);
  // dF/dp, dF/d(discrete variable) and dF/dt there; rows are the tableau's.
  std::span<const DerivativeEntry> by_parameter() const { return by_parameter_; }
  std::span<const DerivativeEntry> by_held() const { return by_held_; }
  std::span<const DerivativeEntry> by_time() const { return by_time_; }

  // In `lanes` or `few_lanes`: histories [rate][lane], filled in by the caller after at(), to values
  // [rate][lane] and columns [column][lane].
  std::span<double> histories(int width);
  void forward(int width, std::span<const LaneEntry> directions, double* values, double* columns);
  // Whether that stays the same map from point to point, as long as formula and discrete variables do.
  bool constant() const;
  // One vector back: sets history, and directions of the rows that have entries of dF/dp or by_held().
  void backward(std::span<const double> values, std::span<const double> columns, std::span<double> history,
                std::span<double> directions);

  // Columns and rates that at() uses, in the numbers of the point.
  std::vector<std::int32_t> used_of_point() const;
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
    std::vector<std::int32_t> gathered;  // inputs
    // Members whose points matter: those with entries of dF/dp and such, or all where the matrices vary.
    std::vector<std::int32_t> members;
    bool few = false;
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
  void place_directions();
  void find_loose();
  void find_members();
  void set_constants(double alpha, std::span<const double> held);
  bool program_serves();
  void build_forward();
  template <int width>
  void forward_in(std::span<const LaneEntry> directions, double* values, double* columns);
  LaneNumbers& lane_work(int width) { return lane_work_[width == lanes]; }
  void build_backward();
  void evaluate(std::span<const Term> terms, std::vector<DerivativeEntry>& entries);

  const EquationSystem& system_;
  EquationSystem linear_;
  Network network_;
  Pool& pool_;
  std::vector<GroupPart> groups_;
  PatternBuilder pattern_;
  std::unique_ptr<SparseLu> lu_;
  // Of a matrix that has settled. Rates and columns with varying entries are left to rows_ ("loose"): the
  // programs hand over or take in the unknowns that these use.
  std::unique_ptr<RowProgram> forward_, backward_;
  double program_alpha_ = 0.0;
  std::vector<double> program_held_;
  bool serves_ = false;  // the programs are those of the present formula and discrete variables
  std::vector<std::int32_t> loose_rates_, loose_columns_, loose_unknowns_;
  std::vector<std::int32_t> varying_places_[count];
  SparseRows rows_[count];
  std::vector<double> k_values_, base_[count], constant_p_;
  bool varies_[count] = {};
  std::vector<DerivativeEntry> by_parameter_, by_held_, by_time_;
  std::vector<Term> parameter_terms_, held_terms_, time_terms_;
  // Inputs of the forward program that directions go to: per unknown's row, rate and column; -1: none does.
  std::vector<std::int32_t> slot_[3];
  std::int32_t inputs_ = 0;
  std::vector<std::int32_t> direction_rows_;
  std::vector<double> right_, unknowns_, columns_work_, held_, back_work_;
  LaneNumbers lane_work_[2];  // in few_lanes, in lanes; zero where directions enter
  double alpha_ = 0.0;
  bool dirty_ = true;  // constant entries have changed
  int steady_ = 0;     // points since the matrix changed
  std::int64_t factorisations_ = 0;
};

}  // namespace tellegen
