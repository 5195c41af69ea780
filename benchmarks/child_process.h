// Runs a function in a child process and brings its result back: memory peaks of several runs stay apart.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <type_traits>

namespace tellegen {

// Nothing where the child threw or died; it has then said why on stderr.
template <class Function>
auto run_in_child(Function&& function) -> std::optional<std::invoke_result_t<Function>> {
  using Result = std::invoke_result_t<Function>;
  static_assert(std::is_trivially_copyable_v<Result>);
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]), close(ends[1]);
    return std::nullopt;
  }
  if (child == 0) {
    close(ends[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // does not outlive an interrupted benchmark
    try {
      const Result result = function();
      const char* bytes = reinterpret_cast<const char*>(&result);
      for (std::size_t sent = 0; sent < sizeof result;) {
        const ssize_t count = write(ends[1], bytes + sent, sizeof result - sent);
        if (count <= 0) _exit(1);
        sent += static_cast<std::size_t>(count);
      }
      _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
  }
  close(ends[1]);
  Result result;
  std::size_t received = 0;
  while (received < sizeof result) {
    const ssize_t count =
        read(ends[0], reinterpret_cast<char*>(&result) + received, sizeof result - received);
    if (count <= 0) break;
    received += static_cast<std::size_t>(count);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (received < sizeof result) return std::nullopt;
  return result;
}

// Peak resident memory of this process in MB; 0 where the system does not tell.
inline double peak_megabytes() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

}  // namespace tellegen
