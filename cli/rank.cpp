// tellegen rank: which parameters matter for an objective, and how much.
#include "tellegen/sensitivity/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/study_options.h"
#include "cli/study_report.h"
#include "cli/twin_report.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/report/text.h"
#include "tellegen/results/chart.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

struct RankRequest : StudyRequest {
  std::string of, wrt, sweep, plot;
  StudyReportRequest page;
};

// --sweep I=2A,4A: the parameter and its values.
struct Points {
  int parameter = -1;
  std::string name, unit;
  std::vector<double> values;  // SI
};

Points read_points(Model& model, const std::string& text) {
  Points points;
  if (text.empty()) return points;
  const OptionName option{tellegen_rank, "--sweep"};
  const auto [name, list] = read_assignment(option, text);
  points.name = name;
  points.parameter = study_parameter(model, name);
  points.unit = model.parameters[points.parameter].unit;
  for (const std::string& item : split_list(list)) {
    std::optional<Quantity> quantity;
    try {
      quantity = units().parse(item);
    } catch (const UnknownUnit& error) {
      throw command_fault(tellegen_rank, "T401", fmt::format("--sweep '{}' has the {}", item, error.what()));
    }
    if (!quantity)
      throw command_fault(tellegen_rank, "T401", fmt::format("--sweep '{}' is not a quantity", item),
                          {"it is written NAME=VALUE,VALUE,...: I=2A,4A,6A"});
    if (!quantity->unit.empty() && !units().convertible(quantity->unit, points.unit))
      throw command_fault(
          tellegen_rank, "T401", fmt::format("--sweep '{}' is no value of '{}'", item, name),
          {points.unit.empty() ? "it is a number without a unit"
                               : fmt::format("its unit is '{}', or one convertible to it", points.unit)});
    points.values.push_back(quantity->si);
  }
  return points;
}

// A ranking at one operating point.
struct Ranked {
  std::optional<double> point;  // of the swept parameter, SI
  StudyResult at;
  std::vector<std::vector<Importance>> ranking;  // per objective
};

struct Ranking {
  std::vector<std::string> objectives, parameters;
  Points points;
  std::vector<Ranked> ranked;
  std::vector<Study> studies;  // one for each operating point
  std::vector<std::string> notes, warnings;
};

