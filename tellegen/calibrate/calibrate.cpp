#include "tellegen/calibrate/calibrate.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "tellegen/calibrate/levenberg.h"
#include "tellegen/estimate/coordinate.h"
#include "tellegen/estimate/smoothness.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/time_origin.h"
#include "tellegen/numeric/decompose.h"
#include "tellegen/records/reading_check.h"
#include "tellegen/records/statistics.h"

namespace tellegen {
namespace {

using Coordinate = ModelUnknown::Coordinate;
constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr double same_place = 0.1;  // standard deviations by which starts that agree may differ
constexpr int most_restarts = 4;
constexpr double by_chance = 0.999;  // of chi-squares where model and noise are right
// Eigenvalues of J'J with a unit diagonal below this: the readings say nothing about that direction.
constexpr double open_below = 1e-10;

// splitmix64 [Steele 2014]: the same numbers on every machine.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  double between(double low, double high) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return low + (high - low) * static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

struct Variable {
  ModelUnknown unknown;
  std::string name;
  Coordinate coordinate;
  double start = 0.0;  // of its number

  double lower() const { return end(unknown.lower, unknown.upper, -infinity, 0.0); }
  double upper() const { return end(unknown.upper, unknown.lower, infinity, infinity); }
  double size() const { return start != 0.0 ? std::abs(start) : unknown.deviation.value_or(1.0); }
  bool positive() const { return coordinate == Coordinate::inverse; }

 private:
  // The inverse of the largest number is the smallest coordinate.
  double end(const std::optional<double>& own, const std::optional<double>& other, double open,
             double inverse_open) const {
    if (coordinate == Coordinate::inverse) return other && *other > 0.0 ? 1.0 / *other : inverse_open;
    if (!own || (coordinate == Coordinate::logarithm && !(*own > 0.0))) return open;
    return to_coordinate(coordinate, *own);
  }
};

// One stage: a sum of squares in the coordinates of its unknowns.
class Stage {
 public:
  Stage(const Model& model, const Record& record, const CalibrationStage& stage,
        std::vector<Variable> variables, const CalibrationOptions& options)
      : model_(model),
        options_(options),
        variables_(std::move(variables)),
        smooth_(smooth_rows(model_, indices())) {
    add_part(record, stage, model);
    for (const Record& more : options.more_records) {
      // Its run begins with it.
      add_part(from_zero(more), stage, more.start != 0.0 ? with_time_origin(model, more.start) : model);
    }
    noise_ = noise_of();
    for (const ResponseData& data : options.responses)
      responses_.emplace_back(model_, data.of, data.by, indices());
    count_readings(stage);
    for (Part& part : parts_)
      if (part.record.steps > 0 && !part.record.sensors.empty())
        part.run.emplace(part.model, part.record, indices(), options.integration);
  }

  StageResult search() {
    const auto began = std::chrono::steady_clock::now();
    StageResult result;
    result.readings = readings_;
    std::vector<SquaresSearch> searches;
    for (int k = 0; k < options_.starts; ++k) searches.push_back(search_from(start(k), k, options_.starts));
    const bool more = options_.restart && options_.starts == 1 && !explains(searches.front());
    for (int k = 1; more && k <= most_restarts && !explains(searches[best_of(searches)]); ++k)
      searches.push_back(search_from(start(k), k, most_restarts + 1));
    result.best = best_of(searches);
    refine(searches[result.best]);
    weigh_by_residuals(searches[result.best]);
    const SquaresSearch& best = searches[result.best];
    const auto& run = parts_.front().run;
    result.method = run ? run->steps_text() : "linearised";
    for (const SquaresSearch& s : searches) result.starts.push_back(told(s));
    if (best.path.empty()) {
      result.failure = best.stopped;
      for (const Variable& v : variables_)
        result.parameters.push_back({v.unknown.parameter, v.coordinate, v.start, v.start, no_number, false});
      return result;
    }
    tell_parameters(best, result);
    compare(searches, result);
    if (!tell_residuals(best, result)) return result;
    judge_residuals(result);
    judge(best, more, result);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
  }

 private:
  std::vector<int> indices() const {
    std::vector<int> found;
    for (const Variable& v : variables_) found.push_back(v.unknown.parameter);
    return found;
  }

  // A record, and the run that is compared with it.
  struct Part {
    Model model;
    Record record;
    std::int64_t first = 0;        // row of the window
    std::optional<SensorRun> run;  // empty: there is no record
    std::size_t width() const { return record.sensors.size(); }
  };

