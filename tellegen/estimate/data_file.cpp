#include "tellegen/estimate/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>

#include "tellegen/estimate/reading_check.h"
#include "tellegen/model/csv_header.h"
#include "tellegen/model/csv_records.h"
#include "tellegen/model/reading.h"

namespace tellegen {
namespace {

constexpr int faults_shown = 20;            // a file in the wrong format is wrong in every line
constexpr std::size_t part_size = 1 << 20;  // bytes that are read at once

// Rows in the order of their times; rows of equal time stay as they are.
void sort_by_time(DataFile& data, std::size_t width) {
  if (std::is_sorted(data.t.begin(), data.t.end())) return;
  std::vector<std::size_t> order(data.t.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return data.t[a] < data.t[b]; });
  DataFile sorted;
  for (std::size_t row : order) {
    sorted.t.push_back(data.t[row]);
    sorted.arrival.push_back(data.arrival[row]);
    sorted.lines.push_back(data.lines[row]);
    const auto first = data.values.begin() + static_cast<long>(row * width);
    sorted.values.insert(sorted.values.end(), first, first + static_cast<long>(width));
  }
  data = std::move(sorted);
}

// A text file in parts that end with a line, never within a quoted cell.
class TextParts {
 public:
  explicit TextParts(const std::filesystem::path& file) : standard_(file == "-") {
    std::error_code ignored;
    const auto type = std::filesystem::status(file, ignored).type();
    std::string reason;
    if (!standard_ && type == std::filesystem::file_type::not_found) reason = "there is no such file";
    if (!standard_ && type == std::filesystem::file_type::directory) reason = "it is a folder";
    if (reason.empty()) stream_ = standard_ ? stdin : std::fopen(file.c_str(), "rb");
    if (reason.empty() && !stream_) reason = "it cannot be opened";
    if (!reason.empty())
      throw ModelError(
          {{file.string(), 0}, "T180", fmt::format("cannot read '{}'", file.string()), {std::move(reason)}});
  }
  ~TextParts() {
    if (stream_ && !standard_) std::fclose(stream_);
  }
  TextParts(const TextParts&) = delete;
  TextParts& operator=(const TextParts&) = delete;

  // The next part; empty at the end.
  std::string_view next() {
    text_.erase(0, given_);
    given_ = 0;
    for (std::size_t end = 0;;) {
      if ((end = last_line_end()) > 0 && (text_.size() >= part_size || standard_)) return part(end);
      const std::size_t before = text_.size();
      if (standard_) {  // a line at a time: whoever writes there waits for an answer
        char* line = nullptr;
        std::size_t room = 0;
        const ssize_t size = getline(&line, &room, stream_);
        if (size > 0) text_.append(line, static_cast<std::size_t>(size));
        std::free(line);
      } else {
        text_.resize(before + part_size);
        text_.resize(before + std::fread(text_.data() + before, 1, part_size, stream_));
      }
      if (text_.size() == before) return part(text_.size());
    }
  }

 private:
  std::string_view part(std::size_t size) { return std::string_view(text_).substr(0, given_ = size); }

  // Behind the last line that does not end within quotes. Comments have no cells.
  std::size_t last_line_end() const {
    if (text_.find('"') == text_.npos) return text_.rfind('\n') + 1;
    std::size_t end = 0;
    bool quoted = false;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t line = std::min(text_.find('\n', at), text_.size());
      const std::size_t first = text_.find_first_not_of(" \t", at);
      if (quoted || first >= line || text_[first] != '#')
        quoted = quoted != (std::count(text_.begin() + static_cast<long>(at),
                                       text_.begin() + static_cast<long>(line), '"') %
                                2 !=
                            0);
      at = line + 1;
      if (!quoted && line < text_.size()) end = at;
    }
    return end;
  }

  bool standard_;
  std::FILE* stream_ = nullptr;
  std::string text_;
  std::size_t given_ = 0;
};

}  // namespace

class DataRows::Reader {
 public:
  Reader(const std::filesystem::path& file, const std::vector<DataFile::Wanted>& wanted)
      : file_(file.string()), parts_(file) {
    if (!next_cells()) {
      faults_.add({file_, 0}, "T590", records_.wrong().empty() ? "the data file is empty" : records_.wrong(),
                  {"the first line names the columns"});
      faults_.throw_if_any();
    }
    if (csv_number(cells_[0]))
      faults_.add(place(), "T590",
                  fmt::format("the number '{}' where a column's name is expected", cells_[0]),
                  {"the first line names the columns"});
    CsvHeader header(cells_, place(), faults_);
    columns_in_file_ = header.size();
    for (const char* name : {"t", "time", "Time"}) {
      time_ = header.find(name, {"s", "s", "the time"});
      if (time_ || !header.missing()) break;
    }
    if (!time_ && header.missing()) header.no_column("time", "the time");
    arrival_ = header.find("arrival", {"s", "s", "the arrival"});
    for (const DataFile::Wanted& w : wanted) {
      const std::string what = fmt::format("{} '{}'", w.what, w.name);
      columns_.push_back(header.find(w.name, {w.unit, w.unit, what}));
      if (!columns_.back() && header.missing()) header.no_column(w.name, what);
    }
  }

