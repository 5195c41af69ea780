#include "benchmarks/exported_models.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <sstream>

#include "tellegen/deploy/c_export.h"
#include "tellegen/deploy/filter_export.h"
#include "tellegen/model/fault.h"
#include "tellegen/model/read.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/simulate/stop.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

const fs::path models = TELLEGEN_SOURCE_DIR "/models";
constexpr const char* estimators[] = {"kf", "ekf", "pkf", "ukf", "steady"};
constexpr std::uint64_t sum_start = 0xcbf29ce484222325ull, sum_factor = 0x100000001b3ull;

// One model by one method or estimator.
struct Pair {
  std::string model, method;
  bool estimator = false;
  bool operator<(const Pair& o) const { return std::tie(model, method) < std::tie(o.model, o.method); }
};

struct Verdict {
  std::string what;  // agrees, in part, refused, differs
  std::int64_t steps = 0;
  std::string detail;
};

Model read_shipped(const std::string& name) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model(models / name, options);
}

struct Output {
  int code = -1;
  std::string text;
};

Output output_of(const std::string& command) {
  Output result;
  FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (!pipe) return result;
  char part[4096];
  for (std::size_t count; (count = std::fread(part, 1, sizeof part, pipe)) > 0;)
    result.text.append(part, count);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}

std::string first_line(std::string text) {
  text = text.substr(0, text.find('\n'));
  std::replace(text.begin(), text.end(), '"', '\'');
  return text;
}

// Exported files in a folder of their own, which goes with it.
class BuiltExport {
 public:
  BuiltExport(const std::vector<ExportedFile>& files, const std::string& compiler) {
    std::string name = (fs::temp_directory_path() / "tellegen-benchmark-XXXXXX").string();
    if (!mkdtemp(name.data())) return;
    folder_ = name;
    for (const ExportedFile& file : files) std::ofstream(folder_ / file.name) << file.text;
    built_ = output_of("cd " + name + " && " + compiler + " *.c -o program -lm");
  }
  ~BuiltExport() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  BuiltExport(const BuiltExport&) = delete;
  BuiltExport& operator=(const BuiltExport&) = delete;
  const Output& built() const { return built_; }
  Output run(const std::string& emulator) const {
    return output_of((emulator.empty() ? "" : emulator + " ") + (folder_ / "program").string());
  }

 private:
  fs::path folder_;
  Output built_;
};

// Prints the number of steps, the status of the last and a checksum of all outputs so far, 64 times in a run.
std::string checksum_driver(std::int64_t steps) {
  return fmt::format(
      "#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n#include \"model.h\"\n"
      "int main(void) {{\n  static model_state s;\n  model_outputs y;\n  uint64_t sum = {}u, word;\n"
      "  long k = 0;\n  int status = 0;\n  size_t c;\n  model_init(&s, &y);\n"
      "  while (k < {} && status == 0) {{\n    status = model_step(&s, &y);\n    if (status == 1) break;\n"
      "    for (c = 0; c < sizeof y; c += sizeof word) {{\n"
      "      memcpy(&word, (const char*)&y + c, sizeof word);\n      sum = (sum ^ word) * {}u;\n    }}\n"
      "    if (++k % {} == 0) printf(\"%ld %d %016llx\\n\", k, status, (unsigned long long)sum);\n  }}\n"
      "  printf(\"%ld %d %016llx\\n\", k, status, (unsigned long long)sum);\n  return 0;\n}}\n",
      sum_start, steps, sum_factor, std::max<std::int64_t>(1, steps / 64));
}

// A checksum after every step of the run of `simulate`.
struct OwnRun {
  std::vector<std::uint64_t> sums;
  std::string failure;
};

OwnRun own_run(const EquationSystem& system, const SimulationOptions& options, std::int64_t most) {
  Simulation own(system, options, default_outputs(system, false));
  OwnRun run;
  const std::size_t stride = own.problem().outputs.size(), width = own.outputs().size();
  const std::int64_t all =
      most > 0 ? std::min(most, sample_count(own.problem())) : sample_count(own.problem());
  constexpr std::int64_t part = 1000;
  std::vector<double> rows((part + 1) * stride);
  std::uint64_t sum = sum_start;
  for (std::int64_t done = 0; done < all;) {
    const std::int64_t wanted = std::min(part, all - done),
                       taken = own.integrator().advance(wanted, rows.data());
    const bool ended = taken < wanted && own.integrator().ended().has_value();
    for (std::int64_t row = 0; row < taken + ended; ++row) {
      for (std::size_t c = 0; c < width; ++c)
        sum = (sum ^ std::bit_cast<std::uint64_t>(rows[static_cast<std::size_t>(row) * stride + c])) *
              sum_factor;
      run.sums.push_back(sum);
    }
    if (taken < wanted) {
      if (!ended) run.failure = own.integrator().failure();
      break;
    }
    done += taken;
  }
  return run;
}

