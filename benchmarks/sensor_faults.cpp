#include "benchmarks/sensor_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "benchmarks/report.h"
#include "benchmarks/twin.h"
#include "runtime/tellegen_math.h"
#include "tellegen/estimate/sensor_faults.h"

namespace tellegen {
namespace {

constexpr std::int64_t fault_rows = 2400, named_within = 60, stuck_for = 600;

// A uniform number out of a normal one.
double uniform(double seed, double k) { return 0.5 * std::erfc(-tellegen_gauss(seed, k) / M_SQRT2); }

// Levels of 1 to 6 minutes, reached at 10 W/s.
std::vector<double> duty(unsigned seed, std::int64_t rows) {
  std::vector<double> power;
  double now = 150.0, target = now;
  std::int64_t until = 0;
  int k = 0;
  const double stream = 10.0 * seed + 7.0;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (row >= until) {
      target = 40.0 + 360.0 * uniform(stream, 2 * k);
      until = row + 60 + static_cast<std::int64_t>(300.0 * uniform(stream, 2 * k + 1));
      ++k;
    }
    now += std::clamp(target - now, -10.0, 10.0);
    power.push_back(now);
  }
  return power;
}

std::int64_t onset_of(unsigned seed) {
  return 900 + static_cast<std::int64_t>(900.0 * uniform(10.0 * seed + 8.0, 1e6));
}

std::size_t position(const Estimate& e, const std::string& name) {
  std::size_t q = 0;
  while (e.quantities[q].name != name) ++q;
  return q;
}

void cover(const Estimate& e, const std::vector<double>& truth, std::int64_t from, double& covered,
           double& rows) {
  const std::size_t q = position(e, "T_r"), width = e.quantities.size();
  for (auto row = static_cast<std::size_t>(from); row < e.t.size(); ++row) {
    covered += std::abs(e.mean[row * width + q] - truth[row]) <= 1.959964 * e.deviation[row * width + q];
    rows += 1.0;
  }
  rows += static_cast<double>(truth.size() - e.t.size());  // a filter that stopped covers nothing
}

Record cut(const Record& record, std::int64_t rows) {
  Record part = record;
  part.steps = rows;
  part.readings.resize(static_cast<std::size_t>(rows) * record.sensors.size());
  part.given.resize(static_cast<std::size_t>(rows) * record.inputs.size());
  return part;
}

}  // namespace

const std::vector<FaultCase>& fault_cases() {
  using Kind = SensorFault::Kind;
  static const std::vector<FaultCase> cases{{"offset +1.5 K", Kind::offset, 1.5},
                                            {"offset +5 K", Kind::offset, 5.0},
                                            {"stuck for 600 s", Kind::stuck, 0.0},
                                            {"scale +5 %", Kind::scale, 0.05}};
  return cases;
}

MotorRecord motor_record(const Model& model, unsigned seed, std::int64_t rows) {
  constexpr double C_w = 450, C_h = 2800, C_r = 900, R_wh = 0.12, R_rh = 0.4, R_wr = 0.9, R_ha = 0.15;
  constexpr int substeps = 20;
  constexpr double zero = 273.15, q_w = 0.02, q_h = 0.005, q_r = 0.02;
  MotorRecord result;
  Record& record = result.record;
  for (const char* name : {"T_w", "T_h"})
    for (std::size_t k = 0; k < model.outputs.size(); ++k)
      if (model.outputs[k].name == name) record.sensors.push_back(static_cast<int>(k));
  record.inputs = {"P_w", "P_r", "amb"};
  record.step = 1.0;
  record.steps = rows;
  record.counts.resize(2);
  const std::vector<double> power = duty(seed, rows + 1);
  const auto noise = [&](int stream, std::int64_t k) {
    return tellegen_gauss(10.0 * seed + stream, static_cast<double>(k));
  };
  double w = zero + 25.0 + noise(0, -1), h = zero + 25.0 + noise(1, -1), r = zero + 25.0 + 3.0 * noise(2, -1);
  const auto ambient = [](double t) { return zero + 25.0 + 3.0 * std::sin(t / 1500.0); };
  for (std::int64_t row = 0; row < rows; ++row) {
    const double t = static_cast<double>(row), p0 = power[static_cast<std::size_t>(row)],
                 p1 = power[static_cast<std::size_t>(row) + 1];
    record.given.insert(record.given.end(), {p0, 5.0 + 0.12 * p0, ambient(t)});
    record.readings.push_back(w + 0.2 * noise(3, row));
    record.readings.push_back(h + 0.1 * noise(4, row));
    result.rotor.push_back(r);
    constexpr double dt = 1.0 / substeps;
    for (int k = 0; k < substeps; ++k) {
      // The midpoint rule; the time constants are tens of steps of a second.
      const auto rates = [&](double T_w, double T_h, double T_r, double part, double* d) {
        const double p = p0 + (p1 - p0) * part, wh = (T_w - T_h) / R_wh, wr = (T_w - T_r) / R_wr,
                     rh = (T_r - T_h) / R_rh;
        d[0] = (p - wh - wr) / C_w;
        d[1] = (wh + rh - (T_h - ambient(t + part)) / R_ha) / C_h;
        d[2] = (5.0 + 0.12 * p + wr - rh) / C_r;
      };
      double a[3], b[3];
      const double part = k * dt;
      rates(w, h, r, part, a);
      rates(w + 0.5 * dt * a[0], h + 0.5 * dt * a[1], r + 0.5 * dt * a[2], part + 0.5 * dt, b);
      w += dt * b[0], h += dt * b[1], r += dt * b[2];
    }
    w += q_w * noise(0, row), h += q_h * noise(1, row), r += q_r * noise(2, row);
  }
  return result;
}

