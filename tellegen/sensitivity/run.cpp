#include "tellegen/sensitivity/run.h"

#include <fmt/format.h>

#include "tellegen/model/fmu_component.h"
#include "tellegen/sensitivity/combined.h"
#include "tellegen/sensitivity/explicit_adjoint.h"
#include "tellegen/sensitivity/fixed_step.h"
#include "tellegen/sensitivity/gradient.h"
#include "tellegen/sensitivity/whole_adjoint.h"

namespace tellegen {

RunDerivatives forward_run(const Model& model, const RunRequest& request) {
  refuse_fmus(model, "derivatives go through equations");
  const MethodTraits& traits = traits_of(request.simulation.method);
  if (traits.formula != MethodTraits::Formula::none) return fixed_forward_run(model, request);
  return traits.steps == MethodTraits::Steps::variable ? adaptive_forward_run(model, request)
                                                       : combined_forward_run(model, request);
}

RunDerivatives adjoint_run(const Model& model, const RunRequest& request) {
  refuse_fmus(model, "derivatives go through equations");
  const std::string& method = request.simulation.method;
  if (traits_of(method).formula != MethodTraits::Formula::none) {
    if (auto found = whole_adjoint_run(model, request)) return *found;
    return fixed_adjoint_run(model, request);
  }
  std::string why = "its steps are not fixed ones";
  if (method == "rk4")
    if (auto found = explicit_adjoint_run(model, request, why)) return *found;
  throw ModelError(
      {{model.file.string(), 0},
       "T340",
       fmt::format("the adjoint of method '{}' is not available: {}", method, why),
       {"the adjoint goes back through the steps of tr, trnp, bdf1, bdf2 and bdf3, and of rk4 where nothing "
        "switches; choose one of these, or --method forward"}});
}

RunDerivatives gradient_run(const Model& model, const RunRequest& request) {
  refuse_fmus(model, "derivatives go through equations");
  if (request.wrt.size() > 2 * request.observed.size()) {
    const std::string& method = request.simulation.method;
    std::string why;
    if (method == "rk4")
      if (auto found = explicit_adjoint_run(model, request, why)) return *found;
    if (traits_of(method).formula != MethodTraits::Formula::none)
      if (auto found = whole_adjoint_run(model, request)) return *found;
  }
  return forward_run(model, request);
}

}  // namespace tellegen
