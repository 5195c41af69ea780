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

#include "tellegen/numeric/decompose.h"
#include "tellegen/simulate/event_steps.h"
#include "tellegen/simulate/explicit_problem.h"
#include "tellegen/simulate/fmu_blocks.h"
#include "tellegen/simulate/minimal_problem.h"
#include "tellegen/simulate/rk4.h"
#include "tellegen/simulate/rk4_program.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/simulate/source_jumps.h"

namespace tellegen {
namespace {

class ExplicitRk4 : public Integrator {
 public:
  // Empty where the minimal form has no explicit one.
  static std::unique_ptr<ExplicitRk4> make(const Problem& full) {
    auto minimal = std::make_unique<MinimalProblem>(full);
    auto program = make_rk4_program(*minimal, !minimal->system.discrete.empty());
    if (!program) return nullptr;
    return std::unique_ptr<ExplicitRk4>(new ExplicitRk4(full, std::move(minimal), std::move(*program)));
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
      e.held_registers = built_.held;
      e.updates = built_.updates;
      loop_.add_registers(e);
    }
    code.parts.push_back(loop_.part(control_));
    code.parts[0].held = built_.held;
    for (std::size_t k = 0; k < minimal_->form.states.size(); ++k)
      code.parts[0].states[k].name = rate_name(*minimal_->full, minimal_->form.state_rates[k]);
    for (const std::int32_t input : minimal_->problem.external)
      code.parts[0].inputs.push_back(built_.held[input]);
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
    s.unknowns = static_cast<std::int64_t>(minimal_->form.states.size() + built_.iterated.size());
    s.chatter = chatter_text(minimal_->system, steps_.schedule);
    s.warning = warning_;
    s.executor = loop_.compiled() ? "explicit form, compiled" : "explicit form, interpreted";
    return s;
  }

 private:
  ExplicitRk4(const Problem& full, std::unique_ptr<MinimalProblem> minimal, MinimalRk4 built)
      : full_(full),
        minimal_(std::move(minimal)),
        built_(std::move(built)),
        schedule_(minimal_->system, minimal_->problem.step),
        jumps_(*minimal_->full, minimal_->problem.step, minimal_->problem.options.stop),
        held_(minimal_->problem.initial.held),
        fmus_(minimal_->system, minimal_->problem.step, minimal_->problem.options.stop, held_),
        updates_(held_.size()),
        loop_(built_.program) {
    built_.program.program = {};
    if (minimal_->problem.options.compile) loop_.compile_for(steps_to_come(minimal_->problem));
    connect();
    begin();
  }

  void begin() {
    const Problem& problem = minimal_->problem;
    const std::size_t n = minimal_->form.states.size();
    built_.begin(*minimal_, loop_.registers());
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
    std::vector<double> registers(built_.pivots.registers);
    const auto points = sample_points(*minimal_, false);
    for (const ClosedAngle& angle : built_.closed)  // and the branches?
      if (!(evaluate(angle.slope, points[0]) * (angle.rising ? 1.0 : -1.0) > least_good_pivot)) return false;
    for (const ExprMap<double>& point : points) {
      for (std::size_t k = 0; k < built_.pivots.inputs.size(); ++k)
        registers[k] = point.at(built_.pivots.inputs[k].symbol);
      interpret(built_.pivots, 0, registers.data());
      if (!(registers[built_.pivots.roots[0]] > least_good_pivot)) return false;
    }
    return true;
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
        rk4.updates_[k] = rk4.loop_.registers()[rk4.built_.updates[k]];
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
    for (std::size_t k = 0; k < held_.size(); ++k) loop_.registers()[built_.held[k]] = held_[k];
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

  const Problem& full_;
  std::unique_ptr<MinimalProblem> minimal_;
  MinimalRk4 built_;
  Schedule schedule_;
  SourceJumps jumps_;
  std::vector<double> held_;
  FmuBlocks fmus_;
  std::vector<double> updates_;
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
