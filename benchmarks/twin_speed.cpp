// How long a step of an estimator takes: generated code beside a filter written by hand for the one model,
// and a soak of many steps with all that goes wrong with sensors.
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cmath>

#include "benchmarks/best_of.h"
#include "benchmarks/limit_filter.h"
#include "benchmarks/twin.h"
#include "runtime/tellegen_math.h"
#include "tellegen/estimate/filter_program.h"
#include "tellegen/numeric/decompose.h"
#include "tellegen/records/choice.h"

namespace tellegen {
namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();

struct SpeedCase {
  std::string name, truth, twin;
  std::vector<std::string> sensors, unknowns;
  double walk;        // W in one step of 1 ms
  double laptop, pi;  // published, ms
};

Model twin_of(const SpeedCase& c) {
  Model model = benchmark_model(c.twin);
  model.estimation.unknowns = unknowns_named(model, c.unknowns);
  model.estimation.sensors = sensors_named(model, c.sensors);
  for (int k : model.estimation.unknowns) {
    ModelUnknown& u = model.unknowns[k];
    u.varies = ModelUnknown::Varies::walk;
    u.walk = c.walk / std::sqrt(1e-3);
    u.lower.reset(), u.upper.reset();
    u.coordinate = ModelUnknown::Coordinate::value;
    u.start = model.parameters[u.parameter].number;
    u.deviation = 30.0;
  }
  if (model.estimation.states.empty()) {
    ModelEstimation::State all;
    all.pattern = "*";
    all.deviation = 1.0;
    model.estimation.states.push_back(all);
  }
  return model;
}

TwinOptions twin_options(const Model& model) {
  TwinOptions options;
  options.sensors = model.estimation.sensors;
  options.unknowns = model.estimation.unknowns;
  return options;
}

// The same filter for the hand-written code, from the model's numbers.
LimitFilterProblem by_hand(TwinModel& twin, const FilterProgram& program, double step) {
  LimitFilterProblem problem;
  const auto n = static_cast<long>(twin.size()), m = static_cast<long>(twin.sensors());
  problem.states = static_cast<int>(n);
  problem.sensors = static_cast<int>(m);
  TwinPoint point;
  twin.evaluate(Vector::Zero(n), 0.0, nullptr, nullptr, point);
  Matrix phi;
  program.transition(program.memory().data(), phi);
  // x(t + h) from x = 0, the sources constant: twice half a step would be the same.
  std::vector<double> w = program.memory();
  program.prepare(w.data());
  std::fill(w.begin(), w.begin() + static_cast<long>(program.width()), 0.0);
  program.predict(w.data(), 0.0, nullptr, nullptr);
  const Vector start = twin.start();
  const Matrix p = twin.start_covariance();
  for (long i = 0; i < n; ++i) {
    problem.g.push_back(w[static_cast<std::size_t>(i)]);
    const double noise = twin.states()[static_cast<std::size_t>(i)].noise;
    problem.q.push_back(noise * noise * step);
    problem.x.push_back(start[i]);
    for (long j = 0; j < n; ++j) problem.phi.push_back(phi(i, j)), problem.p.push_back(p(i, j));
  }
  for (long s = 0; s < m; ++s) {
    for (long j = 0; j < n; ++j) problem.h.push_back(point.readings_by_state(s, j));
    problem.d.push_back(point.readings[s]);
    problem.r.push_back(twin.noise()[static_cast<std::size_t>(s)] *
                        twin.noise()[static_cast<std::size_t>(s)]);
  }
  return problem;
}

const std::vector<SpeedCase>& speed_cases() {
  static const std::vector<SpeedCase> list{{"RC, state",
                                            "rc-thermal/network-sine.toml",
                                            "rc-thermal/network.toml",
                                            {"S2", "S3"},
                                            {"Q0"},
                                            1.0,
                                            58.4,
                                            317.4},
                                           {"inverter, case 1",
                                            "inverter/model.toml",
                                            "inverter/model.toml",
                                            {"S1", "S2", "S3"},
                                            {"Q_u", "Q_v", "Q_w"},
                                            3.0,
                                            167.9,
                                            847.9}};
  return list;
}

// Three resistances of the network unknown: a step linearises the model anew. Behind the interface of all
// filters, one call for the prediction and one for the correction.
void nonlinear_speed(Report& report) {
  TextTable table{{"estimator", "states", "sensors", "generated, ns a step", "matrices, ns a step", "ratio"},
                  {}};
  Model model = benchmark_model("rc-thermal/network.toml");
  model.estimation.unknowns = unknowns_named(model, {"R1", "R2", "R3"});
  model.estimation.sensors = sensors_named(model, {"S1", "S3"});
  const Truth truth = simulate_truth(model, 5.0, 1e-3);
  const Record record = noisy_record(model, truth, {"S1", "S3"}, 7);
  TwinModel twin(model, twin_options(model));
  for (const std::string name : {"ekf", "pkf"}) {
    FilterOptions options;
    options.step = record.step;
    const auto generated = find_estimator(name, {}).make(twin, options);
    options.generate = false;
    const auto matrices = find_estimator(name, {}).make(twin, options);
    Innovations out{std::vector<double>(twin.sensors()), std::vector<double>(twin.sensors()),
                    std::vector<char>(twin.sensors()), 0.0};
    const auto follow = [&](Filter& filter) {
      for (std::int64_t row = 0; row < record.steps; ++row) {
        const double t = record.step * static_cast<double>(row);
        if (row > 0) filter.predict(t - record.step, nullptr, nullptr);
        filter.correct(t, nullptr, record.readings.data() + row * static_cast<std::int64_t>(twin.sensors()),
                       out);
      }
    };
    const Belief begin = generated->save();
    follow(*generated);
    follow(*matrices);
    const Vector apart = (generated->mean() - matrices->mean()).cwiseQuotient(matrices->mean()).cwiseAbs();
    if (!report.require(
            apart.maxCoeff() < 1e-8,
            fmt::format("{}, nonlinear: generated and matrices agree ({:.1e})", name, apart.maxCoeff())))
      continue;
    const auto time_of = [&](Filter& filter) {
      return 1e9 / static_cast<double>(record.steps) *
             best_of(
                 [&] {
                   filter.restore(begin);
                   follow(filter);
                 },
                 0.3);
    };
    const double one = time_of(*generated), other = time_of(*matrices);
    table.rows.push_back({name, cell(static_cast<std::int64_t>(twin.size())),
                          cell(static_cast<std::int64_t>(twin.sensors())), cell(one), cell(other),
                          cell(one / other)});
    if (name == "ekf")
      report.add({"ekf, nonlinear: microseconds a step", 1e-3 * one, 1.0, false, "whole step, one core"});
  }
  report.table("A step with unknown resistances", table);
}

}  // namespace

