// tellegen estimate: a model and measurements in; what no sensor reaches out, with its uncertainty.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/data_options.h"
#include "cli/known_first.h"
#include "cli/model_file.h"
#include "cli/progress.h"
#include "cli/realtime.h"
#include "cli/twin_report.h"
#include "tellegen/estimate/estimate.h"
#include "tellegen/estimate/estimate_stream.h"
#include "tellegen/estimate/estimate_table.h"
#include "tellegen/estimate/filter.h"
#include "tellegen/estimate/sensor_faults.h"
#include "tellegen/model/document.h"
#include "tellegen/model/units.h"
#include "tellegen/records/choice.h"
#include "tellegen/report/run_report.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/table.h"
#include "tellegen/service/live_twin.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// The command line as it was typed.
struct EstimateRequest {
  std::string file, data, output, estimator, discretisation, sensors, unknowns, inputs, step, late, resample,
      window, json;
  DataRequest source;
  std::vector<std::string> set;
  double gate = 0.0, passes_tolerance = 1e-10;
  int passes = 1;
  std::string reduce, checkpoint, every, resume, stop;
  RealtimeRequest realtime;
  bool anyway = false, smooth = false, tune = false, interpret = false;
  TwinReportRequest report;
  CLI::Option* json_option = nullptr;
};

void check_request(const EstimateRequest& request) {
  std::vector<std::string> known;
  for (const EstimatorEntry& e : estimators()) known.emplace_back(e.name);
  check_choice({tellegen_estimate, "--estimator"}, request.estimator, known);
  check_choice({tellegen_estimate, "--discretisation"}, request.discretisation, {"exact", "euler"});
  check_choice({tellegen_estimate, "--resample"}, request.resample, {"exact", "nearest", "linear"});
  if (!request.output.empty())
    check_writable({tellegen_estimate, "--output"}, request.output, {".csv", ".h5", ".hdf5"});
  if (!request.json.empty()) check_writable({tellegen_estimate, "--json"}, request.json, {".json"});
  std::error_code ignored;
  for (const std::string& source : {request.file, request.data})
    if (!request.output.empty() && fs::equivalent(request.output, source, ignored))
      throw command_fault(tellegen_estimate, "T402", fmt::format("--output would replace '{}'", source),
                          {"this run reads it: choose another name"});
  if (!request.checkpoint.empty())
    check_writable({tellegen_estimate, "--checkpoint"}, request.checkpoint, {".twin"});
  check_addresses(request.realtime);
  check_report(tellegen_estimate, request.report, {request.file, request.data, request.report.truth});
}

// What asks for the whole record; empty: nothing does.
std::string needs_all(const EstimateRequest& request, const Model& model) {
  if (request.smooth) return "--smooth";
  if (request.tune) return "--tune";
  if (request.passes > 1) return "--passes";
  if (!request.report.report.empty()) return "--report";
  if (!request.output.empty() && !request.output.ends_with(".csv") && !is_stream(request.output))
    return "an HDF5 file";
  return model.estimation.resample == "linear" ? "resample = \"linear\"" : "";
}

// Whether rows are followed one by one: data that come, a twin that is saved or continued, a large file.
bool follows_rows(const EstimateRequest& request, const Model& model) {
  constexpr std::uintmax_t large = std::uintmax_t{16} << 20;  // bytes
  std::error_code none;
  const bool asked = request.data == "-" || !request.checkpoint.empty() || !request.resume.empty();
  const std::string whole = needs_all(request, model);
  if (asked && !whole.empty())
    throw command_fault(tellegen_estimate, "T401", fmt::format("{} needs the whole record", whole),
                        {"rows from standard input, --checkpoint and --resume follow it row by row"});
  std::uintmax_t size = 0;
  for (const std::string& file : request.source.files)
    if (const std::uintmax_t one = fs::file_size(file, none); !none) size += one;
  return asked || (whole.empty() && size > large);
}