class ExportedModels {
 public:
  ExportedModels(const ExportedModelsOptions& options, Report& report) : options_(options), report_(report) {}

  ExportedModelsCount run() {
    report_.begin({"models", "every shipped model by every fixed-step method, and every estimator",
                   "all outputs of all steps of the whole run; of estimators estimates and deviations",
                   "to the bit"});
    if (!options_.journal.empty()) read_journal();
    ExportedModelsCount count;
    for (const Pair& pair : pairs()) {
      const auto done = finished_.find(pair);
      const Verdict verdict = done != finished_.end() ? done->second : verdict_of(pair);
      if (done == finished_.end()) write(pair, verdict);
      ++(verdict.what == "agrees"    ? count.agree
         : verdict.what == "in part" ? count.in_part
         : verdict.what == "refused" ? count.refused
                                     : count.differ);
      if (verdict.what == "differs")
        report_.require(false, fmt::format("{}, {}: {}", pair.model, pair.method, verdict.detail));
    }
    report_.note(fmt::format("{} agree, {} in part, {} cannot be exported, {} differ", count.agree,
                             count.in_part, count.refused, count.differ));
    return count;
  }

 private:
  std::vector<Pair> pairs() const {
    std::vector<Pair> all;
    const auto wanted = [](const std::vector<std::string>& names, const std::string& name) {
      return names.empty() || std::ranges::find(names, name) != names.end();
    };
    for (const auto& entry : fs::recursive_directory_iterator(models)) {
      if (entry.path().extension() != ".toml") continue;
      const std::string name = fs::relative(entry.path(), models);
      if (!wanted(options_.models, entry.path().parent_path().filename())) continue;
      if (name.find('/') == std::string::npos) continue;
      std::optional<Model> read;
      try {
        read = read_shipped(name);
      } catch (const ModelError&) {  // a section of another model
        continue;
      }
      const Model& model = *read;
      if (model.simulation.step)
        for (const IntegratorEntry& method : integrators())
          if (traits_of(method.name).steps != MethodTraits::Steps::variable &&
              wanted(options_.methods, std::string(method.name)))
            all.push_back({name, std::string(method.name), false});
      if (!model.estimation.sensors.empty())
        for (const char* estimator : estimators)
          if (wanted(options_.methods, estimator)) all.push_back({name, estimator, true});
    }
    std::ranges::sort(all, {}, [](const Pair& p) { return std::tie(p.model, p.method); });
    if (options_.sample > 0) {
      std::mt19937_64 random(options_.seed);
      for (std::size_t k = all.size(); k > 1; --k) std::swap(all[k - 1], all[random() % k]);
      all.resize(std::min(all.size(), static_cast<std::size_t>(options_.sample)));
    }
    return all;
  }

  Verdict verdict_of(const Pair& pair) {
    try {
      return pair.estimator ? estimator(pair) : steps(pair);
    } catch (const ModelError& error) {
      return {"refused", 0, first_line(error.what())};
    } catch (const std::exception& error) {
      return {"differs", 0, first_line(error.what())};
    }
  }

  // A row every step.
  static SimulationOptions stepwise(Model& model, const std::string& method) {
    SimulationOptions options = as_the_model_says();
    options.method = method;
    options = complete_options(model, options);
    options.sample = 0.0;
    options.compile = false;
    add_stop_watch(model, options);
    return options;
  }

