#include "benchmarks/python_calls.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "benchmarks/charging_model.h"
#include "benchmarks/report.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/sensitivity/study.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/sweep/evaluate.h"
#include "tellegen/sweep/run_samples.h"
#include "tellegen/sweep/samples.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

struct Answers {
  double call = std::numeric_limits<double>::infinity(), sum = 0;  // seconds; of the last values
  double sweep = std::numeric_limits<double>::infinity(), sweep_sum = 0;
};

// Of the processor, as Python's half counts them: another program must not decide which of both is slower.
template <class Function>
double seconds_of(Function&& function) {
  const std::clock_t begin = std::clock();
  function();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// What sweep() of tellegen.h does; the benchmarks have its parts, not the library.
std::vector<SampleOutcome> sweep_as_the_library(SampleTask task, const SampleSet& samples) {
  Model model = task.read();
  check_task(model, task);
  std::vector<SampleOutcome> outcomes(samples.rows());
  std::vector<std::size_t> all(samples.rows());
  std::iota(all.begin(), all.end(), std::size_t{0});
  run_samples(all, 1,
              {.evaluate = [&](std::size_t k) { return evaluate_sample(task, samples.row(k)); },
               .finished = [&](std::size_t k, SampleOutcome outcome) { outcomes[k] = std::move(outcome); },
               .progress = {}});
  return outcomes;
}

Answers from_cpp(const fs::path& file, const PythonOptions& options, int repetitions) {
  Answers answers;
  Model model = read_model(file);
  const std::vector<int> parameters{study_parameter(model, "R1", {"set", 0})};
  SimulationOptions simulation_options = complete_options(model, as_the_model_says());
  simulation_options.restarts = true;
  simulation_options.balance = Balance::off;
  Simulation simulation(model, simulation_options, {});
  simulation.run();
  for (int r = 0; r < repetitions; ++r) {
    answers.sum = 0;
    const double seconds = seconds_of([&] {
      for (int k = 0; k < options.calls; ++k) {
        set_parameters(model, parameters, std::vector<double>{1000.0 + k});
        if (!simulation.restart(simulation_options.stop)) throw std::runtime_error("cannot be run again");
        answers.sum += simulation.run().values.end()[-2];  // V: E is the last
      }
    });
    answers.call = std::min(answers.call, seconds / options.calls);
  }
  for (int r = 0; r < repetitions; ++r) {
    answers.sweep_sum = 0;
    const double seconds = seconds_of([&] {
      SampleTask task;
      task.read = [&] { return read_model(file); };
      task.axes = {{"R1", ""}, {"C1", ""}};
      const auto count = static_cast<std::size_t>(options.samples);
      const SampleSet samples =
          latin_hypercube({{"R1", "", 100.0, 10e3}, {"C1", "", 0.1e-6, 10e-6}}, count, 3);
      for (const SampleOutcome& outcome : sweep_as_the_library(std::move(task), samples))
        answers.sweep_sum += outcome.values[0];
    });
    answers.sweep = std::min(answers.sweep, seconds);
  }
  return answers;
}

// Nothing where Python or its module is not there.
std::optional<Answers> from_python(const fs::path& file, const PythonOptions& options, int repetitions) {
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path module = fs::exists(beside / "python") ? beside / "python" : beside.parent_path() / "python";
  const std::string command = fmt::format(
      "PYTHONPATH='{}' /usr/bin/python3 '{}/benchmarks/python_calls.py' '{}' {} {} {}", module.string(),
      TELLEGEN_SOURCE_DIR, file.string(), options.calls, options.samples, repetitions);
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return std::nullopt;
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  if (pclose(pipe) != 0) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return Answers{json["call"], json["sum"], json["sweep"], json["sweep_sum"]};
}

}  // namespace

bool run_python_benchmark(const PythonOptions& options) {
  Report report;
  report.begin({"calls from Python",
                fmt::format("{} runs of a capacitor charged in 100 steps; a sweep of {} samples, one thread",
                            options.calls, options.samples),
                "the voltage at the end, summed up", "the same bits in both languages"});
  const fs::path file = fs::temp_directory_path() / fmt::format("tellegen-python-{}.toml", getpid());
  std::ofstream(file) << charging_model;
  constexpr int repetitions = 7;
  const Answers cpp = from_cpp(file, options, repetitions);
  const std::optional<Answers> python = from_python(file, options, repetitions);
  fs::remove(file);
  if (!python) {
    report.note("no Python module beside this program: build the target `python`");
  } else if (report.require(python->sum == cpp.sum, "runs") &
             report.require(python->sweep_sum == cpp.sweep_sum, "sweep")) {
    TextTable table{{"", "C++", "Python"}, {}};
    table.rows.push_back({"a run, us", cell(1e6 * cpp.call), cell(1e6 * python->call)});
    table.rows.push_back(
        {"samples a second", cell(options.samples / cpp.sweep), cell(options.samples / python->sweep)});
    report.table("Calls", table);
    report.add({"simulate from Python: us over C++", 1e6 * (python->call - cpp.call), 50, false,
                "a small compiled model with another number"});
    report.add({"sweep from Python: rate over that of C++", cpp.sweep / python->sweep, 0.95, true,
                fmt::format("{} samples, one thread", options.samples)});
  }
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << '\n';
  return !report.failed();
}

}  // namespace tellegen
