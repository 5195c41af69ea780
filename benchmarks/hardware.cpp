#include "benchmarks/hardware.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>

#include "benchmarks/report.h"
#include "tellegen/deploy/exploration.h"
#include "tellegen/model/read.h"

namespace tellegen {
namespace hardware_benchmark {  // files of this folder are compiled in batches

namespace fs = std::filesystem;

// A model and what its step needs to become hardware.
struct HardwareCase {
  std::string model;
  std::vector<std::string> inputs = {};
  int iterations = 0;
  DesignRanges ranges = usual_ranges();
};

struct LoadedCase {
  explicit LoadedCase(const HardwareCase& c)
      : model(read_model(fs::path(TELLEGEN_SOURCE_DIR) / "models" / c.model / "model.toml",
                         {fs::path(TELLEGEN_SOURCE_DIR) / "library", {}})) {
    for (const std::string& name : c.inputs) external.push_back(input_formula(model, name));
    for (const std::string& name : c.inputs) make_external(model, name);
    SimulationOptions options = as_the_model_says();
    options.iterations = c.iterations;
    options = complete_options(model, options);
    options.compile = false;
    options.restarts = options.straight_line = true;
    options.sample = 0.0;
    options.external = c.inputs;
    system = build_system(model);
    simulation = std::make_unique<Simulation>(system, options, default_outputs(system, false));
  }
  Model model;
  std::vector<Expr> external;
  EquationSystem system;
  std::unique_ptr<Simulation> simulation;
};

HardwareProblem problem_of(const HardwareCase& c) {
  LoadedCase loaded(c);
  return hardware_problem(loaded.model, *loaded.simulation, loaded.external);
}

HardwareCase induction_machine() { return {.model = "motor-free-acceleration"}; }

// Its divisions take most of the time, and a run of the scenario two seconds: fewer values.
HardwareCase saturated_machine() {
  HardwareCase c{.model = "motor-sag", .inputs = {"factor_a"}, .iterations = 2};
  c.ranges.multipliers = {1, 2, 3, 4};
  c.ranges.adders = {1, 2, 3, 4};
  c.ranges.bits = {20, 22, 24, 26};
  c.ranges.coarser = {0, 6};
  return c;
}

struct Synthesis {
  double luts = 0, flipflops = 0, dsps = 0, ram_blocks = 0;
};

// A text's bytes, or nothing.
std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<Synthesis> read_statistics(const fs::path& path) {
  const std::string text = text_of(path);
  if (text.find("Number of cells:") == std::string::npos) return std::nullopt;
  const auto count = [&](const std::string& cell) {
    double sum = 0;
    const std::regex row("\n +" + cell + " +([0-9]+)");
    for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at)
      sum = std::stod((*at)[1]);  // the design's comes last
    return sum;
  };
  return Synthesis{count("LUT4") + 2 * count("CCU2C") + 4 * count("TRELLIS_DPR16X4"), count("TRELLIS_FF"),
                   count("MULT18X18D"), count("DP16KD") + count("PDPW16KD")};
}

std::string folder_name(const HardwareCase& c, const HardwarePoint& p) {
  return fmt::format("{}-m{}-a{}-d{}-l{}-b{}-t{}", c.model, p.units.multipliers, p.units.adders,
                     p.units.dividers, p.units.multiplier_latency, p.bits, p.table_bits);
}

struct Synthesised {
  AreaCounts counts;
  HardwareArea model;
  std::optional<Synthesis> real;
};

// Runs yosys on these files, but where the same texts were synthesised before.
std::optional<Synthesis> run_yosys(const fs::path& folder, const std::vector<ExportedFile>& files,
                                   const std::string& top) {
  std::string sources;
  bool same = fs::exists(folder / "ecp5.txt");
  for (const ExportedFile& file : files) {
    same = same && text_of(folder / file.name) == file.text;
    if (file.name.ends_with(".v")) sources += " " + file.name;
  }
  if (!same) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const ExportedFile& file : files) std::ofstream(folder / file.name) << file.text;
    const std::string command =
        "cd '" + folder.string() + "' && nice -n 10 yosys -q -p 'read_verilog" + sources +
        "; synth_ecp5 -nowidelut -top " + top +
        "; tee -q -o unfinished.txt stat' > said.txt 2>&1 && mv unfinished.txt ecp5.txt";
    if (std::system(command.c_str()) != 0) return std::nullopt;
  }
  return read_statistics(folder / "ecp5.txt");
}

