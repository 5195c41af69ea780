#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "tellegen/simulate/initial.h"

namespace tellegen {
namespace {

struct Command {
  const char *name, *summary;
  void (*add)(CLI::App& command);
};

constexpr Command commands[] = {
    {"simulate", "run a model over time; write, plot and compare what comes out", add_simulate},
    {"sensitivity", "differentiate objectives, and variables over time, by parameters", add_sensitivity},
    {"rank", "tell which parameters matter for an objective, and how much", add_rank},
    {"optimize", "move the variables of a model's [design] to where its goal is smallest", add_optimize},
    {"sweep", "run a model at many samples of its parameters; tell which of them matter", add_sweep},
    {"calibrate", "find numbers of a model from measurements, with their uncertainty", add_calibrate},
    {"estimate", "follow measurements with a model: what no sensor reaches, with its uncertainty",
     add_estimate},
    {"synthesize", "write noisy data of a model's sensors, with all that goes wrong on the way",
     add_synthesize},
    {"report", "put the reports of estimations and calibrations together as one page", add_report},
    {"check", "show what a model is made of, or everything that is wrong with it", add_check},
    {"equations", "write a model's equations out, and those of its sensitivities", add_equations},
    {"convert", "write the model file that a SPICE netlist or a [stack] stands for", add_convert},
    {"library", "list the kinds there are, or show one with its equations", add_library},
    {"benchmark", "measure speed and error against published results and other programs", add_benchmark},
};

int fail(int code, const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", text);
  return code;
}

int run(int count, char** arguments) {
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

}  // namespace
}  // namespace tellegen

int main(int count, char** arguments) { return tellegen::run(count, arguments); }
