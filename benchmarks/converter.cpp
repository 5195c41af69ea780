#include "benchmarks/converter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "benchmarks/ngspice.h"
#include "benchmarks/report.h"
#include "tellegen/netlist/netlist.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

constexpr double run_length = 10e-3, sample_interval = 10e-6;
constexpr int sample_count = 1000;

struct ConverterAnswer {
  std::vector<double> voltage, current;  // V(out), I(l1), at the samples
};

struct ConverterErrors {
  double voltage = 0, current = 0;  // root mean square over the run, in V and A
  bool within(const ConverterErrors& other) const {
    return voltage <= other.voltage && current <= other.current;
  }
};

double rms(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}
ConverterErrors errors_of(const ConverterAnswer& answer, const ConverterAnswer& reference) {
  return {rms(answer.voltage, reference.voltage), rms(answer.current, reference.current)};
}

std::string netlist_text() {
  std::ostringstream text;
  text << std::ifstream(TELLEGEN_SOURCE_DIR "/benchmarks/buck.cir").rdbuf();
  return text.str();
}

// The file's own .tran and .end give way to one with the setting.
std::string spice_text(double max_step, const std::string& options, const std::string& output) {
  const std::string text = netlist_text();
  return text.substr(0, text.find(".tran")) +
         fmt::format(
             ".options {}\n.save v(out) i(l1)\n.tran {} {} 0 {} uic\n.control\nset numdgt=15\nset "
             "wr_singlescale\nset num_threads=1\nrun\nrusage accept trantime\nwrdata {} v(out) "
             "i(l1)\n.endc\n.end\n",
             options, max_step, run_length, max_step, output);
}

ExternalRun run_spice(double max_step, const std::string& options) {
  return run_ngspice_text(
      fmt::format("max step {:g} ns, {}", 1e9 * max_step, options.empty() ? "default" : options),
      [&](const std::string& output) { return spice_text(max_step, options, output); }, run_length,
      sample_count, 1);
}

struct ConverterSetting {
  const char* method;
  double step;
  int bisections;
};

struct OurRun {
  ConverterSetting setting;
  ConverterAnswer answer;
  ConverterErrors errors;
  Statistics statistics;
  double seconds = std::numeric_limits<double>::infinity();  // of the loop
};

void run_ours(const Model& model, OurRun& run, int repetitions) {
  SimulationOptions options;
  options.stop = run_length;
  options.step = run.setting.step;
  options.sample = sample_interval;
  options.method = run.setting.method;
  options.event_bisections = run.setting.bisections;
  const std::vector<OutputColumn> outputs{{"V(out)", "V", parse_value(model, "out.v", {})},
                                          {"I(l1)", "A", parse_value(model, "l1.i", {})}};
  for (int k = 0; k < repetitions; ++k) {
    const SimulationResult result = Simulation(model, options, outputs).run();
    run.seconds = std::min(run.seconds, result.loop_seconds);
    run.statistics = result.statistics;
    run.answer = {};
    for (std::size_t row = 1; row < result.t.size(); ++row) {
      run.answer.voltage.push_back(result.values[2 * row]);
      run.answer.current.push_back(result.values[2 * row + 1]);
    }
  }
}

std::string in_words(const ConverterSetting& s) {
  return fmt::format("{} {:g} ns{}", s.method, 1e9 * s.step,
                     s.bisections > 0 ? fmt::format(", {} bisections", s.bisections) : "");
}

}  // namespace

