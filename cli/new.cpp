// tellegen new: a commented model to begin with, of a chosen kind of study.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/model/document.h"
#include "tellegen/model/read.h"
#include "tellegen/results/atomic_file.h"

namespace tellegen {
namespace {

void write_starter(const std::string& name, const std::string& file) {
  const std::filesystem::path source = library_folder() / "starters.toml";
  const Document document(read_text(source, {std::string(tellegen_new), 0}), source.string());
  std::vector<std::string> names;
  for (const Value& starter : document.root().items) names.emplace_back(starter.key);
  if (name.empty()) {
    fmt::print("models to begin with: tellegen new NAME FILE\n\n");
    for (const Value& starter : document.root().items)
      fmt::print("{:<10} {}\n", starter.key, starter.find("summary")->text);
    return;
  }
  check_choice({tellegen_new, "NAME"}, name, names);
  const std::string to = file.empty() ? name + ".toml" : file;
  check_writable({tellegen_new, "FILE"}, to, {".toml"});
  if (std::filesystem::exists(to) && !is_stream(to))
    throw command_fault(tellegen_new, "T402", fmt::format("'{}' is there already", to),
                        {"give another name: nothing is overwritten"});
  std::string_view text = document.root().find(name)->find("text")->text;
  write_file(to, text);
  if (!is_stream(to)) fmt::print("wrote {0}\nrun it: tellegen simulate {0}\n", to);
}

}  // namespace

void add_new(CLI::App& command) {
  struct Request {
    std::string name, file;
  };
  auto request = std::make_shared<Request>();
  command.add_option("NAME", request->name, "what to begin with; none: list them");
  command.add_option("FILE", request->file, "model file to write; none: NAME.toml");
  command.callback([request] { write_starter(request->name, request->file); });
}

}  // namespace tellegen
