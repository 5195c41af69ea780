#include "benchmarks/machines_inverter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchmarks/ngspice.h"
#include "benchmarks/report.h"
#include "tellegen/model/read.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

constexpr double inverter_sample = 1e-4;

// The same circuit: switches and diodes, gates by comparison with the carrier, the machine as B sources in dq
// on capacitors of 1 F. The dead time is centred on each edge, ours begins there: half a microsecond apart.
std::string netlist(double stop, double max_step, const std::string& options, const std::string& output) {
  std::string text =
      "* six switches, permanent-magnet machine\n"
      ".param r=0.4 ld=4m lq=6m psi=0.3 f=50 depth=0.75 phase=-0.35 w={2*3.14159265358979*f} "
      "dead={1e-6/1e-4}\n"
      "vdc plus 0 300\n"
      "vcarrier carrier 0 pulse(1 0 0 49.999u 49.999u 2n 100u)\n"
      ".model sw sw(ron=0.01 roff=1e6 vt=0.5 vh=0.01)\n.model dd d(is=1e-10 n=1.2 rs=0.01)\n";
  const char* phases[] = {"a", "b", "c"};
  const char* shifts[] = {"", " - 2.0943951023932", " + 2.0943951023932"};
  for (int k = 0; k < 3; ++k)
    text += fmt::format(
        "bd{0} duty{0} 0 v={{0.5 - 0.5*depth*sin(w*time + phase{1})}}\n"
        "bu{0} up{0} 0 v=(v(duty{0}) - {{dead}} > v(carrier)) ? 1 : 0\n"
        "bl{0} low{0} 0 v=(v(duty{0}) + {{dead}} < v(carrier)) ? 1 : 0\n"
        "su{0} plus {0} up{0} 0 sw\nsl{0} {0} 0 low{0} 0 sw\ndu{0} {0} plus dd\ndl{0} 0 {0} dd\n",
        phases[k], shifts[k]);
  // d along the magnets at w t, q ahead: d = alpha cos + beta sin, q = -alpha sin + beta cos.
  text +=
      "bal al 0 v=(2*v(a) - v(b) - v(c))/3\nbbe be 0 v=(v(b) - v(c))/1.7320508075688772\n"
      "bvd vd 0 v=v(al)*cos({w}*time) + v(be)*sin({w}*time)\nbvq vq 0 v=-v(al)*sin({w}*time) + "
      "v(be)*cos({w}*time)\n"
      "cid id 0 1 ic=0\ncq iq 0 1 ic=0\n"
      "bid 0 id i=(v(vd) - {r}*v(id) + {w}*{lq}*v(iq))/{ld}\n"
      "biq 0 iq i=(v(vq) - {r}*v(iq) - {w}*({ld}*v(id) + {psi}))/{lq}\n"
      "bia ia 0 v=v(id)*cos({w}*time) - v(iq)*sin({w}*time)\n"
      "bib ib 0 v=v(id)*cos({w}*time - 2.0943951023932) - v(iq)*sin({w}*time - 2.0943951023932)\n"
      "bma a 0 i=v(ia)\nbmb b 0 i=v(ib)\nbmc c 0 i=-v(ia) - v(ib)\n";
  return text + fmt::format(
                    ".options {}\n.save v(ia) v(ib)\n.tran {} {} 0 {} uic\n.control\nset numdgt=12\nset "
                    "wr_singlescale\nset num_threads=1\nrun\nrusage accept trantime\nwrdata {} v(ia) "
                    "v(ib)\n.endc\n.end\n",
                    options, max_step, stop, max_step, output);
}

struct InverterAnswer {
  std::vector<double> a, b;
  double seconds = 0;
  Statistics statistics;
  std::string failure;
};

InverterAnswer ours(const Model& model, double stop, double step, int bisections, const char* method,
                    int iterations = 0) {
  SimulationOptions options;
  options.stop = stop;
  options.step = step;
  options.sample = inverter_sample;
  options.method = method;
  options.event_bisections = bisections;
  options.iterations = iterations;
  const SimulationResult r =
      Simulation(model, options,
                 {{"i_a", "A", parse_value(model, "i_a", {})}, {"i_b", "A", parse_value(model, "i_b", {})}})
          .run();
  InverterAnswer answer{{}, {}, r.loop_seconds, r.statistics, r.failure};
  for (std::size_t row = 1; row < r.t.size(); ++row) {
    answer.a.push_back(r.values[2 * row]);
    answer.b.push_back(r.values[2 * row + 1]);
  }
  return answer;
}

