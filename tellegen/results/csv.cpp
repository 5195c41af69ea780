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

#include "tellegen/results/atomic_file.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// ---- writing

constexpr std::size_t buffer_size = 1 << 16;
constexpr std::size_t longest_number = 32;  // -1.2345678901234567e-308 and a comma

std::string header_cell(const std::string& name, const std::string& unit) {
  const std::string text = unit.empty() ? name : name + " [" + unit + "]";
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

struct Closer {
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
  void flush() {
    put(buffer_, used_);
    used_ = 0;
  }
  void put(const char* data, std::size_t size) {
    if (std::fwrite(data, 1, size, stream_.get()) != size) fail();
  }
  [[noreturn]] void fail() const {
    throw std::runtime_error(fmt::format("cannot write '{}': {}", path_.string(), std::strerror(errno)));
  }

  fs::path path_;
  std::unique_ptr<std::FILE, Closer> stream_;
  std::size_t used_ = 0;
  char buffer_[buffer_size];
};

// ---- reading

// One file's text, cut into records and cells.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& name) : text_(text), name_(name) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  // The next record that is neither blank nor a comment. Cells without quotes are views of the text, so
  // that a large file is read without copying.
  bool next(std::vector<std::string_view>& cells) {
    while (at_ < text_.size()) {
      line_ = next_line_;
      cells.clear();
      unquoted_.clear();
      const std::size_t start = at_;
      const bool comment = text_[at_] == '#';
      if (comment) {
        skip_line();
        continue;
      }
      for (bool more = true; more;) cells.push_back(cell(more));
      if (!(cells.size() == 1 && cells[0].empty() && is_blank(start))) return true;
    }
    return false;
  }

  int line() const { return line_; }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", name_, line_, what));
  }

 private:
  bool is_blank(std::size_t start) const {
    return text_.substr(start, at_ - start).find_first_not_of(" \t\r\n") == std::string_view::npos;
  }

  void skip_line() {
    at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
    ++next_line_;
  }

  static std::string_view trimmed(std::string_view s) {
    const std::size_t first = s.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
  }

  // Reads one cell and what ends it; `more` says whether the record goes on.
  std::string_view cell(bool& more) {
    std::size_t first = at_;
    while (first < text_.size() && (text_[first] == ' ' || text_[first] == '\t')) ++first;
    std::string_view value;
    if (first < text_.size() && text_[first] == '"') {
      at_ = first + 1;
      value = quoted();
      const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
      if (!trimmed(text_.substr(at_, end - at_)).empty()) fail("text after a closing quote");
      at_ = end;
    } else {
      const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
      value = trimmed(text_.substr(at_, end - at_));
      at_ = end;
    }
    more = at_ < text_.size() && text_[at_] == ',';
    if (at_ < text_.size() && text_[at_] == '\n') ++next_line_;
    ++at_;
    return value;
  }

  std::string_view quoted() {
    auto value = std::make_unique<std::string>();
    for (;; ++at_) {
      if (at_ >= text_.size()) fail("a quoted cell does not end");
      if (text_[at_] == '\n') ++next_line_;
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      }
      *value += text_[at_];
    }
    ++at_;
    unquoted_.push_back(std::move(value));
    return trimmed(*unquoted_.back());
  }

  std::string_view text_;
  std::string name_;
  std::size_t at_ = 0;
  int line_ = 1, next_line_ = 1;
  std::vector<std::unique_ptr<std::string>> unquoted_;  // what the cells of the record point into
};

// "T2 [degC]" is the name T2 and the unit degC.
std::pair<std::string, std::string> split_header(std::string_view cell) {
  const std::size_t open = cell.rfind('[');
  if (!cell.ends_with(']') || open == std::string_view::npos || open == 0) return {std::string(cell), ""};
  std::string_view name = cell.substr(0, open);
  while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
  return {std::string(name), std::string(cell.substr(open + 1, cell.size() - open - 2))};
}

double number(const CsvReader& reader, std::string_view cell, const std::string& column) {
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::string_view digits = cell;
  if (digits.front() == '+') digits.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(digits).c_str(), nullptr);
  if (error != std::errc() || end != digits.data() + digits.size())
    reader.fail(fmt::format("column '{}': '{}' is not a number", column, cell));
  return value;
}

void read_header(CsvReader& reader, const std::vector<std::string_view>& cells, Trajectory& trajectory) {
  const auto [time_name, time_unit] = split_header(cells[0]);
  if (!time_unit.empty() && time_unit != "s")
    reader.fail(fmt::format("the time '{}' is in {}; expected s", time_name, time_unit));
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t c = 1; c < cells.size(); ++c) {
    auto [name, unit] = split_header(cells[c]);
    if (name.empty()) reader.fail(fmt::format("column {} has no name", c + 1));
    const auto [first, is_new] = seen.try_emplace(name, c + 1);
    if (!is_new) reader.fail(fmt::format("columns {} and {} are both '{}'", first->second, c + 1, name));
    trajectory.names.push_back(std::move(name));
    trajectory.units.push_back(std::move(unit));
  }
  // A file that starts with its data would silently lose its first row.
  double value = 0.0;
  const auto [end, error] = std::from_chars(cells[0].data(), cells[0].data() + cells[0].size(), value);
  if (error == std::errc() && end == cells[0].data() + cells[0].size())
    reader.fail("expected a header with the names of the columns");
}

}  // namespace

void write_csv(const fs::path& path, const Trajectory& trajectory) {
  AtomicFile file(path);
  NumberStream out(file.aside(), path);
  std::string header = "t [s]";
  for (std::size_t c = 0; c < trajectory.columns(); ++c)
    header += "," + header_cell(trajectory.names[c],
                                c < trajectory.units.size() ? trajectory.units[c] : std::string());
  out.text(header + "\n");
  for (std::size_t r = 0; r < trajectory.rows(); ++r) {
    out.number(trajectory.t[r]);
    for (double value : trajectory.row(r)) {
      out.mark(',');
      out.number(value);
    }
    out.mark('\n');
  }
  out.close();
  file.commit();
}

Trajectory read_csv_text(std::string_view text, const std::string& name) {
  CsvReader reader(text, name);
  std::vector<std::string_view> cells;
  Trajectory trajectory;
  if (!reader.next(cells)) throw std::runtime_error(fmt::format("{}: the file is empty", name));
  read_header(reader, cells, trajectory);
  while (reader.next(cells)) {
    if (cells.size() != trajectory.columns() + 1)
      reader.fail(
          fmt::format("{} cells, but the header names {} columns", cells.size(), trajectory.columns() + 1));
    const double time = number(reader, cells[0], "t");
    if (!std::isfinite(time)) reader.fail("the time is missing");
    trajectory.t.push_back(time);
    for (std::size_t c = 0; c < trajectory.columns(); ++c)
      trajectory.values.push_back(number(reader, cells[c + 1], trajectory.names[c]));
  }
  return trajectory;
}

Trajectory read_csv(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw std::runtime_error(fmt::format("cannot read '{}': it is a folder", path.string()));
  std::unique_ptr<std::FILE, Closer> stream(std::fopen(path.c_str(), "rb"));
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
