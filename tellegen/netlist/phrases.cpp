#include "tellegen/netlist/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tellegen/netlist/faults.h"
#include "tellegen/netlist/fields.h"

namespace tellegen {
namespace {

bool is_gap(char c) { return c == ' ' || c == '\t' || c == ','; }

// Signs between which blanks do not end an expression: "v(a) - 3 * v(b)".
bool joins(char c) { return std::string_view("+-*/%^<>&|?:").find(c) != std::string_view::npos; }

// par('x') of ngspice and HSPICE is x, and so is "x".
std::string plain(std::string word) {
  for (auto at = word.find("par("); at != std::string::npos; at = word.find("par(", at + 1))
    if (at == 0 || (!std::isalnum(static_cast<unsigned char>(word[at - 1])) && word[at - 1] != '_'))
      word.erase(at, 3);
  if (word.size() > 1 && word.front() == '"' && word.back() == '"')
    word = "(" + word.substr(1, word.size() - 2) + ")";
  return word;
}

}  // namespace

std::vector<std::string> words_of_phrase(std::string_view text, const Place& place) {
  std::vector<std::string> words;
  std::string word;
  std::string open;  // what has to be closed, innermost last
  const auto finish = [&] {
    if (!word.empty()) words.push_back(plain(std::move(word)));
    word.clear();
  };
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (!open.empty()) {
      word += c;
      if (c == open.back())
        open.pop_back();
      else if (c == '(' || c == '{' || c == '[')
        open += c == '(' ? ')' : c == '{' ? '}' : ']';
      continue;
    }
    // max{v(a)}: a keyword; max(v(a)) may be a function.
    if (c == '{' && !word.empty() && std::isalnum(static_cast<unsigned char>(word.back()))) finish();
    if (c == '(' || c == '{' || c == '[' || c == '\'' || c == '"') {
      open += c == '(' ? ')' : c == '{' ? '}' : c == '[' ? ']' : c;
      word += c;
    } else if (is_gap(c)) {
      finish();
    } else if (c == '=') {
      const bool compares = (k + 1 < text.size() && text[k + 1] == '=') ||
                            (k > 0 && std::string_view("=<>!").find(text[k - 1]) != std::string_view::npos);
      if (compares) {
        word += c;
        continue;
      }
      finish();
      words.emplace_back("=");
    } else {
      word += c;
    }
  }
  if (!open.empty()) throw netlist_fault(place, "T502", fmt::format("a '{}' is missing", open.back()));
  finish();
  // A word that ends or begins with an operator goes on in the next one.
  std::vector<std::string> joined;
  for (std::string& w : words) {
    const bool together = !joined.empty() && joined.back() != "=" && w != "=" &&
                          (joins(joined.back().back()) || (joins(w.front()) && w.size() == 1) ||
                           (joins(w.front()) && w.front() != '-' && w.front() != '+'));
    if (together)
      joined.back() += " " + w;
    else
      joined.push_back(std::move(w));
  }
  return joined;
}

std::vector<Phrase> phrases_of(std::span<const std::string> words,
                               std::span<const std::string_view> keywords) {
  std::vector<Phrase> phrases;
  bool right = false, at_once = false;  // behind a "="; directly
  for (const std::string& word : words) {
    if (word == "=") {
      if (phrases.empty()) phrases.emplace_back();
      right = at_once = true;
      continue;
    }
    if (!at_once && is_one_of(word, keywords)) {
      phrases.push_back({word, "", ""});
      right = false;
    } else {
      if (phrases.empty()) phrases.emplace_back();
      std::string& side = right ? phrases.back().right : phrases.back().left;
      side += (side.empty() ? "" : " ") + word;
    }
    at_once = false;
  }
  return phrases;
}

}  // namespace tellegen
