#include "tellegen/records/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tellegen/model/read.h"
#include "tellegen/results/test_folder.h"

namespace tellegen {
namespace noise_test {

Model benchmark() {
  return read_model(TELLEGEN_SOURCE_DIR "/models/rc-thermal/network.toml",
                    {TELLEGEN_SOURCE_DIR "/library", {}});
}

SimulationOptions exact(double stop) {
  SimulationOptions options;
  options.stop = stop;
  options.method = "exact";
  options.compile = false;
  return options;
}

// The clean record of the RC benchmark, computed once.
const Rehearsal& rehearsal() {
  static const Rehearsal once = rehearse(benchmark(), exact(4.0));
  return once;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return same(x, y); });
}

TEST(RandomSequence, is_uniform_and_normal_and_each_name_has_its_own) {
  const RandomSequence a(7, "S1"), b(7, "S2"), c(8, "S1"), d(7, "S1", 1);
  double mean = 0.0, square = 0.0, normal = 0.0, normal_square = 0.0, with_b = 0.0, with_c = 0.0,
         with_d = 0.0;
  const int n = 100000;
  for (int k = 0; k < n; ++k) {
    const double u = a.uniform(k) - 0.5, x = a.normal(k);
    ASSERT_TRUE(u >= -0.5 && u < 0.5);
    mean += u / n;
    square += u * u / n;
    normal += x / n;
    normal_square += x * x / n;
    with_b += x * b.normal(k) / n;
    with_c += x * c.normal(k) / n;
    with_d += x * d.normal(k) / n;
  }
  const double four_sigma = 4.0 / std::sqrt(n);
  EXPECT_NEAR(mean, 0.0, 0.2887 * four_sigma);
  EXPECT_NEAR(square, 1.0 / 12.0, 0.0745 * four_sigma);
  EXPECT_NEAR(normal, 0.0, four_sigma);
  EXPECT_NEAR(normal_square, 1.0, 1.414 * four_sigma);
  for (double correlation : {with_b, with_c, with_d}) EXPECT_NEAR(correlation, 0.0, four_sigma);
}

// The numbers of a seed are part of every published result: SplitMix64 and FNV-1a in Python 3.11.
TEST(RandomSequence, gives_the_same_numbers_for_ever) {
  const RandomSequence a(7, "S1");
  EXPECT_EQ(a.uniform(0), 0.7221757160489046);
  EXPECT_EQ(a.uniform(12345), 0.23027310696212644);
  EXPECT_NEAR(a.normal(3), 1.0444052629924632, 1e-14);
}

TEST(Rehearse, follows_the_run_on_its_rows) {
  const Record& record = rehearsal().record;
  EXPECT_EQ(rehearsal().failure, "");
  EXPECT_EQ(record.steps, 4001);
  EXPECT_EQ(record.step, 0.001);
  EXPECT_EQ(record.sensors, (std::vector<int>{0, 1, 2}));
  // rc_constant at 1 s, matrix exponential of the network.
  EXPECT_NEAR(record.reading(1000, 1), 334.586540753781, 1e-9);
  EXPECT_NEAR(record.reading(1000, 2), 317.744517956498, 1e-9);
  const auto T1 = rehearsal().truth.find("T1");
  ASSERT_TRUE(T1);
  EXPECT_NEAR(rehearsal().truth.at(1000, *T1), 344.586540753781, 1e-9);
}

TEST(Rehearse, tells_every_variable_and_the_inputs_that_data_give) {
  Model model = benchmark();
  model.estimation.inputs = {"T_air"};
  const Rehearsal run = rehearse(model, exact(0.01), true);
  EXPECT_TRUE(run.truth.find("n2.T"));
  EXPECT_TRUE(run.truth.find("r3.Q"));
  EXPECT_EQ(run.record.given, std::vector<double>(11, 300.0));
}

TEST(Rehearse, a_model_without_sensors_is_a_fault) {
  Model model = benchmark();
  model.outputs.erase(model.outputs.begin(), model.outputs.begin() + 3);
  EXPECT_NE(message_of([&] { rehearse(model, exact(0.01)); }).find("T599: the model has no sensors"),
            std::string::npos);
}

TEST(Disturbed, noise_is_that_of_the_sensor_and_repeats_with_its_seed) {
  const Model model = benchmark();
  const Record& clean = rehearsal().record;
  const Record a = disturbed(model, clean, {.seed = 3});
  EXPECT_TRUE(same(a.readings, disturbed(model, clean, {.seed = 3}).readings));
  EXPECT_FALSE(same(a.readings, disturbed(model, clean, {.seed = 4}).readings));
  for (std::size_t s = 0; s < 3; ++s) {
    double mean = 0.0, square = 0.0;
    const double n = static_cast<double>(a.steps);
    for (std::int64_t row = 0; row < a.steps; ++row) {
      const double e = a.reading(row, s) - clean.reading(row, s);
      mean += e / n;
      square += e * e / n;
    }
    EXPECT_NEAR(mean, 0.0, 4 * 0.5 / std::sqrt(n));
    EXPECT_NEAR(square, 0.25, 4 * 0.25 * std::sqrt(2.0 / n));
  }
  EXPECT_TRUE(same(disturbed(model, clean, {.noise = false}).readings, clean.readings));
}

