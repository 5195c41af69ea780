#include "tellegen/netlist/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tellegen/netlist/faults.h"

namespace tellegen {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == ','; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// Behind the bracket that closes the one at `open`.
std::size_t closing(std::string_view text, std::size_t open, const Place& place) {
  const char begin = text[open], end = begin == '{' ? '}' : begin == '(' ? ')' : begin;
  int depth = 0;
  for (std::size_t k = open; k < text.size(); ++k) {
    if (k > open && begin == end && text[k] == end) return k + 1;
    if (begin == end) continue;
    depth += (text[k] == begin) - (text[k] == end);
    if (depth == 0) return k + 1;
  }
  throw netlist_fault(place, "T502", fmt::format("a '{}' is not closed", begin));
}

// Behind a value in brackets after `=`; 0 where there is none, or where commas make it a list.
std::size_t behind_bracket(const std::vector<Field>& fields, std::string_view text, std::size_t k) {
  if (text[k] != '(' || fields.empty() || fields.back().type != Field::Type::equals) return 0;
  int depth = 0;
  for (std::size_t at = k; at < text.size(); ++at) {
    depth += (text[at] == '(') - (text[at] == ')');
    if (depth == 1 && text[at] == ',') return 0;
    if (depth == 0) return at + 1 == text.size() || is_blank(text[at + 1]) ? at + 1 : 0;
  }
  return 0;
}

}  // namespace

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<Field> fields_of(const Card& card) {
  const std::string_view text = card.text;
  std::vector<Field> fields;
  for (std::size_t k = 0; k < text.size();) {
    const char c = text[k];
    if (is_blank(c)) {
      ++k;
    } else if (c == '{' || c == '\'' || c == '"') {
      const std::size_t end = closing(text, k, card.place);
      fields.push_back({Field::Type::expression, std::string(text.substr(k + 1, end - k - 2))});
      k = end;
    } else if (const std::size_t end = behind_bracket(fields, text, k)) {  // r = (1k * 2)
      fields.push_back({Field::Type::expression, std::string(text.substr(k, end - k))});
      k = end;
    } else if (c == '(' || c == ')' || c == '=') {
      fields.push_back({c == '('   ? Field::Type::open
                        : c == ')' ? Field::Type::close
                                   : Field::Type::equals,
                        std::string(1, c)});
      ++k;
    } else {
      const std::size_t end = text.find_first_of(" \t,(){}='\"", k);
      fields.push_back(
          {Field::Type::word, std::string(text.substr(k, end == std::string_view::npos ? end : end - k))});
      if (end == std::string_view::npos) break;
      // A closing brace without its opening one would otherwise never be passed.
      k = text[end] == '}' ? throw netlist_fault(card.place, "T502", "a '}' is not opened") : end;
    }
  }
  return fields;
}

std::vector<KeyValue> assignments_of(std::string_view text, const Place& place) {
  // Where a name stands before a single `=`, outside brackets and quotes.
  struct Start {
    std::size_t name, value;
  };
  std::vector<Start> starts;
  for (std::size_t k = 0; k < text.size();) {
    const char c = text[k];
    if (c == '{' || c == '(' || c == '\'' || c == '"') {
      k = closing(text, k, place);
      continue;
    }
    const bool single = c == '=' && (k + 1 >= text.size() || text[k + 1] != '=') &&
                        (k == 0 || std::string_view("=<>!").find(text[k - 1]) == std::string_view::npos);
    if (single) {
      std::size_t end = k;
      while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
      std::size_t name = end;
      // f(a, b) = ... of a function
      if (name > 0 && text[name - 1] == ')') name = text.rfind('(', name - 1);
      if (name == std::string_view::npos) name = end;
      while (name > 0 && is_word(text[name - 1])) --name;
      if (name == end) throw netlist_fault(place, "T502", "there is no name before '='");
      starts.push_back({name, k + 1});
    }
    ++k;
  }
  const auto trimmed = [](std::string_view t) {
    while (!t.empty() && is_blank(t.front())) t.remove_prefix(1);
    while (!t.empty() && is_blank(t.back())) t.remove_suffix(1);
    return t;
  };
  const std::string_view before = trimmed(text.substr(0, starts.empty() ? text.size() : starts[0].name));
  if (!before.empty())
    throw netlist_fault(place, "T502", fmt::format("'{}' is not a name and a value", before),
                        {"it is written name=value"});
  std::vector<KeyValue> found;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const std::size_t end = k + 1 < starts.size() ? starts[k + 1].name : text.size();
    const std::string name(trimmed(text.substr(starts[k].name, starts[k].value - 1 - starts[k].name)));
    const std::string value(trimmed(text.substr(starts[k].value, end - starts[k].value)));
    if (value.empty()) throw netlist_fault(place, "T502", fmt::format("'{}' has no value", name));
    found.push_back({name, value});
  }
  return found;
}

std::vector<KeyValue> take_assignments(std::vector<Field>& fields) {
  std::vector<KeyValue> found;
  while (fields.size() >= 3 && fields.back().is_value() &&
         fields[fields.size() - 2].type == Field::Type::equals &&
         fields[fields.size() - 3].type == Field::Type::word) {
    found.push_back({fields[fields.size() - 3].text, fields.back().text});
    fields.resize(fields.size() - 3);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace tellegen
