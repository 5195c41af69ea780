// An FMU for model exchange with an integrator of its own, so that it looks like one for co-simulation: error
// control, events found, inputs held from one communication point to the next.
//
// Rosenbrock's method RODAS: L-stable, order 4 with an embedded one of order 3, one factorisation a step, no
// iteration. The Jacobian comes from the FMU's directional derivatives, or where it has none from differences
// of its rates. An event is where an indicator changes its sign in a step: the step is taken again, up to the
// first of them, and what is left of the interval begins behind it.
//
// [Hairer 1996] Hairer and Wanner, Solving Ordinary Differential Equations II, ch. IV.7, IV.10.
#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "tellegen/fmu/instances.h"

namespace tellegen {
namespace {

constexpr int stages = 6, most_updates = 100, most_failures = 60, most_bisections = 200;
constexpr double relative_tolerance = 1e-8;

constexpr double gamma_ = 0.25;
constexpr double stage_factor[stages][stages] = {
    {},
    {1.544},
    {0.9466785280815826, 0.2557011698983284},
    {3.314825187068521, 2.896124015972201, 0.9986419139977817},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0}};
constexpr double right_factor[stages][stages] = {
    {},
    {-5.6688},
    {-2.430093356833875, -0.2063599157091915},
    {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
    {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
    {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054}};
constexpr double stage_time[stages] = {0.0, 0.386, 0.21, 0.63, 1.0, 1.0};
constexpr double time_factor[stages] = {0.25, -0.1043, 0.1035, -0.03620000000000023, 0.0, 0.0};

std::span<double> span_of(Eigen::VectorXd& v) { return {v.data(), static_cast<std::size_t>(v.size())}; }

class IntegratedFmu : public FmuInstance {
 public:
  IntegratedFmu(const FmuDescription& d, std::unique_ptr<ContinuousFmu> fmu) : fmu_(std::move(fmu)), d_(d) {}

  // Between two steps a change of inputs is an event.
  void set(std::span<const int> variables, std::span<const double> values) override {
    if (variables.empty()) return;
    if (running_) fmu_->enter_event_mode();
    fmu_->set(variables, values);
    if (running_) update();
  }
  void set_text(int variable, const std::string& value) override {
    if (running_) fmu_->enter_event_mode();
    fmu_->set_text(variable, value);
    if (running_) update();
  }
  void get(std::span<const int> variables, std::span<double> values) override {
    fmu_->get(variables, values);
  }
  std::string text(int variable) override { return fmu_->text(variable); }
  void enter_initialization() override { fmu_->enter_initialization(); }

  void exit_initialization() override {
    fmu_->exit_initialization();
    const auto n = static_cast<Eigen::Index>(fmu_->states());
    const auto indicators = static_cast<Eigen::Index>(fmu_->indicators());
    for (Eigen::VectorXd* v : {&x_, &next_, &stage_, &rates_, &other_, &by_time_, &nominal_}) v->setZero(n);
    for (Eigen::VectorXd& k : k_) k.setZero(n);
    for (Eigen::VectorXd* v : {&z_, &z_next_, &z_before_, &z_after_}) v->setZero(indicators);
    jacobian_.setZero(n, n);
    // A state that is an array has one value reference for all of its elements.
    directional_ = d_.directional && d_.rates.size() == static_cast<std::size_t>(n);
    update();
    fmu_->get_nominals(span_of(nominal_));
    for (double& value : nominal_) value = value != 0.0 && std::isfinite(value) ? std::abs(value) : 1.0;
    running_ = true;
  }

  bool step(double t, double length) override {
    const double end = t + length, shortest = 1e-13 * std::max(std::abs(end), length);
    t_ = t;
    h_ = std::max(h_, 1e-6 * length);
    while (!over_ && end - t_ > shortest) {
      // Steps are not stretched or left short by a hair.
      const double to = std::min(end, std::max(next_event_, t_));
      if (to - t_ > shortest && !advance(to, shortest)) return false;
      if (next_event_ - t_ <= shortest) {
        t_ = std::max(t_, next_event_);  // a hair before it, the FMU would announce it again and again
        event();
      }
    }
    return !over_;
  }

 private:
  // One step that is accepted, and what happens at its end. False where the FMU wants to end.
  bool advance(double to, double shortest) {
    rates_at(t_, x_, rates_);
    find_slopes(to);
    put(t_, x_);
    fmu_->get_indicators(span_of(z_));
    for (int failures = 0;; ++failures) {
      const bool last = to - t_ <= 1.01 * h_;
      const double h = last ? to - t_ : h_;
      const double error = take(h);
      if (error <= 1.0) {
        finish(h, last ? to : t_ + h, shortest);
        if (!last || error > 0.5)
          h_ = h * std::clamp(0.9 * std::pow(std::max(error, 1e-10), -0.25), 0.2, 5.0);
        return !over_;
      }
      if (failures == most_failures || h <= shortest)
        throw FmuError(fmt::format(
            "its states cannot be integrated beyond t = {:.9g} s: the step became too short", t_));
      h_ = h * (std::isfinite(error) ? std::clamp(0.9 * std::pow(error, -0.25), 0.1, 0.7) : 0.1);
    }
  }

  // The step of length h has been taken; an event in it cuts it short.
  void finish(double h, double to, double shortest) {
    put(to, next_);
    fmu_->get_indicators(span_of(z_next_));
    bool found = crossed();
    if (found) {
      double before = 0.0, after = h;
      z_before_ = z_;
      for (int k = 0; after - before > shortest && k < most_bisections; ++k) {
        // Where straight lines say that the first one crosses, a little before or after in turn, so that the
        // two ends close in on it; and in the middle where they do not.
        double part = 0.5;
        if (k % 3 != 2) {
          part = 1.0;
          for (Eigen::Index i = 0; i < z_.size(); ++i)
            if ((z_before_[i] > 0.0) != (z_next_[i] > 0.0))
              part = std::min(part, z_before_[i] / (z_before_[i] - z_next_[i]));
          part = std::clamp(part + (k % 3 == 0 ? 1e-3 : -1e-3), 1e-3, 1.0 - 1e-3);
        }
        const double middle = before + part * (after - before);
        if (!(middle > before && middle < after)) break;
        take(middle);
        put(t_ + middle, next_);
        z_after_ = z_next_;
        fmu_->get_indicators(span_of(z_next_));
        if (crossed()) {
          after = middle;
        } else {
          before = middle;
          z_before_ = z_next_;
          z_next_ = z_after_;
        }
      }
      take(after);
      to = t_ + after;
      put(to, next_);
    }
    t_ = to;
    x_ = next_;
    if (d_.completes_steps) {
      const ContinuousFmu::Completed completed = fmu_->completed_step();
      over_ = over_ || completed.over;
      found = found || completed.event;
    }
    if (found && !over_) event();
  }

  bool crossed() const {
    for (Eigen::Index i = 0; i < z_.size(); ++i)
      if ((z_[i] > 0.0) != (z_next_[i] > 0.0)) return true;
    return false;
  }

  void event() {
    put(t_, x_);
    fmu_->enter_event_mode();
    update();
  }

  // In event mode: until nothing wants to change, and out of it.
  void update() {
    ContinuousFmu::Event last;
    for (int k = 0;; ++k) {
      last = fmu_->update_discrete();
      over_ = over_ || last.over;
      if (!last.again || over_) break;
      if (k == most_updates)
        throw FmuError(fmt::format("its discrete states change again and again at t = {:.9g} s", t_));
    }
    next_event_ = last.next;
    if (over_) return;
    fmu_->enter_continuous_mode();
    fmu_->get_states(span_of(x_));
    h_ *= 1e-3;  // what was a good length tells little
  }

  void put(double t, const Eigen::VectorXd& x) {
    fmu_->set_time(t);
    fmu_->set_states({x.data(), static_cast<std::size_t>(x.size())});
  }
  void rates_at(double t, const Eigen::VectorXd& x, Eigen::VectorXd& rates) {
    put(t, x);
    fmu_->get_rates(span_of(rates));
  }

  // By the states and by time, at the beginning of a step; `to`: no event before it.
  void find_slopes(double to) {
    const Eigen::Index n = x_.size();
    const double by = std::min(1e-7 * std::max({std::abs(t_), h_, 1e-10}), 0.5 * (to - t_));
    rates_at(t_ + by, x_, other_);
    by_time_ = (other_ - rates_) / by;
    put(t_, x_);
    for (Eigen::Index j = 0; j < n; ++j) {
      if (directional_) {
        fmu_->slope(static_cast<std::size_t>(j), {jacobian_.col(j).data(), static_cast<std::size_t>(n)});
        continue;
      }
      stage_ = x_;
      const double size = 1e-7 * std::max(std::abs(x_[j]), 1e-3 * nominal_[j]);
      stage_[j] += size;
      rates_at(t_, stage_, other_);
      jacobian_.col(j) = (other_ - rates_) / (stage_[j] - x_[j]);
    }
  }

  // x_ after a step of length h, in next_. The error in units of the tolerance.
  double take(double h) {
    const Eigen::Index n = x_.size();
    if (n == 0) return 0.0;
    Eigen::MatrixXd matrix = -jacobian_;
    matrix.diagonal().array() += 1.0 / (gamma_ * h);
    lu_.compute(matrix);
    for (int i = 0; i < stages; ++i) {
      stage_ = x_;
      for (int j = 0; j < i; ++j) stage_ += stage_factor[i][j] * k_[j];
      if (i == 0)
        other_ = rates_;
      else
        rates_at(t_ + stage_time[i] * h, stage_, other_);
      for (int j = 0; j < i; ++j) other_ += right_factor[i][j] / h * k_[j];
      other_ += h * time_factor[i] * by_time_;
      k_[i] = lu_.solve(other_);
    }
    next_ = stage_ + k_[stages - 1];
    double largest = 0.0;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double size = std::max({std::abs(x_[i]), std::abs(next_[i]), 1e-2 * nominal_[i]});
      const double error = std::abs(k_[stages - 1][i]) / (relative_tolerance * size);
      if (!(error <= largest)) largest = error;  // what is no number stays
    }
    return largest;
  }

  std::unique_ptr<ContinuousFmu> fmu_;
  const FmuDescription& d_;
  bool running_ = false, over_ = false, directional_ = false;
  double t_ = 0.0, h_ = 0.0, next_event_ = std::numeric_limits<double>::infinity();
  Eigen::VectorXd x_, next_, stage_, rates_, other_, by_time_, nominal_, z_, z_next_, z_before_, z_after_,
      k_[stages];
  Eigen::MatrixXd jacobian_;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu_;
};

}  // namespace

std::unique_ptr<FmuInstance> integrated(const FmuDescription& description,
                                        std::unique_ptr<ContinuousFmu> fmu) {
  return std::make_unique<IntegratedFmu>(description, std::move(fmu));
}

}  // namespace tellegen