// Root mean square over the run, over the peak.
double error_of(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0, peak = 0;
  const std::size_t count = std::min(a.size(), b.size());
  for (std::size_t k = 0; k < count; ++k) {
    sum += (a[k] - b[k]) * (a[k] - b[k]);
    peak = std::max(peak, std::abs(b[k]));
  }
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(1, count))) / peak;
}

}  // namespace

void run_inverter(Report& report, bool quick) {
  const double stop = quick ? 0.02 : 1.0;
  report.begin({"inverter",
                fmt::format("models/pmsm-inverter: six switches, sine PWM at 10 kHz, {:g} s", stop),
                "two phase currents at the end of each period", "1 % of the peak (root mean square)"});
  ReadOptions read;
  read.library = TELLEGEN_SOURCE_DIR "/library";
  const Model model = read_model(TELLEGEN_SOURCE_DIR "/models/pmsm-inverter/model.toml", read);
  const InverterAnswer reference = ours(model, stop, quick ? 1e-6 : 2e-7, 12, "tr");
  if (!report.require(reference.failure.empty(), "reference: " + reference.failure)) return;
  TextTable own{{"our setting", "steps", "events", "error", "loop [ms]"}, {}};
  double best = std::numeric_limits<double>::infinity();
  std::string setting;
  struct Setting {
    const char* method;
    double step;
    int bisections, iterations;  // 0: none, to tolerance
  };
  for (const Setting& s : {Setting{"bdf2", 2e-6, 6, 0},
                           {"bdf2", 4e-6, 6, 0},
                           {"tr", 4e-6, 8, 0},
                           {"bdf2", 2e-6, 1, 1},
                           {"bdf2", 1e-6, 0, 0},
                           {"bdf2", 1e-6, 0, 1},
                           {"tr", 1e-6, 0, 1}}) {
    if (quick && s.step != 2e-6) continue;
    const InverterAnswer answer = ours(model, stop, s.step, s.bisections, s.method, s.iterations);
    if (!report.require(answer.failure.empty(), answer.failure)) continue;
    const double error = std::max(error_of(answer.a, reference.a), error_of(answer.b, reference.b));
    const std::string words =
        fmt::format("{} {:g} us{}{}", s.method, 1e6 * s.step,
                    s.bisections > 0 ? fmt::format(", {} bisections", s.bisections) : "",
                    s.iterations > 0 ? ", 1 iteration" : "");
    own.rows.push_back({words, cell(answer.statistics.steps), cell(answer.statistics.events), cell(error),
                        cell(1e3 * answer.seconds)});
    if (error <= 0.01 && answer.seconds < best) best = answer.seconds, setting = words;
  }
  report.table("Tellegen", own);
  report.require(std::isfinite(best), "none of our settings is within 1 %");
  TextTable theirs{{"their setting", "steps", "error", "time [ms]", "ratio"}, {}};
  double smallest = std::numeric_limits<double>::infinity();
  std::string which, version;
  struct SpiceSetting {
    double max_step;
    const char* options;
  };
  for (const SpiceSetting& s : {SpiceSetting{5e-7, "method=gear"},
                                {1e-6, "method=gear"},
                                {2e-6, "method=gear"},
                                {4e-6, "method=gear"},
                                {4e-6, "method=gear reltol=0.01"},
                                {1e-5, "method=gear"},
                                {5e-7, "trtol=100"},
                                {2e-6, "trtol=100"}}) {
    if (quick && s.max_step != 1e-6) continue;
    const ExternalRun r = run_ngspice_text(
        fmt::format("max step {:g} us, {}", 1e6 * s.max_step, s.options),
        [&](const std::string& output) { return netlist(stop, s.max_step, s.options, output); }, stop,
        static_cast<int>(std::llround(stop / inverter_sample)), 1);
    if (!r.available) {
      report.note(r.setting);
      continue;
    }
    version = r.version;
    const double error = std::max(error_of(r.first, reference.a), error_of(r.second, reference.b));
    theirs.rows.push_back({r.setting, cell(static_cast<std::int64_t>(r.steps)), cell(error),
                           cell(1e3 * r.seconds), cell(r.seconds / best)});
    if (error <= 0.01 && r.seconds / best < smallest)
      smallest = r.seconds / best, which = r.setting + " against " + setting;
  }
  report.table(version + " (its transient time)", theirs);
  if (std::isfinite(smallest)) report.add({"ngspice / ours, within 1 %", smallest, 20, true, which});
}

}  // namespace tellegen
