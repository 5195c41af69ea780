#include "benchmarks/circuit_data.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>

namespace tellegen {
namespace {

const std::filesystem::path folder = std::filesystem::path(TELLEGEN_SOURCE_DIR) / "benchmarks";

using Row = std::map<std::string, std::string>;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

std::vector<Row> read_rows(const std::string& file) {
  std::ifstream in(folder / file);
  std::string line;
  if (!std::getline(in, line)) throw std::runtime_error((folder / file).string() + " is missing or empty");
  const auto header = cells_of(line);
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    const auto cells = cells_of(line);
    Row row;
    for (std::size_t k = 0; k < header.size(); ++k) row[header[k]] = k < cells.size() ? cells[k] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

double number(const Row& row, const char* column) {
  const std::string& text = row.at(column);
  return text.empty() ? std::numeric_limits<double>::quiet_NaN() : std::stod(text);
}

Precision precision_of(const Row& row) {
  return row.at("precision") == "high" ? Precision::high : Precision::low;
}

}  // namespace

std::vector<PublishedRow> published_rows(const std::string& problem) {
  std::vector<PublishedRow> result;
  for (const Row& row : read_rows("published_circuits.csv")) {
    if (row.at("problem") != problem) continue;
    result.push_back({problem,
                      row.at("method"),
                      precision_of(row),
                      number(row, "h"),
                      static_cast<int>(number(row, "iterations")),
                      {number(row, "error1"), number(row, "error2")},
                      number(row, "pc_ms"),
                      number(row, "bbb_ms"),
                      number(row, "rpi_ms")});
  }
  return result;
}

std::vector<ComputedRow> computed_rows(const std::string& problem) {
  std::vector<ComputedRow> result;
  for (const Row& row : read_rows("computed_circuits.csv")) {
    if (row.at("problem") != problem) continue;
    result.push_back({problem,
                      row.at("method"),
                      row.at("start"),
                      number(row, "h"),
                      {number(row, "error1"), number(row, "error2")}});
  }
  return result;
}

std::vector<PublishedSize> published_sizes() {
  std::vector<PublishedSize> result;
  for (const Row& row : read_rows("published_realtime_size.csv")) {
    result.push_back({row.at("method"), precision_of(row), static_cast<int>(number(row, "loops"))});
  }
  return result;
}

Thresholds thresholds_of(const std::string& problem) {
  Thresholds result;
  for (const Row& row : read_rows("published_thresholds.csv")) {
    if (row.at("problem") != problem) continue;
    result.t_end = number(row, "t_end");
    result.samples = static_cast<int>(number(row, "samples"));
    (precision_of(row) == Precision::high ? result.high : result.low) = {number(row, "error1"),
                                                                         number(row, "error2")};
  }
  if (result.samples == 0) throw std::runtime_error("published_thresholds.csv: nothing on " + problem);
  return result;
}

ReferenceSolution read_reference(const std::string& file) {
  const auto path = folder / "reference" / file;
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) throw std::runtime_error(path.string() + " is missing or empty");
  ReferenceSolution solution;
  while (std::getline(in, line)) {
    const auto cells = cells_of(line);
    if (cells.size() != 3) throw std::runtime_error(path.string() + ": a line without three cells");
    solution.t.push_back(std::stod(cells[0]));
    solution.first.push_back(std::stod(cells[1]));
    solution.second.push_back(std::stod(cells[2]));
  }
  return solution;
}

}  // namespace tellegen
