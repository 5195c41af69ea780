#include "tellegen/model/column_names.h"

#include <fmt/format.h>

#include <cctype>

#include "tellegen/model/document.h"
#include "tellegen/model/reading.h"

namespace tellegen {
namespace {

bool is_name_sign(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

std::string stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// Where in the list an entry "name =" begins at `at`: behind its "=".
std::size_t entry_at(std::string_view list, std::size_t at) {
  while (at < list.size() && list[at] == ' ') ++at;
  const std::size_t name = at;
  while (at < list.size() && is_name_sign(list[at])) ++at;
  if (at == name) return std::string_view::npos;
  while (at < list.size() && list[at] == ' ') ++at;
  return at < list.size() && list[at] == '=' ? at + 1 : std::string_view::npos;
}

}  // namespace

ColumnNames read_column_names(std::string_view list, const Place& place) {
  ColumnNames names;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t value = entry_at(list, at);
    if (value == std::string_view::npos)
      throw ModelError({place,
                        "T401",
                        fmt::format("'{}' names no column", stripped(list.substr(at))),
                        {"--columns \"T_h=Case temperature [degC], P=Loss (W)\""}});
    std::size_t end = value;
    do end = std::min(list.find(',', end + 1), list.size());
    while (end < list.size() && entry_at(list, end + 1) == std::string_view::npos);
    names.push_back({stripped(list.substr(at, value - 1 - at)), stripped(list.substr(value, end - value))});
    at = end + 1;
  }
  return names;
}

ColumnNames columns_section(const std::filesystem::path& model_file) {
  ColumnNames names;
  std::error_code ignored;
  if (model_file.extension() != ".toml" || !std::filesystem::exists(model_file, ignored)) return names;
  const Document document(read_text(model_file, {model_file.string(), 0}), model_file.string());
  const Value* table = document.root().find("columns");
  if (!table) return names;
  FaultList faults;
  const Source source{document, faults};
  if (source.is(*table, Value::Type::table, "'columns'"))
    for (const Value& entry : table->items)
      if (source.is(entry, Value::Type::text, fmt::format("column of '{}'", entry.key)))
        names.push_back({std::string(entry.key), std::string(entry.text)});
  faults.throw_if_any();
  return names;
}

}  // namespace tellegen
