// tellegen sweep: a model at many samples of its parameters; a CSV file, indices of global sensitivity, a
// picture out. Resumes where it was interrupted; spreads over threads, and over the ranks of mpirun.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/model_file.h"
#include "cli/mpi_ranks.h"
#include "cli/progress.h"
#include "cli/sweep_axes.h"
#include "cli/sweep_requirement.h"
#include "cli/twin_report.h"
#include "tellegen/model/reading.h"
#include "tellegen/netlist/netlist.h"
#include "tellegen/report/sweep_report.h"
#include "tellegen/report/text.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/results/sample_table.h"
#include "tellegen/sweep/journal.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
constexpr double most_samples = 1e8;

// The command line as it was typed; 0 or empty: not given.
struct SweepRequest {
  std::string file, of, outputs, design, output, plot, json, stop, step, method;
  std::vector<std::string> vary, set;
  std::string samples, trajectories, jobs, require;
  std::uint64_t seed = 1;
  StudyReportRequest page;
  bool resume = false, restart = false, wants_json = false, interpret = false;
};

// A study made ready.
struct SweepPlan {
  SampleTask task;
  Fingerprints study;
  fs::path journal;
  SweepReport report;
  PagePart network;  // for a page
  std::shared_ptr<SweepRequirement> requirement;
};

ModelError wrong_design(const std::string& message, std::vector<std::string> details = {}) {
  return command_fault(tellegen_sweep, "T583", message, std::move(details));
}

Design design_of(const SweepRequest& request, const std::vector<VaryText>& vary) {
  const std::vector<std::string> known{"grid", "lhs", "morris", "sobol"};
  const std::string name = request.design.empty() ? "grid" : request.design;
  const auto found = std::find(known.begin(), known.end(), name);
  if (found == known.end())
    throw wrong_design(fmt::format("there is no design '{}'", name),
                       {did_you_mean(name, known), "known: " + joined(known)});
  const auto design = static_cast<Design>(found - known.begin());
  for (const VaryText& one : vary) {
    if (design == Design::grid && !one.is_grid())
      throw wrong_design(
          fmt::format("--vary {}: how many values has the grid?", one.whole),
          {fmt::format("write --vary {}:20, or choose a design: --design lhs --samples 1000", one.whole)});
    if (design != Design::grid && one.is_grid())
      throw wrong_design(
          fmt::format("--vary {} names the values of a grid, and --design is {}", one.whole, name),
          {fmt::format("{} chooses its own values: give a range, {}=LOWER:UPPER", name, one.name)});
  }
  const bool counts_samples = design == Design::lhs || design == Design::sobol;
  if (counts_samples && request.samples.empty())
    throw wrong_design(fmt::format("--design {} needs --samples", name));
  if (!counts_samples && !request.samples.empty())
    throw wrong_design(
        fmt::format("--design {} takes no --samples", name),
        {design == Design::morris ? "give --trajectories: each has a sample more than parameters"
                                  : "the values in --vary make the grid; or choose --design lhs"});
  if (design != Design::morris && !request.trajectories.empty())
    throw wrong_design(fmt::format("--trajectories belongs to --design morris, and --design is {}", name));
  return design;
}

double count_of(const std::string& text) { return text.empty() ? 20.0 : std::stod(text); }

SampleSet samples_of(const SweepRequest& request, Design design, const std::vector<Axis>& axes) {
  const auto width = static_cast<double>(axes.size());
  double count = 1.0;
  if (design == Design::grid)
    for (const Axis& axis : axes) count *= static_cast<double>(axis.values.size());
  if (design == Design::lhs) count = count_of(request.samples);
  if (design == Design::morris) count = count_of(request.trajectories) * (width + 1);
  if (design == Design::sobol) count = count_of(request.samples) * (width + 2);
  if (count * width > most_samples)
    throw wrong_design(fmt::format("{:g} samples of {} parameters are too many", count, axes.size()),
                       {fmt::format("at most {:g} numbers altogether", most_samples)});
  switch (design) {
    case Design::lhs:
      return latin_hypercube(axes, static_cast<std::size_t>(count), request.seed);
    case Design::morris:
      return morris_samples(axes, static_cast<std::size_t>(count_of(request.trajectories)), request.seed);
    case Design::sobol:
      return sobol_samples(axes, static_cast<std::size_t>(count_of(request.samples)), request.seed);
    default:
      return grid_samples(axes);
  }
}

