// tellegen identify: a model and a record in; the model's numbers out, with no starting values.
#include "tellegen/identify/identify.h"
#include "tellegen/model/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/data_options.h"
#include "cli/known_first.h"
#include "cli/study_options.h"
#include "cli/twin_report.h"
#include "tellegen/estimate/suspicion.h"
#include "tellegen/model/document.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/rewrite.h"
#include "tellegen/records/choice.h"
#include "tellegen/report/stage_report.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/table.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct IdentifyRequest : StudyRequest {
  std::string parameters, sensors, inputs, resample, output;
  DataRequest source;
  ResponseRequest responses;
  TwinReportRequest report;
  double robust = 0.0;
  bool profile = false, anyway = false;
};

void check_request(const IdentifyRequest& request) {
  check_choice({tellegen_identify, "--resample"}, request.resample, {"exact", "nearest", "linear"});
  std::vector<std::string> methods;
  for (const IntegratorEntry& entry : integrators()) methods.emplace_back(entry.name);
  check_choice({tellegen_identify, "--method"}, request.method, methods);
  if (!request.json.empty()) check_writable({tellegen_identify, "--json"}, request.json, {".json"});
  check_report(tellegen_identify, request.report,
               {request.file, request.source.first(), request.report.truth});
  if (request.output.empty()) return;
  check_writable({tellegen_identify, "--output"}, request.output, {".toml"});
  std::error_code ignored;
  if (fs::equivalent(request.output, request.file, ignored))
    throw command_fault(tellegen_identify, "T402", fmt::format("--output would replace '{}'", request.file),
                        {"give another name"});
}

std::vector<int> unknowns_of(Model& model, const IdentifyRequest& request) {
  if (!request.parameters.empty()) return unknowns_named(model, split_list(request.parameters));
  std::vector<int> found;
  for (std::size_t k = 0; k < model.unknowns.size(); ++k)
    if (model.unknowns[k].varies == ModelUnknown::Varies::constant) found.push_back(static_cast<int>(k));
  if (found.empty())
    throw command_fault(tellegen_identify, "T611", "nothing is asked for",
                        {"name the parameters to find: --parameters R1,C1, or [unknowns] in the model file"});
  return found;
}

struct IdentifyReport {
  const IdentifyRequest& request;
  const Model& model;  // as read
  const Record& record;
  const std::vector<int>& unknowns;
  const Identification& found;
  std::vector<std::string> written;

  const StageResult& stage() const { return found.fit.stages[0]; }
  bool good() const { return found.good() && (request.anyway || (found.consistent() && vague().empty())); }
  const std::string& name(std::size_t k) const { return model.parameters[found.parameters[k]].name; }
  const std::string& unit(std::size_t k) const { return model.parameters[found.parameters[k]].unit; }

  // Positive numbers of which the readings give hardly the size, in words.
  std::vector<std::string> vague() const {
    constexpr double known = 1.0 / 3.0;  // relative deviation: the interval of 95 % reaches to a third
    std::vector<std::string> words;
    if (found.failure.empty())
      for (std::size_t k = 0; k < stage().parameters.size(); ++k) {
        const CalibratedParameter& p = stage().parameters[k];
        if (p.coordinate == ModelUnknown::Coordinate::logarithm && p.deviation > known * std::abs(p.after))
          words.push_back(fmt::format("{}: {} with a standard deviation of {:.0f} %", name(k),
                                      text_in_unit(p.after, unit(k)),
                                      100.0 * p.deviation / std::abs(p.after)));
      }
    return words;
  }

  // Sensors that have lost most of their readings, and where those are that they have left.
  std::vector<std::string> lost() const {
    std::vector<std::string> words;
    const std::size_t width = record.sensors.size();
    for (std::size_t s = 0; s < width; ++s) {
      std::int64_t count = 0, first = -1, last = 0;
      for (std::int64_t row = 0; row < record.steps; ++row) {
        if (std::isnan(record.readings[static_cast<std::size_t>(row) * width + s])) continue;
        if (first < 0) first = row;
        last = row;
        ++count;
      }
      if (5 * count >= record.steps) continue;
      words.push_back(fmt::format(
          "'{}' has {} readings in {} rows{}", model.outputs[record.sensors[s]].name, count, record.steps,
          count == 0 ? ""
                     : fmt::format(", from {:.4g} s to {:.4g} s", record.step * static_cast<double>(first),
                                   record.step * static_cast<double>(last))));
    }
    return words;
  }
};

