#include "benchmarks/sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "benchmarks/charging_model.h"
#include "benchmarks/report.h"
#include "benchmarks/sweep_lanes.h"

extern char** environ;

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::int64_t lines_of(const fs::path& path) {
  const std::string text = bytes_of(path);
  return std::count(text.begin(), text.end(), '\n');
}

class SweepStudy {
 public:
  explicit SweepStudy(int samples) : samples_(samples) {
    std::string name = (fs::temp_directory_path() / "tellegen-sweep-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make a folder for temporary files");
    folder_ = name;
    std::ofstream(folder_ / "model.toml") << charging_model;
  }
  ~SweepStudy() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path file(const std::string& name) const { return folder_ / name; }

  pid_t start(const std::string& output, int jobs) const {
    std::vector<std::string> words{"/proc/self/exe",
                                   "sweep",
                                   file("model.toml").string(),
                                   "--vary",
                                   "R1=0.1kohm:10kohm:log",
                                   "--vary",
                                   "C1=0.1uF:10uF:log",
                                   "--design",
                                   "lhs",
                                   "--seed",
                                   "3",
                                   "--samples",
                                   std::to_string(samples_),
                                   "--output",
                                   file(output).string()};
    if (jobs > 0) words.insert(words.end(), {"--jobs", std::to_string(jobs)});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    if (posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ) != 0) child = 0;
    posix_spawn_file_actions_destroy(&actions);
    if (child == 0) throw std::runtime_error("cannot start the program a second time");
    return child;
  }

  // Seconds; a negative number where it failed.
  double run(const std::string& output, int jobs) const {
    const auto begin = Clock::now();
    int status = 0;
    waitpid(start(output, jobs), &status, 0);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? seconds : -1.0;
  }

  // Killed once the journal has `samples` entries; how many it then has.
  std::int64_t kill_at(const std::string& output, std::int64_t samples) const {
    const fs::path journal = file(output + ".journal");
    const pid_t child = start(output, 0);
    while (lines_of(journal) < samples + 1 && waitpid(child, nullptr, WNOHANG) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return lines_of(journal) - 1;
  }

 private:
  int samples_;
  fs::path folder_;
};

}  // namespace

bool run_sweep_benchmark(const SweepBenchmarkOptions& options) {
  Report report;
  report.begin(
      {"a study of many short runs",
       fmt::format("{} samples (Latin hypercube) of a capacitor charged in 100 steps", options.samples),
       "one row for each sample", "the same bytes with any number of jobs, and after three SIGKILL"});
  const SweepStudy study(options.samples);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  TextTable speed{{"jobs", "s", "samples a second"}, {}};
  for (const int jobs : {1, cores}) {
    if (jobs == 1 && cores == 1 && !speed.rows.empty()) continue;
    const std::string output = jobs == 1 ? "whole.csv" : "jobs.csv";
    const double seconds = study.run(output, jobs);
    if (report.require(seconds >= 0.0, fmt::format("the study with {} jobs ends", jobs)) &&
        report.require(bytes_of(study.file(output)) == bytes_of(study.file("whole.csv")),
                       fmt::format("{} jobs give the bytes of one", jobs)))
      speed.rows.push_back({std::to_string(jobs), cell(seconds), cell(options.samples / seconds)});
  }
  report.table("speed, with starting the program and writing the results", speed);

  TextTable kills{{"killed at", "in the journal"}, {}};
  for (const double part : {0.2, 0.5, 0.8}) {
    const auto wanted = static_cast<std::int64_t>(part * options.samples);
    const std::int64_t kept = study.kill_at("killed.csv", wanted);
    report.require(kept >= wanted && !fs::exists(study.file("killed.csv")),
                   fmt::format("killed after {} samples, the journal has {}", wanted, kept));
    kills.rows.push_back({cell(wanted), cell(kept)});
  }
  report.table("SIGKILL", kills);
  const double last = study.run("killed.csv", 0);
  const std::string killed = bytes_of(study.file("killed.csv"));
  report.require(last >= 0.0, "the study ends after three kills");
  report.require(std::count(killed.begin(), killed.end(), '\n') == options.samples + 1,
                 "every sample has one row");
  report.require(killed == bytes_of(study.file("whole.csv")), "killed and whole studies have the same bytes");
  report.note(fmt::format("the last part took {:.3g} s", last));
  report_lanes(report, options.lane_samples);
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << "\n";
  return !report.failed();
}

}  // namespace tellegen
