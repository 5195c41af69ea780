// A model in real time with another program at the other end of the wire. Lenient about lateness, which is
// the machine's; strict about what is in the packets, what is counted and what the model makes of it.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/tellegen_packet.h"
#include "tellegen/results/trajectory.h"
#include "tests/program.h"

namespace tellegen {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path root = TELLEGEN_SOURCE_DIR;
const std::string rc = (root / "models/rc-realtime/model.toml").string();

// A UDP socket of this machine, at a port that was free.
struct Port {
  Port() : wire(socket(AF_INET, SOCK_DGRAM, 0)) {
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    EXPECT_EQ(bind(wire, reinterpret_cast<sockaddr*>(&name), size), 0);
    EXPECT_EQ(getsockname(wire, reinterpret_cast<sockaddr*>(&name), &size), 0);
  }
  ~Port() { close(wire); }
  std::string number() const { return std::to_string(ntohs(name.sin_port)); }
  int wire;
  sockaddr_in name{};
};

std::string free_port() { return Port().number(); }

TEST(Loopback, the_driven_circuit_answers_in_closed_form) {
  const TestFolder folder;
  const std::string model_port = free_port(), drive_port = free_port();
  const Running drive = start_program({model_port, drive_port, "1"}, rc_drive_program);
  const Ran ran =
      run_program({"simulate", rc, "--realtime", "--stop", "2s", "--listen", "udp:" + model_port, "--send",
                   "udp:" + drive_port, "--json", "--output", (folder / "run.csv").string()});
  const Ran driven = wait_for(drive);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(driven.code, 0) << driven.out << driven.err;  // every voltage within 1e-9 V of the closed form
  EXPECT_NE(driven.out.find("sent 1000,"), std::string::npos) << driven.out;
  EXPECT_NE(driven.out.find("gaps 0,"), std::string::npos) << driven.out;
  EXPECT_NE(ran.err.find("inputs from udp:" + model_port + ": u [V]"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("outputs to udp:" + drive_port + ": v [V], i [mA]"), std::string::npos) << ran.err;

  const json report = json::parse(ran.out).at("realtime");
  EXPECT_EQ(report.at("periods"), 2000);
  EXPECT_EQ(report.at("interrupted"), false);
  const json& in = report.at("packets_in");
  EXPECT_EQ(in.at("received"), 1000);
  for (const char* none : {"lost", "late", "duplicate", "malformed", "restarts"})
    EXPECT_EQ(in.at(none), 0) << none;
  EXPECT_EQ(report.at("packets_out").at("sent"), 2001);
  for (const char* what : {"lateness", "execution"}) {
    std::int64_t count = 0;
    for (const json& bin : report.at(what).at("histogram")) count += bin.at("count").get<std::int64_t>();
    EXPECT_EQ(count, 2000) << what;
    EXPECT_LE(report.at(what).at("median"), report.at(what).at("p9999")) << what;
    EXPECT_LE(report.at(what).at("p9999"), report.at(what).at("worst")) << what;
  }
  EXPECT_EQ(read_csv(folder / "run.csv").rows(), 2001u);
}

// Inputs over a Unix socket, outputs over UDP, until SIGINT.
TEST(Loopback, what_is_lost_late_and_malformed_is_counted_and_the_rest_is_in_force) {
  const TestFolder folder;
  char name[] = "/tmp/tellegen-loop-XXXXXX";  // a socket's path is short
  const fs::path sockets = mkdtemp(name);
  const Port own;
  const int wire = socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un model{};
  model.sun_family = AF_UNIX;
  (sockets / "in").string().copy(model.sun_path, sizeof model.sun_path - 1);
  const Running running =
      start_program({"simulate", rc, "--realtime", "--stop", "inf", "--listen",
                     "unix:" + (sockets / "in").string(), "--external", "u", "--send", "udp:" + own.number(),
                     "--json", "--output", (folder / "run.csv").string()});
  struct Guard {  // a test that fails half-way leaves nobody running
    pid_t child;
    ~Guard() {
      if (child != 0) kill(child, SIGKILL);
    }
  } guard{running.child};
  const auto put = [&](const unsigned char* bytes, std::size_t size) {
    EXPECT_EQ(sendto(wire, bytes, size, 0, reinterpret_cast<sockaddr*>(&model), sizeof model),
              static_cast<ssize_t>(size));
  };
  const auto put_value = [&](std::uint64_t sequence, double value) {
    unsigned char bytes[TELLEGEN_PACKET_SIZE(1)];
    const tellegen_packet head{sequence, 0.0, 0, 1};
    put(bytes, tellegen_packet_write(bytes, &head, &value));
  };

  // One thing after the other, ten periods apart: each is in force, or ignored, before the next.
  const double a = std::exp(-1e-3 / (1e3 * 100e-6));
  std::vector<double> sent(100), seen;
  std::uint64_t echo = 0;
  for (int k = 0; k <= 100; ++k) {
    pollfd waiting{own.wire, POLLIN, 0};
    ASSERT_EQ(poll(&waiting, 1, 30'000), 1) << "nothing from the model after " << k << " packets";
    unsigned char bytes[100];
    double values[2];
    tellegen_packet head{};
    const ssize_t size = recv(own.wire, bytes, sizeof bytes, 0);
    ASSERT_EQ(tellegen_packet_read(bytes, static_cast<std::size_t>(size), &head, values, 2), 1);
    ASSERT_EQ(head.sequence, static_cast<std::uint64_t>(k + 1));
    ASSERT_EQ(head.count, 2u);
    EXPECT_DOUBLE_EQ(head.time, 1e-3 * k);
    EXPECT_GE(head.echo, echo);
    echo = head.echo;
    const double u = echo == 0 ? 5.0 : sent[echo];
    if (k > 0) {
      EXPECT_NEAR(values[0], u + (seen.back() - u) * a, 1e-9) << k;
    }
    EXPECT_NEAR(values[1], u - values[0], 1e-9) << k;  // mA through 1 kohm
    seen.push_back(values[0]);
    const auto send = [&](std::uint64_t sequence, double value) {
      put_value(sequence, sent[sequence] = value);
    };
    if (k == 10) send(7, 1.0);
    if (k == 20) send(8, 2.0);
    if (k == 30) send(12, 3.0);        // 9, 10, 11 are lost
    if (k == 40) put_value(11, 99.0);  // late
    if (k == 50) put_value(12, 99.0);  // duplicate
    if (k == 60) put(reinterpret_cast<const unsigned char*>("hello"), 5);
    if (k == 70) put_value(13, std::nan(""));
    if (k == 80) send(14, -4.0);  // 13 did not count
  }
  EXPECT_EQ(echo, 14u);
  kill(running.child, SIGINT);
  const Ran ran = wait_for(running);
  guard.child = 0;
  close(wire);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(fs::exists(sockets / "in"));
  fs::remove_all(sockets);

  const json report = json::parse(ran.out).at("realtime");
  EXPECT_EQ(report.at("interrupted"), true);
  const json& in = report.at("packets_in");
  EXPECT_EQ(in.at("received"), 4);
  EXPECT_EQ(in.at("lost"), 3);  // 9, 10 and 13
  EXPECT_EQ(in.at("late"), 1);
  EXPECT_EQ(in.at("duplicate"), 1);
  EXPECT_EQ(in.at("malformed"), 2);
  const Trajectory run = read_csv(folder / "run.csv");
  EXPECT_EQ(static_cast<std::int64_t>(run.rows()), report.at("periods").get<std::int64_t>() + 1);
  ASSERT_GE(run.rows(), seen.size());
  for (std::size_t k = 0; k < seen.size(); ++k) EXPECT_EQ(run.at(k, 0), seen[k]) << k;  // what was sent
}

TEST(Loopback, a_second_sender_is_refused_and_counted) {
  const std::string model_port = free_port();
  const Port first, second;
  const Running running = start_program({"simulate", rc, "--realtime", "--stop", "1s", "--listen",
                                         "udp:" + model_port, "--send", "udp:" + first.number(), "--json"});
  sockaddr_in model = first.name;
  model.sin_port = htons(static_cast<std::uint16_t>(std::stoi(model_port)));
  const auto put = [&](const Port& from, std::uint64_t sequence, double value) {
    unsigned char bytes[TELLEGEN_PACKET_SIZE(1)];
    const tellegen_packet head{sequence, 0.0, 0, 1};
    const std::size_t size = tellegen_packet_write(bytes, &head, &value);
    sendto(from.wire, bytes, size, 0, reinterpret_cast<sockaddr*>(&model), sizeof model);
  };
  pollfd waiting{first.wire, POLLIN, 0};
  for (int k = 0; k < 100; ++k) {
    ASSERT_EQ(poll(&waiting, 1, 30'000), 1);
    unsigned char bytes[100];
    ASSERT_GT(recv(first.wire, bytes, sizeof bytes, 0), 0);
    if (k == 10) put(first, 1, 2.0);
    if (k == 50) put(second, 2, 77.0);
  }
  const Ran ran = wait_for(running);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json in = json::parse(ran.out).at("realtime").at("packets_in");
  EXPECT_EQ(in.at("received"), 1);
  EXPECT_EQ(in.at("foreign"), 1);
  EXPECT_EQ(in.at("foreign_sender"), "udp:127.0.0.1:" + second.number());
}

TEST(Loopback, a_run_that_is_killed_leaves_the_rows_it_had) {
  const TestFolder folder;
  const Port own;
  const Running running = start_program({"simulate", rc, "--realtime", "--stop", "inf", "--send",
                                         "udp:" + own.number(), "--output", (folder / "run.csv").string()});
  std::size_t made = 0;
  pollfd waiting{own.wire, POLLIN, 0};
  while (made < 600 && poll(&waiting, 1, 30'000) == 1) {
    unsigned char bytes[100];
    made += recv(own.wire, bytes, sizeof bytes, 0) > 0;
  }
  kill(running.child, SIGKILL);
  EXPECT_EQ(wait_for(running).code, 128 + SIGKILL);
  EXPECT_EQ(made, 600u);
  EXPECT_FALSE(fs::exists(folder / "run.csv"));
  const Trajectory left = read_csv(folder / "run.partial.csv");
  EXPECT_GT(left.rows(), 200u);  // all but those of the last moments: 600 periods of 1 ms
  for (std::size_t k = 0; k < left.rows(); ++k) EXPECT_DOUBLE_EQ(left.t[k], 1e-3 * static_cast<double>(k));
  // A run that ends has its file, and nothing beside it.
  const Ran ran = run_program(
      {"simulate", rc, "--realtime", "--stop", "100ms", "--output", (folder / "run.csv").string()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_csv(folder / "run.csv").rows(), 101u);
  EXPECT_FALSE(fs::exists(folder / "run.partial.csv"));
}

TEST(Loopback, more_missed_deadlines_than_allowed_are_a_failed_study) {
  const Ran ran = run_program(
      {"simulate", rc, "--realtime", "--step", "1ns", "--stop", "1us", "--max-miss", "3", "--json"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("T410: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("deadlines were missed, and --max-miss allows 3"), std::string::npos) << ran.err;
  EXPECT_GT(json::parse(ran.out).at("realtime").at("missed").get<int>(), 3);
  EXPECT_EQ(json::parse(ran.out).at("realtime").at("periods"), 1000);
  const Ran slow = run_program({"simulate", rc, "--realtime", "--step", "50ms", "--stop", "200ms"});
  EXPECT_EQ(slow.code, 0) << slow.err;
  EXPECT_NE(slow.out.find("4 periods of 50 ms in real time, "), std::string::npos) << slow.out;
}

TEST(Loopback, the_page_s_example_in_c_compiles) {
  const TestFolder folder;
  const std::string page = get(root / "docs/realtime.md");
  const std::size_t begin = page.find("```c\n") + 5, end = page.find("```\n", begin);
  ASSERT_LT(begin, end);
  put(folder / "example.c", page.substr(begin, end - begin));
  const std::string command = "cc -std=c99 -Wall -Wextra -Werror -fsyntax-only -I'" +
                              (root / "runtime").string() + "' '" + (folder / "example.c").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace tellegen
