// Derivatives of a run held against differences of runs, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tellegen/model/observers.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/test_text.h"
#include "tellegen/sensitivity/run.h"
#include "tellegen/simulate/stop.h"

namespace tellegen {

// Parallel capacitors share a voltage, and the start depends on parameters.
inline constexpr const char* oscillator = R"toml(
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "U*sin(w*t)" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
l = { kind = "electrical.inductor", p = "b", n = "k", L = "10 mH", i0 = "i0" }
c = { kind = "electrical.capacitor", p = "k", n = "datum", C = "C", v0 = "R*i0/2" }
d = { kind = "electrical.capacitor", p = "k", n = "datum", C = "C/3" }
[parameters]
U = "5 V"
w = "3000 rad/s"
R = "20 ohm"
C = "10 uF"
i0 = "0.01 A"
)toml";

// A slider-crank with a spring at the rod: its rod's angle and its slider follow from the circuit.
inline constexpr const char* closed_crank = R"toml(
gravity = { kind = "multibody.gravity", g = [0, "-9.81 m/s2", 0] }
a = { kind = "multibody.revolute", from = "datum", to = "crank", axis = [0, 0, 1], angle0 = 1, speed0 = 3 }
crank_body = { kind = "multibody.body", at = "crank", mass = "0.3 kg", com = ["0.25 m", 0, 0], inertia = [0, 0, 0.01] }
crank_arm = { kind = "multibody.arm", from = "crank", to = "crank_end", offset = ["L1", 0, 0] }
pin = { kind = "multibody.revolute", from = "crank_end", to = "rod", axis = [0, 0, 1], angle0 = -1, stiffness = "k" }
rod_body = { kind = "multibody.body", at = "rod", mass = "0.6 kg", com = ["0.7 m", 0, 0], inertia = [0, 0, 0.1] }
rod_arm = { kind = "multibody.arm", from = "rod", to = "rod_end", offset = ["L2", 0, 0] }
slide = { kind = "multibody.prismatic", from = "datum", to = "slider", axis = [1, 0, 0], damping = "1.2 N s/m", position0 = 1.5 }
block = { kind = "multibody.body", at = "slider", mass = "0.5 kg" }
wrist = { kind = "multibody.revolute", from = "rod_end", to = "slider", axis = [0, 0, 1] }
[parameters]
L1 = "0.5 m"
L2 = "1.5 m"
k = "0.5 N m/rad"
)toml";

struct TestStudy {
  Model model;
  RunRequest request;
  std::vector<std::string> names;

  TestStudy(Model of, const std::string& method, double stop, double step,
            const std::vector<std::string>& observed, const std::vector<std::string>& wrt)
      : model(std::move(of)), names(wrt) {
    for (const std::string& name : wrt) request.wrt.push_back(study_parameter(model, name));
    SimulationOptions options;
    options.method = method;
    options.stop = stop;
    options.step = options.sample = step;
    options.tolerance = 1e-10;
    options.compile = false;
    add_stop_watch(model, options);
    request.simulation = complete_options(model, options);
    // "integral of ...": the end value of an integral; anything else: a value at the end.
    for (const std::string& text : observed) {
      constexpr std::string_view integral = "integral of ";
      Expr value;
      if (text.starts_with(integral))
        value = model.pool->symbol(
            add_integral(model, "observed", parse_value(model, text.substr(integral.size()), {}), {}));
      else
        value = parse_value(model, text, {});
      request.observed.push_back({Observed::What::end, value});
    }
  }

  // Central differences of the values of two plain runs, [observed][parameter].
  template <class Run>
  std::vector<double> differences(Run run, double relative = 1e-4) const {
    std::vector<double> result(request.observed.size() * request.wrt.size());
    for (std::size_t p = 0; p < request.wrt.size(); ++p) {
      const double value = model.parameters[request.wrt[p]].number;
      const double h = relative * (value != 0.0 ? std::abs(value) : 1.0);
      RunRequest plain = request;
      plain.wrt.clear();
      Model moved = model;
      const std::array index{request.wrt[p]};
      set_parameters(moved, index, std::array{value - h});
      const RunDerivatives low = run(moved, plain);
      set_parameters(moved, index, std::array{value + h});
      const RunDerivatives high = run(moved, plain);
      for (std::size_t k = 0; k < request.observed.size(); ++k)
        result[k * request.wrt.size() + p] = (high.values.at(k) - low.values.at(k)) / (2 * h);
    }
    return result;
  }

  // Two gradients agree, relative to the largest normalised score of each observed value.
  void expect_near(const std::vector<double>& got, const std::vector<double>& expected,
                   double tolerance) const {
    const std::size_t count = request.wrt.size();
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < request.observed.size(); ++k) {
      double largest = 0.0;
      const auto size = [&](std::size_t p) {
        const double value = std::abs(model.parameters[request.wrt[p]].number);
        return value != 0.0 ? value : 1.0;
      };
      for (std::size_t p = 0; p < count; ++p)
        largest = std::max(largest, std::abs(expected[k * count + p]) * size(p));
      for (std::size_t p = 0; p < count; ++p)
        EXPECT_NEAR(got[k * count + p] * size(p), expected[k * count + p] * size(p), tolerance * largest)
            << "observed " << k << " by " << names[p];
    }
  }
};

}  // namespace tellegen
