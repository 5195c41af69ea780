#include "tellegen/realtime/exchange.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "runtime/tellegen_packet.h"
#include "tellegen/model/fault.h"

namespace tellegen {
namespace exchange_test {

namespace fs = std::filesystem;
using Bytes = std::vector<unsigned char>;

Bytes packet(std::uint64_t sequence, const std::vector<double>& values, std::uint64_t echo = 0) {
  Bytes bytes(TELLEGEN_PACKET_SIZE(values.size()));
  const tellegen_packet head{sequence, 0.25, echo, static_cast<unsigned>(values.size())};
  EXPECT_EQ(tellegen_packet_write(bytes.data(), &head, values.data()), bytes.size());
  return bytes;
}

bool reads(const Bytes& bytes) {
  tellegen_packet head{};
  double values[4];
  return tellegen_packet_read(bytes.data(), bytes.size(), &head, values, 4) == 1;
}

std::string code_of(const auto& call) {
  try {
    call();
  } catch (const ModelError& error) {
    return error.faults().at(0).code;
  }
  return "";
}

TEST(Packet, what_is_written_is_read) {
  const std::vector<double> values{1.5, -0.0, 1e-310, std::numeric_limits<double>::infinity()};
  const Bytes bytes = packet(0x0102030405060708, values, 99);
  tellegen_packet head{};
  double back[4];
  ASSERT_EQ(tellegen_packet_read(bytes.data(), bytes.size(), &head, back, 4), 1);
  EXPECT_EQ(head.sequence, 0x0102030405060708u);
  EXPECT_EQ(head.echo, 99u);
  EXPECT_EQ(head.time, 0.25);
  EXPECT_EQ(head.count, 4u);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(back[k], values[k]);
  EXPECT_TRUE(std::signbit(back[1]));
}

// By hand from the table in the header: a change of the layout is a change of the version.
TEST(Packet, the_layout_is_as_documented) {
  EXPECT_EQ(packet(0x0a0b, {1.0}, 7),
            (Bytes{'T', 'L', 'G',  'N',  1, 0, 1, 0, 0x0b, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,
                   0,   0,   0xd0, 0x3f, 7, 0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}));
}

TEST(Packet, what_is_malformed_is_not_read) {
  const Bytes good = packet(1, {1.0, 2.0});
  EXPECT_TRUE(reads(good));
  EXPECT_FALSE(reads({}));
  for (const auto& [at, value] :
       {std::pair{0, 'X'}, {4, char{2}}, {6, char{1}}, {6, char{3}}, {8, char{0}}}) {
    Bytes bad = good;
    bad[static_cast<std::size_t>(at)] = static_cast<unsigned char>(value);
    EXPECT_FALSE(reads(bad)) << at;
  }
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(reads(Bytes(good.begin(), good.begin() + static_cast<long>(size))));
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(reads(longer));
  EXPECT_FALSE(reads(packet(1, {1, 2, 3, 4, 5})));  // more than there is room for
}

TEST(Sequence, gaps_are_lost_until_they_come_late) {
  SequenceCheck check;
  PacketCounts counts;
  for (const std::uint64_t s : {10, 11, 15}) EXPECT_TRUE(check.fresh(s, counts));
  EXPECT_EQ(counts.lost, 3);  // 12, 13, 14; what was sent before the first is none of ours
  EXPECT_FALSE(check.fresh(13, counts));
  EXPECT_EQ(counts.late, 1);
  EXPECT_EQ(counts.lost, 2);
  for (const std::uint64_t s : {13, 15, 10}) EXPECT_FALSE(check.fresh(s, counts));
  EXPECT_EQ(counts.duplicate, 3);
  EXPECT_EQ(counts.late, 1);
  EXPECT_EQ(counts.lost, 2);
  EXPECT_EQ(counts.restarts, 0);
}

TEST(Sequence, a_sender_that_begins_anew_is_heard) {
  SequenceCheck check;
  PacketCounts counts;
  EXPECT_TRUE(check.fresh(1000, counts));
  EXPECT_FALSE(check.fresh(1000 - 63, counts));
  EXPECT_TRUE(check.fresh(1, counts));
  EXPECT_TRUE(check.fresh(2, counts));
  EXPECT_EQ(counts.restarts, 1);
  EXPECT_EQ(counts.lost, 0);
  EXPECT_TRUE(check.fresh(std::numeric_limits<std::uint64_t>::max(), counts));
  EXPECT_EQ(counts.restarts, 2);
  EXPECT_EQ(counts.lost, 0);
  EXPECT_TRUE(check.fresh(3, counts));
  EXPECT_EQ(counts.restarts, 3);
}

TEST(Sequence, a_long_gap_is_counted_in_full) {
  SequenceCheck check;
  PacketCounts counts;
  EXPECT_TRUE(check.fresh(1, counts));
  EXPECT_TRUE(check.fresh(1002, counts));
  EXPECT_EQ(counts.lost, 1000);
  EXPECT_FALSE(check.fresh(1001, counts));
  EXPECT_EQ(counts.lost, 999);
}

// A folder for sockets; their paths are short by nature.
struct Wire {
  Wire() {
    char name[] = "/tmp/tellegen-wire-XXXXXX";
    folder = mkdtemp(name);
  }
  ~Wire() {
    if (socket_ >= 0) close(socket_);
    fs::remove_all(folder);
  }
  Address at(const std::string& name) const { return Address("unix:" + (folder / name).string()); }

