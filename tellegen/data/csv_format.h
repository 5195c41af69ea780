// The format of a CSV file, recognised from its first lines: what separates cells, the decimal sign, which
// line names the columns, whether a row of units follows, where the numbers begin.
//
// For each sign that may separate cells the lines are cut, and the sign wins with which most lines have the
// same number of cells and most cells are numbers or times. Lines of text directly before the first row of
// numbers, with as many cells, are the header; of two or more of them, one whose cells are units is the row
// of units.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tellegen/data/table_source.h"

namespace tellegen {

struct CsvFormat {
  char delimiter = ',';  // ' ': any number of blanks
  char decimal = '.';    // 0: a point or a comma
  bool groups = false;   // signs between thousands
  bool quotes = false;
  int header_line = 0, units_line = 0;  // 0: none
  int first_row = 0;                    // line of the first row; 0: there is none
  int skipped = 0;                      // lines of text before the header
  bool commented_header = false;        // behind a #
  bool short_rows = false;              // the last columns stand in the first row only
  std::vector<std::string> names, units;
  std::vector<std::string> cell_units;           // [column]: what stands behind each number: 19.98 °C
  std::vector<std::vector<std::string>> sample;  // [column]: cells of the first rows
};

// Throws TableError: T590 where an option names what cannot be, T594 where a number may be two.
CsvFormat recognise_csv(std::string_view text, const TableOptions& options);

// A line cut into cells, without the blanks around them and the quotes.
std::vector<std::string> cut_cells(std::string_view line, char delimiter);

// Texts that stand where nothing was read: "", "nan", "---", "#N/A", "OVERLOAD", ...
bool is_missing(std::string_view cell, std::string_view also);

std::string delimiter_words(char delimiter);  // "';'", "a tab", "blanks"

}  // namespace tellegen
