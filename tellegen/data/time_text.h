// Points in time as loggers write them: dates, clocks, seconds since 1970.
//
//   2026-03-01T10:00:00.5Z    %Y-%m-%dT%H:%M:%S%z
//   01.03.2026 10:00:00,5     %d.%m.%Y %H:%M:%S
//   10:00:00.5 PM             %I:%M:%S %p
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
std::optional<std::int64_t> parse_time(std::string_view pattern, std::string_view text);

// A decimal number of units of so many nanoseconds, to the last digit.
std::optional<std::int64_t> parse_ticks(std::string_view text, double nanoseconds, char decimal);

bool has_date(std::string_view pattern);
bool has_clock(std::string_view pattern);

// The patterns that read every one of these cells, the likeliest first.
std::vector<std::string> time_patterns(const std::vector<std::string>& cells);

// The names of kinds of numbers that are points in time, and what the size of a number says: seconds,
// milliseconds ... since 1970.
struct Epoch {
  std::string_view name;     // "epoch-ms"
  double nanoseconds = 0.0;  // of one unit
  double origin = 0.0;       // of its zero, in seconds after 1970
  double least = 0.0, most = 0.0;
};
const Epoch* find_epoch(std::string_view name);
const Epoch* epoch_of(double first, double last);

std::string time_words(std::int64_t nanoseconds);  // "2026-03-01 10:00:00"

}  // namespace tellegen
