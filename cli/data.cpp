// tellegen data: what is in a data file, and which column is what in a model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/data_options.h"
#include "cli/model_file.h"
#include "tellegen/data/time_text.h"
#include "tellegen/records/data_survey.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/chart.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

constexpr std::size_t most_panels = 12;

struct SurveyRequest {
  DataRequest source;
  std::string model, plot, json;
  CLI::Option* json_option = nullptr;
};

std::string part_missing(const SurveyedColumn& c) {
  const std::int64_t all = c.readings + c.missing;
  return c.missing == 0
             ? "-"
             : fmt::format("{:.2g} %", 100.0 * static_cast<double>(c.missing) / static_cast<double>(all));
}

// The options that take the proposal.
std::string columns_option(const DataSurvey& survey, const std::vector<ColumnProposal>& proposals) {
  std::string list;
  for (const ColumnProposal& p : proposals)
    if (p.column >= 0 && !p.by_name)
      list += (list.empty() ? "" : ", ") + p.name + "=" +
              survey.columns[static_cast<std::size_t>(p.column)].column.name;
  return list;
}

void print_survey(const SurveyRequest& request, const DataSurvey& survey,
                  const std::vector<ColumnProposal>& proposals) {
  fmt::print("{}: {}\n", request.source.first(), survey.description);
  for (const std::string& note : survey.notes) fmt::print("{}\n", note);
  const bool timed = survey.time_column >= 0;
  fmt::print("{} rows", survey.rows);
  if (timed && survey.rows > 0) {
    fmt::print(" from {:.10g} s to {:.10g} s", survey.first, survey.last);
    if (survey.origin) fmt::print(" after {}", time_words(*survey.origin));
    if (survey.base.interval > 0.0) fmt::print(", every {}", seconds_text(survey.base.interval));
  }
  fmt::print("\n");
  if (!timed) fmt::print("no column looks like times: --time-column names it\n");
  if (survey.same_time > 0) fmt::print("{} rows have the time of the row before\n", survey.same_time);
  if (survey.backwards > 0) fmt::print("{} rows go back in time\n", survey.backwards);
  for (const std::string& remark : survey.base.remarks()) fmt::print("{}\n", remark);
  TextTable table{{"column", "unit", "lowest", "highest", "mean", "missing", "longest stuck"}, {}};
  if (!request.model.empty()) table.header.emplace_back("is");
  for (std::size_t k = 0; k < survey.columns.size(); ++k) {
    const SurveyedColumn& c = survey.columns[k];
    std::vector<std::string> row{c.column.name, c.unit};
    if (static_cast<int>(k) == survey.time_column) {
      row.insert(row.end(), {"", "", "", "", ""});
    } else if (!c.is_text.empty() || c.readings == 0) {
      row.insert(row.end(), {c.readings == 0 && c.is_text.empty() ? "empty" : "text", "", "", "", ""});
    } else {
      row.insert(
          row.end(),
          {brief_number(c.lowest, 6), brief_number(c.highest, 6), brief_number(c.mean, 6), part_missing(c),
           c.stuck > 2 ? fmt::format("{} rows from {:.6g} s", c.stuck, c.stuck_from) : "-"});
    }
    if (!request.model.empty()) {
      std::string is = static_cast<int>(k) == survey.time_column ? "time" : "";
      for (const ColumnProposal& p : proposals)
        if (p.column == static_cast<int>(k))
          is = fmt::format("{} {}{}", p.what, p.name, p.by_name ? "" : "?");
      row.push_back(std::move(is));
    }
    table.rows.push_back(std::move(row));
  }
  fmt::print("\n{}", to_text(table));
  for (const ColumnProposal& p : proposals)
    if (p.column < 0)
      fmt::print("no column fits {} '{}'{}\n", p.what, p.name, p.unit.empty() ? "" : " [" + p.unit + "]");
  const std::string option = columns_option(survey, proposals);
  if (option.empty()) return;
  fmt::print("\nproposed (?); to take it:\n  --columns \"{}\"\nor in the model file:\n  [columns]\n", option);
  for (const ColumnProposal& p : proposals)
    if (p.column >= 0 && !p.by_name)
      fmt::print("  {} = \"{}\"\n", p.name, survey.columns[static_cast<std::size_t>(p.column)].column.name);
}

