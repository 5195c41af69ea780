// Importance of parameters: how much of itself an objective changes with a part of itself of a parameter,
//
//   mu = (dE/db) |b/E|
//
// so that scores of all parameters compare, and a positive one says: more of b is more of E, whatever their
// signs. A parameter whose value is 0 has score 0, whatever its derivative is; an objective that is 0 gives
// none. [Banerjee 2013] eq. 3.59 and B.35.
#pragma once

#include <vector>

#include "tellegen/sensitivity/study.h"

namespace tellegen {

struct Importance {
  std::size_t parameter;  // of the study
  double derivative;      // SI
  double score;           // NaN: the objective is 0
};

// Of one objective of the study, the largest score first.
std::vector<Importance> importance(const Study& study, const StudyResult& at, std::size_t objective);

// A derivative as it is reported: per unit of the parameter, in the unit of the objective.
double in_units(double derivative, const std::string& objective_unit, const std::string& parameter_unit);
std::string derivative_unit(const std::string& objective_unit, const std::string& parameter_unit);

}  // namespace tellegen
