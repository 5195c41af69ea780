// A study: objectives of a model as functions of some of its parameters.
//
//   Study study(model, {"E_loss", "T_lockup"}, {"R_p", "r1.R"}, options);
//   StudyResult at = study.evaluate(study.nominal());   // values, and d value/d parameter
//
// Each run that the objectives need (the model as it stands, and [runs]) is made once: integrals become
// states, conditions become events (model/observers.h), and the run's numbers are expressions of the model's
// parameters, so that derivatives flow through them. Formulas of objectives are combined by their symbolic
// derivatives:
//
//   d f/d p = sum over objectives df/dE dE/dp + sum over parameters df/dq dq/dp
//
// Derivatives come from the equations (run.h). Finite differences are there to compare with: central, with a
// step relative to the size of the parameter; one-sided where only one side can be had. They cost two runs
// for each parameter and lose half the digits.
//
// The end of a run that ends at an event moves with the parameters; `fixed_end_time` leaves that part out, as
// [Banerjee 2013] does in table 3.6.
//
// [Banerjee 2013] Graph-Theoretic Sensitivity Analysis of Dynamic Systems, sections 3.3.4 and 3.4.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/sensitivity/run.h"

namespace tellegen {

struct StudyOptions {
  enum class Method { automatic, forward, adjoint, finite_difference };
  SimulationOptions simulation = as_the_model_says();  // over [simulation]
  Method method = Method::automatic;
  bool fixed_end_time = false;
  double difference_step = 1e-4;  // relative to the parameter, or to one of its unit where it is 0
};

struct StudyResult {
  std::vector<double> values;    // per objective, SI; NaN: its event did not happen
  std::vector<double> gradient;  // [objective][parameter], SI; empty where only values were asked for
  std::vector<std::string> warnings;
  std::string failure;  // empty: all runs finished
  std::string method;   // in words
  struct Run {
    std::string name;  // empty: the model as it stands
    double end_time;
  };
  std::vector<Run> runs;
};

class Study {
 public:
  // Throws ModelError where an objective (T141) or a parameter (T140) does not exist.
  Study(Model model, const std::vector<std::string>& objectives, const std::vector<std::string>& parameters,
        StudyOptions options);

  // At other numbers of the parameters, SI. Wrong numbers (T124) throw ModelError; what goes wrong in a run
  // is told in `failure`.
  StudyResult values(std::span<const double> numbers);
  StudyResult evaluate(std::span<const double> numbers);

  const Model& model() const { return model_; }
  std::vector<double> nominal() const { return nominal_; }
  std::size_t objective_count() const { return objectives_.size(); }
  std::size_t parameter_count() const { return parameters_.size(); }
  const ModelObjective& objective(std::size_t k) const { return model_.objectives[objectives_[k]]; }
  const ModelParameter& parameter(std::size_t k) const { return model_.parameters[parameters_[k]]; }
  int evaluations() const { return evaluations_; }  // runs so far

 private:
  struct PreparedRun {
    Model model;
    int run = -1;
    std::vector<int> objectives;  // what is observed, by index into model_.objectives
    std::vector<Observed> observed;
    std::vector<int> wrt;
    std::string stop_watch;
    bool own_stop = false, has_events = false;
  };
  struct Total {
    double value;
    std::vector<double> gradient;
  };
  void need(int objective);
  PreparedRun prepare(int run) const;
  void set_numbers(std::span<const double> numbers);
  StudyResult at(std::span<const double> numbers, bool gradient);
  RunDerivatives once(PreparedRun& run, std::span<const double> numbers, bool gradient,
                      std::optional<double> held_end);
  RunDerivatives by_differences(PreparedRun& run, std::span<const double> numbers);
  StudyResult combine(const std::vector<RunDerivatives>& answers, bool gradient);

  Model model_;
  StudyOptions options_;
  std::vector<int> objectives_, parameters_;
  std::vector<double> nominal_, scales_;
  std::vector<char> needed_;  // per objective of the model
  std::vector<PreparedRun> runs_;
  int evaluations_ = 0;
};

// The index of an objective by name; throws ModelError (T141) with the nearest.
int find_objective(const Model& model, const std::string& name);

}  // namespace tellegen
