// Models that went wrong once, each with what is right beside it: NAME.toml and NAME.expect.toml.
//
//   [[end]]          of, value, tolerance, methods, step; also form, more (further outputs asked for),
//   compiled, bisections
//   [[same]]         of, more, methods, step, form: to the bit the same when these are asked for before it
//   [[objective]]    of, value, tolerance, methods, step
//   [[derivative]]   of, wrt, value, tolerance, methods, step; also ways: forward, adjoint, graph; warned:
//   there is none, and a warning says so
#include "tests/differential/regressions.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/differential/subject.h"

namespace differential {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<std::string> words(const toml::table& entry, const char* key, std::vector<std::string> fallback) {
  const auto* list = entry[key].as_array();
  if (!list) return fallback;
  std::vector<std::string> found;
  for (const auto& word : *list) found.push_back(*word.value<std::string>());
  return found;
}

struct Tally {
  int checks = 0, wrong = 0;
  void add(const std::string& what, const toml::table& entry, const Outcome& run, double got) {
    ++checks;
    const double value = entry["value"].value_or(0.0), tolerance = entry["tolerance"].value_or(1e-6);
    const std::string why = !run.crash.empty() ? run.crash : run.refused;
    if (why.empty() && std::abs(got - value) <= tolerance) return;
    ++wrong;
    if (why.empty())
      std::printf("FAILED %s: expected %.12g, got %.12g\n", what.c_str(), value, got);
    else
      std::printf("FAILED %s: expected %.12g, got: %s\n", what.c_str(), value, why.c_str());
  }
};

void replay(const fs::path& file, Tally& tally) {
  const std::string model = text_of(file), name = file.stem().string();
  const toml::table expected = toml::parse_file((file.parent_path() / (name + ".expect.toml")).string());
  for (const char* section : {"end", "same", "objective", "derivative"}) {
    const auto* list = expected[section].as_array();
    if (!list) continue;
    for (const auto& item : *list) {
      const toml::table& entry = *item.as_table();
      const std::string of = entry["of"].value_or(std::string()), wrt = entry["wrt"].value_or(std::string());
      for (const std::string& method : words(entry, "methods", {"bdf3"})) {
        StudySpec spec;
        spec.method = method;
        spec.form = entry["form"].value_or(std::string("auto"));
        spec.stop = 0.0;
        spec.step = entry["step"].value_or(0.0);
        spec.tolerance = method == "adaptive" ? 1e-9 : 1e-10;
        spec.bisections = entry["bisections"].value_or(0);
        spec.compile = entry["compiled"].value_or(false);
        const std::string what = name + ", " + method + ", " + of;
        if (section == std::string("end")) {
          std::vector<std::string> outputs{of};
          for (const std::string& more : words(entry, "more", {})) outputs.push_back(more);
          const Outcome run = simulate_text(model, spec, outputs);
          tally.add(what, entry, run, run.ok() ? run.at(run.t.size() - 1, 0) : 0.0);
          continue;
        }
        if (section == std::string("same")) {
          std::vector<std::string> outputs = words(entry, "more", {});
          outputs.push_back(of);
          const Outcome alone = simulate_text(model, spec, {of}), among = simulate_text(model, spec, outputs);
          const double want = alone.ok() ? alone.at(alone.t.size() - 1, 0) : 0.0;
          toml::table exact{{"value", want}, {"tolerance", 0.0}};
          tally.add(what + " among others", exact, alone.ok() ? among : alone,
                    among.ok() ? among.at(among.t.size() - 1, outputs.size() - 1) : 0.0);
          continue;
        }
        spec.objectives = {of};
        const bool slope = section == std::string("derivative");
        if (slope) spec.parameters = {wrt};
        for (const std::string& way :
             slope ? words(entry, "ways", {"forward"}) : std::vector<std::string>{"none"}) {
          if (way == "graph") {  // of a variable at the end
            const Outcome run = graph_text(model, spec, {of}, {wrt});
            tally.add(what + " by " + wrt + ", " + way, entry, run, run.ok() ? run.values[0] : 0.0);
            continue;
          }
          spec.derivatives = way;
          const StudyOutcome run = study_text(model, spec);
          if (entry["warned"].value_or(false)) {
            const toml::table wanted{{"value", 1.0}, {"tolerance", 0.0}};
            tally.add(what + " by " + wrt + ", " + way + ", warnings", wanted, run,
                      static_cast<double>(run.warnings.size()));
            continue;
          }
          const double got = !run.ok() ? 0.0 : slope ? run.gradient[0] : run.values[0];
          tally.add(slope ? what + " by " + wrt + ", " + way : what, entry, run, got);
        }
      }
    }
  }
}

}  // namespace

bool replay_regressions(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".toml" && !entry.path().stem().string().ends_with(".expect"))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  Tally tally;
  for (const fs::path& file : files) replay(file, tally);
  std::printf("regressions: %zu models, %d comparisons, %d failed\n", files.size(), tally.checks,
              tally.wrong);
  return tally.wrong == 0;
}

}  // namespace differential
