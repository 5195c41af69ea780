#include "tellegen/data/csv_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "tellegen/data/number_cell.h"
#include "tellegen/data/time_text.h"

namespace tellegen {
namespace {

constexpr std::size_t most_lines = 400;    // that are looked at
constexpr std::size_t most_sampled = 100;  // rows that are looked at for their times

std::string_view without_blanks(std::string_view s) {
  const std::size_t first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

struct Line {
  int number = 0;
  std::string text;
  bool comment = false;
};

// Lines with something in them; a quoted cell may hold line ends.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  int number = 1;
  for (std::size_t at = 0; at < text.size() && lines.size() < most_lines;) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    int ends = 1;
    const std::string_view first = without_blanks(text.substr(at, end - at));
    const bool comment = first.starts_with('#');
    while (!comment && end < text.size() &&
           std::count(text.begin() + static_cast<long>(at), text.begin() + static_cast<long>(end), '"') % 2 !=
               0) {
      end = std::min(text.find('\n', end + 1), text.size());
      ++ends;
    }
    if (!first.empty()) lines.push_back({number, std::string(text.substr(at, end - at)), comment});
    number += ends;
    at = end + 1;
  }
  return lines;
}

enum class CellKind { empty, number, time, text };

std::ptrdiff_t digits_of(const std::string& cell) {
  return std::count_if(cell.begin(), cell.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Reading {  // of cells
  NumberStyle style;
  const TableOptions& options;
};

CellKind kind_of(const std::string& cell, const Reading& reading) {
  if (is_missing(cell, reading.options.missing)) return CellKind::empty;
  double value = 0.0;
  if (read_number(cell, reading.style, value)) return CellKind::number;
  if (digits_of(cell) == 0) return CellKind::text;
  if (cell.size() >= 4 && cell.size() <= 40 && !time_patterns({cell}).empty()) return CellKind::time;
  if (const std::string_view unit = unit_behind(cell, reading.style);
      !unit.empty() && reading.options.is_unit && reading.options.is_unit(unit))
    return CellKind::number;
  return CellKind::text;
}

struct Cut {
  char delimiter = ',';
  NumberStyle style;
  std::vector<std::vector<std::string>> cells;
  std::vector<std::vector<CellKind>> kinds;
  std::size_t width = 0;
  double score = 0.0;
};

// Signs between thousands say which the decimal sign is.
NumberStyle style_of(const std::vector<std::vector<std::string>>& rows, char decimal,
                     const TableOptions& options) {
  NumberStyle style{decimal, !options.decimal.empty()};
  for (const auto& cells : rows)
    for (const std::string& cell : cells)
      for (char sign : {'.', ','})
        if ((style.decimal == 0 || style.decimal == sign) && grouping_of(cell, sign) == Grouping::certain)
          style = {sign, true};
  return style;
}

// How well the lines look when they are cut so.
Cut cut_all(const std::vector<Line>& lines, char delimiter, char decimal, const TableOptions& options) {
  Cut cut{delimiter, {decimal, false}, {}, {}, 0, 0.0};
  std::map<std::size_t, double> weights;
  for (const Line& line : lines)
    cut.cells.push_back(line.comment ? std::vector<std::string>{} : cut_cells(line.text, delimiter));
  cut.style = style_of(cut.cells, decimal, options);
  for (const auto& cells : cut.cells) {
    auto& kinds = cut.kinds.emplace_back();
    double good = 0.0;
    for (const std::string& cell : cells) {
      kinds.push_back(kind_of(cell, {cut.style, options}));
      good += kinds.back() == CellKind::number || kinds.back() == CellKind::time ? 1.0
              : kinds.back() == CellKind::empty                                  ? 0.5
                                                                                 : 0.0;
    }
    if (kinds.size() < 2) continue;
    if (cells.back().empty()) good += 0.5;  // a sign at the end of each line says nothing
    const double part = good / static_cast<double>(kinds.size());
    weights[kinds.size()] += part * part;
  }
  for (const auto& [width, weight] : weights)
    if (weight > cut.score) cut.score = weight, cut.width = width;
  return cut;
}

char delimiter_of(const std::string& text) {
  if (text == "tab" || text == "\\t" || text == "\t") return '\t';
  if (text == "space" || text == "blank" || text == " ") return ' ';
  if (text.size() == 1) return text[0];
  throw TableError({{0,
                     "T590",
                     fmt::format("'{}' cannot separate cells", text),
                     {"--delimiter is one sign: ',', ';', '|', or tab, space"},
                     ""}});
}

std::string without_brackets(std::string text) {
  if (text.size() >= 2 &&
      ((text.front() == '[' && text.back() == ']') || (text.front() == '(' && text.back() == ')')))
    return text.substr(1, text.size() - 2);
  return text;
}

// Of the cells at least two, and half, are units.
bool is_units_row(const std::vector<std::string>& cells, const TableOptions& options) {
  int units = 0, others = 0;
  for (const std::string& cell : cells) {
    if (cell.empty()) continue;
    const std::string unit = without_brackets(cell);
    const bool bracketed = unit.size() != cell.size();
    ++(bracketed || unit == "-" || (options.is_unit && options.is_unit(unit)) ? units : others);
  }
  return units > others || (units >= 2 && units == others);
}

class Recogniser {
 public:
  Recogniser(std::string_view text, const TableOptions& options)
      : options_(options), lines_(lines_of(text)) {}

  CsvFormat run() {
    skip_marked_header();
    choose_delimiter();
    allow_short_rows();
    find_first_row();
    find_header();
    if (!units_.empty() && format_.units.empty()) take_marked_units();
    sample();
    return std::move(format_);
  }

 private:
  // LabVIEW (.lvm) marks where its headers end, and has a line of units in the last one.
  void skip_marked_header() {
    std::size_t behind = 0;
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      if (lines_[k].text.starts_with("***End_of_Header***")) behind = k + 1;
    }
    for (std::size_t k = 0; k < behind; ++k) {
      const std::string& text = lines_[k].text;
      if (text.starts_with("Y_Unit_Label")) units_ = cut_cells(text, '\t');
      if (text.starts_with("Separator")) separator_ = text.find("Comma") != std::string::npos ? "," : "tab";
    }
    marked_ = behind > 0;
    lines_.erase(lines_.begin(), lines_.begin() + static_cast<long>(behind));
    format_.skipped += static_cast<int>(behind);
  }

  // Where the first column has the times, the label is theirs.
  void take_marked_units() {
    units_[0] = "s";
    for (std::string& unit : units_)
      if (options_.is_unit && !options_.is_unit(unit)) unit.clear();
    units_.resize(format_.names.size());
    format_.units = units_;
  }

  // Lascar's loggers write alarms and a serial number in the first row only.
  void allow_short_rows() {
    if (lines_.size() < 3 || cut_.width < 2 || lines_[0].comment) return;
    const std::size_t width = cut_.cells[0].size();
    const auto& names = cut_.kinds[0];
    if (width <= cut_.width || cut_.cells[1].size() != width || cut_.cells[2].size() != cut_.width ||
        !std::all_of(names.begin(), names.end(), [](CellKind kind) { return kind == CellKind::text; }))
      return;
    cut_.width = width;
    format_.short_rows = true;
  }

  void choose_delimiter() {
    std::vector<std::pair<char, char>> candidates{{',', '.'}, {',', ','}, {';', 0},
                                                  {'\t', 0},  {'|', 0},   {' ', 0}};
    std::string given = options_.delimiter.empty() ? separator_ : options_.delimiter;
    // Excel writes and reads this line.
    if (!lines_.empty() && lines_[0].text.size() >= 5 && lines_[0].text.starts_with("sep=")) {
      if (given.empty()) given = lines_[0].text.substr(4, 1);
      lines_.erase(lines_.begin());
      ++format_.skipped;
    }
    if (!given.empty()) {
      const char sign = delimiter_of(given);
      candidates = sign == ',' ? std::vector<std::pair<char, char>>{{',', '.'}, {',', ','}}
                               : std::vector<std::pair<char, char>>{{sign, 0}};
    }
    if (!options_.decimal.empty())
      for (auto& candidate : candidates) candidate.second = options_.decimal[0];
    for (const auto& [delimiter, decimal] : candidates) {
      Cut cut = cut_all(lines_, delimiter, decimal, options_);
      // A blank is in dates and texts too: it must be much better than a sign that is nowhere else.
      const double handicap = delimiter == ' ' ? 1.6 : 1.0;
      if (cut.score > handicap * cut_.score || cut_.cells.empty()) cut_ = std::move(cut);
    }
    // Nothing but a header: the sign that cuts it.
    if (cut_.score == 0.0 && !lines_.empty()) {
      std::size_t most = 0;
      for (const auto& [delimiter, decimal] : candidates)
        if (delimiter != ' ' || given == "space") {
          Cut cut = cut_all(lines_, delimiter, decimal, options_);
          std::size_t width = 0;
          for (const auto& cells : cut.cells) width = std::max(width, cells.size());
          cut.width = width;
          if (width > most) most = width, cut_ = std::move(cut);
        }
    }
    format_.delimiter = cut_.delimiter;
    format_.groups = cut_.style.groups;
    choose_decimal();
    for (const Line& line : lines_)
      format_.quotes = format_.quotes || line.text.find('"') != std::string::npos;
  }

  void choose_decimal() {
    format_.decimal = cut_.style.decimal;
    bool point = false, comma = false, doubt = true;
    std::pair<int, std::string> first;  // line and cell of a comma
    for (std::size_t k = 0; k < cut_.cells.size(); ++k)
      for (std::size_t c = 0; c < cut_.cells[k].size(); ++c) {
        if (cut_.kinds[k][c] != CellKind::number) continue;
        const std::string& cell = cut_.cells[k][c];
        const bool has_comma = cell.find(',') != std::string::npos;
        point = point || cell.find('.') != std::string::npos;
        comma = comma || has_comma;
        if (has_comma && first.second.empty()) first = {lines_[k].number, cell};
        // 0,123 and 1234 have no sign between thousands.
        if (has_comma ? grouping_of(cell, '.') != Grouping::either : digits_of(cell) > 3) doubt = false;
      }
    if (format_.decimal == 0 && point != comma) format_.decimal = point ? '.' : ',';
    // Where a semicolon separates cells the comma is the decimal sign: that is why.
    if (doubt && comma && !point && format_.decimal == ',' && options_.decimal.empty() &&
        format_.delimiter != ';') {
      std::string whole = first.second;
      whole.erase(whole.find(','), 1);
      throw TableError(
          {{first.first,
            "T594",
            fmt::format("'{}' may be {} or {}", first.second, whole,
                        std::string(first.second).replace(first.second.find(','), 1, ".")),
            {"every comma has three digits behind it",
             "--decimal \".\": the comma separates thousands; --decimal \",\": it is the decimal sign"},
            ""}});
    }
  }

  std::size_t width_of(std::size_t k) const {
    const auto& cells = cut_.cells[k];
    return cells.size() == cut_.width + 1 && cells.back().empty() ? cut_.width : cells.size();
  }

  // The first line that looks as most do: numbers and times where they have them.
  void find_first_row() {
    std::vector<int> numeric(cut_.width, 0), text(cut_.width, 0);
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      if (cut_.cells[k].size() != cut_.width) continue;
      for (std::size_t c = 0; c < cut_.width; ++c) {
        numeric[c] += cut_.kinds[k][c] == CellKind::number || cut_.kinds[k][c] == CellKind::time;
        text[c] += cut_.kinds[k][c] == CellKind::text;
      }
    }
    const int header = std::max(std::abs(options_.header_line), std::max(0, options_.units_line));
    first_ = lines_.size();
    for (std::size_t k = 0; k < lines_.size() && first_ == lines_.size(); ++k) {
      if (cut_.cells[k].size() != cut_.width || cut_.width == 0) continue;
      if (format_.short_rows && k == 0) continue;
      if (options_.header_line > 0 && lines_[k].number <= header) continue;
      bool row = false, all_numbers = true;
      for (std::size_t c = 0; c < cut_.width; ++c) {
        const CellKind kind = cut_.kinds[k][c];
        row = row || kind == CellKind::number || kind == CellKind::time;
        if (kind == CellKind::text && numeric[c] > 2 * text[c]) all_numbers = false;
        // A name above one row only.
        if (kind == CellKind::text && numeric[c] == text[c] && numeric[c] <= 2) all_numbers = false;
      }
      if (row && all_numbers && !is_followed_by_text(k)) first_ = k;
    }
    if (first_ < lines_.size()) format_.first_row = lines_[first_].number;
  }

  // A line of texts right behind: names, so this one is about something else (Campbell's serial number).
  bool is_followed_by_text(std::size_t k) const {
    if (k + 2 >= lines_.size() || lines_[k + 1].comment || cut_.cells[k + 1].size() != cut_.width)
      return false;
    const auto& kinds = cut_.kinds[k + 1];
    return std::all_of(kinds.begin(), kinds.end(), [](CellKind kind) { return kind == CellKind::text; });
  }

  bool is_text_row(std::size_t k) const {
    if (lines_[k].comment || width_of(k) + 1 < cut_.width) return false;
    // LabVIEW names a column of comments that the rows do not have.
    const std::size_t most = cut_.width + (marked_ && cut_.cells[k].back() == "Comment" ? 1 : 0);
    if (width_of(k) > most) return false;
    // One cell less: the rows end with a sign too many.
    if (width_of(k) + 1 == cut_.width && first_ < lines_.size() && !cut_.cells[first_].back().empty())
      return false;
    return std::any_of(cut_.kinds[k].begin(), cut_.kinds[k].end(),
                       [](CellKind kind) { return kind == CellKind::text; });
  }

  void find_header() {
    if (options_.header_line > 0) {
      for (std::size_t k = 0; k < lines_.size(); ++k)
        if (lines_[k].number == options_.header_line) take_header(k);
      if (format_.header_line == 0)
        throw TableError({{options_.header_line, "T590", "this line has no names of columns", {}, ""}});
      return;
    }
    if (options_.header_line < 0) return number_columns();
    std::vector<std::size_t> rows;  // of text, the nearest first
    for (std::size_t k = first_; k-- > 0;) {
      if (lines_[k].comment) continue;
      if (!is_text_row(k)) break;
      rows.push_back(k);
    }
    if (first_ == lines_.size()) {  // no numbers: the first line that is as wide as any
      std::vector<std::size_t> wide;
      for (std::size_t k : rows)
        if (width_of(k) == cut_.width) wide.push_back(k);
      if (!wide.empty()) rows.assign(1, wide.back());
    }
    if (rows.empty()) return commented_header();
    std::size_t chosen = rows[0];
    // Units stand next to the numbers, or but one; what is farther up is about something else.
    for (std::size_t k = 0; k < 2 && k + 1 < rows.size(); ++k)
      if (is_units_row(cut_.cells[rows[k]], options_) && has_names_for(rows[k + 1], rows[k])) {
        chosen = rows[k + 1];
        take_units(rows[k]);
        break;
      }
    if (format_.units.empty()) find_named_units(chosen);
    take_header(chosen);
  }

  // Tektronix: a line that says of itself that it has units, among those above the names. It has none for the
  // time.
  void find_named_units(std::size_t names) {
    for (std::size_t k = 0; k < names; ++k) {
      const std::vector<std::string>& cells = cut_.cells[k];
      if (lines_[k].comment || cells.size() < 2 || cells.size() != cut_.cells[names].size() ||
          (cells[0] != "Vertical Units" && cells[0] != "Units"))
        continue;
      const std::vector<std::string> rest(cells.begin() + 1, cells.end());
      if (!is_units_row(rest, options_)) continue;
      take_units(k);
      if (!format_.units.empty()) format_.units[0].clear();
    }
  }

  // Nearly every unit has a name above it; "Labels,,,," are none.
  bool has_names_for(std::size_t names, std::size_t units) const {
    const auto filled = [&](std::size_t k) {
      return std::count_if(cut_.cells[k].begin(), cut_.cells[k].end(),
                           [](const std::string& cell) { return !cell.empty(); });
    };
    return 2 * filled(names) >= filled(units);
  }

  void take_header(std::size_t k) {
    std::string text = lines_[k].text;
    if (lines_[k].comment) {
      text.erase(0, text.find('#') + 1);
      format_.commented_header = true;
    }
    format_.names = cut_cells(text, format_.delimiter);
    format_.names.resize(std::max<std::size_t>(cut_.width, 1));
    format_.header_line = lines_[k].number;
    format_.skipped += static_cast<int>(k);
    if (options_.units_line > 0)
      for (std::size_t u = 0; u < lines_.size(); ++u)
        if (lines_[u].number == options_.units_line) take_units(u);
    // Rows that end with a sign too many have a column without a name.
    if (format_.names.size() > 1 && format_.names.back().empty() &&
        std::all_of(
            cut_.cells.begin() + static_cast<long>(std::min(first_, cut_.cells.size())), cut_.cells.end(),
            [&](const auto& cells) { return cells.size() < cut_.width || cells[cut_.width - 1].empty(); })) {
      format_.names.pop_back();
      if (format_.units.size() > format_.names.size()) format_.units.pop_back();
    }
  }

  void take_units(std::size_t k) {
    if (options_.units_line < 0) return;
    format_.units.clear();
    for (const std::string& cell : cut_.cells[k]) {
      const std::string unit = without_brackets(cell);
      format_.units.push_back(unit == "-" ? "" : unit);
    }
    format_.units.resize(cut_.width);
    format_.units_line = lines_[k].number;
  }

  // "# t, x" as numerical programs write it.
  void commented_header() {
    for (std::size_t k = first_; k-- > 0;) {
      if (!lines_[k].comment) break;
      const std::string text = lines_[k].text.substr(lines_[k].text.find('#') + 1);
      if (cut_cells(text, format_.delimiter).size() == cut_.width) return take_header(k);
    }
    number_columns();
  }

  void number_columns() {
    format_.skipped = 0;
    for (std::size_t c = 0; c < cut_.width; ++c) format_.names.push_back(fmt::format("{}", c + 1));
  }

  void sample() {
    format_.sample.resize(format_.names.size());
    std::size_t rows = 0;
    for (std::size_t k = first_; k < lines_.size() && rows < most_sampled; ++k) {
      if (cut_.cells[k].size() < format_.names.size() && !format_.short_rows) continue;
      cut_.cells[k].resize(std::max(cut_.cells[k].size(), format_.names.size()));
      ++rows;
      for (std::size_t c = 0; c < format_.names.size(); ++c) format_.sample[c].push_back(cut_.cells[k][c]);
    }
    find_cell_units();
  }

  // A unit that stands behind every number of a column.
  void find_cell_units() {
    const NumberStyle style{format_.decimal, format_.groups};
    format_.cell_units.resize(format_.names.size());
    for (std::size_t c = 0; c < format_.names.size(); ++c)
      for (const std::string& cell : format_.sample[c]) {
        if (is_missing(cell, options_.missing)) continue;
        const std::string_view unit = unit_behind(cell, style);
        if (!unit.empty() && options_.is_unit && options_.is_unit(unit) && time_patterns({cell}).empty())
          format_.cell_units[c] = unit;
        break;
      }
  }

  const TableOptions& options_;
  std::vector<Line> lines_;
  std::vector<std::string> units_;  // of a marked header ...
  std::string separator_;           // ... and what it says of cells
  bool marked_ = false;
  Cut cut_;
  std::size_t first_ = 0;  // line of the first row
  CsvFormat format_;
};

}  // namespace

