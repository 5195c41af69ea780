#include "tellegen/model/scattered.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "tellegen/model/read.h"

namespace tellegen {
namespace scattered_test {

namespace fs = std::filesystem;

struct Cloud {
  std::vector<double> x, y, z;
};

// [Franke 1979] A critical comparison of some methods for interpolation of scattered data: his test surface.
double franke(double x, double y) {
  return 0.75 * std::exp(-std::pow(9 * x - 2, 2) / 4 - std::pow(9 * y - 2, 2) / 4) +
         0.75 * std::exp(-std::pow(9 * x + 1, 2) / 49 - (9 * y + 1) / 10) +
         0.5 * std::exp(-std::pow(9 * x - 7, 2) / 4 - std::pow(9 * y - 3, 2) / 4) -
         0.2 * std::exp(-std::pow(9 * x - 4, 2) - std::pow(9 * y - 7, 2));
}

Cloud cloud_of(int count, double (*surface)(double, double), unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> side(0.0, 1.0);
  Cloud cloud{{0, 0, 1, 1}, {0, 1, 0, 1}, {}};
  for (int k = 4; k < count; ++k) {
    cloud.x.push_back(side(random));
    cloud.y.push_back(side(random));
  }
  for (std::size_t k = 0; k < cloud.x.size(); ++k) cloud.z.push_back(surface(cloud.x[k], cloud.y[k]));
  return cloud;
}

TEST(Scattered, a_plane_is_a_plane_also_beyond_its_points) {
  Cloud cloud;
  cloud.x = {0.1, 0.9, 0.4, 0.5, 0.0, 1.0};
  cloud.y = {300, 310, 340, 330, 320, 315};
  for (std::size_t k = 0; k < 6; ++k) cloud.z.push_back(2.0 + 3.0 * cloud.x[k] - 0.01 * cloud.y[k]);
  for (const Interpolation interpolation : {Interpolation::linear, Interpolation::cubic}) {
    const ScatteredFit fit = fit_grid("p", {cloud.x, cloud.y}, cloud.z, {9, 11}, interpolation);
    EXPECT_LT(fit.largest, 1e-6);
    const double corner[] = {0.0, 300.0};
    EXPECT_NEAR(fit.table->value_at(corner), 2.0 - 3.0, 1e-4);
  }
}

TEST(Scattered, franke_s_surface_from_400_points) {
  const Cloud cloud = cloud_of(400, franke);
  const std::size_t side = usual_grid(400, 2);
  const ScatteredFit fit = fit_grid("f", {cloud.x, cloud.y}, cloud.z, {side, side}, Interpolation::cubic);
  EXPECT_LT(fit.largest, 1e-3);
  double worst = 0.0;
  for (double x = 0.1; x < 0.95; x += 0.04)  // between the points
    for (double y = 0.1; y < 0.95; y += 0.04) {
      const double at[] = {x, y};
      worst = std::max(worst, std::abs(fit.table->value_at(at) - franke(x, y)));
    }
  EXPECT_LT(worst, 0.03);
}

TEST(Scattered, value_and_slopes_are_continuous_and_slopes_are_those_of_the_value) {
  const Cloud cloud = cloud_of(200, franke);
  const ScatteredFit fit = fit_grid("f", {cloud.x, cloud.y}, cloud.z, {30, 30}, Interpolation::cubic);
  constexpr double h = 1e-6;
  for (double x = 0.013; x < 1.0; x += 0.0371)
    for (double y = 0.017; y < 1.0; y += 0.0413) {
      const auto value = [&](double a, double b, int order = 0) {
        const double at[] = {a, b};
        return fit.table->value_at(at, order);
      };
      EXPECT_NEAR(value(x, y, 1), (value(x + h, y) - value(x - h, y)) / (2 * h), 1e-5);
      EXPECT_NEAR(value(x, y, 4), (value(x, y + h) - value(x, y - h)) / (2 * h), 1e-5);
    }
  const double step = 1.0 / 29;  // on both sides of a line of the grid
  for (int order : {0, 1, 4})
    for (double y = 0.05; y < 1.0; y += 0.1) {
      const double before[] = {7 * step - 1e-12, y}, after[] = {7 * step + 1e-12, y};
      EXPECT_NEAR(fit.table->value_at(before, order), fit.table->value_at(after, order), 1e-8);
    }
}

TEST(Scattered, noisy_points_are_met_less_well_and_it_is_known) {
  Cloud cloud = cloud_of(300, franke);
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0.0, 0.05);
  for (double& z : cloud.z) z += noise(random);
  const ScatteredFit coarse = fit_grid("f", {cloud.x, cloud.y}, cloud.z, {9, 9}, Interpolation::cubic);
  EXPECT_GT(coarse.largest, 0.02);
  EXPECT_LT(coarse.rms, coarse.largest);
}

TEST(Scattered, points_on_one_line_are_no_surface) {
  EXPECT_TRUE(too_flat({{0, 1, 2, 3}, {1, 3, 5, 7}}));
  EXPECT_TRUE(too_flat({{0, 1, 2, 3}, {1, 1, 1, 1}}));
  EXPECT_FALSE(too_flat({{0, 1, 0}, {0, 0, 1}}));
}

// A quadratic form of three arguments, in a box that is far from a cube.
TEST(Scattered, a_function_of_space_from_700_points) {
  const auto function = [](double x, double y, double z) {
    return 1.0 + x * x - 0.5 * x * (y - 300) / 50 + 0.2 * z * z + 0.3 * x * z;
  };
  std::mt19937 random(4);
  std::uniform_real_distribution<double> side(0.0, 1.0);
  std::vector<std::vector<double>> arguments(3);
  std::vector<double> values;
  for (int k = 0; k < 700; ++k) {
    const bool corner = k < 8;
    arguments[0].push_back(corner ? k & 1 : side(random));
    arguments[1].push_back(300 + 50 * (corner ? k >> 1 & 1 : side(random)));
    arguments[2].push_back(corner ? k >> 2 : side(random));
    values.push_back(function(arguments[0].back(), arguments[1].back(), arguments[2].back()));
  }
  const ScatteredFit fit = fit_grid("f", arguments, values, {9, 8, 7}, Interpolation::cubic);
  EXPECT_LT(fit.largest, 2e-3);
  for (int k = 0; k < 200; ++k) {
    const double at[] = {side(random), 300 + 50 * side(random), side(random)};
    EXPECT_NEAR(fit.table->value_at(at), function(at[0], at[1], at[2]), 0.02);
  }
  EXPECT_FALSE(too_flat(arguments));
  for (int k = 0; k < 700; ++k) arguments[2][k] = arguments[0][k] + arguments[1][k];
  EXPECT_TRUE(too_flat(arguments));
}

class ScatteredFile : public testing::Test {
 protected:
  ScatteredFile() : folder_(fs::temp_directory_path() / ("tellegen-scattered-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~ScatteredFile() override { fs::remove_all(folder_); }
  void write(const Cloud& cloud) {
    std::ofstream file(folder_ / "map.csv");
    file.precision(17);
    file << "x,y [ms],f [mohm]\n";
    for (std::size_t k = 0; k < cloud.x.size(); ++k)
      file << cloud.x[k] << "," << 1e3 * cloud.y[k] << "," << cloud.z[k] << "\n";
  }
  Model read(const std::string& more, std::vector<std::string>* notes = nullptr) {
    ReadOptions options;
    options.library = TELLEGEN_SOURCE_DIR "/library";
    options.notes = notes;
    return read_model_text(
        "[tables]\nF = { table = \"map.csv\", x = [\"x\", \"y\"], column = \"f\"" + more +
            " }\n[components]\nr = { kind = \"electrical.resistor\", p = \"a\", n = \"datum\", "
            "R = \"F(0.3, 0.6)\" }\n",
        folder_ / "model.toml", options);
  }
  std::string fault(const std::string& more) {
    try {
      read(more);
    } catch (const ModelError& error) {
      return to_text(error.faults().front());
    }
    return "";
  }
  fs::path folder_;
};

TEST_F(ScatteredFile, is_read_with_its_units_and_its_error_is_said) {
  write(cloud_of(300, franke));
  std::vector<std::string> notes;
  read(", scattered = true", &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("300 scattered points on a grid of 36 x 36"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find("% of the range"), std::string::npos) << notes[0];
  notes.clear();
  read(", scattered = true, grid = [50, 40], tolerance = 0.02, interpolation = \"linear\"", &notes);
  EXPECT_NE(notes[0].find("50 x 40"), std::string::npos) << notes[0];
}

TEST_F(ScatteredFile, of_three_arguments_is_read_as_well) {
  std::ofstream file(folder_ / "space.csv");
  file << "soc,T_degC,I,R_mohm\n";
  std::mt19937 random(6);
  std::uniform_real_distribution<double> side(0.0, 1.0);
  for (int k = 0; k < 200; ++k) {
    const bool corner = k < 8;
    const double soc = corner ? k & 1 : side(random), t = 40 * (corner ? k >> 1 & 1 : side(random)),
                 i = 100 * (corner ? k >> 2 : side(random));
    file << soc << "," << t << "," << i << "," << 2 - soc + 0.01 * t + 0.001 * i << "\n";
  }
  file.close();
  ReadOptions options;
  std::vector<std::string> notes;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  options.notes = &notes;
  const auto with = [&](const std::string& more) {
    return read_model_text(
        "[tables]\nF = { table = \"space.csv\", x = [\"soc\", \"T_degC\", \"I\"], column = \"R_mohm\", unit "
        "= "
        "\"mohm\", scattered = true" +
            more +
            " }\n[components]\nr = { kind = \"electrical.resistor\", p = \"a\", n = \"datum\", "
            "R = \"F(0.5, 20, 50)\" }\n",
        folder_ / "model.toml", options);
  };
  with("");
  std::string all;
  for (const std::string& note : notes) all += note + "\n";
  EXPECT_NE(all.find("200 scattered points on a grid of 13 x 13 x 13"), std::string::npos) << all;
  EXPECT_THROW(with(", grid = [9, 9]"), ModelError);
  EXPECT_THROW(with(", grid = [9, 9, 40]"), ModelError);
}

// Of a model's own tables as of records.
TEST_F(ScatteredFile, units_taken_from_names_are_said_once) {
  std::ofstream(folder_ / "load.csv") << "t,P_kW\n0,1\n10,2\n";
  ReadOptions options;
  std::vector<std::string> notes;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  options.notes = &notes;
  read_model_text(
      "[inputs]\nP = { table = \"load.csv\", unit = \"W\" }\nQ = { table = \"load.csv\", unit = \"W\" }\n"
      "[components]\nq = { kind = \"thermal.heat_source\", p = \"datum\", n = \"a\", Q = \"P + Q\" }\n",
      folder_ / "model.toml", options);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("load.csv: units from the names of columns: 'P_kW' in kW"), std::string::npos)
      << notes[0];
}

TEST_F(ScatteredFile, that_cannot_be_met_is_a_fault) {
  write(cloud_of(300, franke));
  EXPECT_NE(fault("").find("scattered = true"), std::string::npos) << fault("");
  EXPECT_NE(fault(", scattered = true, grid = [5, 5]").find("T128"), std::string::npos);
  EXPECT_NE(fault(", scattered = true, grid = [5, 5]").find("tolerance"), std::string::npos);
  EXPECT_NE(fault(", scattered = true, grid = [5]").find("T102"), std::string::npos);
  EXPECT_NE(fault(", scattered = true, tolerance = -1").find("T102"), std::string::npos);
  EXPECT_NE(fault(", scattered = true, interpolation = \"hold\"").find("cannot be held"), std::string::npos);
  EXPECT_NE(fault(", grid = [5, 5]").find("scattered"), std::string::npos);
  write({{0, 1, 2}, {0, 1, 2}, {1, 2, 3}});
  EXPECT_NE(fault(", scattered = true").find("on one line"), std::string::npos);
  write({{0, 1, 0, 1, 1}, {0, 0, 1, 1, 1}, {1, 2, 3, 4, 5}});
  EXPECT_NE(fault(", scattered = true").find("two values at (1, 1)"), std::string::npos)
      << fault(", scattered = true");
}

}  // namespace scattered_test
}  // namespace tellegen
