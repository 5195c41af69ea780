#include "cli/program.h"

#include <fmt/format.h>

#include <cstdio>

#include "tellegen/simulate/initial.h"

namespace tellegen {
namespace {

int fail(int code, const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", text);
  return code;
}

}  // namespace

int run_program(std::span<const Command> commands, int count, char** arguments) {
  CLI::App app{"Tellegen: simulation of physical systems by their linear graph", "tellegen"};
  app.set_version_flag("--version", "tellegen " TELLEGEN_VERSION);
  app.get_formatter()->column_width(34);
  for (const auto& [label, said] : {std::pair{"OPTIONS", "options"},
                                    {"SUBCOMMAND", "COMMAND"},

                                    {"Positionals", "Arguments"},
                                    {"REQUIRED", ""},
                                    {"TEXT", ""}})
    app.get_formatter()->label(label, said);
  app.footer(
      "tellegen COMMAND --help tells what a command takes.\n"
      "Quantities carry units: 1ms, \"30.47 mK/W\"; a bare number is SI.\n"
      "Exit code: 0 done, 1 the study failed, 2 the input was wrong.\n");
  for (const Command& command : commands)
    command.add(*app.add_subcommand(command.name, command.summary)->group("Commands"));
  if (count == 1) return fail(2, app.help());
  try {
    app.parse(count, arguments);
    return 0;
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return fail(2, parse_fault(app, error).what());
  } catch (const StudyError& error) {
    return fail(1, error.what());
  } catch (const SimulationError& error) {
    return fail(1, fmt::format("T410: {}", error.what()));
  } catch (const std::exception& error) {  // ModelError among them
    return fail(2, error.what());
  }
}

}  // namespace tellegen
