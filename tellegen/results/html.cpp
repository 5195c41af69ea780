#include "tellegen/results/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace tellegen {
namespace {

constexpr std::string_view generator = R"(<meta name="generator" content="tellegen">)";
constexpr std::string_view part_open = "<article data-tellegen=\"", part_close = "</article>";
constexpr std::string_view heading_open = "<h2>", heading_close = "</h2>";

// Okabe and Ito's colours, told apart with any colour vision; lighter ones on a dark ground.
constexpr std::string_view colours_style = R"(
:root { color-scheme: light dark;
  --ground: #ffffff; --card: #ffffff; --ink: #1c2024; --soft: #5b6470; --line: #d7dce1; --grid: #e8ebee; --accent: #0a5fa8;
  --c0: #0072b2; --c1: #c44e00; --c2: #00825f; --c3: #b04c86; --c4: #a86f00; --c5: #2f86bd; --truth: #1c2024; }
@media screen and (prefers-color-scheme: dark) { :root {
  --ground: #14171a; --card: #1b1f23; --ink: #e6e9ec; --soft: #9aa4ae; --line: #363d44; --grid: #2a3036; --accent: #6cb6f5;
  --c0: #56b4e9; --c1: #f08a4b; --c2: #3cc79d; --c3: #e09bc4; --c4: #e6b04a; --c5: #9fd3f5; --truth: #ffffff; } }
)";

// Figures are 480 units wide at any width of the screen; their letters are larger on a small one.
constexpr std::string_view svg_style = R"(
svg text { font: 11.5px system-ui, sans-serif; fill: var(--soft); }
svg .frame { fill: none; stroke: var(--soft); stroke-width: 1; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .thin { stroke-width: 0.8; }
svg .truth { stroke: var(--truth); stroke-dasharray: 7 5; stroke-width: 1.3; }
svg .level { stroke-dasharray: 4 3; stroke-width: 1.2; }
svg .band { stroke: none; opacity: 0.24; }
svg .s0 { stroke: var(--c0); } svg .s1 { stroke: var(--c1); } svg .s2 { stroke: var(--c2); }
svg .s3 { stroke: var(--c3); } svg .s4 { stroke: var(--c4); } svg .s5 { stroke: var(--c5); }
svg .f0 { fill: var(--c0); } svg .f1 { fill: var(--c1); } svg .f2 { fill: var(--c2); }
svg .f3 { fill: var(--c3); } svg .f4 { fill: var(--c4); } svg .f5 { fill: var(--c5); }
svg .wire { fill: none; stroke: var(--soft); stroke-width: 1.3; }
svg .node { fill: var(--card); stroke: var(--ink); stroke-width: 1.4; }
svg .part { fill: var(--card); stroke: var(--ink); stroke-width: 1.4; }
svg .unknown { stroke: var(--c1); stroke-width: 2; }
svg .plate { stroke: var(--ink); stroke-width: 2; fill: none; } svg .plate.unknown { stroke: var(--c1); }
svg .name { fill: var(--ink); } svg .name.unknown { fill: var(--c1); stroke: none; }
svg .badge { fill: var(--c0); } svg text.onbadge { fill: var(--card); font-weight: 600; }
)";

constexpr std::string_view page_style = R"(
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
header, main, footer { max-width: 1180px; margin: 0 auto; padding: 0 16px; }
header { padding-top: 28px; } h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 8px; text-wrap: balance; }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 0 0 6px; } h3 { font-size: 1.02rem; margin: 22px 0 6px; }
p { margin: 6px 0 10px; max-width: 76ch; } a { color: var(--accent); }
nav { font-size: 0.92rem; columns: 24ch auto; margin: 12px 0 4px; } nav a { display: block; padding: 2px 0; text-decoration: none; }
article { border-top: 1px solid var(--line); padding: 22px 0 10px; margin-top: 14px; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 10px 28px; align-items: start; }
.columns > * { min-width: 0; }
figure { margin: 10px 0 4px; max-width: 620px; } figure svg { display: block; width: 100%; height: auto; }
figure b { font-weight: 600; } figcaption { font-size: 0.88rem; color: var(--soft); line-height: 1.4; }
.figure-title { font-size: 0.95rem; font-weight: 600; margin: 0; }
.legend { display: flex; flex-wrap: wrap; gap: 1px 16px; font-size: 0.85rem; color: var(--soft); margin: 1px 0 2px; padding: 0; list-style: none; }
.legend svg { display: inline-block; width: 26px; height: 12px; vertical-align: -1px; margin-right: 5px; }
.scroll { overflow-x: auto; margin: 8px 0 12px; } table { border-collapse: collapse; font-size: 0.92rem; }
caption { text-align: left; font-weight: 600; padding: 2px 0 4px; white-space: normal; }
th, td { padding: 4px 12px 4px 0; text-align: left; border-bottom: 1px solid var(--grid); overflow-wrap: normal; vertical-align: top; }
th { color: var(--soft); font-weight: 600; border-bottom-color: var(--line); vertical-align: bottom; line-height: 1.25; }
.number { text-align: right; font-variant-numeric: tabular-nums; } td.number { white-space: nowrap; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--ground); } td:first-child { min-width: 5em; }
.wide td:first-child { min-width: 8.5em; }
ul { margin: 6px 0 10px; padding-left: 1.2em; } details { margin: 8px 0; } summary { cursor: pointer; color: var(--accent); }
.notice { border-left: 3px solid var(--c1); padding-left: 28px; max-width: 84ch; }
footer { color: var(--soft); font-size: 0.85rem; padding-top: 12px; padding-bottom: 32px; }
@media (max-width: 620px) { svg text { font-size: 15.5px; } svg text.small { font-size: 12.8px; } h1 { font-size: 1.4rem; }
  th, td { padding-right: 9px; } table { font-size: 0.86rem; } }
