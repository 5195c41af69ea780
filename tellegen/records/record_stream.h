// The rows of a data file one by one, as they become known: for a twin that follows them, in the memory of a
// few rows, however long the record is.
//
// The same file that read_record() reads. What only a record that is known as a whole can say is not said: a
// sensor that is stuck is found out after its `stuck` time (Twin::check), an input that is missing stays what
// it was, and readings are not interpolated (T633 for resample "linear").
#pragma once

#include <memory>
#include <queue>

#include "tellegen/records/data_file.h"
#include "tellegen/records/record.h"
#include "tellegen/records/time_base.h"

namespace tellegen {

class RecordStream {
 public:
  // A file is looked through once for its interval, its length and its faults; "-", standard input, needs the
  // step (T633). Throws as read_record() does.
  RecordStream(const Model& model, const DataSource& source, const RecordOptions& options);

  double step() const { return step_; }
  std::int64_t rows() const { return rows_; }  // steps of the file; 0: nobody knows
  struct Row {
    double t = 0.0;
    int line = 0;
    bool late = false;                     // it is known only now
    std::vector<double> readings, inputs;  // SI; NaN: missing
  };
  // In the order in which they become known: a reading that arrives late follows in a row of its own.
  bool next(Row& row);
  std::int64_t too_late(std::size_t sensor) const { return too_late_[sensor]; }
  const TimeBase& time_base() const { return base_; }
  std::vector<std::string> remarks() const;  // of the file and of its times
  bool nearest() const { return nearest_; }  // times beside the steps belong to the next one
  bool irregular() const { return irregular_ && own_clock_; }  // each row is a step of its own
  // Some thousand rows of the whole file, at equal distances: enough to ask what can be known. Without rows
  // where nobody has looked through it.
  const Record& outline() const { return outline_; }

 private:
  struct Held {
    double arrival;
    std::int64_t order;  // of the file
    Row row;
    bool operator>(const Held& other) const {
      return arrival != other.arrival ? arrival > other.arrival : order > other.order;
    }
  };
  void look_through(const DataSource& source);
  bool regular(const DataSource& source, const IntervalFinder& finder) const;
  bool read();
  void drop(const std::vector<double>& readings);

  const Model& model_;
  RecordOptions options_;
  std::size_t sensors_;
  std::vector<DataFile::Wanted> wanted_;
  std::unique_ptr<DataRows> data_;
  DataRows::Row pending_;
  bool has_pending_ = false, ended_ = false, begun_ = false;
  std::priority_queue<Held, std::vector<Held>, std::greater<>> held_;
  double step_ = 0.0, newest_ = 0.0;
  std::int64_t rows_ = 0, order_ = 0;
  bool irregular_ = false, nearest_ = false, own_clock_ = false;
  std::vector<std::int64_t> too_late_;
  std::vector<double> inputs_;  // the last that were given
  TimeBase base_;
  Record outline_;
};

}  // namespace tellegen