// What the command line says goes before what the model says.
Model read_model_of(const EstimateRequest& request) {
  ReadOptions reading;
  for (const std::string& text : request.set)
    reading.overrides.push_back(read_assignment({tellegen_estimate, "--set"}, text));
  Model model = read_model_file(request.file, reading);
  ModelEstimation& estimation = model.estimation;
  if (!request.sensors.empty()) estimation.sensors = sensors_named(model, split_list(request.sensors));
  if (!request.unknowns.empty())
    estimation.unknowns =
        request.unknowns == "none" ? std::vector<int>{} : unknowns_named(model, split_list(request.unknowns));
  if (!request.inputs.empty()) estimation.inputs = split_list(request.inputs);
  if (!request.estimator.empty()) estimation.estimator = request.estimator;
  if (!request.step.empty()) estimation.step = read_seconds({tellegen_estimate, "--step"}, request.step);
  if (!request.late.empty()) estimation.late = read_seconds({tellegen_estimate, "--late"}, request.late);
  if (!request.resample.empty()) estimation.resample = request.resample;
  if (request.gate > 0.0) estimation.gate = request.gate;
  if (estimation.sensors.empty())
    throw command_fault(tellegen_estimate, "T621", "there is no sensor to estimate from",
                        {"add [sensors] to the model, or name some by --sensors"});
  return model;
}

std::string share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void print(const Model& model, const Record& record, const Estimate& e) {
  fmt::print("{}, {}, {}\n\n", model.name, e.estimator, record.rows_text());
  const std::vector<std::string> wrong = complaints(e);
  for (const std::string& complaint : wrong) fmt::print("{}\n", complaint);
  if (!wrong.empty()) fmt::print("\n");
  for (const std::string& remark : record.remarks) fmt::print("{}\n", remark);
  if (!e.ranges.empty()) {
    TextTable table{{"estimated", "", "unit", "at the end", "sd", "lowest", "highest"}, {}};
    constexpr const char* what[] = {"state", "unknown", "sensor", "output"};
    for (std::size_t q = 0; q < e.ranges.size(); ++q) {
      const std::string unit = quantity_unit(model, e.quantities[q]);
      const Estimate::Range& range = e.ranges[q];
      table.rows.push_back({e.quantities[q].name, what[static_cast<int>(e.quantities[q].what)], unit,
                            brief_number(in_unit(range.end, unit), 7),
                            brief_number(deviation_in_unit(range.deviation, unit), 3),
                            brief_number(in_unit(range.lowest, unit), 7),
                            brief_number(in_unit(range.highest, unit), 7)});
    }
    fmt::print("{}\n", to_text(table));
  }
  TextTable sensors{{"sensor", "used", "missing", "out of range", "stuck", "refused", "innovation mean",
                     "variance", "white"},
                    {}};
  const std::int64_t rows = record.steps;
  for (std::size_t s = 0; s < e.sensors.size(); ++s) {
    const SensorStatistics& a = e.sensors[s];
    const Record::Count count = s < record.counts.size() ? record.counts[s] : Record::Count{};
    sensors.rows.push_back(
        {a.name, share(a.used, rows), share(std::max<std::int64_t>(0, rows - a.used - a.refused), rows),
         fmt::format("{}", count.out_of_range), fmt::format("{}", count.stuck), fmt::format("{}", a.refused),
         brief_number(a.mean, 2), brief_number(a.variance, 3),
         std::isnan(a.whiteness) ? "-" : brief_number(a.whiteness, 2)});
  }
  fmt::print(
      "{}\ninnovations over their standard deviation: mean 0 and variance 1 are expected; white: probability "
      "that "
      "they are not correlated\n",
      to_text(sensors));
  if (!e.reduction.empty()) fmt::print("{}\n", e.reduction);
  for (const auto& [name, noise] : e.tuned)
    fmt::print("tuned: {} is disturbed by {} in one second\n", name, brief_number(noise));
  if (e.passes.size() > 1)
    fmt::print("{} passes; the last changed the unknowns by {:.2g}\n", e.passes.size(),
               e.passes.back().change);
  const double seconds = record.steps > 0 ? record.end() - record.start : 0.0;
  fmt::print("{:.3g} ms for {:.4g} s of data ({:.0f} x real time), {}\n", 1e3 * e.loop_seconds, seconds,
             seconds / std::max(1e-9, e.loop_seconds), e.executor);
}

