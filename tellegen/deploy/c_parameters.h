// Which of a model's parameters can be set in exported code, and which registers of the step follow from
// them.
#pragma once

#include <string>
#include <vector>

#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct CParameters {
  struct Setting {
    int parameter;  // of the model
    std::string member;
  };
  // A register of a part that follows from the settings.
  struct Followed {
    std::size_t part;
    std::int32_t reg;
    Expr value;
  };
  std::vector<Setting> settings;
  std::vector<Followed> followed;
  std::vector<std::string> fixed;  // that cannot be set, each with the reason
};

// Parameters are the model's that are plain numbers.
CParameters find_c_parameters(const Model& model, const Simulation& simulation, const StepCode& code);

}  // namespace tellegen
