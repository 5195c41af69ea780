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
}

}  // namespace

void section_size(Circuits& run) {
  run.report.begin({"size",
                    "generated model text of N loops; bdf3, 2.5 ms, 0 to 1 s; a process for every size",
                    "V4 and I_L1 (2 loops: V6, I_L2) at 100 samples",
                    "RMS error within 2 % of section 9; refactored equal to reused within 1e-9 V, A"});
  TextTable times{{"loops", "variables", "unknowns", "err V", "err I", "us/step", "ns/step/loop",
                   "refactor: us/step", "refactor: ns/step/loop", "build [s]", "peak [MB]"},
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
      if (loops == 100000) {
        run.report.add(
            {"build [s], 100000 loops", part->sum(), 10, false, "model text to first step, nothing cached"});
      }
    }
  }
  run.report.table("ladder, time per step (factorisation reused, and in every step)", times);
  run.report.table("seconds from model text to the first step, compiler cache empty", parts);
  add_size_bars(run, good_runs);
}

namespace {

// The largest ladder whose second takes at most a second: guesses in proportion, as time is nearly
// proportional to loops, then halving, until two sizes 4 % apart enclose it.
struct RealTimeSize {
  int loops = 0;
  LadderRun run;
};

RealTimeSize largest_in_real_time(const LadderSetting& setting, int most) {
  const auto run_with = [&](int loops) {
    LadderSetting sized = setting;
    sized.loops = loops;
    return run_ladder(sized);
  };
  RealTimeSize best;
  int above = most + 1;
  bool confirmed = false;
  for (int trial = 0; trial < 16; ++trial) {
    int loops = trial == 0 ? 2000 : 100;
    if (best.loops > 0) {
      const bool enclosed = above - best.loops <= std::max(1, best.loops / 25);
      if (enclosed && (confirmed || above > most)) break;
      const double guess = best.loops / best.run.seconds * (trial % 2 == 1 ? 0.99 : 1.02);
      loops =
          trial > 6 ? best.loops + (above - best.loops) / 2 : static_cast<int>(std::min(guess, 1.0 * above));
      loops = std::clamp(loops, best.loops + 1, above - 1);
      // A busy machine may have made the size above look too large: it is asked once more.
      if (enclosed) loops = above, confirmed = true;
    } else if (trial > 1) {
      break;
    }
    const auto run = run_with(loops);
    if (run && run->seconds <= 1) {
      best = {loops, *run};
      if (loops == above) above = most + 1, confirmed = false;
    } else {
      above = loops;
    }
  }
  return best;
}

}  // namespace

void section_realtime(Circuits& run) {
  run.report.begin({"realtime", "generated ladders, bdf3, one second simulated",
                    "largest number of loops whose step loop takes at most a second",
                    "V4 and I_L1 of the largest meet the thresholds of Table 5"});
  // Quick: nothing that takes long to build.
  const int most = run.options.quick ? 5000 : 1'000'000;
  TextTable table{{"precision", "h [ms]", "factorisation", "loops", "variables", "err V4", "err I_L1",
                   "published loops (refactored)", "ratio"},
                  {}};
  const Thresholds thresholds = thresholds_of("ladder_2");
  const ReferenceSolution reference = read_reference("scalable_rlc_N100_first_branch.csv");
  for (const Precision precision : {Precision::low, Precision::high}) {
    for (const bool refactor : {false, true}) {
      const double h = precision == Precision::high ? 0.25e-3 : 2.5e-3;
      const auto [loops, largest] =
          largest_in_real_time({.h = h, .refactor = refactor, .repetitions = 3, .enough = 1}, most);
      const std::string what = fmt::format("{}, {}", name_of(precision), refactor ? "refactored" : "reused");
      if (!run.report.require(loops > 0, what + ": not even 100 loops")) continue;
      const Both errors = errors_of(largest, reference);
      std::vector<std::string> cells{name_of(precision), cell(1e3 * h), refactor ? "every step" : "reused"};
      if (run.report.require(meets(errors, thresholds.of(precision)),
                             fmt::format("{}: {} loops miss the precision", what, loops))) {
        int published = 0;
        for (const PublishedSize& size : published_sizes()) {
          if (size.method == "BDF3" && size.precision == precision) published = size.loops;
        }
        const bool capped = loops >= most;
        cells.insert(cells.end(), {(capped ? ">= " : "") + std::to_string(loops),
                                   std::to_string(5 * loops + 3), cell(errors.first), cell(errors.second),
                                   std::to_string(published), cell(static_cast<double>(loops) / published)});
        run.report.add({"loops in real time, " + what, static_cast<double>(loops),
                        static_cast<double>(published), true,
                        fmt::format("bdf3, {:g} ms{}; bound: published, i7-8700K", 1e3 * h,
                                    capped ? ", larger not tried" : "")});
      }
      table.rows.push_back(std::move(cells));
    }
  }
  run.report.table("largest ladder in real time", table);
}

}  // namespace tellegen
