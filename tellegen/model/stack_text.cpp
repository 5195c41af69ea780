// A model file with [stack] to one without: its other sections as they are, an entry to a line, and the
// network.
#include <fmt/format.h>

#include <cmath>

#include "tellegen/model/stack.h"

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

std::string toml_value(const Value& value) {
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
        (text.empty() ? " " : ", ") + (value.is_table() ? quoted(item.key) + " = " : "") + toml_value(item);
  return value.is_table() ? fmt::format("{{{} }}", text) : fmt::format("[{} ]", text);
}

class TextMaker {
 public:
  void add(std::string_view text, int line) {
    expanded_.toml += text;
    expanded_.toml += '\n';
    expanded_.lines.push_back(line);
  }
  // A section of the file, and what the stack adds to it.
  void section(std::string_view name, const Value* table, const std::vector<StackNetwork::Entry>& more,
               int line) {
    add(fmt::format("\n[{}]", name), line);
    expanded_.lines.push_back(line);  // the heading is two lines
    if (table)
      for (const Value& item : table->items) add(quoted(item.key) + " = " + toml_value(item), item.line);
    for (const StackNetwork::Entry& entry : more) add(entry.text, entry.line);
  }
  ExpandedText result() { return std::move(expanded_); }

 private:
  ExpandedText expanded_;
};

}  // namespace

ExpandedText expand_stack(const Document& document) {
  FaultList faults;
  const Source source{document, faults};
  const Value& root = document.root();
  const Stack stack = read_stack(source, *root.find("stack"));
  faults.throw_if_any();
  StackNetwork network = make_network(source, stack);
  faults.throw_if_any();

  TextMaker text;
  for (const Value& item : root.items)
    if (!item.is_table()) text.add(quoted(item.key) + " = " + toml_value(item), item.line);
  for (const Value& item : root.items)
    if (item.is_table() && item.key != "stack" && item.key != "components" && item.key != "outputs")
      text.section(item.key, &item, {}, item.line);
  for (const auto& [name, entries] :
       {std::pair{"components", &network.components}, std::pair{"outputs", &network.outputs}}) {
    const Value* table = root.find(name);
    if (table && !source.is(*table, Value::Type::table, fmt::format("'{}'", name))) continue;
    if (table || !entries->empty()) text.section(name, table, *entries, table ? table->line : stack.line);
  }
  faults.throw_if_any();
  return text.result();
}

}  // namespace tellegen
