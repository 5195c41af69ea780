// tellegen check --estimate, as a user meets it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/program.h"

namespace tellegen {
namespace {

const std::string inverter = TELLEGEN_SOURCE_DIR "/models/inverter/model.toml";

TEST(CheckEstimate, names_what_three_sensors_of_the_inverter_do_not_tell) {
  const Ran ran = run_program({"check", inverter, "--estimate", "--sensors", "S1,S_hs,S_w", "--unknowns",
                               "R_die,R_dbc,R_sp,R_hs,R_w", "--step", "20ms"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("\nR_dbc and R_sp only as R_dbc + 3 R_sp\nR_die not at all\n"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.err.find("R_dbc and R_sp only as R_dbc + 3 R_sp"), std::string::npos) << ran.err;
}

TEST(CheckEstimate, a_steady_window_tells_resistances_in_json) {
  const Ran ran = run_program({"check", inverter, "--estimate", "--sensors", "S1,S_hs,S_w", "--unknowns",
                               "R_dbc,R_hs,R_w", "--window", "4s:5s", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_TRUE(json.at("all_known"));
  const auto& report = json.at("reports").at(0);
  const auto& quantities = report.at("parameters").at("quantities");
  EXPECT_NEAR(quantities.at(0).at("relative"), 0.0018, 5e-5);
  EXPECT_NEAR(quantities.at(1).at("relative"), 0.0014, 5e-5);
  EXPECT_NEAR(quantities.at(2).at("relative"), 0.0069, 5e-5);
  EXPECT_FALSE(report.contains("states"));
}

TEST(CheckEstimate, lost_readings_of_a_motor_have_no_condition_and_it_is_said_why) {
  const std::vector<std::string> words{"check", TELLEGEN_SOURCE_DIR "/models/pmsm-estimation/model.toml",
                                       "--estimate", "--stop", "5ms"};
  const Ran text = run_program(words);
  EXPECT_NE(text.out.find("the conditions give nothing: 2 sensors have no inverse for 6 states"),
            std::string::npos)
      << text.out;
  auto more = words;
  more.push_back("--json");
  const auto arrival = nlohmann::json::parse(run_program(more).out).at("reports").at(0).at("arrival");
  EXPECT_EQ(arrival.at("estimator"), "pkf");
  EXPECT_EQ(arrival.at("keep"), 0.75);
  // 1.5 pole pairs times the current across the magnets times step over inertia: the speed by the flux.
  EXPECT_NEAR(arrival.at("si").at("norm"), 6.0 * 2.0 * 1e-5 / 2.4018552467e-6, 0.3);
  EXPECT_LT(arrival.at("in_best_units").at("norm"), 1.01);
  EXPECT_TRUE(arrival.at("in_best_units").at("invertible").is_null());
  EXPECT_TRUE(arrival.at("in_best_units").at("general").is_null());
}

TEST(CheckEstimate, wrong_questions_are_told) {
  const auto says = [](std::vector<std::string> options, const std::string& code) {
    std::vector<std::string> words{"check", inverter};
    words.insert(words.end(), options.begin(), options.end());
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.code, 2) << code;
    EXPECT_NE(ran.err.find(code), std::string::npos) << ran.err;
    return ran.err;
  };
  EXPECT_NE(says({"--estimate", "--sensors", "S_hss", "--unknowns", "R_w"}, "T610").find("'S_hs'"),
            std::string::npos);
  says({"--estimate", "--unknowns", "R_ww"}, "T140");
  says({"--estimate", "--unknowns", "R_w", "--window", "5s:4s"}, "T613");
  says({"--estimate", "--unknowns", "R_w", "--window", "4s:6s"}, "T613");
  says({"--estimate", "--place-sensors", "1"}, "T614");
  says({"--estimate", "--target", "n1.T"}, "T614");
  says({"--estimate", "--place-sensors", "99", "--target", "n1.T"}, "T615");
  says({"--estimate", "--place-sensors", "1", "--target", "n1.T", "--unknowns", "R_w"}, "T616");
  says({"--estimate", "--place-sensors", "1", "--target", "n99.T"}, "T121");
  says({"--estimate", "--place-sensors", "1", "--target", "n1.T", "--noise", "3 kg"}, "T612");
  says({"--target", "n1.T"}, "T401");
}

}  // namespace
}  // namespace tellegen
