#include "tellegen/records/record_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/model/reading.h"
#include "tellegen/model/time_origin.h"
#include "tellegen/records/reading_check.h"

namespace tellegen {
namespace {

constexpr double most_ticks_a_row =
    1024;  // beyond that irregular times are taken at the next of sixteen steps

}  // namespace

RecordStream::RecordStream(const Model& model, const DataSource& source, const RecordOptions& options)
    : model_(model),
      options_(options),
      sensors_(options.sensors.size()),
      step_(options.step),
      nearest_(options.resample == "nearest"),
      too_late_(options.sensors.size(), 0) {
  const auto refuse = [&](std::string message, std::string advice) {
    return ModelError({{source.name(), 0}, "T633", std::move(message), {std::move(advice)}});
  };
  if (options.resample == "linear")
    throw refuse("a record that is followed row by row cannot be interpolated",
                 "resample = \"exact\" or \"nearest\"");
  for (int s : options.sensors) wanted_.push_back({model.outputs[s].name, sensor_unit(model, s), "sensor"});
  for (const std::string& name : options.inputs) {
    wanted_.push_back({name, input_unit(model, name), "input"});
    check_interpolation(model, name);
  }
  if (source.is_standard_input()) {
    if (!(step_ > 0.0))
      throw refuse("rows on standard input have no interval yet",
                   "give the step: --step 100ms, or step in [estimate]");
    base_.interval = step_;
  } else {
    look_through(source);
  }
  inputs_.assign(options.inputs.size(), no_number);
  data_ = std::make_unique<DataRows>(source, wanted_);
}

// Whether all times lie on the file's interval: known only when the interval is.
bool RecordStream::regular(const DataSource& source, const IntervalFinder& finder) const {
  DataRows rows(source, {});
  const double interval = finder.interval();
  for (DataRows::Row row; rows.next(row);) {
    const double at = (row.t - finder.first()) / interval;
    if (std::abs(at - std::round(at)) > close_enough) return false;
  }
  return true;
}

std::vector<std::string> RecordStream::remarks() const {
  std::vector<std::string> remarks = data_->remarks();
  if (irregular()) {
    remarks.push_back(base_.irregular());
    return remarks;
  }
  for (std::string& remark : base_.remarks()) remarks.push_back(std::move(remark));
  if (irregular_)
    remarks.push_back(fmt::format("irregular times: each reading is taken at {}, on steps of {}",
                                  nearest_ ? "the step next to it" : "its own", seconds_text(step_)));
  return remarks;
}

void RecordStream::look_through(const DataSource& source) {
  constexpr std::size_t most = 4000;  // rows of the outline
  const std::size_t inputs = options_.inputs.size();
  std::int64_t stride = 1, index = 0;
  IntervalFinder finder;
  TickFinder ticks;
  DataRows rows(source, wanted_);
  std::vector<double> given(inputs, no_number);
  for (DataRows::Row row; rows.next(row);) {
    if (finder.times() > 0 && !(row.t > finder.last())) continue;
    finder.add(row.t);
    if (!(step_ > 0.0)) ticks.add(row.t);
    for (std::size_t k = 0; k < inputs; ++k)
      if (const double v = row.values[sensors_ + k]; !std::isnan(v)) given[k] = v;
    if (index++ % stride != 0) continue;
    outline_.readings.insert(outline_.readings.end(), row.values.begin(),
                             row.values.begin() + static_cast<long>(sensors_));
    outline_.given.insert(outline_.given.end(), given.begin(), given.end());
    if (++outline_.steps < static_cast<std::int64_t>(most)) continue;
    // Every other row goes.
    const auto thin = [&](std::vector<double>& list, std::size_t width) {
      for (std::size_t k = 0; k < most / 2; ++k)
        std::copy_n(list.begin() + static_cast<long>(2 * k * width), width,
                    list.begin() + static_cast<long>(k * width));
      list.resize(most / 2 * width);
    };
    thin(outline_.readings, sensors_);
    thin(outline_.given, inputs);
    outline_.steps = most / 2;
    stride *= 2;
  }
  base_.interval = finder.interval();
  if (!(step_ > 0.0)) {
    step_ = base_.interval;
    const double tick = ticks.tick(), part = tick > 0.0 ? step_ / tick : 0.0;
    // Rows that are regular are a whole number of intervals apart, and the interval one of ticks.
    irregular_ = options_.resample == "exact" && step_ > 0.0 && !regular(source, finder);
    own_clock_ = irregular_ && follows_any_clock(model_);
    if (own_clock_) step_ = longest_prediction(step_, finder.last() - finder.first());
    if (irregular_ && !own_clock_ && tick > 0.0 && part <= most_ticks_a_row) step_ = tick;
    if (irregular_ && !own_clock_ && !(tick > 0.0 && part <= most_ticks_a_row)) {
      step_ /= 16.0;
      nearest_ = true;
    }
  }
  if (!(step_ > 0.0))
    throw ModelError(
        {{source.name(), 0}, "T597", "one time only, and no step", {"give the step of the estimation"}});
  outline_.sensors = options_.sensors;
  outline_.inputs = options_.inputs;
  outline_.start = finder.first();
  outline_.step = base_.interval > 0.0 ? base_.interval * static_cast<double>(stride) : step_;
  const double begin = std::max(finder.first(), options_.from.value_or(finder.first()));
  const double end = std::min(finder.last(), options_.to.value_or(finder.last()));
  if (!(begin <= end))
    throw ModelError({{source.name(), 0},
                      "T595",
                      "nothing of the record lies in the window",
                      {fmt::format("the record goes from {:g} s to {:g} s", finder.first(), finder.last())}});
  rows_ = irregular() ? finder.times()
                      : 1 + static_cast<std::int64_t>(std::floor((end - begin) / step_ + close_enough));
}

// The next row of the file within the window, in `pending_`.
bool RecordStream::read() {
  const double near = close_enough * step_;
  while (!ended_ && data_->next(pending_)) {
    if (options_.to && pending_.t > *options_.to + near) continue;
    if (!options_.from || pending_.t >= *options_.from - near) return has_pending_ = true;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (const double v = pending_.values[sensors_ + k]; !std::isnan(v)) inputs_[k] = v;
  }
  ended_ = true;
  return false;
}

void RecordStream::drop(const std::vector<double>& readings) {
  for (std::size_t s = 0; s < sensors_; ++s) too_late_[s] += !std::isnan(readings[s]);
}

bool RecordStream::next(Row& row) {
  const double near = close_enough * step_;
  for (;;) {
    if (!has_pending_) read();
    if (!held_.empty() && has_pending_ && held_.top().arrival <= pending_.t + near) {
      row = held_.top().row;
      held_.pop();
      return true;
    }
    if (!has_pending_) {
      for (; !held_.empty(); held_.pop()) drop(held_.top().row.readings);  // the record ends before they come
      return false;
    }
    has_pending_ = false;
    row.t = pending_.t;
    row.line = pending_.line;
    row.late = pending_.arrival > pending_.t + near;
    row.readings.assign(pending_.values.begin(), pending_.values.begin() + static_cast<long>(sensors_));
    row.inputs.assign(pending_.values.begin() + static_cast<long>(sensors_), pending_.values.end());
    const bool newer = !begun_ || pending_.t > newest_;
    if (!begun_)
      for (std::size_t k = 0; k < inputs_.size(); ++k)
        if (std::isnan(row.inputs[k])) row.inputs[k] = inputs_[k];
    if (newer) {
      if (begun_) base_.add(newest_, pending_.t);
      newest_ = pending_.t;
      begun_ = true;
    }
    if (pending_.arrival <= pending_.t + near) return true;
    if (pending_.arrival - pending_.t > options_.late + near) {
      drop(row.readings);
      std::fill(row.readings.begin(), row.readings.end(), no_number);
    } else if (pending_.arrival > newest_ + near) {
      Row later{row.t, row.line, true, row.readings, std::vector<double>(row.inputs.size(), no_number)};
      held_.push({pending_.arrival, order_++, std::move(later)});
      std::fill(row.readings.begin(), row.readings.end(), no_number);
    } else {
      return true;
    }
    if (newer) return true;  // its step and its inputs are known all the same
  }
}

}  // namespace tellegen
