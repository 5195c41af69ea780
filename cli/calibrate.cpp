// tellegen calibrate: a model and a record from the bench in; the model's numbers out, with their
// uncertainty.
#include "tellegen/calibrate/calibrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/data_options.h"
#include "cli/known_first.h"
#include "cli/progress.h"
#include "cli/study_options.h"
#include "cli/twin_report.h"
#include "tellegen/estimate/suspicion.h"
#include "tellegen/model/document.h"
#include "tellegen/model/rewrite.h"
#include "tellegen/records/choice.h"
#include "tellegen/records/data_file.h"
#include "tellegen/report/stage_report.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/chart.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct CalibrateRequest : StudyRequest {
  std::string data, parameters, sensors, inputs, window, resample, output, plot;
  DataRequest source;
  ResponseRequest responses;
  int starts = 1, iterations = 0;
  std::uint64_t seed = 1;
  double robust = 0.0;
  bool prior = false, anyway = false;
  TwinReportRequest report;
};

void check_request(const CalibrateRequest& request) {
  if (request.data.empty() && request.responses.responses.empty())
    throw command_fault(tellegen_calibrate, "T603", "there is no reading to calibrate with",
                        {"--data F.csv, --response t.v/i=F.csv, or both"});
  if (request.data.empty() && !request.report.report.empty())
    throw command_fault(tellegen_calibrate, "T402", "--report shows a record over time, and there is none",
                        {"add --data"});
  if (request.data.empty() && !request.source.more.empty())
    throw command_fault(tellegen_calibrate, "T402", "--record adds to --data, and there is none",
                        {"add --data"});
  check_choice({tellegen_calibrate, "--resample"}, request.resample, {"exact", "nearest", "linear"});
  std::vector<std::string> methods;
  for (const IntegratorEntry& entry : integrators()) methods.emplace_back(entry.name);
  check_choice({tellegen_calibrate, "--method"}, request.method, methods);
  if (!request.plot.empty()) check_writable({tellegen_calibrate, "--plot"}, request.plot, {".svg", ".png"});
  if (!request.json.empty()) check_writable({tellegen_calibrate, "--json"}, request.json, {".json"});
  check_report(tellegen_calibrate, request.report, {request.file, request.data, request.report.truth});
  if (request.output.empty()) return;
  check_writable({tellegen_calibrate, "--output"}, request.output, {".toml"});
  std::error_code ignored;
  if (fs::equivalent(request.output, request.file, ignored))
    throw command_fault(tellegen_calibrate, "T402", fmt::format("--output would replace '{}'", request.file),
                        {"give another name"});
  if (fs::path(request.file).extension() != ".toml")
    throw command_fault(tellegen_calibrate, "T402",
                        fmt::format("'{}' is no model file to write parameters to", request.file),
                        {fmt::format("tellegen convert {} makes one", request.file)});
}

// What the command line says goes before [calibrate].
std::vector<CalibrationStage> stages_of(Model& model, const CalibrateRequest& request) {
  std::vector<CalibrationStage> stages = model.calibration;
  const bool narrowed = !request.sensors.empty() || !request.window.empty();
  if (!request.parameters.empty()) {
    stages.assign(1, {});
    stages[0].parameters = unknowns_named(model, split_list(request.parameters));
  } else if (stages.empty()) {
    stages.assign(1, {});
    for (std::size_t k = 0; k < model.unknowns.size(); ++k)
      if (model.unknowns[k].varies == ModelUnknown::Varies::constant)
        stages[0].parameters.push_back(static_cast<int>(k));
  } else if (narrowed && stages.size() > 1) {
    throw command_fault(
        tellegen_calibrate, "T606",
        fmt::format("[calibrate] has {} stages, each with its sensors and its window", stages.size()),
        {"name the parameters to calibrate with --sensors or --window: --parameters"});
  }
  for (const CalibrationStage& stage : stages)
    if (stage.parameters.empty())
      throw command_fault(tellegen_calibrate, "T601", "there is nothing to calibrate",
                          {"name parameters: --parameters R_1,R_2, or [unknowns] in the model file"});
  if (!request.sensors.empty()) stages[0].sensors = sensors_named(model, split_list(request.sensors));
  if (!request.window.empty())
    std::tie(stages[0].from, stages[0].to) = read_window({tellegen_calibrate, "--window"}, request.window);
  return stages;
}

