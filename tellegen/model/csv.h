// A file of columns of numbers (data/table_source.h: CSV of any shape, HDF5, ...), for tables of a model.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/data/table_source.h"
#include "tellegen/model/fault.h"

namespace tellegen {

struct CsvFile {
  std::string name;  // what faults call it
  std::vector<std::string> header;
  std::vector<TableColumn> described;        // the same with the units of a row of units
  std::vector<std::vector<double>> columns;  // as many as the header has
  std::vector<char> is_time;                 // points in time, as seconds from the first
  std::vector<int> lines;                    // of each row
};

// Throws ModelError: T180 (placed at `from`) where the file cannot be read, T181 at each line that is wrong.
CsvFile read_csv_columns(std::string_view text, std::string name);
CsvFile read_csv(const std::filesystem::path& file, const Place& from);

}  // namespace tellegen
