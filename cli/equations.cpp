// tellegen equations: what a model says, written out.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/inspect.h"
#include "cli/model_file.h"
#include "tellegen/equations/equation_text.h"
#include "tellegen/equations/formulation.h"
#include "tellegen/equations/sensitivity_graph.h"
#include "tellegen/model/mechanism_trees.h"
#include "tellegen/program/compile.h"
#include "tellegen/report/text.h"
#include "tellegen/symbolic/print.h"

namespace tellegen {
namespace {

using Json = nlohmann::ordered_json;

struct EquationsRequest {
  std::string file, form, tree, sensitivity, sensitivity_tree, format;
  std::vector<std::string> set;
  bool cost = false, json = false;
};

// What is to be shown, whatever the form.
struct Shown {
  EquationPage page;
  Names branches, chords, sensitivity_branches;
  std::string mechanism;  // coordinates, and what closes circuits; empty: the model has none
  std::vector<MethodCost> costs;
};

// The names of a tree that are no joints of a mechanism: edges of the graph.
Names edges_in(const Names& tree, const Model& model) {
  Names edges;
  for (const std::string& name : tree) {
    const auto found = model.component_by_name.find(name);
    if (found == model.component_by_name.end() ||
        !model.kinds[model.components[found->second].kind].name.starts_with("multibody."))
      edges.push_back(name);
  }
  return edges;
}

Shown derive(const EquationsRequest& request, const Model& model, const MechanismTrees& trees) {
  const Names parameters = split_list(request.sensitivity);
  Shown shown;
  shown.mechanism = mechanism_of(model);
  if (request.form == "minimal") {
    shown.page = minimal_page(parameters.empty() ? model : with_sensitivities(model, parameters));
    return shown;
  }
  FormulationOptions options;
  options.form = request.form == "tableau" ? SymbolicForm::tableau : SymbolicForm::branch_chord;
  options.tree = edges_in(trees.system, model);
  options.parameters = parameters;
  options.differentiated = trees.differentiated;
  options.sensitivity_tree = edges_in(trees.sensitivities, model);
  const Formulation found = formulate(model, options);
  shown.page = page_of(found.symbolic, found.equations, request.form.empty() ? "branch-chord" : request.form);
  shown.branches = edge_names(model, found.system.graph, found.tree.branches);
  shown.chords = edge_names(model, found.system.graph, found.tree.chords);
  if (found.combined)
    shown.sensitivity_branches = edge_names(model, found.system.graph, found.sensitivity_tree.branches);
  if (request.cost) shown.costs = compare_costs(model, found);
  return shown;
}

std::string cost_table(const std::vector<MethodCost>& costs) {
  std::string text = fmt::format("{:<24}{:>32}   {:>32}\n{:<24}", "operations", "written out",
                                 "common subexpressions named", "");
  const auto heads = fmt::format("{:>8}{:>8}{:>8}{:>8}", "f()", "+", "x", ":=");
  text += heads + "   " + heads + "\n";
  for (const MethodCost& row : costs) {
    text += fmt::format("{:<24}", row.method);
    for (const Cost* cost : {&row.before, &row.after})
      text += fmt::format(" {:>7} {:>7} {:>7} {:>7}{}", cost->functions, cost->additions,
                          cost->multiplications, cost->assignments, cost == &row.before ? "   " : "\n");
  }
  return text;
}

void print_text(const EquationsRequest& request, const Model& model, const Shown& shown) {
  fmt::print("{} ({})\n\n", model.name, request.file);
  const auto line = [](std::string_view label, const std::string& text) {
    fmt::print("{:<12}{}\n", label, text.empty() ? "none" : text);
  };
  line("form", shown.page.form);
  if (!shown.branches.empty() || !shown.chords.empty()) {
    line("tree", comma_list(shown.branches));
    line("cotree", comma_list(shown.chords));
  }
  if (!shown.mechanism.empty()) line("mechanism", shown.mechanism);
  if (!request.sensitivity.empty()) {
    line("sensitivity", "to " + comma_list(split_list(request.sensitivity)));
    if (!shown.sensitivity_branches.empty()) line("its tree", comma_list(shown.sensitivity_branches));
  }
  Names unknowns;
  for (Expr u : shown.page.unknowns) unknowns.push_back(u.name());
  line("unknowns",
       fmt::format("{}{}{}", unknowns.size(), unknowns.empty() ? "" : ": ", comma_list(unknowns)));
  fmt::print("\n{}", equations_as_text(shown.page));
  if (!shown.page.solved.empty()) {
    fmt::print("\nwith\n");
    for (const auto& [variable, value] : shown.page.solved)
      fmt::print("{} = {}\n", variable.name(), to_text(value));
  }
  if (!shown.costs.empty()) fmt::print("\n{}", cost_table(shown.costs));
}

Json to_json(const Cost& cost) {
  return {{"functions", cost.functions},
          {"additions", cost.additions},
          {"multiplications", cost.multiplications},
          {"assignments", cost.assignments}};
}

Json to_json(const EquationsRequest& request, const Model& model, const Shown& shown) {
  const bool latex = request.format == "latex";
  const auto written = [&](Expr e) { return latex ? to_latex(e) : to_text(e); };
  const auto assignments = [&](const std::vector<std::pair<Expr, Expr>>& list) {
    Json json = Json::array();
    for (const auto& [symbol, value] : list)
      json.push_back({{"name", latex ? to_latex(symbol) : symbol.name()}, {"value", written(value)}});
    return json;
  };
  Json json{{"model", model.name}, {"file", request.file}, {"form", shown.page.form}};
  if (!shown.branches.empty() || !shown.chords.empty())
    json["tree"] = {{"branches", shown.branches}, {"chords", shown.chords}};
  if (!shown.mechanism.empty()) json["mechanism"] = shown.mechanism;
  if (!request.sensitivity.empty()) {
    json["sensitivity"] = {{"parameters", split_list(request.sensitivity)}};
    if (!shown.sensitivity_branches.empty()) json["sensitivity"]["tree"] = shown.sensitivity_branches;
  }
  json["unknowns"] = Json::array();
  for (Expr u : shown.page.unknowns) json["unknowns"].push_back(u.name());
  json["parameters"] = Json::object();
  for (std::size_t k = 0; k < shown.page.parameters.size(); ++k)
    json["parameters"][shown.page.parameters[k].name()] = shown.page.numbers[k];
  json["named"] = assignments(shown.page.equations.named);
  json["equations"] = Json::array();
  for (const EquationSides& s : sides(shown.page))
    json["equations"].push_back({{"left", written(s.left)}, {"right", written(s.right)}});
  json["solved"] = assignments(shown.page.solved);
  if (request.format == "c") json["code"] = equations_as_c(shown.page, runtime_source());
  if (!shown.costs.empty()) {
    json["cost"] = Json::array();
    for (const MethodCost& row : shown.costs)
      json["cost"].push_back(
          {{"method", row.method}, {"before", to_json(row.before)}, {"after", to_json(row.after)}});
  }
  return json;
}

void check_request(const EquationsRequest& request) {
  check_choice({tellegen_equations, "--form"}, request.form, {"tableau", "branch-chord", "minimal"});
  check_choice({tellegen_equations, "--format"}, request.format, {"text", "latex", "c"});
  const auto refuse = [](const std::string& message, const std::string& detail) {
    throw command_fault(tellegen_equations, "T401", message, {detail});
  };
  if (!request.sensitivity_tree.empty() && request.sensitivity.empty())
    refuse("--sensitivity-tree without --sensitivity", "--sensitivity R1,R2 says to which parameters");
  if (request.form == "minimal" && !(request.tree.empty() && request.sensitivity_tree.empty()))
    refuse("the minimal form has no choice of tree", "its states are those of the normal tree");
  if (request.form == "minimal" && request.cost)
    refuse("--cost counts symbolic equations, and the minimal form is numeric", "leave --form out");
  if (request.cost && !request.json && (request.format == "latex" || request.format == "c"))
    refuse("--cost is a table of its own", "leave --format out, or take --json");
}

void equations(const EquationsRequest& request) {
  check_request(request);
  ReadOptions reading;
  for (const std::string& text : request.set)
    reading.overrides.push_back(read_assignment({tellegen_equations, "--set"}, text));
  Model model = read_model_file(request.file, reading);
  MechanismTrees trees{split_list(request.tree), split_list(request.sensitivity_tree)};
  if (!model.mechanism.empty() && !(trees.system.empty() && trees.sensitivities.empty()))
    model = read_model(request.file, reading, trees);
  const Shown shown = derive(request, model, trees);
  if (request.json)
    fmt::print("{}", json_text(to_json(request, model, shown)));
  else if (request.format == "latex")
    fmt::print("{}", equations_as_latex(shown.page));
  else if (request.format == "c")
    fmt::print("{}", equations_as_c(shown.page, runtime_source()));
  else
    print_text(request, model, shown);
}

}  // namespace

void add_equations(CLI::App& command) {
  auto request = std::make_shared<EquationsRequest>();
  command.add_option("FILE", request->file, "model file or SPICE netlist")->required();
  command.add_option("--form", request->form, "tableau, branch-chord (default) or minimal")
      ->type_name("FORM");
  command
      .add_option("--tree", request->tree,
                  "edges of the tree, and joints of a mechanism: --tree e1,c1; one is chosen otherwise")
      ->type_name("EDGES");
  command.add_option("--sensitivity", request->sensitivity, "parameters to differentiate by: R1,c1.C")
      ->type_name("PARAMETERS");
  command
      .add_option("--sensitivity-tree", request->sensitivity_tree,
                  "the same of the sensitivity graph; the system's tree otherwise")
      ->type_name("EDGES");
  command.add_option("--format", request->format, "text (default), latex or c")->type_name("FORMAT");
  command.add_option("--set", request->set, "replace a parameter: --set R1=2ohm; once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--cost", request->cost, "count operations, of the other ways to sensitivities too");
  command.add_flag("--json", request->json, "for machines");
  command.callback([request] { equations(*request); });
}

}  // namespace tellegen
