#include "tellegen/records/record.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/model/read.h"
#include "tellegen/results/test_folder.h"

namespace tellegen {
namespace record_test {

constexpr const char* oven = R"toml(
name = "oven"
[parameters]
P = "10 W"
[inputs]
room = { value = "300 + t", unit = "K" }
[components]
heat = { kind = "thermal.heat_source",       p = "datum", n = "a", Q = "P" }
c    = { kind = "thermal.capacitor",         p = "a", n = "datum", C = "1 J/K", T0 = "300 K" }
r    = { kind = "thermal.resistor",          p = "a", n = "b", R = "1 K/W" }
air  = { kind = "thermal.fixed_temperature", p = "b", T = "room" }
[sensors]
Ta = { measures = "a.T", noise = "0.5 K", unit = "degC", between = ["0 degC", "200 degC"], stuck = "2 s" }
Q  = { measures = "r.Q" }
Z  = { measures = "2*a.T", noise = 0 }
[simulation]
stop = "10 s"
step = "1 s"
)toml";

class RecordFile : public testing::Test {
 protected:
  Record read(const std::string& text, RecordOptions options = {.sensors = {0}}) {
    put(folder / "data.csv", text);
    return read_record(model, folder / "data.csv", options);
  }
  std::string faults_of(const std::string& text, RecordOptions options = {.sensors = {0}}) {
    return message_of([&] { read(text, options); });
  }
  const Model model = read_model_text(oven, "oven.toml", {TELLEGEN_SOURCE_DIR "/library", {}});
  TestFolder folder;
};

// The readings of one sensor; -1 where there is none.
std::vector<double> readings(const Record& record, std::size_t sensor = 0) {
  std::vector<double> all;
  for (std::int64_t row = 0; row < record.steps; ++row) {
    const double reading = record.reading(row, sensor);
    all.push_back(std::isnan(reading) ? -1.0 : reading);
  }
  return all;
}

using Values = std::vector<double>;

TEST_F(RecordFile, columns_are_found_by_name_in_any_order_and_unit) {
  const Record record =
      read("note,Q_mW,Ta (K),t [ms],P [kW],room_degC\nwarm,1,300,0,0.02,27\n,2,301,1000,0.03,28\n",
           {.sensors = {0, 1}, .inputs = {"P", "room"}});
  EXPECT_EQ(record.steps, 2);
  EXPECT_EQ(record.step, 1.0);
  EXPECT_EQ(readings(record, 0), (Values{300, 301}));
  EXPECT_EQ(readings(record, 1), (Values{0.001, 0.002}));
  EXPECT_EQ(record.given, (Values{20, 300.15, 30, 301.15}));
  // Units that a name has without brackets are said.
  ASSERT_EQ(record.remarks.size(), 1u);
  EXPECT_NE(record.remarks[0].find("Q_mW"), std::string::npos) << record.remarks[0];
}

TEST_F(RecordFile, a_plain_name_is_in_the_units_of_its_sensor) {
  const Record record = read("time,Ta,Q\n0,25,7\n1,26,8\n", {.sensors = {0, 1}});
  EXPECT_EQ(record.reading(0, 0), 298.15);
  EXPECT_EQ(record.reading(1, 1), 8.0);
}

TEST_F(RecordFile, an_empty_cell_and_nan_are_missing) {
  const Record record = read("t,Ta [K]\n0,300\n1,\n2,nan\n3,NaN\n4,inf\n5,305\n");
  EXPECT_EQ(readings(record), (Values{300, -1, -1, -1, -1, 305}));
  EXPECT_EQ(record.counts[0].taken, 2);
  EXPECT_EQ(record.counts[0].missing, 4);
}

TEST_F(RecordFile, what_a_sensor_cannot_read_is_missing_and_counted) {
  const Record record = read("t,Ta [K]\n0,300\n1,500\n2,-40\n3,301\n");
  EXPECT_EQ(readings(record), (Values{300, -1, -1, 301}));
  EXPECT_EQ(record.counts[0].out_of_range, 2);
  EXPECT_EQ(record.counts[0].missing, 2);
}

TEST_F(RecordFile, a_stuck_reading_is_missing_from_the_moment_it_froze) {
  const Record record =
      read("t,Ta [K]\n0,300\n1,301\n2,301\n3,\n4,301\n5,301\n6,302\n7,302\n8,302\n9,302.5\n");
  EXPECT_EQ(readings(record), (Values{300, 301, -1, -1, -1, -1, 302, 302, 302, 302.5}));
  EXPECT_EQ(record.counts[0].stuck, 3);
}

TEST_F(RecordFile, the_step_is_that_of_the_file_whatever_digits_its_times_have) {
  std::string text = "t,Ta [K]\n";
  for (int k = 0; k < 3000; ++k) {
    char row[64];
    std::snprintf(row, sizeof row, "%.6f,%d\n", k / 3000.0, 300 + k % 7);
    text += row;
  }
  const Record record = read(text, {.sensors = {0}, .resample = "nearest"});
  EXPECT_EQ(record.steps, 3000);
  EXPECT_NEAR(record.step, 1.0 / 3000.0, 1e-9);
  EXPECT_EQ(record.counts[0].missing, 0);
  // Rows between the regular ones do not confuse it.
  EXPECT_EQ(
      read("t,Ta [K]\n0,300\n0.5,301\n1,302\n2,303\n3,304\n4,305\n", {.sensors = {0}, .resample = "nearest"})
          .step,
      1.0);
  EXPECT_EQ(read("t,Ta [K]\n0.1,300\n0.2,301\n0.3,302\n0.4,303\n").step, 0.1);
}

TEST_F(RecordFile, a_slow_sensor_is_missing_between_its_readings) {
  const Record record =
      read("t,Ta [K],Q\n0,300,1\n1,301,\n2,302,2\n3,303,\n", {.sensors = {0, 1}, .step = 0.5});
  EXPECT_EQ(record.steps, 7);
  EXPECT_EQ(readings(record, 0), (Values{300, -1, 301, -1, 302, -1, 303}));
  EXPECT_EQ(readings(record, 1), (Values{1, -1, -1, -1, 2, -1, -1}));
}

TEST_F(RecordFile, a_time_beside_the_steps_is_a_fault_unless_told_otherwise) {
  const std::string text = "t,Ta [K]\n0,300\n1.1,310\n2,320\n3,330\n3.9,340\n5,350\n";
  const std::string fault = faults_of(text, {.sensors = {0}, .step = 1.0});
  EXPECT_NE(fault.find("data.csv:3: T597: the time 1.1 s lies beside the steps"), std::string::npos) << fault;
  EXPECT_NE(fault.find("and so do 1 more"), std::string::npos) << fault;
  EXPECT_EQ(faults_of("t,Ta [K]\n0,300\n1.0000005,310\n2,320\n", {.sensors = {0}, .step = 1.0}), "");

  const Record nearest = read(text, {.sensors = {0}, .step = 1.0, .resample = "nearest"});
  EXPECT_EQ(readings(nearest), (Values{300, 310, 320, 330, 340, 350}));
  ASSERT_EQ(nearest.remarks.size(), 2u);
  EXPECT_NE(nearest.remarks[0].find("jitter of up to 100 ms"), std::string::npos) << nearest.remarks[0];
  EXPECT_NE(nearest.remarks[1].find("by up to 100 ms"), std::string::npos) << nearest.remarks[1];

  const Record linear = read(text, {.sensors = {0}, .step = 1.0, .resample = "linear"});
  EXPECT_NEAR(linear.reading(1, 0), 300 + 10 / 1.1, 1e-12);
  EXPECT_NEAR(linear.reading(4, 0), 340 + 10 * 0.1 / 1.1, 1e-12);
}

TEST_F(RecordFile, of_two_readings_at_one_step_the_nearer_counts) {
  const std::string text = "t,Ta [K]\n0,300\n0.8,301\n1.1,302\n1.3,303\n2,304\n";
  EXPECT_EQ(readings(read(text, {.sensors = {0}, .step = 1.0, .resample = "nearest"})),
            (Values{300, 302, 304}));
}

TEST_F(RecordFile, nothing_is_interpolated_across_a_missing_reading_or_a_gap) {
  const std::string text = "t,Ta [K]\n0,300\n1,310\n2,\n3,330\n4,340\n7,370\n";
  EXPECT_EQ(readings(read(text, {.sensors = {0}, .step = 0.5, .resample = "linear"})),
            (Values{300, 305, 310, -1, -1, -1, 330, 335, 340, -1, -1, -1, -1, -1, 370}));
}

TEST_F(RecordFile, gaps_are_reported) {
  const Record record = read("t,Ta [K]\n0,300\n1,301\n2,302\n6,303\n7,304\n8,305\n10,306\n");
  EXPECT_EQ(record.steps, 11);
  ASSERT_EQ(record.remarks.size(), 1u);
  EXPECT_EQ(record.remarks[0], "2 gaps between rows, the longest 4 s after t = 2 s; rows come every 1 s");
}

TEST_F(RecordFile, a_window_takes_its_part) {
  const std::string text = "t,Ta [K],P\n0,300,1\n1,301,\n2,302,3\n3,303,4\n4,304,5\n";
  const Record record = read(text, {.sensors = {0}, .inputs = {"P"}, .from = 0.5, .to = 3.0});
  EXPECT_EQ(record.start, 1.0);
  EXPECT_EQ(readings(record), (Values{301, 302, 303}));
  EXPECT_EQ(record.given, (Values{2, 3, 4}));  // the first lies between two of the file
  EXPECT_EQ(record.counts[0].missing, 0);
  const std::string fault = faults_of(text, {.sensors = {0}, .from = 7.0});
  EXPECT_NE(fault.find("T595: nothing of the record lies in the window"), std::string::npos) << fault;
  EXPECT_NE(fault.find("the record from 0 s to 4 s"), std::string::npos) << fault;
  EXPECT_NE(faults_of(text, {.sensors = {0}, .from = 2.1, .to = 2.9}).find("T595"), std::string::npos);
}

TEST_F(RecordFile, inputs_are_interpolated_where_missing_and_hold_at_the_end) {
  const Record record =
      read("t,Ta [K],P\n0,300,10\n1,,\n2,301,30\n3,302,\n", {.sensors = {0}, .inputs = {"P"}, .step = 0.5});
  EXPECT_EQ(record.given, (Values{10, 15, 20, 25, 30, 30, 30}));
  const std::string fault = faults_of("t,Ta [K],P\n0,300,\n1,301,1\n", {.sensors = {0}, .inputs = {"P"}});
  EXPECT_NE(fault.find("T596: input 'P' is missing at the beginning"), std::string::npos) << fault;
}

TEST_F(RecordFile, late_rows_are_sorted_in_and_tell_when_they_are_known) {
  const std::string text =
      "t,Ta "
      "[K],Q,arrival\n0,300,1,0\n2,302,3,2\n1,301,2,2.5\n4,304,,4\n3,303,4,9\n4,,5,5\n5,305,6,\n6,306,7,6\n";
  const Record record = read(text, {.sensors = {0, 1}, .late = 2.0});
  EXPECT_EQ(readings(record, 0), (Values{300, 301, 302, -1, 304, 305, 306}));
  EXPECT_EQ(readings(record, 1), (Values{1, 2, 3, -1, 5, 6, 7}));
  EXPECT_EQ(record.arrivals, (std::vector<std::int64_t>{0, 0, 3, 3, 2, 2, 3, 3, 4, 5, 5, 5, 6, 6}));
  EXPECT_EQ(record.counts[0].late, 1);
  EXPECT_EQ(record.counts[0].too_late, 1);
  EXPECT_EQ(record.counts[1].late, 2);
  // Where nothing is late, nothing is said.
  EXPECT_TRUE(read("t,Ta [K],arrival\n0,300,0\n1,301,1\n").arrivals.empty());
}

TEST_F(RecordFile, every_fault_of_the_file_is_told_with_its_line) {
  const std::string fault =
      faults_of("t,Tb [K],Q [V],P [wat]\n0,300,1,1\n1,301,1\n# a remark\n1,302,x,1\n0.5,303,1,1\n,1,1,1\n",
                {.sensors = {0, 1, 2}, .inputs = {"P"}});
  for (const char* said :
       {"data.csv:1: T591: no column for sensor 'Ta'", "did you mean 'Tb'?", "columns: 't', 'Tb [K]'",
        "data.csv:1: T591: no column for sensor 'Z'", "data.csv:1: T593: the unit of column 'Q [V]'",
        "sensor 'Q' is in W", "data.csv:1: T593: unknown unit 'wat' of column 'P [wat]'",
        "data.csv:3: T590: 3 cells where the header names 4 columns",
        "data.csv:6: T592: the time 0.5 s does not come after 1 s",
        "data.csv:7: T592: a row without its time"})
    EXPECT_NE(fault.find(said), std::string::npos) << said << "\n" << fault;
  EXPECT_NE(faults_of("t,Ta\n0,cold\n").find("data.csv:2: T594: 'cold' in column 'Ta' is not a number"),
            std::string::npos);
  EXPECT_NE(faults_of("t,Ta_V\n0,1\n").find("T593: the unit of column 'Ta_V' does not convert"),
            std::string::npos);
  EXPECT_EQ(readings(read("t;Ta [K]\n0;300,5\n1;301,5\n")), (Values{300.5, 301.5}));
  EXPECT_NE(faults_of("Ta\n1\n").find("T591: no column for the time"), std::string::npos);
  EXPECT_NE(faults_of("t,Ta,Ta [K]\n0,1,1\n").find("T591: two columns for sensor 'Ta'"), std::string::npos);
  EXPECT_NE(faults_of("").find("T590: the data file is empty"), std::string::npos);
  EXPECT_NE(faults_of("t,Ta\n").find("T590: the data file has no rows"), std::string::npos);
  EXPECT_NE(faults_of("0,1\n1,2\n").find("T590: the file has no line that names its columns"),
            std::string::npos);
  EXPECT_NE(faults_of("t,Ta\n0,1\n").find("T597: one time only"), std::string::npos);
  EXPECT_NE(faults_of("t,Ta\n0,1\n1,2\n", {.sensors = {0}, .step = 1e-12}).find("T597: a step of"),
            std::string::npos);
  EXPECT_NE(faults_of("t,Ta,arrival\n3,1,2\n").find("T592: a reading of 3 s arrives at 2 s"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read_record(model, folder / "none.csv", {}); }).find("T180"), std::string::npos);
}

