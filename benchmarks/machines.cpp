#include "benchmarks/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "benchmarks/best_of.h"
#include "benchmarks/machine_steps.h"
#include "benchmarks/machines_inverter.h"
#include "benchmarks/report.h"
#include "tellegen/model/read.h"
#include "tellegen/results/trajectory.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

struct Scenario {
  const char* model;
  const char* machine;  // what the kind's name begins with
  double peak_current, peak_torque;
  double fpga_ms, matlab_s;  // published: fastest design, and the same in MATLAB
};

// Peaks and times: Yadav, PhD dissertation, UT Arlington, 2021, Tables 9 and 10, and its reference solutions.
constexpr Scenario scenarios[] = {
    {"generator-torque-step", "synchronous", 29188, 1.8392e6, 108.45, 10.91},
    {"motor-free-acceleration", "induction", 102.31, 132.06, 5.80, 1.57},
    {"generator-fault", "synchronous", 129140, 1.5458e8, 63.28, 7.19},
    {"motor-sag", "induction", 764.29, 1917.3, 13.09, 2.44},
};

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::filesystem::path file_of(const Scenario& s) {
  return std::filesystem::path(TELLEGEN_SOURCE_DIR) / "models" / s.model / "model.toml";
}

// The model with its machine in another form: vbr, qd0 or phase.
Model in_form(const Scenario& s, const std::string& form) {
  std::string text = text_of(file_of(s));
  const std::string vbr = fmt::format("machines.{}_vbr", s.machine);
  text.replace(text.find(vbr), vbr.size(), fmt::format("machines.{}_{}", s.machine, form));
  ReadOptions read;
  read.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, file_of(s), read);
}

struct Run {
  std::vector<double> t, values;  // i_a, i_b, i_c, T_e a row
  Statistics statistics;
  double seconds = 0;
  std::string failure;
};

Run run_rk4(const Model& model, double step, double sample, double stop, int repetitions = 1) {
  SimulationOptions options;
  options.method = "rk4";
  options.form = options.start = "";
  options.step = step;
  options.sample = sample;
  options.stop = stop;
  std::vector<OutputColumn> outputs;
  for (const char* name : {"i_a", "i_b", "i_c", "T_e"})
    outputs.push_back({name, "", parse_value(model, name, {})});
  Run result;
  result.seconds = std::numeric_limits<double>::infinity();
  for (int k = 0; k < repetitions; ++k) {
    const SimulationResult r = Simulation(model, complete_options(model, options), outputs).run();
    result.seconds = std::min(result.seconds, r.loop_seconds);
    result.t = r.t;
    result.values = r.values;
    result.statistics = r.statistics;
    result.failure = r.failure;
  }
  return result;
}

struct MachineErrors {
  double current = 0, torque = 0;  // largest, over the peaks
};

// Rows of b that fall on rows of a.
MachineErrors apart(const Scenario& s, const Run& a, const Run& b) {
  MachineErrors errors;
  std::size_t k = 0;
  for (std::size_t row = 0; row < a.t.size(); ++row) {
    while (k + 1 < b.t.size() && b.t[k] < a.t[row] - 1e-9) ++k;
    if (std::abs(b.t[k] - a.t[row]) > 1e-9) continue;
    for (int c = 0; c < 4; ++c) {
      double& largest = c < 3 ? errors.current : errors.torque;
      largest = std::max(largest, std::abs(a.values[4 * row + c] - b.values[4 * k + c]) /
                                      (c < 3 ? s.peak_current : s.peak_torque));
    }
  }
  return errors;
}

Run reference_of(const Scenario& s) {
  const Trajectory file = read_csv(file_of(s).parent_path() / "reference.csv");
  Run result;
  result.t = file.t;
  for (std::size_t row = 0; row < file.rows(); ++row)
    for (const char* name : {"i_a", "i_b", "i_c", "T_e"})
      result.values.push_back(file.at(row, *file.find(name)));
  return result;
}

