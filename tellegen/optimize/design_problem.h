// A model's [design] as a problem of optimisation: variables between 0 and 1 over their bounds, one goal, and
// constraints that are to be at most 0. What it answers at a point is kept, for an optimiser asks for the
// goal and for each constraint by itself, and one run answers all.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tellegen/sensitivity/study.h"

namespace tellegen {

// All numbers of one design. SI, but for what is said to be scaled.
struct DesignPoint {
  std::vector<double> numbers;      // per variable
  std::vector<double> objectives;   // per goal
  double goal = 0.0;                // sum of weight * objective
  std::vector<double> constraints;  // at most 0
  std::string failure;              // empty: it could be computed
};

// The smallest and the largest value of a goal over the corners of the bounds.
struct GoalRange {
  double low, high;
};

class DesignProblem {
 public:
  // Throws ModelError (T148) where the model has no [design]; T145 where a bound is out of what a component
  // can be.
  DesignProblem(const Model& model, const StudyOptions& options);

  std::size_t variable_count() const { return lower_.size(); }
  std::size_t constraint_count() const { return constraint_count_; }
  std::size_t goal_count() const { return weights_.size(); }
  const Study& study() const { return study_; }
  const ModelDesign& design() const { return *study_.model().design; }
  double lower(std::size_t k) const { return lower_[k]; }
  double upper(std::size_t k) const { return upper_[k]; }
  const std::vector<double>& weights() const { return weights_; }
  void set_weights(std::vector<double> weights);
  int evaluations() const { return evaluations_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  std::vector<double> start() const;  // the model's own numbers, scaled, moved into the bounds
  std::vector<double> numbers(std::span<const double> x) const;

  // At a scaled point. Gradients are with respect to the scaled variables.
  const DesignPoint& at(std::span<const double> x) { return answer(x, false).point; }
  const DesignPoint& at_with_gradient(std::span<const double> x) { return answer(x, true).point; }
  std::span<const double> goal_gradient(std::span<const double> x) { return answer(x, true).goal_gradient; }
  std::span<const double> constraint_gradient(std::span<const double> x, std::size_t constraint);

  // What is large for the goal and for a constraint: its steepest slope at the start, per scaled variable.
  double goal_scale();
  double constraint_scale(std::size_t constraint);
  // The constraint that is broken worst, in those scales, and by how much (0 or less: none is).
  struct Violation {
    std::size_t constraint;
    double amount;
  };
  Violation worst_violation(const DesignPoint& point);

  // One for each goal. Corners whose run fails are left out and told in warnings(). Throws ModelError (T148)
  // where there are too many corners.
  std::vector<GoalRange> ranges();

 private:
  struct Answer {
    std::vector<double> x;
    DesignPoint point;
    bool has_gradient = false;
    std::vector<double> objective_gradient;  // [goal][variable]
    std::vector<double> goal_gradient;
    std::vector<double> constraint_gradient;  // [constraint][variable]
  };
  const Answer& answer(std::span<const double> x, bool gradient);
  void weigh(Answer& answer) const;
  void warn(const std::string& text);

  Study study_;
  std::size_t constraint_count_;
  std::vector<double> lower_, upper_, weights_;
  std::vector<double> constraint_scales_;  // empty: not asked for yet
  std::vector<Answer> kept_;               // the latest ones
  std::size_t next_ = 0;
  int evaluations_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace tellegen
