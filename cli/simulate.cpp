// tellegen simulate: a model file in; a table, CSV, HDF5, plot, JSON out.
#include "tellegen/simulate/simulate.h"

#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include "cli/arguments.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/inspect.h"
#include "cli/model_file.h"
#include "cli/motion.h"
#include "cli/progress.h"
#include "cli/realtime.h"
#include "cli/streamed_run.h"
#include "tellegen/model/fmu_component.h"
#include "tellegen/model/reading.h"
#include "tellegen/report/run_report.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/plot.h"
#include "tellegen/simulate/reference.h"
#include "tellegen/simulate/stop.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

constexpr double default_tolerance = 1e-4;  // of results; studies, which differentiate them, ask for more

// The command line as it was typed.
struct SimulateRequest {
  std::string file, stop, step, sample, method, form, start, slow, outputs, output, plot, json, compare;
  std::string checkpoint, every, resume;
  MotionRequest motion;
  std::vector<std::string> set;
  int iterations = 0, start_steps = 0, event_bisections = 0, slow_steps = 0;
  double tolerance = 0.0, agreement = 1e-7, verify = 0.01;
  bool refactor = false, interpret = false, all = false, wants_json = false, wants_reference = false;
  bool isolate = false, exchange = false;  // imported FMUs
  bool wants_verify = false, strict = false, no_balance = false, balance = false;
  RealtimeRequest realtime;
};

SimulationOptions options_of(const SimulateRequest& request) {
  SimulationOptions options;
  options.stop = request.stop.empty() ? 0.0
                 : request.realtime.on && request.stop == "inf"
                     ? std::numeric_limits<double>::infinity()
                     : read_seconds({tellegen_simulate, "--stop"}, request.stop);
  options.step = request.step.empty() ? 0.0 : read_seconds({tellegen_simulate, "--step"}, request.step);
  options.sample =
      request.sample.empty() ? 0.0 : read_seconds({tellegen_simulate, "--sample"}, request.sample);
  std::vector<std::string> methods;
  for (const IntegratorEntry& entry : integrators()) methods.emplace_back(entry.name);
  check_choice({tellegen_simulate, "--method"}, request.method, methods);
  check_choice({tellegen_simulate, "--form"}, request.form, {"auto", "tableau", "minimal"});
  check_choice({tellegen_simulate, "--start"}, request.start, {"trapezoidal", "constant"});
  options.method = request.method;
  options.form = request.form;
  options.start = request.start;
  options.iterations = request.iterations;
  options.event_bisections = request.event_bisections;
  options.start_steps = request.start_steps;
  options.slow = split_list(request.slow);
  options.slow_steps = request.slow_steps;
  options.refactor = request.refactor;
  options.compile = !request.interpret;
  if (request.balance)
    options.balance = Balance::by_component;
  else if (!request.no_balance && !request.realtime.on && !request.wants_reference)
    options.balance = Balance::on;
  return options;
}

// What can be known to be wrong with the files to be written before anything is
// computed.
void check_targets(const SimulateRequest& request) {
  if (!request.output.empty())
    check_writable({tellegen_simulate, "--output"}, request.output, {".csv", ".h5", ".hdf5"});
  if (!request.checkpoint.empty())
    check_writable({tellegen_simulate, "--checkpoint"}, request.checkpoint, {".run"});
  if (!request.plot.empty()) check_writable({tellegen_simulate, "--plot"}, request.plot, {".svg", ".png"});
  if (!request.json.empty()) check_writable({tellegen_simulate, "--json"}, request.json, {".json"});
  check_motion_targets(request.motion);
  std::error_code ignored;
  for (const std::string& input : {request.compare, request.file})
    if (!request.output.empty() && !input.empty() && fs::equivalent(request.output, input, ignored))
      throw command_fault(tellegen_simulate, "T402", fmt::format("--output would replace '{}'", input),
                          {"this run reads it: choose another name"});
}

void write_trajectory(const fs::path& path, const Trajectory& trajectory) {
  if (path.extension() == ".h5" || path.extension() == ".hdf5")
    write_hdf5(path, trajectory);
  else
    write_csv(path, trajectory);
}

