// A twin: a model and its estimator, which follow a machine as its data come.
//
//   Twin twin(model, options);
//   twin.push(t, readings, inputs);     row by row
//   twin.quantities();                  what is estimated now, with standard deviations
//   twin.forecast(inputs, 60.0);        what would come without readings
//
// Time goes in steps from the first row on. The rules of a row:
//
//   its time    lies on a step, to a millionth of it, or the row is refused; with `nearest` it belongs to the
//               step next to it; with `any_times` each row is a step of its own, however long it is
//   newer       than all before: the twin predicts to it, step by step, and corrects by its readings. Steps
//               that no row came for have no readings. So nothing of the future is needed: the step to a row
//               is taken when the row is there
//   late        or out of order, by at most `late`: its readings are put in where they belong, and what came
//               after them is done again, as if they had come in time. Its inputs are not used
//   too late    it is counted, and not used
//   duplicate   of two readings of a sensor at one step the first counts, the second is counted as duplicate
//   missing     NaN: a reading changes nothing, an input stays what it was
//   inputs      go straight from row to row, or are held until the next, as the model says (is_held())
//   events      of switches, modulators, sampled controllers are gone through, as the mean meets them
//               (twin_events.h); what happens at the time of a row does so after its readings
//   impossible  readings, out of range or stuck for too long, count as missing where `check` is set
//
// A twin that was saved, destroyed and restored continues to the last bit as the one that was not. Nothing
// that is asked for changes what comes after: neither quantities nor forecasts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/estimate/filter.h"
#include "tellegen/estimate/pushed.h"
#include "tellegen/estimate/smoother.h"
#include "tellegen/estimate/twin_events.h"
#include "tellegen/records/reading_check.h"

namespace tellegen {

struct FollowOptions {
  std::vector<int> sensors = {};         // in Model::outputs: the order of readings
  std::vector<std::string> inputs = {};  // names of inputs or parameters: the order of inputs
  double step = 0.0;
  double late = 0.0;       // how much later than newer rows a row may come
  bool nearest = false;    // times beside the steps belong to the next one
  bool any_times = false;  // rows come at any times; no prediction is longer than the step
  bool check = false;      // readings that cannot be ones are missing
  std::string estimator;   // empty: as the model says
  bool euler = false, compile = true;
  bool anyway = false;  // follow on where the filter diverged
  bool smooth = false;  // keep what smooth() needs: every step
  long reduce = 0;      // as EstimateOptions
  std::vector<EstimateOptions::Widening> widenings = {};
  // Where the whole record is known: rows, when it begins, its inputs (a reduced filter is made for them).
  long rows = 201;
  double begins = 0.0;
  const double* given = nullptr;
  // What the readings of a step had to say; again where the step is done again.
  std::function<void(std::int64_t row, const Innovations&)> corrected = {};
};

class Twin {
 public:
  // The model must outlive it. Throws ModelError where the model cannot be estimated so.
  Twin(const Model& model, FollowOptions options);
  ~Twin();
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  using Pushed = tellegen::Pushed;
  // SI; NaN: missing. The first row must give every input (T630).
  Pushed push(double t, std::span<const double> readings, std::span<const double> inputs);

  struct Counts {
    std::int64_t rows = 0, late = 0, too_late = 0, duplicate = 0, beside = 0;
    std::int64_t empty = 0;                         // steps that no row came for
    std::vector<std::int64_t> out_of_range, stuck;  // per sensor, where they are checked
  };
  const Counts& counts() const { return counts_; }

  const std::vector<EstimatedQuantity>& described() const;  // what quantities() are
  struct Quantities {
    double t = 0.0;
    Vector mean, deviation;  // SI
  };
  // After the newest row.
  const Quantities& quantities();
  const Belief& belief();                    // of the states
  const Innovations& innovations() const;    // of the readings corrected by last
  std::int64_t row() const { return row_; }  // the newest step; -1 before the first
  // With `any_times`: of the newest row, and of those that there is a way back to.
  double time(std::int64_t row) const;

