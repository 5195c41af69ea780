#include "tellegen/data/csv_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "tellegen/data/number_cell.h"
#include "tellegen/data/number_text.h"
#include "tellegen/data/text_input.h"
#include "tellegen/data/time_text.h"

namespace tellegen {
namespace csv_source_test {

namespace fs = std::filesystem;

using Values = std::vector<double>;

class Tables : public testing::Test {
 protected:
  Tables() : folder_(fs::temp_directory_path() / ("tellegen-data-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~Tables() override { fs::remove_all(folder_); }
  fs::path put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  const fs::path folder_;
};

TableOptions with_units() {
  TableOptions options;
  options.is_unit = [](std::string_view unit) {
    return unit == "s" || unit == "degC" || unit == "W" || unit == "V" || unit == "A" || unit == "Deg C" ||
           unit == "Volts";
  };
  return options;
}

// All columns; -1 where there is nothing.
std::vector<Values> all_of(TableSource& table) {
  std::vector<int> chosen;
  for (std::size_t k = 0; k < table.columns().size(); ++k) chosen.push_back(static_cast<int>(k));
  table.choose(chosen);
  std::vector<Values> columns(chosen.size());
  for (TableBlock block; table.next(block);)
    for (std::size_t k = 0; k < chosen.size(); ++k)
      for (double v : block.columns[k]) columns[k].push_back(std::isnan(v) ? -1.0 : v);
  return columns;
}

std::vector<Values> read(const std::string& text, const TableOptions& options = with_units()) {
  return all_of(*open_csv_text(text, options));
}

std::string fault_of(const std::string& text, const TableOptions& options = with_units()) {
  try {
    read(text, options);
  } catch (const TableError& error) {
    std::string all;
    for (const TableFault& fault : error.faults()) {
      all += std::to_string(fault.line) + ": " + fault.code + ": " + fault.message + "\n";
      for (const std::string& detail : fault.details) all += "  " + detail + "\n";
    }
    return all;
  }
  return "";
}

TEST(Numbers, are_what_strtod_reads) {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "22.057",
                           "-1.5e3",
                           "+7",
                           "1e22",
                           "1e23",
                           "123456789012345678901234567890",
                           "0.1",
                           ".5",
                           "5.",
                           "1.7976931348623157e308",
                           "4.9e-324",
                           "2.2250738585072014e-308",
                           "9007199254740993",
                           "1e999",
                           "1e-999",
                           "0.000000000000000000000000000000123",
                           "3.14159265358979323846"}) {
    double value = -1.0;
    const std::string cell = text;
    EXPECT_EQ(parse_number(cell.data(), cell.data() + cell.size(), '.', value), cell.data() + cell.size())
        << text;
    EXPECT_EQ(value, std::strtod(text, nullptr)) << text;
  }
  double value = 0.0;
  const std::string comma = "22,057", fortran = "1.5D3";
  EXPECT_EQ(parse_number(comma.data(), comma.data() + 6, ',', value), comma.data() + 6);
  EXPECT_EQ(value, 22.057);
  EXPECT_EQ(parse_number(fortran.data(), fortran.data() + 5, '.', value), fortran.data() + 5);
  EXPECT_EQ(value, 1500.0);
  for (const std::string wrong : {"", "-", "x", ".", "--1", "e5"})
    EXPECT_EQ(parse_number(wrong.data(), wrong.data() + wrong.size(), '.', value), nullptr) << wrong;
}

TEST(Times, are_read_to_the_nanosecond) {
  const std::int64_t second = 1'000'000'000;
  EXPECT_EQ(parse_time("%Y-%m-%dT%H:%M:%S%z", "1970-01-02T00:00:01.000000001Z"), 86401 * second + 1);
  EXPECT_EQ(parse_time("%Y-%m-%dT%H:%M:%S%z", "2026-03-01T10:00:00+01:00"), 1772355600 * second);
  EXPECT_EQ(parse_time("%d.%m.%Y %H:%M:%S%z", "1.3.2026 09:00:00,5"), 1772355600 * second + second / 2);
  EXPECT_EQ(parse_time("%I:%M:%S %p", "12:00:01 AM"), second);
  EXPECT_EQ(parse_time("%I:%M:%S %p", "1:00:00 PM"), 13 * 3600 * second);
  EXPECT_EQ(parse_time("%d-%b-%Y", "01-Mar-2026"), 1772323200 * second);
  EXPECT_FALSE(parse_time("%Y-%m-%d", "2026-13-01"));
  EXPECT_FALSE(parse_time("%H:%M:%S%z", "10:61:00"));
  EXPECT_EQ(parse_ticks("1700000000.123456789", 1e9, '.'), 1700000000 * second + 123456789);
  EXPECT_EQ(time_words(1772355600 * second), "2026-03-01 09:00:00");
  EXPECT_EQ(time_words(57931 * second), "16:05:31");
}

TEST(Times, day_and_month_are_told_apart_by_what_increases) {
  EXPECT_EQ(time_patterns({"01/03/2026 23:59:59", "01/04/2026 00:00:00"}).front(), "%m/%d/%Y %H:%M:%S%z");
  EXPECT_EQ(time_patterns({"30/03/2026 23:59:59", "31/03/2026 00:00:00"}).front(), "%d/%m/%Y %H:%M:%S%z");
  EXPECT_EQ(time_patterns({"31/01/2026 10:00", "01/02/2026 10:00"}).front(), "%d/%m/%Y %H:%M%z");
}

TEST(Csv, delimiter_decimal_header_and_units_are_recognised) {
  const std::vector<Values> expected{{0, 1, 2}, {22.05, 21.5, 22.25}};
  for (const char* text :
       {"t,x\n0,22.05\n1,21.5\n2,22.25\n", "t;x\n0;22,05\n1;21,5\n2;22,25\n",
        "t\tx\n0\t22.05\n1\t21.5\n2\t22.25\n", "t|x\n0|22.05\n1|21.5\n2|22.25\n",
        "t   x\n0   22.05\n1   21.5\n2   22.25\n",
        "\"t\",\"x\"\n\"0\",\"22,05\"\n\"1\",\"21,5\"\n\"2\",\"22,25\"\n",
        "sep=;\nt;x\n0;22.05\n1;21.5\n2;22.25\n",
        "Logger: ACME 3000\nSerial 1234\n\nt,x\n0,22.05\n1,21.5\n2,22.25\n",
        "t,x\ns,degC\n0,22.05\n1,21.5\n2,22.25\n", "t,x\n(s),(degC)\n0,22.05\n1,21.5\n2,22.25\n",
        "# t,x\n0,22.05\n1,21.5\n2,22.25\n", "t;x;\n0;22,05;\n1;21,5;\n2;22,25;\n",
        "t,x\r\n0,22.05\r\n1,21.5\r\n2,22.25\r\n", "t, x\n0, 22.05\n1, 21.5\n2, 22.25",
        "\xEF\xBB\xBFt,x\n0,22.05\n1,21.5\n2,22.25\n"}) {
    const auto table = open_csv_text(text, with_units());
    ASSERT_EQ(table->columns().size(), 2u) << text << table->description();
    EXPECT_EQ(table->columns()[1].name, "x") << text;
    EXPECT_EQ(table->time_column(), 0) << text;
    EXPECT_EQ(all_of(*table), expected) << text << table->description();
  }
  EXPECT_EQ(open_csv_text("t,x\ns,degC\n0,1\n1,2\n", with_units())->columns()[1].unit, "degC");
  EXPECT_EQ(open_csv_text("t;x\n0;1,5\n1;2,5\n", with_units())->description(),
            "';' between cells, decimal comma, names in line 1");
  // One letter names are units too: a single line of text is the header.
  EXPECT_EQ(open_csv_text("s,V,A\n0,1,2\n1,2,3\n", with_units())->columns()[1].name, "V");
}

TEST(Csv, options_go_before_what_is_recognised) {
  TableOptions options = with_units();
  options.delimiter = ";";
  options.decimal = ",";
  options.header_line = 2;
  options.units_line = -1;
  const auto table = open_csv_text("a;b\nt;x\ns;V\n0;1,5\n1;2,5\n", options);
  EXPECT_EQ(table->columns()[0].name, "t");
  EXPECT_EQ(table->columns()[1].unit, "");
  options = with_units();
  options.header_line = -1;
  EXPECT_EQ(open_csv_text("0,1\n1,2\n", options)->columns()[1].name, "2");
  EXPECT_FALSE(open_csv_text("0,1\n1,2\n", with_units())->has_names());
  options.missing = "-9999";
  EXPECT_EQ(read("0,1\n1,-9999\n", options)[1], (Values{1, -1}));
}

TEST(Csv, times_are_seconds_from_the_first) {
  const auto times = [](const std::string& text) {
    const auto table = open_csv_text(text, with_units());
    EXPECT_TRUE(table->columns()[static_cast<std::size_t>(table->time_column())].is_time) << text;
    return all_of(*table)[static_cast<std::size_t>(table->time_column())];
  };
  const Values one{0, 1, 2.5};
  EXPECT_EQ(times("time,x\n2026-03-01T10:00:00Z,1\n2026-03-01T10:00:01Z,2\n2026-03-01T10:00:02.5Z,3\n"), one);
  EXPECT_EQ(times("Zeit;x\n01.03.2026 10:00:00,0;1\n01.03.2026 10:00:01,0;2\n01.03.2026 10:00:02,5;3\n"),
            one);
  EXPECT_EQ(times("time,x\n1700000000.0,1\n1700000001.0,2\n1700000002.5,3\n"), one);
  EXPECT_EQ(times("ts,x\n1700000000000,1\n1700000001000,2\n1700000002500,3\n"), one);
  EXPECT_EQ(times("Time,x\n23:59:59,1\n00:00:00,2\n00:00:01.5,3\n"), one);
  EXPECT_EQ(times("Date,Time,x\n2026/03/01,23:59:59,1\n2026/03/02,00:00:00,2\n2026/03/02,00:00:01.5,3\n"),
            one);
  EXPECT_EQ(
      times(
          "no,Time,Date,x\n1,11:59:59 PM,3/1/2026,1\n2,12:00:00 AM,3/2/2026,2\n3,12:00:01.5 AM,3/2/2026,3\n"),
      one);
  // A microsecond beside the seconds since 1970.
  const Values fine = times("time,x\n1700000000.000001,1\n1700000000.000003,2\n");
  EXPECT_EQ(fine[1], 2e-6);
  // Seconds that are not since 1970 stay as they are.
  const auto plain = open_csv_text("time,x\n36000,1\n36001,2\n", with_units());
  EXPECT_FALSE(plain->columns()[0].is_time);
}

TEST(Csv, what_was_passed_over_is_counted) {
  const auto table = open_csv_text("t,x\n0,1\n1,---\n2,OVERLOAD\nt,x\n3,4\n5", with_units());
  EXPECT_EQ(all_of(*table), (std::vector<Values>{{0, 1, 2, 3}, {1, -1, -1, 4}}));
  const std::vector<std::string> notes = table->notes();
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0], "2 cells as '---' (line 3) count as missing");
  EXPECT_EQ(notes[1], "1 more header line (line 5): passed over");
  EXPECT_EQ(notes[2], "the last line (7) is cut off, 1 of 2 cells: not used");
}