TEST_F(RecordFile, a_sensor_of_which_nothing_is_left_is_a_fault_that_says_why) {
  const std::string fault = faults_of("t,Ta [K],Q\n0,999,\n1,998,\n", {.sensors = {0, 1}});
  EXPECT_NE(fault.find("T596: all readings of sensor 'Ta' are missing"), std::string::npos) << fault;
  EXPECT_NE(fault.find("2 readings are out of its range"), std::string::npos) << fault;
  EXPECT_NE(fault.find("T596: all readings of sensor 'Q' are missing"), std::string::npos) << fault;
}

TEST_F(RecordFile, sensors_that_are_weighed_need_noise) {
  EXPECT_EQ(message_of([&] { check_noise(model, {0}); }), "");
  const std::string fault = message_of([&] { check_noise(model, {0, 1, 2}); });
  EXPECT_NE(fault.find("T598: sensor 'Q' has no noise"), std::string::npos) << fault;
  EXPECT_NE(fault.find("write noise = \"0.5 W\""), std::string::npos) << fault;
  EXPECT_NE(fault.find("T598: the noise of sensor 'Z' is zero"), std::string::npos) << fault;
}

TEST_F(RecordFile, a_held_input_keeps_its_value_until_the_next_row) {
  Model held = model;
  held.inputs[0].interpolation = Interpolation::hold;
  put(folder / "data.csv", "t,Ta,room\n0,20,300\n1,20.1,\n2,20.2,304\n3,20.3,305\n");
  const RecordOptions options{.sensors = {0}, .inputs = {"room"}};
  EXPECT_EQ(read_record(model, folder / "data.csv", options).given, (Values{300, 302, 304, 305}));
  EXPECT_EQ(read_record(held, folder / "data.csv", options).given, (Values{300, 300, 304, 305}));
  // On longer steps it is what was last given, and changes that come later than they should are counted.
  put(folder / "fine.csv", "t,Ta,room\n0,20,300\n1,20.1,301\n2,20.2,304\n3,20.3,305\n4,20.4,305\n");
  const Record coarse = read_record(held, folder / "fine.csv",
                                    {.sensors = {0}, .inputs = {"room"}, .step = 2.0, .resample = "linear"});
  EXPECT_EQ(coarse.given, (Values{300, 304, 305}));
  EXPECT_NE(coarse.remarks.front().find("2 of its changes"), std::string::npos) << coarse.remarks.front();
  Model cubic = model;
  cubic.inputs[0].interpolation = Interpolation::cubic;
  EXPECT_NE(message_of([&] { read_record(cubic, folder / "data.csv", options); }).find("T607"),
            std::string::npos);
}

