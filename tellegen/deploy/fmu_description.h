// The texts of an FMU that are not code: modelDescription.xml, buildDescription.xml, documentation.
#pragma once

#include <string>
#include <vector>

#include "tellegen/deploy/c_model.h"
#include "tellegen/deploy/exchange_model.h"

namespace tellegen {

struct ExportedVariable {
  std::string name, unit, summary;
  enum class Role { time, parameter, input, output, state, rate, indicator } role;
  double start = 0.0;  // of parameters and inputs
};

struct ExportedDescription {
  int version = 3;                          // of FMI
  std::string token;                        // that tells this model from others
  std::vector<ExportedVariable> variables;  // in the order of their value references
  std::size_t count(ExportedVariable::Role role) const;
  std::size_t first(ExportedVariable::Role role) const;  // variable
};

// Time, parameters, inputs, the first so many outputs; with model exchange states, rates, event indicators.
// No name twice.
std::vector<ExportedVariable> fmu_variables(const CModel& m, std::size_t outputs,
                                            const ExchangeModel& exchange);

std::string fmu_model_description(const CModel& m, const ExportedDescription& fmu,
                                  const ExchangeModel& exchange, const std::vector<std::string>& sources);
std::string fmu_build_description(const CModel& m, const std::vector<std::string>& sources);
std::string fmu_documentation(const CModel& m, const ExportedDescription& fmu);

}  // namespace tellegen