// Rows of a real-time run reach the disk as they are made: under the name of a
// partial result until it ends.
std::unique_ptr<CsvStream> open_stream(const SimulateRequest& request, const Simulation& simulation) {
  std::vector<std::string> names, units;
  for (const OutputColumn& column : simulation.outputs()) {
    names.push_back(column.name);
    units.push_back(column.unit);
  }
  try {
    const fs::path path = partial_path(fs::path(request.output).replace_extension(".csv"));
    return std::make_unique<CsvStream>(path, names, units);
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_simulate, error);
  }
}

// Everything asked for, complete or (of a run that failed half-way) under the
// .partial names.
void write_files(const SimulateRequest& request, const Model& model, const Trajectory& poses,
                 const Trajectory* reference, bool partial, RunReport& report, CsvStream* stream) {
  const auto target = [&](const std::string& path) {
    return partial && !is_stream(path) ? partial_path(path) : fs::path(path);
  };
  try {
    if (!request.output.empty() && !report.streamed_rows) {
      const fs::path output = target(request.output);
      if (stream) stream->close();
      // Of a long run in real time only the stream has every row.
      if (stream && output.extension() == ".csv" && report.realtime->kept_from > 0.0 &&
          report.realtime->write_failure.empty()) {
        if (stream->path() != output) fs::rename(stream->path(), output);
      } else {
        write_trajectory(output, report.trajectory);
        if (stream && stream->path() != output) fs::remove(stream->path());
        if (report.realtime) report.realtime->streamed = false;
      }
      report.written.push_back(target(request.output).string());
    }
    if (!request.plot.empty() && report.trajectory.rows() > 1) {  // one point is no picture
      write_plot(target(request.plot), report.trajectory, {.title = report.model, .reference = reference});
      report.written.push_back(target(request.plot).string());
    }
    for (const std::string& file : motion_files(request.motion)) {
      if (poses.rows() == 0) continue;
      write_file(target(file), motion_text(request.motion, file, model, poses, report.trajectory));
      report.written.push_back(target(file).string());
    }
    if (!request.json.empty()) {
      report.written.push_back(target(request.json).string());
      write_file(target(request.json), json_text(to_json(report)));
    }
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_simulate, error);
  }
}

void print(const SimulateRequest& request, const RunReport& report) {
  if (request.wants_json && request.json.empty()) {
    fmt::print("{}", json_text(to_json(report)));
    return;
  }
  if (!request.output.empty() && is_stream(request.output)) return;  // the results are what stdout is for
  fmt::print("{}, {}\n", report.model, report.options.method);
  if (request.output.empty() || !report.errors.empty()) fmt::print("\n{}\n", output_table(report));
  fmt::print("{}\n", report.brief);
  if (report.summary.balance && request.balance && !report.summary.balance->shares.empty())
    fmt::print("\n{}", share_table(*report.summary.balance));
  if (!report.measures.empty()) fmt::print("\n{}", measure_table(report.measures));
  for (const FourierResult& result : report.fourier) fmt::print("\n{}", fourier_table(result));
  if (!report.second_runs.empty()) fmt::print("\n{}", second_run_table(report));
  for (const std::string& text : second_run_warnings(report.second_runs)) fmt::print("warning: {}\n", text);
  if (report.realtime) fmt::print("\n{}", report.realtime->text());
  for (const std::string& file : report.written) fmt::print("wrote {}\n", file);
}

// Two methods with shrinking steps, until they agree; the brief line says how
// well.
void solve_reference(const EquationSystem& system, double agreement, const std::vector<OutputColumn>& columns,
                     RunReport& report) {
  ReferenceResult found = find_reference(system, report.options, columns, {.agreement = agreement});
  report.options.method = "bdf3 and tr";
  report.summary = std::move(found.solution);
  if (found.rounds.empty()) return;  // no step was short enough: the solution's failure says why
  const ReferenceRound& last = found.rounds.back();
  report.brief = fmt::format(
      "at a step of {:.6g} s bdf3 and tr differ by {:.2g} of an "
      "output's range, the last halving by {:.2g}",
      last.step, last.between_methods, last.since_last);
  for (std::size_t k = 0; k < found.differences.size(); ++k)
    report.brief +=
        fmt::format("\n{}: settled to {:.2g} {}", columns[k].name, found.differences[k], columns[k].unit);
  report.summary.failure =
      found.converged ? "" : "no agreement to " + fmt::format("{:g}: ", agreement) + report.brief;
}

