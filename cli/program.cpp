#include "cli/program.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/arguments.h"
#include "tellegen/results/atomic_file.h"
#include "tellegen/simulate/initial.h"

namespace tellegen {
namespace {

int fail(int code, const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", text);
  return code;
}

// With --json faults are JSON too: on standard output, or beside the file that it names, which stays as it
// is.
void write_json_faults(const ModelError& error, int count, char** arguments) {
  const std::string_view command = count > 1 ? arguments[1] : "";
  for (int k = 2; k < count; ++k) {
    const std::string_view argument = arguments[k];
    if (argument != "--json" && !argument.starts_with("--json=")) continue;
    std::string_view file = argument.starts_with("--json=") ? argument.substr(7) : "";
    if (file.empty() && k + 1 < count && std::string_view(arguments[k + 1]).ends_with(".json"))
      file = arguments[k + 1];
    nlohmann::ordered_json json{{"command", command}, {"faults", nlohmann::ordered_json::array()}};
    for (const Fault& fault : error.faults())
      json["faults"].push_back({{"file", fault.place.file},
                                {"line", fault.place.line},
                                {"code", fault.code},
                                {"message", fault.message},
                                {"details", fault.details}});
    const std::string text =
        json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    if (file.empty() || is_stream(file))
      std::fwrite(text.data(), 1, text.size(), stdout);
    else
      try {
        write_file(partial_path(file), text);
      } catch (const ModelError&) {  // standard error has them too
      }
    return;
  }
}

// --library goes with every command, wherever it stands: before anything is read.
std::vector<char*> take_library(int count, char** arguments) {
  std::vector<char*> words;
  for (int k = 0; k < count; ++k) {
    const std::string_view word = arguments[k];
    std::string folder;
    if (word == "--library" && k + 1 < count)
      folder = arguments[++k];
    else if (word.starts_with("--library="))
      folder = word.substr(10);
    if (folder.empty()) {
      words.push_back(arguments[k]);
      continue;
    }
    const char* listed = std::getenv("TELLEGEN_LIBRARY");
    if (listed && *listed) folder += std::string(":") + listed;
    setenv("TELLEGEN_LIBRARY", folder.c_str(), 1);
  }
  words.push_back(nullptr);
  return words;
}

// What was printed has arrived: a full disk is found here at the latest.
int finished() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return 0;
  const int reason = errno;
  fmt::print(stderr, "tellegen: T402: cannot write to standard output: {}\n", std::strerror(reason));
  return 1;
}

// The program with the options of all commands, or of one.
std::unique_ptr<CLI::App> make_app(std::span<const Command> commands, std::string_view one = "") {
  auto app = std::make_unique<CLI::App>("Tellegen: simulation of physical systems by their linear graph",
                                        "tellegen");
  app->set_version_flag("--version", "tellegen " TELLEGEN_VERSION);
  app->get_formatter()->column_width(34);
  for (const auto& [label, said] : {std::pair{"OPTIONS", "options"},
                                    {"SUBCOMMAND", "COMMAND"},

                                    {"Positionals", "Arguments"},
                                    {"REQUIRED", ""},
                                    {"TEXT", ""}})
    app->get_formatter()->label(label, said);
  app->footer(
      "tellegen COMMAND --help shows what a command takes.\n"
      "Quantities carry units: 1ms, \"30.47 mK/W\"; a bare number is SI.\n"
      "Exit code: 0 done, 1 the study failed, 2 the input was wrong.\n");
  app->add_option("--library",  // for the help; take_library() has read it
                  "a folder of kinds of one's own, beside the library; also $TELLEGEN_LIBRARY")
      ->type_name("FOLDER");
  for (const Command& command : commands) {
    CLI::App& added = *app->add_subcommand(command.name, command.summary)->group("Commands");
    if (one.empty() || one == command.name) command.add(added);
  }
  return app;
}

// Of a command line that cannot be read: what was meant may be an option of another command.
ModelError fault_of(std::span<const Command> commands, int count, char** arguments) {
  const auto app = make_app(commands);
  try {
    app->parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return parse_fault(*app, error);
  }
  throw std::logic_error("a command line was read the second time only");
}

// Adding the options of all commands takes longer than a small run.
std::string_view only_command(std::span<const Command> commands, int count, char** arguments) {
  const std::string_view word = count > 1 ? arguments[1] : "";
  for (const Command& command : commands)
    if (word == command.name && !command.about_all) return word;
  return "";
}

}  // namespace

int run_program(std::span<const Command> commands, int count, char** arguments) {
  std::vector<char*> words = take_library(count, arguments);
  count = static_cast<int>(words.size()) - 1;
  arguments = words.data();
  const auto app = make_app(commands, only_command(commands, count, arguments));
  if (count == 1) return fail(2, app->help());
  try {
    app->parse(count, arguments);
    return finished();
  } catch (const CLI::Success& asked) {  // --help, --version
    app->exit(asked);
    return finished();
  } catch (const CLI::ParseError&) {
    const ModelError fault = fault_of(commands, count, arguments);
    write_json_faults(fault, count, arguments);
    return fail(2, fault.what());
  } catch (const StudyError& error) {
    return fail(1, error.what());
  } catch (const SimulationError& error) {
    return fail(1, fmt::format("T410: {}", error.what()));
  } catch (const WriteError& error) {
    write_json_faults(error, count, arguments);
    return fail(1, error.what());
  } catch (const ModelError& error) {
    // `check` has done so, with what it knows of the file.
    if (std::string_view(arguments[1]) != "check") write_json_faults(error, count, arguments);
    return fail(2, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(2, error.what());
  } catch (const std::system_error& error) {  // fmt could not write
    return fail(1,
                fmt::format("tellegen: T402: cannot write to standard output: {}", error.code().message()));
  } catch (const std::exception& error) {
    return fail(2, error.what());
  }
}

}  // namespace tellegen
