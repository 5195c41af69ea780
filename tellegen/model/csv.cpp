#include "tellegen/model/csv.h"

#include <fmt/format.h>

#include <cmath>

#include "tellegen/model/csv_records.h"
#include "tellegen/model/document.h"

namespace tellegen {
namespace {

constexpr std::size_t faults_shown = 20;  // a file in the wrong format is wrong in every line

}  // namespace

CsvFile read_csv_columns(std::string_view text, std::string name) {
  CsvFile csv;
  csv.name = std::move(name);
  std::vector<Fault> faults;
  CsvRecords records(text);
  std::vector<std::string_view> cells;
  const auto fault = [&](std::string message, std::vector<std::string> details = {}) {
    faults.push_back({{csv.name, records.line()}, "T181", std::move(message), std::move(details)});
  };
  if (records.next(cells)) {
    csv.header.assign(cells.begin(), cells.end());
    csv.columns.resize(csv.header.size());
    if (csv_number(csv.header[0]))
      fault(fmt::format("the number '{}' where a column's name is expected", csv.header[0]),
            {"the first line names the columns"});
  } else if (records.wrong().empty()) {
    faults.push_back({{csv.name, 0}, "T181", "the file is empty", {"the first line names the columns"}});
  }
  while (faults.size() < faults_shown && records.next(cells)) {
    if (cells.size() != csv.header.size()) {
      fault(fmt::format("{} values where the header names {} columns", cells.size(), csv.header.size()));
      continue;
    }
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const auto value = csv_number(cells[k]);
      if (!value || !std::isfinite(*value))
        fault(fmt::format("'{}' in column '{}' is not a finite number", cells[k], csv.header[k]));
      csv.columns[k].push_back(value.value_or(0.0));
    }
    csv.lines.push_back(records.line());
  }
  if (!records.wrong().empty()) fault(records.wrong());
  if (!faults.empty()) throw ModelError(std::move(faults));
  return csv;
}

CsvFile read_csv(const std::filesystem::path& file, const Place& from) {
  return read_csv_columns(read_text(file, from), file.string());
}

}  // namespace tellegen
