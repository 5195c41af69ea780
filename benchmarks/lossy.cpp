#include "benchmarks/lossy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <thread>

#include "benchmarks/lossy_motor.h"
#include "benchmarks/report.h"
#include "benchmarks/twin.h"
#include "tellegen/records/noise.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {
namespace {

const std::filesystem::path reference_folder =
    std::filesystem::path(TELLEGEN_SOURCE_DIR) / "benchmarks" / "reference";

constexpr std::size_t published_samples = 50'000;

// Readings of a published record: bits that say which samples arrived, then both currents of each that did,
// in units of 1e-8 A, as 32 bit little-endian integers. NaN where none arrived.
std::vector<double> published_readings(const std::string& name) {
  std::ifstream in(reference_folder / name, std::ios::binary);
  const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(in), {}};
  std::size_t at = published_samples / 8;
  if (bytes.size() < at) throw std::runtime_error("cannot read " + name);
  std::vector<double> readings;
  for (std::size_t k = 0; k < published_samples; ++k)
    for (int sensor = 0; sensor < 2; ++sensor) {
      if (!(bytes[k / 8] >> (k % 8) & 1)) {
        readings.push_back(std::nan(""));
        continue;
      }
      if (at + 4 > bytes.size()) throw std::runtime_error(name + " is cut off");
      std::uint32_t word = 0;
      for (int byte = 3; byte >= 0; --byte) word = word << 8 | bytes[at + static_cast<std::size_t>(byte)];
      at += 4;
      readings.push_back(1e-8 * static_cast<std::int32_t>(word));
    }
  return readings;
}

struct PublishedFilter {
  LossySetting setting;
  std::string record, truth, columns;  // names in lossy_filters.csv begin so
};

std::vector<PublishedFilter> published_filters() {
  std::vector<PublishedFilter> filters;
  for (const NoiseReading reading : {NoiseReading::density, NoiseReading::literal}) {
    const std::string word = reading == NoiseReading::density ? "density" : "literal";
    const auto stability = stability_filters(reading);
    for (std::size_t k : {0u, 1u})
      filters.push_back({stability[k], "lossy_" + word + ".bin", word, word + "_" + stability[k].name});
  }
  const auto nuisance = nuisance_filters();
  filters.push_back({nuisance[0], "lossy_literal.bin", "literal", "nuisance_ekf_true"});
  filters.push_back({nuisance[1], "lossy_literal.bin", "literal", "nuisance_ekf_004"});
  filters.push_back({nuisance[3], "lossy_literal.bin", "literal", "nuisance_pkf_consider"});
  return filters;
}

void run_files(Report& report) {
  report.begin({"files", "published records of 50 000 samples of 10 us, 20 % of them lost",
                "speed, angle and flux of seven filters, the diverging ones too",
                "1e-5 of the value (at least 1 rad/s, 1 rad, 5 mWb) at every 500th sample"});
  const Trajectory reference = read_csv(reference_folder / "lossy_filters.csv");
  const auto column = [&](const std::string& name) {
    const auto found = reference.find(name);
    if (!found) throw std::runtime_error("lossy_filters.csv has no column " + name);
    return *found;
  };
  TextTable table{
      {"filter", "speed apart", "angle apart", "flux apart", "speed rms [rad/s]", "flux at end", "us/step"},
      {}};
  for (const PublishedFilter& f : published_filters()) {
    const std::vector<double> readings = published_readings(f.record);
    LossyFilter filter(f.setting);
    const std::size_t speed = column(f.columns + "_omega"), angle = column(f.columns + "_theta"),
                      flux = column(f.columns + "_lambda"), truth = column(f.truth + "_true_omega");
    double worst[3] = {0.0, 0.0, 0.0}, squares = 0.0, count = 0.0, seconds = 0.0;
    bool went_on = true;
    for (std::size_t k = 0, row = 0; k < published_samples && went_on;) {
      const auto begin = std::chrono::steady_clock::now();
      for (const std::size_t end = k + 500; k < end && went_on; ++k)
        went_on = filter.step(static_cast<std::int64_t>(k),
                              std::isnan(readings[2 * k]) ? nullptr : readings.data() + 2 * k);
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const auto apart = [&](double& largest, double ours, double theirs, double least) {
        largest = std::max(largest, std::abs(ours - theirs) / std::max(least, std::abs(theirs)));
      };
      apart(worst[0], filter.speed(), reference.at(row, speed), 1.0);
      apart(worst[1], filter.angle(), 4.0 * reference.at(row, angle), 1.0);
      apart(worst[2], filter.flux(), reference.at(row, flux), 0.005);
      if (2 * k > published_samples) {
        squares += std::pow(filter.speed() - reference.at(row, truth), 2);
        count += 1.0;
      }
      ++row;
    }
    const bool good =
        report.require(went_on && *std::max_element(worst, worst + 3) <= 1e-5,
                       fmt::format("{}: {:.2g}, {:.2g}, {:.2g}", f.columns, worst[0], worst[1], worst[2]));
    table.rows.push_back({f.columns, cell(worst[0], 2), cell(worst[1], 2), cell(worst[2], 2),
                          cell(std::sqrt(squares / count)), cell(filter.flux()),
                          good ? cell(1e6 * seconds / published_samples, 2) : ""});
  }
  report.table("apart: largest relative difference; rms: over the second half, at every 500th sample", table);
}

