#include "tellegen/magnetics/static_study.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>

#include "tellegen/magnetics/cross_section.h"
#include "tellegen/model/parameters.h"
#include "tellegen/sensitivity/run.h"

namespace tellegen {
namespace static_study_test {

namespace fs = std::filesystem;
const fs::path models = fs::path(TELLEGEN_SOURCE_DIR) / "models";

// A file of its own, gone with this object.
class MachineFile {
 public:
  explicit MachineFile(const std::string& text)
      : path_(fs::temp_directory_path() / ("tellegen-machine-" + std::to_string(count_++) + "-" +
                                           std::to_string(std::hash<std::string>()(text)) + ".toml")) {
    std::ofstream(path_) << text;
  }
  ~MachineFile() { fs::remove(path_); }
  MachineFile(const MachineFile&) = delete;
  MachineFile& operator=(const MachineFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  static inline int count_ = 0;
  fs::path path_;
};

// Six slots, two poles; iron linear or saturated.
std::string small_machine(const std::string& rotor, bool linear, const std::string& stator = "") {
  return R"(
[machine]
poles = 2
stack = "50 mm"
gap   = "1 mm"
[machine.stator]
slots            = 6
bore             = "60 mm"
tooth_width      = "14 mm"
tooth_height     = "15 mm"
yoke             = "15 mm"
slot_width       = "14 mm"
conductor_height = "12 mm"
opening          = "3 mm"
opening_height   = "1 mm"
material         = "iron"
)" + stator +
         R"(
[machine.winding]
conductors  = 40
end_leakage = "0.1 mH"
[machine.rotor]
yoke     = "14 mm"
material = "iron"
)" + rotor +
         "\n[machine.materials]\niron = " +
         (linear ? "{ mu_r = 2000 }"
                 : "{ curve = [[0, 0], [0.5, 50], [1.0, 110], [1.3, 240], [1.5, 1100], [1.8, 9700], [2.3, "
                   "234000]] }") +
         "\n";
}
const std::string salient = R"(type = "salient"
pole_arc     = 0.65
body_width   = "25 mm"
body_height  = "8 mm"
shoe_height  = "4 mm"
shaft_radius = "3 mm"
turns        = 200
)";
const std::string surface = R"(type = "surface"
magnet_arc    = 0.8
magnet_height = "3 mm"
remanence     = "1.2 T"
segments      = 3
magnetisation = "parallel"
)";
const std::string interior = R"(type = "interior"
pole_arc      = 0.7
magnet_width  = "30 mm"
magnet_height = "4 mm"
remanence     = "1.2 T"
bridge_width  = "1 mm"
bridge_length = "3 mm"
post_height   = "10 mm"
shaft_radius  = "5 mm"
)";
const std::string cage = R"(type = "cage"
bars           = 8
tooth_width    = "9 mm"
tooth_height   = "10 mm"
slot_width     = "8 mm"
bar_height     = "8 mm"
opening        = "1 mm"
opening_height = "0.5 mm"
bar_resistance = "50 uohm"
)";

std::vector<MachinePoint> some_points() {
  return {{0.0, {3.0, -1.0, 2.0, 2.0}},
          {0.3, {5.0, 2.0, -4.0, 3.0}},
          {-2.2, {0.0, 0.0, 0.0, 1.0}},
          {17.0, {-4.0, 6.0, 1.0, -2.0}}};
}

// dT/di = d(lambda)/d(angle): both are second derivatives of one coenergy, whatever the iron.
void expect_one_coenergy(const std::string& text) {
  const MachineFile file(text);
  const StaticStudy study(file.path());
  double largest = 0.0;
  const auto answers = study.at(some_points(), true);
  for (const MachineAnswer& answer : answers)
    for (std::size_t w = 0; w < study.windings(); ++w)
      largest = std::max(largest, std::abs(answer.lambda_slope[w]));
  EXPECT_GT(largest, 1e-3);
  for (const MachineAnswer& answer : answers)
    for (std::size_t w = 0; w < study.windings(); ++w) {
      EXPECT_NEAR(answer.torque_slope[w], answer.lambda_slope[w], 1e-9 * largest);
      for (std::size_t j = 0; j < w; ++j)
        EXPECT_NEAR(answer.inductance[w][j], answer.inductance[j][w], 1e-12);
    }
}
TEST(StaticStudy, torque_and_linkages_come_from_one_coenergy) {
  expect_one_coenergy(small_machine(salient, false));
  expect_one_coenergy(small_machine(surface, false));
  expect_one_coenergy(small_machine(surface, true, "slotting = \"open\"\n"));
  expect_one_coenergy(small_machine(interior, false));
}