  // The sensors of the stage, and the rows until its window ends: the run begins where the record does.
  void add_part(const Record& record, const CalibrationStage& stage, const Model& model) {
    Part& added = parts_.emplace_back(Part{model, record, 0, std::nullopt});
    Record& part = added.record;
    std::vector<std::size_t> chosen;
    for (std::size_t s = 0; s < record.sensors.size(); ++s)
      if (stage.sensors.empty() ||
          std::find(stage.sensors.begin(), stage.sensors.end(), record.sensors[s]) != stage.sensors.end())
        chosen.push_back(s);
    const double slack = 1e-6 * record.step;
    if (stage.to)
      while (part.steps > 0 && record.time(part.steps - 1) > *stage.to + slack) --part.steps;
    if (stage.from)
      while (added.first < part.steps && record.time(added.first) < *stage.from - slack) ++added.first;
    part.sensors.clear();
    for (std::size_t s : chosen) part.sensors.push_back(record.sensors[s]);
    part.readings.clear();
    for (std::int64_t row = 0; row < part.steps; ++row)
      for (std::size_t s : chosen)
        part.readings.push_back(row < added.first ? no_number : record.reading(row, s));
    part.given.resize(static_cast<std::size_t>(part.steps) * record.inputs.size());
    if (!part.clock.empty()) part.clock.resize(static_cast<std::size_t>(part.steps));
    part.arrivals.clear();
    part.counts.clear();
  }

  const Record& record() const { return parts_.front().record; }

  std::vector<double> noise_of() const {
    check_noise(model_, record().sensors);
    std::vector<double> noise;
    for (int s : record().sensors) noise.push_back(*model_.outputs[s].noise);
    return noise;
  }

  void count_readings(const CalibrationStage& stage) {
    for (const Part& part : parts_)
      readings_ += std::count_if(part.record.readings.begin(), part.record.readings.end(),
                                 [](double r) { return !std::isnan(r); });
    for (const ResponseData& data : options_.responses)
      readings_ += 2 * static_cast<std::int64_t>(data.values.size());
    const auto wrong = [&](std::string code, std::string message, std::vector<std::string> details) {
      Place place = stage.place;
      if (place.file.empty()) place.file = model_.file.string();
      throw ModelError({place, std::move(code), std::move(message), std::move(details)});
    };
    if (readings_ == 0) {
      std::vector<std::string> details;
      if (stage.from || stage.to)
        details.push_back(fmt::format("the window goes from {:g} s to {:g} s",
                                      stage.from.value_or(record().start), stage.to.value_or(infinity)));
      wrong("T603", "there is no reading to calibrate with", details);
    }
    if (readings_ < static_cast<std::int64_t>(variables_.size()))
      wrong("T604", fmt::format("{} readings cannot determine {} parameters", readings_, variables_.size()),
            {});
  }

  std::vector<double> numbers(const Eigen::VectorXd& x) const {
    std::vector<double> found;
    for (std::size_t k = 0; k < variables_.size(); ++k)
      found.push_back(from_coordinate(variables_[k].coordinate, x[static_cast<Eigen::Index>(k)]));
    return found;
  }

  // Huber's loss: square up to `robust` standard deviations, straight beyond. How much a residual weighs.
  double weight(double residual) const {
    const double size = std::abs(residual);
    return options_.robust > 0.0 && size > options_.robust ? options_.robust / size : 1.0;
  }
  double loss(double residual) const {
    const double size = std::abs(residual);
    return options_.robust > 0.0 && size > options_.robust ? options_.robust * (size - 0.5 * options_.robust)
                                                           : 0.5 * size * size;
  }

  SquaresPoint at(const Eigen::VectorXd& x) {
    const auto n = static_cast<Eigen::Index>(variables_.size());
    SquaresPoint point{0.0, Eigen::VectorXd::Zero(n), Eigen::MatrixXd::Zero(n, n), ""};
    const std::vector<double> now = numbers(x);
    Eigen::VectorXd inner(n);
    for (Eigen::Index k = 0; k < n; ++k) inner[k] = value_slope(variables_[k].coordinate, x[k]);
    for (Part& part : parts_)
      if (part.run && !add_readings(part, now, inner, point)) return point;
    if (!add_responses(now, inner, point)) return point;
    point.normal.triangularView<Eigen::StrictlyUpper>() = point.normal.transpose();
    if (options_.prior)
      for (Eigen::Index k = 0; k < n; ++k)
        if (const auto& deviation = variables_[k].unknown.deviation; deviation && *deviation > 0.0) {
          const double residual = (now[k] - variables_[k].start) / *deviation, by = inner[k] / *deviation;
          point.cost += 0.5 * residual * residual;
          point.gradient[k] += residual * by;
          point.normal(k, k) += by * by;
        }
    add_smoothness(now, inner, point);
    if (!std::isfinite(point.cost) || !point.gradient.allFinite() || !point.normal.allFinite())
      point.failure = "the derivatives of the readings are not finite";
    return point;
  }

