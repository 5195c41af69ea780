// Runs of the model with its sensitivity graph drawn beside it (equations/sensitivity_graph.h): for methods
// that know nothing of derivatives, and for second derivatives.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tellegen/sensitivity/run.h"

namespace tellegen {

// The model with its sensitivities beside it, all beginning with what they are in the model alone.
Model combined_model(const Model& model, std::span<const int> wrt);

// rk4 and exact. Throws ModelError (T341) where discrete variables change or the end of the run moves.
RunDerivatives combined_forward_run(const Model& model, const RunRequest& request);

// The same again and again at other numbers of the parameters, by any method: built once.
class CombinedRun {
 public:
  CombinedRun(const Model& model, const RunRequest& request);
  CombinedRun(const CombinedRun&) = delete;
  RunDerivatives run();
  // With these numbers of request.wrt from now on. False where they need other equations; this is of no use
  // then. With SimulationOptions::restarts only.
  bool restart(std::span<const double> numbers);
  void compile(double interpreting) { plain_->compile(interpreting); }

 private:
  std::vector<std::string> names_;
  Model combined_;
  std::vector<int> parameters_;  // of the combined model
  std::vector<Observed> observed_;
  std::size_t shown_;
  std::optional<PlainRun> plain_;
  std::string method_;
  std::vector<std::string> warnings_;
  bool can_restart_;
};

// d2(observed)/dp dq, [observed][p][q], as `gradient`; `values` are the first derivatives, [observed][p]. Of
// values at the end of a run that ends at a fixed time; throws ModelError (T341) for others.
RunDerivatives second_order_run(const Model& model, const RunRequest& request);

}  // namespace tellegen
