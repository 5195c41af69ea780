// A twin as data come: late, out of order, twice, not at all; saved and restored.
#include "tellegen/estimate/twin.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tellegen/estimate/estimate_stream.h"
#include "tellegen/estimate/online_twin.h"
#include "tellegen/records/choice.h"
#include "tellegen/records/data_file.h"
#include "tellegen/records/noise.h"
#include "tellegen/records/test_twin.h"
#include "tellegen/results/test_folder.h"

namespace tellegen {
namespace twin_test {

constexpr double step = 0.01, nothing = no_number;

Model rc_twin(const std::string& unknown) {
  Model model = twin_model_file("rc-thermal/network.toml");
  model.estimation.unknowns = unknowns_named(model, {unknown});
  model.estimation.sensors = sensors_of(model, {"S2", "S3"});
  if (unknown == "Q0") {
    ModelUnknown& u = model.unknowns[model.estimation.unknowns[0]];
    u.varies = ModelUnknown::Varies::walk;
    u.walk = 1.0;
  }
  for (ModelEstimation::State& s : model.estimation.states) s.rate_noise = std::sqrt(1.0 / 1e-3);
  return model;
}

FollowOptions options_for(const Model& model, const std::string& estimator, double late = 0.0) {
  FollowOptions options;
  options.sensors = model.estimation.sensors;
  options.inputs = model.estimation.inputs;
  options.step = step;
  options.late = late;
  options.estimator = estimator;
  options.compile = false;
  return options;
}

Record bench(const Model& model, std::int64_t rows) {
  Record record = rows_of(model.estimation.sensors, step, rows);
  read_with_noise(model, record, 3);
  return record;
}

std::span<const double> row_of(const Record& record, std::int64_t row) {
  return std::span(record.readings).subspan(static_cast<std::size_t>(row) * 2, 2);
}

void expect_same(Twin& a, Twin& b, const std::string& what) {
  ASSERT_EQ(a.row(), b.row()) << what;
  ASSERT_EQ(a.belief().x, b.belief().x) << what;
  ASSERT_EQ(a.belief().p, b.belief().p) << what;
  ASSERT_EQ(a.quantities().mean, b.quantities().mean) << what;
  ASSERT_EQ(a.quantities().deviation, b.quantities().deviation) << what;
  ASSERT_EQ(a.log_likelihood(), b.log_likelihood()) << what;
}

// Each row is a step of its own: what a twin comes to that takes every tick between them, without readings.
TEST(Twin, rows_at_any_times_are_those_of_a_clock_that_ticks) {
  Model model = rc_twin("Q0");
  model.unknowns[model.estimation.unknowns[0]].varies = ModelUnknown::Varies::constant;
  const Record record = bench(model, 400);
  const std::vector<std::int64_t> ticks{0, 1, 2, 17, 18, 60, 61, 200, 399};
  for (const char* estimator : {"kf", "ekf", "pkf", "ukf"}) {
    FollowOptions every = options_for(model, estimator), any = every;
    any.any_times = true;
    any.step = 0.3;
    Twin a(model, every), b(model, any);
    for (std::int64_t tick : ticks) {
      EXPECT_EQ(a.push(record.time(tick), row_of(record, tick), {}), Twin::Pushed::taken);
      EXPECT_EQ(b.push(record.time(tick), row_of(record, tick), {}), Twin::Pushed::taken);
    }
    EXPECT_EQ(b.row(), static_cast<std::int64_t>(ticks.size()) - 1);
    const Twin::Quantities &x = a.quantities(), &y = b.quantities();
    EXPECT_DOUBLE_EQ(x.t, y.t);
    for (Eigen::Index k = 0; k < x.mean.size(); ++k) {
      EXPECT_NEAR(x.mean[k], y.mean[k], 1e-7 * (1 + std::abs(x.mean[k]))) << estimator << " " << k;
      EXPECT_NEAR(x.deviation[k], y.deviation[k], 1e-7 * (1 + x.deviation[k])) << estimator << " " << k;
    }
  }
}

// White noise over a gap is what many short steps make of it, however long the gap is beside the model's time
// constants: a load that walks moves the temperatures with it, and their own noise does not grow for ever.
TEST(Twin, noise_over_a_gap_is_that_of_the_time_between) {
  Model model = rc_twin("Q0");
  for (ModelEstimation::State& s : model.estimation.states) s.noise = 0.3;
  const Record record = bench(model, 601);
  for (const char* estimator : {"kf", "pkf", "ukf"}) {
    FollowOptions any = options_for(model, estimator), every = any;
    any.any_times = true;
    every.step = 1e-3;  // beside a shortest time constant of 0.12 s
    Twin a(model, every), b(model, any);
    for (std::int64_t row : {0, 1, 2, 3, 300, 301, 600}) {
      a.push(record.time(row), row_of(record, row), {});
      b.push(record.time(row), row_of(record, row), {});
      const Twin::Quantities x = a.quantities(), y = b.quantities();
      for (Eigen::Index k = 0; k < x.mean.size(); ++k) {
        EXPECT_NEAR(y.deviation[k], x.deviation[k], 0.01 * x.deviation[k])
            << estimator << " " << row << " " << k;
        EXPECT_NEAR(y.mean[k], x.mean[k], 0.05 * x.deviation[k]) << estimator << " " << row << " " << k;
      }
    }
  }
}

// Forward Euler would not be stable over the whole of a gap.
TEST(Twin, at_any_times_euler_takes_no_longer_steps) {
  Model model = rc_twin("Q0");
  const Record record = bench(model, 1001);
  FollowOptions any = options_for(model, "ekf"), every = any;
  any.euler = every.euler = any.any_times = true;
  Twin a(model, every), b(model, any);
  for (std::int64_t row : {0, 1, 1000}) {
    a.push(record.time(row), row_of(record, row), {});
    b.push(record.time(row), row_of(record, row), {});
  }
  const Twin::Quantities &x = a.quantities(), &y = b.quantities();
  for (Eigen::Index k = 0; k < x.mean.size(); ++k)
    EXPECT_NEAR(y.mean[k], x.mean[k], 1e-6 * (1 + std::abs(x.mean[k])));
}

TEST(Twin, at_any_times_late_readings_are_put_in_and_a_restored_twin_goes_on) {
  const Model model = rc_twin("C1");
  const Record record = bench(model, 100);
  FollowOptions options = options_for(model, "ekf", 0.2);
  options.any_times = true;
  Twin in_time(model, options), late(model, options);
  options.step *= 1.5;  // another part of a record has another usual interval
  Twin restored(model, options);
  const std::vector<std::int64_t> ticks{0, 1, 2, 17, 18, 25, 60, 61, 99};
  for (std::int64_t tick : ticks) in_time.push(record.time(tick), row_of(record, tick), {});
  for (std::int64_t tick : ticks) {
    const bool lost = tick == 17;
    late.push(
        record.time(tick),
        lost ? std::array{nothing, nothing} : std::array{row_of(record, tick)[0], row_of(record, tick)[1]},
        {});
    if (tick == 25) {
      EXPECT_EQ(late.push(record.time(17), row_of(record, 17), {}), Twin::Pushed::late);
    }
    if (tick == 60) restored.restore(late.checkpoint());
    if (tick > 60) restored.push(record.time(tick), row_of(record, tick), {});
  }
  expect_same(in_time, late, "late");
  expect_same(late, restored, "restored");
  EXPECT_EQ(late.push(record.time(17), row_of(record, 17), {}), Twin::Pushed::too_late);
  EXPECT_EQ(late.push(0.3333, row_of(record, 17), {}), Twin::Pushed::too_late);
  FollowOptions steady = options_for(model, "steady");
  steady.any_times = true;
  EXPECT_THROW(Twin(model, steady), ModelError);
}

// A sensor that reports later than the other, at times of its own.
TEST(Twin, late_readings_at_times_of_their_own_come_in_between) {
  const Model model = rc_twin("C1");
  const Record record = bench(model, 200);
  FollowOptions options = options_for(model, "ekf", 0.5);
  options.any_times = true;
  Twin in_time(model, options), late(model, options);
  const auto read = [&](std::int64_t row, std::size_t sensor) {
    std::array both{nothing, nothing};
    both[sensor] = row_of(record, row)[sensor];
    return both;
  };
  for (std::int64_t row = 0; row < 199; ++row) in_time.push(record.time(row), read(row, row % 7 == 3), {});
  for (std::int64_t row = 0; row < 239; ++row) {
    if (row < 199 && row % 7 != 3) late.push(record.time(row), read(row, 0), {});
    const std::int64_t before = row - 40;
    if (before % 7 != 3) continue;
    const Twin::Pushed what = late.push(record.time(before), read(before, 1), {});
    EXPECT_EQ(what, Twin::Pushed::late) << before;
  }
  EXPECT_EQ(late.counts().late, 28);
  EXPECT_EQ(late.counts().too_late, 0);
  const Twin::Quantities &x = in_time.quantities(), &y = late.quantities();
  for (Eigen::Index k = 0; k < x.mean.size(); ++k) {
    EXPECT_NEAR(x.mean[k], y.mean[k], 1e-9 * (1 + std::abs(x.mean[k]))) << k;
    EXPECT_NEAR(x.deviation[k], y.deviation[k], 1e-9 * (1 + x.deviation[k])) << k;
  }
  EXPECT_NEAR(in_time.log_likelihood(), late.log_likelihood(), 1e-6);
}

struct Case {
  const char *estimator, *unknown;
};
class EveryTwin : public testing::TestWithParam<Case> {};

TEST_P(EveryTwin, saved_destroyed_and_restored_at_twenty_times_continues_to_the_bit) {
  const Model model = rc_twin(GetParam().unknown);
  const Record record = bench(model, 200);
  const FollowOptions options = options_for(model, GetParam().estimator, 0.05);
  // Rows in another order than their times, some lost, some twice.
  const RandomSequence random(11, "order");
  std::vector<std::int64_t> order;
  for (std::int64_t row = 0; row < record.steps; ++row) {
    if (row > 0 && random.uniform(3 * row) < 0.1) continue;
    order.push_back(row);
    if (random.uniform(3 * row + 1) < 0.1) order.push_back(row);
    if (order.size() > 3 && random.uniform(3 * row + 2) < 0.2)
      std::swap(order.back(), order[order.size() - 2]);
  }
  const auto push = [&](Twin& twin, std::size_t k) {
    twin.push(record.time(order[k]), row_of(record, order[k]), {});
  };
  std::vector<std::size_t> cuts;
  for (std::int64_t k = 0; k < 20; ++k)
    cuts.push_back(static_cast<std::size_t>(random.uniform(1000 + k) * static_cast<double>(order.size())));
  Twin whole(model, options);
  auto broken = std::make_unique<Twin>(model, options);
  for (std::size_t k = 0; k < order.size(); ++k) {
    push(whole, k);
    push(*broken, k);
    if (std::count(cuts.begin(), cuts.end(), k) == 0) continue;
    const std::string bytes = broken->checkpoint();
    broken = std::make_unique<Twin>(model, options);
    broken->restore(bytes);
    ASSERT_NO_FATAL_FAILURE(expect_same(whole, *broken, fmt::format("after row {}", k)));
    EXPECT_EQ(broken->checkpoint(), bytes);
  }
  ASSERT_EQ(whole.failure(), "");
  expect_same(whole, *broken, "at the end");
  EXPECT_EQ(whole.counts().late, broken->counts().late);
  EXPECT_GT(whole.counts().late, 5);
  EXPECT_GT(whole.counts().duplicate, 5);
}

TEST_P(EveryTwin, late_rows_lead_where_rows_in_order_lead) {
  const Model model = rc_twin(GetParam().unknown);
  const Record record = bench(model, 60);
  Twin in_order(model, options_for(model, GetParam().estimator, 0.1));
  Twin late(model, options_for(model, GetParam().estimator, 0.1));
  for (std::int64_t row = 0; row < record.steps; ++row)
    in_order.push(record.time(row), row_of(record, row), {});
  for (std::int64_t row = 0; row < record.steps; ++row) {
    const std::int64_t swapped = row < 1 || row > 56 ? row : (row - 1) / 4 * 4 + 1 + (3 - (row - 1) % 4);
    late.push(record.time(swapped), row_of(record, swapped), {});
  }
  EXPECT_EQ(late.counts().late, 42);
  expect_same(in_order, late, "at the end");
}

TEST_P(EveryTwin, a_forecast_changes_nothing_and_is_what_comes_without_readings) {
  const Model model = rc_twin(GetParam().unknown);
  const Record record = bench(model, 40);
  Twin plain(model, options_for(model, GetParam().estimator)),
      asked(model, options_for(model, GetParam().estimator));
  const std::vector<double> none{nothing, nothing};
  std::vector<Twin::Quantities> coming;
  for (std::int64_t row = 0; row < 40; ++row) {
    const auto readings = row < 30 ? row_of(record, row) : std::span<const double>(none);
    plain.push(record.time(row), readings, {});
    asked.push(record.time(row), readings, {});
    if (row == 29) coming = asked.forecast({}, 0.1);
    if (row < 30 || std::string_view(GetParam().estimator) == "ekf-perfect") continue;
    // ekf-perfect corrects by its equations at each row, which a forecast does not.
    const Twin::Quantities& now = plain.quantities();
    EXPECT_EQ(now.mean, coming[static_cast<std::size_t>(row - 30)].mean) << row;
    EXPECT_EQ(now.deviation, coming[static_cast<std::size_t>(row - 30)].deviation) << row;
  }
  ASSERT_EQ(coming.size(), 10u);
  expect_same(plain, asked, "at the end");
}

INSTANTIATE_TEST_SUITE_P(estimators, EveryTwin,
                         testing::Values(Case{"kf", "Q0"}, Case{"ekf", "Q0"}, Case{"ekf", "R3"},
                                         Case{"pkf", "R3"}, Case{"ukf", "R3"}, Case{"ekf-perfect", "Q0"},
                                         Case{"steady", "Q0"}),
                         [](const auto& test) {
                           std::string name = std::string(test.param.estimator) + "_" + test.param.unknown;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Twin, follows_the_rules_of_rows) {
  const Model model = rc_twin("Q0");
  const Record record = bench(model, 30);
  Twin twin(model, options_for(model, "ekf"));
  const auto push = [&](std::int64_t row) { return twin.push(record.time(row), row_of(record, row), {}); };
  EXPECT_EQ(push(0), Twin::Pushed::taken);
  EXPECT_EQ(push(5), Twin::Pushed::taken);
  EXPECT_EQ(twin.counts().empty, 4);
  EXPECT_EQ(push(5), Twin::Pushed::duplicate);
  EXPECT_EQ(push(4), Twin::Pushed::too_late);
  EXPECT_EQ(twin.push(0.0649, row_of(record, 6), {}), Twin::Pushed::beside);
  EXPECT_EQ(twin.push(record.time(-3), row_of(record, 6), {}), Twin::Pushed::too_late);
  // A step may be read in parts: the second part counts as if it had come with the first.
  const auto r = row_of(record, 6);
  EXPECT_EQ(twin.push(record.time(6), std::vector{r[0], nothing}, {}), Twin::Pushed::taken);
  EXPECT_EQ(twin.push(record.time(6), std::vector{nothing, r[1]}, {}), Twin::Pushed::taken);
  Twin whole(model, options_for(model, "ekf"));
  for (std::int64_t row : {0, 5, 6}) whole.push(record.time(row), row_of(record, row), {});
  EXPECT_LT((whole.belief().x - twin.belief().x).norm(), 1e-9 * whole.belief().x.norm());
}

TEST(Twin, refuses_checkpoints_that_are_none_of_its_own) {
  const Model model = rc_twin("Q0");
  const Record record = bench(model, 30);
  Twin twin(model, options_for(model, "ekf"));
  for (std::int64_t row = 0; row < 10; ++row) twin.push(record.time(row), row_of(record, row), {});
  const std::string bytes = twin.checkpoint();
  const auto refusal = [](const Model& of, const FollowOptions& options,
                          std::string_view from) -> std::string {
    Twin other(of, options);
    try {
      other.restore(from);
    } catch (const ModelError& error) {
      return error.what();
    }
    return "";
  };
  const FollowOptions options = options_for(model, "ekf");
  EXPECT_EQ(refusal(model, options, bytes), "");
  EXPECT_NE(refusal(model, options, "hello").find("T631"), std::string::npos);
  EXPECT_NE(refusal(model, options, bytes.substr(0, bytes.size() / 2)).find("incomplete"), std::string::npos);
  std::string damaged = bytes;
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_NE(refusal(model, options, damaged).find("damaged"), std::string::npos);
  std::string newer = bytes;
  newer[8] = 9;
  EXPECT_NE(refusal(model, options, newer).find("version 9"), std::string::npos);
  EXPECT_NE(refusal(model, options_for(model, "ukf"), bytes).find("T632"), std::string::npos);
  Model other = rc_twin("Q0");
  for (ModelOutput& o : other.outputs)
    if (o.noise) o.noise = 0.6;
  EXPECT_NE(refusal(other, options, bytes).find("T632"), std::string::npos);
}

// A record as a file: an input that the start depends on, readings that are missing or come late.
class TwinStream : public testing::Test {
 protected:
  TwinStream() : model_(rc_twin("Q0")) {
    model_.estimation.inputs = {"T_air"};
    model_.estimation.late = 0.05;
    Record record = rows_of(model_.estimation.sensors, step, 300);
    record.inputs = model_.estimation.inputs;
    for (std::int64_t row = 0; row < 300; ++row)
      record.given.push_back(301.0 + 0.01 * static_cast<double>(row));
    read_with_noise(model_, record, 3);
    const RandomSequence random(4, "late");
    for (std::int64_t k = 0; k < 600; ++k) {
      if (random.uniform(2 * k) < 0.1) record.readings[static_cast<std::size_t>(k)] = nothing;
      const auto delay = random.uniform(2 * k + 1) < 0.2 ? 3 : 0;
      record.arrivals.push_back(std::min<std::int64_t>(k / 2 + delay, 299));
    }
    write_record(file_, model_, record);
    reading_.sensors = model_.estimation.sensors;
    reading_.inputs = model_.estimation.inputs;
    reading_.late = model_.estimation.late;
  }

  struct Rows {
    std::vector<double> t, values;
    std::vector<std::string> checkpoints;
  };
  Rows stream(const std::string& resume = "", double every = 0.0) {
    RecordStream from(model_, file_, reading_);
    StreamOptions options;
    options.estimate.compile = false;
    options.resume = resume;
    options.every = every;
    Rows rows;
    options.save = [&](const std::string& bytes) { rows.checkpoints.push_back(bytes); };
    options.row = [&](double t, std::span<const double> row) {
      rows.t.push_back(t);
      rows.values.insert(rows.values.end(), row.begin(), row.end());
    };
    last_ = estimate_stream(model_, from, options).estimate;
    return rows;
  }

  static void expect_end_of(const std::vector<double>& whole, const std::vector<double>& part) {
    ASSERT_LE(part.size(), whole.size());
    const std::size_t before = whole.size() - part.size();
    for (std::size_t k = 0; k < part.size(); ++k) {
      if (std::isnan(part[k]) && std::isnan(whole[before + k])) continue;
      ASSERT_EQ(part[k], whole[before + k]) << k;
    }
  }

  Model model_;
  const TestFolder folder_;
  const std::filesystem::path file_ = folder_ / "record.csv";
  RecordOptions reading_;
  Estimate last_;
};

TEST_F(TwinStream, gives_the_rows_of_the_whole_record_and_judges_them_so) {
  EstimateOptions options;
  options.compile = false;
  const Record record = read_record(model_, file_, reading_);
  const Estimate whole = estimate(model_, record, options);
  const Trajectory table = table_of(whole, model_, record);
  const Rows rows = stream();
  ASSERT_EQ(rows.t, table.t);
  ASSERT_EQ(rows.values.size(), table.values.size());
  expect_end_of(table.values, rows.values);
  EXPECT_EQ(last_.inconsistent.size(), whole.inconsistent.size());
  for (std::size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(last_.sensors[s].used, whole.sensors[s].used);
    EXPECT_EQ(last_.sensors[s].missing, whole.sensors[s].missing);
    EXPECT_EQ(last_.sensors[s].variance, whole.sensors[s].variance);
    EXPECT_EQ(last_.sensors[s].whiteness, whole.sensors[s].whiteness);
  }
  EXPECT_NEAR(last_.log_likelihood, whole.log_likelihood, 1e-9 * std::abs(whole.log_likelihood));
}

TEST_F(TwinStream, resumed_from_any_checkpoint_gives_the_rows_after_it) {
  const Rows whole = stream("", 0.4);
  ASSERT_EQ(whole.checkpoints.size(), 8u);  // seven on the way, one at the end
  for (std::size_t k = 0; k < 7; ++k) {
    const Rows rest = stream(whole.checkpoints[k], 0.4);
    ASSERT_EQ(rest.t.size(), 300 - 40 * (k + 1) - 1) << k;
    ASSERT_NO_FATAL_FAILURE(expect_end_of(whole.t, rest.t));
    ASSERT_NO_FATAL_FAILURE(expect_end_of(whole.values, rest.values));
  }
}

TEST_F(TwinStream, a_time_beside_the_steps_is_a_fault_with_its_line) {
  put(folder_ / "record.csv",
      "t,S2,S3,T_air\n0,300,300,300\n0.01,300,300,300\n0.02,300,300,300\n0.035,1,1,300\n");
  reading_.step = 0.01;
  try {
    stream();
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("T597"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("line 5"), std::string::npos) << error.what();
  }
}

// Cells in quotes with line ends and commas in them, comments with quotes, across the parts a file is read
// in.
TEST(DataRows, reads_a_long_file_as_a_short_one) {
  const TestFolder folder;
  std::string text = "t,x,note\n";
  constexpr int rows = 60'000;
  for (int k = 0; k < rows; ++k) {
    text += std::to_string(k) + "," + std::to_string(k % 97) + ",\"one, \"\"two\"\"\nthree\"\n";
    if (k % 100 == 7) text += "# 5\" pipe\n";
  }
  put(folder / "long.csv", text);
  ASSERT_GT(text.size(), std::size_t{1} << 20);
  DataRows data(folder / "long.csv", {{"x", "", "sensor"}});
  DataRows::Row row;
  int count = 0;
  for (; data.next(row); ++count) {
    ASSERT_EQ(row.t, count);
    ASSERT_EQ(row.values[0], count % 97);
  }
  EXPECT_EQ(count, rows);
  EXPECT_EQ(row.line, 2 + 2 * (rows - 1) + rows / 100);
}

TEST(OnlineTwin, believes_what_the_twin_believes_and_continues_where_it_was_saved) {
  const Model model = rc_twin("Q0");
  Twin twin(model, options_for(model, "ekf"));
  OnlineTwinOptions options;
  options.estimator = "ekf";
  options.sensors = {"S2", "S3"};
  options.step = step;
  options.compile = false;
  std::optional<OnlineTwin> online(std::in_place, model, options);
  EXPECT_EQ(online->sensors(), (std::vector<std::string>{"S2", "S3"}));
  EXPECT_TRUE(online->inputs().empty());
  for (int k = 0; k < 60; ++k) {
    const double readings[] = {300 + 0.1 * k, k % 7 == 0 ? nothing : 301 + 0.05 * k};
    EXPECT_EQ(twin.push(k * step, readings, {}), Twin::Pushed::taken);
    EXPECT_EQ(online->push(k * step, readings), OnlineTwin::Pushed::taken);
    if (k == 30) {
      const std::string bytes = online->checkpoint();
      online.emplace(model, options);
      online->restore(bytes);
    }
  }
  const auto same = [](const OnlineTwin::Belief& a, const Twin::Quantities& b) {
    EXPECT_EQ(a.t, b.t);
    EXPECT_EQ(a.mean, std::vector<double>(b.mean.begin(), b.mean.end()));
    EXPECT_EQ(a.deviation, std::vector<double>(b.deviation.begin(), b.deviation.end()));
  };
  same(online->belief(), twin.quantities());
  const auto coming = online->forecast(5 * step);
  const auto expected = twin.forecast({}, 5 * step);
  ASSERT_EQ(coming.size(), expected.size());
  for (std::size_t k = 0; k < coming.size(); ++k) same(coming[k], expected[k]);
  const double one[] = {300.0};
  EXPECT_THROW(online->push(1.0, one), ModelError);
  options.sensors = {"S5"};
  EXPECT_THROW(OnlineTwin(model, options), ModelError);
}

}  // namespace twin_test
}  // namespace tellegen
