#include "cli/data_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/data/time_text.h"
#include "tellegen/model/csv_header.h"
#include "tellegen/records/choice.h"

namespace tellegen {
namespace {

int read_line_number(std::string_view command, const char* option, const std::string& text) {
  if (text.empty()) return 0;
  if (text == "none") return -1;
  int line = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line);
  if (error != std::errc() || end != text.data() + text.size() || line < 1)
    throw command_fault(command, "T401", fmt::format("{}: '{}' is no number of a line", option, text),
                        {"lines are counted from 1; none: there is no such line"});
  return line;
}

}  // namespace

void add_format_options(CLI::App& command, DataRequest& r) {
  const char* format = "How the data files are written (recognised if not given)";
  command
      .add_option("--columns", r.columns,
                  "which column is what: \"T_h=Case temperature [degC], P=Loss (W), time=Zeit\"")
      ->type_name("LIST")
      ->group(format);
  command.add_option("--delimiter", r.delimiter, "what separates cells: , ; | tab space")
      ->type_name("SIGN")
      ->group(format);
  command.add_option("--decimal", r.decimal, "decimal sign: . or ,")->type_name("SIGN")->group(format);
  command.add_option("--encoding", r.encoding, "utf-8, utf-16, latin-1")->type_name("NAME")->group(format);
  command.add_option("--header-line", r.header_line, "line with the names of columns; none: there is none")
      ->type_name("LINE")
      ->group(format);
  command.add_option("--units-line", r.units_line, "line with the units; none: there is none")
      ->type_name("LINE")
      ->group(format);
  command
      .add_option("--missing", r.missing,
                  "a text that stands where nothing was read: -9999; none: a number is always a reading")
      ->type_name("TEXT")
      ->group(format);
  command.add_option("--time-column", r.time_column, "the column with the times")
      ->type_name("NAME")
      ->group(format);
  command
      .add_option("--time-format", r.time_format,
                  "how times are written: \"%d.%m.%Y %H:%M:%S\", seconds, " + epoch_names())
      ->type_name("FORMAT")
      ->group(format);
}

CLI::Option* add_data_options(CLI::App& command, DataRequest& r, const std::string& summary) {
  CLI::Option* data = command.add_option("--data", r.files, summary)->type_name("F")->allow_extra_args(false);
  add_format_options(command, r);
  return data;
}

DataSource data_source(std::string_view command, const DataRequest& request, const std::string& model_file) {
  TableOptions table;
  table.delimiter = request.delimiter;
  table.decimal = request.decimal;
  table.encoding = request.encoding;
  table.missing = request.missing;
  table.time_column = request.time_column;
  table.time_format = request.time_format;
  table.header_line = read_line_number(command, "--header-line", request.header_line);
  table.units_line = read_line_number(command, "--units-line", request.units_line);
  table.is_unit = is_header_unit;
  check_choice({command, "--decimal"}, request.decimal, {".", ","});
  check_choice({command, "--encoding"}, request.encoding, {"utf-8", "utf-16", "latin-1"});
  if (const std::string& format = request.time_format;
      !format.empty() && format != "seconds" && !find_epoch(format) && format.find('%') == std::string::npos)
    throw command_fault(command, "T401", fmt::format("--time-format: '{}' is no way to write times", format),
                        {"\"%d.%m.%Y %H:%M:%S\", seconds, " + epoch_names()});
  ColumnNames columns = read_column_names(request.columns, {std::string(command) + " --columns", 0});
  for (ColumnName& entry : columns_section(model_file)) {
    bool given = false;
    for (const ColumnName& own : columns) given = given || own.name == entry.name;
    if (!given) columns.push_back(std::move(entry));
  }
  std::vector<std::filesystem::path> files;
  for (const std::string& file : request.files) files.emplace_back(file);
  return DataSource(std::move(files), std::move(table), std::move(columns));
}

void add_record_option(CLI::App& command, DataRequest& r) {
  command
      .add_option(
          "--record", r.more,
          "measurements of another run, which begins anew with the model's initial values; once for each")
      ->type_name("F")
      ->allow_extra_args(false);
}

std::vector<Record> read_more_records(std::string_view command, const DataRequest& request,
                                      const std::string& model_file, const Model& model,
                                      const RecordOptions& reading, bool only_named, Record& first) {
  std::vector<Record> records;
  std::vector<int> all = first.sensors;
  for (const std::string& file : request.more) {
    DataRequest one = request;
    one.files = {file};
    const DataSource data = data_source(command, one, model_file);
    RecordOptions own = reading;
    own.sensors.clear();
    for (int s : sensors_in_data(model, data)) {
      const bool known = std::find(all.begin(), all.end(), s) != all.end();
      if (only_named && !known) continue;
      own.sensors.push_back(s);
      if (!known) all.push_back(s);
    }
    if (own.sensors.empty())
      throw command_fault(command, "T603", fmt::format("--record: '{}' has no reading of a sensor", file),
                          {"tellegen data FILE --model MODEL shows what it has"});
    records.push_back(read_record(model, data, own));
  }
  if (records.empty()) return records;
  first = with_sensors(first, all);
  for (Record& record : records) record = with_sensors(record, all);
  return records;
}

void add_response_options(CLI::App& command, ResponseRequest& r) {
  const char* group = "Responses over frequency";
  command
      .add_option("--response", r.responses,
                  "a measured response, an impedance say: variable over input and its table, t.v/i=F.csv; "
                  "once for each")
      ->type_name("OF/BY=F")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--response-noise", r.noise,
                  "standard deviation of both parts, in per cent of the magnitude, where the table has no "
                  "column sd: 1%")
      ->type_name("PERCENT")
      ->group(group);
}

std::vector<ResponseData> read_responses(std::string_view command, const ResponseRequest& request,
                                         const DataRequest& format, const std::string& model_file) {
  double relative = 0.0;
  if (!request.noise.empty()) {
    const char* begin = request.noise.c_str();
    char* end = nullptr;
    relative = std::strtod(begin, &end) / 100.0;
    if (end == begin || (std::string_view(end) != "%" && *end != '\0') || !(relative > 0.0))
      throw command_fault(command, "T401",
                          fmt::format("--response-noise: '{}' is no percentage above zero", request.noise),
                          {"--response-noise 1%"});
  }
  std::vector<ResponseData> found;
  for (const std::string& text : request.responses) {
    const auto equal = text.find('=');
    const auto slash = text.rfind('/', equal);
    if (equal == std::string::npos || slash == std::string::npos || slash == 0 || slash + 1 == equal ||
        equal + 1 == text.size())
      throw command_fault(command, "T401", fmt::format("--response: '{}' is no response", text),
                          {"a variable over an input, and the table: --response t.v/i=F.csv"});
    DataRequest source = format;
    source.files = {text.substr(equal + 1)};
    found.push_back(read_response(data_source(command, source, model_file), text.substr(0, slash),
                                  text.substr(slash + 1, equal - slash - 1), relative));
    if (const ResponseData& last = found.back(); last.missing > 0)
      fmt::print(stderr, "{}: note: {} of {} rows have no value\n", last.file, last.missing,
                 last.missing + static_cast<std::int64_t>(last.values.size()));
  }
  return found;
}

}  // namespace tellegen
