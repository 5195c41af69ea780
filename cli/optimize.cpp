// tellegen optimize: the [design] of a model, carried out.
#include "tellegen/optimize/optimize.h"
#include "tellegen/model/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/study_options.h"
#include "cli/study_report.h"
#include "cli/twin_report.h"
#include "tellegen/model/document.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/rewrite.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/chart.h"
#include "tellegen/results/surface.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct OptimizeRequest : StudyRequest {
  std::string algorithm, minimize, weights, surface, plot, output;
  int starts = 1, pareto = 0, surface_points = 15, evaluations = 0;
  std::uint64_t seed = 1;
  StudyReportRequest page;
};

// Every objective of the model, not only the goals, before and after.
struct Told {
  std::vector<double> before, after;  // empty: could not be computed
};

struct OptimizeReport {
  const Model& model;
  const OptimizeRequest& request;
  DesignProblem& problem;
  OptimizeResult result;
  std::vector<GoalRange> ranges;  // empty: weights are given
  std::vector<StartResult> front;
  Surface surface;
  Told told;
  std::vector<std::string> written;
};

std::string state_of(const OptimizeReport& report, const DesignPoint& point, std::size_t constraint) {
  const double scale = report.problem.constraint_scale(constraint), value = point.constraints[constraint];
  if (!std::isfinite(value)) return "-";
  if (std::abs(value) <= 1e-5 * scale) return "active";
  return fmt::format("{} {}", value < 0.0 ? "holds by" : "broken by", brief_number(std::abs(value)));
}

std::string bound_of(const OptimizeReport& report, std::size_t variable) {
  const double x = report.result.best.x[variable];
  return x <= 1e-6 ? "lower bound" : x >= 1 - 1e-6 ? "upper bound" : "";
}

TextTable variable_table(const OptimizeReport& report) {
  TextTable table{{"variable", "unit", "before", "after", "lowest", "highest", "at"}, {}};
  for (std::size_t k = 0; k < report.problem.variable_count(); ++k) {
    const ModelParameter& p = report.problem.study().parameter(k);
    table.rows.push_back({p.name, p.unit, text_in_unit(report.result.before.numbers[k], p.unit),
                          text_in_unit(report.result.best.best.numbers[k], p.unit),
                          text_in_unit(report.problem.lower(k), p.unit),
                          text_in_unit(report.problem.upper(k), p.unit), bound_of(report, k)});
  }
  return table;
}

TextTable objective_table(const OptimizeReport& report) {
  TextTable table{{"objective", "unit", "before", "after", "change", "weight"}, {}};
  const ModelDesign& design = *report.model.design;
  for (std::size_t k = 0; k < report.told.after.size(); ++k) {
    const ModelObjective& o = report.model.objectives[k];
    const double before = in_unit(report.told.before[k], o.unit),
                 after = in_unit(report.told.after[k], o.unit);
    std::string weight;
    for (std::size_t g = 0; g < design.goals.size(); ++g)
      if (design.goals[g].objective == static_cast<int>(k))
        weight = brief_number(report.problem.weights()[g]);
    const double change = 100 * (after - before) / std::abs(before);
    table.rows.push_back({o.name, o.unit, brief_number(before + 0.0, 6), brief_number(after + 0.0, 6),
                          std::isfinite(change) ? brief_number(change + 0.0, 3) + " %" : "-", weight});
  }
  return table;
}

TextTable constraint_table(const OptimizeReport& report) {
  TextTable table{{"constraint", "before", "after"}, {}};
  for (std::size_t k = 0; k < report.problem.constraint_count(); ++k)
    table.rows.push_back({report.model.design->constraints[k].text, state_of(report, report.result.before, k),
                          state_of(report, report.result.best.best, k)});
  return table;
}

TextTable front_table(const OptimizeReport& report) {
  TextTable table;
  const Study& study = report.problem.study();
  const auto title = [](const std::string& name, const std::string& unit) {
    return unit.empty() ? name : fmt::format("{} [{}]", name, unit);
  };
  for (std::size_t g = 0; g < 2; ++g)
    table.header.push_back(title(study.objective(g).name, study.objective(g).unit));
  for (std::size_t k = 0; k < study.parameter_count(); ++k)
    table.header.push_back(title(study.parameter(k).name, study.parameter(k).unit));
  for (const StartResult& point : report.front) {
    auto& row = table.rows.emplace_back();
    for (std::size_t g = 0; g < 2; ++g)
      row.push_back(text_in_unit(point.best.objectives[g], study.objective(g).unit));
    for (std::size_t k = 0; k < study.parameter_count(); ++k)
      row.push_back(text_in_unit(point.best.numbers[k], study.parameter(k).unit));
  }
  return table;
}

