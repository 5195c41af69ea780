#include "tellegen/model/units.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tellegen {
namespace units_test {

double si(std::string_view text) { return units().parse(text).value().si; }

TEST(Units, quantities_become_si_to_the_last_bit_of_their_decimal) {
  EXPECT_EQ(si("30.47 mK/W"), 0.03047);
  EXPECT_EQ(si("2.5 ms"), 0.0025);
  EXPECT_EQ(si("2.5ms"), 0.0025);
  EXPECT_EQ(si("0.82 mm"), 0.82e-3);
  EXPECT_EQ(si("1 mohm"), 1e-3);
  EXPECT_EQ(si("10 uF"), 10e-6);
  EXPECT_EQ(si("72 cm2"), 72e-4);
  EXPECT_EQ(si("3 kohm"), 3000.0);
  EXPECT_EQ(si("5"), 5.0);
  EXPECT_EQ(si("-1.5e-3"), -1.5e-3);
}

TEST(Units, temperatures_have_an_offset_and_their_quotients_none) {
  EXPECT_EQ(si("40 degC"), 313.15);
  EXPECT_EQ(si("40 °C"), 313.15);
  EXPECT_NEAR(si("212 degF"), 373.15, 1e-9);
  EXPECT_DOUBLE_EQ(si("2 degC/W"), 2.0);
}

TEST(Units, what_electric_powertrains_write_is_known) {
  EXPECT_EQ(si("1 Ah"), 3600.0);
  EXPECT_EQ(si("2 mAh"), 7.2);
  EXPECT_EQ(si("1 kWh"), 3.6e6);
  EXPECT_EQ(si("3 Nm"), 3.0);
  EXPECT_EQ(si("1 bar"), 1e5);
  EXPECT_EQ(si("50 %"), 0.5);
  EXPECT_EQ(si("3 1/s"), 3.0);
  EXPECT_NEAR(si("60 rpm"), 6.283185307179586, 1e-14);
  EXPECT_NEAR(si("180 deg"), 3.141592653589793, 1e-15);
  EXPECT_NEAR(si("6 l/min"), 1e-4, 1e-18);
}

TEST(Units, expressions_and_names_are_not_quantities) {
  for (const char* text : {"2*R1", "R1", "1 - 2", "1/3", "inf", "nan", "", "-x", "(1 V)", "2^3"})
    EXPECT_FALSE(units().parse(text)) << text;
}

TEST(Units, a_number_with_an_unknown_unit_throws) {
  EXPECT_THROW(units().parse("3 furlongz"), std::invalid_argument);
  EXPECT_THROW(units().parse("3 V + x"), std::invalid_argument);
}

TEST(Units, dimensions_are_compared_not_names) {
  EXPECT_TRUE(units().convertible("mK/W", "K/W"));
  EXPECT_TRUE(units().convertible("degC", "K"));
  EXPECT_TRUE(units().convertible("V A", "W"));
  EXPECT_TRUE(units().convertible("N m s/rad", "N m s"));
  EXPECT_TRUE(units().convertible("", "1"));
  EXPECT_FALSE(units().convertible("V", "A"));
  for (const bool shortcut : {true, false}) {  // reciprocals are something else
    const Units fresh(shortcut);
    EXPECT_FALSE(fresh.convertible("rad/s", "s"));
    EXPECT_FALSE(fresh.convertible("K/W", "W/K"));
    EXPECT_FALSE(fresh.convertible("min", "Hz"));
    EXPECT_FALSE(fresh.convertible("ohm", "S"));
    EXPECT_TRUE(fresh.convertible("rpm", "Hz"));
  }
  EXPECT_FALSE(units().convertible("V", "nonsense"));
  EXPECT_TRUE(units().known("W/(m2 K)"));
  EXPECT_FALSE(units().known("lg(re 1 mW)")) << "logarithms are not quantities here";
}

TEST(Units, reporting_undoes_reading) {
  EXPECT_EQ(units().from_si(0.0025, "ms"), 2.5);
  EXPECT_NEAR(units().from_si(313.15, "degC"), 40.0, 1e-12);
  EXPECT_EQ(units().to_si(2.5, "ms"), 0.0025);
  EXPECT_NEAR(units().from_si(100.0, "rpm"), 954.929658551372, 1e-9);
}

// What is known without UDUNITS is what UDUNITS says, to the last bit.
TEST(Units, the_shortcut_changes_nothing) {
  const Units by_udunits(false);
  std::vector<std::string> all{"",     "1",     "%",      "degC",  "1/s", "N m s/rad", "kg m2",  "W/K",
                               "mK/W", "m3/s",  "V s",    "J/K",   "mm2", "kN m",      "uV/K",   "A h",
                               "m/s2", "K/W s", "W/m2 K", "ohm m", "1/K", "kg/m3",     "m s2 kg"};
  for (const char* unit :
       {"m", "g", "s",   "A", "K",  "rad", "Hz", "N",   "Nm", "Pa",  "bar", "J",  "W",  "VA", "C",
        "V", "F", "ohm", "S", "Wb", "T",   "H",  "min", "h",  "rpm", "l",   "eV", "Ah", "mol"})
    for (const char* prefix : {"", "k", "m", "u", "n", "p", "M", "G", "c", "d", "h"})
      for (const char* rest : {"", "2", "/s", "/K", " s", " m2/W"})
        all.push_back(std::string(prefix) + unit + rest);
  const Units with_shortcut;
  for (const std::string& unit : all) {
    ASSERT_EQ(with_shortcut.known(unit), by_udunits.known(unit)) << unit;
    if (!by_udunits.known(unit)) continue;
    for (double value : {1.0, 0.3, 12.5, 1e-7}) {
      ASSERT_EQ(with_shortcut.to_si(value, unit), by_udunits.to_si(value, unit)) << unit;
      ASSERT_EQ(with_shortcut.from_si(value, unit), by_udunits.from_si(value, unit)) << unit;
    }
    for (const char* other : {"1", "K", "W", "V s", "N m", "kg m2/s2", "min", "l", "J/K", "1/s", "K/W", "S"})
      ASSERT_EQ(with_shortcut.convertible(unit, other), by_udunits.convertible(unit, other))
          << unit << " " << other;
  }
  // Whichever comes first.
  const Units late;
  EXPECT_TRUE(late.convertible("l/min", "m3/s"));
  EXPECT_TRUE(late.convertible("m3/s", "l/min"));
  EXPECT_TRUE(late.convertible("kW", "hp"));
}

}  // namespace units_test
}  // namespace tellegen
