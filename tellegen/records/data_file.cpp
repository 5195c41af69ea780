#include "tellegen/records/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "tellegen/model/csv_header.h"
#include "tellegen/model/reading.h"
#include "tellegen/records/reading_check.h"
#include "tellegen/records/sentinels.h"

namespace tellegen {
namespace {

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
  sorted.remarks = std::move(data.remarks);
  data = std::move(sorted);
}

// The user's word for the time is the table's option.
TableOptions with_time_column(const DataSource& source) {
  TableOptions options = source.table;
  if (!options.is_unit) options.is_unit = is_header_unit;
  for (const ColumnName& entry : source.columns)
    if ((entry.name == "time" || entry.name == "t") && options.time_column.empty())
      options.time_column = entry.column;
  return options;
}

}  // namespace

std::unique_ptr<TableSource> open_data(const DataSource& source) {
  try {
    return open_tables(source.files, with_time_column(source));
  } catch (const TableError& error) {
    throw to_model_error(error, source.name());
  }
}

class DataRows::Reader {
 public:
  Reader(const DataSource& source, const std::vector<DataFile::Wanted>& wanted)
      : file_(source.name()), table_(open_data(source)) {
    if (table_->columns().empty())
      fail({0, "T590", "the data file is empty", {"a line names the columns"}, ""});
    if (!table_->has_names() && source.columns.empty())
      fail(
          {1,
           "T590",
           "the file has no line that names its columns",
           {fmt::format(
                "--columns \"time=1, {}=2\" names them by their numbers; --header-line says which line it is",
                wanted.empty() ? "x" : wanted.front().name),
            "as it was read: " + table_->description()},
           ""});
    CsvHeader header(table_->columns(), {file_, table_->header_line()}, faults_, source.columns);
    find_time(header, with_time_column(source).time_column);
    arrival_ = header.find("arrival", {"s", "s", "the arrival"});
    // What is missing is said when all others have their columns.
    std::vector<std::pair<std::string, CsvHeader::Wanted>> missing;
    for (const DataFile::Wanted& w : wanted) {
      const CsvHeader::Wanted as{w.unit, w.unit, fmt::format("{} '{}'", w.what, w.name)};
      columns_.push_back(header.find(w.name, as));
      if (!columns_.back() && header.missing()) missing.emplace_back(w.name, as);
    }
    for (std::size_t k = 0; k < table_->columns().size(); ++k)
      if (table_->columns()[k].is_time) header.take(k);
    for (const auto& [name, as] : missing) header.no_column(name, as);
    units_ = header.notes();
    sentinels_.resize(source.table.missing == "none" ? 0 : columns_.size());
    std::vector<int> chosen;
    const auto choose = [&](const std::optional<CsvColumn>& column) {
      if (column) chosen.push_back(column->at);
    };
    choose(time_);
    choose(arrival_);
    for (const auto& column : columns_) choose(column);
    try {
      table_->choose(std::move(chosen));
    } catch (const TableError& error) {
      throw to_model_error(error, file_);
    }
  }

  bool has_arrivals() const { return arrival_.has_value(); }
  void check_header() { faults_.throw_if_any(); }

  bool next(Row& row) {
    for (;;) {
      if (at_ == block_.rows && !next_block()) break;
      const std::size_t r = at_++;
      std::size_t c = 0;
      const auto number = [&](const std::optional<CsvColumn>& column, SentinelFinder* sentinel = nullptr) {
        if (!column) return no_number;
        const double value = block_.columns[c++][r];
        if (sentinel) sentinel->add(value, block_.lines[r]);
        return std::isfinite(value) ? column->si(value) : no_number;
      };
      row.line = block_.lines[r];
      row.t = time_ ? number(time_) : 0.0;
      row.arrival = arrival_ ? number(arrival_) : row.t;
      if (std::isnan(row.arrival)) row.arrival = row.t;
      row.values.resize(columns_.size());
      for (std::size_t k = 0; k < columns_.size(); ++k)
        row.values[k] = number(columns_[k], sentinels_.empty() ? nullptr : &sentinels_[k]);
      if (time_) check_time(row);
      ++rows_;
      // What is wrong is collected: rows are read on, and none is given any more.
      if (faults_.empty() && wrong_.empty()) return true;
    }
    if (rows_ == 0 && faults_.empty() && wrong_.empty())
      faults_.add({file_, 0}, "T590", "the data file has no rows",
                  {"only its header", "as it was read: " + table_->description()});
    for (Wrong& wrong : wrong_) {
      if (wrong.count > 1) wrong.details.push_back(fmt::format("and {} more rows like it", wrong.count - 1));
      faults_.add({file_, wrong.line}, "T592", wrong.message, wrong.details);
    }
    find_sentinels();
    faults_.throw_if_any();
    return false;
  }

  std::vector<std::string> remarks() const {
    std::vector<std::string> remarks;
    if (!table_->usual()) remarks.push_back("read as: " + table_->description());
    if (!units_.empty())
      remarks.push_back(
          fmt::format("units from the names of columns: {}; --columns \"NAME=COLUMN [UNIT]\" "
                      "states another",
                      fmt::join(units_, ", ")));
    for (std::string& note : table_->notes()) remarks.push_back(std::move(note));
    if (same_time_ > 0)
      remarks.push_back(fmt::format(
          "{} row{} the time of the row before (line {}, t = {:.10g} s): of two readings of a sensor at one "
          "time the first counts",
          same_time_, same_time_ == 1 ? " has" : "s have", same_line_, same_at_));
    return remarks;
  }

