#include "tellegen/model/kind_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "tellegen/model/document.h"
#include "tellegen/model/read.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using Cells = std::vector<std::string>;

std::string shown_value(const Value& value) {
  if (value.is_text()) return std::string(value.text);
  if (value.is_number()) return fmt::format("{}", value.number);
  if (value.type == Value::Type::boolean) return value.number != 0.0 ? "true" : "false";
  std::string text;
  for (const Value& item : value.items)
    text += (text.empty() ? "" : ", ") + (value.is_table() ? std::string(item.key) + " = " : "") +
            shown_value(item);
  return (value.is_table() ? "{ " : "[") + text + (value.is_table() ? " }" : "]");
}

std::string text_of(const Value& table, std::string_view key) {
  const Value* value = table.is_table() ? table.find(key) : nullptr;
  return value ? shown_value(*value) : "";
}

std::span<const Value> items_of(const Value& table, std::string_view key) {
  const Value* value = table.find(key);
  return value ? value->items : std::span<const Value>();
}

KindText::Parameter parameter_of(const Value& entry) {
  KindText::Parameter p{std::string(entry.key), text_of(entry, "unit"), "", "", text_of(entry, "summary")};
  const Value* optional = entry.find("optional");
  p.has_default = entry.find("default");
  if (p.has_default)
    p.value = text_of(entry, "default");
  else
    p.value = optional && optional->number != 0.0 ? "may be left out" : "must be given";
  for (const auto& [key, words] : {std::pair{"above", "above "},
                                   {"at_least", "at least "},
                                   {"below", "below "},
                                   {"at_most", "at most "}})
    if (entry.find(key))
      p.bounds += (p.bounds.empty() ? "" : ", ") + std::string(words) + text_of(entry, key);
  if (entry.find("table")) {
    const std::string between = text_of(entry, "interpolation");
    p.bounds += (p.bounds.empty() ? "" : ", ") + (between.empty() ? "linear" : between) + " between points";
  }
  return p;
}

KindText::Check check_of(const Value& entry) {
  KindText::Check check;
  for (const auto& [key, into] : {std::pair{"given", &check.given}, {"expect", &check.expect}})
    for (const Value& item : items_of(entry, key))
      into->push_back({std::string(item.key), shown_value(item)});
  check.tolerance = text_of(entry, "tolerance");
  return check;
}

std::vector<std::string> notes_of(const std::string& text) {
  std::vector<std::string> notes;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line) && !line.starts_with('[');)
    if (line.starts_with('#')) notes.push_back(line.substr(line.starts_with("# ") ? 2 : 1));
  return notes;
}

std::string settings(const std::vector<KindText::Setting>& list) {
  std::string text;
  for (const auto& [name, value] : list) text += (text.empty() ? "" : ", ") + name + " = " + value;
  return text;
}

