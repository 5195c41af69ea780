// What data say of an input is wrong by noise and an offset, and the filter knows.
#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/estimate/twin.h"
#include "tellegen/records/choice.h"
#include "tellegen/records/noise.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace input_error_test {

// A cell whose current is measured: charge on a capacitor behind a resistance.
constexpr const char* cell = R"toml(
load = { kind = "electrical.current_source", p = "plus", n = "datum", I = "I" }
r0   = { kind = "electrical.resistor", p = "plus", n = "ocv", R = "20 mohm" }
c1   = { kind = "electrical.capacitor", p = "ocv", n = "datum", C = "2000 F", v0 = 3.5 }
[inputs]
I = { value = "10*sin(0.05*t)", unit = "A"%MORE% }
[sensors]
V = { measures = "plus.v", noise = "5 mV" }
[outputs]
OCV = "ocv.v"
[estimate]
inputs = ["I"]
states = { "c1.v" = { deviation = "0.2 V" } }
)toml";

Model cell_model(const std::string& more) {
  std::string text = cell;
  text.replace(text.find("%MORE%"), 6, ", " + more);
  return model_of(text);
}

Twin twin_of(const Model& model, const std::string& estimator) {
  FollowOptions options;
  options.sensors = sensors_of(model, {"V"});
  options.inputs = {"I"};
  options.step = 1.0;
  options.estimator = estimator;
  options.compile = false;
  return Twin(model, options);
}

std::size_t quantity(Twin& twin, const std::string& name) {
  const auto& all = twin.described();
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k].name == name) return k;
  ADD_FAILURE() << "no quantity " << name;
  return 0;
}

// The textbook's filter of [voltage, error of the current]: x+ = x + (I - w)/C, w+ new, V = x + R (I - w).
TEST(InputError, noise_widens_what_a_textbook_filter_widens) {
  const Model model = cell_model("noise = \"0.5 A\"");
  for (const char* estimator : {"kf", "ekf", "ukf", "pkf"}) {
    Twin twin = twin_of(model, estimator);
    Matrix p = Matrix::Zero(2, 2), phi(2, 2);
    p.diagonal() << 0.04, 0.25;
    phi << 1.0, -1.0 / 2000.0, 0.0, 0.0;
    const Eigen::RowVector2d h(1.0, -0.02);
    for (int row = 0; row < 40; ++row) {
      if (row > 0) {
        p = (phi * p * phi.transpose()).eval();
        p(1, 1) += 0.25;
      }
      const double variance = (h * p * h.transpose())(0) + 25e-6;
      const Vector gain = p * h.transpose() / variance;
      p = ((Matrix::Identity(2, 2) - gain * h) * p).eval();
      const double reading = 3.5, current = 0.0;
      ASSERT_EQ(twin.push(row, std::span(&reading, 1), std::span(&current, 1)), Twin::Pushed::taken);
      EXPECT_NEAR(twin.quantities().deviation[static_cast<long>(quantity(twin, "OCV"))], std::sqrt(p(0, 0)),
                  1e-9)
          << estimator << ", row " << row;
    }
  }
}

TEST(InputError, an_offset_is_found_and_data_that_are_made_have_it) {
  Model model = cell_model("noise = \"0.5 A\", bias = { deviation = \"1 A\" }");
  const int bias = model.inputs[0].bias;
  ASSERT_GE(bias, 0);
  EXPECT_EQ(model.parameters[bias].name, "I.bias");
  Model truth = model;
  truth.parameters[bias].number = 0.8;
  truth.parameters[bias].value = truth.pool->number(0.8);
  SimulationOptions options;
  options.method = "exact";
  options.stop = 600.0;
  options.step = 1.0;
  options.compile = false;
  const Rehearsal rehearsal = rehearse(truth, options, false, {});
  const Record record = disturbed(truth, rehearsal.record, {}, nullptr);
  double mean = 0.0, square = 0.0;
  for (std::size_t k = 0; k < record.given.size(); ++k) {
    const double error = record.given[k] - rehearsal.record.given[k];
    mean += error / static_cast<double>(record.given.size());
    square += (error - 0.8) * (error - 0.8) / static_cast<double>(record.given.size());
  }
  EXPECT_NEAR(mean, 0.8, 0.08);
  EXPECT_NEAR(std::sqrt(square), 0.5, 0.06);
  Twin twin = twin_of(model, "ekf");
  for (std::int64_t row = 0; row < record.steps; ++row)
    ASSERT_EQ(twin.push(record.time(row), std::span(&record.readings[static_cast<std::size_t>(row)], 1),
                        std::span(&record.given[static_cast<std::size_t>(row)], 1)),
              Twin::Pushed::taken);
  for (const auto& [name, value] :
       {std::pair{"I.bias", 0.8}, {"OCV", rehearsal.truth.values[rehearsal.truth.values.size() - 1]}}) {
    const auto k = static_cast<long>(quantity(twin, name));
    EXPECT_NEAR(twin.quantities().mean[k], value, 3.5 * twin.quantities().deviation[k]) << name;
  }
  EXPECT_LT(twin.quantities().deviation[static_cast<long>(quantity(twin, "I.bias"))], 0.03);
}

TEST(InputError, wrong_entries_and_estimators_are_told) {
  const auto code_of = [](const std::string& more) -> std::string {
    try {
      cell_model(more);
    } catch (const ModelError& error) {
      return error.faults().front().code;
    }
    return "";
  };
  EXPECT_EQ(code_of("noise = \"0.5 A\""), "");
  EXPECT_EQ(code_of("noise = \"1 K\""), "T123");
  EXPECT_EQ(code_of("noise = \"-1 A\""), "T124");
  EXPECT_EQ(code_of("noises = \"1 A\""), "T101");
  EXPECT_EQ(code_of("bias = \"1 A\""), "T102");
  const Model model = cell_model("noise = \"0.5 A\"");
  EXPECT_THROW(twin_of(model, "ekf-perfect"), ModelError);
}

}  // namespace input_error_test
}  // namespace tellegen