Synthesised synthesise(const HardwareCase& c, const HardwarePoint& p, const fs::path& keep) {
  LoadedCase loaded(c);
  const VerilogExport exported = export_verilog(loaded.model, *loaded.simulation,
                                                {.name = "m",
                                                 .vector = 2,
                                                 .bits = p.bits,
                                                 .table_bits = p.table_bits,
                                                 .units = p.units,
                                                 .external = loaded.external});
  const HardwareDesign& d = exported.design;
  Synthesised result{count_area(d.fixed, d.schedule, d.units), {}, {}};
  result.model = estimated_area(result.counts);
  std::vector<ExportedFile> files;
  for (const ExportedFile& file : exported.files)
    if (file.name == "m.v" || file.name == "tellegen_divide.v" ||
        (file.name.ends_with(".hex") && file.name != "m_vectors.hex"))
      files.push_back(file);
  result.real = run_yosys(keep / folder_name(c, p), files, "m");
  return result;
}

double deviation(double model, double real) { return 100.0 * (model - real) / real; }

// Designs from which the coefficients of area_model.cpp come: small and large, with and without divisions.
std::vector<std::pair<HardwareCase, HardwarePoint>> calibration_designs() {
  std::vector<std::pair<HardwareCase, HardwarePoint>> designs;
  const auto add = [&](const HardwareCase& c, HardwareUnits units, int bits) {
    designs.push_back({c, {0, units, bits, bits}});
  };
  add(induction_machine(), {1, 1, 1, 1}, 18);
  add(induction_machine(), {4, 4, 1, 1}, 27);
  add(induction_machine(), {8, 8, 1, 1}, 16);
  add({.model = "rlc"}, {2, 2, 1, 1}, 27);
  return designs;
}

// What else the model has for a design, but for legs and choices.
double known_luts(const AreaCounts& n) {
  const AreaCoefficients& k = area_coefficients();
  return k.carry * n.carries + k.compared * n.compared + k.divided * n.divided + k.table_bit * n.table_bits;
}

void calibrate(Report& report, const HardwareBenchmarkOptions& options) {
  report.begin({"calibration", "designs unlike in size and units, by yosys: synth_ecp5 -nowidelut", "LUTs",
                "the area model's coefficients are those of this fit"});
  TextTable table{{"design", "legs", "choices", "carries", "LUTs, yosys", "model", "deviation [%]"}, {}};
  const auto designs = calibration_designs();
  Eigen::MatrixXd counts(static_cast<Eigen::Index>(designs.size()), 2);
  Eigen::VectorXd ones(static_cast<Eigen::Index>(designs.size()));
  Eigen::Index rows = 0;
  for (const auto& [c, p] : designs) {
    const Synthesised s = synthesise(c, p, options.keep);
    const AreaCounts& n = s.counts;
    table.rows.push_back({folder_name(c, p), cell(n.legs, 6), cell(n.choices, 6), cell(n.carries, 6),
                          s.real ? cell(s.real->luts, 6) : "no yosys", cell(s.model.luts, 6),
                          s.real ? cell(deviation(s.model.luts, s.real->luts)) : ""});
    if (!s.real) continue;
    const double luts = s.real->luts - known_luts(n);  // relative errors count
    counts.row(rows) << n.legs / luts, n.choices / luts;
    ones(rows++) = 1.0;
  }
  report.table("designs", table);
  if (rows < 3) {
    report.note("too few runs of yosys for a fit");
    return;
  }
  const Eigen::Vector2d fit = counts.topRows(rows).colPivHouseholderQr().solve(ones.head(rows));
  const AreaCoefficients& k = area_coefficients();
  constexpr int width = 27;  // the divider's, where it is alone
  const std::optional<Synthesis> divider =
      run_yosys(options.keep / "divider", {{"tellegen_divide.v", verilog_divider()}}, "tellegen_divide");
  const double divided = divider ? divider->luts / width : k.divided;
  report.table("LUTs each", TextTable{{"of a", "fit", "model"},
                                      {{"leg", cell(fit(0)), cell(k.leg)},
                                       {"choice", cell(fit(1)), cell(k.choice)},
                                       {"bit of a divider", cell(divided), cell(k.divided)}}});
  report.require(std::abs(fit(0) - k.leg) < 0.02 && std::abs(fit(1) - k.choice) < 0.1 &&
                     std::abs(divided - k.divided) < 1.0,
                 "the coefficients of the area model are those of the fit");
}

