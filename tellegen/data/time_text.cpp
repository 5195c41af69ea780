#include "tellegen/data/time_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <tuple>

namespace tellegen {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t day = 86400 * second;

// Days since 1970 of a date of the Gregorian calendar [Hinnant, chrono-compatible low-level date algorithms].
std::int64_t days_of(std::int64_t y, int m, int d) {
  y -= m <= 2;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const auto of_era = static_cast<unsigned>(y - era * 400);
  const unsigned of_year = (153U * static_cast<unsigned>(m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + static_cast<std::int64_t>(of_era * 365 + of_era / 4 - of_era / 100 + of_year) -
         719468;
}

void date_of(std::int64_t days, std::int64_t& y, unsigned& m, unsigned& d) {
  days += 719468;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const auto of_era = static_cast<unsigned>(days - era * 146097);
  const unsigned years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const unsigned of_year = of_era - (365 * years + years / 4 - years / 100);
  const unsigned month = (5 * of_year + 2) / 153;
  d = of_year - (153 * month + 2) / 5 + 1;
  m = month < 10 ? month + 3 : month - 9;
  y = static_cast<std::int64_t>(years) + era * 400 + (m <= 2);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool at_end() const { return at_ == text_.size(); }
  bool accept(char c) {
    if (at_ < text_.size() && text_[at_] == c) return ++at_, true;
    return false;
  }
  bool blanks() {
    const std::size_t before = at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ > before;
  }
  bool number(int least, int most, int& value) {
    int digits = 0;
    value = 0;
    for (; digits < most && is_digit(); ++digits, ++at_) value = 10 * value + (text_[at_] - '0');
    return digits >= least;
  }
  // Digits behind a point, a comma or, as some write milliseconds, a colon.
  bool fraction(std::int64_t& nanoseconds) {
    nanoseconds = 0;
    if (at_ + 1 >= text_.size() || (text_[at_] != '.' && text_[at_] != ',' && text_[at_] != ':')) return true;
    ++at_;
    std::int64_t unit = second / 10;
    if (!is_digit()) return false;
    for (; is_digit(); ++at_, unit /= 10) nanoseconds += unit * (text_[at_] - '0');
    return true;
  }
  std::string letters() {
    std::string found;
    // Letters beyond ASCII belong to the word: "Mär".
    while (at_ < text_.size() &&
           (std::isalpha(static_cast<unsigned char>(text_[at_])) || (text_[at_] & 0x80) != 0))
      found += static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at_++])));
    return found;
  }

 private:
  bool is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
  std::string_view text_;
  std::size_t at_ = 0;
};

int month_of(const std::string& name) {
  // English, then what German, French, Italian and Spanish write otherwise.
  static constexpr std::array<std::string_view, 12> months{"jan", "feb", "mar", "apr", "may", "jun",
                                                           "jul", "aug", "sep", "oct", "nov", "dec"};
  static constexpr std::array<std::pair<std::string_view, int>, 8> others{
      {{"mär", 3}, {"mrz", 3}, {"mai", 5}, {"okt", 10}, {"dez", 12}, {"ene", 1}, {"abr", 4}, {"dic", 12}}};
  for (std::size_t k = 0; k < months.size(); ++k)
    if (name.starts_with(months[k])) return static_cast<int>(k) + 1;
  for (const auto& [text, number] : others)
    if (name.starts_with(text)) return number;
  return 0;
}

bool read_zone(Reader& in, std::int64_t& shift) {
  shift = 0;
  in.blanks();
  const bool east = in.accept('+'), west = !east && in.accept('-');
  if (east || west) {
    int hours = 0, minutes = 0;
    if (!in.number(2, 2, hours)) return false;
    in.accept(':');
    if (!in.number(0, 2, minutes)) return false;
    shift = (hours * 60 + minutes) * 60 * second * (east ? -1 : 1);
    return true;
  }
  const std::string name = in.letters();
  return name.empty() || name == "z" || name == "utc" || name == "gmt";
}

}  // namespace