nlohmann::ordered_json to_json(const SurveyRequest& request, const DataSurvey& survey,
                               const std::vector<ColumnProposal>& proposals) {
  nlohmann::ordered_json json{{"files", request.source.files},
                              {"description", survey.description},
                              {"notes", survey.notes},
                              {"rows", survey.rows},
                              {"first", survey.first},
                              {"last", survey.last},
                              {"interval", survey.base.interval},
                              {"gaps", survey.base.gaps},
                              {"same_time", survey.same_time},
                              {"backwards", survey.backwards}};
  for (const SurveyedColumn& c : survey.columns)
    json["columns"].push_back({{"name", c.column.name},
                               {"unit", c.unit},
                               {"text", !c.is_text.empty()},
                               {"readings", c.readings},
                               {"missing", c.missing},
                               {"lowest", json_number(c.lowest)},
                               {"highest", json_number(c.highest)},
                               {"mean", json_number(c.mean)},
                               {"stuck_rows", c.stuck},
                               {"stuck_from", c.stuck_from}});
  for (const ColumnProposal& p : proposals)
    json["mapping"].push_back(
        {{"name", p.name},
         {"what", p.what},
         {"column", p.column < 0 ? nlohmann::ordered_json()
                                 : nlohmann::ordered_json(
                                       survey.columns[static_cast<std::size_t>(p.column)].column.name)},
         {"by_name", p.by_name}});
  if (!request.model.empty()) json["columns_option"] = columns_option(survey, proposals);
  return json;
}

Chart chart_of(const SurveyRequest& request, const DataSurvey& survey) {
  Chart chart{std::filesystem::path(request.source.first()).filename().string(), {}, 1};
  for (std::size_t k = 0; k < survey.columns.size() && chart.panels.size() < most_panels; ++k) {
    const SurveyedColumn& c = survey.columns[k];
    if (static_cast<int>(k) == survey.time_column || c.readings == 0 || !c.is_text.empty()) continue;
    ChartPanel panel;
    panel.x_label = survey.time_column < 0 ? "row" : "t [s]";
    panel.y_label = c.column.name;
    ChartSeries series;
    series.name = c.column.name;
    for (std::size_t r = 0; r < c.curve.size() && r < survey.times.size(); ++r)
      if (std::isfinite(c.curve[r])) series.x.push_back(survey.times[r]), series.y.push_back(c.curve[r]);
    panel.series.push_back(std::move(series));
    chart.panels.push_back(std::move(panel));
  }
  return chart;
}

void data_command(const SurveyRequest& request) {
  if (!request.plot.empty()) check_writable({tellegen_data, "--plot"}, request.plot, {".svg", ".png"});
  if (!request.json.empty()) check_writable({tellegen_data, "--json"}, request.json, {".json"});
  const DataSource source = data_source(tellegen_data, request.source, request.model);
  const DataSurvey survey = survey_data(source);
  if (survey.columns.empty())
    throw ModelError({{request.source.first(), 0}, "T590", "the data file is empty", {}});
  std::vector<ColumnProposal> proposals;
  if (!request.model.empty())
    proposals = propose_columns(read_model_file(request.model, {}), survey, source.columns);
  try {
    if (!request.plot.empty()) write_chart(request.plot, chart_of(request, survey));
    if (!request.json.empty()) write_file(request.json, json_text(to_json(request, survey, proposals)));
  } catch (const ModelError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_data, error);
  }
  if (request.json_option->count() > 0 && request.json.empty()) {
    fmt::print("{}", json_text(to_json(request, survey, proposals)));
    return;
  }
  print_survey(request, survey, proposals);
  for (const std::string& file : {request.plot, request.json})
    if (!file.empty()) fmt::print("wrote {}\n", file);
}

}  // namespace

void add_data(CLI::App& command) {
  auto request = std::make_shared<SurveyRequest>();
  SurveyRequest& r = *request;
  command
      .add_option("FILE", r.source.files,
                  "data: CSV of any shape, HDF5, .mat, MDF 4; a folder, or several files in sequence")
      ->required();
  command.add_option("--model", r.model, "a model: which column is which of its sensors and inputs")
      ->type_name("F.toml");
  add_format_options(command, r.source);
  command.add_option("--plot", r.plot, "the columns over time")->type_name("F.svg|F.png");
  r.json_option =
      command.add_option("--json", r.json, "everything for machines, to a file or standard output")
          ->type_name("[F.json]")
          ->expected(0, 1);
  command.callback([request] { data_command(*request); });
}

}  // namespace tellegen
