// Whether a page is well formed and needs nothing from outside.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

// Empty where each element is closed in its turn; otherwise what is wrong.
inline std::string tag_fault(std::string_view html) {
  constexpr std::array<std::string_view, 4> empty{"meta", "br", "hr", "!doctype"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at)) {
    std::size_t end = at + 1;
    char quote = 0;
    while (end < html.size() && (quote != 0 || html[end] != '>')) {
      if (quote != 0 && html[end] == '<') return "a bare < in an attribute";
      if (html[end] == '"') quote = quote == 0 ? '"' : 0;
      ++end;
    }
    if (end == html.size()) return "a tag without an end";
    const std::string_view tag = html.substr(at + 1, end - at - 1);
    const bool closes = tag.starts_with('/');
    const std::string_view rest = tag.substr(closes ? 1 : 0);
    const std::string name(rest.substr(0, rest.find_first_of(" /\n")));
    if (closes) {
      if (open.empty() || open.back() != name)
        return "</" + name + "> closes " + (open.empty() ? "nothing" : "<" + open.back() + ">");
      open.pop_back();
    } else if (!tag.ends_with('/') && std::find(empty.begin(), empty.end(), name) == empty.end()) {
      open.push_back(name);
    }
    at = end + 1;
    if (name == "style" && !closes) at = html.find("</style>", at);
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

// What would be fetched from somewhere; empty: nothing.
inline std::string outside_reference(std::string_view html) {
  for (const char* mark :
       {"http:", "https:", "//", "<script", "<link", "<img", "<iframe", "@import", "url(", "src="})
    if (html.find(mark) != std::string_view::npos) return mark;
  return "";
}

}  // namespace tellegen