  // The coming steps up to the horizon, in seconds: inputs row by row, SI; the last of them, or the newest
  // that came, holds on. Empty where the model cannot be evaluated.
  std::vector<Quantities> forecast(std::span<const double> inputs, double horizon);

  // Everything that must be kept to continue. restore() throws ModelError: T631 where the bytes are no
  // checkpoint, or not of this version; T632 where they are of another model, estimator or step.
  std::string checkpoint();
  void restore(std::string_view bytes);

  // Of readings given the model, all steps; a measure for tuning.
  double log_likelihood();
  const std::string& failure() const { return failure_; }
  bool diverged() const { return diverged_; }  // where that is the failure: the belief is there all the same

  // Backwards, with the readings that came after each row, the latest but one first; with `smooth` only.
  void smooth(const std::function<void(std::int64_t row, const Quantities&)>& each);

  // From the start, with another process noise (variance of each state per step).
  void restart(const Vector& process_noise);
  const Vector& process_noise() const;
  std::string_view estimator() const;
  std::string executor() const, remark() const;
  const TwinModel& model() const { return *plant_; }

 private:
  // A step that can be gone back to.
  struct Moment {
    std::int64_t row = 0;
    double t = 0.0;
    Belief belief;  // before its readings, where there is a way back
    Vector memory;  // of the model, likewise
    std::vector<double> readings, inputs;
    std::vector<char> counted;  // per sensor, for the divergence test
    double log_likelihood = 0.0;
  };

  void build(const Model& model);
  void begin();
  void keep(class Checkpoint& parts);
  std::int64_t place_of(double t);
  void do_again(std::int64_t from);
  std::int64_t oldest() const { return row_ + 1 - static_cast<std::int64_t>(moments_.size()); }
  bool is_over(double t) const;  // what came then, for late readings
  Pushed push_old(std::int64_t place, std::span<const double> readings);
  bool step_to(std::int64_t row);
  Moment& next_moment(std::int64_t row, double t);
  bool advance(double t, double length, const double* inputs, Matrix* transition = nullptr);  // at rates_
  bool predict(const Moment& from, const Moment& to);
  bool correct(Moment& moment, const double* readings, const Innovations* more = nullptr);
  bool catch_up();
  bool fail(std::int64_t row, const std::string& reason);
  void watch(const Moment& moment);
  void read_quantities(const Vector& x, double t, const double* inputs, Quantities& out);
  std::uint64_t fingerprint();

  const Model& original_;
  FollowOptions options_;
  const EstimatorEntry& entry_;
  FilterOptions filter_options_;
  std::unique_ptr<TwinModel> plant_;
  std::optional<TwinEvents> events_;  // of a model with events
  std::unique_ptr<Filter> filter_;
  std::vector<char> held_;            // per input
  std::vector<double> first_inputs_;  // of the model that was built; empty: its own
  bool begins_at_inputs_ = false;     // some input is a parameter, which initial values may depend on
  std::size_t kept_ = 1;              // moments
  bool goes_back_ = false;
  double start_ = 0.0;
  std::int64_t row_ = -1;
  std::deque<Moment> moments_;
  std::int64_t again_from_ = -1;      // late readings came: what follows from this of the moments on
  double gone_log_likelihood_ = 0.0;  // of steps before those that are kept
  std::vector<ReadingCheck> checks_;
  // Squares of the last innovations of each sensor over their variances, for the divergence test.
  struct Recent {
    std::vector<double> squares;
    std::size_t next = 0;
    double sum = 0.0;
  };
  std::vector<Recent> recent_;
  Counts counts_;
  std::optional<std::uint64_t> fingerprint_;  // of the model that was built
  Innovations innovations_;
  Quantities quantities_;
  bool quantities_known_ = false;
  std::string failure_;
  bool diverged_ = false;
  Smoother smoother_;
  std::vector<double> smoothed_inputs_;  // [row][input]
  std::vector<double> smoothed_times_;
  Matrix transition_;
  Belief corrected_;
  Vector first_memory_;
  std::vector<double> rates_, checked_, new_readings_, origin_, target_;
  SlopeRows slopes_;
};

}  // namespace tellegen
