// tellegen export: a model's fixed step as C or Verilog, in a folder of its own, or as an FMU.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/data_options.h"
#include "cli/exported_model.h"
#include "tellegen/deploy/c_export.h"
#include "tellegen/deploy/filter_export.h"
#include "tellegen/deploy/fmu_export.h"
#include "tellegen/deploy/verilog_export.h"
#include "tellegen/estimate/estimate.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/reading.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ExportRequest : ExportedModelRequest {
  std::string as = "c", real = "double", core = "units", output, name, parameters, estimator, json;
  const CLI::App* command = nullptr;
  CLI::Option* json_option = nullptr;
  int fmi = 3;
  std::int64_t vector = 100;
  VerilogOptions hardware;
  DataRequest data;
};

// A folder that is not there yet, or holds nothing but an export.
void check_folder(const fs::path& folder) {
  if (!fs::exists(folder)) return;
  if (!fs::is_directory(folder))
    throw command_fault(tellegen_export, "T402", fmt::format("'{}' is not a folder", folder.string()));
  if (!fs::is_empty(folder) && !fs::exists(folder / "tellegen_math.h"))
    throw command_fault(tellegen_export, "T402",
                        fmt::format("'{}' has files that are none of an export", folder.string()),
                        {"choose another folder: files of the same name would be replaced"});
}

// A regular file, or none yet.
void check_fmu_path(const fs::path& path) {
  if (path.extension() != ".fmu")
    throw command_fault(tellegen_export, "T402", fmt::format("'{}' does not end in .fmu", path.string()));
  if (fs::is_directory(path))
    throw command_fault(tellegen_export, "T402", fmt::format("'{}' is a folder", path.string()));
}

// Model files are often called model.toml, in a folder that says which.
std::string name_of(const ExportRequest& request) {
  fs::path called = fs::absolute(request.file);
  if (called.stem() == "model") called = called.parent_path();
  return c_name(request.name.empty() ? called.stem().string() : request.name);
}

bool parameters_are_fixed(const ExportRequest& request) { return request.parameters == "fixed"; }

Json heading(const ExportRequest& request, const Model& model, double step) {
  return {{"model", model.name},
          {"file", request.file},
          {"form", request.as},
          {"step", step},
          {"output", request.output}};
}

// For machines instead of what people read. False: for people.
bool written_as_json(const ExportRequest& request, const Json& json) {
  if (request.json_option->count() == 0) return false;
  if (request.json.empty()) {
    fmt::print("{}", json_text(json));
    return true;
  }
  write_file(request.json, json_text(json));
  return false;
}

void print_parameters(const std::vector<std::string>& free, const std::vector<std::string>& fixed) {
  if (!free.empty()) fmt::print("can be set: {}\n", joined(free));
  for (const std::string& text : fixed) fmt::print("fixed: {}\n", text);
}

void write_files(const fs::path& folder, const std::vector<ExportedFile>& files) {
  try {
    fs::create_directories(folder);
    for (const ExportedFile& file : files) write_file(folder / file.name, file.text);
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_export, error);
  }
}

void write_c(const ExportRequest& request, const Model& model, Simulation& simulation) {
  const fs::path folder = request.output;
  const CExport exported = export_c(model, simulation,
                                    {.name = name_of(request),
                                     .vector = request.vector,
                                     .single = request.real == "float",
                                     .fixed = parameters_are_fixed(request)});
  write_files(folder, exported.files);
  const Problem& problem = simulation.problem();
  Json json = heading(request, model, problem.step);
  json.update({{"method", problem.options.method},
               {"real", request.real},
               {"operations", exported.operations},
               {"functions", exported.functions},
               {"iterates", exported.iterates},
               {"state_bytes", exported.state_bytes},
               {"parameters", exported.parameters},
               {"fixed", exported.fixed},
               {"differences", exported.differences}});
  if (written_as_json(request, json)) return;
  fmt::print("{}, {} with steps of {:g} s as C in {}\n", model.name, problem.options.method, problem.step,
             folder.string());
  fmt::print("a step: {} operations and {} calls of functions{}; {} bytes of state\n", exported.operations,
             exported.functions, exported.iterates ? ", with one of Newton's iterations" : "",
             exported.state_bytes);
  if (!exported.differences.empty())
    fmt::print(
        "in single precision; over the test vector up to {:.2g} of an output's largest value from double\n",
        *std::max_element(exported.differences.begin(), exported.differences.end()));
  print_parameters(exported.parameters, exported.fixed);
}

