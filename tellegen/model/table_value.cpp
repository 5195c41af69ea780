#include "tellegen/model/table_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/model/csv_header.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

constexpr std::string_view list_form =
    "a table is a list of [x, y] pairs, or { table = \"file.csv\", column = \"y\" }";

bool read_points(const Source& source, const Value& list, std::string_view what, std::vector<double>& x,
                 std::vector<double>& y) {
  if (!source.is(list, Value::Type::list, what)) return false;
  for (const Value& point : list.items) {
    const bool pair = point.is_list() && point.items.size() == 2 && point.items[0].is_number() &&
                      point.items[1].is_number();
    if (!pair) {
      source.fault(point, "T102", fmt::format("{}: a point must be a pair of numbers", what),
                   {std::string(list_form)});
      return false;
    }
    if (!std::isfinite(point.items[0].number) || !std::isfinite(point.items[1].number)) {
      source.fault(point, "T125", fmt::format("{}: a point is not finite", what));
      return false;
    }
    x.push_back(point.items[0].number);
    y.push_back(point.items[1].number);
  }
  return true;
}

}  // namespace

std::optional<Interpolation> read_interpolation(const Source& source, const Value& value,
                                                std::string_view what) {
  if (!source.is(value, Value::Type::text, fmt::format("'interpolation' of {}", what))) return std::nullopt;
  const std::vector<std::pair<std::string, Interpolation>> known{
      {"linear", Interpolation::linear}, {"hold", Interpolation::hold}, {"cubic", Interpolation::cubic}};
  for (const auto& [name, interpolation] : known)
    if (name == value.text) return interpolation;
  source.fault(value, "T101", fmt::format("unknown interpolation '{}' of {}", value.text, what),
               {did_you_mean(value.text, {"linear", "hold", "cubic"}), "known: 'linear', 'hold', 'cubic'"});
  return std::nullopt;
}

const CsvFile* TableReader::csv(const Source& source, const Value& at, const std::filesystem::path& file) {
  const auto [entry, fresh] = files_.try_emplace(file);
  if (fresh) {
    try {
      entry->second = std::make_unique<CsvFile>(read_csv(file, source.document.at(at)));
    } catch (const ModelError& error) {
      source.faults.add(error);
    }
  }
  return entry->second.get();
}

std::shared_ptr<const Table> TableReader::read(const Source& source, const Value& value,
                                               const std::filesystem::path& folder, std::string_view what,
                                               Wanted wanted) {
  std::string own_unit;
  if (value.is_table()) {
    std::vector<std::string_view> known{"points",        "table",  "column",    "time", "x",
                                        "axes",          "values", "scattered", "grid", "tolerance",
                                        "interpolation", "unit",   "summary"};
    known.insert(known.end(), wanted.also.begin(), wanted.also.end());
    source.known_keys(value, known, what);
    if (const Value* given = value.find("interpolation")) {
      const auto read = read_interpolation(source, *given, what);
      if (!read) return nullptr;
      wanted.interpolation = *read;
    } else if (value.find("scattered")) {
      wanted.interpolation = Interpolation::cubic;
    }
    if (const Value* given = value.find("unit")) {
      own_unit = source.text(value, "unit", what);
      if (!check_known_unit(source, *given, own_unit, what)) return nullptr;
      if (!wanted.unit.empty() && !check_unit(source, *given, own_unit, wanted.unit, what)) return nullptr;
    }
  }
  if (wanted.dimensions == 0) wanted.dimensions = dimensions_of(source, value, folder);
  const std::string key =
      fmt::format("{} {} {} {} {}", static_cast<const void*>(value.items.data()), wanted.unit, wanted.x_unit,
                  static_cast<int>(wanted.interpolation), wanted.dimensions);
  const auto known = value.items.empty() ? shared_.end() : shared_.find(key);
  if (known != shared_.end()) return known->second;
  auto table = wanted.dimensions == 1 ? read_line(source, value, folder, what, wanted, own_unit)
                                      : read_grid(source, value, folder, what, wanted, own_unit);
  if (table) shared_[key] = table;
  return table;
}

