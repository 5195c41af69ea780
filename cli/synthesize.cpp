// tellegen synthesize: a model file in; noisy data of its sensors out, for a rehearsal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/model_file.h"
#include "cli/progress.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/records/noise.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/table.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// The command line as it was typed.
struct SynthesizeRequest {
  std::string file, stop, step, sample, method, loss, bursts, stuck, outliers, late, also, output, truth,
      json;
  std::vector<std::string> set;
  std::uint64_t seed = 1;
  double tolerance = 0.0;
  bool noiseless = false, interpret = false, all = false, wants_json = false;
};

SimulationOptions options_of(const SynthesizeRequest& request) {
  SimulationOptions options = as_the_model_says();
  if (!request.stop.empty()) options.stop = read_seconds({tellegen_synthesize, "--stop"}, request.stop);
  if (!request.step.empty()) options.step = read_seconds({tellegen_synthesize, "--step"}, request.step);
  if (!request.sample.empty())
    options.sample = read_seconds({tellegen_synthesize, "--sample"}, request.sample);
  std::vector<std::string> methods;
  for (const IntegratorEntry& entry : integrators()) methods.emplace_back(entry.name);
  check_choice({tellegen_synthesize, "--method"}, request.method, methods);
  options.method = request.method;
  options.compile = !request.interpret;
  return options;
}

ModelError unreadable(std::string_view option, const std::string& text, const std::string& expected) {
  return command_fault(tellegen_synthesize, "T401", fmt::format("{} '{}' cannot be read", option, text),
                       {expected});
}

// "0.2", "20 %": a part of the whole.
double read_share(std::string_view option, const std::string& text) {
  const std::string expected = "it is a probability: 0.2, or \"20 %\"";
  std::optional<Quantity> quantity;
  try {
    quantity = units().parse(text);
  } catch (const UnknownUnit&) {
    throw unreadable(option, text, expected);
  }
  if (!quantity || (!quantity->unit.empty() && !units().convertible(quantity->unit, "1")))
    throw unreadable(option, text, expected);
  if (!(quantity->si >= 0.0 && quantity->si <= 1.0))
    throw command_fault(tellegen_synthesize, "T401",
                        fmt::format("{} must lie between 0 and 1, and is '{}'", option, text));
  return quantity->si;
}

