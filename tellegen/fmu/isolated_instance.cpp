// An FMU in a child process, so that a crash of the FMU is a fault and not the end of everything.
//
// The child serves one request at a time over a pair of sockets. A request is a letter, the number of
// variables, their numbers, and values or a text; a reply is a letter and values or a text. Both sides are
// the same program, so numbers cross as they lie in memory.
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <numeric>
#include <utility>

#include "tellegen/fmu/instances.h"

namespace tellegen {
namespace {

enum class Request : std::int32_t { set, set_text, get, text, enter, exit, step, end };
enum class Reply : std::int32_t { good, fault, over };  // over: the FMU wants to end

struct Lost {};  // the other side has gone

class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}
  ~Channel() { close(socket_); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void write(const void* data, std::size_t bytes) {
    for (const char* p = static_cast<const char*>(data); bytes > 0;) {
      const ssize_t done = send(socket_, p, bytes, MSG_NOSIGNAL);
      if (done <= 0) throw Lost();
      p += done;
      bytes -= static_cast<std::size_t>(done);
    }
  }
  void read(void* data, std::size_t bytes) {
    for (char* p = static_cast<char*>(data); bytes > 0;) {
      const ssize_t done = recv(socket_, p, bytes, 0);
      if (done <= 0) throw Lost();
      p += done;
      bytes -= static_cast<std::size_t>(done);
    }
  }
  template <class T>
  void write_all(std::span<const T> values) {
    const std::uint64_t count = values.size();
    write(&count, sizeof count);
    write(values.data(), values.size_bytes());
  }
  template <class T>
  std::vector<T> read_all() {
    std::uint64_t count = 0;
    read(&count, sizeof count);
    std::vector<T> values(count);
    read(values.data(), count * sizeof(T));
    return values;
  }

 private:
  int socket_;
};

std::string text_of(const std::vector<char>& bytes) { return {bytes.begin(), bytes.end()}; }
std::span<const char> bytes_of(const std::string& text) { return {text.data(), text.size()}; }

std::size_t elements(const FmuDescription& d, std::span<const int> variables) {
  return std::accumulate(variables.begin(), variables.end(), std::size_t{0}, [&](std::size_t n, int v) {
    return n + d.variables[static_cast<std::size_t>(v)].size();
  });
}

// In the child: until the other side says so, or has gone.
void serve(Channel& channel, const FmuDescription& d,
           const std::function<std::unique_ptr<FmuInstance>()>& start) {
  std::unique_ptr<FmuInstance> instance;
  std::vector<double> values;
  std::string text;
  Reply reply = Reply::good;
  const auto answer = [&](const std::function<void()>& act) {
    reply = Reply::good;
    values.clear();
    text.clear();
    try {
      act();
    } catch (const std::exception& error) {
      reply = Reply::fault;
      text = error.what();
    }
    channel.write(&reply, sizeof reply);
    channel.write_all<double>(values);
    channel.write_all<char>(bytes_of(text));
  };
  answer([&] { instance = start(); });
  while (instance) {
    Request request{};
    channel.read(&request, sizeof request);
    const std::vector<int> variables = channel.read_all<int>();
    const std::vector<double> given = channel.read_all<double>();
    const std::string said = text_of(channel.read_all<char>());
    if (request == Request::end) return;
    answer([&] {
      switch (request) {
        case Request::set:
          return instance->set(variables, given);
        case Request::set_text:
          return instance->set_text(variables[0], said);
        case Request::get:
          values.resize(elements(d, variables));
          return instance->get(variables, values);
        case Request::text:
          text = instance->text(variables[0]);
          return;
        case Request::enter:
          return instance->enter_initialization();
        case Request::exit:
          return instance->exit_initialization();
        case Request::step:
          if (!instance->step(given[0], given[1])) reply = Reply::over;
          return;
        case Request::end:
          return;
      }
    });
  }
}

class IsolatedInstance : public FmuInstance {
 public:
  IsolatedInstance(const FmuDescription& d, const std::function<std::unique_ptr<FmuInstance>()>& start) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
      throw FmuError("no process of its own can be had for it: no sockets");
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ < 0) {
      close(sockets[0]);
      close(sockets[1]);
      throw FmuError("no process of its own can be had for it");
    }
    if (child_ == 0) {
      close(sockets[0]);
      // A crash ends this process at once, whoever watches the parent for crashes.
      for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(s, SIG_DFL);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) {
        Channel channel(sockets[1]);
        try {
          serve(channel, d, start);
        } catch (const Lost&) {
        }
      }
      _exit(0);
    }
    close(sockets[1]);
    channel_ = std::make_unique<Channel>(sockets[0]);
    try {
      receive("being instantiated");
    } catch (...) {
      release();
      throw;
    }
  }
  ~IsolatedInstance() override { release(); }

  void set(std::span<const int> variables, std::span<const double> values) override {
    ask(Request::set, variables, values, {}, "a value was set");
  }
  void set_text(int variable, const std::string& value) override {
    ask(Request::set_text, {&variable, 1}, {}, value, "a text was set");
  }
  void get(std::span<const int> variables, std::span<double> values) override {
    ask(Request::get, variables, {}, {}, "values were read");
    std::copy_n(values_.begin(), std::min(values.size(), values_.size()), values.begin());
  }
  std::string text(int variable) override {
    ask(Request::text, {&variable, 1}, {}, {}, "a text was read");
    return text_;
  }
  void enter_initialization() override { ask(Request::enter, {}, {}, {}, "its initialization began"); }
  void exit_initialization() override { ask(Request::exit, {}, {}, {}, "its initialization ended"); }
  bool step(double t, double length) override {
    const double given[] = {t, length};
    return ask(Request::step, {}, given, {}, fmt::format("it made the step to t = {:.9g} s", t + length));
  }

 private:
  // False where the FMU wants to end.
  bool ask(Request request, std::span<const int> variables, std::span<const double> values,
           const std::string& text, const std::string& what) {
    if (child_ <= 0) throw FmuError("its process has ended");
    try {
      channel_->write(&request, sizeof request);
      channel_->write_all(variables);
      channel_->write_all(values);
      channel_->write_all<char>(bytes_of(text));
    } catch (const Lost&) {
      throw FmuError(fmt::format("its process {} while {}", how_it_ended(), what));
    }
    return receive(what);
  }

  bool receive(const std::string& what) {
    Reply reply{};
    try {
      channel_->read(&reply, sizeof reply);
      values_ = channel_->read_all<double>();
      text_ = text_of(channel_->read_all<char>());
    } catch (const Lost&) {
      throw FmuError(fmt::format("its process {} while {}", how_it_ended(), what));
    }
    if (reply == Reply::fault) throw FmuError(text_);
    return reply != Reply::over;
  }

  std::string how_it_ended() {
    int status = 0;
    const pid_t child = std::exchange(child_, -1);
    if (child <= 0 || waitpid(child, &status, 0) != child) return "ended";
    if (WIFSIGNALED(status))
      return fmt::format("crashed (signal {}, {})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }

  void release() {
    if (child_ <= 0) return;
    try {
      const Request end = Request::end;
      const std::uint64_t nothing[] = {0, 0, 0};
      channel_->write(&end, sizeof end);
      channel_->write(nothing, sizeof nothing);
    } catch (const Lost&) {
    }
    channel_.reset();
    waitpid(std::exchange(child_, -1), nullptr, 0);
  }

  pid_t child_ = -1;
  std::unique_ptr<Channel> channel_;
  std::vector<double> values_;
  std::string text_;
};

}  // namespace

std::unique_ptr<FmuInstance> start_isolated(const FmuDescription& description,
                                            const std::function<std::unique_ptr<FmuInstance>()>& start) {
  return std::make_unique<IsolatedInstance>(description, start);
}

}  // namespace tellegen
