#include "benchmarks/exported_code.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>

#include "benchmarks/best_of.h"
#include "benchmarks/report.h"
#include "tellegen/deploy/c_export.h"
#include "tellegen/deploy/filter_export.h"
#include "tellegen/estimate/twin.h"
#include "tellegen/model/read.h"
#include "tellegen/program/run_compiler.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// Exported files and a driver, compiled as their README says and loaded.
class ExportedLibrary {
 public:
  ExportedLibrary(std::vector<ExportedFile> files, const std::string& driver) {
    std::string name = (fs::temp_directory_path() / "tellegen-benchmark-XXXXXX").string();
    if (!mkdtemp(name.data())) return;
    folder_ = name;
    files.push_back({"drive.c", driver});
    std::vector<std::string> words{find_compiler(), "-std=c99", "-O2", "-ffp-contract=off",
                                   "-fPIC",         "-shared",  "-o",  folder_ / "code.so"};
    for (const ExportedFile& file : files) {
      std::ofstream(folder_ / file.name) << file.text;
      if (file.name.ends_with(".c") && file.name != "main.c") words.push_back(folder_ / file.name);
    }
    words.push_back("-lm");
    if (!words[0].empty() && run_quietly(words)) code_ = dlopen((folder_ / "code.so").c_str(), RTLD_NOW);
  }
  ~ExportedLibrary() {
    if (code_) dlclose(code_);
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  ExportedLibrary(const ExportedLibrary&) = delete;
  ExportedLibrary& operator=(const ExportedLibrary&) = delete;
  template <class F>
  F* function(const char* name) const {
    return code_ ? reinterpret_cast<F*>(dlsym(code_, name)) : nullptr;
  }

 private:
  fs::path folder_;
  void* code_ = nullptr;
};

Model exported_model(const std::string& name) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model(TELLEGEN_SOURCE_DIR "/models/" + name + "/model.toml", options);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

class ExportedCode {
 public:
  explicit ExportedCode(const ExportedCodeOptions& options)
      : options_(options), budget_(options.quick ? 0.0 : 1.0), most_(options.quick ? 500 : 10'000) {}

  bool run() {
    const auto wanted = [&](const char* part) {
      return options_.only.empty() || std::ranges::find(options_.only, part) != options_.only.end();
    };
    if (wanted("times")) times();
    if (wanted("models")) models();
    report_.finish();
    if (!options_.json.empty()) std::ofstream(options_.json) << report_.json().dump(2) << '\n';
    return !report_.failed();
  }

 private:
  void models() {
    ExportedModelsOptions models = options_.models;
    if (options_.quick) {
      if (models.sample == 0) models.sample = 5;
      if (models.steps == 0) models.steps = 200;
    }
    run_exported_models(models, report_);
  }

  void times() {
    report_.begin({"export", "the first steps of each model's run",
                   "every output of every step; of the estimator estimates and deviations of every row",
                   "to the bit"});
    for (const char* name : {"rlc", "ladder-2", "rectifier", "motor-thermal"}) steps_of(name);
    rows_of("inverter", "kf");
    report_.table("A step of exported C beside one of Tellegen's own loop", table_);
  }

  // `each_row`: the ratio where both write a row after every step.
  void add(const std::string& name, const std::string& method, std::int64_t steps, double here, double there,
           double each_row) {
    const double each = 1e9 / static_cast<double>(steps);
    table_.rows.push_back({name, method, cell(steps), cell(each * here), cell(each * there),
                           cell(there / here), cell(each_row)});
    report_.add({name + ": exported C over Tellegen's own loop", there / here, 1.05, false,
                 "the same steps in the same run, one core"});
  }

  void steps_of(const std::string& name) {
    const Model model = exported_model(name);
    SimulationOptions options = complete_options(model, {});
    options.sample = 0.0;
    options.restarts = true;
    const EquationSystem system = build_system(model);
    Simulation own(system, options, default_outputs(system, false));
    const std::int64_t steps = std::min(
        most_, static_cast<std::int64_t>(own.problem().options.stop / own.problem().step * (1 - 1e-9)));
    const std::size_t width = own.outputs().size();
    std::vector<double> here(static_cast<std::size_t>(steps) * width), there(here.size());
    if (!report_.require(own.integrator().advance(steps, here.data()) == steps, name + ": steps taken here"))
      return;

    options.compile = false;
    options.straight_line = true;
    Simulation to_export(system, options, default_outputs(system, false));
    const CExport exported = export_c(model, to_export, {.name = "model", .vector = 1});
    const ExportedLibrary library(
        exported.files,
        "#include <string.h>\n#include \"model.h\"\n"
        "static model_state s;\n"
        "void drive(long steps, double* rows) {\n  model_outputs y;\n"
        "  model_init(&s, &y);\n  for (; steps > 0; --steps, rows += sizeof y / sizeof *rows) {\n"
        "    model_step(&s, &y);\n    memcpy(rows, &y, sizeof y);\n  }\n}\n"
        "void run(long steps, double* row) {\n  model_outputs y;\n  model_init(&s, &y);\n"
        "  model_run(&s, steps, &y);\n  memcpy(row, &y, sizeof y);\n}\n");
    const auto drive = library.function<void(long, double*)>("drive");
    if (!report_.require(drive != nullptr, name + ": compiled")) return;
    drive(steps, there.data());
    if (!report_.require(same_bits(here, there), name + ": exported C to the bit")) return;
    options.compile = true;
    options.straight_line = false;
    options.sample = own.problem().step * static_cast<double>(steps);
    Simulation to_the_end(system, options, default_outputs(system, false));
    const auto run = library.function<void(long, double*)>("run");
    std::vector<double> last(width), exported_last(width);
    to_the_end.integrator().advance(1, last.data());
    run(steps, exported_last.data());
    if (!report_.require(same_bits(last, exported_last), name + ": the last row to the bit")) return;
    // Turn by turn, so that all see the same machine.
    std::array<double, 4> least;
    least.fill(std::numeric_limits<double>::infinity());
    for (int turn = 0; turn < 8; ++turn) {
      const auto time = [&](std::size_t which, auto&& taken) {
        least[which] = std::min(least[which], best_of(taken, budget_ / 8));
      };
      time(0, [&] {
        to_the_end.integrator().restart();
        to_the_end.integrator().advance(1, last.data());
      });
      time(1, [&] { run(steps, exported_last.data()); });
      time(2, [&] {
        own.integrator().restart();
        own.integrator().advance(steps, here.data());
      });
      time(3, [&] { drive(steps, there.data()); });
    }
    add(name, own.problem().options.method, steps, least[0], least[1], least[3] / least[2]);
  }

  void rows_of(const std::string& name, const std::string& estimator) {
    const Model model = exported_model(name);
    FollowOptions follow;
    follow.sensors = model.estimation.sensors;
    follow.inputs = model.estimation.inputs;
    follow.step = model.estimation.step.value_or(model.simulation.step.value_or(0.0));
    follow.estimator = estimator;
    follow.anyway = true;
    const FilterExport exported = export_filter(model, {.name = "model",
                                                        .estimator = estimator,
                                                        .step = follow.step,
                                                        .sensors = follow.sensors,
                                                        .inputs = follow.inputs,
                                                        .vector = 1});
    const std::size_t m = follow.sensors.size(), width = 2 * exported.estimates.size();
    const ExportedLibrary library(
        exported.files,
        "#include <string.h>\n#include \"model.h\"\n"
        "void drive(long rows, const double* in, double* out) {\n  static model_state s;\n  model_readings "
        "y;\n"
        "  model_inputs u;\n  model_estimates e;\n  model_init(&s);\n"
        "  for (; rows > 0; --rows, out += sizeof e / sizeof *out) {\n"
        "    memcpy(&y, in, sizeof y);\n    in += sizeof y / sizeof *in;\n"
        "    memcpy(&u, in, sizeof u);\n    in += sizeof u / sizeof *in;\n"
        "    model_step(&s, &y, &u, &e);\n    memcpy(out, &e, sizeof e);\n  }\n}\n");
    const auto drive = library.function<void(long, const double*, double*)>("drive");
    if (!report_.require(drive != nullptr, name + ": compiled")) return;
    // Temperatures that rise; some readings are missing. The inputs are temperatures too.
    const std::size_t inputs = follow.inputs.size();
    std::vector<double> rows;
    for (std::int64_t row = 0; row < most_; ++row) {
      const auto at = static_cast<double>(row);
      for (std::size_t s = 0; s < m; ++s)
        rows.push_back((static_cast<std::size_t>(row) + 3 * s) % 7 == 5
                           ? std::nan("")
                           : 343.15 + 20.0 * (1.0 - std::exp(-1e-3 * at)) +
                                 0.4 * std::sin(12.9898 * at + 78.233 * static_cast<double>(s)));
      rows.insert(rows.end(), inputs, 343.15 + 0.5 * (1.0 - std::exp(-1e-4 * at)));
    }
    std::vector<double> here, there(static_cast<std::size_t>(most_) * width);
    Twin twin(model, follow);
    std::int64_t done = 0;
    const auto led = [&](bool keep) {  // on and on: to begin anew would make another filter
      for (std::int64_t row = 0; row < most_; ++row) {
        const auto of =
            std::span<const double>(rows).subspan(static_cast<std::size_t>(row) * (m + inputs), m + inputs);
        twin.push(follow.step * static_cast<double>(done + row), of.subspan(0, m), of.subspan(m));
        const Twin::Quantities& q = twin.quantities();
        for (long k = 0; keep && k < q.mean.size(); ++k) here.insert(here.end(), {q.mean[k], q.deviation[k]});
      }
      done += most_;
    };
    led(true);
    drive(most_, rows.data(), there.data());
    if (!report_.require(same_bits(here, there), name + ": exported estimator to the bit")) return;
    const double own_time = best_of([&] { led(false); }, budget_),
                 exported_time = best_of([&] { drive(most_, rows.data(), there.data()); }, budget_);
    add(name + ", " + estimator, "estimate", most_, own_time, exported_time, exported_time / own_time);
  }

  const ExportedCodeOptions& options_;
  double budget_;
  std::int64_t most_;
  Report report_;
  TextTable table_{{"model", "method", "steps", "Tellegen, ns a step", "exported C, ns a step", "ratio",
                    "ratio with a row after every step"},
                   {}};
};

}  // namespace

bool run_exported_code(const ExportedCodeOptions& options) { return ExportedCode(options).run(); }

}  // namespace tellegen
