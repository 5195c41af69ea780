#include "tellegen/estimate/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tellegen/estimate/estimate_stream.h"
#include "tellegen/estimate/innovation_monitor.h"
#include "tellegen/estimate/tune.h"
#include "tellegen/estimate/twin.h"
#include "tellegen/model/parameters.h"
#include "tellegen/sensitivity/interruption.h"

namespace tellegen {
namespace {

class Run {
 public:
  Run(const Model& model, const Record& record, const EstimateOptions& options)
      : model_(model), record_(record), options_(options) {}

  Estimate go() {
    Model model = model_;
    std::vector<double> before;
    for (int pass = 0; pass < std::max(1, options_.passes); ++pass) {
      once(model);
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
  // The covariance begins anew in each pass, and so does the deviation of the start.
  double deviation_of(std::size_t k) const {
    const ModelUnknown& unknown = model_.unknowns[model_.estimation.unknowns[k]];
    const double start = unknown.start.value_or(model_.parameters[unknown.parameter].number);
    return unknown.deviation.value_or(start != 0.0 ? std::abs(start) : 1.0);
  }

  void once(const Model& model) {
    const std::size_t sensors = record_.sensors.size();
    estimate_ = Estimate();
    FollowOptions follow = follow_options(model, options_, record_.step);
    follow.sensors = record_.sensors;
    follow.inputs = record_.inputs;
    if (record_.arrivals.empty()) follow.late = 0.0;
    follow.nearest = false;
    follow.any_times = !record_.clock.empty();
    follow.rows = static_cast<long>(record_.steps);
    follow.begins = record_.time(0);
    follow.given = record_.given.data();
    follow.corrected = [this, sensors](std::int64_t row, const Innovations& innovations) {
      for (std::size_t s = 0; s < sensors; ++s) {
        const std::size_t at = static_cast<std::size_t>(row) * sensors + s;
        estimate_.innovation[at] = innovations.value[s];
        estimate_.innovation_deviation[at] = std::sqrt(innovations.variance[s]);
        refused_[at] = innovations.refused[s];
      }
    };
    Twin twin(model, follow);
    estimate_.quantities = twin.described();
    estimate_.estimator = twin.estimator();
    estimate_.executor = twin.executor();
    estimate_.reduction = twin.remark();
    if (options_.tune) twin.restart(tuned_noise(twin));
    const auto begin = std::chrono::steady_clock::now();
    lead(twin);
    estimate_.loop_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    estimate_.corrects = twin.model().uncertain();
    judge();
  }

  void clear() {
    const std::size_t cells = static_cast<std::size_t>(record_.steps) * record_.sensors.size();
    estimate_.innovation.assign(cells, no_number);
    estimate_.innovation_deviation.assign(cells, no_number);
    refused_.assign(cells, 0);
  }

  void lead(Twin& twin) {
    const auto rows = static_cast<std::size_t>(record_.steps);
    const std::size_t quantities = twin.described().size();
    estimate_.t.reserve(rows);
    estimate_.mean.reserve(rows * quantities);
    estimate_.deviation.reserve(rows * quantities);
    follow(twin, [&](std::int64_t row) {
      const Twin::Quantities& now = twin.quantities();
      estimate_.t.push_back(now.t);
      estimate_.mean.insert(estimate_.mean.end(), now.mean.begin(), now.mean.end());
      estimate_.deviation.insert(estimate_.deviation.end(), now.deviation.begin(), now.deviation.end());
      if (options_.progress && row % 1024 == 0)
        options_.progress(static_cast<double>(row) / static_cast<double>(record_.steps));
    });
    estimate_.log_likelihood = twin.log_likelihood();
    estimate_.failure = twin.failure();
    if (!estimate_.failure.empty()) {
      estimate_.innovation.resize(estimate_.t.size() * record_.sensors.size());
      estimate_.innovation_deviation.resize(estimate_.innovation.size());
      return;
    }
    if (!options_.smooth) return;
    estimate_.smooth = estimate_.mean;
    estimate_.smooth_deviation = estimate_.deviation;
    twin.smooth([&](std::int64_t row, const Twin::Quantities& q) {
      const auto at = static_cast<long>(static_cast<std::size_t>(row) * quantities);
      std::copy(q.mean.begin(), q.mean.end(), estimate_.smooth.begin() + at);
      std::copy(q.deviation.begin(), q.deviation.end(), estimate_.smooth_deviation.begin() + at);
    });
  }

  // Row by row, each reading when it is known; `each` row that was followed.
  template <class Each>
  void follow(Twin& twin, const Each& each) {
    clear();
    const std::size_t sensors = record_.sensors.size(), inputs = record_.inputs.size();
    std::vector<std::vector<std::size_t>> arriving(
        record_.arrivals.empty() ? 0 : static_cast<std::size_t>(record_.steps));
    for (std::size_t k = 0; k < record_.arrivals.size(); ++k)
      if (const auto at = record_.arrivals[k]; !std::isnan(record_.readings[k]) && at >= 0 &&
                                               at < record_.steps &&
                                               at != static_cast<std::int64_t>(k / sensors))
        arriving[static_cast<std::size_t>(at)].push_back(k);
    std::vector<double> readings(sensors);
    const std::vector<double> none(inputs, no_number);
    for (std::int64_t row = 0; row < record_.steps; ++row) {
      InterruptionWatch::ask();
      const auto r = static_cast<std::size_t>(row);
      if (!arriving.empty())
        for (std::size_t k : arriving[r]) {
          std::fill(readings.begin(), readings.end(), no_number);
          readings[k % sensors] = record_.readings[k];
          twin.push(record_.time(static_cast<std::int64_t>(k / sensors)), readings, none);
        }
      for (std::size_t s = 0; s < sensors; ++s) {
        const bool known = arriving.empty() || record_.arrivals[r * sensors + s] == row;
        readings[s] = known ? record_.readings[r * sensors + s] : no_number;
      }
      twin.push(record_.time(row), readings, {record_.given.data() + r * inputs, inputs});
      if (!twin.failure().empty() && !twin.diverged()) return;
      each(row);
      if (twin.diverged()) return;
    }
  }

  // Mean, variance and whiteness of the innovations.
  void judge() {
    std::vector<std::string> names;
    for (int s : record_.sensors) names.push_back(model_.outputs[s].name);
    InnovationMonitor monitor(std::move(names), record_.step, 0);
    monitor.add(estimate_.t, estimate_.innovation, estimate_.innovation_deviation, refused_);
    estimate_.inconsistent = monitor.stretches();
    estimate_.sensors = monitor.statistics();
    estimate_.warnings = monitor.warnings();
  }

  // Maximum likelihood of the innovations over the process noises that are not zero.
  Vector tuned_noise(Twin& twin) {
    const Vector nominal = twin.process_noise();
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
          twin.restart(noise_at(logs));
          follow(twin, [](std::int64_t) {});
          const double likelihood = twin.log_likelihood();
          return twin.failure().empty() && std::isfinite(likelihood) ? -likelihood : 1e300;
        });
    const Vector q = noise_at(best);
    for (long k : free)
      estimate_.tuned.emplace_back(twin.model().states()[static_cast<std::size_t>(k)].name,
                                   std::sqrt(q[k] / record_.step));
    return q;
  }

  const Model& model_;
  const Record& record_;
  const EstimateOptions& options_;
  Estimate estimate_;
  std::vector<Estimate::Pass> passes_;
  std::vector<char> refused_;
};

}  // namespace

Model begun_with(const Model& original, const std::vector<std::string>& inputs,
                 std::span<const double> first) {
  Model model = original;
  std::vector<int> parameters;
  std::vector<double> values;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    for (std::size_t p = 0; p < model.parameters.size(); ++p)
      if (model.parameters[p].name == inputs[k]) {
        parameters.push_back(static_cast<int>(p));
        values.push_back(first[k]);
      }
  if (!parameters.empty()) set_parameters(model, parameters, values);
  return model;
}

Model begun_with(const Model& model, const Record& record) {
  return record.given.empty() ? model : begun_with(model, record.inputs, record.given);
}

Estimate estimate(const Model& model, const Record& record, const EstimateOptions& options) {
  return Run(model, record, options).go();
}

}  // namespace tellegen
