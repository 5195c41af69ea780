// Which format a file has: its first bytes say so, not its name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "tellegen/data/binary_sources.h"
#include "tellegen/data/csv_source.h"
#include "tellegen/data/table_source.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

struct Format {
  std::string_view begins;
  std::size_t at;  // where in the file
  std::unique_ptr<TableSource> (*open)(const fs::path&, const TableOptions&);
  const char* advice;  // where it cannot be read: what can be done
};

constexpr Format formats[] = {
    {"\x89HDF\r\n\x1a\n", 0, open_hdf5, ""},
    {"\x89HDF\r\n\x1a\n", 512, open_hdf5, ""},  // MATLAB 7.3
    {"MATLAB 5.0", 0, open_mat, ""},
    {"MDF     4", 0, open_mdf, ""},
    {"UnFinMF 4", 0, open_mdf, ""},
    {"MDF     ", 0, nullptr, "a measurement file before version 4: save it as MDF 4 or CSV"},
    {"PK\x03\x04", 0, nullptr, "a workbook or an archive: save the sheet as CSV"},
    {"\xD0\xCF\x11\xE0", 0, nullptr, "an old workbook: save the sheet as CSV"},
    {"\x1F\x8B", 0, nullptr, "it is compressed: gunzip it, or gunzip -c FILE | tellegen ... --data -"},
    {"PAR1", 0, nullptr, "a Parquet file: write it as CSV or HDF5"},
    {"TDSm", 0, nullptr, "a TDMS file: export it as CSV or HDF5"},
};

// log2 before log10.
bool natural_order(const fs::path& a, const fs::path& b) {
  const std::string x = a.filename().string(), y = b.filename().string();
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (i < x.size() && j < y.size()) {
    if (digit(x[i]) && digit(y[j])) {
      std::size_t m = i, n = j;
      while (m < x.size() && digit(x[m])) ++m;
      while (n < y.size() && digit(y[n])) ++n;
      const auto number = [](const std::string& s, std::size_t from, std::size_t to) {
        while (from + 1 < to && s[from] == '0') ++from;
        return s.substr(from, to - from);
      };
      const std::string p = number(x, i, m), q = number(y, j, n);
      if (p != q) return p.size() != q.size() ? p.size() < q.size() : p < q;
      i = m, j = n;
    } else if (x[i] != y[j]) {
      return x[i] < y[j];
    } else {
      ++i, ++j;
    }
  }
  return x.size() - i < y.size() - j;
}

std::unique_ptr<TableSource> open_folder(const fs::path& folder, const TableOptions& options) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string ending = entry.path().extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    constexpr std::array endings{".csv", ".txt",  ".tsv", ".dat", ".asc", ".log",
                                 ".h5",  ".hdf5", ".mat", ".mf4", ".mdf"};
    if (entry.is_regular_file() && std::find(endings.begin(), endings.end(), ending) != endings.end())
      files.push_back(entry.path());
  }
  if (files.empty())
    throw cannot_read(folder, "it is a folder without a table (.csv, .txt, .h5, .mat, .mf4, ...)");
  std::sort(files.begin(), files.end(), natural_order);
  return open_tables(files, options);
}

}  // namespace

TableError cannot_read(const fs::path& file, std::string reason) {
  return TableError(
      {{0, "T180", fmt::format("cannot read '{}'", file.string()), {std::move(reason)}, file.string()}});
}

TableError::TableError(std::vector<TableFault> faults)
    : std::runtime_error(faults.empty() ? "" : faults.front().message), faults_(std::move(faults)) {}

std::unique_ptr<TableSource> open_table(const fs::path& file, const TableOptions& options) {
  if (file == "-") return open_csv(file, options);
  std::error_code ignored;
  const auto type = fs::status(file, ignored).type();
  if (type == fs::file_type::not_found) throw cannot_read(file, "there is no such file");
  if (type == fs::file_type::directory) return open_folder(file, options);
  std::string head(600, '\0');
  if (type == fs::file_type::regular) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw cannot_read(file, "it cannot be opened");
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(in.gcount()));
    for (const Format& format : formats) {
      if (head.size() < format.at || !std::string_view(head).substr(format.at).starts_with(format.begins))
        continue;
      if (!format.open) throw cannot_read(file, format.advice);
      return format.open(file, options);
    }
  }
  if (is_mat4(head)) return open_mat4(file, options);
  // No text has two bytes of zero for a sign.
  for (std::size_t k = 0; type == fs::file_type::regular && k + 1 < head.size(); k += 2)
    if (head[k] == '\0' && head[k + 1] == '\0')
      throw cannot_read(file, "it is no text, and no file of HDF5, MATLAB or MDF 4: export it as CSV");
  return open_csv(file, options);
}

}  // namespace tellegen
