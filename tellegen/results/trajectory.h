// A trajectory: named columns over time, and its files.
//
//   t [s],n2.T [K],r1.Q [W]
//   0,299,0
//   0.001,299.0998,0.0998
//
// CSV numbers are the shortest that read back as the same double, so a file is a lossless copy. A missing
// value is an empty cell on disk and NaN here. HDF5 is for large results: datasets `t` (rows), `values`
// (rows x columns), `names` and `units`.
//
// Files are written aside and renamed: what was there stays until the new file is complete. What cannot be
// read or written throws std::runtime_error with the path and, for a CSV file, the line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

struct Trajectory {
  std::vector<std::string> names;
  std::vector<std::string> units;  // one per name; empty where unknown
  std::vector<double> t;           // in seconds
  std::vector<double> values;      // row by row: t.size() x names.size()

  std::size_t rows() const { return t.size(); }
  std::size_t columns() const { return names.size(); }
  double at(std::size_t row, std::size_t column) const { return values[row * names.size() + column]; }
  std::span<const double> row(std::size_t r) const { return {values.data() + r * columns(), columns()}; }
  std::optional<std::size_t> find(std::string_view name) const;
  void append(double time, std::span<const double> row);
};

void write_csv(const std::filesystem::path& path, const Trajectory& trajectory);

// The first column is the time, whatever its name. Takes CRLF, a byte-order mark, quoted cells, blank lines,
// lines that start with '#', and a last line without an end.
Trajectory read_csv(const std::filesystem::path& path);
Trajectory read_csv_text(std::string_view text, const std::string& name);

void write_hdf5(const std::filesystem::path& path, const Trajectory& trajectory);
Trajectory read_hdf5(const std::filesystem::path& path);

}  // namespace tellegen
