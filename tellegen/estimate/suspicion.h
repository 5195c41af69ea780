// Mistakes that records come with: a column in another unit than it was read in, two columns exchanged, a
// sign reversed. Each is tried: the record with the mistake undone must fit where the record as it is does
// not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tellegen/records/record.h"

namespace tellegen {

struct RecordMistake {
  std::string text;  // "T_w is in degF, but was read as degC"
  std::function<void(Record&)> undo;
};

// All that may have happened to this record's columns.
std::vector<RecordMistake> possible_mistakes(const Model& model, const Record& record);

struct Suspicion {
  std::string text;
  double quality = 0.0;  // of the record with the mistake undone
};

// `quality`: squared residuals over what noise explains, about 1 where model and record agree, much larger
// where not; infinite where the record cannot be followed at all. Only mistakes whose undoing leaves at most
// `acceptable`, and less than a quarter of `now`, are suspected; the best one first.
std::vector<Suspicion> suspicions(const Model& model, const Record& record, double now,
                                  const std::function<double(const Record&)>& quality,
                                  double acceptable = 1.5);

// The first rows of a record: enough to try on.
Record first_rows(const Record& record, std::int64_t rows);

}  // namespace tellegen
