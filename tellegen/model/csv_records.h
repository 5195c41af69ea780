// The text of a CSV file cut into records and cells, for every reader of CSV. Empty lines and lines that
// begin with # are passed over; a cell may be quoted, a doubled quote in it is one, and a quoted cell may
// hold commas and line ends. Blanks around a cell do not count. A byte-order mark and CRLF are understood.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

class CsvRecords {
 public:
  explicit CsvRecords(std::string_view text);

  // The next record; false at the end of the text and where the text is wrong. Cells are views of the text
  // where they can be, so that a large file is read without copying; they hold until the next call.
  bool next(std::vector<std::string_view>& cells);
  int line() const { return line_; }                   // where the record begins
  const std::string& wrong() const { return wrong_; }  // what is wrong with the text; empty: nothing

 private:
  std::string_view cell(bool& more);
  std::string_view quoted();

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, next_line_ = 1;
  std::deque<std::string> unquoted_;  // what the quoted cells of the record point into
  std::string wrong_;
};

// A number written in full, "+1.5" and "inf" too; 1e999 is infinite and 1e-999 zero.
std::optional<double> csv_number(std::string_view cell);

}  // namespace tellegen