// "A:B" cut at its colon; B empty where there is none.
std::pair<std::string, std::string> cut(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// "2Hz:50ms": how many begin in a second, and how long each lasts.
DisturbanceOptions::Stretches read_stretches(std::string_view option, const std::string& text) {
  const std::string expected = "it is RATE:LENGTH: 2Hz:50ms, two in a second that last 50 ms";
  const auto [rate, length] = cut(text);
  std::optional<Quantity> quantity;
  try {
    quantity = units().parse(rate);
  } catch (const UnknownUnit&) {
    throw unreadable(option, text, expected);
  }
  if (!quantity || length.empty() ||
      (!quantity->unit.empty() && !units().convertible(quantity->unit, "Hz")) || !(quantity->si >= 0.0) ||
      !std::isfinite(quantity->si))
    throw unreadable(option, text, expected);
  return {quantity->si, read_seconds({tellegen_synthesize, option}, length)};
}

DisturbanceOptions disturbance_of(const SynthesizeRequest& request) {
  DisturbanceOptions options;
  options.seed = request.seed;
  options.noise = !request.noiseless;
  if (!request.loss.empty()) options.loss = read_share("--loss", request.loss);
  if (!request.bursts.empty()) options.bursts = read_stretches("--bursts", request.bursts);
  if (!request.stuck.empty()) options.stuck = read_stretches("--stuck", request.stuck);
  if (!request.outliers.empty()) {
    const auto [share, size] = cut(request.outliers);
    options.outliers = read_share("--outliers", share);
    if (!size.empty()) {
      if (!not_positive(size).empty())
        throw unreadable("--outliers", request.outliers,
                         "it is PROBABILITY:SIZE: 0.01:20, by 20 times the sensor's noise");
      options.outlier_size = std::strtod(size.c_str(), nullptr);
    }
  }
  if (!request.late.empty()) {
    const auto [share, delay] = cut(request.late);
    if (delay.empty())
      throw unreadable("--late", request.late, "it is PROBABILITY:DELAY: 0.1:5ms, by up to 5 ms");
    options.late = read_share("--late", share);
    options.delay = read_seconds({tellegen_synthesize, "--late"}, delay);
  }
  return options;
}

void check_targets(const SynthesizeRequest& request) {
  check_writable({tellegen_synthesize, "--output"}, request.output, {".csv"});
  if (!request.truth.empty())
    check_writable({tellegen_synthesize, "--truth"}, request.truth, {".csv", ".h5", ".hdf5"});
  if (!request.json.empty()) check_writable({tellegen_synthesize, "--json"}, request.json, {".json"});
  std::error_code ignored;
  if (!request.truth.empty() &&
      fs::path(request.truth).lexically_normal() == fs::path(request.output).lexically_normal())
    throw command_fault(tellegen_synthesize, "T402", "--output and --truth are the same file");
  if (fs::equivalent(request.output, request.file, ignored))
    throw command_fault(tellegen_synthesize, "T402", fmt::format("--output would replace '{}'", request.file),
                        {"this run reads it: choose another name"});
}

void print(const Model& model, const Record& record, const std::vector<Disturbance>& done,
           const SynthesizeRequest& request, const std::string& brief) {
  fmt::print("{}, seed {}\n\n", model.name, request.seed);
  TextTable table{{"sensor", "unit", "noise", "readings", "lost", "in bursts", "stuck", "outliers", "late"},
                  {}};
  for (std::size_t s = 0; s < record.sensors.size(); ++s) {
    const ModelOutput& sensor = model.outputs[record.sensors[s]];
    const std::string unit = sensor_unit(model, record.sensors[s]);
    // A deviation is a difference: no offset.
    const double noise = sensor.noise.value_or(0.0);
    const double told = unit.empty() ? noise : units().from_si(noise, unit) - units().from_si(0.0, unit);
    const Disturbance& d = done[s];
    table.rows.push_back({sensor.name, unit, request.noiseless ? "0" : brief_number(told),
                          fmt::format("{}", record.counts[s].taken), fmt::format("{}", d.lost),
                          fmt::format("{}", d.burst), fmt::format("{}", d.stuck),
                          fmt::format("{}", d.outliers), fmt::format("{}", d.late)});
  }
  fmt::print("{}\n{} rows every {:g} s; {}\n", to_text(table), record.steps, record.step, brief);
  for (const std::string& file : {request.output, request.truth})
    if (!file.empty()) fmt::print("wrote {}\n", file);
}

nlohmann::ordered_json to_json(const Model& model, const Record& record, const std::vector<Disturbance>& done,
                               const SynthesizeRequest& request) {
  nlohmann::ordered_json json{{"model", model.name},    {"file", request.file}, {"seed", request.seed},
                              {"rows", record.steps},   {"step", record.step},  {"output", request.output},
                              {"inputs", record.inputs}};
  for (std::size_t s = 0; s < record.sensors.size(); ++s)
    json["sensors"].push_back({{"name", model.outputs[record.sensors[s]].name},
                               {"unit", sensor_unit(model, record.sensors[s])},
                               {"readings", record.counts[s].taken},
                               {"lost", done[s].lost},
                               {"in_bursts", done[s].burst},
                               {"stuck", done[s].stuck},
                               {"outliers", done[s].outliers},
                               {"late", done[s].late}});
  return json;
}

void synthesize(const SynthesizeRequest& request) {
  const SimulationOptions options = options_of(request);
  const DisturbanceOptions disturbance = disturbance_of(request);
  ReadOptions reading;
  for (const std::string& text : request.set)
    reading.overrides.push_back(read_assignment({tellegen_synthesize, "--set"}, text));
  check_targets(request);
  Model model = read_model_file(request.file, reading);
  if (request.tolerance > 0.0) model.simulation.tolerance = request.tolerance;
  for (const std::string& name : split_list(request.also)) {
    const auto found = std::find_if(model.outputs.begin(), model.outputs.end(),
                                    [&](const ModelOutput& o) { return o.name == name; });
    if (found == model.outputs.end()) {
      std::vector<std::string> names;
      for (const ModelOutput& o : model.outputs) names.push_back(o.name);
      throw command_fault(tellegen_synthesize, "T401",
                          fmt::format("--also: the model has no output '{}'", name),
                          {did_you_mean(name, names)});
    }
    model.estimation.inputs.push_back(name);
  }
  Rehearsal rehearsal;
  try {
    ProgressBar bar;
    rehearsal =
        rehearse(model, options, request.all, ProgressBar::watched() ? Progress(std::ref(bar)) : Progress());
  } catch (const SimulationError& error) {
    throw StudyError(request.file, error.what(), error.details);
  }
  if (!rehearsal.failure.empty())
    throw StudyError(request.file, rehearsal.failure,
                     {"nothing was written; shorten the step, or try method bdf1 or adaptive"});
  std::vector<Disturbance> done;
  const Record record = disturbed(model, rehearsal.record, disturbance, &done);
  try {
    write_record(request.output, model, record);
    if (!request.truth.empty()) {
      if (request.truth.ends_with(".csv"))
        write_csv(request.truth, rehearsal.truth);
      else
        write_hdf5(request.truth, rehearsal.truth);
    }
    if (!request.json.empty()) write_file(request.json, json_text(to_json(model, record, done, request)));
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_synthesize, error);
  }
  if (request.wants_json && request.json.empty())
    fmt::print("{}", json_text(to_json(model, record, done, request)));
  else if (!is_stream(request.output))  // the data are what standard output is for
    print(model, record, done, request, rehearsal.brief);
}

}  // namespace

