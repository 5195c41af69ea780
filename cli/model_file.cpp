#include "cli/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "tellegen/model/parameters.h"
#include "tellegen/model/units.h"
#include "tellegen/netlist/netlist.h"

namespace tellegen {
namespace {

// r1.R=5: a number that stands in a component, as --vary and --parameters know it.
void set_number(Model& model, const std::string& name, const std::string& text) {
  const int parameter = study_parameter(model, name, {model.file.string(), 0});
  const std::string unit = model.parameters[static_cast<std::size_t>(parameter)].unit;
  const auto refuse = [&](std::string message, std::string detail) {
    return ModelError({{model.file.string(), 0}, "T123", std::move(message), {std::move(detail)}});
  };
  std::optional<Quantity> quantity;
  try {
    quantity = units().parse(text);
  } catch (const UnknownUnit& error) {
    throw refuse(fmt::format("unknown unit '{}' of '{}'", error.unit, name),
                 unit.empty() ? "" : fmt::format("it is in {}", unit));
  }
  if (!quantity)
    throw refuse(fmt::format("'{}' for '{}' is neither a number nor a quantity", text, name), "");
  if (!quantity->unit.empty() && !unit.empty() && !units().convertible(quantity->unit, unit))
    throw refuse(fmt::format("'{}' is in {}, which does not convert to {}", name, quantity->unit, unit), "");
  set_parameters(model, std::span(&parameter, 1), std::span(&quantity->si, 1));
}

// Reads with the replacements that are parameters; the others follow.
Model read_with_numbers(const std::string& file, ReadOptions options, std::vector<std::string>& notes,
                        Analyses* analyses) {
  std::vector<std::pair<std::string, std::string>> numbers;
  try {
    return read_any_model(file, options, &notes, analyses);
  } catch (const ModelError& error) {
    const auto is_number = [](const auto& entry) { return entry.first.find('.') != std::string::npos; };
    const bool only = std::all_of(error.faults().begin(), error.faults().end(),
                                  [](const Fault& fault) { return fault.code == "T130"; });
    std::copy_if(options.overrides.begin(), options.overrides.end(), std::back_inserter(numbers), is_number);
    if (!only || numbers.size() != error.faults().size()) throw;
    std::erase_if(options.overrides, is_number);
  }
  notes.clear();
  Model model = read_any_model(file, options, &notes, analyses);
  for (const auto& [name, text] : numbers) set_number(model, name, text);
  return model;
}

}  // namespace

Model read_model_file(const std::string& file, const ReadOptions& options, Analyses* analyses) {
  std::vector<std::string> notes;
  Model model = read_with_numbers(file, options, notes, analyses);
  for (const std::string& note : notes) fmt::print(stderr, "{}\n", note);
  return model;
}

void make_external(const OptionName& option, const std::vector<std::string>& names, Model& model) {
  for (auto name = names.begin(); name != names.end(); ++name)
    if (std::find(names.begin(), name, *name) != name)
      throw command_fault(option.command, "T401", fmt::format("{} names '{}' twice", option.option, *name));
  for (const std::string& name : names) make_external(model, name);
}

}  // namespace tellegen
