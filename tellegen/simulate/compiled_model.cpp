#include "tellegen/simulate/compiled_model.h"

#include <utility>

#include "tellegen/model/reading.h"
#include "tellegen/simulate/stop.h"

namespace tellegen {

CompiledModel::CompiledModel(CompiledModelOptions options) : options_(std::move(options)), first_(read()) {
  for (const int p : first_.parameters) nominal_.push_back(first_.model->parameters[p].number);
  const ModelInstance all_formulas(*this);
}

CompiledModel::Prepared CompiledModel::read() const {
  Prepared prepared{std::make_unique<Model>(options_.read()), {}, {}, {}};
  Model& model = *prepared.model;
  FaultList faults;
  const auto gather = [&](const auto& names, const auto& add) {
    for (const std::string& name : names) try {
        add(name);
      } catch (const ModelError& error) {
        faults.add(error);
      }
  };
  gather(options_.parameters,
         [&](const std::string& name) { prepared.parameters.push_back(study_parameter(model, name)); });
  gather(options_.outputs, [&](const std::string& text) {
    prepared.outputs.push_back({text, "", parse_value(model, text, {"outputs", 0})});
  });
  faults.throw_if_any();
  prepared.simulation = complete_options(model, options_.simulation);
  prepared.simulation.restarts = true;
  add_stop_watch(model, prepared.simulation);
  return prepared;
}

ModelInstance::ModelInstance(const CompiledModel& compiled)
    : compiled_(compiled), numbers_(compiled.nominal()) {
  const std::lock_guard one_at_a_time(compiled.building_);
  const CompiledModel::Prepared& first = compiled.first_;
  build({std::make_unique<Model>(*first.model), first.parameters, first.simulation, first.outputs});
}

void ModelInstance::build(CompiledModel::Prepared prepared) {
  simulation_.reset();
  model_ = std::move(prepared.model);
  setter_.emplace(*model_, std::move(prepared.parameters));
  setter_->set(numbers_);
  if (model_->simulation.stop_formula) prepared.simulation.stop = *model_->simulation.stop;
  stop_ = prepared.simulation.stop;
  simulation_ =
      std::make_unique<Simulation>(*model_, std::move(prepared.simulation), std::move(prepared.outputs));
  fresh_ = true;
}

void ModelInstance::set(std::span<const double> numbers) {
  setter_->set(numbers);
  numbers_.assign(numbers.begin(), numbers.end());
  fresh_ = false;
}

SimulationResult ModelInstance::run(const Progress& progress) {
  if (model_->simulation.stop_formula) stop_ = *model_->simulation.stop;
  if (!fresh_ && !simulation_->restart(stop_)) build(compiled_.read());
  fresh_ = false;
  return simulation_->run(progress);
}

}  // namespace tellegen
