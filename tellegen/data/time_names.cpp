// Names that loggers give a column of times.
#include "tellegen/data/time_names.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "tellegen/data/table_source.h"

namespace tellegen {
namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || (c & 0x80) != 0; }
char small_letter(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

constexpr std::string_view time_units[] = {"s",    "sec",     "secs", "second", "seconds", "sek", "ms",
                                           "msec", "us",      "usec", "µs",     "μs",      "ns",  "min",
                                           "mins", "minutes", "h",    "hrs",    "hours",   "d",   "days"};

std::string letters_only(std::string_view name) {
  std::string plain;
  for (char c : name)
    if (is_letter(c)) plain += small_letter(c);
  return plain;
}

template <std::size_t N>
bool is_one_of(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// "Time (s)", "time/ms", "Zeit_min", "Date Time, GMT+01:00" without what stands behind the name.
std::string_view without_unit(std::string_view name) {
  const std::size_t end = name.find_first_of("[(<{,");
  if (end != std::string_view::npos && end > 0) name = name.substr(0, end);
  while (!name.empty() && !is_letter(name.back())) name.remove_suffix(1);
  std::size_t last = name.size();
  while (last > 0 && is_letter(name[last - 1])) --last;
  if (last > 0 && is_one_of(time_units, letters_only(name.substr(last)))) name = name.substr(0, last);
  while (!name.empty() && !is_letter(name.back())) name.remove_suffix(1);
  return name;
}

constexpr std::string_view dates[] = {"date",      "datum",        "datetime",   "dateandtime", "timedate",
                                      "datumzeit", "datumuhrzeit", "horodatage", "fecha"};

}  // namespace

bool is_date_name(std::string_view name) { return is_one_of(dates, letters_only(without_unit(name))); }

bool has_time_unit(std::string_view name) {
  for (std::size_t at = name.find_first_of("[("); at != name.npos; at = name.find_first_of("[(", at + 1)) {
    const std::string_view inside = name.substr(at + 1, name.find_first_of("])", at) - at - 1);
    if (is_one_of(time_units, letters_only(inside))) return true;
  }
  return false;
}

bool is_time_name(std::string_view name) {
  name = without_unit(name);
  if (name == "T") return false;  // a temperature
  const std::string plain = letters_only(name);
  static constexpr std::string_view names[] = {
      "t",           "time",         "times",       "ts",       "timestamps", "elapsed", "elapsedtime",
      "timeelapsed", "relativetime", "reltime",     "scantime", "unixtime",   "epoch",   "zeit",
      "uhrzeit",     "messzeit",     "temps",       "tempo",    "tiempo",     "tijd",    "recordtime",
      "testtime",    "testtimes",    "totaltime",   "timesec",  "timesecs",   "times1",  "logtime",
      "timeutc",     "localtime",    "tstamp",      "ms",       "seconds",    "sec",     "xvalue",
      "dpttime",     "timestamp",    "zeitstempel", "utc",      "realtime",   "abstime", "absolutetime",
      "sampletime"};
  return is_one_of(dates, plain) || is_one_of(names, plain);
}

bool says_time(std::string_view name) {
  if (is_time_name(name)) return true;
  // Its words: "Test_Time(s)", "TestTime", "DPt Time".
  static constexpr std::string_view words[] = {"time",      "date",   "zeit",      "datum", "uhrzeit",
                                               "timestamp", "clock",  "heure",     "fecha", "hora",
                                               "tijd",      "tiempo", "horodatage"};
  std::string word;
  const auto is_word = [&] {
    return is_one_of(words, word) || word.ends_with("time") || word.ends_with("zeit");
  };
  for (std::size_t k = 0; k < name.size(); ++k) {
    const char c = name[k];
    const bool hump = std::isupper(static_cast<unsigned char>(c)) && k > 0 &&
                      std::islower(static_cast<unsigned char>(name[k - 1]));
    if (!is_letter(c) || hump) {
      if (is_word()) return true;
      word.clear();
    }
    if (is_letter(c)) word += small_letter(c);
  }
  return is_word();
}

}  // namespace tellegen
