// The columns of a data file that an estimation needs, found by their names and turned into SI.
//
//   t [ms], S1 (degC), Q0_W, comment       a unit in brackets, or behind the name
//   0,      26.1,      10,   warm
//   1,      ,          10,                  nothing was read
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tellegen {

struct DataFile {
  struct Wanted {
    std::string name, unit;  // empty unit: SI, whatever that is
    std::string what;        // "sensor", "input"
  };
  std::vector<double> t, arrival;  // arrival: empty where the file has no such column
  std::vector<double> values;      // [row][wanted], SI; NaN: missing
  std::vector<int> lines;          // of each row
};

// Rows in the order of their times. Throws ModelError: T180 where the file cannot be read, T590 to T594 for
// all that is wrong in it. Only where arrivals are told may times go back.
DataFile read_data_file(const std::filesystem::path& file, const std::vector<DataFile::Wanted>& wanted);

// The same row by row, in the order of the file and in the memory of a few rows.
class DataRows {
 public:
  // "-" is standard input. Throws ModelError (T180) where it cannot be read.
  DataRows(const std::filesystem::path& file, const std::vector<DataFile::Wanted>& wanted);
  ~DataRows();
  DataRows(const DataRows&) = delete;
  DataRows& operator=(const DataRows&) = delete;

  struct Row {
    double t = 0.0, arrival = 0.0;  // arrival: the time where the file says nothing
    int line = 0;
    std::vector<double> values;  // as wanted, SI; NaN: missing
  };
  bool has_arrivals() const;
  // False at the end. Throws ModelError with every fault of the rows until then, or with the first twenty.
  bool next(Row& row);

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace tellegen
