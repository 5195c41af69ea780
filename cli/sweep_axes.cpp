#include "cli/sweep_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

const std::string syntax =
    "it is written R1=1ohm:10ohm (a range), R1=1ohm:10ohm:20 or R1=1ohm:10ohm:log:20 (a grid), or "
    "R1=1ohm,2ohm,5ohm (these values)";
constexpr int most_values = 100'000'000;

ModelError wrong_range(std::string_view code, const VaryText& vary, const std::string& what,
                       std::vector<std::string> details = {}) {
  return command_fault(tellegen_sweep, code, fmt::format("--vary {}: {}", vary.whole, what),
                       std::move(details));
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t first = 0;
  for (std::size_t k = 0; k <= text.size(); ++k) {
    if (k < text.size() && text[k] != at) continue;
    const auto begin = std::min(text.find_first_not_of(" \t", first), k);
    auto end = k;
    while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
    parts.push_back(text.substr(begin, end - begin));
    first = k + 1;
  }
  return parts;
}

void read_ending(VaryText& vary, const std::string& part) {
  if (part == "log") {
    vary.log = true;
    return;
  }
  const bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || vary.count)
    throw wrong_range("T580", vary, fmt::format("'{}' is neither 'log' nor a number of values", part),
                      {did_you_mean(part, {"log"}), syntax});
  vary.count = part.size() < 10 ? std::atoi(part.c_str()) : most_values + 1;
  if (*vary.count == 0 || *vary.count > most_values)
    throw wrong_range("T581", vary,
                      fmt::format("a grid has at least one value, and at most {}", most_values));
}

// In `unit`; where that is empty the first number's own unit becomes the axis's.
double number_of(const VaryText& vary, const std::string& text, std::string& unit) {
  std::optional<Quantity> quantity;
  try {
    quantity = units().parse(text);
  } catch (const UnknownUnit& error) {
    throw wrong_range("T580", vary, fmt::format("'{}' has the {}", text, error.what()));
  }
  if (!quantity)
    throw wrong_range("T580", vary, fmt::format("'{}' is not a number with a unit", text), {syntax});
  if (!std::isfinite(quantity->si)) throw wrong_range("T581", vary, fmt::format("'{}' is not finite", text));
  if (unit.empty()) unit = quantity->unit;
  if (quantity->unit.empty()) return unit.empty() ? quantity->si : units().from_si(quantity->si, unit);
  if (!units().convertible(quantity->unit, unit))
    throw wrong_range("T580", vary,
                      fmt::format("'{}' is in {}, and '{}' in {}", text, quantity->unit, vary.name, unit));
  // As typed, to the last bit, where nothing has to be converted.
  if (quantity->unit == unit) return std::strtod(text.c_str(), nullptr);
  return units().from_si(quantity->si, unit);
}

Axis axis_of(const VaryText& vary, std::string unit) {
  std::vector<double> numbers;
  for (const std::string& text : vary.numbers) numbers.push_back(number_of(vary, text, unit));
  Axis axis{vary.name, unit, numbers.front(), numbers.back(), vary.log, {}};
  if (vary.listed) {
    axis.lower = *std::min_element(numbers.begin(), numbers.end());
    axis.upper = *std::max_element(numbers.begin(), numbers.end());
    axis.values = std::move(numbers);
    return axis;
  }
  if (axis.lower > axis.upper)
    throw wrong_range("T581", vary, "the lower end is above the upper one",
                      {fmt::format("write {}={}:{}", vary.name, vary.numbers[1], vary.numbers[0])});
  if (axis.lower == axis.upper && vary.count.value_or(2) != 1)
    throw wrong_range("T581", vary, "the range is empty: both ends are the same");
  if (axis.log && !(axis.lower > 0.0))
    throw wrong_range("T581", vary, "a logarithmic range begins above zero");
  if (vary.count) axis.values = grid_values(axis.lower, axis.upper, axis.log, *vary.count);
  return axis;
}

}  // namespace

std::vector<VaryText> read_vary(const std::vector<std::string>& texts) {
  if (texts.empty())
    throw command_fault(tellegen_sweep, "T582", "nothing varies",
                        {"give --vary once for each parameter; " + syntax});
  std::vector<VaryText> all;
  for (const std::string& text : texts) {
    VaryText vary;
    vary.whole = text;
    const auto equals = text.find('=');
    vary.name = split(text.substr(0, equals), '\0').front();
    const std::string range = equals == std::string::npos ? "" : text.substr(equals + 1);
    const auto parts = split(range, ':');
    if (vary.name.empty() || range.empty())
      throw wrong_range("T580", vary, "no parameter and its range", {syntax});
    vary.listed = parts.size() == 1;
    vary.numbers = vary.listed ? split(range, ',') : std::vector{parts[0], parts[1]};
    for (std::size_t k = 2; k < parts.size(); ++k) read_ending(vary, parts[k]);
    for (const VaryText& other : all)
      if (other.name == vary.name)
        throw command_fault(tellegen_sweep, "T582", fmt::format("'{}' varies twice", vary.name));
    all.push_back(std::move(vary));
  }
  return all;
}

std::vector<Axis> axes_of(Model& model, const std::vector<VaryText>& vary) {
  std::vector<Axis> axes;
  FaultList faults;
  for (const VaryText& one : vary) {
    try {
      const int parameter = study_parameter(model, one.name, {std::string(tellegen_sweep), 0});
      axes.push_back(axis_of(one, model.parameters[parameter].unit));
    } catch (const ModelError& error) {
      faults.add(error);
    }
  }
  faults.throw_if_any();
  return axes;
}

}  // namespace tellegen
