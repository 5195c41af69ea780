// tellegen completion and tellegen manual: what a shell and `man` want to know of the commands, from the same
// texts as --help.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/results/atomic_file.h"

namespace tellegen {
namespace {

struct OptionText {
  std::vector<std::string> names;  // "--step", "-h"; empty: an argument
  std::string name, type, summary;
};

struct CommandText {
  std::string name, summary;
  std::vector<OptionText> options;
};

std::vector<CommandText> texts_of(CLI::App& program) {
  std::vector<CommandText> commands;
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    CommandText& text =
        commands.emplace_back(CommandText{command->get_name(), command->get_description(), {}});
    for (const CLI::Option* option : command->get_options()) {
      OptionText& o = text.options.emplace_back();
      for (const std::string& name : option->get_lnames()) o.names.push_back("--" + name);
      for (const std::string& name : option->get_snames()) o.names.push_back("-" + name);
      o.name = option->get_single_name();
      const std::string type = option->get_type_name();
      o.type = option->get_items_expected_max() == 0 ? ""
               : type == "TEXT" && !o.names.empty()  ? "VALUE"
               : type == "TEXT"                      ? ""
                                                     : type;
      o.summary = option->get_description();
    }
  }
  return commands;
}

std::string joined_names(const CommandText& command) {
  std::string all;
  for (const OptionText& option : command.options)
    for (const std::string& name : option.names) all += (all.empty() ? "" : " ") + name;
  return all;
}

std::string upper_case(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string without(std::string text, std::string_view signs) {
  for (char& c : text)
    if (signs.find(c) != std::string_view::npos) c = ' ';
  return text;
}

std::string for_bash(const std::vector<CommandText>& commands) {
  std::string names, cases;
  for (const CommandText& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command.name, joined_names(command));
  }
  return fmt::format(R"(# source <(tellegen completion bash)
_tellegen() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=""
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "{}" -- "$word"))
    return
  fi
  [[ $word == -* ]] && case ${{COMP_WORDS[1]}} in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _tellegen tellegen
)",
                     names, cases);
}

std::string for_zsh(const std::vector<CommandText>& commands) {
  std::string names, cases;
  for (const CommandText& command : commands) {
    names += fmt::format("    '{}:{}'\n", command.name, without(command.summary, "':"));
    cases += fmt::format("    {}) _arguments", command.name);
    for (const OptionText& option : command.options)
      for (const std::string& name : option.names)
        cases += fmt::format(" '{}{}[{}]{}'", name, option.type.empty() ? "" : "=",
                             without(option.summary, "'[]:"), option.type.empty() ? "" : ":value:_files");
    cases += " '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef tellegen
# tellegen completion zsh > _tellegen, in a folder of $fpath
_tellegen() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
{}  esac
}}
_tellegen "$@"
)",
                     names, cases);
}

std::string for_fish(const std::vector<CommandText>& commands) {
  std::string text = "# tellegen completion fish > ~/.config/fish/completions/tellegen.fish\n";
  for (const CommandText& command : commands) {
    text += fmt::format("complete -c tellegen -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                        without(command.summary, "'"));
    for (const OptionText& option : command.options)
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        text += fmt::format("complete -c tellegen -n '__fish_seen_subcommand_from {}' {} {}{} -d '{}'\n",
                            command.name, is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1),
                            option.type.empty() ? "" : " -r", without(option.summary, "'"));
      }
  }
  return text;
}

// Lines of roff must not begin with a point or a quote, and a backslash is an escape.
std::string roff(const std::string& text) {
  std::string out;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if ((k == 0 || text[k - 1] == '\n') && (text[k] == '.' || text[k] == '\'')) out += "\\&";
    out += text[k] == '\\' ? "\\e" : text[k] == '-' ? "\\-" : std::string(1, text[k]);
  }
  return out;
}

constexpr std::string_view conventions =
    "Quantities carry units: 1ms, \"30.47 mK/W\"; a bare number is SI. Exit code: 0 done, 1 the study "
    "failed, 2 the input was wrong.\n";

std::string options_of(const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + name;
    text += fmt::format(".TP\n.B {} {}\n{}\n", roff(names.empty() ? option.name : names), roff(option.type),
                        roff(option.summary));
  }
  return text;
}

std::string page_of_program(const std::vector<CommandText>& commands) {
  std::string text = fmt::format(
      ".TH TELLEGEN 1 \"\" \"tellegen {}\"\n.SH NAME\ntellegen \\- digital twins of electric powertrains "
      "from one linear graph\n.SH SYNOPSIS\n.B tellegen\n.I COMMAND\n[options]\n.SH DESCRIPTION\n{}.SH "
      "COMMANDS\n",
      TELLEGEN_VERSION, conventions);
  for (const CommandText& command : commands)
    text += fmt::format(".SS {}\n{}\n{}", command.name, roff(command.summary), options_of(command));
  return text;
}

std::string page_of_command(const CommandText& command) {
  std::string arguments;
  for (const OptionText& option : command.options)
    if (option.names.empty()) arguments += fmt::format(".I {}\n", roff(option.name));
  return fmt::format(
      ".TH TELLEGEN-{0} 1 \"\" \"tellegen {1}\"\n.SH NAME\ntellegen\\-{2} \\- {3}\n.SH SYNOPSIS\n.B tellegen "
      "{2}\n{4}[options]\n.SH DESCRIPTION\n{5}.SH OPTIONS\n{6}.SH SEE ALSO\n.BR tellegen (1)\n",
      upper_case(command.name), TELLEGEN_VERSION, roff(command.name), roff(command.summary), arguments,
      conventions, options_of(command));
}

// tellegen.1 and a page for each command, as `man` looks for them under share/man/man1.
void write_pages(const std::vector<CommandText>& commands, const std::filesystem::path& folder) try {
  std::filesystem::create_directories(folder);
  write_file(folder / "tellegen.1", page_of_program(commands));
  for (const CommandText& command : commands)
    write_file(folder / fmt::format("tellegen-{}.1", command.name), page_of_command(command));
} catch (const std::runtime_error& error) {
  throw StudyError("tellegen manual", "the pages were not written", {error.what()});
}

}  // namespace

void add_completion(CLI::App& command) {
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")->required();
  command.callback([shell, &command] {
    check_choice({tellegen_completion, "SHELL"}, *shell, {"bash", "zsh", "fish"});
    const auto commands = texts_of(*command.get_parent());
    const std::string text = *shell == "bash"  ? for_bash(commands)
                             : *shell == "zsh" ? for_zsh(commands)
                                               : for_fish(commands);
    std::fwrite(text.data(), 1, text.size(), stdout);
  });
}

void add_manual(CLI::App& command) {
  auto name = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  command.add_option("--command", *name, "page of this command; none: of the whole program");
  command.add_option("--output", *folder,
                     "write tellegen.1 and a page for each command, tellegen-simulate.1, into this folder");
  command.callback([name, folder, &command] {
    const std::vector<CommandText> commands = texts_of(*command.get_parent());
    std::vector<std::string> names;
    for (const CommandText& each : commands) names.push_back(each.name);
    if (!name->empty()) check_choice({"tellegen manual", "--command"}, *name, names);
    if (!folder->empty()) return write_pages(commands, *folder);
    const auto one = std::find(names.begin(), names.end(), *name);
    const std::string text = one == names.end()
                                 ? page_of_program(commands)
                                 : page_of_command(commands[static_cast<std::size_t>(one - names.begin())]);
    std::fwrite(text.data(), 1, text.size(), stdout);
  });
}

}  // namespace tellegen
