#include "tellegen/identifiability/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <set>

#include "tellegen/equations/system.h"
#include "tellegen/identifiability/follower.h"
#include "tellegen/model/units.h"
#include "tellegen/numeric/decompose.h"
#include "tellegen/numeric/exponential.h"

namespace tellegen {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::int64_t choose(std::int64_t n, std::int64_t k) {
  double count = 1.0;
  for (std::int64_t i = 1; i <= k; ++i)
    count = count * static_cast<double>(n - k + i) / static_cast<double>(i);
  return count > 1e15 ? std::int64_t{1} << 60 : std::llround(count);
}

// The linearised twin in units of its states' sizes.
struct Linear {
  Matrix transition, process, prior;
  Matrix candidates;  // [candidate]: d reading/d state over the noise
  Matrix beside;      // the same of sensors that are there
  Vector target;
};

Linear linearise(const Model& given, const PlacementOptions& options) {
  Model model = given;
  TwinOptions twin_options;
  twin_options.unknowns = options.unknowns;
  twin_options.plain = true;
  const Place place{model.file.string(), 0};
  for (ModelUnknown& unknown : model.unknowns) {
    unknown.coordinate = ModelUnknown::Coordinate::value;
    unknown.start.reset();
    unknown.lower.reset();
    unknown.upper.reset();
  }
  model.outputs.clear();
  const auto add = [&](const std::string& name, Expr value, double noise) {
    ModelOutput output;
    output.name = name;
    output.value = value;
    output.noise = noise;
    output.sensor = true;
    output.place = place;
    twin_options.sensors.push_back(static_cast<int>(model.outputs.size()));
    model.outputs.push_back(std::move(output));
  };
  for (const SensorCandidate& c : options.candidates) add(c.name, c.value, c.noise);
  for (const SensorCandidate& c : options.beside) add("~" + c.name, c.value, c.noise);
  add("~target", options.target.value, 1.0);
  TwinModel twin(model, twin_options);

  Vector x = twin.start();
  double t = 0.0;
  if (!twin.constant_slopes() && options.until > 0.0) {
    ReadingTimes times;
    times.step = options.step;
    times.steps = std::max<std::int64_t>(1, std::llround(options.until / options.step)) + 1;
    times.weights.assign(static_cast<std::size_t>(times.steps) * twin.sensors(), 0.0);
    if (const auto followed = Follower(twin, times, options.step).from(x)) {
      x = followed->end;
      t = options.until;
    }
  }
  TwinPoint point;
  if (!twin.evaluate(x, t, nullptr, nullptr, point))
    throw SimulationError("the model cannot be linearised at the end of its run", t);
  const auto n = x.size();
  Vector size(n);
  Matrix noise = Matrix::Zero(n, n);
  for (Eigen::Index k = 0; k < n; ++k) {
    const TwinState& state = twin.states()[static_cast<std::size_t>(k)];
    size[k] = state.deviation > 0.0 ? state.deviation : x[k] != 0.0 ? std::abs(x[k]) : 1.0;
    noise(k, k) = state.noise * state.noise / (size[k] * size[k]);
  }
  if (noise.diagonal().maxCoeff() == 0.0)
    throw ModelError({place,
                      "T616",
                      "nothing disturbs the model, so in the end any sensor would determine everything",
                      {"say in [unknowns] what varies: Q = { walk = \"1 W\", over = \"1 ms\" }",
                       "or in [estimate.states] what disturbs the states: \"*.T\" = { noise = \"0.1 K\" }"}});
  const Matrix rates = size.cwiseInverse().asDiagonal() * point.by_state * size.asDiagonal();
  Linear linear;
  linear.transition = exponential(rates * options.step);
  linear.process = process_of_step(rates, noise, options.step);
  linear.prior = Matrix::Identity(n, n);
  const Matrix slopes = point.readings_by_state * size.asDiagonal();
  const auto count = static_cast<Eigen::Index>(options.candidates.size());
  linear.candidates = slopes.topRows(count);
  for (Eigen::Index k = 0; k < count; ++k)
    linear.candidates.row(k) /= options.candidates[static_cast<std::size_t>(k)].noise;
  const auto beside = static_cast<Eigen::Index>(options.beside.size());
  linear.beside = slopes.middleRows(count, beside);
  for (Eigen::Index k = 0; k < beside; ++k)
    linear.beside.row(k) /= options.beside[static_cast<std::size_t>(k)].noise;
  linear.target = slopes.row(count + beside).transpose();
  return linear;
}

// Directions that neither fade nor show in the readings, orthonormal columns. Directions that join them in
// the course of time (the slope of an integrated walk) appear once these are left out.
Matrix hidden_forever(const Matrix& transition, const Matrix& readings) {
  const auto n = transition.rows();
  if (n == 0) return Matrix(0, 0);
  std::vector<std::complex<double>> lasting;
  for (std::complex<double> value : eigenvalues(transition)) {
    if (std::abs(value) < 1.0 - 1e-10 || value.imag() < 0.0) continue;
    if (std::abs(value - 1.0) < 1e-6) value = 1.0;
    if (std::none_of(lasting.begin(), lasting.end(), [&](auto v) { return std::abs(v - value) < 1e-9; }))
      lasting.push_back(value);
  }
  Matrix found(n, 0);
  for (const std::complex<double> value : lasting) {
    // (transition - value) (x + iy) = 0 and readings (x + iy) = 0, in real numbers: rows for both parts.
    // Where the value is real, so is the direction, and one part does.
    const auto m = readings.rows();
    const Eigen::Index parts = value.imag() == 0.0 ? 1 : 2;
    Matrix test = Matrix::Zero(parts * (n + m), parts * n);
    for (Eigen::Index part = 0; part < parts; ++part) {
      test.block(part * n, part * n, n, n) = transition - value.real() * Matrix::Identity(n, n);
      if (parts == 2)
        test.block(part * n, (1 - part) * n, n, n)
            .diagonal()
            .setConstant(part == 0 ? value.imag() : -value.imag());
      test.block(parts * n + part * m, part * n, m, n) = readings;
    }
    const double moves = test.topRows(parts * n).norm(), seen = readings.norm();
    if (moves > 0.0) test.topRows(parts * n) /= moves;
    if (seen > 0.0) test.bottomRows(parts * m) /= seen;
    const Singular svd = singular(test);
    for (Eigen::Index k = 0; k < parts * n; ++k) {
      if (k < svd.values.size() && svd.values[k] > 1e-9) continue;
      for (Eigen::Index which = 0; which < parts; ++which) {
        const Vector part = svd.v.col(k).segment(which * n, n);
        // What is new in it.
        const Vector rest = part - found * (found.transpose() * part);
        if (rest.norm() < 1e-6) continue;
        found.conservativeResize(n, found.cols() + 1);
        found.col(found.cols() - 1) = rest / rest.norm();
      }
    }
  }
  return found;
}

// Choices, each judged once.
class Search {
 public:
  explicit Search(const Linear& linear)
      : linear_(linear), filter_(linear.transition, linear.process, linear.prior) {}

