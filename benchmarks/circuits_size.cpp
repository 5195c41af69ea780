// How time per step, memory and preparation grow with the ladder, and how large it may be in real time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchmarks/circuits_sections.h"
#include "benchmarks/ladder_size.h"

namespace tellegen {
namespace {

Both computed_errors(int loops) {
  for (const ComputedRow& row : computed_rows(loops == 2 ? "ladder_2" : "ladder_first_branch")) {
    if (row.method == "BDF3" && row.start == "trapezoidal" && std::abs(row.h - 2.5e-3) < 1e-9)
      return row.errors;
  }
  return {};
}

Both errors_of(const LadderRun& run, const ReferenceSolution& reference) {
  std::vector<double> first(run.first, run.first + run.filled), second(run.second, run.second + run.filled);
  return {rms_difference(first, reference.first), rms_difference(second, reference.second)};
}

double largest_difference(const LadderRun& a, const LadderRun& b) {
  double largest = 0;
  for (int i = 0; i < std::min(a.filled, b.filled); ++i) {
    largest = std::max({largest, std::abs(a.first[i] - b.first[i]), std::abs(a.second[i] - b.second[i])});
  }
  return largest;
}

double nanoseconds(const LadderRun& run) { return 1e9 * run.seconds / static_cast<double>(run.steps); }

void add_size_bars(Circuits& run, const std::vector<std::pair<int, LadderRun>>& runs) {
  const auto of = [&](int loops) -> const LadderRun* {
    for (const auto& [n, r] : runs) {
      if (n == loops) return &r;
    }
    return nullptr;
  };
  const LadderRun *small = of(1000), *large = of(100000);
  if (!small || !large) return;
  run.report.add({"time per step per loop, 100000 / 1000", nanoseconds(*large) / 100 / nanoseconds(*small), 2,
                  false, "bdf3, 2.5 ms, factorisation reused"});
  run.report.add({"peak memory [MB], 100000 loops", large->peak_megabytes, 2048, false, "whole process"});
  run.report.add({"build [s], 100000 loops", large->build_seconds(), 10, false,
                  "model text to first step, kernels cached"});
}

}  // namespace

void section_size(Circuits& run) {
  run.report.begin({"size",
                    "generated model text of N loops; bdf3, 2.5 ms, 0 to 1 s; a process for every size",
                    "V4 and I_L1 (2 loops: V6, I_L2) at 100 samples",
                    "RMS error within 2 % of section 9; refactored equal to reused within 1e-9 V, A"});
  TextTable times{{"loops", "variables", "unknowns", "err V", "err I", "us/step", "ns/step/loop",
                   "refactor: us/step", "ns/step/loop ", "build [s]", "peak [MB]"},
                  {}};
  TextTable parts{
      {"loops", "(write text)", "read", "graph", "equations", "initial", "network", "kernels", "sum [s]"},
      {}};
  std::vector<std::pair<int, LadderRun>> good_runs;
  for (const int loops : {2, 100, 250, 500, 1000, 2000, 5000, 10000, 100000}) {
    if (run.options.quick && loops > 5000) break;
    const int repetitions = loops <= 1000 ? 20 : loops <= 10000 ? 5 : 3;
    const auto reused = run_ladder({.loops = loops, .repetitions = repetitions});
    // The largest refactors for a tenth of the time: its steps all cost the same.
    const auto refactored = run_ladder({.loops = loops,
                                        .stop = loops > 10000 ? 0.1 : 1,
                                        .refactor = true,
                                        .repetitions = loops <= 1000 ? 5 : 2});
    if (!run.report.require(reused && refactored, fmt::format("{} loops: the run failed", loops))) continue;
    const auto reference =
        read_reference(loops == 2 ? "scalable_rlc_N2.csv" : "scalable_rlc_N100_first_branch.csv");
    const Both errors = errors_of(*reused, reference), computed = computed_errors(loops);
    const double off =
        std::max(std::abs(errors.first / computed.first - 1), std::abs(errors.second / computed.second - 1));
    const double apart = largest_difference(*reused, *refactored);
    const bool good =
        run.report.require(
            off <= 0.02, fmt::format("{} loops: errors {:.3g} V, {:.3g} A are {:.1f} % off section 9", loops,
                                     errors.first, errors.second, 100 * off)) &&
        run.report.require(apart <= 1e-9,
                           fmt::format("{} loops: refactored differs by {:.2g}", loops, apart));
    std::vector<std::string> cells{std::to_string(loops), std::to_string(5 * loops + 3),
                                   cell(reused->unknowns), cell(errors.first), cell(errors.second)};
    if (good) {
      for (const double value :
           {1e-3 * nanoseconds(*reused), nanoseconds(*reused) / loops, 1e-3 * nanoseconds(*refactored),
            nanoseconds(*refactored) / loops, reused->build_seconds(), reused->peak_megabytes}) {
        cells.push_back(cell(value));
      }
      good_runs.emplace_back(loops, *reused);
    }
    times.rows.push_back(std::move(cells));
    if (const auto part = time_ladder_parts(loops)) {
      std::vector<std::string> row{std::to_string(loops)};
      for (const double value : {part->text, part->read, part->graph, part->equations, part->initial,
                                 part->network, part->kernels, part->sum()}) {
        row.push_back(cell(value));
      }
      parts.rows.push_back(std::move(row));
    }
  }
  run.report.table("ladder, time per step (factorisation reused, and in every step)", times);
  run.report.table("seconds from model text to the first step, compiler cache empty", parts);
  add_size_bars(run, good_runs);
}

namespace {

// The largest ladder whose second takes at most a second: a secant on loops, as time is nearly proportional
// to them, until two sizes 2 % apart enclose it.
int largest_in_real_time(const LadderSetting& setting, int most) {
  const auto seconds = [&](int loops) {
    LadderSetting sized = setting;
    sized.loops = loops;
    const auto run = run_ladder(sized);
    return run ? run->seconds : std::numeric_limits<double>::infinity();
  };
  int below = 100, above = most + 1;
  double below_seconds = seconds(below);
  if (below_seconds > 1) return 0;
  for (int trial = 0; trial < 12 && above - below > std::max(1, below / 50); ++trial) {
    const double guess = below / below_seconds * (trial % 2 == 0 ? 0.995 : 1.005);
    const int last = above - 1;
    int loops = std::clamp(static_cast<int>(std::min<double>(guess, last)), below + 1, last);
    if (trial > 4) loops = below + (above - below) / 2;
    const double taken = seconds(loops);
    if (taken <= 1) {
      below = loops, below_seconds = taken;
      if (loops == most) break;
    } else {
      above = loops;
    }
  }
  return below;
}

}  // namespace

void section_realtime(Circuits& run) {
  run.report.begin({"realtime", "generated ladders, bdf3, one second simulated",
                    "largest number of loops whose step loop takes at most a second", "as for `size`"});
  // Quick: nothing that takes long to build.
  const int most = run.options.quick ? 5000 : 1'000'000;
  TextTable table{
      {"precision", "h [ms]", "factorisation", "loops", "variables", "published loops (refactored)", "ratio"},
      {}};
  for (const Precision precision : {Precision::low, Precision::high}) {
    for (const bool refactor : {false, true}) {
      const double h = precision == Precision::high ? 0.25e-3 : 2.5e-3;
      const int loops = largest_in_real_time({.h = h, .refactor = refactor, .repetitions = 2}, most);
      int published = 0;
      for (const PublishedSize& size : published_sizes()) {
        if (size.method == "BDF3" && size.precision == precision) published = size.loops;
      }
      const bool capped = loops >= most;
      table.rows.push_back({name_of(precision), cell(1e3 * h), refactor ? "every step" : "reused",
                            (capped ? ">= " : "") + std::to_string(loops), std::to_string(5 * loops + 3),
                            std::to_string(published), cell(static_cast<double>(loops) / published)});
      run.report.add(
          {fmt::format("loops in real time, {}, {}", name_of(precision), refactor ? "refactored" : "reused"),
           static_cast<double>(loops), static_cast<double>(published), true,
           fmt::format("bdf3, {:g} ms; bound: published, i7-8700K", 1e3 * h)});
    }
  }
  run.report.table("largest ladder in real time", table);
}

}  // namespace tellegen
