// The RC benchmark of [Rodriguez et al. 2021], section III: four scenarios in the paper's form (states, rates
// and unknowns; equations as readings without noise) and in the better one (unknowns in the coordinate in
// which they enter linearly).
#include <fmt/format.h>

#include <cmath>

#include "benchmarks/twin.h"
#include "tellegen/estimate/coordinate.h"

namespace tellegen {
namespace {

// Cramer-Rao bounds of a record of 5 s, of a start that is known.
constexpr double bound_r[] = {0.00096, 0.00108, 0.00093};
constexpr double bound_c[] = {0.00023, 0.00058};

// Starting covariances are 10 in SI units, of the unknown in the paper's form and of its coordinate in the
// better one.
Model rc_model(const std::vector<std::string>& unknowns, double rate_noise, bool plain) {
  Model model = benchmark_model("rc-thermal/network.toml");
  model.estimation.unknowns.clear();
  for (const std::string& name : unknowns)
    for (std::size_t k = 0; k < model.unknowns.size(); ++k)
      if (model.parameters[model.unknowns[k].parameter].name == name)
        model.estimation.unknowns.push_back(static_cast<int>(k));
  if (!plain)
    for (ModelUnknown& u : model.unknowns)
      if (chosen_coordinate(model, u) == ModelUnknown::Coordinate::inverse)
        u.deviation = std::sqrt(10.0) * *u.start * *u.start;
  // The paper's process noise is a variance for each step of 1 ms.
  for (ModelEstimation::State& s : model.estimation.states) s.rate_noise = std::sqrt(rate_noise / 1e-3);
  return model;
}

Estimate run_estimator(const Model& model, const Record& record, const std::string& estimator, int passes = 1,
                       bool smooth = false) {
  EstimateOptions options;
  options.estimator = estimator;
  options.passes = passes;
  options.smooth = smooth;
  return estimate(model, record, options);
}

// First time from which on the unknown stays within a part of its true value.
double settled(const Estimate& e, std::string_view name, double truth, double part) {
  std::size_t q = 0;
  while (e.quantities[q].name != name) ++q;
  double since = 0.0;
  for (std::size_t row = 0; row < e.t.size(); ++row)
    if (std::abs(e.mean[row * e.quantities.size() + q] - truth) > part * truth) since = e.t[row];
  return since;
}

void resistances(Report& report, int seeds) {
  report.begin({"resistances", "10 W, sensors at nodes 1, 2, 3, 5 s at 1 ms; from 10, 10, 10 K/W",
                "R1, R2, R3 at the end, K/W", "1 % of the true values"});
  const Truth truth = simulate_truth(benchmark_model("rc-thermal/network.toml"), 5.0, 1e-3);
  TextTable table{
      {"form", "unknown", "RMS error", "worst", "of Cramer-Rao", "1 % at s, worst", "mean reported sd"}, {}};
  const double values[] = {1.0, 2.0, 3.0};
  const char* names[] = {"R1", "R2", "R3"};
  for (const std::string form : {"ekf-perfect", "ekf", "ukf"}) {
    const Model model = rc_model({"R1", "R2", "R3"}, 1.0, form == "ekf-perfect");
    OverSeeds errors[3], deviations[3];
    double late[3] = {};
    bool good = true;
    for (int seed = 1; seed <= seeds; ++seed) {
      const Estimate e = run_estimator(
          model, noisy_record(model, truth, {"S1", "S2", "S3"}, static_cast<unsigned>(seed)), form);
      good = good && e.failure.empty();
      if (!e.failure.empty()) {
        report.note(fmt::format("{}, record {}: {}", form, seed, e.failure));
        continue;
      }
      for (int k = 0; k < 3; ++k) {
        errors[k].add(last_of(e, names[k]) - values[k]);
        deviations[k].add(last_deviation_of(e, names[k]));
        late[k] = std::max(late[k], settled(e, names[k], values[k], 0.01));
      }
    }
    for (int k = 0; k < 3; ++k)
      table.rows.push_back({form, names[k], cell(errors[k].rms()), cell(errors[k].worst),
                            cell(errors[k].rms() / bound_r[k]), cell(late[k]), cell(deviations[k].rms())});
    if (form == "ukf") continue;
    double worst = 0.0, ratio = 0.0, latest = 0.0;
    for (int k = 0; k < 3; ++k) {
      worst = std::max(worst, errors[k].rms());
      ratio = std::max(ratio, errors[k].rms() / bound_r[k]);
      latest = std::max(latest, late[k]);
    }
    report.require(good && worst < 0.01, form + ": resistances are found");
    report.add({form + ": error of R, K/W", worst, 0.003, false,
                fmt::format("RMS over {} records, the largest of three", seeds)});
    report.add({form + ": within 1 %, s", latest, 2.0, false, "the last of three, worst record"});
    if (form == "ekf") report.add({"ekf: error over Cramer-Rao", ratio, 1.5, false, "the largest of three"});
  }
  report.table("Resistances from one pass", table);
}

void capacities(Report& report, int seeds) {
  report.begin({"capacities", "10 W, sensors at nodes 2, 3, 5 s at 1 ms; from 1, 10 J/K",
                "C1, C2 at the end, J/K", "2 % of the true values"});
  const Truth truth = simulate_truth(benchmark_model("rc-thermal/network.toml"), 5.0, 1e-3);
  TextTable table{
      {"form", "unknown", "RMS error", "worst", "of Cramer-Rao", "passes, most", "mean reported sd"}, {}};
  const double values[] = {0.1, 0.2};
  const char* names[] = {"C1", "C2"};
  for (const std::string form : {"ekf-perfect", "ekf", "ukf"}) {
    const Model model = rc_model({"C1", "C2"}, 1.0, form == "ekf-perfect");
    OverSeeds errors[2], deviations[2];
    std::size_t passes = 1;
    bool good = true;
    for (int seed = 1; seed <= seeds; ++seed) {
      const Estimate e =
          run_estimator(model, noisy_record(model, truth, {"S2", "S3"}, static_cast<unsigned>(seed)), form,
                        form == "ekf-perfect" ? 40 : 1);
      good = good && e.failure.empty();
      if (!e.failure.empty()) {
        report.note(fmt::format("{}, record {}: {}", form, seed, e.failure));
        continue;
      }
      passes = std::max(passes, e.passes.size());
      for (int k = 0; k < 2; ++k) {
        errors[k].add(last_of(e, names[k]) - values[k]);
        deviations[k].add(last_deviation_of(e, names[k]));
      }
    }
    for (int k = 0; k < 2; ++k)
      table.rows.push_back({form, names[k], cell(errors[k].rms()), cell(errors[k].worst),
                            cell(errors[k].rms() / bound_c[k]), cell(static_cast<std::int64_t>(passes)),
                            cell(deviations[k].rms())});
    if (form == "ekf-perfect") {
      report.add({"ekf-perfect: passes to 1e-10", static_cast<double>(passes), 12.0, false, "published: 11"});
    } else if (form == "ekf") {
      report.require(good && errors[0].rms() < 0.01, "ekf: capacities are found");
      report.add({"ekf: error of C1, J/K", errors[0].rms(), 0.0006, false, "one pass"});
      report.add({"ekf: error of C2, J/K", errors[1].rms(), 0.0012, false, "one pass"});
    }
  }
  report.table("Capacities", table);
}

void source(Report& report, int seeds) {
  report.begin({"source", "10 W unknown, one sensor at node 3, 10 s at 1 ms; from 1 W",
                "Q0 over 4 to 10 s, W", "0.5 W"});
  const Truth truth = simulate_truth(benchmark_model("rc-thermal/network.toml"), 10.0, 1e-3);
  const std::vector<double> q0(truth.t.size(), 10.0);
  TextTable table{{"form", "mean error", "RMS error, worst record", "95 % band covers"}, {}};
  for (const std::string form : {"ekf-perfect", "ekf", "steady"}) {
    Model model = rc_model({"Q0"}, 1.0, true);
    // The paper's form: a variance of 1e-4 W^2 for each step.
    ModelUnknown& unknown = model.unknowns[model.estimation.unknowns[0]];
    unknown.varies = ModelUnknown::Varies::walk;
    unknown.walk = std::sqrt((form == "ekf-perfect" ? 1e-4 : 1e-6) / 1e-3);
    OverSeeds means, rms;
    double covered = 0.0;
    bool good = true;
    for (int seed = 1; seed <= seeds; ++seed) {
      const Estimate e =
          run_estimator(model, noisy_record(model, truth, {"S3"}, static_cast<unsigned>(seed)), form);
      good = good && e.failure.empty();
      if (!e.failure.empty()) continue;
      const SeriesError error = error_against(e, e.mean, e.deviation, "Q0", q0, 4.0);
      means.add(error.mean);
      rms.add(error.rms);
      covered += error.covered / seeds;
    }
    table.rows.push_back({form, cell(means.rms()), cell(rms.worst), cell(covered)});
    if (form == "steady") continue;
    report.require(good && rms.worst < 0.5, form + ": the source is found");
    report.add({form + ": mean error of Q0, W", means.rms(), 0.01, false, "RMS over records"});
    report.add({form + ": RMS error of Q0, W", rms.rms(), 0.09, false, "4 to 10 s"});
  }
  report.table("Source", table);
}

void state(Report& report, int seeds) {
  report.begin({"state",
                "10 (1 + sin(10 pi t)) W, the model believes 10 W; sensors at nodes 2, 3; 5 s at 1 ms",
                "T2, K", "open loop 2.27 K"});
  const Truth truth = simulate_truth(benchmark_model("rc-thermal/network-sine.toml"), 5.0, 1e-3);
  const Truth open = simulate_truth(benchmark_model("rc-thermal/network.toml"), 5.0, 1e-3);
  std::vector<double> t2;
  double loop = 0.0;
  for (std::size_t row = 0; row < truth.t.size(); ++row) {
    t2.push_back(truth.at(row, "T2"));
    loop += std::pow(open.at(row, "T2") - t2.back(), 2) / static_cast<double>(truth.t.size());
  }
  report.require(std::abs(std::sqrt(loop) - 2.2703) < 1e-3, "open loop is 2.2703 K off");
  using Varies = ModelUnknown::Varies;
  struct Case {
    std::string form, input;
    Varies varies;
    double walk;
    bool smooth;
  };
  const double second = 1.0 / std::sqrt(1e-3);
  const Case cases[] = {{"ekf-perfect", "random walk", Varies::walk, second, false},
                        {"ekf", "random walk", Varies::walk, second, true},
                        {"ukf", "random walk", Varies::walk, second, false},
                        {"ekf", "integrated random walk", Varies::integrated_walk, 50.0 * second, true},
                        {"ekf", "oscillator of 5 Hz", Varies::oscillator, 0.01 * second, true}};
  TextTable table{{"form", "input", "T2 RMS", "worst record", "smoothed", "95 % band covers"}, {}};
  for (const Case& c : cases) {
    Model model = rc_model({"Q0"}, 1e4, true);
    ModelUnknown& unknown = model.unknowns[model.estimation.unknowns[0]];
    unknown.varies = c.varies;
    unknown.walk = c.walk;
    unknown.frequency = 5.0;
    unknown.start = 10.0;
    OverSeeds rms, smooth;
    double covered = 0.0;
    bool good = true;
    for (int seed = 1; seed <= seeds; ++seed) {
      const Estimate e = run_estimator(
          model, noisy_record(model, truth, {"S2", "S3"}, static_cast<unsigned>(seed)), c.form, 1, c.smooth);
      good = good && e.failure.empty();
      if (!e.failure.empty()) continue;
      const SeriesError error = error_against(e, e.mean, e.deviation, "T2", t2, 0.0);
      rms.add(error.rms);
      covered += error.covered / seeds;
      if (c.smooth) smooth.add(error_against(e, e.smooth, e.smooth_deviation, "T2", t2, 0.0).rms);
    }
    const double smoothed = c.smooth ? smooth.rms() : std::numeric_limits<double>::quiet_NaN();
    table.rows.push_back({c.form, c.input, cell(rms.rms()), cell(rms.worst), cell(smoothed), cell(covered)});
    report.require(good, c.form + " with " + c.input + " goes through");
    if (c.input != "random walk" || c.form == "ukf") continue;
    report.add({c.form + ": T2, K", rms.rms(), 0.23, false, "random walk; open loop 2.270 K"});
    if (c.smooth) report.add({"smoother: T2, K", smoothed, 0.11, false, "random walk"});
  }
  report.table("State", table);
}

}  // namespace

void twin_rc(Report& report, const TwinBenchmarkOptions& options) {
  resistances(report, options.seeds);
  capacities(report, options.seeds);
  source(report, options.seeds);
  state(report, options.seeds);
}

}  // namespace tellegen
