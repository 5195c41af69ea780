#include "tellegen/identify/identify.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tellegen/identify/responses.h"
#include "tellegen/model/document.h"
#include "tellegen/model/parameters.h"
#include "tellegen/records/choice.h"
#include "tellegen/records/test_twin.h"

namespace tellegen {
namespace identify_test {

using Numbers = std::vector<std::pair<std::string, double>>;

// A worked model and its record; the numbers in the file are no guess, and are made worse here.
struct Worked {
  Model model;
  Record record;
  std::vector<int> unknowns;

  Worked(const std::string& name, const std::string& data, double worse = 1.0) {
    model = twin_model_file("identification/" + name + ".toml");
    const std::filesystem::path file = TELLEGEN_SOURCE_DIR "/models/identification/" + data + ".csv";
    record = read_record(model, DataSource(file), record_options(model));
    for (std::size_t k = 0; k < model.unknowns.size(); ++k) {
      unknowns.push_back(static_cast<int>(k));
      const int p = model.unknowns[k].parameter;
      if (worse != 1.0)
        set_parameters(model, std::span(&p, 1), std::array{worse * model.parameters[p].number});
    }
  }

  Identification found() const {
    IdentifyOptions options;
    options.fit.integration.compile = false;
    return identify(model, record, unknowns, options);
  }

