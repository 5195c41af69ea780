// Every shipped model: forward sensitivities, the adjoint and finite differences say the same.
#include <filesystem>

#include "tellegen/sensitivity/test_study.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

// Not those that cannot begin with implicit steps (motor-sag: a saturated machine without flux) or in which
// nothing happens in so few steps (pmsm-drive idles at first).
std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(TELLEGEN_SOURCE_DIR "/models"))
    if (const std::string name = entry.path().filename();
        fs::exists(entry.path() / "model.toml") && name != "motor-sag" && name != "pmsm-drive" &&
        name != "double-wishbone" &&  // moved by drivers alone: nothing comes of the start
        !name.ends_with("-mec"))      // hundreds of unknowns: magnetics_test has their derivatives
      names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

class EveryModel : public testing::TestWithParam<std::string> {};

TEST_P(EveryModel, forward_adjoint_and_differences_agree) {
  const Model model = shipped_model(GetParam());
  // Parameters of the model, or where it has few, numbers of its components; none that is zero.
  std::vector<std::string> wrt;
  for (const bool all : {false, true}) {
    Model copy = model;
    for (const std::string& name : parameter_names(model, all)) {
      const int p = study_parameter(copy, name);
      if (copy.parameters[p].number != 0.0 && wrt.size() < 8 &&
          std::find(wrt.begin(), wrt.end(), name) == wrt.end())
        wrt.push_back(name);
    }
    if (wrt.size() >= 3) break;
  }
  double step = *model.simulation.step;
  std::string method = model.simulation.method.value_or("bdf3");
  if (method == "adaptive") step /= 100;  // the interval between its samples
  if (!method.starts_with("bdf")) method = "bdf2";
  ASSERT_FALSE(model.outputs.empty());
  const std::string name = model.outputs.front().name;
  if (GetParam() == "inverter-leg") {
    // Its modulator is a choice inside an input, which jumps between two steps. That is said, and with these
    // steps f and duty cannot be differentiated; everything else can.
    const TestStudy jumping(model, method, 60 * step, step, {name}, {"f", "duty"});
    const RunDerivatives derivatives = forward_run(jumping.model, jumping.request);
    std::string said;
    for (const std::string& w : derivatives.warnings) said += w + "\n";
    // It also switches at the very end of this run.
    ASSERT_EQ(derivatives.warnings.size(), 3u) << said;
    EXPECT_NE(derivatives.warnings[0].find("at the very end of the run"), std::string::npos) << said;
    EXPECT_NE(derivatives.warnings[1].find("'upper'"), std::string::npos) << said;
    std::erase(wrt, "f");
    std::erase(wrt, "duty");
  }
  if (GetParam() == "buck-converter") {  // and so is its gate
    const std::vector<std::string> edges{"f", "late", "duty"};
    const TestStudy jumping(model, method, 60 * step, step, {name}, edges);
    const RunDerivatives derivatives = forward_run(jumping.model, jumping.request);
    EXPECT_TRUE(std::any_of(derivatives.warnings.begin(), derivatives.warnings.end(), [](const auto& w) {
      return w.find("of 'driver' switches at about t = ") != std::string::npos;
    }));
    for (const std::string& edge : edges) std::erase(wrt, edge);
  }
  const TestStudy study(model, method, 60 * step, step, {name, "integral of (" + name + ")^2"}, wrt);
  const RunDerivatives forward = forward_run(study.model, study.request);
  ASSERT_EQ(forward.failure, "");
  const RunDerivatives adjoint = adjoint_run(study.model, study.request);
  ASSERT_EQ(adjoint.failure, "");
  study.expect_near(adjoint.gradient, forward.gradient, 1e-8);
  study.expect_near(forward.gradient, study.differences(forward_run), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(models, EveryModel, testing::ValuesIn(models()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// With rk4 the sensitivity graph runs beside the model: it begins steady where the machine does.
TEST(Machines, derivatives_of_explicit_steps_are_those_of_differences) {
  for (const char* name :
       {"generator-torque-step", "generator-fault", "motor-free-acceleration", "motor-sag"}) {
    SCOPED_TRACE(name);
    const Model model = shipped_model(name);
    const TestStudy study(model, "rk4", 0.03, 5e-4, {"i_a", "integral of i_b^2"},
                          parameter_names(model, false));
    const RunDerivatives forward = forward_run(study.model, study.request);
    ASSERT_EQ(forward.failure, "");
    study.expect_near(forward.gradient, study.differences(forward_run, 1e-5), 1e-5);
  }
}

// Discrete variables that follow each other are a tiniest step apart; rounding must not stop the run there.
TEST(Machines, derivatives_through_a_switching_inverter) {
  const TestStudy study(shipped_model("pmsm-inverter"), "bdf2", 0.016, 2e-5, {"T_e"},
                        {"V_dc", "L_q", "flux"});
  const RunDerivatives forward = forward_run(study.model, study.request);
  ASSERT_EQ(forward.failure, "");
  study.expect_near(forward.gradient, study.differences(forward_run, 1e-6), 1e-5);
}

}  // namespace
}  // namespace tellegen