std::vector<std::string> search_lines(const Identification& found) {
  std::vector<std::string> lines{fmt::format("{} relation{} between readings and parameters: {}",
                                             found.equations.size(), found.equations.size() == 1 ? "" : "s",
                                             joined(found.equations))};
  if (!found.hidden.empty())
    lines.push_back(
        fmt::format("'{}' is not read: it was eliminated from these relations, and follows from the result",
                    found.hidden));
  if (!found.poles.empty())
    lines.push_back(
        fmt::format("searched over {} values of {}", found.search.regressions, joined(found.poles)));
  if (found.search.starts.size() > 1)
    lines.push_back(fmt::format("{} different sets of parameters satisfy them best; {} fitted",
                                found.search.starts.size(), found.fitted_costs.size()));
  return lines;
}

void print_search(const IdentifyReport& report) {
  const Identification& found = report.found;
  for (const std::string& line : search_lines(found)) fmt::print("{}\n", line);
  fmt::print("\n");
  TextTable table{{"parameter", "unit", "from the relations"}, {}};
  for (std::size_t k = 0; k < found.parameters.size(); ++k)
    table.rows.push_back({report.name(k), report.unit(k),
                          text_in_unit(found.search.starts.front().numbers[k], report.unit(k))});
  fmt::print("{}\n", to_text(table));
}

std::vector<std::string> noise_lines(const IdentifyReport& report) {
  std::vector<std::string> lines;
  for (std::size_t s = 0; s < report.found.noise.size(); ++s)
    if (report.found.noise_estimated[s]) {
      const ModelOutput& sensor = report.model.outputs[report.record.sensors[s]];
      lines.push_back(fmt::format("noise of {}, from the fit: {} {}", sensor.name,
                                  brief_number(deviation_in_unit(report.found.noise[s], sensor.unit), 3),
                                  sensor.unit));
    }
  return lines;
}

// Intervals by profile likelihood beside those by the standard deviations.
TextTable profile_table(const IdentifyReport& report) {
  const Identification& found = report.found;
  TextTable table{{"parameter", "unit", "95 % from", "to", "by the standard deviation", ""}, {}};
  for (std::size_t k = 0; k < found.profile.size(); ++k) {
    const ProfileInterval& p = found.profile[k];
    const CalibratedParameter& c = report.stage().parameters[k];
    const auto end = [&](double v) {
      return std::isnan(v) ? std::string("open") : text_in_unit(v, report.unit(k));
    };
    table.rows.push_back({report.name(k), report.unit(k), end(p.low), end(p.high),
                          text_in_unit(c.after - 1.96 * c.deviation, report.unit(k)),
                          text_in_unit(c.after + 1.96 * c.deviation, report.unit(k))});
  }
  return table;
}

void print_rest(const IdentifyReport& report) {
  for (const std::string& line : noise_lines(report)) fmt::print("{}\n", line);
  if (!report.found.profile.empty()) fmt::print("\n{}", to_text(profile_table(report)));
}

void write_report(IdentifyReport& report, const IdentifyOptions& options) {
  const IdentifyRequest& request = report.request;
  if (request.report.report.empty() || !report.good()) return;
  TwinReportRequest page = request.report;
  if (page.title.empty()) page.title = fmt::format("Identification: {}", report.model.name);
  const Settings settings{
      {"model file", request.file},
      {"data", comma_list(request.source.files)},
      {"other records", comma_list(request.source.more)},
      {"columns", request.source.columns},
      {"rows", report.record.rows_text()},
      {"robust beyond", request.robust > 0.0 ? fmt::format("{:g} sd", request.robust) : ""},
      {"integration", report.stage().method},
      {"replaced", comma_list(request.set)}};
  PagePart part = calibration_part(report.record, report.found.fit, page.of_calibration(settings),
                                   options.fit.integration);
  std::string search = paragraph("No starting values: the search gives them.");
  for (const std::string& line : search_lines(report.found)) search += paragraph(line);
  for (const std::string& line : noise_lines(report)) search += paragraph(line);
  if (!report.found.profile.empty())
    search += table_html(profile_table(report), "Intervals by profile likelihood");
  part.html = subsection("Search", search) + part.html;
  write_twin_report(tellegen_identify, page, report.model, std::move(part));
  report.written.push_back(page.report);
}