std::string goal_words(const OptimizeReport& report) {
  std::string words;
  for (std::size_t g = 0; g < report.problem.goal_count(); ++g) {
    const double weight = report.problem.weights()[g];
    const std::string& name = report.problem.study().objective(g).name;
    if (report.problem.goal_count() == 1) return (weight < 0.0 ? "maximize " : "minimize ") + name;
    words += fmt::format("{}{}*{}",
                         words.empty()  ? "minimize "
                         : weight < 0.0 ? " - "
                                        : " + ",
                         brief_number(words.empty() ? weight : std::abs(weight)), name);
  }
  return words;
}

void print(const OptimizeReport& report) {
  const StartResult& best = report.result.best;
  fmt::print("{}: {}, {}\n", report.model.name, goal_words(report),
             report.request.algorithm.empty() ? "slsqp" : report.request.algorithm);
  for (const std::string& text : best.broken) fmt::print("the start breaks '{}'\n", text);
  fmt::print("\n{}", to_text(variable_table(report)));
  if (!report.told.after.empty()) fmt::print("\n{}", to_text(objective_table(report)));
  if (report.problem.constraint_count() > 0) fmt::print("\n{}", to_text(constraint_table(report)));
  if (!report.front.empty())
    fmt::print("\nfront of {} points\n{}", report.front.size(), to_text(front_table(report)));
  fmt::print("\n{}, {} evaluations\n", best.stopped, report.problem.evaluations());
  if (report.result.starts.size() > 1)
    fmt::print("{} of {} starts ended there (seed {})\n", report.result.same, report.result.starts.size(),
               report.request.seed);
  const auto& warnings = report.problem.warnings();
  for (std::size_t k = 0; k < std::min<std::size_t>(5, warnings.size()); ++k) fmt::print("{}\n", warnings[k]);
  for (const std::string& file : report.written) fmt::print("wrote {}\n", file);
}

Json to_json(const OptimizeReport& report, const DesignPoint& point) {
  const Study& study = report.problem.study();
  Json json{{"goal", json_number(point.goal)}};
  for (std::size_t k = 0; k < study.parameter_count(); ++k)
    json["variables"][study.parameter(k).name] = in_unit(point.numbers[k], study.parameter(k).unit);
  for (std::size_t g = 0; g < report.problem.goal_count(); ++g)
    json["objectives"][study.objective(g).name] =
        json_number(in_unit(point.objectives[g], study.objective(g).unit));
  auto& constraints = json["constraints"] = Json::array();
  for (std::size_t k = 0; k < point.constraints.size(); ++k)
    constraints.push_back({{"constraint", report.model.design->constraints[k].text},
                           {"over", json_number(point.constraints[k])}});
  return json;
}