std::string ticked(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string row(const Cells& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += cell.empty() ? " |" : " " + cell + " |";
  return text + "\n";
}

// A table, unless it has no rows.
std::string markdown_table(const Cells& head, const std::vector<Cells>& rows) {
  if (rows.empty()) return "";
  std::string text = row(head) + row(Cells(head.size(), "---"));
  for (const Cells& cells : rows) text += row(cells);
  return text + "\n";
}

// A titled list in columns as wide as they must be, unless it has no rows. What is empty everywhere takes no
// column.
std::string columns(const std::string& title, const std::vector<Cells>& rows) {
  if (rows.empty()) return "";
  std::string text = "\n" + title + "\n";
  std::vector<std::size_t> width(rows[0].size(), 0);
  for (const Cells& cells : rows)
    for (std::size_t k = 0; k < cells.size(); ++k) width[k] = std::max(width[k], cells[k].size());
  for (const Cells& cells : rows) {
    std::string line;
    for (std::size_t k = 0; k < cells.size(); ++k)
      if (width[k] > 0) line += fmt::format("  {:<{}}", cells[k], width[k]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string fenced(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  return fmt::format("```text\n{}\n```\n\n", fmt::join(lines, "\n"));
}

}  // namespace

fs::path kind_file(const fs::path& library, const std::string& name) {
  std::string path = name;
  std::replace(path.begin(), path.end(), '.', '/');
  return library / (path + ".toml");
}

KindText describe_kind(const std::vector<Domain>& domains, const fs::path& file, const std::string& name) {
  Pool pool;
  const Kind kind = read_kind(pool, domains, file, name);
  const std::string written = read_text(file, {file.string(), 0});
  const Document document(written, file.string());
  const Value& root = document.root();
  KindText text;
  text.name = name;
  text.summary = kind.summary;
  text.notes = notes_of(written);
  const auto node = [&](int n) { return n < 0 ? "datum" : kind.nodes[n].name; };
  for (std::size_t n = 0; n < kind.nodes.size(); ++n) {
    if (static_cast<int>(n) < kind.port_count)
      text.ports.push_back({kind.nodes[n].name, domains[kind.nodes[n].domain].name});
    else
      text.nodes.push_back(kind.nodes[n].name);
  }
  for (const KindEdge& e : kind.edges)
    text.edges.push_back({e.name, node(e.from), node(e.to), domains[e.domain].name});
  for (const Value& entry : items_of(root, "parameters")) text.parameters.push_back(parameter_of(entry));
  for (const Value& entry : items_of(root, "variables"))
    text.variables.push_back({std::string(entry.key), text_of(entry, "unit"), text_of(entry, "summary")});
  for (const Value& entry : items_of(root, "discrete"))
    text.discrete.push_back({std::string(entry.key), text_of(entry, "unit"), text_of(entry, "start"),
                             text_of(entry, "update"), text_of(entry, "every"), text_of(entry, "summary")});
  if (const Value* equations = root.find("equations"))
    for (const Value& equation : items_of(*equations, "terminal")) text.equations.emplace_back(equation.text);
  for (const Value& entry : items_of(root, "initial"))
    text.initial.push_back({std::string(entry.key), shown_value(entry)});
  for (const Value& entry : items_of(root, "outputs"))
    text.outputs.push_back({std::string(entry.key), text_of(entry, "unit"),
                            entry.is_table() ? text_of(entry, "value") : shown_value(entry),
                            text_of(entry, "summary")});
  if (const Value* check = root.find("check")) {
    if (check->is_table()) text.checks.push_back(check_of(*check));
    if (check->is_list())
      for (const Value& entry : check->items) text.checks.push_back(check_of(entry));
  }
  return text;
}

std::string to_text(const KindText& kind) {
  std::string text = kind.name + "\n" + kind.summary + "\n";
  if (!kind.notes.empty()) text += fmt::format("\n{}\n", fmt::join(kind.notes, "\n"));
  std::vector<Cells> ports, edges, parameters, variables, discrete, equations, initial, outputs, checks;
  for (const auto& p : kind.ports) ports.push_back({p.name, p.domain});
  for (const auto& e : kind.edges)
    edges.push_back({e.name, "from " + e.from + " to " + e.to, "(" + e.domain + ")"});
  for (const auto& p : kind.parameters)
    parameters.push_back(
        {p.name, p.unit, p.has_default ? "default " + p.value : p.value, p.bounds, p.summary});
  for (const auto& v : kind.variables) variables.push_back({v.name, v.unit, v.summary});
  for (const auto& d : kind.discrete)
    discrete.push_back({d.name, d.unit, "becomes " + d.update, d.every.empty() ? "" : "every " + d.every,
                        d.start.empty() ? "" : "from " + d.start, d.summary});
  for (const auto& e : kind.equations) equations.push_back({e});
  for (const auto& [name, value] : kind.initial) initial.push_back({name + " = " + value});
  for (const auto& o : kind.outputs) outputs.push_back({o.name, o.unit, "= " + o.value, o.summary});
  for (const auto& c : kind.checks) {
    checks.push_back({"given", settings(c.given)});
    checks.push_back(
        {"expect", settings(c.expect) + (c.tolerance.empty() ? "" : " (tolerance " + c.tolerance + ")")});
  }
  text += columns("ports", ports) + columns("edges", edges);
  if (!kind.nodes.empty()) text += fmt::format("\ninternal nodes\n  {}\n", fmt::join(kind.nodes, ", "));
  return text + columns("parameters", parameters) + columns("variables", variables) +
         columns("discrete variables", discrete) + columns("equations", equations) +
         columns("initial", initial) + columns("outputs", outputs) + columns("checks", checks);
}

std::string to_markdown(const KindText& kind) {
  std::string text = "### " + kind.name + "\n\n" + kind.summary + "\n\n" + fenced(kind.notes);
  if (!kind.edges.empty()) {
    std::string edges;
    for (const auto& e : kind.edges)
      edges += fmt::format("{}`{}` from `{}` to `{}`{}", edges.empty() ? "" : ", ", e.name, e.from, e.to,
                           kind.name.starts_with(e.domain + ".") ? "" : " (" + e.domain + ")");
    text += "Edges: " + edges + ".";
    if (!kind.nodes.empty()) text += fmt::format(" Internal nodes: `{}`.", fmt::join(kind.nodes, "`, `"));
    text += "\n\n";
  }
  text += fenced(kind.equations);
  std::vector<Cells> parameters, variables, discrete, outputs;
  for (const auto& p : kind.parameters)
    parameters.push_back(
        {ticked(p.name), p.unit, p.has_default ? ticked(p.value) : p.value, p.bounds, p.summary});
  for (const auto& v : kind.variables) variables.push_back({ticked(v.name), v.unit, v.summary});
  for (const auto& d : kind.discrete)
    discrete.push_back({ticked(d.name), d.unit, ticked(d.update), ticked(d.every),
                        d.start.empty() ? "`0`" : ticked(d.start), d.summary});
  for (const auto& o : kind.outputs) outputs.push_back({ticked(o.name), o.unit, ticked(o.value), o.summary});
  return text + markdown_table({"parameter", "unit", "default", "bounds", "what it is"}, parameters) +
         markdown_table({"variable", "unit", "what it is"}, variables) +
         markdown_table({"discrete", "unit", "becomes", "every", "from", "what it is"}, discrete) +
         markdown_table({"output", "unit", "value", "what it is"}, outputs);
}

std::string library_page(const fs::path& library) {
  std::string text =
      "# Library\n\n"
      "Every kind that Tellegen ships, from its file `library/<shelf>/<name>.toml`. A component gives its "
      "kind, "
      "joins the\n"
      "kind's ports to nodes and gives its parameters; the ends of the edges are the ports, but for internal "
      "nodes and\n"
      "`datum`. A kind without edges is a signal. `tellegen library KIND` shows the same, and the worked "
      "answers.\n"
      "[model file](model-file.md) explains the rest. This page is written by `tests/docs_test.cpp`.\n\n";
  const std::vector<Domain> domains = read_domains(library);
  std::string shelf, sections;
  std::vector<Cells> list;
  for (const std::string& name : library_kinds(library)) {
    const KindText kind = describe_kind(domains, kind_file(library, name), name);
    if (name.substr(0, name.find('.')) != shelf) {
      shelf = name.substr(0, name.find('.'));
      sections += "## " + shelf + "\n\n";
    }
    std::string anchor = name;
    std::erase(anchor, '.');
    list.push_back({"[" + name + "](#" + anchor + ")", kind.summary});
    sections += to_markdown(kind);
  }
  text += markdown_table({"kind", "what it is"}, list) + sections;
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace tellegen
