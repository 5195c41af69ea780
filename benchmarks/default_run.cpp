#include "benchmarks/default_run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "benchmarks/ngspice.h"
#include "benchmarks/report.h"
#include "tellegen/netlist/netlist.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

struct DefaultCircuit {
  std::string name, elements;
  double stop;
  const char *first, *second;  // as SPICE names them
  bool uic;
};

std::string chain(int sections, const std::string& section) {
  std::string text;
  for (int k = 1; k <= sections; ++k) {
    std::string one = section;
    for (const auto& [mark, number] : {std::pair('<', k - 1), std::pair('>', k)})
      for (std::size_t at; (at = one.find(mark)) != std::string::npos;)
        one.replace(at, 1, std::to_string(number));
    text += one;
  }
  return text;
}

std::vector<DefaultCircuit> circuits() {
  return {
      {"rlc", "v1 a 0 sin(0 1 1k)\nr1 a b 10\nl1 b c 1m\nc1 c 0 1u\n", 50e-3, "v(c)", "i(l1)", false},
      {"rectifier",
       "v1 a 0 sin(0 120 50)\nrs a b 0.1\nd1 b p dd\nd2 0 p dd\nd3 n b dd\nd4 n 0 dd\nc1 p n 1m\nr1 p n 20\n"
       "rg n 0 1meg\n.model dd d(is=1e-14 rs=10m)\n",
       0.2, "v(p)", "v(n)", false},
      {"line of 200",
       "v1 n0 0 pulse(0 1 1n 1n 1n 40n 100n)\n" + chain(200, "r> n< m> 0.1\nl> m> n> 1n\nc> n> 0 1p\n") +
           "rl n200 0 31.6\n",
       200e-9, "v(n100)", "v(n200)", false},
      {"ladder 1000",
       "v1 n0 0 sin(0 1 1k)\n" + chain(1000, "r> n< m> 1m\nl> m> n> 1u\nc> n> 0 1u\n") + "rl n1000 0 1\n",
       4e-3, "v(n10)", "v(n1000)", false},
      {"buck",
       ".model sw1 sw(vt=0.5 vh=0 ron=10m roff=1meg)\n.model dd d(is=1e-14 rs=1m)\nvin in 0 48\n"
       "vg g 0 pulse(0 1 3.0137u 1n 1n 4.1373u 10u)\ns1 in x g 0 sw1\nd1 0 x dd\nl1 x out 100u ic=0\n"
       "c1 out 0 100u ic=0\nr1 out 0 5\n",
       2e-3, "v(out)", "i(l1)", true},
      {"flyback",
       ".model sw1 sw(vt=0.5 vh=0 ron=50m roff=1meg)\n.model dd d(is=1e-12 rs=10m cjo=100p)\nvin in 0 24\n"
       "rin in a 10m\nlp a x 50u ic=0\nls 0 s 50u ic=0\nk1 lp ls 0.995\nvg g 0 pulse(0 1 1u 20n 20n 4u 10u)\n"
       "s1 x 0 g 0 sw1\nrsn x sn 100\ncsn sn 0 1n ic=0\nd1 s out dd\nc1 out 0 47u ic=0\nr1 out 0 20\n",
       400e-6, "v(out)", "i(lp)", true},
  };
}

constexpr int sample_rows = 200;

std::string our_text(const DefaultCircuit& c) {
  return fmt::format("{}\n{}.tran {} {}{}\n.end\n", c.name, c.elements, c.stop / sample_rows, c.stop,
                     c.uic ? " uic" : "");
}

std::string their_text(const DefaultCircuit& c, const std::string& options, const std::string& output) {
  return fmt::format(
      "{}\n{}.options {}\n.save {} {}\n.tran {} {}{}\n.control\nset numdgt=15\nset wr_singlescale\nset "
      "num_threads=1\nrun\nrusage accept trantime\nwrdata {} {} {}\nquit 0\n.endc\n.end\n",
      c.name, c.elements, options, c.first, c.second, c.stop / sample_rows, c.stop, c.uic ? " uic" : "",
      output, c.first, c.second);
}

struct Answer {
  std::vector<double> first, second;
};

// The largest difference, relative to the range of the reference.
double default_error_of(const Answer& answer, const Answer& reference) {
  double worst = 0.0;
  for (const auto member : {&Answer::first, &Answer::second}) {
    const auto &a = answer.*member, &b = reference.*member;
    const auto [low, high] = std::minmax_element(b.begin(), b.end());
    for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k)
      worst = std::max(worst, std::abs(a[k] - b[k]) / (*high - *low));
    if (a.size() != b.size()) worst = std::numeric_limits<double>::infinity();
  }
  return worst;
}

struct OurDefaultRun {
  Answer answer;
  double loop = 0.0;
  Statistics statistics;
};

OurDefaultRun run_default(const fs::path& file, const DefaultCircuit& c, double tolerance) {
  Model model = read_netlist(file);
  model.simulation.tolerance = tolerance;
  const EquationSystem system = build_system(model);
  SimulationOptions options;
  options.method.clear();
  options = complete_options(model, options);
  const auto column = [&](std::string name) {
    for (OutputColumn& o : default_outputs(system, false)) {
      std::string lower = o.name;
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](unsigned char x) { return std::tolower(x); });
      if (lower == name) return o;
    }
    throw std::runtime_error("no output " + name);
  };
  Simulation simulation(system, options, {column(c.first), column(c.second)});
  const SimulationResult result = simulation.run();
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  OurDefaultRun run{{}, result.loop_seconds, result.statistics};
  for (std::size_t row = 1; row < result.t.size(); ++row) {
    run.answer.first.push_back(result.values[2 * row]);
    run.answer.second.push_back(result.values[2 * row + 1]);
  }
  return run;
}

