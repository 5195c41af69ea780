#include "tellegen/optimize/optimize.h"

#include <fmt/format.h>
#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>

namespace tellegen {
namespace {

constexpr double feasible_to = 1e-6;  // of a constraint's scale
constexpr int most_failures = 20;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Algorithm {
  const char* name;
  nlopt_algorithm number;
};
constexpr Algorithm algorithms[] = {{"slsqp", NLOPT_LD_SLSQP}, {"mma", NLOPT_LD_MMA}};

using Optimizer = std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)>;

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

// One search from one start: what NLopt asks, and the best that was seen on the way.
class Search {
 public:
  Search(DesignProblem& problem, const OptimizeOptions& options, std::vector<double> x)
      : problem_(problem), options_(options), first_evaluation_(problem.evaluations()) {
    found_.x = start_ = std::move(x);
    found_.best = problem_.at(found_.x);
  }

  StartResult run() {
    const DesignPoint& begin = found_.best;
    if (!begin.failure.empty()) {
      found_.stopped = "the run at its start failed: " + begin.failure;
      return finish();
    }
    found_.path.push_back(begin);
    goal_scale_ = problem_.goal_scale();
    for (std::size_t k = 0; k < problem_.constraint_count(); ++k)
      if (begin.constraints[k] > feasible_to * problem_.constraint_scale(k))
        found_.broken.push_back(problem_.design().constraints[k].text);
    best_violation_ = std::max(0.0, problem_.worst_violation(begin).amount);
    std::vector<double> x = found_.x;
    if (!found_.broken.empty()) {
      search(x, Phase::feasibility);
      x = found_.x;
    }
    const nlopt_result result = search(x, Phase::goal);
    if (error_) std::rethrow_exception(error_);
    found_.feasible = best_violation_ <= feasible_to;
    found_.converged = found_.feasible && !failed() &&
                       (result == NLOPT_SUCCESS || result == NLOPT_FTOL_REACHED ||
                        result == NLOPT_XTOL_REACHED || result == NLOPT_ROUNDOFF_LIMITED);
    found_.stopped = words(result);
    return finish();
  }

 private:
  enum class Phase { feasibility, goal };
  struct Constraint {
    Search* search;
    std::size_t index;
  };

  nlopt_result search(std::vector<double>& x, Phase phase) {
    const auto count = static_cast<unsigned>(x.size());
    phase_ = phase;
    const Algorithm* algorithm =
        std::find_if(std::begin(algorithms), std::end(algorithms),
                     [&](const Algorithm& a) { return a.name == options_.algorithm; });
    Optimizer optimizer(nlopt_create(algorithm->number, count), nlopt_destroy);
    nlopt_set_lower_bounds1(optimizer.get(), 0.0);
    nlopt_set_upper_bounds1(optimizer.get(), 1.0);
    nlopt_set_min_objective(optimizer.get(), &Search::goal_of, this);
    std::vector<Constraint> constraints;
    if (phase == Phase::goal)
      for (std::size_t k = 0; k < problem_.constraint_count(); ++k) constraints.push_back({this, k});
    for (Constraint& c : constraints)
      nlopt_add_inequality_constraint(optimizer.get(), &Search::constraint_of, &c, 0.1 * feasible_to);
    if (phase == Phase::feasibility) nlopt_set_stopval(optimizer.get(), 0.0);
    nlopt_set_xtol_rel(optimizer.get(), 0.0);
    nlopt_set_xtol_abs1(optimizer.get(), options_.tolerance);
    nlopt_set_ftol_rel(optimizer.get(), 1e-2 * options_.tolerance);
    nlopt_set_ftol_abs(optimizer.get(), 1e-3 * options_.tolerance);  // the goal is scaled to slopes of 1
    nlopt_set_maxeval(optimizer.get(), options_.most_evaluations);
    optimizer_ = optimizer.get();
    double least = 0.0;
    const nlopt_result result = nlopt_optimize(optimizer.get(), x.data(), &least);
    optimizer_ = nullptr;
    return result;
  }

  // NLopt is C: nothing may be thrown through it.
  static double goal_of(unsigned count, const double* x, double* slopes, void* data) {
    Search& self = *static_cast<Search*>(data);
    try {
      return self.goal({x, count}, slopes);
    } catch (...) {
      self.stop_for_error();
      return 0.0;
    }
  }

  static double constraint_of(unsigned count, const double* x, double* slopes, void* data) {
    const Constraint& constraint = *static_cast<Constraint*>(data);
    try {
      return constraint.search->constraint({x, count}, slopes, constraint.index);
    } catch (...) {
      constraint.search->stop_for_error();
      return 0.0;
    }
  }

  void stop_for_error() {
    error_ = std::current_exception();
    nlopt_force_stop(optimizer_);
  }