// How many of so many seeds find the enumerated optimum, by each search.
struct SearchRates {
  double designs = 0;
  int seeds = 0, gradient = 0, genetic = 0;
};

SearchRates search_rates(DesignSpace& space, const DesignLimits& limits, int seeds,
                         std::size_t* evaluations = nullptr) {
  SearchRates rates{space.size(), seeds, 0, 0};
  const DesignGoal best = goal_of(space.value(enumerate(space, limits).best), limits);
  for (int seed = 1; seed <= seeds; ++seed) {
    SearchOptions options;
    options.seed = static_cast<std::uint32_t>(seed);
    const SearchResult gradient = gradient_descent(space, limits, options),
                       genetic = genetic_search(space, limits, options);
    rates.gradient += goal_of(space.value(gradient.best), limits) == best;
    rates.genetic += goal_of(space.value(genetic.best), limits) == best;
    if (evaluations) evaluations[0] += gradient.evaluations, evaluations[1] += genetic.evaluations;
  }
  return rates;
}

// Limits that bind: of a whole device the fastest design is simply the largest.
std::vector<std::pair<std::string, DesignLimits>> search_limits() {
  DesignLimits error = no_limits(), small = no_limits(), fine = no_limits();
  error.error = 1e-3;
  small.error = 1e-3, small.luts = 7000, small.dsps = 16;
  fine.error = 1e-5, fine.dsps = 20;
  return {{"error 1e-3", error}, {"error 1e-3, 7000 LUTs, 16 DSPs", small}, {"error 1e-5, 20 DSPs", fine}};
}

std::vector<std::pair<std::string, DesignLimits>> saturated_limits() {
  DesignLimits error = no_limits(), small = no_limits();
  error.error = 1e-3;
  small.error = 1e-3, small.luts = 23'500, small.dsps = 4;
  return {{"error 1e-3", error}, {"error 1e-3, 23500 LUTs, 4 DSPs", small}};
}

void searches(Report& report, const HardwareBenchmarkOptions& options) {
  report.begin({"searches", fmt::format("{} seeds, spaces that are enumerated", options.seeds),
                "the fastest design within limits", "time and LUTs those of the enumerated optimum"});
  TextTable table{{"model", "designs", "limits", "optimum", "us", "LUTs", "gradient descent", "designs seen",
                   "genetic search", "designs seen"},
                  {}};
  for (const HardwareCase& c : {induction_machine(), saturated_machine()}) {
    const HardwareProblem problem = problem_of(c);
    DesignSpace space(problem, c.ranges);
    for (const auto& [name, limits] : c.inputs.empty() ? search_limits() : saturated_limits()) {
      std::size_t seen[2] = {0, 0};
      const SearchRates rates = search_rates(space, limits, options.seeds, seen);
      const DesignValue& best = space.value(enumerate(space, limits).best);
      if (!report.require(goal_of(best, limits).excess == 0.0, c.model + ": a design keeps the limits"))
        continue;
      const auto rate = [&](int found) { return fmt::format("{} of {}", found, rates.seeds); };
      const auto each = [&](std::size_t count) {
        return fmt::format("{}", count / static_cast<std::size_t>(rates.seeds));
      };
      table.rows.push_back({c.model, fmt::format("{:.0f}", rates.designs), name, export_options(best.point),
                            cell(1e6 * best.time()), cell(best.area.luts, 5), rate(rates.gradient),
                            each(seen[0]), rate(rates.genetic), each(seen[1])});
      for (const auto& [search, found] :
           {std::pair{"gradient descent", rates.gradient}, {"genetic search", rates.genetic}})
        report.add({fmt::format("{}, {}: {}, % of seeds", c.model, name, search), 100.0 * found / rates.seeds,
                    95, true, "the enumerated optimum"});
    }
  }
  report.table("how many seeds find the optimum", table);
}

