#include "tellegen/simulate/rk4_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tellegen/model/reading.h"
#include "tellegen/program/repeats.h"
#include "tellegen/simulate/explicit_problem.h"
#include "tellegen/symbolic/common.h"

namespace tellegen {
namespace {

// A number that changes whenever a function of time jumps in these formulas; empty where none does. What also
// depends on states is not followed: such a jump lies inside a step wherever it is.
Expr jumps_in_time(Pool& pool, std::span<const Expr> formulas, const std::vector<ProgramInput>& inputs) {
  const Expr t = pool.symbol("t");
  const auto of_time_alone = [&](Expr e) {
    bool time = false;
    for (Expr s : symbols_of(std::span(&e, 1))) {
      if (s == t) {
        time = true;
        continue;
      }
      const auto input =
          std::find_if(inputs.begin(), inputs.end(), [&](const ProgramInput& i) { return i.symbol == s; });
      if (input == inputs.end() || input->section > 0) return false;
    }
    return time;
  };
  std::vector<Expr> terms;
  double weight = 1.0;
  const auto watch = [&](Expr e) {
    if (!of_time_alone(e)) return;
    terms.push_back(weight * e);
    weight *= 1.6180339887498949;
  };
  for (Expr node : nodes_of(formulas)) {
    // What a table holds changes where it jumps; of others, which piece it is in.
    if (node.op() == Op::lookup && of_time_alone(node)) {
      if (node.table()->interpolation == Interpolation::hold)
        watch(node);
      else
        for (double x : node.table()->x) watch(pool.call("ge", {node.args()[0], pool.number(x)}));
    }
    if (node.op() != Op::call) continue;
    const auto name = node.function().name;
    const auto args = node.args();
    for (std::string_view jumping : {"lt", "le", "gt", "ge", "eq", "ne", "floor", "ceil", "sign"})
      if (name == jumping) watch(node);
    if (name == "mod") watch(pool.call("floor", {args[0] / args[1]}));
    if (name == "gauss") watch(pool.call("floor", {args[1]}));
  }
  return terms.empty() ? Expr() : pool.add(terms);
}

// Which states the user calls slow, by name or by domain.
std::vector<char> slow_states(const MinimalProblem& minimal) {
  const SimulationOptions& options = minimal.problem.options;
  std::vector<char> slow(minimal.form.states.size(), 0);
  if (options.slow_steps <= 1) return slow;
  const EquationSystem& system = *minimal.full;
  const Model& model = *system.model;
  std::vector<std::string> known;
  for (std::size_t k = 0; k < slow.size(); ++k) {
    const std::int32_t rate = minimal.form.state_rates[k];
    const std::string domain = rate_domain(system, rate);
    known.push_back(rate_name(system, rate));
    if (!domain.empty() && std::find(known.begin(), known.end(), domain) == known.end())
      known.push_back(domain);
    slow[k] = std::any_of(options.slow.begin(), options.slow.end(), [&](const std::string& name) {
      return name == domain || name == rate_name(system, rate);
    });
  }
  for (const std::string& name : options.slow)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw ModelError({{model.file.string(), 0},
                        "T310",
                        fmt::format("'{}' is to be slow, and is no state or domain with states", name),
                        {did_you_mean(name, known), "slow can be: " + joined(known)}});
  if (std::all_of(slow.begin(), slow.end(), [](char s) { return s; }))
    throw ModelError(
        {{model.file.string(), 0}, "T310", "every state is to be slow", {"lengthen the step instead"}});
  return slow;
}

Program pivot_program(const MinimalProblem& minimal, const std::vector<std::pair<Expr, Expr>>& steps,
                      const std::vector<Pivot>& pivots) {
  const MinimalForm& m = minimal.form;
  Pool& pool = *minimal.system.model->pool;
  std::vector<ProgramInput> inputs{{pool.symbol("t"), 0}};
  for (const auto* list : {&m.states, &m.unknowns, &m.parameters})
    for (Expr symbol : *list)
      if (std::none_of(steps.begin(), steps.end(), [&](const auto& step) { return step.first == symbol; }))
        inputs.push_back({symbol, 0});
  Assignments list(pool);
  for (const auto& [symbol, value] : steps) list.assign(symbol, value);
  const ProgramRoot root{smallest_pivot(pool, pivots), 0};
  return make_program(pool, inputs, list.list(), std::span(&root, 1), 1);
}

std::optional<MinimalRk4> build(const MinimalProblem& minimal, ExplicitForm form,
                                std::vector<ExprMap<double>> points) {
  const MinimalForm& m = minimal.form;
  Pool& pool = *minimal.system.model->pool;
  const std::vector<ClosedAngle> closed = close_angles(pool, form, points);
  std::vector<Expr> formulas = m.derivatives;
  for (const auto& [symbol, value] : form.solved) formulas.push_back(value);
  const ExprMap<Expr> sines = shared_sines(pool, formulas);  // outputs have no say in it
  std::vector<ProgramInput> inputs{{pool.symbol("t"), 1}};
  for (Expr z : m.states) inputs.push_back({z, 2});
  for (Expr w : form.iterated) inputs.push_back({w, 3});
  for (const ClosedAngle& angle : closed)
    for (Expr before : {angle.sine_before, angle.cosine_before, angle.turns_before})
      inputs.push_back({before, 2});
  const std::size_t first_solution = inputs.size();
  // What follows the iteration is written in the solution, not in the last iterate.
  ExprMap<Expr> solution;
  for (std::size_t k = 0; k < form.iterated.size(); ++k) {
    solution[form.iterated[k]] = pool.symbol(fmt::format("~solution{}", k));
    inputs.push_back({solution[form.iterated[k]], 4});
  }
  const std::size_t first_parameter = inputs.size();
  for (Expr p : m.parameters) inputs.push_back({p, 0});
  const std::size_t first_held = inputs.size();
  for (std::size_t k = 0; k < minimal.system.discrete.size(); ++k)
    inputs.push_back({discrete_symbol(minimal.system, static_cast<int>(k)), 0});

  Assignments list(pool);
  ExprMap<Expr> closed_sines;
  for (const ClosedAngle& angle : closed) {
    for (const auto& [symbol, value] : angle.list) list.assign(symbol, substitute(value, sines));
    // A sine of -0 is on the upper side, where its turn is counted.
    const Expr zero = pool.number(0), sine = angle.sine;
    const Expr upper = pool.call("if", {pool.call("ge", {sine, zero}), pool.call("abs", {sine}), sine});
    list.assign(angle.unknown,
                pool.call("atan2", {upper, angle.cosine}) + pool.number(2 * std::numbers::pi) * angle.turns);
    closed_sines.insert(angle.in_symbols.begin(), angle.in_symbols.end());
  }
  const auto written = [&](Expr value) {
    return substitute(substitute(substitute(value, sines), closed_sines), solution);
  };
  for (const auto& [symbol, value] : form.solved) list.assign(symbol, written(value));
  std::vector<ProgramRoot> roots;
  const auto root = [&](Expr value, int section) {
    roots.push_back({written(value), section});
    return roots.size() - 1;
  };
  // Newton: J change = r, next = iterate - change.
  const std::size_t first_next = roots.size();
  std::vector<std::pair<Expr, Expr>> steps = form.solved;  // numbers of its own names go on from there
  for (const ClosedAngle& angle : closed)
    for (const auto& [call, symbol] : angle.in_symbols) steps.push_back({symbol, call});
  std::vector<Pivot> pivots = form.pivots;
  if (!form.iterated.empty()) {
    const double tolerance = std::clamp(0.1 * minimal.problem.options.tolerance, 1e-12, 1e-7);
    const std::size_t before = steps.size();
    const auto newton = newton_formulas(pool, form, tolerance, steps, points, pivots);
    if (!newton) return std::nullopt;
    for (std::size_t k = before; k < steps.size(); ++k) list.assign(steps[k].first, steps[k].second);
    for (std::size_t k = 0; k < newton->change.size(); ++k)
      roots.push_back({form.iterated[k] - newton->change[k], 3});
    roots.push_back({newton->error, 3});
  }
  const std::size_t first_slope = roots.size();
  const std::vector<char> slow = slow_states(minimal);
  for (std::size_t k = 0; k < m.states.size(); ++k) root(m.derivatives[k], slow[k] ? 5 : 4);
  const std::size_t first_kept = roots.size();
  for (const ClosedAngle& angle : closed)
    for (Expr kept : {angle.sine, angle.cosine, angle.turns}) roots.push_back({kept, 4});
  const std::size_t first_output = roots.size();
  const std::size_t first_followed = minimal.problem.outputs.size() - minimal.problem.followed_outputs;
  for (std::size_t k = 0; k < minimal.problem.outputs.size(); ++k)
    root(minimal.problem.outputs[k], k < first_followed ? 7 : 8);
  const std::size_t first_total = roots.size();
  for (Expr rate : minimal.problem.totals) root(rate, 8);
  const std::size_t first_update = roots.size();
  Expr changes = pool.number(0);
  bool any = false;
  for (std::size_t k = 0; k < minimal.system.discrete.size(); ++k) {
    const Discrete& d = minimal.system.discrete[k];
    root(d.update, 6);
    if (d.every != 0.0 || d.external) continue;
    any = true;
    changes = changes + pool.call("ne", {d.update, discrete_symbol(minimal.system, static_cast<int>(k))});
  }
  const std::size_t event = roots.size();
  if (any) root(changes, 6);
  std::vector<Expr> all;
  for (const auto& [symbol, value] : form.solved) all.push_back(value);
  all.insert(all.end(), form.residuals.begin(), form.residuals.end());
  for (std::size_t k = 0; k < roots.size(); ++k)  // outputs have no say in this either
    if (k < first_output || k >= first_update) all.push_back(roots[k].value);
  const std::size_t jumps_root = roots.size(), jump_input = inputs.size();
  const Expr jumps = jumps_in_time(pool, all, inputs), later = pool.symbol("~later");
  if (jumps) {
    inputs.push_back({later, 9});
    roots.push_back({substitute(jumps, {{pool.symbol("t"), later}}), 9});
  }

  MinimalRk4 built;
  if (minimal.problem.options.restarts && minimal.form.tape)
    built.pivots = pivot_program(minimal, steps, pivots);
  Rk4Program& step = built.program;
  step.program = make_program(pool, inputs, list.list(), roots, 10, 5);
  advance_together(step.program);
  step.slow = slow;
  step.slow_steps = std::max(1, minimal.problem.options.slow_steps);
  const auto reg = [&](std::size_t k) { return step.program.roots[k]; };
  std::size_t input = 0;
  step.time = static_cast<std::int32_t>(input++);
  for (std::size_t k = 0; k < m.states.size(); ++k) {
    step.states.push_back(static_cast<std::int32_t>(input++));
    step.slopes.push_back(reg(first_slope + k));
  }
  for (std::size_t k = 0; k < form.iterated.size(); ++k) {
    step.iterates.push_back(static_cast<std::int32_t>(input++));
    step.solutions.push_back(static_cast<std::int32_t>(first_solution + k));
    step.next.push_back(reg(first_next + k));
  }
  if (!form.iterated.empty()) step.error = reg(first_next + form.iterated.size());
  for (std::size_t k = 0; k < 3 * closed.size(); ++k)
    step.kept.push_back({static_cast<std::int32_t>(input + k), reg(first_kept + k)});
  for (std::size_t k = 0; k < m.parameters.size(); ++k)
    built.parameters.push_back(static_cast<std::int32_t>(first_parameter + k));
  for (std::size_t k = 0; k < minimal.system.discrete.size(); ++k) {
    built.held.push_back(static_cast<std::int32_t>(first_held + k));
    built.updates.push_back(reg(first_update + k));
  }
  for (std::size_t k = 0; k < minimal.problem.outputs.size(); ++k)
    step.outputs.push_back(reg(first_output + k));
  for (std::size_t k = 0; k < minimal.problem.totals.size(); ++k) step.totals.push_back(reg(first_total + k));
  step.follows = !minimal.problem.totals.empty() || minimal.problem.followed_outputs > 0;
  step.watched = built.updates;
  if (any) step.event = reg(event);
  step.returns = any && minimal.problem.options.event_bisections > 0 && step.slow_steps == 1;
  if (minimal.problem.stop_event >= 0)
    step.stop = reg(first_update + static_cast<std::size_t>(minimal.problem.stop_event));
  if (jumps) {
    step.jump_time = static_cast<std::int32_t>(jump_input);
    step.jumps = reg(jumps_root);
  }
  built.iterated = form.iterated;
  built.closed = closed;
  return built;
}

}  // namespace

std::optional<MinimalRk4> make_rk4_program(const MinimalProblem& minimal, bool switches) {
  if (has_iterated_exponentials(minimal)) return std::nullopt;
  Pool& pool = *minimal.system.model->pool;
  for (const bool switched : {true, false}) {
    if (switched && !switches) continue;
    const auto points = sample_points(minimal, switched);
    if (const auto form = explicit_form(pool, minimal.form, points))
      if (auto built = build(minimal, *form, points)) return built;
  }
  return std::nullopt;
}

void MinimalRk4::begin(const MinimalProblem& minimal, double* r) const {
  const MinimalForm& form = minimal.form;
  const std::vector<double>& x = minimal.problem.initial.x;
  const auto start_of = [&](Expr unknown) {
    const auto at = std::find(form.unknowns.begin(), form.unknowns.end(), unknown);
    return x[form.states.size() + static_cast<std::size_t>(at - form.unknowns.begin())];
  };
  for (std::size_t k = 0; k < parameters.size(); ++k) r[parameters[k]] = form.values[k];
  for (std::size_t k = 0; k < iterated.size(); ++k) r[program.iterates[k]] = start_of(iterated[k]);
  for (std::size_t k = 0; k < closed.size(); ++k) {
    const double angle = start_of(closed[k].unknown), sine = std::sin(angle), cosine = std::cos(angle);
    r[program.kept[3 * k].target] = sine;
    r[program.kept[3 * k + 1].target] = cosine;
    r[program.kept[3 * k + 2].target] =
        std::round((angle - std::atan2(sine, cosine)) / (2 * std::numbers::pi));
  }
}

}  // namespace tellegen