Json to_json(const IdentifyReport& report) {
  const Identification& found = report.found;
  Json json{{"model", report.model.name},
            {"file", report.request.file},
            {"rows", report.record.steps},
            {"step", report.record.step},
            {"records", 1 + report.request.source.more.size()},
            {"good", report.good()},
            {"relations", found.equations},
            {"left_out", found.left_out},
            {"poles", found.poles},
            {"eliminated", found.hidden},
            {"regressions", found.search.regressions},
            {"search_seconds", found.search_seconds},
            {"remarks", report.record.remarks}};
  auto& starts = json["starts"] = Json::array();
  for (const RelationStart& s : found.search.starts)
    starts.push_back({{"numbers_si", s.numbers}, {"cost", json_number(s.cost)}});
  auto& fitted = json["fitted"] = Json::array();
  for (std::size_t k = 0; k < found.fitted_costs.size(); ++k)
    fitted.push_back({{"numbers_si", found.fitted_numbers[k]}, {"cost", json_number(found.fitted_costs[k])}});
  auto& noise = json["noise"] = Json::array();
  for (std::size_t s = 0; s < found.noise.size(); ++s)
    noise.push_back({{"sensor", report.model.outputs[report.record.sensors[s]].name},
                     {"deviation_si", found.noise[s]},
                     {"estimated", found.noise_estimated[s] != 0}});
  auto& profile = json["profile"] = Json::array();
  for (const ProfileInterval& p : found.profile)
    profile.push_back({{"parameter", report.model.parameters[p.parameter].name},
                       {"low_si", json_number(p.low)},
                       {"high_si", json_number(p.high)}});
  json["fit"] = stage_json(report.model, report.stage());
  json["written"] = report.written;
  return json;
}

// Nothing is written where the numbers are not to be trusted.
void write_model(IdentifyReport& report) {
  if (report.request.output.empty() || !report.good()) return;
  std::vector<double> numbers, deviations;
  for (const CalibratedParameter& p : report.stage().parameters) {
    numbers.push_back(p.after);
    deviations.push_back(p.deviation);
  }
  try {
    write_file(report.request.output, with_numbers(read_text(report.request.file, {}), report.model,
                                                   report.found.parameters, numbers, deviations));
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_identify, error);
  }
  report.written.push_back(report.request.output);
}

// What would explain it: mistakes in the columns are undone, and the numbers sought again.
void add_suspicions(const IdentifyReport& report, const IdentifyOptions& options,
                    std::vector<std::string>& details) {
  IdentifyOptions quick = options;
  quick.profile = false;
  quick.fits = 1;
  // What is right begins near its numbers and is there soon; what is wrong would go on for ever.
  constexpr int few = 3, enough = 12;
  constexpr double far_off = 10.0;
  const auto quality_of = [&](const Model& model, const Record& record) {
    constexpr double nothing = std::numeric_limits<double>::infinity();
    try {
      quick.fit.most_iterations = few;
      const Identification first = identify(model, record, report.unknowns, quick);
      if (first.good()) return first.quality;
      if (!first.failure.empty() || !(first.fit.stages[0].chi_square < far_off)) return nothing;
      quick.fit.most_iterations = enough;
      return identify(model, record, report.unknowns, quick).quality;
    } catch (const std::exception&) {
      return nothing;
    }
  };
  const auto quality = [&](const Record& record) { return quality_of(report.model, record); };
  const std::vector<Suspicion> found = suspicions(report.model, report.record, report.found.quality, quality);
  for (const Suspicion& s : found) details.push_back("likely reason: " + s.text);
  if (!found.empty()) return;
  // A nameplate misread: other numbers of poles, the shaft's speed as it was.
  for (const std::string& name : parameter_names(report.model, true)) {
    if (name != "poles" && !name.ends_with(".poles")) continue;
    for (const double poles : {2.0, 4.0, 6.0, 8.0, 10.0, 12.0}) {
      Model other = report.model;
      const int parameter = study_parameter(other, name);
      const double now = other.parameters[parameter].number;
      if (poles == now) continue;
      set_parameters(other, std::span(&parameter, 1), std::span(&poles, 1));
      if (quality_of(other, report.record) > 1.5) continue;
      details.push_back(
          fmt::format("likely reason: {} = {:g} is wrong; the record fits {:g} poles", name, now, poles));
      return;
    }
  }
}