void check_targets(const SweepRequest& request) {
  if (is_stream(request.output))
    throw command_fault(tellegen_sweep, "T402", fmt::format("--output '{}' is no file", request.output),
                        {"a sweep keeps its journal beside it: give the name of a file"});
  check_writable({tellegen_sweep, "--output"}, request.output, {".csv"});
  if (!request.plot.empty()) check_writable({tellegen_sweep, "--plot"}, request.plot, {".svg", ".png"});
  if (!request.json.empty()) check_writable({tellegen_sweep, "--json"}, request.json, {".json"});
  check_study_report(tellegen_sweep, request.page, request.file);
  std::error_code ignored;
  if (fs::equivalent(request.output, request.file, ignored))
    throw command_fault(tellegen_sweep, "T402", fmt::format("--output would replace '{}'", request.file),
                        {"this study reads it: choose another name"});
}

Fingerprints fingerprints_of(const Model& model, const SweepRequest& request, const SweepReport& report) {
  std::string set, samples, results;
  for (const std::string& text : request.set) set += text + "\n";
  for (const Axis& axis : report.axes) samples += axis.name + "\n" + axis.unit + "\n";
  samples.append(reinterpret_cast<const char*>(report.samples.values.data()),
                 report.samples.values.size() * sizeof(double));
  for (const ResultColumn& column : report.columns) results += column.name + "\n" + column.unit + "\n";
  return {{"program", text_hash(TELLEGEN_VERSION)},
          {"model", model_fingerprint(model)},
          {"set", text_hash(set)},
          {"samples", text_hash(samples)},
          {"results", text_hash(results)},
          {"simulation", text_hash(request.stop + "\n" + request.step + "\n" + request.method)}};
}

// A netlist may say itself what varies (.step) and what is asked for (.measure).
Analyses analyses_of(const SweepRequest& request, const ReadOptions& reading) {
  if (!is_netlist(request.file)) return {};
  return convert_netlist(request.file, reading).analyses;
}

std::vector<std::string> vary_of_steps(const Analyses& analyses) {
  std::vector<std::string> texts;
  for (const StepSpec& step : analyses.steps)
    texts.push_back(fmt::format("{}={}", step.name, fmt::join(step.values, ",")));
  return texts;
}

// Where an axis is a number that the text of the model was made with, every sample has a text of its own.
void read_again_where_needed(const SweepRequest& request, const ReadOptions& reading,
                             const Analyses& analyses, SampleTask& task) {
  std::vector<std::pair<std::size_t, std::string>> fixed;
  for (std::size_t k = 0; k < task.axes.size(); ++k)
    if (std::find(analyses.fixed.begin(), analyses.fixed.end(), task.axes[k].name) != analyses.fixed.end())
      fixed.emplace_back(k, task.axes[k].name);
  if (fixed.empty()) return;
  task.read_at = [file = request.file, reading, fixed](std::span<const double> numbers) {
    ReadOptions options = reading;
    for (const auto& [k, name] : fixed) options.overrides.emplace_back(name, fmt::format("{}", numbers[k]));
    return read_any_model(file, options);
  };
}

