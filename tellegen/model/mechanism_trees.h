// Trees of a mechanism that whoever reads its equations chooses: joints that are branches, of the system and
// of its sensitivities. Where these differ, the joints that are branches for the sensitivities have their
// coordinates as variables of the system too, and what is differentiated stands beside the model.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tellegen/model/read.h"

namespace tellegen {

// Of a component: what is differentiated in place of its kind's equations, and in which variables.
struct DifferentiatedPart {
  std::vector<KindEquation> equations;
  std::vector<Expr> variables;
  std::vector<KindInitial> initial;
};
using DifferentiatedParts = std::map<int, DifferentiatedPart>;

struct MechanismTrees {
  std::vector<std::string> system, sensitivities;  // joints; empty: chosen; those of the system
  DifferentiatedParts differentiated{};            // made by reading: joints and constraints, if trees differ
};

Model read_model(const std::filesystem::path& file, const ReadOptions& options, MechanismTrees& trees);
Model read_model_text(std::string_view text, const std::filesystem::path& name, const ReadOptions& options,
                      MechanismTrees& trees);

}  // namespace tellegen