void refuse(const IdentifyReport& report, const IdentifyOptions& options) {
  if (report.good()) return;
  const Identification& found = report.found;
  std::string message = found.failure;
  std::vector<std::string> details = found.misfit;
  const std::vector<std::string> vague = report.vague(), lost = report.lost();
  bool open = false;
  if (message.empty()) {
    const StageResult& stage = report.stage();
    message = stage.failure.empty() ? "the model does not fit the record" : stage.failure;
    // What a wrong fit leaves open says nothing of the readings.
    const bool fits = found.misfit.empty() && stage.misfit.empty();
    open = fits && !stage.open.empty();
    if (open) details.insert(details.end(), stage.open.begin(), stage.open.end());
    if (!open && !stage.open.empty()) message = "the model does not fit the record";
    if (!stage.misfit.empty()) details.push_back(stage.misfit);
  }
  const bool unknown = found.good() && found.consistent();  // it fits, but says little
  if (unknown) message = "the readings hardly determine all parameters";
  if (unknown || open) details.insert(details.end(), vague.begin(), vague.end());
  details.insert(details.end(), lost.begin(), lost.end());
  if (unknown) {
    details.emplace_back(
        "readings while these matter would help: a longer record, more of its rows, less noise; 'tellegen "
        "design-experiment' proposes one");
    details.emplace_back("--anyway takes the result as it is");
  } else if (open) {
    details.emplace_back(
        "state one of them (--set NAME=VALUE) or a convention (--set L_r=L_s), or measure what "
        "distinguishes them");
    if (!lost.empty()) details.emplace_back("record again from the start on, with fewer readings lost");
  } else if (!lost.empty() && !found.good()) {
    details.emplace_back(
        "too few readings remain to find the parameters and the noise: record again with fewer lost, or give "
        "the noise in [sensors]");
  } else {
    const std::vector<std::string> starts = contradicted_starts(report.model, report.record, found);
    details.insert(details.end(), starts.begin(), starts.end());
    if (!starts.empty())
      details.emplace_back(
          "the record does not begin where the model does: record from the start on, or give [initial]; a "
          "steady "
          "part alone does not give what changes would");
    else
      add_suspicions(report, options, details);
    details.emplace_back(
        "the data, the model or the noise of [sensors] is wrong; see units, columns, signs and poles");
    if (found.good()) details.emplace_back("--anyway takes the result as it is");
  }
  throw StudyError(report.request.file, message, details);
}

void warn_of_missing_sensors(const Model& model, const Record& record) {
  for (int s : model.estimation.sensors)
    if (std::find(record.sensors.begin(), record.sensors.end(), s) == record.sensors.end())
      fmt::print(stderr,
                 "warning: no column of the data is sensor '{}'; tellegen data FILE --model MODEL shows what "
                 "they have\n",
                 model.outputs[s].name);
}