std::string count_of(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void write_archive(const std::string& path, const FmuExport& fmu) {
  try {
    AtomicFile file(path);
    write_zip(file.aside(), fmu.files);
    file.commit();
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_export, error);
  }
}

void print_binaries(const FmuExport& fmu) {
  fmt::print("binaries: {}\n",
             fmu.binaries.empty() ? "none, there is no compiler: sources only" : joined(fmu.binaries));
  if (!fmu.inputs.empty()) fmt::print("inputs: {}\n", joined(fmu.inputs));
  fmt::print("outputs: {}\n", joined(fmu.outputs));
}

Json to_json(const FmuExport& fmu) {
  return {{"binaries", fmu.binaries},
          {"inputs", fmu.inputs},
          {"outputs", fmu.outputs},
          {"parameters", fmu.parameters},
          {"fixed", fmu.fixed},
          {"model_exchange", fmu.no_exchange.empty()},
          {"no_exchange", fmu.no_exchange},
          {"no_derivatives", fmu.no_derivatives},
          {"states", fmu.states},
          {"indicators", fmu.indicators}};
}

void write_fmu(const ExportRequest& request, const Model& model, Simulation& simulation) {
  const FmuExport fmu =
      export_fmu(model, simulation,
                 {.name = name_of(request), .version = request.fmi, .fixed = parameters_are_fixed(request)});
  write_archive(request.output, fmu);
  const Problem& problem = simulation.problem();
  Json json = heading(request, model, problem.step);
  json.update({{"method", problem.options.method}, {"fmi", request.fmi}});
  json.update(to_json(fmu));
  if (written_as_json(request, json)) return;
  fmt::print("{}, {} with steps of {:g} s as an FMU (FMI {}.0, co-simulation{}) in {}\n", model.name,
             problem.options.method, problem.step, request.fmi,
             fmu.no_exchange.empty() ? " and model exchange" : "", request.output);
  if (!fmu.no_exchange.empty())
    fmt::print("no model exchange: {}\n", fmu.no_exchange);
  else
    fmt::print("model exchange: {}, {}{}\n", count_of(fmu.states, "state"),
               count_of(fmu.indicators, "event indicator"),
               fmu.no_derivatives.empty() ? ", directional derivatives"
                                          : "; no directional derivatives: " + fmu.no_derivatives);
  print_binaries(fmu);
  print_parameters(fmu.parameters, fmu.fixed);
}

VerilogOptions verilog_options(const ExportRequest& request) {
  VerilogOptions options = request.hardware;
  options.microcode = request.core == "microcode";
  if ((request.core == "pipeline") != (options.machines > 0))
    throw command_fault(tellegen_export, "T401", "--core pipeline and --machines go together",
                        {"--core pipeline --machines 8: eight machines, a step of each"});
  options.name = name_of(request);
  options.vector = request.vector;
  return options;
}