void fronts(Report& report, const HardwareBenchmarkOptions& options) {
  report.begin({"front", "designs of the front of time, LUTs and error (1e-3 at most), spread over it",
                "what yosys' synth_ecp5 -nowidelut makes of them", "LUTs within 15 % of the area model"});
  const HardwareCase c = induction_machine();
  DesignLimits limits = no_limits();
  limits.error = 1e-3;
  const HardwareProblem problem = problem_of(c);
  DesignSpace space(problem, c.ranges);
  enumerate(space, limits);
  const std::vector<DesignValue> front = design_front(space, limits, FrontOf::time_and_luts);
  TextTable table{{"options", "cycles", "us", "error", "LUTs, model", "yosys", "deviation [%]",
                   "flip-flops, model", "yosys", "DSPs, model", "yosys", "RAM, model", "yosys"},
                  {}};
  double worst = 0.0;
  int synthesised = 0;
  for (const DesignValue& v : spread(front, static_cast<std::size_t>(options.points))) {
    const Synthesised s = synthesise(c, v.point, options.keep);
    auto& row = table.rows.emplace_back();
    row = {export_options(v.point), fmt::format("{}", v.cycles), cell(1e6 * v.time()), cell(v.error, 2)};
    if (!s.real) {
      row.insert(row.end(), {cell(v.area.luts, 6), "no yosys"});
      continue;
    }
    const double d = deviation(v.area.luts, s.real->luts);
    worst = std::max(worst, std::abs(d));
    ++synthesised;
    row.insert(row.end(), {cell(v.area.luts, 6), cell(s.real->luts, 6), cell(d), cell(v.area.flipflops, 6),
                           cell(s.real->flipflops, 6), fmt::format("{}", v.area.dsps), cell(s.real->dsps),
                           fmt::format("{}", v.area.ram_blocks), cell(s.real->ram_blocks)});
  }
  report.table(
      fmt::format("{}: {} designs are on the front, {} of them", c.model, front.size(), table.rows.size()),
      table);
  if (synthesised == 0) return;
  report.add(
      {c.model + ": points of the front synthesised", static_cast<double>(synthesised), 8, true, "by yosys"});
  report.add({c.model + ": LUTs, largest deviation of the model [%]", worst, 15, false, "from yosys"});
}

// Yadav's dissertation, Tables 9 and 10: a Cyclone V by high-level synthesis; MATLAB.
struct Published {
  HardwareCase ours;
  const char* name;
  int registers[2], alms[2], dsps[2], cycles[2];
  double megahertz[2], matlab, milliseconds[2];
};

std::vector<Published> published() {
  HardwareCase induction = induction_machine();
  HardwareCase synchronous{.model = "generator-torque-step", .inputs = {"torque"}};
  HardwareCase saturated_synchronous{.model = "generator-fault", .inputs = {"bus"}, .iterations = 2};
  HardwareCase saturated_induction{.model = "motor-sag", .inputs = {"factor_a"}, .iterations = 2};
  for (HardwareCase* c : {&induction, &synchronous, &saturated_synchronous, &saturated_induction}) {
    const bool saturated = c->iterations > 0;
    c->ranges.multipliers = c->ranges.adders = saturated ? std::vector{2, 4} : std::vector{2, 4, 6, 8};
    c->ranges.dividers = {4};
    c->ranges.bits = {27};
    c->ranges.coarser = {0};
    if (saturated) c->ranges.latency = {1};
  }
  return {{synchronous,
           "synchronous machine",
           {12731, 13887},
           {20658, 22144},
           {50, 50},
           {173, 155},
           {49.05, 50.2},
           10.91,
           {157.39, 108.45}},
          {induction,
           "induction machine",
           {6504, 10252},
           {11216, 18321},
           {28, 38},
           {108, 75},
           {48.62, 49.2},
           1.57,
           {11.52, 5.80}},
          {saturated_synchronous,
           "saturated synchronous machine",
           {66010, 75363},
           {28847, 34488},
           {87, 87},
           {276, 201},
           {84.75, 82.11},
           7.19,
           {97.69, 63.28}},
          {saturated_induction,
           "saturated induction machine",
           {39021, 55387},
           {22280, 26852},
           {85, 85},
           {227, 199},
           {81.75, 83.4},
           2.44,
           {27.77, 13.09}}};
}

