#include "tellegen/data/number_cell.h"

#include <algorithm>
#include <string>

#include "tellegen/data/number_text.h"

namespace tellegen {
namespace {

bool is_digit_sign(char c) { return c >= '0' && c <= '9'; }

bool is_whole_number(std::string_view cell, char decimal, double& value) {
  const char* const end = cell.data() + cell.size();
  return !cell.empty() && parse_number(cell.data(), end, decimal, value) == end;
}

// The signs between thousands, with this decimal sign; 0 where the cell is not written so.
int groups_in(std::string_view cell, char decimal, char between) {
  std::size_t at = cell.starts_with('-') || cell.starts_with('+') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < cell.size() && is_digit_sign(cell[at])) ++at;
    return at - from;
  };
  if (at >= cell.size() || cell[at] == '0') return 0;
  if (const std::size_t first = digits(); first < 1 || first > 3) return 0;
  int groups = 0;
  for (; at < cell.size() && cell[at] == between; ++groups) {
    ++at;
    if (digits() != 3) return 0;
  }
  if (at < cell.size() && cell[at] == decimal) ++at, digits();
  return at == cell.size() ? groups : 0;
}

constexpr char other_sign(char decimal) { return decimal == '.' ? ',' : '.'; }

std::string without(std::string_view cell, char sign) {
  std::string text;
  for (char c : cell)
    if (c != sign) text += c;
  return text;
}

}  // namespace

Grouping grouping_of(std::string_view cell, char decimal) {
  if (decimal == 0) return std::max(grouping_of(cell, '.'), grouping_of(cell, ','));
  if (groups_in(cell, decimal, '\'') > 0) return Grouping::certain;
  const int groups = groups_in(cell, decimal, other_sign(decimal));
  if (groups == 0) return Grouping::none;
  return groups > 1 || cell.find(decimal) != cell.npos ? Grouping::certain : Grouping::either;
}

bool read_number(std::string_view cell, const NumberStyle& style, double& value) {
  if (is_whole_number(cell, style.decimal, value)) return true;
  if (cell.size() < 3) return false;
  if ((cell[0] == '+' || cell[0] == '-') && cell[1] == ' ') {
    const std::string_view rest = cell.substr(cell.find_first_not_of(' ', 1));
    if (!is_digit_sign(rest[0]) || !read_number(rest, style, value)) return false;
    if (cell[0] == '-') value = -value;
    return true;
  }
  const char decimals[] = {style.decimal == 0 ? '.' : style.decimal,
                           style.decimal == 0 ? ',' : style.decimal};
  for (char decimal : decimals) {
    const Grouping grouping = grouping_of(cell, decimal);
    if (grouping == Grouping::none || (grouping == Grouping::either && !style.groups)) continue;
    return is_whole_number(without(without(cell, other_sign(decimal)), '\''), decimal, value);
  }
  return false;
}

std::string_view unit_behind(std::string_view cell, const NumberStyle& style) {
  const std::size_t blank = cell.rfind(' ');
  double value = 0.0;
  if (blank == cell.npos || blank == 0 || blank + 1 == cell.size() || is_digit_sign(cell[blank + 1]))
    return {};
  std::string_view number = cell.substr(0, blank);
  while (number.ends_with(' ')) number.remove_suffix(1);
  return read_number(number, style, value) ? cell.substr(blank + 1) : std::string_view();
}

}  // namespace tellegen
