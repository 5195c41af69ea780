#include "tellegen/equations/formulation.h"

#include <algorithm>

#include "tellegen/equations/sensitivity_graph.h"

namespace tellegen {
namespace {

ExprMap<int> graph_of_variables(const SymbolicModel& system, const std::vector<std::string>& parameters) {
  ExprMap<int> graph;
  Pool& pool = *system.model->pool;
  for (std::size_t p = 0; p < parameters.size(); ++p)
    for (const auto* list : {&system.across, &system.through, &system.internal})
      for (Expr symbol : *list) {
        const Expr copy = pool.symbol(sensitivity_name(symbol.name(), parameters[p]));
        graph[copy] = graph[rate_symbol(copy)] = static_cast<int>(p) + 1;
      }
  return graph;
}

void sort_by_graph(SymbolicEquations& equations, const ExprMap<int>& graph) {
  const auto before = [&](Expr a, Expr b) { return graph_of(a, graph) < graph_of(b, graph); };
  std::stable_sort(equations.residuals.begin(), equations.residuals.end(), before);
  std::stable_sort(equations.unknowns.begin(), equations.unknowns.end(), before);
  std::stable_sort(equations.solved.begin(), equations.solved.end(),
                   [&](const auto& a, const auto& b) { return before(a.first, b.first); });
}

Cost times(Cost cost, std::int64_t factor) {
  return {factor * cost.functions, factor * cost.additions, factor * cost.multiplications,
          factor * cost.assignments};
}

}  // namespace

Formulation formulate(const Model& model, const FormulationOptions& options) {
  Formulation result;
  result.parameters = options.parameters;
  result.system = symbolic_model(model, options.parameters);
  const LinearGraph& graph = result.system.graph;
  const bool tableau = options.form == SymbolicForm::tableau;
  result.tree = !options.tree.empty() ? tree_of(model, graph, options.tree)
                : tableau             ? normal_tree(graph)
                                      : choose_tree(result.system);
  result.sensitivity_tree =
      options.sensitivity_tree.empty() ? result.tree : tree_of(model, graph, options.sensitivity_tree);
  if (options.parameters.empty()) {
    result.symbolic = result.system;
    result.combined_tree = result.tree;
  } else {
    result.combined =
        std::make_unique<const Model>(with_sensitivities(model, options.parameters, options.differentiated));
    result.symbolic = symbolic_model(*result.combined, options.parameters);
    result.graph = graph_of_variables(result.system, options.parameters);
    result.combined_tree = combined_tree(model, graph, result.tree, result.sensitivity_tree, *result.combined,
                                         result.symbolic.graph);
  }
  result.equations = tableau ? symbolic_tableau(result.symbolic, result.combined_tree)
                             : simplified(result.symbolic, result.combined_tree, result.graph);
  sort_by_graph(result.equations, result.graph);
  return result;
}

std::vector<MethodCost> compare_costs(const Model& model, const Formulation& formulation) {
  const auto row = [](std::string method, const std::vector<Expr>& residuals) {
    return MethodCost{std::move(method), cost_of(residuals), cost_of(name_common(residuals))};
  };
  const SymbolicEquations system = simplified(formulation.system, formulation.tree);
  const MethodCost alone = row("system alone", system.residuals);
  if (formulation.parameters.empty()) return {alone};
  const auto evaluations = static_cast<std::int64_t>(formulation.parameters.size()) + 1;
  std::vector<Expr> direct = system.residuals;
  for (const std::string& name : formulation.parameters) {
    ParameterDerivative wrt(model, find_parameter(model, name));
    const auto derivatives = differentiate_directly(formulation.system, system, wrt);
    direct.insert(direct.end(), derivatives.begin(), derivatives.end());
  }
  return {{"finite differences", times(alone.before, evaluations), times(alone.after, evaluations)},
          row("direct differentiation", direct),
          row("sensitivity graph",
              simplified(formulation.symbolic, formulation.combined_tree, formulation.graph).residuals),
          alone};
}

}  // namespace tellegen
