// The commands of the program. To add one: cli/<verb>.cpp, its function here, a row in main.cpp.
//
// A command declares its options on the CLI::App it is given and sets that App's callback, which does the
// work. What is wrong is thrown and printed in one place, main.cpp:
//
//   returns                                        0   done
//   StudyError, SimulationError, WriteError        1   the input was right, the study failed
//   ModelError (command_fault for its own), else   2   the input was wrong
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/fault.h"

namespace tellegen {

// As faults name them.
inline constexpr std::string_view tellegen_simulate = "tellegen simulate";
inline constexpr std::string_view tellegen_sweep = "tellegen sweep";
inline constexpr std::string_view tellegen_check = "tellegen check";
inline constexpr std::string_view tellegen_equations = "tellegen equations";
inline constexpr std::string_view tellegen_convert = "tellegen convert";
inline constexpr std::string_view tellegen_sensitivity = "tellegen sensitivity";
inline constexpr std::string_view tellegen_rank = "tellegen rank";
inline constexpr std::string_view tellegen_optimize = "tellegen optimize";
inline constexpr std::string_view tellegen_calibrate = "tellegen calibrate";
inline constexpr std::string_view tellegen_identify = "tellegen identify";
inline constexpr std::string_view tellegen_design_experiment = "tellegen design-experiment";
inline constexpr std::string_view tellegen_estimate = "tellegen estimate";
inline constexpr std::string_view tellegen_synthesize = "tellegen synthesize";
inline constexpr std::string_view tellegen_data = "tellegen data";
inline constexpr std::string_view tellegen_export = "tellegen export";
inline constexpr std::string_view tellegen_explore = "tellegen explore";
inline constexpr std::string_view tellegen_report = "tellegen report";
inline constexpr std::string_view tellegen_new = "tellegen new";
inline constexpr std::string_view tellegen_machine = "tellegen machine";
inline constexpr std::string_view tellegen_completion = "tellegen completion";

void add_simulate(CLI::App& command);
void add_sweep(CLI::App& command);
void add_check(CLI::App& command);
void add_equations(CLI::App& command);
void add_convert(CLI::App& command);
void add_library(CLI::App& command);
void add_sensitivity(CLI::App& command);
void add_rank(CLI::App& command);
void add_optimize(CLI::App& command);
void add_calibrate(CLI::App& command);
void add_identify(CLI::App& command);
void add_design_experiment(CLI::App& command);
void add_estimate(CLI::App& command);
void add_synthesize(CLI::App& command);
void add_report(CLI::App& command);
void add_data(CLI::App& command);
void add_export(CLI::App& command);
void add_explore(CLI::App& command);
void add_machine(CLI::App& command);
void add_new(CLI::App& command);
void add_completion(CLI::App& command);
void add_manual(CLI::App& command);

class StudyError : public std::runtime_error {
 public:
  StudyError(const std::string& file, const std::string& message,
             const std::vector<std::string>& details = {});
};

// A fault of the command line: its place is the command ("tellegen simulate"). Empty details are left out.
ModelError command_fault(std::string_view command, std::string_view code, std::string message,
                         std::vector<std::string> details = {});

// A result that could not be written, after the study: a full disk. Thrown by not_written().
struct WriteError : ModelError {
  using ModelError::ModelError;
};
WriteError not_written(std::string_view command, const std::exception& error,
                       std::vector<std::string> details = {});

// What CLI11 could not make sense of, with the nearest option or command.
ModelError parse_fault(const CLI::App& app, const CLI::ParseError& error);

std::span<const FaultCode> command_fault_codes();  // for docs/errors.md

}  // namespace tellegen
