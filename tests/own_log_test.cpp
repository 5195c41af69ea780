// docs/log-to-twin.md with a log of one's own: every command of the page in its order, on a file that is made
// here, by equations of its own and in a shape that no file of the repository has.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tellegen/results/trajectory.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;

const fs::path root = TELLEGEN_SOURCE_DIR;
const std::map<std::string, double> truth{{"R_wh", 0.55}, {"R_ha", 0.8}, {"C_w", 120.0}, {"C_h", 450.0}};

// Two heat capacities by small steps of Euler's rule; as a data logger of an American office writes it: a
// clock of twelve hours, Fahrenheit, kilowatts, names of its own, every two to four seconds.
double write_log(const fs::path& file) {
  std::mt19937 random(20260301);
  std::normal_distribution<double> noise(0.0, 0.15);
  std::uniform_int_distribution<int> pause(2, 4);
  const auto fahrenheit = [](double celsius) { return 1.8 * celsius + 32.0; };
  double loss = 0.0;  // of the drive's command, which changes with a row of the log
  const auto air = [](double t) { return 22.0 + 6.0 * std::sin(t / 25.0); };
  std::string text = "Plant: 4\r\nUnit: bench\r\n\r\nTimestamp,Case Temp (F),Loss (kW),Room Air (F)\r\n";
  constexpr double h = 0.01;
  double winding = 22.0, housing = 22.0;
  long next = 0;
  for (long k = 0; k <= 360000; ++k) {
    const double t = static_cast<double>(k) * h;
    if (k == next) {
      if (random() % 12 == 0) loss = loss > 0.0 ? 0.0 : 220.0;
      const int s = 9 * 3600 + 58 * 60 + static_cast<int>(std::lround(t)), hour = s / 3600;
      text += fmt::format("3/14/2026 {}:{:02}:{:02} {},{:.3f},{:.5f},{:.3f}\r\n", (hour + 11) % 12 + 1,
                          s / 60 % 60, s % 60, hour < 12 ? "AM" : "PM", fahrenheit(housing + noise(random)),
                          loss / 1000.0, fahrenheit(air(t)));
      next += 100L * pause(random);
    }
    const double through = (winding - housing) / truth.at("R_wh");
    winding += h * (loss - through) / truth.at("C_w");
    housing += h * (through - (housing - air(t)) / truth.at("R_ha")) / truth.at("C_h");
  }
  put(file, text);
  return winding;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

Ran in_folder(const fs::path& folder, const std::string& command) {
  Ran ran;
  const std::string line = fmt::format("cd '{}' && {} 2>&1", folder.string(), command);
  FILE* pipe = popen(line.c_str(), "r");
  if (!pipe) return ran;
  for (char buffer[4096]; const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe);)
    ran.out.append(buffer, got);
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

TEST(OwnLog, the_page_leads_to_a_calibrated_twin) {
  const TestFolder folder;
  fs::create_directories(folder / "build");
  fs::create_symlink(tested_program, folder / "build/tellegen");
  // The model, as a user has it: what the columns of this log are, nobody has said yet.
  std::string model = get(root / "models/bench-motor/model.toml");
  const std::size_t from = model.find("[columns]"), to = model.find("[simulation]");
  ASSERT_NE(from, std::string::npos);
  put(folder / "motor.toml", replaced(model.erase(from, to - from), "value = \"40 W\", unit = \"W\"",
                                      "value = \"40 W\", unit = \"W\", interpolation = \"hold\""));
  const double winding = write_log(folder / "own.csv");

  std::string columns;  // the proposal, once the page has come to it
  int commands = 0;
  std::istringstream page(get(root / "docs/log-to-twin.md"));
  for (std::string line; std::getline(page, line);) {
    const std::size_t at = line.starts_with("    build/") ? 4 : line.starts_with("$ build/") ? 2 : 0;
    if (at == 0) continue;
    std::string command = replaced(replaced(line.substr(at), "models/bench-motor/log.csv", "own.csv"),
                                   "models/bench-motor/model.toml", "motor.toml");
    if (!columns.empty()) command += " --columns '" + columns + "'";
    const Ran ran = in_folder(folder / "", command);
    EXPECT_EQ(ran.code, 0) << command << "\n" << ran.out;
    ++commands;
    if (command.find(" data ") != std::string::npos && command.find("--model") != std::string::npos) {
      const auto json =
          nlohmann::json::parse(in_folder(folder / "", command + " --json").out, nullptr, false);
      ASSERT_FALSE(json.is_discarded());
      columns = json.value("columns_option", "");
      EXPECT_NE(columns.find("T_h=Case Temp"), std::string::npos) << columns;
      EXPECT_NE(columns.find("P=Loss"), std::string::npos) << columns;
      EXPECT_NE(columns.find("amb=Room Air"), std::string::npos) << columns;
    }
  }
  EXPECT_EQ(commands, 5);

  const Ran again = in_folder(
      folder / "", "build/tellegen calibrate motor.toml --data own.csv --json --columns '" + columns + "'");
  const auto found = nlohmann::json::parse(again.out, nullptr, false);
  ASSERT_FALSE(found.is_discarded()) << again.out;
  for (const auto& p : found["stages"].back()["parameters"]) {
    const double after = p["after_si"], deviation = p["deviation"];
    EXPECT_LT(std::abs(after - truth.at(p["name"])), 3.0 * deviation) << p["name"];
    EXPECT_LT(deviation, 0.2 * after) << p["name"];
  }
  // What nobody measured, at the end.
  const Trajectory estimate = read_csv(folder / "winding.csv");
  const auto column = estimate.find("T_w");
  ASSERT_TRUE(column);
  EXPECT_NEAR(estimate.at(estimate.rows() - 1, *column), winding, 1.0);
}

}  // namespace
}  // namespace tellegen
