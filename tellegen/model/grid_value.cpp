// Tables of two and three arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tellegen/model/csv_header.h"
#include "tellegen/model/csv_records.h"
#include "tellegen/model/scattered.h"
#include "tellegen/model/table_value.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

constexpr std::string_view grid_form =
    "{ axes = [[0, 0.5, 1], [273, 323]], values = [[1, 2], [3, 4], [5, 6]] }, or { table = \"file.csv\", x = "
    "[\"soc\", \"T\"], column = \"R0\" }";

const std::string scattered_hint = "points that are no grid: scattered = true";

// The second argument's values stand in the header: "soc", "273.15", "298.15", ...
bool is_matrix(const CsvFile& data) {
  return data.header.size() > 2 &&
         std::all_of(data.header.begin() + 1, data.header.end(),
                     [](const std::string& cell) { return csv_number(cell).has_value(); });
}

bool is_list_of_names(const Value* x) { return x && x->is_list(); }

}  // namespace

int TableReader::dimensions_of(const Source& source, const Value& value,
                               const std::filesystem::path& folder) {
  if (!value.is_table()) return 1;
  if (const Value* axes = value.find("axes"); axes && axes->is_list())
    return static_cast<int>(std::max<std::size_t>(2, axes->items.size()));
  if (const Value* x = value.find("x"); is_list_of_names(x)) return static_cast<int>(x->items.size());
  const Value* file = value.find("table");
  if (!file || !file->is_text() || value.find("column")) return 1;
  const CsvFile* data = csv(source, *file, folder / file->text);
  return data && is_matrix(*data) ? 2 : 1;
}

std::shared_ptr<const Table> TableReader::read_grid(const Source& source, const Value& value,
                                                    const std::filesystem::path& folder,
                                                    std::string_view what, const Wanted& wanted,
                                                    const std::string& own_unit) {
  const auto fault = [&](std::string_view code, const std::string& message,
                         std::vector<std::string> details = {}) {
    source.fault(value, code, fmt::format("{}{}", what, message), std::move(details));
    return nullptr;
  };
  if (!value.is_table() || wanted.dimensions > 3)
    return fault("T102", fmt::format(" must be a table of {} arguments", std::clamp(wanted.dimensions, 2, 3)),
                 {std::string(grid_form)});
  for (const char* key : {"grid", "tolerance"})
    if (value.find(key) && !value.find("scattered"))
      return fault("T128", fmt::format(": '{}' is for scattered points", key), {"add scattered = true"});
  Grid grid;
  std::string name(value.key);
  bool si = false;
  if (const Value* file = value.find("table")) {
    if (!source.is(*file, Value::Type::text, fmt::format("'table' of {}", what))) return nullptr;
    const CsvFile* data = csv(source, *file, folder / file->text);
    if (!data) return nullptr;
    name = data->name;
    if (wanted.dimensions == 2 && !value.find("x") && !value.find("column") && is_matrix(*data)) {
      grid.axes = {data->columns[0], {}};
      for (std::size_t c = 1; c < data->header.size(); ++c)
        grid.axes[1].push_back(*csv_number(data->header[c]));
      for (std::size_t row = 0; row < data->columns[0].size(); ++row)
        for (std::size_t c = 1; c < data->header.size(); ++c) grid.values.push_back(data->columns[c][row]);
    } else if (const Value* flag = value.find("scattered"); flag && flag->number != 0.0) {
      if (!source.is(*flag, Value::Type::boolean, fmt::format("'scattered' of {}", what))) return nullptr;
      std::vector<std::vector<double>> columns;
      if (!columns_of_rows(source, value, *data, what, wanted, own_unit, columns)) return nullptr;
      return scattered(source, value, *data, what, wanted.interpolation, columns);
    } else {
      if (!grid_of_rows(source, value, *data, what, wanted, own_unit, grid)) return nullptr;
      si = true;
    }
  } else if (!written_grid(source, value, what, grid)) {
    return nullptr;
  }
  if (grid.axes.size() != static_cast<std::size_t>(wanted.dimensions))
    return fault("T128", fmt::format(" has {} axes and needs {}", grid.axes.size(), wanted.dimensions));
  for (const std::vector<double>& axis : grid.axes)
    for (std::size_t k = 1; k < axis.size(); ++k)
      if (!(axis[k] > axis[k - 1]))
        return fault("T128", ": the points of an axis must increase",
                     {fmt::format("{} comes after {}", axis[k], axis[k - 1])});
  if (!si && !own_unit.empty())
    for (double& number : grid.values) number = units().to_si(number, own_unit);
  try {
    return make_grid(std::move(name), std::move(grid.axes), std::move(grid.values), wanted.interpolation);
  } catch (const std::invalid_argument& error) {
    return fault("T128", fmt::format(": {}", error.what()), {std::string(grid_form)});
  }
}

