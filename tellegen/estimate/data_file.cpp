#include "tellegen/estimate/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "tellegen/estimate/reading_check.h"
#include "tellegen/model/csv_records.h"
#include "tellegen/model/document.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

constexpr int faults_shown = 20;  // a file in the wrong format is wrong in every line

struct HeaderCell {
  std::string text;  // as it stands there
  std::string name;  // without a unit in brackets
  std::optional<std::string> unit;
  bool taken = false;  // somebody has found it already
};

HeaderCell header_cell(std::string_view text) {
  HeaderCell cell{std::string(text), std::string(text), {}, false};
  for (const auto& [open, close] : {std::pair{'[', ']'}, {'(', ')'}}) {
    const std::size_t at = text.rfind(open);
    if (!text.ends_with(close) || at == std::string_view::npos || at == 0) continue;
    std::string_view name = text.substr(0, at);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
    cell.name = name;
    cell.unit = std::string(text.substr(at + 1, text.size() - at - 2));
    break;
  }
  return cell;
}

// Which column of the file a value stands in, and what turns it into SI.
struct Column {
  int at = -1;
  std::string name;  // as in the header
  std::string unit;  // empty: SI already

  double si(double value) const { return unit.empty() ? value : units().to_si(value, unit); }
};

class Header {
 public:
  Header(const std::vector<std::string_view>& cells, Place place, FaultList& faults)
      : place_(std::move(place)), faults_(faults) {
    for (std::string_view cell : cells) cells_.push_back(header_cell(cell));
  }
  std::size_t size() const { return cells_.size(); }

  // Nothing where there is none, or where a fault was reported.
  std::optional<Column> find(const std::string& name, const std::string& unit, const std::string& what) {
    std::vector<Column> found;
    std::string wrong;  // T2_V where kelvins are expected
    for (std::size_t k = 0; k < cells_.size(); ++k) {
      const HeaderCell& cell = cells_[k];
      const int at = static_cast<int>(k);
      if (cell.text == name) {
        found.push_back({at, cell.text, unit});
      } else if (cell.unit && cell.name == name) {
        found.push_back({at, cell.text, *cell.unit});
      } else if (!unit.empty() && cell.text.starts_with(name + "_")) {
        const std::string suffix = cell.text.substr(name.size() + 1);
        if (units().convertible(suffix, unit))
          found.push_back({at, cell.text, suffix});
        else if (units().known(suffix))
          wrong = cell.text;
      }
    }
    if (found.size() > 1) {
      missing_ = false;
      faults_.add(place_, "T591", fmt::format("two columns for {}", what),
                  {fmt::format("'{}' and '{}'", found[0].name, found[1].name), "leave one of them out"});
      return std::nullopt;
    }
    if (found.empty()) {
      if (!wrong.empty() && what != "the arrival")
        faults_.add(place_, "T593", fmt::format("the unit of column '{}' does not convert", wrong),
                    {fmt::format("{} is in {}", what, unit)});
      missing_ = wrong.empty();
      return std::nullopt;
    }
    missing_ = false;
    Column& column = found.front();
    cells_[column.at].taken = true;
    if (!check_unit(column, unit, what)) return std::nullopt;
    if (!column.unit.empty() && units().to_si(0.0, column.unit) == 0.0 &&
        units().to_si(1.0, column.unit) == 1.0)
      column.unit.clear();
    return column;
  }

  // The last find() saw nothing of the kind.
  bool missing() const { return missing_; }

  void no_column(const std::string& name, const std::string& what) {
    std::vector<std::string> names, shown;
    for (const HeaderCell& cell : cells_) {
      if (!cell.taken) names.push_back(cell.name);
      if (shown.size() < 12) shown.push_back(cell.text);
    }
    const bool other_sign = cells_.size() == 1 && cells_[0].text.find_first_of(";\t") != std::string::npos;
    faults_.add(place_, "T591", fmt::format("no column for {}", what),
                {did_you_mean(name, names),
                 "columns: " + joined(shown) + (cells_.size() > shown.size() ? ", ..." : ""),
                 other_sign ? "commas separate cells, and numbers have a decimal point" : ""});
  }

 private:
  bool check_unit(const Column& column, const std::string& unit, const std::string& what) {
    if (column.unit.empty() || column.unit == unit) return true;
    if (!units().known(column.unit)) {
      faults_.add(place_, "T593", fmt::format("unknown unit '{}' of column '{}'", column.unit, column.name),
                  {unit.empty() ? "" : fmt::format("{} is in {}", what, unit)});
      return false;
    }
    if (unit.empty() || units().convertible(column.unit, unit)) return true;
    faults_.add(place_, "T593", fmt::format("the unit of column '{}' does not convert", column.name),
                {fmt::format("{} is in {}", what, unit)});
    return false;
  }

