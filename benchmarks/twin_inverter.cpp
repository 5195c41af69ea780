// The three-phase inverter of [Rodriguez et al. 2021], section IV: the temperature of the junctions from three
// sensors on the copper.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "benchmarks/twin.h"
#include "tellegen/model/parameters.h"

namespace tellegen {
namespace {

// The cases of operation, and the bars of the junction's error: with the twin's own numbers as truth, and with
// the resistances found by computational fluid dynamics.
struct OperatingCase {
  const char *name, *file, *prefix;
  double matched, fluid;
};
constexpr OperatingCase cases[] = {{"case 1", "inverter/model.toml", "", 0.25, 0.6},
                                   {"case 2", "inverter/case2.toml", "inverter.", 0.30, 0.6},
                                   {"case 3", "inverter/case3.toml", "inverter.", 0.25, 0.9},
                                   {"case 4", "inverter/case4.toml", "inverter.", 0.32, 1.5}};
constexpr std::pair<const char*, double> fluid_dynamics[] = {
    {"R_die", 5.163e-3}, {"R_dbc", 33.74e-3}, {"R_sp", 2.579e-3}, {"R_hs", 12.75e-3}, {"R_w", 1.713e-3}};
const char* const junctions[] = {"T1", "T3", "T5"};

std::vector<double> column(const Truth& truth, std::string_view name) {
  std::vector<double> values;
  for (std::size_t row = 0; row < truth.t.size(); ++row) values.push_back(truth.at(row, name));
  return values;
}

Truth case_truth(const OperatingCase& c, bool fluid) {
  std::vector<std::pair<std::string, double>> numbers;
  if (fluid)
    for (const auto& [name, value] : fluid_dynamics) numbers.emplace_back(std::string(c.prefix) + name, value);
  return simulate_truth(benchmark_model(c.file, numbers), 5.0, 1e-3);
}

// What the three sensors read, and the water's temperature.
Record drive(const Model& twin, const Truth& truth, unsigned seed) {
  Record record = noisy_record(twin, truth, {"S1", "S2", "S3"}, seed);
  record.inputs = {"T_w"};
  record.given = column(truth, "T13");
  return record;
}

struct JunctionErrors {
  OverSeeds rms;
  double covered = 0.0;
};

JunctionErrors junction_errors(const Model& twin, const Truth& truth, int seeds) {
  JunctionErrors errors;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Estimate e = estimate(twin, drive(twin, truth, static_cast<unsigned>(seed)), {});
    if (!e.failure.empty()) throw std::runtime_error(e.failure);
    double square = 0.0;
    for (const char* junction : junctions) {
      const SeriesError error = error_against(e, e.mean, e.deviation, junction, column(truth, junction), 0.0);
      square += error.rms * error.rms / 3.0;
      errors.covered += error.covered / (3.0 * seeds);
    }
    errors.rms.add(std::sqrt(square));
  }
  return errors;
}

}  // namespace

void twin_inverter(Report& report, const TwinBenchmarkOptions& options) {
  for (const char* w : {"3", "6", "10", "17", "30", "50"}) for (double d : {200.0, 400.0}) {
    Model twin = benchmark_model("inverter/model.toml");
    for (auto& u : twin.unknowns) u.walk = std::atof(w) / std::sqrt(1e-3), u.deviation = d;
    fmt::print("{} {}:", w, d);
    for (const OperatingCase& c : cases)
      for (bool fluid : {false, true}) {
        const auto e = junction_errors(twin, case_truth(c, fluid), options.seeds);
        fmt::print(" {:.3f} ({:.2f})", e.rms.rms(), e.covered);
      }
    fmt::print("\n");
  }
  (void)report;
}

}  // namespace tellegen
