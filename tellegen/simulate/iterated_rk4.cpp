// Classical Runge-Kutta steps of a minimal form whose unknowns have no formulas: rk4.cpp says what the method
// is.
#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "runtime/tellegen_rk4.h"
#include "tellegen/equations/exponentials.h"
#include "tellegen/program/batch.h"
#include "tellegen/simulate/event_steps.h"
#include "tellegen/simulate/fmu_blocks.h"
#include "tellegen/simulate/minimal_problem.h"
#include "tellegen/simulate/rk4.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/simulate/source_jumps.h"
#include "tellegen/symbolic/common.h"

namespace tellegen {
namespace {

constexpr double least_part = TELLEGEN_LEAST_PART;

// Where something first wants to change between `from` and `to`, to so many bisections: at `to` itself, or
// not nearer to either end than the shortest part. `wants_change`: whether it does by a time.
template <class WantsChange>
double first_event(double from, double to, double shortest, int bisections, WantsChange wants_change) {
  double before = from, at = to;
  for (int k = 0; k < bisections; ++k) {
    const double middle = 0.5 * (before + at);
    (wants_change(middle) ? at : before) = middle;
  }
  at = std::max(at, from + shortest);
  return at > to - shortest ? to : at;
}

class IteratedRk4 : public Integrator {
 public:
  explicit IteratedRk4(const Problem& full)
      : full_(full),
        minimal_(full),
        states_(minimal_.form.states.size()),
        unknowns_(minimal_.form.unknowns.size()),
        schedule_(minimal_.system, minimal_.problem.step),
        jumps_(*full.system, minimal_.problem.step, minimal_.problem.options.stop),
        batch_(make_batch()),
        held_(minimal_.problem.initial.held),
        fmus_(minimal_.system, minimal_.problem.step, minimal_.problem.options.stop, held_),
        updates_(held_.size()) {
    for (auto& k : slope_) k.assign(states_, 0.0);
    jacobian_.resize(static_cast<long>(unknowns_), static_cast<long>(unknowns_));
    residual_.resize(static_cast<long>(unknowns_));
    change_.resize(static_cast<long>(unknowns_));
    lu_ = Eigen::PartialPivLU<Eigen::MatrixXd>(static_cast<long>(unknowns_));
    batch_.allocate();
    statistics_.unknowns = static_cast<std::int64_t>(states_ + unknowns_);
    statistics_.executor = "minimal form, interpreted";
    if (minimal_.problem.options.compile && !batch_.has_large_tables()) {
      const std::string source = batch_.c_source("rk4");
      load(compile_c(source, seconds_of_interpreting(source, steps_to_come(minimal_.problem))));
    }
    begin();
  }

  void compile(double interpreting) override {
    if (!batch_.has_large_tables()) load(compile_c(batch_.c_source("rk4"), interpreting));
  }
  void load(const std::shared_ptr<const CompiledCode>& code) {
    if (!code) return;
    batch_.use(code, "rk4");
    statistics_.executor = "minimal form, compiled";
  }

  bool restart() override {
    if (!minimal_.restart(full_)) return false;  // as it is where something is discrete
    jumps_ = SourceJumps(*full_.system, minimal_.problem.step, minimal_.problem.options.stop);
    statistics_.steps = statistics_.iterations = statistics_.worst_iterations = statistics_.events = 0;
    ended_.reset();
    failure_.clear();
    for (std::size_t k = 0; k < exponentials_; ++k)
      batch_.uniform(static_cast<std::int32_t>(previous_input_ + k)) = 0.0;
    begin();
    return true;
  }