  bool add_readings(Part& part, const std::vector<double>& now, const Eigen::VectorXd& inner,
                    SquaresPoint& point) {
    const SensorSlopes run = part.run->at(now);
    point.failure = run.failure;
    if (!run.failure.empty()) return false;
    const Eigen::Index n = inner.size();
    Eigen::VectorXd slope(n);
    for (std::int64_t row = part.first; row < part.record.steps; ++row)
      for (std::size_t s = 0; s < part.width(); ++s) {
        const double reading = part.record.reading(row, s);
        if (std::isnan(reading)) continue;
        const std::size_t i = static_cast<std::size_t>(row) * part.width() + s;
        const double residual = (run.values[i] - reading) / noise_[s];
        for (Eigen::Index k = 0; k < n; ++k)
          slope[k] = run.slopes[i * variables_.size() + static_cast<std::size_t>(k)] * inner[k] / noise_[s];
        const double w = weight(residual);
        point.cost += loss(residual);
        point.gradient.noalias() += w * residual * slope;
        point.normal.selfadjointView<Eigen::Lower>().rankUpdate(slope, w);
      }
    return true;
  }

  // Both parts of every point of a response are readings.
  bool add_responses(const std::vector<double>& now, const Eigen::VectorXd& inner, SquaresPoint& point) {
    const Eigen::Index n = inner.size();
    Eigen::VectorXd slope(n);
    for (std::size_t r = 0; r < responses_.size(); ++r) {
      const ResponseData& data = options_.responses[r];
      const FrequencyResponse::Result there = responses_[r].at(now, data.frequencies);
      point.failure = there.failure;
      if (!there.failure.empty()) return false;
      for (std::size_t k = 0; k < data.values.size(); ++k)
        for (const bool real : {true, false}) {
          const auto part = [&](const std::complex<double>& z) {
            return (real ? z.real() : z.imag()) / data.noise[k];
          };
          const double residual = part(there.values[k] - data.values[k]), w = weight(residual);
          for (Eigen::Index p = 0; p < n; ++p)
            slope[p] =
                part(there.slopes[k * static_cast<std::size_t>(n) + static_cast<std::size_t>(p)]) * inner[p];
          point.cost += loss(residual);
          point.gradient.noalias() += w * residual * slope;
          point.normal.selfadjointView<Eigen::Lower>().rankUpdate(slope, w);
        }
    }
    return true;
  }

  // What [unknowns] says of the smoothness of tables, as readings of zero.
  void add_smoothness(const std::vector<double>& now, const Eigen::VectorXd& inner,
                      SquaresPoint& point) const {
    for (const SmoothRow& row : smooth_) {
      double residual = 0.0;
      for (const auto& [k, weight] : row) residual += weight * now[static_cast<std::size_t>(k)];
      point.cost += 0.5 * residual * residual;
      for (const auto& [j, a] : row) {
        point.gradient[j] += residual * a * inner[j];
        for (const auto& [k, b] : row) point.normal(j, k) += a * inner[j] * b * inner[k];
      }
    }
  }

  // The k-th start: the unknowns' own, then anywhere between the bounds; in ratios where these are positive.
  Eigen::VectorXd start(int k) const {
    Eigen::VectorXd x(static_cast<Eigen::Index>(variables_.size()));
    Numbers random(options_.seed + 0x51ed2701 * static_cast<std::uint64_t>(k));
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const Variable& v = variables_[i];
      double number = v.start;
      if (k > 0) {
        const double size = v.size();
        double low = v.unknown.lower.value_or(v.start > 0.0 ? size / 10.0 : v.start - 10.0 * size);
        double high = v.unknown.upper.value_or(v.start > 0.0 ? size * 10.0 : v.start + 10.0 * size);
        if (low == 0.0 && v.start > 0.0) low = size / 10.0;
        number =
            low > 0.0 ? std::exp(random.between(std::log(low), std::log(high))) : random.between(low, high);
      }
      x[static_cast<Eigen::Index>(i)] = to_coordinate(v.coordinate, number);
    }
    return x;
  }

