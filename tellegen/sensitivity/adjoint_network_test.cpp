// Tellegen's theorem: across variables of one network and through variables of another with the same graph
// are orthogonal, whatever their components. So the derivatives of an output by all resistances of a static
// network are products of currents in it and in its adjoint network: the same resistors, the source dead, a
// unit current into the output.
//
//   sum over all edges of (i^ dv - v^ di) = 0   =>   dv_out/dR_k = i^_k i_k
#include "tellegen/sensitivity/fixed_step.h"
#include "tellegen/sensitivity/test_study.h"
#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace adjoint_network_test {

// A bridge that is not balanced.
std::string bridge(const std::string& source, const std::string& probe) {
  return R"toml(
e  = { kind = "electrical.voltage_source", p = "a", n = "datum", V = )toml" +
         source + R"toml( }
r1 = { kind = "electrical.resistor", p = "a", n = "b", R = 10 }
r2 = { kind = "electrical.resistor", p = "a", n = "c", R = 25 }
r3 = { kind = "electrical.resistor", p = "b", n = "c", R = 7 }
r4 = { kind = "electrical.resistor", p = "b", n = "datum", R = 40 }
r5 = { kind = "electrical.resistor", p = "c", n = "datum", R = 15 }
j  = { kind = "electrical.current_source", p = "datum", n = "c", I = )toml" +
         probe + " }\n";
}

TEST(AdjointNetwork, products_of_currents_are_the_derivatives) {
  const std::vector<std::string> currents{"r1.i", "r2.i", "r3.i", "r4.i", "r5.i"};
  const std::vector<std::string> resistances{"r1.R", "r2.R", "r3.R", "r4.R", "r5.R"};
  const TestRun network(bridge("12", "0"), options_of("bdf1", 1.0, 1.0), currents);
  const TestRun adjoint(bridge("0", "1"), options_of("bdf1", 1.0, 1.0), currents);
  const TestStudy study(model_of(bridge("12", "0")), "bdf1", 1.0, 1.0, {"c.v"}, resistances);
  const RunDerivatives forward = fixed_forward_run(study.model, study.request);
  const RunDerivatives back = fixed_adjoint_run(study.model, study.request);
  for (std::size_t k = 0; k < currents.size(); ++k) {
    const double product = network.last(currents[k]) * adjoint.last(currents[k]);
    EXPECT_NEAR(forward.gradient[k], product, 1e-13) << resistances[k];
    EXPECT_NEAR(back.gradient[k], product, 1e-13) << resistances[k];
  }
}

}  // namespace adjoint_network_test
}  // namespace tellegen
