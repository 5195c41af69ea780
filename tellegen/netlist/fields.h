// The fields of a card: words, expressions in {} or '', and the signs ( ) =. Commas and blanks separate.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/netlist/lines.h"

namespace tellegen {

struct Field {
  enum class Type { word, expression, open, close, equals } type = Type::word;
  std::string text;  // of an expression without its braces

  bool is(std::string_view word) const { return type == Type::word && text == word; }
  bool is_value() const { return type == Type::word || type == Type::expression; }
};

bool is_one_of(std::string_view word, std::span<const std::string_view> words);

// `name = text`
struct KeyValue {
  std::string name, text;
};

// Throws ModelError (T502) where a brace or a quote is not closed.
std::vector<Field> fields_of(const Card& card);

// "a = 1 b={2*a} c = a + b": values are expressions, with or without braces, up to the next `name =`.
std::vector<KeyValue> assignments_of(std::string_view text, const Place& place);

// The words of a card from its end, as long as they are `name = value`: taken off the fields.
std::vector<KeyValue> take_assignments(std::vector<Field>& fields);

}  // namespace tellegen
