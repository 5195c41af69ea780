// A CSV file as a table, in blocks. Empty lines and lines that begin with # are passed over; a cell may be
// quoted, a doubled quote in it is one, and a quoted cell may hold separators and line ends.
#pragma once

#include "tellegen/data/table_source.h"

namespace tellegen {

std::unique_ptr<TableSource> open_csv(const std::filesystem::path& file, const TableOptions& options);

// The same of a text that is there already.
std::unique_ptr<TableSource> open_csv_text(std::string_view text, const TableOptions& options);

}  // namespace tellegen
