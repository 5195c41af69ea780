// A NetworkStep as C by tables: its kernels, loops around them, its matrix and factors
// (runtime/tellegen_network.h).
//
// All numbers stand in one array, as the registers of a procedure do, so a part of StepCode it is like any
// other: counters, what is given from outside, histories. Arrays that the simulator exchanges are copied
// here. Pivots are those that the step has now.
#pragma once

#include "tellegen/program/step_code.h"
#include "tellegen/simulate/network_step.h"

namespace tellegen {

// What stands for the procedure of a part: the text of `static int prepare(double* w)` and
// `static int run(double* w, double** out)`, both 0, or 1 where the equations cannot be solved; what a step
// costs; which of the discrete variables prepare() depends on.
struct StepTables {
  std::string text = {};
  std::int64_t operations = 0, functions = 0;
  bool iterates = false;
  std::vector<char> factor = {};
};

class HasTables {
 public:
  virtual ~HasTables() = default;
  // Of each part of step_code(); `factor` of what comes from outside.
  virtual std::vector<StepTables> step_tables() const = 0;
};

class NetworkCode {
 public:
  NetworkCode(const NetworkStep& step, int fixed_iterations);
  StepCode::Part part(double step) const;
  StepTables tables() const;
  void add_registers(StepCode::Events& events) const;
  // As store() and load() do it.
  std::vector<RegisterCopy> hand_over(const NetworkCode& next) const;
  std::string refused() const;  // empty: there is code

 private:
  using GroupStep = NetworkStep::GroupStep;
  struct Place {
    std::vector<std::int32_t> register_at;  // of each register that is stored, and of uniform inputs; -1
    std::vector<char> uniform;
  };
  std::int32_t room(std::size_t count);
  std::int32_t at(std::size_t group, std::int32_t reg, std::int32_t member = 0) const {
    return places_[group].register_at[reg] + member;
  }
  bool by_rows() const { return step_.solver_ != nullptr; }
  template <class Visit>
  void each_number(Visit visit) const;  // visit(group, register, member)
  template <class Registers>
  std::vector<std::int32_t> all(Registers registers) const;  // of each group's, member by member
  std::vector<double> first_numbers(double step) const;

  std::string text() const;
  std::string groups_text() const;
  std::vector<std::int32_t> recovered(std::int32_t g) const;
  std::string kernel_text(std::size_t g, int section, const std::vector<std::int32_t>& wanted) const;
  std::string matrix_text() const;
  std::string stamps_text(bool constant) const;
  std::string prepare_text() const;
  std::string solve_text() const;
  std::string iterate_text() const;
  std::string reader_text(const NetworkStep::Reader& reader, const std::string& name) const;
  std::string project_text() const;
  std::string run_text() const;
  std::string kernels(int section) const;
  std::string copies(const std::vector<std::pair<std::int32_t, std::int32_t>>& arrays, std::size_t g) const;
  void count(StepTables& tables) const;

  const NetworkStep& step_;
  int fixed_;
  std::int32_t size_ = 0;  // numbers
  StepCounters counters_;
  std::int32_t origin_, length_, renewed_ago_, fixed_at_, scheme_, event_length_, time_;
  std::int32_t work_, base_, values_, right_, scratch_, updates_;
  std::int32_t lower_, upper_, off_, diagonal_, scale_, down_ = 0, up_ = 0, pivot_ = 0;
  SparseLu::Factors factors_;
  std::vector<Place> places_;
};

}  // namespace tellegen
