#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tellegen/model/csv.h"
#include "tellegen/model/machine.h"

namespace tellegen {
namespace {

constexpr std::string_view forms =
    "loss = { density = 7650, hysteresis = 0.02, exponent = 2, eddy = 5e-5, excess = 0 }: W/kg at 1 Hz and 1 "
    "T, or measured: loss = { density = 7650, points = [[50, 1.0, 1.2], ...] } in Hz, T and W/kg, or table = "
    "\"loss.csv\" of such columns";

using Measured = MachineLoss::Measured;

bool read_points(const Source& source, const Value& list, const std::string& what,
                 std::vector<Measured>& points) {
  if (!source.is(list, Value::Type::list, what)) return false;
  for (const Value& point : list.items) {
    const bool numbers =
        point.is_list() && point.items.size() == 3 &&
        std::all_of(point.items.begin(), point.items.end(), [](const Value& v) { return v.is_number(); });
    if (!numbers) {
      source.fault(point, "T102", fmt::format("{}: a point must be three numbers", what),
                   {std::string(forms)});
      return false;
    }
    points.push_back({point.items[0].number, point.items[1].number, point.items[2].number});
  }
  return true;
}

bool read_file(const Source& source, const Value& name, const std::string& what,
               std::vector<Measured>& points) {
  if (!source.is(name, Value::Type::text, what)) return false;
  const std::filesystem::path beside = std::filesystem::path(source.document.name()).parent_path();
  try {
    const CsvFile file = read_csv(beside / name.text, source.document.at(name));
    if (file.columns.size() != 3) {
      source.fault(name, "T182", fmt::format("'{}' has {} columns", name.text, file.columns.size()),
                   {"losses are three columns: frequency in Hz, amplitude of the flux density in T, W/kg"});
      return false;
    }
    for (std::size_t row = 0; row < file.columns[0].size(); ++row)
      points.push_back({file.columns[0][row], file.columns[1][row], file.columns[2][row]});
  } catch (const ModelError& error) {
    source.faults.add(error);
    return false;
  }
  return true;
}

// Hysteresis and eddy currents differ by the power of the frequency, and the exponent by that of B.
bool tells_enough(const Source& source, const Value& value, const std::string& what,
                  const std::vector<Measured>& points) {
  const auto nothing = [&](const std::string& why) {
    source.fault(value, "T187", fmt::format("{} {}", what, why), {std::string(forms)});
    return false;
  };
  for (const Measured& point : points)
    for (const double number : {point.frequency, point.B, point.loss})
      if (!(number > 0.0) || !std::isfinite(number)) return nothing("has a number that is not above zero");
  const auto differs = [&](double Measured::*of) {
    return std::any_of(points.begin(), points.end(),
                       [&](const Measured& p) { return std::abs(p.*of / points[0].*of - 1.0) > 0.01; });
  };
  if (points.size() < 4 || !differs(&Measured::frequency) || !differs(&Measured::B))
    return nothing("needs four points or more, at two frequencies and two flux densities");
  return true;
}

}  // namespace

MachineLoss read_loss(const Source& source, const Value& value, const std::string& what) {
  if (!source.is(value, Value::Type::table, what)) return {};
  source.known_keys(
      value, {"density", "hysteresis", "exponent", "eddy", "excess", "points", "table", "summary"}, what);
  MachineLoss loss;
  const auto wrong = [&](const std::string& why) {
    source.fault(value, "T187", fmt::format("{} {}", what, why), {std::string(forms)});
    return MachineLoss();
  };
  if (!value.find("density")) return wrong("has no 'density'");
  const Value *points = value.find("points"), *table = value.find("table");
  bool coefficients = false;
  for (const char* key : {"hysteresis", "eddy", "excess"}) coefficients = coefficients || value.find(key);
  if (coefficients + (points != nullptr) + (table != nullptr) != 1)
    return wrong("needs coefficients ('hysteresis', 'eddy', 'excess'), or 'points', or 'table'");
  if (!coefficients && value.find("exponent")) return wrong("finds 'exponent' from what was measured");
  if (points && !read_points(source, *points, what, loss.measured)) return {};
  if (table && !read_file(source, *table, what, loss.measured)) return {};
  if (!coefficients && !tells_enough(source, value, what, loss.measured)) return {};
  loss.given = true;
  return loss;
}

}  // namespace tellegen
