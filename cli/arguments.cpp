#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "cli/commands.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/results/atomic_file.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

ModelError wrong(const OptionName& name, std::string_view code, const std::string& what,
                 std::vector<std::string> details) {
  return command_fault(name.command, code, fmt::format("{} {}", name.option, what), std::move(details));
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

namespace {

// Above zero, in a unit that converts to `unit`; `kind` is what people call it.
double read_positive(const OptionName& name, const std::string& text, std::string_view unit,
                     std::string_view kind, const std::string& expected, bool zero = false) {
  std::optional<Quantity> quantity;
  try {
    quantity = units().parse(text);
  } catch (const UnknownUnit& error) {
    throw wrong(name, "T401", fmt::format("'{}' has the {}", text, error.what()), {expected});
  }
  if (!quantity || (!quantity->unit.empty() && !units().convertible(quantity->unit, unit)))
    throw wrong(name, "T401", fmt::format("'{}' is not a {}", text, kind), {expected});
  if (!(quantity->si > 0.0 || (zero && quantity->si == 0.0)) || !std::isfinite(quantity->si))
    throw wrong(name, "T401", fmt::format("must be above 0 {} and finite, and is '{}'", unit, text), {});
  return quantity->si;
}

double read_time(const OptionName& name, const std::string& text, bool zero) {
  return read_positive(name, text, "s", "time",
                       "a time is a number with a unit of time: 5s, \"0.1 ms\"; a bare number is in s", zero);
}

}  // namespace

double read_seconds(const OptionName& name, const std::string& text) { return read_time(name, text, false); }

double read_speed(const OptionName& name, const std::string& text) {
  return read_positive(name, text, "rad/s", "speed",
                       "a speed is a number with a unit: 1500rpm, \"157 rad/s\"; a bare number is in rad/s");
}

std::pair<std::optional<double>, std::optional<double>> read_window(const OptionName& name,
                                                                    const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos)
    throw wrong(name, "T401", fmt::format("'{}' is not a part of a record", text),
                {"write FROM:TO, 4s:5s; either may be left out"});
  std::optional<double> from, to;
  if (colon > 0) from = read_time(name, text.substr(0, colon), true);
  if (colon + 1 < text.size()) to = read_time(name, text.substr(colon + 1), false);
  if (from && to && !(*from < *to))
    throw wrong(name, "T401", fmt::format("'{}' has nothing between its ends", text), {});
  return {from, to};
}

std::string not_positive(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool good = !text.empty() && *end == '\0' && value > 0.0 && std::isfinite(value);
  return good ? "" : fmt::format("'{}' is not a number above 0", text);
}

std::string not_positive_count(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const bool good = digits && text.size() < 10 && std::stol(text) > 0;
  return good ? "" : fmt::format("'{}' is not a whole number above 0", text);
}

void check_choice(const OptionName& name, const std::string& value, const std::vector<std::string>& known) {
  if (value.empty() || std::find(known.begin(), known.end(), value) != known.end()) return;
  throw wrong(name, "T401", fmt::format("'{}' does not exist", value),
              {did_you_mean(value, known), "known: " + joined(known)});
}

std::pair<std::string, std::string> read_assignment(const OptionName& name, const std::string& text) {
  const auto equals = text.find('=');
  const std::string_view left = trimmed(std::string_view(text).substr(0, equals));
  const std::string_view right =
      equals == std::string::npos ? "" : trimmed(std::string_view(text).substr(equals + 1));
  if (left.empty() || right.empty())
    throw wrong(name, "T401", fmt::format("'{}' is not a parameter and its value", text),
                {"it is written PARAMETER=VALUE: R1=2ohm, \"R1=2.5 K/W\"; give the option once for each"});
  return {std::string(left), std::string(right)};
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t k = 0; k <= text.size(); ++k) {
    if (k < text.size()) depth += (text[k] == '(' || text[k] == '[') - (text[k] == ')' || text[k] == ']');
    if (k < text.size() && (text[k] != ',' || depth > 0)) continue;
    if (const auto item = trimmed(std::string_view(text).substr(first, k - first)); !item.empty())
      items.emplace_back(item);
    first = k + 1;
  }
  return items;
}

bool is_stream(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) && !fs::is_directory(path, ignored);
}

void check_writable(const OptionName& name, const fs::path& path,
                    const std::vector<std::string>& extensions) {
  if (is_stream(path)) return;
  const std::string extension = path.extension().string();
  if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end())
    throw wrong(name, "T402", fmt::format("'{}' does not end as it should", path.string()),
                {"known endings: " + joined(extensions)});
  try {
    // Made and removed again: permissions, full disks and read-only folders show before the run, not after.
    const AtomicFile file(path);
    if (!std::ofstream(file.aside()))
      throw std::runtime_error(fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno)));
  } catch (const std::runtime_error& error) {
    throw wrong(name, "T402", error.what(), {});
  }
}

}  // namespace tellegen
