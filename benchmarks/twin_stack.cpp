// The inverter's twin on a truth that is none of its kind: readings of the finite-volume model of one phase
// (models/inverter/stack), which stands for all three. First the bench, then the drive.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "benchmarks/twin.h"
#include "tellegen/calibrate/calibrate.h"
#include "tellegen/model/parameters.h"
#include "tellegen/records/choice.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {
namespace {

double water_temperature(int number, double t) {
  return number == 4 ? 306.15 - 13.0 * std::exp(-0.75 * t) : 343.15;
}

Truth stack_truth(int number) {
  const Trajectory run = read_csv(std::filesystem::path(TELLEGEN_SOURCE_DIR) / "models/inverter/stack" /
                                  fmt::format("case{}.csv", number));
  Truth truth{run.names, run.t, {}};
  for (std::size_t row = 0; row < run.rows(); ++row)
    for (std::size_t c = 0; c < run.names.size(); ++c) truth.values.push_back(run.at(row, c));
  return truth;
}

// In its unit: resistances are in mK/W.
double shown(const ModelParameter& parameter, double value) {
  return parameter.unit == "mK/W" ? 1e3 * value : value;
}

void set_number(Model& model, const std::string& name, double value) {
  const std::vector<int> parameters{study_parameter(model, name)};
  const std::vector<double> values{value};
  set_parameters(model, parameters, values);
}

// The lumped network by a record of the bench: case 1 at the copper and the two halves of the heatsink.
// R_die by (68) of the paper, from the steady state: no sensor of the bench tells it.
Model calibrated(const Truth& bench, unsigned seed, Report& report, TextTable& table) {
  Model model = benchmark_model("inverter/model.toml");
  const Record record = noisy_record(model, bench, {"S1", "S_hs", "S_w"}, seed);
  const CalibrationResult result = calibrate(model, record, model.calibration, calibration_options());
  Model twin = result.model;
  const std::size_t last = bench.t.size() - 1;
  set_number(twin, "R_die", (bench.at(last, "T1") - bench.at(last, "S1")) / 208.0);
  if (seed != 1) return twin;
  for (const StageResult& stage : result.stages) {
    for (const CalibratedParameter& p : stage.parameters) {
      const ModelParameter& parameter = model.parameters[p.parameter];
      table.rows.push_back({parameter.name, parameter.unit, cell(shown(parameter, p.after), 4),
                            cell(100.0 * p.deviation / p.after), cell(stage.chi_square)});
    }
    if (!stage.failure.empty()) report.note("calibration: " + stage.failure);
  }
  const ModelParameter& die = twin.parameters[study_parameter(twin, "R_die")];
  table.rows.push_back({"R_die", die.unit, cell(shown(die, die.number), 4), "", ""});
  return twin;
}

}  // namespace

void twin_stack(Report& report, const TwinBenchmarkOptions& options) {
  report.begin(
      {"stack_twin",
       "readings of the finite-volume phase, 0.5 K, 5 s at 1 ms; calibrated on case 1 at the bench's sensors",
       "mean temperature of the dies of a block, 0 to 5 s, K", "open loop"});
  const Truth bench = stack_truth(1);
  TextTable numbers{{"number", "unit", "found", "sd, %", "chi square"}, {}};
  TextTable table{{"case", "RMS error", "worst record", "largest error", "open loop", "95 % band covers"},
                  {}};
  OverSeeds rms[4];
  double largest[4] = {}, covered[4] = {}, open[4] = {};
  for (int seed = 1; seed <= options.seeds; ++seed) {
    // Bench and drive have noise of their own.
    const Model twin = calibrated(bench, static_cast<unsigned>(seed), report, numbers);
    for (int c = 0; c < 4; ++c) {
      const Truth truth = c == 0 ? bench : stack_truth(c + 1);
      Record record = noisy_record(twin, truth, {"S1", "S2", "S3"}, static_cast<unsigned>(1000 + seed));
      record.inputs = {"T_w"};
      for (double t : truth.t) record.given.push_back(water_temperature(c + 1, t));
      const auto error_of = [&](const Record& readings) {
        const Estimate e = estimate(twin, readings, {});
        report.require(e.failure.empty(), fmt::format("case {}: {}", c + 1, e.failure));
        return error_against(e, e.mean, e.deviation, "T1", column_of(truth, "T1"), 0.0);
      };
      const SeriesError error = error_of(record);
      rms[c].add(error.rms);
      largest[c] = std::max(largest[c], error.worst);
      covered[c] += error.covered / options.seeds;
      if (seed > 1) continue;
      record.readings.assign(record.readings.size(), std::numeric_limits<double>::quiet_NaN());
      open[c] = error_of(record).rms;
    }
  }
  for (int c = 0; c < 4; ++c)
    table.rows.push_back({fmt::format("case {}", c + 1), cell(rms[c].rms()), cell(rms[c].worst),
                          cell(largest[c]), cell(open[c]), cell(covered[c])});
  report.table("The network found on the bench (first record)", numbers);
  report.table("Dies from three sensors", table);
  report.add({"stack, case 1: dies, K", rms[0].rms(), 0.5, false,
              fmt::format("RMS over {} records, R_die by (68)", options.seeds)});
  report.note("bands know nothing of what the network cannot describe: they cover less than they say");
}

}  // namespace tellegen
