#include "tellegen/results/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tellegen {
namespace {

// Of each row of the reference, the row of the trajectory at the same time. Where a jump gives a time two
// rows, the last one counts.
std::vector<std::size_t> matching_rows(const Trajectory& trajectory, const Trajectory& reference) {
  if (!std::is_sorted(trajectory.t.begin(), trajectory.t.end()))
    throw std::runtime_error("cannot compare: the times of the trajectory do not increase");
  double end = 0.0;
  for (double t : reference.t) end = std::max(end, std::abs(t));
  std::vector<std::size_t> rows;
  for (double t : reference.t) {
    const double slack = 1e-9 * end;
    const auto after = std::upper_bound(trajectory.t.begin(), trajectory.t.end(), t);
    const double before_gap = after == trajectory.t.begin() ? INFINITY : t - *(after - 1);
    const double after_gap = after == trajectory.t.end() ? INFINITY : *after - t;
    if (std::min(before_gap, after_gap) > slack)
      throw std::runtime_error(
          fmt::format("cannot compare: the reference has a row at t = {} s, the trajectory has none", t));
    const auto nearest = before_gap <= after_gap ? after - 1 : after;
    rows.push_back(static_cast<std::size_t>(nearest - trajectory.t.begin()));
  }
  return rows;
}

std::size_t column_of(const Trajectory& trajectory, const std::string& name, std::string_view whose) {
  const auto column = trajectory.find(name);
  if (!column)
    throw std::runtime_error(fmt::format("cannot compare: the {} has no column '{}'", whose, name));
  return *column;
}

std::string unit_of(const Trajectory& trajectory, std::size_t column) {
  return column < trajectory.units.size() ? trajectory.units[column] : std::string();
}

}  // namespace

std::vector<ColumnError> compare(const Trajectory& trajectory, const Trajectory& reference,
                                 std::span<const std::string> columns) {
  if (reference.rows() == 0) throw std::runtime_error("cannot compare: the reference has no rows");
  if (columns.empty()) columns = reference.names;
  const std::vector<std::size_t> rows = matching_rows(trajectory, reference);
  std::vector<ColumnError> errors;
  for (const std::string& name : columns) {
    const std::size_t mine = column_of(trajectory, name, "trajectory");
    const std::size_t theirs = column_of(reference, name, "reference");
    const std::string unit = unit_of(trajectory, mine), their_unit = unit_of(reference, theirs);
    if (!unit.empty() && !their_unit.empty() && unit != their_unit)
      throw std::runtime_error(
          fmt::format("cannot compare: '{}' is in {}, and in {} in the reference", name, unit, their_unit));
    ColumnError error{name, unit.empty() ? their_unit : unit};
    double sum = 0.0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double difference = std::abs(trajectory.at(rows[r], mine) - reference.at(r, theirs));
      sum += difference * difference;
      if (difference > error.largest) {
        error.largest = difference;
        error.largest_at = reference.t[r];
      }
    }
    error.rms = std::sqrt(sum / static_cast<double>(rows.size()));
    errors.push_back(error);
  }
  return errors;
}

}  // namespace tellegen
