// A record as a CSV file.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/model/units.h"
#include "tellegen/records/reading_check.h"
#include "tellegen/records/record.h"
#include "tellegen/results/trajectory.h"

namespace tellegen {
namespace {

// A reading that becomes known after its row.
struct Late {
  std::int64_t known, row;
  std::size_t sensor;
};

}  // namespace

void write_record(const std::filesystem::path& file, const Model& model, const Record& record) {
  const std::size_t sensors = record.sensors.size(), inputs = record.inputs.size();
  Trajectory table;
  for (int s : record.sensors) {
    table.names.push_back(model.outputs[s].name);
    table.units.push_back(sensor_unit(model, s));
  }
  for (const std::string& name : record.inputs) {
    table.names.push_back(name);
    table.units.push_back(input_unit(model, name));
  }
  std::vector<Late> late;
  for (std::size_t k = 0; k < record.arrivals.size(); ++k) {
    const auto row = static_cast<std::int64_t>(k / sensors);
    if (record.arrivals[k] > row && !std::isnan(record.readings[k]))
      late.push_back({record.arrivals[k], row, k % sensors});
  }
  std::stable_sort(late.begin(), late.end(), [](const Late& a, const Late& b) { return a.known < b.known; });
  const bool arrivals = !late.empty();
  if (arrivals) {
    table.names.emplace_back("arrival");
    table.units.emplace_back("s");
  }
  const auto told = [&](double si, std::size_t column) {
    return table.units[column].empty() ? si : units().from_si(si, table.units[column]);
  };

  std::vector<double> cells(table.names.size());
  std::size_t next = 0;
  // What is known before a row, or with it, stands before it.
  const auto write_late = [&](std::int64_t known_by) {
    for (; next < late.size() && late[next].known <= known_by; ++next) {
      std::fill(cells.begin(), cells.end(), no_number);
      const Late& l = late[next];
      cells[l.sensor] = told(record.reading(l.row, l.sensor), l.sensor);
      cells.back() = record.time(l.known);
      table.append(record.time(l.row), cells);
    }
  };
  for (std::int64_t row = 0; row < record.steps; ++row) {
    if (arrivals) write_late(row);
    for (std::size_t s = 0; s < sensors; ++s) {
      const bool known = !arrivals || record.arrivals[row * sensors + s] <= row;
      cells[s] = known ? told(record.reading(row, s), s) : no_number;
    }
    for (std::size_t k = 0; k < inputs; ++k)
      cells[sensors + k] = told(record.given[row * inputs + k], sensors + k);
    if (arrivals) cells.back() = record.time(row);
    table.append(record.time(row), cells);
  }
  if (arrivals) write_late(std::numeric_limits<std::int64_t>::max());
  write_csv(file, table);
}

void drop_impossible(const Model& model, Record& record) {
  const std::size_t width = record.sensors.size();
  for (std::size_t s = 0; s < width; ++s) {
    Record::Count& counts = record.counts[s];
    drop_impossible_of(
        model.outputs[record.sensors[s]], static_cast<std::size_t>(record.steps),
        [&](std::size_t row) { return record.time(static_cast<std::int64_t>(row)); },
        [&](std::size_t row) -> double& { return record.readings[row * width + s]; },
        [&](std::size_t, ReadingVerdict verdict) {
          --counts.taken;
          ++counts.missing;
          ++(verdict == ReadingVerdict::stuck ? counts.stuck : counts.out_of_range);
        });
  }
}

}  // namespace tellegen