// Sensors that a stage names must be in the file; others are used where they are.
std::vector<int> sensors_in(const Model& model, const std::vector<CalibrationStage>& stages,
                            const DataSource& data) {
  std::vector<int> sensors;
  const auto add = [&](int s) {
    if (std::find(sensors.begin(), sensors.end(), s) == sensors.end()) sensors.push_back(s);
  };
  bool any = false;
  for (const CalibrationStage& stage : stages) {
    for (int s : stage.sensors) add(s);
    any = any || stage.sensors.empty();
  }
  if (!any) return sensors;
  for (int s : sensors_in_data(model, data)) add(s);
  return sensors;
}

struct CalibrateReport {
  const CalibrateRequest& request;
  const Model& model;  // as read
  const Record& record;
  const CalibrationResult& result;
  const std::vector<CalibrationStage>& stages;
  std::vector<std::string> written;
};

bool accepted(const CalibrateReport& report) {
  return report.result.good() && (report.request.anyway || report.result.consistent());
}

void print_stage(const CalibrateReport& report, std::size_t k) {
  const StageResult& stage = report.result.stages[k];
  const CalibrationStage& asked = report.stages[k];
  if (report.stages.size() > 1) fmt::print("stage {} of {}", k + 1, report.stages.size());
  if (asked.from || asked.to)
    fmt::print("{}from {:g} s to {:g} s", report.stages.size() > 1 ? ", " : "",
               asked.from.value_or(report.record.start),
               asked.to.value_or(report.record.time(report.record.steps - 1)));
  if (report.stages.size() > 1 || asked.from || asked.to) fmt::print("\n\n");
  fmt::print("{}", stage_text(report.model, stage));
}

Json to_json(const CalibrateReport& report) {
  Json json{{"model", report.model.name},      {"file", report.request.file},
            {"data", report.request.data},     {"rows", report.record.steps},
            {"step", report.record.step},      {"records", 1 + report.request.source.more.size()},
            {"good", accepted(report)},        {"seed", report.request.seed},
            {"remarks", report.record.remarks}};
  auto& stages = json["stages"] = Json::array();
  for (const StageResult& stage : report.result.stages) stages.push_back(stage_json(report.model, stage));
  json["written"] = report.written;
  return json;
}

// The numbers over the iterations, as multiples of what was found; and the cost.
Chart path_chart(const CalibrateReport& report) {
  Chart chart{report.model.name, {}, 1};
  for (const StageResult& stage : report.result.stages) {
    ChartPanel numbers, costs;
    numbers.x_label = costs.x_label = "iteration";
    numbers.y_label = "number / number found";
    costs.y_label = "log10 of the cost";
    ChartSeries cost;
    cost.name = "cost";
    const auto& path = stage.found().path;
    for (std::size_t k = 0; k < stage.parameters.size(); ++k) {
      ChartSeries series;
      series.name = report.model.parameters[stage.parameters[k].parameter].name;
      for (std::size_t i = 0; i < path.size(); ++i) {
        series.x.push_back(static_cast<double>(i));
        series.y.push_back(path[i].numbers[k] / stage.parameters[k].after);
      }
      numbers.series.push_back(std::move(series));
    }
    for (std::size_t i = 0; i < path.size(); ++i) {
      cost.x.push_back(static_cast<double>(i));
      cost.y.push_back(std::log10(path[i].cost));
    }
    costs.series.push_back(std::move(cost));
    chart.panels.push_back(std::move(numbers));
    chart.panels.push_back(std::move(costs));
  }
  chart.columns = 2;
  return chart;
}

