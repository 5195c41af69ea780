#include "cli/inspect.h"

#include <fmt/format.h>

#include <cmath>

#include "tellegen/equations/network.h"
#include "tellegen/equations/storage.h"
#include "tellegen/graph/faults.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

std::string rate_unit(const EquationSystem& system, std::int32_t rate) {
  const auto variable = find_variable(*system.model, rate_name(system, rate));
  return variable ? variable_unit(*system.model, *variable) : "";
}

// "c1.v - e1.v"; a long circuit is cut.
std::string sum_of(const EquationSystem& system, const RedundantRate& redundant) {
  constexpr std::size_t longest = 8;
  const Model& model = *system.model;
  // Across storage follows from acrosses, through storage from throughs.
  const Rate& own = system.rates[redundant.rate];
  const bool across = system.groups[own.group].symbols[own.symbol].what == LocalSymbol::What::across;
  std::string text;
  for (std::size_t k = 0; k < redundant.terms.size(); ++k) {
    if (k == longest) return text + fmt::format(" + {} more", redundant.terms.size() - k);
    const auto& term = redundant.terms[k];
    const bool minus = term.sign < 0.0;
    text += k == 0 ? (minus ? "-" : "") : (minus ? " - " : " + ");
    if (std::abs(term.sign) != 1.0) text += fmt::format("{:.6g}*", std::abs(term.sign));  // of a gear
    if (term.rate >= 0) {
      text += rate_name(system, term.rate);
      continue;
    }
    const GraphEdge& edge = system.graph.edges[term.source.value];
    text += variable_name(model, {.what = across ? VariableRef::What::across : VariableRef::What::through,
                                  .node = -1,
                                  .component = edge.component,
                                  .index = edge.edge});
  }
  return text.empty() ? "0" : text;
}

// Topology first: the rest makes sense only on a graph that holds together.
EquationSystem checked_system(const Model& model) {
  EquationSystem system = build_system(model);
  std::vector<Fault> faults = topology_faults(model, system.graph, system.tree);
  try {
    // [simulation] as far as it goes: a model to be run with --stop and --step need not have them.
    SimulationOptions options = as_the_model_says();
    options.stop = model.simulation.stop.value_or(1e300);
    if (!model.simulation.step) options.step = options.stop;  // the longest there can be
    complete_options(model, options);
  } catch (const ModelError& error) {
    faults.insert(faults.end(), error.faults().begin(), error.faults().end());
  }
  if (!faults.empty()) throw ModelError(std::move(faults));
  return system;
}

}  // namespace

Names edge_names(const Model& model, const LinearGraph& graph, const std::vector<EdgeIndex>& edges) {
  Names names;
  for (EdgeIndex e : edges) names.push_back(edge_name(model, graph, e));
  return names;
}

std::string mechanism_of(const Model& model) {
  for (const Kind& kind : model.kinds)
    if (kind.name == "multibody.mechanism") return kind.summary;
  return {};
}

Inspection inspect(const Model& model) {
  const EquationSystem system = checked_system(model);
  Inspection found;
  found.model = model.name;
  found.file = model.file.string();
  found.counts = count(system);
  std::vector<char> used(model.domains.size(), 0);
  for (const ModelNode& node : model.nodes) used[node.domain] = 1;
  for (std::size_t d = 0; d < used.size(); ++d)
    if (used[d]) found.domains.push_back(model.domains[d].name);
  for (const Component& component : model.components) ++found.kinds[model.kinds[component.kind].name];
  found.mechanism = mechanism_of(model);
  found.components = static_cast<std::int64_t>(model.components.size());
  for (const ModelOutput& output : model.outputs)
    found.outputs.push_back(output.unit.empty() ? output.name
                                                : fmt::format("{} [{}]", output.name, output.unit));
  found.branches = edge_names(model, system.graph, system.tree.branches);
  found.chords = edge_names(model, system.graph, system.tree.chords);

  const Storage storage = analyse_storage(system);
  Tableau tableau(system);
  const InitialState initial = find_initial_state(tableau, storage);
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(system.rates.size()); ++k)
    if (storage.is_state[k])
      found.states.push_back({rate_name(system, k), rate_unit(system, k), tableau.rate_value(initial.x, k)});
  for (const RedundantRate& redundant : storage.redundant)
    found.redundant.push_back({rate_name(system, redundant.rate), sum_of(system, redundant)});
  for (const std::int32_t column : build_network(system).column_of)
    found.unknowns.push_back(column_name(system, column));
  return found;
}

}  // namespace tellegen
