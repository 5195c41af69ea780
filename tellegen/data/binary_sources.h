// Tables of formats that are not text.
#pragma once

#include <string_view>

#include "tellegen/data/table_source.h"

namespace tellegen {

// HDF5: one-dimensional datasets of one length, wherever they stand, and the fields of compound ones; a unit
// is an attribute "unit" or "units". MATLAB 7.3 writes such files.
std::unique_ptr<TableSource> open_hdf5(const std::filesystem::path& file, const TableOptions& options);

// MATLAB 5 to 7: vectors of one length, columns of matrices, and what stands in structures.
std::unique_ptr<TableSource> open_mat(const std::filesystem::path& file, const TableOptions& options);
// MATLAB 4, which begins with no sign of its own; Octave and Scilab write it too.
bool is_mat4(std::string_view head);
std::unique_ptr<TableSource> open_mat4(const std::filesystem::path& file, const TableOptions& options);

// ASAM MDF 4: channels of all groups; groups of different rates are merged by time, with nothing where a
// group has no sample.
std::unique_ptr<TableSource> open_mdf(const std::filesystem::path& file, const TableOptions& options);

// Columns that are in the memory, as a table.
struct LoadedColumn {
  TableColumn column;
  std::vector<double> values;
};
// Only those columns that are as long as most of them; what this leaves, in words.
std::string keep_one_length(std::vector<LoadedColumn>& columns);
std::unique_ptr<TableSource> loaded_table(std::vector<LoadedColumn> columns, std::string description,
                                          const TableOptions& options, const std::filesystem::path& file);

}  // namespace tellegen
