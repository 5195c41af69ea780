#include "tellegen/results/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tellegen {
namespace {

std::size_t width_of(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

bool reads_as_number(const std::string& text) {
  if (text.empty() || text == "-") return true;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() || (end != text.c_str() && std::string(end) == " %");
}

struct Layout {
  std::vector<std::size_t> width;
  std::vector<char> right;
};

const std::string& cell(const std::vector<std::string>& row, std::size_t c) {
  static const std::string empty;
  return c < row.size() ? row[c] : empty;
}

Layout layout_of(const TextTable& table) {
  std::size_t columns = table.header.size();
  for (const auto& row : table.rows) columns = std::max(columns, row.size());
  Layout layout{std::vector<std::size_t>(columns, 0), std::vector<char>(columns, 0)};
  for (std::size_t c = 0; c < columns; ++c) {
    layout.width[c] = width_of(cell(table.header, c));
    bool numbers = true, any = false;
    for (const auto& row : table.rows) {
      layout.width[c] = std::max(layout.width[c], width_of(cell(row, c)));
      numbers &= reads_as_number(cell(row, c));
      any |= !cell(row, c).empty();
    }
    layout.right[c] = numbers && any;
  }
  return layout;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - width_of(text), ' ');
  return right ? space + text : text + space;
}

std::string line(const std::vector<std::string>& row, const Layout& layout) {
  std::string text;
  for (std::size_t c = 0; c < layout.width.size(); ++c)
    text += (c == 0 ? "" : "   ") + padded(cell(row, c), layout.width[c], layout.right[c]);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace

std::string to_text(const TextTable& table) {
  const Layout layout = layout_of(table);
  std::string text;
  if (!table.header.empty()) text += line(table.header, layout);
  for (const auto& row : table.rows) text += line(row, layout);
  return text;
}

std::string to_markdown(const TextTable& table) {
  const Layout layout = layout_of(table);
  auto bar_line = [&](const std::vector<std::string>& row) {
    std::string text = "|";
    for (std::size_t c = 0; c < layout.width.size(); ++c)
      text += " " + padded(cell(row, c), layout.width[c], layout.right[c]) + " |";
    return text + "\n";
  };
  std::string text = bar_line(table.header) + "|";
  for (std::size_t c = 0; c < layout.width.size(); ++c)
    text += " " + std::string(std::max<std::size_t>(layout.width[c], 3) - 1, '-') +
            (layout.right[c] ? ":" : "-") + " |";
  text += "\n";
  for (const auto& row : table.rows) text += bar_line(row);
  return text;
}

std::string brief_number(double value, int digits) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}g}", value, digits);
}

}  // namespace tellegen