TEST(StaticStudy, torque_of_linear_iron_is_the_slope_of_inductances) {
  const MachineFile file(small_machine(salient, true));
  const StaticStudy study(file.path());
  const auto points = some_points();
  const auto answers = study.at(points, true);
  double largest = 0.0;
  for (const MachineAnswer& answer : answers) largest = std::max(largest, std::abs(answer.torque));
  for (std::size_t k = 0; k < points.size(); ++k) {
    double slope = 0.0;
    for (std::size_t w = 0; w < machine_windings; ++w)
      slope += 0.5 * points[k].i[w] * answers[k].lambda_slope[w];
    EXPECT_NEAR(answers[k].torque, slope, 1e-9 * largest) << k;
  }
}

// Of an independent program (the network's 80 node equations, gaps integrated by Gauss's rule, the slope of
// each by Leibniz): no interpolation over the angle. The currents are those of the reference's transient,
// whose own torque, by an interpolant through 360 angles, is off by up to 1.7 % of the peak of 0.307 N m.
TEST(StaticStudy, torque_of_the_wound_rotor_machine_by_an_independent_program) {
  const StaticStudy study(models / "wrsm-mec/model.toml");
  struct Sample {
    double angle, i_q, i_d, i_0, lambda_q, lambda_d, torque;
  };
  const Sample samples[] = {
      {0.37661301, 4.39685254, -0.281680695, 1.69822235, 0.017242852, 0.00731526905, 0.044191563},
      {1.88306505, -1.97406444, 6.16753514, 0.939058572, -0.00822330026, 0.0417287212, -0.1363089},
      {5.0215068, -0.868586498, 4.83448568, 0.983188611, -0.00361698677, 0.0345317697, -0.053269784},
      {10.0430136, 1.40635151, 3.10208524, 1.52057566, 0.00469550576, 0.0249903041, 0.087349621}};
  for (const Sample& s : samples) {
    const MachinePoint point{s.angle, study.currents(s.angle, s.i_q, s.i_d, s.i_0, 0.25)};
    const MachineAnswer answer = study.at({&point, 1}, false).front();
    const auto lambda = study.qd0(s.angle, answer.lambda);
    EXPECT_NEAR(lambda[0], s.lambda_q, 2e-6);
    EXPECT_NEAR(lambda[1], s.lambda_d, 2e-6);
    EXPECT_NEAR(answer.torque, s.torque, 2e-5);
  }
}

TEST(StaticStudy, ten_turns_later_nothing_has_changed) {
  const MachineFile file(small_machine(salient, true));
  const MachinePoint turns[] = {{0.3, {1, 2, 3, 1}}, {0.3 + 20 * std::numbers::pi, {1, 2, 3, 1}}};
  const auto same = StaticStudy(file.path()).at(turns, false);
  EXPECT_NEAR(same[0].torque, same[1].torque, 1e-9 * std::abs(same[0].torque));
}

// B = Br*h/(h + mu_r*g): a magnet against smooth iron of no reluctance, all over the pole.
TEST(StaticStudy, a_surface_magnet_has_the_flux_of_its_load_line) {
  std::string text = small_machine(surface, true, "");
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("mu_r = 2000", "mu_r = 1e9");
  replace("opening          = \"3 mm\"", "opening          = \"1 um\"");
  replace("conductor_height = \"12 mm\"", "conductor_height = \"1 um\"");
  replace("opening_height   = \"1 mm\"", "opening_height   = \"1 pm\"");
  replace("magnetisation = \"parallel\"", "magnetisation = \"radial\"");
  const MachineFile file(text);
  const MachinePoint at{0.0, {}};
  const MachineAnswer answer = StaticStudy(file.path()).at({&at, 1}, false, {"magnet[1][2].B"}).front();
  const double mean = 30 - 1 - 1.5;  // mm: the magnet's middle; the gap's permeance is taken at the bore
  EXPECT_NEAR(answer.observed[0], 1.2 * 3 / (3 + 1.05 * 1 * mean / 30), 2e-3);
}

TEST(StaticStudy, a_cage_without_currents_leaves_the_inductances_of_the_gap) {
  const MachineFile file(small_machine(cage, true));
  const StaticStudy study(file.path());
  EXPECT_EQ(study.windings(), 3u);
  const AxisInductances x = axis_inductances(study, 0.0);
  EXPECT_NEAR(x.L_mq / x.L_md, 1.0, 0.05);
  EXPECT_GT(x.L_mq, x.L_ls);
  EXPECT_FALSE(cross_section(study, {0.1, {1, 0, 0, 0}}).svg.empty());
}

TEST(StaticStudy, inductances_of_the_wound_rotor_machine) {
  const StaticStudy study(models / "wrsm-mec/model.toml");
  std::ifstream file(models / "wrsm-mec/inductances.csv");
  std::string line;
  std::getline(file, line);
  std::vector<MachinePoint> points;
  std::vector<std::vector<double>> rows;
  for (int r = 0; std::getline(file, line); ++r) {
    if (r % 60 != 23) continue;
    std::istringstream cells(line);
    std::vector<double> row;
    for (std::string text; std::getline(cells, text, ',');) row.push_back(std::stod(text));
    points.push_back({row[0] / 2, {}});
    rows.push_back(std::move(row));
  }
  ASSERT_EQ(rows.size(), 6u);
  const auto answers = study.at(points, true);
  const double largest = 0.3975;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    std::size_t column = 1;
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = a; b < 4; ++b, ++column) {
        EXPECT_NEAR(answers[k].inductance[a][b], rows[k][column], 2e-4 * largest);
        EXPECT_NEAR(answers[k].inductance[a][b], answers[k].inductance[b][a], 1e-12);
      }
  }
}

