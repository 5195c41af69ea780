#include "tellegen/model/csv_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tellegen/model/quantity_words.h"
#include "tellegen/model/units.h"

namespace tellegen {

double CsvColumn::si(double value) const { return unit.empty() ? value : units().to_si(value, unit); }

namespace {

// But for blanks and capitals.
std::string folded(std::string_view text) {
  std::string found;
  for (char c : text)
    if (c != ' ' && c != '\t') found += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return found;
}

std::string letters_of(std::string_view text) {
  std::string found;
  for (char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)))
      found += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return found;
}

std::string states_unit(const std::string& name, const std::string& column, const std::string& unit) {
  return fmt::format("--columns \"{}={} [{}]\" states the unit of the column", name, column, unit);
}

}  // namespace

double likeness(std::string_view a, std::string_view b) {
  const std::string x = letters_of(a), y = letters_of(b);
  if (x.empty() || y.empty()) return 0.0;
  std::vector<std::size_t> row(y.size() + 1, 0);
  for (char c : x) {
    std::size_t diagonal = 0;
    for (std::size_t k = 0; k < y.size(); ++k) {
      const std::size_t above = row[k + 1];
      row[k + 1] = c == y[k] ? diagonal + 1 : std::max(row[k + 1], row[k]);
      diagonal = above;
    }
  }
  return 2.0 * static_cast<double>(row.back()) / static_cast<double>(x.size() + y.size());
}

ModelError to_model_error(const TableError& error, const std::string& file) {
  std::vector<Fault> faults;
  for (const TableFault& fault : error.faults())
    faults.push_back(
        {{fault.file.empty() ? file : fault.file, fault.line}, fault.code, fault.message, fault.details});
  return ModelError(std::move(faults));
}

CsvHeader::Cell CsvHeader::cell(const TableColumn& column) {
  const std::string_view text = column.name;
  Cell cell{std::string(text), std::string(text), {}, false, {}, false};
  const auto name_before = [&](std::size_t at) {
    std::string_view name = text.substr(0, at);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
    return std::string(name);
  };
  for (const auto& [open, close] : {std::pair{'[', ']'}, {'(', ')'}}) {
    const std::size_t at = text.rfind(open);
    if (!text.ends_with(close) || at == std::string_view::npos || at == 0) continue;
    cell.name = name_before(at);
    cell.unit = std::string(text.substr(at + 1, text.size() - at - 2));
    cell.square = open == '[';
    break;
  }
  if (!column.unit.empty()) {
    cell.unit = column.unit;
    cell.square = true;
  }
  if (!cell.square) cell.cuts = name_and_unit(text);
  return cell;
}

CsvHeader::CsvHeader(const std::vector<TableColumn>& table, Place place, FaultList& faults, ColumnNames names)
    : place_(std::move(place)), faults_(faults), names_(std::move(names)) {
  for (const TableColumn& column : table) cells_.push_back(cell(column));
}

// The columns that a text names: as it stands, without its unit, or but for blanks and capitals.
std::vector<std::size_t> CsvHeader::matches(const std::string& column, const Wanted& wanted) const {
  const auto is = [&](const Cell& cell, int way) {
    const auto cut = [&](const NameAndUnit& c) {
      return folded(c.name) == folded(column) && judge(c, wanted.expected) == LooseUnit::unit;
    };
    return way == 0   ? cell.text == column
           : way == 1 ? cell.name == column
           : way == 2 ? folded(cell.text) == folded(column) || folded(cell.name) == folded(column)
                      : std::any_of(cell.cuts.begin(), cell.cuts.end(), cut);
  };
  std::vector<std::size_t> found;
  for (int way = 0; way < 4 && found.empty(); ++way)
    for (std::size_t k = 0; k < cells_.size(); ++k)
      if (is(cells_[k], way)) found.push_back(k);
  return found;
}

// The column that the user named, where it says so with its unit.
std::optional<CsvColumn> CsvHeader::named(const ColumnName& entry, const Wanted& wanted) {
  missing_ = false;
  std::string stated;
  std::vector<std::size_t> found = matches(entry.column, wanted);
  if (found.empty()) {
    const NameAndUnit said = stated_unit(entry.column);
    if (!said.unit.empty()) found = matches(said.name, wanted), stated = said.unit;
  }
  if (found.size() > 1) {
    faults_.add(place_, "T591", fmt::format("two columns '{}' for {}", entry.column, wanted.what),
                {fmt::format("columns {} and {}", found[0] + 1, found[1] + 1)});
    return std::nullopt;
  }
  const NameAndUnit numbered = stated_unit(entry.column);
  for (std::size_t k = 0; found.empty() && k < cells_.size(); ++k)
    if (numbered.name == std::to_string(k + 1)) found.push_back(k), stated = numbered.unit;
  if (found.size() == 1) return at(found[0], wanted, stated);
  std::vector<std::string> texts;
  for (const Cell& cell : cells_) texts.push_back(cell.text);
  faults_.add(place_, "T591", fmt::format("no column '{}' for {}", entry.column, wanted.what),
              {did_you_mean(entry.column, texts), "columns: " + joined(texts)});
  return std::nullopt;
}

