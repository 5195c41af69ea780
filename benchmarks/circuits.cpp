#include "benchmarks/circuits.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "benchmarks/circuits_sections.h"

namespace tellegen {
namespace {

struct Section {
  const char *name, *summary;
  void (*run)(Circuits& run);
};

// In the order of the run. Sizes come first: their processes are copies of this one, and it is still small.
constexpr Section sections[] = {
    {"size", "ladder of 2 to 100000 loops: time per step, memory, build (Figs. 10, 11)", section_size},
    {"realtime", "largest ladder in real time (Table 13)", section_realtime},
    {"rlc", "RLC circuit (Tables 7 to 9)", [](Circuits& run) { section_tables(run, "rlc"); }},
    {"ladder", "ladder of two loops (Tables 10 to 12)",
     [](Circuits& run) { section_tables(run, "ladder_2"); }},
    {"rectifier", "full-wave rectifier (Tables 14 to 16)",
     [](Circuits& run) { section_tables(run, "rectifier"); }},
    {"thermal", "motor thermal network (Tables 17 to 19)",
     [](Circuits& run) { section_tables(run, "thermal"); }},
    {"share", "where the time of a step goes (Fig. 14)", section_share},
    {"drift", "derivatives of the trapezoidal rule with and without projection (Figs. 12, 13)",
     section_drift},
    {"direct", "the direct ODE approach and how it fails (section 2.1)", section_direct},
    {"start", "first seconds of the motor with both starts (Fig. 15)", section_start},
    {"limits", "step loop against hand-written limits", section_limits},
    {"ngspice", "against ngspice at equal precision", section_ngspice},
    {"ida", "ladder of 1000 loops against SUNDIALS IDA at equal precision", section_ida},
};

}  // namespace

std::vector<SectionName> circuits_sections() {
  std::vector<SectionName> names;
  for (const Section& section : sections) names.push_back({section.name, section.summary});
  return names;
}

const Circuit& Circuits::circuit(const std::string& name) {
  auto& entry = loaded[name];
  if (!entry) {
    entry = std::make_unique<Circuit>(name == "ladder_1000" ? generate_ladder(1000) : load_circuit(name));
  }
  return *entry;
}

const Tuned& Circuits::cheapest(const std::string& name, Precision precision) {
  const auto [entry, added] = tuned.try_emplace({name, precision});
  if (!added) return entry->second;
  std::optional<Tuned> best;
  for (const std::string& method : tunable_methods()) {
    // A first-order method never is the cheapest, and its search is long.
    if (method == "bdf1") continue;
    auto found = tune(circuit(name), method, precision, {.steps = 400'000, .budget = budget / 4});
    if (found && (!best || found->run.seconds < best->run.seconds)) best = std::move(found);
  }
  if (!best)
    throw std::runtime_error(fmt::format("no method meets {} precision on {}", name_of(precision), name));
  return entry->second = std::move(*best);
}

std::string in_words(const SimulationOptions& options) {
  std::string text = fmt::format("{}, {:.4g} ms", options.method, 1e3 * options.step);
  if (options.iterations > 0) text += fmt::format(", {} iterations", options.iterations);
  if (options.tolerance != SimulationOptions().tolerance)
    text += fmt::format(", tolerance {:g}", options.tolerance);
  return text;
}

bool run_circuits(const CircuitsOptions& options) {
  Circuits run{.options = options};
  if (options.quick) run.budget = 0.05;
  const auto wanted = [&](const char* name) {
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), name) != options.only.end();
  };
  if (!options.output.empty()) std::filesystem::create_directories(options.output);
  for (const Section& section : sections) {
    if (wanted(section.name)) section.run(run);
  }
  if (options.tune) section_tune(run);
  run.report.finish();
  if (!options.json.empty()) {
    std::ofstream out(options.json);
    out << run.report.json().dump(2) << '\n';
    if (!out) throw std::runtime_error("cannot write " + options.json.string());
  }
  return !run.report.failed();
}

}  // namespace tellegen
