#include "tellegen/program/run_compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern char** environ;

namespace tellegen {
namespace fs = std::filesystem;

fs::path find_program(std::string_view name) {
  const auto runs = [](const fs::path& path) { return access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string_view::npos) return runs(name) ? fs::path(name) : fs::path();
  const char* given = std::getenv("PATH");
  const std::string path = given ? given : "";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path candidate = fs::path(path.substr(begin, end - begin)) / name;
    if (runs(candidate)) return candidate;
    begin = end + 1;
  }
  return {};
}

fs::path find_compiler() {
  const char* given = std::getenv("TELLEGEN_COMPILER");
  const std::string wanted = given ? given : "";
  if (wanted == "none") return {};
  return find_program(wanted.empty() ? "cc" : wanted);
}

bool run_quietly(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Two independent 64-bit FNV-1a hashes: collisions are not a concern at the size of a kernel cache.
std::string content_hash(std::string_view text) {
  std::uint64_t a = 0xcbf29ce484222325ull, b = 0x84222325cbf29ce4ull;
  for (unsigned char c : text) {
    a = (a ^ c) * 0x100000001b3ull;
    b = (b ^ c ^ (a >> 32)) * 0x100000001b3ull;
  }
  return fmt::format("{:016x}{:016x}", a, b);
}

}  // namespace tellegen
