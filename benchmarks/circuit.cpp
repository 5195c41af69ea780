#include "benchmarks/circuit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "benchmarks/ladder_model.h"
#include "tellegen/model/read.h"

namespace tellegen {
namespace {

struct Worked {
  const char *name, *folder, *reference, *first, *second, *unit1, *unit2;
};
constexpr Worked worked[] = {
    {"rlc", "rlc", "rlc.csv", "V3", "I_L1", "V", "A"},
    {"ladder_2", "ladder-2", "scalable_rlc_N2.csv", "V6", "I_L2", "V", "A"},
    {"rectifier", "rectifier", "rectifier.csv", "Vd1", "I_RL", "V", "A"},
    {"thermal", "pmsm-thermal", "pmsm_thermal_proposed.csv", "T2", "Q_water", "K", "W"},
};

void check_samples(const Circuit& c) {
  const auto& t = c.reference.t;
  bool good = static_cast<int>(t.size()) == c.thresholds.samples;
  for (std::size_t i = 0; good && i < t.size(); ++i) {
    good = std::abs(t[i] - c.interval() * static_cast<double>(i + 1)) < 1e-9 * c.thresholds.t_end;
  }
  if (!good) throw std::runtime_error("benchmark: the reference of " + c.name + " has other samples");
}

}  // namespace

std::vector<OutputColumn> monitored_columns(const Model& model, const std::string& first,
                                            const std::string& second) {
  std::vector<OutputColumn> columns;
  for (const std::string& name : {first, second}) {
    for (const ModelOutput& output : model.outputs) {
      if (output.name == name) columns.push_back({output.name, output.unit, output.value});
    }
  }
  if (columns.size() != 2)
    throw std::runtime_error("benchmark: the model has no output " + first + ", " + second);
  return columns;
}

Circuit load_circuit(const std::string& name) {
  for (const Worked& w : worked) {
    if (name != w.name) continue;
    Circuit c;
    c.name = name;
    c.source = fmt::format("models/{}/model.toml", w.folder);
    c.loops = name == "ladder_2" ? 2 : 0;
    c.first = w.first, c.second = w.second, c.unit1 = w.unit1, c.unit2 = w.unit2;
    c.thresholds = thresholds_of(name);
    c.reference = read_reference(w.reference);
    c.model = std::make_unique<Model>(read_model(std::filesystem::path(TELLEGEN_SOURCE_DIR) / c.source));
    c.system = std::make_unique<EquationSystem>(build_system(*c.model));
    c.outputs = monitored_columns(*c.model, c.first, c.second);
    check_samples(c);
    return c;
  }
  throw std::runtime_error("benchmark: there is no circuit " + name);
}

Circuit generate_ladder(int loops) {
  Circuit c;
  const bool last = loops == 2;
  c.name = last ? "ladder_2" : "ladder_first_branch";
  c.source = fmt::format("ladder_model({})", loops);
  c.loops = loops;
  c.first = last ? "V_last" : "V_first", c.second = last ? "I_last" : "I_first", c.unit1 = "V", c.unit2 = "A";
  c.thresholds = thresholds_of("ladder_2");
  c.reference = read_reference(last ? "scalable_rlc_N2.csv" : "scalable_rlc_N100_first_branch.csv");
  c.model =
      std::make_unique<Model>(read_model_text(ladder_model(loops), fmt::format("ladder_{}.toml", loops)));
  c.system = std::make_unique<EquationSystem>(build_system(*c.model));
  c.outputs = monitored_columns(*c.model, c.first, c.second);
  check_samples(c);
  return c;
}

double rms_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

Both errors_of(const Circuit& circuit, const std::vector<double>& first, const std::vector<double>& second) {
  return {rms_difference(first, circuit.reference.first), rms_difference(second, circuit.reference.second)};
}

bool meets(const Both& errors, const Both& thresholds) {
  return errors.first <= thresholds.first && errors.second <= thresholds.second;
}

SimulationOptions circuit_options(const Circuit& circuit, const std::string& method, double h) {
  SimulationOptions options;
  options.method = method;
  options.step = h;
  options.stop = circuit.thresholds.t_end;
  options.sample = circuit.interval();
  return options;
}

void repeat_circuit(const Circuit& circuit, const SimulationOptions& options, CircuitRun& run) {
  Simulation simulation(*circuit.system, options, circuit.outputs);
  const SimulationResult result = simulation.run();
  ++run.repetitions;
  if (run.repetitions == 1 || result.loop_seconds < run.seconds) run.seconds = result.loop_seconds;
  if (run.repetitions > 1) return;
  run.failure = result.failure;
  run.h = result.step;
  run.statistics = result.statistics;
  for (std::size_t row = 1; row < result.t.size(); ++row) {
    run.first.push_back(result.values[2 * row]);
    run.second.push_back(result.values[2 * row + 1]);
  }
  run.errors = errors_of(circuit, run.first, run.second);
}

CircuitRun run_circuit(const Circuit& circuit, const SimulationOptions& options, double budget) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  CircuitRun run;
  do {
    repeat_circuit(circuit, options, run);
  } while (run.failure.empty() && std::chrono::duration<double>(Clock::now() - begin).count() < budget);
  return run;
}

std::string method_name(const std::string& published) {
  std::string name = published;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

}  // namespace tellegen