// All that can be wrong is told here, before the first sample.
SweepPlan prepare(const SweepRequest& request, const Ranks& ranks) {
  SweepPlan plan;
  ReadOptions reading;
  for (const std::string& text : request.set)
    reading.overrides.push_back(read_assignment({tellegen_sweep, "--set"}, text));
  const Analyses analyses = analyses_of(request, reading);
  const std::vector<VaryText> vary = read_vary(request.vary.empty() ? vary_of_steps(analyses) : request.vary);
  SweepReport& report = plan.report;
  report.design = design_of(request, vary);
  report.seed = request.seed;
  SimulationOptions& options = plan.task.simulation;
  if (!request.stop.empty()) options.stop = read_seconds({tellegen_sweep, "--stop"}, request.stop);
  if (!request.step.empty()) options.step = read_seconds({tellegen_sweep, "--step"}, request.step);
  options.method = request.method;
  options.compile = !request.interpret;
  check_targets(request);
  plan.task.read = [file = request.file, reading] { return read_any_model(file, reading); };
  Model model = ranks.first() ? read_model_file(request.file, reading) : plan.task.read();
  report.model = model.name;
  report.file = request.file;
  if (ranks.first() && !request.page.report.empty()) plan.network = network_part(model);
  report.axes = plan.task.axes = axes_of(model, vary);
  plan.task.objectives = split_list(request.of);
  plan.task.outputs = split_list(request.outputs);
  if (plan.task.objectives.empty() && plan.task.outputs.empty() && !analyses.measures.empty())
    plan.task.measures = std::make_shared<const Analyses>(analyses);
  read_again_where_needed(request, reading, analyses, plan.task);
  report.columns = check_task(model, plan.task);
  if (report.columns.empty())
    throw command_fault(tellegen_sweep, "T587",
                        "nothing to evaluate: the model has neither objectives nor outputs",
                        {"give --outputs: variables and formulas, \"n3.v, r1.i*2\""});
  if (!request.require.empty())
    plan.requirement =
        std::make_shared<SweepRequirement>(request.require, model, report.axes, report.columns);
  report.samples = samples_of(request, report.design, report.axes);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  report.jobs = request.jobs.empty() ? std::max(1, cores / ranks.on_this_machine()) : std::stoi(request.jobs);
  report.ranks = ranks.size();
  plan.journal = request.output + ".journal";
  plan.study = fingerprints_of(model, request, report);
  return plan;
}

// What was done before, if anything; from now on this process has the journal.
JournalContents take_over(const SweepRequest& request, const SweepPlan& plan,
                          std::unique_ptr<Journal>& journal) {
  JournalContents before;
  try {
    if (!request.restart) before = read_journals(plan.journal, plan.study, plan.report.columns.size());
    journal = std::make_unique<Journal>(plan.journal, plan.study, before.entries);
  } catch (const JournalMismatch& error) {
    throw command_fault(tellegen_sweep, "T584",
                        fmt::format("'{}' is the journal of another study", error.path.string()),
                        {fmt::format("its {} is not the same as now", error.what_differs),
                         "give the command that began it, or --restart to discard it, or another --output"});
  } catch (const JournalBusy& error) {
    throw command_fault(tellegen_sweep, "T585", error.what(),
                        {"wait for it to end, or choose another --output"});
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_sweep, error);
  }
  remove_journal_parts(plan.journal);
  if (!before.entries.empty())
    fmt::print(stderr, "resuming: {} of {} samples are in '{}'{}\n", before.entries.size(),
               plan.report.samples.rows(), plan.journal.string(),
               before.damaged > 0 ? fmt::format(" ({} damaged lines left out)", before.damaged) : "");
  else if (request.resume)
    fmt::print(stderr, "nothing to resume: beginning\n");
  return before;
}

std::vector<std::size_t> pending_samples(const SweepPlan& plan, const JournalContents& before,
                                         const Ranks& ranks) {
  std::vector<char> done(plan.report.samples.rows(), 0);
  for (const JournalEntry& entry : before.entries)
    if (entry.sample < done.size()) done[entry.sample] = 1;
  std::vector<std::size_t> pending;
  int turn = 0;
  for (std::size_t k = 0; k < done.size(); ++k)
    if (!done[k] && turn++ % ranks.size() == ranks.rank()) pending.push_back(k);
  return pending;
}

void run(const SweepPlan& plan, const std::vector<std::size_t>& pending, Journal& journal, bool watched) {
  ProgressBar bar;
  SampleLoop loop = sample_loop(plan.task, plan.report.samples);
  std::vector<JournalEntry> done;
  loop.finished = [&](std::size_t k, SampleOutcome outcome) {
    done.push_back({k, std::move(outcome.values), std::move(outcome.status)});
  };
  loop.all_finished = [&] {
    journal.append(done);
    done.clear();
  };
  if (watched) loop.progress = std::ref(bar);
  try {
    run_samples(pending, plan.report.jobs, loop);
  } catch (const std::runtime_error& error) {  // the journal cannot be written: no space
    throw not_written(tellegen_sweep, error, {"what is done is kept: the same command continues from there"});
  }
}

