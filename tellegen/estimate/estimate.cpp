#include "tellegen/estimate/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>

#include "tellegen/estimate/filter.h"
#include "tellegen/estimate/inconsistency.h"
#include "tellegen/estimate/smoother.h"
#include "tellegen/estimate/statistics.h"
#include "tellegen/estimate/tune.h"
#include "tellegen/estimate/widen.h"
#include "tellegen/model/parameters.h"

namespace tellegen {
namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();

// A filter has diverged where the readings of a sensor are, over many of them, further from what it
// expects than its own uncertainty allows by this factor.
constexpr int divergence_window = 200;
constexpr double divergence_ratio = 100.0;  // of variances

class Run {
 public:
  Run(const Model& model, const Record& record, const EstimateOptions& options)
      : model_(model), record_(record), options_(options), entry_(choose(model, options)) {
    check_noise(model, record.sensors);
    for (const std::string& input : record.inputs) held_.push_back(is_held(model, input));
  }

  Estimate go() {
    Model model = begun_with(model_, record_);
    std::vector<double> before;
    for (int pass = 0; pass < std::max(1, options_.passes); ++pass) {
      once(model, pass + 1 == options_.passes || options_.passes <= 1);
      if (!estimate_.failure.empty()) break;
      if (options_.passes <= 1) break;
      std::vector<double> now;
      for (std::size_t q = 0; q < estimate_.quantities.size(); ++q)
        if (estimate_.quantities[q].what == EstimatedQuantity::What::unknown)
          now.push_back(estimate_.mean[(estimate_.t.size() - 1) * estimate_.quantities.size() + q]);
      double change = 0.0;
      for (std::size_t k = 0; k < now.size(); ++k) {
        const ModelUnknown& unknown = model.unknowns[model.estimation.unknowns[k]];
        const double old =
            before.empty() ? unknown.start.value_or(model.parameters[unknown.parameter].number) : before[k];
        change += (now[k] - old) * (now[k] - old);
        model.unknowns[model.estimation.unknowns[k]].start = now[k];
        model.unknowns[model.estimation.unknowns[k]].deviation = deviation_of(k);
      }
      passes_.push_back({now, std::sqrt(change)});
      before = now;
      if (passes_.back().change < options_.passes_tolerance) break;
    }
    estimate_.passes = passes_;
    if (options_.passes > 1 && estimate_.failure.empty() &&
        passes_.back().change >= options_.passes_tolerance)
      estimate_.warnings.push_back(fmt::format("after {} passes the unknowns still change by {:.3g}",
                                               passes_.size(), passes_.back().change));
    return std::move(estimate_);
  }

 private:
  static const EstimatorEntry& choose(const Model& model, const EstimateOptions& options) {
    return find_estimator(options.estimator.empty() ? model.estimation.estimator : options.estimator,
                          model.estimation.place);
  }

  // The covariance begins anew in each pass, and so does the deviation of the start.
  double deviation_of(std::size_t k) const {
    const ModelUnknown& unknown = model_.unknowns[model_.estimation.unknowns[k]];
    const double start = unknown.start.value_or(model_.parameters[unknown.parameter].number);
    return unknown.deviation.value_or(start != 0.0 ? std::abs(start) : 1.0);
  }

  void once(const Model& model, bool /*last*/) {
    TwinOptions twin;
    twin.sensors = record_.sensors;
    twin.unknowns = model.estimation.unknowns;
    twin.inputs = record_.inputs;
    twin.plain = entry_.plain;
    twin.compile = options_.compile;
    twin.listed_states = options_.reduce > 0    ? 0
                         : options_.reduce == 0 ? full_filter_limit
                                                : twin.listed_states;
    TwinModel plant(model, twin);
    FilterOptions filter_options;
    filter_options.step = record_.step;
    filter_options.euler = options_.euler;
    filter_options.reduce = options_.reduce;
    filter_options.rows = static_cast<long>(record_.steps);
    filter_options.begins = record_.time(0);
    filter_options.given = record_.given.data();
    if (model.estimation.gate) filter_options.gate = chi_square_quantile(*model.estimation.gate, 1.0);
    estimate_ = Estimate();
    estimate_.quantities = plant.quantities();
    estimate_.estimator = entry_.name;
    Vector noise;
    filter_options.compile = options_.compile;
    filter_options.generate = false;
    if (options_.tune) noise = tuned_noise(plant, filter_options);
    filter_options.generate = noise.size() == 0;
    auto filter = entry_.make(plant, filter_options);
    if (noise.size() > 0) filter->set_process_noise(noise);
    estimate_.executor = filter->executor();
    estimate_.reduction = filter->remark();
    if (options_.smooth && !entry_.smooths)
      throw ModelError({model.estimation.place,
                        "T624",
                        fmt::format("no smoother can follow '{}'", entry_.name),
                        {"use ekf or kf"}});
    const auto begin = std::chrono::steady_clock::now();
    lead(plant, *filter);
    estimate_.loop_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    judge();
  }

