// Fixed steps of a network of any size (network_step.h). Events as in whole_integrator.h.
#pragma once

#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/network_step.h"
#include "tellegen/simulate/whole_integrator.h"

namespace tellegen {

class NetworkIntegrator : public Integrator {
 public:
  NetworkIntegrator(const Problem& problem, Network network);
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
  std::vector<double> updates_;
  Statistics statistics_;
  std::optional<double> ended_;
  std::string failure_;
};

}  // namespace tellegen