// Axes and values as they stand in the model file.
bool TableReader::written_grid(const Source& source, const Value& value, std::string_view what, Grid& grid) {
  const Value *axes = value.find("axes"), *values = value.find("values");
  if (!axes || !values || !axes->is_list() || !values->is_list()) {
    source.fault(value, "T103", fmt::format("{} needs 'axes' and 'values', or a 'table'", what),
                 {std::string(grid_form)});
    return false;
  }
  const auto number = [&](const Value& item, std::vector<double>& into) {
    const auto scalar = read_scalar(source, item, what);
    if (scalar && !scalar->number)
      source.fault(item, "T102", fmt::format("{}: a point must be a number", what));
    if (scalar && scalar->number) into.push_back(*scalar->number);
    return scalar && scalar->number;
  };
  for (const Value& axis : axes->items) {
    if (!source.is(axis, Value::Type::list, fmt::format("an axis of {}", what))) return false;
    grid.axes.emplace_back();
    for (const Value& point : axis.items)
      if (!number(point, grid.axes.back())) return false;
  }
  // Lists in lists, as deep as there are axes and as long as each of them.
  std::vector<const Value*> level{values};
  for (std::size_t d = 0; d < grid.axes.size(); ++d) {
    std::vector<const Value*> next;
    for (const Value* list : level) {
      if (!list->is_list() || list->items.size() != grid.axes[d].size()) {
        source.fault(*list, "T128",
                     fmt::format("{}: axis {} has {} points, and here stand {} values", what, d + 1,
                                 grid.axes[d].size(), list->is_list() ? list->items.size() : 1),
                     {std::string(grid_form)});
        return false;
      }
      for (const Value& item : list->items) next.push_back(&item);
    }
    level = std::move(next);
  }
  for (const Value* item : level)
    if (!number(*item, grid.values)) return false;
  return true;
}

// A column that several components read is mentioned once.
void TableReader::note_units(const CsvHeader& header, const std::string& file) {
  if (header.notes().empty()) return;
  std::string note =
      fmt::format("{}: units from the names of columns: {}; \"NAME [UNIT]\" in its header states another",
                  file, fmt::join(header.notes(), ", "));
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(std::move(note));
}