  SquaresSearch search_from(const Eigen::VectorXd& x, int k, int of) {
    if (options_.progress) options_.progress(of > 1 ? fmt::format("start {} of {}", k + 1, of) : "searching");
    const auto n = static_cast<Eigen::Index>(variables_.size());
    SquaresProblem problem;
    problem.at = [this](const Eigen::VectorXd& point) { return at(point); };
    problem.lower.resize(n);
    problem.upper.resize(n);
    problem.size = Eigen::VectorXd::Zero(n);
    problem.longest = Eigen::VectorXd::Constant(n, infinity);
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      problem.lower[at] = variables_[i].lower();
      problem.upper[at] = variables_[i].upper();
      problem.positive.push_back(variables_[i].positive());
      if (variables_[i].coordinate == Coordinate::value) problem.size[at] = variables_[i].size();
      if (variables_[i].coordinate == Coordinate::logarithm) {
        problem.size[at] = 1.0;
        problem.longest[at] = std::log(10.0);
      }
    }
    return levenberg_marquardt(problem, x, options_.most_iterations);
  }

  // The steps were chosen at the start. Where the numbers found need shorter ones, the search goes on with
  // them.
  void refine(SquaresSearch& best) {
    if (!best.converged || !options_.integration.method.empty()) return;
    const std::vector<double> now = numbers(best.x);
    const bool near = std::equal(now.begin(), now.end(), variables_.begin(), [](double n, const Variable& v) {
      return std::abs(n - v.start) <= 0.2 * std::abs(v.start);  // what error is left is as negligible there
    });
    if (near) return;
    bool changed = false;
    for (Part& part : parts_) {
      if (!part.run) continue;
      Model found = part.model;
      set_parameters(found, indices(), now);
      SensorRun there(found, part.record, indices(), options_.integration);
      if (there.method() == part.run->method() && there.step() >= part.run->step()) continue;
      if (!there.at(now).failure.empty()) continue;
      part.run.emplace(std::move(there));
      changed = true;
    }
    if (changed) go_on(best);
  }

  void go_on(SquaresSearch& best) {
    SquaresSearch more = search_from(best.x, 0, 1);
    if (more.path.empty()) return;
    more.evaluations += best.evaluations;
    more.path.insert(more.path.begin(), best.path.begin(), best.path.end());
    best = std::move(more);
  }

  // Noise that nobody knows: the residuals of the fit, with which it is fitted again.
  void weigh_by_residuals(SquaresSearch& best) {
    if (!parts_.front().run || options_.noise_unknown.empty() || !best.converged) return;
    for (int pass = 0; pass < 3; ++pass) {
      std::vector<double> sums(noise_.size(), 0.0), counts(noise_.size(), 0.0);
      for (Part& part : parts_) {
        if (!part.run) continue;
        const SensorSlopes run = part.run->at(numbers(best.x));
        if (!run.failure.empty()) return;
        for (std::int64_t row = part.first; row < part.record.steps; ++row)
          for (std::size_t s = 0; s < part.width(); ++s) {
            const double residual =
                part.record.reading(row, s) - run.values[static_cast<std::size_t>(row) * part.width() + s];
            if (!std::isnan(residual)) sums[s] += residual * residual, counts[s] += 1.0;
          }
      }
      double largest = 0.0;
      for (std::size_t s = 0; s < noise_.size(); ++s) {
        const auto& unknown = options_.noise_unknown;
        if (std::find(unknown.begin(), unknown.end(), record().sensors[s]) == unknown.end()) continue;
        const double found = std::sqrt(sums[s] / std::max(1.0, counts[s]));
        if (!(found > 0.0)) continue;
        largest = std::max(largest, std::abs(found / noise_[s] - 1.0));
        noise_[s] = found;
      }
      if (largest < 0.01) return;
      go_on(best);
    }
  }

  static std::size_t best_of(const std::vector<SquaresSearch>& searches) {
    std::size_t best = 0;
    const auto rank = [](const SquaresSearch& s) { return s.path.empty() ? infinity : s.point.cost; };
    for (std::size_t k = 1; k < searches.size(); ++k)
      if (rank(searches[k]) < rank(searches[best])) best = k;
    return best;
  }