void note(std::vector<std::string>& notes, const std::string& text) {
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

void add_notes(const Study& study, const Ranked& ranked, std::vector<std::string>& notes) {
  for (const std::string& w : ranked.at.warnings) note(notes, w);
  for (std::size_t p = 0; p < study.parameter_count(); ++p) {
    bool effect = false;
    for (std::size_t o = 0; o < study.objective_count(); ++o)
      effect |= ranked.at.gradient[o * study.parameter_count() + p] != 0.0;
    const std::string& name = study.parameter(p).name;
    if (!effect)
      note(notes, fmt::format("'{}' has no effect", name));
    else if (study.parameter(p).number == 0.0)
      note(notes, fmt::format("'{}' is 0, and its score with it: compare its derivative", name));
  }
  for (std::size_t o = 0; o < study.objective_count(); ++o)
    if (ranked.at.values[o] == 0.0)
      note(notes, fmt::format("'{}' is 0: no scores, compare derivatives", study.objective(o).name));
}

TextTable ranking_table(const Study& study, const Ranked& ranked, std::size_t objective) {
  const ModelObjective& o = study.objective(objective);
  TextTable table{{"parameter", "value", "unit", fmt::format("d {}/d parameter", o.name), "unit", "score"},
                  {}};
  for (const Importance& i : ranked.ranking[objective]) {
    const ModelParameter& p = study.parameter(i.parameter);
    table.rows.push_back({p.name, text_in_unit(p.number, p.unit), p.unit,
                          brief_number(in_units(i.derivative, o.unit, p.unit) + 0.0, 6),
                          derivative_unit(o.unit, p.unit), brief_number(i.score + 0.0, 4)});
  }
  return table;
}

// One row for each parameter, one column for each operating point.
TextTable points_table(const Ranking& ranking, std::size_t objective) {
  TextTable table{{"parameter"}, {}};
  const std::string& unit = ranking.points.unit;
  for (const Ranked& r : ranking.ranked)
    table.header.push_back(fmt::format("{} = {}{}{}", ranking.points.name, text_in_unit(*r.point, unit),
                                       unit.empty() ? "" : " ", unit));
  for (const Importance& first : ranking.ranked.front().ranking[objective]) {
    auto& row = table.rows.emplace_back(std::vector<std::string>{ranking.parameters[first.parameter]});
    for (const Ranked& r : ranking.ranked)
      for (const Importance& i : r.ranking[objective])
        if (i.parameter == first.parameter) row.push_back(brief_number(i.score + 0.0, 4));
  }
  return table;
}

std::string told_unit(const std::string& unit) { return unit.empty() ? "" : " " + unit; }

void print(const Ranking& ranking, const Model& model) {
  fmt::print("{}, {}\n", model.name, ranking.ranked.front().at.method);
  const bool swept = ranking.points.parameter >= 0;
  for (std::size_t o = 0; o < ranking.objectives.size(); ++o) {
    const Ranked& first = ranking.ranked.front();
    const ModelObjective& objective = ranking.studies.front().objective(o);
    if (swept)
      fmt::print("\nscores of {}\n{}", objective.name, to_text(points_table(ranking, o)));
    else
      fmt::print("\n{} = {}{}\n{}", objective.name, text_in_unit(first.at.values[o], objective.unit),
                 told_unit(objective.unit), to_text(ranking_table(ranking.studies.front(), first, o)));
  }
  if (!ranking.notes.empty()) fmt::print("\n");
  for (const std::string& text : ranking.notes) fmt::print("{}\n", text);
}

nlohmann::ordered_json to_json(const Ranking& ranking, const Model& model, const RankRequest& request) {
  nlohmann::ordered_json json{{"model", model.name},
                              {"file", request.file},
                              {"method", ranking.ranked.front().at.method},
                              {"fixed_end_time", request.fixed_end_time}};
  auto& points = json["points"] = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < ranking.ranked.size(); ++k) {
    const Ranked& r = ranking.ranked[k];
    const Study& study = ranking.studies[k];
    auto& point = points.emplace_back(nlohmann::ordered_json::object());
    if (r.point)
      point["at"] = {{"parameter", ranking.points.name},
                     {"value", in_unit(*r.point, ranking.points.unit)},
                     {"unit", ranking.points.unit}};
    auto& runs = point["runs"] = nlohmann::ordered_json::array();
    for (const StudyResult::Run& run : r.at.runs) runs.push_back({{"run", run.name}, {"end", run.end_time}});
    auto& objectives = point["objectives"] = nlohmann::ordered_json::array();
    for (std::size_t o = 0; o < study.objective_count(); ++o) {
      const ModelObjective& objective = study.objective(o);
      auto& entry = objectives.emplace_back(
          nlohmann::ordered_json{{"name", objective.name},
                                 {"value", json_number(in_unit(r.at.values[o], objective.unit))},
                                 {"unit", objective.unit}});
      auto& parameters = entry["parameters"] = nlohmann::ordered_json::array();
      for (const Importance& i : r.ranking[o]) {
        const ModelParameter& p = study.parameter(i.parameter);
        parameters.push_back({{"name", p.name},
                              {"value", in_unit(p.number, p.unit)},
                              {"unit", p.unit},
                              {"derivative", json_number(in_units(i.derivative, objective.unit, p.unit))},
                              {"derivative_si", json_number(i.derivative)},
                              {"score", json_number(i.score)}});
      }
    }
  }
  json["warnings"] = ranking.notes;
  return json;
}

Chart chart_of(const Ranking& ranking, const Model& model) {
  Chart chart{model.name, {}, 1};
  for (std::size_t o = 0; o < ranking.objectives.size(); ++o) {
    ChartPanel panel;
    panel.y_label = "score of " + ranking.objectives[o];
    const auto& first = ranking.ranked.front().ranking[o];
    if (ranking.points.parameter < 0) {
      panel.what = ChartPanel::What::bars;
      ChartSeries series;
      for (const Importance& i : first) {
        panel.names.push_back(ranking.parameters[i.parameter]);
        series.y.push_back(i.score);
      }
      panel.series.push_back(std::move(series));
    } else {
      panel.x_label =
          ranking.points.name + (ranking.points.unit.empty() ? "" : " [" + ranking.points.unit + "]");
      for (const Importance& i : first) {
        ChartSeries series;
        series.name = ranking.parameters[i.parameter];
        for (const Ranked& r : ranking.ranked)
          for (const Importance& there : r.ranking[o])
            if (there.parameter == i.parameter) {
              series.x.push_back(in_unit(*r.point, ranking.points.unit));
              series.y.push_back(there.score);
            }
        panel.series.push_back(std::move(series));
      }
    }
    chart.panels.push_back(std::move(panel));
  }
  return chart;
}

