#include "tellegen/realtime/exchange.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "runtime/tellegen_packet.h"
#include "tellegen/model/fault.h"

namespace tellegen {
namespace {

// More in one period is a flood; the rest waits for the next.
constexpr int most_packets = 1024;

ModelError fault(const char* code, std::string message, std::vector<std::string> details) {
  Fault fault;
  fault.code = code;
  fault.message = std::move(message);
  fault.details = std::move(details);
  return ModelError(std::move(fault));
}

ModelError not_an_address(const std::string& text, std::string why) {
  return fault("T550", fmt::format("'{}' is not an address: {}", text, why),
               {"known: udp:PORT on this machine, udp:HOST:PORT, udp:[IPV6]:PORT, unix:PATH"});
}

ModelError cannot_open(const Address& address, const char* to, std::string advice = {}) {
  std::vector<std::string> details;
  if (advice.empty() && errno == EADDRINUSE) advice = "another program has it: end that, or take another";
  if (advice.empty() && errno == EADDRNOTAVAIL)
    advice = "no interface of this machine has that address; udp:0.0.0.0:PORT takes packets from all";
  if (advice.empty() && errno == EACCES) advice = "ports below 1024 and the folder's permissions need rights";
  if (!advice.empty()) details.push_back(advice);
  return fault("T551", fmt::format("cannot {} '{}': {}", to, address.text, std::strerror(errno)), details);
}

// A socket that a program left behind is taken over; one that is in use, or any other file, is not.
void clear_path(const Address& address) {
  struct stat status;
  if (lstat(address.path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) {
    errno = EEXIST;
    throw cannot_open(address, "listen at", "that file is no socket: choose another name");
  }
  const int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int joined = connect(probe, reinterpret_cast<const sockaddr*>(&address.name), address.size);
  const bool dead = joined != 0 && errno == ECONNREFUSED;
  ::close(probe);
  if (dead) unlink(address.path.c_str());
}

}  // namespace

Address::Address(const std::string& given) : text(given) {
  std::string_view rest = text;
  if (rest.starts_with("unix:")) {
    path = rest.substr(5);
    auto& local = reinterpret_cast<sockaddr_un&>(name);
    if (path.empty()) throw not_an_address(text, "the path is missing");
    if (path.size() >= sizeof local.sun_path)
      throw not_an_address(text,
                           fmt::format("a socket's path has at most {} bytes", sizeof local.sun_path - 1));
    local.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), local.sun_path);
    size = sizeof local;
    return;
  }
  if (!rest.starts_with("udp:")) throw not_an_address(text, "it begins with neither udp: nor unix:");
  rest.remove_prefix(4);
  std::string host = "127.0.0.1";
  if (const auto colon = rest.rfind(':'); colon != std::string_view::npos) {
    host = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  }
  const std::string port(rest);
  const bool digits = !port.empty() && port.size() < 6 && port.find_first_not_of("0123456789") == port.npos;
  if (!digits || std::stoi(port) < 1 || std::stoi(port) > 65535)
    throw not_an_address(text, fmt::format("'{}' is not a port, 1 to 65535", port));
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int wrong = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); wrong != 0)
    throw not_an_address(text, fmt::format("'{}': {}", host, gai_strerror(wrong)));
  std::memcpy(&name, found->ai_addr, found->ai_addrlen);
  size = found->ai_addrlen;
  freeaddrinfo(found);
}

bool SequenceCheck::fresh(std::uint64_t sequence, PacketCounts& counts) {
  constexpr std::uint64_t window = 64, far = std::uint64_t{1} << 32;
  const bool behind = newest_ >= window && sequence <= newest_ - window;
  const bool ahead_by_far = newest_ > 0 && sequence > newest_ && sequence - newest_ >= far;
  if (newest_ == 0 || behind || ahead_by_far) {
    counts.restarts += newest_ != 0;
    newest_ = sequence;
    seen_ = ~std::uint64_t{0};  // what came before nobody listened is not lost
    return true;
  }
  if (sequence > newest_) {
    const std::uint64_t ahead = sequence - newest_;
    counts.lost += static_cast<std::int64_t>(ahead - 1);
    seen_ = ahead < window ? seen_ << ahead | 1 : 1;
    newest_ = sequence;
    return true;
  }
  const std::uint64_t bit = std::uint64_t{1} << (newest_ - sequence);
  if (seen_ & bit) {
    ++counts.duplicate;
  } else {
    seen_ |= bit;
    ++counts.late;
    --counts.lost;
  }
  return false;
}

Exchange::Exchange(std::optional<Address> listen, std::optional<Address> send, std::size_t inputs,
                   std::size_t outputs, AllowedSender allowed, bool missing)
    : listen_(std::move(listen)),
      send_(std::move(send)),
      inputs_(inputs),
      arriving_(inputs),
      in_bytes_(TELLEGEN_PACKET_SIZE(inputs)),
      out_bytes_(TELLEGEN_PACKET_SIZE(outputs)),
      anybody_(allowed.who == AllowedSender::Who::anybody),
      missing_(missing) {
  if (allowed.address) {
    pinned_ = true;
    sender_ = {allowed.address->name, allowed.address->size, 0};
  }
  for (const auto& [count, what] : {std::pair{inputs, "inputs"}, {outputs, "outputs"}})
    if (count > TELLEGEN_PACKET_MAX_VALUES)
      throw fault("T552", fmt::format("{} {} do not fit into a packet", count, what),
                  {fmt::format("it holds {}: choose some with --{}", TELLEGEN_PACKET_MAX_VALUES,
                               what == std::string_view("inputs") ? "external" : "outputs")});
  try {
    open();
  } catch (...) {
    close();
    throw;
  }
}

