#include "benchmarks/ladder_size.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "benchmarks/child_process.h"
#include "benchmarks/circuit.h"
#include "benchmarks/ladder_model.h"
#include "tellegen/equations/network.h"
#include "tellegen/equations/storage.h"
#include "tellegen/graph/faults.h"
#include "tellegen/model/read.h"

namespace tellegen {
namespace {

class Stopwatch {
 public:
  // Seconds since the last call.
  double lap() {
    const auto now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

// Processor time of this thread: what a second of work costs where other programs take turns with it.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Model read_ladder(const std::string& text, int loops) {
  return read_model_text(text, fmt::format("ladder_{}.toml", loops));
}

std::vector<OutputColumn> monitored(const Model& model, int loops) {
  return loops == 2 ? monitored_columns(model, "V_last", "I_last")
                    : monitored_columns(model, "V_first", "I_first");
}

SimulationOptions options_of(const LadderSetting& setting) {
  SimulationOptions options;
  options.method = setting.method;
  options.step = setting.h;
  options.stop = setting.stop;
  options.sample = 0.01;
  options.refactor = setting.refactor;
  return options;
}

LadderRun run_here(const LadderSetting& setting) {
  LadderRun run;
  const std::string text = ladder_model(setting.loops);
  Stopwatch watch;
  const Model model = read_ladder(text, setting.loops);
  run.read_seconds = watch.lap();
  const EquationSystem system = build_system(model);
  run.system_seconds = watch.lap();
  Simulation simulation(system, options_of(setting), monitored(model, setting.loops));
  run.prepare_seconds = watch.lap();
  for (int repetition = 0; repetition < setting.repetitions; ++repetition) {
    if (repetition > 0 && run.seconds <= setting.enough) break;
    // A further run goes on where the last one ended: the same work per step.
    const double begin = processor_seconds();
    const SimulationResult result = simulation.run();
    // A loop of a second is always interrupted on a busy machine; neither clock runs slower than the loop.
    const double seconds = std::min(result.loop_seconds, processor_seconds() - begin);
    if (!result.failure.empty()) throw std::runtime_error(result.failure);
    if (repetition > 0) {
      run.seconds = std::min(run.seconds, seconds);
      continue;
    }
    run.seconds = seconds;
    run.steps = result.statistics.steps;
    run.unknowns = result.statistics.unknowns;
    run.filled = std::min<int>(LadderRun::samples, static_cast<int>(result.t.size()) - 1);
    for (int i = 0; i < run.filled; ++i) {
      run.first[i] = result.values[2 * (i + 1)], run.second[i] = result.values[2 * (i + 1) + 1];
    }
  }
  run.peak_megabytes = peak_megabytes();
  return run;
}

LadderParts parts_here(int loops) {
  // An empty cache: the compiler's time belongs to the kernels.
  std::string cache = (std::filesystem::temp_directory_path() / "tellegen_cache_XXXXXX").string();
  if (mkdtemp(cache.data())) setenv("TELLEGEN_CACHE", cache.c_str(), 1);
  LadderParts parts;
  Stopwatch watch;
  const std::string text = ladder_model(loops);
  parts.text = watch.lap();
  const Model model = read_ladder(text, loops);
  parts.read = watch.lap();
  const LinearGraph graph = build_graph(model);
  const Tree tree = normal_tree(graph);
  if (!topology_faults(model, graph, tree).empty())
    throw std::runtime_error("the ladder has topology faults");
  parts.graph = watch.lap();
  const EquationSystem system = build_system(model);
  parts.equations = watch.lap();
  {
    const Storage storage = analyse_storage(system);
    Tableau tableau(system);
    find_initial_state(tableau, storage);
  }
  parts.initial = watch.lap();
  build_network(system);
  parts.network = watch.lap();
  const Simulation simulation(system, options_of({.loops = loops}), monitored(model, loops));
  // Each later part repeats what came before it.
  parts.kernels = std::max(0.0, watch.lap() - parts.initial - parts.network);
  parts.equations = std::max(0.0, parts.equations - parts.graph);
  std::error_code ignored;
  std::filesystem::remove_all(cache, ignored);
  return parts;
}

}  // namespace

std::optional<LadderRun> run_ladder(const LadderSetting& setting) {
  return run_in_child([&] { return run_here(setting); });
}

std::optional<LadderParts> time_ladder_parts(int loops) {
  return run_in_child([&] { return parts_here(loops); });
}

}  // namespace tellegen
