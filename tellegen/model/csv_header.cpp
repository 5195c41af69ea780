#include "tellegen/model/csv_header.h"

#include <fmt/format.h>

#include "tellegen/model/units.h"

namespace tellegen {

double CsvColumn::si(double value) const { return unit.empty() ? value : units().to_si(value, unit); }

namespace {

// What loggers write, and what UDUNITS knows.
constexpr std::pair<std::string_view, std::string_view> written_units[] = {
    {"°C", "degC"},         {"° C", "degC"},    {"deg C", "degC"}, {"degree C", "degC"}, {"grad C", "degC"},
    {"celsius", "degC"},    {"℃", "degC"},      {"grd c", "degC"}, {"°F", "degF"},       {"deg F", "degF"},
    {"fahrenheit", "degF"}, {"kelvin", "K"},    {"Ω", "ohm"},      {"Ω", "ohm"},         {"ohms", "ohm"},
    {"mΩ", "mohm"},         {"kΩ", "kohm"},     {"mohms", "mohm"}, {"volts", "V"},       {"volt", "V"},
    {"vdc", "V"},           {"vac", "V"},       {"amps", "A"},     {"amp", "A"},         {"amperes", "A"},
    {"adc", "A"},           {"watts", "W"},     {"watt", "W"},     {"sec", "s"},         {"secs", "s"},
    {"second", "s"},        {"seconds", "s"},   {"sek", "s"},      {"msec", "ms"},       {"usec", "us"},
    {"µs", "us"},           {"μs", "us"},       {"mins", "min"},   {"minutes", "min"},   {"hrs", "h"},
    {"hours", "h"},         {"std", "h"},       {"rpm", "rpm"},    {"1/min", "rpm"},     {"u/min", "rpm"},
    {"min-1", "rpm"},       {"min^-1", "rpm"},  {"°", "deg"},      {"m/s²", "m/s2"},     {"m³/s", "m3/s"},
    {"m³/h", "m3/h"},       {"l/min", "l/min"}, {"lpm", "l/min"},  {"mm²", "mm2"},       {"µV", "uV"},
    {"µA", "uA"},           {"µm", "um"},       {"barg", "bar"},   {"bara", "bar"},      {"W/m²", "W/m2"}};

std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

}  // namespace

std::string header_unit(std::string_view text, std::string_view expected) {
  const auto fits = [&](std::string_view unit) {
    return units().known(unit) && (expected.empty() || units().convertible(unit, expected));
  };
  // C is a coulomb, F a farad, and neither a temperature.
  if (!expected.empty() && units().convertible("K", expected)) {
    if (text == "C") return "degC";
    if (text == "F") return "degF";
  }
  const bool ascii =
      text.find_first_of("\xC2\xC3\xCE\xE2") == text.npos;  // "°C" is known, and degC what people know
  if (ascii && fits(text)) return std::string(text);
  for (const auto& [written, unit] : written_units)
    if (text == written || small_letters(text) == small_letters(written)) return std::string(unit);
  if (const std::string small = small_letters(text); !units().known(text) && fits(small)) return small;
  return std::string(text);
}

bool is_header_unit(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.+- ") == text.npos) return false;
  return units().known(header_unit(text, ""));
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
  Cell cell{std::string(text), std::string(text), {}, false, false};
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
  for (std::string_view between : {" / ", " in "}) {
    const std::size_t at = text.rfind(between);
    if (cell.unit || at == std::string_view::npos || at == 0) continue;
    const std::string_view unit = text.substr(at + between.size());
    if (!is_header_unit(unit)) continue;
    cell.name = name_before(at);
    cell.unit = std::string(unit);
  }
  if (!column.unit.empty()) {
    cell.unit = column.unit;
    cell.square = true;
  }
  return cell;
}

CsvHeader::CsvHeader(const std::vector<TableColumn>& table, Place place, FaultList& faults, ColumnNames names)
    : place_(std::move(place)), faults_(faults), names_(std::move(names)) {
  for (const TableColumn& column : table) cells_.push_back(cell(column));
}

// The column that the user named.
std::optional<CsvColumn> CsvHeader::named(const ColumnName& entry, const Wanted& wanted) {
  missing_ = false;
  const auto plain = [](std::string_view text) {
    std::string found;
    for (char c : small_letters(text))
      if (c != ' ' && c != '\t') found += c;
    return found;
  };
  // As it stands, without its unit, or but for blanks and capitals.
  const auto fits = [&](const Cell& cell, int way) {
    return way == 0   ? cell.text == entry.column
           : way == 1 ? cell.name == entry.column
                      : plain(cell.text) == plain(entry.column) || plain(cell.name) == plain(entry.column);
  };
  for (int way = 0; way < 3; ++way) {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < cells_.size(); ++k)
      if (fits(cells_[k], way)) found.push_back(k);
    if (found.size() > 1) {
      faults_.add(place_, "T591", fmt::format("two columns '{}' for {}", entry.column, wanted.what),
                  {fmt::format("columns {} and {}", found[0] + 1, found[1] + 1)});
      return std::nullopt;
    }
    if (found.size() == 1) {
      cells_[found[0]].taken = true;
      return at(found[0], wanted);
    }
  }
  std::vector<std::string> texts;
  for (const Cell& cell : cells_) texts.push_back(cell.text);
  for (std::size_t k = 0; k < cells_.size(); ++k)
    if (entry.column == std::to_string(k + 1)) {  // by its number
      cells_[k].taken = true;
      return at(k, wanted);
    }
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
  Cell& cell = cells_[column];
  cell.taken = true;
  // What stands in round brackets may be part of a name.
  const bool has_unit = cell.unit && (cell.square || is_header_unit(*cell.unit));
  return checked({static_cast<int>(column), cell.text, has_unit ? *cell.unit : wanted.bare}, wanted);
}

std::string CsvHeader::unit_of(std::size_t column) const {
  const Cell& cell = cells_[column];
  return cell.unit && (cell.square || is_header_unit(*cell.unit)) ? header_unit(*cell.unit, "") : "";
}

void CsvHeader::no_column(const std::string& name, const std::string& what) {
  std::vector<std::string> names, shown;
  for (const Cell& cell : cells_) {
    if (!cell.taken) names.push_back(cell.name);
    if (shown.size() < 12) shown.push_back(cell.text);
  }
  // An example of the option, with a column that nobody has taken yet.
  std::string example = "--columns \"" + name + "=...\" names it";
  for (const Cell& cell : cells_)
    if (!cell.taken) {
      example = fmt::format("--columns \"{}={}\" would take that column", name, cell.text);
      break;
    }
  faults_.add(place_, "T591", fmt::format("no column for {}", what),
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