  double goal(std::span<const double> x, double* slopes) {
    const DesignPoint point = problem_.at_with_gradient(x);
    if (!point.failure.empty()) return back_to_best(x, slopes, point.failure);
    moved_ = moved_ || distance(x, start_) > 0.0;
    note(x, point);
    if (phase_ == Phase::feasibility) return violation(x, point, slopes);
    if (slopes)
      std::ranges::transform(problem_.goal_gradient(x), slopes, [&](double s) { return s / goal_scale_; });
    highest_ = std::max(highest_, point.goal / goal_scale_);
    return point.goal / goal_scale_;
  }

  // The squares of what is broken, held a little inside.
  double violation(std::span<const double> x, const DesignPoint& point, double* slopes) {
    constexpr double margin = 1e-4;
    double sum = 0.0;
    if (slopes) std::fill(slopes, slopes + x.size(), 0.0);
    for (std::size_t k = 0; k < point.constraints.size(); ++k) {
      const double scale = problem_.constraint_scale(k), over = point.constraints[k] / scale + margin;
      if (over <= 0.0) continue;
      sum += over * over;
      if (!slopes) continue;
      const auto gradient = problem_.constraint_gradient(x, k);
      for (std::size_t v = 0; v < x.size(); ++v) slopes[v] += 2 * over * gradient[v] / scale;
    }
    highest_ = std::max(highest_, sum);
    return sum;
  }

  double back_to_best(std::span<const double> x, double* slopes, const std::string& failure) {
    last_failure_ = failure;
    if (++failures_ >= most_failures) nlopt_force_stop(optimizer_);
    if (slopes)
      for (std::size_t k = 0; k < x.size(); ++k) slopes[k] = 2 * (x[k] - found_.x[k]);
    return highest_ + std::abs(highest_) + 1.0 + distance(x, found_.x);
  }

  double constraint(std::span<const double> x, double* slopes, std::size_t index) {
    const DesignPoint point = problem_.at_with_gradient(x);
    const double scale = problem_.constraint_scale(index);
    if (!point.failure.empty()) {
      if (slopes) std::fill(slopes, slopes + x.size(), 0.0);
      return 0.0;
    }
    if (slopes)
      std::ranges::transform(problem_.constraint_gradient(x, index), slopes,
                             [&](double s) { return s / scale; });
    return point.constraints[index] / scale;
  }

  // Better: less broken, and where nothing is broken a smaller goal.
  void note(std::span<const double> x, const DesignPoint& point) {
    const double violation = std::max(0.0, problem_.worst_violation(point).amount);
    const bool holds = violation <= feasible_to, held = best_violation_ <= feasible_to;
    if (holds && held ? point.goal < found_.best.goal : violation < best_violation_ || (holds && !held)) {
      found_.x.assign(x.begin(), x.end());
      found_.best = point;
      best_violation_ = violation;
      found_.path.push_back(point);
    }
    if (options_.progress)
      options_.progress(fmt::format("{} evaluations, goal {:.6g}", problem_.evaluations() - first_evaluation_,
                                    found_.best.goal));
  }

  // Where nothing but the start can be run, steps shrink until they look like those at a minimum.
  bool failed() const { return failures_ >= most_failures || (failures_ > 0 && !moved_); }

  std::string words(nlopt_result result) const {
    if (failed())
      return fmt::format("{} runs failed{}; the last: {}", failures_,
                         moved_ ? "" : ", all but the one at the start", last_failure_);
    if (!found_.feasible && !found_.best.constraints.empty())
      return fmt::format(
          "no point was found that holds '{}'",
          problem_.design().constraints[problem_.worst_violation(found_.best).constraint].text);
    switch (result) {
      case NLOPT_SUCCESS:
        return "at a minimum";
      case NLOPT_FTOL_REACHED:
        return "the goal changes no more";
      case NLOPT_XTOL_REACHED:
        return "the variables change no more";
      case NLOPT_ROUNDOFF_LIMITED:
        return "rounding hides any further progress";
      case NLOPT_MAXEVAL_REACHED:
        return fmt::format("no minimum after {} evaluations", options_.most_evaluations);
      default:
        return fmt::format("the optimiser failed ({})", nlopt_result_to_string(result));
    }
  }

  StartResult finish() {
    found_.evaluations = problem_.evaluations() - first_evaluation_;
    return std::move(found_);
  }

