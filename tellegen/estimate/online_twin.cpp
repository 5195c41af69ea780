#include "tellegen/estimate/online_twin.h"

#include <fmt/format.h>

#include "tellegen/estimate/estimate_stream.h"
#include "tellegen/estimate/twin.h"
#include "tellegen/records/choice.h"

namespace tellegen {
namespace {

FollowOptions follow_options(const Model& model, const OnlineTwinOptions& options) {
  EstimateOptions as_asked;
  as_asked.estimator = options.estimator;
  as_asked.compile = options.compile;
  const std::optional<double> step = options.step ? options.step : model.estimation.step;
  FollowOptions follow = follow_options(model, as_asked, step.value_or(model.simulation.step.value_or(0.0)));
  follow.check = options.check;
  if (options.late) follow.late = *options.late;
  if (!options.inputs.empty()) follow.inputs = options.inputs;
  if (!options.sensors.empty()) follow.sensors = sensors_named(model, options.sensors);
  return follow;
}

OnlineTwin::Belief belief_of(const Twin::Quantities& q) {
  return {q.t, {q.mean.begin(), q.mean.end()}, {q.deviation.begin(), q.deviation.end()}};
}

}  // namespace

struct OnlineTwin::Parts {
  FollowOptions follow;
  Twin twin;
  Parts(const Model& model, const FollowOptions& options) : follow(options), twin(model, options) {}
};

OnlineTwin::OnlineTwin(const Model& model, const OnlineTwinOptions& options)
    : parts_(std::make_unique<Parts>(model, follow_options(model, options))), inputs_(parts_->follow.inputs) {
  for (const int s : parts_->follow.sensors)
    sensors_.push_back(model.outputs[static_cast<std::size_t>(s)].name);
}

OnlineTwin::~OnlineTwin() = default;
OnlineTwin::OnlineTwin(OnlineTwin&&) noexcept = default;

const std::vector<EstimatedQuantity>& OnlineTwin::quantities() const { return parts_->twin.described(); }

OnlineTwin::Pushed OnlineTwin::push(double t, std::span<const double> readings,
                                    std::span<const double> inputs) {
  if (readings.size() != sensors_.size() || inputs.size() != inputs_.size())
    throw ModelError({{"push", 0},
                      "T630",
                      fmt::format("a row has {} readings and {} inputs; this twin takes {} and {}",
                                  readings.size(), inputs.size(), sensors_.size(), inputs_.size()),
                      {"NaN stands for what is missing"}});
  return parts_->twin.push(t, readings, inputs);
}

OnlineTwin::Belief OnlineTwin::belief() { return belief_of(parts_->twin.quantities()); }

std::vector<OnlineTwin::Belief> OnlineTwin::forecast(double horizon, std::span<const double> inputs) {
  std::vector<Belief> coming;
  for (const Twin::Quantities& q : parts_->twin.forecast(inputs, horizon)) coming.push_back(belief_of(q));
  return coming;
}

std::string OnlineTwin::checkpoint() { return parts_->twin.checkpoint(); }
void OnlineTwin::restore(std::string_view bytes) { parts_->twin.restore(bytes); }
const std::string& OnlineTwin::failure() const { return parts_->twin.failure(); }

}  // namespace tellegen
