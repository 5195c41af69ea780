// Calibration by batch maximum likelihood over many records of noise: the RC benchmark and the inverter.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchmarks/twin.h"
#include "tellegen/calibrate/calibrate.h"
#include "tellegen/model/parameters.h"
#include "tellegen/records/choice.h"

namespace tellegen {
namespace {

using NamedNumber = std::pair<std::string, double>;

// Unknowns with these starts; the model's own numbers stay the truth.
std::vector<int> unknowns_from(Model& model, const std::vector<NamedNumber>& starts) {
  std::vector<int> found;
  for (const auto& [name, start] : starts) {
    found.push_back(unknowns_named(model, {name}).front());
    model.unknowns[found.back()].start = start;
  }
  return found;
}

// What the records of all seeds found of one parameter.
struct Found {
  std::string name;
  double truth = 0.0;
  OverSeeds errors;
  double deviation = 0.0;  // mean of those reported
  int within = 0;          // 1.96 of them
};

struct CalibrationStudy {
  std::vector<Found> parameters;
  int runs = 0, failed = 0;
  double iterations = 0.0, seconds = 0.0;

  void add(const Model& truth, const CalibrationResult& result) {
    ++runs;
    if (!result.good()) ++failed;
    // A later stage goes over an earlier one.
    std::vector<CalibratedParameter> last;
    for (const StageResult& stage : result.stages) {
      iterations += static_cast<double>(stage.found().path.size()) - 1.0;
      seconds += stage.seconds;
      for (const CalibratedParameter& p : stage.parameters) {
        std::erase_if(last, [&](const CalibratedParameter& o) { return o.parameter == p.parameter; });
        last.push_back(p);
      }
    }
    if (parameters.empty())
      for (const CalibratedParameter& p : last)
        parameters.push_back({truth.parameters[p.parameter].name, truth.parameters[p.parameter].number, {}});
    for (std::size_t k = 0; k < last.size(); ++k) {
      Found& found = parameters[k];
      const double error = last[k].after - found.truth;
      found.errors.add(error);
      found.deviation += last[k].deviation;
      if (std::abs(error) <= 1.96 * last[k].deviation) ++found.within;
    }
  }
  double relative(std::string_view name) const {
    for (const Found& f : parameters)
      if (f.name == name) return f.errors.rms() / f.truth;
    return NAN;
  }
  double rms(std::string_view name) const { return relative(name) * truth(name); }
  double truth(std::string_view name) const {
    for (const Found& f : parameters)
      if (f.name == name) return f.truth;
    return NAN;
  }
};

std::string per_cent(double part, int digits = 3) { return brief_number(100.0 * part, digits) + " %"; }

void add_rows(TextTable& table, const std::string& form, const CalibrationStudy& study) {
  for (const Found& f : study.parameters)
    table.rows.push_back(
        {form, f.name, per_cent(f.errors.rms() / f.truth), per_cent(f.errors.worst / f.truth),
         per_cent(f.deviation / study.runs / f.truth), fmt::format("{}/{}", f.within, study.runs),
         fmt::format("{}/{}", study.runs - study.failed, study.runs),
         brief_number(study.iterations / study.runs, 3), brief_number(1e3 * study.seconds / study.runs, 3)});
}

const std::vector<std::string> calibration_columns{
    "form", "unknown", "RMS error", "worst", "mean sd", "within 1.96 sd", "converged", "iterations", "ms"};

CalibrationStage stage_of(std::vector<int> unknowns, std::optional<double> from = {},
                          std::optional<double> to = {}) {
  CalibrationStage stage;
  stage.parameters = std::move(unknowns);
  stage.from = from;
  stage.to = to;
  return stage;
}

void rc_benchmark(Report& report, int seeds) {
  report.begin(
      {"batch calibration of the RC benchmark", "10 W, 5 s at 1 ms, noise 0.5 K",
       "R1, R2, R3 from 10, 10, 10 K/W with sensors 1, 2, 3; C1, C2 from 1, 10 J/K with sensors 2, 3",
       "all seeds converge"});
  const Model truth_model = benchmark_model("rc-thermal/network.toml");
  const Truth truth = simulate_truth(truth_model, 5.0, 1e-3);
  CalibrationStudy resistances, capacities;
  for (int seed = 1; seed <= seeds; ++seed) {
    Model model = truth_model;
    const auto r = unknowns_from(model, {{"R1", 10.0}, {"R2", 10.0}, {"R3", 10.0}});
    resistances.add(truth_model, calibrate(model, noisy_record(model, truth, {"S1", "S2", "S3"}, seed),
                                           {stage_of(r)}, calibration_options()));
    Model other = truth_model;
    const auto c = unknowns_from(other, {{"C1", 1.0}, {"C2", 10.0}});
    capacities.add(truth_model, calibrate(other, noisy_record(other, truth, {"S2", "S3"}, seed),
                                          {stage_of(c)}, calibration_options()));
  }
  TextTable table{calibration_columns, {}};
  add_rows(table, "resistances", resistances);
  add_rows(table, "capacities", capacities);
  report.table(fmt::format("{} records", seeds), table);
  report.require(resistances.failed + capacities.failed == 0, "a record did not converge");
  const NamedNumber bounds[] = {{"R1", 0.00096}, {"R2", 0.00108}, {"R3", 0.00093}};
  for (const auto& [name, bound] : bounds)
    report.add({"RMS error of " + name + " over Cramer-Rao", resistances.rms(name) / bound, 1.5, false,
                "batch, from 10 K/W"});
  report.add(
      {"RMS error of C1, J/K", capacities.rms("C1"), 0.0006, false, "batch, one pass, from 1, 10 J/K"});
  report.add(
      {"RMS error of C2, J/K", capacities.rms("C2"), 0.0012, false, "batch, one pass, from 1, 10 J/K"});
}

struct Procedure {
  const char* name;
  std::vector<CalibrationStage> stages;
};

void inverter(Report& report, int seeds) {
  report.begin({"batch calibration of the inverter",
                "case 1, 5 s at 1 ms, sensors at nodes 7, 11, 12, noise 0.5 K",
                "R from 4..5 s with C at its initial values, then C from the transient; and all jointly",
                "all seeds converge"});
  const Model truth_model = benchmark_model("inverter/model.toml");
  const Truth truth = simulate_truth(truth_model, 5.0, 1e-3);
  Model model = truth_model;
  const auto r = unknowns_from(model, {{"R_dbc", 11.68e-3}, {"R_hs", 5.457e-3}, {"R_w", 10.91e-3}});
  const auto c = unknowns_from(model, {{"C_dbc", 1.32}, {"C_hs", 14.97}, {"C_w", 29.94}});
  std::vector<int> all = r;
  all.insert(all.end(), c.begin(), c.end());
  const std::vector<Procedure> procedures{
      {"R from 4..5 s, then C", {stage_of(r, 4.0, 5.0), stage_of(c)}},
      {"the same, then all jointly", {stage_of(r, 4.0, 5.0), stage_of(c), stage_of(all)}},
      {"all jointly", {stage_of(all)}}};
  TextTable table{calibration_columns, {}};
  std::vector<CalibrationStudy> studies;
  for (const Procedure& procedure : procedures) {
    CalibrationStudy& study = studies.emplace_back();
    for (int seed = 1; seed <= seeds; ++seed)
      study.add(truth_model, calibrate(model, noisy_record(model, truth, {"S1", "S_hs", "S_w"}, seed),
                                       procedure.stages, calibration_options()));
    add_rows(table, procedure.name, study);
    report.require(study.failed == 0, fmt::format("{}: a record did not converge", procedure.name));
  }
  report.table(fmt::format("{} records; from the initial values of tables 4 and 6", seeds), table);
  report.note(
      "The standard deviations of a stage are those with everything else known: after R from the end of the "
      "record, those of C leave out what R's errors do to them. The joint stage's are whole.");
  const std::pair<const char*, double> bars[] = {
      {"R_dbc", 0.004}, {"R_hs", 0.004}, {"R_w", 0.015}, {"C_dbc", 0.02}, {"C_hs", 0.02}};
  for (std::size_t k = 0; k < 2; ++k)
    for (const auto& [name, bound] : bars)
      report.add({fmt::format("relative RMS error of {}", name), studies[k].relative(name), bound, false,
                  procedures[k].name});

  // Starts over the ranges of table 5, and for C from 100 times smaller to 50 times larger.
  report.begin({"starting values of the inverter's calibration", "as above, one record",
                "corners and middle of the published ranges", "same numbers from everywhere"});
  const Record record = noisy_record(truth_model, truth, {"S1", "S_hs", "S_w"}, 1);
  const auto count = [&](const std::vector<std::vector<NamedNumber>>& ranges, bool resistances) {
    int good = 0, tried = 0;
    double most = 0.0;
    std::vector<double> first;
    for (int corner = 0; corner < 9; ++corner) {
      Model from = truth_model;
      std::vector<NamedNumber> starts;
      for (std::size_t k = 0; k < 3; ++k) {
        const double low = ranges[k][0].second, high = ranges[k][1].second;
        starts.emplace_back(ranges[k][0].first, corner == 8         ? std::sqrt(low * high)
                                                : (corner >> k & 1) ? high
                                                                    : low);
      }
      std::vector<CalibrationStage> stages{stage_of({}, {}, {})};
      if (resistances) {
        unknowns_from(from, {{"C_dbc", 1.32}, {"C_hs", 14.97}, {"C_w", 29.94}});
        std::vector<int> indices;
        std::vector<double> numbers;
        for (const ModelUnknown& u : from.unknowns) {
          indices.push_back(u.parameter);
          numbers.push_back(*u.start);
        }
        set_parameters(from, indices, numbers);
        from.unknowns.clear();
        stages[0].from = 4.0;
        stages[0].to = 5.0;
      }
      stages[0].parameters = unknowns_from(from, starts);
      CalibrationOptions options = calibration_options();
      options.restart = false;
      const StageResult stage = calibrate(from, record, stages, options).stages.front();
      ++tried;
      if (first.empty() && stage.failure.empty())
        for (const CalibratedParameter& p : stage.parameters) first.push_back(p.after);
      bool same = stage.failure.empty();
      for (std::size_t k = 0; k < first.size(); ++k)
        same = same && std::abs(stage.parameters[k].after - first[k]) < 0.1 * stage.parameters[k].deviation;
      good += same;
      most = std::max(most, static_cast<double>(stage.found().path.size()) - 1.0);
    }
    return std::vector<std::string>{fmt::format("{}/{}", good, tried), brief_number(most)};
  };
  TextTable starts{{"unknowns", "starts", "same numbers", "most iterations"}, {}};
  const auto r_count = count({{{"R_dbc", 1e-5}, {"R_dbc", 0.584}},
                              {{"R_hs", 1e-4}, {"R_hs", 0.273}},
                              {{"R_w", 3e-4}, {"R_w", 0.545}}},
                             true);
  const auto c_count = count({{{"C_dbc", 0.0127}, {"C_dbc", 63.5}},
                              {{"C_hs", 0.3079}, {"C_hs", 1539.5}},
                              {{"C_w", 1.1442}, {"C_w", 5721.0}}},
                             false);
  starts.rows.push_back({"R_dbc, R_hs, R_w", "0.01..584, 0.1..273, 0.3..545 mK/W", r_count[0], r_count[1]});
  starts.rows.push_back({"C_dbc, C_hs, C_w", "true value / 100 .. x 50", c_count[0], c_count[1]});
  report.table("eight corners and the middle", starts);
  report.require(r_count[0] == "9/9", "resistances from a corner end elsewhere");
  report.require(c_count[0] == "9/9", "capacities from a corner end elsewhere");
}

}  // namespace

void twin_calibration(Report& report, const TwinBenchmarkOptions& options) {
  rc_benchmark(report, std::max(1, options.seeds));
  inverter(report, std::max(1, options.seeds / 2));
}

}  // namespace tellegen