void write_files(CalibrateReport& report) {
  const CalibrateRequest& request = report.request;
  // What did not converge, or does not fit, is kept under another name.
  const auto target = [&](const std::string& path) {
    return !accepted(report) && !is_stream(path) ? partial_path(path) : fs::path(path);
  };
  try {
    if (!request.output.empty()) {
      std::vector<int> parameters;
      const auto add = [&](int p) {
        if (std::find(parameters.begin(), parameters.end(), p) == parameters.end()) parameters.push_back(p);
      };
      for (const StageResult& stage : report.result.stages)
        for (const CalibratedParameter& p : stage.parameters) add(p.parameter);
      for (const std::string& text : request.set) {  // what was replaced stays replaced
        const std::string name = read_assignment({tellegen_calibrate, "--set"}, text).first;
        for (std::size_t p = 0; p < report.model.parameters.size(); ++p)
          if (report.model.parameters[p].name == name) add(static_cast<int>(p));
      }
      std::vector<double> numbers, deviations(parameters.size(), std::numeric_limits<double>::quiet_NaN());
      for (int p : parameters) numbers.push_back(report.result.model.parameters[p].number);
      for (const StageResult& stage : report.result.stages)
        for (const CalibratedParameter& p : stage.parameters)
          deviations[static_cast<std::size_t>(std::find(parameters.begin(), parameters.end(), p.parameter) -
                                              parameters.begin())] = p.deviation;
      write_file(target(request.output),
                 with_numbers(read_text(request.file, {}), report.model, parameters, numbers, deviations));
      report.written.push_back(target(request.output).string());
    }
    if (!request.report.report.empty()) {
      TwinReportRequest page = request.report;
      page.report = target(page.report).string();
      const Settings settings{
          {"model file", request.file},
          {"data", comma_list(request.source.files)},
          {"columns", request.source.columns},
          {"window", request.window},
          {"rows", report.record.rows_text()},
          {"starts", std::to_string(request.starts)},
          {"random generator's seed", request.starts > 1 ? std::to_string(request.seed) : ""},
          {"robust beyond", request.robust > 0.0 ? fmt::format("{:g} sd", request.robust) : ""},
          {"integration", report.result.stages.back().method},
          {"replaced", comma_list(request.set)}};
      SimulationOptions integration = calibration_options().integration;
      integration.method = request.method;
      if (!request.step.empty())
        integration.step = read_seconds({tellegen_calibrate, "--step"}, request.step);
      integration.compile = !request.interpret;
      write_twin_report(
          tellegen_calibrate, page, report.model,
          calibration_part(report.record, report.result, page.of_calibration(settings), integration));
      report.written.push_back(page.report);
    }
    if (!request.plot.empty()) {
      write_chart(target(request.plot), path_chart(report));
      report.written.push_back(target(request.plot).string());
    }
  } catch (const ModelError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_calibrate, error);
  }
  if (!request.json.empty()) report.written.push_back(request.json);
}

// The readings that a stage uses.
Record part_of(const Record& record, const CalibrationStage& stage) {
  Record part = record;
  const auto uses = [&](int sensor) {
    return stage.sensors.empty() ||
           std::find(stage.sensors.begin(), stage.sensors.end(), sensor) != stage.sensors.end();
  };
  for (std::int64_t row = 0; row < record.steps; ++row) {
    const bool outside =
        (stage.from && record.time(row) < *stage.from) || (stage.to && record.time(row) > *stage.to);
    for (std::size_t s = 0; s < record.sensors.size(); ++s)
      if (outside || !uses(record.sensors[s]))
        part.readings[static_cast<std::size_t>(row) * record.sensors.size() + s] =
            std::numeric_limits<double>::quiet_NaN();
  }
  return part;
}

// What would explain a misfit: inputs that are held between rows, and mistakes in the columns. The fit is
// tried with each of them undone.
void add_likely_reasons(const CalibrateReport& report, const CalibrationOptions& options, double misfit,
                        std::vector<std::string>& details) {
  if (report.record.steps == 0) return;
  const auto quality = [&](const Record& record) {
    return misfit_of(report.model, record, report.stages, options);
  };
  for (const std::string& name : report.record.inputs) {
    Model held = report.model;
    const auto input = std::find_if(held.inputs.begin(), held.inputs.end(),
                                    [&](const ModelInput& i) { return i.name == name; });
    if (input == held.inputs.end() || input->interpolation != Interpolation::linear) continue;
    input->interpolation = Interpolation::hold;
    if (misfit_of(held, report.record, report.stages, options) - 1.0 > 0.4 * (misfit - 1.0)) continue;
    details.push_back(fmt::format(
        "likely reason: '{}' is held from row to row: write interpolation = \"hold\" in its [inputs]", name));
    return;
  }
  for (const Suspicion& s : suspicions(report.model, report.record, misfit, quality))
    details.push_back("likely reason: " + s.text);
}

void add_valleys(const Model& model, const StageResult& stage, std::vector<std::string>& details) {
  const std::size_t n = stage.parameters.size();
  const auto name = [&](std::size_t k) { return model.parameters[stage.parameters[k].parameter].name; };
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      if (std::abs(stage.correlation[i * n + j]) > 0.99)
        details.push_back(fmt::format(
            "the readings hardly distinguish {} and {} (correlation {:.3f}): leave one of them out "
            "of --parameters, or read what distinguishes them",
            name(i), name(j), stage.correlation[i * n + j]));
}