  double freedom() const {
    return std::max(1.0, static_cast<double>(readings_) - static_cast<double>(variables_.size()));
  }
  // Residuals as large as the noise says, within what chance allows.
  bool explains(const SquaresSearch& s) const {
    return s.converged && 2.0 * s.point.cost / freedom() < 1.0 + 6.0 * std::sqrt(2.0 / freedom());
  }

  CalibrationStart told(const SquaresSearch& s) const {
    CalibrationStart told;
    told.numbers = numbers(s.x);
    told.cost = s.path.empty() ? infinity : s.point.cost;
    told.converged = s.converged;
    told.evaluations = s.evaluations;
    told.stopped = s.stopped;
    for (const auto& visit : s.path) told.path.push_back({numbers(visit.x), visit.cost, visit.step});
    return told;
  }

  // Standard deviations and correlations from J'J; directions in which it is zero, in words.
  void tell_parameters(const SquaresSearch& best, StageResult& result) {
    const std::size_t n = variables_.size();
    const std::vector<double> after = numbers(best.x);
    std::vector<int> free;
    deviations_.assign(n, no_number);
    for (std::size_t k = 0; k < n; ++k)
      if (!best.at_bound[k]) free.push_back(static_cast<int>(k));
    const auto m = static_cast<Eigen::Index>(free.size());
    Eigen::VectorXd scale(m);
    std::vector<char> open(n, 0);
    for (Eigen::Index i = 0; i < m; ++i) {
      const double d = best.point.normal(free[i], free[i]);
      // A number that could be anything from nothing to a million times itself is not determined.
      const double by = value_slope(variables_[free[i]].coordinate, best.x[free[i]]);
      const double relative =
          std::sqrt(d) / std::abs(by) * std::max(std::abs(after[free[i]]), variables_[free[i]].size());
      scale[i] = d > 0.0 ? 1.0 / std::sqrt(d) : 0.0;
      if (!(relative > 1e-6)) {
        open[free[i]] = 1;
        result.open.push_back(fmt::format("{}: no reading depends on it", variables_[free[i]].name));
      }
    }
    Eigen::MatrixXd a(m, m);
    for (Eigen::Index i = 0; i < m; ++i)
      for (Eigen::Index j = 0; j < m; ++j)
        a(i, j) = open[free[i]] || open[free[j]] ? (i == j ? 1.0 : 0.0)
                                                 : scale[i] * best.point.normal(free[i], free[j]) * scale[j];
    const SymmetricEigen eigen = symmetric_eigen(a);
    Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(m, m);
    for (Eigen::Index k = 0; k < m; ++k) {
      const auto direction = eigen.vectors.col(k);
      if (eigen.values[k] > open_below) {
        covariance += direction * direction.transpose() / eigen.values[k];
        continue;
      }
      for (Eigen::Index i = 0; i < m; ++i)
        if (std::abs(direction[i]) > 1e-3) open[free[i]] = 1;
      result.open.push_back(joined(in_per_cent(direction, scale, free, best, after)) +
                            ": together these leave every reading as it is");
    }
    result.correlation.assign(n * n, 0.0);
    for (std::size_t k = 0; k < n; ++k) result.correlation[k * n + k] = 1.0;
    std::vector<double> sign(n, 1.0);
    for (Eigen::Index i = 0; i < m; ++i) {
      const int k = free[i];
      const double slope = value_slope(variables_[k].coordinate, best.x[k]);
      sign[k] = slope < 0.0 ? -1.0 : 1.0;
      if (!open[k]) deviations_[k] = std::abs(slope) * scale[i] * std::sqrt(covariance(i, i));
    }
    for (Eigen::Index i = 0; i < m; ++i)
      for (Eigen::Index j = 0; j < m; ++j)
        if (i != j && !open[free[i]] && !open[free[j]])
          result.correlation[static_cast<std::size_t>(free[i]) * n + static_cast<std::size_t>(free[j])] =
              sign[free[i]] * sign[free[j]] * covariance(i, j) /
              std::sqrt(covariance(i, i) * covariance(j, j));
    for (std::size_t k = 0; k < n; ++k)
      result.parameters.push_back({variables_[k].unknown.parameter, variables_[k].coordinate,
                                   variables_[k].start, after[k], deviations_[k], best.at_bound[k] != 0});
  }

