#include "tellegen/results/sample_table.h"

#include <charconv>
#include <cmath>

#include "tellegen/results/atomic_file.h"
#include "tellegen/results/csv_cell.h"

namespace tellegen {

void write_csv(const std::filesystem::path& path, const SampleTable& table) {
  std::string text = "sample";
  for (std::size_t c = 0; c < table.names.size(); ++c)
    text += "," + csv_header(table.names[c], table.units[c]);
  text += ",status\n";
  for (std::size_t r = 0; r < table.status.size(); ++r) {
    text += std::to_string(r + 1);
    for (std::size_t c = 0; c < table.names.size(); ++c) {
      text += ',';
      const double value = table.values[r * table.names.size() + c];
      char digits[40];
      if (!std::isnan(value)) text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }
    text += "," + (table.status[r].empty() ? "ok" : csv_cell(table.status[r])) + "\n";
  }
  write_file(path, text);
}

}  // namespace tellegen
