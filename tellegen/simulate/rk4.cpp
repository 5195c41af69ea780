// Classical fourth-order Runge-Kutta on the minimal form.
//
//   z_next = z + h/6 (k1 + 2 k2 + 2 k3 + k4)
//
// Explicit: fast for smooth systems without stiff parts, unstable where h times the fastest rate exceeds
// about 2.8; then the states grow without bound and the run stops. Unknowns that only nonlinear equations
// determine are solved by Newton at every stage, starting from the last stage.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>

#include "tellegen/equations/exponentials.h"
#include "tellegen/program/batch.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/minimal_problem.h"

namespace tellegen {
namespace {

class Rk4 : public Integrator {
 public:
  explicit Rk4(const Problem& full)
      : minimal_(full),
        states_(minimal_.form.states.size()),
        unknowns_(minimal_.form.unknowns.size()),
        schedule_(minimal_.system, minimal_.problem.step),
        batch_(make_batch()),
        held_(minimal_.problem.initial.held),
        updates_(held_.size()) {
    z_.assign(minimal_.problem.initial.x.begin(),
              minimal_.problem.initial.x.begin() + static_cast<long>(states_));
    stage_ = z_;
    for (auto& k : slope_) k.assign(states_, 0.0);
    w_ = Eigen::Map<const Eigen::VectorXd>(minimal_.problem.initial.x.data() + states_,
                                           static_cast<long>(unknowns_));
    jacobian_.resize(static_cast<long>(unknowns_), static_cast<long>(unknowns_));
    residual_.resize(static_cast<long>(unknowns_));
    change_.resize(static_cast<long>(unknowns_));
    lu_ = Eigen::PartialPivLU<Eigen::MatrixXd>(static_cast<long>(unknowns_));
    batch_.allocate();
    for (std::size_t p = 0; p < minimal_.form.values.size(); ++p)
      batch_.uniform(static_cast<std::int32_t>(states_ + unknowns_ + 1 + p)) = minimal_.form.values[p];
    for (std::size_t k = 0; k < held_.size(); ++k) hold(k);
    bool compiled = false;
    if (minimal_.problem.options.compile)
      if (const auto code = compile_c(batch_.c_source("rk4"))) {
        batch_.use(code, "rk4");
        compiled = true;
      }
    batch_.run(0, nullptr);
    statistics_.unknowns = static_cast<std::int64_t>(states_ + unknowns_);
    statistics_.executor = compiled ? "minimal form, compiled" : "minimal form, interpreted";
  }

  std::int64_t advance(std::int64_t samples, double* rows) override {
    const Problem& problem = minimal_.problem;
    const double h = problem.step;
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      for (std::int64_t k = 0; k < problem.stride; ++k) {
        const double t = h * static_cast<double>(statistics_.steps);
        if (!slope(t, z_, slope_[0])) return sample;
        move(0.5 * h, slope_[0]);
        if (!slope(t + 0.5 * h, stage_, slope_[1])) return sample;
        move(0.5 * h, slope_[1]);
        if (!slope(t + 0.5 * h, stage_, slope_[2])) return sample;
        move(h, slope_[2]);
        if (!slope(t + h, stage_, slope_[3])) return sample;
        for (std::size_t i = 0; i < states_; ++i)
          z_[i] += h / 6 * (slope_[0][i] + 2 * slope_[1][i] + 2 * slope_[2][i] + slope_[3][i]);
        ++statistics_.steps;
        if (schedule_.empty()) continue;
        // Outputs belong to the values before an event, as in the other fixed-step methods.
        if (k + 1 == problem.stride && !write_row(t + h, rows)) return sample;
        if (!solve_unknowns(t + h, z_)) return sample;
        batch_.run(3, nullptr);
        for (std::size_t i = 0; i < updates_.size(); ++i) updates_[i] = root(update_root_ + i);
        if (problem.stop_event >= 0 && updates_[problem.stop_event] != 0.0) {
          if (write_row(t + h, rows)) ended_ = t + h;
          return sample;
        }
        if (!schedule_.take(statistics_.steps, updates_, held_)) continue;
        for (std::size_t i = 0; i < held_.size(); ++i) hold(i);
        batch_.run(0, nullptr);
        ++statistics_.events;
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

  MinimalProblem minimal_;
  std::size_t states_, unknowns_, slope_root_ = 0, output_root_ = 0, limited_root_ = 0, exponentials_ = 0,
                                  previous_input_ = 0, update_root_ = 0;
  Schedule schedule_;
  Batch batch_;
  std::vector<double> held_, updates_;
  std::vector<double> z_, stage_, slope_[4];
  Eigen::VectorXd w_, residual_, change_;
  Eigen::MatrixXd jacobian_;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu_;
  Statistics statistics_;
  std::optional<double> ended_;
  std::string failure_;
};

}  // namespace

std::unique_ptr<Integrator> minimal_rk4(const Problem& problem) { return std::make_unique<Rk4>(problem); }

}  // namespace tellegen
