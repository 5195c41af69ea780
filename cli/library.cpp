// tellegen library: the kinds there are, or one of them with its equations; the worked answers of a folder.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/kind_check.h"
#include "tellegen/model/document.h"
#include "tellegen/model/kind_text.h"
#include "tellegen/model/own_kinds.h"
#include "tellegen/model/read.h"
#include "tellegen/model/reading.h"
#include "tellegen/report/text.h"
#include "tellegen/results/table.h"
#include "tellegen/symbolic/nearest.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

struct LibraryRequest {
  std::string kind, check;
  bool json = false;
};

std::string shelf_of(const std::string& name) { return name.substr(0, name.find('.')); }
std::string last_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }

void add_to(Json& into, const std::vector<KindText::Setting>& settings) {
  into = Json::object();
  for (const auto& [name, value] : settings) into[name] = value;
}

Json to_json(const KindText& kind) {
  Json json{{"name", kind.name}, {"summary", kind.summary}, {"notes", kind.notes}};
  for (const char* list :
       {"ports", "edges", "nodes", "parameters", "variables", "discrete", "equations", "outputs", "checks"})
    json[list] = Json::array();
  for (const auto& p : kind.ports) json["ports"].push_back({{"name", p.name}, {"domain", p.domain}});
  for (const auto& e : kind.edges)
    json["edges"].push_back({{"name", e.name}, {"from", e.from}, {"to", e.to}, {"domain", e.domain}});
  json["nodes"] = kind.nodes;
  for (const auto& p : kind.parameters) {
    Json entry{{"name", p.name}, {"unit", p.unit}};
    if (p.has_default)
      entry["default"] = p.value;
    else
      entry["required"] = p.value == "must be given";
    entry["bounds"] = p.bounds;
    entry["summary"] = p.summary;
    json["parameters"].push_back(std::move(entry));
  }
  for (const auto& v : kind.variables)
    json["variables"].push_back({{"name", v.name}, {"unit", v.unit}, {"summary", v.summary}});
  for (const auto& d : kind.discrete)
    json["discrete"].push_back({{"name", d.name},
                                {"unit", d.unit},
                                {"start", d.start},
                                {"update", d.update},
                                {"every", d.every},
                                {"summary", d.summary}});
  json["equations"] = kind.equations;
  add_to(json["initial"], kind.initial);
  for (const auto& o : kind.outputs)
    json["outputs"].push_back(
        {{"name", o.name}, {"unit", o.unit}, {"value", o.value}, {"summary", o.summary}});
  for (const auto& c : kind.checks) {
    Json entry;
    add_to(entry["given"], c.given);
    add_to(entry["expect"], c.expect);
    if (!c.tolerance.empty()) entry["tolerance"] = c.tolerance;
    json["checks"].push_back(std::move(entry));
  }
  return json;
}

// Those named alike: on their shelf, or on any ("diode", "thermal.resistr").
Names suggestions(const std::string& asked, const Names& kinds) {
  Names found, lasts;
  for (const std::string& kind : kinds) {
    lasts.push_back(last_of(kind));
    if (kind.find(asked) != std::string::npos || last_of(kind) == last_of(asked)) found.push_back(kind);
  }
  if (!found.empty()) return found;
  if (const std::string near = nearest(asked, kinds); !near.empty()) return {near};
  if (const std::string near = nearest(last_of(asked), lasts); !near.empty())
    for (const std::string& kind : kinds)
      if (last_of(kind) == near) found.push_back(kind);
  return found;
}

ModelError unknown_kind(const std::string& asked, const Names& kinds) {
  std::string list;
  const Names near = suggestions(asked, kinds);
  for (std::size_t k = 0; k < std::min<std::size_t>(near.size(), 5); ++k)
    list += (k == 0 ? "'" : ", '") + near[k] + "'";
  return command_fault(
      "tellegen library", "T570", fmt::format("the library has no kind '{}'", asked),
      {list.empty() ? "" : fmt::format("did you mean {}?", list), "tellegen library lists all kinds"});
}

void print_list(const std::vector<KindText>& kinds) {
  std::size_t width = 0;
  for (const KindText& kind : kinds) width = std::max(width, kind.name.size());
  std::string shelf;
  for (const KindText& kind : kinds) {
    if (shelf_of(kind.name) != shelf) {
      if (!shelf.empty()) fmt::print("\n");
      shelf = shelf_of(kind.name);
      fmt::print("{}\n", shelf);
    }
    fmt::print("  {:<{}}  {}\n", kind.name, width, kind.summary);
  }
}