  const LongRunCovariance::Answer& of(std::vector<int> choice) {
    std::sort(choice.begin(), choice.end());
    const auto found = seen_.find(choice);
    if (found != seen_.end()) return found->second;
    Matrix readings(static_cast<Eigen::Index>(choice.size()) + linear_.beside.rows(),
                    linear_.transition.rows());
    readings.bottomRows(linear_.beside.rows()) = linear_.beside;
    for (std::size_t k = 0; k < choice.size(); ++k)
      readings.row(static_cast<Eigen::Index>(k)) = linear_.candidates.row(choice[k]);
    return seen_.emplace(std::move(choice), filter_.of(linear_.target, readings)).first->second;
  }
  bool better(const std::vector<int>& a, const std::vector<int>& b) { return less(of(a), of(b)); }
  static bool less(const LongRunCovariance::Answer& a, const LongRunCovariance::Answer& b) {
    if (a.deviation != b.deviation) return a.deviation < b.deviation;
    return a.deviation == infinite && a.order < b.order;
  }
  const auto& seen() const { return seen_; }

  // `from`: positions of candidates.
  void all(const std::vector<int>& from, int count) {
    const auto candidates = static_cast<int>(from.size());
    std::vector<int> choice(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) choice[static_cast<std::size_t>(k)] = k;
    for (;;) {
      std::vector<int> named;
      for (int k : choice) named.push_back(from[static_cast<std::size_t>(k)]);
      of(named);
      int k = count - 1;
      while (k >= 0 && choice[static_cast<std::size_t>(k)] == candidates - count + k) --k;
      if (k < 0) return;
      ++choice[static_cast<std::size_t>(k)];
      for (int j = k + 1; j < count; ++j)
        choice[static_cast<std::size_t>(j)] = choice[static_cast<std::size_t>(j - 1)] + 1;
    }
  }