std::optional<CsvColumn> CsvHeader::find(std::string_view name, const Wanted& wanted) {
  const auto& [unit, bare, what] = wanted;
  for (const ColumnName& entry : names_)
    if (entry.name == name) return named(entry, wanted);
  std::vector<CsvColumn> found;
  std::string wrong;  // T2_V where kelvins are expected
  const std::string behind = std::string(name) + "_";
  for (std::size_t k = 0; k < cells_.size(); ++k) {
    const Cell& cell = cells_[k];
    const int at = static_cast<int>(k);
    if (cell.text == name) {
      found.push_back({at, cell.text, cell.square ? *cell.unit : bare});
    } else if (cell.unit && cell.name == name) {
      found.push_back({at, cell.text, *cell.unit});
    } else if (!unit.empty() && cell.text.starts_with(behind)) {
      const std::string suffix = with_slash(cell.text.substr(behind.size()));
      if (units().convertible(suffix, unit))
        found.push_back({at, cell.text, suffix});
      else if (units().known(suffix))
        wrong = cell.text;
    } else {
      for (const NameAndUnit& cut : cell.cuts)
        if (cut.name == name && judge(cut, unit) == LooseUnit::unit) {
          found.push_back({at, cell.text, cut.unit});
          break;
        }
    }
  }
  if (found.empty() && wrong.empty())
    if (const auto column = behind_path(name)) return at(*column, wanted);
  missing_ = found.empty() && wrong.empty();
  if (found.size() > 1) {
    faults_.add(place_, "T591", fmt::format("two columns for {}", what),
                {fmt::format("'{}' and '{}'", found[0].name, found[1].name), "leave one of them out"});
    return std::nullopt;
  }
  if (found.empty()) {
    if (!wrong.empty() && what != "the arrival")
      faults_.add(place_, "T593", fmt::format("the unit of column '{}' does not convert", wrong),
                  {fmt::format("{} is in {}", what, unit), states_unit(std::string(name), wrong, unit)});
    return std::nullopt;
  }
  const auto place = static_cast<std::size_t>(found.front().at);
  cells_[place].taken = true;
  const Cell& cell = cells_[place];
  const std::string text = found.front().unit;
  auto column = checked(std::move(found.front()), wanted);
  if (column && (cell.text != name || cell.square)) note(cell, text, cell.unit && *cell.unit == text, wanted);
  return column;
}

// "T_h" of "log.T_h" or "run/bench/T_h", as structures and groups call their members, where it is the only
// one. What is a unit is none: "Ewe/V" is no column V.
std::optional<std::size_t> CsvHeader::behind_path(std::string_view name) const {
  if (units().known(name)) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t k = 0; k < cells_.size(); ++k) {
    const std::string& path = cells_[k].name;
    const std::size_t cut = path.find_last_of("/.");
    if (cut == std::string::npos || std::string_view(path).substr(cut + 1) != name) continue;
    if (found) return std::nullopt;
    found = k;
  }
  return found;
}

std::optional<CsvColumn> CsvHeader::find_text(std::string_view text, const Wanted& wanted) {
  missing_ = false;
  const auto is = [&](const Cell& cell) { return cell.text == text; };
  const auto found = std::find_if(cells_.begin(), cells_.end(), is);
  if (found == cells_.end() || std::count_if(cells_.begin(), cells_.end(), is) > 1) return find(text, wanted);
  return at(static_cast<std::size_t>(found - cells_.begin()), wanted);
}

std::optional<CsvColumn> CsvHeader::at(std::size_t column, const Wanted& wanted, const std::string& stated) {
  Cell& cell = cells_[column];
  cell.taken = true;
  const int place = static_cast<int>(column);
  // What stands in round brackets may be part of a name.
  const bool has_unit = cell.has_unit();
  if (stated.empty() && !has_unit)
    if (auto found = loose(column, wanted)) return found->at < 0 ? std::nullopt : std::move(found);
  const std::string unit = !stated.empty() ? stated : has_unit ? *cell.unit : wanted.bare;
  auto found = checked({place, cell.text, unit}, wanted);
  if (found && (has_unit || !stated.empty())) note(cell, unit, true, wanted);
  return found;
}

