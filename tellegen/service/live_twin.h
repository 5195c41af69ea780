// A twin on live data: against the wall clock with packets, or answering one line for each that comes.
//
// Paced, a period is a step of the twin, and begins as a simulation's does (realtime.h):
//     readings and inputs    what has come is read, the newest is the row of t = k h. A packet that has been
//                            used is not used again: without a new one the readings of this step are missing,
//                            and inputs stay what they were
//     outputs                of t = k h are sent at once: what is estimated, each with its standard deviation
// The twin begins with the first packet that gives every input.
//
// A packet has the readings of all sensors, then the inputs, in the units that the model declares; NaN is
// missing. A line is a JSON object with a time and any of the same by their names:
//     {"t": 12.5, "T_h": 61.2, "air": 24}      null, or left out: missing
//     {"t": 12.5, "T_w": 93.1, "T_w_sd": 0.4, "innovation_T_h": 0.02, ...}
// A row that was not used is answered {"t": 12.5, "not_used": "too late"}, one that cannot be read
// {"error": "..."}.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "tellegen/estimate/estimate_table.h"
#include "tellegen/estimate/twin.h"
#include "tellegen/realtime/realtime.h"
#include "tellegen/realtime/row_writer.h"

namespace tellegen {

// Checkpoints of a twin, now and then and at the end.
struct LiveCheckpoints {
  double every = 0.0;  // seconds of the twin's time; 0: at the end only
  std::function<void(const std::string& bytes)> save;
};

// The units in which a twin's data come and what it estimates goes.
class LiveColumns {
 public:
  LiveColumns(const Model& model, const FollowOptions& options, const Twin& twin);
  const std::vector<std::string>& names_in() const { return names_in_; }  // sensors, inputs
  const std::vector<std::string>& units_in() const { return units_in_; }
  const EstimateColumns& out() const { return out_; }
  std::size_t sensors() const { return sensors_; }
  void to_si(std::span<double> values) const;
  void row_of(Twin& twin, std::vector<double>& out);

 private:
  std::size_t sensors_;
  std::vector<std::string> names_in_, units_in_;
  EstimateColumns out_;
  std::vector<double> innovation_deviation_;
};

struct LiveOptions {
  RealtimeOptions realtime;
  std::int64_t periods = std::numeric_limits<std::int64_t>::max();
  LiveCheckpoints checkpoints;
};
// Until `periods` are over, `stop` is set or the twin fails. `exchange` takes packets with missing values.
RealtimeReport run_live(Twin& twin, LiveColumns& columns, const LiveOptions& options, Exchange* exchange,
                        Clock& clock, const std::atomic<bool>& stop, RowSink* sink = nullptr);

// Until the input ends, `stop` is set or the twin fails. Lateness is how long after its time a row came, the
// first being in time; execution is the answer. A deadline is missed where a row was answered after the next
// one's time.
RealtimeReport run_lines(Twin& twin, LiveColumns& columns, const LiveCheckpoints& checkpoints,
                         std::istream& in, std::ostream& out, Clock& clock, const std::atomic<bool>& stop);

}  // namespace tellegen
