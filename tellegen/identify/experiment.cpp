#include "tellegen/identify/experiment.h"

#include <fmt/format.h>
#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tellegen/identifiability/identifiability.h"
#include "tellegen/model/parameters.h"
#include "tellegen/optimize/design_problem.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

constexpr double undetermined = 1e9;  // relative deviations are told apart up to here
constexpr double broken_to = 1e-6;    // of a constraint's size
constexpr int searches = 3, most_again = 8;

const ModelDesign& experiment_of(const Model& model) {
  if (model.experiment) return *model.experiment;
  throw ModelError({{model.file.string(), 0},
                    "T148",
                    "the model has no [experiment]",
                    {"it says what of the test may be chosen, and within which limits: variables = { A = "
                     "[\"1 A\", \"20 A\"] }, constraints = [\"v_max <= 48 V\"]"}});
}

Model as_design(Model model) {
  model.design = experiment_of(model);
  return model;
}

// Every experiment is another run, too short to wait for a compiler.
StudyOptions interpreted(StudyOptions options) {
  options.simulation.compile = false;
  return options;
}

// The k-th point of Halton's sequence: its digits to a prime base, mirrored.
double halton(int k, int base) {
  double value = 0.0, part = 1.0;
  for (; k > 0; k /= base) value += (part /= base) * (k % base);
  return value;
}

class Search {
 public:
  Search(const Model& model, const ExperimentOptions& options)
      : model_(model), options_(options), problem_(as_design(model), interpreted(options.study)) {
    for (const ModelDesign::Variable& v : experiment_of(model).variables) {
      variables_.push_back(v.parameter);
      logarithmic_.push_back(v.lower > 0.0 && v.upper >= 10.0 * v.lower);
    }
    sizes_.assign(problem_.constraint_count(), 0.0);
  }

  ExperimentResult run() {
    std::vector<Tried> tried = spread();
    for (const Tried& t : tried)
      for (std::size_t c = 0; c < t.point.constraints.size(); ++c)
        if (std::isfinite(t.point.constraints[c]))
          sizes_[c] = std::max(sizes_[c], std::abs(t.point.constraints[c]));
    for (Tried& t : tried) measure(t.point);
    result_.before = tried.front().point;
    std::stable_sort(tried.begin(), tried.end(), better);
    best_ = tried.front();
    for (int k = 0; k < searches && k < static_cast<int>(tried.size()); ++k)
      if (tried[k].point.failure.empty()) refine(tried[k].x, 0.1);
    // The trust region of a search may shrink before its end: again from there, as long as it helps.
    for (int k = 0; k < most_again && best_.point.failure.empty(); ++k) {
      const double before = best_.point.worst, broken = best_.point.broken;
      refine(best_.x, k % 2 == 0 ? 0.2 : 0.05);
      if (best_.point.worst > 0.998 * before && best_.point.broken >= broken && k % 2 == 1) break;
    }
    result_.best = best_.point;
    if (best_.point.failure.empty()) result_.known = knowledge(best_.point.numbers);
    return std::move(result_);
  }

 private:
  struct Tried {
    std::vector<double> x;  // 0 to 1
    ExperimentPoint point;
  };
  // What breaks no limit first, then what is known best.
  static bool better(const Tried& a, const Tried& b) {
    if (a.point.failure.empty() != b.point.failure.empty()) return a.point.failure.empty();
    const bool good_a = a.point.broken <= broken_to, good_b = b.point.broken <= broken_to;
    if (good_a != good_b) return good_a;
    return good_a ? a.point.worst < b.point.worst : a.point.broken < b.point.broken;
  }

  double number(std::size_t k, double x) const {
    const double low = problem_.lower(k), high = problem_.upper(k);
    return std::clamp(logarithmic_[k] ? low * std::pow(high / low, x) : low + x * (high - low), low, high);
  }
  double scaled(std::size_t k, double number) const {
    const double low = problem_.lower(k), high = problem_.upper(k);
    const double at = std::clamp(number, low, high);
    return logarithmic_[k] ? std::log(at / low) / std::log(high / low) : (at - low) / (high - low);
  }

  Knowledge knowledge(const std::vector<double>& numbers, double* length = nullptr) {
    Model model = model_;
    set_parameters(model, variables_, numbers);
    const double stop = model.simulation.stop.value_or(0.0);
    if (length) *length = stop;
    return parameter_knowledge(model, planned_record(options_.sensors, 0.0, stop, options_.step),
                               options_.parameters, undetermined);
  }