// What may help after a failure: never the method that has just failed.
std::string advice_after(const std::string& method) {
  const bool variable = traits_of(method).steps == MethodTraits::Steps::variable;
  return std::string(variable ? "give a looser --tolerance, or try a fixed "
                                "step with method bdf1"
                              : "leave out --step and --method, which chooses "
                                "the steps by their error, or "
                                "shorten the step") +
         "; where the solution itself ends there, look at the formulas named";
}

// Where states decide other joints, they may come to where they no longer do.
std::string toggle_advice(const Model& model) {
  const std::string mechanism = mechanism_of(model);
  const auto states = mechanism.find("states: "), following = mechanism.find("; following from circuits: ");
  if (states != 0 || following == std::string::npos) return {};
  const std::string_view all = mechanism;
  auto others = all.substr(following + 27);
  others = others.substr(0, others.find(';'));
  if (all.substr(8).starts_with("none"))
    return fmt::format(
        "or the drivers have come to where circuits no longer close, or to a dead point (toggle): look at {}",
        others);
  return fmt::format(
      "or the mechanism has come to a dead point (toggle), where {} no longer decides {}: let a joint of "
      "these come "
      "first in the file, so that it is the state",
      all.substr(8, following - 8), others);
}

// A balance that does not close is looked at again component by component and over the whole run: who makes
// or destroys energy?
void find_culprit(const EquationSystem& system, const std::vector<OutputColumn>& columns, RunReport& report) {
  constexpr std::int32_t largest = 2000;
  const auto& balance = report.summary.balance;
  if (!balance || !balance->checked || balance->closes() || !balance->shares.empty() ||
      system.size() > largest || !report.summary.failure.empty())
    return;
  SimulationOptions again = report.options;
  again.balance = Balance::by_component;
  again.compile = false;
  const SimulationResult result = Simulation(system, again, columns).run();
  if (result.balance && result.balance->checked) report.summary.balance = result.balance;
}

bool is_saved(const SimulateRequest& request) {
  return !request.checkpoint.empty() || !request.resume.empty();
}

// Nothing but the file needs the rows, and they are many.
bool is_streamed(const SimulateRequest& request, const Simulation& simulation) {
  return !request.output.empty() && !is_stream(request.output) && request.plot.empty() &&
         motion_files(request.motion).empty() && request.compare.empty() && !request.wants_verify &&
         is_too_long_to_keep(simulation);
}

// Without an account of energy, which looks at every row.
void run_to_file(const SimulateRequest& request, const EquationSystem& system,
                 const std::vector<OutputColumn>& columns, const std::vector<Expr>& recorded,
                 RunReport& report) {
  report.options.balance = Balance::off;
  SimulationOptions options = report.options;
  // Of other methods measures need the rows.
  if (traits_of(options.method).records) options.recorded = recorded;
  Simulation simulation(system, options, columns);
  const bool to_file = !request.output.empty();
  if (to_file) check_disk(simulation, request.output);
  const fs::path path = to_file ? partial_path(request.output) : fs::path();
  SavedRun saved;
  if (!request.resume.empty()) saved.resume = read_text(request.resume, {request.resume, 0});
  if (!request.every.empty()) saved.every = read_seconds({tellegen_simulate, "--every"}, request.every);
  std::optional<StopSignals> signals;
  if (!request.checkpoint.empty()) {
    saved.save = [&](const std::string& bytes) { write_file(request.checkpoint, bytes); };
    signals.emplace();
    saved.stop = &StopSignals::asked();
  }
  ProgressBar bar;
  StreamedRun run =
      run_streamed(simulation, path, ProgressBar::watched() ? Progress(std::ref(bar)) : Progress(), saved);
  const bool whole = run.result.failure.empty() && !run.interrupted;
  if (to_file && whole) fs::rename(path, request.output);
  if (to_file) report.written.push_back((whole ? fs::path(request.output) : path).string());
  if (run.interrupted)
    throw StudyError(request.file, fmt::format("interrupted at t = {:.9g} s", run.result.t.back()),
                     {to_file ? fmt::format("what was computed until then: {}", path.string()) : "",
                      fmt::format("--resume {} continues from there", request.checkpoint)});
  if (!request.checkpoint.empty()) report.written.push_back(request.checkpoint);
  report.summary = std::move(run.result);
  report.streamed_rows = run.rows;
  report.trajectory = std::move(run.ends);
}