std::optional<std::int64_t> parse_time(std::string_view pattern, std::string_view text) {
  Reader in(text);
  int year = 1970, month = 1, day_of_month = 1, days = 0, hour = 0, minute = 0, seconds = 0, milliseconds = 0;
  std::int64_t fraction = 0, shift = 0;
  bool twelve = false, afternoon = false;
  for (std::size_t k = 0; k < pattern.size(); ++k) {
    const char c = pattern[k];
    bool good = true;
    if (c == ' ') {
      good = in.blanks();
    } else if (c != '%' || k + 1 == pattern.size()) {
      good = in.accept(c);
    } else {
      switch (pattern[++k]) {
        case 'Y':
          good = in.number(4, 4, year);
          break;
        case 'y':
          good = in.number(2, 2, year);
          year += year < 70 ? 2000 : 1900;
          break;
        case 'm':
          good = in.number(1, 2, month) && month >= 1 && month <= 12;
          break;
        case 'b':
          month = month_of(in.letters());
          in.accept('.');
          good = month > 0;
          break;
        case 'd':
          good = in.number(1, 2, day_of_month) && day_of_month >= 1 && day_of_month <= 31;
          break;
        case 'D':
          good = in.number(1, 5, days);
          break;
        case 'H':
          good = in.number(1, 4, hour);  // time that has passed may be more than a day
          break;
        case 'I':
          good = in.number(1, 2, hour) && hour >= 1 && hour <= 12;
          twelve = true;
          break;
        case 'M':
          good = in.number(2, 2, minute) && minute < 60;
          break;
        case 'L':  // milliseconds by themselves
          good = in.number(1, 3, milliseconds);
          fraction = std::int64_t{1'000'000} * milliseconds;
          break;
        case 'S':
          good = in.number(2, 2, seconds) && seconds <= 60 && in.fraction(fraction);
          break;
        case 'p': {
          const std::string half = in.letters();
          good = half == "am" || half == "pm";
          afternoon = half == "pm";
          break;
        }
        case 'z':
          good = read_zone(in, shift);
          break;
        default:
          good = false;
      }
    }
    if (!good) return std::nullopt;
  }
  if (!in.at_end()) return std::nullopt;
  if (twelve) hour = hour % 12 + (afternoon ? 12 : 0);
  if (has_date(pattern) && hour > 24) return std::nullopt;
  return (days_of(year, month, day_of_month) + days) * day +
         (static_cast<std::int64_t>(hour) * 3600 + minute * 60 + seconds) * second + fraction + shift;
}

std::optional<std::int64_t> parse_ticks(std::string_view text, double nanoseconds, char decimal,
                                        std::int64_t zero) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t whole = 0, fraction = 0;
  std::size_t at = 0, digits = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
    if (digits == 18) return std::nullopt;
    whole = 10 * whole + (text[at] - '0');
  }
  std::int64_t unit = second;  // fractions of a unit, in billionths of it
  if (at < text.size() && (text[at] == decimal || (decimal == 0 && (text[at] == '.' || text[at] == ','))))
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
      unit /= 10;
      fraction += unit * (text[at] - '0');
    }
  if (at != text.size() || digits == 0) return std::nullopt;
  const auto scale = static_cast<std::int64_t>(nanoseconds);
  const std::int64_t sign = negative ? -1 : 1;
  std::int64_t value = 0;
  if (__builtin_mul_overflow(sign * whole - zero, scale, &value)) return std::nullopt;
  return value + sign * std::llround(static_cast<double>(fraction) * 1e-9 * nanoseconds);
}

bool has_date(std::string_view pattern) { return pattern.find("%d") != pattern.npos; }
bool has_clock(std::string_view pattern) { return pattern.find("%M") != pattern.npos; }

std::vector<std::string> time_patterns(const std::vector<std::string>& cells) {
  // Of two that read the same cells the first is the likelier.
  static constexpr const char* dates[] = {"%Y-%m-%d",  "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%m/%d/%Y",
                                          "%d/%m/%Y",  "%d-%m-%Y", "%d-%b-%Y", "%d %b %Y", "%b %d %Y",
                                          "%b %d, %Y", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%d-%b-%y",
                                          "%y/%m/%d",  "%y-%m-%d", "%y.%m.%d", "'%y-%m-%d"};
  static constexpr const char* clocks[] = {"%H:%M:%S%z", "%I:%M:%S %p", "%H:%M%z", "%I:%M %p"};
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    for (const char* date : dates)
      for (const char* clock : clocks)
        for (const char* between : {"T", " ", ", "}) list.push_back(std::string(date) + between + clock);
    list.emplace_back("%Y%m%dT%H%M%S%z");
    list.emplace_back("%b %d %H:%M:%S %Y");
    list.emplace_back("%Dd %H:%M:%S");
    list.insert(list.end(), std::begin(clocks), std::end(clocks));
    list.insert(list.end(), std::begin(dates), std::end(dates));
    return list;
  }();
  std::vector<std::string> found;
  if (cells.empty()) return found;
  for (const std::string& pattern : all)
    if (std::all_of(cells.begin(), cells.end(),
                    [&](const std::string& cell) { return parse_time(pattern, cell).has_value(); }))
      found.push_back(pattern);
  // Where day and month are in doubt, times that increase decide, then the shortest span.
  struct Ranked {
    std::string pattern;
    int falls = 0;
    bool old = false;
    std::int64_t span = 0;
  };
  std::vector<Ranked> ranked;
  for (const std::string& pattern : found) {
    Ranked& rank = ranked.emplace_back(Ranked{pattern});
    std::int64_t before = *parse_time(pattern, cells[0]), least = before, most = before;
    for (const std::string& cell : cells) {
      const std::int64_t t = *parse_time(pattern, cell);
      rank.falls += t < before;
      least = std::min(least, t);
      most = std::max(most, t);
      before = t;
    }
    rank.span = most - least;
    rank.old = pattern.find("%y") != pattern.npos && most < days_of(2010, 1, 1) * day;
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(a.falls, a.span, a.old) < std::tie(b.falls, b.span, b.old);
  });
  for (std::size_t k = 0; k < found.size(); ++k) found[k] = ranked[k].pattern;
  return found;
}

