#include "benchmarks/report.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace tellegen {
namespace {

// Numbers as numbers, so that a reader of the JSON need not parse cells.
nlohmann::json value_of(const std::string& cell) {
  if (cell.empty()) return nullptr;
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  if (*end == '\0' && std::isfinite(value)) return value;
  return cell;
}

}  // namespace

void Report::begin(const Task& task) {
  task_ = task.name;
  fmt::print("\n== {}\n   input     {}\n   result    {}\n   equality  {}\n", task.name, task.input,
             task.result, task.equality);
  tasks_.push_back({{"name", task.name},
                    {"input", task.input},
                    {"result", task.result},
                    {"equality", task.equality},
                    {"tables", nlohmann::json::array()},
                    {"notes", nlohmann::json::array()}});
  std::fflush(stdout);
}

bool Report::require(bool equal, const std::string& what) {
  if (!equal) {
    failures_.push_back(task_ + ": " + what);
    fmt::print("   FAILED    {}\n", what);
  }
  return equal;
}

void Report::table(const std::string& caption, const TextTable& table) {
  fmt::print("\n{}\n{}", caption, to_text(table));
  std::fflush(stdout);
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& cells : table.rows) {
    nlohmann::json row;
    for (std::size_t k = 0; k < table.header.size(); ++k) {
      row[table.header[k]] = k < cells.size() ? value_of(cells[k]) : nullptr;
    }
    rows.push_back(std::move(row));
  }
  tasks_.back()["tables"].push_back({{"caption", caption}, {"rows", std::move(rows)}});
}

void Report::note(const std::string& text) {
  fmt::print("{}\n", text);
  tasks_.back()["notes"].push_back(text);
}

void Report::finish() {
  if (!bars_.empty()) {
    TextTable table{{"bar", "measured", "bound", "", "setting"}, {}};
    for (const Bar& bar : bars_) {
      table.rows.push_back({bar.name, cell(bar.measured),
                            fmt::format("{} {}", bar.at_least ? ">=" : "<=", brief_number(bar.bound)),
                            bar.met() ? "met" : "MISSED", bar.setting});
    }
    fmt::print("\n== bars\n{}", to_text(table));
  }
  if (failures_.empty()) {
    fmt::print("\nall answers agree\n");
  } else {
    fmt::print("\n{} answers disagree:\n", failures_.size());
    for (const auto& failure : failures_) fmt::print("  {}\n", failure);
  }
}

nlohmann::json Report::json() const {
  nlohmann::json bars = nlohmann::json::array();
  for (const Bar& bar : bars_) {
    bars.push_back({{"name", bar.name},
                    {"measured", bar.measured},
                    {"bound", bar.bound},
                    {"at_least", bar.at_least},
                    {"met", bar.met()},
                    {"setting", bar.setting}});
  }
  return {{"tasks", tasks_}, {"bars", std::move(bars)}, {"failures", failures_}};
}

std::string cell(double value, int digits) { return std::isnan(value) ? "" : brief_number(value, digits); }
std::string cell(std::int64_t value) { return std::to_string(value); }

}  // namespace tellegen
