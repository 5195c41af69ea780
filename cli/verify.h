// tellegen sensitivity --verify: how far exact derivatives, differences and runs at other numbers agree.
//
//   steps        central differences with steps from 1e-2 to 1e-8 of a parameter, against the derivative
//   range        the same with one step, for the parameter times 0.9 to 1.1
//   prediction   the first-order prediction for the parameter changed by -10 % to 10 %, against the run
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/study_options.h"

namespace tellegen {

struct Verification {
  struct Curve {
    std::string objective, parameter;
    std::vector<double> steps, range, prediction;  // relative deviations, in the order of the abscissae
  };
  std::vector<double> step_sizes, factors, changes;  // abscissae
  std::vector<Curve> curves;
  std::vector<std::string> notes;
  std::string model;
};

Verification verify(const StudyRequest& request, const StudyOptions& options, const Model& model,
                    const std::vector<std::string>& objectives, const std::vector<std::string>& parameters);
void print(const Verification& verification);
nlohmann::ordered_json to_json(const Verification& verification);
void write_verification(std::string_view command, const std::filesystem::path& picture,
                        const Verification& verification);

}  // namespace tellegen