void Exchange::open() {
  if (listen_) {
    in_ = socket(listen_->name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (in_ < 0) throw cannot_open(*listen_, "open");
    const int on = 1;
    if (!listen_->path.empty()) clear_path(*listen_);
    if (!listen_->path.empty()) setsockopt(in_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    if (bind(in_, reinterpret_cast<const sockaddr*>(&listen_->name), listen_->size) != 0)
      throw cannot_open(*listen_, "listen at");
    bound_path_ = !listen_->path.empty();
  }
  if (!send_) return;
  // The same socket where it can be: the other side then sees packets come from where it sends its own.
  const bool same = listen_ && listen_->name.ss_family == send_->name.ss_family;
  out_ = same ? in_ : socket(send_->name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (out_ < 0) throw cannot_open(*send_, "open");
}

void Exchange::close() {
  if (bound_path_) unlink(listen_->path.c_str());
  if (out_ >= 0 && out_ != in_) ::close(out_);
  if (in_ >= 0) ::close(in_);
}

Exchange::~Exchange() { close(); }

bool Exchange::same(const Sender& a, const Sender& b) {
  if (a.name.ss_family != b.name.ss_family) return false;
  if (a.name.ss_family == AF_INET) {
    const auto &one = reinterpret_cast<const sockaddr_in&>(a.name),
               &two = reinterpret_cast<const sockaddr_in&>(b.name);
    return one.sin_port == two.sin_port && one.sin_addr.s_addr == two.sin_addr.s_addr;
  }
  if (a.name.ss_family == AF_INET6) {
    const auto &one = reinterpret_cast<const sockaddr_in6&>(a.name),
               &two = reinterpret_cast<const sockaddr_in6&>(b.name);
    return one.sin6_port == two.sin6_port && std::memcmp(&one.sin6_addr, &two.sin6_addr, 16) == 0;
  }
  const auto &one = reinterpret_cast<const sockaddr_un&>(a.name),
             &two = reinterpret_cast<const sockaddr_un&>(b.name);
  if (one.sun_path[0] == '\0' && two.sun_path[0] == '\0') return a.process == b.process;
  return std::strncmp(one.sun_path, two.sun_path, sizeof one.sun_path) == 0;
}

bool Exchange::allowed(const Sender& sender) {
  if (anybody_ || !pinned_ || same(sender, sender_)) return true;
  if (counts_.foreign++ == 0) first_foreign_ = sender;
  return false;
}

std::string Exchange::foreign_sender() const {
  if (counts_.foreign == 0) return "";
  if (first_foreign_.name.ss_family == AF_UNIX) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(first_foreign_.name);
    if (local.sun_path[0] != '\0') return fmt::format("unix:{}", local.sun_path);
    return first_foreign_.process > 0 ? fmt::format("process {}", first_foreign_.process) : "";
  }
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&first_foreign_.name), first_foreign_.size, host,
                  sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV | NI_DGRAM) != 0)
    return "";
  const bool six = first_foreign_.name.ss_family == AF_INET6;
  return fmt::format("udp:{}{}{}:{}", six ? "[" : "", host, six ? "]" : "", port);
}

bool Exchange::receive() {
  if (in_ < 0) return false;
  bool any = false;
  for (int k = 0; k < most_packets; ++k) {
    Sender sender;
    iovec into{in_bytes_.data(), in_bytes_.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    msghdr message{};
    message.msg_name = &sender.name;
    message.msg_namelen = sizeof sender.name;
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(in_, &message, MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    sender.size = message.msg_namelen;
    if (!listen_->path.empty()) sender.name.ss_family = AF_UNIX;  // one without a name has no family either
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
      if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
        ucred who;
        std::memcpy(&who, CMSG_DATA(c), sizeof who);
        sender.process = who.pid;
      }
    if (!allowed(sender)) continue;
    tellegen_packet head;
    const auto room = static_cast<unsigned>(arriving_.size());
    const bool good = static_cast<std::size_t>(size) == in_bytes_.size() &&
                      tellegen_packet_read(in_bytes_.data(), in_bytes_.size(), &head, arriving_.data(), room);
    if (!good || !std::all_of(arriving_.begin(), arriving_.end(),
                              [&](double v) { return std::isfinite(v) || (missing_ && std::isnan(v)); })) {
      ++counts_.malformed;
      continue;
    }
    if (!anybody_ && !pinned_) {
      pinned_ = true;
      sender_ = sender;
    }
    if (!sequence_.fresh(head.sequence, counts_)) continue;
    ++counts_.received;
    counts_.superseded += any;
    any = true;
    in_force_ = head.sequence;
    std::copy(arriving_.begin(), arriving_.end(), inputs_.begin());
  }
  counts_.held += !any && in_force_ != 0;
  return any;
}

void Exchange::send(double time, std::span<const double> outputs) {
  if (out_ < 0) return;
  const tellegen_packet head{++sent_, time, in_force_, static_cast<unsigned>(outputs.size())};
  const std::size_t size = tellegen_packet_write(out_bytes_.data(), &head, outputs.data());
  const ssize_t done = sendto(out_, out_bytes_.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&send_->name), send_->size);
  ++(done == static_cast<ssize_t>(size) ? counts_.sent : counts_.unsent);
}

}  // namespace tellegen