  void greedy(const std::vector<int>& from, int count) {
    std::vector<int> choice;
    const auto taken = [&](int k) { return std::find(choice.begin(), choice.end(), k) != choice.end(); };
    while (static_cast<int>(choice.size()) < count) {
      std::vector<int> best;
      for (int k : from) {
        if (taken(k)) continue;
        std::vector<int> next = choice;
        next.push_back(k);
        if (best.empty() || better(next, best)) best = next;
      }
      choice = best;
    }
    for (bool improved = true; improved;) {
      improved = false;
      for (std::size_t at = 0; at < choice.size(); ++at)
        for (int k : from) {
          if (taken(k)) continue;
          std::vector<int> next = choice;
          next[at] = k;
          if (better(next, choice)) {
            choice = next;
            improved = true;
          }
        }
    }
  }

 private:
  const Linear& linear_;
  LongRunCovariance filter_;
  std::map<std::vector<int>, LongRunCovariance::Answer> seen_;
};

}  // namespace

Matrix process_of_step(const Matrix& rates, const Matrix& noise, double step) {
  // Simpson's rule over a part of the step that is short against everything, then doubled.
  const double size = rates.cwiseAbs().rowwise().sum().maxCoeff() * step;
  int halvings = 0;
  for (double s = size; s > 0.01; s /= 2.0) ++halvings;
  const double part = std::ldexp(step, -halvings);
  Matrix transition = exponential(rates * part);
  const Matrix half = exponential(rates * (part / 2.0));
  Matrix process =
      part / 6.0 *
      (noise + 4.0 * half * noise * half.transpose() + transition * noise * transition.transpose());
  for (int k = 0; k < halvings; ++k) {
    process += (transition * process * transition.transpose()).eval();
    transition = (transition * transition).eval();
  }
  return process;
}

LongRunCovariance::LongRunCovariance(Matrix transition, Matrix process, Matrix prior)
    : transition_(std::move(transition)), process_(std::move(process)), prior_(std::move(prior)) {}

LongRunCovariance::Answer LongRunCovariance::of(Vector target, Matrix readings) const {
  constexpr int long_time = 16, longest = 60;
  Matrix a = transition_, h = process_, prior = prior_;
  bool told = true;
  for (;;) {
    const Matrix hidden = hidden_forever(a, readings);
    if (hidden.cols() == 0) break;
    if ((hidden.transpose() * target).norm() > 1e-8 * target.norm()) {
      told = false;
      break;
    }
    // What is left when nobody asks for these directions.
    const Matrix rest = orthogonal(hidden, a.rows()).rightCols(a.rows() - hidden.cols());
    a = (rest.transpose() * a * rest).eval();
    h = (rest.transpose() * h * rest).eval();
    prior = (rest.transpose() * prior * rest).eval();
    target = (rest.transpose() * target).eval();
    readings = (readings * rest).eval();
  }
  const auto n = a.rows();
  const Matrix one = Matrix::Identity(n, n), information = readings.transpose() * readings;
  Matrix g = information;
  const auto symmetric = [](const Matrix& m) -> Matrix { return 0.5 * (m + m.transpose()); };
  Answer answer{infinite, 0.0};
  double last = -1.0;
  int settled = 0;
  for (int k = 0; k < longest; ++k) {
    // 2^k steps from the prior, then one reading.
    const Matrix predicted = symmetric(h + a * prior * solve(one + g * prior, a.transpose()));
    const Matrix known = predicted * inverse(one + information * predicted);
    const double variance = target.dot(symmetric(known) * target);
    if (!std::isfinite(variance)) return answer;
    if (k <= long_time) answer.order = variance;
    if (!told && k == long_time) return answer;
    settled = std::abs(variance - last) <= 1e-9 * std::abs(variance) || variance <= 0.0 ? settled + 1 : 0;
    if (settled >= 3 && k >= 12) {
      answer.deviation = std::sqrt(std::max(0.0, variance));
      return answer;
    }
    last = variance;
    // Twice the same.
    const Matrix hg = inverse(one + h * g), ha = hg * a, hh = hg * h;
    const Matrix gg = solve(one + g * h, g);
    const Matrix next_h = symmetric(h + a * hh * a.transpose());
    const Matrix next_g = symmetric(g + a.transpose() * gg * a);
    a = a * ha;
    g = next_g;
    h = next_h;
  }
  // Neither settled nor growing: constants that are known better with every reading.
  if (last >= 0.0 && last < answer.order * (1.0 + 1e-6)) answer.deviation = std::sqrt(last);
  return answer;
}

