// What every program of the project does with its command line.
#pragma once

#include <span>

#include "cli/commands.h"

namespace tellegen {

struct Command {
  const char *name, *summary;
  void (*add)(CLI::App& command);
  bool about_all = false;  // it looks at the options of all commands
};

// Reads the command line, runs the command it names, and prints what is wrong. Returns the exit code.
int run_program(std::span<const Command> commands, int count, char** arguments);

}  // namespace tellegen
