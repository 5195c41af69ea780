#include "tellegen/model/expanded_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace tellegen {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

class TextMaker {
 public:
  void add(std::string_view text, int line) {
    expanded_.toml += text;
    expanded_.toml += '\n';
    expanded_.lines.push_back(line);
  }
  // A section of the file, and what is added to it.
  void section(std::string_view name, const Value* table, std::span<const AddedEntry> more, int line) {
    add(fmt::format("\n[{}]", name), line);
    expanded_.lines.push_back(line);  // the heading is two lines
    if (table)
      for (const Value& item : table->items) add(quoted(item.key) + " = " + toml_text(item), item.line);
    for (const AddedEntry& entry : more) add(entry.text, entry.line);
  }
  ExpandedText result() { return std::move(expanded_); }

 private:
  ExpandedText expanded_;
};

void check_names(const Source& source, const Value& table, const AddedSection& section,
                 std::string_view replaced) {
  for (const AddedEntry& entry : section.entries)
    if (const Value* own = table.find(entry.text.substr(0, entry.text.find(' '))))
      source.fault(*own, "T106", fmt::format("'{}' is already a name of the [{}]", own->key, replaced),
                   {fmt::format("what it stands for is added to [{}]: take another name", section.name)});
}

}  // namespace

std::string toml_text(const Value& value) {
  switch (value.type) {
    case Value::Type::text:
      return quoted(value.text);
    case Value::Type::integer:
      return fmt::format("{:.0f}", value.number);
    case Value::Type::number: {
      std::string text = fmt::format("{}", value.number);
      return text.find_first_of(".enai") == std::string::npos ? text + ".0" : text;
    }
    case Value::Type::boolean:
      return value.number != 0.0 ? "true" : "false";
    case Value::Type::date:
      return "1970-01-01";  // no key takes a date, and whoever reads this one says so
    case Value::Type::list:
    case Value::Type::table:
      break;
  }
  std::string text;
  for (const Value& item : value.items)
    text +=
        (text.empty() ? " " : ", ") + (value.is_table() ? quoted(item.key) + " = " : "") + toml_text(item);
  return value.is_table() ? fmt::format("{{{} }}", text) : fmt::format("[{} ]", text);
}

ExpandedText expanded_text(const Document& document, std::string_view replaced,
                           std::span<const AddedSection> added, std::span<const std::string_view> kept) {
  FaultList faults;
  const Source source{document, faults};
  const Value& root = document.root();
  const auto is_kept = [&](std::string_view name) {
    return name != replaced && (kept.empty() || std::find(kept.begin(), kept.end(), name) != kept.end());
  };
  TextMaker text;
  for (const Value& item : root.items)
    if (!item.is_table()) text.add(quoted(item.key) + " = " + toml_text(item), item.line);
  const auto is_added = [&](std::string_view name) {
    return std::any_of(added.begin(), added.end(), [&](const AddedSection& s) { return s.name == name; });
  };
  for (const Value& item : root.items)
    if (item.is_table() && is_kept(item.key) && !is_added(item.key))
      text.section(item.key, &item, {}, item.line);
  for (const AddedSection& section : added) {
    const Value* table = is_kept(section.name) ? root.find(section.name) : nullptr;
    if (table && !source.is(*table, Value::Type::table, fmt::format("'{}'", section.name))) continue;
    if (table) check_names(source, *table, section, replaced);
    if (table || !section.entries.empty())
      text.section(section.name, table, section.entries, table ? table->line : root.find(replaced)->line);
  }
  faults.throw_if_any();
  return text.result();
}

}  // namespace tellegen
