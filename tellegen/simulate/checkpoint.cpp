// A run between two samples, as bytes, and going on from there.
#include <fmt/format.h>

#include "tellegen/model/fmu_component.h"
#include "tellegen/numeric/byte_stream.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/symbolic/print.h"
#include "tellegen/symbolic/table.h"

namespace tellegen {
namespace {

constexpr std::string_view magic = "tllg-run";
constexpr std::uint32_t version = 1;

void add_formula(Fingerprint& print, Expr formula) {
  print.text(to_text(formula));
  for (Expr node : nodes_of(std::span(&formula, 1)))
    if (node.op() == Op::lookup)
      for (const auto* numbers : {&node.table()->x, &node.table()->c})
        for (double number : *numbers) print.number(number);
}

// Equations, numbers and how they are integrated; not for how long.
std::uint64_t fingerprint(const Problem& problem) {
  Fingerprint print;
  const SimulationOptions& o = problem.options;
  for (const std::string& text : {o.method, o.form, o.start, o.stop_watch}) print.text(text);
  for (double number : {problem.step, static_cast<double>(problem.stride), o.tolerance}) print.number(number);
  for (int number : {o.iterations, o.start_steps, o.event_bisections, o.slow_steps, int(o.refactor)})
    print.number(number);
  for (const auto* names : {&o.slow, &o.external, &problem.output_names})
    for (const std::string& name : *names) print.text(name);
  for (Expr output : problem.outputs) add_formula(print, output);
  for (const Group& group : problem.system->groups) {
    for (Expr residual : group.residuals) add_formula(print, residual);
    for (const auto& values : group.values)
      for (double value : values) print.number(value);
    for (const auto* ends : {&group.plus, &group.minus})
      for (const auto& columns : *ends)
        for (std::int32_t column : columns) print.number(column);
  }
  for (const Discrete& d : problem.system->discrete) {
    add_formula(print, d.update);
    print.number(d.every);
  }
  for (const auto* values : {&problem.initial.x, &problem.initial.held})
    for (double value : *values) print.number(value);
  return print.value();
}

}  // namespace

std::string Simulation::checkpoint(std::int64_t samples, std::span<const double> last_row) {
  refuse_fmus(*problem_.system->model, "where it stands cannot be saved");
  Checkpoint parts;
  std::vector<double> row(last_row.begin(), last_row.end());
  parts(samples, row);
  if (account_ || !integrator_->keep(parts))
    throw ModelError({{problem_.system->model->file.string(), 0},
                      "T321",
                      account_
                          ? "a run that accounts for energy cannot be saved"
                          : fmt::format("a run by method '{}' cannot be saved: its solver keeps its past "
                                        "to itself",
                                        problem_.options.method),
                      {account_ ? "leave the balance out" : "use adaptive, or a fixed step"}});
  return sealed(magic, version, fingerprint(problem_), parts.bytes());
}

ResumedRun Simulation::resume(std::string_view bytes) {
  refuse_fmus(*problem_.system->model, "where it stood cannot be set");
  const auto wrong = [&](std::string code, std::string message, std::string advice) {
    return ModelError({{problem_.system->model->file.string(), 0},
                       std::move(code),
                       std::move(message),
                       {std::move(advice)}});
  };
  const Sealed seal = unsealed(magic, version, bytes);
  if (!seal.problem.empty())
    throw wrong("T631", "the checkpoint cannot be used: " + seal.problem, "begin anew without it");
  if (seal.fingerprint != fingerprint(problem_))
    throw wrong(
        "T632", "the checkpoint is of another model, other outputs, another method or step",
        "continue with the model file and the options of the run that wrote it; only --stop may differ");
  Checkpoint parts(seal.payload);
  ResumedRun run;
  parts(run.samples, run.row);
  if (!integrator_->keep(parts) || !parts.good() || run.row.size() != outputs_.size())
    throw wrong("T631", "the checkpoint cannot be used: it is damaged", "begin anew without it");
  if (run.samples >= sample_count(problem_))
    throw wrong("T310",
                fmt::format("the run was saved at t = {:.9g} s, and is to end at {:.9g} s",
                            static_cast<double>(run.samples) * sample_interval(), problem_.options.stop),
                "give a later end (--stop)");
  return run;
}

}  // namespace tellegen
