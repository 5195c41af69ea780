// One step of a network of any size: kernels per group over structure of arrays, a sparse solve between.
//
//   step      histories and sources of every component          (section 1)
//   iterate   companion forms that depend on the iterate         (section 2, nonlinear groups only)
//   solve     constant tangent: RowSolver, or KLU where there are events; otherwise KLU refactors and solves
//   update    new iterates, size of the change                   (section 3, nonlinear groups only)
//   finish    new values of the differentiated variables         (section 4)
//   recover   condensed variables, for outputs at samples only   (section 5)
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tellegen/equations/network.h"
#include "tellegen/equations/storage.h"
#include "tellegen/numeric/row_solver.h"
#include "tellegen/numeric/sparse_lu.h"
#include "tellegen/program/batch.h"
#include "tellegen/simulate/scheme.h"
#include "tellegen/simulate/step_state.h"

namespace tellegen {

class NetworkStep {
 public:
  NetworkStep(const Network& network, const Storage& storage, const Scheme& scheme,
              std::span<const Expr> outputs, const StepState& state, const StepOptions& options);
  // Where it takes the compiler less than interpreting: so many seconds, so many steps.
  bool compile(double interpreting) { return use(source(), interpreting); }
  bool compile_for(double steps);

  struct Result {
    bool converged = true;
    std::int64_t iterations = 0, factorisations = 0;
  };
  Result step(double t, int fixed_iterations, int max_iterations);
  void outputs(double t, double* row, bool followed = true);  // after a step; without followed ones, or all
  // With StepOptions::events only:
  void set_scheme(const Scheme& scheme);         // from the next step on
  void hold(std::span<const double> held);       // discrete variables from the next step on
  void updates(double t, std::span<double> to);  // what they should become, after a step
  void load(const StepState& state);
  void store(StepState& state);
  // For whoever keeps values and formula (implicit_stage.h): the one past value of each differentiated
  // variable is its history. Iterates come first, then the limited arguments of exponentials.
  void set_histories(std::span<const double> histories);
  void values(std::span<double> values) const;
  std::size_t iterate_count() const;
  void iterates(std::span<double> values) const;
  void set_iterates(std::span<const double> values);
  std::string largest_change() const;    // after a step that did not converge ...
  std::string singular_message() const;  // ... unless its equations are singular; empty: they are not
  void keep(Checkpoint& parts);
  // Steps in between leave no trace in those to come: pivots are as before.
  void begin_aside();
  void end_aside();
  // With StepOptions::record only, after a step: the columns of the tableau that are wanted, and the rates,
  // all or some, as the formula has them (before any projection).
  void want_columns(std::span<const std::int32_t> columns);
  bool knows_columns() const { return knows_columns_; }
  void columns(std::span<double> x);
  void formula_rates(std::span<double> rates);
  void formula_rates(std::span<const std::int32_t> some, std::span<double> rates);

  std::int64_t pivot_choices() const { return lu_->choices(); }

 private:
  friend class NetworkCode;
  static constexpr int sections = 6, recovery = 5;  // of a group's program
  std::string source() const;                       // empty: not for a compiler
  bool use(std::string_view source, double interpreting);
  struct GroupStep {
    Batch batch;
    std::vector<std::vector<std::int32_t>> past;         // [rated][age]: input registers
    std::vector<std::int32_t> rate, iterates, previous;  // input registers
    std::vector<std::int32_t> new_value, new_rate, new_iterate, new_limited, change;  // roots' registers
    std::vector<char> settled;  // per iterate: computed before the iteration, so its array must stay in place
    std::vector<std::int32_t> symbol_register, node_register;            // recovered
    std::int32_t time = 0, alpha = 0, past_factor = 0, rate_factor = 0;  // input registers
    // Entries of the matrix: root register and where it goes for each member.
    struct Stamp {
      std::int32_t reg = 0;
      bool constant = true;
      double factor = 1.0;
      std::vector<std::int32_t> position;
    };
    std::vector<Stamp> stamps;
  };
  template <class Visit>
  void each_iterate(Visit visit);
  void build_group(std::size_t g, PatternBuilder& pattern);
  void place(const StepState& state);
  void set_order();
  void prepare();
  void solve();
  bool assemble_and_factor();
  double largest_change_size() const;
  void project(double t);
  void move_on();

  const Network& network_;
  const EquationSystem& system_;
  const Storage& storage_;
  Scheme scheme_;
  StepOptions options_;
  Pool& pool_;
  std::vector<GroupStep> groups_;
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>>
      source_arrays_;                                           // per group: register, first source
  std::vector<std::int32_t> first_parameter_, first_terminal_;  // per group: input registers
  std::vector<RowSource> sources_;
  std::int32_t source_count_ = 0;
  std::unique_ptr<SparseLu> lu_;
  std::vector<double> pivots_aside_;
  std::int64_t choices_aside_ = -1;
  std::unique_ptr<RowSolver> solver_;  // with events the factors change, and KLU solves
  bool constant_tangent_ = true, pending_ = false, prepared_ = false, singular_ = false;
  bool iterate_drives_ = false;  // right-hand sides depend on the iterate
  std::vector<double> work_;     // unknowns (in the order of position_), sources, a zero for the datum
  std::vector<std::int32_t> position_;
  std::vector<double> base_, values_, right_;
  // Expressions of columns after a step: which columns they need and how to get them.
  struct Needed {
    std::int32_t unknown = -1, group = -1, member = -1, reg = -1;
  };
  struct Reader {
    std::vector<Needed> needed;
    Program program;
    std::vector<double> registers;
  };
  Reader make_reader(std::span<const Expr> expressions) const;
  void read(Reader& reader, double t, double* values);
  Reader outputs_, followed_, updates_;
  // Columns that are wanted: of unknowns, and recovered inside members of a group.
  struct Recovered {
    std::size_t group = 0;
    std::vector<std::int32_t> members;  // to recover one by one; empty: all of them at once
    struct At {
      std::int32_t reg, member, column;
    };
    std::vector<At> at;
  };
  bool knows_columns_ = false;
  std::vector<std::pair<std::int32_t, std::int32_t>> unknown_columns_;  // unknown, column
  std::vector<Recovered> recovered_;
  std::vector<double> member_registers_;
  // Rates of sources that redundant storage follows.
  std::vector<Program> source_rates_;
  std::vector<double> rate_registers_;
};

}  // namespace tellegen