  // The other side, at "there".
  int socket_ = -1;
  void open() {
    const Address own = at("there");
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ASSERT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&own.name), own.size), 0);
  }
  void put(const Bytes& bytes) const {
    const Address to = at("here");
    ASSERT_EQ(
        sendto(socket_, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to.name), to.size),
        static_cast<ssize_t>(bytes.size()));
  }
  fs::path folder;
};

TEST(Exchange, the_newest_packet_is_in_force_and_holds) {
  Wire wire;
  wire.open();
  Exchange exchange(wire.at("here"), std::nullopt, 2, 0);
  EXPECT_FALSE(exchange.receive());
  EXPECT_EQ(exchange.counts().held, 0);  // nothing to hold yet
  for (const std::uint64_t s : {1, 2, 4, 3}) wire.put(packet(s, {1.0 * static_cast<double>(s), 7.0}));
  EXPECT_TRUE(exchange.receive());
  EXPECT_EQ(exchange.inputs()[0], 4.0);
  EXPECT_EQ(exchange.inputs()[1], 7.0);
  EXPECT_FALSE(exchange.receive());
  EXPECT_EQ(exchange.inputs()[0], 4.0);
  const PacketCounts& counts = exchange.counts();
  EXPECT_EQ(counts.received, 3);
  EXPECT_EQ(counts.superseded, 2);
  EXPECT_EQ(counts.late, 1);
  EXPECT_EQ(counts.lost, 0);
  EXPECT_EQ(counts.held, 1);
}

TEST(Exchange, what_is_malformed_changes_nothing) {
  Wire wire;
  wire.open();
  Exchange exchange(wire.at("here"), std::nullopt, 2, 0);
  wire.put(packet(1, {1.0, 2.0}));
  wire.put({'h', 'e', 'l', 'l', 'o'});
  wire.put(packet(2, {1.0}));
  wire.put(packet(3, {1.0, 2.0, 3.0}));
  wire.put(packet(4, {1.0, std::nan("")}));
  wire.put(packet(5, {std::numeric_limits<double>::infinity(), 0.0}));
  wire.put(Bytes(5000, 'x'));
  EXPECT_TRUE(exchange.receive());
  EXPECT_EQ(exchange.inputs()[0], 1.0);
  EXPECT_EQ(exchange.inputs()[1], 2.0);
  EXPECT_EQ(exchange.counts().malformed, 6);
  EXPECT_EQ(exchange.counts().received, 1);
  EXPECT_EQ(exchange.counts().superseded, 0);
}

TEST(Exchange, inputs_come_from_one_sender_and_others_are_counted) {
  Wire wire;
  wire.open();
  const int second = socket(AF_UNIX, SOCK_DGRAM, 0);
  const Address own = wire.at("second"), here = wire.at("here");
  ASSERT_EQ(bind(second, reinterpret_cast<const sockaddr*>(&own.name), own.size), 0);
  const auto put_second = [&](const Bytes& bytes) {
    ASSERT_GT(sendto(second, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&here.name),
                     here.size),
              0);
  };
  {
    Exchange exchange(here, std::nullopt, 1, 0);
    put_second({'n', 'o'});  // no packet: pins nobody
    wire.put(packet(1, {1.0}));
    put_second(packet(2, {99.0}));
    EXPECT_TRUE(exchange.receive());
    EXPECT_EQ(exchange.inputs()[0], 1.0);
    put_second(packet(3, {99.0}));
    EXPECT_FALSE(exchange.receive());
    wire.put(packet(2, {2.0}));
    EXPECT_TRUE(exchange.receive());
    EXPECT_EQ(exchange.inputs()[0], 2.0);
    EXPECT_EQ(exchange.counts().foreign, 2);
    EXPECT_EQ(exchange.counts().received, 2);
    EXPECT_EQ(exchange.counts().lost, 0);
    EXPECT_EQ(exchange.foreign_sender(), own.text);
  }
  {
    Exchange exchange(here, std::nullopt, 1, 0, {AllowedSender::Who::one, own});
    wire.put(packet(1, {1.0}));
    EXPECT_FALSE(exchange.receive());
    put_second(packet(1, {5.0}));
    EXPECT_TRUE(exchange.receive());
    EXPECT_EQ(exchange.inputs()[0], 5.0);
  }
  {
    Exchange exchange(here, std::nullopt, 1, 0, {AllowedSender::Who::anybody, {}});
    wire.put(packet(1, {1.0}));
    put_second(packet(2, {5.0}));
    EXPECT_TRUE(exchange.receive());
    EXPECT_EQ(exchange.inputs()[0], 5.0);
    EXPECT_EQ(exchange.counts().foreign, 0);
  }
  close(second);
}