double candidate_noise(const Model& model, const std::string& name, const std::string& unit, double noise) {
  if (noise > 0.0) return noise;
  double largest = 0.0;
  for (const ModelOutput& o : model.outputs) {
    if (!o.sensor || !o.noise) continue;
    std::string own = o.unit;
    if (own.empty() && o.value.is_symbol())
      if (const auto ref = find_variable(model, o.value.name())) own = variable_unit(model, *ref);
    if (own == unit || (!own.empty() && !unit.empty() && units().convertible(own, unit)))
      largest = std::max(largest, *o.noise);
  }
  if (!(largest > 0.0))
    throw ModelError({{model.file.string(), 0},
                      "T612",
                      fmt::format("nothing says how noisy a sensor at '{}' would be", name),
                      {"give --noise, its standard deviation"}});
  return largest;
}

std::vector<SensorCandidate> default_candidates(const Model& model, Expr target, double noise) {
  std::vector<SensorCandidate> found;
  std::set<Expr> taken{expand_names(model, target)};
  for (const ModelOutput& o : model.outputs) {
    if (!o.sensor || !taken.insert(expand_names(model, o.value)).second) continue;
    found.push_back({o.name, o.unit, o.value,
                     o.noise && *o.noise > 0.0 ? *o.noise : candidate_noise(model, o.name, o.unit, noise)});
  }
  const std::size_t own = found.size();
  for (std::size_t k = 0; k < model.nodes.size(); ++k) {
    const ModelNode& node = model.nodes[k];
    if (node.datum || node.component >= 0) continue;
    const std::string name =
        variable_name(model, {.what = VariableRef::What::node, .node = static_cast<int>(k)});
    const Expr value = model.pool->symbol(name);
    const auto ref = find_variable(model, name);
    if (!ref || !taken.insert(expand_names(model, value)).second) continue;
    // Other domains than the sensors': only where their noise is given.
    const std::string unit = variable_unit(model, *ref);
    double deviation = 0.0;
    try {
      deviation = candidate_noise(model, name, unit, noise);
    } catch (const ModelError&) {
      if (own == 0) throw;
      continue;
    }
    found.push_back({name, unit, value, deviation});
  }
  return found;
}

Placement place_sensors(const Model& model, const PlacementOptions& options) {
  const auto check = [&](std::size_t candidates, std::string_view which) {
    if (options.count < 1 || static_cast<std::size_t>(options.count) > candidates)
      throw ModelError(
          {{model.file.string(), 0},
           "T615",
           fmt::format("{} sensors cannot be placed on {} candidates{}", options.count, candidates, which),
           {"place fewer, or name more with --candidates"}});
  };
  check(options.candidates.size(), "");
  const Linear linear = linearise(model, options);
  // What is held, or nothing unknown moves, is no place for a sensor.
  std::vector<int> useful;
  for (int k = 0; k < static_cast<int>(options.candidates.size()); ++k)
    if (linear.candidates.row(k).norm() > 0.0) useful.push_back(k);
  check(useful.size(), " that show anything");
  Search search(linear);
  Placement placement;
  placement.without = search.of({}).deviation;
  for (int k = 0; k < static_cast<int>(options.candidates.size()); ++k)
    placement.alone.push_back(search.of({k}).deviation);
  placement.all_tried =
      choose(static_cast<std::int64_t>(useful.size()), options.count) <= options.most_choices;
  if (placement.all_tried)
    search.all(useful, options.count);
  else
    search.greedy(useful, options.count);

  std::vector<std::pair<LongRunCovariance::Answer, std::vector<int>>> order;
  for (const auto& [choice, answer] : search.seen())
    if (static_cast<int>(choice.size()) == options.count &&
        std::all_of(choice.begin(), choice.end(),
                    [&](int k) { return linear.candidates.row(k).norm() > 0.0; }))
      order.emplace_back(answer, choice);
  placement.tried = static_cast<std::int64_t>(order.size());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return Search::less(a.first, b.first); });
  for (const auto& [answer, choice] : order) {
    if (placement.best.size() == options.shown) break;
    placement.best.push_back({choice, answer.deviation});
  }
  return placement;
}

}  // namespace tellegen