TEST(Csv, a_cause_is_one_fault_with_its_first_line_and_the_option_that_helps) {
  std::string text = "t,x\n";
  for (int k = 0; k < 50; ++k) text += std::to_string(k) + (k < 10 ? ",1.5\n" : ",abc\n");
  EXPECT_EQ(fault_of(text),
            "12: T594: 'abc' in column 'x' is not a number\n  and 39 more cells of this column\n"
            "  leave the cell empty where nothing was read, or --missing \"abc\"\n");
  text = "t;x\n";
  for (int k = 0; k < 900; ++k) text += std::to_string(k) + (k < 600 ? ";1.5\n" : ";1,5\n");
  EXPECT_NE(fault_of(text).find("602: T594: '1,5' in column 'x' is not a number"), std::string::npos)
      << fault_of(text);
  EXPECT_NE(fault_of(text).find("--decimal \",\" reads it"), std::string::npos) << fault_of(text);
  EXPECT_NE(fault_of("t,x\n0,1\n1,2,3\n2,4\n3,5\n")
                .find("3: T590: 3 cells where the header names 2 columns\n  the line: 1,2,3"),
            std::string::npos);
  EXPECT_NE(fault_of("t,x\n0,1\n1,\"2\n3,4\n").find("a quoted cell does not end"), std::string::npos);
  EXPECT_NE(fault_of("time,x\n10:00:00,1\n10:00:01,2\n10:00:02,3\nlater,4\n").find("--time-format"),
            std::string::npos);
}

