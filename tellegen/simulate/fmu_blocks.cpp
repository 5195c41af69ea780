#include "tellegen/simulate/fmu_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/model/fmu_component.h"
#include "tellegen/simulate/discrete.h"
#include "tellegen/simulate/initial.h"

namespace tellegen {

struct FmuBlocks::Block {
  const Component* component;
  const FmuUse* use;
  int first;  // its discrete variables are from here on
  std::unique_ptr<FmuInstance> instance;
  bool initializing = false, running = false, over = false;
  double interval = 0.0, clock = 0.0;
  std::int64_t steps = 0;
  std::vector<int> input_variables, output_variables;  // each once
  std::vector<std::size_t> input_place, output_place;  // of each signal among their elements
  std::vector<double> input_values, output_values;     // in the FMU's units
  std::vector<double> outputs;                         // signals, SI

  double& held(std::span<double> values, int discrete) const {
    return values[static_cast<std::size_t>(first + discrete)];
  }
};

namespace {

// Variables of these signals, and where each signal is among their elements.
void lay_out(const FmuDescription& d, const std::vector<FmuSignal>& signals, std::vector<int>& variables,
             std::vector<std::size_t>& places, std::vector<double>& values) {
  std::size_t begin = 0;
  for (const FmuSignal& s : signals) {
    if (variables.empty() || variables.back() != s.variable) {
      begin = values.size();
      variables.push_back(s.variable);
      values.resize(begin + d.variables[static_cast<std::size_t>(s.variable)].size(), 0.0);
    }
    places.push_back(begin + s.element);
  }
}

// What the FMU is given for an SI value; whole numbers must be whole.
double in_its_unit(const FmuSignal& s, double si) { return (si - s.offset) / s.factor; }

void set_parameters(const Model& model, const Component& component, const FmuUse& use,
                    FmuInstance& instance) {
  const FmuDescription& d = use.file->description();
  for (std::size_t v = 0; v < d.variables.size(); ++v)
    if (const auto text = use.texts.find(d.variables[v].name); text != use.texts.end())
      instance.set_text(static_cast<int>(v), text->second);
  const Kind& kind = model.kinds[static_cast<std::size_t>(component.kind)];
  for (std::size_t k = 0; k < use.parameters.size();) {
    const int variable = use.parameters[k].second.variable;
    const FmuVariable& v = d.variables[static_cast<std::size_t>(variable)];
    std::vector<double> values = v.start;
    bool changed = false;
    for (; k < use.parameters.size() && use.parameters[k].second.variable == variable; ++k) {
      const auto& [index, signal] = use.parameters[k];
      const ParameterValue& given = component.values[static_cast<std::size_t>(index)];
      const std::string& name = kind.parameters[static_cast<std::size_t>(index)].name;
      if (!given.value) continue;
      if (!given.constant)
        throw ModelError({component.place,
                          "T692",
                          fmt::format("parameter '{}' of '{}' must be constant", name, component.name),
                          {"only inputs of an FMU may change during a run"}});
      const double value = in_its_unit(signal, given.number);
      if (is_whole(v.type) && value != std::round(value))
        throw ModelError({component.place,
                          "T692",
                          fmt::format("parameter '{}' of '{}' is {:g}, and must be a whole number ({})", name,
                                      component.name, value, name_of(v.type)),
                          {}});
      // What has gone to SI and back may have lost its last digit.
      if (std::abs(value - values[signal.element]) <= 1e-14 * std::abs(value)) continue;
      values[signal.element] = value;
      changed = true;
    }
    if (changed) instance.set(std::span(&variable, 1), values);
  }
}

std::string in_words(const Component& component, const FmuUse& use, const std::exception& error) {
  return fmt::format("FMU '{}' ({}): {}", component.name, use.file->path().filename().string(), error.what());
}

}  // namespace

FmuBlocks::FmuBlocks(const EquationSystem& system) {
  const Model& model = *system.model;
  for (const Component& component : model.components) {
    const Kind& kind = model.kinds[static_cast<std::size_t>(component.kind)];
    if (!kind.fmu) continue;
    auto block = std::make_unique<Block>();
    block->component = &component;
    block->use = kind.fmu.get();
    const std::string clock = component.name + "." + kind.variables[0].name;
    const auto is_it = [&](const Discrete& d) { return d.name == clock; };
    block->first = static_cast<int>(std::find_if(system.discrete.begin(), system.discrete.end(), is_it) -
                                    system.discrete.begin());
    block->interval = system.discrete[static_cast<std::size_t>(block->first)].every;
    const FmuDescription& d = block->use->file->description();
    lay_out(d, block->use->inputs, block->input_variables, block->input_place, block->input_values);
    lay_out(d, block->use->outputs, block->output_variables, block->output_place, block->output_values);
    block->outputs.resize(block->use->outputs.size());
    try {
      block->instance = block->use->file->start(component.name, {block->use->isolate, block->use->exchange});
      set_parameters(model, component, *block->use, *block->instance);
    } catch (const FmuError& error) {
      throw SimulationError(in_words(component, *block->use, error), 0.0);
    }
    blocks_.push_back(std::move(block));
  }
}

FmuBlocks::FmuBlocks(const EquationSystem& system, double step, double stop, std::span<double> held)
    : FmuBlocks(system) {
  stop_ = stop;
  initialize(held, held);
  for (const auto& block : blocks_) {
    if (block->interval == each_step) block->interval = step;
    try {
      block->instance->exit_initialization();
    } catch (const FmuError& error) {
      throw SimulationError(in_words(*block->component, *block->use, error), 0.0);
    }
    block->running = true;
    block->clock = -1.0;  // its first step is due
  }
  follow(held);
  if (!failure_.empty()) throw SimulationError(failure_, 0.0);
}

FmuBlocks::~FmuBlocks() = default;
FmuBlocks::FmuBlocks(FmuBlocks&&) noexcept = default;
std::string FmuBlocks::name() const { return empty() ? "" : blocks_[0]->component->name; }

void FmuBlocks::read_outputs(Block& b) {
  b.instance->get(b.output_variables, b.output_values);
  for (std::size_t k = 0; k < b.outputs.size(); ++k)
    b.outputs[k] = b.use->outputs[k].factor * b.output_values[b.output_place[k]] + b.use->outputs[k].offset;
}

void FmuBlocks::initialize(std::span<const double> updates, std::span<double> held) {
  const auto put = [](double& to, double value) {
    if (differs(value, to)) to = value;
  };
  for (const auto& block : blocks_) {
    Block& b = *block;
    try {
      for (std::size_t k = 0; k < b.use->inputs.size(); ++k) {
        put(b.held(held, FmuUse::input(k)), updates[static_cast<std::size_t>(b.first + FmuUse::input(k))]);
        b.input_values[b.input_place[k]] = in_its_unit(b.use->inputs[k], b.held(held, FmuUse::input(k)));
      }
      // Some inputs may be set before initialization only where they are start values, so both times.
      if (!b.initializing) {
        b.instance->set(b.input_variables, b.input_values);
        b.instance->enter_initialization();
        b.initializing = true;
      }
      b.instance->set(b.input_variables, b.input_values);
      read_outputs(b);
    } catch (const FmuError& error) {
      throw SimulationError(in_words(*b.component, *b.use, error), 0.0);
    }
    for (std::size_t k = 0; k < b.outputs.size(); ++k) {
      put(b.held(held, b.use->next(k)), b.outputs[k]);
      if (!b.use->outputs[k].continuous) put(b.held(held, b.use->value(k)), b.outputs[k]);
    }
  }
}

void FmuBlocks::follow(std::span<double> held) {
  for (const auto& block : blocks_) {
    Block& b = *block;
    const double clock = b.held(held, FmuUse::clock);
    if (clock == b.clock || !failure_.empty()) continue;
    b.clock = clock;
    if (b.interval * static_cast<double>(b.steps) >= stop_ * (1 - 1e-9))
      continue;  // it is where the run ends
    const double from = b.interval * static_cast<double>(b.steps);
    const double due = b.interval * static_cast<double>(++b.steps);
    try {
      for (std::size_t k = 0; k < b.use->inputs.size(); ++k)
        b.input_values[b.input_place[k]] = in_its_unit(b.use->inputs[k], b.held(held, FmuUse::input(k)));
      b.instance->set(b.input_variables, b.input_values);
      if (b.over) {
        failure_ =
            in_words(*b.component, *b.use, FmuError(fmt::format("{} at t = {:.9g} s", ended_by_fmu, from)));
        continue;
      }
      b.over = !b.instance->step(from, due - from);
      read_outputs(b);
    } catch (const FmuError& error) {
      failure_ = in_words(*b.component, *b.use, error);
      continue;
    }
    b.held(held, FmuUse::due) = due;
    for (std::size_t k = 0; k < b.outputs.size(); ++k) {
      double& next = b.held(held, b.use->next(k));
      if (b.use->outputs[k].continuous) b.held(held, b.use->slope(k)) = (b.outputs[k] - next) / b.interval;
      next = b.outputs[k];
    }
  }
}

}  // namespace tellegen