[[noreturn]] void refuse_misfit(const CalibrateReport& report, const CalibrationOptions& options) {
  std::vector<std::string> details;
  bool larger = false;
  double worst = 0.0;
  for (const StageResult& stage : report.result.stages)
    if (!stage.misfit.empty()) {
      details.push_back(stage.misfit);
      larger = larger || stage.inflation > 1.0;
      worst = std::max(worst, stage.chi_square);
    }
  if (larger) add_likely_reasons(report, options, worst, details);
  details.emplace_back(larger
                           ? "the data, the model or the noise of [sensors] is wrong; see units, columns and "
                             "what inputs are between rows (interpolation)"
                           : "the noise of [sensors] is larger than that of the readings, or the readings "
                             "were smoothed");
  details.emplace_back("--anyway takes the result as it is");
  throw StudyError(
      report.request.file,
      larger ? "the model does not fit the record" : "the noise of [sensors] does not fit the record",
      details);
}

// The record, and with --record others.
Record record_of(const Model& model, const std::vector<CalibrationStage>& stages,
                 const CalibrateRequest& request, std::vector<Record>& more) {
  const DataSource data = data_source(tellegen_calibrate, request.source, request.file);
  RecordOptions reading;
  reading.sensors = sensors_in(model, stages, data);
  reading.inputs = request.inputs.empty() ? model.estimation.inputs : split_list(request.inputs);
  reading.resample = request.resample.empty() ? model.estimation.resample : request.resample;
  if (!request.sample.empty()) reading.step = read_seconds({tellegen_calibrate, "--sample"}, request.sample);
  Record record = read_record(model, data, reading);
  if (request.source.more.empty()) return record;
  bool named = !stages.empty();
  for (const CalibrationStage& stage : stages) {
    named = named && !stage.sensors.empty();
    if (stage.from || stage.to)
      throw command_fault(tellegen_calibrate, "T402", "--record cannot be had together with a window",
                          {"times of several runs do not compare; cut the files"});
  }
  more = read_more_records(tellegen_calibrate, request.source, request.file, model, reading, named, record);
  return record;
}

void print_data(const Model& model, const Record& record, const CalibrationOptions& options) {
  std::vector<std::string> parts;
  if (record.steps > 0) parts.push_back(record.rows_text());
  for (const Record& r : options.more_records) parts.push_back(r.rows_text());
  for (const ResponseData& r : options.responses)
    parts.push_back(fmt::format("{} at {} frequencies", r.name(), r.values.size()));
  fmt::print("{}, {}\n\n", model.name, fmt::join(parts, ", "));
}

void calibrate_command(const CalibrateRequest& request) {
  check_request(request);
  Model model = read_study_model(tellegen_calibrate, request);
  const std::vector<CalibrationStage> stages = stages_of(model, request);
  CalibrationOptions options = calibration_options();
  Record record = request.data.empty() ? Record() : record_of(model, stages, request, options.more_records);
  for (const CalibrationStage& stage : stages)
    for (int u : stage.parameters)
      if (model.unknowns[u].varies != ModelUnknown::Varies::constant)
        record.remarks.push_back(fmt::format("'{}' varies in [unknowns]; here it is found as a constant",
                                             model.parameters[model.unknowns[u].parameter].name));
  options.responses = read_responses(tellegen_calibrate, request.responses, request.source, request.file);
  options.starts = request.starts;
  options.seed = request.seed;
  if (request.iterations > 0) options.most_iterations = request.iterations;
  options.prior = request.prior;
  options.robust = request.robust;
  options.integration.method = request.method;
  if (!request.step.empty())
    options.integration.step = read_seconds({tellegen_calibrate, "--step"}, request.step);
  options.integration.compile = !request.interpret;
  // What responses and other records tell beside the record, the fit itself says.
  if (!request.anyway && options.responses.empty() && options.more_records.empty())
    for (const CalibrationStage& stage : stages) {
      EstimabilityQuestion question;
      for (int k : stage.parameters) question.parameters.push_back(model.unknowns[k].parameter);
      require_known(request.file, model, part_of(record, stage), question);
    }
  const CalibrationResult result = calibrate(model, record, stages, options);
  CalibrateReport report{request, model, record, result, stages, {}};
  if (result.stages.back().found().path.empty())
    throw StudyError(request.file, result.stages.back().failure,
                     {"give other starts: start in [unknowns], or --set"});
  write_files(report);
  if (!write_json(tellegen_calibrate, request, json_text(to_json(report)))) {
    print_data(model, record, options);
    for (const StageResult& stage : result.stages)
      if (!stage.misfit.empty())
        fmt::print("the {} does not fit the record: {}\n",
                   stage.inflation > 1.0 ? "model" : "noise of [sensors]", stage.misfit);
    for (const StageResult& stage : result.stages)
      if (stage.inflation > 1.0)
        fmt::print("standard deviations are multiplied by {:.3g}, the root of chi-square\n", stage.inflation);
    if (!result.consistent()) fmt::print("\n");
    for (const std::string& remark : record.remarks) fmt::print("{}\n", remark);
    for (std::size_t k = 0; k < result.stages.size(); ++k) print_stage(report, k);
    for (const std::string& file : report.written) fmt::print("wrote {}\n", file);
  }
  for (const StageResult& stage : result.stages)
    for (const std::string& warning : stage.warnings) fmt::print(stderr, "warning: {}\n", warning);
  for (const StageResult& stage : result.stages)
    if (!stage.failure.empty()) {
      std::vector<std::string> details = stage.open;
      details.push_back(stage.open.empty() ? "the best point found is shown; it may not be the right one"
                                           : "tellegen check --estimate shows what can be known");
      // A search that does not end in a fit that is good goes along a valley: nothing is wrong with the data.
      if (stage.misfit.empty())
        add_valleys(model, stage, details);
      else
        add_likely_reasons(report, options, std::numeric_limits<double>::infinity(), details);
      throw StudyError(request.file, stage.failure, details);
    }
  if (!request.anyway && !result.consistent()) refuse_misfit(report, options);
}

}  // namespace

