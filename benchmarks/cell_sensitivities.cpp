#include "benchmarks/cell_sensitivities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/equations/formulation.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/read.h"
#include "tellegen/sensitivity/run.h"

namespace tellegen {
namespace {

constexpr const char* parameter = "L_NiOH2";
constexpr int cell_samples = 200;

// With r2 among the chords the current of oxygen is a function of its own voltage. Among the branches it
// would be the difference of two currents ten million times as large, and its digits would cancel.
const std::vector<std::string> tree{"ground", "nickel", "r1", "oxygen", "hydride", "r3", "inner"};

Model cell_model(double current) {
  ReadOptions options;
  options.overrides.push_back({"I", fmt::format("{} A", current)});
  return read_model(TELLEGEN_SOURCE_DIR "/models/nimh-cell/model.toml", options);
}

struct Sets {
  EquationSet direct, graph;  // the same unknowns, in the same order
  Expr voltage, slope;        // v_cell and its derivative, in them
};

// Voltage of the source: along the branches that its chord closes a circuit with.
Expr cell_voltage(const Formulation& f, const SymbolicEquations& equations) {
  Pool& pool = *f.system.model->pool;
  ExprMap<Expr> solved(equations.solved.begin(), equations.solved.end());
  std::vector<Expr> terms;
  for (EdgeIndex chord : f.tree.chords)
    if (f.system.across[chord.value].name() == "cell.v")
      for (const SignedEdge& e : circuit_of(f.system.graph, f.tree, chord))
        terms.push_back(double(e.sign) * f.system.across[e.edge.value]);
  return substitute(pool.add(terms), solved);
}

Sets make_sets(const Model& model, const Formulation& f) {
  Sets sets;
  sets.graph = {f.equations.unknowns, f.equations.residuals, {}};
  const SymbolicEquations system = simplified(f.system, f.tree);
  ParameterDerivative wrt(model, find_parameter(model, parameter));
  const std::vector<Expr> derivatives = differentiate_directly(f.system, system, wrt);
  sets.direct = {f.equations.unknowns, system.residuals, {}};
  sets.direct.residuals.insert(sets.direct.residuals.end(), derivatives.begin(), derivatives.end());
  for (std::size_t k = 0; k < f.symbolic.parameters.size(); ++k)
    sets.graph.numbers[f.symbolic.parameters[k]] = f.symbolic.numbers[k];
  for (std::size_t k = 0; k < f.system.parameters.size(); ++k)
    sets.direct.numbers[f.system.parameters[k]] = f.system.numbers[k];
  sets.voltage = cell_voltage(f, system);
  sets.slope = differentiate_directly(f.system, {{}, {sets.voltage}, {}}, wrt).front();
  return sets;
}

// Unknowns of the system and the voltage, with their derivatives.
RunDerivatives reference_run(Model model, std::span<const Expr> unknowns, double stop) {
  RunRequest request;
  SimulationOptions options;
  options.method = "adaptive";
  options.stop = stop;
  options.sample = stop / cell_samples;
  options.tolerance = 1e-11;
  request.simulation = complete_options(model, options);
  request.wrt.push_back(study_parameter(model, parameter));
  request.trajectories.push_back({"v_cell", "", parse_value(model, "v_cell", {})});
  for (Expr u : unknowns) request.trajectories.push_back({u.name(), "", u});
  return forward_run(model, request);
}

// Largest difference over the samples, of the largest value.
double apart(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0, difference = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    largest = std::max(largest, std::abs(b[k]));
    difference = std::max(difference, std::isfinite(a[k]) ? std::abs(a[k] - b[k]) : INFINITY);
  }
  return difference / largest;
}

std::vector<double> along(const EquationSet& set, const SetRun& run, Expr value) {
  ExprMap<double> at = set.numbers;
  std::vector<double> result;
  for (std::size_t row = 0; row < run.values.size(); row += set.unknowns.size()) {
    for (std::size_t k = 0; k < set.unknowns.size(); ++k) at[set.unknowns[k]] = run.values[row + k];
    result.push_back(evaluate(value, at));
  }
  return result;
}

}  // namespace

CellComparison compare_cell_sets(const CellSetting& setting) {
  CellComparison comparison;
  const Model model = cell_model(setting.current);
  FormulationOptions formulation;
  formulation.tree = tree;
  formulation.parameters = {parameter};
  const Formulation f = formulate(model, formulation);
  const Sets sets = make_sets(model, f);

  SetOptions options;
  options.stop = 0.97 * find_parameter(model, "Q_n").number / setting.current;
  options.samples = cell_samples;
  options.tolerance = setting.tolerance;
  options.repetitions = setting.repetitions;
  const std::size_t n = f.equations.unknowns.size() / 2, columns = n + 1;  // v_cell is the first column
  const RunDerivatives reference =
      reference_run(model, std::span(f.equations.unknowns).first(n), options.stop);
  comparison.failure = reference.failure;
  if (!reference.failure.empty()) return comparison;
  const auto column = [&](const std::vector<double>& values, std::size_t c) {
    std::vector<double> result;
    for (std::size_t at = c; at < values.size(); at += columns) result.push_back(values[at]);
    return result;
  };
  for (const auto* values : {&reference.trajectories, &reference.by_parameter})
    for (std::size_t k = 1; k <= n; ++k) {
      const std::vector<double> of_unknown = column(*values, k);
      options.start.push_back(of_unknown.front());
      double largest = 0;
      for (double v : of_unknown) largest = std::max(largest, std::abs(v));
      options.scale.push_back(largest);
    }
  const std::vector<double> voltage = column(reference.trajectories, 0),
                            slope = column(reference.by_parameter, 0);

  const std::vector<EquationSet> both{sets.direct, sets.graph};
  for (const Evaluation evaluation : {Evaluation::written_out, Evaluation::named}) {
    options.evaluation = evaluation;
    std::vector<SetRun> runs = integrate(both, options);
    for (std::size_t k = 0; k < both.size(); ++k) {
      CellRow row{k == 0 ? "direct" : "graph", evaluation, {}, std::move(runs[k])};
      row.cost = evaluation == Evaluation::named ? cost_of(name_common(both[k].residuals))
                                                 : cost_of(both[k].residuals);
      row.voltage_apart = apart(along(both[k], row.run, sets.voltage), voltage);
      row.slope_apart = apart(along(both[k], row.run, sets.slope), slope);
      comparison.rows.push_back(std::move(row));
    }
  }
  return comparison;
}

}  // namespace tellegen