  bool has_arrivals() const { return arrival_.has_value(); }

  bool next(Row& row) {
    while (wrong_rows_ < faults_shown && next_cells()) {
      if (cells_.size() != columns_in_file_) {
        fault("T590",
              fmt::format("{} cells where the header names {} columns", cells_.size(), columns_in_file_));
        continue;
      }
      row.line = line_;
      row.values.clear();
      for (const auto& column : columns_) row.values.push_back(column ? number(*column) : no_number);
      const int before = wrong_rows_;
      row.t = time_ ? number(*time_) : 0.0;
      if (time_ && wrong_rows_ == before) {
        if (std::isnan(row.t))
          fault("T592", "a row without its time");
        else if (!arrival_ && !(row.t > last_))
          fault("T592", fmt::format("the time {:.10g} s does not come after {:.10g} s", row.t, last_),
                {"times increase; only with a column 'arrival' may rows be late"});
      }
      if (!std::isnan(row.t)) last_ = row.t;
      row.arrival = row.t;
      if (arrival_) {
        if (const double known = number(*arrival_); !std::isnan(known)) row.arrival = known;
        if (row.arrival < row.t)
          fault("T592", fmt::format("a reading of {:.10g} s arrives at {:.10g} s", row.t, row.arrival));
      }
      ++rows_;
      // What is wrong is collected: rows are read on, and none is given any more.
      if (faults_.empty()) return true;
    }
    if (!records_.wrong().empty()) fault("T590", records_.wrong());
    if (rows_ == 0 && faults_.empty())
      faults_.add({file_, 0}, "T590", "the data file has no rows", {"only its header"});
    faults_.throw_if_any();
    return false;
  }

 private:
  Place place() const { return {file_, line_}; }
  void fault(std::string_view code, std::string message, std::vector<std::string> details = {}) {
    faults_.add(place(), code, std::move(message), std::move(details));
    ++wrong_rows_;
  }

  bool next_cells() {
    while (!records_.next(cells_)) {
      if (!records_.wrong().empty()) return false;
      lines_before_ += static_cast<int>(std::count(part_.begin(), part_.end(), '\n'));
      part_ = parts_.next();
      if (part_.empty()) return false;
      records_ = CsvRecords(part_);
    }
    line_ = lines_before_ + records_.line();
    return true;
  }

  // A cell's number; missing where it is empty or "nan".
  double number(const CsvColumn& column) {
    const std::string_view cell = cells_[static_cast<std::size_t>(column.at)];
    if (cell.empty()) return no_number;
    const auto value = csv_number(cell);
    if (!value) {
      fault("T594", fmt::format("'{}' in column '{}' is not a number", cell, column.name),
            {"leave the cell empty where nothing was read"});
      return no_number;
    }
    return std::isfinite(*value) ? column.si(*value) : no_number;
  }

  std::string file_;
  TextParts parts_;
  std::string_view part_;
  CsvRecords records_{""};
  int lines_before_ = 0, line_ = 0, wrong_rows_ = 0;
  std::int64_t rows_ = 0;
  std::vector<std::string_view> cells_;
  FaultList faults_;
  std::size_t columns_in_file_ = 0;
  std::optional<CsvColumn> time_, arrival_;
  std::vector<std::optional<CsvColumn>> columns_;
  double last_ = -std::numeric_limits<double>::infinity();
};

DataRows::DataRows(const std::filesystem::path& file, const std::vector<DataFile::Wanted>& wanted)
    : reader_(std::make_unique<Reader>(file, wanted)) {}
DataRows::~DataRows() = default;
bool DataRows::has_arrivals() const { return reader_->has_arrivals(); }
bool DataRows::next(Row& row) { return reader_->next(row); }

DataFile read_data_file(const std::filesystem::path& file, const std::vector<DataFile::Wanted>& wanted) {
  DataRows rows(file, wanted);
  DataFile data;
  for (DataRows::Row row; rows.next(row);) {
    data.t.push_back(row.t);
    if (rows.has_arrivals()) data.arrival.push_back(row.arrival);
    data.lines.push_back(row.line);
    data.values.insert(data.values.end(), row.values.begin(), row.values.end());
  }
  if (rows.has_arrivals()) sort_by_time(data, wanted.size());
  return data;
}

}  // namespace tellegen