bool run_converter(const ConverterOptions& options) {
  Report report;
  report.begin({"converter", "buck converter, switch and diode, 100 kHz, 10 ms (benchmarks/buck.cir)",
                "V(out) and I(l1) at the end of each of 1000 periods",
                "both programs within 1 % of each other at their finest; compared at equal error"});
  const Model model = read_netlist(TELLEGEN_SOURCE_DIR "/benchmarks/buck.cir");

  // The finest setting is the reference; ngspice at its own finest must say the same.
  OurRun reference{{"tr", options.quick ? 2e-8 : 2e-9, 30}, {}, {}, {}, {}};
  run_ours(model, reference, 1);
  const double volts = *std::max_element(reference.answer.voltage.begin(), reference.answer.voltage.end());
  const double amperes = *std::max_element(reference.answer.current.begin(), reference.answer.current.end());
  ExternalRun finest = run_spice(options.quick ? 1e-7 : 1e-8, options.quick ? "" : "reltol=1e-5");
  if (finest.available) {
    const ConverterErrors apart = errors_of({finest.first, finest.second}, reference.answer);
    report.require(
        apart.voltage < 0.01 * volts && apart.current < 0.01 * amperes,
        fmt::format("the finest answers differ by {:.3g} V, {:.3g} A", apart.voltage, apart.current));
    report.note(fmt::format(
        "finest settings ({} and {}) are {:.3g} V and {:.3g} A apart, of {:.4g} V and {:.4g} A",
        in_words(reference.setting), finest.setting, apart.voltage, apart.current, volts, amperes));
  } else {
    report.note(finest.setting);
  }

  std::vector<OurRun> ours;
  for (const char* method : {"tr", "bdf2"})
    for (const double step : {4e-7, 2e-7, 1e-7, 5e-8})
      for (const int bisections : {0, 8, 12, 16, 20}) {
        if (options.quick && (step != 5e-8 || bisections != 16)) continue;
        ours.push_back({{method, step, bisections}, {}, {}, {}});
        run_ours(model, ours.back(), options.quick ? 1 : 3);
        ours.back().errors = errors_of(ours.back().answer, reference.answer);
      }
  std::sort(ours.begin(), ours.end(), [](const OurRun& a, const OurRun& b) { return a.seconds < b.seconds; });
  TextTable own{{"our setting", "steps", "events", "err V", "err A", "loop [ms]"}, {}};
  for (const OurRun& run : ours)
    own.rows.push_back({in_words(run.setting), cell(run.statistics.steps), cell(run.statistics.events),
                        cell(run.errors.voltage), cell(run.errors.current), cell(1e3 * run.seconds)});
  report.table("Tellegen", own);

  struct SpiceSettings {
    double max_step;
    const char* options;
  };
  TextTable table{{"their setting", "steps", "err V", "err A", "time [ms]", "our setting", "our err V",
                   "our err A", "our time [ms]", "ratio"},
                  {}};
  double smallest = std::numeric_limits<double>::infinity();
  std::string which;
  for (const SpiceSettings& setting : {SpiceSettings{5e-6, ""},
                                       {1e-6, ""},
                                       {5e-7, ""},
                                       {2e-7, ""},
                                       {1e-7, ""},
                                       {5e-8, ""},
                                       {2e-8, ""},
                                       {2e-7, "reltol=1e-4"},
                                       {5e-8, "method=gear"}}) {
    if (options.quick && setting.max_step != 1e-7) continue;
    ExternalRun theirs = run_spice(setting.max_step, setting.options);
    if (!theirs.available) {
      report.note(theirs.setting);
      break;
    }
    const ConverterErrors errors = errors_of({theirs.first, theirs.second}, reference.answer);
    const auto equal =
        std::find_if(ours.begin(), ours.end(), [&](const OurRun& run) { return run.errors.within(errors); });
    std::vector<std::string> cells{theirs.setting, cell(static_cast<std::int64_t>(theirs.steps)),
                                   cell(errors.voltage), cell(errors.current)};
    if (report.require(equal != ours.end(),
                       fmt::format("{}: none of our settings is as accurate", theirs.setting))) {
      // Side by side, in turns: the machine is not ours alone.
      for (int round = 0; round < (options.quick ? 0 : 3); ++round) {
        run_ours(model, *equal, 3);
        theirs.seconds = std::min(theirs.seconds, run_spice(setting.max_step, setting.options).seconds);
      }
      const double ratio = theirs.seconds / equal->seconds;
      cells.insert(cells.end(),
                   {cell(1e3 * theirs.seconds), in_words(equal->setting), cell(equal->errors.voltage),
                    cell(equal->errors.current), cell(1e3 * equal->seconds), cell(ratio)});
      if (ratio < smallest) smallest = ratio, which = theirs.setting;
    }
    table.rows.push_back(std::move(cells));
  }
  report.table(finest.version + " (its transient time) against Tellegen (its step loop)", table);
  if (std::isfinite(smallest)) report.add({"ngspice / ours, the least of these", smallest, 10, true, which});
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << "\n";
  return !report.failed();
}

}  // namespace tellegen