@media (max-width: 440px) { header, main, footer { padding-left: 12px; padding-right: 12px; } th, td { padding-right: 6px; } table { font-size: 0.78rem; }
  .stacked, .stacked caption, .stacked tbody, .stacked tr { display: block; } .stacked thead { display: none; }
  .stacked tr { border-bottom: 1px solid var(--line); padding: 5px 0; }
  .stacked td { display: flex; justify-content: space-between; gap: 16px; border: 0; padding: 1px 0; position: static; text-align: right; }
  .stacked td::before { content: attr(data-label); color: var(--soft); text-align: left; } .stacked td:empty { display: none; }
  .stacked td:first-child { font-weight: 600; } }
@media print { body { font-size: 12px; } h2, h3, .figure-title, caption, thead { break-after: avoid; } figure, tr { break-inside: avoid; }
  nav { display: none; } .scroll { overflow: visible; } table { font-size: 0.78rem; } th, td { padding-right: 7px; } th:first-child, td:first-child { position: static; }
  details::details-content { content-visibility: visible; block-size: auto; } .columns { grid-template-columns: 1fr 1fr; }
  .columns > :has(.stacked) { grid-column: 1 / -1; } }
)";

bool is_number(const std::string& cell) {
  if (cell.empty() || cell == "-") return true;
  char* end = nullptr;
  std::strtod(cell.c_str(), &end);
  if (end == cell.c_str()) return false;
  const std::string_view rest(end);
  return rest.empty() || rest == " %" || rest.starts_with(" ± ") || rest == " x";
}

// Whether a table is seen whole on a screen of 400 pixels: its letters are some 7.5 of these wide there, and
// words of the header and of texts may be on lines of their own.
bool fits_small_screen(const HtmlTable& table, std::size_t width) {
  const auto longest_word = [](std::string_view text) {
    std::size_t longest = 0, now = 0;
    for (const char c : text) {
      if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;  // the rest of a letter of several bytes
      now = c == ' ' ? 0 : now + 1;
      longest = std::max(longest, now);
    }
    return longest;
  };
  double pixels = 0.0;
  for (std::size_t c = 0; c < width; ++c) {
    std::size_t letters = c < table.header.size() ? longest_word(table.header[c]) : 0;
    for (const auto& row : table.rows)
      if (c < row.size())
        letters = std::max(letters, is_number(row[c]) ? row[c].size() : longest_word(row[c]));
    pixels += (c == 0 ? std::max(63.0, 7.5 * static_cast<double>(letters))  // min-width of names
                      : 7.5 * static_cast<double>(letters)) +
              6.0;
  }
  return pixels <= 376.0;
}

std::string unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    bool found = false;
    for (const auto& [entity, character] : {std::pair<std::string_view, char>{"&amp;", '&'},
                                            {"&lt;", '<'},
                                            {"&gt;", '>'},
                                            {"&quot;", '"'},
                                            {"&#39;", '\''}})
      if (text.starts_with(entity)) {
        plain += character;
        text.remove_prefix(entity.size());
        found = true;
        break;
      }
    if (found) continue;
    plain += text.front();
    text.remove_prefix(1);
  }
  return plain;
}

// What stands between two marks; the text is moved on behind the second.
std::optional<std::string_view> between(std::string_view& text, std::string_view open,
                                        std::string_view close) {
  const auto from = text.find(open);
  if (from == std::string_view::npos) return std::nullopt;
  const auto to = text.find(close, from + open.size());
  if (to == std::string_view::npos) return std::nullopt;
  const std::string_view inside = text.substr(from + open.size(), to - from - open.size());
  text.remove_prefix(to + close.size());
  return inside;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (char c : text) switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        // Control characters are not allowed in a page at all.
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') safe += c;
    }
  return safe;
}