  DesignProblem& problem_;
  const OptimizeOptions& options_;
  int first_evaluation_;
  StartResult found_;
  Phase phase_ = Phase::goal;
  double goal_scale_ = 1.0, best_violation_ = 0.0, highest_ = -infinity;
  int failures_ = 0;
  bool moved_ = false;  // a run somewhere else than at the start was good
  std::vector<double> start_;
  std::string last_failure_;
  nlopt_opt optimizer_ = nullptr;
  std::exception_ptr error_;
};

// splitmix64 [Steele 2014]: the same numbers on every machine.
class UniformNumbers {
 public:
  explicit UniformNumbers(std::uint64_t seed) : state_(seed) {}
  double next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

bool better(const StartResult& a, const StartResult& b) {
  if (a.feasible != b.feasible) return a.feasible;
  if (!a.best.failure.empty() || !b.best.failure.empty())
    return a.best.failure.empty() && !b.best.failure.empty();
  return a.best.goal < b.best.goal;
}

}  // namespace

std::vector<std::string> optimize_algorithms() {
  std::vector<std::string> names;
  for (const Algorithm& a : algorithms) names.emplace_back(a.name);
  return names;
}

StartResult optimize_from(DesignProblem& problem, const OptimizeOptions& options, std::vector<double> x) {
  return Search(problem, options, std::move(x)).run();
}

OptimizeResult optimize(DesignProblem& problem, const OptimizeOptions& options) {
  OptimizeResult result;
  result.before = problem.at(problem.start());
  UniformNumbers random(options.seed);
  for (int k = 0; k < options.starts; ++k) {
    std::vector<double> x = problem.start();
    if (k > 0)
      for (double& value : x) value = random.next();
    OptimizeOptions told = options;
    if (options.progress && options.starts > 1)
      told.progress = [&](const std::string& what) {
        options.progress(fmt::format("start {} of {}: {}", k + 1, options.starts, what));
      };
    result.starts.push_back(optimize_from(problem, told, std::move(x)));
    if (k == 0 || better(result.starts.back(), result.best)) result.best = result.starts.back();
  }
  for (const StartResult& start : result.starts)
    result.same += start.feasible && distance(start.x, result.best.x) < 1e-6;
  return result;
}

std::vector<double> weights_from(const std::vector<GoalRange>& ranges, const ModelDesign& design) {
  std::vector<double> weights;
  double sum = 0.0;
  for (std::size_t g = 0; g < ranges.size(); ++g) {
    const double range = ranges[g].high - ranges[g].low;
    const bool usable = range > 0.0 && std::isfinite(range);
    weights.push_back(usable ? design.goals[g].weight / range : 0.0);
    sum += std::abs(weights.back());
  }
  if (sum == 0.0) {  // no goal changes from corner to corner
    for (std::size_t g = 0; g < weights.size(); ++g) weights[g] = design.goals[g].weight;
    return weights;
  }
  for (double& w : weights) w /= sum;
  return weights;
}

std::vector<StartResult> pareto_front(DesignProblem& problem, const OptimizeOptions& options, int count) {
  const std::vector<double> own = problem.weights();
  const double sign[2] = {own[0] < 0.0 ? -1.0 : 1.0, own[1] < 0.0 ? -1.0 : 1.0};
  problem.set_weights({sign[0], 0.0});
  const StartResult first = optimize(problem, options).best;
  problem.set_weights({0.0, sign[1]});
  const StartResult last = optimize(problem, options).best;
  double range[2];
  for (int g = 0; g < 2; ++g) {
    range[g] = std::abs(first.best.objectives[g] - last.best.objectives[g]);
    if (!(range[g] > 0.0)) range[g] = 1.0;
  }
  std::vector<StartResult> points{first};
  for (int k = 1; k + 1 < count; ++k) {
    const double part = static_cast<double>(k) / (count - 1);
    problem.set_weights({sign[0] * (1 - part) / range[0], sign[1] * part / range[1]});
    OptimizeOptions told = options;
    if (options.progress)
      told.progress = [&](const std::string& what) {
        options.progress(fmt::format("point {} of {}: {}", k + 1, count, what));
      };
    points.push_back(optimize_from(problem, told, points.back().x));
  }
  points.push_back(last);
  problem.set_weights(own);

  std::vector<StartResult> front;
  for (std::size_t a = 0; a < points.size(); ++a) {
    if (!points[a].feasible) continue;
    bool beaten = false;
    for (std::size_t b = 0; b < points.size() && !beaten; ++b) {
      if (a == b || !points[b].feasible) continue;
      bool no_worse = true, less = false;
      for (int g = 0; g < 2; ++g) {
        const double mine = sign[g] * points[a].best.objectives[g],
                     other = sign[g] * points[b].best.objectives[g];
        no_worse = no_worse && other <= mine;
        less = less || other < mine;
      }
      beaten = no_worse && (less || b < a);  // of equal points the first stays
    }
    if (!beaten) front.push_back(points[a]);
  }
  return front;
}

}  // namespace tellegen