TEST_F(RecordFile, readings_that_find_no_step_are_counted_and_reported) {
  const std::string text = "t,Ta\n0,20\n0.9,21\n1.1,22\n2,23\n2.4,24\n3,25\n";
  const Record record = read(text, {.sensors = {0}, .step = 1.0, .resample = "nearest"});
  EXPECT_EQ(record.counts[0].displaced, 2);
  EXPECT_EQ(record.counts[0].taken, 4);
  const bool said = std::any_of(record.remarks.begin(), record.remarks.end(), [](const std::string& r) {
    return r.find("2 of 6 readings of 'Ta' are not used") != std::string::npos;
  });
  EXPECT_TRUE(said);
}

bool is_said(const Record& record, const std::string& text) {
  return std::any_of(record.remarks.begin(), record.remarks.end(),
                     [&](const std::string& r) { return r.find(text) != std::string::npos; });
}

TEST_F(RecordFile, irregular_times_are_followed_exactly) {
  const std::string file = "t,Ta [K],P\n0,300,0\n0.45,301,9\n1.95,302,39\n3.1,303,62\n";
  const Record own = read(file, {.sensors = {0}, .inputs = {"P"}});
  EXPECT_EQ(own.clock, (std::vector<double>{0.0, 0.45, 1.95, 3.1}));
  EXPECT_EQ(own.counts[0].taken, 4);
  EXPECT_EQ(own.reading(2, 0), 302.0);
  EXPECT_EQ(own.given[2], 39.0);
  EXPECT_TRUE(is_said(own, "each reading is taken at its own"));
  const Record part = read(file, {.sensors = {0}, .inputs = {"P"}, .from = 0.2, .to = 2.0});
  EXPECT_EQ(part.clock, (std::vector<double>{0.45, 1.95}));
  EXPECT_EQ(part.start, 0.45);
  // On the tick of a clock, for those who need equal steps.
  const Record record = read(file, {.sensors = {0}, .inputs = {"P"}, .clock = false});
  EXPECT_EQ(record.step, 0.05);
  EXPECT_EQ(record.steps, 63);
  EXPECT_EQ(record.counts[0].taken, 4);
  EXPECT_EQ(record.counts[0].displaced, 0);
  EXPECT_EQ(record.reading(9, 0), 301.0);
  EXPECT_EQ(record.reading(39, 0), 302.0);
  EXPECT_NEAR(record.given[20], 20.0, 1e-12);  // straight between its rows
  EXPECT_TRUE(is_said(record, "each reading is taken at its own, on steps of 50 ms"));
  // What no clock of decimal ticks has written is taken at the nearest of many steps, and that is said.
  std::string odd = "t,Ta [K]\n";
  for (int k = 0; k < 40; ++k)
    odd += std::to_string(k + 0.3 * std::sin(k * k)) + ",30" + std::to_string(k % 10) + "\n";
  EXPECT_EQ(read(odd).steps, 40);
  const Record near = read(odd, {.sensors = {0}, .clock = false});
  EXPECT_EQ(near.counts[0].taken, 40);
  EXPECT_LT(near.step, 0.1);
}

