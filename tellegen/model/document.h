// A TOML file as a tree of values with their lines. The parser (toml++) is behind this header; the tree is
// compact and in the order of the file, since a model may have a million components.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "tellegen/model/fault.h"

namespace tellegen {

struct Value {
  enum class Type : std::uint8_t { text, integer, number, boolean, list, table, date };
  Type type = Type::table;
  int line = 0;
  double number = 0.0;           // of numbers, integers and booleans
  std::string_view key;          // within its table
  std::string_view text;         // of text
  std::span<const Value> items;  // of a list; of a table, each with its key

  bool is_text() const { return type == Type::text; }
  bool is_number() const { return type == Type::integer || type == Type::number; }
  bool is_table() const { return type == Type::table; }
  bool is_list() const { return type == Type::list; }
  const Value* find(std::string_view name) const;
};

std::string_view type_name(Value::Type type);  // "a number", "a list"

class Document {
 public:
  // `name` is what faults call the file. Throws ModelError (T100) where the text is not TOML.
  // Where the text was made from another, `lines` has the line of that one for each of its own.
  Document(std::string_view text, std::string name, std::span<const int> lines = {});
  const Value& root() const { return root_; }
  const std::string& name() const { return name_; }
  Place at(const Value& value) const { return {name_, value.line}; }

 private:
  friend class DocumentBuilder;
  std::string name_;
  // Keys and texts repeat thousands of times in a large model: one copy of each. Freed whole.
  std::pmr::monotonic_buffer_resource memory_{4096};
  std::unordered_set<std::string_view> texts_;
  Value root_;
};

// For who rewrites a file: where the value under some keys stands in its text, and where another key can be
// added to a table: behind its last value, before a closing brace or on a line of its own. Nothing where
// there is no such value or table. The text must be TOML.
struct TextSpan {
  std::size_t first, last;
};
struct RoomForKey {
  std::size_t at;
  bool in_braces;
};
std::optional<TextSpan> find_value(std::string_view text, std::span<const std::string> keys);
std::optional<RoomForKey> find_room(std::string_view text, std::span<const std::string> keys);

// The whole file as text. Throws ModelError (T180), placed at `from`, where it cannot be read.
std::string read_text(const std::filesystem::path& file, const Place& from);

}  // namespace tellegen
