#include "tellegen/model/document.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>
#include <vector>

namespace tellegen {

const Value* Value::find(std::string_view name) const {
  for (const Value& item : items)
    if (item.key == name) return &item;
  return nullptr;
}

std::string_view type_name(Value::Type type) {
  switch (type) {
    case Value::Type::text:
      return "a text";
    case Value::Type::integer:
      return "an integer";
    case Value::Type::number:
      return "a number";
    case Value::Type::boolean:
      return "true or false";
    case Value::Type::list:
      return "a list";
    case Value::Type::table:
      return "a table";
    case Value::Type::date:
      return "a date";
  }
  return "";
}

// Copies toml++'s tree, emptying it on the way: the two never stand in memory together.
class DocumentBuilder {
 public:
  DocumentBuilder(Document& document, std::span<const int> lines) : document_(document), lines_(lines) {}

  Value convert(toml::node& node) {
    Value value;
    value.line = line_of(node.source());
    if (auto* text = node.as_string()) {
      value.type = Value::Type::text;
      value.text = keep(text->get());
    } else if (auto* integer = node.as_integer()) {
      value.type = Value::Type::integer;
      value.number = static_cast<double>(integer->get());
    } else if (auto* number = node.as_floating_point()) {
      value.type = Value::Type::number;
      value.number = number->get();
    } else if (auto* boolean = node.as_boolean()) {
      value.type = Value::Type::boolean;
      value.number = boolean->get() ? 1.0 : 0.0;
    } else if (auto* list = node.as_array()) {
      value.type = Value::Type::list;
      std::span<Value> items = room(list->size());
      std::size_t k = 0;
      for (toml::node& item : *list) items[k++] = convert(item);
      value.items = items;
      list->clear();
    } else if (auto* table = node.as_table()) {
      value.type = Value::Type::table;
      value.items = convert_entries(*table);
      table->clear();
    } else {
      value.type = Value::Type::date;
    }
    return value;
  }

 private:
  struct Order {
    const toml::key* key;
    toml::node* node;
  };

  std::span<const Value> convert_entries(toml::table& table) {
    // toml++ keeps a table by key; the file's own order is in the positions of the keys.
    std::vector<Order> order;
    order.reserve(table.size());
    for (auto&& [key, node] : table) order.push_back({&key, &node});
    std::sort(order.begin(), order.end(), [](const Order& a, const Order& b) {
      const auto &p = a.key->source().begin, &q = b.key->source().begin;
      return p.line != q.line ? p.line < q.line : p.column < q.column;
    });
    std::span<Value> items = room(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
      items[k] = convert(*order[k].node);
      items[k].key = keep(order[k].key->str());
      items[k].line = line_of(order[k].key->source());
    }
    return items;
  }

  std::span<Value> room(std::size_t count) {
    if (count == 0) return {};
    auto* first = static_cast<Value*>(document_.memory_.allocate(count * sizeof(Value), alignof(Value)));
    std::uninitialized_default_construct_n(first, count);
    return {first, count};
  }

  int line_of(const toml::source_region& region) const {
    const auto line = static_cast<std::size_t>(region.begin.line);
    return line >= 1 && line <= lines_.size() ? lines_[line - 1] : static_cast<int>(line);
  }

  std::string_view keep(std::string_view text) {
    const auto found = document_.texts_.find(text);
    if (found != document_.texts_.end()) return *found;
    auto* copy = static_cast<char*>(document_.memory_.allocate(std::max<std::size_t>(text.size(), 1), 1));
    std::memcpy(copy, text.data(), text.size());
    return *document_.texts_.insert({copy, text.size()}).first;
  }

  Document& document_;
  std::span<const int> lines_;
};

namespace {

// toml++ takes its tree apart by recursion, and so do we: a file that nests too deeply is refused before it
// is parsed. A light reading is enough: brackets and the dots of keys are counted, texts and comments
// passed over. What is not TOML may be counted wrongly; the parser then says what it is.
class NestingGuard {
 public:
  explicit NestingGuard(std::string_view text) : text_(text) {}

  int line_of_fault() {  // 0: none
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_text(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      ++at_;
      if (c == '.') {
        ++dots_;
      } else if (c == '[' || c == '{') {
        ++brackets_;
        dots_ = 0;
      } else if (c == ']' || c == '}') {
        --brackets_;
        dots_ = 0;
      } else if (c == '=' || c == ',' || c == '\n') {
        dots_ = 0;
        line_ += c == '\n';
      }
      if (brackets_ > deepest || dots_ > deepest) return line_;
    }
    return 0;
  }

 private:
  static constexpr int deepest = 32;

