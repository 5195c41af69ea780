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

struct Ran {
  int code = -1;
  std::string out, err;
};

inline Ran run_program(std::vector<std::string> arguments) {
  static int count = 0;
  const auto base = std::filesystem::path(testing::TempDir()) /
                    ("tellegen-run-" + std::to_string(getpid()) + "-" + std::to_string(count++));
  const std::string out = base.string() + ".out", err = base.string() + ".err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  arguments.insert(arguments.begin(), TELLEGEN_PROGRAM);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t child = 0;
  Ran ran;
  if (posix_spawn(&child, TELLEGEN_PROGRAM, &actions, nullptr, words.data(), environ) == 0) {
    int status = 0;
    waitpid(child, &status, 0);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  posix_spawn_file_actions_destroy(&actions);
  ran.out = get(out);
  ran.err = get(err);
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return ran;
}

}  // namespace tellegen