  void lead(TwinModel& plant, Filter& filter) {
    const std::size_t sensors = record_.sensors.size(), quantities = plant.quantities().size();
    const auto rows = static_cast<std::size_t>(record_.steps);
    estimate_.t.reserve(rows);
    estimate_.mean.reserve(rows * quantities);
    estimate_.deviation.reserve(rows * quantities);
    estimate_.innovation.assign(rows * sensors, nan);
    estimate_.innovation_deviation.assign(rows * sensors, nan);
    estimate_.sensors.resize(sensors);
    for (std::size_t s = 0; s < sensors; ++s)
      estimate_.sensors[s].name = model_.outputs[record_.sensors[s]].name;
    Innovations innovations{std::vector<double>(sensors, nan), std::vector<double>(sensors, nan),
                            std::vector<char>(sensors, 0), 0.0};
    refused_.assign(rows * sensors, 0);
    likelihoods_.assign(rows, 0.0);
    recent_.assign(sensors, {});
    recent_sum_.assign(sensors, 0.0);
    Smoother smoother;
    Belief corrected;
    // Readings known so far, where some arrive late; and the beliefs to go back to.
    std::vector<double> known;
    std::deque<std::pair<std::int64_t, Belief>> history;
    std::vector<std::vector<std::size_t>> arriving;
    if (!record_.arrivals.empty()) {
      known.assign(record_.readings.size(), nan);
      arriving.resize(rows);
      for (std::size_t k = 0; k < record_.arrivals.size(); ++k)
        if (const auto at = record_.arrivals[k];
            !std::isnan(record_.readings[k]) && at >= 0 && at < record_.steps)
          arriving[static_cast<std::size_t>(at)].push_back(k);
    }
    const std::vector<double>& readings = record_.arrivals.empty() ? record_.readings : known;
    const auto longest = static_cast<std::size_t>(std::ceil(model_.estimation.late / record_.step)) + 1;

    for (std::int64_t row = 0; row < record_.steps; ++row) {
      std::int64_t from = row;
      if (!arriving.empty())
        for (std::size_t k : arriving[static_cast<std::size_t>(row)]) {
          known[k] = record_.readings[k];
          from = std::min(from, static_cast<std::int64_t>(k / sensors));
        }
      if (row > 0) {
        if (options_.smooth) corrected = filter.belief();
        if (!predict(filter, row)) return fail(row, "the model cannot be evaluated");
        widen(plant, filter, row, options_.widenings);
        if (options_.smooth)
          smoother.keep(static_cast<std::size_t>(row), corrected, filter.transition(), filter.belief());
      }
      if (row == 0) widen(plant, filter, 0, options_.widenings);
      if (!arriving.empty()) {
        history.emplace_back(row, filter.save());
        if (history.size() > longest) history.pop_front();
        if (from < row) {
          from = std::max(from, history.front().first);
          for (auto& [at, belief] : history) {
            if (at < from) continue;
            if (at == from) {
              filter.restore(belief);
            } else {
              if (options_.smooth) corrected = filter.belief();
              if (!predict(filter, at)) return fail(at, "the model cannot be evaluated");
              widen(plant, filter, at, options_.widenings);
              if (options_.smooth)
                smoother.keep(static_cast<std::size_t>(at), corrected, filter.transition(), filter.belief());
              belief = filter.save();
            }
            if (at < row) correct(filter, at, readings, innovations);
          }
        }
      }
      if (!correct(filter, row, readings, innovations))
        return fail(row, "the innovation's covariance is singular");
      report(plant, filter, row);
      if (const int lost = options_.anyway ? -1 : diverged(); lost >= 0)
        return fail(row,
                    fmt::format("the filter diverged: {} readings of '{}' in a row are {:.0f} "
                                "standard deviations off, on average",
                                divergence_window, estimate_.sensors[static_cast<std::size_t>(lost)].name,
                                std::sqrt(recent_sum_[static_cast<std::size_t>(lost)] / divergence_window)));
      if (options_.progress && row % 1024 == 0)
        options_.progress(static_cast<double>(row) / static_cast<double>(record_.steps));
    }
    if (options_.smooth) smooth(plant, filter, smoother);
  }