std::string to_html(const HtmlTable& table) {
  std::size_t width = table.header.size();
  for (const auto& row : table.rows) width = std::max(width, row.size());
  std::vector<bool> numbers(width, true);
  for (const auto& row : table.rows)
    for (std::size_t c = 0; c < row.size(); ++c) numbers[c] = numbers[c] && is_number(row[c]);
  // A column of sentences is not squeezed to words by the many beside it.
  const bool names_wide = width > 6 && std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
                            return !row.empty() && row.front().size() > 16;
                          });
  const bool stacked = !fits_small_screen(table, width);
  const auto row_html = [&](const std::vector<std::string>& cells, const char* tag) {
    const bool labels = stacked && tag == std::string_view("td");
    std::string html = "<tr>";
    for (std::size_t c = 0; c < width; ++c)
      html += fmt::format("<{0}{1}{2}>{3}</{0}>", tag, numbers[c] ? " class=\"number\"" : "",
                          labels && c < table.header.size()
                              ? fmt::format(" data-label=\"{}\"", escaped(table.header[c]))
                              : "",
                          c < cells.size() ? escaped(cells[c]) : "");
    return html + "</tr>\n";
  };
  const std::string_view classes = names_wide && stacked ? " class=\"wide stacked\""
                                   : names_wide          ? " class=\"wide\""
                                   : stacked             ? " class=\"stacked\""
                                                         : "";
  std::string html = fmt::format("<div class=\"scroll\"><table{}>\n", classes);
  if (!table.caption.empty()) html += "<caption>" + escaped(table.caption) + "</caption>\n";
  if (!table.header.empty()) html += "<thead>" + row_html(table.header, "th") + "</thead>\n";
  html += "<tbody>\n";
  for (const auto& row : table.rows) html += row_html(row, "td");
  return html + "</tbody></table></div>\n";
}

std::string paragraph(std::string_view text) { return "<p>" + escaped(text) + "</p>\n"; }

std::string notices(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string html = "<ul class=\"notice\">\n";
  for (const std::string& line : lines) html += "<li>" + escaped(line) + "</li>\n";
  return html + "</ul>\n";
}

std::string subsection(std::string_view heading, const std::string& html) {
  return html.empty() ? "" : "<section>\n<h3>" + escaped(heading) + "</h3>\n" + html + "</section>\n";
}

std::string side_by_side(const std::vector<std::string>& html) {
  std::string all;
  for (const std::string& column : html)
    if (!column.empty()) all += "<div>\n" + column + "</div>\n";
  return all.empty() ? "" : "<div class=\"columns\">\n" + all + "</div>\n";
}

std::string folded(std::string_view summary, const std::string& html) {
  return html.empty() ? "" : "<details><summary>" + escaped(summary) + "</summary>\n" + html + "</details>\n";
}

std::string figure_style() { return std::string(colours_style) + std::string(svg_style); }

std::string to_html(const Page& page) {
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += fmt::format("{}\n<title>{}</title>\n<style>{}{}{}</style>\n</head>\n<body>\n", generator,
                      escaped(page.title), colours_style, svg_style, page_style);
  html += fmt::format("<header>\n<h1>{}</h1>\n<p class=\"introduction\">{}</p>\n", escaped(page.title),
                      escaped(page.introduction));
  if (page.parts.size() > 2) {
    html += "<nav>\n";
    for (std::size_t p = 0; p < page.parts.size(); ++p)
      html += fmt::format("<a href=\"#part{}\">{}</a>\n", p + 1, escaped(page.parts[p].title));
    html += "</nav>\n";
  }
  html += "</header>\n<main>\n";
  for (std::size_t p = 0; p < page.parts.size(); ++p)
    html += fmt::format("{}{}\" id=\"part{}\">\n{}{}{}\n{}{}\n", part_open, escaped(page.parts[p].data),
                        p + 1, heading_open, escaped(page.parts[p].title), heading_close, page.parts[p].html,
                        part_close);
  return html +
         "</main>\n<footer>Written by tellegen. This file needs nothing beside "
         "it.</footer>\n</body>\n</html>\n";
}

std::optional<Page> read_html(std::string_view text) {
  if (text.find(generator) == std::string_view::npos) return std::nullopt;
  Page page;
  if (const auto title = between(text, "<h1>", "</h1>")) page.title = unescaped(*title);
  if (const auto said = between(text, "<p class=\"introduction\">", "</p>"))
    page.introduction = unescaped(*said);
  while (const auto article = between(text, part_open, part_close)) {
    PagePart part;
    std::string_view rest = *article;
    const auto end = rest.find('"');
    if (end == std::string_view::npos) return std::nullopt;
    part.data = unescaped(rest.substr(0, end));
    const auto title = between(rest, heading_open, heading_close);
    if (!title) return std::nullopt;
    part.title = unescaped(*title);
    if (rest.starts_with("\n")) rest.remove_prefix(1);
    part.html = rest;
    page.parts.push_back(std::move(part));
  }
  return page;
}

}  // namespace tellegen