Settings settings_of(const SweepRequest& request, const SweepReport& report) {
  return {{"model file", request.file},
          {"varied", comma_list(request.vary)},
          {"replaced", comma_list(request.set)},
          {"required", request.require},
          {"design", std::string(design_name(report.design))},
          {"random generator's seed", report.design == Design::grid ? "" : std::to_string(report.seed)},
          {"end of each run", request.stop.empty() ? "as the model says" : request.stop},
          {"step", request.step.empty() ? "as the model says" : request.step},
          {"method", request.method.empty() ? "as the model says" : request.method},
          {"table of all samples", request.output}};
}

void write_results(const SweepRequest& request, const JournalContents& all, SweepPlan& plan) {
  SweepReport& report = plan.report;
  const std::size_t rows = report.samples.rows(), width = report.columns.size();
  report.results.assign(width, std::vector<double>(rows));
  report.status.assign(rows, "");
  for (const JournalEntry& entry : all.entries) {
    report.status[entry.sample] = entry.status;
    for (std::size_t k = 0; k < width; ++k) report.results[k][entry.sample] = entry.values[k];
  }
  if (plan.requirement) {
    report.required = plan.requirement->text();
    for (std::size_t r = 0; r < rows; ++r) {
      std::vector<double> results;
      for (std::size_t k = 0; k < width; ++k) results.push_back(report.results[k][r]);
      report.missed.push_back(report.status[r].empty() &&
                              !plan.requirement->met(report.samples.row(r), results));
    }
  }
  SampleTable table;
  for (const Axis& axis : report.axes) {
    table.names.push_back(axis.name);
    table.units.push_back(axis.unit);
  }
  for (const ResultColumn& column : report.columns) {
    table.names.push_back(column.name);
    table.units.push_back(column.unit);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = report.samples.row(r);
    table.values.insert(table.values.end(), row.begin(), row.end());
    for (std::size_t k = 0; k < width; ++k) table.values.push_back(report.results[k][r]);
  }
  table.status = report.status;
  for (std::size_t r = 0; r < report.missed.size(); ++r)
    if (report.missed[r]) table.status[r] = "misses " + report.required;
  try {
    write_csv(request.output, table);
    report.written.push_back(request.output);
    remove_journals(plan.journal);
    if (!request.plot.empty() && report.failed() < rows) {
      write_chart(request.plot, sweep_chart(report));
      report.written.push_back(request.plot);
    }
    if (!request.json.empty()) {
      report.written.push_back(request.json);
      write_file(request.json, json_text(to_json(report)));
    }
  } catch (const std::runtime_error& error) {
    throw not_written(tellegen_sweep, error);
  }
  if (!request.page.report.empty()) {
    write_study_report(tellegen_sweep, request.page, plan.network,
                       sweep_part(report, settings_of(request, report)));
    report.written.push_back(request.page.report);
  }
}

void print(const SweepRequest& request, const SweepReport& report) {
  if (request.wants_json && request.json.empty()) {
    fmt::print("{}", json_text(to_json(report)));
    return;
  }
  fmt::print("{}, {}: {} samples of {} {}\n\n{}\n{}", report.model, design_name(report.design),
             report.samples.rows(), report.axes.size(), report.axes.size() == 1 ? "parameter" : "parameters",
             sweep_tables(report), sweep_brief(report));
  for (const std::string& file : report.written) fmt::print("wrote {}\n", file);
}

void sweep_on(Ranks& ranks, const SweepRequest& request) {
  using Clock = std::chrono::steady_clock;
  SweepPlan plan;
  std::unique_ptr<Journal> journal;
  JournalContents before;
  // The first rank finds out what is wrong and says it once; the others follow where nothing is.
  ranks.together([&] {
    if (!ranks.first()) return;
    plan = prepare(request, ranks);
    before = take_over(request, plan, journal);
  });
  ranks.together([&] {
    if (ranks.first()) return;
    plan = prepare(request, ranks);
    before = read_journals(plan.journal, plan.study, plan.report.columns.size(), false);
    journal = std::make_unique<Journal>(journal_part(plan.journal, ranks.rank()), plan.study,
                                        std::vector<JournalEntry>{});
  });
  const auto begin = Clock::now();
  ranks.together([&] {
    run(plan, pending_samples(plan, before, ranks), *journal, ranks.first() && ProgressBar::watched());
    journal.reset();
  });
  if (!ranks.first()) return;
  plan.report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  plan.report.resumed = before.entries.size();
  const JournalContents all = read_journals(plan.journal, plan.study, plan.report.columns.size());
  // All in one before anything is removed: killed here, the next run still finds everything.
  if (ranks.size() > 1) journal = std::make_unique<Journal>(plan.journal, plan.study, all.entries);
  if (all.entries.size() != plan.report.samples.rows())
    throw StudyError(request.file, "the journal lacks samples that were done",
                     {"the ranks must share the folder of --output", "the same command continues from here"});
  write_results(request, all, plan);
  if (plan.report.failed() < plan.report.samples.rows() || (request.wants_json && request.json.empty()))
    print(request, plan.report);
  if (plan.report.failed() == plan.report.samples.rows())
    throw StudyError(request.file, "every sample failed",
                     {"the first: " + plan.report.status.front(), "all of them: '" + request.output + "'"});
}

