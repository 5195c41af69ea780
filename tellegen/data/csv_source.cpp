#include "tellegen/data/csv_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "tellegen/data/csv_format.h"
#include "tellegen/data/number_cell.h"
#include "tellegen/data/number_text.h"
#include "tellegen/data/text_input.h"
#include "tellegen/data/time_names.h"
#include "tellegen/data/time_text.h"

namespace tellegen {
namespace {

constexpr std::size_t block_rows = 4096;
constexpr std::size_t columns_shown = 3;  // with wrong cells, one fault each
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t one_day = std::int64_t{86400} * 1'000'000'000;

std::string_view line_text(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  return line.substr(0, 80);
}

// How a column that is points in time is written.
struct TimeCells {
  std::string pattern;           // empty: ticks of an epoch
  const Epoch* epoch = nullptr;  // numbers
  int clock = -1;                // another column, with the time of day
  std::string clock_pattern;
  bool wraps = false;               // a clock without a date begins anew at midnight
  std::vector<std::string> orders;  // other patterns that read the first rows as well
};

class CsvSource final : public TableSource {
 public:
  CsvSource(const std::filesystem::path& file, const TableOptions& options)
      : options_(options), input_(std::make_unique<TextInput>(file, options.encoding)) {
    recognise();
  }
  CsvSource(std::string_view text, const TableOptions& options) : options_(options), whole_(text) {
    if (whole_.starts_with("\xEF\xBB\xBF")) whole_.remove_prefix(3);
    recognise();
  }

  void choose(std::vector<int> columns) override {
    chosen_ = std::move(columns);
    slots_.assign(std::max(format_.names.size(), std::size_t{1}), -1);
    int next = 0;
    // A column that is asked for twice is read once.
    position_.clear();
    for (int c : chosen_) {
      if (slots_[static_cast<std::size_t>(c)] < 0) slots_[static_cast<std::size_t>(c)] = next++;
      position_.push_back(slots_[static_cast<std::size_t>(c)]);
      const auto time = times_.find(c);
      if (time != times_.end() && time->second.clock >= 0 &&
          slots_[static_cast<std::size_t>(time->second.clock)] < 0)
        slots_[static_cast<std::size_t>(time->second.clock)] = next++;
    }
    row_.assign(static_cast<std::size_t>(next), 0.0);
    ticks_.assign(static_cast<std::size_t>(next), 0);
    last_clock_.assign(static_cast<std::size_t>(next), std::numeric_limits<std::int64_t>::min());
    days_.assign(static_cast<std::size_t>(next), 0);
  }

  bool next(TableBlock& block) override {
    block.rows = 0;
    block.lines.clear();
    block.columns.resize(chosen_.size());
    for (auto& column : block.columns) column.clear();
    while (block.rows < block_rows) {
      if (at_ == end_ && !next_part()) break;
      // Rows on standard input are given as they come.
      if (read_row(block) && at_ == end_ && input_ && input_->is_standard()) break;
    }
    if (block.rows > 0) return true;
    finish();
    return false;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (marked_ > 0)
      notes.push_back(fmt::format("{} cell{} '{}' (line {}) count as missing", marked_,
                                  marked_ == 1 ? "" : "s as", mark_, marked_line_));
    if (overloads_ > 0)
      notes.push_back(fmt::format("{} cell{} '{}' (line {}): overload of the instrument, count{} as missing",
                                  overloads_, overloads_ == 1 ? "" : "s as", overload_, overload_line_,
                                  overloads_ == 1 ? "s" : ""));
    if (footer_.count > 0)
      notes.push_back(fmt::format("{} line{} behind the last row (line {}): passed over", footer_.count,
                                  footer_.count == 1 ? "" : "s", footer_.line));
    if (repeated_ > 0)
      notes.push_back(fmt::format("{} more header line{} (line {}): passed over", repeated_,
                                  repeated_ == 1 ? "" : "s", repeated_line_));
    if (!cut_off_.empty()) notes.push_back(cut_off_);
    return notes;
  }

 private:
  // ---- what the file is