Json to_json(const OptimizeReport& report) {
  const StartResult& best = report.result.best;
  Json json{{"model", report.model.name},
            {"file", report.request.file},
            {"algorithm", report.request.algorithm.empty() ? "slsqp" : report.request.algorithm},
            {"converged", best.converged},
            {"feasible", best.feasible},
            {"stopped", best.stopped},
            {"evaluations", report.problem.evaluations()},
            {"seed", report.request.seed}};
  const Study& study = report.problem.study();
  for (std::size_t g = 0; g < report.problem.goal_count(); ++g)
    json["weights"][study.objective(g).name] = report.problem.weights()[g];
  for (std::size_t g = 0; g < report.ranges.size(); ++g)
    json["ranges"][study.objective(g).name] = {json_number(report.ranges[g].low),
                                               json_number(report.ranges[g].high)};
  auto& variables = json["variables"] = Json::array();
  for (std::size_t k = 0; k < study.parameter_count(); ++k) {
    const ModelParameter& p = study.parameter(k);
    variables.push_back({{"name", p.name},
                         {"unit", p.unit},
                         {"before", in_unit(report.result.before.numbers[k], p.unit)},
                         {"after", in_unit(best.best.numbers[k], p.unit)},
                         {"after_si", best.best.numbers[k]},
                         {"lower", in_unit(report.problem.lower(k), p.unit)},
                         {"upper", in_unit(report.problem.upper(k), p.unit)},
                         {"at", bound_of(report, k)}});
  }
  auto& objectives = json["objectives"] = Json::array();
  for (std::size_t k = 0; k < report.told.after.size(); ++k) {
    const ModelObjective& o = report.model.objectives[k];
    objectives.push_back({{"name", o.name},
                          {"unit", o.unit},
                          {"before", json_number(in_unit(report.told.before[k], o.unit))},
                          {"after", json_number(in_unit(report.told.after[k], o.unit))}});
  }
  auto& constraints = json["constraints"] = Json::array();
  for (std::size_t k = 0; k < report.problem.constraint_count(); ++k)
    constraints.push_back({{"constraint", report.model.design->constraints[k].text},
                           {"before", json_number(report.result.before.constraints[k])},
                           {"after", json_number(best.best.constraints[k])},
                           {"state", state_of(report, best.best, k)}});
  auto& starts = json["starts"] = Json::array();
  for (const StartResult& start : report.result.starts) {
    starts.push_back(to_json(report, start.best));
    starts.back().update({{"converged", start.converged},
                          {"feasible", start.feasible},
                          {"evaluations", start.evaluations},
                          {"stopped", start.stopped},
                          {"broken_at_start", start.broken}});
  }
  if (!report.front.empty()) {
    auto& front = json["front"] = Json::array();
    for (const StartResult& point : report.front) front.push_back(to_json(report, point.best));
  }
  if (!report.surface.z.empty()) {
    Json z = Json::array();
    for (const double value : report.surface.z) z.push_back(json_number(value));
    json["surface"] = {{"x_label", report.surface.x_label},
                       {"y_label", report.surface.y_label},
                       {"z_label", report.surface.z_label},
                       {"x", report.surface.x},
                       {"y", report.surface.y},
                       {"z", z}};
  }
  json["warnings"] = report.problem.warnings();
  json["written"] = report.written;
  return json;
}

std::string axis_label(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : fmt::format("{} [{}]", name, unit);
}

// The goal over two variables, the others as they are at the optimum.
Surface surface_of(OptimizeReport& report, std::size_t first, std::size_t second, ProgressLine& progress) {
  const Study& study = report.problem.study();
  const std::size_t axis[2] = {first, second};
  Surface surface;
  const bool single = report.problem.goal_count() == 1;
  const std::string unit = single ? study.objective(0).unit : "";
  surface.title = report.model.name;
  surface.x_label = axis_label(study.parameter(first).name, study.parameter(first).unit);
  surface.y_label = axis_label(study.parameter(second).name, study.parameter(second).unit);
  surface.z_label = single ? axis_label(study.objective(0).name, unit) : "goal";
  const int count = report.request.surface_points;
  const auto at = [&](std::size_t k, double x) {
    return in_unit(report.problem.lower(k) + x * (report.problem.upper(k) - report.problem.lower(k)),
                   study.parameter(k).unit);
  };
  const auto value = [&](const DesignPoint& point) {
    return !point.failure.empty() ? std::nan("") : single ? in_unit(point.objectives[0], unit) : point.goal;
  };
  for (int k = 0; k < count; ++k) {
    surface.x.push_back(at(first, static_cast<double>(k) / (count - 1)));
    surface.y.push_back(at(second, static_cast<double>(k) / (count - 1)));
  }
  std::vector<double> x = report.result.best.x;
  for (int row = 0; row < count; ++row)
    for (int column = 0; column < count; ++column) {
      x[first] = static_cast<double>(column) / (count - 1);
      x[second] = static_cast<double>(row) / (count - 1);
      surface.z.push_back(value(report.problem.at(x)));
      progress(fmt::format("surface: {} of {}", row * count + column + 1, count * count));
    }
  const DesignPoint* ends[2] = {&report.result.before, &report.result.best.best};
  const char* names[2] = {"before", "after"};
  for (int k = 0; k < 2; ++k)
    surface.marks.push_back({names[k], in_unit(ends[k]->numbers[axis[0]], study.parameter(first).unit),
                             in_unit(ends[k]->numbers[axis[1]], study.parameter(second).unit)});
  return surface;
}

