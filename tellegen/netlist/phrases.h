// Cards that are made of keywords and expressions: .measure, .four, .step.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/fault.h"

namespace tellegen {

// Words between blanks and commas; "=" is a word; what is in brackets or quotes belongs to its word.
std::vector<std::string> words_of_phrase(std::string_view text, const Place& place);

// A keyword and what stands behind it, up to the next one: `val=0.5`, `when v(a) = v(b)`, `param 2*x`. What
// follows a "=" at once is no keyword.
struct Phrase {
  std::string keyword, left, right;  // left and right of a "="
  const std::string& value() const { return right.empty() ? left : right; }
};
std::vector<Phrase> phrases_of(std::span<const std::string> words,
                               std::span<const std::string_view> keywords);

}  // namespace tellegen
