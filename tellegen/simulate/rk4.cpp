// Classical fourth-order Runge-Kutta on the minimal form.
//
//   z_next = z + h/6 (k1 + 2 k2 + 2 k3 + k4)
//
// Explicit: fast for smooth systems without stiff parts, unstable where h times the fastest rate exceeds
// about 2.8; then the states grow without bound and the run stops. Unknowns that only nonlinear equations
// determine are solved by Newton at every stage, starting from the last stage.
//
// Where the minimal form can be solved in formulas (equations/explicit_form.h, closed_angles.h) the whole
// loop is one generated program and only the unknowns without a formula are iterated on; otherwise everything
// is, one stage at a time (iterated_rk4.cpp).
//
// An event is met at the end of its step, or found by bisection: the step is taken again up to the event, to
// full order, and on from there.
#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "tellegen/model/reading.h"
#include "tellegen/numeric/decompose.h"
#include "tellegen/program/rk4_loop.h"
#include "tellegen/simulate/closed_angles.h"
#include "tellegen/simulate/event_steps.h"
#include "tellegen/simulate/explicit_problem.h"
#include "tellegen/simulate/fmu_blocks.h"
#include "tellegen/simulate/minimal_problem.h"
#include "tellegen/simulate/rk4.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/simulate/source_jumps.h"
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

class ExplicitRk4 : public Integrator {
 public:
  // Empty where the minimal form has no explicit one.
  static std::unique_ptr<ExplicitRk4> make(const Problem& full) {
    auto minimal = std::make_unique<MinimalProblem>(full);
    Pool& pool = *minimal->system.model->pool;
    if (has_iterated_exponentials(*minimal)) return nullptr;
    const bool switches = !minimal->system.discrete.empty();
    for (const bool switched : {true, false}) {
      if (switched && !switches) continue;
      auto points = sample_points(*minimal, switched);
      if (const auto form = explicit_form(pool, minimal->form, points)) {
        if (auto program = build(*minimal, *form, points))
          return std::unique_ptr<ExplicitRk4>(new ExplicitRk4(full, std::move(minimal), std::move(*program)));
      }
    }
    return nullptr;
  }

  bool restart() override {
    // Where something is discrete the minimal form says no; what is accounted for nobody asks for again.
    if (!minimal_->problem.totals.empty() || !minimal_->restart(full_) || !pivots_hold()) return false;
    jumps_ = SourceJumps(*minimal_->full, minimal_->problem.step, minimal_->problem.options.stop);
    ended_ = 0;
    failure_.clear();
    warning_.clear();
    begin();
    return true;
  }
  void compile(double interpreting) override { loop_.compile(interpreting); }

  std::int64_t advance(std::int64_t samples, double* rows) override {
    if (!failure_.empty()) return 0;
    const Problem& problem = minimal_->problem;
    steps_.rows = rows;
    const std::int64_t first = control_.index, last = first + samples * problem.stride;
    while (control_.index < last && !control_.stopped) {
      // As long as nothing has happened there is nothing to account for.
      if (control_.index == followed_ && !minimal_->problem.totals.empty() && !loop_.has_totals())
        followed_ *= 2;
      control_.follow = control_.index < followed_;
      const std::int64_t same = control_.follow ? followed_ : last;  // totals are kept, or not
      if (!tellegen_rk4_go_on(&steps_, std::min(last, same))) {
        failure_ = fmt::format(
            "Newton's iteration did not converge at t = {:.9g} s: rk4 is explicit and steps too far for "
            "stiff parts such "
            "as junctions; bdf2 and tr do not{}",
            control_.step * static_cast<double>(control_.index), stable_step_text());
        break;
      }
      if (!fmus_.failure().empty()) break;
    }
    const auto width = static_cast<std::int64_t>(problem.outputs.size());
    const std::int64_t done = (control_.index - (ended_ ? 1 : 0) - first) / problem.stride;
    for (std::int64_t row = 0; row < done + (ended_ ? 1 : 0); ++row) {
      const std::string wrong =
          not_finite(problem, rows + row * width,
                     control_.step * static_cast<double>(first + (row + 1) * problem.stride));
      if (wrong.empty()) continue;
      failure_ = wrong + "; rk4 is explicit, the step is too long for the fastest part of the model" +
                 stable_step_text();
      return row;
    }
    if (failure_.empty()) failure_ = fmus_.failure();
    return done;
  }

