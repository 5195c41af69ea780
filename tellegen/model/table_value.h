// A table as it stands in a file: [[x, y], ...], { points = [...] }, or { table = "load.csv", column = "P" };
// of more arguments { axes = [[...], [...]], values = [[...], ...] }, { table = "map.csv", x = ["soc", "T"],
// column = "R0" } with a row for each point of the grid (or, with scattered = true, points anywhere), or {
// table = "map.csv" } with the second argument in the header.
#pragma once

#include <map>
#include <memory>

#include "tellegen/model/csv.h"
#include "tellegen/model/reading.h"
#include "tellegen/symbolic/table.h"

namespace tellegen {

class CsvHeader;

class TableReader {
 public:
  // A unit given with the table is that of its values, and must be convertible to `unit`. A unit in the
  // header of a CSV file goes before it; that of x must be convertible to `x_unit`. Empty units: SI, whatever
  // that is.
  struct Wanted {
    std::string_view unit = "", x_unit = "";
    Interpolation interpolation = Interpolation::linear;
    int dimensions = 1;                       // 0: as many as the table has
    std::vector<std::string_view> also = {};  // keys that mean something to others
  };
  // `folder` is where CSV files are looked for. Empty where a fault was reported.
  std::shared_ptr<const Table> read(const Source& source, const Value& value,
                                    const std::filesystem::path& folder, std::string_view what,
                                    Wanted wanted);

  // "model.toml:4: note: ...": how well tables meet their points, units taken from names; once for each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::shared_ptr<const Table> read_line(const Source& source, const Value& value,
                                         const std::filesystem::path& folder, std::string_view what,
                                         const Wanted& wanted, std::string own_unit);
  // grid_value.cpp
  struct Grid {
    std::vector<std::vector<double>> axes;
    std::vector<double> values;
  };
  std::shared_ptr<const Table> read_grid(const Source& source, const Value& value,
                                         const std::filesystem::path& folder, std::string_view what,
                                         const Wanted& wanted, const std::string& own_unit);
  bool written_grid(const Source& source, const Value& value, std::string_view what, Grid& grid);
  bool grid_of_rows(const Source& source, const Value& value, const CsvFile& data, std::string_view what,
                    const Wanted& wanted, const std::string& own_unit, Grid& grid);
  // Points that are no grid, brought onto one (scattered.h); `columns`: arguments, then values, SI.
  std::shared_ptr<const Table> scattered(const Source& source, const Value& value, const CsvFile& data,
                                         std::string_view what, Interpolation interpolation,
                                         const std::vector<std::vector<double>>& columns);
  bool columns_of_rows(const Source& source, const Value& value, const CsvFile& data, std::string_view what,
                       const Wanted& wanted, const std::string& own_unit,
                       std::vector<std::vector<double>>& columns);
  int dimensions_of(const Source& source, const Value& value, const std::filesystem::path& folder);
  void note_units(const CsvHeader& header, const std::string& file);
  const CsvFile* csv(const Source& source, const Value& at, const std::filesystem::path& file);

  std::vector<std::string> notes_;
  std::map<std::filesystem::path, std::unique_ptr<CsvFile>> files_;  // each is read once; null: it had faults
  // Elements of an array share what stands in its entry once: with one table they are one group of equations.
  std::map<std::string, std::shared_ptr<const Table>> shared_;
};

std::optional<Interpolation> read_interpolation(const Source& source, const Value& value,
                                                std::string_view what);

}  // namespace tellegen
