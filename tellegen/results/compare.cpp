#include "tellegen/results/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tellegen/model/units.h"

namespace tellegen {
namespace {

// Where a time of the reference is in the trajectory: at a row, or on the way to the next one.
struct Moment {
  std::size_t row = 0;
  double along = 0.0;
};

// Where a jump gives a time two rows, the last one counts.
std::vector<Moment> matching_moments(const Trajectory& trajectory, const Trajectory& reference) {
  if (!std::is_sorted(trajectory.t.begin(), trajectory.t.end()))
    throw std::runtime_error("cannot compare: the times of the trajectory do not increase");
  double end = 0.0;
  for (double t : reference.t) end = std::max(end, std::abs(t));
  std::vector<Moment> moments;
  for (double t : reference.t) {
    const double slack = 1e-9 * end;
    const auto after = std::upper_bound(trajectory.t.begin(), trajectory.t.end(), t);
    const double before_gap = after == trajectory.t.begin() ? INFINITY : t - *(after - 1);
    const double after_gap = after == trajectory.t.end() ? INFINITY : *after - t;
    if (std::min(before_gap, after_gap) <= slack) {
      const auto nearest = before_gap <= after_gap ? after - 1 : after;
      moments.push_back({static_cast<std::size_t>(nearest - trajectory.t.begin()), 0.0});
    } else if (std::isfinite(before_gap) && std::isfinite(after_gap)) {
      moments.push_back({static_cast<std::size_t>(after - trajectory.t.begin()) - 1,
                         before_gap / (before_gap + after_gap)});
    } else {
      throw std::runtime_error(
          fmt::format("cannot compare: the reference has a row at t = {} s, the trajectory has none", t));
    }
  }
  return moments;
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
  const std::vector<Moment> moments = matching_moments(trajectory, reference);
  std::vector<ColumnError> errors;
  for (const std::string& name : columns) {
    const std::size_t mine = column_of(trajectory, name, "trajectory");
    const std::size_t theirs = column_of(reference, name, "reference");
    const std::string unit = unit_of(trajectory, mine), their_unit = unit_of(reference, theirs);
    const bool converts = !unit.empty() && !their_unit.empty() && unit != their_unit;
    if (converts && !units().convertible(unit, their_unit))
      throw std::runtime_error(
          fmt::format("cannot compare: '{}' is in {}, and in {} in the reference", name, unit, their_unit));
    ColumnError error{name, unit.empty() ? their_unit : unit};
    double sum = 0.0;
    for (std::size_t r = 0; r < moments.size(); ++r) {
      const auto& [row, along] = moments[r];
      double value = trajectory.at(row, mine), expected = reference.at(r, theirs);
      if (along > 0.0) value += along * (trajectory.at(row + 1, mine) - value);
      if (converts) expected = units().from_si(units().to_si(expected, their_unit), unit);
      const double difference = std::abs(value - expected);
      sum += difference * difference;
      if (difference > error.largest) {
        error.largest = difference;
        error.largest_at = reference.t[r];
      }
    }
    error.rms = std::sqrt(sum / static_cast<double>(moments.size()));
    errors.push_back(error);
  }
  return errors;
}

}  // namespace tellegen