// A netlist with .step is many runs; this one has the numbers that stand in it.
void say_steps(const std::string& file, const Model& model, const Analyses& analyses) {
  if (analyses.steps.empty()) return;
  std::string values;
  double runs = 1.0;
  for (const StepSpec& step : analyses.steps) {
    runs *= static_cast<double>(step.values.size());
    for (const ModelParameter& p : model.parameters)
      if (p.name == step.name)
        values += fmt::format("{}{} = {:g}", values.empty() ? " with " : ", ", step.name, p.number);
  }
  const StepSpec& first = analyses.steps.front();
  fmt::print(stderr,
             "{}:{}: note: .step is not followed: this is one run{}; 'tellegen sweep {}' makes all {:g}\n",
             first.place.file, first.place.line, values, file, runs);
}

void simulate(const SimulateRequest& request) {
  if (request.all && !request.outputs.empty())
    throw command_fault(tellegen_simulate, "T401", "--all and --outputs exclude each other");
  if (is_saved(request) && is_stream(request.output))
    throw command_fault(tellegen_simulate, "T401",
                        "--checkpoint and --resume write to a file, not to standard output");
  const SimulationOptions given = options_of(request);
  ReadOptions reading;
  for (const std::string& text : request.set)
    reading.overrides.push_back(read_assignment({tellegen_simulate, "--set"}, text));
  reading.isolate = request.isolate;
  reading.exchange = request.exchange;
  check_targets(request);
  check_addresses(request.realtime);
  Analyses analyses;
  Model model = read_model_file(request.file, reading, &analyses);
  say_steps(request.file, model, analyses);
  if (request.tolerance > 0.0) model.simulation.tolerance = request.tolerance;
  if (is_saved(request)) refuse_fmus(model, "where it stands cannot be saved");
  const std::vector<std::string> external = make_external(request.realtime, model);
  RunReport report{model.name, request.file, complete_options(model, given), {}, {}, {}, {}, {}, {}};
  if (traits_of(report.options.method).steps == MethodTraits::Steps::variable && !model.simulation.tolerance)
    report.options.tolerance = default_tolerance;
  add_stop_watch(model, report.options);
  const EquationSystem system = build_system(model);
  report.options.external = external;
  std::vector<OutputColumn> columns = chosen_columns(tellegen_simulate, system, request.outputs, request.all);
  std::optional<Trajectory> reference;
  if (!request.compare.empty()) reference = read_reference(request.compare, columns, report.options);
  const Measurement measurement(model, analyses);
  const std::size_t asked = columns.size();
  add_pose_columns(request.motion, model, columns);

  std::unique_ptr<CsvStream> stream;  // of a real-time run
  try {
    if (request.wants_reference) {
      solve_reference(system, request.agreement, columns, report);
    } else if (is_saved(request)) {
      run_to_file(request, system, columns, {}, report);  // one that goes on has not seen the first part
      report.brief = report.summary.brief();
    } else {
      SimulationOptions options = report.options;
      if (!request.realtime.on) options.recorded = measurement.formulas();
      Simulation simulation(system, options, columns);
      if (request.realtime.on) {
        if (!request.output.empty() && !is_stream(request.output)) stream = open_stream(request, simulation);
        RealtimeRun run = run_in_real_time(request.realtime, simulation, stream.get());
        report.summary = std::move(run.result);
        report.realtime = std::move(run.report);
      } else if (is_streamed(request, simulation)) {
        run_to_file(request, system, columns, measurement.formulas(), report);
      } else {
        ProgressBar bar;
        report.summary = simulation.run(ProgressBar::watched() ? Progress(std::ref(bar)) : Progress());
      }
      find_culprit(system, columns, report);
      report.brief = report.summary.brief();
      if (request.wants_verify && report.summary.failure.empty()) {
        const auto with_new_equations = [&](const UseOfEquations& use) {
          SimulationOptions watched;
          Model again = read_model_file(request.file, reading);
          if (request.tolerance > 0.0) again.simulation.tolerance = request.tolerance;
          add_stop_watch(again, watched);
          const EquationSystem equations = build_system(again);
          std::vector<OutputColumn> same =
              chosen_columns(tellegen_simulate, equations, request.outputs, request.all);
          add_pose_columns(request.motion, again, same);
          use(equations, same);
        };
        report.second_runs = second_runs(with_new_equations, report.options, report.summary, request.verify);
      }
    }
  } catch (const SimulationError& error) {
    throw StudyError(request.file, error.what(), error.details);
  }
  SimulationResult& result = report.summary;
  if (measurement.formulas().empty()) result.record = std::make_shared<RunCurves>(0, 1.0);
  if (result.record && result.failure.empty()) {
    report.measures = measurement.measures(*result.record);
    report.fourier = measurement.fourier(*result.record);
  } else if (!measurement.empty() && result.failure.empty()) {
    fmt::print(stderr, "{}: note: measures are not taken in such a run\n", request.file);
  }
  report.warnings = result.warnings();
  for (const std::string& text : second_run_warnings(report.second_runs)) report.warnings.push_back(text);
  if (!report.streamed_rows)
    report.trajectory = {std::move(result.names), std::move(result.units), std::move(result.t),
                         std::move(result.values)};
  const Trajectory poses = split_off(report.trajectory, asked);
  const bool failed = !result.failure.empty();
  if (reference && !failed) report.errors = compare(report.trajectory, *reference);
  write_files(request, model, poses, reference ? &*reference : nullptr, failed, report, stream.get());
  if (!failed || (request.wants_json && request.json.empty())) print(request, report);
  if (!failed && report.realtime)
    if (const std::string why = too_many_missed(request.realtime, *report.realtime); !why.empty())
      throw StudyError(request.file, why);
  if (!failed && request.strict && !report.warnings.empty())
    throw StudyError(
        request.file, "with --strict a warning is a fault: " + report.warnings[0],
        {report.warnings.size() > 1 ? fmt::format("and {} more", report.warnings.size() - 1) : ""});
  if (!failed) return;
  const auto& kept = report.written;
  throw StudyError(request.file, result.failure,
                   {advice_after(report.options.method), toggle_advice(model),
                    kept.empty() ? "" : "what was computed until then: " + joined(kept)});
}

}  // namespace