void add_calibrate(CLI::App& command) {
  auto request = std::make_shared<CalibrateRequest>();
  CalibrateRequest& r = *request;
  command
      .add_option("FILE", r.file, "model file with [sensors]; [unknowns] and [calibrate] where it has them")
      ->required();
  add_data_options(command, r.source,
                   "measurements: a column of times, one for each sensor; CSV of any shape, HDF5, .mat, MDF "
                   "4; a folder, or "
                   "once for each of several files in sequence");
  add_record_option(command, r.source);
  add_response_options(command, r.responses);
  const char* what = "What to find (over the model's [calibrate])";
  command
      .add_option("--parameters", r.parameters, "parameters to find: R_1,r2.R; all [unknowns] if not given")
      ->type_name("LIST")
      ->group(what);
  command.add_option("--sensors", r.sensors, "sensors that are used; all that the data have if not given")
      ->type_name("LIST")
      ->group(what);
  command.add_option("--window", r.window, "part of the data that is used: 4s:5s")
      ->type_name("FROM:TO")
      ->group(what);
  command.add_option("--inputs", r.inputs, "inputs and parameters that the data give")
      ->type_name("LIST")
      ->group(what);
  command.add_option("--set", r.set, "replace a parameter, a start: --set R1=2ohm; once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(what);
  const char* how = "How to search";
  command
      .add_option("--starts", r.starts,
                  "searches that must agree: one from the model's values, the others from anywhere (1)")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(how);
  command.add_option("--seed", r.seed, "of the other starts (1)")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber)
      ->group(how);
  command.add_option("--iterations", r.iterations, "most of each search (100)")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(how);
  command
      .add_flag("--anyway", r.anyway,
                "continue where the readings do not determine enough, and take a result that does not fit")
      ->group(how);
  command.add_flag("--prior", r.prior, "starts with a deviation in [unknowns] count as readings")->group(how);
  command
      .add_option("--robust", r.robust,
                  "readings farther off than so many standard deviations of the noise count less: 2")
      ->type_name("NUMBER")
      ->check(not_positive)
      ->group(how);
  const char* integration = "How to integrate";
  command.add_option("--method", r.method, "integration method; chosen by the noise if not given")
      ->type_name("NAME")
      ->group(integration);
  command.add_option("--step", r.step, "longest step of integration")->type_name("TIME")->group(integration);
  command
      .add_option("--sample", r.sample,
                  "interval between the rows that are used; that of the data if not given")
      ->type_name("TIME")
      ->group(integration);
  command.add_option("--resample", r.resample, "times beside the rows: exact (a fault), nearest, linear")
      ->type_name("NAME")
      ->group(integration);
  command.add_flag("--interpret", r.interpret, "do without the system's C compiler")->group(integration);
  const char* where = "Where to write";
  command.add_option("--output", r.output, "the model file with the parameters found")
      ->type_name("F.toml")
      ->group(where);
  command.add_option("--plot", r.plot, "the parameters and the cost over the iterations")
      ->type_name("F.svg|F.png")
      ->group(where);
  r.json_option =
      command.add_option("--json", r.json, "everything for machines, to a file or standard output")
          ->type_name("[F.json]")
          ->expected(0, 1)
          ->group(where);
  add_calibration_report_options(command, r.report);
  command.callback([request] {
    request->wants_json = request->json_option->count() > 0;
    request->data = request->source.first();
    calibrate_command(*request);
  });
}

}  // namespace tellegen
