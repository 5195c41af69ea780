#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "tellegen/model/csv_records.h"
#include "tellegen/model/units.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/csv_cell.h"
#include "tellegen/results/csv_stream.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// ---- writing

constexpr std::size_t buffer_size = 1 << 16;
constexpr std::size_t longest_number = 32;  // -1.2345678901234567e-308 and a comma

}  // namespace

struct FileCloser {
  void operator()(std::FILE* stream) const { std::fclose(stream); }
};

// Numbers go into one buffer with to_chars; a large file is then limited by the disk.
class NumberStream {
 public:
  NumberStream(const fs::path& aside, const fs::path& path) : path_(path), stream_(open(aside)) {}

  void text(std::string_view s) {
    flush();
    put(s.data(), s.size());
  }
  void number(double value) {
    if (used_ + longest_number > buffer_size) flush();
    if (!std::isnan(value))
      used_ = std::to_chars(buffer_ + used_, buffer_ + buffer_size, value).ptr - buffer_;
  }
  void mark(char c) {
    if (used_ == buffer_size) flush();
    buffer_[used_++] = c;
  }
  void flush() {
    put(buffer_, used_);
    used_ = 0;
  }
  void to_disk() {
    flush();
    if (std::fflush(stream_.get()) != 0) fail();
  }
  void close() {
    flush();
    if (std::fclose(stream_.release()) != 0) fail();
  }

 private:
  std::FILE* open(const fs::path& aside) {
    std::FILE* stream = std::fopen(aside.c_str(), "wb");
    if (!stream) fail();
    return stream;
  }
  void put(const char* data, std::size_t size) {
    if (std::fwrite(data, 1, size, stream_.get()) != size) fail();
  }
  [[noreturn]] void fail() const {
    throw std::runtime_error(fmt::format("cannot write '{}': {}", path_.string(), std::strerror(errno)));
  }

  fs::path path_;
  std::unique_ptr<std::FILE, FileCloser> stream_;
  std::size_t used_ = 0;
  char buffer_[buffer_size];
};

namespace {

// ---- reading

// A file that is being read, and where it is wrong.
struct CsvSource {
  CsvSource(std::string_view text, const std::string& name) : records(text), name(name) {}
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", name, records.line(), what));
  }
  bool next(std::vector<std::string_view>& cells) {
    if (records.next(cells)) return true;
    if (!records.wrong().empty()) fail(records.wrong());
    return false;
  }
  CsvRecords records;
  const std::string& name;
};

// "T2 [degC]" is the name T2 and the unit degC.
std::pair<std::string, std::string> split_header(std::string_view cell) {
  const std::size_t open = cell.rfind('[');
  if (!cell.ends_with(']') || open == std::string_view::npos || open == 0) return {std::string(cell), ""};
  std::string_view name = cell.substr(0, open);
  while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
  return {std::string(name), std::string(cell.substr(open + 1, cell.size() - open - 2))};
}

double number(const CsvSource& source, std::string_view cell, const std::string& column) {
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto value = csv_number(cell);
  if (!value) source.fail(fmt::format("column '{}': '{}' is not a number", column, cell));
  return *value;
}

// Returns the unit of the times.
std::string read_header(const CsvSource& source, const std::vector<std::string_view>& cells,
                        Trajectory& trajectory) {
  const auto [time_name, time_unit] = split_header(cells[0]);
  if (!time_unit.empty() && !units().convertible(time_unit, "s"))
    source.fail(fmt::format("the time '{}' is in {}; expected s, ms, ...", time_name, time_unit));
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t c = 1; c < cells.size(); ++c) {
    auto [name, unit] = split_header(cells[c]);
    if (name.empty()) source.fail(fmt::format("column {} has no name", c + 1));
    const auto [first, is_new] = seen.try_emplace(name, c + 1);
    if (!is_new) source.fail(fmt::format("columns {} and {} are both '{}'", first->second, c + 1, name));
    trajectory.names.push_back(std::move(name));
    trajectory.units.push_back(std::move(unit));
  }
  // A file that starts with its data would silently lose its first row.
  if (csv_number(cells[0])) source.fail("expected a header with the names of the columns");
  return time_unit.empty() ? "s" : time_unit;
}

}  // namespace

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_header(const std::string& name, const std::string& unit) {
  return csv_cell(unit.empty() ? name : name + " [" + unit + "]");
}

namespace {

void write_header(NumberStream& out, const std::vector<std::string>& names,
                  const std::vector<std::string>& units) {
  std::string header = "t [s]";
  for (std::size_t c = 0; c < names.size(); ++c)
    header += "," + csv_header(names[c], c < units.size() ? units[c] : std::string());
  out.text(header + "\n");
}

void write_row(NumberStream& out, double time, std::span<const double> values) {
  out.number(time);
  for (double value : values) {
    out.mark(',');
    out.number(value);
  }
  out.mark('\n');
}

}  // namespace

void write_csv(const fs::path& path, const Trajectory& trajectory) {
  AtomicFile file(path);
  NumberStream out(file.aside(), path);
  write_header(out, trajectory.names, trajectory.units);
  for (std::size_t r = 0; r < trajectory.rows(); ++r) write_row(out, trajectory.t[r], trajectory.row(r));
  out.close();
  file.commit();
}

CsvStream::CsvStream(const fs::path& path, const std::vector<std::string>& names,
                     const std::vector<std::string>& units)
    : path_(path), stream_(std::make_unique<NumberStream>(path, path)) {
  write_header(*stream_, names, units);
  stream_->to_disk();
}

CsvStream::~CsvStream() = default;

void CsvStream::row(double time, std::span<const double> values) { write_row(*stream_, time, values); }
void CsvStream::flush() { stream_->to_disk(); }

void CsvStream::close() {
  if (stream_) stream_->close();
  stream_.reset();
}

Trajectory read_csv_text(std::string_view text, const std::string& name) {
  CsvSource source(text, name);
  std::vector<std::string_view> cells;
  Trajectory trajectory;
  if (!source.next(cells)) throw std::runtime_error(fmt::format("{}: the file is empty", name));
  const std::string time_unit = read_header(source, cells, trajectory);
  while (source.next(cells)) {
    if (cells.size() != trajectory.columns() + 1)
      source.fail(
          fmt::format("{} cells, but the header names {} columns", cells.size(), trajectory.columns() + 1));
    const double time = number(source, cells[0], "t");
    if (!std::isfinite(time)) source.fail("the time is missing");
    trajectory.t.push_back(time_unit == "s" ? time : units().to_si(time, time_unit));
    for (std::size_t c = 0; c < trajectory.columns(); ++c)
      trajectory.values.push_back(number(source, cells[c + 1], trajectory.names[c]));
  }
  return trajectory;
}

Trajectory read_csv(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw std::runtime_error(fmt::format("cannot read '{}': it is a folder", path.string()));
  std::unique_ptr<std::FILE, FileCloser> stream(std::fopen(path.c_str(), "rb"));
  if (!stream)
    throw std::runtime_error(fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)));
  std::string text;
  for (std::size_t got = 1; got > 0;) {
    const std::size_t size = text.size();
    text.resize(std::max(2 * size, buffer_size));
    got = std::fread(text.data() + size, 1, text.size() - size, stream.get());
    text.resize(size + got);
  }
  if (std::ferror(stream.get()))
    throw std::runtime_error(fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)));
  return read_csv_text(text, path.string());
}

}  // namespace tellegen