  std::int64_t advance(std::int64_t samples, double* rows) override {
    if (!failure_.empty()) return 0;
    const Problem& problem = minimal_.problem;
    const double h = problem.step;
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      for (std::int64_t k = 0; k < problem.stride; ++k) {
        const double t = h * static_cast<double>(statistics_.steps);
        if (!take_in_parts(t, t + h)) return sample;
        ++statistics_.steps;
        if (ended_) {
          if (!write_row(*ended_, rows)) ended_.reset();
          return sample;
        }
        if (schedule_.empty()) continue;
        // Outputs belong to the values before an event, as in the other fixed-step methods.
        if (k + 1 == problem.stride && !write_row(t + h, rows)) return sample;
        if (!look(t + h)) return sample;
        if (ends()) {
          if (write_row(t + h, rows)) ended_ = t + h;
          return sample;
        }
        take_updates(statistics_.steps);
        if (failure_ = fmus_.failure(); !failure_.empty()) return sample + (k + 1 == problem.stride ? 1 : 0);
      }
      if (schedule_.empty() && !write_row(h * static_cast<double>(statistics_.steps), rows)) return sample;
      rows += problem.outputs.size();
    }
    return samples;
  }

  void set_input(int input, double value) override {
    const auto k = static_cast<std::size_t>(minimal_.problem.external[input]);
    held_[k] = value;
    hold(k);
    batch_.run(0, nullptr);
  }
  bool keep(Checkpoint& parts) override {
    schedule_.keep(parts);
    jumps_.keep(parts);
    batch_.each([&](double* first, std::size_t count) { parts.array(first, count); });
    parts(held_, updates_, z_, w_, ended_);
    tellegen::keep(parts, statistics_);
    return true;
  }
  std::optional<double> ended() const override { return ended_; }
  std::string failure() const override { return failure_; }
  Statistics statistics() const override {
    Statistics s = statistics_;
    s.chatter = schedule_.chatter();
    return s;
  }

 private:
  // Sections: 0 constants, 1 residuals and their Jacobian, 2 slopes, 3 outputs.
  Batch make_batch() {
    const MinimalForm& form = minimal_.form;
    Pool& pool = *minimal_.system.model->pool;
    std::vector<ProgramInput> inputs;
    for (Expr z : form.states) inputs.push_back({z, 1});
    for (Expr w : form.unknowns) inputs.push_back({w, 1});
    inputs.push_back({pool.symbol("t"), 1});
    for (Expr p : form.parameters) inputs.push_back({p, 0});
    for (std::size_t k = 0; k < minimal_.system.discrete.size(); ++k)
      inputs.push_back({discrete_symbol(minimal_.system, static_cast<int>(k)), 0});
    // Exponentials limited between iterations, as everywhere.
    std::vector<Expr> residuals = form.residuals;
    const auto exponentials =
        limit_exponentials(pool, residuals, {form.unknowns.begin(), form.unknowns.end()});
    Assignments list(pool);
    previous_input_ = inputs.size();
    Expr farthest = pool.number(0);
    for (const auto& x : exponentials) {
      const Expr previous = pool.symbol("~previous" + x.limited.name());
      inputs.push_back({previous, 1});
      list.assign(x.limited, pool.call("junction_limit", {x.argument, previous}));
      const Expr matters = pool.call("gt", {pool.call("max", {x.argument, x.limited}), pool.number(-30)});
      farthest = pool.call("max", {farthest, matters * pool.call("abs", {x.argument - x.limited})});
    }
    std::vector<ProgramRoot> roots;
    for (Expr g : residuals) roots.push_back({g, 1});
    for (Expr g : residuals)
      for (Expr d : gradient(g, form.unknowns)) roots.push_back({d, 1});
    limited_root_ = roots.size();
    exponentials_ = exponentials.size();
    for (const auto& x : exponentials) roots.push_back({x.limited, 1});
    roots.push_back({farthest, 1});
    slope_root_ = roots.size();
    for (Expr f : form.derivatives) roots.push_back({f, 2});
    output_root_ = roots.size();
    for (Expr o : minimal_.problem.outputs) roots.push_back({o, 3});
    update_root_ = roots.size();
    for (const Discrete& d : minimal_.system.discrete) roots.push_back({d.update, 3});
    Program program = make_program(pool, inputs, list.list(), roots, 4);
    const std::vector<std::int32_t> exports = program.roots;
    return Batch(std::move(program), std::vector<InputSource>(inputs.size(), InputSource::uniform), exports,
                 1);
  }