TEST_F(Tables, encodings) {
  const auto names = [&](const std::string& bytes) {
    const auto table = open_table(put("e.csv", bytes), with_units());
    EXPECT_EQ(all_of(*table)[1], (Values{1.5, 2.5})) << table->description();
    return table->columns()[1].name;
  };
  const std::string utf8 = "t,Gehäuse [°C]\n0,1.5\n1,2.5\n";
  EXPECT_EQ(names(utf8), "Gehäuse [°C]");
  EXPECT_EQ(names("\xEF\xBB\xBF" + utf8), "Gehäuse [°C]");
  EXPECT_EQ(names("t,Geh\xE4use [\xB0"
                  "C]\n0,1.5\n1,2.5\n"),
            "Gehäuse [°C]");
  for (const bool big : {false, true}) {
    std::string wide = big ? "\xFE\xFF" : "\xFF\xFE";
    for (const char16_t c : std::u16string(u"t\tGeh\u00E4use [\u00B0C]\r\n0\t1,5\r\n1\t2,5\r\n")) {
      const char low = static_cast<char>(c & 0xFF), high = static_cast<char>(c >> 8);
      wide += big ? high : low;
      wide += big ? low : high;
    }
    EXPECT_EQ(names(wide), "Gehäuse [°C]");
    EXPECT_EQ(names(wide.substr(2)), "Gehäuse [°C]");  // without a mark
  }
  EXPECT_EQ(names("t,x\r0,1.5\r1,2.5\r"), "x");  // line ends of old
}