TEST(Exchange, outputs_say_which_inputs_were_in_force) {
  Wire wire;
  wire.open();
  Exchange exchange(wire.at("here"), wire.at("there"), 1, 2);
  const double row[] = {3.0, 4.0};
  exchange.send(0.0, row);
  wire.put(packet(41, {1.0}));
  EXPECT_TRUE(exchange.receive());
  exchange.send(0.5, row);
  for (const auto& [sequence, echo, time] : {std::tuple{1u, 0u, 0.0}, {2u, 41u, 0.5}}) {
    unsigned char bytes[100];
    tellegen_packet head{};
    double values[2];
    const ssize_t size = recv(wire.socket_, bytes, sizeof bytes, 0);
    ASSERT_EQ(size, 48);
    ASSERT_EQ(tellegen_packet_read(bytes, 48, &head, values, 2), 1);
    EXPECT_EQ(head.sequence, sequence);
    EXPECT_EQ(head.echo, echo);
    EXPECT_EQ(head.time, time);
    EXPECT_EQ(values[1], 4.0);
  }
  EXPECT_EQ(exchange.counts().sent, 2);
}

TEST(Exchange, nobody_there_is_counted_and_no_fault) {
  Wire wire;
  Exchange exchange(std::nullopt, wire.at("there"), 0, 1);
  const double row[] = {3.0};
  exchange.send(0.0, row);
  EXPECT_EQ(exchange.counts().unsent, 1);
  wire.open();
  exchange.send(0.5, row);
  EXPECT_EQ(exchange.counts().sent, 1);
}

TEST(Exchange, a_socket_left_behind_is_taken_over_but_nothing_else) {
  Wire wire;
  wire.open();
  EXPECT_EQ(code_of([&] { Exchange(wire.at("there"), std::nullopt, 1, 0); }), "T551");  // in use
  close(wire.socket_);
  wire.socket_ = -1;
  {
    Exchange exchange(wire.at("there"), std::nullopt, 1, 0);
    EXPECT_TRUE(fs::exists(wire.folder / "there"));
  }
  EXPECT_FALSE(fs::exists(wire.folder / "there"));  // and removed at the end
  std::ofstream(wire.folder / "notes.txt") << "mine";
  EXPECT_EQ(code_of([&] { Exchange(wire.at("notes.txt"), std::nullopt, 1, 0); }), "T551");
  EXPECT_TRUE(fs::exists(wire.folder / "notes.txt"));
  EXPECT_EQ(code_of([&] { Exchange(wire.at("none/s"), std::nullopt, 1, 0); }), "T551");
}

TEST(Exchange, a_udp_port_belongs_to_one) {
  const int other = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  ASSERT_EQ(bind(other, reinterpret_cast<sockaddr*>(&name), size), 0);
  ASSERT_EQ(getsockname(other, reinterpret_cast<sockaddr*>(&name), &size), 0);
  const Address address("udp:" + std::to_string(ntohs(name.sin_port)));
  EXPECT_EQ(code_of([&] { Exchange(address, std::nullopt, 1, 0); }), "T551");
  close(other);
  EXPECT_EQ(code_of([&] { Exchange(address, std::nullopt, 1, 0); }), "");
}

TEST(Exchange, a_packet_has_room_for_so_many) {
  EXPECT_EQ(code_of([] { Exchange(std::nullopt, std::nullopt, 1, 8184); }), "");
  EXPECT_EQ(code_of([] { Exchange(std::nullopt, std::nullopt, 1, 8185); }), "T552");
  EXPECT_EQ(code_of([] { Exchange(std::nullopt, std::nullopt, 8185, 1); }), "T552");
}

TEST(Address, takes_hosts_ports_and_paths) {
  for (const char* good :
       {"udp:5000", "udp:127.0.0.1:5000", "udp:[::1]:5000", "udp:0.0.0.0:1", "unix:/tmp/x", "unix:x"})
    EXPECT_EQ(code_of([&] { Address a(good); }), "") << good;
  for (const char* bad :
       {"", "5000", "tcp:5000", "udp:", "udp:0", "udp:65536", "udp:50 00", "udp:-1", "udp:host:", "unix:"})
    EXPECT_EQ(code_of([&] { Address a(bad); }), "T550") << bad;
  EXPECT_EQ(code_of([] { Address a("unix:/" + std::string(200, 'x')); }), "T550");
  const Address address("udp:7");
  const auto& name = reinterpret_cast<const sockaddr_in&>(address.name);
  EXPECT_EQ(ntohl(name.sin_addr.s_addr), INADDR_LOOPBACK);
  EXPECT_EQ(ntohs(name.sin_port), 7);
}

}  // namespace exchange_test
}  // namespace tellegen