void write_verilog_files(const ExportRequest& request, const Model& model, const VerilogExport& exported) {
  write_files(request.output, exported.files);
  const HardwareDesign& d = exported.design;
  Json json = heading(request, model, d.step_seconds);
  json.update(
      {{"method", d.method}, {"cycles", d.cycles()}, {"bits", d.bits()}, {"steps", d.scenario_steps}});
  for (std::size_t k = 0; k < d.output_names.size(); ++k)
    json["errors"][d.output_names[k]] = json_number(d.run.errors[k].largest);
  if (written_as_json(request, json)) return;
  const char* what = d.estimator ? "row" : "step";
  fmt::print("{}, {}{} with {}s of {:g} s as Verilog in {}\n", model.name, d.estimator ? "estimator " : "",
             d.method, what, d.step_seconds, request.output);
  if (d.microcode)
    fmt::print("a {}: {} clock cycles, {} instructions, {} words of {} bits\n", what, d.cycles(),
               d.micro.instructions, d.micro.words.size(), d.bits());
  else if (d.machines > 0)
    fmt::print(
        "a {}: {} clock cycles, of {} machines {}, one every {}; {} multipliers and {} adders{}; words of {} "
        "bits, {} registers\n",
        what, d.schedule.cycles, d.machines, d.cycles(), d.schedule.interval, d.schedule.multipliers,
        d.schedule.adders,
        d.schedule.dividers > 0 ? fmt::format(" and {} dividers", d.schedule.dividers) : "", d.bits(),
        d.schedule.registers);
  else
    fmt::print(
        "a {}: {} clock cycles with {} multipliers and {} adders{}; words of {} bits, {} registers\n", what,
        d.schedule.cycles, d.schedule.multipliers, d.schedule.adders,
        d.schedule.dividers > 0 ? fmt::format(" and {} dividers", d.schedule.dividers) : "", d.bits(),
        static_cast<std::size_t>(d.schedule.registers) + d.fixed.states.size() + d.fixed.outputs.size());
  fmt::print("over {} {}s of the {}, largest error against double:\n", d.scenario_steps, what,
             d.estimator ? "record" : "scenario");
  for (std::size_t k = 0; k < d.output_names.size(); ++k)
    fmt::print("  {}: {:.2g} {}\n", d.output_names[k], d.run.errors[k].largest,
               d.fixed.outputs[k].angle ? "of a turn" : "of its largest value");
}

void write_verilog(const ExportRequest& request, const Model& model, Simulation& simulation) {
  write_verilog_files(request, model, export_verilog(model, simulation, verilog_options(request)));
}

// Ranges of words are those of a run along the record.
void write_estimator_verilog(const ExportRequest& request, const Model& model,
                             const FilterExportOptions& options) {
  if (request.data.files.empty())
    throw command_fault(tellegen_export, "T401", "an estimator as Verilog needs a record: ranges are its own",
                        {"give --data FILE, with the largest signals there are; synthesize makes one"});
  RecordOptions reading = record_options(model);
  reading.sensors = options.sensors;
  reading.inputs = options.inputs;
  reading.step = options.step;
  reading.clock = false;
  const Record record =
      from_zero(read_record(model, data_source(tellegen_export, request.data, request.file), reading));
  const Model begun = begun_with(model, record);
  std::vector<std::string> left_out;
  write_verilog_files(request, model,
                      export_filter_verilog(begun, options, record, split_list(request.outputs),
                                            verilog_options(request), left_out));
  for (const std::string& text : left_out) fmt::print("not exported: {}\n", text);
}

void write_estimator_fmu(const ExportRequest& request, const Model& model,
                         const FilterExportOptions& options) {
  const FilterFmu exported = export_filter_fmu(model, options, request.fmi);
  write_archive(request.output, exported.fmu);
  Json json = heading(request, model, options.step);
  json.update({{"estimator", request.estimator},
               {"fmi", request.fmi},
               {"binaries", exported.fmu.binaries},
               {"inputs", exported.fmu.inputs},
               {"outputs", exported.fmu.outputs},
               {"left_out", exported.left_out}});
  if (written_as_json(request, json)) return;
  fmt::print("{}, estimator {} with a row every {:g} s as an FMU (FMI {}.0, co-simulation) in {}\n",
             model.name, request.estimator, options.step, request.fmi, request.output);
  print_binaries(exported.fmu);
  for (const std::string& text : exported.left_out) fmt::print("not exported: {}\n", text);
}

