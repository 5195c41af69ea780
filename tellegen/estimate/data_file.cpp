#include "tellegen/estimate/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "tellegen/estimate/reading_check.h"
#include "tellegen/model/csv_header.h"
#include "tellegen/model/csv_records.h"
#include "tellegen/model/document.h"
#include "tellegen/model/reading.h"

namespace tellegen {
namespace {

constexpr int faults_shown = 20;  // a file in the wrong format is wrong in every line

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
  CsvHeader header(cells, place(), faults);
  std::optional<CsvColumn> time;
  for (const char* name : {"t", "time", "Time"}) {
    time = header.find(name, {"s", "s", "the time"});
    if (time || !header.missing()) break;
  }
  if (!time && header.missing()) header.no_column("time", "the time");
  const auto arrival = header.find("arrival", {"s", "s", "the arrival"});
  std::vector<std::optional<CsvColumn>> columns;
  for (const DataFile::Wanted& w : wanted) {
    const std::string what = fmt::format("{} '{}'", w.what, w.name);
    columns.push_back(header.find(w.name, {w.unit, w.unit, what}));
    if (!columns.back() && header.missing()) header.no_column(w.name, what);
  }

  // A cell's number; missing where it is empty or "nan".
  const auto number = [&](const CsvColumn& column) {
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
