// Runs the built program as a user would: without a shell, with what it says and how it ends.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tellegen/results/test_folder.h"

extern char** environ;

namespace tellegen {

extern const char* const tested_program;
extern const char* const rc_drive_program;

struct Ran {
  int code = -1;
  std::string out, err;
};

// A program that runs meanwhile.
struct Running {
  pid_t child = 0;
  std::string out, err;  // files
};

inline Running start_program(std::vector<std::string> arguments,
                             const std::string& program = tested_program) {
  static int count = 0;
  const auto base = std::filesystem::path(testing::TempDir()) /
                    ("tellegen-run-" + std::to_string(getpid()) + "-" + std::to_string(count++));
  Running running{0, base.string() + ".out", base.string() + ".err"};
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, running.out.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, running.err.c_str(), flags, 0600);
  arguments.insert(arguments.begin(), program);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  if (posix_spawn(&running.child, program.c_str(), &actions, nullptr, words.data(), environ) != 0)
    running.child = 0;
  posix_spawn_file_actions_destroy(&actions);
  return running;
}

inline Ran wait_for(const Running& running) {
  Ran ran;
  if (running.child != 0) {
    int status = 0;
    waitpid(running.child, &status, 0);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  ran.out = get(running.out);
  ran.err = get(running.err);
  std::filesystem::remove(running.out);
  std::filesystem::remove(running.err);
  return ran;
}

inline Ran run_program(std::vector<std::string> arguments) {
  return wait_for(start_program(std::move(arguments)));
}

}  // namespace tellegen