// Sensors, inputs and the step are those of [estimate].
void export_estimator(const ExportRequest& request, const Model& model) {
  FilterExportOptions options{.name = name_of(request),
                              .estimator = request.estimator,
                              .vector = request.vector,
                              .single = request.real == "float"};
  options.step = !request.step.empty()   ? read_seconds({tellegen_export, "--step"}, request.step)
                 : model.estimation.step ? *model.estimation.step
                                         : model.simulation.step.value_or(0.0);
  if (!(options.step > 0.0))
    throw command_fault(tellegen_export, "T401", "an estimator needs a step", {"give --step"});
  options.sensors = model.estimation.sensors;
  options.inputs = model.estimation.inputs;
  if (request.as != "c") {
    (request.as == "fmu" ? write_estimator_fmu : write_estimator_verilog)(request, model, options);
    return;
  }
  const FilterExport exported = export_filter(model, options);
  write_files(request.output, exported.files);
  Json json = heading(request, model, options.step);
  json.update({{"estimator", request.estimator},
               {"real", request.real},
               {"operations", exported.operations},
               {"functions", exported.functions},
               {"state_bytes", exported.state_bytes},
               {"estimates", exported.estimates},
               {"differences", exported.differences},
               {"in_deviations", exported.in_deviations},
               {"left_out", exported.left_out}});
  if (written_as_json(request, json)) return;
  fmt::print("{}, estimator {} with a row every {:g} s as C in {}\n", model.name, request.estimator,
             options.step, request.output);
  fmt::print("a row: {} operations and {} calls of functions; {} bytes of state\n", exported.operations,
             exported.functions, exported.state_bytes);
  if (!exported.differences.empty())
    fmt::print(
        "in single precision; over the test vector an estimate is up to {:.2g} of its largest value and "
        "{:.2g} "
        "of its standard deviation from double\n",
        std::ranges::max(exported.differences), std::ranges::max(exported.in_deviations));
  fmt::print("estimates: {}\n", joined(exported.estimates));
  for (const std::string& text : exported.left_out) fmt::print("not exported: {}\n", text);
}

// An option that says nothing about what is chosen would be ignored: a fault instead.
void refuse_what_has_no_effect(const ExportRequest& r) {
  const auto refuse = [&](bool no_effect, std::initializer_list<const char*> options, const char* what) {
    for (const char* option : options)
      if (no_effect && r.command->count(option) > 0)
        throw command_fault(tellegen_export, "T401", fmt::format("{} is for {}", option, what),
                            {"it has no effect here; leave it out"});
  };
  const bool verilog = r.as == "verilog", estimator = !r.estimator.empty();
  refuse(!verilog,
         {"--core", "--bits", "--table-bits", "--multipliers", "--adders", "--dividers", "--latency",
          "--machines", "--interval"},
         "--as verilog");
  refuse(r.core != "units", {"--multipliers", "--adders", "--dividers"}, "--core units");
  refuse(r.core == "microcode", {"--latency"}, "--core units and --core pipeline");
  refuse(r.core != "pipeline", {"--interval"}, "--core pipeline");
  refuse(r.as != "fmu", {"--fmi"}, "--as fmu");
  refuse(r.as != "c", {"--real"}, "--as c");
  refuse(r.as == "fmu", {"--vector"}, "--as c and --as verilog, whose files replay it");
  refuse(verilog, {"--parameters"}, "--as c and --as fmu: hardware has no parameters");
  refuse(estimator, {"--method", "--iterations", "--stop", "--inputs", "--parameters"},
         "a model's step, not for its estimator");
  refuse(estimator && !verilog, {"--outputs"}, "a model's step, and for estimators as Verilog");
  refuse(!estimator || !verilog,
         {"--data", "--columns", "--delimiter", "--decimal", "--encoding", "--header-line", "--units-line",
          "--missing", "--time-column", "--time-format"},
         "--estimator with --as verilog");
}

void export_model(const ExportRequest& request) {
  check_choice({tellegen_export, "--as"}, request.as, {"c", "fmu", "verilog"});
  check_choice({tellegen_export, "--real"}, request.real, {"double", "float"});
  check_choice({tellegen_export, "--core"}, request.core, {"units", "microcode", "pipeline"});
  refuse_what_has_no_effect(request);
  if (request.fmi != 2 && request.fmi != 3)
    throw command_fault(tellegen_export, "T401", fmt::format("--fmi is 2 or 3, not {}", request.fmi));
  if (request.hardware.bits < least_word || request.hardware.bits > longest_word)
    throw command_fault(
        tellegen_export, "T401",
        fmt::format("--bits is {} to {}, not {}", least_word, longest_word, request.hardware.bits));
  if (request.hardware.table_bits < 0 || request.hardware.table_bits > request.hardware.bits)
    throw command_fault(tellegen_export, "T401",
                        fmt::format("--table-bits is 1 to the word length, {}, not {}", request.hardware.bits,
                                    request.hardware.table_bits));
  if (request.as == "fmu")
    check_fmu_path(request.output);
  else
    check_folder(request.output);
  if (!request.json.empty()) check_writable({tellegen_export, "--json"}, request.json, {".json"});
  Model model = read_exported_model(tellegen_export, request);
  if (!request.estimator.empty()) {
    export_estimator(request, model);
    return;
  }
  if (request.parameters != "tunable" && !parameters_are_fixed(request))
    for (const std::string& name : split_list(request.parameters))
      study_parameter(model, name, {std::string(tellegen_export), 0});
  ExportRequest with_inputs = request;
  with_inputs.hardware.external = take_inputs_out(tellegen_export, request, model);
  SimulationOptions options = exported_step_options(tellegen_export, request, model);
  // Larger networks go by tables, in double.
  options.straight_line = request.real == "float" || request.as == "verilog";
  // Changes as small as double allows are never reached in float.
  if (request.real == "float") options.tolerance = std::max(options.tolerance, 1e-4);
  const EquationSystem system = build_system(model);
  Simulation simulation(system, options, chosen_columns(tellegen_export, system, request.outputs, false));
  (request.as == "c"     ? write_c
   : request.as == "fmu" ? write_fmu
                         : write_verilog)(with_inputs, model, simulation);
}

}  // namespace