void add_synthesize(CLI::App& command) {
  auto request = std::make_shared<SynthesizeRequest>();
  SynthesizeRequest& r = *request;
  command.add_option("FILE", r.file, "model file with [sensors]")->required();
  const char* what = "What goes wrong on the way (to each sensor by itself)";
  command.add_option("--seed", r.seed, "of the random generator (1); the same seed gives the same file")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber)
      ->group(what);
  command.add_option("--loss", r.loss, "readings that are lost: 0.2")->type_name("PROBABILITY")->group(what);
  command.add_option("--bursts", r.bursts, "stretches in which nothing is read: 2Hz:50ms")
      ->type_name("RATE:LENGTH")
      ->group(what);
  command.add_option("--stuck", r.stuck, "stretches in which a reading is repeated: 0.1Hz:1s")
      ->type_name("RATE:LENGTH")
      ->group(what);
  command
      .add_option("--outliers", r.outliers,
                  "readings that are off, by 20 times the noise or as given: 0.01:30")
      ->type_name("PROBABILITY[:SIZE]")
      ->group(what);
  command.add_option("--late", r.late, "readings that arrive later, by up to: 0.1:5ms")
      ->type_name("PROBABILITY:DELAY")
      ->group(what);
  command.add_flag("--noiseless", r.noiseless, "without the noise that the sensors declare")->group(what);
  const char* how = "How to integrate (over the model's [simulation])";
  command.add_option("--set", r.set, "another number of the truth: --set R1=2ohm; once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(how);
  command.add_option("--stop", r.stop, "end of the simulation")->type_name("TIME")->group(how);
  command.add_option("--step", r.step, "integration step")->type_name("TIME")->group(how);
  command.add_option("--sample", r.sample, "interval between readings; every step if not given")
      ->type_name("TIME")
      ->group(how);
  command.add_option("--method", r.method, "integration method, as of simulate")
      ->type_name("NAME")
      ->group(how);
  command.add_option("--tolerance", r.tolerance, "of Newton's iteration, or of a step's error")
      ->type_name("NUMBER")
      ->check(not_positive)
      ->group(how);
  command.add_flag("--interpret", r.interpret, "do without the system's C compiler")->group(how);
  const char* where = "Where to write";
  command.add_option("--output", r.output, "readings, and the inputs that data give")
      ->required()
      ->type_name("F.csv")
      ->group(where);
  command
      .add_option("--also", r.also,
                  "outputs that are known as they are, as a controller knows what it commands")
      ->type_name("LIST")
      ->group(where);
  command.add_option("--truth", r.truth, "sensors and outputs of the model without noise")
      ->type_name("F.csv|F.h5")
      ->group(where);
  command.add_flag("--all", r.all, "every variable of the model into --truth")->group(where);
  auto* json = command.add_option("--json", r.json, "summary for machines, to a file or standard output")
                   ->type_name("[F.json]")
                   ->expected(0, 1)
                   ->group(where);
  command.callback([request, json] {
    request->wants_json = json->count() > 0;
    synthesize(*request);
  });
}

}  // namespace tellegen