TEST_F(Tables, a_long_file_is_read_as_a_short_one) {
  std::ostringstream text;
  text << "t,x,note\n";
  double sum = 0.0;
  for (int k = 0; k < 200000; ++k) {
    text << k << ',' << k % 1000 * 0.25 << ",\"a, b\"\n";
    sum += k % 1000 * 0.25;
  }
  const auto table = open_table(put("long.csv", text.str()), {});
  table->choose({1, 0, 1});
  double found = 0.0;
  std::int64_t rows = 0;
  for (TableBlock block; table->next(block);) {
    for (double v : block.columns[0]) found += v;
    EXPECT_EQ(block.columns[0], block.columns[2]);
    EXPECT_EQ(block.lines.front(), rows + 2);
    rows += static_cast<std::int64_t>(block.rows);
  }
  EXPECT_EQ(rows, 200000);
  EXPECT_EQ(found, sum);
}

TEST_F(Tables, files_in_sequence_are_one_table) {
  const fs::path a = put("log1.csv", "t,x\n0,1\n1,2\n"), b = put("log2.csv", "x,t\n3,0\n4,1\n"),
                 c = put("log10.csv", "t,x\n4,5\n5,6\n");
  const std::vector<Values> expected{{0, 1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 6}};
  const auto table = open_tables({a, b, c}, {});
  EXPECT_EQ(all_of(*table), expected);
  ASSERT_EQ(table->notes().size(), 1u);
  EXPECT_NE(table->notes()[0].find("'log2.csv'"), std::string::npos) << table->notes()[0];
  // The folder, with its files in the order of their numbers.
  EXPECT_EQ(all_of(*open_table(folder_, {})), expected);
  put("log11.csv", "t,y\n6,5\n7,6\n");
  try {
    all_of(*open_table(folder_, {}));
    ADD_FAILURE();
  } catch (const TableError& error) {
    EXPECT_EQ(error.faults()[0].code, "T591");
    EXPECT_EQ(error.faults()[0].file, (folder_ / "log11.csv").string());
  }
}