  Tried at(std::vector<double> x) {
    Tried tried{std::move(x), {}};
    ExperimentPoint& point = tried.point;
    std::vector<double> linear;  // as DesignProblem scales them
    for (std::size_t k = 0; k < tried.x.size(); ++k) {
      point.numbers.push_back(number(k, std::clamp(tried.x[k], 0.0, 1.0)));
      linear.push_back((point.numbers[k] - problem_.lower(k)) / (problem_.upper(k) - problem_.lower(k)));
    }
    ++result_.evaluations;
    if (options_.progress) options_.progress(fmt::format("experiment {}", result_.evaluations));
    try {
      const Knowledge known = knowledge(point.numbers, &point.length);
      for (std::size_t k = 0; k < known.deviation.size(); ++k) {
        point.relative.push_back(known.deviation[k] / known.quantities[k].scale);
        point.worst = std::max(point.worst, point.relative.back());
      }
      if (problem_.constraint_count() > 0) {
        const DesignPoint& run = problem_.at(linear);
        point.constraints = run.constraints;
        point.failure = run.failure;
      }
    } catch (const SimulationError& error) {
      point.failure = error.what();
    } catch (const ModelError& error) {
      point.failure = error.faults().front().message;
    }
    if (!point.failure.empty()) {
      if (result_.failures++ == 0) result_.first_failure = point.failure;
      point.worst = std::numeric_limits<double>::infinity();
    }
    measure(point);
    return tried;
  }

  void measure(ExperimentPoint& point) const {
    point.broken = 0.0;
    for (std::size_t c = 0; c < point.constraints.size(); ++c)
      point.broken = std::max(point.broken, point.constraints[c] / (sizes_[c] > 0.0 ? sizes_[c] : 1.0));
  }

  // The model's own numbers, then points all over the bounds.
  std::vector<Tried> spread() {
    const std::size_t n = variables_.size();
    constexpr int primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
    const int count = options_.points > 0 ? options_.points : 8 + 16 * static_cast<int>(n);
    std::vector<double> x(n);
    for (std::size_t k = 0; k < n; ++k) x[k] = scaled(k, model_.parameters[variables_[k]].number);
    std::vector<Tried> tried{at(x)};
    for (int i = 1; i < count; ++i) {
      for (std::size_t k = 0; k < n; ++k) x[k] = halton(i, primes[k % std::size(primes)]);
      tried.push_back(at(x));
    }
    return tried;
  }

  struct Constraint {
    Search* search;
    std::size_t index;
  };

  void refine(std::vector<double> x, double first_step) {
    const auto n = static_cast<unsigned>(x.size());
    const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> optimizer(nlopt_create(NLOPT_LN_COBYLA, n),
                                                                           nlopt_destroy);
    optimizer_ = optimizer.get();
    nlopt_set_lower_bounds1(optimizer_, 0.0);
    nlopt_set_upper_bounds1(optimizer_, 1.0);
    nlopt_set_min_objective(optimizer_, &Search::goal_of, this);
    std::vector<Constraint> constraints;
    for (std::size_t c = 0; c < sizes_.size(); ++c) constraints.push_back({this, c});
    for (Constraint& c : constraints)
      nlopt_add_inequality_constraint(optimizer_, &Search::constraint_of, &c, 0.1 * broken_to);
    nlopt_set_initial_step1(optimizer_, first_step);
    nlopt_set_xtol_abs1(optimizer_, 1e-3);
    nlopt_set_maxeval(optimizer_, 40 * static_cast<int>(n) + 20);
    double least = 0.0;
    latest_.x.clear();
    nlopt_optimize(optimizer_, x.data(), &least);
    if (thrown_) std::rethrow_exception(thrown_);
  }

  // NLopt is C: nothing may be thrown through it.
  const Tried& answer(unsigned n, const double* x) {
    std::vector<double> point(x, x + n);
    if (latest_.x == point) return latest_;
    try {
      latest_ = at(std::move(point));
    } catch (...) {
      thrown_ = std::current_exception();
      nlopt_force_stop(optimizer_);
      return latest_;
    }
    if (better(latest_, best_)) best_ = latest_;
    return latest_;
  }
  static double goal_of(unsigned n, const double* x, double*, void* data) {
    const double worst = static_cast<Search*>(data)->answer(n, x).point.worst;
    return std::log(std::clamp(worst, 1e-300, undetermined));
  }
  static double constraint_of(unsigned n, const double* x, double*, void* data) {
    const auto& [search, c] = *static_cast<Constraint*>(data);
    const ExperimentPoint& point = search->answer(n, x).point;
    if (!point.failure.empty()) return 1.0;
    return point.constraints[c] / (search->sizes_[c] > 0.0 ? search->sizes_[c] : 1.0);
  }

  const Model& model_;
  const ExperimentOptions& options_;
  DesignProblem problem_;
  std::vector<int> variables_;
  std::vector<char> logarithmic_;
  std::vector<double> sizes_;  // of the constraints, over the points that were spread
  Tried best_, latest_;
  ExperimentResult result_;
  nlopt_opt optimizer_ = nullptr;
  std::exception_ptr thrown_;
};

}  // namespace

ExperimentResult design_experiment(const Model& model, const ExperimentOptions& options) {
  return Search(model, options).run();
}

}  // namespace tellegen
