#include "tellegen/model/csv_header.h"

#include <fmt/format.h>

#include "tellegen/model/units.h"

namespace tellegen {

double CsvColumn::si(double value) const { return unit.empty() ? value : units().to_si(value, unit); }

CsvHeader::Cell CsvHeader::cell(std::string_view text) {
  Cell cell{std::string(text), std::string(text), {}, false, false};
  for (const auto& [open, close] : {std::pair{'[', ']'}, {'(', ')'}}) {
    const std::size_t at = text.rfind(open);
    if (!text.ends_with(close) || at == std::string_view::npos || at == 0) continue;
    std::string_view name = text.substr(0, at);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
    cell.name = name;
    cell.unit = std::string(text.substr(at + 1, text.size() - at - 2));
    cell.square = open == '[';
    break;
  }
  return cell;
}

CsvHeader::CsvHeader(const std::vector<std::string_view>& cells, Place place, FaultList& faults)
    : place_(std::move(place)), faults_(faults) {
  for (std::string_view text : cells) cells_.push_back(cell(text));
}

std::optional<CsvColumn> CsvHeader::find(std::string_view name, const Wanted& wanted) {
  const auto& [unit, bare, what] = wanted;
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
      const std::string suffix = cell.text.substr(behind.size());
      if (units().convertible(suffix, unit))
        found.push_back({at, cell.text, suffix});
      else if (units().known(suffix))
        wrong = cell.text;
    }
  }
  missing_ = found.empty() && wrong.empty();
  if (found.size() > 1) {
    faults_.add(place_, "T591", fmt::format("two columns for {}", what),
                {fmt::format("'{}' and '{}'", found[0].name, found[1].name), "leave one of them out"});
    return std::nullopt;
  }
  if (found.empty()) {
    if (!wrong.empty() && what != "the arrival")
      faults_.add(place_, "T593", fmt::format("the unit of column '{}' does not convert", wrong),
                  {fmt::format("{} is in {}", what, unit)});
    return std::nullopt;
  }
  cells_[static_cast<std::size_t>(found.front().at)].taken = true;
  return checked(std::move(found.front()), wanted);
}

std::optional<CsvColumn> CsvHeader::at(std::size_t column, const Wanted& wanted) {
  const Cell& cell = cells_[column];
  // What stands in round brackets may be part of a name.
  const bool has_unit = cell.unit && (cell.square || units().known(*cell.unit));
  return checked({static_cast<int>(column), cell.text, has_unit ? *cell.unit : wanted.bare}, wanted);
}

void CsvHeader::no_column(const std::string& name, const std::string& what) {
  std::vector<std::string> names, shown;
  for (const Cell& cell : cells_) {
    if (!cell.taken) names.push_back(cell.name);
    if (shown.size() < 12) shown.push_back(cell.text);
  }
  const bool other_sign = cells_.size() == 1 && cells_[0].text.find_first_of(";\t") != std::string::npos;
  faults_.add(
      place_, "T591", fmt::format("no column for {}", what),
      {did_you_mean(name, names), "columns: " + joined(shown) + (cells_.size() > shown.size() ? ", ..." : ""),
       other_sign ? "commas separate cells, and numbers have a decimal point" : ""});
}

std::optional<CsvColumn> CsvHeader::checked(CsvColumn column, const Wanted& wanted) {
  const auto& [unit, bare, what] = wanted;
  if (column.unit.empty()) return column;
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