void run_scenarios(Report& report, bool quick) {
  report.begin(
      {"scenarios", "the four scenarios under models/, voltage behind reactance, rk4 at 0.5 ms",
       "phase currents and torque, relative to their peaks",
       "current within 1e-4, torque within 2e-4 of the reference; the step written by hand within 1e-6"});
  TextTable table{{"model", "steps", "err current", "err torque", "order", "qd0 apart", "loop [ms]",
                   "by hand [ms]", "ratio", "FPGA [ms]", "MATLAB [s]"},
                  {}};
  for (const Scenario& s : scenarios) {
    const Model model = in_form(s, "vbr");
    const double h = 5e-4, stop = *model.simulation.stop, sample = 1e-3;
    const Run reference = reference_of(s);
    const Run ours = run_rk4(model, h, sample, stop);
    if (!report.require(ours.failure.empty(), fmt::format("{}: {}", s.model, ours.failure))) continue;
    const MachineErrors errors = apart(s, reference, ours);
    const bool good = report.require(
        errors.current <= 1e-4 && errors.torque <= 2e-4,
        fmt::format("{}: {:.2g} and {:.2g} from the reference", s.model, errors.current, errors.torque));
    // Order: three halvings, over the part in which something happens.
    const double until = std::min(stop, s.machine[0] == 's' ? 10.5 : 0.5);
    const Run fine[] = {run_rk4(model, h, sample, until), run_rk4(model, h / 2, sample, until),
                        run_rk4(model, h / 4, sample, until)};
    const double order = std::log2(apart(s, fine[0], fine[1]).current / apart(s, fine[1], fine[2]).current);
    const Run qd0 = run_rk4(in_form(s, "qd0"), h, sample, stop);
    const MachineErrors forms = apart(s, ours, qd0), qd0_errors = apart(s, reference, qd0);
    report.require(qd0.failure.empty() && forms.current <= 1.5 * (errors.current + qd0_errors.current) + 1e-6,
                   fmt::format("{}: the qd0 form is {:.2g} apart{}", s.model, forms.current, qd0.failure));
    const auto steps = static_cast<std::int64_t>(std::llround(stop / h));
    const HandRun hand = hand_machine(s.model, h, steps, 2);
    double difference = 0;
    for (std::size_t k = 0; k < hand.i_a.size(); ++k)
      difference = std::max(difference, std::abs(hand.i_a[k] - ours.values[4 * (k + 1)]) / s.peak_current);
    // Two steps that differ by rounding alone drift apart with the solution's own errors.
    report.require(difference <= 1e-5,
                   fmt::format("{}: the step by hand is {:.2g} apart", s.model, difference));
    double own = std::numeric_limits<double>::infinity(), by_hand = own;
    for (int round = 0; round < (quick ? 1 : 5); ++round) {
      own = std::min(own, run_rk4(model, h, 10e-3, stop, quick ? 1 : 4).seconds);
      by_hand = std::min(by_hand, best_of([&] { hand_machine(s.model, h, steps, 20); }, quick ? 0.0 : 0.1));
    }
    table.rows.push_back({s.model, cell(ours.statistics.steps), cell(errors.current), cell(errors.torque),
                          cell(order), cell(forms.current), good ? cell(1e3 * own) : "", cell(1e3 * by_hand),
                          cell(own / by_hand), cell(s.fpga_ms, 5), cell(s.matlab_s, 4)});
    report.add({fmt::format("{}: loop / by hand", s.model), own / by_hand, 1.5, false, "best of several"});
    report.add({fmt::format("{}: order", s.model), order, 3.8, true, "0.5, 0.25, 0.125 ms"});
  }
  report.table("errors are the largest of the run over the peak; FPGA and MATLAB: published", table);
}

