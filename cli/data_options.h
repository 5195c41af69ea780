// --data and what can be said of the files that it names.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tellegen/calibrate/frequency_response.h"
#include "tellegen/records/data_file.h"
#include "tellegen/records/record.h"

namespace tellegen {

struct DataRequest {
  std::vector<std::string> files;
  std::string columns, delimiter, decimal, encoding, header_line, units_line, missing, time_column,
      time_format;

  std::vector<std::string> more;  // --record: of other runs

  std::string first() const { return files.empty() ? "" : files.front(); }
};

// `summary` of --data; the others are in a group of their own.
CLI::Option* add_data_options(CLI::App& command, DataRequest& request, const std::string& summary);
void add_format_options(CLI::App& command, DataRequest& request);

// What the command line says of columns goes before [columns] of the model file. Throws ModelError (T401).
DataSource data_source(std::string_view command, const DataRequest& request, const std::string& model_file);

// --record F, once for each: a record of another run, that begins anew.
void add_record_option(CLI::App& command, DataRequest& request);
// They and the first get the sensors that any of them has; of those that `reading` names if there are such.
// Throws ModelError: T603 where one has no sensor, and as read_record().
std::vector<Record> read_more_records(std::string_view command, const DataRequest& request,
                                      const std::string& model_file, const Model& model,
                                      const RecordOptions& reading, bool only_named, Record& first);

// --response t.v/i=F.csv, once for each, and --response-noise.
struct ResponseRequest {
  std::vector<std::string> responses;
  std::string noise;
};
void add_response_options(CLI::App& command, ResponseRequest& request);
// Format and columns as --data has them. Throws ModelError: T401, and as read_response().
std::vector<ResponseData> read_responses(std::string_view command, const ResponseRequest& request,
                                         const DataRequest& format, const std::string& model_file);

}  // namespace tellegen