// Arguments and values of a row for each point, in SI.
bool TableReader::columns_of_rows(const Source& source, const Value& value, const CsvFile& data,
                                  std::string_view what, const Wanted& wanted, const std::string& own_unit,
                                  std::vector<std::vector<double>>& columns) {
  const auto dimensions = static_cast<std::size_t>(wanted.dimensions);
  CsvHeader header(data.described, {data.name, 1}, source.faults);
  const Value* x = value.find("x");
  if (x && (!x->is_list() || x->items.size() != dimensions)) {
    source.fault(*x, "T102", fmt::format("'x' of {} must name {} columns", what, dimensions));
    return false;
  }
  const auto take = [&](const Value& at, std::optional<std::string> asked, std::size_t otherwise,
                        const CsvHeader::Wanted& as) {
    std::optional<CsvColumn> column;
    if (asked)
      column = header.find_text(*asked, as);
    else if (otherwise < header.size())
      column = header.at(otherwise, as);
    if (!column) {
      if (!asked || header.missing())
        source.fault(
            at, "T182",
            asked ? fmt::format("'{}' has no column '{}'", data.name, *asked)
                  : fmt::format("{}: 'x' and 'column' must say which columns of '{}'", what, data.name),
            {"its columns: " + joined(data.header)});
      return false;
    }
    columns.emplace_back();
    for (double in_unit : data.columns[static_cast<std::size_t>(column->at)])
      columns.back().push_back(column->si(in_unit));
    return true;
  };
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::optional<std::string> asked;
    if (x) {
      if (!source.is(x->items[d], Value::Type::text, fmt::format("'x' of {}", what))) return false;
      asked = x->items[d].text;
    }
    if (!take(x ? *x : value, asked, d, {"", "", fmt::format("'x' of {}", what)})) return false;
  }
  std::optional<std::string> asked;
  if (const Value* column = value.find("column")) {
    if (!source.is(*column, Value::Type::text, fmt::format("'column' of {}", what))) return false;
    asked = column->text;
  }
  if (!take(value, asked, header.size() == dimensions + 1 ? dimensions : header.size(),
            {own_unit.empty() ? std::string(wanted.unit) : own_unit, own_unit,
             fmt::format("'column' of {}", what)}))
    return false;
  note_units(header, data.name);
  return true;
}

std::shared_ptr<const Table> TableReader::scattered(const Source& source, const Value& value,
                                                    const CsvFile& data, std::string_view what,
                                                    Interpolation interpolation,
                                                    const std::vector<std::vector<double>>& columns) {
  const std::size_t dimensions = columns.size() - 1, points = columns[0].size();
  const std::vector<std::vector<double>> arguments(columns.begin(), columns.end() - 1);
  const std::vector<double>& values = columns.back();
  const auto position = [&](std::size_t row) {
    std::string text;
    for (const std::vector<double>& column : arguments)
      text += fmt::format("{}{:g}", text.empty() ? "" : ", ", column[row]);
    return text;
  };
  const auto fault = [&](const Value& at, std::string_view code, const std::string& message,
                         std::vector<std::string> details = {}) {
    source.fault(at, code, fmt::format("{}{}", what, message), std::move(details));
    return nullptr;
  };
  if (interpolation == Interpolation::hold)
    return fault(value, "T128", ": scattered points cannot be held",
                 {"interpolation = \"cubic\", the default, or \"linear\""});
  std::vector<std::size_t> along(dimensions, usual_grid(points, dimensions));
  const std::size_t most = dimensions == 2 ? 400 : 24;  // seconds
  if (const Value* grid = value.find("grid")) {
    const auto fits = [&](const Value& count) {
      return count.type == Value::Type::integer && count.number >= 4 &&
             count.number <= static_cast<double>(most);
    };
    if (!grid->is_list() || grid->items.size() != dimensions ||
        !std::all_of(grid->items.begin(), grid->items.end(), fits))
      return fault(*grid, "T102",
                   fmt::format(": 'grid' must be {} counts from 4 to {}: grid = {}", dimensions, most,
                               dimensions == 2 ? "[40, 30]" : "[12, 10, 8]"));
    for (std::size_t d = 0; d < dimensions; ++d) along[d] = static_cast<std::size_t>(grid->items[d].number);
  }
  double tolerance = 0.01;
  if (const Value* asked = value.find("tolerance")) {
    if (!asked->is_number() || !(asked->number > 0.0))
      return fault(*asked, "T102",
                   ": 'tolerance' must be a number above 0: a fraction of the range of the values");
    tolerance = asked->number;
  }
  if (too_flat(arguments))
    return fault(value, "T128",
                 fmt::format(": the points of '{}' lie {}", data.name,
                             dimensions == 2 ? "on one line" : "in one plane"),
                 {dimensions == 2 ? "a table of two arguments needs points in an area"
                                  : "a table of three arguments needs points in a volume"});
  std::vector<std::size_t> order(points);
  for (std::size_t k = 0; k < points; ++k) order[k] = k;
  const auto at = [&](std::size_t row) {
    return std::tuple(arguments[0][row], arguments[1][row], dimensions > 2 ? arguments[2][row] : 0.0);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return at(a) < at(b); });
  for (std::size_t k = 1; k < points; ++k) {
    const std::size_t a = order[k - 1], b = order[k];
    if (at(a) != at(b) || values[a] == values[b]) continue;
    source.faults.add({data.name, data.lines[b]}, "T128",
                      fmt::format("{}: there are two values at ({})", what, position(b)),
                      {fmt::format("the other one is in line {}", data.lines[a])});
    return nullptr;
  }
  const ScatteredFit fit = fit_grid(data.name, arguments, values, along, interpolation);
  const std::string error = fmt::format(
      "{} scattered points on a grid of {}: error {:.2g} % of the range, RMS {:.2g} %, largest at ({})",
      points, fmt::join(along, " x "), 100.0 * fit.largest, 100.0 * fit.rms, position(fit.worst));
  if (fit.largest > tolerance) {
    std::vector<std::size_t> finer;
    for (const std::size_t count : along) finer.push_back(std::min(most, 2 * count));
    source.faults.add(
        {data.name, data.lines[fit.worst]}, "T128", fmt::format("{} does not meet its points", what),
        {error, fmt::format("give a finer grid (grid = [{}]), or tolerance = {:.2g} where the points are no "
                            "better (it is {:g})",
                            fmt::join(finer, ", "), 1.1 * fit.largest, tolerance)});
    return nullptr;
  }
  const Place place = source.document.at(value);
  notes_.push_back(fmt::format("{}:{}: note: {}: {}", place.file, place.line, what, error));
  return fit.table;
}