void run_forms(Report& report, bool quick) {
  report.begin({"forms", "free acceleration and torque step, the machine in three forms, rk4",
                "largest error of a phase current over its peak",
                "against voltage behind reactance at 25 us"});
  for (const Scenario& s : {scenarios[1], scenarios[0]}) {
    const double stop = quick ? 0.1 : s.machine[0] == 's' ? 11 : 0.5, sample = 4e-3;
    const Run reference = run_rk4(in_form(s, "vbr"), 2.5e-5, sample, stop);
    TextTable table{
        {"step [ms]", "phase domain", "qd0", "vbr", "phase [ns/step]", "qd0 [ns/step]", "vbr [ns/step]"}, {}};
    for (const double h : {2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4}) {
      std::vector<std::string> errors, times;
      for (const char* form : {"phase", "qd0", "vbr"}) {
        const Run r = run_rk4(in_form(s, form), h, sample, stop, quick ? 1 : 3);
        const double error = r.failure.empty() ? apart(s, reference, r).current : std::nan("");
        errors.push_back(r.failure.empty() && error < 1 ? cell(error) : "unstable");
        times.push_back(
            cell(1e9 * r.seconds / static_cast<double>(std::max<std::int64_t>(1, r.statistics.steps))));
        // The phase domain needs steps half as long; every form must come close in the end.
        const double bound = h < 2e-4 ? 2e-4 : 1e-2;
        if (h <= (form == std::string_view("phase") ? 2.5e-4 : 5e-4))
          report.require(error < bound, fmt::format("{} {} at {:g} s: {:.2g}", s.model, form, h, error));
      }
      errors.insert(errors.begin(), cell(1e3 * h));
      errors.insert(errors.end(), times.begin(), times.end());
      table.rows.push_back(std::move(errors));
    }
    report.table(fmt::format("{}, {:g} s", s.model, stop), table);
  }
}

// Points of the arctangent characteristic, as the kinds with a table take them.
std::string curve_points(double tau, double knee, double Md, double Ma, double highest, int count) {
  const auto F = [&](double x) {
    return x * std::atan(tau * x) - std::log(1 + tau * tau * x * x) / (2 * tau);
  };
  std::string text = "[";
  for (int k = 0; k <= count; ++k) {
    const double x = highest * k / count;
    text += fmt::format("[{:.12g}, {:.12g}], ", x,
                        k == 0 ? 0.0 : 2 * Md / std::acos(-1.0) * (F(x - knee) - F(-knee)) + Ma * x);
  }
  return text + "]";
}

void run_table(Report& report, bool quick) {
  report.begin({"table", "phase sag on the saturated motor, the curve as a formula and as tables",
                "phase current and torque", "against the formula at the same step"});
  const Scenario& s = scenarios[3];
  const Model exact = in_form(s, "vbr");
  const double stop = quick ? 0.1 : 5.0;
  const Run formula = run_rk4(exact, 5e-4, 1e-3, stop, quick ? 1 : 3);
  TextTable table{{"curve", "err current", "err torque", "loop [ms]"}, {}};
  table.rows.push_back({"formula", "", "", cell(1e3 * formula.seconds)});
  for (const int count : {25, 50, 100, 200, 400}) {
    std::string text = text_of(file_of(s));
    const auto replace = [&](const std::string& from, const std::string& to) {
      text.replace(text.find(from), from.size(), to);
    };
    replace("machines.induction_vbr_saturated", "machines.induction_vbr_table");
    const auto begin = text.find("tau_T"), end = text.find("\n[outputs]");
    text.replace(begin, end - begin, "curve = " + curve_points(20, 0.82, 62.75, 88.95, 1.6, count) + "\n");
    ReadOptions read;
    read.library = TELLEGEN_SOURCE_DIR "/library";
    const Run r = run_rk4(read_model_text(text, file_of(s), read), 5e-4, 1e-3, stop, quick ? 1 : 3);
    const MachineErrors errors = apart(s, formula, r);
    report.require(r.failure.empty() && errors.current < 0.05,
                   fmt::format("table of {} points: {:.2g} {}", count, errors.current, r.failure));
    table.rows.push_back(
        {fmt::format("{} points", count), cell(errors.current), cell(errors.torque), cell(1e3 * r.seconds)});
  }
  report.table("error of the table: largest of the run over the peak", table);
}

