#include "tellegen/magnetics/iron_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

namespace tellegen {
namespace iron_loss_test {

namespace fs = std::filesystem;
using std::numbers::pi;

const fs::path models = fs::path(TELLEGEN_SOURCE_DIR) / "models";

std::vector<double> waves(const std::vector<std::pair<int, double>>& harmonics, double constant = 0.0,
                          int count = 360) {
  std::vector<double> B(static_cast<std::size_t>(count), constant);
  for (int k = 0; k < count; ++k)
    for (const auto& [h, amplitude] : harmonics)
      B[static_cast<std::size_t>(k)] += amplitude * std::cos(2 * pi * h * k / count);
  return B;
}

TEST(IronLoss, a_sine_has_the_loss_of_the_coefficients) {
  const LossCoefficients c{0.02, 1.8, 6e-5, 9e-4};
  const double f = 130.0, amplitude = 1.3;
  const LossParts loss = loss_of_period(waves({{1, amplitude}}), 1 / f, c);
  EXPECT_NEAR(loss.hysteresis, 0.02 * f * std::pow(amplitude, 1.8), 1e-9 * loss.hysteresis);
  EXPECT_NEAR(loss.eddy, 6e-5 * f * f * amplitude * amplitude, 1e-7 * loss.eddy);
  EXPECT_NEAR(loss.excess, 9e-4 * std::pow(f * amplitude, 1.5), 1e-5 * loss.excess);  // |cos|^1.5 has corners
  EXPECT_NEAR(loss.total(), c.at(f, amplitude), 1e-5 * loss.total());
}

// Eddy currents of harmonics add up, each with its own frequency.
TEST(IronLoss, harmonics_have_the_eddy_currents_of_each) {
  const double f = 50.0;
  const LossParts loss = loss_of_period(waves({{1, 1.1}, {5, 0.2}, {7, 0.1}}), 1 / f, {0.0, 2.0, 6e-5, 0.0});
  EXPECT_NEAR(loss.eddy, 6e-5 * f * f * (1.21 + 25 * 0.04 + 49 * 0.01), 1e-5 * loss.eddy);
}

// Of two periods in one sequence each is a loop; a small wave on a large constant is one of its own size; and
// small loops within a large one are counted beside it: of 1 + 0.3 cos(9x) on each flank of 1.0 cos(x).
TEST(IronLoss, every_closed_loop_is_counted_once) {
  const LossCoefficients c{1.0, 2.0, 0.0, 0.0};
  EXPECT_NEAR(loss_of_period(waves({{2, 0.7}}), 1.0, c).hysteresis, 2 * 0.49, 1e-9);
  EXPECT_NEAR(loss_of_period(waves({{6, 0.1}}, 1.4), 1.0, c).hysteresis, 6 * 0.01, 1e-9);
  EXPECT_EQ(loss_of_period(waves({}, 1.4), 1.0, c).total(), 0.0);
  // Turning points 0 2 1 3 0 4 of a saw: 2-1 lies within 0-3, which lies within 0-4.
  const std::vector<double> saw{0, 2, 1, 3, 0, 4};
  EXPECT_NEAR(loss_of_period(saw, 1.0, c).hysteresis, (4 * 4 + 3 * 3 + 1 * 1) / 4.0, 1e-12);
  for (std::size_t shift = 1; shift < saw.size(); ++shift) {  // wherever the period begins
    std::vector<double> moved(saw.begin() + static_cast<long>(shift), saw.end());
    moved.insert(moved.end(), saw.begin(), saw.begin() + static_cast<long>(shift));
    EXPECT_NEAR(loss_of_period(moved, 1.0, c).hysteresis, 6.5, 1e-12);
  }
}

TEST(IronLoss, coefficients_from_what_was_measured) {
  const LossCoefficients truth{0.018, 1.73, 5.5e-5, 6e-4};
  std::vector<MachineLoss::Measured> points;
  for (const double f : {50.0, 100.0, 200.0, 400.0, 1000.0})
    for (const double B : {0.2, 0.5, 1.0, 1.2, 1.5}) points.push_back({f, B, truth.at(f, B)});
  const LossFit fit = fit_losses(points);
  EXPECT_NEAR(fit.coefficients.hysteresis / truth.hysteresis, 1.0, 1e-4);
  EXPECT_NEAR(fit.coefficients.exponent, truth.exponent, 1e-4);
  EXPECT_NEAR(fit.coefficients.eddy / truth.eddy, 1.0, 1e-4);
  EXPECT_NEAR(fit.coefficients.excess / truth.excess, 1.0, 1e-4);
  EXPECT_LT(fit.worst, 1e-5);
  // Errors of 3 % stay such; nothing becomes negative.
  for (std::size_t k = 0; k < points.size(); ++k) points[k].loss *= k % 2 == 0 ? 1.03 : 0.97;
  const LossFit rough = fit_losses(points);
  EXPECT_LT(rough.worst, 0.05);
  for (const double number :
       {rough.coefficients.hysteresis, rough.coefficients.eddy, rough.coefficients.excess})
    EXPECT_GE(number, 0.0);
}

// The machine's iron is what its dimensions say, and with the speed the parts grow as they must.
TEST(IronLoss, of_the_wound_rotor_machine) {
  const StaticStudy study(models / "wrsm-mec/m19.toml");
  const IronLoss slow = iron_loss(study, 60 * pi, 0.0, 0.0, 3.0, 90),
                 fast = iron_loss(study, 120 * pi, 0.0, 0.0, 3.0, 90);
  EXPECT_NEAR(slow.frequency, 60.0, 1e-9);
  ASSERT_EQ(slow.regions.size(), 4u);
  const double depth = 53e-3 * 0.95;
  EXPECT_NEAR(slow.regions[0].mass, 7650 * 36 * 18e-3 * 5.6e-3 * depth, 1e-9);
  EXPECT_NEAR(slow.regions[1].mass, 7650 * 2 * pi * (65e-3 + 18e-3 + 8e-3) * 16e-3 * depth, 1e-9);
  EXPECT_NEAR(slow.regions[2].mass, 7650 * 4 * 36e-3 * 36e-3 * depth, 1e-9);
  EXPECT_NEAR(slow.regions[0].swing, 1.04, 0.05);  // as the reference has it
  EXPECT_NEAR(slow.regions[1].swing, 1.39, 0.03);
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_NEAR(fast.regions[r].loss.hysteresis, 2 * slow.regions[r].loss.hysteresis, 1e-6);
    EXPECT_NEAR(fast.regions[r].loss.eddy, 4 * slow.regions[r].loss.eddy, 1e-6);
  }
  // A yoke whose flux were a sine would lose this; harmonics and places of less flux leave it near.
  const RegionLoss& yoke = slow.regions[1];
  const double sine = yoke.mass * LossCoefficients{0.0253, 2.0, 5.3e-5, 0.0}.at(60.0, yoke.swing);
  EXPECT_NEAR(yoke.loss.total() / sine, 1.0, 0.1);
  // The rotor sees the slots pass: little, and not nothing.
  EXPECT_GT(slow.regions[2].loss.total(), 0.0);
  EXPECT_LT(slow.regions[2].loss.total(), 0.01 * slow.total().total());
}

std::string with_loss(const std::string& loss) {
  std::ifstream file(models / "motor-mec/model.toml");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string iron = "iron = { mu_r = 3000";
  return text.replace(text.find(iron), iron.size(), iron + (loss.empty() ? "" : ", loss = " + loss));
}
class LossFile {
 public:
  explicit LossFile(const std::string& loss) : path_(fs::temp_directory_path() / "tellegen-iron-loss.toml") {
    std::ofstream(path_) << with_loss(loss);
  }
  ~LossFile() { fs::remove(path_); }
  LossFile(const LossFile&) = delete;
  LossFile& operator=(const LossFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(IronLoss, measured_losses_and_coefficients_give_the_same) {
  const LossCoefficients c{0.02, 1.9, 6e-5, 0.0};
  std::string points;
  for (const double f : {50.0, 200.0, 400.0})
    for (const double B : {0.5, 1.0, 1.5})
      points += std::string(points.empty() ? "" : ", ") + "[" + std::to_string(f) + ", " + std::to_string(B) +
                ", " + std::to_string(c.at(f, B)) + "]";
  const auto loss = [](const std::string& given) {
    const LossFile file(given);
    return iron_loss(StaticStudy(file.path()), 50 * pi, 0.0, 2.0, 0.0, 24);
  };
  const IronLoss of_points = loss("{ density = 7700, points = [" + points + "] }"),
                 of_numbers =
                     loss("{ density = \"7.7 g/cm3\", hysteresis = 0.02, exponent = 1.9, eddy = 6e-5 }");
  EXPECT_NEAR(of_points.total().total() / of_numbers.total().total(), 1.0, 1e-4);
  ASSERT_EQ(of_points.fits.size(), 1u);
  EXPECT_LT(of_points.fits[0].second.worst, 1e-4);
  EXPECT_TRUE(of_numbers.fits.empty());
}

TEST(IronLoss, what_is_missing_is_said) {
  const auto code = [](const std::string& loss) {
    const LossFile file(loss);
    try {
      iron_loss(StaticStudy(file.path()), 100.0, 0.0, 1.0, 0.0, 8);
    } catch (const ModelError& error) {
      return error.faults().front().code;
    }
    return std::string();
  };
  EXPECT_EQ(code(""), "T148");
  EXPECT_EQ(code("{ hysteresis = 0.02 }"), "T187");
  EXPECT_EQ(code("{ density = 7650 }"), "T187");
  EXPECT_EQ(code("{ density = 7650, eddy = 1e-5, table = \"x.csv\" }"), "T187");
  EXPECT_EQ(code("{ density = 7650, points = [[50, 1, 1], [50, 1.5, 2], [50, 0.5, 0.3], [50, 0.2, 0.1]] }"),
            "T187");
  EXPECT_EQ(code("{ density = 7650, points = [[50, 1, 1], [50, 1.5, -2], [60, 0.5, 0.3], [60, 0.2, 0.1]] }"),
            "T187");
  EXPECT_EQ(code("{ density = 7650, points = [[50, 1], [60, 1]] }"), "T102");
  EXPECT_EQ(code("{ density = 7650, table = \"nowhere.csv\" }"), "T180");
  EXPECT_EQ(code("{ density = 7650, edy = 1e-5 }"), "T101");
}

}  // namespace iron_loss_test
}  // namespace tellegen