  Verdict steps(const Pair& pair) const {
    // Models of their own: sums are in the order in which their terms came to be.
    std::vector<ExportedFile> files;
    {
      Model model = read_shipped(pair.model);
      SimulationOptions options = stepwise(model, pair.method);
      options.restarts =
          traits_of(options.method).formula != MethodTraits::Formula::none && options.form != "minimal";
      const EquationSystem system = build_system(model);
      Simulation simulation(system, options, default_outputs(system, false));
      files = export_c(model, simulation, {.name = "model", .vector = 1}).files;
    }
    const OwnRun own = run_here(pair, Balance::on);  // as the command `simulate` does
    const auto count = static_cast<std::int64_t>(own.sums.size());
    std::erase_if(files, [](const ExportedFile& f) { return f.name == "main.c" || f.name == "vector.h"; });
    files.push_back({"drive.c", checksum_driver(count + !own.failure.empty())});
    const BuiltExport built(files, options_.compiler);
    if (built.built().code != 0) return {"differs", 0, "not compiled: " + first_line(built.built().text)};
    const Output output = built.run(options_.emulator);
    if (output.code != 0) return {"differs", 0, fmt::format("ends with {}", output.code)};
    const Verdict verdict = compared(own, output.text);
    if (verdict.what != "differs") return verdict;
    // Terms that the account of energy shares with the model come to be in another order.
    Verdict unaccounted = compared(run_here(pair, Balance::off), output.text);
    if (unaccounted.what == "differs") return verdict;
    unaccounted.detail = "with simulate --no-balance; with an account of energy it differs " + verdict.detail;
    return unaccounted;
  }

  OwnRun run_here(const Pair& pair, Balance balance) const {
    Model model = read_shipped(pair.model);
    SimulationOptions options = stepwise(model, pair.method);
    options.balance = balance;
    return own_run(build_system(model), options, options_.steps);
  }

  static Verdict compared(const OwnRun& own, const std::string& text) {
    const auto count = static_cast<std::int64_t>(own.sums.size());
    std::istringstream lines(text);
    std::int64_t k = 0, before = 0;
    int status = 0;
    std::string sum;
    while (lines >> k >> status >> sum) {
      const std::uint64_t here = k == 0       ? sum_start
                                 : k <= count ? own.sums[static_cast<std::size_t>(k - 1)]
                                              : 0;
      if (fmt::format("{:016x}", here) != sum)
        return {"differs", before, fmt::format("in steps {} to {} of {}", before + 1, k, count)};
      before = k;
    }
    if (k == count && own.failure.empty()) return {"agrees", k, ""};
    if (k == count) return {"in part", k, "to where both fail: " + first_line(own.failure)};
    if (status == 1) return {"in part", k, fmt::format("to step {} of {}: pivots become bad", k, count)};
    return {"differs", k, fmt::format("ends with status {} after step {} of {}", status, k, count)};
  }

  Verdict estimator(const Pair& pair) const {
    const Model model = read_shipped(pair.model);
    FilterExportOptions options{.name = "model", .estimator = pair.method, .vector = 500};
    options.step = model.estimation.step.value_or(model.simulation.step.value_or(0.0));
    options.sensors = model.estimation.sensors;
    options.inputs = model.estimation.inputs;
    const FilterExport exported = export_filter(model, options);
    const BuiltExport built(exported.files, options_.compiler);
    if (built.built().code != 0) return {"differs", 0, "not compiled: " + first_line(built.built().text)};
    const Output output = built.run(options_.emulator);
    return output.code == 0 ? Verdict{"agrees", options.vector, ""}
                            : Verdict{"differs", 0, first_line(output.text)};
  }

  // A row: model,method,verdict,steps,"detail".
  void read_journal() {
    std::ifstream in(options_.journal);
    for (std::string line; std::getline(in, line);) {
      std::istringstream row(line);
      Pair pair;
      Verdict verdict;
      std::string steps;
      if (std::getline(row, pair.model, ',') && std::getline(row, pair.method, ',') &&
          std::getline(row, verdict.what, ',') && std::getline(row, steps, ',') &&
          std::getline(row, verdict.detail) && verdict.what != "differs") {
        verdict.steps = std::atoll(steps.c_str());
        finished_[pair] = verdict;
      }
    }
  }

  void write(const Pair& pair, const Verdict& v) const {
    fmt::print("   {:40} {:7} {:8} {:>9} {}\n", pair.model, pair.method, v.what, v.steps, v.detail);
    std::fflush(stdout);
    if (!options_.journal.empty())
      std::ofstream(options_.journal, std::ios::app)
          << fmt::format("{},{},{},{},\"{}\"\n", pair.model, pair.method, v.what, v.steps, v.detail);
  }

  const ExportedModelsOptions& options_;
  Report& report_;
  std::map<Pair, Verdict> finished_;
};

}  // namespace

ExportedModelsCount run_exported_models(const ExportedModelsOptions& options, Report& report) {
  return ExportedModels(options, report).run();
}

}  // namespace tellegen