nlohmann::ordered_json to_json(const EstimateRequest& request, const Model& model, const Record& record,
                               const Estimate& e) {
  nlohmann::ordered_json json{
      {"model", model.name},       {"file", request.file},           {"data", request.data},
      {"estimator", e.estimator},  {"executor", e.executor},         {"rows", e.rows},
      {"step", record.step},       {"loop_seconds", e.loop_seconds}, {"log_likelihood", e.log_likelihood},
      {"reduction", e.reduction},  {"failure", e.failure},           {"warnings", e.warnings},
      {"remarks", record.remarks}, {"corrects", e.corrects},         {"consistent", e.inconsistent.empty()},
      {"inflation", e.inflation}};
  constexpr const char* kinds[] = {"offset", "drift", "scale", "stuck"};
  for (const SensorFault& fault : e.faults)
    json["faults"].push_back({{"sensor", fault.name},
                              {"kind", kinds[static_cast<int>(fault.kind)]},
                              {"size", fault.size},
                              {"deviation", fault.deviation},
                              {"onset", fault.onset},
                              {"end", fault.end},
                              {"observable", fault.observable},
                              {"left_out", fault.left_out},
                              {"others", fault.others},
                              {"text", fault.text}});
  for (const InconsistentStretch& stretch : e.inconsistent)
    json["inconsistent"].push_back(
        {{"sensor", stretch.sensor}, {"from", stretch.from}, {"to", stretch.to}, {"ratio", stretch.ratio}});
  if (!e.reasons.empty()) json["reasons"] = e.reasons;
  constexpr const char* what[] = {"state", "unknown", "sensor", "output"};
  for (std::size_t q = 0; q < e.ranges.size(); ++q) {
    const std::string unit = quantity_unit(model, e.quantities[q]);
    json["estimated"].push_back({{"name", e.quantities[q].name},
                                 {"what", what[static_cast<int>(e.quantities[q].what)]},
                                 {"unit", unit},
                                 {"end", in_unit(e.ranges[q].end, unit)},
                                 {"deviation", deviation_in_unit(e.ranges[q].deviation, unit)}});
  }
  for (std::size_t s = 0; s < e.sensors.size(); ++s) {
    const SensorStatistics& a = e.sensors[s];
    const Record::Count count = s < record.counts.size() ? record.counts[s] : Record::Count{};
    json["sensors"].push_back({{"name", a.name},
                               {"used", a.used},
                               {"missing", a.missing},
                               {"refused", a.refused},
                               {"out_of_range", count.out_of_range},
                               {"stuck", count.stuck},
                               {"mean", a.mean},
                               {"variance", a.variance},
                               {"whiteness", std::isnan(a.whiteness) ? nlohmann::ordered_json()
                                                                     : nlohmann::ordered_json(a.whiteness)}});
  }
  for (const auto& [name, noise] : e.tuned) json["tuned"][name] = noise;
  for (const Estimate::Pass& pass : e.passes)
    json["passes"].push_back({{"unknowns", pass.unknowns}, {"change", pass.change}});
  return json;
}

RecordOptions record_options(const EstimateRequest& request, const Model& model) {
  RecordOptions reading = record_options(model);
  if (!request.window.empty())
    std::tie(reading.from, reading.to) = read_window({tellegen_estimate, "--window"}, request.window);
  return reading;
}

EstimateOptions estimate_options(const EstimateRequest& request) {
  EstimateOptions options;
  options.smooth = request.smooth;
  options.tune = request.tune;
  options.anyway = request.anyway;
  options.euler = request.discretisation == "euler";
  options.passes = request.passes;
  options.passes_tolerance = request.passes_tolerance;
  options.compile = !request.interpret;
  options.reduce = request.reduce.empty() ? 0 : request.reduce == "none" ? -1 : std::stol(request.reduce);
  return options;
}