  void begin() {
    const std::vector<double>& x = minimal_.problem.initial.x;
    z_.assign(x.begin(), x.begin() + static_cast<long>(states_));
    begin_ = stage_ = z_;
    w_ = Eigen::Map<const Eigen::VectorXd>(x.data() + states_, static_cast<long>(unknowns_));
    for (std::size_t p = 0; p < minimal_.form.values.size(); ++p)
      batch_.uniform(static_cast<std::int32_t>(states_ + unknowns_ + 1 + p)) = minimal_.form.values[p];
    for (std::size_t k = 0; k < held_.size(); ++k) hold(k);
    batch_.run(0, nullptr);
  }

  void hold(std::size_t k) {
    batch_.uniform(static_cast<std::int32_t>(states_ + unknowns_ + 1 + minimal_.form.values.size() + k)) =
        held_[k];
  }

  bool write_row(double t, double* row) {
    if (!solve_unknowns(t, z_)) return false;
    batch_.run(3, nullptr);
    for (std::size_t k = 0; k < minimal_.problem.outputs.size(); ++k) row[k] = root(output_root_ + k);
    failure_ = not_finite(minimal_.problem, row, t);
    if (failure_.empty()) return true;
    failure_ += "; rk4 is explicit, the step is too long for the fastest part of the model";
    return false;
  }

  // What discrete variables become, at the states as they are.
  bool look(double t) {
    if (!solve_unknowns(t, z_)) return false;
    batch_.run(3, nullptr);
    for (std::size_t i = 0; i < updates_.size(); ++i) updates_[i] = root(update_root_ + i);
    return true;
  }
  bool ends() const {
    const auto stop = minimal_.problem.stop_event;
    return stop >= 0 && updates_[static_cast<std::size_t>(stop)] != 0.0;
  }
  bool wants_change() const {
    for (std::size_t k = 0; k < updates_.size(); ++k)
      if (minimal_.system.discrete[k].every == 0.0 && differs(updates_[k], held_[k])) return true;
    return false;
  }
  bool take_updates(std::int64_t index) {
    if (!schedule_.take(index, updates_, held_)) return false;
    fmus_.follow(held_);
    for (std::size_t i = 0; i < held_.size(); ++i) hold(i);
    batch_.run(0, nullptr);
    ++statistics_.events;
    return true;
  }

  // Where sources jump within it or at its end, with the values before the jump.
  bool take_in_parts(double t, double end) {
    const double h = minimal_.problem.step;
    while (jumps_.next() <= end + least_part * h) {
      const double jump = jumps_.next();
      if (jump > t + least_part * h && jumps_.jumps()) {
        if (!take_to(t, jumps_.before(jump))) return false;
        if (ended_) return true;
        t = jump;
      }
      jumps_.pass();
    }
    return t >= end - least_part * h || take_to(t, end);
  }

  // From event to event, where they are looked for; what happens at the end itself is left.
  bool take_to(double t, double end) {
    const int bisections = schedule_.empty() ? 0 : minimal_.problem.options.event_bisections;
    for (int events = 0;; ++events) {
      if (bisections > 0) begin_ = z_;
      if (!take(t, end - t)) return false;
      if (bisections == 0 || events == most_located) return true;
      if (!look(end)) return false;
      if (!wants_change()) return true;
      bool good = true;
      const auto again_to = [&](double to) {
        z_ = begin_;
        good = good && take(t, to - t) && look(to);
      };
      const double at =
          first_event(t, end, least_part * minimal_.problem.step, bisections, [&](double middle) {
            again_to(middle);
            return good && wants_change();
          });
      again_to(at);
      if (!good) return false;
      if (at == end) return true;
      for (int round = 0; round < most_followed && wants_change(); ++round) {
        if (ends()) {
          ended_ = at;
          return true;
        }
        take_updates(statistics_.steps);
        if (!look(at)) return false;
      }
      t = at;
    }
  }

  bool take(double t, double h) {
    if (!slope(t, z_, slope_[0])) return false;
    move(0.5 * h, slope_[0]);
    if (!slope(t + 0.5 * h, stage_, slope_[1])) return false;
    move(0.5 * h, slope_[1]);
    if (!slope(t + 0.5 * h, stage_, slope_[2])) return false;
    move(h, slope_[2]);
    if (!slope(t + h, stage_, slope_[3])) return false;
    for (std::size_t i = 0; i < states_; ++i)
      z_[i] += h / 6 * (slope_[0][i] + 2 * slope_[1][i] + 2 * slope_[2][i] + slope_[3][i]);
    return true;
  }

