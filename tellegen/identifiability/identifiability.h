// What a planned experiment tells of parameters: the model's run, its sensors with their noise, exact slopes.
//
// The initial state is taken as known, and everything that is not asked for. The deviations are those that no
// unbiased estimate from these readings can beat [Cramer 1946, Rao 1945]; batch calibration reaches them.
#pragma once

#include <vector>

#include "tellegen/identifiability/knowledge.h"
#include "tellegen/records/record.h"

namespace tellegen {

// A record as it would be: every sensor read at every step from `from` to `to`; no readings yet.
Record planned_record(std::vector<int> sensors, double from, double to, double step);

// Readings at fewer times, each of them counting as often as it stands for others: where a record is longer
// than its information needs to be looked at. Times are multiples of the step, or those of the record's
// clock.
struct ReadingTimes {
  double step = 0.0;
  std::int64_t steps = 0;       // rows, the first at t = 0
  std::vector<double> clock;    // when each is, where that is irregular
  std::vector<double> weights;  // [row][sensor]: number of readings; those that are missing do not count

  double time(std::int64_t row) const {
    return clock.empty() ? step * static_cast<double>(row) : clock[static_cast<std::size_t>(row)];
  }
};
ReadingTimes reading_times(const Record& record);

// `parameters`: indices into model.parameters, at their present numbers; the record gives the times, the
// sensors, known inputs, and which readings are missing (none where it has no readings). Throws ModelError:
// T611 where there is no sensor or nothing is asked for, T598 where a sensor has no noise; SimulationError
// where the run fails.
Knowledge parameter_knowledge(const Model& model, const Record& record, const std::vector<int>& parameters,
                              double limit);

// How far a quantity is moved to look whether something holds elsewhere too: some other part for each.
double moved_part(std::size_t quantity, double part);

// The size of a parameter: its number, or what its unknown says of its deviation, or 1.
double parameter_scale(const Model& model, int parameter);

}  // namespace tellegen
