// Columns of a CSV file: a header line of names, then finite numbers (csv_records.h says how a file is cut
// into cells).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/fault.h"

namespace tellegen {

struct CsvFile {
  std::string name;  // what faults call it
  std::vector<std::string> header;
  std::vector<std::vector<double>> columns;  // as many as the header has
  std::vector<int> lines;                    // of each row
};

// Throws ModelError: T180 (placed at `from`) where the file cannot be read, T181 at each line that is wrong.
CsvFile read_csv_columns(std::string_view text, std::string name);
CsvFile read_csv(const std::filesystem::path& file, const Place& from);

}  // namespace tellegen
