#include "tellegen/model/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <functional>

#include "tellegen/data/csv_source.h"
#include "tellegen/model/csv_header.h"

namespace tellegen {
namespace {

constexpr std::size_t columns_told = 3;  // with cells that are no numbers

// A column with texts is passed over unless somebody asks for it, so it is read alone.
CsvFile read_columns(const std::function<std::unique_ptr<TableSource>()>& open, std::string name) {
  CsvFile csv;
  csv.name = std::move(name);
  std::vector<Fault> faults;
  const auto fault = [&](int line, std::string message, std::vector<std::string> details = {}) {
    faults.push_back({{csv.name, line}, "T181", std::move(message), std::move(details)});
  };
  try {
    const auto table = open();
    csv.described = table->columns();
    if (csv.described.empty()) {
      fault(0, "the file is empty", {"the first line names the columns"});
      throw ModelError(std::move(faults));
    }
    if (!table->has_names()) {
      fault(1, "the file has no line that names its columns", {"the first line names the columns"});
      throw ModelError(std::move(faults));
    }
    std::vector<int> all;
    for (const TableColumn& column : csv.described) {
      all.push_back(static_cast<int>(all.size()));
      csv.header.push_back(column.name);
      csv.is_time.push_back(column.is_time);
    }
    csv.columns.resize(all.size());
    table->choose(all);
    std::size_t told = 0;
    for (TableBlock block; table->next(block);) {
      for (std::size_t c = 0; c < all.size(); ++c)
        for (std::size_t r = 0; r < block.rows; ++r) {
          const double value = block.columns[c][r];
          if (!std::isfinite(value) && told++ < columns_told)
            fault(block.lines[r], fmt::format("the cell in column '{}' is no finite number", csv.header[c]));
          csv.columns[c].push_back(value);
        }
      csv.lines.insert(csv.lines.end(), block.lines.begin(), block.lines.end());
    }
    // A record may have lost its last line; a table has not.
    for (const std::string& note : table->notes())
      if (note.starts_with("the last line (")) fault(std::atoi(note.c_str() + 15), note);
    if (told > columns_told) faults.back().details.push_back(fmt::format("and {} more", told - columns_told));
  } catch (const TableError& error) {
    for (const TableFault& wrong : error.faults())
      faults.push_back({{wrong.file.empty() ? csv.name : wrong.file, wrong.line},
                        wrong.code == "T180" ? "T180" : "T181",
                        wrong.message,
                        wrong.details});
  }
  if (!faults.empty()) throw ModelError(std::move(faults));
  return csv;
}

TableOptions table_options() {
  TableOptions options;
  options.is_unit = is_header_unit;
  return options;
}

}  // namespace

CsvFile read_csv_columns(std::string_view text, std::string name) {
  return read_columns([&] { return open_csv_text(text, table_options()); }, std::move(name));
}

CsvFile read_csv(const std::filesystem::path& file, const Place& from) {
  try {
    return read_columns([&] { return open_table(file, table_options()); }, file.string());
  } catch (const ModelError& error) {
    std::vector<Fault> faults = error.faults();
    for (Fault& fault : faults)
      if (fault.code == "T180") fault.place = from;
    throw ModelError(std::move(faults));
  }
}

}  // namespace tellegen