void twin_speed(Report& report, const TwinBenchmarkOptions&) {
  report.begin({"speed", "5 s of readings at 1 ms, one core", "states and covariance at the end",
                "1e-9 relative between generated code, its interpreter and the filter written by hand"});
  TextTable table{{"problem", "states", "sensors", "generated, ns a step", "by hand, ns a step", "ratio",
                   "5 s, ms", "published laptop, ms", "Raspberry Pi 4, ms"},
                  {}};
  for (const SpeedCase& c : speed_cases()) {
    const Model model = twin_of(c);
    const Truth truth = simulate_truth(benchmark_model(c.truth), 5.0, 1e-3);
    const Record record = noisy_record(model, truth, c.sensors, 7);
    TwinModel twin(model, twin_options(model));
    FilterOptions options;
    options.step = record.step;
    const Vector noise = [&] {
      Vector q(static_cast<long>(twin.size()));
      for (std::size_t k = 0; k < twin.size(); ++k)
        q[static_cast<long>(k)] = twin.states()[k].noise * twin.states()[k].noise * record.step;
      return q;
    }();
    FilterProgram program(twin, options, noise, FilterFormulas::Method::one_by_one, true);
    const auto rows = static_cast<long>(record.steps);
    std::vector<double> innovations(2 * record.readings.size());
    const auto led = [&] {
      std::vector<double> w = program.memory();
      program.prepare(w.data());
      program.run(w.data(), rows, 0.0, record.step, record.readings.data(), innovations.data());
      return w;
    };
    const std::vector<double> interpreted = led();
    program.compile();
    const std::vector<double> compiled = led();
    const LimitFilterRun hand = limit_filter(by_hand(twin, program, record.step), record.readings, 0.3);
    double worst = 0.0;
    bool same = true;
    std::size_t at = twin.size();
    for (std::size_t i = 0; i < twin.size(); ++i) {
      worst = std::max(worst, std::abs(compiled[i] - hand.x[i]) / std::abs(hand.x[i]));
      for (std::size_t j = i; j < twin.size(); ++j, ++at) {
        const double size = std::sqrt(hand.p[i * twin.size() + i] * hand.p[j * twin.size() + j]);
        worst = std::max(worst, std::abs(compiled[at] - hand.p[i * twin.size() + j]) / size);
        same = same && compiled[at] == interpreted[at];
      }
    }
    if (!report.require(worst < 1e-9,
                        fmt::format("{}: generated and hand-written agree ({:.1e})", c.name, worst)) ||
        !report.require(same || !program.compiled(),
                        fmt::format("{}: compiled and interpreted agree to the last bit", c.name)))
      continue;
    std::vector<double> w = program.memory();
    program.prepare(w.data());
    const std::vector<double> begin = w;
    const double seconds = best_of(
        [&] {
          std::copy(begin.begin(), begin.end(), w.begin());
          program.run(w.data(), rows, 0.0, record.step, record.readings.data(), innovations.data());
        },
        0.3);
    const double ns = 1e9 / static_cast<double>(rows);
    table.rows.push_back({c.name, cell(static_cast<std::int64_t>(twin.size())),
                          cell(static_cast<std::int64_t>(twin.sensors())), cell(ns * seconds),
                          cell(ns * hand.seconds), cell(seconds / hand.seconds), cell(1e3 * seconds),
                          cell(c.laptop, 4), cell(c.pi, 4)});
    report.add({c.name + ": over a filter by hand", seconds / hand.seconds, 2.5, false,
                "whole step, one core, side by side"});
  }
  report.table("A step of the estimator", table);
  report.note(
      "published times: laptop i7-9750H and Raspberry Pi 4, [Rodriguez et al. 2021], tables 3 and 8; another "
      "machine, so no ratio");
  nonlinear_speed(report);
}