// A unit that stands beside the name without brackets; `at` -1: a fault was reported.
std::optional<CsvColumn> CsvHeader::loose(std::size_t column, const Wanted& wanted) {
  const Cell& cell = cells_[column];
  const NameAndUnit* other = nullptr;
  const auto fault = [&](const std::string& message, const std::string& example) {
    faults_.add(
        place_, "T593", message,
        {fmt::format("{} is in {}", wanted.what, wanted.expected), states_unit("NAME", cell.text, example)});
    return CsvColumn{-1, "", ""};
  };
  for (const NameAndUnit& cut : cell.cuts) {
    const LooseUnit is = judge(cut, wanted.expected);
    if (is == LooseUnit::ambiguous && header_unit(cut.unit, wanted.expected) != wanted.bare)
      return fault(fmt::format("'{}' of column '{}' may be a unit or part of its name", cut.unit, cell.text),
                   header_unit(cut.unit, wanted.expected));
    if (is == LooseUnit::other && !other) other = &cut;
    if (is != LooseUnit::unit) continue;
    auto found = checked({static_cast<int>(column), cell.text, cut.unit}, wanted);
    if (found) note(cell, cut.unit, false, wanted);
    return found;
  }
  if (other)
    return fault(fmt::format("the unit '{}' of column '{}' does not convert", other->unit, cell.text),
                 wanted.expected);
  return std::nullopt;
}

// A unit without brackets where it changes a number; revolutions, which 1/min and Hz do not say.
void CsvHeader::note(const Cell& cell, const std::string& text, bool bracketed, const Wanted& wanted) {
  const std::string unit = header_unit(text, wanted.expected);
  const bool plain = bracketed ? text == unit || !units().convertible(text, unit) || same_unit(text, unit)
                               : same_unit(unit, wanted.bare);
  if (!plain) notes_.push_back(fmt::format("'{}' in {}", cell.text, unit));
}

std::string CsvHeader::unit_of(std::size_t column) const {
  const Cell& cell = cells_[column];
  if (cell.has_unit()) return header_unit(*cell.unit, "");
  for (const NameAndUnit& cut : cell.cuts)
    if (judge(cut, "") == LooseUnit::unit) return header_unit(cut.unit, "");
  return "";
}

// Whether a column may be what is wanted, by its unit.
bool CsvHeader::fits(const Cell& cell, const Wanted& wanted) const {
  if (wanted.expected.empty()) return true;
  if (cell.has_unit()) return units().convertible(header_unit(*cell.unit, wanted.expected), wanted.expected);
  return std::none_of(cell.cuts.begin(), cell.cuts.end(), [&](const NameAndUnit& cut) {
    return judge(cut, "") == LooseUnit::unit && judge(cut, wanted.expected) != LooseUnit::unit;
  });
}

void CsvHeader::no_column(const std::string& name, const Wanted& wanted) {
  std::vector<std::string> names, shown;
  Cell* likely = nullptr;
  double best = 0.0;
  for (Cell& cell : cells_) {
    if (shown.size() < 12) shown.push_back(cell.text);
    if (cell.taken || !fits(cell, wanted)) continue;
    names.push_back(cell.name);
    // A unit that fits says more than none, and in brackets more than behind a name; without one the words of
    // the name say what the quantity is.
    const bool behind = std::any_of(cell.cuts.begin(), cell.cuts.end(), [&](const NameAndUnit& cut) {
      return judge(cut, wanted.expected) == LooseUnit::unit;
    });
    const double score =
        likeness(name, cell.text) + (cell.has_unit() ? 1.0
                                     : behind        ? 0.5
                                                     : 0.6 * quantity_likeness(cell.text, wanted.expected));
    if (!likely || score > best) likely = &cell, best = score;
  }
  std::string example = "--columns \"" + name + "=...\" names it";
  if (likely) {
    example = fmt::format("--columns \"{}={}\" would take that column", name, likely->text);
    likely->taken = true;  // proposed once
  }
  faults_.add(place_, "T591", fmt::format("no column for {}", wanted.what),
              {did_you_mean(name, names),
               "columns: " + joined(shown) + (cells_.size() > shown.size() ? ", ..." : ""), example});
}

std::optional<CsvColumn> CsvHeader::checked(CsvColumn column, const Wanted& wanted) {
  const auto& [unit, bare, what] = wanted;
  if (column.unit.empty()) return column;
  if (column.unit != bare) column.unit = header_unit(column.unit, unit);
  if (column.unit != bare) {
    if (!units().known(column.unit)) {
      faults_.add(place_, "T593", fmt::format("unknown unit '{}' of column '{}'", column.unit, column.name),
                  {unit.empty() ? "" : fmt::format("{} is in {}", what, unit)});
      return std::nullopt;
    }
    if (!unit.empty() && !units().convertible(column.unit, unit)) {
      faults_.add(place_, "T593", fmt::format("the unit of column '{}' does not convert", column.name),
                  {fmt::format("{} is in {}", what, unit)});
      return std::nullopt;
    }
  }
  if (units().to_si(0.0, column.unit) == 0.0 && units().to_si(1.0, column.unit) == 1.0) column.unit.clear();
  return column;
}

}  // namespace tellegen