TEST_F(RecordFile, of_rows_of_one_time_the_first_reading_counts_and_the_rest_is_counted) {
  const Record record =
      read("t,Ta [K],P\n0,300,1\n1,301,2\n1,309,7\n2,302,3\n", {.sensors = {0}, .inputs = {"P"}});
  EXPECT_EQ(readings(record), (Values{300, 301, 302}));
  EXPECT_EQ(record.given, (Values{1, 2, 3}));
  EXPECT_EQ(record.counts[0].displaced, 1);
  EXPECT_TRUE(is_said(record, "1 row has the time of the row before (line 4, t = 1 s)"));
  EXPECT_TRUE(is_said(record, "1 of 4 readings of 'Ta' are not used: another one has the same time"));
  // Parts of one row complete each other.
  EXPECT_EQ(readings(read("t,Ta [K],Q\n0,300,\n0,,1\n1,301,\n1,,2\n", {.sensors = {0, 1}}), 1),
            (Values{1, 2}));
}

TEST_F(RecordFile, columns_of_other_names_are_mapped) {
  put(folder / "odd.csv", "Zeit;Gehäuse Temp [°C];Verlust (kW);Raum / °C\n0;22,5;0,02;20\n1;22,75;0,03;20\n");
  const ColumnNames names =
      read_column_names("Ta=Gehäuse Temp [°C], P = verlust, room=Raum", {"--columns", 0});
  ASSERT_EQ(names.size(), 3u);
  const Record record = read_record(model, DataSource({folder / "odd.csv"}, {}, names),
                                    {.sensors = {0}, .inputs = {"P", "room"}});
  EXPECT_EQ(readings(record), (Values{295.65, 295.9}));
  EXPECT_EQ(record.given, (Values{20, 293.15, 30, 293.15}));
  EXPECT_TRUE(is_said(record, "read as: ';' between cells, decimal comma"));
  const std::string missing = message_of([&] {
    read_record(model, DataSource({folder / "odd.csv"}, {}, read_column_names("Ta=Gehause Temp", {"", 0})),
                {.sensors = {0}});
  });
  EXPECT_NE(missing.find("T591: no column 'Gehause Temp' for sensor 'Ta'"), std::string::npos) << missing;
  EXPECT_NE(message_of([&] {
              read_record(model, folder / "odd.csv", {.sensors = {0}});
            }).find("--columns \"Ta=Gehäuse Temp [°C]\" would take that column"),
            std::string::npos);
  EXPECT_EQ(read_column_names("a=x, y [m], b=z", {"", 0})[0].column, "x, y [m]");
  EXPECT_NE(message_of([] { read_column_names("x", {"", 0}); }).find("T401"), std::string::npos);
  // Without a header columns are named by their numbers.
  put(folder / "bare.csv", "0,20\n1,21\n");
  EXPECT_EQ(readings(read_record(
                model, DataSource({folder / "bare.csv"}, {}, read_column_names("time=1, Ta=2", {"", 0})),
                {.sensors = {0}})),
            (Values{293.15, 294.15}));
}

