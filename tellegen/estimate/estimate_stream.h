// A record followed row by row, in bounded memory: rows come from a stream and go to another.
//
// Rows are held back in blocks of about 16 MB: what their innovations say of the estimator is known before
// they leave, and deviations are multiplied as judged_estimate() does. Reasons and faulty sensors are not
// looked for.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>

#include "tellegen/estimate/estimate.h"
#include "tellegen/estimate/estimate_table.h"
#include "tellegen/estimate/twin.h"
#include "tellegen/records/record_stream.h"

namespace tellegen {

// The options of a twin, from those of an estimation.
FollowOptions follow_options(const Model& model, const EstimateOptions& options, double step);

struct StreamOptions {
  EstimateOptions estimate;  // neither smoothed, tuned nor in passes
  std::string resume;        // a checkpoint to continue from; empty: from the beginning
  // Every so many seconds of the data, and at the end: everything until then has been written.
  double every = 0.0;
  std::function<void(const std::string& checkpoint)> save;
  // Before the first row: what rows will be.
  std::function<void(const EstimateColumns& columns)> columns;
  // Rows that leave, in the columns' units; flush(): what left must not be lost.
  std::function<void(double t, std::span<const double> row)> row;
  std::function<void()> flush;
  const std::atomic<bool>* stop = nullptr;  // ends it between two rows
};

struct StreamedEstimate {
  Estimate estimate;  // without rows; with `ranges`
  Record record;      // likewise: counts and remarks
};

// Throws ModelError as estimate() and the stream do; T597 for a time beside the steps.
StreamedEstimate estimate_stream(const Model& model, RecordStream& stream, const StreamOptions& options);

}  // namespace tellegen
