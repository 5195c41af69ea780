#include "benchmarks/stack.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>

#include "benchmarks/child_process.h"
#include "benchmarks/report.h"
#include "tellegen/model/document.h"
#include "tellegen/model/read.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
const fs::path stack_folder = TELLEGEN_SOURCE_DIR "/models/inverter/stack";

constexpr double loss = 208.0, water = 343.15;  // case 1: of a block, in W; in K
constexpr double film = 1.165e5, plate = 44e-3 * 38e-3;

// A copy of the model's folder with another mesh, gone with this object.
class MeshFolder {
 public:
  MeshFolder(double cell_mm, bool steady)
      : path_(fs::temp_directory_path() / fmt::format("tellegen-{}-stack", getpid())) {
    fs::create_directories(path_);
    for (int k = 1; k <= 4; ++k)
      fs::copy_file(stack_folder / case_name(k), path_ / case_name(k), fs::copy_options::overwrite_existing);
    std::string text = read_text(stack_folder / "phase.toml", {});
    replace(text, "cell  = \"1.2 mm\"", fmt::format("cell  = \"{} mm\"", cell_mm));
    if (steady) replace(text, "start = \"T_0\"", "start = \"steady\"");
    write_file(path_ / "phase.toml", text);
  }
  ~MeshFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  MeshFolder(const MeshFolder&) = delete;
  MeshFolder& operator=(const MeshFolder&) = delete;
  Model model(int number) const { return read_model(path_ / case_name(number)); }

 private:
  static std::string case_name(int number) { return fmt::format("case{}.toml", number); }
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    if (at == std::string::npos) throw std::runtime_error("models/inverter/stack/phase.toml has no " + from);
    text.replace(at, from.size(), to);
  }
  fs::path path_;
};