// The goal and the variables, from one best point to the next.
Chart path_chart(const OptimizeReport& report) {
  Chart chart{report.model.name, {}, 1};
  const Study& study = report.problem.study();
  const auto& path = report.result.best.path;
  ChartPanel goals, variables;
  goals.x_label = variables.x_label = "improvement";
  goals.y_label = "goal";
  variables.y_label = "variables over their bounds";
  ChartSeries goal;
  goal.name = goal_words(report);
  for (std::size_t n = 0; n < path.size(); ++n) {
    goal.x.push_back(static_cast<double>(n));
    goal.y.push_back(path[n].goal);
  }
  goals.series.push_back(std::move(goal));
  for (std::size_t k = 0; k < study.parameter_count(); ++k) {
    ChartSeries series;
    series.name = study.parameter(k).name;
    for (std::size_t n = 0; n < path.size(); ++n) {
      series.x.push_back(static_cast<double>(n));
      series.y.push_back((path[n].numbers[k] - report.problem.lower(k)) /
                         (report.problem.upper(k) - report.problem.lower(k)));
    }
    variables.series.push_back(std::move(series));
  }
  chart.panels = {std::move(goals), std::move(variables)};
  return chart;
}

Chart front_chart(const OptimizeReport& report) {
  const Study& study = report.problem.study();
  ChartPanel panel;
  panel.what = ChartPanel::What::points;
  panel.x_label = axis_label(study.objective(0).name, study.objective(0).unit);
  panel.y_label = axis_label(study.objective(1).name, study.objective(1).unit);
  ChartSeries front, before;
  front.name = "front";
  before.name = "before";
  for (const StartResult& point : report.front) {
    front.x.push_back(in_unit(point.best.objectives[0], study.objective(0).unit));
    front.y.push_back(in_unit(point.best.objectives[1], study.objective(1).unit));
  }
  before.x.push_back(in_unit(report.result.before.objectives[0], study.objective(0).unit));
  before.y.push_back(in_unit(report.result.before.objectives[1], study.objective(1).unit));
  panel.series = {std::move(front), std::move(before)};
  return {report.model.name, {std::move(panel)}, 1};
}

PagePart part_of(const OptimizeReport& report) {
  const OptimizeRequest& request = report.request;
  const StartResult& best = report.result.best;
  PagePart part;
  part.title = fmt::format("Optimisation: {}", report.model.name);
  part.html = paragraph(
      fmt::format("{}: {}, {} evaluations.", goal_words(report), best.stopped, report.problem.evaluations()));
  std::vector<std::string> notes;
  if (!best.converged) notes.push_back("the search did not converge; the best point found is shown");
  if (!best.feasible) notes.push_back("no point that holds all constraints was found");
  for (const std::string& text : best.broken) notes.push_back(fmt::format("the start breaks '{}'", text));
  const auto& warnings = report.problem.warnings();
  for (std::size_t k = 0; k < std::min<std::size_t>(5, warnings.size()); ++k) notes.push_back(warnings[k]);
  part.html += notices(notes);
  part.html += side_by_side({table_html(variable_table(report), "Variables"),
                             table_html(objective_table(report), "Objectives"),
                             table_html(constraint_table(report), "Constraints")});
  if (!report.surface.z.empty()) part.html += to_html(report.surface);
  if (!report.front.empty())
    part.html += subsection("Front", to_html(front_chart(report)) + table_html(front_table(report)));
  if (best.path.size() > 1) part.html += subsection("Search", to_html(path_chart(report)));
  part.html += settings_html(
      {{"model file", request.file},
       {"algorithm", request.algorithm.empty() ? "slsqp" : request.algorithm},
       {"starts", report.result.starts.size() > 1
                      ? fmt::format("{}, of which {} ended there (seed {})", report.result.starts.size(),
                                    report.result.same, request.seed)
                      : "1"},
       {"replaced", comma_list(request.set)},
       {"model file with the result", request.output}});
  Json data = to_json(report);
  data["part"] = "optimisation";
  part.data = json_text(data);
  return part;
}