constexpr std::array<double, 3> lossy_rates{0.0, 0.2, 0.35};

// [filter][loss][seed]
using LossyRuns = std::vector<std::array<std::vector<LossyRun>, lossy_rates.size()>>;

// Every filter on the same records; samples are lost from the same ones, more where more are lost.
LossyRuns run_filters(const std::vector<LossySetting>& settings, NoiseReading reading,
                      const LossyOptions& options) {
  LossyRuns runs(settings.size());
  for (auto& of_filter : runs)
    for (auto& of_loss : of_filter) of_loss.resize(static_cast<std::size_t>(options.seeds));
  const unsigned workers = std::max(
      1u, std::min<unsigned>(std::thread::hardware_concurrency(), static_cast<unsigned>(options.seeds)));
  std::vector<std::vector<std::unique_ptr<LossyFilter>>> filters(workers);
  for (auto& own : filters)
    for (const LossySetting& s : settings) own.push_back(std::make_unique<LossyFilter>(s));
  const auto samples = static_cast<std::int64_t>(std::llround(options.seconds / lossy_step));
  const auto work = [&](unsigned worker) {
    for (auto seed = static_cast<std::size_t>(worker); seed < static_cast<std::size_t>(options.seeds);
         seed += workers) {
      const LossyRecord record = lossy_record(reading, seed + 1, samples);
      for (std::size_t f = 0; f < settings.size(); ++f)
        for (std::size_t l = 0; l < lossy_rates.size(); ++l)
          runs[f][l][seed] = lossy_run(*filters[worker][f], record, lossy_rates[l]);
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
  work(0);
  return runs;
}

double share_failed(const std::vector<LossyRun>& runs) {
  return static_cast<double>(
             std::count_if(runs.begin(), runs.end(), [](const auto& r) { return r.failed(); })) /
         static_cast<double>(runs.size());
}

double median_of(const std::vector<LossyRun>& runs, double LossyRun::*what) {
  std::vector<double> values;
  for (const LossyRun& r : runs) values.push_back(std::isnan(r.*what) ? INFINITY : r.*what);
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

double rms_of(const std::vector<LossyRun>& runs, double LossyRun::*what) {
  double sum = 0.0, count = 0.0;
  for (const LossyRun& r : runs)
    if (!r.failed()) {
      sum += r.*what * (r.*what);
      count += 1.0;
    }
  return count > 0.0 ? std::sqrt(sum / count) : std::nan("");
}

void tell_runs(Report& report, const std::string& caption, const std::vector<LossySetting>& settings,
               const LossyRuns& runs) {
  TextTable table{{"loss", "filter", "failed", "mirrored", "speed median [rad/s]", "angle median [rad]",
                   "flux median [mWb]", "speed rms [rad/s]", "angle rms [rad]", "flux rms [mWb]"},
                  {}};
  for (std::size_t l = 0; l < lossy_rates.size(); ++l)
    for (std::size_t f = 0; f < settings.size(); ++f) {
      const std::vector<LossyRun>& r = runs[f][l];
      const auto count = [&](auto&& which) {
        return fmt::format("{}/{}", std::count_if(r.begin(), r.end(), which), r.size());
      };
      table.rows.push_back({fmt::format("{:.0f} %", 100.0 * lossy_rates[l]), settings[f].name,
                            count([](const LossyRun& x) { return x.failed(); }),
                            count([](const LossyRun& x) { return x.mirrored(); }),
                            cell(median_of(r, &LossyRun::speed)), cell(median_of(r, &LossyRun::angle)),
                            cell(1e3 * median_of(r, &LossyRun::flux)), cell(rms_of(r, &LossyRun::speed)),
                            cell(rms_of(r, &LossyRun::angle)), cell(1e3 * rms_of(r, &LossyRun::flux))});
    }
  report.table(caption + "; medians of all runs, rms of those that did not fail", table);
}

Task lossy_task(const std::string& name, const LossyOptions& options) {
  return {name, fmt::format("{} records of {:g} s, the same for all filters", options.seeds, options.seconds),
          "runs that fail, and errors of the others, all over the second half of a record",
          "failed: speed error above 25 rad/s (rms), or angle error above 0.5 rad (electrical, modulo half a "
          "turn); mirrored: not failed, and the flux negative"};
}

void run_stability(Report& report, const LossyOptions& options) {
  report.begin(lossy_task("stability", options));
  for (const NoiseReading reading : {NoiseReading::density, NoiseReading::literal}) {
    const auto settings = stability_filters(reading);
    const LossyRuns runs = run_filters(settings, reading, options);
    tell_runs(report,
              reading == NoiseReading::density ? "process noise as a density" : "process noise literally",
              settings, runs);
    // A single bad record of a short run says nothing of one in a hundred.
    if (reading != NoiseReading::density || options.seeds < 100) continue;
    const double ekf = share_failed(runs[0][1]), pkf = share_failed(runs[1][1]);
    report.add({"pkf: share that fails", pkf, 0.01, false, "density, 20 % lost"});
    report.add({"ekf fails less pkf fails", ekf - pkf, 1.0 / options.seeds, true, "density, 20 % lost"});
  }
}

void run_nuisance(Report& report, const LossyOptions& options) {
  report.begin(lossy_task("nuisance", options));
  const auto settings = nuisance_filters();
  const LossyRuns runs = run_filters(settings, NoiseReading::literal, options);
  tell_runs(report, "the flux is not wanted, and only about known: 0.004 Wb, give or take 0.001", settings,
            runs);
}

// What an estimator's model takes of a rehearsal: its sensors and inputs, found by their names.
Record record_for(const Model& model, const Model& plant, const Record& of) {
  Record record;
  record.sensors = model.estimation.sensors;
  record.inputs = model.estimation.inputs;
  record.step = of.step;
  record.steps = of.steps;
  record.counts.resize(record.sensors.size());
  for (std::int64_t row = 0; row < of.steps; ++row) {
    for (int s : record.sensors)
      for (std::size_t k = 0; k < of.sensors.size(); ++k)
        if (plant.outputs[static_cast<std::size_t>(of.sensors[k])].name ==
            model.outputs[static_cast<std::size_t>(s)].name)
          record.readings.push_back(of.reading(row, k));
    for (std::size_t k = 0; k < of.inputs.size(); ++k)
      record.given.push_back(of.given[static_cast<std::size_t>(row) * of.inputs.size() + k]);
  }
  return record;
}

struct DriveErrors {
  double speed = 0.0, worst = 0.0;  // root mean square of the worst interval, and largest, rad/s
  double last_flux = 0.0;           // Wb, at the end
  std::string failure;
};

// The drive in closed loop with a fifth of all samples lost; from 0.3 s after each speed step to the next.
DriveErrors drive_errors(const Rehearsal& rehearsal, const Model& plant, const std::string& file,
                         std::uint64_t seed) {
  const double steps[] = {0.0, 1.6, 2.7, 4.3, 5.5};
  const Model model = benchmark_model(file);
  const Record readings = disturbed(plant, rehearsal.record, {.seed = seed, .loss = 0.2});
  const Estimate e = estimate(model, record_for(model, plant, readings), {});
  DriveErrors errors;
  errors.failure = e.failure;
  const auto quantity = [&](const char* name) {
    const auto found = std::find_if(e.quantities.begin(), e.quantities.end(),
                                    [&](const EstimatedQuantity& q) { return q.name == name; });
    return static_cast<std::size_t>(found - e.quantities.begin());
  };
  const std::size_t speed = quantity("speed"), flux = quantity("flux"), width = e.quantities.size();
  const std::size_t truth = *rehearsal.truth.find("speed");
  for (int k = 0; k < 4; ++k) {
    double squares = 0.0, count = 0.0;
    for (std::size_t row = 0; row < e.t.size(); ++row) {
      if (e.t[row] < steps[k] + 0.3 || e.t[row] >= steps[k + 1]) continue;
      const double error = e.mean[row * width + speed] - rehearsal.truth.at(row, truth);
      squares += error * error;
      errors.worst = std::max(errors.worst, std::abs(error));
      count += 1.0;
    }
    if (count > 0.0) errors.speed = std::max(errors.speed, std::sqrt(squares / count));
  }
  if (flux < width && !e.t.empty()) errors.last_flux = e.mean[(e.t.size() - 1) * width + flux];
  return errors;
}

void run_lossy_drive(Report& report, int seeds) {
  constexpr double rated = 4000.0 * 2.0 * M_PI / 60.0;
  report.begin(
      {"drive",
       "models/pmsm-estimation: drive.toml, 5.5 s, a fifth of the samples lost; sensorless and tracking",
       "speed from 0.3 s after each of its steps to the next; flux at the end",
       "speed error at most 2 % of 4000 rpm (rms), flux within 2 %"});
  struct Experiment {
    const char* file;
    std::vector<std::string> inputs;
    double flux;
  };
  TextTable table{{"model", "seed", "speed rms [rad/s]", "worst", "flux [mWb]", "true"}, {}};
  double largest = 0.0;
  for (const Experiment& x :
       {Experiment{"pmsm-estimation/sensorless.toml", {"v_alpha", "v_beta"}, 0.005237624509},
        Experiment{"pmsm-estimation/tracking.toml", {"v_d", "v_q"}, 0.0047}}) {
    Model plant = benchmark_model("pmsm-estimation/drive.toml", {{"flux", x.flux}});
    plant.estimation.inputs = x.inputs;
    SimulationOptions options;
    options.method = options.form = options.start = "";
    const Rehearsal rehearsal = rehearse(plant, options);
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(std::min(seeds, 3)); ++seed) {
      const DriveErrors errors = drive_errors(rehearsal, plant, x.file, seed);
      const bool tracks = errors.last_flux != 0.0;
      report.require(errors.failure.empty(), errors.failure);
      report.require(
          errors.speed <= 0.02 * rated && (!tracks || std::abs(errors.last_flux / x.flux - 1) < 0.02),
          fmt::format("{}: {:.3g} rad/s, {:.4g} Wb", x.file, errors.speed, errors.last_flux));
      if (!tracks) largest = std::max(largest, errors.speed);
      table.rows.push_back({x.file, cell(static_cast<std::int64_t>(seed)), cell(errors.speed),
                            cell(errors.worst), tracks ? cell(1e3 * errors.last_flux, 4) : "",
                            cell(1e3 * x.flux, 4)});
    }
  }
  report.table("errors against the plant", table);
  report.add({"sensorless: speed rms over rated", largest / rated, 0.02, false, "20 % lost, load unknown"});
}

}  // namespace

bool run_lossy(const LossyOptions& options) {
  const auto wanted = [&](const char* name) {
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), name) != options.only.end();
  };
  Report report;
  if (wanted("files")) run_files(report);
  if (wanted("stability")) run_stability(report, options);
  if (wanted("nuisance")) run_nuisance(report, options);
  if (wanted("drive")) run_lossy_drive(report, options.seeds);
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << "\n";
  return !report.failed();
}

}  // namespace tellegen
