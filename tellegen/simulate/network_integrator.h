// Fixed steps of a network of any size (network_step.h).
#pragma once

#include "tellegen/simulate/integrator.h"
#include "tellegen/simulate/network_step.h"
#include "tellegen/simulate/whole_integrator.h"

namespace tellegen {

class NetworkIntegrator : public Integrator {
 public:
  NetworkIntegrator(const Problem& problem, Network network);
  std::int64_t advance(std::int64_t samples, double* rows) override;
  std::string failure() const override { return failure_; }
  Statistics statistics() const override { return statistics_; }

 private:
  const Problem& problem_;
  Network network_;
  MethodPlan plan_;
  StepOptions options_;
  StepState state_;
  std::unique_ptr<NetworkStep> start_, step_;
  Statistics statistics_;
  std::string failure_;
};

}  // namespace tellegen