void add_simulate(CLI::App& command) {
  auto request = std::make_shared<SimulateRequest>();
  SimulateRequest& r = *request;
  command.add_option("FILE", r.file, "model file, SPICE netlist or FMU")->required();
  std::string methods = "integration method:";
  for (const IntegratorEntry& entry : integrators()) methods += fmt::format(" {}", entry.name);

  const char* how = "How to integrate (over the model's [simulation])";
  command.add_option("--stop", r.stop, "end of the simulation")->type_name("TIME")->group(how);
  command.add_option("--step", r.step, "integration step")->type_name("TIME")->group(how);
  command.add_option("--sample", r.sample, "interval between rows of the results; every step if not given")
      ->type_name("TIME")
      ->group(how);
  command.add_option("--method", r.method, methods)->type_name("NAME")->group(how);
  command.add_option("--form", r.form, "auto, tableau or minimal")->type_name("NAME")->group(how);
  command
      .add_option("--iterations", r.iterations, "Newton iterations of every step; to tolerance if not given")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(how);
  command
      .add_option("--event-bisections", r.event_bisections,
                  "find events within fixed steps, to the step over 2^COUNT")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(how);
  command
      .add_option(
          "--tolerance", r.tolerance,
          "of the results with a variable step (1e-4), relative to each variable; of Newton's iteration")
      ->type_name("NUMBER")
      ->check(not_positive)
      ->group(how);
  command.add_option("--start", r.start, "of multistep methods: trapezoidal steps or constant history")
      ->type_name("NAME")
      ->group(how);
  command.add_option("--start-steps", r.start_steps, "trapezoidal steps before a multistep method")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(how);
  command.add_option("--slow", r.slow, "domains and states that rk4 steps less often: thermal,rotor.w")
      ->type_name("LIST")
      ->group(how);
  command.add_option("--slow-steps", r.slow_steps, "steps of the others for one of those")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(how);
  auto* reference = command
                        .add_option("--reference", r.agreement,
                                    "reference solution: bdf3 and tr with shrinking steps "
                                    "until they agree; relative tolerance, of each output's range "
                                    "(1e-7)")
                        ->type_name("[NUMBER]")
                        ->expected(0, 1)
                        ->check(not_positive)
                        ->group(how);
  command.add_flag("--refactor", r.refactor, "factorise in every iteration, even a constant tangent")
      ->group(how);
  auto* verify = command
                     .add_option("--verify", r.verify,
                                 "run again by another method, with half the step and "
                                 "interpreted; differences beyond this "
                                 "fraction of an output's range (0.01) are warnings")
                     ->type_name("[NUMBER]")
                     ->expected(0, 1)
                     ->check(not_positive)
                     ->excludes(reference)
                     ->group(how);
  command.add_flag("--strict", r.strict, "a warning is a fault: exit code 1")->group(how);
  auto* off = command.add_flag("--no-balance", r.no_balance, "do not account for energy")->group(how);
  auto* balance = command.add_flag("--balance", r.balance, "account for energy storage by storage")
                      ->excludes(off)
                      ->group(how);
  command.add_flag("--interpret", r.interpret, "do without the system's C compiler")->group(how);
  command.add_flag("--exchange", r.exchange,
                   "imported FMUs by model exchange, though they have co-simulation");
  command.add_flag("--isolate", r.isolate, "imported FMUs in processes of their own: a crash is explained")
      ->group(how);

  const char* what = "What to simulate and report";
  command.add_option("--set", r.set, "replace a parameter: --set R1=2ohm; once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(what);
  command
      .add_option("--outputs", r.outputs, "variables and formulas instead of the model's: \"n3.v, r1.i*2\"")
      ->type_name("LIST")
      ->group(what);
  command.add_flag("--all", r.all, "every variable of the model")->group(what);
  auto* compared =
      command.add_option("--compare", r.compare, "reference to report the RMS error of every column against")
          ->type_name("F.csv")
          ->group(what);

  const char* where = "Where to write";
  auto* realtime = add_realtime_options(command, r.realtime);
  realtime->excludes(reference)->excludes(compared)->excludes(verify);
  command.add_option("--output", r.output, "results over time")->type_name("F.csv|F.h5")->group(where);
  auto* plot =
      command.add_option("--plot", r.plot, "picture of the results")->type_name("F.svg|F.png")->group(where);
  const auto motions = add_motion_options(command, r.motion, where);
  for (CLI::Option* motion : motions) realtime->excludes(motion);
  const char* saved = "Runs that are saved";
  auto* checkpoint = command
                         .add_option("--checkpoint", r.checkpoint,
                                     "save the run there at the end, and when it is interrupted")
                         ->type_name("F.run")
                         ->group(saved);
  command.add_option("--every", r.every, "... and whenever so much of the model's time has passed")
      ->type_name("TIME")
      ->needs(checkpoint)
      ->group(saved);
  auto* resume = command.add_option("--resume", r.resume, "continue the run that was saved there")
                     ->type_name("F.run")
                     ->group(saved);
  // Their rows go to a file as they are made; nothing here sees all of them, or has a clock.
  for (CLI::Option* option : {checkpoint, resume}) {
    for (CLI::Option* other : {realtime, reference, verify, balance, compared, plot}) option->excludes(other);
    for (CLI::Option* motion : motions) option->excludes(motion);
  }
  auto* json = command.add_option("--json", r.json, "summary for machines, to a file or standard output")
                   ->type_name("[F.json]")
                   ->expected(0, 1)
                   ->group(where);
  command.callback([request, json, reference, verify] {
    request->wants_reference = reference->count() > 0;
    if (request->agreement <= 0.0) request->agreement = 1e-7;  // --reference without a number
    request->wants_verify = verify->count() > 0;
    if (request->verify <= 0.0) request->verify = 0.01;
    request->wants_json = json->count() > 0;
    simulate(*request);
  });
}

}  // namespace tellegen
