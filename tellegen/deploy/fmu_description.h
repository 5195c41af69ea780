// The texts of an FMU that are not code: modelDescription.xml, buildDescription.xml, documentation.
#pragma once

#include <string>
#include <vector>

#include "tellegen/deploy/c_model.h"
#include "tellegen/deploy/exchange_model.h"

namespace tellegen {

struct ExportedVariable {
  std::string name, unit, summary;  // of a rate: the unit of its state
  enum class Role { time, parameter, input, output, state, rate, indicator } role;
  double start = 0.0;       // of parameters and inputs
  bool difference = false;  // an offset of the unit does not count
  double nominal = 1.0;     // of states
};

struct ExportedDescription {
  int version = 3;                          // of FMI
  std::string name, title;                  // modelIdentifier; what people call the model
  std::string about;                        // what the variables mean, and when
  double step = 0.0, stop = 0.0;            // of co-simulation; of the default experiment
  bool intermediate = false;                // co-simulation shows every step (FMI 3)
  std::vector<std::string> fixed = {};      // numbers that are part of the code, and why
  std::string token = {};                   // that tells this model from others
  std::vector<ExportedVariable> variables;  // in the order of their value references
  std::size_t count(ExportedVariable::Role role) const;
  std::size_t first(ExportedVariable::Role role) const;  // variable
};

// Time, parameters, inputs, the first so many outputs; with model exchange states, rates, event indicators.
// No name twice.
std::vector<ExportedVariable> fmu_variables(const CModel& m, std::size_t outputs,
                                            const ExchangeModel& exchange);

// What tells outputs, and whatever else comes behind, from inputs of the same name.
void make_names_unique(std::vector<ExportedVariable>& variables, const char* of_outputs,
                       const char* of_others);

std::string about_co_simulation(const CModel& m);
std::string fmu_model_description(const ExportedDescription& fmu, const ExchangeModel& exchange,
                                  const std::vector<std::string>& sources);
std::string fmu_build_description(const ExportedDescription& fmu, const std::vector<std::string>& sources);
std::string fmu_terminals_and_icons();  // where the icon stands (FMI 3)
std::string fmu_documentation(const ExportedDescription& fmu);

}  // namespace tellegen