  bool predict(Filter& filter, std::int64_t to) {
    const std::size_t inputs = record_.inputs.size();
    const auto before = static_cast<std::size_t>(to - 1);
    rates_.resize(inputs);
    for (std::size_t k = 0; k < inputs; ++k)
      rates_[k] = held_[k] ? 0.0
                           : (record_.given[(before + 1) * inputs + k] - record_.given[before * inputs + k]) /
                                 record_.step;
    return filter.predict(record_.time(to - 1), record_.given.data() + before * inputs, rates_.data());
  }

  bool correct(Filter& filter, std::int64_t row, const std::vector<double>& readings,
               Innovations& innovations) {
    const std::size_t sensors = record_.sensors.size();
    const auto r = static_cast<std::size_t>(row);
    if (!filter.correct(record_.time(row), record_.given.data() + r * record_.inputs.size(),
                        readings.data() + r * sensors, innovations))
      return false;
    for (std::size_t s = 0; s < sensors; ++s) {
      const std::size_t at = r * sensors + s;
      // A row is corrected again when a late reading belongs to it or to one before: each reading counts
      // once.
      const bool counted = !std::isnan(estimate_.innovation[at]);
      estimate_.innovation[at] = innovations.value[s];
      estimate_.innovation_deviation[at] = std::sqrt(innovations.variance[s]);
      refused_[at] = innovations.refused[s];
      if (counted || std::isnan(innovations.value[s])) continue;
      const double square = innovations.value[s] * innovations.value[s] / innovations.variance[s];
      recent_[s].push_back(square);
      recent_sum_[s] += square;
      if (recent_[s].size() > divergence_window) {
        recent_sum_[s] -= recent_[s].front();
        recent_[s].pop_front();
      }
    }
    likelihoods_[r] = innovations.log_likelihood;
    return true;
  }

  int diverged() const {
    for (std::size_t s = 0; s < recent_.size(); ++s)
      if (recent_[s].size() == divergence_window && recent_sum_[s] > divergence_ratio * divergence_window)
        return static_cast<int>(s);
    return -1;
  }

  void report(TwinModel& plant, const Filter& filter, std::int64_t row) {
    const auto r = static_cast<std::size_t>(row);
    plant.quantities_at(filter.mean(), record_.time(row), record_.given.data() + r * record_.inputs.size(),
                        value_, slopes_);
    filter.deviations(slopes_, deviations_);
    estimate_.t.push_back(record_.time(row));
    estimate_.mean.insert(estimate_.mean.end(), value_.begin(), value_.end());
    estimate_.deviation.insert(estimate_.deviation.end(), deviations_.begin(), deviations_.end());
  }

  void smooth(TwinModel& plant, const Filter& filter, const Smoother& smoother) {
    const std::size_t quantities = plant.quantities().size();
    estimate_.smooth = estimate_.mean;
    estimate_.smooth_deviation = estimate_.deviation;
    smoother.run(filter.belief(), [&](std::size_t row, const Belief& belief) {
      plant.quantities_at(filter.states_of(belief), record_.time(static_cast<std::int64_t>(row)),
                          record_.given.data() + row * record_.inputs.size(), value_, slopes_);
      filter.deviations_in(belief, slopes_, deviations_);
      std::copy(value_.begin(), value_.end(), estimate_.smooth.begin() + static_cast<long>(row * quantities));
      std::copy(deviations_.begin(), deviations_.end(),
                estimate_.smooth_deviation.begin() + static_cast<long>(row * quantities));
    });
  }

  void fail(std::int64_t row, const std::string& why) {
    estimate_.failure = fmt::format("at t = {:.6g} s {}", record_.time(row), why);
    estimate_.innovation.resize(estimate_.t.size() * record_.sensors.size());
    estimate_.innovation_deviation.resize(estimate_.innovation.size());
  }

