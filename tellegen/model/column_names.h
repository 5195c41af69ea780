// Which column of a data file is which sensor or input, where the file names them otherwise:
//
//   [columns]                                   --columns "T_h=Gehäuse Temp [°C], P=Verlust (W)"
//   T_h = "Gehäuse Temp [°C]"
//   P   = "Verlust (W)"
//   time = "Zeit"
//
// A column without a name is given by its number: T_h = "2".
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/fault.h"

namespace tellegen {

struct ColumnName {
  std::string name;    // of a sensor, an input, or "time"
  std::string column;  // as the header has it, with its unit or without
};
using ColumnNames = std::vector<ColumnName>;

// The list of a command line. Commas may stand in names: a new entry begins where a name and = follow. Throws
// ModelError (T401) at `place`.
ColumnNames read_column_names(std::string_view list, const Place& place);

// [columns] of a model file; empty where it has none, or is no model file. Throws ModelError.
ColumnNames columns_section(const std::filesystem::path& model_file);

}  // namespace tellegen
