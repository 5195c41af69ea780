// tellegen benchmark circuits: speed and error against published results, other programs and hand-written
// code; converter: a switching converter against ngspice; default: netlists
// as they are against ngspice; readers: large inputs; sweep: a killed study;
// derivatives: sensitivities beside finite differences; stack: a body of some ten thousand cells; machines:
// electric machines in real time; machine-extraction: a machine from its cross-section, and its qd0 model;
// twin: the thermal digital twin on its published problems; lossy: a motor estimated from samples of which
// some are lost; sensor-faults: sensors that fail, and are named; estimate-size: filters of large networks;
// identify: numbers with no starting values; relaxation: the published conic route to such; mechanisms: open
// and closed chains beside Simbody and DART; maps: lookups; export: exported C beside the own loop; python:
// calls beside those of C++.
#include <memory>

#include "benchmarks/circuits.h"
#include "benchmarks/converter.h"
#include "benchmarks/default_run.h"
#include "benchmarks/derivatives.h"
#include "benchmarks/estimate_size.h"
#include "benchmarks/exported_code.h"
#include "benchmarks/hardware.h"
#include "benchmarks/identification.h"
#include "benchmarks/lossy.h"
#include "benchmarks/machine_extraction.h"
#include "benchmarks/machines.h"
#include "benchmarks/maps.h"
#include "benchmarks/mechanisms.h"
#include "benchmarks/python_calls.h"
#include "benchmarks/readers.h"
#include "benchmarks/relaxation.h"
#include "benchmarks/sensor_faults.h"
#include "benchmarks/stack.h"
#include "benchmarks/sweep.h"
#include "benchmarks/twin.h"
#include "cli/arguments.h"
#include "cli/program.h"

