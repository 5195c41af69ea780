// tellegen report: the parts of several reports as one page, with a table that sets their estimations side by
// side.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/html.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

struct ReportRequest {
  std::vector<std::string> pages, columns;
  std::string output, title, introduction;
};

struct Estimation {
  std::string title;
  nlohmann::json data;
};

Page read_page(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file))
    throw command_fault(tellegen_report, "T672", fmt::format("the page '{}' cannot be read", file));
  std::ostringstream text;
  text << in.rdbuf();
  std::optional<Page> page = read_html(text.str());
  if (!page || page->parts.empty())
    throw command_fault(
        tellegen_report, "T672", fmt::format("'{}' is not a report of this program", file),
        {"it takes pages that estimate, calibrate, sweep, rank, optimize or report have written"});
  return *page;
}

// "published [ms]=167.9,168.6": a column of the reader's own.
struct OwnColumn {
  std::string name;
  std::vector<std::string> cells;
};

OwnColumn read_column(const std::string& text, std::size_t rows) {
  const auto [name, list] = read_assignment({tellegen_report, "--column"}, text);
  OwnColumn column{name, {}};
  std::stringstream cells(list);
  for (std::string cell; std::getline(cells, cell, ',');) {
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    column.cells.push_back(cell);
  }
  if (column.cells.size() != rows)
    throw command_fault(tellegen_report, "T673",
                        fmt::format("--column '{}' has {} entries, and there are {} estimations", name,
                                    column.cells.size(), rows),
                        {"it takes one for each, in order: --column \"published [ms]=167.9,168.6\""});
  return column;
}

// One row for each estimation: how far it was off, how long it took.
std::string side_by_side_table(const std::vector<Estimation>& estimations,
                               const std::vector<std::string>& own) {
  HtmlTable table{{"estimation"}, {}, ""};
  // Columns for whatever one of them knows the error of, in the order of their appearance.
  std::vector<std::pair<std::string, std::string>> quantities;
  for (const Estimation& e : estimations)
    for (const auto& error : e.data.value("errors", nlohmann::json::array())) {
      const std::pair key{error.value("name", ""), error.value("unit", "")};
      if (std::find(quantities.begin(), quantities.end(), key) == quantities.end()) quantities.push_back(key);
    }
  for (const auto& [name, unit] : quantities) {
    const std::string in = unit.empty() ? "" : " [" + unit + "]";
    table.header.insert(table.header.end(), {name + " RMS error" + in, "largest" + in, "in band"});
  }
  table.header.insert(table.header.end(), {"data [s]", "time [ms]", "x real time"});
  std::vector<OwnColumn> columns;
  for (const std::string& text : own) {
    columns.push_back(read_column(text, estimations.size()));
    table.header.push_back(columns.back().name);
  }
  for (std::size_t k = 0; k < estimations.size(); ++k) {
    const nlohmann::json& data = estimations[k].data;
    std::vector<std::string> row{estimations[k].title};
    for (const auto& [name, unit] : quantities) {
      std::vector<std::string> cells{"-", "-", "-"};
      for (const auto& error : data.value("errors", nlohmann::json::array()))
        if (error.value("name", "") == name && error.value("unit", "") == unit)
          cells = {brief_number(error.value("rms", 0.0), 3), brief_number(error.value("largest", 0.0), 3),
                   fmt::format("{:.1f} %", 100.0 * error.value("inside", 0.0))};
      row.insert(row.end(), cells.begin(), cells.end());
    }
    const double seconds = data.value("step", 0.0) * (data.value("rows", 1.0) - 1.0),
                 took = data.value("loop_seconds", 0.0);
    row.insert(row.end(), {brief_number(seconds, 4), brief_number(1e3 * took, 3),
                           took > 0.0 ? fmt::format("{:.0f}", seconds / took) : "-"});
    for (const OwnColumn& column : columns) row.push_back(column.cells[k]);
    table.rows.push_back(std::move(row));
  }
  return to_html(table);
}

void report(const ReportRequest& request) {
  check_writable({tellegen_report, "--output"}, request.output, {".html", ".htm"});
  Page all;
  std::vector<Estimation> estimations;
  for (const std::string& file : request.pages) {
    Page page = read_page(file);
    if (all.title.empty()) all.title = page.title;
    for (PagePart& part : page.parts) {
      const nlohmann::json data = nlohmann::json::parse(part.data, nullptr, false);
      const std::string what = data.is_object() ? data.value("part", "") : "";
      if (what == "comparison") continue;  // made anew
      // The same network is drawn once, however many pages have it.
      if (std::any_of(all.parts.begin(), all.parts.end(), [&](const PagePart& other) {
            return other.title == part.title && other.html == part.html;
          }))
        continue;
      if (what == "estimate") estimations.push_back({part.title, data});
      all.parts.push_back(std::move(part));
    }
  }
  if (!request.title.empty()) all.title = request.title;
  all.introduction = request.introduction;
  if (estimations.size() > 1 || !request.columns.empty()) {
    if (estimations.empty())
      throw command_fault(tellegen_report, "T673", "--column needs an estimation, and the pages have none");
    PagePart comparison{"Errors and times", side_by_side_table(estimations, request.columns),
                        R"({"part":"comparison"})"};
    comparison.html += paragraph(
        "RMS and largest error over the whole record; in band: how often the truth lay in the 95 % band; "
        "time: the "
        "estimator's own loop on this machine.");
    all.parts.insert(all.parts.begin(), std::move(comparison));
  }
  try {
    write_file(request.output, to_html(all));
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_report, error);
  }
  if (!is_stream(request.output)) fmt::print("wrote {}\n", request.output);
}

}  // namespace

void add_report(CLI::App& command) {
  auto request = std::make_shared<ReportRequest>();
  ReportRequest& r = *request;
  command
      .add_option("PAGES", r.pages, "reports that estimate, calibrate, sweep, rank and optimize have written")
      ->required()
      ->type_name("F.html");
  command.add_option("--output", r.output, "the page that has all of them")->required()->type_name("F.html");
  command.add_option("--title", r.title, "of the page")->type_name("TEXT");
  command.add_option("--introduction", r.introduction, "what stands below the title")->type_name("TEXT");
  command
      .add_option("--column", r.columns,
                  "another column of the table of errors, an entry for each estimation: \"NAME=1,2,3\"")
      ->type_name("NAME=LIST")
      ->allow_extra_args(false);
  command.callback([request] { report(*request); });
}

}  // namespace tellegen