// Slow parts stepped less often, against the same model stepped as one.
void run_rates(Report& report, bool quick) {
  report.begin({"rates", "parts of a model stepped once in so many steps, rk4",
                "the slow quantity, and the loop's time", "against one step for all"});
  struct Case {
    const char* model;
    const char* slow;
    const char* output;
    double step;
    int cells;  // of a rod added to the thermal network
  };
  for (const Case& c : {Case{"motor-free-acceleration", "rotational", "w_r", 5e-5, 0},
                        Case{"motor-thermal", "thermal", "T_winding", 2e-4, 0},
                        Case{"motor-thermal", "thermal", "T_winding", 2e-4, 60}}) {
    const Scenario at{c.model, "", 1, 1, 0, 0};
    std::string text = text_of(file_of(at)), cells;
    for (int k = 0; k < c.cells; ++k)
      cells += fmt::format(
          "rod{0} = {{ kind = \"thermal.resistor\", p = \"{1}\", n = \"x{0}\", R = 0.5 }}\n"
          "mass{0} = {{ kind = \"thermal.capacitor\", p = \"x{0}\", n = \"datum\", C = 2, T0 = \"Ta\" }}\n",
          k, k == 0 ? "stator" : fmt::format("x{}", k - 1));
    text.insert(text.find("\n[outputs]"), cells);
    ReadOptions read;
    read.library = TELLEGEN_SOURCE_DIR "/library";
    const Model model = read_model_text(text, file_of(at), read);
    SimulationOptions options;
    options.method = "rk4";
    options.form = options.start = "";
    options.step = c.step;
    options.sample = 20 * c.step;
    options.stop = quick ? 0.1 : std::min(5.0, *model.simulation.stop);
    options.slow = {c.slow};
    const std::vector<OutputColumn> outputs{{c.output, "", parse_value(model, c.output, {})}};
    TextTable table{{"steps for one slow", "error", "loop [ms]"}, {}};
    std::vector<double> whole;
    for (const int steps : {1, 2, 5, 10, 20, 50}) {
      options.slow_steps = steps;
      double seconds = std::numeric_limits<double>::infinity(), error = 0.0, change = 0.0;
      SimulationResult r;
      for (int k = 0; k < (quick ? 1 : 5); ++k) {
        r = Simulation(model, complete_options(model, options), outputs).run();
        seconds = std::min(seconds, r.loop_seconds);
      }
      if (!report.require(r.failure.empty(), r.failure)) break;
      if (steps == 1) whole = r.values;
      for (std::size_t k = 0; k < whole.size(); ++k) {
        error = std::max(error, std::abs(r.values[k] - whole[k]));
        change = std::max(change, std::abs(whole[k] - whole[0]));
      }
      report.require(error <= 0.02 * change, fmt::format("{}, {}: {:.2g}", c.model, steps, error / change));
      table.rows.push_back(
          {cell(static_cast<std::int64_t>(steps)), cell(error / change), cell(1e3 * seconds)});
    }
    report.table(fmt::format("{}{}: {} slow, {:g} s at {:g} us; error of {} over its change", c.model,
                             c.cells > 0 ? fmt::format(" with {} more nodes", c.cells) : "", c.slow,
                             options.stop, 1e6 * c.step, c.output),
                 table);
  }
}

}  // namespace

bool run_machines(const MachinesOptions& options) {
  const auto wanted = [&](const char* name) {
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), name) != options.only.end();
  };
  Report report;
  if (wanted("scenarios")) run_scenarios(report, options.quick);
  if (wanted("forms")) run_forms(report, options.quick);
  if (wanted("table")) run_table(report, options.quick);
  if (wanted("rates")) run_rates(report, options.quick);
  if (wanted("inverter")) run_inverter(report, options.quick);
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << "\n";
  return !report.failed();
}

}  // namespace tellegen