  void expect(const Identification& found, const Numbers& truth) const {
    const StageResult& stage = found.fit.stages.front();
    EXPECT_EQ(stage.failure, "");
    EXPECT_EQ(stage.misfit, "");
    for (std::size_t k = 0; k < truth.size(); ++k) {
      EXPECT_EQ(model.parameters[stage.parameters[k].parameter].name, truth[k].first);
      EXPECT_GT(stage.parameters[k].deviation, 0.0) << truth[k].first;
      EXPECT_NEAR(stage.parameters[k].after, truth[k].second, 4.0 * stage.parameters[k].deviation)
          << truth[k].first;
    }
  }
};

TEST(Identify, an_induction_machine_from_its_start_up) {
  const Worked worked("model", "start-up");
  const Identification found = worked.found();
  EXPECT_EQ(found.equations.size(), 3u);  // two of the rotor's flux linkages, one of torques
  EXPECT_TRUE(found.poles.empty());       // flux linkages are integrals of what is measured
  EXPECT_EQ(found.fitted_costs.size(), 1u);
  const Numbers truth{{"L_s", 0.3207}, {"L_m", 0.3087}, {"r_s", 4.52},
                      {"r_r", 3.23},   {"J", 0.0037},   {"B", 0.0089}};
  for (std::size_t k = 0; k < truth.size(); ++k)  // the relations alone come near
    EXPECT_NEAR(found.search.starts.front().numbers[k] / truth[k].second, 1.0, 0.1) << truth[k].first;
  worked.expect(found, truth);
  ASSERT_EQ(found.noise.size(), 3u);
  EXPECT_NEAR(found.noise[0], 0.26, 0.01);  // 2 % of the largest current, found and not given
  EXPECT_NEAR(found.noise[2], 7.4, 0.3);
}

TEST(Identify, the_numbers_in_the_file_do_not_matter) {
  const Worked once("dc-machine", "dc-machine"), worse("dc-machine", "dc-machine", 1000.0);
  const Identification a = once.found(), b = worse.found();
  worse.expect(b, {{"R", 1.2}, {"L", 2.5e-3}, {"k", 0.06}, {"J", 8e-5}, {"B", 4e-5}});
  for (std::size_t k = 0; k < 5; ++k)
    EXPECT_DOUBLE_EQ(a.search.starts.front().numbers[k], b.search.starts.front().numbers[k]);
}

// Six poles for four show where the shaft's speed is read. (From the electrical speed nobody could tell: J
// and B over the square of the poles are all that readings have.)
TEST(Identify, a_wrong_number_of_poles_does_not_fit) {
  Worked worked("model", "start-up");
  std::string text = read_text(TELLEGEN_SOURCE_DIR "/models/identification/model.toml", {});
  const auto fit = [&](const std::string& of) {
    worked.model = read_model_text(of, "motor.toml");
    IdentifyOptions options;
    options.fit.integration.compile = false;
    options.fits = 1;
    options.fit.most_iterations = 30;
    return identify(worked.model, worked.record, worked.unknowns, options);
  };
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  for (std::int64_t row = 0; row < worked.record.steps; ++row)
    worked.record.readings[static_cast<std::size_t>(row) * 3 + 2] /= 2;  // four poles
  replace("\"motor.w_r\"", "\"shaft.w\"");
  const Identification right = fit(text);
  EXPECT_TRUE(right.good() && right.consistent());
  replace("poles   = 4", "poles   = 6");
  const Identification wrong = fit(text);
  EXPECT_FALSE(wrong.good() && wrong.consistent());
}

// Every reading of the record is kept in one of twenty parts, and lost in the others: with 95 % lost all six
// numbers are still determined, and independent parts scatter around the truth as their deviations say.
TEST(Identify, with_95_per_cent_lost_deviations_cover_the_truth) {
  const Worked worked("model", "start-up");
  const std::array<double, 6> truth{0.3207, 0.3087, 4.52, 3.23, 0.0037, 0.0089};
  constexpr int parts = 20;
  int inside = 0;
  double squares = 0.0;
  for (int part = 0; part < parts; ++part) {
    Worked kept = worked;
    std::uint32_t random = 1;
    for (double& reading : kept.record.readings) {
      random = 1664525u * random + 1013904223u;
      if (static_cast<int>((random >> 16) % parts) != part) reading = std::nan("");
    }
    const Identification found = kept.found();
    ASSERT_TRUE(found.good() && found.consistent()) << part;
    for (std::size_t k = 0; k < truth.size(); ++k) {
      const CalibratedParameter& p = found.fit.stages[0].parameters[k];
      EXPECT_LT(p.deviation, 0.05 * p.after);
      const double off = (p.after - truth[k]) / p.deviation;
      inside += std::abs(off) <= 1.96;
      squares += off * off;
    }
  }
  EXPECT_GE(inside, 0.95 * 6 * parts - 2.0 * std::sqrt(0.95 * 0.05 * 6 * parts));
  EXPECT_NEAR(squares / (6 * parts), 1.0, 0.5);  // nor are the deviations larger than need be
}

// The same readings twice: the same numbers, with deviations smaller by the root of two. The second record
// may have been taken at another time.
TEST(Identify, records_of_two_runs_count_together) {
  const Worked worked("dc-machine", "dc-machine");
  const Identification one = worked.found();
  IdentifyOptions options;
  options.fit.integration.compile = false;
  options.fit.more_records = {worked.record};
  options.fit.more_records[0].start = 7.0;
  const Identification two = identify(worked.model, worked.record, worked.unknowns, options);
  EXPECT_TRUE(two.good());
  ASSERT_EQ(two.fit.stages[0].sensors.size(), 4u);
  EXPECT_EQ(two.fit.stages[0].sensors[3].name, "w, record 2");
  for (std::size_t k = 0; k < 5; ++k) {
    const CalibratedParameter &a = one.fit.stages[0].parameters[k], &b = two.fit.stages[0].parameters[k];
    EXPECT_NEAR(b.after, a.after, 0.02 * a.deviation);
    EXPECT_NEAR(b.deviation, a.deviation / std::sqrt(2.0), 1e-3 * a.deviation);
  }
}

// From the current alone k, J and B are known up to a common factor, and the speed alone says less: one run
// in which the current was read, and one in which the speed was, tell everything.
TEST(Identify, what_one_run_leaves_open_another_tells) {
  const Worked worked("dc-machine", "dc-machine");
  const std::vector<int> both = worked.record.sensors;
  const Record current = with_sensors(worked.record, {both[0]}),
               speed = with_sensors(worked.record, {both[1]});
  IdentifyOptions options;
  options.fit.integration.compile = false;
  options.fit.more_records = {with_sensors(speed, both)};
  const Identification found = identify(worked.model, with_sensors(current, both), worked.unknowns, options);
  EXPECT_TRUE(found.good()) << found.failure;
  worked.expect(found, {{"R", 1.2}, {"L", 2.5e-3}, {"k", 0.06}, {"J", 8e-5}, {"B", 4e-5}});
  options.fit.more_records.clear();
  bool alone = true;
  try {
    alone = identify(worked.model, current, worked.unknowns, options).good();
  } catch (const ModelError&) {
    alone = false;
  }
  EXPECT_FALSE(alone);
}

// A second run of another machine is noticed.
TEST(Identify, records_that_contradict_each_other_do_not_fit) {
  const Worked worked("dc-machine", "dc-machine");
  IdentifyOptions options;
  options.fit.integration.compile = false;
  Record other = worked.record;
  for (double& reading : other.readings) reading *= 1.3;
  options.fit.more_records = {other};
  EXPECT_FALSE(identify(worked.model, worked.record, worked.unknowns, options).consistent());
}

TEST(Identify, a_permanent_magnet_machine_from_voltage_steps) {
  const Worked worked("pmsm", "pmsm");
  const Relations relations = derive_relations(worked.model, worked.record,
                                               parameters_of(worked.model, {"r_s", "L_d", "L_q", "flux"}));
  EXPECT_EQ(relations.equations.size(), 2u);
  EXPECT_TRUE(relations.states.empty());
  const RelationSearch search = search_relations({&relations, 1}, {0, 0, 0, 0});
  ASSERT_FALSE(search.starts.empty());
  const std::vector<double> truth{0.25, 1.8e-3, 2.9e-3, 0.045};
  for (std::size_t k = 0; k < truth.size(); ++k)
    EXPECT_NEAR(search.starts.front().numbers[k] / truth[k], 1.0, 0.12);
}

TEST(Identify, a_state_that_nobody_measures_has_a_pole_that_is_searched) {
  const Worked worked("thermal", "thermal");
  const Identification found = worked.found();
  ASSERT_EQ(found.poles.size(), 1u);
  EXPECT_EQ(found.poles[0], "1/(R_ha*C_h)");
  worked.expect(found, {{"R_wh", 0.2}, {"R_ha", 0.6}, {"C_w", 400.0}, {"C_h", 3000.0}});
}

TEST(Identify, two_time_constants_of_a_cell) {
  const Worked worked("cell", "cell");
  worked.expect(worked.found(),
                {{"E0", 3.7}, {"R0", 12e-3}, {"R1", 8e-3}, {"C1", 1500.0}, {"R2", 15e-3}, {"C2", 2e4}});
}

// Without the convention L_r = L_s three numbers are one too many.
TEST(Identify, what_readings_leave_open_is_told) {
  Worked worked("model", "start-up");
  ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  std::string text = read_text(TELLEGEN_SOURCE_DIR "/models/identification/model.toml", {});
  text.replace(text.find("w_frame = \"w\""), 13, "w_frame = \"w\"\nL_r = \"L_r\"");
  text.replace(text.find("[parameters]"), 12, "[parameters]\nL_r = \"0.3 H\"");
  worked.model = read_model_text(text, "model.toml", options);
  worked.unknowns = unknowns_named(worked.model, {"L_s", "L_m", "L_r", "r_s", "r_r", "J", "B"});
  const Identification found = worked.found();
  ASSERT_EQ(found.fit.stages[0].open.size(), 1u);
  const std::string& open = found.fit.stages[0].open[0];
  for (const char* name : {"L_m", "L_r", "r_r"}) EXPECT_NE(open.find(name), std::string::npos) << open;
  EXPECT_EQ(open.find("r_s"), std::string::npos) << open;
}

// Only some of the sensors.
Record only_sensors(const Record& record, const std::vector<std::size_t>& kept) {
  Record result = record;
  result.sensors.clear();
  result.readings.clear();
  for (std::size_t s : kept) result.sensors.push_back(record.sensors[s]);
  for (std::int64_t row = 0; row < record.steps; ++row)
    for (std::size_t s : kept) result.readings.push_back(record.reading(row, s));
  return result;
}

// Products of unknown flux linkages with an unknown speed: it is eliminated between the rotor's two
// equations.
TEST(Identify, an_induction_machine_whose_speed_nobody_reads) {
  Worked worked("model", "start-up", 100.0);
  worked.record = only_sensors(worked.record, {0, 1});
  const Identification found = worked.found();
  EXPECT_EQ(found.hidden, "rotor.w");
  const Numbers truth{{"L_s", 0.3207}, {"L_m", 0.3087}, {"r_s", 4.52},
                      {"r_r", 3.23},   {"J", 0.0037},   {"B", 0.0089}};
  for (std::size_t k = 0; k < truth.size(); ++k)
    EXPECT_NEAR(found.search.starts.front().numbers[k] / truth[k].second, 1.0, 0.1) << truth[k].first;
  worked.expect(found, truth);
}

TEST(Identify, where_no_relation_can_be_derived_it_is_refused) {
  Worked worked("model", "start-up");
  worked.record = only_sensors(worked.record, {0});  // one current: two unknown flux linkages and the speed
  try {
    worked.found();
    FAIL() << "not refused";
  } catch (const ModelError& error) {
    EXPECT_EQ(error.faults().front().code, "T650");
  }
}

TEST(Identify, noise_is_seen_in_second_differences) {
  Record record = rows_of({0}, 1.0, 4000);
  std::uint64_t state = 1;
  for (double& r : record.readings) {
    double sum = 0.0;  // twelve uniform numbers: a variance of one
    for (int k = 0; k < 12; ++k) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      sum += static_cast<double>(state >> 11) * 0x1p-53;
    }
    r = 0.3 * (sum - 6.0) + 1e-4 * static_cast<double>(&r - record.readings.data());
  }
  record.readings[100] = 1e6;  // an outlier
  EXPECT_NEAR(noise_of_readings(record, 0), 0.3, 0.02);
}

}  // namespace identify_test
}  // namespace tellegen