StudyError nothing_estimated(const EstimateRequest& request, std::vector<std::string> details) {
  details.push_back("--anyway accepts the simulation as it is");
  return StudyError(request.file, "nothing is estimated", details);
}

// What is told, and what it means for the exit code. `kept`: the file with the rows.
void tell(const EstimateRequest& request, const Model& model, const Record& record, const Estimate& e,
          const std::string& kept) {
  const auto target = [&](const std::string& path) {
    return !e.failure.empty() && !is_stream(path) ? partial_path(path) : fs::path(path);
  };
  if (!request.json.empty()) try {
      write_file(target(request.json), json_text(to_json(request, model, record, e)));
    } catch (const std::runtime_error& error) {
      throw not_written(tellegen_estimate, error);
    }
  if (request.json_option->count() > 0 && request.json.empty())
    fmt::print("{}", json_text(to_json(request, model, record, e)));
  else if (request.output.empty() || !is_stream(request.output))
    print(model, record, e);
  for (const std::string& warning : e.warnings) fmt::print(stderr, "warning: {}\n", warning);
  if (!e.corrects && !request.anyway) throw nothing_estimated(request, complaints(e));
  if (!e.failure.empty()) {
    std::vector<std::string> details = complaints(e);
    if (!kept.empty()) details.push_back(fmt::format("what was estimated until then is in {}", kept));
    details.push_back(
        "the model or its noise does not explain the readings; check --estimate shows what can be known");
    throw StudyError(request.file, e.failure, details);
  }
  if (const std::vector<std::string> wrong = complaints(e); !wrong.empty() && !request.anyway) {
    std::vector<std::string> details = wrong;
    details.push_back(e.faults.empty() ? "--anyway accepts the estimate as it is"
                                       : "--anyway accepts the estimate, which allows for these faults");
    throw StudyError(request.file,
                     e.faults.empty() ? "the readings and the model do not agree" : "a sensor is faulty",
                     details);
  }
  if (request.json_option->count() == 0)
    for (const std::string& file : {request.output, request.report.report})
      if (!file.empty() && !is_stream(file)) fmt::print("wrote {}\n", file);
}

std::string read_checkpoint(const EstimateRequest& request) {
  return request.resume.empty() ? "" : read_text(request.resume, {request.resume, 0});
}

std::function<void(const std::string&)> checkpoint_writer(const EstimateRequest& request) {
  if (request.checkpoint.empty()) return {};
  return [&request](const std::string& bytes) { write_file(request.checkpoint, bytes); };
}

double checkpoint_interval(const EstimateRequest& request) {
  return request.every.empty() ? 0.0 : read_seconds({tellegen_estimate, "--every"}, request.every);
}

// Row by row: the file may be larger than the memory.
void follow_record(const EstimateRequest& request, const Model& model) {
  RecordStream stream(model, data_source(tellegen_estimate, request.source, request.file),
                      record_options(request, model));
  if (!request.anyway && stream.outline().steps > 0)
    require_known(request.file, model, stream.outline(),
                  {.states = true, .unknowns = model.estimation.unknowns});
  StreamOptions options;
  options.estimate = estimate_options(request);
  options.resume = read_checkpoint(request);
  options.every = checkpoint_interval(request);
  options.save = checkpoint_writer(request);
  ProgressBar bar;
  if (ProgressBar::watched()) options.estimate.progress = std::ref(bar);
  const StopSignals signals;
  options.stop = &StopSignals::asked();
  std::unique_ptr<CsvStream> csv;
  // The columns are known when the model is: the header is written before the first row.
  const fs::path partial =
      is_stream(request.output) ? fs::path(request.output) : partial_path(request.output);
  try {
    if (!request.output.empty()) {
      options.columns = [&](const EstimateColumns& columns) {
        csv = std::make_unique<CsvStream>(partial, columns.names(), columns.units());
      };
      options.row = [&](double t, std::span<const double> row) { csv->row(t, row); };
      options.flush = [&] { csv->flush(); };
    }
    const StreamedEstimate found = estimate_stream(model, stream, options);
    if (csv) csv->close();
    if (StopSignals::asked() && request.data != "-") {
      std::vector<std::string> details;
      if (csv) details.push_back(fmt::format("what was estimated until then is in {}", partial.string()));
      if (!request.checkpoint.empty())
        details.push_back(fmt::format("--resume {} continues from there", request.checkpoint));
      throw StudyError(request.file, fmt::format("interrupted after {} rows", found.estimate.rows), details);
    }
    const bool whole = found.estimate.failure.empty();
    if (csv && whole && partial != request.output) fs::rename(partial, request.output);
    tell(request, model, found.record, found.estimate, csv && !whole ? partial.string() : "");
  } catch (const ModelError&) {
    throw;
  } catch (const StudyError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_estimate, error);
  }
}

