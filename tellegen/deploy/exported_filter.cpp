#include "tellegen/deploy/exported_filter.h"

#include <fmt/format.h>

#include "tellegen/records/statistics.h"

namespace tellegen {
namespace {

TwinOptions twin_options(const Model& model, const FilterExportOptions& options,
                         const EstimatorEntry& entry) {
  TwinOptions twin;
  twin.sensors = options.sensors;
  twin.unknowns = model.estimation.unknowns;
  twin.inputs = options.inputs;
  twin.plain = entry.plain;
  twin.compile = false;
  twin.input_noise = true;
  return twin;
}

}  // namespace

ExportedFilter::ExportedFilter(const Model& model, const FilterExportOptions& given, const char* target)
    : entry(find_estimator(given.estimator.empty() ? model.estimation.estimator : given.estimator,
                           model.estimation.place)),
      plant(model, twin_options(model, given, entry)) {
  const auto refuse = [&](const char* code, const std::string& why, const char* help) {
    throw ModelError({{model.file.string(), 0}, code, why, {help}});
  };
  if (given.sensors.empty())
    refuse("T621", "the model has no sensors, and an estimator nothing to read", "add [sensors]");
  options.step = given.step;
  options.compile = false;
  if (model.estimation.gate) options.gate = chi_square_quantile(*model.estimation.gate, 1.0);
  const auto made = entry.make(plant, options);
  if (!made->executor().starts_with("generated"))
    refuse("T420",
           fmt::format("the estimator '{}' of this model cannot be exported as {}: it is run by '{}'",
                       entry.name, target, made->executor()),
           "kf, ekf, pkf, ukf and steady can, of a dozen states, where no equation has to be solved for a "
           "rate");
  process_noise = made->process_noise();
}

}  // namespace tellegen
