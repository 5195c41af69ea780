#include "tellegen/service/live_twin.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/tellegen_packet.h"
#include "tellegen/records/choice.h"
#include "tellegen/records/test_twin.h"
#include "tellegen/results/test_folder.h"

namespace tellegen {
namespace live_twin_test {

using nlohmann::json;

constexpr double step = 0.01;

struct TestClock : Clock {
  std::int64_t time = 0;
  std::function<void()> on_sleep;
  std::int64_t now() override { return time; }
  void sleep_until(std::int64_t moment) override {
    time = moment;
    if (on_sleep) on_sleep();
  }
};

class LiveTwin : public testing::Test {
 protected:
  LiveTwin() : model_(twin_model_file("rc-thermal/network.toml")) {
    model_.estimation.unknowns = unknowns_named(model_, {"Q0"});
    follow_.sensors = sensors_of(model_, {"S2", "S3"});
    follow_.inputs = {"T_air"};
    follow_.step = step;
    follow_.compile = false;
    follow_.check = true;
  }
  std::unique_ptr<Twin> twin() { return std::make_unique<Twin>(model_, follow_); }

  Model model_;
  FollowOptions follow_;
  std::atomic<bool> stop_{false};
  TestClock clock_;
};

TEST_F(LiveTwin, answers_every_line) {
  const auto live = twin(), alone = twin();
  LiveColumns columns(model_, follow_, *live);
  std::istringstream in(
      "{\"t\": 0, \"S2\": 301.0, \"S3\": 300.5, \"T_air\": 300}\n"
      "\n"
      "{\"t\": 0.01, \"S2\": null, \"S3\": 300.7}\n"
      "{\"t\": 0.0, \"S2\": 1}\n"
      "{\"t\": 0.015}\n"
      "{\"S2\": 1}\n"
      "{\"t\": \"now\"}\n"
      "hello\n"
      "{\"t\": 0.02, \"s2\": 301.2, \"T_air\": 301}\n"
      "{\"t\": 0.02, \"S2\": 301.2, \"T_air\": 301}\n");
  std::ostringstream out;
  const RealtimeReport report = run_lines(*live, columns, {}, in, out, clock_, stop_);
  alone->push(0.0, std::vector{301.0, 300.5}, std::vector{300.0});
  alone->push(0.01, std::vector{std::nan(""), 300.7}, std::vector{std::nan("")});
  alone->push(0.02, std::vector{301.2, std::nan("")}, std::vector{301.0});
  std::vector<json> answers;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) answers.push_back(json::parse(line));
  ASSERT_EQ(answers.size(), 9u);
  EXPECT_EQ(answers[2].at("not_used"), "too late");
  EXPECT_EQ(answers[3].at("not_used"), "its time is on no step");
  EXPECT_EQ(answers[4].at("error"), "a row without its time 't'");
  EXPECT_EQ(answers[5].at("error"), "'t' is not a number");
  EXPECT_EQ(answers[6].at("error"), "the line is not a JSON object");
  EXPECT_EQ(answers[7].at("error"), "there is no sensor or input 's2'; there are 'S2', 'S3', 'T_air'");
  const Twin::Quantities& now = alone->quantities();
  for (std::size_t q = 0; q < alone->described().size(); ++q) {
    const std::string& unit = alone->described()[q].unit;
    ASSERT_TRUE(unit.empty() || unit == "K" || unit == "W");  // SI
    EXPECT_EQ(answers[8].at(alone->described()[q].name), now.mean[static_cast<long>(q)]);
    EXPECT_EQ(answers[8].at(alone->described()[q].name + "_sd"), now.deviation[static_cast<long>(q)]);
  }
  EXPECT_TRUE(answers[8].at("innovation_S3").is_null());
  EXPECT_EQ(report.periods, 5);  // rows with a time
  EXPECT_EQ(report.failure, "");
}

TEST_F(LiveTwin, a_row_is_late_by_what_it_comes_after_its_time) {
  const auto live = twin();
  LiveColumns columns(model_, follow_, *live);
  // All lines come at once, three seconds early but for the first: nothing is late.
  std::istringstream in("{\"t\": 0, \"T_air\": 300}\n{\"t\": 3}\n");
  std::ostringstream out;
  const RealtimeReport report = run_lines(*live, columns, {}, in, out, clock_, stop_);
  EXPECT_EQ(report.periods, 2);
  EXPECT_EQ(report.lateness.longest(), 0.0);
  EXPECT_EQ(report.missed, 0);
  EXPECT_EQ(live->row(), 300);
}

// The other end of the wire: a packet before some periods.
TEST_F(LiveTwin, follows_packets_period_by_period_and_sends_what_it_estimates) {
  const TestFolder folder;
  const std::string here = (folder / "twin").string(), there = (folder / "machine").string();
  Address machine("unix:" + there);
  const int wire = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  ASSERT_EQ(bind(wire, reinterpret_cast<const sockaddr*>(&machine.name), machine.size), 0);
  const auto live = twin(), alone = twin();
  LiveColumns columns(model_, follow_, *live);
  const std::size_t width = columns.out().names().size();
  Exchange exchange(Address("unix:" + here), machine, 3, width, {}, true);
  const Address to("unix:" + here);
  std::uint64_t sequence = 0;
  std::vector<std::vector<double>> sent;  // estimates
  const auto send = [&](double s2, double s3, double air) {
    unsigned char bytes[TELLEGEN_PACKET_SIZE(3)];
    const double values[] = {s2, s3, air};
    const tellegen_packet head{++sequence, 0.0, 0, 3};
    const std::size_t size = tellegen_packet_write(bytes, &head, values);
    ASSERT_EQ(sendto(wire, bytes, size, 0, reinterpret_cast<const sockaddr*>(&to.name), to.size),
              static_cast<ssize_t>(size));
  };
  const double none = std::nan("");
  int period = 0;
  clock_.on_sleep = [&] {
    switch (period++) {
      case 1:
        send(301.0, 300.5, none);  // no input yet: the twin has not begun
        break;
      case 2:
        send(301.0, 300.5, 300.0);
        break;
      case 4:
        send(301.3, none, 301.0);
        break;
      default:
        break;
    }
  };
  LiveOptions options;
  options.periods = 6;
  std::string saved;
  options.checkpoints.save = [&](const std::string& bytes) { saved = bytes; };
  const RealtimeReport report = run_live(*live, columns, options, &exchange, clock_, stop_);
  ASSERT_EQ(report.failure, "");
  EXPECT_EQ(report.periods, 6);
  EXPECT_EQ(report.packets.received, 3);
  const std::vector<double> nothing{none, none};
  alone->push(0.02, std::vector{301.0, 300.5}, std::vector{300.0});
  alone->push(0.03, nothing, std::vector{none});
  alone->push(0.04, std::vector{301.3, none}, std::vector{301.0});
  alone->push(0.05, nothing, std::vector{none});
  EXPECT_EQ(live->belief().x, alone->belief().x);
  EXPECT_EQ(live->belief().p, alone->belief().p);
  EXPECT_EQ(saved, alone->checkpoint());
  std::vector<unsigned char> bytes(TELLEGEN_PACKET_SIZE(width));
  std::vector<double> row(width), last;
  tellegen_packet head{};
  int packets = 0;
  for (ssize_t size; (size = recv(wire, bytes.data(), bytes.size(), 0)) > 0; ++packets)
    ASSERT_TRUE(tellegen_packet_read(bytes.data(), static_cast<std::size_t>(size), &head, row.data(),
                                     static_cast<unsigned>(width)));
  close(wire);
  EXPECT_EQ(packets, 6);
  EXPECT_NEAR(head.time, 0.05, 1e-12);
  columns.row_of(*alone, last);
  for (std::size_t k = 0; k < width; ++k)
    EXPECT_TRUE(row[k] == last[k] || (std::isnan(row[k]) && std::isnan(last[k]))) << columns.out().names()[k];
}

}  // namespace live_twin_test
}  // namespace tellegen