// As data come: packets against the wall clock, or lines of JSON on standard input and output.
void follow_live(const EstimateRequest& request, const Model& model) {
  if (!model.estimation.step)
    throw command_fault(tellegen_estimate, "T633", "data that come have no interval yet",
                        {"give the step: --step 100ms, or step in [estimate]"});
  if (const std::string whole = needs_all(request, model); !whole.empty())
    throw command_fault(tellegen_estimate, "T401", fmt::format("{} needs the whole record", whole),
                        {"it is not there while data come"});
  FollowOptions follow = follow_options(model, estimate_options(request), *model.estimation.step);
  follow.check = true;
  Twin twin(model, follow);
  if (!twin.model().uncertain()) {
    if (!request.anyway) throw nothing_estimated(request, nothing_corrected());
    fmt::print(stderr, "warning: {}\n", nothing_corrected().front());
  }
  if (const std::string bytes = read_checkpoint(request); !bytes.empty()) twin.restore(bytes);
  LiveColumns columns(model, follow, twin);
  const LiveCheckpoints checkpoints{checkpoint_interval(request), checkpoint_writer(request)};
  MonotonicClock clock;
  const StopSignals signals;
  RealtimeReport report;
  std::string kept;
  if (request.data == "-") {
    report = run_lines(twin, columns, checkpoints, std::cin, std::cout, clock, StopSignals::asked());
  } else {
    const auto exchange =
        open_exchange(request.realtime, columns.names_in().size(), columns.out().names().size(), true);
    const auto list = [](const std::vector<std::string>& names, const std::vector<std::string>& units) {
      std::vector<std::string> all;
      for (std::size_t k = 0; k < names.size(); ++k) all.push_back(with_unit(names[k], units[k]));
      return comma_list(all);
    };
    fmt::print(stderr, "{}, a period of {}\n", request.stop.empty() ? "until Ctrl-C" : "for " + request.stop,
               duration_text(follow.step));
    if (!request.realtime.listen.empty())
      fmt::print(stderr, "readings and inputs from {}: {}\n", request.realtime.listen,
                 list(columns.names_in(), columns.units_in()));
    if (!request.realtime.send.empty())
      fmt::print(stderr, "estimates to {}: {}\n", request.realtime.send,
                 list(columns.out().names(), columns.out().units()));
    LiveOptions options;
    options.realtime = {.priority = request.realtime.priority, .lock_memory = request.realtime.lock_memory};
    options.checkpoints = checkpoints;
    if (!request.stop.empty())
      options.periods =
          std::llround(read_seconds({tellegen_estimate, "--stop"}, request.stop) / follow.step) + 1;
    try {
      std::unique_ptr<CsvStream> csv;
      std::optional<StreamSink> sink;
      const fs::path partial =
          is_stream(request.output) ? fs::path(request.output) : partial_path(request.output);
      if (!request.output.empty()) {
        csv = std::make_unique<CsvStream>(partial, columns.out().names(), columns.out().units());
        sink.emplace(*csv);
      }
      report = run_live(twin, columns, options, exchange.get(), clock, StopSignals::asked(),
                        sink ? &*sink : nullptr);
      if (csv) csv->close();
      kept = partial.string();
      if (csv && report.failure.empty() && partial != request.output)
        fs::rename(partial, kept = request.output);
    } catch (const ModelError&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw not_written(tellegen_estimate, error);
    }
  }
  if (request.json_option->count() > 0) {
    nlohmann::ordered_json json{{"model", model.name},           {"file", request.file},
                                {"estimator", twin.estimator()}, {"executor", twin.executor()},
                                {"rows", twin.row() + 1},        {"failure", report.failure},
                                {"realtime", to_json(report)}};
    if (request.json.empty() && request.data != "-")
      fmt::print("{}", json_text(json));
    else if (!request.json.empty())
      write_file(request.json, json_text(json));
  }
  fmt::print(stderr, "{}", report.text());
  if (!report.failure.empty())
    throw StudyError(request.file, report.failure,
                     kept.empty() ? std::vector<std::string>{}
                                  : std::vector{fmt::format("what was estimated until then is in {}", kept)});
  if (const std::string reason = too_many_missed(request.realtime, report); !reason.empty())
    throw StudyError(request.file, reason, {});
}