namespace tellegen {
namespace {

constexpr std::string_view circuits_command = "tellegen benchmark circuits";

void run(const CircuitsOptions& options) {
  std::vector<std::string> known;
  for (const SectionName& section : circuits_sections()) known.emplace_back(section.name);
  for (const std::string& name : options.only) check_choice({circuits_command, "--only"}, name, known);
  if (!options.json.empty()) check_writable({circuits_command, "--json"}, options.json, {".json"});
  if (run_circuits(options)) return;
  throw StudyError(std::string(circuits_command), "answers disagree; the report above says which", {});
}

void run_readers_command(const ReadersOptions& options) {
  const std::string_view name = "tellegen benchmark readers";
  if (!options.json.empty()) check_writable({name, "--json"}, options.json, {".json"});
  if (run_readers(options)) return;
  throw StudyError(std::string(name), "answers disagree; the report above says which", {});
}

void add_readers(CLI::App& command) {
  CLI::App* readers = command.add_subcommand(
      "readers", "a model file of 10^6 components and a CSV file of 100 MB: seconds and memory");
  const auto options = std::make_shared<ReadersOptions>();
  readers->add_option("--components", options->components, "size of the model file")
      ->check(CLI::PositiveNumber);
  readers->add_option("--bytes", options->csv_bytes, "size of the CSV file")->check(CLI::PositiveNumber);
  readers
      ->add_option("--record-bytes", options->record_bytes, "size of the CSV file that is read as a record")
      ->check(CLI::PositiveNumber);
  readers->add_option("--json", options->json, "write everything that is printed to this file");
  readers->callback([options] { run_readers_command(*options); });
}

void add_converter(CLI::App& command) {
  CLI::App* converter =
      command.add_subcommand("converter", "a buck converter at 100 kHz against ngspice, at equal accuracy");
  const auto options = std::make_shared<ConverterOptions>();
  converter->add_flag("--quick", options->quick, "one setting of each program, once");
  converter->add_option("--json", options->json, "write everything that is printed to this file");
  converter->callback([options] {
    const std::string_view name = "tellegen benchmark converter";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_converter(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_default_run(CLI::App& command) {
  CLI::App* runs = command.add_subcommand(
      "default", "netlists with default settings against ngspice: errors, commands, loops");
  const auto options = std::make_shared<DefaultRunOptions>();
  runs->add_flag("--quick", options->quick, "two circuits, once");
  runs->add_option("--json", options->json, "write everything that is printed to this file");
  runs->callback([options] {
    const std::string_view name = "tellegen benchmark default";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_default_benchmark(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_sweep_benchmark(CLI::App& command) {
  CLI::App* sweep = command.add_subcommand(
      "sweep", "a study of 10 000 samples, killed three times: the same bytes, and samples per second");
  const auto options = std::make_shared<SweepBenchmarkOptions>();
  sweep->add_option("--samples", options->samples, "size of the study")->check(CLI::Range(10, 100'000'000));
  sweep->add_option("--lane-samples", options->lane_samples, "of the thermal network in lanes (100000)")
      ->check(CLI::Range(10, 10'000'000));
  sweep->add_option("--json", options->json, "write everything that is printed to this file");
  sweep->callback([options] {
    const std::string_view name = "tellegen benchmark sweep";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_sweep_benchmark(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_derivatives(CLI::App& command) {
  CLI::App* derivatives = command.add_subcommand(
      "derivatives",
      "forward and adjoint sensitivities of a ladder beside finite differences; equation sets");
  const auto options = std::make_shared<DerivativesOptions>();
  derivatives->add_option("--loops", options->loops, "size of the ladder")->check(CLI::Range(6, 1'000'000));
  derivatives->add_option("--only", options->only, "linear, diodes, adjoint or cell")
      ->check(CLI::IsMember({"linear", "diodes", "adjoint", "cell"}));
  derivatives->add_option("--repetitions", options->repetitions, "of every step loop; the shortest counts")
      ->check(CLI::PositiveNumber);
  derivatives->add_option("--json", options->json, "write everything that is printed to this file");
  derivatives->callback([options] {
    const std::string_view name = "tellegen benchmark derivatives";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_derivatives(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_twin(CLI::App& command) {
  CLI::App* twin = command.add_subcommand(
      "twin", "the thermal digital twin on its published problems, over many records of noise");
  const auto options = std::make_shared<TwinBenchmarkOptions>();
  std::string sections;
  for (const TwinSection& section : twin_sections())
    sections += "\n  " + std::string(section.name) + std::string(12 - section.name.size(), ' ') +
                std::string(section.summary);
  twin->add_option("--seeds", options->seeds, "records of each problem")->check(CLI::Range(1, 100'000));
  twin->add_option("--only", options->only, "sections to run, by name")->delimiter(',');
  twin->add_option("--soak-steps", options->soak_steps, "length of the soak")->check(CLI::PositiveNumber);
  twin->add_option("--json", options->json, "write everything that is printed to this file");
  twin->footer("Sections:" + sections);
  twin->callback([options] {
    const std::string_view name = "tellegen benchmark twin";
    std::vector<std::string> known;
    for (const TwinSection& section : twin_sections()) known.emplace_back(section.name);
    for (const std::string& section : options->only) check_choice({name, "--only"}, section, known);
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_twin_benchmark(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_stack(CLI::App& command) {
  CLI::App* stack = command.add_subcommand(
      "stack",
      "one phase of an inverter in three dimensions: meshes, effective resistances, four transients");
  const auto options = std::make_shared<StackOptions>();
  stack->add_option("--cells", options->cells, "widths of cells for the steady state, mm")
      ->delimiter(',')
      ->check(CLI::Range(0.3, 50.0));
  stack->add_option("--transient-cell", options->transient_cell, "width of cells for the transients, mm")
      ->check(CLI::Range(0.3, 50.0));
  stack->add_option("--stop", options->stop, "of the transients, s")->check(CLI::PositiveNumber);
  stack->add_flag("!--steady-only", options->transients, "no transients");
  stack->add_option("--output", options->output, "folder for case1.csv to case4.csv: temperatures every 1 ms")
      ->check(CLI::ExistingDirectory);
  stack->add_option("--json", options->json, "write everything that is printed to this file");
  stack->callback([options] {
    const std::string_view name = "tellegen benchmark stack";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_stack(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_machines(CLI::App& command) {
  CLI::App* machines = command.add_subcommand(
      "machines", "electric machines: errors, steps written by hand, forms, an inverter against ngspice");
  const auto options = std::make_shared<MachinesOptions>();
  machines->add_flag("--quick", options->quick, "short runs, once");
  machines->add_option("--only", options->only, "scenarios, forms, table, rates, inverter")
      ->delimiter(',')
      ->check(CLI::IsMember({"scenarios", "forms", "table", "rates", "inverter"}));
  machines->add_option("--json", options->json, "write everything that is printed to this file");
  machines->callback([options] {
    const std::string_view name = "tellegen benchmark machines";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_machines(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_machine_extraction(CLI::App& command) {
  CLI::App* extraction = command.add_subcommand("machine-extraction",
                                                "a wound-rotor machine from its cross-section: inductances, "
                                                "a transient, its qd0 model, published tables");
  const auto options = std::make_shared<MachineExtractionOptions>();
  extraction->add_flag("--quick", options->quick, "fewer angles, once");
  extraction->add_option("--json", options->json, "write everything that is printed to this file");
  extraction->callback([options] {
    const std::string_view name = "tellegen benchmark machine-extraction";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_machine_extraction(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_mechanisms(CLI::App& command) {
  CLI::App* mechanisms =
      command.add_subcommand("mechanisms", "open and closed chains of bodies beside Simbody and DART");
  const auto options = std::make_shared<MechanismsOptions>();
  mechanisms->add_flag("--quick", options->quick, "short runs, once");
  mechanisms->add_option("--chain", options->chain, "lengths of the chain")
      ->delimiter(',')
      ->check(CLI::Range(1, 10'000));
  mechanisms
      ->add_option(
          "--longest", options->longest,
          "longest chain that Tellegen is given (1000), which it prepares for some 15 s of processor time")
      ->check(CLI::Range(0, 10'000));
  mechanisms->add_option("--json", options->json, "write everything that is printed to this file");
  mechanisms->callback([options] {
    const std::string_view name = "tellegen benchmark mechanisms";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_mechanisms(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_lossy(CLI::App& command) {
  CLI::App* lossy = command.add_subcommand(
      "lossy", "a motor's speed and flux where samples get lost: published filters, and many records");
  const auto options = std::make_shared<LossyOptions>();
  lossy->add_option("--seeds", options->seeds, "records of each example")->check(CLI::Range(1, 100'000));
  lossy->add_option("--seconds", options->seconds, "length of each record")->check(CLI::Range(0.001, 1000.0));
  lossy->add_option("--only", options->only, "files, stability, nuisance, drive")
      ->delimiter(',')
      ->check(CLI::IsMember({"files", "stability", "nuisance", "drive"}));
  lossy->add_option("--json", options->json, "write everything that is printed to this file");
  lossy->callback([options] {
    const std::string_view name = "tellegen benchmark lossy";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_lossy(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_sensor_faults(CLI::App& command) {
  CLI::App* faults = command.add_subcommand(
      "sensor-faults", "a motor's winding sensor that fails: is it named, and is the rotor's band honest");
  const auto options = std::make_shared<FaultBenchmarkOptions>();
  faults->add_option("--records", options->records, "of each fault (200)")->check(CLI::Range(1, 100'000));
  faults->add_option("--hours", options->hours, "of clean data (100)")->check(CLI::Range(1.0, 1e6));
  faults->add_option("--json", options->json, "write everything that is printed to this file");
  faults->callback([options] {
    const std::string_view name = "tellegen benchmark sensor-faults";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_fault_benchmark(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_estimate_size(CLI::App& command) {
  CLI::App* size = command.add_subcommand(
      "estimate-size",
      "thermal networks of 100 to 5000 nodes, estimated from 10 sensors: answers, then seconds");
  const auto options = std::make_shared<EstimateSizeOptions>();
  size->add_option("--nodes", options->nodes, "sizes")->delimiter(',')->check(CLI::Range(30, 100'000));
  size->add_option("--rows", options->rows, "of each record")->check(CLI::Range(2, 100'000));
  size->add_option("--json", options->json, "write everything that is printed to this file");
  size->callback([options] {
    const std::string_view name = "tellegen benchmark estimate-size";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_estimate_size(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_identification(CLI::App& command) {
  CLI::App* identification = command.add_subcommand(
      "identify", "numbers with no starting values: a published start-up, random machines, other models");
  const auto options = std::make_shared<IdentificationOptions>();
  identification->add_option("--draws", options->draws, "of noise, for the start-up (30)")
      ->check(CLI::Range(1, 100'000));
  identification->add_option("--machines", options->machines, "random induction machines (1000)")
      ->check(CLI::Range(1, 1'000'000));
  identification->add_option("--first", options->first, "the first of them (0): a run may be made in parts")
      ->check(CLI::Range(0, 1'000'000));
  identification->add_option("--machine-rows", options->machine_rows,
                             "CSV: what became of each machine, as they come");
  identification->add_option("--others", options->others, "draws for each of the other models (300)")
      ->check(CLI::Range(1, 100'000));
  identification->add_option("--seed", options->seed, "of all random numbers (1)");
  identification->add_option("--only", options->only, "start-up, machines, speedless, sparse, others")
      ->delimiter(',')
      ->check(CLI::IsMember({"start-up", "machines", "speedless", "sparse", "others"}));
  identification->add_option("--json", options->json, "write everything that is printed to this file");
  identification->callback([options] {
    const std::string_view name = "tellegen benchmark identify";
    if (!options->machine_rows.empty())
      check_writable({name, "--machine-rows"}, options->machine_rows, {".csv"});
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_identification(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_relaxation(CLI::App& command) {
  CLI::App* relaxation = command.add_subcommand(
      "relaxation",
      "the published conic relaxation of a start-up: size, two formulations, what it determines");
  const auto options = std::make_shared<RelaxationBenchmarkOptions>();
  relaxation->add_option("--samples", options->samples, "of the shortest record (2500)")
      ->check(CLI::Range(20, 1'000'000));
  relaxation->add_option("--seed", options->seed, "of all random numbers (1)");
  relaxation->add_option("--only", options->only, "size, formulations, parameters")
      ->delimiter(',')
      ->check(CLI::IsMember({"size", "formulations", "parameters"}));
  relaxation->add_option("--json", options->json, "write everything that is printed to this file");
  relaxation->callback([options] {
    const std::string_view name = "tellegen benchmark relaxation";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_relaxation_benchmark(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_maps(CLI::App& command) {
  CLI::App* maps = command.add_subcommand("maps", "lookups in a map of 100 x 100 beside one by hand");
  const auto options = std::make_shared<MapsOptions>();
  maps->add_flag("--quick", options->quick, "each but a few times");
  maps->add_option("--json", options->json, "write everything that is printed to this file");
  maps->callback([options] {
    const std::string_view name = "tellegen benchmark maps";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_maps(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_exported_code(CLI::App& command) {
  CLI::App* exported = command.add_subcommand(
      "export",
      "exported C beside Tellegen's own loop over the same run; every model by every method to the bit");
  const auto options = std::make_shared<ExportedCodeOptions>();
  exported->add_flag("--quick", options->quick, "few steps, once; a sample of models");
  exported->add_option("--only", options->only, "times, models")
      ->delimiter(',')
      ->check(CLI::IsMember({"times", "models"}));
  ExportedModelsOptions& models = options->models;
  exported->add_option("--models", models.models, "folders of models/; all if not given")->delimiter(',');
  exported->add_option("--methods", models.methods, "methods and estimators; all if not given")
      ->delimiter(',');
  exported->add_option("--compiler", models.compiler, "command that compiles the models for a machine");
  exported->add_option("--emulator", models.emulator, "command that runs its programs here (qemu-aarch64)");
  exported->add_option("--steps", models.steps, "at most so many of each model's run; all if not given")
      ->check(CLI::Range(1, 1'000'000'000));
  exported->add_option("--sample", models.sample, "so many models with a method, by chance; all if not given")
      ->check(CLI::Range(1, 100'000));
  exported->add_option("--seed", models.seed, "of the sample (1)");
  exported->add_option("--journal", models.journal,
                       "CSV: a row for each model with a method; what is there is not done again");
  exported->add_option("--json", options->json, "write everything that is printed to this file");
  exported->callback([options] {
    const std::string_view name = "tellegen benchmark export";
    if (!options->models.journal.empty())
      check_writable({name, "--journal"}, options->models.journal, {".csv"});
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_exported_code(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_hardware(CLI::App& command) {
  CLI::App* hardware = command.add_subcommand(
      "hardware", "exploration of a step as Verilog: searches, area model against yosys, published tables");
  const auto options = std::make_shared<HardwareBenchmarkOptions>();
  hardware->add_option("--seeds", options->seeds, "of each search (100)")->check(CLI::Range(1, 100'000));
  hardware->add_option("--points", options->points, "of the front that are synthesised (8)")
      ->check(CLI::Range(1, 1000));
  hardware->add_option("--keep", options->keep,
                       "folder for what was synthesised; what is there already is not made again");
  hardware->add_option("--only", options->only, "searches, calibration, front, tables")
      ->delimiter(',')
      ->check(CLI::IsMember({"searches", "calibration", "front", "tables"}));
  hardware->add_option("--json", options->json, "write everything that is printed to this file");
  hardware->callback([options] {
    const std::string_view name = "tellegen benchmark hardware";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_hardware_benchmark(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

void add_python(CLI::App& command) {
  CLI::App* python =
      command.add_subcommand("python", "a run and a sweep called from Python beside the same from C++");
  const auto options = std::make_shared<PythonOptions>();
  python->add_option("--calls", options->calls, "of a run (500)")->check(CLI::Range(1, 1'000'000));
  python->add_option("--samples", options->samples, "of the sweep (10000)")->check(CLI::Range(1, 10'000'000));
  python->add_option("--json", options->json, "write everything that is printed to this file");
  python->callback([options] {
    const std::string_view name = "tellegen benchmark python";
    if (!options->json.empty()) check_writable({name, "--json"}, options->json, {".json"});
    if (!run_python_benchmark(*options))
      throw StudyError(std::string(name), "answers disagree; the report above says which", {});
  });
}

}  // namespace

void add_benchmark(CLI::App& command) {
  command.require_subcommand(1);
  add_readers(command);
  add_converter(command);
  add_default_run(command);
  add_sweep_benchmark(command);
  add_derivatives(command);
  add_twin(command);
  add_stack(command);
  add_machines(command);
  add_machine_extraction(command);
  add_mechanisms(command);
  add_lossy(command);
  add_sensor_faults(command);
  add_estimate_size(command);
  add_identification(command);
  add_relaxation(command);
  add_maps(command);
  add_exported_code(command);
  add_hardware(command);
  add_python(command);
  CLI::App* circuits = command.add_subcommand(
      "circuits", "four circuits of Energies 13 (2020) 1354: errors, times, sizes, other programs, limits");
  const auto options = std::make_shared<CircuitsOptions>();
  std::string sections;
  for (const SectionName& section : circuits_sections()) {
    sections += "\n  " + std::string(section.name) + std::string(12 - section.name.size(), ' ') +
                std::string(section.summary);
  }
  circuits->add_flag("--quick", options->quick, "leave out what takes more than a few seconds");
  circuits->add_flag("--tune", options->tune, "search the cheapest setting of every method");
  circuits->add_option("--only", options->only, "sections to run, by name")->delimiter(',');
  circuits->add_option("--json", options->json, "write everything that is printed to this file");
  circuits->add_option("--output", options->output, "folder for CSV files of the figures");
  circuits->footer("Sections:" + sections);
  circuits->callback([options] { run(*options); });
}

}  // namespace tellegen

int main(int count, char** arguments) {
  constexpr tellegen::Command commands[] = {
      {"benchmark", "measure speed and error against published results and other programs",
       tellegen::add_benchmark}};
  return tellegen::run_program(commands, count, arguments);
}