 private:
  [[noreturn]] void fail(TableFault fault) const {
    throw ModelError({{file_, fault.line}, fault.code, fault.message, fault.details});
  }

  void find_time(CsvHeader& header, const std::string& asked) {
    const CsvHeader::Wanted wanted{"s", "s", "the time"};
    int column = asked.empty() ? -1 : table_->time_column();
    if (column < 0) {
      for (const char* name : {"t", "time", "Time"}) {
        time_ = header.find(name, wanted);
        if (time_ || !header.missing()) break;
      }
      if (time_) column = time_->at;
      if (!time_ && !header.missing()) return;
    }
    if (column < 0) column = table_->time_column();
    if (column < 0) return header.no_column("time", wanted);
    const TableColumn& found = table_->columns()[static_cast<std::size_t>(column)];
    if (found.is_time)
      time_ = CsvColumn{column, found.name, ""};
    else if (!time_)
      time_ = header.at(static_cast<std::size_t>(column), wanted, stated_unit(asked).unit);
  }

  bool next_block() {
    at_ = 0;
    try {
      if (table_->next(block_)) return true;
    } catch (const TableError& error) {
      faults_.add(to_model_error(error, file_));
    }
    block_.rows = 0;
    return false;
  }

  void find_sentinels() {
    for (std::size_t k = 0; k < sentinels_.size(); ++k) {
      const SentinelFinder& s = sentinels_[k];
      if (!s.found()) continue;
      faults_.add(
          {file_, s.line()}, "T594",
          fmt::format("{} in column '{}' does not look like a reading", s.value(), columns_[k]->name),
          {fmt::format("{} such cell{}; the others are from {:.6g} to {:.6g}", s.count(),
                       s.count() == 1 ? "" : "s", s.lowest(), s.highest()),
           fmt::format("--missing {} leaves them out; --missing none takes them as they are", s.value())});
    }
  }

  struct Wrong {
    int cause = 0, line = 0;
    std::int64_t count = 0;
    std::string message;
    std::vector<std::string> details;
  };
  void wrong(int cause, int line, const std::function<std::string()>& message,
             std::vector<std::string> details) {
    const auto found =
        std::find_if(wrong_.begin(), wrong_.end(), [&](const Wrong& w) { return w.cause == cause; });
    if (found != wrong_.end())
      ++found->count;
    else
      wrong_.push_back({cause, line, 1, message(), std::move(details)});
  }

  void check_time(const Row& row) {
    if (std::isnan(row.t)) {
      wrong(0, row.line, [] { return "a row without its time"; }, {});
      return;
    }
    if (!arrival_ && row.t == last_ && rows_ > 0) {
      if (same_time_++ == 0) same_line_ = row.line, same_at_ = row.t;
    } else if (!arrival_ && row.t < last_) {
      wrong(1, row.line,
            [&] { return fmt::format("the time {:.10g} s does not come after {:.10g} s", row.t, last_); },
            {"times increase; only with a column 'arrival' may rows be late",
             "--time-format and --time-column say which times are meant: here, " + table_->description()});
    }
    last_ = row.t;
    if (row.arrival < row.t)
      wrong(2, row.line,
            [&] { return fmt::format("a reading of {:.10g} s arrives at {:.10g} s", row.t, row.arrival); },
            {});
  }

  std::string file_;
  std::unique_ptr<TableSource> table_;
  TableBlock block_;
  std::size_t at_ = 0;
  std::int64_t rows_ = 0, same_time_ = 0;
  int same_line_ = 0;
  double same_at_ = 0.0;
  FaultList faults_;
  std::vector<Wrong> wrong_;
  std::vector<SentinelFinder> sentinels_;  // of each of columns_
  std::vector<std::string> units_;         // that were taken from names of columns
  std::optional<CsvColumn> time_, arrival_;
  std::vector<std::optional<CsvColumn>> columns_;
  double last_ = -std::numeric_limits<double>::infinity();
};

DataRows::DataRows(const DataSource& source, const std::vector<DataFile::Wanted>& wanted)
    : reader_(std::make_unique<Reader>(source, wanted)) {}
DataRows::~DataRows() = default;
bool DataRows::has_arrivals() const { return reader_->has_arrivals(); }
void DataRows::check_header() const { reader_->check_header(); }
bool DataRows::next(Row& row) { return reader_->next(row); }
std::vector<std::string> DataRows::remarks() const { return reader_->remarks(); }

DataFile read_data_file(const DataSource& source, const std::vector<DataFile::Wanted>& wanted) {
  DataRows rows(source, wanted);
  DataFile data;
  for (DataRows::Row row; rows.next(row);) {
    data.t.push_back(row.t);
    if (rows.has_arrivals()) data.arrival.push_back(row.arrival);
    data.lines.push_back(row.line);
    data.values.insert(data.values.end(), row.values.begin(), row.values.end());
  }
  data.remarks = rows.remarks();
  if (rows.has_arrivals()) sort_by_time(data, wanted.size());
  return data;
}

}  // namespace tellegen