  Place place_;
  FaultList& faults_;
  std::vector<HeaderCell> cells_;
  bool missing_ = false;
};

// Rows in the order of their times; rows of equal time stay as they are.
void sort_by_time(DataFile& data, std::size_t width) {
  if (std::is_sorted(data.t.begin(), data.t.end())) return;
  std::vector<std::size_t> order(data.t.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return data.t[a] < data.t[b]; });
  DataFile sorted;
  for (std::size_t row : order) {
    sorted.t.push_back(data.t[row]);
    sorted.arrival.push_back(data.arrival[row]);
    sorted.lines.push_back(data.lines[row]);
    const auto first = data.values.begin() + static_cast<long>(row * width);
    sorted.values.insert(sorted.values.end(), first, first + static_cast<long>(width));
  }
  data = std::move(sorted);
}

}  // namespace

DataFile read_data_file(const std::filesystem::path& file, const std::vector<DataFile::Wanted>& wanted) {
  const std::string text = read_text(file, {file.string(), 0});
  CsvRecords records(text);
  std::vector<std::string_view> cells;
  FaultList faults;
  int wrong_rows = 0;
  const auto place = [&] { return Place{file.string(), records.line()}; };
  const auto fault = [&](std::string_view code, std::string message, std::vector<std::string> details = {}) {
    faults.add(place(), code, std::move(message), std::move(details));
    ++wrong_rows;
  };

  if (!records.next(cells)) {
    faults.add({file.string(), 0}, "T590",
               records.wrong().empty() ? "the data file is empty" : records.wrong(),
               {"the first line names the columns"});
    faults.throw_if_any();
  }
  if (csv_number(cells[0]))
    faults.add(place(), "T590", fmt::format("the number '{}' where a column's name is expected", cells[0]),
               {"the first line names the columns"});
  Header header(cells, place(), faults);
  std::optional<Column> time;
  for (const char* name : {"t", "time", "Time"}) {
    time = header.find(name, "s", "the time");
    if (time || !header.missing()) break;
  }
  if (!time && header.missing()) header.no_column("time", "the time");
  const auto arrival = header.find("arrival", "s", "the arrival");
  std::vector<std::optional<Column>> columns;
  for (const DataFile::Wanted& w : wanted) {
    const std::string what = fmt::format("{} '{}'", w.what, w.name);
    columns.push_back(header.find(w.name, w.unit, what));
    if (!columns.back() && header.missing()) header.no_column(w.name, what);
  }

  // A cell's number; missing where it is empty or "nan".
  const auto number = [&](const Column& column) {
    const std::string_view cell = cells[column.at];
    if (cell.empty()) return no_number;
    const auto value = csv_number(cell);
    if (!value) {
      fault("T594", fmt::format("'{}' in column '{}' is not a number", cell, column.name),
            {"leave the cell empty where nothing was read"});
      return no_number;
    }
    return std::isfinite(*value) ? column.si(*value) : no_number;
  };

  DataFile data;
  double last = -std::numeric_limits<double>::infinity();
  while (wrong_rows < faults_shown && records.next(cells)) {
    if (cells.size() != header.size()) {
      fault("T590", fmt::format("{} cells where the header names {} columns", cells.size(), header.size()));
      continue;
    }
    for (const auto& column : columns) data.values.push_back(column ? number(*column) : no_number);
    data.lines.push_back(records.line());
    const int before = wrong_rows;
    const double at = time ? number(*time) : 0.0;
    data.t.push_back(at);
    if (time && wrong_rows == before) {
      if (std::isnan(at))
        fault("T592", "a row without its time");
      else if (!arrival && !(at > last))
        fault("T592", fmt::format("the time {:.10g} s does not come after {:.10g} s", at, last),
              {"times increase; only with a column 'arrival' may rows be late"});
    }
    if (!std::isnan(at)) last = at;
    if (arrival) {
      double known = number(*arrival);
      if (std::isnan(known)) known = at;  // nothing is said: known at once
      if (known < at) fault("T592", fmt::format("a reading of {:.10g} s arrives at {:.10g} s", at, known));
      data.arrival.push_back(known);
    }
  }
  if (!records.wrong().empty()) fault("T590", records.wrong());
  if (data.t.empty() && faults.empty())
    faults.add({file.string(), 0}, "T590", "the data file has no rows", {"only its header"});
  faults.throw_if_any();
  if (arrival) sort_by_time(data, wanted.size());
  return data;
}

}  // namespace tellegen
