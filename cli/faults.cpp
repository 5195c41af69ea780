#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "tellegen/model/reading.h"
#include "tellegen/symbolic/nearest.h"

namespace tellegen {
namespace {

constexpr FaultCode codes[] = {
    {"T400", "an unknown command or option, or one too many"},
    {"T401", "an option without its value, or with one that cannot be read or used"},
    {"T402", "an output that cannot be written"},
    {"T403", "a reference that cannot be read or compared"},
    {"T404", "a motion to be shown, of a model without a mechanism"},
    {"T410", "a study that could not be finished"},
    {"T420", "a run that cannot be exported"},
    {"T570", "a kind that the library does not have"},
    {"T571", "a kind that does not give its worked answer"},
    {"T580", "a `--vary` that cannot be read"},
    {"T581", "a range that cannot be"},
    {"T582", "nothing varies, or one parameter twice"},
    {"T583", "a design that does not exist, or that the other options do not fit"},
    {"T584", "the journal beside the output belongs to another study"},
    {"T585", "the journal beside the output is in use"},
    {"T586", "several processes in a build without MPI"},
    {"T587", "a study without anything to evaluate"},
    {"T588", "a requirement that cannot be read, or names what a sample does not have"},
};

// Member by member: GCC 12 suspects uninitialised strings in the aggregate.
Fault fault_at(std::string_view file, std::string_view code, std::string message,
               std::vector<std::string> details) {
  Fault fault;
  fault.place.file = file;
  fault.code = code;
  fault.message = std::move(message);
  fault.details = std::move(details);
  std::erase(fault.details, "");
  return fault;
}

// The innermost command that was given, with its whole name: "tellegen benchmark circuits".
struct Given {
  const CLI::App* command;
  std::string name;
};

Given given_command(const CLI::App& app) {
  Given given{&app, app.get_name()};
  for (auto inner = app.get_subcommands(); !inner.empty(); inner = inner.front()->get_subcommands())
    given = {inner.front(), given.name + " " + inner.front()->get_name()};
  return given;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// What other programs have as an option, and where it is here.
struct Elsewhere {
  std::string_view option, where;
};
constexpr std::string_view harmonics =
    "harmonics are those of a netlist: .four 50 v(out), which tellegen simulate runs";
constexpr Elsewhere elsewhere[] = {{"--fft", harmonics},
                                   {"--fourier", harmonics},
                                   {"--spectrum", harmonics},
                                   {"--harmonics", harmonics},
                                   {"--thd", harmonics}};

// The option that was meant, or where there is one like it.
std::string meant_option(const CLI::App& app, const CLI::App& command, const std::string& option) {
  for (const Elsewhere& known : elsewhere)
    if (known.option == option) return std::string(known.where);
  // Without the dashes, which all options have in common.
  std::vector<std::string> names = option_names(command);
  for (std::string& name : names) name.erase(0, 2);
  if (option.starts_with("--") && option.size() > 2)
    if (const std::string near = nearest(option.substr(2), names); !near.empty())
      return fmt::format("did you mean '--{}'?", near);
  for (const CLI::App* other : app.get_subcommands([](const CLI::App*) { return true; }))
    if (const auto has = option_names(*other); std::find(has.begin(), has.end(), option) != has.end())
      return fmt::format("{} {} has it", app.get_name(), other->get_name());
  return "";
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

}  // namespace

std::span<const FaultCode> command_fault_codes() { return codes; }

StudyError::StudyError(const std::string& file, const std::string& message,
                       const std::vector<std::string>& details)
    : std::runtime_error(to_text(fault_at(file, "T410", message, details))) {}

ModelError command_fault(std::string_view command, std::string_view code, std::string message,
                         std::vector<std::string> details) {
  return ModelError(fault_at(command, code, std::move(message), std::move(details)));
}

WriteError not_written(std::string_view command, const std::exception& error,
                       std::vector<std::string> details) {
  return WriteError(fault_at(command, "T402", error.what(), std::move(details)));
}

ModelError parse_fault(const CLI::App& app, const CLI::ParseError& error) {
  const auto [command, name] = given_command(app);
  const std::string help = fmt::format("see {} --help", name);
  // A misspelt option also leaves its value over, and maybe the file missing: say only what came first.
  const std::vector<std::string> left = app.remaining(true);
  for (const std::string& word : left)
    if (word.size() > 1 && word[0] == '-') {
      const std::string option = word.substr(0, word.find('='));
      return command_fault(name, "T400", fmt::format("there is no option '{}'", option),
                           {meant_option(app, *command, option), help});
    }
  const std::vector<std::string> known = command_names(*command);
  if (!known.empty()) {
    const std::string commands = fmt::format("commands: {}", joined(known));
    if (left.empty()) return command_fault(name, "T400", "which command?", {commands, help});
    return command_fault(name, "T400", fmt::format("there is no command '{}'", left.front()),
                         {did_you_mean(left.front(), known), commands});
  }
  if (!left.empty())
    return command_fault(name, "T400", fmt::format("'{}' is one argument too many", left.front()), {help});
  return command_fault(name, "T401", error.what(), {help});
}

}  // namespace tellegen