std::vector<std::string> cut_cells(std::string_view line, char delimiter) {
  std::vector<std::string> cells;
  const bool blanks = delimiter == ' ';
  if (delimiter != '\t') line = without_blanks(line);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  std::size_t at = 0;
  for (bool more = true; more;) {
    while (at < line.size() && (line[at] == ' ' || (line[at] == '\t' && delimiter != '\t'))) ++at;
    std::string cell;
    if (at < line.size() && line[at] == '"') {
      for (++at; at < line.size(); ++at) {
        if (line[at] == '"') {
          if (at + 1 >= line.size() || line[at + 1] != '"') break;
          ++at;
        }
        cell += line[at];
      }
      ++at;
      const std::size_t end = std::min(line.find(delimiter, std::min(at, line.size())), line.size());
      at = end;
    } else {
      const std::size_t end =
          std::min(blanks ? line.find_first_of(" \t", at) : line.find(delimiter, at), line.size());
      cell = line.substr(at, end - at);
      at = end;
    }
    cells.emplace_back(without_blanks(cell));
    if (blanks)
      while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    more = at < line.size();
    if (more && !blanks) ++at;
  }
  return cells;
}

bool is_missing(std::string_view cell, std::string_view also) {
  if (cell.empty()) return true;
  if (cell.size() > 12 && cell != also) return false;
  std::string lower(cell);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  static constexpr std::string_view known[] = {
      "nan",       "na",     "n/a",      "#n/a",      "null",    "none",    "-",        "--",          "---",
      "----",      "nodata", "no data",  "#num!",     "#value!", "#div/0!", "overload", "over",        "ol",
      "overrange", "open",   "error",    "err",       "invalid", "1.#qnan", "1.#ind",   "-1.#ind",     "?",
      "*",         "-nan",   "nan(ind)", "-nan(ind)", "+over",   "-over",   "bad",      "\xe2\x80\x94"};
  return (!also.empty() && cell == also && also != "none") ||
         std::find(std::begin(known), std::end(known), lower) != std::end(known);
}

std::string delimiter_words(char delimiter) {
  if (delimiter == '\t') return "tabs";
  if (delimiter == ' ') return "blanks";
  return fmt::format("'{}'", delimiter);
}

CsvFormat recognise_csv(std::string_view text, const TableOptions& options) {
  return Recogniser(text, options).run();
}

}  // namespace tellegen
