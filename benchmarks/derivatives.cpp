#include "benchmarks/derivatives.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "benchmarks/cell_sensitivities.h"
#include "benchmarks/ladder_model.h"
#include "benchmarks/report.h"
#include "tellegen/model/observers.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/sensitivity/run.h"

namespace tellegen {
namespace {

// The ladder; with diodes: one beside every capacitor's inductor, towards ground.
std::string network_text(int loops, bool diodes) {
  std::string text = ladder_model(loops);
  if (!diodes) return text;
  std::string more;
  for (int k = 1; k <= loops; ++k)
    more += fmt::format(
        "d{0} = {{ kind = \"electrical.diode\", p = \"n{1}\", n = \"n1\", Rs = \"1 ohm\" }}\n", k, 2 * k + 1);
  return text.insert(text.find("[outputs]"), more);
}

struct DerivativeSetting {
  Model model;
  RunRequest request;
};

DerivativeSetting setting_of(int loops, bool diodes, const std::vector<std::string>& parameters) {
  DerivativeSetting s{read_model_text(network_text(loops, diodes), "ladder.toml"), {}};
  SimulationOptions options;
  options.method = "bdf3";
  options.tolerance = diodes ? 1e-8 : 1e-6;
  s.request.simulation = complete_options(s.model, options);
  for (const std::string& name : parameters) s.request.wrt.push_back(study_parameter(s.model, name));
  const Expr square = parse_value(s.model, "n4.v^2", {});
  s.request.observed.push_back(
      {Observed::What::end, s.model.pool->symbol(add_integral(s.model, "energy", square, {}))});
  return s;
}

// Value at the end and the shortest step loop of the plain simulation.
struct Plain {
  double value = 0, seconds = 0;
};
Plain simulate(const DerivativeSetting& s, int repetitions) {
  Plain plain{0, 1e300};
  for (int k = 0; k < repetitions; ++k) {
    Simulation simulation(s.model, s.request.simulation, {{"energy", "", s.request.observed[0].value}});
    const SimulationResult result = simulation.run();
    plain.value = result.values.back();
    plain.seconds = std::min(plain.seconds, result.loop_seconds);
  }
  return plain;
}

template <class Run>
RunDerivatives shortest(Run run, const DerivativeSetting& s, int repetitions) {
  RunDerivatives best = run(s.model, s.request);
  for (int k = 1; k < repetitions; ++k)
    if (RunDerivatives again = run(s.model, s.request); again.loop_seconds < best.loop_seconds)
      best = std::move(again);
  return best;
}

double megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Largest difference of two gradients, each entry times its parameter, relative to the largest such product.
double difference(const DerivativeSetting& s, const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0, apart = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double size = std::abs(s.model.parameters[s.request.wrt[k]].number);
    largest = std::max(largest, std::abs(a[k]) * size);
    apart = std::max(apart, std::abs(a[k] - b[k]) * size);
  }
  return apart / largest;
}

void forward_task(Report& report, const DerivativesOptions& options, bool diodes) {
  std::vector<std::string> names{"e1.amplitude", "e1.frequency"};
  for (int k = 1; k <= 6; ++k)
    for (const char* element : {"r{}.R", "l{}.L", "c{}.C"})
      names.push_back(fmt::format(fmt::runtime(element), k));
  const DerivativeSetting s = setting_of(options.loops, diodes, names);
  report.begin({diodes ? "forward, a diode in every loop" : "forward, linear ladder",
                fmt::format("{} loops, bdf3, 400 steps; {} parameters", options.loops, names.size()),
                "gradient of the integral of V4^2",
                "forward and one-sided differences within 1e-4 of the largest normalised score"});
  const Plain plain = simulate(s, options.repetitions);
  const RunDerivatives forward = shortest(forward_run, s, options.repetitions);
  if (!report.require(forward.failure.empty(), "forward run: " + forward.failure)) return;
  std::vector<double> differences;
  double seconds = 0;
  for (std::size_t p = 0; p < names.size(); ++p) {
    DerivativeSetting moved = s;
    const double value = s.model.parameters[s.request.wrt[p]].number, h = 1e-6 * value;
    set_parameters(moved.model, std::span(s.request.wrt).subspan(p, 1), std::vector{value + h});
    const Plain run = simulate(moved, options.repetitions);
    differences.push_back((run.value - plain.value) / h);
    seconds += run.seconds;
  }
  const double apart = difference(s, forward.gradient, differences);
  const bool equal =
      report.require(apart < 1e-4, fmt::format("forward and differences are {:.2g} apart", apart));
  TextTable table{{"what", "step loop, ms", "of one run"}, {}};
  table.rows.push_back({"one simulation", cell(1e3 * plain.seconds), "1"});
  table.rows.push_back({fmt::format("{} runs for one-sided differences", names.size()), cell(1e3 * seconds),
                        cell(seconds / plain.seconds)});
  table.rows.push_back({"the run with forward sensitivities", cell(equal ? 1e3 * forward.loop_seconds : NAN),
                        cell(equal ? forward.loop_seconds / plain.seconds : NAN)});
  report.table(fmt::format("answers {:.1e} apart", apart), table);
  report.add({diodes ? "20 differences / forward, diodes" : "20 differences / forward, linear",
              seconds / forward.loop_seconds, diodes ? 5.0 : 3.0, true,
              fmt::format("{} loops, step loops in one process", options.loops)});
}

void adjoint_task(Report& report, const DerivativesOptions& options) {
  std::vector<std::string> names{"e1.amplitude"};
  for (int k = 1; k <= options.loops; ++k)
    for (const char* element : {"r{}.R", "l{}.L", "c{}.C"})
      names.push_back(fmt::format(fmt::runtime(element), k));
  const DerivativeSetting s = setting_of(options.loops, false, names);
  report.begin({"adjoint, linear ladder",
                fmt::format("{} loops, bdf3, 400 steps; {} parameters", options.loops, names.size()),
                "gradient of the integral of V4^2 by every element and the amplitude",
                "within 1e-8 of the forward gradient for 12 of them"});
  const Plain plain = simulate(s, options.repetitions);
  const double before = megabytes();
  const RunDerivatives adjoint = shortest(adjoint_run, s, options.repetitions);
  const double more = megabytes() - before;
  if (!report.require(adjoint.failure.empty(), "adjoint run: " + adjoint.failure)) return;
  DerivativeSetting few = s;
  few.request.wrt.clear();
  std::vector<double> of_few;
  for (std::size_t k = 0; k < 12; ++k) {
    const std::size_t p = k < 6 ? k : k * (names.size() - 1) / 11;
    few.request.wrt.push_back(s.request.wrt[p]);
    of_few.push_back(adjoint.gradient[p]);
  }
  const double apart = difference(few, of_few, forward_run(few.model, few.request).gradient);
  const bool equal = report.require(apart < 1e-8, fmt::format("adjoint and forward are {:.2g} apart", apart));
  TextTable table{{"what", "step loop, ms", "of one run"}, {}};
  table.rows.push_back({"one simulation", cell(1e3 * plain.seconds), "1"});
  table.rows.push_back({"the run and its adjoint", cell(equal ? 1e3 * adjoint.loop_seconds : NAN),
                        cell(equal ? adjoint.loop_seconds / plain.seconds : NAN)});
  report.table(
      fmt::format("answers {:.1e} apart; {}; {:.0f} MB more at its peak", apart, adjoint.method, more),
      table);
  report.add({"adjoint / simulation", adjoint.loop_seconds / plain.seconds, 5.0, false,
              fmt::format("{} parameters, step loops in one process", names.size())});
}

// Table 3.8: seconds of integration on the computer of 2013, direct and graph.
struct PublishedCell {
  double current, direct, graph;
};
constexpr PublishedCell published_cell[] = {
    {2, 7.736, 6.770}, {4, 2.595, 2.122}, {6, 0.986, 0.733}, {8, 0.789, 0.328}};

void cell_task(Report& report, const DerivativesOptions& options) {
  report.begin({"two equation sets, nickel metal hydride cell",
                "models/nimh-cell discharged to 97 %; assembled equations differentiated directly, and the "
                "sensitivity graph's; both by IDA with equal settings",
                "v_cell and its derivative by L_NiOH2 at 200 samples",
                "both within 1e-5 of the largest value of forward sensitivities with tolerance 1e-11"});
  TextTable times{{"current, A", "evaluation", "direct, ms", "graph, ms", "less, %", "published, s",
                   "less, %", "formulas alone, ms", "less, %", "steps", "v apart", "dv/dL apart"},
                  {}};
  TextTable costs{{"evaluation", "set", "functions", "+", "x", "names"}, {}};
  const auto less = [](double graph, double direct) { return cell(100 * (1 - graph / direct)); };
  for (const PublishedCell& published : published_cell) {
    const CellComparison c = compare_cell_sets({published.current, 1e-8, options.repetitions});
    if (!report.require(c.failure.empty(), "reference run: " + c.failure)) return;
    for (std::size_t k = 0; k < c.rows.size(); k += 2) {
      const CellRow &direct = c.rows[k], &graph = c.rows[k + 1];
      const std::string how = direct.evaluation == Evaluation::named ? "named" : "written out";
      bool equal = true;
      for (const CellRow* row : {&direct, &graph})
        equal &= report.require(
            row->run.failure.empty() && std::max(row->voltage_apart, row->slope_apart) < 1e-5,
            fmt::format("{} A, {}, {}: v {:.2g} and dv/dL {:.2g} apart {}", published.current, row->set, how,
                        row->voltage_apart, row->slope_apart, row->run.failure));
      std::vector<std::string> row(times.header.size());
      if (equal)
        row = {
            "",
            "",
            cell(1e3 * direct.run.seconds),
            cell(1e3 * graph.run.seconds),
            less(graph.run.seconds, direct.run.seconds),
            fmt::format("{}, {}", published.direct, published.graph),
            less(published.graph, published.direct),
            fmt::format("{:.2f}, {:.2f}", 1e3 * direct.run.formula_seconds, 1e3 * graph.run.formula_seconds),
            less(graph.run.formula_seconds, direct.run.formula_seconds),
            fmt::format("{}, {}", direct.run.steps, graph.run.steps),
            "",
            ""};
      row[0] = cell(published.current);
      row[1] = how;
      row[10] = fmt::format("{:.1e}", std::max(direct.voltage_apart, graph.voltage_apart));
      row[11] = fmt::format("{:.1e}", std::max(direct.slope_apart, graph.slope_apart));
      times.rows.push_back(std::move(row));
      if (published.current == published_cell[0].current)
        for (const CellRow* set : {&direct, &graph})
          costs.rows.push_back({how, set->set, cell(set->cost.functions), cell(set->cost.additions),
                                cell(set->cost.multiplications), cell(set->cost.assignments)});
    }
  }
  report.table("operations of one evaluation of all equations", costs);
  report.table("integration", times);
}

}  // namespace

bool run_derivatives(const DerivativesOptions& options) {
  Report report;
  const auto wanted = [&](const char* task) { return options.only.empty() || options.only == task; };
  if (wanted("linear")) forward_task(report, options, false);
  if (wanted("diodes")) forward_task(report, options, true);
  if (wanted("adjoint")) adjoint_task(report, options);
  if (wanted("cell")) cell_task(report, options);
  report.finish();
  if (!options.json.empty()) std::ofstream(options.json) << report.json().dump(2) << "\n";
  return !report.failed();
}

}  // namespace tellegen
