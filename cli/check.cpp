// tellegen check: what a model is made of, or everything that is wrong with it.
#include <fmt/format.h>

#include <memory>

#include "cli/arguments.h"
#include "cli/check_estimate.h"
#include "cli/commands.h"
#include "cli/fmu_check.h"
#include "cli/inspect.h"
#include "cli/kind_check.h"
#include "cli/model_file.h"
#include "tellegen/model/read.h"
#include "tellegen/report/text.h"
#include "tellegen/simulate/initial.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct CheckRequest {
  std::string file;
  std::vector<std::string> set;
  bool json = false, verbose = false;
  EstimateCheckRequest estimate;
};

// The worked answers of one's own kinds; those of the library are in its tests.
std::vector<CheckedKind> check_own_kinds(const Model& model) {
  const fs::path library = library_folder();
  const std::string inside = fs::weakly_canonical(library).string() + "/";
  std::vector<Kind> own;
  for (const Kind& kind : model.kinds)
    if (!kind.checks.empty() && !fs::weakly_canonical(kind.place.file).string().starts_with(inside))
      own.push_back(kind);
  return own.empty() ? std::vector<CheckedKind>() : check_kinds(library, own);
}

Json to_json(const Inspection& found, const std::vector<CheckedKind>& answers) {
  Json json{{"model", found.model}, {"file", found.file}};
  json["domains"] = found.domains;
  json["components"] = {{"count", found.components}, {"kinds", found.kinds}};
  json["variables"] = found.counts.variables;
  json["algebraic"] = found.counts.algebraic;
  json["differential"] = found.counts.differential;
  json["nodes"] = found.counts.nodes;
  json["flows"] = found.counts.flows;
  json["tree"] = {{"branches", found.branches}, {"chords", found.chords}};
  json["states"] = Json::array();
  for (const StateValue& state : found.states)
    json["states"].push_back({{"name", state.name}, {"unit", state.unit}, {"initial", state.initial}});
  json["redundant"] = Json::array();
  for (const Redundant& redundant : found.redundant)
    json["redundant"].push_back({{"name", redundant.name}, {"follows", redundant.follows}});
  json["unknowns"] = found.unknowns;
  if (!found.mechanism.empty()) json["mechanism"] = found.mechanism;
  json["outputs"] = found.outputs;
  json["worked_answers"] = Json::array();
  for (const CheckedKind& kind : answers)
    json["worked_answers"].push_back({{"kind", kind.name}, {"file", kind.file}, {"hold", kind.answers}});
  json["faults"] = Json::array();
  return json;
}

// A labelled list that breaks between names, and ends early unless all is asked for.
void print_list(std::string_view label, const std::string& head, const Names& names, bool verbose) {
  constexpr std::size_t longest = 20, left = 13, width = 100;
  std::string text = fmt::format("{:<{}}{}", label, left, head);
  std::size_t column = text.size();
  const std::size_t shown = verbose || names.size() <= longest ? names.size() : longest;
  for (std::size_t k = 0; k < shown; ++k) {
    const std::string name = names[k] + (k + 1 < shown ? "," : "");
    if (column + 1 + name.size() > width) {
      text += "\n" + std::string(left, ' ');
      column = left;
    } else if (column > left) {
      text += " ";
      ++column;
    }
    text += name;
    column += name.size();
  }
  if (shown < names.size()) text += fmt::format(" ... and {} more (--verbose)", names.size() - shown);
  fmt::print("{}\n", text);
}

void print(const Inspection& found, const std::vector<CheckedKind>& answers, bool verbose) {
  fmt::print("{} ({})\n\n", found.model, found.file);
  Names kinds, states, redundant;
  for (const auto& [kind, count] : found.kinds)
    kinds.push_back(count == 1 ? kind : fmt::format("{} x {}", count, kind));
  for (const StateValue& s : found.states)
    states.push_back(fmt::format("{} = {:g}{}{}", s.name, s.initial, s.unit.empty() ? "" : " ", s.unit));
  for (const Redundant& r : found.redundant) redundant.push_back(fmt::format("{} = {}", r.name, r.follows));
  const auto counted = [](std::size_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}{}", count, count == 1 ? one : many, count == 0 ? "" : ":");
  };
  print_list("domains", "", found.domains, true);
  print_list("components", fmt::format("{}:", found.components), kinds, true);
  const Counts& c = found.counts;
  print_list("variables",
             fmt::format("n = {}: {} nodes, {} flows, {} internal", c.variables, c.nodes, c.flows,
                         c.variables - c.nodes - c.flows),
             {}, true);
  print_list("equations", fmt::format("m = {} algebraic, p = {} differential", c.algebraic, c.differential),
             {}, true);
  print_list("normal tree", counted(found.branches.size(), "branch", "branches"), found.branches, verbose);
  print_list("cotree", counted(found.chords.size(), "chord", "chords"), found.chords, verbose);
  if (!found.mechanism.empty()) print_list("mechanism", found.mechanism, {}, true);
  print_list("states", counted(states.size(), "state", "states"), states, verbose);
  if (!redundant.empty())
    print_list("redundant", fmt::format("{} without a state of its own:", redundant.size()), redundant,
               verbose);
  print_list("each step", counted(found.unknowns.size(), "unknown", "unknowns"), found.unknowns, verbose);
  if (!found.outputs.empty())
    print_list("outputs", counted(found.outputs.size(), "output", "outputs"), found.outputs, verbose);
  Names held;
  for (const CheckedKind& kind : answers)
    held.push_back(fmt::format("{} of {} {}", kind.answers, kind.name, kind.answers == 1 ? "holds" : "hold"));
  if (!held.empty()) print_list("answers", "worked answers of own kinds:", held, verbose);
  fmt::print("\nno faults\n");
}

void check(const CheckRequest& request) {
  try {
    refuse_without_estimate(request.estimate);
    ReadOptions reading;
    for (const std::string& text : request.set)
      reading.overrides.push_back(read_assignment({tellegen_check, "--set"}, text));
    const Model model = read_model_file(request.file, reading);
    if (request.estimate.on) {
      EstimateCheckRequest estimate = request.estimate;
      estimate.file = request.file;
      estimate.json = request.json;
      check_estimate(model, estimate);
      return;
    }
    if (is_fmu(request.file)) {
      fmt::print("{}", request.json ? json_text(fmu_json(model)) : fmu_text(model));
      return;
    }
    const std::vector<CheckedKind> answers = check_own_kinds(model);
    const Inspection found = inspect(model);
    if (request.json)
      fmt::print("{}", json_text(to_json(found, answers)));
    else
      print(found, answers, request.verbose);
  } catch (const ModelError& error) {
    if (request.json) {
      Json json{{"file", request.file}, {"faults", Json::array()}};
      for (const Fault& f : error.faults())
        json["faults"].push_back({{"file", f.place.file},
                                  {"line", f.place.line},
                                  {"code", f.code},
                                  {"message", f.message},
                                  {"details", f.details}});
      fmt::print("{}", json_text(json));
    }
    throw;
  } catch (const SimulationError& error) {
    throw StudyError(request.file, error.what(), error.details);
  }
}

}  // namespace

void add_check(CLI::App& command) {
  auto request = std::make_shared<CheckRequest>();
  command.add_option("FILE", request->file, "model file, SPICE netlist or FMU")->required();
  command.add_option("--set", request->set, "replace a parameter: --set R1=2ohm; once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--verbose", request->verbose, "long lists in full");
  command.add_flag("--json", request->json, "for machines, everything in full");
  add_estimate_check_options(command, request->estimate);
  command.callback([request] { check(*request); });
}

}  // namespace tellegen
