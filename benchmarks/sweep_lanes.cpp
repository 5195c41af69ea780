#include "benchmarks/sweep_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

#include "benchmarks/limit_sweep.h"
#include "tellegen/model/read.h"
#include "tellegen/sweep/evaluate.h"

namespace tellegen {
namespace {

double lane_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct LaneStudy {
  std::string file;
  std::vector<Axis> axes;
  double stop, step;  // of bdf3
};

struct TimedSamples {
  std::vector<SampleOutcome> outcomes;
  double seconds = 0.0;  // of the processor, with reading the model and the compiler's work
};

TimedSamples run_lane_study(const LaneStudy& study, const SampleSet& samples, bool together) {
  SampleTask task;
  task.read = [&] { return read_model(TELLEGEN_SOURCE_DIR "/models/" + study.file, {}); };
  task.axes = study.axes;
  task.simulation.method = "bdf3";
  task.simulation.stop = study.stop;
  task.simulation.step = study.step;
  const double begin = lane_seconds();
  Model model = task.read();
  check_task(model, task);
  TimedSamples result;
  result.outcomes.resize(samples.rows());
  std::vector<std::size_t> all(samples.rows());
  std::iota(all.begin(), all.end(), std::size_t{0});
  SampleLoop loop = sample_loop(task, samples);
  if (!together) loop.at_once = {};
  loop.finished = [&](std::size_t k, SampleOutcome outcome) { result.outcomes[k] = std::move(outcome); };
  run_samples(all, 1, loop);
  result.seconds = lane_seconds() - begin;
  return result;
}

template <class ByHand>
void compare_lanes(Report& report, const LaneStudy& study, int count, const std::string& name,
                   ByHand by_hand) {
  const SampleSet samples = latin_hypercube(study.axes, static_cast<std::size_t>(count), 1);
  const TimedSamples lanes = run_lane_study(study, samples, true),
                     alone = run_lane_study(study, samples, false);
  bool same = true;
  for (std::size_t k = 0; k < samples.rows(); ++k)
    same = same && lanes.outcomes[k].values == alone.outcomes[k].values &&
           lanes.outcomes[k].status == alone.outcomes[k].status;
  if (!report.require(same, name + ": samples side by side are samples alone, to the last bit")) return;
  TextTable table{{"", "us a sample", "samples a second", "of the time by hand"}, {}};
  for (const bool vector_functions : {false, true}) {
    if (vector_functions && (!has_vector_functions() || study.file.starts_with("rc-"))) continue;
    const double begin = lane_seconds();
    const std::vector<double> wanted = by_hand(samples, vector_functions);
    const double seconds = lane_seconds() - begin;
    const std::size_t width = wanted.size() / samples.rows();
    double largest = 0.0;
    for (std::size_t k = 0; k < wanted.size(); ++k)
      largest = std::max(largest, std::abs(lanes.outcomes[k / width].values[k % width] - wanted[k]) /
                                      (1.0 + std::abs(wanted[k])));
    if (!report.require(largest < 1e-5,
                        fmt::format("{}: by hand the same, difference {:.2g}", name, largest)))
      return;
    const auto row = [&](const std::string& what, double time) {
      table.rows.push_back({what, cell(1e6 * time / count), cell(count / time), cell(time / seconds)});
    };
    if (!vector_functions) {
      row("one by one", alone.seconds);
      row("side by side", lanes.seconds);
      row("by hand, in lanes", seconds);
      report.add({name + ": side by side over by hand", lanes.seconds / seconds, 2.5, false,
                  "processor time of one thread, with reading the model"});
    } else {
      row("by hand, with a vector exponential of other last digits", seconds);
    }
  }
  report.table(name, table);
}

}  // namespace

void report_lanes(Report& report, int samples) {
  report.begin({"samples side by side",
                fmt::format("{} samples of models/rc-thermal/network.toml by bdf3, 5 s at 1 ms; {} of "
                            "models/rectifier, 1 s at 0.1 ms",
                            samples, samples / 10),
                "the outputs at the end of each run; processor time",
                "to the last bit those of runs one by one; by hand, 1e-5 of each"});
  const LaneStudy thermal{"rc-thermal/network.toml",
                          {{"R1", "", 0.7, 1.3},
                           {"R2", "", 1.4, 2.6},
                           {"R3", "", 2.1, 3.9},
                           {"C1", "", 0.07, 0.13},
                           {"C2", "", 0.14, 0.26}},
                          5.0,
                          1e-3};
  compare_lanes(report, thermal, samples, "thermal network", [&](const SampleSet& set, bool) {
    std::vector<ThermalSample> by_hand;
    for (std::size_t k = 0; k < set.rows(); ++k) {
      const auto p = set.row(k);
      by_hand.push_back({p[0], p[1], p[2], p[3], p[4], 10.0});
    }
    return limit_thermal_samples(by_hand, thermal.step, std::lround(thermal.stop / thermal.step));
  });
  const LaneStudy rectifier{
      "rectifier/model.toml",
      {{"r1.R", "", 7.0, 13.0}, {"l1.L", "", 0.07, 0.13}, {"e1.amplitude", "", 70.0, 130.0}},
      1.0,
      1e-4};
  compare_lanes(report, rectifier, std::max(1, samples / 10), "rectifier",
                [&](const SampleSet& set, bool vectors) {
                  std::vector<RectifierSample> by_hand;
                  for (std::size_t k = 0; k < set.rows(); ++k)
                    by_hand.push_back({set.row(k)[0], set.row(k)[1], set.row(k)[2]});
                  return limit_rectifier_samples(by_hand, rectifier.step,
                                                 std::lround(rectifier.stop / rectifier.step), vectors);
                });
}

}  // namespace tellegen