  // An open direction in per cent of each number, the largest of them 1 %.
  std::vector<std::string> in_per_cent(const Eigen::VectorXd& direction, const Eigen::VectorXd& scale,
                                       const std::vector<int>& free, const SquaresSearch& best,
                                       const std::vector<double>& after) {
    std::vector<double> change(free.size());
    double largest = 0.0;
    for (std::size_t i = 0; i < free.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      if (std::abs(direction[at]) < 1e-3) continue;
      change[i] = direction[at] * scale[at] * value_slope(variables_[free[i]].coordinate, best.x[free[i]]) /
                  std::abs(after[free[i]]);
      if (std::abs(change[i]) > std::abs(largest)) largest = change[i];
    }
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < free.size(); ++i)
      if (change[i] != 0.0)
        parts.push_back(fmt::format("{} {:+.3g} %", variables_[free[i]].name, change[i] / largest));
    return parts;
  }

  void compare(const std::vector<SquaresSearch>& searches, StageResult& result) {
    const auto& best = searches[result.best];
    const std::vector<double> there = numbers(best.x);
    for (std::size_t s = 0; s < searches.size(); ++s) {
      if (!searches[s].converged) continue;
      const std::vector<double> here = numbers(searches[s].x);
      bool same = true;
      for (std::size_t k = 0; k < here.size(); ++k)
        if (!std::isnan(deviations_[k]) && std::abs(here[k] - there[k]) > same_place * deviations_[k])
          same = false;
      result.starts[s].agrees = same && searches[s].point.cost - best.point.cost < 0.01;
    }
  }

  bool tell_residuals(const SquaresSearch& best, StageResult& result) {
    double total = 0.0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (!parts_[p].run) continue;
      const SensorSlopes run = parts_[p].run->at(numbers(best.x));
      result.failure = run.failure;
      if (!run.failure.empty()) return false;
      for (std::size_t s = 0; s < parts_[p].width(); ++s) total += tell_sensor(p, s, run, result);
    }
    for (std::size_t r = 0; r < responses_.size(); ++r) total += tell_response(r, numbers(best.x), result);
    result.chi_square = total / freedom();
    return true;
  }

  double tell_sensor(std::size_t p, std::size_t s, const SensorSlopes& run, StageResult& result) {
    const Part& part = parts_[p];
    SensorStatistics statistics;
    statistics.name = model_.outputs[part.record.sensors[s]].name;
    if (p > 0) statistics.name += fmt::format(", record {}", p + 1);
    std::vector<double> residuals;  // NaN where there is no reading
    double sum = 0.0, squares = 0.0;
    for (std::int64_t row = part.first; row < part.record.steps; ++row) {
      const double residual =
          (part.record.reading(row, s) - run.values[static_cast<std::size_t>(row) * part.width() + s]) /
          noise_[s];
      residuals.push_back(residual);
      if (std::isnan(residual)) {
        ++statistics.missing;
        continue;
      }
      ++statistics.used;
      sum += residual;
      squares += weight(residual) * residual * residual;
    }
    const double count = std::max(1.0, static_cast<double>(statistics.used));
    statistics.mean = sum / count;
    statistics.variance = squares / count;
    statistics.whiteness = whiteness(residuals);
    result.residual_rms.push_back(noise_[s] * std::sqrt(statistics.variance));
    result.sensors.push_back(statistics);
    return squares;
  }

  // Squared residuals over their noise. They are white if neighbours in frequency have nothing in common.
  double tell_response(std::size_t r, const std::vector<double>& now, StageResult& result) {
    const ResponseData& data = options_.responses[r];
    const FrequencyResponse::Result there = responses_[r].at(now, data.frequencies);
    SensorStatistics statistics;
    statistics.name = data.name();
    std::vector<double> residuals;
    double sum = 0.0, squares = 0.0, size = 0.0;
    for (const bool real : {true, false})
      for (std::size_t k = 0; k < data.values.size(); ++k) {
        const std::complex<double> difference = data.values[k] - there.values[k];
        const double part = real ? difference.real() : difference.imag(), residual = part / data.noise[k];
        residuals.push_back(residual);
        sum += residual;
        squares += weight(residual) * residual * residual;
        size += part * part;
      }
    statistics.used = static_cast<std::int64_t>(residuals.size());
    const auto count = static_cast<double>(residuals.size());
    statistics.mean = sum / count;
    statistics.variance = squares / count;
    statistics.whiteness = whiteness(residuals);
    result.sensors.push_back(statistics);
    result.residual_rms.push_back(std::sqrt(size / count));
    return squares;
  }

  // Chi-square of all readings, and of each sensor's, against what chance makes of the noise.
  void judge_residuals(StageResult& result) {
    const double share = freedom() / static_cast<double>(std::max<std::int64_t>(1, readings_));
    result.interval = chi_square_interval(by_chance, freedom());
    // Residuals that count less make chi-square smaller than the noise would.
    if (options_.robust > 0.0) result.interval.low = 0.0;
    if (!result.interval.contains(result.chi_square))
      result.misfit = fmt::format(
          "the residuals are {} than the noise: chi-square per degree of freedom is {:.4g}, and "
          "lies by chance between {:.4g} and {:.4g}",
          result.chi_square > 1.0 ? "larger" : "smaller", result.chi_square, result.interval.low,
          result.interval.high);
    double worst = std::max(1.0, result.chi_square > result.interval.high ? result.chi_square : 1.0);
    const double each = 1.0 - (1.0 - by_chance) / static_cast<double>(result.sensors.size());
    for (const SensorStatistics& s : result.sensors) {
      const double degrees = share * static_cast<double>(s.used);
      if (degrees < 1.0) continue;
      ChiSquareInterval interval = chi_square_interval(each, degrees);
      if (options_.robust > 0.0) interval.low = 0.0;
      const double chi_square = s.variance / share;
      if (interval.contains(chi_square)) continue;
      if (result.sensors.size() > 1) {
        if (!result.misfit.empty()) result.misfit += "; ";
        result.misfit += fmt::format("that of sensor '{}' is {:.4g}, and lies between {:.4g} and {:.4g}",
                                     s.name, chi_square, interval.low, interval.high);
      }
      if (chi_square > interval.high) worst = std::max(worst, chi_square);
    }
    if (worst <= 1.0) return;
    result.inflation = std::sqrt(worst);
    for (CalibratedParameter& p : result.parameters) p.deviation *= result.inflation;
  }

  void judge(const SquaresSearch& best, bool restarted, StageResult& result) {
    std::vector<std::string> elsewhere;
    for (const CalibrationStart& s : result.starts)
      if (s.converged && !s.agrees) elsewhere.push_back(fmt::format("{:.6g}", s.cost));
    if (!best.converged)
      result.failure = best.stopped;
    else if (!result.open.empty())
      result.failure = "the readings do not determine all parameters";
    else if (!elsewhere.empty() && !restarted)
      result.failure = fmt::format("the starts disagree: the best ends at a cost of {:.6g}, others at {}",
                                   best.point.cost, joined(elsewhere));
    if (!elsewhere.empty() && restarted)
      result.warnings.push_back(
          fmt::format("the first start ended at a cost of {:.6g}, another at {:.6g}: more starts are safer",
                      result.starts.front().cost, best.point.cost));
    for (std::size_t s = 0; s < result.starts.size(); ++s)
      if (!result.starts[s].converged && s != result.best && !restarted)
        result.warnings.push_back(fmt::format("start {}: {}", s + 1, result.starts[s].stopped));
    for (const SensorStatistics& s : result.sensors)
      if (s.whiteness < 1e-4)
        result.warnings.push_back(fmt::format(
            "the residuals of '{}' are not white: something that the model does not know is in them",
            s.name));
    for (const CalibratedParameter& p : result.parameters)
      if (p.at_bound)
        result.warnings.push_back(fmt::format("'{}' ended at a bound", model_.parameters[p.parameter].name));
  }

  const Model& model_;
  const CalibrationOptions& options_;
  std::vector<Variable> variables_;
  std::vector<Part> parts_;    // the record, then others
  std::vector<double> noise_;  // per sensor
  std::vector<SmoothRow> smooth_;
  std::vector<FrequencyResponse> responses_;
  std::int64_t readings_ = 0;
  std::vector<double> deviations_;  // at the best point
};