std::shared_ptr<const Table> TableReader::read_line(const Source& source, const Value& value,
                                                    const std::filesystem::path& folder,
                                                    std::string_view what, const Wanted& wanted,
                                                    std::string own_unit) {
  std::vector<double> x, y;
  std::string name(value.key);
  Place place = source.document.at(value);
  const std::vector<int>* lines = nullptr;
  if (value.is_list()) {
    if (!read_points(source, value, what, x, y)) return nullptr;
  } else if (value.is_table()) {
    const Value* file = value.find("table");
    const Value* points = value.find("points");
    if (!file == !points) {
      source.fault(value, "T103", fmt::format("{} needs either 'points' or 'table'", what),
                   {std::string(list_form)});
      return nullptr;
    }
    if (points && !read_points(source, *points, what, x, y)) return nullptr;
    if (file) {
      if (!source.is(*file, Value::Type::text, fmt::format("'table' of {}", what))) return nullptr;
      const CsvFile* data = csv(source, *file, folder / file->text);
      if (!data) return nullptr;
      CsvHeader header(data->described, {data->name, 1}, source.faults);
      const auto column = [&](std::string_view key, std::size_t otherwise, std::string_view expected,
                              const std::string& bare) {
        const std::string asked = source.text(value, key, what);
        const CsvHeader::Wanted as{std::string(expected), bare, fmt::format("'{}' of {}", key, what)};
        if (asked.empty() && otherwise < header.size() && data->is_time[otherwise])
          return std::optional<CsvColumn>({static_cast<int>(otherwise), header.text(otherwise), ""});
        if (asked.empty() && otherwise < header.size()) return header.at(otherwise, as);
        auto found = header.find_text(asked, as);
        if (header.missing())
          source.fault(value.find(key) ? *value.find(key) : value, "T182",
                       asked.empty()
                           ? fmt::format("{}: 'column' must say which column of '{}'", what, data->name)
                           : fmt::format("'{}' has no column '{}'", data->name, asked),
                       {did_you_mean(asked, data->header), "its columns: " + joined(data->header)});
        return found;
      };
      // Two columns need no telling; of more, the one meant is named.
      const auto x_column = column(value.find("x") ? "x" : "time", 0, wanted.x_unit, "");
      const auto y_column = column("column", header.size() == 2 ? 1 : header.size(),
                                   own_unit.empty() ? wanted.unit : std::string_view(own_unit), own_unit);
      if (!x_column || !y_column) return nullptr;
      note_units(header, data->name);
      for (double value_in_unit : data->columns[static_cast<std::size_t>(x_column->at)])
        x.push_back(x_column->si(value_in_unit));
      for (double value_in_unit : data->columns[static_cast<std::size_t>(y_column->at)])
        y.push_back(y_column->si(value_in_unit));
      own_unit.clear();  // in SI already
      lines = &data->lines;
      place.file = data->name;
      name = fmt::format("{}:{}", data->name, source.text(value, "column", what));
    }
  } else {
    source.fault(value, "T102", fmt::format("{} must be a table, not {}", what, type_name(value.type)),
                 {std::string(list_form)});
    return nullptr;
  }
  if (x.empty()) {
    source.faults.add(place, "T128", fmt::format("{} has no points", what));
    return nullptr;
  }
  for (std::size_t k = 1; k < x.size(); ++k)
    if (x[k] <= x[k - 1]) {
      if (lines) place.line = (*lines)[k];
      source.faults.add(place, "T128", fmt::format("{}: x must increase from point to point", what),
                        {fmt::format("{} comes after {}", x[k], x[k - 1])});
      return nullptr;
    }
  if (!own_unit.empty())
    for (double& value_in_unit : y) value_in_unit = units().to_si(value_in_unit, own_unit);
  return make_table(std::move(name), std::move(x), std::move(y), wanted.interpolation);
}

}  // namespace tellegen
