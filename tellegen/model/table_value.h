// A table as it stands in a file: [[x, y], ...], { points = [...] }, or { table = "load.csv", column = "P" }.
#pragma once

#include <map>
#include <memory>

#include "tellegen/model/csv.h"
#include "tellegen/model/reading.h"
#include "tellegen/symbolic/table.h"

namespace tellegen {

class TableReader {
 public:
  // `folder` is where CSV files are looked for; a unit given with the table is that of its y, and must be
  // convertible to `unit`. A unit in the header of a CSV file goes before it; that of x must be convertible
  // to `x_unit`. Empty units: SI, whatever that is. Empty where a fault was reported.
  std::shared_ptr<const Table> read(const Source& source, const Value& value,
                                    const std::filesystem::path& folder, std::string_view what,
                                    std::string_view unit, std::string_view x_unit,
                                    Interpolation interpolation);

 private:
  const CsvFile* csv(const Source& source, const Value& at, const std::filesystem::path& file);

  std::map<std::filesystem::path, std::unique_ptr<CsvFile>> files_;  // each is read once; null: it had faults
};

std::optional<Interpolation> read_interpolation(const Source& source, const Value& value,
                                                std::string_view what);

}  // namespace tellegen