// As loggers of known makers write them: what is read is the same record.
TEST_F(RecordFile, shapes_of_many_makers) {
  struct Shape {
    const char *maker, *text, *columns;
  };
  const Shape shapes[] = {
      {"Graphtec GL",
       "Vendor,GRAPHTEC Corporation\nModel,GL840\nSampling interval,1s\nTotal data points,3\n\nLogging\n"
       "Number,Date&Time,ms,CH1,CH2,Alarm1-10\nNO.,Time,ms,degC,W,A1234567890\n"
       "1,2026/03/01 10:00:00,0,22.5,60,LLLLLLLLLL\n2,2026/03/01 10:00:01,0,22.75,61,LLLLLLLLLL\n"
       "3,2026/03/01 10:00:02,0,23,62,LLLLLLLLLL\n",
       "Ta=CH1, P=CH2"},
      {"Campbell TOA5",
       "\"TOA5\",\"Bench\",\"CR1000\",\"1234\"\n\"TIMESTAMP\",\"RECORD\",\"Case_C\",\"Loss\"\n"
       "\"TS\",\"RN\",\"Deg C\",\"W\"\n\"\",\"\",\"Avg\",\"Smp\"\n"
       "\"2026-03-01 10:00:00\",0,22.5,60\n\"2026-03-01 10:00:01\",1,22.75,61\n\"2026-03-01 "
       "10:00:02\",2,23,62\n",
       "Ta=Case_C, P=Loss"},
      {"PicoLog", "Time,Channel A,Channel B\n(s),(°C),(W)\n\n0.0,22.5,60\n1.0,22.75,61\n2.0,23.0,62\n",
       "Ta=Channel A, P=Channel B"},
      {"Keysight BenchVue",
       "\"Instrument:\",\"34972A\"\n\"Scan\",\"Time\",\"101 (C)\",\"102 (W)\"\n"
       "1,03/01/2026 10:00:00:000,+2.25000000E+01,+6.0E+01\n2,03/01/2026 "
       "10:00:01:000,+2.27500000E+01,+6.1E+01\n"
       "3,03/01/2026 10:00:02:000,+2.30000000E+01,+6.2E+01\n",
       "Ta=101, P=102"},
      {"LabVIEW .lvm",
       "LabVIEW "
       "Measurement\t\nWriter_Version\t2\nSeparator\tTab\nDecimal_Separator\t,\n***End_of_Header***\t\n\t\n"
       "Channels\t2\t\nSamples\t3\t3\nY_Unit_Label\tdegC\tW\n***End_of_Header***\t\t\t\n"
       "X_Value\tCase\tLoss\tComment\n"
       "0,000000\t22,5\t60,0\t\n1,000000\t22,75\t61,0\t\n2,000000\t23,0\t62,0\t\n",
       "Ta=Case, P=Loss"},
      {"Lascar EasyLog",
       "Lascar,Time,Celsius(\xB0"
       "C),Loss(W),Serial Number\n1,01/03/2026 10:00:00,22.5,60,010012345\n"
       "2,01/03/2026 10:00:01,22.75,61\n3,01/03/2026 10:00:02,23.0,62\n",
       "Ta=Celsius, P=Loss"},
      {"Arbin",
       "Data_Point,Test_Time(s),Date_Time,Step_Index,Temp(C),Power(W)\n1,0.0,3/1/2026 10:00,1,22.5,60\n"
       "2,1.0,3/1/2026 10:00,1,22.75,61\n3,2.0,3/1/2026 10:00,1,23,62\n",
       "time=Test_Time, Ta=Temp, P=Power"},
      {"BaSyTec",
       "~Resultfile from Basytec Battery Test System\n~Date and Time of Data Converting: 01.03.2026 "
       "10:00:00\n~\n"
       "~Time[s] DataSet T1[°C] P[W]\n0 1 22.5 60\n1 2 22.75 61\n2 3 23.0 62\n",
       "time=~Time, Ta=T1"},
      {"Excel, German",
       "sep=;\nDatum;Uhrzeit;Ta [°C];P [W]\n01.03.2026;10:00:00;22,5;60\n01.03.2026;10:00:01;22,75;61\n"
       "01.03.2026;10:00:02;23,0;62\n",
       ""},
      {"Tektronix",
       "Model,MSO54\nFirmware Version,1.2\nRecord "
       "Length,3\n\nTIME,CH1,CH2\n0,22.5,60\n1,22.75,61\n2,23.0,62\n",
       "Ta=CH1, P=CH2"},
      {"numpy.savetxt",
       "# t Ta P\n0.000000e+00 2.250000e+01 6.000000e+01\n1.000000e+00 2.275000e+01 6.100000e+01\n"
       "2.000000e+00 2.300000e+01 6.200000e+01\n",
       ""},
      {"pandas",
       ",time,Ta,P\n0,2026-03-01 10:00:00+00:00,22.5,60\n1,2026-03-01 10:00:01+00:00,22.75,61\n"
       "2,2026-03-01 10:00:02+00:00,23.0,62\n",
       ""},
  };
  for (const Shape& shape : shapes) {
    put(folder / "shape.csv", shape.text);
    const ColumnNames names = read_column_names(shape.columns, {"", 0});
    const DataSource source({folder / "shape.csv"}, {}, names);
    const RecordOptions options{.sensors = {0}, .inputs = {"P"}};
    Record record;
    const std::string said = message_of([&] { record = read_record(model, source, options); });
    EXPECT_EQ(said, "") << shape.maker;
    if (!said.empty()) continue;
    EXPECT_EQ(record.step, 1.0) << shape.maker;
    EXPECT_EQ(readings(record), (Values{295.65, 295.9, 296.15})) << shape.maker;
    EXPECT_EQ(record.given, (Values{60, 61, 62})) << shape.maker;
  }
}

}  // namespace record_test
}  // namespace tellegen