// A model stands beside its own kinds, and is none of them.
bool is_model(const fs::path& file) {
  try {
    return Document(read_text(file, {}), file.string()).root().find("components") != nullptr;
  } catch (const ModelError&) {
    return false;  // read_kind() will say what is wrong
  }
}

void check_folder(const LibraryRequest& request) {
  if (!request.kind.empty())
    throw command_fault("tellegen library", "T401", "--check takes a folder, and no kind beside it",
                        {"tellegen library --check FOLDER"});
  const fs::path folder = request.check;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw command_fault("tellegen library", "T180", fmt::format("there is no folder '{}'", request.check));
  const bool library = fs::exists(folder / "domains.toml", ignored);
  const fs::path base = library ? folder : library_folder();
  Pool pool;
  const std::vector<Domain> domains = read_domains(base);
  std::vector<Kind> kinds;
  std::vector<Fault> faults;
  for (const std::string& name : library ? library_kinds(folder) : own_kinds(folder)) {
    const fs::path file = kind_file(folder, name);
    if (is_model(file)) continue;
    try {
      kinds.push_back(read_kind(pool, domains, file, name));
    } catch (const ModelError& error) {
      faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
  }
  if (!faults.empty()) throw ModelError(std::move(faults));
  if (kinds.empty())
    throw command_fault("tellegen library", "T570", fmt::format("there is no kind in '{}'", request.check),
                        {"a kind is a file NAME.toml there, or DOMAIN/NAME.toml"});
  const std::vector<CheckedKind> checked = check_kinds(base, kinds);
  if (request.json) {
    Json json = Json::array();
    for (const CheckedKind& kind : checked)
      json.push_back({{"name", kind.name}, {"file", kind.file}, {"hold", kind.answers}});
    fmt::print("{}", json_text(json));
    return;
  }
  TextTable table{{"kind", "worked answers"}, {}};
  std::size_t answers = 0, without = 0;
  for (const CheckedKind& kind : checked) {
    answers += kind.answers;
    without += kind.answers == 0 ? 1 : 0;
    table.rows.push_back({kind.name, kind.answers == 0   ? "none: add [check]"
                                     : kind.answers == 1 ? "1 holds"
                                                         : fmt::format("{} hold", kind.answers)});
  }
  fmt::print("{}\n{} worked {} of {} {} {}{}\n", to_text(table), answers, answers == 1 ? "answer" : "answers",
             checked.size(), checked.size() == 1 ? "kind" : "kinds", answers == 1 ? "holds" : "hold",
             without == 0 ? "" : fmt::format("; {} without any", without));
}

void show(const LibraryRequest& request) {
  if (!request.check.empty()) return check_folder(request);
  const fs::path library = library_folder();
  const std::vector<Domain> domains = read_domains(library);
  Names all = library_kinds(library);
  // One's own kinds stand before those of the same name.
  std::map<std::string, fs::path> files;
  for (const fs::path& folder : own_kind_folders())
    for (const std::string& name : own_kinds(folder))
      if (files.try_emplace(name, kind_file(folder, name)).second &&
          std::find(all.begin(), all.end(), name) == all.end())
        all.push_back(name);
  for (const std::string& name : all) files.try_emplace(name, kind_file(library, name));
  const auto described = [&](const std::string& name) {
    return describe_kind(domains, files.at(name), name);
  };
  if (std::find(all.begin(), all.end(), request.kind) != all.end()) {
    const KindText kind = described(request.kind);
    if (request.json)
      fmt::print("{}", json_text(to_json(kind)));
    else
      fmt::print("{}\nfile {}\n", to_text(kind), files.at(kind.name).string());
    return;
  }
  std::vector<KindText> listed;  // all, or one shelf
  for (const std::string& name : all)
    if (request.kind.empty() || shelf_of(name) == request.kind) listed.push_back(described(name));
  if (listed.empty() && !request.kind.empty()) throw unknown_kind(request.kind, all);
  if (!request.json) return print_list(listed);
  Json json = Json::array();
  for (const KindText& kind : listed) json.push_back({{"name", kind.name}, {"summary", kind.summary}});
  fmt::print("{}", json_text(json));
}

}  // namespace

void add_library(CLI::App& command) {
  auto request = std::make_shared<LibraryRequest>();
  command.add_option("KIND", request->kind,
                     "a kind, or a shelf: electrical.diode, thermal; all if not given");
  command
      .add_option("--check", request->check,
                  "run the worked answers, [check], of the kinds in a folder of one's own")
      ->type_name("FOLDER");
  command.add_flag("--json", request->json, "for machines");
  command.callback([request] { show(*request); });
}

}  // namespace tellegen
