// tellegen benchmark twin: the thermal digital twin on its published problems, over many records of noise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/report.h"
#include "tellegen/estimate/estimate.h"

namespace tellegen {

struct TwinBenchmarkOptions {
  int seeds = 20;
  std::vector<std::string> only;  // sections; empty: all
  std::int64_t soak_steps = 100'000'000;
  std::string json;
};

struct TwinSection {
  std::string_view name, summary;
  void (*run)(Report& report, const TwinBenchmarkOptions& options);
};
const std::vector<TwinSection>& twin_sections();

// False where an answer is wrong.
bool run_twin_benchmark(const TwinBenchmarkOptions& options);

// What every section needs: a model of the repository with other numbers, its run without noise, and readings
// of it.
Model benchmark_model(const std::string& file,
                      const std::vector<std::pair<std::string, double>>& numbers = {});

struct Truth {
  std::vector<std::string> names;  // the model's sensors and outputs
  std::vector<double> t, values;   // [row][name], SI
  double at(std::size_t row, std::string_view name) const;
};
Truth simulate_truth(const Model& model, double stop, double step, const std::string& method = "exact");
std::vector<double> column_of(const Truth& truth, std::string_view name);

// Readings of the sensors named, with Gaussian noise as the model says.
Record noisy_record(const Model& model, const Truth& truth, const std::vector<std::string>& sensors,
                    unsigned seed);

// Error of one quantity of an estimate against the truth: root of the mean square, from a time on.
struct SeriesError {
  double mean = 0.0, rms = 0.0, worst = 0.0;
  double covered = 0.0;  // part of the rows within two (1.96) standard deviations
};
SeriesError error_against(const Estimate& estimate, const std::vector<double>& mean,
                          const std::vector<double>& deviation, std::string_view quantity,
                          const std::vector<double>& truth, double from);
double last_of(const Estimate& estimate, std::string_view quantity);
double last_deviation_of(const Estimate& estimate, std::string_view quantity);

// Several records: root of the mean square over all of them, and the worst.
struct OverSeeds {
  double sum = 0.0, worst = 0.0;
  int count = 0;
  void add(double error);
  double rms() const;
};

void twin_rc(Report& report, const TwinBenchmarkOptions& options);
void twin_calibration(Report& report, const TwinBenchmarkOptions& options);
void twin_inverter(Report& report, const TwinBenchmarkOptions& options);
void twin_ageing(Report& report, const TwinBenchmarkOptions& options);
void twin_tuning(Report& report, const TwinBenchmarkOptions& options);
void twin_stack(Report& report, const TwinBenchmarkOptions& options);
void twin_speed(Report& report, const TwinBenchmarkOptions& options);
void twin_soak(Report& report, const TwinBenchmarkOptions& options);

}  // namespace tellegen