TEST_F(Tables, a_file_of_another_kind_says_what_can_be_done) {
  const auto reason = [&](const std::string& bytes) -> std::string {
    try {
      open_table(put("other.bin", bytes), {});
    } catch (const TableError& error) {
      return error.faults()[0].details[0];
    }
    return "";
  };
  EXPECT_NE(reason("PK\x03\x04...").find("workbook"), std::string::npos);
  EXPECT_NE(reason("\x1F\x8B...").find("gunzip"), std::string::npos);
  EXPECT_NE(reason("MDF     3.30").find("MDF 4"), std::string::npos);
  EXPECT_NE(reason("\x89HDF\r\n\x1a\n").find("HDF5"), std::string::npos);
}

TEST(Numbers, with_signs_between_thousands_blanks_and_units) {
  double value = 0.0;
  const auto is = [&](const char* cell, const NumberStyle& style) { return read_number(cell, style, value); };
  EXPECT_TRUE(is("1,234.5", {'.', false}));
  EXPECT_EQ(value, 1234.5);
  EXPECT_TRUE(is("-80.000,25", {',', false}));
  EXPECT_EQ(value, -80000.25);
  EXPECT_TRUE(is("1,234,567", {'.', false}));
  EXPECT_EQ(value, 1234567.0);
  EXPECT_TRUE(is("1'234.5", {'.', false}));
  EXPECT_EQ(value, 1234.5);
  EXPECT_FALSE(is("1,234", {'.', false}));
  EXPECT_TRUE(is("1,234", {'.', true}));
  EXPECT_EQ(value, 1234.0);
  EXPECT_TRUE(is("+  19.981", {'.', false}));
  EXPECT_EQ(value, 19.981);
  EXPECT_TRUE(is("-  19.981", {'.', false}));
  EXPECT_EQ(value, -19.981);
  for (const char* wrong : {"1,23.5", "12,34", "0,123.4", "1,2345", "1,234.5,6", "+ x", "+ ", "1.2.3"})
    EXPECT_FALSE(is(wrong, {'.', true})) << wrong;
  EXPECT_EQ(grouping_of("0,123", '.'), Grouping::none);
  EXPECT_EQ(grouping_of("1,234", '.'), Grouping::either);
  EXPECT_EQ(unit_behind("19.98 °C", {'.', false}), "°C");
  EXPECT_EQ(unit_behind("gear 3", {'.', false}), "");
}

TEST(Csv, thousands_are_read_where_they_are_certain_and_refused_where_they_are_not) {
  EXPECT_EQ(read("t;x\n0;80.000,125\n1;20,050\n2;1.234,500\n")[1], (Values{80000.125, 20.05, 1234.5}));
  EXPECT_EQ(read("t,x\n0,\"1,234.5\"\n1,\"2,345\"\n2,999\n")[1], (Values{1234.5, 2345, 999}));
  const std::string doubtful = "t,x\n\"0\",\"1,234\"\n\"1\",\"2,345\"\n\"2\",\"999\"\n";
  EXPECT_NE(fault_of(doubtful).find("2: T594: '1,234' may be 1234 or 1.234"), std::string::npos)
      << fault_of(doubtful);
  EXPECT_NE(fault_of(doubtful).find("--decimal"), std::string::npos);
  TableOptions options = with_units();
  options.decimal = ".";
  EXPECT_EQ(read(doubtful, options)[1], (Values{1234, 2345, 999}));
  options.decimal = ",";
  EXPECT_EQ(read(doubtful, options)[1], (Values{1.234, 2.345, 999}));
  // A number without a sign where thousands would have one, or a zero before it: the decimal sign.
  EXPECT_EQ(read("t,x\n\"0\",\"1,234\"\n\"1\",\"0,345\"\n\"2\",\"9\"\n")[1], (Values{1.234, 0.345, 9}));
}

