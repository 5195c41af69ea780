#include "tellegen/model/header_units.h"

#include <gtest/gtest.h>

#include "tellegen/model/csv_header.h"

namespace tellegen {
namespace header_units_test {

// The unit that a column is read in, as an input of `expected`; "fault" where it cannot be said.
std::string unit_in(const std::string& header, const std::string& expected, const ColumnNames& names = {},
                    const std::string& name = "") {
  FaultList faults;
  CsvHeader columns({{header, "", false, ""}}, {}, faults, names);
  const CsvHeader::Wanted wanted{expected, expected, "input 'X'"};
  const auto found = name.empty() ? columns.at(0, wanted) : columns.find(name, wanted);
  if (!faults.empty()) return "fault";
  return !found ? "none" : found->unit;
}

TEST(HeaderUnits, stand_behind_many_signs) {
  for (const char* header : {"X [mA]", "X (mA)", "X/mA", "X / mA", "X in mA", "X mA", "X <mA>", "X{mA}",
                             "X:mA", "X, mA", "X_mA", "X.mA", "X-mA", "X (mA) avg", "Ch 1, mA (LGR S/N: 1)"})
    EXPECT_EQ(unit_in(header, "A"), "mA") << header;
  EXPECT_EQ(unit_in("Temp, °F (LGR S/N: 1, LBL: gear)", "degC"), "degF");
  EXPECT_EQ(unit_in("Temperature/°C", "K"), "degC");
  EXPECT_EQ(unit_in("speed/km/h", "m/s"), "km/h");
  EXPECT_EQ(unit_in("(Q-Qo)/mA.h", "C"), "mA.h");
  EXPECT_EQ(unit_in("rpm", "rad/s"), "rpm");
  EXPECT_EQ(unit_in("Test (Min)", "s"), "min");  // a mega-inch to UDUNITS
  EXPECT_EQ(unit_in("SOC/%", "1"), "%");
}

TEST(HeaderUnits, that_do_not_fit_are_part_of_the_name) {
  for (const auto& [header, expected] : {std::pair{"v/c", "m/s"},
                                         {"dT/dt", "K"},
                                         {"dT/dt", "K/s"},
                                         {"T-s", "K"},
                                         {"I_d", "A"},
                                         {"I_h", "A"},
                                         {"T_min", "K"},
                                         {"F/A", "Pa"},
                                         {"V(out)", "V"}})
    EXPECT_EQ(unit_in(header, expected), "") << header;
  // Clearly a unit, and of something else; a letter that may be an index.
  EXPECT_EQ(unit_in("I/mA", "V"), "fault");
  EXPECT_EQ(unit_in("T_F", "degC"), "fault");
  EXPECT_EQ(unit_in("m_g", "kg"), "fault");
  EXPECT_EQ(unit_in("T_C", "degC"), "degC");
  EXPECT_EQ(unit_in("time_h", "s"), "h");
}

TEST(HeaderUnits, of_angular_speeds_are_revolutions) {
  for (const char* header : {"n [1/min]", "n [min-1]", "n [min^-1]", "n [U/min]", "n/1/min", "n 1/min"})
    EXPECT_EQ(unit_in(header, "rad/s"), "rpm") << header;
  EXPECT_EQ(unit_in("n [Hz]", "rad/s"), "revolution/s");
  EXPECT_EQ(unit_in("n [1/s]", "rad/s"), "");
  EXPECT_EQ(unit_in("f [Hz]", "Hz"), "");
  EXPECT_EQ(unit_in("f [1/min]", "1/s"), "1/min");
}

TEST(HeaderUnits, that_the_user_states_count_more) {
  EXPECT_EQ(unit_in("I/mA", "A", {{"X", "I/mA [uA]"}}, "X"), "uA");
  EXPECT_EQ(unit_in("Strom", "A", {{"X", "Strom [mA]"}}, "X"), "mA");
  EXPECT_EQ(unit_in("Strom (A)", "A", {{"X", "Strom [mA]"}}, "X"), "mA");
  EXPECT_EQ(unit_in("I/mA", "A", {{"X", "I"}}, "X"), "mA");
  EXPECT_EQ(unit_in("I/mA", "A", {}, "I"), "mA");
  EXPECT_EQ(unit_in("T_F", "degC", {{"X", "T_F [degC]"}}, "X"), "degC");
  EXPECT_EQ(unit_in("I", "A", {{"X", "1 [mA]"}}, "X"), "mA");
  EXPECT_EQ(unit_in("I", "A", {{"X", "I [glork]"}}, "X"), "fault");
}

TEST(HeaderUnits, members_of_structures_and_groups_are_found_by_their_own_names) {
  FaultList faults;
  CsvHeader header({{"run/bench/T_h", "degF", false, ""},
                    {"log.P", "", false, ""},
                    {"a.x", "", false, ""},
                    {"b.x", "", false, ""}},
                   {}, faults);
  const auto T = header.find("T_h", {"degC", "degC", "sensor 'T_h'"});
  ASSERT_TRUE(T);
  EXPECT_EQ(T->at, 0);
  EXPECT_NEAR(T->si(50.0), 283.15, 1e-9);
  EXPECT_EQ(header.find("P", {"W", "W", "input 'P'"})->at, 1);
  EXPECT_FALSE(header.find("x", {"V", "V", "sensor 'x'"}));  // which of them?
  EXPECT_TRUE(header.missing());
  EXPECT_NO_THROW(faults.throw_if_any());
}

TEST(HeaderUnits, a_column_is_proposed_once_and_only_where_its_unit_fits) {
  FaultList faults;
  CsvHeader header(
      {{"t", "", false, ""}, {"I/mA", "", false, ""}, {"Ewe/V", "", false, ""}, {"log.T_g", "", false, ""}},
      {}, faults);
  header.find("t", {"s", "s", "the time"});
  header.no_column("V", {"V", "V", "sensor 'V'"});
  header.no_column("T_h", {"degC", "degC", "sensor 'T_h'"});
  header.no_column("T_k", {"degC", "degC", "sensor 'T_k'"});
  try {
    faults.throw_if_any();
    ADD_FAILURE();
  } catch (const ModelError& error) {
    ASSERT_EQ(error.faults().size(), 3u);
    EXPECT_EQ(error.faults()[0].details.back(), "--columns \"V=Ewe/V\" would take that column");
    EXPECT_EQ(error.faults()[1].details.back(), "--columns \"T_h=log.T_g\" would take that column");
    EXPECT_EQ(error.faults()[2].details.back(), "--columns \"T_k=...\" names it");
  }
}

}  // namespace header_units_test
}  // namespace tellegen