Coordinate coordinate_of(const Model& model, ModelUnknown unknown, double start) {
  if (unknown.coordinate != Coordinate::automatic) return unknown.coordinate;
  unknown.start = start;
  try {
    return chosen_coordinate(model, unknown);
  } catch (const ModelError&) {  // events, or no minimal form: most numbers divide something
    return start > 0.0 ? Coordinate::inverse : Coordinate::value;
  }
}

// What each stage is to find, as far as it can be found: faults of all stages together.
void check_stages(const Model& model, const Record& record, const std::vector<CalibrationStage>& stages) {
  FaultList faults;
  for (const CalibrationStage& stage : stages) {
    Place place = stage.place;
    if (place.file.empty()) place.file = model.file.string();
    if (stage.parameters.empty())
      faults.add(place, "T601", "there is nothing to calibrate",
                 {"name parameters: --parameters R_1,R_2, or [unknowns] in the model file"});
    for (int u : stage.parameters) {
      const ModelUnknown& unknown = model.unknowns[u];
      const ModelParameter& parameter = model.parameters[unknown.parameter];
      if (std::find(record.inputs.begin(), record.inputs.end(), parameter.name) != record.inputs.end())
        faults.add(place, "T605", fmt::format("'{}' is given by the record", parameter.name), {});
      if (!parameter.value.is_number())
        faults.add(place, "T605", fmt::format("'{}' follows from other parameters", parameter.name),
                   {"calibrate what it is made of"});
    }
    for (int s : stage.sensors)
      if (std::find(record.sensors.begin(), record.sensors.end(), s) == record.sensors.end())
        faults.add(place, "T603", fmt::format("the record has no readings of '{}'", model.outputs[s].name),
                   {});
  }
  faults.throw_if_any();
}

}  // namespace