TEST(Csv, a_column_named_as_a_time_is_the_time_or_a_fault) {
  const auto maccor = [](const std::string& a, const std::string& b) {
    return "Rec#,TestTime,x\n1," + a + "00.00,5\n2," + a + "00.50,6\n3," + b + "01.00,7\n";
  };
  const std::string text = maccor("  0d 00:00:", "  1d 00:00:");
  const auto table = open_csv_text(text, with_units());
  EXPECT_EQ(table->time_column(), 1);
  EXPECT_EQ(all_of(*table)[1], (Values{0, 0.5, 86401}));
  const std::string wrong = fault_of(maccor("soon 00-", "soon 00-"));
  EXPECT_NE(wrong.find("2: T592: 'soon 00-00.00' in column 'TestTime' cannot be read as a time"),
            std::string::npos)
      << wrong;
  EXPECT_NE(wrong.find("--time-format"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("--time-column"), std::string::npos) << wrong;
  TableOptions options = with_units();
  options.time_format = "soon %M-%S";
  EXPECT_EQ(read(maccor("soon 00-", "soon 01-"), options)[1], (Values{0, 0.5, 61}));
  options = with_units();
  options.time_column = "Rec#";
  EXPECT_EQ(open_csv_text(maccor("soon 00-", "soon 00-"), options)->time_column(), 0);
  // With a unit behind its name it is one, too; where it is guessed, that is said.
  EXPECT_EQ(open_csv_text("n,time/ms,x\n1,0,5\n2,100,6\n3,200,7\n", with_units())->time_column(), 1);
  EXPECT_EQ(open_csv_text("n,Test (Sec),x\n1,0,5\n2,100,6\n3,200,7\n", with_units())->time_column(), 1);
  const auto guessed = open_csv_text("n,x\n1,5\n2,6\n3,7\n", with_units());
  EXPECT_FALSE(guessed->usual());
  EXPECT_NE(guessed->description().find("times 'n', a column that increases"), std::string::npos)
      << guessed->description();
}

TEST(Csv, ticks_and_days_are_points_in_time) {
  const auto times = [](const std::string& text) {
    const auto table = open_csv_text(text, with_units());
    EXPECT_TRUE(table->columns()[0].is_time) << text << table->description();
    return all_of(*table)[0];
  };
  EXPECT_EQ(times("timestamp,x\n639000000000000000,1\n639000000010000000,2\n639000000025000000,3\n"),
            (Values{0, 1, 2.5}));
  EXPECT_EQ(times("Date,x\n46082.25,1\n46082.5,2\n"), (Values{0, 21600}));
  const Values days =
      times("Time,x\n46082.416666667,1\n46082.416678241,2\n46082.416689815,3\n46082.416701389,4\n");
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(days[static_cast<std::size_t>(k)], k, 1e-4);
  // Seconds stay seconds.
  for (const char* text : {"Time,x\n46082,1\n46083,2\n46084,3\n46085,4\n",
                           "Time,x\n46082.001,1\n46082.002,2\n46082.003,3\n46082.004,4\n",
                           "timestamp,x\n46082.5,1\n46083,2\n46083.5,3\n46084,4\n"})
    EXPECT_FALSE(open_csv_text(text, with_units())->columns()[0].is_time) << text;
}

TEST(Times, year_month_and_day_in_the_order_of_the_shortest_span) {
  EXPECT_EQ(time_patterns({"26/03/01 23:55:00", "26/03/01 23:55:01"}).front(), "%y/%m/%d %H:%M:%S%z");
  EXPECT_EQ(time_patterns({"25/03/26 23:55:00", "25/03/27 00:00:00"}).front(), "%y/%m/%d %H:%M:%S%z");
  EXPECT_EQ(time_patterns({"25/03/26 23:55:00", "26/03/26 00:00:00"}).front(), "%d/%m/%y %H:%M:%S%z");
  EXPECT_EQ(time_patterns({"04/03/2026 23:55", "05/03/2026 00:00"}).front(), "%d/%m/%Y %H:%M%z");
  EXPECT_EQ(time_patterns({"26-03-01 10:00:00", "26-03-01 10:00:01"}).front(), "%y-%m-%d %H:%M:%S%z");
}

TEST(Csv, a_date_whose_order_shows_late_is_a_fault) {
  std::string text = "Time,x\n";
  for (int k = 0; k < 500; ++k)
    text += (k < 450 ? "04/03/2026 23:" : "05/03/2026 00:") + std::string(k % 50 < 10 ? "0" : "") +
            std::to_string(k % 50) + ":00,1\n";
  const std::string fault = fault_of(text);
  EXPECT_NE(fault.find("452: T592: after '04/03/2026 23:49:00' comes '05/03/2026 00:00:00'"),
            std::string::npos)
      << fault;
  EXPECT_NE(fault.find("--time-format \"%d/%m/%Y %H:%M:%S%z\""), std::string::npos) << fault;
}

TEST(Csv, an_overload_is_no_reading) {
  const auto table = open_csv_text("t,x\n0,1\n1,9.9E+37\n2,-9.91e37\n3,\"1e38\"\n4,2\n", with_units());
  EXPECT_EQ(all_of(*table)[1], (Values{1, -1, -1, -1, 2}));
  ASSERT_EQ(table->notes().size(), 1u);
  EXPECT_EQ(table->notes()[0], "3 cells as '9.9E+37' (line 3): overload of the instrument, count as missing");
}

TEST(Csv, lines_behind_the_last_row_are_passed_over) {
  const auto table = open_csv_text("t,x\n0,1\n1,2\n2,3\n\nEnd of data\nMax,3\n", with_units());
  EXPECT_EQ(all_of(*table), (std::vector<Values>{{0, 1, 2}, {1, 2, 3}}));
  ASSERT_EQ(table->notes().size(), 1u);
  EXPECT_EQ(table->notes()[0], "2 lines behind the last row (line 6): passed over");
  // Within the rows they are wrong.
  EXPECT_NE(fault_of("t,x\n0,1\n1,2\n2,3\nPause\n3,4\n").find("5: T590: a line that is no row"),
            std::string::npos);
  EXPECT_NE(fault_of("t,x\n0,1\n1,2\n2,abc\n").find("T594"), std::string::npos);
}

TEST(Csv, shapes_of_makers) {
  // LabVIEW: a marked header, a column of comments that no row has.
  const auto lvm = open_csv_text(
      "LabVIEW Measurement\t\nSeparator\tTab\n***End_of_Header***\t\n\t\nChannels\t2\t\t\n"
      "Y_Unit_Label\tDeg C\tW\t\n***End_of_Header***\t\t\t\nX_Value\tgear\tloss\tComment\n"
      "0.0\t19.5\t80\n1.0\t20.5\t81\n2.0\t21.5\t82\n",
      with_units());
  ASSERT_EQ(lvm->columns().size(), 3u) << lvm->description();
  EXPECT_EQ(lvm->columns()[1].name, "gear");
  EXPECT_EQ(lvm->columns()[1].unit, "Deg C");
  EXPECT_EQ(all_of(*lvm), (std::vector<Values>{{0, 1, 2}, {19.5, 20.5, 21.5}, {80, 81, 82}}));
  // BioLogic: tabs, one at the end of each line, and a decimal comma.
  const auto mpt = open_csv_text(
      "EC-Lab ASCII FILE\nNb header lines : 4\n\nmode\ttime/s\tcontrol/mA\tEwe/V\t\n"
      "1\t0,0E+00\t0,5E+00\t3,25E+00\t\n1\t1,0E+00\t0,5E+00\t3,5E+00\t\n1\t2,0E+00\t0,5E+00\t3,75E+00\t\n",
      with_units());
  EXPECT_EQ(mpt->columns()[3].name, "Ewe/V") << mpt->description();
  EXPECT_EQ(mpt->time_column(), 1);
  EXPECT_EQ(all_of(*mpt)[3], (Values{3.25, 3.5, 3.75}));
  // Tektronix: a line of labels, mostly empty, before the names.
  std::string text =
      "Model,MSO44\nProbe Attenuation,1,1,1\nVertical Units,V,V,V\nVertical Scale,1,1,1\nLabels,,,\n"
      "TIME,CH1,CH2,CH3\n";
  for (int k = 0; k < 20; ++k) text += std::to_string(k - 10) + ".0,1,2,3\n";
  const auto mso = open_csv_text(text, with_units());
  EXPECT_EQ(mso->columns()[1].name, "CH1") << mso->description();
  EXPECT_EQ(mso->columns()[1].unit, "V") << mso->description();
  EXPECT_EQ(mso->columns()[0].unit, "") << mso->description();
  // Graphtec: seconds in one column, milliseconds in the next.
  const auto fast = open_csv_text(
      "Number,Date&Time,ms,CH1\nNO.,Time,ms,V\n1,2026/03/01 10:00:00,0,1\n2,2026/03/01 10:00:00,500,2\n"
      "3,2026/03/01 10:00:01,0,3\n4,2026/03/01 10:00:01,500,4\n",
      with_units());
  EXPECT_EQ(fast->time_column(), 1) << fast->description();
  EXPECT_EQ(all_of(*fast)[1], (Values{0.0, 0.5, 1.0, 1.5})) << fast->description();
  // Maccor: tabs, and dates with blanks in them beside a column of letters.
  const auto maccor = open_csv_text(
      "Today's Date 04/04/2016  Date of Test:\t03/31/2016\t Filename:\tC:\\Data\\SET-LN3024.001\r\n"
      "Rec#\tCyc#\tStep\tTest (Min)\tStep (Min)\tAmps\tVolts\tState\tES\tDPt Time\r\n"
      "1\t0\t1\t0.0000\t0.0000\t0.5\t3.30\tR\t0\t03/31/2016 16:05:31\r\n"
      "2\t0\t1\t0.1667\t0.1667\t0.5\t3.31\tR\t1\t03/31/2016 16:05:41\r\n"
      "3\t0\t1\t0.3334\t0.3334\t0.5\t3.32\tR\t1\t03/31/2016 16:05:51\r\n",
      with_units());
  ASSERT_EQ(maccor->columns().size(), 10u) << maccor->description();
  EXPECT_EQ(maccor->columns()[6].name, "Volts") << maccor->description();
  maccor->choose({6, 9});
  TableBlock block;
  ASSERT_TRUE(maccor->next(block));
  EXPECT_EQ(Values(block.columns[0].begin(), block.columns[0].end()), (Values{3.30, 3.31, 3.32}));
  EXPECT_EQ(Values(block.columns[1].begin(), block.columns[1].end()), (Values{0, 10, 20}));
  // Graphtec: blanks behind the sign. Grafana: the unit behind each number.
  EXPECT_EQ(read("t,x\n0,\"+  19.5\"\n1,\"-  20.5\"\n2,\"+   1.5\"\n")[1], (Values{19.5, -20.5, 1.5}));
  const auto grafana = open_csv_text(
      "\"Time\",\"x\"\n2026-03-01 10:00:00,19.5 degC\n2026-03-01 10:00:01,20.5 degC\n", with_units());
  EXPECT_EQ(grafana->columns()[1].unit, "degC") << grafana->description();
  EXPECT_EQ(all_of(*grafana)[1], (Values{19.5, 20.5}));
}

}  // namespace csv_source_test
}  // namespace tellegen