bool json_lines_come() {
  int c = std::cin.peek();
  while (c == ' ' || c == '\n' || c == '\r' || c == '\t') std::cin.get(), c = std::cin.peek();
  return c == '{';
}

void estimate_command(const EstimateRequest& request) {
  check_request(request);
  const Model model = read_model_of(request);
  if (request.data.empty() && !request.realtime.on)
    throw command_fault(tellegen_estimate, "T401", "there are no data",
                        {"--data F.csv, --data - for standard input, or --realtime with --listen"});
  if (request.realtime.on && request.data.empty() && request.realtime.listen.empty())
    throw command_fault(tellegen_estimate, "T401", "--realtime without --listen: nothing would be read", {});
  if (request.realtime.on && !request.data.empty() && request.data != "-")
    throw command_fault(tellegen_estimate, "T401", "--realtime and --data exclude each other",
                        {"a record is followed as fast as it can be"});
  if (request.realtime.on || (request.data == "-" && json_lines_come())) return follow_live(request, model);
  if (follows_rows(request, model)) return follow_record(request, model);
  const Record record = read_record(model, data_source(tellegen_estimate, request.source, request.file),
                                    record_options(request, model));
  if (!request.anyway)
    require_known(request.file, model, record, {.states = true, .unknowns = model.estimation.unknowns});
  EstimateOptions options = estimate_options(request);
  ProgressBar bar;
  if (ProgressBar::watched()) options.progress = std::ref(bar);
  Estimate e = judged_estimate(model, record, options);
  summarise(e);
  // What a filter that diverged had found is kept, under another name.
  const auto target = [&](const std::string& path) {
    return !e.failure.empty() && !is_stream(path) ? partial_path(path) : fs::path(path);
  };
  if (!request.output.empty()) try {
      const Trajectory table = table_of(e, model, record);
      if (request.output.ends_with(".csv") || is_stream(request.output))
        write_csv(target(request.output), table);
      else
        write_hdf5(target(request.output), table);
    } catch (const std::runtime_error& error) {
      throw not_written(tellegen_estimate, error);
    }
  if (!request.report.report.empty()) {
    TwinReportRequest report = request.report;
    report.report = target(report.report).string();
    const Settings settings{{"model file", request.file},         {"data", comma_list(request.source.files)},
                            {"columns", request.source.columns},  {"window", request.window},
                            {"estimator", e.estimator},           {"rows", record.rows_text()},
                            {"replaced", comma_list(request.set)}};
    write_twin_report(tellegen_estimate, report, model,
                      estimate_part(model, record, e, report.of_estimate(settings)));
  }
  tell(request, model, record, e, request.output.empty() ? "" : target(request.output).string());
}

}  // namespace