std::vector<std::string> other_orders(const std::vector<std::string>& patterns) {
  std::vector<std::string> others;
  for (const std::string& pattern : patterns)
    if (has_date(pattern) &&
        pattern.substr(0, pattern.find("%d")) != patterns.front().substr(0, patterns.front().find("%d")))
      others.push_back(pattern);
  return others;
}

namespace {

constexpr double year = 365.2425 * 86400.0;
// Numbers of one unit from 2001 to 2100: a record that begins otherwise is one of seconds.
constexpr Epoch counted(std::string_view name, double nanoseconds, std::int64_t zero) {
  const auto at = [&](double years) { return static_cast<double>(zero) + years * year * 1e9 / nanoseconds; };
  return {name, nanoseconds, zero, at(31.0), at(130.0)};
}
constexpr double a_day = 86400e9;
constexpr Epoch epochs[] = {
    counted("epoch", 1e9, 0),
    counted("epoch-ms", 1e6, 0),
    counted("epoch-us", 1e3, 0),
    counted("epoch-ns", 1.0, 0),
    counted("ticks", 100.0, 621'355'968'000'000'000),     // of .NET: 100 ns since the year 1
    counted("filetime", 100.0, 116'444'736'000'000'000),  // of Windows: 100 ns since 1601
    counted("excel", a_day, 25569),                       // days since 1899-12-30
    counted("matlab", a_day, 719529),                     // days since the year 0
    {"labview", 1e9, 2'082'844'800, 0.0, 0.0},            // seconds since 1904
};

// Loggers read at whole tenths of a second, which are no short fractions of a day; seconds are short.
bool are_days(const std::vector<double>& values) {
  const auto is_whole = [](double value, double tolerance) {
    return std::abs(value - std::round(value)) < tolerance;
  };
  bool long_fractions = false;
  for (double value : values) {
    if (!is_whole(value * 864000.0, 0.02)) return false;
    long_fractions = long_fractions || !is_whole(value * 1e4, 1e-3);
  }
  return long_fractions && values.size() >= 4;
}

}  // namespace

std::optional<std::int64_t> Epoch::point(std::string_view text, char decimal) const {
  return parse_ticks(text, nanoseconds, decimal, zero);
}

std::int64_t Epoch::point(double value) const {
  return std::llround((value - static_cast<double>(zero)) * nanoseconds);
}

const Epoch* find_epoch(std::string_view name) {
  for (const Epoch& epoch : epochs)
    if (epoch.name == name) return &epoch;
  return nullptr;
}

std::string epoch_names() {
  std::string names;
  for (const Epoch& epoch : epochs) names += (names.empty() ? "" : ", ") + std::string(epoch.name);
  return names;
}

const Epoch* epoch_of(const std::vector<double>& values, bool is_date) {
  if (values.empty()) return nullptr;
  for (const Epoch& epoch : epochs)
    if (epoch.most > 0.0 && values.front() >= epoch.least && values.back() <= epoch.most &&
        (epoch.nanoseconds < a_day || is_date || are_days(values)))
      return &epoch;
  return nullptr;
}

std::string time_words(std::int64_t nanoseconds) {
  std::int64_t days = nanoseconds / day, rest = nanoseconds % day;
  if (rest < 0) rest += day, --days;
  std::int64_t y = 0;
  unsigned m = 0, d = 0;
  date_of(days, y, m, d);
  char text[64];
  const auto s = static_cast<int>(rest / second);
  if (days == 0) {  // a clock without a date
    std::snprintf(text, sizeof text, "%02d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    return text;
  }
  std::snprintf(text, sizeof text, "%04lld-%02u-%02u %02d:%02d:%02d", static_cast<long long>(y), m, d,
                s / 3600, s / 60 % 60, s % 60);
  return text;
}

}  // namespace tellegen