PagePart part_of(const Ranking& ranking, const Model& model, const RankRequest& request) {
  PagePart part;
  part.title = fmt::format("Ranking: {}", model.name);
  part.html = paragraph(
      "Which parameters matter. The score of a parameter b for an objective E is (dE/db) |b/E|: the relative "
      "change of the objective for a small relative change of the parameter. Derivatives are exact.");
  part.html += notices(ranking.notes);
  const Chart chart = chart_of(ranking, model);
  for (std::size_t o = 0; o < ranking.objectives.size(); ++o) {
    const ModelObjective& objective = ranking.studies.front().objective(o);
    const bool swept = ranking.points.parameter >= 0;
    const std::string heading =
        swept ? objective.name
              : fmt::format("{} = {}{}", objective.name,
                            text_in_unit(ranking.ranked.front().at.values[o], objective.unit),
                            told_unit(objective.unit));
    const TextTable table =
        swept ? points_table(ranking, o) : ranking_table(ranking.studies.front(), ranking.ranked.front(), o);
    part.html += subsection(heading, side_by_side({table_html(table, swept ? "Scores" : ""),
                                                   to_html(Chart{"", {chart.panels[o]}, 1})}));
  }
  part.html +=
      settings_html({{"model file", request.file},
                     {"objectives", request.of},
                     {"parameters", request.wrt.empty() ? "all plain numbers of [parameters]" : request.wrt},
                     {"operating points", request.sweep},
                     {"replaced", comma_list(request.set)},
                     {"end of the run", request.fixed_end_time ? "taken as fixed" : ""},
                     {"derivatives", ranking.ranked.front().at.method}});
  nlohmann::ordered_json data = to_json(ranking, model, request);
  data["part"] = "ranking";
  part.data = json_text(data);
  return part;
}

void rank(const RankRequest& request) {
  const StudyOptions options = study_options_of(tellegen_rank, request);
  check_study_report(tellegen_rank, request.page, request.file);
  if (!request.plot.empty()) check_writable({tellegen_rank, "--plot"}, request.plot, {".svg", ".png"});
  Model model = read_study_model(tellegen_rank, request);
  Ranking ranking;
  ranking.objectives = split_list(request.of);
  for (const std::string& name : ranking.objectives) find_objective(model, name);
  ranking.points = read_points(model, request.sweep);
  ranking.parameters = chosen_parameters(tellegen_rank, model, request.wrt);

  const std::size_t count = std::max<std::size_t>(1, ranking.points.values.size());
  ProgressBar bar;
  for (std::size_t k = 0; k < count; ++k) {
    Ranked ranked;
    if (ranking.points.parameter >= 0) {
      ranked.point = ranking.points.values[k];
      set_parameters(model, std::span(&ranking.points.parameter, 1), std::span(&*ranked.point, 1));
    }
    Study& study = ranking.studies.emplace_back(model, ranking.objectives, ranking.parameters, options);
    ranked.at = study.evaluate(study.nominal());
    if (ProgressBar::watched()) bar(static_cast<double>(k + 1) / static_cast<double>(count));
    if (!ranked.at.failure.empty())
      throw StudyError(request.file, ranked.point
                                         ? fmt::format("at {} = {}{}: {}", ranking.points.name,
                                                       text_in_unit(*ranked.point, ranking.points.unit),
                                                       told_unit(ranking.points.unit), ranked.at.failure)
                                         : ranked.at.failure);
    for (std::size_t o = 0; o < ranking.objectives.size(); ++o) {
      if (!std::isfinite(ranked.at.values[o]))
        throw StudyError(request.file, fmt::format("objective '{}' has no value", ranking.objectives[o]),
                         ranked.at.warnings);
      ranked.ranking.push_back(importance(study, ranked.at, o));
    }
    add_notes(study, ranked, ranking.notes);
    for (const std::string& w : ranked.at.warnings) note(ranking.warnings, w);
    ranking.ranked.push_back(std::move(ranked));
  }
  if (!request.plot.empty()) {
    try {
      write_chart(request.plot, chart_of(ranking, model));
    } catch (const std::runtime_error& error) {
      throw not_written(tellegen_rank, error);
    }
  }
  if (!request.page.report.empty())
    write_study_report(tellegen_rank, request.page, network_part(model), part_of(ranking, model, request));
  if (!write_json(tellegen_rank, request, json_text(to_json(ranking, model, request)))) {
    print(ranking, model);
    for (const std::string& file : {request.plot, request.page.report, request.json})
      if (!file.empty()) fmt::print("wrote {}\n", file);
  }
  hold_strictly(request, ranking.warnings);
}

}  // namespace

void add_rank(CLI::App& command) {
  auto request = std::make_shared<RankRequest>();
  RankRequest& r = *request;
  add_study_options(command, r);
  const char* what = "What to study";
  command.add_option("--of", r.of, "objectives of the model: E_loss,T_lockup")
      ->required()
      ->type_name("LIST")
      ->group(what);
  command.add_option("--wrt", r.wrt, "parameters, r1.R too; all plain numbers of [parameters] if not given")
      ->type_name("LIST")
      ->group(what);
  command.add_option("--sweep", r.sweep, "several operating points: I=2A,4A,6A")
      ->type_name("NAME=LIST")
      ->group(what);
  command.add_option("--plot", r.plot, "bars, or curves over the operating points")
      ->type_name("F.svg|F.png")
      ->group("Where to write");
  add_study_report_options(command, r.page);
  command.callback([request] {
    request->wants_json = request->json_option->count() > 0;
    rank(*request);
  });
}

}  // namespace tellegen