  void recognise() {
    if (double value = 0.0;
        !options_.missing.empty() &&
        parse_number(options_.missing.data(), options_.missing.data() + options_.missing.size(),
                     options_.decimal.empty() ? '\0' : options_.decimal[0],
                     value) == options_.missing.data() + options_.missing.size())
      missing_number_ = value;
    if (input_) {
      for (int tries = 0; tries < 400; ++tries) {
        const std::string_view head = input_->look_ahead();
        is_latin_ = input_->encoding() == "Latin-1";
        format_ = recognise_csv(is_latin_ ? latin1_to_utf8(head) : std::string(head), options_);
        // Of standard input as many lines as it takes.
        if (!input_->is_standard() || format_.first_row > 0 || input_->is_whole()) break;
      }
    } else {
      std::string_view head = whole_.substr(0, 1 << 16);
      if (head.size() < whole_.size()) head = head.substr(0, head.rfind('\n') + 1);
      format_ = recognise_csv(head, options_);
    }
    header_line_ = format_.header_line;
    has_names_ = header_line_ > 0;
    for (std::size_t c = 0; c < format_.names.size(); ++c)
      columns_.push_back({format_.names[c], c < format_.units.size() ? format_.units[c] : "", false, ""});
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (columns_[c].unit.empty()) columns_[c].unit = format_.cell_units[c];
    find_times();
    describe();
    choose({});
  }

  std::vector<std::string> sampled(std::size_t c) const {
    std::vector<std::string> cells;
    for (const std::string& cell : format_.sample[c])
      if (!is_missing(cell, options_.missing)) cells.push_back(cell);
    return cells;
  }

  // The numbers of a column; empty where it is not one of numbers. A few cells that are none are passed over:
  // reading says what is wrong with them.
  std::vector<double> numbers(std::size_t c) const {
    std::vector<double> found;
    const std::vector<std::string> cells = sampled(c);
    for (const std::string& cell : cells)
      if (double value = 0.0; is_number(c, cell, value)) found.push_back(value);
    return 3 * found.size() < 2 * cells.size() ? std::vector<double>{} : found;
  }

  // The column that the user names: as it stands, but for its unit, by its number.
  int asked_time() const {
    const auto without_unit = [](std::string name) {
      name = name.substr(0, std::max<std::size_t>(name.find_first_of("[("), 1));
      while (name.ends_with(' ')) name.pop_back();
      return name;
    };
    const std::string& asked = options_.time_column;
    const auto column = [&](auto&& fits) {
      for (std::size_t c = 0; c < columns_.size(); ++c)
        if (fits(c)) return static_cast<int>(c);
      return -1;
    };
    int found = column([&](std::size_t c) { return columns_[c].name == asked; });
    if (found < 0)
      found = column([&](std::size_t c) {
        return columns_[c].name == without_unit(asked) ||
               without_unit(columns_[c].name) == without_unit(asked);
      });
    if (found < 0)
      found = column([&](std::size_t c) { return fmt::format("{}", c + 1) == without_unit(asked); });
    if (found < 0)
      throw TableError({{header_line_,
                         "T591",
                         fmt::format("no column '{}' for the time", asked),
                         {"columns: " + names_text()},
                         ""}});
    return found;
  }

  // How the texts of a column are points in time, the likeliest first. A few cells that are something else do
  // not hide what the column is.
  std::vector<std::string> patterns_of(std::size_t c) const {
    const std::vector<std::string> cells = sampled(c);
    std::vector<std::string> alike;
    const bool given = options_.time_format.find('%') != std::string::npos;
    for (const std::string& cell : cells)
      if (given ? parse_time(options_.time_format, cell).has_value() : !time_patterns({cell}).empty())
        alike.push_back(cell);
    if (alike.empty() || 3 * alike.size() < 2 * cells.size()) return {};
    return given ? std::vector<std::string>{options_.time_format} : time_patterns(alike);
  }

  static bool increases(const std::vector<double>& values) {
    return values.size() > 2 &&
           std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
  }