void add_export(CLI::App& command) {
  auto request = std::make_shared<ExportRequest>();
  ExportRequest& r = *request;
  r.command = &command;
  add_exported_model_options(command, r);
  command.add_option("--output", r.output, "folder for the files, or FILE.fmu")
      ->type_name("PATH")
      ->required();
  command
      .add_option("--as", r.as,
                  "c: C99, with a test that replays steps; fmu: for co-simulation; verilog: in fixed point")
      ->type_name("FORM");
  command.add_option("--real", r.real, "double or float, for --as c")->type_name("TYPE");
  command.add_option("--fmi", r.fmi, "version of FMI for --as fmu: 3 or 2")->type_name("NUMBER");
  command.add_option("--name", r.name, "name of files and functions; the model file's if not given")
      ->type_name("NAME");
  command
      .add_option(
          "--parameters", r.parameters,
          "numbers of components (r1.R) that can be set, beside the model's parameters; tunable: these "
          "alone, as if not given; fixed: none")
      ->type_name("LIST");
  command
      .add_option("--estimator", r.estimator,
                  "the model's estimator instead of its step: kf, ekf, pkf, ukf or steady")
      ->type_name("NAME");
  add_data_options(
      command, r.data,
      "record that the estimator follows with --as verilog: ranges of words are those of this run");
  command.add_option("--vector", r.vector, "steps in the test vector")
      ->type_name("COUNT")
      ->check(not_positive_count);
  command
      .add_option("--bits", r.hardware.bits,
                  fmt::format("word length for --as verilog; {} if not given", r.hardware.bits))
      ->type_name("COUNT");
  command
      .add_option("--table-bits", r.hardware.table_bits,
                  "bits that tables are good for, with --as verilog; the word length if not given")
      ->type_name("COUNT");
  const auto units = [&](const char* option, int& count, const char* what) {
    command.add_option(option, count, fmt::format("{} for --as verilog; {} if not given", what, count))
        ->type_name("COUNT")
        ->check(not_positive_count);
  };
  command
      .add_option(
          "--core", r.core,
          "for --as verilog: units, each operation on one of several; microcode, an instruction a cycle on a "
          "small processor; pipeline, steps of many machines under way at once")
      ->type_name("NAME");
  command.add_option("--machines", r.hardware.machines, "machines of --core pipeline")
      ->type_name("COUNT")
      ->check(not_positive_count);
  command
      .add_option("--interval", r.hardware.interval,
                  "clock cycles from one machine to the next; what keeps the pipeline full if not given")
      ->type_name("COUNT")
      ->check(not_positive_count);
  units("--multipliers", r.hardware.units.multipliers, "multipliers");
  units("--adders", r.hardware.units.adders, "adders");
  units("--dividers", r.hardware.units.dividers, "units for quotients and square roots");
  units("--latency", r.hardware.units.multiplier_latency, "clock cycles of a product");
  r.json_option = command.add_option("--json", r.json, "what was exported for machines")
                      ->type_name("[F.json]")
                      ->expected(0, 1);
  command.callback([request] { export_model(*request); });
}

}  // namespace tellegen