void sweep(const SweepRequest& request) {
  try {
    Ranks ranks;
    sweep_on(ranks, request);
  } catch (const OtherRankFailed&) {
    std::exit(2);  // that rank has said why
  }
}

}  // namespace

void add_sweep(CLI::App& command) {
  auto request = std::make_shared<SweepRequest>();
  SweepRequest& r = *request;
  command.add_option("FILE", r.file, "model file or SPICE netlist")->required();

  const char* what = "What varies";
  command
      .add_option("--vary", r.vary,
                  "a parameter and its range, or its grid: R1=1ohm:10ohm, R1=1ohm:10ohm:20, "
                  "C1=1uF:1mF:log:7, N=1,2,5; once for each")
      ->type_name("NAME=RANGE")
      ->allow_extra_args(false)
      ->group(what);
  command
      .add_option("--design", r.design,
                  "grid (every combination), lhs (Latin hypercube), morris (elementary effects) or sobol "
                  "(fractions of the variance)")
      ->type_name("NAME")
      ->group(what);
  command.add_option("--samples", r.samples, "of lhs; of sobol: the rows of its two matrices")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(what);
  command.add_option("--trajectories", r.trajectories, "of morris; 20 if not given")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(what);
  command.add_option("--seed", r.seed, "of the random designs; 1 if not given")
      ->type_name("NUMBER")
      ->group(what);

  const char* how = "What is run";
  command
      .add_option("--of", r.of,
                  "objectives of the model: E_loss,T_lockup; without --of and --outputs all of them, or the "
                  "model's outputs")
      ->type_name("LIST")
      ->group(how);
  command
      .add_option("--outputs", r.outputs,
                  "variables and formulas, taken at the end of each run: \"n3.v, r1.i*2\"")
      ->type_name("LIST")
      ->group(how);
  command
      .add_option(
          "--require", r.require,
          "what a sample must meet, in results, what varies and parameters, SI: \"torque >= 0.98*T_ref\"; "
          "one that does not is marked")
      ->type_name("CONDITION")
      ->group(how);
  command.add_option("--set", r.set, "replace a parameter in all samples: --set R1=2ohm; once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(how);
  command.add_option("--stop", r.stop, "end of each run")->type_name("TIME")->group(how);
  command.add_option("--step", r.step, "integration step")->type_name("TIME")->group(how);
  command.add_option("--method", r.method, "integration method")->type_name("NAME")->group(how);
  command.add_flag("--interpret", r.interpret, "do without the system's C compiler")->group(how);
  command.add_option("--jobs", r.jobs, "samples at a time; all cores if not given")
      ->type_name("COUNT")
      ->check(not_positive_count)
      ->group(how);
  command.add_flag("--resume", r.resume, "continue from the journal (the default)")->group(how);
  command.add_flag("--restart", r.restart, "discard the journal of an interrupted run")->group(how);

  const char* where = "Where to write";
  command.add_option("--output", r.output, "a row for each sample")
      ->type_name("F.csv")
      ->required()
      ->group(where);
  command.add_option("--plot", r.plot, "curves, clouds or bars")->type_name("F.svg|F.png")->group(where);
  add_study_report_options(command, r.page);
  auto* json = command.add_option("--json", r.json, "summary for machines, to a file or standard output")
                   ->type_name("[F.json]")
                   ->expected(0, 1)
                   ->group(where);
  command.callback([request, json] {
    request->wants_json = json->count() > 0;
    sweep(*request);
  });
}

}  // namespace tellegen
