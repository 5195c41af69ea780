// The inverter's channel ages: its resistance to the water rises by 30 % during a drive, and the twin follows
// it as an unknown that wanders slowly.
//
// What must be read for that: three sensors on the copper have three unknown losses to explain. Whatever R_w
// is, there are losses that give the same readings, so the sensors of operation alone say next to nothing
// about it; one sensor at the heatsink, or losses that are known, do.
#include <fmt/format.h>

#include <cmath>

#include "benchmarks/twin.h"
#include "tellegen/records/choice.h"

namespace tellegen {
namespace {

constexpr double nominal = 1.837e-3;

struct AgeingCase {
  const char* name;
  std::vector<std::string> sensors;
  bool losses_known, follows;
};

Model ageing_twin(const AgeingCase& c) {
  Model twin = benchmark_model("inverter/model.toml");
  std::vector<std::string> unknowns;
  if (c.follows) unknowns.push_back("R_w");
  if (!c.losses_known) unknowns.insert(unknowns.end(), {"Q_u", "Q_v", "Q_w"});
  twin.estimation.unknowns = unknowns_named(twin, unknowns);
  if (!c.follows) return twin;
  // A tenth may be wrong at the beginning; about a hundredth may change within a second, 8 % within a minute.
  ModelUnknown& channel = twin.unknowns[twin.estimation.unknowns[0]];
  channel.varies = ModelUnknown::Varies::walk;
  channel.start = nominal;
  channel.deviation = 0.1 * nominal;
  channel.walk = 0.01 * nominal;
  return twin;
}

Record ageing_record(const Model& twin, const Truth& truth, const AgeingCase& c, unsigned seed) {
  Record record = noisy_record(twin, truth, c.sensors, seed);
  record.inputs = {"T_w"};
  if (c.losses_known) record.inputs.insert(record.inputs.end(), {"Q_u", "Q_v", "Q_w"});
  for (std::size_t row = 0; row < truth.t.size(); ++row) {
    record.given.push_back(truth.at(row, "T13"));
    if (c.losses_known) record.given.insert(record.given.end(), 3, truth.at(row, "Q"));
  }
  return record;
}

}  // namespace

void twin_ageing(Report& report, const TwinBenchmarkOptions& options) {
  report.begin({"ageing",
                "60 s at 1 ms, losses in steps of case 2 over and over; R_w rises by 30 % around 30 s",
                "R_w, % of its first value, from 5 s on; junctions, K", "a twin that does not follow it"});
  const Truth truth = simulate_truth(benchmark_model("inverter/ageing.toml"), 60.0, 1e-3, "adaptive");
  const std::vector<double> aged = column_of(truth, "R_w"), junction = column_of(truth, "T1");
  const std::vector<AgeingCase> cases{
      {"three on the copper, losses unknown", {"S1", "S2", "S3"}, false, true},
      {"... and S_hs", {"S1", "S2", "S3", "S_hs"}, false, true},
      {"... and S_w", {"S1", "S2", "S3", "S_w"}, false, true},
      {"three on the copper, losses known", {"S1", "S2", "S3"}, true, true},
      {"S_w, R_w not followed", {"S1", "S2", "S3", "S_w"}, false, false}};
  const int seeds = std::min(options.seeds, 10);
  TextTable table{{"sensors", "R_w RMS, %", "worst record", "at the end, %", "sd at 5 s", "sd at the end, %",
                   "band covers", "T1 RMS, K", "band covers"},
                  {}};
  for (const AgeingCase& c : cases) {
    const Model twin = ageing_twin(c);
    OverSeeds rms, end, junctions;
    double covered = 0.0, junction_covered = 0.0, first = NAN, last = NAN;
    for (int seed = 1; seed <= seeds; ++seed) {
      const Estimate e = estimate(twin, ageing_record(twin, truth, c, static_cast<unsigned>(seed)), {});
      report.require(e.failure.empty(), fmt::format("{}: {}", c.name, e.failure));
      if (!e.failure.empty()) break;
      const SeriesError t1 = error_against(e, e.mean, e.deviation, "T1", junction, 5.0);
      junctions.add(t1.rms);
      junction_covered += t1.covered / seeds;
      if (!c.follows) continue;
      const SeriesError r = error_against(e, e.mean, e.deviation, "R_w", aged, 5.0);
      rms.add(100.0 * r.rms / nominal);
      covered += r.covered / seeds;
      end.add(100.0 * (last_of(e, "R_w") - aged.back()) / nominal);
      last = 100.0 * last_deviation_of(e, "R_w") / nominal;
      std::size_t q = 0;
      while (e.quantities[q].name != "R_w") ++q;
      first = 100.0 * e.deviation[5000 * e.quantities.size() + q] / nominal;
    }
    if (junctions.count == 0) continue;
    table.rows.push_back({c.name, cell(c.follows ? rms.rms() : NAN), cell(c.follows ? rms.worst : NAN),
                          cell(c.follows ? end.rms() : NAN), cell(first), cell(last),
                          cell(c.follows ? covered : NAN), cell(junctions.rms()), cell(junction_covered)});
    if (std::string_view(c.name) == "... and S_w")
      report.add({"ageing: R_w, %", rms.rms(), 3.0, false, "with S_w, from 5 s on; it rises by 30 %"});
  }
  report.table("A resistance that rises", table);
  report.note(
      "without losses and without a sensor at the heatsink the band of R_w stays as wide as its walk makes "
      "it: the readings do not tell it");
}

}  // namespace tellegen