// Differences of 1 A at 0.25 A in the field; computed by an independent program.
TEST(StaticStudy, axis_inductances_of_laminations) {
  const StaticStudy study(models / "wrsm-mec/m19.toml");
  const AxisInductances x = axis_inductances(study, 0.25, 1.0, 8);
  EXPECT_NEAR(x.L_ls, 0.815e-3, 0.008e-3);
  EXPECT_NEAR(x.L_mq, 2.990e-3, 0.030e-3);
  EXPECT_NEAR(x.L_md, 4.399e-3, 0.044e-3);
  EXPECT_NEAR(x.turns_ratio(), 10.54, 0.11);
  const CrossSection section = cross_section(study, {0.0, {0, 0, 0, 3.0}});
  EXPECT_NEAR(section.tooth, 1.04, 0.05);
  EXPECT_NEAR(section.yoke, 1.39, 0.03);
  EXPECT_NEAR(section.pole, 1.29, 0.03);
  EXPECT_NE(section.svg.find("<polygon"), std::string::npos);
}

// Every dimension is a parameter, and its derivative that of a run.
TEST(StaticStudy, a_run_is_differentiated_by_the_geometry) {
  const std::string text = small_machine(surface, false) + R"toml(
[components]
s_a    = { kind = "electrical.current_source", p = "datum", n = "a", I = 3 }
s_b    = { kind = "electrical.current_source", p = "datum", n = "b", I = -2 }
s_c    = { kind = "electrical.current_source", p = "datum", n = "c", I = -1 }
ground = { kind = "electrical.ground", p = "neutral" }
drive  = { kind = "rotational.speed_source", p = "shaft", n = "datum", w = 100 }
)toml";
  const auto run = [&](double change, const std::string& parameter, const std::string& value) {
    ReadOptions options;
    if (!parameter.empty())
      options.overrides.emplace_back(parameter, std::to_string((1 + change) * std::stod(value)));
    Model model = read_model_text(text, "differentiated.toml", options);
    RunRequest request;
    request.trajectories.push_back({"T_e", "", parse_value(model, "T_e", {})});
    for (const char* name : {"machine_gap", "machine_stator_tooth_width", "machine_rotor_magnet_height"})
      request.wrt.push_back(study_parameter(model, name));
    SimulationOptions given;
    given.stop = 2e-3;
    given.step = 1e-4;
    given.method = "bdf2";
    given.form = given.start = "";
    given.tolerance = 1e-10;
    given.compile = false;
    request.simulation = complete_options(model, given);
    return forward_run(model, request);
  };
  const RunDerivatives exact = run(0.0, "", "");
  ASSERT_EQ(exact.failure, "");
  const std::pair<const char*, const char*> dimensions[] = {{"machine_gap", "0.001"},
                                                            {"machine_stator_tooth_width", "0.014"},
                                                            {"machine_rotor_magnet_height", "0.003"}};
  const std::size_t row = 15;
  for (std::size_t k = 0; k < 3; ++k) {
    const double h = 1e-3, value = std::stod(dimensions[k].second);
    const RunDerivatives more = run(h, dimensions[k].first, dimensions[k].second),
                         less = run(-h, dimensions[k].first, dimensions[k].second);
    const double difference = (more.trajectories[row] - less.trajectories[row]) / (2 * h * value);
    EXPECT_NEAR(exact.by_parameter[row * 3 + k] / difference, 1.0, 1e-3) << dimensions[k].first;
  }
}

TEST(StaticStudy, harmonics_of_a_sum_of_waves) {
  std::vector<double> values;
  for (int k = 0; k < 60; ++k) {
    const double x = 2 * std::numbers::pi * k / 60;
    values.push_back(0.5 + 3 * std::cos(x + 1) + 0.25 * std::sin(5 * x));
  }
  const std::vector<double> waves = harmonics(values, 6);
  EXPECT_NEAR(waves[0], 0.5, 1e-12);
  EXPECT_NEAR(waves[1], 3.0, 1e-12);
  EXPECT_NEAR(waves[3], 0.0, 1e-12);
  EXPECT_NEAR(waves[5], 0.25, 1e-12);
}

TEST(StaticStudy, a_file_without_a_machine_is_refused) {
  const MachineFile file(
      "[components]\nr = { kind = \"electrical.resistor\", p = \"a\", n = \"datum\", R = 1 }\n");
  try {
    StaticStudy study(file.path());
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults().front().code, "T148");
  }
}

}  // namespace static_study_test
}  // namespace tellegen
