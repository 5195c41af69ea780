#include "tellegen/sensitivity/run.h"

#include <fmt/format.h>

#include "tellegen/sensitivity/combined.h"
#include "tellegen/sensitivity/fixed_step.h"

namespace tellegen {
namespace {

bool is_implicit_fixed_step(const std::string& method) {
  return method == "tr" || method == "trnp" || method.starts_with("bdf");
}

}  // namespace

RunDerivatives forward_run(const Model& model, const RunRequest& request) {
  const std::string& method = request.simulation.method;
  if (is_implicit_fixed_step(method)) return fixed_forward_run(model, request);
  return method == "adaptive" ? adaptive_forward_run(model, request) : combined_forward_run(model, request);
}

RunDerivatives adjoint_run(const Model& model, const RunRequest& request) {
  const std::string& method = request.simulation.method;
  if (is_implicit_fixed_step(method)) return fixed_adjoint_run(model, request);
  throw ModelError(
      {{model.file.string(), 0},
       "T340",
       fmt::format("the adjoint of method '{}' is not available", method),
       {"the adjoint goes back through the steps of tr, trnp, bdf1, bdf2 and bdf3; choose one of "
        "these, or --method forward"}});
}

}  // namespace tellegen