double processor_seconds_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Processor time of a command, the least of three.
double command_seconds(const std::string& command) {
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 3; ++k) {
    const double before = processor_seconds_of_children();
    if (std::system(command.c_str()) != 0) return std::numeric_limits<double>::quiet_NaN();
    least = std::min(least, processor_seconds_of_children() - before);
  }
  return least;
}

}  // namespace

bool run_default_benchmark(const DefaultRunOptions& options) {
  Report report;
  report.begin({"default", "six circuits as netlists, with the settings that nobody made",
                "two variables at 200 samples",
                "errors of both programs against our solution at tolerance 1e-9"});
  const fs::path folder = fs::temp_directory_path() / fmt::format("tellegen_default_{}", getpid());
  fs::create_directories(folder);
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "tellegen";
  TextTable whole{{"circuit", "our error", "ngspice's error", "our command [ms]", "ngspice's command [ms]",
                   "ours / theirs"},
                  {}};
  TextTable equal{{"circuit", "their setting", "their error", "their time [ms]", "our tolerance", "our error",
                   "our loop [ms]", "ratio"},
                  {}};
  TextTable control{{"circuit", "tolerance", "error", "error / tolerance", "steps", "loop [ms]"}, {}};
  double smallest = std::numeric_limits<double>::infinity(), log_sum = 0.0;
  int commands = 0;
  std::string which;
  for (const DefaultCircuit& c : circuits()) {
    if (options.quick && c.name != "rlc" && c.name != "buck") continue;
    const fs::path file = folder / "ours.cir", theirs_file = folder / "theirs.cir";
    std::ofstream(file) << our_text(c);
    const Answer reference = run_default(file, c, 1e-9).answer;
    struct Ours {
      double tolerance, error, loop;
    };
    std::vector<Ours> ours;
    for (const double tolerance : {1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7}) {
      OurDefaultRun run = run_default(file, c, tolerance);
      for (int k = 0; k < (options.quick ? 0 : 2); ++k)
        run.loop = std::min(run.loop, run_default(file, c, tolerance).loop);
      ours.push_back({tolerance, default_error_of(run.answer, reference), run.loop});
      control.rows.push_back({c.name, fmt::format("{:g}", tolerance), cell(ours.back().error),
                              cell(ours.back().error / tolerance), cell(run.statistics.steps),
                              cell(1e3 * run.loop)});
    }
    const double default_error = ours[2].error;  // of 1e-4, the default of `simulate`
    report.require(default_error < 0.1, fmt::format("{}: our default is {:.2g} off", c.name, default_error));
    std::sort(ours.begin(), ours.end(), [](const Ours& a, const Ours& b) { return a.loop < b.loop; });
    for (const char* setting : {"reltol=1e-3", "reltol=1e-4", "reltol=1e-5"}) {
      const ExternalRun theirs = run_ngspice_text(
          setting, [&](const std::string& output) { return their_text(c, setting, output); }, c.stop,
          sample_rows, 1);
      if (!theirs.available) {
        report.note(theirs.setting);
        break;
      }
      const double error = default_error_of({theirs.first, theirs.second}, reference);
      if (setting == std::string_view("reltol=1e-3")) {
        std::ofstream(theirs_file) << their_text(c, setting, (folder / "theirs.out").string());
        const double our_command =
            command_seconds(fmt::format("{} simulate {} --output {}/ours.csv > /dev/null", program.string(),
                                        file.string(), folder.string()));
        const double their_command =
            command_seconds(fmt::format("ngspice -b {} > /dev/null 2>&1", theirs_file.string()));
        whole.rows.push_back({c.name, cell(default_error), cell(error), cell(1e3 * our_command),
                              cell(1e3 * their_command), cell(our_command / their_command)});
        if (std::isfinite(our_command / their_command))
          log_sum += std::log(our_command / their_command), ++commands;
      }
      const auto found =
          std::find_if(ours.begin(), ours.end(), [&](const Ours& o) { return o.error <= error; });
      if (!report.require(
              found != ours.end(),
              fmt::format("{}: none of our tolerances is as accurate as ngspice with {}", c.name, setting)))
        continue;
      const double ratio = theirs.seconds / found->loop;
      equal.rows.push_back({c.name, setting, cell(error), cell(1e3 * theirs.seconds),
                            fmt::format("{:g}", found->tolerance), cell(found->error),
                            cell(1e3 * found->loop), cell(ratio)});
      if (theirs.seconds > 0.002 && ratio < smallest) smallest = ratio, which = c.name + ", " + setting;
    }
  }
  fs::remove_all(folder);
  report.table("error control", control);
  report.table("whole command, default settings", whole);
  report.table("step loops at equal accuracy (ngspice reports whole milliseconds)", equal);
  if (std::isfinite(smallest)) report.add({"ngspice / ours, the least of these", smallest, 10, true, which});
  if (commands > 0)
    report.add({"our command / ngspice's, geometric mean", std::exp(log_sum / commands), 1, false,
                "default settings"});
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << "\n";
  return !report.failed();
}

}  // namespace tellegen