// Readings of a plant that does what the filter believes of it: disturbed by the same noise.
void twin_soak(Report& report, const TwinBenchmarkOptions& options) {
  const auto steps = options.soak_steps;
  report.begin(
      {"soak",
       fmt::format("inverter, {} steps of 1 ms; 20 % of readings lost, bursts without any, stuck sensors",
                   steps),
       "the estimate against the plant", "covariance positive; at most 1e-5 of the estimates outside 5 sd"});
  const SpeedCase& c = speed_cases()[1];
  const Model model = twin_of(c);
  TwinModel twin(model, twin_options(model));
  FilterOptions filter;
  filter.step = 1e-3;
  Vector q(static_cast<long>(twin.size()));
  for (std::size_t k = 0; k < twin.size(); ++k)
    q[static_cast<long>(k)] = twin.states()[k].noise * twin.states()[k].noise * filter.step;
  FilterProgram program(twin, filter, q);
  program.compile();
  const auto n = static_cast<long>(twin.size());
  const auto m = twin.sensors();
  const LimitFilterProblem plant = by_hand(twin, program, filter.step);
  Matrix phi;
  program.transition(program.memory().data(), phi);
  std::vector<double> w = program.memory(), y(m), nu(m), s(m), x(static_cast<std::size_t>(n)), next(x.size()),
                      held(m, nan);
  program.prepare(w.data());
  std::int64_t outside = 0, checked = 0, missing = 0, stuck = 0, negative = 0;
  std::vector<int> burst(m, 0), stuck_left(m, 0), same(m, 0);
  std::vector<double> last(m, nan);
  double smallest = std::numeric_limits<double>::infinity();
  std::uint64_t random = 88172645463325252ull;
  const auto uniform = [&] {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    return static_cast<double>(random >> 11) * 0x1p-53;
  };
  // Sums of uniform numbers would have too short tails for 5 sd: Box and Muller.
  double spare = nan;
  const auto gauss = [&] {
    if (!std::isnan(spare)) return std::exchange(spare, nan);
    const double a = std::sqrt(-2.0 * std::log(1.0 - uniform())), b = 2.0 * M_PI * uniform();
    spare = a * std::sin(b);
    return a * std::cos(b);
  };
  const auto draw = [&] {
    for (long i = 0; i < n; ++i)
      x[static_cast<std::size_t>(i)] = plant.x[static_cast<std::size_t>(i)] +
                                       std::sqrt(plant.p[static_cast<std::size_t>(i * n + i)]) * gauss();
  };
  const std::size_t memory_before = mallinfo2().uordblks;
  const auto start = std::chrono::steady_clock::now();
  draw();
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step > 0) {
      for (long i = 0; i < n; ++i) {
        double sum = plant.g[static_cast<std::size_t>(i)];
        for (long j = 0; j < n; ++j) sum += phi(i, j) * x[static_cast<std::size_t>(j)];
        next[static_cast<std::size_t>(i)] = sum + std::sqrt(plant.q[static_cast<std::size_t>(i)]) * gauss();
      }
      x.swap(next);
      program.predict(w.data(), 0.0, nullptr, nullptr);
    }
    for (std::size_t r = 0; r < m; ++r) {
      double reading = plant.d[r] + std::sqrt(plant.r[r]) * gauss();
      for (long j = 0; j < n; ++j)
        reading += plant.h[r * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)] *
                   x[static_cast<std::size_t>(j)];
      if (burst[r] > 0)
        --burst[r], reading = nan;
      else if (uniform() < 1e-4)
        burst[r] = 200, reading = nan;
      if (stuck_left[r] > 0)
        --stuck_left[r], reading = held[r];
      else if (uniform() < 1e-5)
        stuck_left[r] = 1000, held[r] = reading;
      if (uniform() < 0.2) reading = nan;
      // A sensor whose readings do not change is stuck: two equal ones never happen to a noisy sensor.
      if (!std::isnan(reading) && reading == last[r])
        ++stuck, reading = nan;
      else if (!std::isnan(reading))
        last[r] = reading;
      missing += std::isnan(reading);
      y[r] = reading;
    }
    program.correct(w.data(), 0.0, nullptr, y.data(), nu.data(), s.data());
    std::size_t at = static_cast<std::size_t>(n);
    for (long i = 0; i < n; ++i) {
      const double variance = w[at];
      at += static_cast<std::size_t>(n - i);
      negative += !(variance > 0.0);
      const double e = w[static_cast<std::size_t>(i)] - x[static_cast<std::size_t>(i)];
      outside += e * e > 25.0 * variance;
      ++checked;
    }
    if (step % 50'000 == 49'999) {  // all of it, now and then
      Matrix p(n, n);
      const double* entry = w.data() + n;
      for (long i = 0; i < n; ++i)
        for (long j = i; j < n; ++j) p(i, j) = p(j, i) = *entry++;
      const Vector scale = p.diagonal().cwiseSqrt().cwiseInverse();
      smallest =
          std::min(smallest, symmetric_eigen(scale.asDiagonal() * p * scale.asDiagonal()).values.minCoeff());
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::size_t memory_after = mallinfo2().uordblks;
  const double part = static_cast<double>(outside) / static_cast<double>(checked);
  TextTable table{{"steps", "readings missing, %", "stuck", "outside 5 sd", "variances not positive",
                   "smallest eigenvalue (scaled)", "memory grown, bytes", "seconds"},
                  {}};
  table.rows.push_back(
      {cell(steps),
       cell(100.0 * static_cast<double>(missing) / static_cast<double>(steps * static_cast<std::int64_t>(m))),
       cell(stuck), cell(part), cell(negative), cell(smallest),
       cell(static_cast<std::int64_t>(memory_after) - static_cast<std::int64_t>(memory_before)),
       cell(seconds)});
  report.table("Soak", table);
  report.require(negative == 0 && !(smallest <= 0.0), "the covariance stays positive");
  report.require(memory_after <= memory_before + 4096, "no memory is allocated on the way");
  report.add({"soak: estimates outside 5 sd", part, 1e-5, false, fmt::format("{} steps, 20 % loss", steps)});
}

}  // namespace tellegen
