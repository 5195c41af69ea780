// An estimate that judges itself: faults of sensors are found, named and allowed for.
//
// Where the innovations are inconsistent (inconsistency.h), each sensor is suspected of an offset, a drift
// and a scale, each beginning at one of many rows; and each state of beginning elsewhere than the filter
// thinks. The signature of a fault of size one in the innovations follows from the filter's own gains, with f
// what the fault does to the error of the state, b to the reading:
//
//   f- = Phi f,   g = b + h f-,   f = f- - K g
//   size = c/J,   deviation = 1/sqrt(J),   2 log(likelihood ratio) = c^2/J,    c = sum g nu/S,  J = sum g^2/S
//
// [Willsky, Jones 1976], the generalised likelihood ratio. The most likely fault becomes an unknown of the
// model from its onset on and everything is estimated again: deviations then hold for a sensor of unknown
// error, whether it can be observed or not. What is stuck is seen in the readings alone, and they are left
// out from the moment they froze.
//
// Disappoints where something else is wrong (a parameter, an input): then no fault of a sensor makes the
// record consistent, which is said, and deviations are multiplied by the root of the NIS ratio.
#pragma once

#include "tellegen/estimate/estimate.h"

namespace tellegen {

// estimate(), judged: `faults`, `reasons`, `inflation`. Throws as estimate() does.
Estimate judged_estimate(const Model& model, const Record& record, const EstimateOptions& options);

// Readings that repeat themselves as noise of the sensor's size cannot: they are taken out of the record.
// Sensors whose `stuck` the model gives are not looked at: the record has been read with it.
std::vector<SensorFault> remove_stuck(const Model& model, Record& record);

// What is wrong, in sentences, the most important first; empty: nothing.
std::vector<std::string> complaints(const Estimate& estimate);
// That a filter corrects nothing, and how to change that.
std::vector<std::string> nothing_corrected();

}  // namespace tellegen