  void set_input(int input, double value) override {
    held_[minimal_->problem.external[input]] = value;
    hold();
  }
  bool keep(Checkpoint& parts) override {
    schedule_.keep(parts);
    jumps_.keep(parts);
    parts(held_, updates_, loop_.register_file(), control_, events_, followed_, ended_, ended_at_,
          steps_.schedule.chatter, steps_.schedule.chatter_index);
    return true;
  }
  StepCode step_code() const override {
    StepCode code;
    if (!schedule_.empty() || !jumps_.empty()) {
      if (minimal_->problem.options.slow_steps > 1)
        return {.refused = "it has slow states, and something switches, is sampled or jumps"};
      code = events_code(minimal_->problem, fmus_, jumps_, held_);
      if (!code.refused.empty()) return code;
      StepCode::Events& e = *code.events;
      e.explicit_steps = true;
      e.bisections = steps_.bisections;
      e.held_registers = held_registers_;
      e.updates = update_registers_;
      loop_.add_registers(e);
    }
    code.parts.push_back(loop_.part(control_));
    for (const std::int32_t input : minimal_->problem.external)
      code.parts[0].inputs.push_back(held_registers_[input]);
    return code;
  }
  std::optional<double> ended() const override {
    return ended_ ? std::optional(ended_at_) : std::optional<double>();
  }
  std::string failure() const override { return failure_; }
  Totals totals() const override {
    if (control_.index <= followed_) return {.values = loop_.totals()};
    return {loop_.totals(), followed_, followed_ / minimal_->problem.stride, {}, {}};
  }
  Statistics statistics() const override {
    Statistics s;
    s.steps = control_.index;
    s.iterations = control_.iterations;
    s.worst_iterations = control_.worst;
    s.events = events_;
    s.unknowns = static_cast<std::int64_t>(minimal_->form.states.size() + iterated_.size());
    s.chatter = chatter_text(minimal_->system, steps_.schedule);
    s.warning = warning_;
    s.executor = loop_.compiled() ? "explicit form, compiled" : "explicit form, interpreted";
    return s;
  }

 private:
  struct Built {
    Rk4Program program;
    std::vector<Expr> iterated;
    std::vector<ClosedAngle> closed;
    std::vector<std::int32_t> parameters, held, updates;
    Program pivots;  // where the run may come again: the smallest of them, relative to its row
  };

  ExplicitRk4(const Problem& full, std::unique_ptr<MinimalProblem> minimal, Built built)
      : full_(full),
        minimal_(std::move(minimal)),
        iterated_(std::move(built.iterated)),
        closed_(std::move(built.closed)),
        schedule_(minimal_->system, minimal_->problem.step),
        jumps_(*minimal_->full, minimal_->problem.step, minimal_->problem.options.stop),
        held_(minimal_->problem.initial.held),
        fmus_(minimal_->system, minimal_->problem.step, minimal_->problem.options.stop, held_),
        updates_(held_.size()),
        held_registers_(built.held),
        parameter_registers_(built.parameters),
        update_registers_(built.updates),
        pivots_(std::move(built.pivots)),
        loop_(std::move(built.program)) {
    if (minimal_->problem.options.compile) loop_.compile_for(steps_to_come(minimal_->problem));
    connect();
    begin();
  }

  void begin() {
    const Problem& problem = minimal_->problem;
    const MinimalForm& form = minimal_->form;
    double* r = loop_.registers();
    for (std::size_t k = 0; k < parameter_registers_.size(); ++k) r[parameter_registers_[k]] = form.values[k];
    const std::size_t n = form.states.size();
    const auto start_of = [&](Expr unknown) {
      const auto at = std::find(form.unknowns.begin(), form.unknowns.end(), unknown);
      return problem.initial.x[n + static_cast<std::size_t>(at - form.unknowns.begin())];
    };
    for (std::size_t k = 0; k < iterated_.size(); ++k)
      r[loop_.program().iterates[k]] = start_of(iterated_[k]);
    for (std::size_t k = 0; k < closed_.size(); ++k) {
      const double x = start_of(closed_[k].unknown), sine = std::sin(x), cosine = std::cos(x);
      const auto& kept = loop_.program().kept;
      r[kept[3 * k].target] = sine;
      r[kept[3 * k + 1].target] = cosine;
      r[kept[3 * k + 2].target] = std::round((x - std::atan2(sine, cosine)) / (2 * std::numbers::pi));
    }
    followed_ = followed_steps(problem);
    control_ = {};
    control_.step = problem.step;
    control_.stride = problem.stride;
    control_.fixed_iterations = problem.options.iterations;
    hold();
    const std::vector<double> start(problem.initial.x.begin(),
                                    problem.initial.x.begin() + static_cast<long>(n));
    judge_step(start);
    loop_.start(start);
    loop_.prepare();
  }