// A row for each point of the grid, in any order.
bool TableReader::grid_of_rows(const Source& source, const Value& value, const CsvFile& data,
                               std::string_view what, const Wanted& wanted, const std::string& own_unit,
                               Grid& grid) {
  const auto dimensions = static_cast<std::size_t>(wanted.dimensions);
  std::vector<std::vector<double>> columns;
  if (!columns_of_rows(source, value, data, what, wanted, own_unit, columns)) return false;
  std::size_t count = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::vector<double> axis = columns[d];
    std::sort(axis.begin(), axis.end());
    axis.erase(std::unique(axis.begin(), axis.end()), axis.end());
    count *= axis.size();
    grid.axes.push_back(std::move(axis));
  }
  const std::size_t rows = columns[0].size();
  const auto place = [&](std::size_t index) {
    std::string text;
    for (std::size_t d = dimensions; d-- > 0;) {
      const std::size_t size = grid.axes[d].size();
      text = fmt::format("{:g}{}{}", grid.axes[d][index % size], text.empty() ? "" : ", ", text);
      index /= size;
    }
    return text;
  };
  if (count > 64 * rows + 64) {
    source.fault(
        value, "T128",
        fmt::format("the rows of '{}' are no grid: {} of {} points are there", data.name, rows, count),
        {"every combination of the values of its axes needs a row", scattered_hint});
    return false;
  }
  grid.values.assign(count, std::nan(""));
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t index = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const std::vector<double>& axis = grid.axes[d];
      index = index * axis.size() +
              static_cast<std::size_t>(std::lower_bound(axis.begin(), axis.end(), columns[d][row]) -
                                       axis.begin());
    }
    if (!std::isnan(grid.values[index])) {
      source.faults.add({data.name, data.lines[row]}, "T128",
                        fmt::format("{}: there are two values at ({})", what, place(index)));
      return false;
    }
    grid.values[index] = columns[dimensions][row];
  }
  const auto missing =
      std::find_if(grid.values.begin(), grid.values.end(), [](double v) { return std::isnan(v); });
  if (missing != grid.values.end()) {
    source.fault(value, "T128",
                 fmt::format("{}: '{}' has no value at ({})", what, data.name,
                             place(static_cast<std::size_t>(missing - grid.values.begin()))),
                 {"every combination of the values of its axes needs a row", scattered_hint});
    return false;
  }
  return true;
}

}  // namespace tellegen
