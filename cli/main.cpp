#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "cli/mpi_ranks.h"
#include "cli/program.h"

namespace tellegen {
namespace {

constexpr Command commands[] = {
    {"new", "write a commented model to begin with", add_new},
    {"simulate", "run a model over time; write, plot and compare what comes out", add_simulate},
    {"sensitivity", "differentiate objectives, and variables over time, by parameters", add_sensitivity},
    {"rank", "show which parameters matter for an objective, and how much", add_rank},
    {"optimize", "move the variables of a model's [design] to where its goal is smallest", add_optimize},
    {"sweep", "run a model at many samples of its parameters; show which of them matter", add_sweep},
    {"data", "show what is in a data file, and which column is what in a model", add_data},
    {"calibrate", "find parameters of a model from measurements, with their uncertainty", add_calibrate},
    {"identify", "find parameters of a model from measurements, with no starting values", add_identify},
    {"design-experiment", "choose the test that determines a model's unknowns best, within limits",
     add_design_experiment},
    {"estimate", "follow measurements with a model: what no sensor reaches, with its uncertainty",
     add_estimate},
    {"synthesize", "write noisy data of a model's sensors, with all that goes wrong on the way",
     add_synthesize},
    {"report", "put the reports of estimations and calibrations together as one page", add_report},
    {"export", "write a model's fixed step as C, with a test that replays it", add_export},
    {"explore", "find the fastest hardware for a model's fixed step within limits, and what more speed costs",
     add_explore},
    {"machine", "inductances, torque, flux maps and a picture of a machine from its cross-section",
     add_machine},
    {"check", "show what a model is made of, or everything that is wrong with it", add_check},
    {"equations", "write a model's equations out, and those of its sensitivities", add_equations},
    {"convert", "write the model file that a SPICE netlist, a [stack] or a [machine] stands for",
     add_convert},
    {"library", "list the kinds there are, or show one with its equations", add_library},
    {"completion", "print what bash, zsh or fish needs to complete commands and options", add_completion,
     true},
    {"manual", "print a page for man: tellegen manual --command simulate | man -l -", add_manual, true},
    {"benchmark", "measure speed and error against published results and other programs", [](CLI::App&) {}},
};

std::filesystem::path beside_this(const char* program) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / program;
}

// The benchmarks are a program of their own, beside this one: its build takes what users need not wait for.
int run_benchmarks(char** arguments) {
  const std::filesystem::path program = beside_this("tellegen-benchmark");
  execv(program.c_str(), arguments);
  std::fprintf(stderr,
               "tellegen benchmark: T402: cannot run '%s': %s\n  cmake --build --preset release builds it\n",
               program.c_str(), std::strerror(errno));
  return 2;
}

}  // namespace
}  // namespace tellegen

int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "benchmark") return tellegen::run_benchmarks(arguments);
  // Started by mpirun: the program that speaks MPI, if there is one.
  if (std::getenv("OMPI_COMM_WORLD_SIZE") && !tellegen::built_with_mpi())
    execv(tellegen::beside_this("tellegen-mpi").c_str(), arguments);
  return tellegen::run_program(tellegen::commands, count, arguments);
}
