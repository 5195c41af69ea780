#include "tellegen/model/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tellegen/model/document.h"

namespace tellegen {
namespace {

constexpr std::size_t faults_shown = 20;  // a file in the wrong format is wrong in every line

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view take(std::string_view& text, char end) {
  const auto at = text.find(end);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return head;
}

std::vector<std::string> read_header(std::string_view line) {
  std::vector<std::string> header;
  const auto count = std::count(line.begin(), line.end(), ',') + 1;
  for (long k = 0; k < count; ++k) {
    std::string_view cell = trim(take(line, ','));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
    header.emplace_back(cell);
  }
  return header;
}

}  // namespace

CsvFile read_csv(const std::filesystem::path& file, const Place& from) {
  const std::string text = read_text(file, from);
  CsvFile csv;
  csv.name = file.string();
  std::vector<Fault> faults;
  std::string_view rest = text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  for (int line = 1; !rest.empty(); ++line) {
    std::string_view row = trim(take(rest, '\n'));
    if (row.empty() || row.front() == '#') continue;
    if (csv.header.empty()) {
      csv.header = read_header(row);
      csv.columns.resize(csv.header.size());
      continue;
    }
    const auto fault = [&](std::string message) {
      faults.push_back({{csv.name, line}, "T181", std::move(message), {}});
    };
    const auto cells = static_cast<std::size_t>(std::count(row.begin(), row.end(), ',')) + 1;
    if (cells != csv.header.size()) {
      fault(fmt::format("{} values where the header names {} columns", cells, csv.header.size()));
    } else {
      for (std::size_t k = 0; k < cells; ++k) {
        const std::string_view cell = trim(take(row, ','));
        double value = 0.0;
        const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value))
          fault(fmt::format("'{}' in column '{}' is not a finite number", cell, csv.header[k]));
        csv.columns[k].push_back(value);
      }
      csv.lines.push_back(line);
    }
    if (faults.size() >= faults_shown) break;
  }
  if (csv.header.empty())
    faults.push_back({{csv.name, 0}, "T181", "the file is empty", {"the first line names the columns"}});
  if (!faults.empty()) throw ModelError(std::move(faults));
  return csv;
}

}  // namespace tellegen