TEST(Disturbed, loses_the_share_asked_for_and_leaves_the_rest_as_it_was) {
  const Model model = benchmark();
  const Record all = disturbed(model, rehearsal().record, {.seed = 5});
  std::vector<Disturbance> counts;
  const Record some = disturbed(model, rehearsal().record, {.seed = 5, .loss = 0.2}, &counts);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_NEAR(static_cast<double>(counts[s].lost) / 4001, 0.2, 4 * 0.4 / std::sqrt(4001));
    EXPECT_EQ(some.counts[s].missing, counts[s].lost);
    EXPECT_EQ(some.counts[s].taken + some.counts[s].missing, 4001);
  }
  for (std::size_t k = 0; k < all.readings.size(); ++k)
    EXPECT_TRUE(std::isnan(some.readings[k]) || some.readings[k] == all.readings[k]);
}

TEST(Disturbed, bursts_and_stuck_stretches_have_their_length) {
  const Model model = benchmark();
  std::vector<Disturbance> counts;
  const Record record =
      disturbed(model, rehearsal().record, {.seed = 1, .bursts = {5.0, 0.02}, .stuck = {5.0, 0.03}}, &counts);
  std::int64_t run = 0, same_run = 0, bursts = 0, stretches = 0;
  for (std::int64_t row = 1; row < record.steps; ++row) {
    const double now = record.reading(row, 0), before = record.reading(row - 1, 0);
    if (std::isnan(now)) {
      ++run;
    } else if (run > 0) {
      EXPECT_EQ(run % 20, 0);  // two may follow each other
      run = 0;
      ++bursts;
    }
    if (now == before) {
      ++same_run;
    } else if (same_run > 0) {
      EXPECT_LE(same_run, 29);
      same_run = 0;
      ++stretches;
    }
  }
  EXPECT_GT(bursts, 8);  // twenty are expected
  EXPECT_LT(bursts, 36);
  EXPECT_GT(stretches, 8);
  EXPECT_GT(counts[0].stuck, 200);
}

TEST(Disturbed, outliers_are_as_far_off_as_told) {
  const Model model = benchmark();
  std::vector<Disturbance> counts;
  const Record plain = disturbed(model, rehearsal().record, {.seed = 2});
  const Record record =
      disturbed(model, rehearsal().record, {.seed = 2, .outliers = 0.01, .outlier_size = 30.0}, &counts);
  std::int64_t off = 0;
  for (std::int64_t row = 0; row < record.steps; ++row) {
    const double e = std::abs(record.reading(row, 2) - plain.reading(row, 2));
    if (e == 0.0) continue;
    ++off;
    EXPECT_NEAR(e, 15.0, 1e-9);
  }
  EXPECT_EQ(off, counts[2].outliers);
  EXPECT_NEAR(static_cast<double>(off), 40.0, 4 * std::sqrt(40.0));
}

// Late, lost, stuck and in another unit, the file holds what the record holds.
TEST(Disturbed, a_record_written_and_read_is_the_same_record) {
  const TestFolder folder;
  Model model = benchmark();
  model.estimation.inputs = {"Q0"};
  const Rehearsal run = rehearse(model, exact(0.5));
  const Record record = disturbed(
      model, run.record, {.seed = 9, .loss = 0.1, .stuck = {2.0, 0.01}, .late = 0.2, .delay = 0.007});
  EXPECT_GT(record.counts[0].late, 50);
  write_record(folder / "data.csv", model, record);
  const Record back =
      read_record(model, folder / "data.csv", {.sensors = {0, 1, 2}, .inputs = {"Q0"}, .late = 0.007});
  EXPECT_EQ(back.steps, record.steps);
  EXPECT_EQ(back.step, record.step);
  EXPECT_TRUE(same(back.readings, record.readings));
  EXPECT_EQ(back.given, record.given);
  for (std::size_t k = 0; k < record.readings.size(); ++k)
    EXPECT_TRUE(std::isnan(record.readings[k]) || back.arrivals[k] == record.arrivals[k]) << k;
  EXPECT_EQ(back.counts[1].late, record.counts[1].late);
  EXPECT_EQ(back.counts[1].too_late, 0);
  // One that comes later than allowed is not used.
  const Record strict = read_record(model, folder / "data.csv", {.sensors = {0, 1, 2}, .late = 0.003});
  EXPECT_GT(strict.counts[1].too_late, 20);
  EXPECT_EQ(strict.counts[1].late + strict.counts[1].too_late, record.counts[1].late);
}

TEST(Disturbed, what_cannot_be_read_is_dropped_as_from_a_file) {
  Model model = benchmark();
  model.outputs[1].highest = 330.0;
  model.outputs[2].stuck = 0.01;
  Record record = disturbed(model, rehearsal().record, {.seed = 1, .stuck = {2.0, 0.05}});
  const TestFolder folder;
  write_record(folder / "data.csv", model, record);
  drop_impossible(model, record);
  const Record read = read_record(model, folder / "data.csv", {.sensors = {0, 1, 2}});
  EXPECT_TRUE(same(record.readings, read.readings));
  EXPECT_GT(record.counts[1].out_of_range, 1000);
  EXPECT_GT(record.counts[2].stuck, 100);
  EXPECT_EQ(record.counts[1].out_of_range, read.counts[1].out_of_range);
  EXPECT_EQ(record.counts[2].stuck, read.counts[2].stuck);
  EXPECT_EQ(record.counts[2].missing, read.counts[2].missing);
}

TEST(Disturbed, options_that_cannot_be_are_faults) {
  const Model model = benchmark();
  const std::string fault = message_of([&] {
    disturbed(model, rehearsal().record,
              {.loss = 1.5, .bursts = {1.0, 0.0}, .outliers = -0.1, .late = 0.1, .delay = 0.0});
  });
  for (const char* said : {"T599: the loss is a probability", "T599: bursts need a rate and a length",
                           "T599: that of outliers", "T599: late readings need a delay"})
    EXPECT_NE(fault.find(said), std::string::npos) << said << "\n" << fault;
}

}  // namespace noise_test
}  // namespace tellegen
