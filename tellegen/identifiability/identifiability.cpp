#include "tellegen/identifiability/identifiability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/records/sensor_slopes.h"
#include "tellegen/sensitivity/study.h"

namespace tellegen {
namespace {

constexpr std::int64_t most_rows = 20'000;

std::optional<InformationPoint> information_at(SensorRun& run, const ReadingTimes& times,
                                               const std::vector<double>& noise,
                                               const Eigen::VectorXd& values, std::string& failure) {
  const SensorSlopes slopes = run.at(std::span(values.data(), static_cast<std::size_t>(values.size())));
  failure = slopes.failure;
  if (!failure.empty()) return std::nullopt;
  InformationRoot information(values.size());
  Eigen::RowVectorXd row(values.size());
  for (std::int64_t r = 0; r < times.steps; ++r)
    for (std::size_t s = 0; s < noise.size(); ++s) {
      const double weight = times.weights[static_cast<std::size_t>(r) * noise.size() + s];
      if (weight == 0.0) continue;
      for (Eigen::Index p = 0; p < values.size(); ++p)
        row[p] = slopes.slope(r, s, static_cast<std::size_t>(p)) * std::sqrt(weight) / noise[s];
      if (!row.allFinite()) {
        failure = fmt::format("a slope is not finite at t = {:g} s", times.time(r));
        return std::nullopt;
      }
      information.add(row);
    }
  return InformationPoint{values, information.root()};
}

// Of rows that follow each other, the first stands for all.
ReadingTimes reading_times_of_clock(const Record& record) {
  const std::int64_t stride = (record.steps + most_rows - 1) / most_rows;
  const std::size_t width = record.sensors.size();
  ReadingTimes times;
  times.step = record.step;
  if (record.time(0) > 0.0) {
    times.clock.push_back(0.0);
    times.weights.assign(width, 0.0);
  }
  for (std::int64_t row = 0; row < record.steps; ++row) {
    if (row % stride == 0) {
      times.clock.push_back(record.time(row));
      times.weights.resize(times.weights.size() + width, 0.0);
    }
    for (std::size_t s = 0; s < width; ++s)
      if (record.readings.empty() || std::isfinite(record.reading(row, s)))
        times.weights[times.weights.size() - width + s] += 1.0;
  }
  times.steps = static_cast<std::int64_t>(times.clock.size());
  return times;
}

}  // namespace

Record planned_record(std::vector<int> sensors, double from, double to, double step) {
  Record record;
  record.sensors = std::move(sensors);
  const auto first = static_cast<std::int64_t>(std::ceil(from / step - 1e-6)),
             last = static_cast<std::int64_t>(std::floor(to / step + 1e-6));
  record.step = step;
  record.start = step * static_cast<double>(first);
  record.steps = std::max<std::int64_t>(0, last - first + 1);
  return record;
}

ReadingTimes reading_times(const Record& record) {
  if (!record.clock.empty()) return reading_times_of_clock(record);
  const double end = record.time(std::max<std::int64_t>(0, record.steps - 1));
  const auto all = static_cast<std::int64_t>(std::llround(end / record.step)) + 1;
  const std::int64_t stride = (all + most_rows - 1) / most_rows;
  ReadingTimes times;
  times.step = record.step * static_cast<double>(stride);
  times.steps = std::llround(end / times.step) + 1;
  const std::size_t width = record.sensors.size();
  times.weights.assign(static_cast<std::size_t>(times.steps) * width, 0.0);
  for (std::int64_t row = 0; row < record.steps; ++row) {
    const auto at = std::clamp<std::int64_t>(std::llround(record.time(row) / times.step), 0, times.steps - 1);
    for (std::size_t s = 0; s < width; ++s)
      if (record.readings.empty() || std::isfinite(record.reading(row, s)))
        times.weights[static_cast<std::size_t>(at) * width + s] += 1.0;
  }
  return times;
}

double moved_part(std::size_t quantity, double part) {
  const double golden = 0.6180339887498949 * static_cast<double>(quantity + 1);
  const double size = part * (0.4 + 0.6 * (golden - std::floor(golden)));
  return quantity % 2 == 0 ? size : -size;
}

double parameter_scale(const Model& model, int parameter) {
  const double number = model.parameters[static_cast<std::size_t>(parameter)].number;
  if (number != 0.0) return std::abs(number);
  for (const ModelUnknown& unknown : model.unknowns)
    if (unknown.parameter == parameter && unknown.deviation.value_or(0.0) > 0.0) return *unknown.deviation;
  return 1.0;
}

Knowledge parameter_knowledge(const Model& model, const Record& record, const std::vector<int>& parameters,
                              double limit) {
  const Place place{model.file.string(), 0};
  if (record.sensors.empty())
    throw ModelError({place, "T611", "there is no sensor to know anything from", {"add one to [sensors]"}});
  if (parameters.empty())
    throw ModelError(
        {place, "T611", "nothing is unknown", {"name parameters in [unknowns], or with --unknowns"}});
  check_noise(model, record.sensors);
  std::vector<UnknownQuantity> quantities;
  Eigen::VectorXd values(static_cast<Eigen::Index>(parameters.size())), scale(values.size());
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const ModelParameter& p = model.parameters[static_cast<std::size_t>(parameters[k])];
    UnknownQuantity q{UnknownQuantity::What::parameter, p.name, p.unit, p.number,
                      parameter_scale(model, parameters[k])};
    for (const ModelUnknown& unknown : model.unknowns)
      if (unknown.parameter == parameters[k] && unknown.varies != ModelUnknown::Varies::constant)
        q.what = UnknownQuantity::What::input;
    values[static_cast<Eigen::Index>(k)] = q.value;
    scale[static_cast<Eigen::Index>(k)] = q.scale;
    quantities.push_back(std::move(q));
  }
  const ReadingTimes times = reading_times(record);
  std::vector<double> noise;
  for (int s : record.sensors) noise.push_back(*model.outputs[static_cast<std::size_t>(s)].noise);

  Record rows;
  rows.sensors = record.sensors;
  rows.step = times.step;
  rows.steps = times.steps;
  rows.clock = times.clock;
  SensorRun run(with_inputs(model, record), rows, parameters, as_the_model_says());
  std::string failure;
  const auto here = information_at(run, times, noise, values, failure);
  if (!here) throw SimulationError(failure, 0.0);
  const auto elsewhere = [&](double part) {
    Eigen::VectorXd moved = values;
    for (Eigen::Index k = 0; k < moved.size(); ++k)
      moved[k] += scale[k] * moved_part(static_cast<std::size_t>(k), part);
    return information_at(run, times, noise, moved, failure);
  };
  return judge(std::move(quantities), *here, elsewhere, limit);
}

}  // namespace tellegen