  void find_times() {
    std::vector<std::vector<std::string>> all(columns_.size());
    std::vector<std::string> patterns(columns_.size());
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (numbers(c).empty()) all[c] = patterns_of(c);
      if (!all[c].empty()) patterns[c] = all[c].front();
    }
    const auto first = [&](auto&& fits) {
      for (std::size_t c = 0; c < columns_.size(); ++c)
        if (fits(c)) return static_cast<int>(c);
      return -1;
    };
    if (!options_.time_column.empty()) time_column_ = asked_time();
    if (time_column_ < 0)
      time_column_ = first([&](std::size_t c) {
        return is_time_name(columns_[c].name) && (!patterns[c].empty() || !numbers(c).empty());
      });
    if (time_column_ < 0) time_column_ = first([&](std::size_t c) { return !patterns[c].empty(); });
    if (time_column_ < 0) guess_time(first);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (!patterns[c].empty())
        set_time(static_cast<int>(c),
                 {patterns[c], nullptr, -1, "", !has_date(patterns[c]), other_orders(all[c])});
    if (time_column_ < 0) return;
    const auto t = static_cast<std::size_t>(time_column_);
    if (!options_.time_format.empty()) {
      if (const Epoch* epoch = find_epoch(options_.time_format))
        set_time(time_column_, {"", epoch, -1, "", false, {}});
      else if (options_.time_format == "seconds")
        times_.erase(time_column_), columns_[t].is_time = false;
      else
        set_time(time_column_, {options_.time_format, nullptr, -1, "", !has_date(options_.time_format), {}});
    } else if (const auto values = numbers(t); !values.empty()) {
      // Numbers beyond thirty years are counted from 1970, if the header does not say otherwise.
      if (columns_[t].unit.empty() && columns_[t].name.find_first_of("[(") == std::string::npos)
        if (const Epoch* epoch = epoch_of(values, is_date_name(columns_[t].name)))
          set_time(time_column_, {"", epoch, -1, "", false, {}});
    }
    join_date_and_clock(patterns);
  }

  // No column is named as a time and can be read: one that has a unit of time, or the first, which increase.
  template <class First>
  void guess_time(const First& first) {
    const int unread = first([&](std::size_t c) {
      const auto cells = sampled(c);
      return !cells.empty() && numbers(c).empty() && says_time(columns_[c].name) &&
             cells.front().find_first_of("0123456789") != std::string::npos;
    });
    if (unread >= 0) {
      const auto c = static_cast<std::size_t>(unread);
      throw TableError(
          {{format_.first_row,
            "T592",
            fmt::format("'{}' in column '{}' cannot be read as a time", sampled(c).front(), columns_[c].name),
            {"--time-format says how times are written: \"%d.%m.%Y %H:%M:%S\"",
             "--time-column takes another column: " + names_text()},
            ""}});
    }
    time_column_ = first([&](std::size_t c) {
      return has_time_unit(columns_[c].name + "[" + columns_[c].unit + "]") && increases(numbers(c));
    });
    if (time_column_ < 0)
      time_column_ = first([&](std::size_t c) { return c == 0 && increases(numbers(c)); });
    guessed_ = time_column_ >= 0;
  }