void write_files(OptimizeReport& report) {
  const OptimizeRequest& request = report.request;
  const bool partial = !report.result.best.converged;
  const auto target = [&](const std::string& path) {
    return partial && !is_stream(path) ? partial_path(path) : fs::path(path);
  };
  try {
    if (!request.output.empty()) {
      std::vector<int> parameters;
      for (const ModelDesign::Variable& v : report.model.design->variables) parameters.push_back(v.parameter);
      std::vector<double> numbers = report.result.best.best.numbers;
      for (const std::string& text : request.set) {  // what was replaced for the study stays replaced
        const std::string name = read_assignment({tellegen_optimize, "--set"}, text).first;
        for (std::size_t p = 0; p < report.model.parameters.size(); ++p) {
          const int index = static_cast<int>(p);
          if (report.model.parameters[p].name != name ||
              std::find(parameters.begin(), parameters.end(), index) != parameters.end())
            continue;
          parameters.push_back(index);
          numbers.push_back(report.model.parameters[p].number);
        }
      }
      const std::string text = read_text(request.file, {});
      write_file(target(request.output), with_numbers(text, report.model, parameters, numbers));
      report.written.push_back(target(request.output).string());
    }
    if (!request.plot.empty()) {
      if (!report.surface.z.empty())
        write_surface(target(request.plot), report.surface);
      else
        write_chart(target(request.plot), report.front.empty() ? path_chart(report) : front_chart(report));
      report.written.push_back(target(request.plot).string());
    }
  } catch (const ModelError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_optimize, error);
  }
  if (!request.page.report.empty()) {
    StudyReportRequest page = request.page;
    page.report = target(page.report).string();
    write_study_report(tellegen_optimize, page, network_part(report.model), part_of(report));
    report.written.push_back(page.report);
  }
  if (!request.json.empty()) report.written.push_back(request.json);
}

void check_request(const OptimizeRequest& request) {
  check_choice({tellegen_optimize, "--algorithm"}, request.algorithm, optimize_algorithms());
  check_choice({tellegen_optimize, "--weights"}, request.weights, {"given", "ranges"});
  if (!request.plot.empty()) check_writable({tellegen_optimize, "--plot"}, request.plot, {".svg", ".png"});
  check_study_report(tellegen_optimize, request.page, request.file);
  if (request.output.empty()) return;
  check_writable({tellegen_optimize, "--output"}, request.output, {".toml"});
  std::error_code ignored;
  if (fs::equivalent(request.output, request.file, ignored))
    throw command_fault(tellegen_optimize, "T402", fmt::format("--output would replace '{}'", request.file),
                        {"give another name"});
  if (fs::path(request.file).extension() != ".toml")
    throw command_fault(tellegen_optimize, "T402",
                        fmt::format("'{}' is no model file to write parameters to", request.file),
                        {fmt::format("tellegen convert {} makes one", request.file)});
}

// --minimize E_loss, or lambda_1=0.47,lambda_2=-0.53: other goals than the file's.
std::vector<ModelDesign::Goal> read_goals(const Model& model, const std::string& text) {
  std::vector<ModelDesign::Goal> goals;
  for (const std::string& item : split_list(text)) {
    const auto equals = item.find('=');
    std::string name = item.substr(0, equals);
    name.erase(name.find_last_not_of(" \t") + 1);
    double weight = 1.0;
    if (equals != std::string::npos) {
      const std::string number = item.substr(equals + 1);
      char* end = nullptr;
      weight = std::strtod(number.c_str(), &end);
      if (number.empty() || *end != '\0' || weight == 0.0 || !std::isfinite(weight))
        throw command_fault(tellegen_optimize, "T401", fmt::format("--minimize '{}' has no weight", item),
                            {"it is written NAME=WEIGHT; negative: to be made large"});
    }
    goals.push_back({find_objective(model, name), weight});
  }
  if (goals.empty()) throw command_fault(tellegen_optimize, "T401", "--minimize names no objective");
  return goals;
}

// The two variables of --surface, by their place in the design.
std::pair<std::size_t, std::size_t> surface_axes(const Model& model, const std::string& text) {
  std::vector<std::string> known;
  for (const ModelDesign::Variable& v : model.design->variables)
    known.push_back(model.parameters[v.parameter].name);
  const std::vector<std::string> names = split_list(text);
  if (names.size() != 2 || names[0] == names[1])
    throw command_fault(tellegen_optimize, "T401", "--surface takes two variables: --surface R_p,R_s");
  std::size_t at[2];
  for (int k = 0; k < 2; ++k) {
    const auto found = std::find(known.begin(), known.end(), names[k]);
    if (found == known.end())
      throw command_fault(tellegen_optimize, "T401",
                          fmt::format("--surface '{}' is no variable of [design]", names[k]),
                          {did_you_mean(names[k], known), "variables: " + joined(known)});
    at[k] = static_cast<std::size_t>(found - known.begin());
  }
  return {at[0], at[1]};
}

void tell_objectives(OptimizeReport& report, const StudyOptions& options) {
  std::vector<std::string> objectives, variables;
  for (const ModelObjective& o : report.model.objectives) objectives.push_back(o.name);
  for (const ModelDesign::Variable& v : report.model.design->variables)
    variables.push_back(report.model.parameters[v.parameter].name);
  Study study(report.model, objectives, variables, options);
  report.told = {study.values(report.result.before.numbers).values,
                 study.values(report.result.best.best.numbers).values};
}

