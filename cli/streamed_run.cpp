#include "cli/streamed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "tellegen/model/units.h"
#include "tellegen/results/csv_stream.h"
#include "tellegen/results/hdf5_stream.h"
#include "tellegen/simulate/denormals.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

constexpr double most_kept = 100e6;           // bytes of rows in memory
constexpr std::int64_t rows_together = 4096;  // rows between two writings
constexpr double csv_bytes = 19.0;            // of a number, on average
bool is_hdf5(const fs::path& path) { return path.extension() == ".h5" || path.extension() == ".hdf5"; }

double numbers_of(const Simulation& simulation) {
  return static_cast<double>(sample_count(simulation.problem()) + 1) *
         static_cast<double>(simulation.outputs().size() + 1);
}

// Values in SI to the units of their outputs.
struct Conversion {
  explicit Conversion(const std::vector<OutputColumn>& outputs) {
    for (const OutputColumn& o : outputs) {
      offset.push_back(o.unit.empty() ? 0.0 : units().from_si(0.0, o.unit));
      slope.push_back(o.unit.empty() ? 1.0 : units().from_si(1.0, o.unit) - offset.back());
    }
  }
  std::vector<double> offset, slope;
};

}  // namespace

bool is_too_long_to_keep(const Simulation& simulation) { return 8.0 * numbers_of(simulation) > most_kept; }

void check_disk(const Simulation& simulation, const fs::path& path) {
  const double needed = numbers_of(simulation) * (is_hdf5(path) ? 8.0 : csv_bytes);
  std::error_code error;
  const fs::path folder = fs::absolute(path).parent_path();
  const fs::space_info space = fs::space(folder, error);
  if (error || needed < 0.95 * static_cast<double>(space.available)) return;
  throw ModelError({{simulation.system().model->file.string(), 0},
                    "T310",
                    fmt::format("'{}' would take about {:.3g} GB, and its disk has {:.3g} GB left",
                                path.string(), 1e-9 * needed, 1e-9 * static_cast<double>(space.available)),
                    {"give a longer sample interval (--sample), or fewer outputs (--outputs)"}});
}

StreamedRun run_streamed(Simulation& simulation, const fs::path& path, const Progress& progress,
                         const SavedRun& saved) {
  using Clock = std::chrono::steady_clock;
  const FlushDenormals flush;
  StreamedRun run;
  SimulationResult& result = run.result;
  for (const OutputColumn& o : simulation.outputs()) {
    result.names.push_back(o.name);
    result.units.push_back(o.unit);
  }
  const std::size_t width = result.names.size();
  std::optional<CsvStream> csv;
  std::optional<Hdf5Stream> hdf5;
  if (is_hdf5(path))
    hdf5.emplace(path, result.names, result.units);
  else if (!path.empty())
    csv.emplace(path, result.names, result.units);

  const Conversion to_unit(simulation.outputs());
  std::vector<double> low(width, std::numeric_limits<double>::infinity()), high(width, -low[0]);
  std::vector<double> t, values((rows_together + 1) * width);
  const auto write = [&](std::int64_t rows) {
    for (std::int64_t r = 0; r < rows; ++r) {
      double* row = values.data() + r * static_cast<std::int64_t>(width);
      for (std::size_t k = 0; k < width; ++k) {
        row[k] = to_unit.offset[k] + to_unit.slope[k] * row[k];
        low[k] = std::fmin(low[k], row[k]);
        high[k] = std::fmax(high[k], row[k]);
      }
      if (csv) csv->row(t[static_cast<std::size_t>(r)], std::span(row, width));
    }
    if (hdf5)
      hdf5->rows(std::span(t).first(static_cast<std::size_t>(rows)),
                 std::span(values).first(static_cast<std::size_t>(rows) * width));
    run.rows += rows;
  };

  const double sample = simulation.sample_interval();
  const Problem& problem = simulation.problem();
  std::int64_t samples = sample_count(problem), done = 0;
  if (saved.resume.empty()) {
    t = {0.0};
    simulation.first_row(values.data());
    write(1);
  } else {
    const ResumedRun resumed = simulation.resume(saved.resume);
    std::copy(resumed.row.begin(), resumed.row.end(), values.begin());
    done = resumed.samples;
  }
  const double begin_time = sample * static_cast<double>(done);
  const std::vector<double> first(values.begin(), values.begin() + static_cast<long>(width));
  std::vector<double> last = first, last_si;
  double end = begin_time;
  const auto samples_between =
      saved.every > 0.0 ? std::max<std::int64_t>(1, std::llround(saved.every / sample)) : samples;
  const auto save = [&] {
    if (csv) csv->flush();
    saved.save(simulation.checkpoint(done, last_si));
  };
  if (problem.stop_event >= 0 && problem.initial.held[problem.stop_event] != 0.0) {
    result.ended = 0.0;
    samples = 0;
  }
  while (done < samples) {
    std::int64_t wanted = std::min(rows_together, samples - done);
    if (saved.save) wanted = std::min(wanted, samples_between - done % samples_between);
    const auto begin = Clock::now();
    std::int64_t finished = simulation.integrator().advance(wanted, values.data());
    result.loop_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    t.clear();
    for (std::int64_t k = 1; k <= finished; ++k) t.push_back(sample * static_cast<double>(done + k));
    const bool over = finished < wanted;
    done += finished;
    if (over) {
      result.failure = simulation.integrator().failure();
      if (result.failure.empty()) result.ended = simulation.integrator().ended();
      if (result.ended && *result.ended - sample * static_cast<double>(done) > 1e-9 * sample) {
        t.push_back(*result.ended);  // the row of the end stands behind the others
        ++finished;
      }
    }
    if (saved.save && finished > 0) {
      const auto* row = values.data() + (finished - 1) * static_cast<std::int64_t>(width);
      last_si.assign(row, row + width);
    }
    write(finished);
    if (finished > 0) {
      const auto* row = values.data() + (finished - 1) * static_cast<std::int64_t>(width);
      last.assign(row, row + width);
      end = t.back();
    }
    if (progress) progress(static_cast<double>(done) / static_cast<double>(samples));
    if (over) break;
    run.interrupted = saved.stop && *saved.stop && done < samples;
    if (saved.save &&
        (run.interrupted || done == samples || (saved.every > 0.0 && done % samples_between == 0)))
      save();
    if (run.interrupted) break;
  }
  if (csv) csv->close();
  if (hdf5) hdf5->close();
  if (problem.stop_event >= 0 && !result.ended && result.failure.empty())
    result.note = fmt::format("its stop condition did not become true before t = {:.9g} s", end);
  result.record = problem.record;
  result.statistics = simulation.integrator().statistics();
  result.step =
      result.statistics.steps > 0 ? end / static_cast<double>(result.statistics.steps) : problem.step;
  result.t = {begin_time, end};
  run.ends = {result.names, result.units, {}, {}};
  run.ends.append(begin_time, first);
  run.ends.append(begin_time, low);
  run.ends.append(end, high);
  run.ends.append(end, last);
  return run;
}

}  // namespace tellegen