void add_estimate(CLI::App& command) {
  auto request = std::make_shared<EstimateRequest>();
  EstimateRequest& r = *request;
  std::string list;
  for (const EstimatorEntry& e : estimators()) list += (list.empty() ? "" : ", ") + std::string(e.name);
  command.add_option("FILE", r.file, "model file with [sensors], [unknowns] and [estimate]")->required();
  add_data_options(command, r.source,
                   "measurements: a column of times, one for each sensor; CSV of any shape, HDF5, .mat, MDF "
                   "4; a folder, or "
                   "once for each of several files in sequence; -: standard input, as CSV or lines of JSON");
  const char* what = "What to estimate (over the model's [estimate])";
  command.add_option("--estimator", r.estimator, list)->type_name("NAME")->group(what);
  command.add_option("--sensors", r.sensors, "sensors that are used")->type_name("LIST")->group(what);
  command
      .add_option("--unknowns", r.unknowns, "parameters that are estimated beside the states; none: no one")
      ->type_name("LIST")
      ->group(what);
  command.add_option("--inputs", r.inputs, "inputs and parameters that the data give")
      ->type_name("LIST")
      ->group(what);
  command.add_option("--set", r.set, "replace a parameter: --set R1=2ohm; once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(what);
  command
      .add_flag("--smooth", r.smooth, "go back through the record: what each state was, with all readings")
      ->group(what);
  command
      .add_flag(
          "--anyway", r.anyway,
          "continue where the readings do not determine enough, the filter diverged, or sensors or model are "
          "inconsistent with the readings")
      ->group(what);
  command.add_flag("--tune", r.tune, "process noise by maximum likelihood of the innovations")->group(what);
  command
      .add_option("--passes", r.passes,
                  "over the same record at most, each from the unknowns found before (1)")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(what);
  command
      .add_option("--passes-tolerance", r.passes_tolerance,
                  "end where the unknowns change by less, SI (1e-10)")
      ->type_name("NUMBER")
      ->check(not_positive)
      ->group(what);
  command.add_option("--discretisation", r.discretisation, "exact, or euler")->type_name("NAME")->group(what);
  command
      .add_option("--reduce", r.reduce,
                  "filter on so many states of a large linear model; none: on all, whatever it costs "
                  "(above 2000 states: as many as needed, 400 at most)")
      ->type_name("COUNT|none")
      ->check([](const std::string& text) -> std::string {
        return text == "none" ? "" : not_positive_count(text);
      })
      ->group(what);
  const char* data = "How to take the data";
  command.add_option("--step", r.step, "of the estimator; that of the data if not given")
      ->type_name("TIME")
      ->group(data);
  command.add_option("--window", r.window, "part of the data: 4s:5s")->type_name("FROM:TO")->group(data);
  command.add_option("--resample", r.resample, "times beside the steps: exact (a fault), nearest, linear")
      ->type_name("NAME")
      ->group(data);
  command.add_option("--late", r.late, "readings may arrive so much later")->type_name("TIME")->group(data);
  command.add_option("--gate", r.gate, "refuse a reading that is less probable than 1 - this: 0.9999")
      ->type_name("PROBABILITY")
      ->check(CLI::Range(0.0, 1.0))
      ->group(data);
  command.add_flag("--interpret", r.interpret, "do without the system's C compiler")->group(data);
  const char* saved = "Twins that are saved";
  auto* checkpoint = command
                         .add_option("--checkpoint", r.checkpoint,
                                     "save the twin there at the end; follows the data row by row")
                         ->type_name("F.twin")
                         ->group(saved);
  command.add_option("--every", r.every, "... and whenever so much time of the data has passed")
      ->type_name("TIME")
      ->needs(checkpoint)
      ->group(saved);
  command.add_option("--resume", r.resume, "continue the twin that was saved there")
      ->type_name("F.twin")
      ->group(saved);
  auto* realtime = add_realtime_options(command, r.realtime, false);
  command.add_option("--stop", r.stop, "how long; until Ctrl-C if not given")
      ->type_name("TIME")
      ->needs(realtime)
      ->group("In real time");
  const char* where = "Where to write";
  command.add_option("--output", r.output, "estimates with their standard deviations, innovations")
      ->type_name("F.csv|F.h5")
      ->group(where);
  r.json_option =
      command.add_option("--json", r.json, "everything for machines, to a file or standard output")
          ->type_name("[F.json]")
          ->expected(0, 1)
          ->group(where);
  add_estimate_report_options(command, r.report);
  command.callback([request] {
    request->data = request->source.first();
    estimate_command(*request);
  });
}

}  // namespace tellegen
