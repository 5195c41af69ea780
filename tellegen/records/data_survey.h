// What is in a data file: its columns with their units, ranges and gaps, its times, and which column is
// likely which sensor or input of a model. In one pass, in the memory of some thousand rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/records/data_file.h"
#include "tellegen/records/time_base.h"

namespace tellegen {

struct SurveyedColumn {
  TableColumn column;
  std::string unit;  // as the program knows it; empty: none is said
  std::int64_t readings = 0, missing = 0;
  double lowest = 0.0, highest = 0.0, mean = 0.0;  // in the unit of the file
  std::int64_t stuck = 0;                          // rows of the longest stretch of the same number
  double stuck_from = 0.0;                         // when it began
  std::string is_text;                             // a cell that is no number: the column cannot be used
  std::vector<double> curve;                       // at the times of DataSurvey::times
};

struct DataSurvey {
  std::string description;
  std::vector<std::string> notes;
  int time_column = -1;
  std::int64_t rows = 0, same_time = 0, backwards = 0;
  double first = 0.0, last = 0.0;      // seconds
  std::optional<std::int64_t> origin;  // nanoseconds since 1970 of t = 0
  TimeBase base;
  std::vector<double> times;  // of the curves: some thousand rows
  std::vector<SurveyedColumn> columns;
};

DataSurvey survey_data(const DataSource& source);

// Which column may give a sensor or an input of the model.
struct ColumnProposal {
  std::string name, what, unit;  // "T_h", "sensor", "degC"
  int column = -1;               // -1: none fits
  bool by_name = false;          // it needs no --columns
};
std::vector<ColumnProposal> propose_columns(const Model& model, const DataSurvey& survey,
                                            const ColumnNames& given);

}  // namespace tellegen