void optimize_model(const OptimizeRequest& request) {
  const StudyOptions options = study_options_of(tellegen_optimize, request);
  check_request(request);
  Model model = read_study_model(tellegen_optimize, request);
  if (!request.minimize.empty() && model.design) {
    model.design->goals = read_goals(model, request.minimize);
    model.design->weights_from_ranges = false;
  }
  DesignProblem problem(model, options);
  std::pair<std::size_t, std::size_t> axes;
  if (!request.surface.empty()) axes = surface_axes(model, request.surface);
  if (request.pareto > 0 && problem.goal_count() != 2)
    throw ModelError({model.design->place,
                      "T148",
                      fmt::format("a front needs two goals, and [design] has {}", problem.goal_count()),
                      {"minimize = { a = 1.0, b = -1.0 }; negative: to be made large"}});
  OptimizeReport report{model, request, problem, {}, {}, {}, {}, {}, {}};
  ProgressLine progress;
  OptimizeOptions how;
  if (!request.algorithm.empty()) how.algorithm = request.algorithm;
  how.starts = request.starts;
  how.seed = request.seed;
  if (request.evaluations > 0) how.most_evaluations = request.evaluations;
  how.progress = [&](const std::string& text) { progress(text); };
  const bool ranges =
      request.weights.empty() ? model.design->weights_from_ranges : request.weights == "ranges";
  if (ranges) {
    report.ranges = problem.ranges();
    problem.set_weights(weights_from(report.ranges, *model.design));
  }
  report.result = optimize(problem, how);
  const StartResult& best = report.result.best;
  if (!report.result.before.failure.empty() && !best.best.failure.empty())
    throw StudyError(request.file, best.stopped, problem.warnings());
  if (request.pareto > 0) report.front = pareto_front(problem, how, request.pareto);
  if (!request.surface.empty()) report.surface = surface_of(report, axes.first, axes.second, progress);
  tell_objectives(report, options);
  write_files(report);
  if (!write_json(tellegen_optimize, request, json_text(to_json(report)))) print(report);
  if (!best.converged)
    throw StudyError(
        request.file, best.stopped,
        {best.feasible ? "the best point found is shown; it may not be the optimum" : "",
         best.feasible && request.evaluations == 0 ? "more may help: --evaluations, --starts" : ""});
  hold_strictly(request, problem.warnings());
}

}  // namespace

void add_optimize(CLI::App& command) {
  auto request = std::make_shared<OptimizeRequest>();
  OptimizeRequest& r = *request;
  add_study_options(command, r);
  const char* search = "How to search";
  command.add_option("--algorithm", r.algorithm, "slsqp or mma")->type_name("NAME")->group(search);
  command
      .add_option("--weights", r.weights,
                  "given, or ranges: goals divided by their ranges over the corners of the bounds")
      ->type_name("NAME")
      ->group(search);
  command
      .add_option("--starts", r.starts, "searches: one from the model's values, the others from anywhere (1)")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(search);
  command.add_option("--seed", r.seed, "of the other starts (1)")->type_name("NUMBER")->group(search);
  command.add_option("--evaluations", r.evaluations, "most evaluations of each search (300)")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(search);
  const char* what = "What to study";
  command.add_option("--minimize", r.minimize, "other goals than the model's: E_loss, or \"a=0.4,b=-0.6\"")
      ->type_name("LIST")
      ->group(what);
  auto* pareto = command.add_option("--pareto", r.pareto, "a front of two goals, in so many mixtures")
                     ->type_name("COUNT")
                     ->check(CLI::Range(2, 1000))
                     ->group(what);
  auto* surface = command.add_option("--surface", r.surface, "the goal over two variables: R_p,R_s")
                      ->type_name("P1,P2")
                      ->group(what);
  surface->excludes(pareto);
  command.add_option("--surface-points", r.surface_points, "points along each of them (15)")
      ->type_name("COUNT")
      ->check(CLI::Range(2, 1000))
      ->group(what);
  const char* where = "Where to write";
  command.add_option("--output", r.output, "the model file with the parameters found")
      ->type_name("F.toml")
      ->group(where);
  command.add_option("--plot", r.plot, "the search, the front or the surface")
      ->type_name("F.svg|F.png")
      ->group(where);
  add_study_report_options(command, r.page);
  command.callback([request] {
    request->wants_json = request->json_option->count() > 0;
    optimize_model(*request);
  });
}

}  // namespace tellegen