  // Mean, variance and whiteness of the innovations.
  void judge() {
    const std::size_t sensors = record_.sensors.size();
    std::vector<double> normal(estimate_.innovation.size());
    for (std::size_t k = 0; k < normal.size(); ++k)
      normal[k] = refused_[k] ? INFINITY : estimate_.innovation[k] / estimate_.innovation_deviation[k];
    for (const Inconsistency& i : inconsistencies(normal, sensors, record_.step))
      estimate_.inconsistent.push_back({estimate_.sensors[i.sensor].name, record_.time(i.from),
                                        record_.time(i.to), i.from, i.to, i.ratio, !i.from_window});
    for (double l : likelihoods_) estimate_.log_likelihood += l;
    std::vector<double> series;
    for (std::size_t s = 0; s < sensors; ++s) {
      series.clear();
      SensorStatistics& out = estimate_.sensors[s];
      double sum = 0.0, squares = 0.0;
      for (std::size_t k = s; k < estimate_.innovation.size(); k += sensors) {
        const double z = estimate_.innovation[k] / estimate_.innovation_deviation[k];
        if (refused_[k])
          ++out.refused;
        else if (std::isnan(z))
          ++out.missing;
        series.push_back(z);
        if (std::isnan(z)) continue;
        ++out.used;
        sum += z;
        squares += z * z;
      }
      if (out.used == 0) continue;
      out.mean = sum / static_cast<double>(out.used);
      out.variance = squares / static_cast<double>(out.used);
      out.whiteness = whiteness(series);
      if (out.whiteness < 1e-3)
        estimate_.warnings.push_back(fmt::format(
            "the innovation of '{}' is not white (probability {:.1e}): the model or its process noise "
            "does not explain the readings",
            out.name, out.whiteness));
      const double spread = std::sqrt(2.0 / static_cast<double>(out.used));
      if (std::abs(out.variance - 1.0) > 5.0 * spread + 0.05)
        estimate_.warnings.push_back(
            fmt::format("the innovation of '{}' has {:.2f} times the variance the filter expects", out.name,
                        out.variance));
    }
  }

  // Maximum likelihood of the innovations over the process noises that are not zero.
  Vector tuned_noise(TwinModel& plant, const FilterOptions& filter_options) {
    const Vector nominal = entry_.make(plant, filter_options)->process_noise();
    std::vector<long> free;
    for (Eigen::Index k = 0; k < nominal.size(); ++k)
      if (nominal[k] > 0.0) free.push_back(k);
    if (free.empty())
      throw ModelError({model_.estimation.place,
                        "T626",
                        "there is no process noise to be tuned",
                        {"give an unknown a walk, or a state noise: tuning begins there"}});
    const auto noise_at = [&](const std::vector<double>& logs) {
      Vector q = nominal;
      for (std::size_t k = 0; k < free.size(); ++k) q[free[k]] *= std::exp(logs[k]);
      return q;
    };
    const auto best =
        minimise(std::vector<double>(free.size(), 0.0), 2.0, [&](const std::vector<double>& logs) {
          auto filter = entry_.make(plant, filter_options);
          filter->set_process_noise(noise_at(logs));
          return -likelihood(*filter);
        });
    const Vector q = noise_at(best);
    for (long k : free)
      estimate_.tuned.emplace_back(plant.states()[static_cast<std::size_t>(k)].name,
                                   std::sqrt(q[k] / record_.step));
    return q;
  }

  double likelihood(Filter& filter) {
    const std::size_t sensors = record_.sensors.size();
    Innovations innovations{std::vector<double>(sensors, nan), std::vector<double>(sensors, nan),
                            std::vector<char>(sensors, 0), 0.0};
    double total = 0.0;
    for (std::int64_t row = 0; row < record_.steps; ++row) {
      if (row > 0 && !predict(filter, row)) return -1e300;
      const auto r = static_cast<std::size_t>(row);
      if (!filter.correct(record_.time(row), record_.given.data() + r * record_.inputs.size(),
                          record_.readings.data() + r * sensors, innovations))
        return -1e300;
      total += innovations.log_likelihood;
    }
    return std::isfinite(total) ? total : -1e300;
  }

  const Model& model_;
  const Record& record_;
  const EstimateOptions& options_;
  const EstimatorEntry& entry_;
  Estimate estimate_;
  std::vector<Estimate::Pass> passes_;
  std::vector<std::deque<double>> recent_;
  std::vector<double> recent_sum_, rates_, likelihoods_;
  std::vector<char> held_;  // per input: in force until the next row
  std::vector<char> refused_;
  Vector value_, deviations_;
  SlopeRows slopes_;
};

}  // namespace

Model begun_with(const Model& original, const Record& record) {
  Model model = original;
  if (record.given.empty()) return model;
  std::vector<int> parameters;
  std::vector<double> values;
  for (std::size_t k = 0; k < record.inputs.size(); ++k)
    for (std::size_t p = 0; p < model.parameters.size(); ++p)
      if (model.parameters[p].name == record.inputs[k]) {
        parameters.push_back(static_cast<int>(p));
        values.push_back(record.given[k]);
      }
  if (!parameters.empty()) set_parameters(model, parameters, values);
  return model;
}

Estimate estimate(const Model& model, const Record& record, const EstimateOptions& options) {
  return Run(model, record, options).go();
}

}  // namespace tellegen
