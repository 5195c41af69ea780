// The three-phase inverter of [Rodriguez et al. 2021], section IV: the temperature of the junctions from
// three sensors on the copper, in the four cases of operation.
#include <fmt/format.h>

#include <cmath>

#include "benchmarks/twin.h"
#include "tellegen/estimate/filter.h"
#include "tellegen/records/choice.h"

namespace tellegen {
namespace {

// Bars of the junction's error: with the twin's own numbers as truth, and with the resistances that the
// paper found by computational fluid dynamics.
struct OperatingCase {
  const char *name, *file, *prefix;
  double matched, fluid;
};
constexpr OperatingCase operating_cases[] = {{"case 1", "inverter/model.toml", "", 0.25, 0.6},
                                             {"case 2", "inverter/case2.toml", "inverter.", 0.30, 0.6},
                                             {"case 3", "inverter/case3.toml", "inverter.", 0.25, 0.9},
                                             {"case 4", "inverter/case4.toml", "inverter.", 0.32, 1.5}};
constexpr std::pair<const char*, double> fluid_dynamics[] = {
    {"R_die", 5.163e-3}, {"R_dbc", 33.74e-3}, {"R_sp", 2.579e-3}, {"R_hs", 12.75e-3}, {"R_w", 1.713e-3}};
constexpr const char* junctions[] = {"T1", "T3", "T5"};

Truth case_truth(const OperatingCase& c, bool fluid) {
  std::vector<std::pair<std::string, double>> numbers;
  if (fluid)
    for (const auto& [name, value] : fluid_dynamics)
      numbers.emplace_back(std::string(c.prefix) + name, value);
  return simulate_truth(benchmark_model(c.file, numbers), 5.0, 1e-3);
}

// What the three sensors read. `water`: its temperature is measured too.
Record drive(const Model& twin, const Truth& truth, bool water, unsigned seed) {
  Record record = noisy_record(twin, truth, {"S1", "S2", "S3"}, seed);
  if (!water) return record;
  record.inputs = {"T_w"};
  record.given = column_of(truth, "T13");
  return record;
}

struct JunctionErrors {
  OverSeeds rms;
  double covered = 0.0, milliseconds = 0.0;
  std::string failure;
};

JunctionErrors junction_errors(const Model& twin, const Truth& truth, bool water, int seeds) {
  JunctionErrors errors;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Estimate e = estimate(twin, drive(twin, truth, water, static_cast<unsigned>(seed)), {});
    if (!e.failure.empty()) errors.failure = e.failure;
    if (!e.failure.empty()) continue;
    double square = 0.0;
    for (const char* junction : junctions) {
      const SeriesError error =
          error_against(e, e.mean, e.deviation, junction, column_of(truth, junction), 0.0);
      square += error.rms * error.rms / 3.0;
      errors.covered += error.covered / (3.0 * seeds);
    }
    errors.rms.add(std::sqrt(square));
    errors.milliseconds = 1e3 * e.loop_seconds;
  }
  return errors;
}

// The twin without any reading: its own losses, and the water as it is measured.
double open_loop(const Model& twin, const Truth& truth) {
  Record record = drive(twin, truth, true, 1);
  record.readings.assign(record.readings.size(), std::numeric_limits<double>::quiet_NaN());
  const Estimate e = estimate(twin, record, {});
  return error_against(e, e.mean, e.deviation, "T1", column_of(truth, "T1"), 0.0).rms;
}

// What no filter with these losses' walk can be better than once it has settled: the Riccati equation.
double settled_deviation(const Model& twin, const Truth& truth) {
  EstimateOptions options;
  options.estimator = "steady";
  return last_deviation_of(estimate(twin, drive(twin, truth, true, 1), options), "T1");
}

// Case 4 by a twin that does not measure the water: it believes 293.15 K, or finds the temperature as well.
Model blind_twin(bool finds) {
  Model twin = benchmark_model("inverter/model.toml", {{"T_w", 293.15}});
  if (!finds) return twin;
  const int water = unknowns_named(twin, {"T_w"})[0];
  ModelUnknown& unknown = twin.unknowns[water];
  unknown.varies = ModelUnknown::Varies::walk;
  unknown.walk = 5.0;  // K in one second
  unknown.start = 293.15;
  unknown.deviation = 1.0;
  twin.estimation.unknowns.push_back(water);
  return twin;
}

}  // namespace

void twin_inverter(Report& report, const TwinBenchmarkOptions& options) {
  report.begin({"inverter",
                "sensors on the copper of three phases, 0.5 K, 5 s at 1 ms; losses unknown, 208 W believed",
                "temperatures of the junctions, 0 to 5 s, K", "open loop"});
  const Model twin = benchmark_model("inverter/model.toml");
  TextTable table{{"case", "truth", "water", "RMS error", "worst record", "settled sd by Riccati",
                   "open loop", "95 % band covers", "5 s, ms"},
                  {}};
  const auto row = [&](const OperatingCase& c, const std::string& truth_name, const std::string& water,
                       const Model& model, const Truth& truth, bool measured) {
    const JunctionErrors e = junction_errors(model, truth, measured, options.seeds);
    const double open = open_loop(twin, truth);
    report.require(e.failure.empty() && e.rms.count > 0 && e.rms.worst < std::max(open, 1.0),
                   fmt::format("{}, {}: within 1 K, or better than without readings ({})", c.name, truth_name,
                               e.failure));
    if (e.rms.count == 0) return e;
    table.rows.push_back({c.name, truth_name, water, cell(e.rms.rms()), cell(e.rms.worst),
                          cell(measured ? settled_deviation(model, truth) : NAN), cell(open), cell(e.covered),
                          cell(e.milliseconds)});
    return e;
  };
  for (const OperatingCase& c : operating_cases)
    for (const bool fluid : {false, true}) {
      const JunctionErrors e =
          row(c, fluid ? "CFD resistances" : "as the twin", "measured", twin, case_truth(c, fluid), true);
      report.add({fmt::format("{}: junctions, K{}", c.name, fluid ? ", CFD resistances" : ""), e.rms.rms(),
                  fluid ? c.fluid : c.matched, false, fmt::format("RMS over {} records", options.seeds)});
    }
  const Truth warming = case_truth(operating_cases[3], false);
  row(operating_cases[3], "as the twin", "unknown, found", blind_twin(true), warming, false);
  row(operating_cases[3], "as the twin", "unknown, 293.15 K believed", blind_twin(false), warming, false);
  report.table("Junction temperatures from three sensors", table);
  report.note(
      "a loss walks by 100 W in one second in every case, as models/inverter/model.toml says; the truth's "
      "losses do not walk, so bands are wider than errors where the twin's numbers are true");
}

}  // namespace tellegen
