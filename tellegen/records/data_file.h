// The columns of a record that an estimation needs, found by their names and turned into SI. The files may
// have any shape that data/table_source.h reads; in CSV
//
//   t [ms], S1 (degC), Q0_W, comment       a unit in brackets, or behind the name
//   0,      26.1,      10,   warm
//   1,      ,          10,                  nothing was read
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tellegen/data/table_source.h"
#include "tellegen/model/column_names.h"

namespace tellegen {

// Where a record is: one file or several in sequence, and what the user says of them.
struct DataSource {
  DataSource(std::filesystem::path file) : files{std::move(file)} {}  // NOLINT: a file is a source
  DataSource(std::vector<std::filesystem::path> list, TableOptions format = {}, ColumnNames names = {})
      : files(std::move(list)), table(std::move(format)), columns(std::move(names)) {}
  std::vector<std::filesystem::path> files;
  TableOptions table = {};
  ColumnNames columns = {};

  std::string name() const { return files.empty() ? "" : files.front().string(); }  // in faults
  bool is_standard_input() const { return files.size() == 1 && files[0] == "-"; }
};

// The table of a record. Throws ModelError (T180, T590).
std::unique_ptr<TableSource> open_data(const DataSource& source);

struct DataFile {
  struct Wanted {
    std::string name, unit;  // empty unit: SI, whatever that is
    std::string what;        // "sensor", "input"
  };
  std::vector<double> t, arrival;    // arrival: empty where the file has no such column
  std::vector<double> values;        // [row][wanted], SI; NaN: missing
  std::vector<int> lines;            // of each row
  std::vector<std::string> remarks;  // how the file was read, and what was passed over in it
};

// Rows in the order of their times; several may have the same time. Throws ModelError: T180 where the file
// cannot be read, T590 to T594 for all that is wrong in it, once for each cause. Only where arrivals are told
// may times go back.
DataFile read_data_file(const DataSource& source, const std::vector<DataFile::Wanted>& wanted);

// The same row by row, in the order of the file and in the memory of a few rows.
class DataRows {
 public:
  // "-" is standard input. Throws ModelError (T180) where it cannot be read.
  DataRows(const DataSource& source, const std::vector<DataFile::Wanted>& wanted);
  ~DataRows();
  DataRows(const DataRows&) = delete;
  DataRows& operator=(const DataRows&) = delete;

  struct Row {
    double t = 0.0, arrival = 0.0;  // arrival: the time where the file says nothing
    int line = 0;
    std::vector<double> values;  // as wanted, SI; NaN: missing
  };
  bool has_arrivals() const;
  void check_header() const;  // throws what is wrong with it, before a row is read
  // False at the end. Throws ModelError with every fault of the rows.
  bool next(Row& row);
  std::vector<std::string> remarks() const;  // as DataFile, of what was read until now

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace tellegen
