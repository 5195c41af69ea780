// An experiment that tells most: the numbers of [experiment] (amplitude, frequency, length of a test) are
// moved between their bounds to where the largest relative standard deviation of the unknown parameters is
// smallest (Cramer and Rao, from exact sensitivities at the model's present numbers), and no constraint is
// broken.
//
// The deviation has many minima over a frequency and jumps where a parameter is not determined at all, so
// the search begins with points spread over the bounds and goes on from the best of them by linear
// approximations [Powell 1994, COBYLA]. The same model, the same answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tellegen/identifiability/knowledge.h"
#include "tellegen/model/model.h"
#include "tellegen/sensitivity/study.h"

namespace tellegen {

struct ExperimentOptions {
  std::vector<int> sensors;     // in Model::outputs
  std::vector<int> parameters;  // in Model::parameters: what is to be known
  double step = 0.0;            // between readings
  int points = 0;               // spread over the bounds; 0: by the number of variables
  StudyOptions study;           // of the runs that constraints look at
  std::function<void(const std::string&)> progress;
};

struct ExperimentPoint {
  std::vector<double> numbers;      // of the variables, SI
  std::vector<double> relative;     // deviation of each parameter over its size; infinite: not determined
  double worst = 0.0;               // the largest of them
  std::vector<double> constraints;  // at most 0
  double broken = 0.0;              // the worst of them over its size; 0: none
  double length = 0.0;              // of the run
  std::string failure;              // empty: it could be computed
};

struct ExperimentResult {
  ExperimentPoint before, best;
  Knowledge known;  // at the best point
  int evaluations = 0, failures = 0;
  std::string first_failure;
};

// Throws ModelError: T148 where the model has no [experiment]; else as DesignProblem and
// parameter_knowledge() do.
ExperimentResult design_experiment(const Model& model, const ExperimentOptions& options);

}  // namespace tellegen