  // A date in one column and the time of day in another.
  void join_date_and_clock(const std::vector<std::string>& patterns) {
    const auto t = static_cast<std::size_t>(time_column_);
    const bool only_date = has_date(patterns[t]) && !has_clock(patterns[t]);
    const bool only_clock = !has_date(patterns[t]) && has_clock(patterns[t]);
    if (!only_date && !only_clock) return join_milliseconds(patterns);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c == t || patterns[c].empty()) continue;
      if (only_date && !has_date(patterns[c])) {
        times_[time_column_].clock = static_cast<int>(c);
        times_[time_column_].clock_pattern = patterns[c];
        return;
      }
      if (only_clock && has_date(patterns[c]) && !has_clock(patterns[c])) {
        time_column_ = static_cast<int>(c);
        times_[time_column_].clock = static_cast<int>(t);
        times_[time_column_].clock_pattern = patterns[t];
        return;
      }
    }
  }

  // Graphtec: whole seconds, and behind them a column of milliseconds.
  void join_milliseconds(const std::vector<std::string>& patterns) {
    const std::size_t t = static_cast<std::size_t>(time_column_), c = t + 1;
    if (!has_clock(patterns[t]) || c >= columns_.size() || !is_milliseconds(columns_[c].name)) return;
    const auto whole = [&](const std::string& cell) { return cell.find_first_of(".,") == cell.npos; };
    const auto fits = [](const std::string& cell) { return parse_time("%L", cell).has_value(); };
    if (!std::all_of(format_.sample[t].begin(), format_.sample[t].end(), whole) ||
        !std::all_of(format_.sample[c].begin(), format_.sample[c].end(), fits))
      return;
    times_[time_column_].clock = static_cast<int>(c);
    times_[time_column_].clock_pattern = "%L";
  }

  static bool is_milliseconds(const std::string& name) {
    std::string small;
    for (const char ch : name) small += static_cast<char>(ch >= 'A' && ch <= 'Z' ? ch - 'A' + 'a' : ch);
    return small == "ms" || small == "msec" || small == "millisecond" || small == "milliseconds";
  }

  void set_time(int column, TimeCells cells) {
    times_[column] = std::move(cells);
    columns_[static_cast<std::size_t>(column)].is_time = true;
  }

  void describe() {
    std::vector<std::string> words{fmt::format("{} between cells", delimiter_words(format_.delimiter))};
    usual_ = format_.delimiter == ',';
    if (format_.decimal == ',') words.emplace_back("decimal comma");
    if (format_.groups && options_.decimal.empty()) words.emplace_back("signs between thousands");
    if (has_names_)
      words.push_back(
          fmt::format("names in line {}{}", header_line_, format_.commented_header ? ", behind a #" : ""));
    else
      words.emplace_back("no line of names");
    if (format_.units_line > 0) words.push_back(fmt::format("units in line {}", format_.units_line));
    if (format_.skipped > 0 && has_names_)
      words.push_back(fmt::format("{} line{} before them", header_line_ - 1, header_line_ == 2 ? "" : "s"));
    if (input_ && (input_->encoding() != "UTF-8" || input_->has_mark()))
      words.push_back(input_->encoding() + (input_->has_mark() ? " with a byte-order mark" : ""));
    usual_ = usual_ && format_.decimal != ',' && has_names_ && format_.units_line == 0 &&
             format_.skipped == 0 && !format_.commented_header && words.size() == 2;
    if (time_column_ >= 0) {
      const TableColumn& column = columns_[static_cast<std::size_t>(time_column_)];
      const auto time = times_.find(time_column_);
      if (time != times_.end()) {
        const TimeCells& cells = time->second;
        words.push_back(fmt::format(
            "times '{}'{} as {}", column.name,
            cells.clock >= 0 ? fmt::format(" and '{}'", columns_[static_cast<std::size_t>(cells.clock)].name)
                             : "",
            cells.epoch ? std::string(cells.epoch->name)
                        : cells.pattern + (cells.clock >= 0 ? " " + cells.clock_pattern : "")));
        usual_ = false;
      } else if (guessed_) {
        words.push_back(
            fmt::format("times '{}', a column that increases (--time-column names another)", column.name));
        usual_ = false;
      }
    }
    description_ = fmt::format("{}", fmt::join(words, ", "));
  }

  std::string names_text() const {
    std::string text;
    for (std::size_t c = 0; c < columns_.size() && c < 12; ++c)
      text += (c ? ", '" : "'") + columns_[c].name + "'";
    return text + (columns_.size() > 12 ? ", ..." : "");
  }

  // ---- reading

  bool next_part() {
    std::string_view part;
    if (input_) {
      part = input_->next();
    } else if (!given_) {
      given_ = true;
      part = whole_;
    }
    at_ = part.data();
    end_ = part.data() + part.size();
    return !part.empty();
  }

  // Reads one line; whether it was a row.
  bool read_row(TableBlock& block) {
    const char* line_end =
        static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
    if (!line_end) line_end = end_;
    const char* const begin = at_;
    const int line = line_ + 1;
    const auto pass = [&] {
      at_ = line_end == end_ ? end_ : line_end + 1;
      line_ = line;
      return false;
    };
    if (line < format_.first_row ||
        (format_.first_row == 0 && line <= std::max(header_line_, format_.units_line)))
      return pass_quoted(line_end);
    const char* p = begin;
    while (p < line_end && (*p == ' ' || *p == '\r' || (*p == '\t' && format_.delimiter != '\t'))) ++p;
    empty_before_ = empty_before_ || p == line_end;
    if (p == line_end || *p == '#') return pass();
    if (std::memchr(begin, '"', static_cast<std::size_t>(line_end - begin)) != nullptr)
      return quoted_row(block);
    pass();
    std::size_t c = 0;
    const std::size_t width = slots_.size();
    const char delimiter = format_.delimiter;
    const bool blanks = delimiter == ' ';
    const char* stop = line_end;
    if (stop > begin && stop[-1] == '\r') --stop;
    if (blanks)
      while (stop > p && (stop[-1] == ' ' || stop[-1] == '\t')) --stop;
    p = blanks ? p : begin;
    for (;; ++c) {
      const int slot = c < width ? slots_[c] : -1;
      const char* cell_end = nullptr;
      if (slot >= 0 && !is_time(c)) {
        while (p < stop && (*p == ' ' || (*p == '\t' && delimiter != '\t'))) ++p;
        const char* q = parse_number(p, stop, format_.decimal, row_[static_cast<std::size_t>(slot)]);
        if (q) {
          while (q < stop && *q == ' ' && !blanks) ++q;
          const double value = row_[static_cast<std::size_t>(slot)];
          const bool number = (!missing_number_ || value != *missing_number_) && !is_overload(value);
          if (number && (q == stop || *q == delimiter || (blanks && *q == '\t'))) cell_end = q;
        }
      }
      if (!cell_end) {
        if (blanks) {
          cell_end = p;
          while (cell_end < stop && *cell_end != ' ' && *cell_end != '\t') ++cell_end;
        } else {
          cell_end = static_cast<const char*>(std::memchr(p, delimiter, static_cast<std::size_t>(stop - p)));
          if (!cell_end) cell_end = stop;
        }
        if (slot >= 0) slow_cell(c, std::string_view(p, static_cast<std::size_t>(cell_end - p)), line);
      }
      p = cell_end;
      if (blanks)
        while (p < stop && (*p == ' ' || *p == '\t')) ++p;
      if (p == stop) break;
      if (!blanks) ++p;
      if (!blanks && p == stop) {  // a separator ends the line: an empty cell
        ++c;
        if (c < width && slots_[c] >= 0) slow_cell(c, {}, line);
        break;
      }
    }
    return take_row(block, c + 1, std::string_view(begin, static_cast<std::size_t>(line_end - begin)), line,
                    p[-1]);
  }

  // The lines before the first row, where a quoted cell may hold line ends.
  bool pass_quoted(const char* line_end) {
    bool quoted = std::count(at_, line_end, '"') % 2 != 0;
    const char* p = at_;
    while (p < line_end && (*p == ' ' || *p == '\t')) ++p;
    if (p < line_end && *p == '#') quoted = false;
    const int begun = ++line_;
    while (quoted && line_end < end_) {
      const char* more = std::find(line_end + 1, end_, '\n');
      quoted = quoted != (std::count(line_end + 1, more, '"') % 2 != 0);
      line_end = more;
      ++line_;
    }
    if (quoted && wrong_text_.code.empty())
      wrong_text_ = {begun, "T590", "a quoted cell does not end", {}, ""};
    at_ = line_end == end_ ? end_ : line_end + 1;
    return false;
  }

  // The general way: cells may be quoted, and hold separators and line ends.
  bool quoted_row(TableBlock& block) {
    const char* const begin = at_;
    const int line = ++line_;
    const char delimiter = format_.delimiter;
    std::size_t count = 0;
    for (bool more = true; more; ++count) {
      while (at_ < end_ && (*at_ == ' ' || (*at_ == '\t' && delimiter != '\t'))) ++at_;
      std::string cell;
      if (at_ < end_ && *at_ == '"') {
        bool closed = false;
        for (++at_; at_ < end_ && !closed; ++at_) {
          if (*at_ == '\n') ++line_;
          if (*at_ == '"') {
            if (at_ + 1 >= end_ || at_[1] != '"') {
              closed = true;
              continue;
            }
            ++at_;
          }
          cell += *at_;
        }
        if (!closed) {
          wrong_text_ = {line, "T590", "a quoted cell does not end", {}, ""};
          at_ = end_;
          return false;
        }
        const char* rest = at_;
        while (at_ < end_ && *at_ != delimiter && *at_ != '\n') ++at_;
        if (std::any_of(rest, at_, [](char c) { return c != ' ' && c != '\t' && c != '\r'; }) &&
            wrong_text_.code.empty())
          wrong_text_ = {line, "T590", "text after a closing quote", {}, ""};
      } else {
        const char* const from = at_;
        while (at_ < end_ && *at_ != delimiter && *at_ != '\n') ++at_;
        cell.assign(from, at_);
      }
      if (count < slots_.size() && slots_[count] >= 0) {
        std::string_view text = cell;
        while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
        while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
        slow_cell(count, text, line);
      }
      more = at_ < end_ && *at_ == delimiter;
      if (at_ < end_) ++at_;
    }
    const char* stop = at_;
    while (stop > begin && (stop[-1] == '\n' || stop[-1] == '\r')) --stop;
    return take_row(block, count, std::string_view(begin, static_cast<std::size_t>(stop - begin)), line,
                    stop[-1]);
  }

  bool is_time(std::size_t c) const { return time_flags_.empty() ? check_times(c) : time_flags_[c] != 0; }
  bool check_times(std::size_t c) const {
    time_flags_.assign(slots_.size(), 0);
    for (const auto& [column, cells] : times_) {
      time_flags_[static_cast<std::size_t>(column)] = 1;
      if (cells.clock >= 0) time_flags_[static_cast<std::size_t>(cells.clock)] = 1;
    }
    return time_flags_[c] != 0;
  }

  // A cell that is not simply a number: a point in time, missing, or wrong.
  void slow_cell(std::size_t c, std::string_view cell, int line) {
    const auto slot = static_cast<std::size_t>(slots_[c]);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t' || cell.back() == '\r'))
      cell.remove_suffix(1);
    while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
    row_[slot] = nothing;
    ticks_[slot] = std::numeric_limits<std::int64_t>::min();
    const std::string_view bare = cell;
    if (is_missing(bare, options_.missing)) {
      if (bare.empty() || bare == "nan" || bare == "NaN") return;
      if (marked_++ == 0) mark_ = bare, marked_line_ = line;
      return;
    }
    if (is_time(c)) {
      const auto time = times_.find(static_cast<int>(c));
      std::optional<std::int64_t> ticks;
      if (time == times_.end()) {  // the clock beside a date
        ticks = parse_time(clock_pattern_of(static_cast<int>(c)), cell);
      } else if (const TimeCells& how = time->second; how.epoch) {
        ticks = how.epoch->point(cell, format_.decimal);
        if (double value = 0.0; !ticks && is_number(c, cell, value)) ticks = how.epoch->point(value);
      } else {
        ticks = parse_time(how.pattern, cell);
        if (ticks && !how.orders.empty()) check_order(how, cell, *ticks, line);
      }
      if (ticks) {
        ticks_[slot] = *ticks;
        return;
      }
    } else {
      double value = 0.0;
      if (is_number(c, cell, value)) {
        if (missing_number_ && value == *missing_number_) {
          if (marked_++ == 0) mark_ = cell, marked_line_ = line;
        } else if (is_overload(value)) {
          if (overloads_++ == 0) overload_ = cell, overload_line_ = line;
        } else {
          row_[slot] = value;
        }
        return;
      }
    }
    Wrong& wrong = row_wrong_[c];
    if (wrong.count++ == 0) wrong = {1, line, std::string(cell)};
  }

  // The first rows were of one day: a jump of days that is none in another order shows which one it is.
  void check_order(const TimeCells& how, std::string_view cell, std::int64_t ticks, int line) {
    const std::string before = std::exchange(last_date_, std::string(cell));
    const auto last = parse_time(how.pattern, before);
    if (!last || std::abs(ticks - *last) < 2 * one_day || !wrong_text_.code.empty()) return;
    for (const std::string& order : how.orders) {
      const auto a = parse_time(order, before), b = parse_time(order, cell);
      if (!a || !b || std::abs(*b - *a) > one_day) continue;
      wrong_text_ = {
          line,
          "T592",
          fmt::format("after '{}' comes '{}': day, month and year may be in another order", before, cell),
          {fmt::format("as it was read: {}", how.pattern),
           fmt::format("--time-format \"{}\" reads it without that jump", order)},
          ""};
      return;
    }
  }

  bool is_number(std::size_t c, std::string_view cell, double& value) const {
    const NumberStyle style{format_.decimal, format_.groups};
    // Its unit behind each number, and always the same.
    if (const std::string& unit = format_.cell_units[c]; !unit.empty() && unit_behind(cell, style) == unit) {
      cell.remove_suffix(unit.size());
      while (cell.ends_with(' ')) cell.remove_suffix(1);
    }
    return read_number(cell, style, value);
  }

  const std::string& clock_pattern_of(int column) const {
    static const std::string none;
    for (const auto& [date, cells] : times_)
      if (cells.clock == column) return cells.clock_pattern;
    return none;
  }

  bool take_row(TableBlock& block, std::size_t count, std::string_view text, int line, char last) {
    const std::size_t width = slots_.size();
    const bool trailing = count == width + 1 && last == format_.delimiter;
    const bool short_row = format_.short_rows && count >= 2 && count < width;
    if (short_row)
      for (std::size_t c = count; c < width; ++c)
        if (slots_[c] >= 0) row_[static_cast<std::size_t>(slots_[c])] = nothing;
    if (count != width && !trailing && !short_row) {
      row_wrong_.clear();
      const bool end_of_file = at_ == end_ && (!input_ || (!input_->is_standard() && at_end_of_input()));
      if (end_of_file && count < width && rows_ > 0) {
        cut_off_ = fmt::format("the last line ({}) is cut off, {} of {} cells: not used", line, count, width);
        return false;
      }
      if (may_be_footer(text, line, false)) return false;
      if (wrong_widths_++ == 0)
        wrong_width_ = {line,
                        "T590",
                        fmt::format("{} cells where the header names {} columns", count, width),
                        {fmt::format("the line: {}", line_text(text)),
                         fmt::format("{} separate cells: --delimiter gives another sign",
                                     delimiter_words(format_.delimiter))},
                        ""};
      return false;
    }
    if (!row_wrong_.empty()) {
      if (is_header(text)) {
        if (repeated_++ == 0) repeated_line_ = line;
        row_wrong_.clear();
        return false;
      }
      if (may_be_footer(text, line, true)) {
        row_wrong_.clear();
        return false;
      }
      for (auto& [column, wrong] : row_wrong_) {
        Wrong& all = wrong_[column];
        if (all.count++ == 0) all = {1, wrong.line, wrong.cell};
      }
      row_wrong_.clear();
    }
    ++rows_;
    if (footer_.count > 0) not_a_footer();
    empty_before_ = false;
    // Rows are read on, so that all that is wrong is found; on standard input nobody waits for the end.
    if ((!wrong_.empty() || wrong_widths_ > 0) && input_ && input_->is_standard()) finish();
    for (std::size_t k = 0; k < chosen_.size(); ++k) {
      const auto slot = static_cast<std::size_t>(position_[k]);
      double value = row_[slot];
      if (is_time(static_cast<std::size_t>(chosen_[k]))) value = seconds(chosen_[k], slot);
      block.columns[k].push_back(value);
    }
    block.lines.push_back(line);
    ++block.rows;
    return true;
  }

  // Words behind the last row: set off by an empty line, or not as wide as a row and beginning with a text.
  // If a row comes after all, they are wrong.
  bool may_be_footer(std::string_view text, int line, bool wide) {
    constexpr std::int64_t most_lines = 30;
    if (rows_ == 0 || !wrong_.empty() || wrong_widths_ > 0 || (input_ && input_->is_standard())) return false;
    if (footer_.count == 0) {
      const auto cells = cut_cells(text, format_.delimiter);
      double value = 0.0;
      const bool begins_with_text = !cells.empty() && !cells[0].empty() &&
                                    !read_number(cells[0], {format_.decimal, true}, value) &&
                                    time_patterns({cells[0]}).empty();
      if (!begins_with_text || (wide && !empty_before_)) return false;
      footer_ = {0, line, std::string(line_text(text))};
    }
    if (++footer_.count > most_lines) not_a_footer();
    return true;
  }

  void not_a_footer() {
    wrong_widths_ += footer_.count;
    wrong_width_ = {footer_.line, "T590", "a line that is no row", {"the line: " + footer_.cell}, ""};
    footer_ = {};
  }

  double seconds(int column, std::size_t slot) {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
    std::int64_t ticks = ticks_[slot];
    if (ticks == none) return nothing;
    const auto time = times_.find(column);
    if (time != times_.end() && time->second.clock >= 0) {
      const std::int64_t clock =
          ticks_[static_cast<std::size_t>(slots_[static_cast<std::size_t>(time->second.clock)])];
      if (clock == none) return nothing;
      ticks += clock;
    } else if (time != times_.end() && time->second.wraps) {
      // Midnight is where a clock goes back by more than half a day.
      if (last_clock_[slot] != none && ticks < last_clock_[slot] - one_day / 2) days_[slot] += one_day;
      last_clock_[slot] = ticks;
      ticks += days_[slot];
    }
    if (column == time_column_) {
      if (!origin_) origin_ = ticks;
      return static_cast<double>(ticks - *origin_) / 1e9;
    }
    const auto [own, first] = origins_.try_emplace(column, ticks);
    return static_cast<double>(ticks - own->second) / 1e9;
  }

  bool is_header(std::string_view text) const {
    if (!has_names_) return false;
    auto cells = cut_cells(is_latin_ ? latin1_to_utf8(text) : std::string(text), format_.delimiter);
    cells.resize(format_.names.size());
    return cells == format_.names;
  }

  // Whether nothing comes behind the part that has been read.
  bool at_end_of_input() const { return input_->is_whole(); }

  void finish() {
    std::vector<TableFault> faults;
    if (wrong_widths_ > 0) {
      if (wrong_widths_ > 1)
        wrong_width_.details.push_back(fmt::format("and {} more lines like it", wrong_widths_ - 1));
      faults.push_back(wrong_width_);
    }
    std::size_t more = 0;
    for (const auto& [column, wrong] : wrong_) {
      if (faults.size() >= columns_shown) {
        ++more;
        continue;
      }
      faults.push_back(cell_fault(column, wrong));
    }
    if (more > 0) faults.back().details.push_back(fmt::format("and {} more columns like it", more));
    if (!wrong_text_.code.empty()) faults.push_back(wrong_text_);
    if (!faults.empty()) throw TableError(std::move(faults));
  }

  struct Wrong {
    std::int64_t count = 0;
    int line = 0;
    std::string cell;
  };

  TableFault cell_fault(std::size_t column, const Wrong& wrong) const {
    const bool time = is_time(column);
    TableFault fault{wrong.line,
                     time ? "T592" : "T594",
                     fmt::format("'{}' in column '{}' is not a {}", wrong.cell, columns_[column].name,
                                 time ? "time as the others are" : "number"),
                     {},
                     ""};
    if (wrong.count > 1)
      fault.details.push_back(fmt::format("and {} more cells of this column", wrong.count - 1));
    double value = 0.0;
    const std::string& cell = wrong.cell;
    const char* const end = cell.data() + cell.size();
    if (time)
      fault.details.emplace_back("--time-format says how times are written: \"%d.%m.%Y %H:%M:%S\"");
    else if (parse_number(cell.data(), end, 0, value) == end) {
      fault.details.push_back(
          fmt::format("--decimal {} reads it", cell.find(',') != cell.npos ? "\",\"" : "\".\""));
      if (grouping_of(cell, format_.decimal) == Grouping::either)
        fault.details.push_back(fmt::format("--decimal \"{}\" reads it with a sign between thousands",
                                            std::string(1, format_.decimal)));
    } else if (const std::string_view unit = unit_behind(cell, {format_.decimal, true});
               !unit.empty() && !format_.cell_units[column].empty())
      fault.details.push_back(fmt::format("the numbers of this column are in '{}', this one in '{}'",
                                          format_.cell_units[column], unit));
    else if (!time_patterns({cell}).empty())
      fault.details.push_back(
          fmt::format("it looks like a time: --time-column \"{}\"", columns_[column].name));
    else
      fault.details.push_back(
          fmt::format("leave the cell empty where nothing was read, or --missing \"{}\"", wrong.cell));
    return fault;
  }

  TableOptions options_;
  std::optional<double> missing_number_;  // --missing -9999
  std::unique_ptr<TextInput> input_;
  std::string_view whole_;
  bool given_ = false, is_latin_ = false, guessed_ = false;
  CsvFormat format_;
  std::map<int, TimeCells> times_;
  std::map<int, std::int64_t> origins_;  // of columns that are points in time beside the time
  mutable std::vector<char> time_flags_;
  std::vector<int> chosen_, slots_, position_;
  const char *at_ = nullptr, *end_ = nullptr;
  int line_ = 0;
  std::int64_t rows_ = 0;
  std::vector<double> row_;
  std::vector<std::int64_t> ticks_, last_clock_, days_;
  std::map<std::size_t, Wrong> row_wrong_, wrong_;
  TableFault wrong_width_, wrong_text_;
  std::int64_t wrong_widths_ = 0, marked_ = 0, overloads_ = 0, repeated_ = 0;
  int marked_line_ = 0, overload_line_ = 0, repeated_line_ = 0;
  std::string mark_, overload_, cut_off_, last_date_;
  Wrong footer_;               // lines that may stand behind the last row
  bool empty_before_ = false;  // an empty line before this one
};

}  // namespace

std::unique_ptr<TableSource> open_csv(const std::filesystem::path& file, const TableOptions& options) {
  return std::make_unique<CsvSource>(file, options);
}

std::unique_ptr<TableSource> open_csv_text(std::string_view text, const TableOptions& options) {
  return std::make_unique<CsvSource>(text, options);
}

}  // namespace tellegen
