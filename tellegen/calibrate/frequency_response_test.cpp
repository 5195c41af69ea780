#include "tellegen/calibrate/frequency_response.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <numbers>

#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace frequency_response_test {

using Complex = std::complex<double>;

TEST(FrequencyResponse, an_impedance_and_its_derivatives_in_closed_form) {
  const Model model = twin_model_file("identification/cell.toml");
  const std::vector<int> parameters = parameters_of(model, {"R0", "R1", "C1", "R2", "C2"});
  FrequencyResponse response(model, "-t.v", "i", parameters);  // i discharges
  const std::array<double, 5> p{0.012, 8e-3, 1500.0, 0.015, 2e4};
  const std::array<double, 3> frequencies{1e-4, 1e-2, 3.0};
  const auto found = response.at(p, frequencies);
  ASSERT_EQ(found.failure, "");
  for (std::size_t k = 0; k < 3; ++k) {
    const Complex jw(0.0, 2.0 * std::numbers::pi * frequencies[k]);
    const Complex a = 1.0 + jw * p[1] * p[2], b = 1.0 + jw * p[3] * p[4];
    const Complex wanted[] = {1.0, 1.0 / (a * a), -jw * p[1] * p[1] / (a * a), 1.0 / (b * b),
                              -jw * p[3] * p[3] / (b * b)};
    EXPECT_LT(std::abs(found.values[k] - (p[0] + p[1] / a + p[3] / b)), 1e-14);
    for (std::size_t n = 0; n < 5; ++n)
      EXPECT_LT(std::abs(found.slopes[k * 5 + n] - wanted[n]), 1e-12 * std::abs(wanted[n]) + 1e-22) << n;
  }
}

// The operating point of a diode moves with the parameters, and its conductance with the point.
TEST(FrequencyResponse, a_point_that_moves_with_the_parameters) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  const Model model = read_model_text(R"(
[parameters]
E = "1 V"
R = "1 kohm"
[inputs]
u = "0"
[components]
e = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "E + u" }
r = { kind = "electrical.resistor", p = "a", n = "b", R = "R" }
d = { kind = "electrical.diode", p = "b", n = "datum" }
c = { kind = "electrical.capacitor", p = "b", n = "datum", C = "1 nF" }
[initial]
"c.v" = "steady"
[simulation]
stop = "1 ms"
step = "1 us"
)",
                                      "diode.toml", options);
  const std::vector<int> parameters = parameters_of(model, {"E", "R"});
  FrequencyResponse response(model, "b.v", "u", parameters);
  const std::array<double, 2> frequencies{10.0, 1e5};
  const std::vector<double> p{1.0, 1e3};
  const auto here = response.at(p, frequencies);
  ASSERT_EQ(here.failure, "");
  for (std::size_t n = 0; n < 2; ++n) {
    std::vector<double> low = p, high = p;
    low[n] *= 1.0 - 1e-4;
    high[n] *= 1.0 + 1e-4;
    const auto before = response.at(low, frequencies), after = response.at(high, frequencies);
    for (std::size_t k = 0; k < 2; ++k) {
      const Complex difference = (after.values[k] - before.values[k]) / (high[n] - low[n]);
      EXPECT_GT(std::abs(difference), 0.0);
      EXPECT_LT(std::abs(here.slopes[k * 2 + n] - difference), 1e-5 * std::abs(difference)) << n << " " << k;
    }
  }
}

TEST(FrequencyResponse, magnitude_and_phase_are_read_as_real_and_imaginary_part) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "tellegen-response.csv";
  std::ofstream(file) << "w [rad/s],magnitude [mohm],phase [deg],sd [mohm]\n6.283185307179586,2,-90,0.1\n";
  const ResponseData data = read_response(DataSource(file), "t.v", "i", 0.0);
  ASSERT_EQ(data.values.size(), 1u);
  EXPECT_NEAR(data.frequencies[0], 1.0, 1e-12);
  EXPECT_LT(std::abs(data.values[0] - Complex(0.0, -2e-3)), 1e-15);
  EXPECT_NEAR(data.noise[0], 1e-4, 1e-18);
  std::filesystem::remove(file);
}

TEST(FrequencyResponse, columns_without_names_go_by_their_numbers) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "tellegen-numbers.csv";
  std::ofstream(file) << "1,2,-3\n10,1,-4\n100,0.5,-5\n";
  const ColumnNames names = read_column_names("f=1, re=2 [mohm], im=3 [mohm]", {"--columns", 0});
  const ResponseData data = read_response(DataSource({file}, {}, names), "t.v", "i", 0.01);
  ASSERT_EQ(data.values.size(), 3u);
  EXPECT_EQ(data.frequencies[1], 10.0);
  EXPECT_LT(std::abs(data.values[2] - Complex(0.5e-3, -5e-3)), 1e-15);
  try {
    read_response(DataSource(file), "t.v", "i", 0.01);
    FAIL();
  } catch (const ModelError& error) {
    ASSERT_EQ(error.faults().size(), 1u);
    EXPECT_EQ(error.faults()[0].code, "T590");
    EXPECT_NE(std::string(error.what()).find("f=1, re=2 [mohm], im=3 [mohm]"), std::string::npos);
  }
  std::filesystem::remove(file);
}

}  // namespace frequency_response_test
}  // namespace tellegen
