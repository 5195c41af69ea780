// What can be known, before anybody estimates: the question that `calibrate` and `estimate` put first, and
// that `check --estimate` answers in full.
//
//   const EstimabilityReport report = what_can_be_known(model, record, {.parameters = {...}});
//   if (!report.all_known && !anyway) stop with report.text()
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tellegen/estimate/arrival.h"
#include "tellegen/identifiability/identifiability.h"
#include "tellegen/identifiability/observability.h"
#include "tellegen/records/record.h"

namespace tellegen {

struct EstimabilityQuestion {
  std::vector<int> parameters = {};  // in Model::parameters: found from the whole record, the start known
  bool states = false;               // found along with `unknowns` as the record goes on, the start unknown
  std::vector<int> unknowns = {};    // in Model::unknowns
  bool arrival = false;              // beside the states: what follows for readings that get lost
  double limit = 1.0;                // a deviation that many times a quantity's size is no knowledge
};

struct EstimabilityReport {
  // Every parameter and unknown that was asked for is known, and states that are not fade by themselves.
  bool all_known = true;
  std::string experiment;  // in words: times and sensors
  std::optional<Knowledge> parameters;
  std::optional<StateKnowledge> states;
  std::optional<ArrivalConditions> arrival;    // where it was asked for and the model can be followed
  std::string states_note;                     // why the states were not looked at, where they were to be
  std::vector<std::string> advice;             // what would help
  std::vector<std::string> sentences() const;  // "R_dbc and R_sp only as R_dbc + 3 R_sp"
  std::vector<std::string> reasons() const;    // those for which not all is known: states that fade are none
  std::string text() const;                    // for people, with tables
};

// The record gives times, sensors, known inputs and which readings are missing (planned_record() makes one
// without readings). Throws as parameter_knowledge() and state_knowledge() do.
EstimabilityReport what_can_be_known(const Model& model, const Record& record,
                                     const EstimabilityQuestion& question);

}  // namespace tellegen