CalibrationOptions calibration_options() {
  CalibrationOptions options;
  options.integration = as_the_model_says();
  return options;
}

bool CalibrationResult::consistent() const {
  return std::all_of(stages.begin(), stages.end(), [](const StageResult& s) { return s.misfit.empty(); });
}

double misfit_of(const Model& model, const Record& record, const std::vector<CalibrationStage>& stages,
                 CalibrationOptions options) {
  options.starts = 1;
  options.restart = false;
  double worst = 0.0;
  try {
    for (const StageResult& stage : calibrate(model, record, stages, options).stages)
      worst = std::max(worst, stage.found().path.empty() ? infinity : stage.chi_square);
  } catch (const ModelError&) {
    return infinity;
  }
  return worst;
}

bool CalibrationResult::good() const {
  return std::all_of(stages.begin(), stages.end(), [](const StageResult& s) { return s.failure.empty(); });
}

namespace {

// All at once: between the old and the new value of one number, others could break a component's bounds.
void set_found(Model& model, const StageResult& stage) {
  std::vector<int> parameters;
  std::vector<double> numbers;
  for (const CalibratedParameter& p : stage.parameters) {
    parameters.push_back(p.parameter);
    numbers.push_back(p.after);
  }
  set_parameters(model, parameters, numbers);
}

}  // namespace

CalibrationResult calibrate(const Model& model, const Record& record, std::vector<CalibrationStage> stages,
                            const CalibrationOptions& options) {
  if (stages.empty()) {
    CalibrationStage all;
    for (std::size_t k = 0; k < model.unknowns.size(); ++k)
      if (model.unknowns[k].varies == ModelUnknown::Varies::constant)
        all.parameters.push_back(static_cast<int>(k));
    stages.push_back(std::move(all));
  }
  check_stages(model, record, stages);
  if (record.start != 0.0) {  // the run begins with the record
    const Record moved = from_zero(record);
    for (CalibrationStage& stage : stages) {
      if (stage.from) *stage.from -= record.start;
      if (stage.to) *stage.to -= record.start;
    }
    CalibrationResult result = calibrate(with_time_origin(model, record.start), moved, stages, options);
    result.model = model;
    for (const StageResult& stage : result.stages) set_found(result.model, stage);
    return result;
  }
  CalibrationResult result{model, {}};
  std::vector<int> started;
  std::vector<double> starts;
  for (const CalibrationStage& stage : stages)
    for (int u : stage.parameters)
      if (const ModelUnknown& unknown = model.unknowns[u]; unknown.start) {
        started.push_back(unknown.parameter);
        starts.push_back(*unknown.start);
      }
  set_parameters(result.model, started, starts);
  for (std::size_t k = 0; k < stages.size(); ++k) {
    std::vector<Variable> variables;
    for (int u : stages[k].parameters) {
      Variable v;
      v.unknown = model.unknowns[u];
      const ModelParameter& parameter = result.model.parameters[v.unknown.parameter];
      v.name = parameter.name;
      v.start = parameter.number;
      v.coordinate = coordinate_of(result.model, v.unknown, v.start);
      variables.push_back(std::move(v));
    }
    const Model now = result.model;
    StageResult found = Stage(now, record, stages[k], std::move(variables), options).search();
    set_found(result.model, found);
    const bool failed = found.found().path.empty();
    result.stages.push_back(std::move(found));
    if (failed) break;
  }
  return result;
}

}  // namespace tellegen
