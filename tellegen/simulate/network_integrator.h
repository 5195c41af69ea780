// Fixed steps of a network of any size (network_step.h). Events as in whole_integrator.h.
#pragma once

#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/network_step.h"
#include "tellegen/simulate/whole_integrator.h"

namespace tellegen {

// Hears of every step that is taken: what differentiates a run goes along with it.
class StepListener {
 public:
  virtual ~StepListener() = default;
  // Before a step from a point where the state may be stored.
  virtual void before(NetworkStep&) {}
  // A step to time t was taken, with this formula and length; columns and rates may be asked for.
  virtual void stepped(NetworkStep& step, const Scheme& scheme, double t, double length) = 0;
  // Then discrete variables were taken over, whether they changed or not. `located`: the event was looked
  // for, and lies at the end of that step.
  virtual void updated(double t, std::span<const int> taken, std::span<const double> before,
                       std::span<const double> after, bool located) = 0;
};

class NetworkIntegrator : public Integrator {
 public:
  NetworkIntegrator(const Problem& problem, Network network, StepListener* listener = nullptr);
  std::int64_t advance(std::int64_t samples, double* rows) override;
  void set_input(int input, double value) override;
  std::optional<double> ended() const override { return ended_; }
  std::string failure() const override { return failure_; }
  Statistics statistics() const override;

 private:
  bool one_step(NetworkStep& step, double t);
  bool step_with_events(double t);
  bool event(double t);
  bool ends() const;  // after event(): it is the one that ends the run
  bool locate(double t);
  void take_updates(std::int64_t index, double t);
  void begin(const Scheme& scheme, int steps);

  const Problem& problem_;
  Network network_;
  MethodPlan plan_;
  StepOptions options_;
  StepState state_;
  Schedule schedule_;
  std::unique_ptr<NetworkStep> start_, step_;
  int starting_ = 0;  // steps left of the formula that begins or begins anew
  bool changed_ = false;
  std::vector<double> updates_, before_;
  StepListener* listener_ = nullptr;
  Scheme scheme_;  // of the steps being taken
  bool located_ = false;
  Statistics statistics_;
  std::optional<double> ended_;
  std::string failure_;
};

}  // namespace tellegen