  void skip_text(char quote) {
    const std::string three(3, quote);
    const bool long_text = text_.substr(at_, 3) == three;
    const std::string_view end = long_text ? three : std::string_view(three).substr(0, 1);
    for (at_ += end.size(); at_ < text_.size(); ++at_) {
      if (text_.substr(at_, end.size()) == end) {
        at_ += end.size();
        return;
      }
      if (text_[at_] == '\n') {
        if (!long_text) return;  // not TOML: a text on one line does not end
        ++line_;
      }
      if (text_[at_] == '\\' && quote == '"') {
        if (at_ + 1 < text_.size() && text_[at_ + 1] == '\n') continue;
        ++at_;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, brackets_ = 0, dots_ = 0;
};

// What toml++ says to a key that is there already: "... cannot redefine existing table 'r1'".
std::string_view named_twice(std::string_view description) {
  const auto at = description.find("cannot redefine existing");
  if (at == std::string_view::npos) return {};
  const auto open = description.find('\'', at), close = description.rfind('\'');
  return open == std::string_view::npos || close <= open ? ""
                                                         : description.substr(open + 1, close - open - 1);
}

// "the first is in line 4; ": the first line before `line` that begins with the name.
std::string first_definition(std::string_view text, std::string_view name, int line) {
  for (int k = 1; k < line && !text.empty(); ++k) {
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    const auto begin = row.find_first_not_of(" \t[");
    if (begin == std::string_view::npos || !row.substr(begin).starts_with(name)) continue;
    const auto after = row.find_first_not_of(" \t", begin + name.size());
    if (after != std::string_view::npos && (row[after] == '=' || row[after] == '.' || row[after] == ']'))
      return fmt::format("the first is in line {}; ", k);
  }
  return {};
}

// toml++ counts lines from 1, and characters within a line from 1.
std::size_t byte_at(std::string_view text, const toml::source_position& position) {
  std::size_t at = 0;
  for (toml::source_index line = 1; line < position.line && at < text.size(); ++line)
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  if (position.line == 1 && text.starts_with("\xef\xbb\xbf")) at = 3;
  for (toml::source_index column = 1; column < position.column && at < text.size(); ++column) do
      ++at;
    while (at < text.size() && (text[at] & 0xc0) == 0x80);
  return at;
}

std::size_t end_of_value(std::string_view text, const toml::node& node) {
  std::size_t at = byte_at(text, node.source().begin);
  if (node.is_table() || node.is_array()) return byte_at(text, node.source().end);
  if (!node.is_string()) return std::min(text.find_first_of(" \t\r\n,]}#", at), text.size());
  const char quote = text[at];
  const bool long_text = text.substr(at, 3) == std::string(3, quote);
  const std::string end(long_text ? 3 : 1, quote);
  for (at += end.size(); at < text.size() && text.substr(at, end.size()) != end; ++at)
    if (text[at] == '\\' && quote == '"') ++at;
  return std::min(at + end.size(), text.size());
}

const toml::node* node_under(const toml::table& root, std::span<const std::string> keys) {
  const toml::node* node = &root;
  for (const std::string& key : keys) {
    const toml::table* table = node->as_table();
    node = table ? table->get(key) : nullptr;
    if (!node) return nullptr;
  }
  return node;
}

}  // namespace

std::optional<TextSpan> find_value(std::string_view text, std::span<const std::string> keys) {
  const toml::table root = toml::parse(text);
  const toml::node* node = node_under(root, keys);
  if (!node) return std::nullopt;
  return TextSpan{byte_at(text, node->source().begin), end_of_value(text, *node)};
}

std::optional<RoomForKey> find_room(std::string_view text, std::span<const std::string> keys) {
  const toml::table root = toml::parse(text);
  const toml::node* node = node_under(root, keys);
  const toml::table* table = node ? node->as_table() : nullptr;
  if (!table || table->empty()) return std::nullopt;
  const toml::node* last = nullptr;
  for (const auto& [key, value] : *table)
    if (!last || last->source().begin < value.source().begin) last = &value;
  return RoomForKey{end_of_value(text, *last), table->is_inline()};
}

Document::Document(std::string_view text, std::string name, std::span<const int> lines)
    : name_(std::move(name)) {
  if (const int line = NestingGuard(text).line_of_fault())
    throw ModelError({{name_, line},
                      "T100",
                      "lists, tables or dotted keys are nested too deeply here",
                      {"a model needs three or four levels; more than 32 are not read"}});
  try {
    toml::table table = toml::parse(text);
    root_ = DocumentBuilder(*this, lines).convert(table);
  } catch (const toml::parse_error& error) {
    auto at = error.source().begin;
    if (at.line >= 1 && at.line <= lines.size())
      at.line = static_cast<toml::source_index>(lines[at.line - 1]);
    if (const auto name = named_twice(error.description()); !name.empty())
      throw ModelError({{name_, static_cast<int>(at.line)},
                        "T106",
                        fmt::format("'{}' is defined twice", name),
                        {first_definition(text, name, static_cast<int>(at.line)) +
                         "within a section each name stands once; rename one of the two"}});
    throw ModelError({{name_, static_cast<int>(at.line)},
                      "T100",
                      "this is not valid TOML",
                      {fmt::format("column {}: {}", at.column, error.description())}});
  }
}

std::string read_text(const std::filesystem::path& file, const Place& from) {
  std::error_code error;
  const auto type = std::filesystem::status(file, error).type();
  std::string why;
  if (type == std::filesystem::file_type::not_found)
    why = "there is no such file";
  else if (type == std::filesystem::file_type::directory)
    why = "it is a folder";
  std::string text;
  if (why.empty()) {
    std::ifstream stream(file, std::ios::binary | std::ios::ate);
    if (stream) text.resize(static_cast<std::size_t>(stream.tellg()));
    stream.seekg(0).read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream) why = "it cannot be opened";
  }
  if (!why.empty()) throw ModelError({from, "T180", fmt::format("cannot read '{}'", file.string()), {why}});
  return text;
}

}  // namespace tellegen
