// The library as a whole: where it is, which domains and which kinds it has.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "tellegen/model/own_kinds.h"
#include "tellegen/model/read.h"
#include "tellegen/model/reading.h"

namespace tellegen {
namespace fs = std::filesystem;

namespace {

// library/ beside or above a file: installed, it is in share/; in a build folder, somewhere above.
std::optional<fs::path> library_above(const fs::path& file) {
  for (fs::path folder = file.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    for (const char* beside : {"library", "share/tellegen/library"})
      if (std::error_code ignored; fs::exists(folder / beside / "domains.toml", ignored))
        return folder / beside;
    if (folder == folder.root_path()) break;
  }
  return std::nullopt;
}

// The shared library or program that this code is in.
fs::path own_file() {
  Dl_info info;
  std::error_code error;
  if (!dladdr(reinterpret_cast<const void*>(&library_folder), &info) || !info.dli_fname) return {};
  const fs::path file = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : file;
}

// Looked for once: dladdr() goes through all names of a shared library, which every reading of a model would
// pay.
const std::optional<fs::path>& own_library() {
  static const std::optional<fs::path> found = [] {
    std::error_code error;
    std::optional<fs::path> above = library_above(own_file());
    return above ? above : library_above(fs::read_symlink("/proc/self/exe", error));
  }();
  return found;
}

}  // namespace

fs::path library_folder() {
  std::error_code error;
  for (const fs::path& folder : listed_libraries())
    if (fs::exists(folder / "domains.toml", error) || !fs::is_directory(folder, error)) return folder;
  if (own_library()) return *own_library();
#ifdef TELLEGEN_SOURCE_DIR
  return TELLEGEN_SOURCE_DIR "/library";
#else
  return "library";
#endif
}

std::vector<Domain> read_domains(const fs::path& library) {
  const fs::path file = library / "domains.toml";
  if (std::error_code error; !fs::exists(file, error))
    throw ModelError({{file.string(), 0},
                      "T180",
                      "the component library is not here",
                      {"set TELLEGEN_LIBRARY to its folder"}});
  const Document document(read_text(file, {file.string(), 0}), file.string());
  FaultList faults;
  const Source source{document, faults};
  std::vector<Domain> domains;
  for (const Value& entry : document.root().items) {
    const std::string what = fmt::format("domain '{}'", entry.key);
    if (!source.is(entry, Value::Type::table, what)) continue;
    source.known_keys(entry, {"node", "across", "through"}, what);
    Domain domain;
    domain.name = entry.key;
    domain.node = source.text(entry, "node", what);
    const auto side = [&](std::string_view key, std::string& name, std::string& unit, double& scale) {
      const Value* table = entry.find(key);
      if (!table || !source.is(*table, Value::Type::table, fmt::format("'{}' of {}", key, what))) {
        if (!table) source.fault(entry, "T103", fmt::format("{} has no '{}'", what, key));
        return;
      }
      source.known_keys(*table, {"name", "unit", "scale"}, what);
      name = source.text(*table, "name", what);
      unit = source.text(*table, "unit", what);
      check_known_unit(source, *table, unit, what);
      if (const Value* given = table->find("scale"))
        if (source.is(*given, Value::Type::number, "'scale'")) scale = given->number;
    };
    side("across", domain.across, domain.across_unit, domain.across_scale);
    side("through", domain.through, domain.through_unit, domain.through_scale);
    domains.push_back(std::move(domain));
  }
  faults.throw_if_any();
  return domains;
}

std::vector<std::string> library_kinds(const fs::path& library) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator at(library, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".toml" || at.depth() == 0) continue;  // domains.toml stands at the top
    std::string name = fs::relative(at->path(), library).replace_extension().generic_string();
    std::replace(name.begin(), name.end(), '/', '.');
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tellegen