void tables(Report& report, const HardwareBenchmarkOptions&) {
  report.begin({"tables",
                "the four machines of Yadav's dissertation; ours with 27 bits, the fastest of a few designs",
                "Tables 9 and 10 beside ours", "none: other devices, word lengths, units and scopes"});
  TextTable nine{{"machine", "", "registers", "ALMs / LUTs", "DSPs", "cycles", "MHz", "us a step", "error"},
                 {}},
      ten{{"machine", "MATLAB [s]", "HLS default [ms]", "HLS_HP [ms]", "steps here", "ours [ms], by model"},
          {}};
  for (const Published& p : published()) {
    const char* kinds[] = {"HLS default", "HLS_HP"};
    for (int k = 0; k < 2; ++k)
      nine.rows.push_back({k == 0 ? p.name : "", kinds[k], fmt::format("{}", p.registers[k]),
                           fmt::format("{}", p.alms[k]), fmt::format("{}", p.dsps[k]),
                           fmt::format("{}", p.cycles[k]), cell(p.megahertz[k]),
                           cell(p.cycles[k] / p.megahertz[k]), ""});
    const HardwareProblem problem = problem_of(p.ours);
    DesignSpace space(problem, p.ours.ranges);
    const DesignValue& v = space.value(enumerate(space, no_limits()).best);
    nine.rows.push_back({"", export_options(v.point), cell(v.area.flipflops, 6), cell(v.area.luts, 6),
                         fmt::format("{}", v.area.dsps), fmt::format("{}", v.cycles), cell(1e-6 / v.period),
                         cell(1e6 * v.time()), cell(v.error, 2)});
    ten.rows.push_back({p.name, cell(p.matlab), cell(p.milliseconds[0], 5), cell(p.milliseconds[1], 5),
                        fmt::format("{}", problem.scenario.steps),
                        cell(1e3 * v.time() * static_cast<double>(problem.scenario.steps))});
  }
  report.table("Table 9: Cyclone V by high-level synthesis; ours an ECP5, area and clock by model", nine);
  report.table("Table 10: running times", ten);
  report.note(
      "Not like for like: theirs is placed and routed, word lengths, number of steps and what is inside are "
      "not "
      "published, and their Table 10 does not follow from Table 9 (75 cycles at 49.2 MHz and 108 at 48.6 MHz "
      "are 1.46 "
      "times apart, their times 1.99). Here the sources of each step come from a host, and the clock is a "
      "rule of "
      "thumb.");
}

}  // namespace hardware_benchmark

bool run_hardware_benchmark(const HardwareBenchmarkOptions& given) {
  HardwareBenchmarkOptions options = given;
  if (options.keep.empty()) options.keep = std::filesystem::temp_directory_path() / "tellegen-hardware";
  Report report;
  const auto wanted = [&](const char* section) {
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), section) != options.only.end();
  };
  if (wanted("searches")) hardware_benchmark::searches(report, options);
  if (wanted("calibration")) hardware_benchmark::calibrate(report, options);
  if (wanted("front")) hardware_benchmark::fronts(report, options);
  if (wanted("tables")) hardware_benchmark::tables(report, options);
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << '\n';
  return !report.failed();
}

}  // namespace tellegen
