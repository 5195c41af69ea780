// The files that a model uses: kinds, from its folder or the library, and subsystems.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tellegen/model/kind_reader.h"
#include "tellegen/model/model_reader.h"
#include "tellegen/model/own_kinds.h"

namespace tellegen {
namespace fs = std::filesystem;
namespace {

// "thermal.air_gap" -> "thermal/air_gap.toml"; nothing where it cannot be the name of a kind.
std::optional<fs::path> kind_path(std::string_view name) {
  std::string path;
  for (char c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') return std::nullopt;
    path += c == '.' ? '/' : c;
  }
  if (path.empty() || path.front() == '/' || path.back() == '/' || path.find("//") != std::string::npos)
    return std::nullopt;
  return path + ".toml";
}

std::string folder_name(const fs::path& folder) { return folder.empty() ? "." : folder.string(); }

}  // namespace

// Index of the kind, or `bad`. The model's own folder comes first, so that it can replace a library kind.
int ModelReader::kind_named(int scope, const Value& value) {
  const Source at = source(scope);
  if (!at.is(value, Value::Type::text, "'kind'")) return bad;
  Scope& s = *scopes_[scope];
  if (const auto known = s.kinds.find(value.text); known != s.kinds.end()) {
    // A kind with faults of its own was reported; one that does not exist is, wherever it is used.
    if (const auto unknown = s.unknown_kinds.find(value.text); unknown != s.unknown_kinds.end())
      at.fault(value, "T110", fmt::format("there is no kind '{}'", value.text), unknown->second);
    return known->second;
  }
  std::vector<fs::path> folders{s.folder, s.folder / "kinds"};
  for (fs::path& folder : own_kind_folders()) folders.push_back(std::move(folder));
  folders.push_back(options_.library);
  if (const auto relative = kind_path(value.text))
    for (const fs::path& folder : folders) {
      const fs::path file = (folder / *relative).lexically_normal();
      std::error_code error;
      if (!fs::is_regular_file(file, error)) continue;
      const auto [entry, fresh] = kind_files_.try_emplace(fs::weakly_canonical(file), bad);
      if (fresh) {
        try {
          FaultList faults;
          const Document document(read_text(file, at.document.at(value)), file.string());
          Kind kind =
              KindReader(*model_.pool, model_.domains, document, faults, std::string(value.text)).read();
          faults.throw_if_any();
          entry->second = static_cast<int>(model_.kinds.size());
          model_.kinds.push_back(std::move(kind));
        } catch (const ModelError& error) {
          faults_.add(error);
        }
      }
      return s.kinds[value.text] = entry->second;
    }
  std::vector<std::string>& details = s.unknown_kinds[value.text];
  details = {did_you_mean(value.text, kinds_within_reach(scope)),
             fmt::format("looked for in '{}', its 'kinds' and '{}'", folder_name(s.folder),
                         folder_name(options_.library))};
  at.fault(value, "T110", fmt::format("there is no kind '{}'", value.text), details);
  s.kinds[value.text] = bad;
  return bad;
}

std::vector<std::string> ModelReader::kinds_within_reach(int scope) const {
  std::vector<std::string> names = library_kinds(options_.library);
  for (const fs::path& folder : own_kind_folders())
    for (std::string& name : own_kinds(folder)) names.push_back(std::move(name));
  std::error_code error;
  for (const fs::path& folder : {scopes_[scope]->folder, scopes_[scope]->folder / "kinds"})
    for (fs::directory_iterator at(folder.empty() ? fs::path(".") : folder, error), end; !error && at != end;
         at.increment(error))
      if (at->path().extension() == ".toml") names.push_back(at->path().stem().string());
  return names;
}

// For the advice in a fault: " or add an electrical.ground". Found by reading, not by name.
std::string ModelReader::kinds_that_fix(int domain) {
  std::string text;
  for (const std::string& name : library_kinds(options_.library)) {
    try {
      const Kind kind = read_kind(*model_.pool, model_.domains, options_.library / *kind_path(name), name);
      if (kind.fixes_node && kind.edges[0].domain == domain)
        text += (text.empty() ? ", or add a component of kind '" : "' or '") + name;
    } catch (const ModelError&) {
      // A broken library file is another fault than the one being explained.
    }
  }
  return text.empty() ? text : text + "'";
}

const Document* ModelReader::document_of(const fs::path& file, const Place& from) {
  const auto [entry, fresh] = documents_.try_emplace(fs::weakly_canonical(file));
  if (fresh) {
    try {
      entry->second = read_document(read_text(file, from), file);
    } catch (const ModelError& error) {
      faults_.add(error);
    }
  }
  return entry->second.get();
}

bool ModelReader::contains_itself(int scope, const Value& at, const fs::path& file) {
  const auto found = std::find(open_files_.begin(), open_files_.end(), fs::weakly_canonical(file));
  if (found == open_files_.end()) return false;
  std::string chain;
  for (auto step = found; step != open_files_.end(); ++step) chain += step->filename().string() + " -> ";
  source(scope).fault(at, "T116", fmt::format("the model '{}' contains itself", file.filename().string()),
                      {chain + file.filename().string()});
  return true;
}

void ModelReader::read_subsystem(int scope, const Value& entry, const Value& file_value) {
  const Source at = source(scope);
  if (!at.is(file_value, Value::Type::text, fmt::format("'model' of '{}'", entry.key))) return;
  const fs::path file = (scopes_[scope]->folder / file_value.text).lexically_normal();
  if (contains_itself(scope, file_value, file)) return;
  const Document* document = document_of(file, at.document.at(file_value));
  if (!document) return;
  const int inner =
      open_scope(*document, file.parent_path(), scopes_[scope]->prefix + std::string(entry.key) + ".", scope);
  Scope& s = *scopes_[inner];
  scopes_[scope]->children[entry.key] = inner;

  const Value* ports = document->root().find("ports");
  const auto port_of = [&](std::string_view key) {
    return ports && ports->is_table() ? ports->find(key) : nullptr;
  };
  for (const Value& item : entry.items) {
    if (&item == &file_value) continue;
    if (const Value* port = port_of(item.key)) {
      if (!port->is_text()) continue;
      if (has_frame(*document, file.parent_path(), port->text)) {
        join_frame(scope, inner, entry, item, *port);
        continue;
      }
      const int node = node_named(scope, item, entry.key);
      const auto [joined_to, fresh] = s.ports.try_emplace(port->text, node);
      if (!fresh && joined_to->second != node)
        at.fault(item, "T106",
                 fmt::format("two ports of '{}' lead to its node '{}' and must be joined to one node",
                             entry.key, port->text));
    } else if (const auto named = s.names.find(item.key);
               named != s.names.end() && named->second.what == Named::What::parameter) {
      named->second.given = &item;
    } else {
      std::vector<std::string> known;
      if (ports)
        for (const Value& p : ports->items) known.emplace_back(p.key);
      for (const auto& [name, value] : s.names)
        if (value.what == Named::What::parameter) known.emplace_back(name);
      std::sort(known.begin(), known.end());
      at.fault(item, "T111",
               fmt::format("'{}' has no port or parameter '{}' (component '{}')", file.filename().string(),
                           item.key, entry.key),
               {did_you_mean(item.key, known), "it has: " + joined(known)});
    }
  }
  if (ports && ports->is_table())
    for (const Value& port : ports->items)
      if (port.is_text() && !entry.find(port.key)) {
        at.fault(entry, "T112", fmt::format("port '{}' of '{}' is not connected", port.key, entry.key),
                 {fmt::format("add {} = \"{}\" to it", port.key,
                              has_frame(*document, file.parent_path(), port.text) ? "frame" : "node")});
        s.ports.try_emplace(port.text, datum_ref);  // keeps the rest going
      }
  open_files_.push_back(fs::weakly_canonical(file));
  read_components(inner);
  check_ports(inner);
  open_files_.pop_back();
}

}  // namespace tellegen
