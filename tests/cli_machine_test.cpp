// `tellegen machine`, `calibrate` and `identify` of machines and cells from outside.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string in_models(const std::string& name) { return TELLEGEN_SOURCE_DIR "/models/" + name; }

std::vector<std::vector<double>> rows_of_csv(const fs::path& file, std::string& header) {
  std::ifstream in(file);
  std::getline(in, header);
  std::vector<std::vector<double>> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(std::stod(cell));
  }
  return rows;
}

// Section 4.4 of the reference: an independent program's numbers for the same machine.
TEST(Machine, inductances_of_the_wound_rotor_machine) {
  const fs::path file = fs::path(testing::TempDir()) / "tellegen-inductances.csv";
  const Ran ran = run_program({"machine", in_models("wrsm-mec/model.toml"), "--angles", "36", "--inductances",
                               file.string(), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json said = json::parse(ran.out);
  EXPECT_NEAR(said.at("L_ls").get<double>(), 0.823e-3, 0.005 * 0.823e-3);
  EXPECT_NEAR(said.at("L_mq").get<double>(), 3.098e-3, 0.005 * 3.098e-3);
  EXPECT_NEAR(said.at("L_md").get<double>(), 4.574e-3, 0.005 * 4.574e-3);
  EXPECT_NEAR(said.at("harmonics").at(1).get<double>(), 33.80e-3, 0.005 * 33.80e-3);
  std::string header;
  const auto rows = rows_of_csv(file, header);
  EXPECT_EQ(header,
            "theta_r [rad],Laa [H],Lab [H],Lac [H],Laf [H],Lbb [H],Lbc [H],Lbf [H],Lcc [H],Lcf [H],Lff [H]");
  ASSERT_EQ(rows.size(), 36u);
  // A third of a turn on, phase b is where phase a was.
  EXPECT_NEAR(rows[12][5], rows[0][1], 1e-9 * rows[0][1]);
  fs::remove(file);
}

TEST(Machine, a_flux_map_is_odd_in_the_current_along_q) {
  const fs::path file = fs::path(testing::TempDir()) / "tellegen-map.csv";
  const Ran ran = run_program({"machine", in_models("wrsm-mec/model.toml"), "--angles", "8", "--flux-map",
                               file.string(), "--points", "3", "--largest", "5"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("L_md"), std::string::npos);
  std::string header;
  const auto rows = rows_of_csv(file, header);
  EXPECT_EQ(header, "i_d [A],i_q [A],lambda_d [Wb],lambda_q [Wb],T_e [N m]");
  ASSERT_EQ(rows.size(), 9u);
  for (const auto& a : rows)
    for (const auto& b : rows)
      if (a[0] == b[0] && a[1] == -b[1]) {
        EXPECT_NEAR(a[2], b[2], 1e-3 * std::abs(a[2]));
        EXPECT_NEAR(a[3], -b[3], 1e-3 * std::abs(a[3]) + 1e-9);
      }
  fs::remove(file);
}

// Steady at a point of the map: the kind that reads the table draws the currents for which it was computed,
// and its torque from currents and flux linkages is the one that the network's gaps gave.
TEST(Machine, a_flux_map_is_read_as_a_machine) {
  const fs::path folder = fs::path(testing::TempDir()) / "tellegen-flux-map";
  fs::create_directories(folder);
  const Ran ran =
      run_program({"machine", in_models("wrsm-mec/m19.toml"), "--angles", "8", "--flux-map",
                   (folder / "map.csv").string(), "--points", "5", "--largest", "10", "--field", "1"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::string header;
  const auto rows = rows_of_csv(folder / "map.csv", header);
  for (const auto& row : rows) {
    if (row[0] != -5.0 || row[1] != 5.0) continue;
    const double r = 0.1729, w = 200.0, i_d = row[0], i_q = row[1], v_d = r * i_d - w * row[3],
                 v_q = r * i_q + w * row[2];
    std::ostringstream model;
    model.precision(15);
    model << "[parameters]\nv_q = " << v_q << "\nv_d = " << v_d << R"toml(
[components]
m  = { kind = "machines.synchronous_table", a = "a", b = "b", c = "c", n = "datum", r = "shaft", frame = "datum", poles = 4, r_s = 0.1729, L_0 = "0.8 mH", map_d = { table = "map.csv", x = ["i_d", "i_q"], column = "lambda_d" }, map_q = { table = "map.csv", x = ["i_d", "i_q"], column = "lambda_q" } }
sa = { kind = "electrical.voltage_source", p = "a", n = "datum", V = "a_of(v_q, v_d, 0, m.theta)" }
sb = { kind = "electrical.voltage_source", p = "b", n = "datum", V = "b_of(v_q, v_d, 0, m.theta)" }
sc = { kind = "electrical.voltage_source", p = "c", n = "datum", V = "c_of(v_q, v_d, 0, m.theta)" }
d  = { kind = "rotational.speed_source", p = "shaft", n = "datum", w = 100 }
[outputs]
i_d = "m.i_d"
i_q = "m.i_q"
T_e = "m.T_e"
[simulation]
stop   = "0.5 s"
step   = "0.2 ms"
method = "tr"
)toml";
    std::ofstream(folder / "table.toml") << model.str();
    const Ran run = run_program(
        {"simulate", (folder / "table.toml").string(), "--output", (folder / "run.csv").string()});
    ASSERT_EQ(run.code, 0) << run.err;
    const auto last = rows_of_csv(folder / "run.csv", header).back();
    EXPECT_NEAR(last[1], i_d, 1e-4);
    EXPECT_NEAR(last[2], i_q, 1e-4);
    EXPECT_NEAR(last[3], 3.0 * (row[2] * i_q - row[3] * i_d), 1e-4);
    EXPECT_NEAR(last[3], row[4], 0.03 * std::abs(row[4]));
    fs::remove_all(folder);
    return;
  }
  FAIL() << "the map has no such row";
}

TEST(Machine, iron_losses_at_a_speed) {
  const std::vector<std::string> machine{
      "machine", in_models("wrsm-mec/m19.toml"), "--angles", "36", "--field", "3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), machine.begin(), machine.end());
    return run_program(more);
  };
  const Ran ran = with({"--speed", "1800rpm", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json iron = json::parse(ran.out).at("iron_loss");
  EXPECT_NEAR(iron.at("frequency").get<double>(), 60.0, 1e-9);
  double sum = 0.0;
  for (const json& region : iron.at("regions")) sum += region.at("loss").at("total").get<double>();
  EXPECT_NEAR(iron.at("loss").at("total").get<double>(), sum, 1e-9 * sum);
  EXPECT_GT(sum, 1.0);
  const Ran text = with({"--speed", "188.5"});
  EXPECT_NE(text.out.find("stator teeth"), std::string::npos) << text.out;
  EXPECT_EQ(with({"--speed", "12 kg"}).code, 2);
  EXPECT_EQ(with({"--speed", "-5"}).code, 2);
  const Ran none = run_program({"machine", in_models("motor-mec/model.toml"), "--speed", "100"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("material 'iron' has no 'loss'"), std::string::npos) << none.err;
}

TEST(Machine, a_report_has_section_curves_maps_and_losses) {
  const fs::path folder = fs::path(testing::TempDir()) / "tellegen-machine-report";
  fs::create_directories(folder);
  const Ran ran = run_program({"machine", in_models("wrsm-mec/m19.toml"), "--angles", "12", "--flux-map",
                               (folder / "map.csv").string(), "--points", "3", "--speed", "1800rpm",
                               "--report", (folder / "report.html").string()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::ifstream file(folder / "report.html");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const char* part : {"<polygon", "torque [N m]", "lambda_d [mWb]", "stator teeth", "iron losses at"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(run_program({"machine", in_models("wrsm-mec/m19.toml"), "--title", "x"}).code, 2);
  fs::remove_all(folder);
}

TEST(Machine, a_cross_section_that_cannot_be_built_is_refused) {
  const auto has = [](const char* model, const char* setting, const char* part) {
    const Ran ran = run_program({"machine", in_models(model), "--angles", "12", "--set", setting});
    EXPECT_EQ(ran.code, 2) << setting;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  };
  has("pmsm-mec/model.toml", "machine_stator_tooth_width=20mm", "the teeth are wider than their pitch");
  has("pmsm-mec/model.toml", "machine_stator_slot_width=30mm", "tooth and slot are wider than their pitch");
  has("pmsm-mec/model.toml", "machine_stator_conductor_height=20mm", "higher than the teeth");
  has("pmsm-mec/model.toml", "machine_rotor_yoke=40mm", "too small for its shaft");
  has("wrsm-mec/model.toml", "machine_rotor_body_width=95mm", "the poles are wider than their pitch");
  has("motor-mec/model.toml", "machine_rotor_tooth_width=12mm", "the teeth are wider than their pitch");
}

TEST(Machine, wrong_requests_are_explained) {
  const Ran none = run_program({"machine", in_models("rlc/model.toml")});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("[machine]"), std::string::npos) << none.err;
  EXPECT_EQ(run_program({"machine", in_models("wrsm-mec/model.toml"), "--angles", "3"}).code, 2);
  EXPECT_EQ(run_program({"machine", in_models("wrsm-mec/model.toml"), "--picture", "x.png"}).code, 2);
}

// The truth is in models/identification/README.md.
TEST(Maps, flux_linkages_of_a_saturated_machine_from_its_operating_points) {
  const std::string model = in_models("identification/pmsm-maps.toml"),
                    data = in_models("identification/pmsm-maps.csv");
  const Ran ran = run_program({"calibrate", model, "--data", data, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json found = json::parse(ran.out).at("stages").at(0).at("parameters");
  ASSERT_EQ(found.size(), 91u);
  EXPECT_NEAR(found.at(0).at("after_si").get<double>(), 0.12, 1e-3);
  for (int d = 0; d < 5; ++d)
    for (int q = 0; q < 9; ++q) {
      const double i_d = -40.0 + 10.0 * d, i_q = -40.0 + 10.0 * q;
      const double psi_d = 0.045 + 0.5e-3 * i_d + 0.018 * std::tanh(i_d / 35.0) -
                           4e-6 * i_q * i_q * std::exp(-i_d * i_d / 3600.0),
                   psi_q = 0.085 * std::tanh(i_q / 45.0 * (1.0 - 0.002 * i_d)) + 0.4e-3 * i_q;
      EXPECT_NEAR(found.at(1 + 9 * d + q).at("after_si").get<double>(), psi_d, 0.4e-3) << i_d << " " << i_q;
      EXPECT_NEAR(found.at(46 + 9 * d + q).at("after_si").get<double>(), psi_q, 0.4e-3) << i_d << " " << i_q;
    }
  // At one speed a voltage across the resistance may as well be a flux linkage.
  const Ran one = run_program({"calibrate", model, "--data", data, "--window", "0s:98s"});
  EXPECT_EQ(one.code, 1);
  EXPECT_NE(one.err.find("r_s"), std::string::npos) << one.err;
}

TEST(Response, a_cell_from_its_impedance) {
  const Ran ran = run_program({"calibrate", in_models("identification/cell.toml"), "--response",
                               "(-t.v)/i=" + in_models("identification/cell-impedance.csv"),
                               "--response-noise", "0.5%", "--parameters", "R0,R1,C1,R2,C2", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json found = json::parse(ran.out).at("stages").at(0).at("parameters");
  const double truth[] = {0.012, 8e-3, 1500.0, 0.015, 2e4};
  for (std::size_t k = 0; k < 5; ++k) {
    const double after = found.at(k).at("after_si"), relative = found.at(k).at("relative");
    EXPECT_GT(relative, 0.0);
    EXPECT_LT(relative, 0.05);
    EXPECT_NEAR(after, truth[k], 4.0 * relative * after) << found.at(k).at("name");
  }
}

// The open-circuit voltage from the pulses, the rest from both.
TEST(Response, with_a_record_over_time) {
  const std::vector<std::string> record{"calibrate", in_models("identification/cell.toml"), "--data",
                                        in_models("identification/cell.csv"), "--json"};
  std::vector<std::string> both = record;
  both.insert(both.end(), {"--response", "(-t.v)/i=" + in_models("identification/cell-impedance.csv"),
                           "--response-noise", "0.5%"});
  const Ran alone = run_program(record), together = run_program(both);
  ASSERT_EQ(alone.code, 0) << alone.err;
  ASSERT_EQ(together.code, 0) << together.err;
  const json a = json::parse(alone.out).at("stages").at(0).at("parameters"),
             b = json::parse(together.out).at("stages").at(0).at("parameters");
  ASSERT_EQ(b.size(), 6u);
  for (std::size_t k = 0; k < 6; ++k)
    EXPECT_LT(b.at(k).at("relative").get<double>(), 1.001 * a.at(k).at("relative").get<double>());
}

// calibrate and identify: two records of the same readings are worth as much as one with half of the
// variance.
TEST(Records, of_two_runs) {
  const std::string model = in_models("identification/dc-machine.toml"),
                    data = in_models("identification/dc-machine.csv");
  for (const std::string command : {"identify", "calibrate"}) {
    const Ran one = run_program({command, model, "--data", data, "--json"}),
              two = run_program({command, model, "--data", data, "--record", data, "--json"});
    ASSERT_EQ(one.code, 0) << one.err;
    ASSERT_EQ(two.code, 0) << two.err;
    const auto fit = [&](const Ran& ran) {
      const json all = json::parse(ran.out);
      return (command == "identify" ? all.at("fit") : all.at("stages").at(0)).at("parameters");
    };
    EXPECT_EQ(json::parse(two.out).at("records"), 2);
    for (std::size_t k = 0; k < 5; ++k)
      EXPECT_NEAR(fit(two).at(k).at("relative").get<double>() / fit(one).at(k).at("relative").get<double>(),
                  std::sqrt(0.5), 2e-3);
  }
  const Ran without = run_program({"calibrate", model, "--record", data});
  EXPECT_EQ(without.code, 2);
  const Ran window =
      run_program({"calibrate", model, "--data", data, "--record", data, "--window", "0.1s:0.2s"});
  EXPECT_EQ(window.code, 2);
  EXPECT_NE(window.err.find("T402"), std::string::npos) << window.err;
  const Ran nothing = run_program(
      {"identify", model, "--data", data, "--record", in_models("identification/cell-impedance.csv")});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_NE(nothing.err.find("T591: no column for sensor 'i'"), std::string::npos) << nothing.err;
  // Only the current counts, and the second record has none.
  const fs::path file = fs::path(testing::TempDir()) / "tellegen-speed-only.csv";
  std::ofstream(file) << "t [s],w [rad/s],u [V]\n0,0,12\n0.001,1,12\n0.002,2,12\n";
  const Ran other =
      run_program({"identify", model, "--data", data, "--record", file.string(), "--sensors", "i"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("T603"), std::string::npos) << other.err;
  fs::remove(file);
}

// The start-up of the worked model, changed as a mistake would: `change` gets the cells of a row.
template <class Change>
Ran identify_changed(const fs::path& folder, const std::string& model, Change change) {
  std::ifstream in(in_models("identification/start-up.csv"));
  std::ofstream out(folder / "data.csv");
  std::string line;
  std::getline(in, line);
  out << line << "\n";
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    row.resize(6);  // the last may be empty: a lost sample
    if (!change(row)) continue;
    for (std::size_t k = 0; k < row.size(); ++k) out << (k == 0 ? "" : ",") << row[k];
    out << "\n";
  }
  out.close();
  return run_program({"identify", model, "--data", (folder / "data.csv").string(), "--output",
                      (folder / "out.toml").string()});
}

TEST(Identify, wrong_data_are_explained_and_nothing_is_written) {
  const fs::path folder = fs::path(testing::TempDir()) / "tellegen-wrong-data";
  fs::create_directories(folder);
  const std::string model = in_models("identification/model.toml");
  const auto has = [&](const Ran& ran, const char* part) {
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
    EXPECT_FALSE(fs::exists(folder / "out.toml"));
  };
  int k = 0;
  has(identify_changed(folder, model,
                       [&k](std::vector<std::string>& row) {  // few rows: what it might be takes many fits
                         std::swap(row[3], row[4]);
                         return k++ % 5 == 0 && std::stod(row[0]) < 0.05;
                       }),
      "'iqs' and 'ids' are exchanged");
  // Constant speed alone: the last 50 ms.
  has(identify_changed(folder, model,
                       [](std::vector<std::string>& row) {
                         const double t = std::stod(row[0]) - 0.2;
                         row[0] = std::to_string(t);
                         return t > -1e-9;
                       }),
      "the record does not begin where the model does");
  // Of 0.3 % of the rows nothing can be known.
  k = 0;
  const auto row_kept = [&](int every) {
    return [&k, every](std::vector<std::string>& row) {
      if (k++ % every != 0) row[3] = row[4] = row[5] = "nan";
      return true;
    };
  };
  has(identify_changed(folder, model, row_kept(300)), "readings in 2501 rows");
  // Nor, but for the size of some, of the first twentieth of the time: less than a cycle, hardly any speed.
  const Ran early = identify_changed(folder, model, [](std::vector<std::string>& row) {
    if (std::stod(row[0]) > 0.0125) row[3] = row[4] = row[5] = "nan";
    return true;
  });
  has(early, "the readings hardly determine all parameters");
  has(early, "L_s: ");
  has(early, "in 2501 rows, from 0 s to 0.012");
  has(early, "design-experiment");
  fs::remove_all(folder);
}

// The sensor of the speed in rpm: what is said of its noise is, too.
TEST(Identify, a_report_has_search_numbers_and_residuals) {
  const fs::path folder = fs::path(testing::TempDir()) / "tellegen-identify-report";
  fs::create_directories(folder);
  std::ifstream in(in_models("identification/dc-machine.toml"));
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::string speed = "noise = \"1 rad/s\", unit = \"rad/s\"";
  text.replace(text.find(speed), speed.size(), "unit = \"rpm\"");
  std::ofstream(folder / "model.toml") << text;
  const std::vector<std::string> command{
      "identify", (folder / "model.toml").string(),  "--data",  in_models("identification/dc-machine.csv"),
      "--report", (folder / "report.html").string(), "--truth", in_models("identification/dc-machine.toml")};
  const Ran ran = run_program(command);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string said = "noise of w, from the fit: ";
  const auto at = ran.out.find(said);
  ASSERT_NE(at, std::string::npos) << ran.out;
  EXPECT_NEAR(std::stod(ran.out.substr(at + said.size())), 9.55, 0.5);  // 1 rad/s
  std::ifstream file(folder / "report.html");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const char* part : {"Identification: DC machine", "2 relations between readings and parameters",
                           "noise of w, from the fit", "truth", "Residual", "Correlations"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  // Nothing where the numbers are not to be trusted: of the current alone k, J and B have a common factor.
  fs::remove(folder / "report.html");
  std::vector<std::string> wrong = command;
  wrong.insert(wrong.end(), {"--sensors", "i"});
  EXPECT_EQ(run_program(wrong).code, 1);
  EXPECT_FALSE(fs::exists(folder / "report.html"));
  fs::remove_all(folder);
}

// Six poles for four, with the shaft's speed read.
TEST(Identify, a_wrong_number_of_poles_is_named) {
  const fs::path folder = fs::path(testing::TempDir()) / "tellegen-wrong-poles";
  fs::create_directories(folder);
  std::ifstream in(in_models("identification/model.toml"));
  std::string text((std::istreambuf_iterator<char>(in)), {});
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"\"motor.w_r\"", "\"shaft.w\""}, {"poles   = 4", "poles   = 6"}})
    text.replace(text.find(from), from.size(), to);
  std::ofstream(folder / "model.toml") << text;
  const Ran ran =
      identify_changed(folder, (folder / "model.toml").string(), [](std::vector<std::string>& row) {
        if (!row[5].empty() && row[5] != "nan") row[5] = std::to_string(std::stod(row[5]) / 2.0);
        return true;
      });
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("motor.poles = 6 is wrong; the record fits 4 poles"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(folder / "out.toml"));
  fs::remove_all(folder);
}

TEST(Response, wrong_requests_are_explained) {
  const auto fault = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"calibrate", in_models("identification/cell.toml")});
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  const std::string table = in_models("identification/cell-impedance.csv");
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(fault({}), "T603"));
  EXPECT_TRUE(has(fault({"--response", table}), "T401"));
  EXPECT_TRUE(has(fault({"--response", "t.v/i=" + table}), "T656"));
  EXPECT_TRUE(has(fault({"--response", "t.v/k=" + table, "--response-noise", "1%"}), "T655"));
  EXPECT_TRUE(has(fault({"--response", "t.v/i=" + table, "--response-noise", "-1%"}), "T401"));
  EXPECT_TRUE(
      has(fault({"--response", "t.v/i=" + in_models("identification/cell.csv"), "--response-noise", "1%"}),
          "T591"));
}

TEST(Response, what_an_impedance_cannot_tell_is_told) {
  const Ran ran =
      run_program({"calibrate", in_models("identification/cell.toml"), "--response",
                   "(-t.v)/i=" + in_models("identification/cell-impedance.csv"), "--response-noise", "0.5%"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("E0: no reading depends on it"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace tellegen