void identify_command(const IdentifyRequest& request) {
  check_request(request);
  Model model = read_study_model(tellegen_identify, request);
  const std::vector<int> unknowns = unknowns_of(model, request);
  const DataSource data = data_source(tellegen_identify, request.source, request.file);
  RecordOptions reading;
  reading.clock = false;  // its relations are integrals over equal steps
  reading.sensors = request.sensors.empty() ? sensors_in_data(model, data)
                                            : sensors_named(model, split_list(request.sensors));
  reading.inputs = request.inputs.empty() ? model.estimation.inputs : split_list(request.inputs);
  reading.resample = request.resample.empty() ? model.estimation.resample : request.resample;
  if (!request.sample.empty()) reading.step = read_seconds({tellegen_identify, "--sample"}, request.sample);
  Record record = read_record(model, data, reading);
  IdentifyOptions options;
  options.fit.more_records = read_more_records(tellegen_identify, request.source, request.file, model,
                                               reading, !request.sensors.empty(), record);
  if (request.sensors.empty()) warn_of_missing_sensors(model, record);
  options.profile = request.profile;
  options.fit.responses = read_responses(tellegen_identify, request.responses, request.source, request.file);
  options.fit.robust = request.robust;
  options.fit.integration.method = request.method;
  if (!request.step.empty())
    options.fit.integration.step = read_seconds({tellegen_identify, "--step"}, request.step);
  options.fit.integration.compile = !request.interpret;
  const Identification found = identify(model, record, unknowns, options);
  IdentifyReport report{request, model, record, unknowns, found, {}};
  if (!found.failure.empty()) refuse(report, options);
  if (report.stage().starts.empty() || report.stage().found().path.empty())
    throw StudyError(request.file, report.stage().failure);
  write_model(report);
  write_report(report, options);
  if (!write_json(tellegen_identify, request, json_text(to_json(report)))) {
    fmt::print("{}, {}", model.name, record.rows_text());
    for (const Record& more : options.fit.more_records) fmt::print(", {}", more.rows_text());
    fmt::print("\n\n");
    for (const std::string& remark : record.remarks) fmt::print("{}\n", remark);
    print_search(report);
    fmt::print("{}", stage_text(model, report.stage()));
    print_rest(report);
    for (const std::string& file : report.written) fmt::print("wrote {}\n", file);
  }
  for (const std::string& warning : report.stage().warnings) fmt::print(stderr, "warning: {}\n", warning);
  refuse(report, options);
}

}  // namespace

void add_identify(CLI::App& command) {
  auto request = std::make_shared<IdentifyRequest>();
  IdentifyRequest& r = *request;
  command
      .add_option("FILE", r.file,
                  "model file with [sensors]; its values of the parameters to find are not used")
      ->required();
  add_data_options(
      command, r.source,
      "measurements: a column of times, one for each sensor; CSV of any shape, HDF5, .mat, MDF 4; a "
      "folder, or once for each of several files in sequence")
      ->required();
  add_record_option(command, r.source);
  add_response_options(command, r.responses);
  const char* what = "What to find";
  command
      .add_option("--parameters", r.parameters, "parameters to find: R_1,r2.R; all [unknowns] if not given")
      ->type_name("LIST")
      ->group(what);
  command.add_option("--sensors", r.sensors, "sensors that are used; all that the data have if not given")
      ->type_name("LIST")
      ->group(what);
  command.add_option("--inputs", r.inputs, "inputs and parameters that the data give")
      ->type_name("LIST")
      ->group(what);
  command
      .add_option("--set", r.set, "replace a parameter, or state a convention: --set L_r=L_s; once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(what);
  const char* how = "How to search";
  command.add_flag("--profile", r.profile, "intervals by profile likelihood, too")->group(how);
  command
      .add_option("--robust", r.robust,
                  "readings farther off than so many standard deviations of the noise count less: 2")
      ->type_name("NUMBER")
      ->check(not_positive)
      ->group(how);
  command.add_flag("--anyway", r.anyway, "take a result that does not fit, or of which little is known")
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
  command
      .add_option("--output", r.output,
                  "the model file with the parameters found; nothing where they are not to be trusted")
      ->type_name("F.toml")
      ->group(where);
  r.json_option =
      command.add_option("--json", r.json, "everything for machines, to a file or standard output")
          ->type_name("[F.json]")
          ->expected(0, 1)
          ->group(where);
  add_calibration_report_options(command, r.report);
  command.callback([request] {
    request->wants_json = request->json_option->count() > 0;
    identify_command(*request);
  });
}

}  // namespace tellegen
