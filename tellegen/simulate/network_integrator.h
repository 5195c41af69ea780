// Fixed steps of a network of any size (network_step.h). Events: event_steps.h.
#pragma once

#include "tellegen/simulate/event_steps.h"
#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/network_code.h"

namespace tellegen {

// Hears of every step that is taken: what differentiates a run goes along with it.
class StepListener {
 public:
  virtual ~StepListener() = default;
  // Before a step from a point where the state may be stored.
  virtual void before(NetworkStep&) {}
  // A step to time t was taken, with this formula and length; columns and rates may be asked for.
  virtual void stepped(NetworkStep& step, const Scheme& scheme, double t, double length) = 0;
  // The last two steps were stages of one; the first of them is no part of the past.
  virtual void staged() = 0;
  // Then discrete variables were taken over, whether they changed or not. `located`: the event was looked
  // for, and lies at the end of that step.
  virtual void updated(double t, std::span<const int> taken, std::span<const double> before,
                       std::span<const double> after, bool located) = 0;
};

// How many steps keep totals and followed outputs: what followed_steps() is for small models.
std::int64_t followed_steps_of_network(const Problem& problem);

class NetworkIntegrator : public Integrator, public HasTables, private StepExecutor {
 public:
  NetworkIntegrator(const Problem& problem, Network network, StepListener* listener = nullptr);
  std::int64_t advance(std::int64_t samples, double* rows) override;
  void set_input(int input, double value) override;
  bool keep(Checkpoint& parts) override;
  StepCode step_code() const override;
  std::vector<StepTables> step_tables() const override;
  std::optional<double> ended() const override { return events_.ended(); }
  std::string failure() const override { return failure_; }
  Statistics statistics() const override;
  void compile(double interpreting) override { compiled_ = step_->compile(interpreting); }

 private:
  bool one_step(NetworkStep& step, double t);
  bool step_with_events(double t);

  bool take(const Scheme& scheme, double t, double length) override;
  void load(const StepState& state) override { step_->load(state); }
  void store(StepState& state) override { step_->store(state); }
  void hold(std::span<const double> held) override { step_->hold(held); }
  void updates(double t, std::span<double> values) override { step_->updates(t, values); }
  bool watched() const override { return listener_ != nullptr; }
  void kept(const Scheme& scheme, double t, double length) override {
    if (listener_) listener_->stepped(*step_, scheme, t, length);
  }
  void staged() override { listener_->staged(); }
  void changed(double t, std::span<const int> taken, std::span<const double> before,
               std::span<const double> after, bool located) override {
    if (listener_) listener_->updated(t, taken, before, after, located);
  }

  const Problem& problem_;
  Network network_;
  MethodPlan plan_;
  StepOptions options_;
  StepState state_;
  EventSteps events_;
  std::unique_ptr<NetworkStep> start_, step_;
  Scheme scheme_;     // of step_
  int starting_ = 0;  // trapezoidal steps left, where there are events
  StepListener* listener_ = nullptr;
  std::int64_t followed_;
  Statistics statistics_;
  bool compiled_ = false;
  std::string failure_;
};

}  // namespace tellegen