void spoil(Record& record, const FaultCase& fault, std::int64_t onset) {
  const double frozen = record.reading(onset, 0);
  for (std::int64_t row = onset; row < record.steps; ++row) {
    double& reading = record.readings[static_cast<std::size_t>(row) * record.sensors.size()];
    if (fault.kind == SensorFault::Kind::offset) reading += fault.size;
    if (fault.kind == SensorFault::Kind::scale) reading += fault.size * (reading - 273.15);
    if (fault.kind == SensorFault::Kind::stuck && row < onset + stuck_for) reading = frozen;
  }
}

FaultScore score_fault(const Model& model, const FaultCase& fault, int records, bool compile) {
  FaultScore score;
  EstimateOptions options;
  options.compile = compile;
  const auto only_winding = [](const Estimate& e) {
    return !e.faults.empty() && std::all_of(e.faults.begin(), e.faults.end(),
                                            [](const SensorFault& f) { return f.name == "T_w"; });
  };
  for (int k = 0; k < records; ++k) {
    const auto seed = static_cast<unsigned>(1000 + k);
    MotorRecord motor = motor_record(model, seed, fault_rows);
    const std::int64_t onset = onset_of(seed);
    spoil(motor.record, fault, onset);
    const Estimate early = judged_estimate(model, cut(motor.record, onset + named_within), options);
    const Estimate whole = judged_estimate(model, motor.record, options);
    ++score.records;
    score.named += only_winding(early);
    score.named_whole += only_winding(whole);
    if (!whole.faults.empty()) {
      score.kind_named += whole.faults.front().kind == fault.kind;
      score.delay = std::max(score.delay, std::abs(whole.faults.front().onset - static_cast<double>(onset)));
    }
    cover(whole, motor.rotor, onset, score.covered, score.rows);
  }
  return score;
}

CleanScore score_clean(const Model& model, int records, bool compile) {
  CleanScore score;
  EstimateOptions options;
  options.compile = compile;
  for (int k = 0; k < records; ++k) {
    const MotorRecord motor = motor_record(model, static_cast<unsigned>(100000 + k), 3600);
    const Estimate e = judged_estimate(model, motor.record, options);
    ++score.records;
    score.alarms += !complaints(e).empty();
    cover(e, motor.rotor, 0, score.covered, score.rows);
  }
  return score;
}

bool run_fault_benchmark(const FaultBenchmarkOptions& options) {
  Report report;
  const Model model = benchmark_model("motor-faults/model.toml");
  report.begin(
      {"sensor-faults",
       fmt::format("{} records of {} s for each fault, one row a second; winding 0.2 K, housing 0.1 K",
                   options.records, fault_rows),
       "the winding's sensor is named 60 s after the onset; the rotor's temperature in its 95 % band",
       "named: this sensor and no other"});
  TextTable table{
      {"fault", "records", "named in 60 s", "named", "kind right", "onset off by, s", "rotor in its band"},
      {}};
  for (const FaultCase& fault : fault_cases()) {
    const FaultScore s = score_fault(model, fault, options.records, true);
    const double count = s.records;
    table.rows.push_back({fault.name, cell(static_cast<std::int64_t>(s.records)),
                          fmt::format("{:.1f} %", 100.0 * s.named / count),
                          fmt::format("{:.1f} %", 100.0 * s.named_whole / count),
                          fmt::format("{:.1f} %", 100.0 * s.kind_named / count), cell(s.delay),
                          fmt::format("{:.1f} %", 100.0 * s.covered / s.rows)});
    report.add({fault.name + ": named within 60 s, %", 100.0 * s.named / count, 95.0, true, "whole records"});
    report.add({fault.name + ": rotor in its band, %", 100.0 * s.covered / s.rows, 90.0, true,
                "rows from the onset on"});
  }
  report.table("A fault of the winding's sensor", table);
  const int hours = std::max(1, static_cast<int>(std::lround(options.hours)));
  const CleanScore clean = score_clean(model, hours, true);
  report.note(fmt::format("clean: {} alarms in {} h; the rotor is in its band in {:.1f} % of the rows",
                          clean.alarms, hours, 100.0 * clean.covered / clean.rows));
  report.add({"false alarms in 100 h of clean data", 100.0 * clean.alarms / hours, 1.0, false,
              "records of an hour"});
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << "\n";
  return !report.failed();
}

}  // namespace tellegen
