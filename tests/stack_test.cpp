// [stack] of a model file: layered bodies against closed forms, what they add up to, and what is said to
// wrong ones.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "tellegen/simulate/test_run.h"

namespace tellegen {
namespace {

// A slab of two layers, 20 x 10 mm, heated in the upper one and cooled below.
std::string slab(const std::string& cell, const std::string& start, const std::string& more = "",
                 const std::string& contact = "") {
  return fmt::format(R"toml(
[parameters]
P = "50 W"

[components]
water = {{ kind = "thermal.fixed_temperature", p = "cold", T = "300 K" }}

[stack]
cell  = "{}"
start = "{}"

[stack.materials]
metal   = {{ k = 200, rho = 8000, cp = 400 }}
ceramic = {{ k = [20, 20, 10], rho = 4000, cp = 800 }}

[stack.layers.upper]
material  = "metal"
thickness = "2 mm"
cells     = 4
size      = ["20 mm", "10 mm"]
{}

[stack.layers.lower]
material  = "ceramic"
thickness = "1 mm"
cells     = 2
size      = ["20 mm", "10 mm"]

[stack.heat]
loss = {{ region = "upper", power = "P" }}

[stack.films]
film = {{ region = "lower", face = "bottom", h = "1e4 W/(m2 K)", node = "cold" }}

[stack.probes]
wetted = {{ region = "lower", face = "bottom" }}
joint  = {{ region = "lower", face = "top" }}
above  = {{ region = "upper", face = "bottom" }}
mean   = {{ region = "lower" }}
corner = {{ region = "lower", at = ["9.9 mm", "-4.9 mm"] }}
top    = {{ region = "upper", face = "top" }}
{})toml",
                     cell, start, contact, more);
}

Model read(const std::string& text) {
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return read_model_text(text, "body.toml", options);
}

// All that a fault says, each fault with its line.
std::string faults_of(const std::string& text) {
  try {
    read(text);
  } catch (const ModelError& error) {
    std::string all;
    for (const Fault& fault : error.faults()) all += to_text(fault) + "\n";
    return all;
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Heat that flows straight down: 50 W through 2 cm2, with 1/(h A), d/(k A) and half of d/(k A) of the heated
// layer.
TEST(Stack, straight_heat_flow_is_exact) {
  const double A = 2e-4, film = 50 / (1e4 * A), ceramic = 50 * 1e-3 / (10 * A);
  for (const char* cell : {"50 mm", "3 mm"}) {
    const TestRun run(read(slab(cell, "steady")), options_of("bdf2", 1e-3, 1e-3),
                      {"wetted", "joint", "above", "mean", "corner", "P"});
    EXPECT_NEAR(run.at(0, "wetted"), 300 + film, 1e-8);
    EXPECT_NEAR(run.at(0, "joint"), 300 + film + ceramic, 1e-8);
    EXPECT_NEAR(run.at(0, "above"), 300 + film + ceramic, 1e-8);
    EXPECT_NEAR(run.at(0, "mean"), 300 + film + ceramic / 2, 1e-8);
    EXPECT_NEAR(run.at(0, "corner"), 300 + film + ceramic / 2, 1e-8);
    EXPECT_NEAR(run.last("mean"), run.at(0, "mean"), 1e-8);  // steady
  }
}

TEST(Stack, a_contact_adds_its_resistance) {
  const TestRun run(read(slab("5 mm", "steady", "", "contact = \"2e4 W/(m2 K)\"")),
                    options_of("bdf2", 1e-3, 1e-3), {"joint", "above"});
  EXPECT_NEAR(run.at(0, "above") - run.at(0, "joint"), 50 / (2e4 * 2e-4), 1e-8);
}

TEST(Stack, cells_have_the_heat_capacity_of_the_body_and_nothing_leaves_its_sides) {
  const Model model = read(slab("3 mm", "290 K"));
  double capacity = 0.0;
  int cells = 0, lateral = 0;
  for (const Component& c : model.components) {
    if (model.kinds[c.kind].name == "thermal.capacitor") {
      capacity += c.values[0].number;
      EXPECT_EQ(c.values[1].number, 290.0);
      ++cells;
    }
    lateral += c.name.starts_with("x_") || c.name.starts_with("y_");
  }
  EXPECT_EQ(cells, 7 * 4 * 6);  // 20 mm and 10 mm in pieces of at most 3 mm; six slices
  EXPECT_EQ(lateral, (6 * 4 + 7 * 3) * 6);
  EXPECT_NEAR(capacity, 2e-4 * (2e-3 * 8000 * 400 + 1e-3 * 4000 * 800), 1e-12);
}

// Adiabatic: all that is put in stays.
TEST(Stack, energy_is_kept) {
  std::string text = slab("5 mm", "290 K");
  text = replaced(text, "film = {", "film = { summary = \"almost nothing\",");
  text = replaced(text, "1e4 W/(m2 K)", "1e-9 W/(m2 K)");
  const TestRun run(read(text), options_of("tr", 0.1, 1e-3), {"mean", "top"});
  const double capacity = 2e-4 * (2e-3 * 8000 * 400 + 1e-3 * 4000 * 800);
  EXPECT_GT(run.last("top"), run.last("mean"));
  EXPECT_GT(run.last("top"), 290 + 50 * 0.1 / capacity);
  const TestRun late(read(text), options_of("bdf2", 100.0, 0.1), {"mean"});
  EXPECT_NEAR(late.last("mean"), 290 + 50 * 100.0 / capacity, 5.0);  // mean of the lower layer lags behind
}

// Two unequal dies on a plate; power and film are expressions, one of them of a probe.
const std::string dies = R"toml(
[parameters]
h = "5e3 W/(m2 K)"

[ports]
cold = "cold"

[components]
anchor = { kind = "thermal.resistor", p = "cold", n = "datum", R = 1e9 }

[stack]
cell  = ["2 mm", "3 mm"]
start = "300 K"

[stack.materials]
chip  = { k = 120, rho = 2330, cp = 700 }
plate = { k = 390, rho = 8960, cp = 385 }

[stack.layers.chips]
material  = "chip"
thickness = "0.3 mm"
[stack.layers.chips.parts]
big   = { at = ["-6 mm", "0 mm"], size = ["6 mm", "6 mm"] }
small = { at = ["6 mm", "0 mm"], size = ["2 mm", "2 mm"], repeat = [1, 2], pitch = ["0 mm", "4 mm"] }

[stack.layers.base]
material  = "plate"
thickness = "3 mm"
size      = ["30 mm", "20 mm"]

[stack.heat]
one = { region = "chips.big", power = "100 - (T_big - 300)" }
two = { region = "chips.small", power = "20 W" }

[stack.films]
below = { region = "base", face = "bottom", h = "h", node = "cold" }
air   = { region = "base", face = "top", h = "10 W/(m2 K)", node = "cold" }

[stack.probes]
T_big   = { region = "chips.big" }
T_small = { region = "chips.small" }
T_under = { region = "base", face = "top", under = "chips.small" }
)toml";

TEST(Stack, parts_share_a_grid_and_films_spare_what_is_covered) {
  const Model model = read(dies);
  const double covered = 36e-6 + 2 * 4e-6;
  double area = 0.0;
  for (const Component& c : model.components)
    if (c.name.starts_with("air_")) {
      // R is half of the cell's height and 1/(h A).
      const double height = 1.5e-3 / 390;  // times the area
      area += (height + 1 / 10.0) / c.values[0].number;
    }
  EXPECT_NEAR(area, 600e-6 - covered, 1e-12);
}

// The first die has 6 x 6 mm; its corner cell, 2 x 2 mm, has a ninth of the power.
TEST(Stack, power_may_follow_a_probe) {
  const TestRun run(read(dies), options_of("bdf2", 2.0, 1e-2),
                    {"T_big", "T_small", "T_under", "one_chips_1_4_4.Q"});
  EXPECT_GT(run.last("T_big"), 310.0);
  EXPECT_GT(run.last("T_big"), run.last("T_under"));
  EXPECT_GT(run.last("T_small"), run.last("T_under"));
  EXPECT_NEAR(run.last("one_chips_1_4_4.Q"), (100 - (run.last("T_big") - 300)) / 9, 1e-8);
}

TEST(Stack, wrong_ones_are_explained_at_their_line) {
  const auto expect = [](const std::string& from, const std::string& to, const std::string& code,
                         const std::string& says) {
    const std::string said = faults_of(replaced(dies, from, to));
    EXPECT_NE(said.find(code), std::string::npos) << to << "\n" << said;
    EXPECT_NE(said.find(says), std::string::npos) << to << "\n" << said;
  };
  EXPECT_EQ(faults_of(dies), "");
  expect("\"plate\"\nthickness", "\"plat\"\nthickness", "body.toml:27: T170", "did you mean 'plate'?");
  expect("\"chips.big\", power", "\"chips.bog\", power", "body.toml:32: T171", "did you mean 'chips.big'?");
  expect("face = \"bottom\"", "face = \"left\"", "body.toml:36: T172", "'top' and 'bottom'");
  expect("[\"2 mm\", \"3 mm\"]", "\"1 um\"", "T173", "a million cells");
  expect("[\"6 mm\", \"0 mm\"], size", "[\"-6 mm\", \"0 mm\"], size", "body.toml:24: T174", "overlap");
  expect("size      = [\"30 mm\"", "at = [\"100 mm\", \"0 mm\"]\nsize      = [\"30 mm\"",
         "body.toml:26: T175", "lies nowhere under 'chips'");
  expect("below = { region = \"base\"", "below = { region = \"chips\"", "body.toml:36: T176", "is covered");
  expect("under = \"chips.small\"", "at = [\"70 mm\", \"0 mm\"]", "body.toml:42: T177",
         "outside of its region");
  expect("thickness = \"3 mm\"", "thickness = \"0 mm\"", "body.toml:28: T124", "above 0");
  expect("thickness = \"3 mm\"", "thickness = \"3 K\"", "body.toml:28: T123", "'m'");
  expect("thickness = \"3 mm\"\n", "", "T103", "needs 'thickness'");
  expect("repeat = [1, 2], pitch", "repaet = [1, 2], pitch", "T101", "did you mean 'repeat'?");
  expect("size = [\"2 mm\", \"2 mm\"]", "size = [\"2 mm\"]", "T102", "has 1 entries and needs 2");
  expect("power = \"20 W\"", "power = \"20*Pow\"", "body.toml:33: T121", "Pow");
  expect("h = \"h\"", "h = \"hh\"", "body.toml:36: T121", "hh");
  expect("anchor = ", "anchor = 3\nother = ", "body.toml:9: T102", "anchor");
  const std::string closed = replaced(
      replaced(dies.substr(0, dies.find("[stack.films]")), "start = \"300 K\"", "start = \"steady\""),
      "100 - (T_big - 300)", "10");
  EXPECT_NE(faults_of(closed).find("T178"), std::string::npos) << faults_of(closed);
}

// Twice as fine: the spreading resistance of a die moves by less and less.
TEST(Stack, refinement_converges) {
  const auto rise = [](double mm) {
    std::string text = replaced(dies, "[\"2 mm\", \"3 mm\"]", fmt::format("\"{} mm\"", mm));
    text = replaced(text, "start = \"300 K\"", "start = \"steady\"");
    text = replaced(text, "100 - (T_big - 300)", "100");
    text = replaced(text, "kind = \"thermal.resistor\", p = \"cold\", n = \"datum\", R = 1e9",
                    "kind = \"thermal.fixed_temperature\", p = \"cold\", T = \"300 K\"");
    text = replaced(text, "[ports]\ncold = \"cold\"\n", "");
    return TestRun(read(text), options_of("bdf1", 1e-3, 1e-3), {"T_big"}).at(0, "T_big") - 300;
  };
  const double coarse = rise(4), middle = rise(2), fine = rise(1);
  EXPECT_LT(std::abs(fine - middle), std::abs(middle - coarse));
  EXPECT_NEAR(middle / fine, 1, 0.03);
}

}  // namespace
}  // namespace tellegen