  void move(double by, const std::vector<double>& slope) {
    for (std::size_t i = 0; i < states_; ++i) stage_[i] = z_[i] + by * slope[i];
  }

  double root(std::size_t k) { return batch_.array(batch_.program().roots[k])[0]; }

  bool solve_unknowns(double t, const std::vector<double>& z) {
    for (std::size_t i = 0; i < states_; ++i) batch_.uniform(static_cast<std::int32_t>(i)) = z[i];
    batch_.uniform(static_cast<std::int32_t>(states_ + unknowns_)) = t;
    const int most = minimal_.problem.options.iterations > 0 ? minimal_.problem.options.iterations : 100;
    for (int iteration = 0; unknowns_ > 0; ++iteration) {
      for (std::size_t i = 0; i < unknowns_; ++i)
        batch_.uniform(static_cast<std::int32_t>(states_ + i)) = w_[static_cast<long>(i)];
      batch_.run(1, nullptr);
      for (std::size_t i = 0; i < unknowns_; ++i) {
        residual_[static_cast<long>(i)] = root(i);
        for (std::size_t j = 0; j < unknowns_; ++j)
          jacobian_(static_cast<long>(i), static_cast<long>(j)) = root(unknowns_ + i * unknowns_ + j);
      }
      for (std::size_t k = 0; k < exponentials_; ++k)
        batch_.uniform(static_cast<std::int32_t>(previous_input_ + k)) = root(limited_root_ + k);
      const bool limited = root(limited_root_ + exponentials_) > 1e-9;
      lu_.compute(jacobian_);
      change_ = lu_.solve(residual_);  // in place it would allocate
      w_ -= change_;
      ++statistics_.iterations;
      statistics_.worst_iterations = std::max<std::int64_t>(statistics_.worst_iterations, iteration + 1);
      const double change = (change_.array().abs() / (1.0 + w_.array().abs())).maxCoeff();
      // No tighter than rounding lets it be.
      if (!limited && change <= std::max(minimal_.problem.options.tolerance * 1e-3, 1e-12)) break;
      if (iteration + 1 >= most) {
        if (minimal_.problem.options.iterations > 0) break;
        failure_ = fmt::format(
            "Newton's iteration did not converge at t = {:.9g} s: rk4 is explicit and steps too far for "
            "stiff "
            "parts such as junctions; bdf2 and tr do not",
            t);
        return false;
      }
    }
    for (std::size_t i = 0; i < unknowns_; ++i)
      batch_.uniform(static_cast<std::int32_t>(states_ + i)) = w_[static_cast<long>(i)];
    if (unknowns_ == 0) batch_.run(1, nullptr);
    return true;
  }

  bool slope(double t, const std::vector<double>& z, std::vector<double>& out) {
    if (!solve_unknowns(t, z)) return false;
    batch_.run(2, nullptr);
    for (std::size_t i = 0; i < states_; ++i) out[i] = root(slope_root_ + i);
    return true;
  }

  const Problem& full_;
  MinimalProblem minimal_;
  std::size_t states_, unknowns_, slope_root_ = 0, output_root_ = 0, limited_root_ = 0, exponentials_ = 0,
                                  previous_input_ = 0, update_root_ = 0;
  Schedule schedule_;
  SourceJumps jumps_;
  Batch batch_;
  std::vector<double> held_;
  FmuBlocks fmus_;
  std::vector<double> updates_;
  std::vector<double> z_, begin_, stage_, slope_[4];
  Eigen::VectorXd w_, residual_, change_;
  Eigen::MatrixXd jacobian_;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu_;
  Statistics statistics_;
  std::optional<double> ended_;
  std::string failure_;
};

}  // namespace

std::unique_ptr<Integrator> iterated_rk4(const Problem& problem) {
  return std::make_unique<IteratedRk4>(problem);
}

}  // namespace tellegen
