// Inputs come in and outputs go out, as datagrams over UDP or a Unix socket (runtime/tellegen_packet.h).
//
// At the start of each period everything that waits is read and the newest packet holds; where none waits,
// or some are lost, the last one holds on. The loop never waits for the other side, in neither direction:
// what cannot be sent at once is counted and forgotten.
//
// Inputs come from one sender: the one named, or the first whose packet is valid. What others send is counted
// and not looked at. A sender is an address and port; of a Unix socket its path, or its process where it has
// none.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

// "udp:5000" (of this machine), "udp:192.168.1.7:5000", "udp:[::1]:5000", "unix:/run/model". Throws
// ModelError: T550.
struct Address {
  explicit Address(const std::string& text);
  std::string text, path;  // path: of a Unix socket
  sockaddr_storage name{};
  socklen_t size = 0;
};

// Who may send inputs.
struct AllowedSender {
  enum class Who { first, anybody, one } who = Who::first;
  std::optional<Address> address;  // of one
};

struct PacketCounts {
  std::int64_t received = 0;    // new ones, in order
  std::int64_t superseded = 0;  // of these: a newer one came in the same period, never in force
  std::int64_t lost = 0;        // left out in the sequence and not come since
  std::int64_t late = 0;        // older than the newest, ignored
  std::int64_t duplicate = 0;   // come before, ignored
  std::int64_t malformed = 0;   // no packet, another count of values, or a value that is not finite
  std::int64_t restarts = 0;    // the sender began anew
  std::int64_t foreign = 0;     // from another sender than the one allowed, not looked at
  std::int64_t held = 0;        // periods after the first packet without a new one
  std::int64_t sent = 0;
  std::int64_t unsent = 0;  // nobody listens, or the other side does not keep up
};

// Which packets of a numbered sequence are new. Numbers begin anywhere; one that is 64 or more behind the
// newest, or 2^32 ahead of it, is a sender that began anew.
class SequenceCheck {
 public:
  bool fresh(std::uint64_t sequence, PacketCounts& counts);

 private:
  std::uint64_t newest_ = 0, seen_ = 0;  // seen_: bit k is newest_ - k
};

class Exchange {
 public:
  // `missing`: a value that is NaN is one that is missing, not a malformed packet. Throws ModelError: T551
  // where a socket cannot be opened, T552 for more values than a packet holds.
  Exchange(std::optional<Address> listen, std::optional<Address> send, std::size_t inputs,
           std::size_t outputs, AllowedSender allowed = {}, bool missing = false);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool listens() const { return in_ >= 0; }
  bool sends() const { return out_ >= 0; }
  bool receive();  // true: inputs() are new
  std::span<const double> inputs() const { return inputs_; }
  void send(double time, std::span<const double> outputs);
  const PacketCounts& counts() const { return counts_; }
  std::string foreign_sender() const;  // the first that was refused; empty: none, or one without a name

 private:
  struct Sender {
    sockaddr_storage name{};
    socklen_t size = 0;
    std::int64_t process = 0;  // 0: not known
  };
  static bool same(const Sender& a, const Sender& b);
  bool allowed(const Sender& sender);
  void open();
  void close();
  std::optional<Address> listen_, send_;
  int in_ = -1, out_ = -1;
  bool bound_path_ = false;
  std::vector<double> inputs_, arriving_;
  std::vector<unsigned char> in_bytes_, out_bytes_;
  std::uint64_t sent_ = 0, in_force_ = 0;  // sequence numbers
  SequenceCheck sequence_;
  PacketCounts counts_;
  bool anybody_ = false, pinned_ = false, missing_ = false;
  Sender sender_, first_foreign_;
};

}  // namespace tellegen