std::vector<OutputColumn> output_columns(const Model& model, const std::vector<std::string>& names) {
  std::vector<OutputColumn> all;
  for (const std::string& name : names) all.push_back({name, "", parse_value(model, name, {})});
  return all;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Transient {
  double seconds = 0, loop_seconds = 0, peak_megabytes = 0, T1 = 0, T7 = 0, T11 = 0, T12 = 0;
  bool good = false;
};

// To the millikelvin, a line for each millisecond.
std::string csv(const SimulationResult& result) {
  std::string text = "t";
  for (const std::string& name : result.names) text += "," + name;
  for (std::size_t r = 0; r < result.t.size(); ++r) {
    text += fmt::format("\n{:.10g}", result.t[r]);
    for (std::size_t k = 0; k < result.names.size(); ++k)
      text += fmt::format(",{:.3f}", result.values[r * result.names.size() + k]);
  }
  return text + "\n";
}

Transient run_case(const StackOptions& options, int number) {
  const auto begin = std::chrono::steady_clock::now();
  const MeshFolder folder(options.transient_cell, false);
  const Model model = folder.model(number);
  SimulationOptions given;
  given.stop = options.stop;
  Simulation simulation(model, complete_options(model, given),
                        output_columns(model, {"S1", "S2", "S3", "S_hs", "S_w", "T1"}));
  const SimulationResult result = simulation.run();
  Transient transient;
  transient.good = result.failure.empty();
  transient.loop_seconds = result.loop_seconds;
  transient.seconds = seconds_since(begin);
  transient.peak_megabytes = peak_megabytes();
  const double* last = &result.values[result.values.size() - result.names.size()];
  transient.T7 = last[0];
  transient.T11 = last[3];
  transient.T12 = last[4];
  transient.T1 = last[5];
  if (!options.output.empty()) write_file(options.output / fmt::format("case{}.csv", number), csv(result));
  return transient;
}

void show_steady(const StackOptions& options, Report& report) {
  report.begin({"steady state", "case 1 on meshes with cells of several widths",
                "resistances between places of the body, R_ij = (T_i - T_j)/Q_ij",
                "all heat reaches the water, and R_w is that of the film"});
  TextTable mesh{{"cell mm", "cells", "below dies mK/W", "R_hs face mK/W", "R_w mK/W", "Tj rise K", "s"}, {}};
  TextTable lumped{{"cell mm", "R_die mK/W", "R_dbc mK/W", "R_sp mK/W", "R_hs mK/W", "R_w mK/W"}, {}};
  for (const double width : options.cells) {
    const auto found = run_in_child([&] { return stack_steady(width); });
    const bool good = found && std::abs(found->to_water / (2 * loss) - 1) < 1e-6 &&
                      std::abs(found->R_w * 3 * film * plate - 1) < 1e-6;
    if (!report.require(good, fmt::format("cells of {} mm", width))) continue;
    const StackSteady& s = *found;
    mesh.rows.push_back({cell(width), cell(static_cast<std::int64_t>(s.cells)),
                         cell(1e3 * (s.T7 - s.T11) / (2 * loss), 4), cell(1e3 * s.R_hs_face, 4),
                         cell(1e3 * s.R_w, 4), cell(s.T1 - water, 4), cell(s.seconds, 3)});
    lumped.rows.push_back({cell(width), cell(1e3 * s.R_die, 4), cell(1e3 * s.R_dbc, 4), cell(1e3 * s.R_sp, 4),
                           cell(1e3 * s.R_hs, 4), cell(1e3 * s.R_w, 4)});
  }
  mesh.rows.push_back({"1.2*", "18000", "42.3", "13.4", "1.70", "42.1", ""});
  lumped.rows.push_back({"CFD", "5.163", "33.74", "2.579", "12.75", "1.713"});
  report.table("mesh; * another finite-volume program, whose mesh does not follow the dies' edges", mesh);
  report.table(
      "resistances of the lumped network by equation (68); CFD of the paper, doi 10.1109/ACCESS.2021.3094312",
      lumped);
}

void show_transients(const StackOptions& options, Report& report) {
  report.begin(
      {"transients", fmt::format("cases 1 to 4, cells of {} mm, bdf2 with 1 ms", options.transient_cell),
       fmt::format("temperatures at {} s", options.stop), "the run ends; case 1 ends near its steady state"});
  TextTable table{{"case", "T1 K", "T7 K", "T11 K", "T12 K", "s in all", "s stepping", "peak MB"}, {}};
  for (int k = 1; k <= 4; ++k) {
    const auto found = run_in_child([&] { return run_case(options, k); });
    if (!report.require(found && found->good, fmt::format("case {}", k))) continue;
    table.rows.push_back({cell(static_cast<std::int64_t>(k)), cell(found->T1, 6), cell(found->T7, 6),
                          cell(found->T11, 6), cell(found->T12, 6), cell(found->seconds, 3),
                          cell(found->loop_seconds, 3), cell(found->peak_megabytes, 3)});
  }
  report.table("at the end", table);
}

}  // namespace

StackSteady stack_steady(double cell_mm) {
  const auto begin = std::chrono::steady_clock::now();
  const MeshFolder folder(cell_mm, true);
  const Model model = folder.model(1);
  SimulationOptions given;
  given.compile = false;  // no step is taken
  const Simulation simulation(model, complete_options(model, given),
                              output_columns(model, {"phase.T1", "phase.T7", "phase.T10", "phase.T11",
                                                     "phase.T11_face", "phase.T12", "inlet.Q"}));
  double row[7];
  simulation.first_row(row);
  StackSteady s;
  for (const Component& c : model.components) s.cells += model.kinds[c.kind].name == "thermal.capacitor";
  s.T1 = row[0], s.T7 = row[1], s.T10 = row[2], s.T11 = row[3], s.T11_face = row[4], s.T12 = row[5];
  s.to_water = row[6];
  s.R_die = (s.T1 - s.T7) / loss;
  s.R_dbc = (s.T7 - s.T10) / (2 * loss);
  s.R_sp = (s.T10 - s.T11) / (6 * loss);
  s.R_hs = (s.T11 - s.T12) / (6 * loss);
  s.R_hs_face = (s.T11_face - s.T12) / (6 * loss);
  s.R_w = (s.T12 - water) / (6 * loss);
  s.seconds = seconds_since(begin);
  return s;
}

bool run_stack(const StackOptions& options) {
  Report report;
  show_steady(options, report);
  if (options.transients) show_transients(options, report);
  report.finish();
  if (!options.json.empty()) write_file(options.json, report.json().dump(2) + "\n");
  return !report.failed();
}

}  // namespace tellegen