  // Are the pivots that were chosen for other numbers good ones for these?
  bool pivots_hold() const {
    std::vector<double> registers(pivots_.registers);
    const auto points = sample_points(*minimal_, false);
    for (const ClosedAngle& angle : closed_)  // and the branches?
      if (!(evaluate(angle.slope, points[0]) * (angle.rising ? 1.0 : -1.0) > least_good_pivot)) return false;
    for (const ExprMap<double>& point : points) {
      for (std::size_t k = 0; k < pivots_.inputs.size(); ++k)
        registers[k] = point.at(pivots_.inputs[k].symbol);
      interpret(pivots_, 0, registers.data());
      if (!(registers[pivots_.roots[0]] > least_good_pivot)) return false;
    }
    return true;
  }

  static Program pivot_program(const MinimalProblem& minimal, const std::vector<std::pair<Expr, Expr>>& steps,
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

  // What runtime/tellegen_rk4.h works on.
  void connect() {
    const bool slow = minimal_->problem.options.slow_steps > 1;
    steps_.bisections = slow ? 0 : minimal_->problem.options.event_bisections;
    steps_.jumps = slow ? 0 : 1;
    steps_.width = static_cast<int>(minimal_->problem.outputs.size());
    steps_.schedule = schedule_.view();
    if (schedule_.empty()) steps_.schedule.size = 0;
    steps_.now = &control_;
    steps_.ended = &ended_;
    steps_.ended_at = &ended_at_;
    steps_.events = &events_;
    steps_.held = held_.data();
    steps_.updates = updates_.data();
    steps_.self = this;
    steps_.run = [](void* self, tellegen_rk4_steps* steps, double** rows) {
      return of(self).run(*steps, *rows) ? 1 : 0;
    };
    steps_.undo = [](void* self) { of(self).loop_.undo_step(); };
    steps_.update = [](void* self) {
      ExplicitRk4& rk4 = of(self);
      for (std::size_t k = 0; k < rk4.updates_.size(); ++k)
        rk4.updates_[k] = rk4.loop_.registers()[rk4.update_registers_[k]];
    };
    steps_.hold = [](void* self) {
      of(self).fmus_.follow(of(self).held_);
      of(self).hold();
    };
    steps_.next_jump = [](void* self) { return of(self).jumps_.next(); };
    steps_.is_jump = [](void* self) { return of(self).jumps_.jumps() ? 1 : 0; };
    steps_.pass_jump = [](void* self) { of(self).jumps_.pass(); };
    steps_.before_jump = [](void* self, double t) { return of(self).jumps_.before(t); };
  }
  static ExplicitRk4& of(void* self) { return *static_cast<ExplicitRk4*>(self); }

  bool run(tellegen_rk4_steps& steps, double*& rows) {
    Rk4Control control = control_;
    static_cast<tellegen_rk4_steps&>(control) = steps;
    control.rows = rows;
    const bool good = loop_.run(control);
    steps = control;
    rows = control.rows;
    control_.iterations = control.iterations;
    control_.worst = control.worst;
    control_.slow_phase = control.slow_phase;
    return good;
  }

  void hold() {
    for (std::size_t k = 0; k < held_.size(); ++k) loop_.registers()[held_registers_[k]] = held_[k];
    loop_.prepare();
    control_.fresh = 1;
  }

  // h times the eigenvalues of the system linearised at the start, against the region where rk4 is stable.
  void judge_step(const std::vector<double>& start) {
    const auto n = static_cast<long>(start.size());
    if (n == 0 || n > 200) return;
    Eigen::MatrixXd a(n, n);
    std::vector<double> z = start, up(start.size()), down(start.size());
    const double t = 1e-9 * control_.step;
    for (long j = 0; j < n; ++j) {
      const double by = 1e-6 * (1.0 + std::abs(start[static_cast<std::size_t>(j)]));
      z[static_cast<std::size_t>(j)] = start[static_cast<std::size_t>(j)] + by;
      if (!loop_.slopes(t, z.data(), up.data())) return;
      z[static_cast<std::size_t>(j)] = start[static_cast<std::size_t>(j)] - by;
      if (!loop_.slopes(t, z.data(), down.data())) return;
      z[static_cast<std::size_t>(j)] = start[static_cast<std::size_t>(j)];
      for (long i = 0; i < n; ++i)
        a(i, j) = (up[static_cast<std::size_t>(i)] - down[static_cast<std::size_t>(i)]) / (2.0 * by);
    }
    if (!a.allFinite()) return;
    double fastest = 0.0;
    stable_step_ = std::numeric_limits<double>::infinity();
    for (const std::complex<double> s : eigenvalues(a)) {
      fastest = std::max(fastest, std::abs(s));
      if (s.real() >= -1e-6 * std::abs(s)) continue;  // nothing to be kept stable
      const auto grows = [&](double h) {
        const std::complex<double> q = h * s;
        return std::abs(1.0 + q * (1.0 + q / 2.0 * (1.0 + q / 3.0 * (1.0 + q / 4.0)))) > 1.0;
      };
      double low = 0.0, high = 3.0 / std::abs(s);
      for (int k = 0; k < 60; ++k) {
        const double middle = 0.5 * (low + high);
        (grows(middle) ? high : low) = middle;
      }
      stable_step_ = std::min(stable_step_, low);
    }
    if (control_.step > stable_step_)
      warning_ = fmt::format(
          "the step {:g} s is too long for rk4: h*max|sigma| = {:.3g} at the start; the largest stable step "
          "there is {:.3g} s",
          control_.step, control_.step * fastest, stable_step_);
  }

  std::string stable_step_text() const {
    if (!(stable_step_ < std::numeric_limits<double>::infinity())) return {};
    return fmt::format("; linearised at the start, steps up to {:.3g} s are stable", stable_step_);
  }

  // Which states the user calls slow, by name or by domain.
  static std::vector<char> slow_states(const MinimalProblem& minimal) {
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

  static std::optional<Built> build(const MinimalProblem& minimal, ExplicitForm form,
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
      list.assign(angle.unknown, pool.call("atan2", {upper, angle.cosine}) +
                                     pool.number(2 * std::numbers::pi) * angle.turns);
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

    Built built;
    if (minimal.problem.options.restarts && minimal.form.tape)
      built.pivots = pivot_program(minimal, steps, pivots);
    Rk4Program& step = built.program;
    step.program = make_program(pool, inputs, list.list(), roots, 10, 5);
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
    for (std::size_t k = 0; k < minimal.problem.totals.size(); ++k)
      step.totals.push_back(reg(first_total + k));
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

  const Problem& full_;
  std::unique_ptr<MinimalProblem> minimal_;
  std::vector<Expr> iterated_;
  std::vector<ClosedAngle> closed_;
  Schedule schedule_;
  SourceJumps jumps_;
  std::vector<double> held_;
  FmuBlocks fmus_;
  std::vector<double> updates_;
  std::vector<std::int32_t> held_registers_, parameter_registers_, update_registers_;
  Program pivots_;
  Rk4Loop loop_;
  Rk4Control control_;
  std::int64_t events_ = 0, followed_ = 0;  // steps whose totals are kept: the first
  double stable_step_ = std::numeric_limits<double>::infinity();
  int ended_ = 0;
  double ended_at_ = 0.0;
  tellegen_rk4 steps_{};
  std::string failure_, warning_;
};

}  // namespace

std::unique_ptr<Integrator> minimal_rk4(const Problem& problem) {
  // Without states there is nothing to integrate, only events to follow.
  if (problem.storage.state_count() > 0)
    if (auto made = ExplicitRk4::make(problem)) return made;
  if (problem.options.slow_steps > 1)
    throw ModelError({{problem.system->model->file.string(), 0},
                      "T310",
                      "no part of this model can be stepped less often: its rates have no formulas",
                      {"leave out slow_steps"}});
  return iterated_rk4(problem);
}

}  // namespace tellegen
