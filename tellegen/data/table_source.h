// Tables of numbers as they come from loggers, of whatever format: named columns, read in blocks of rows in
// the memory of one block, however long the file is.
//
//   const auto table = open_table("log.csv", {});
//   table->choose({0, 3});
//   for (TableBlock block; table->next(block);) use(block.columns[0], block.columns[1]);
//
// What the user did not say of the format is recognised, and description() says it in a line. Units are those
// of the file; points in time are seconds since the first of them (time_text.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

// What is wrong with a file: once for each cause, with the first line where it shows.
struct TableFault {
  int line = 0;  // 0: the file as a whole
  std::string code, message;
  std::vector<std::string> details;
  std::string file;  // empty: the one that was asked for
};

class TableError : public std::runtime_error {
 public:
  explicit TableError(std::vector<TableFault> faults);
  const std::vector<TableFault>& faults() const { return faults_; }

 private:
  std::vector<TableFault> faults_;
};

// What the user says of a file; empty: it is recognised.
struct TableOptions {
  std::string delimiter;    // ",", ";", "tab", "|", "space"
  std::string decimal;      // ".", ","
  std::string encoding;     // "utf-8", "utf-16", "latin-1"
  int header_line = 0;      // -1: there is none
  int units_line = 0;       // -1: there is none
  std::string missing;      // a text that stands where nothing was read, beside the usual ones
  std::string time_column;  // its name
  std::string time_format;  // a pattern of time_text.h, or the name of an epoch
  std::function<bool(std::string_view)> is_unit = {};  // whether a text is a unit: tells a row of units
};

struct TableColumn {
  std::string name;         // as it stands in the file
  std::string unit;         // of a row of units or a field of the file; empty: none, or within the name
  bool is_time = false;     // points in time: its values are seconds since origin()
  std::string description;  // in words, where the file has some
};

struct TableBlock {
  std::size_t rows = 0;
  std::vector<std::vector<double>> columns;  // as chosen; NaN: missing
  std::vector<int> lines;                    // of each row; its number where the file has no lines
};

class TableSource {
 public:
  virtual ~TableSource() = default;
  const std::vector<TableColumn>& columns() const { return columns_; }
  int time_column() const { return time_column_; }  // the likeliest; -1: none
  bool has_names() const { return has_names_; }     // otherwise columns are called 1, 2, ...
  int header_line() const { return header_line_; }
  const std::string& description() const { return description_; }
  bool usual() const { return usual_; }  // a plain table: nothing that users need to be told
  // What was passed over while reading, with counts.
  virtual std::vector<std::string> notes() const { return {}; }

  // Which columns next() gives; before the first block.
  virtual void choose(std::vector<int> columns) = 0;
  // False at the end. Throws TableError.
  virtual bool next(TableBlock& block) = 0;

  // Nanoseconds since 1970 of t = 0 of the columns that are points in time, once a row was read; may be given
  // before.
  std::optional<std::int64_t> origin() const { return origin_; }
  void set_origin(std::int64_t nanoseconds) { origin_ = nanoseconds; }

 protected:
  std::vector<TableColumn> columns_;
  int time_column_ = -1, header_line_ = 0;
  bool has_names_ = true, usual_ = true;
  std::string description_;
  std::optional<std::int64_t> origin_;
};

// A table of the format that the file's content shows (formats.cpp); "-" is standard input, as CSV. A folder
// is its tables in the order of their names. Throws TableError: T180 where it cannot be read.
std::unique_ptr<TableSource> open_table(const std::filesystem::path& file, const TableOptions& options);

// Several files as one table (table_sequence.cpp): columns by name, rows one after the other.
std::unique_ptr<TableSource> open_tables(const std::vector<std::filesystem::path>& files,
                                         const TableOptions& options);

// Names that loggers give a column of times, in any language they are sold in.
bool is_time_name(std::string_view name);

TableError cannot_read(const std::filesystem::path& file, std::string reason);

}  // namespace tellegen
