#include "tellegen/estimate/suspicion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "tellegen/model/units.h"

namespace tellegen {
namespace {

constexpr const char* temperature_units[] = {"degC", "degF", "K"};

// A column of a record, whichever table it is in.
struct RecordColumn {
  std::string name, unit;
  bool input = false;
  std::size_t at = 0;

  double& value(Record& record, std::int64_t row) const {
    return input ? record.given[static_cast<std::size_t>(row) * record.inputs.size() + at]
                 : record.readings[static_cast<std::size_t>(row) * record.sensors.size() + at];
  }
  template <class Function>
  void change(Record& record, const Function& f) const {
    for (std::int64_t row = 0; row < record.steps; ++row) value(record, row) = f(value(record, row));
  }
};

std::vector<RecordColumn> columns_of(const Model& model, const Record& record) {
  std::vector<RecordColumn> columns;
  for (std::size_t s = 0; s < record.sensors.size(); ++s)
    columns.push_back(
        {model.outputs[record.sensors[s]].name, sensor_unit(model, record.sensors[s]), false, s});
  for (std::size_t k = 0; k < record.inputs.size(); ++k)
    columns.push_back({record.inputs[k], input_unit(model, record.inputs[k]), true, k});
  return columns;
}

// Straight between two rows; held before the first (-1) and after the last (steps) that are known.
void fill_between(Record& record, const RecordColumn& column, std::int64_t from, std::int64_t to) {
  if (from < 0 && to >= record.steps) return;
  const double end = column.value(record, to < record.steps ? to : from);
  const double begin = from < 0 ? end : column.value(record, from);
  for (std::int64_t row = from + 1; row < to; ++row)
    column.value(record, row) =
        begin + (end - begin) * static_cast<double>(row - from) / static_cast<double>(to - from);
}

// A reading may be missing, an input may not. Where one of them is an input, it is `other`.
void exchange(Record& record, const RecordColumn& one, const RecordColumn& other) {
  std::int64_t known = -1;
  for (std::int64_t row = 0; row < record.steps; ++row) {
    if (other.input && std::isnan(one.value(record, row))) continue;
    std::swap(one.value(record, row), other.value(record, row));
    if (other.input) fill_between(record, other, known, row);
    known = row;
  }
  if (other.input) fill_between(record, other, known, record.steps);
}

bool is_temperature(const std::string& unit) { return !unit.empty() && units().convertible(unit, "degC"); }

}  // namespace

std::vector<RecordMistake> possible_mistakes(const Model& model, const Record& record) {
  std::vector<RecordMistake> mistakes;
  const std::vector<RecordColumn> columns = columns_of(model, record);
  for (std::size_t a = 0; a < columns.size(); ++a)
    for (std::size_t b = a + 1; b < columns.size(); ++b) {
      const RecordColumn &one = columns[a], &other = columns[b];
      if (one.unit.empty() != other.unit.empty() ||
          (!one.unit.empty() && !units().convertible(one.unit, other.unit)))
        continue;
      mistakes.push_back({fmt::format("'{}' and '{}' are exchanged", one.name, other.name),
                          [one, other](Record& r) { exchange(r, one, other); }});
    }
  for (const RecordColumn& column : columns) {
    if (is_temperature(column.unit)) {
      for (const char* read : temperature_units)
        for (const char* is : temperature_units)
          if (std::string_view(read) != is)
            mistakes.push_back(
                {fmt::format("'{}' is in {}, and was read as {}", column.name, is, read), [=](Record& r) {
                   column.change(r, [&](double v) { return units().to_si(units().from_si(v, read), is); });
                 }});
      continue;
    }
    const std::string unit = column.unit.empty() ? "its unit" : column.unit;
    const auto factor = [&](double by, std::string text) {
      mistakes.push_back(
          {std::move(text), [=](Record& r) { column.change(r, [&](double v) { return by * v; }); }});
    };
    const bool prefixed = unit.starts_with("k") && unit != "kg" && units().known(unit.substr(1));
    factor(1e3, prefixed ? fmt::format("'{}' is a thousand times larger than its numbers in {} say",
                                       column.name, unit)
                         : fmt::format("'{}' is in k{}, and was read as {}", column.name,
                                       column.unit.empty() ? "ilo-units" : unit, unit));
    factor(1e-3, prefixed
                     ? fmt::format("'{}' is in {}, and was read as {}", column.name, unit.substr(1), unit)
                     : fmt::format("'{}' is in m{}, and was read as {}", column.name,
                                   column.unit.empty() ? "illi-units" : unit, unit));
    factor(-1.0, fmt::format("the sign of '{}' is reversed", column.name));
    if (column.unit == "1") factor(1e-2, fmt::format("'{}' is in percent, and was read as 1", column.name));
    if (!column.unit.empty() && units().convertible(column.unit, "rad/s")) {
      factor(std::numbers::pi / 30.0, fmt::format("'{}' is in rpm, and was read as rad/s", column.name));
      factor(30.0 / std::numbers::pi, fmt::format("'{}' is in rad/s, and was read as rpm", column.name));
    }
  }
  return mistakes;
}

std::vector<Suspicion> suspicions(const Model& model, const Record& record, double now,
                                  const std::function<double(const Record&)>& quality, double acceptable) {
  std::vector<Suspicion> found;
  constexpr double part = 0.25, least = 0.8;  // what explains a misfit leaves no more of it; no record less
  if (part * now < least) return found;
  for (const RecordMistake& mistake : possible_mistakes(model, record)) {
    Record undone = record;
    mistake.undo(undone);
    const double after = quality(undone);
    if (after <= acceptable && after < part * now) found.push_back({mistake.text, after});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Suspicion& a, const Suspicion& b) { return a.quality < b.quality; });
  return found;
}

Record first_rows(const Record& record, std::int64_t rows) {
  Record part = record;
  part.steps = std::min(rows, record.steps);
  part.readings.resize(static_cast<std::size_t>(part.steps) * record.sensors.size());
  part.given.resize(static_cast<std::size_t>(part.steps) * record.inputs.size());
  part.arrivals.clear();
  return part;
}

}  // namespace tellegen
