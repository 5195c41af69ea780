// Points in time as loggers write them: dates, clocks, seconds since 1970.
//
//   2026-03-01T10:00:00.5Z    %Y-%m-%dT%H:%M:%S%z
//   01.03.2026 10:00:00,5     %d.%m.%Y %H:%M:%S
//   10:00:00.5 PM             %I:%M:%S %p
//   0d 10:00:00.5             %Dd %H:%M:%S
//
// Seconds since 1970 have more digits than a double holds beside microseconds, so a point in time is a whole
// number of nanoseconds. A clock without a time zone counts as UTC: only differences are used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

// What `pattern` says of `text`, in nanoseconds since 1970-01-01 UTC; a clock without a date since midnight.
//
//   %Y %y year   %m month   %b its name   %d day   %H %I hour   %p AM, PM   %M minute
//   %S second, with a fraction behind a point or a comma   %z time zone, where there is one
//   %D days that have passed
std::optional<std::int64_t> parse_time(std::string_view pattern, std::string_view text);

// A decimal number of units of so many nanoseconds, less `zero` of them, to the last digit.
std::optional<std::int64_t> parse_ticks(std::string_view text, double nanoseconds, char decimal,
                                        std::int64_t zero = 0);

bool has_date(std::string_view pattern);
bool has_clock(std::string_view pattern);

// The patterns that read every one of these cells, the likeliest first: times that increase, in the shortest
// span, of a year that loggers have seen.
std::vector<std::string> time_patterns(const std::vector<std::string>& cells);
// Of patterns that read the same cells those that take another number for the day.
std::vector<std::string> other_orders(const std::vector<std::string>& patterns);

// The names of kinds of numbers that are points in time, and what the size of a number says: seconds,
// milliseconds ... since 1970.
struct Epoch {
  std::string_view name;     // "epoch-ms"
  double nanoseconds = 0.0;  // of one unit
  std::int64_t zero = 0;     // what 1970 is
  double least = 0.0, most = 0.0;

  std::optional<std::int64_t> point(std::string_view text, char decimal) const;  // nanoseconds since 1970
  std::int64_t point(double value) const;
};
const Epoch* find_epoch(std::string_view name);
std::string epoch_names();  // "epoch, epoch-ms, ..."
// The kind of these numbers. `is_date`: the name of their column says that they are points in time; otherwise
// days are known by being whole tenths of a second.
const Epoch* epoch_of(const std::vector<double>& values, bool is_date);

std::string time_words(
    std::int64_t nanoseconds);  // "2026-03-01 10:00:00"; on the first day of 1970 "10:00:00"

}  // namespace tellegen
