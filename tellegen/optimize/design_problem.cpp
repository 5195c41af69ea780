#include "tellegen/optimize/design_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "tellegen/model/parameters.h"

namespace tellegen {
namespace {

constexpr std::size_t most_kept = 16;
constexpr std::size_t most_corner_variables = 12;

const ModelDesign& design_of(const Model& model) {
  if (model.design) return *model.design;
  throw ModelError({{model.file.string(), 0},
                    "T148",
                    "the model has no [design]",
                    {"it says what may be changed and what for: variables = { R = [\"1 ohm\", \"9 ohm\"] }, "
                     "minimize = \"E_loss\""}});
}

// Constraints are objectives of their own, so that one study answers everything.
std::string constraint_name(std::size_t k) { return fmt::format("constraint {}", k + 1); }

Study study_of(Model model, const StudyOptions& options) {
  const ModelDesign design = design_of(model);
  std::vector<std::string> objectives, parameters;
  for (const ModelDesign::Goal& goal : design.goals)
    objectives.push_back(model.objectives[goal.objective].name);
  for (std::size_t k = 0; k < design.constraints.size(); ++k) {
    objectives.push_back(constraint_name(k));
    model.objectives.push_back({ModelObjective::What::formula, constraint_name(k), "",
                                design.constraints[k].value, -1, design.constraints[k].place});
  }
  for (const ModelDesign::Variable& v : design.variables)
    parameters.push_back(model.parameters[v.parameter].name);
  return Study(std::move(model), objectives, parameters, options);
}

void check_bounds(Model model) {
  const ModelDesign design = *model.design;
  for (const ModelDesign::Variable& v : design.variables)
    for (const double bound : {v.lower, v.upper}) {
      Model tried = model;
      try {
        set_parameters(tried, std::span(&v.parameter, 1), std::span(&bound, 1));
      } catch (const ModelError& error) {
        throw ModelError({v.place,
                          "T145",
                          fmt::format("a bound of '{}' of [{}] cannot be reached",
                                      model.parameters[v.parameter].name, design.section),
                          {error.faults().front().message}});
      }
    }
}

}  // namespace

DesignProblem::DesignProblem(const Model& model, const StudyOptions& options)
    : study_(study_of(model, options)), constraint_count_(design_of(model).constraints.size()) {
  check_bounds(model);
  for (const ModelDesign::Variable& v : design().variables) {
    lower_.push_back(v.lower);
    upper_.push_back(v.upper);
  }
  for (const ModelDesign::Goal& goal : design().goals) weights_.push_back(goal.weight);
  kept_.reserve(most_kept);  // what is referred to stays where it is
}

void DesignProblem::set_weights(std::vector<double> weights) {
  weights_ = std::move(weights);
  for (Answer& answer : kept_) weigh(answer);
}

std::vector<double> DesignProblem::start() const {
  std::vector<double> x = study_.nominal();
  for (std::size_t k = 0; k < x.size(); ++k)
    x[k] = std::clamp((x[k] - lower_[k]) / (upper_[k] - lower_[k]), 0.0, 1.0);
  return x;
}

std::vector<double> DesignProblem::numbers(std::span<const double> x) const {
  std::vector<double> numbers;
  for (std::size_t k = 0; k < x.size(); ++k)
    numbers.push_back(x[k] <= 0.0   ? lower_[k]
                      : x[k] >= 1.0 ? upper_[k]
                                    : lower_[k] + x[k] * (upper_[k] - lower_[k]));
  return numbers;
}

std::span<const double> DesignProblem::constraint_gradient(std::span<const double> x,
                                                           std::size_t constraint) {
  const Answer& there = answer(x, true);
  return std::span(there.constraint_gradient).subspan(constraint * variable_count(), variable_count());
}

void DesignProblem::weigh(Answer& answer) const {
  answer.point.goal = 0.0;
  answer.goal_gradient.assign(variable_count(), 0.0);
  for (std::size_t g = 0; g < weights_.size(); ++g) {
    answer.point.goal += weights_[g] * answer.point.objectives[g];
    if (!answer.has_gradient) continue;
    for (std::size_t k = 0; k < variable_count(); ++k)
      answer.goal_gradient[k] += weights_[g] * answer.objective_gradient[g * variable_count() + k];
  }
}

// Once: what is said at every point differs in its numbers only.
void DesignProblem::warn(const std::string& text) {
  const auto words = [](std::string of) {
    std::erase_if(of, [](unsigned char c) { return std::isdigit(c) || c == '.' || c == '-' || c == 'e'; });
    return of;
  };
  const auto same = [&](const std::string& other) { return words(other) == words(text); };
  if (std::none_of(warnings_.begin(), warnings_.end(), same)) warnings_.push_back(text);
}

const DesignProblem::Answer& DesignProblem::answer(std::span<const double> x, bool gradient) {
  for (const Answer& known : kept_)
    if (std::ranges::equal(known.x, x) && (known.has_gradient || !gradient)) return known;
  ++evaluations_;
  Answer made;
  made.x.assign(x.begin(), x.end());
  made.has_gradient = gradient;
  made.point.numbers = numbers(x);
  StudyResult result;
  try {
    result = gradient ? study_.evaluate(made.point.numbers) : study_.values(made.point.numbers);
    made.point.failure = result.failure;
  } catch (const ModelError& error) {  // numbers that only together are wrong
    made.point.failure = error.faults().front().message;
    result.values.assign(study_.objective_count(), std::numeric_limits<double>::quiet_NaN());
    result.gradient.assign(study_.objective_count() * variable_count(), 0.0);
  }
  for (const std::string& w : result.warnings) warn(w);
  const auto goals = static_cast<std::ptrdiff_t>(goal_count()),
             width = static_cast<std::ptrdiff_t>(variable_count());
  made.point.objectives.assign(result.values.begin(), result.values.begin() + goals);
  made.point.constraints.assign(result.values.begin() + goals, result.values.end());
  for (std::size_t k = 0; k < result.values.size() && made.point.failure.empty(); ++k)
    if (!std::isfinite(result.values[k]))
      made.point.failure = k < weights_.size()
                               ? fmt::format("objective '{}' has no value", study_.objective(k).name)
                               : fmt::format("the constraint '{}' has no value",
                                             design().constraints[k - weights_.size()].text);
  if (gradient) {
    for (std::size_t k = 0; k < result.gradient.size(); ++k) {
      const std::size_t variable = k % variable_count();
      double& slope = result.gradient[k];
      slope = std::isfinite(slope) ? slope * (upper_[variable] - lower_[variable]) : 0.0;
    }
    made.objective_gradient.assign(result.gradient.begin(), result.gradient.begin() + goals * width);
    made.constraint_gradient.assign(result.gradient.begin() + goals * width, result.gradient.end());
  }
  weigh(made);
  if (kept_.size() < most_kept) return kept_.emplace_back(std::move(made));
  Answer& place = kept_[next_++ % most_kept];
  place = std::move(made);
  return place;
}

double DesignProblem::goal_scale() {
  const auto slopes = goal_gradient(start());
  double scale = 0.0;
  for (const double slope : slopes) scale = std::max(scale, std::abs(slope));
  if (scale > 0.0) return scale;
  const double goal = at(start()).goal;
  return std::isfinite(goal) && goal != 0.0 ? std::abs(goal) : 1.0;
}

double DesignProblem::constraint_scale(std::size_t constraint) {
  if (constraint_scales_.empty()) {
    const std::vector<double> x = start();
    for (std::size_t k = 0; k < constraint_count_; ++k) {
      double scale = 0.0;
      for (const double slope : constraint_gradient(x, k)) scale = std::max(scale, std::abs(slope));
      const double value = std::abs(at(x).constraints[k]);
      if (std::isfinite(value)) scale = std::max(scale, 1e-3 * value);
      constraint_scales_.push_back(scale > 0.0 ? scale : 1.0);
    }
  }
  return constraint_scales_[constraint];
}

DesignProblem::Violation DesignProblem::worst_violation(const DesignPoint& point) {
  Violation worst{0, -std::numeric_limits<double>::infinity()};
  for (std::size_t k = 0; k < constraint_count_; ++k)
    if (const double amount = point.constraints[k] / constraint_scale(k); amount > worst.amount)
      worst = {k, amount};
  return worst;
}

std::vector<GoalRange> DesignProblem::ranges() {
  if (variable_count() > most_corner_variables)
    throw ModelError(
        {design().place,
         "T148",
         fmt::format("weights from ranges need all corners of the bounds, and {} variables have 2^{}",
                     variable_count(), variable_count()),
         {"give the weights: minimize = { a = 0.4, b = 0.6 }"}});
  std::vector<GoalRange> ranges(
      goal_count(), {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()});
  std::vector<double> x(variable_count());
  for (std::size_t corner = 0; corner < std::size_t{1} << variable_count(); ++corner) {
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = corner >> k & 1 ? 1.0 : 0.0;
    const DesignPoint& point = at(x);
    if (!point.failure.empty()) {
      warn("a corner of the bounds is left out: " + point.failure);
      continue;
    }
    for (std::size_t g = 0; g < ranges.size(); ++g) {
      ranges[g].low = std::min(ranges[g].low, point.objectives[g]);
      ranges[g].high = std::max(ranges[g].high, point.objectives[g]);
    }
  }
  return ranges;
}

}  // namespace tellegen
