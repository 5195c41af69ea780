#include "cli/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/model/reading.h"

namespace tellegen {
namespace {

std::vector<OutputColumn> listed_columns(const Model& model, const std::string& list) {
  std::vector<OutputColumn> columns;
  FaultList faults;
  std::unordered_set<std::string> seen;
  for (const std::string& text : split_list(list)) {
    if (!seen.insert(text).second) continue;
    try {
      columns.push_back({text, "", parse_value(model, text, {"tellegen simulate --outputs", 0})});
      for (const ModelOutput& output : model.outputs)
        if (output.name == text) columns.back().unit = output.unit;
    } catch (const ModelError& error) {
      faults.add(error);
    }
  }
  faults.throw_if_any();
  if (columns.empty())
    throw command_fault(tellegen_simulate, "T401", "--outputs names nothing",
                        {"it is a list of variables and formulas: \"n3.v, r1.i*2\""});
  return columns;
}

ModelError wrong_reference(const std::string& message, std::vector<std::string> details = {}) {
  return command_fault(tellegen_simulate, "T403", message, std::move(details));
}

void check_columns(const std::string& file, const Trajectory& reference,
                   const std::vector<OutputColumn>& columns) {
  std::vector<std::string> names;
  for (const OutputColumn& column : columns) names.push_back(column.name);
  for (std::size_t c = 0; c < reference.columns(); ++c) {
    const std::string &name = reference.names[c], &unit = reference.units[c];
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      std::string known = did_you_mean(name, names);
      if (names.size() > 20) names.resize(20);
      throw wrong_reference(fmt::format("'{}' of '{}' is no output of this run", name, file),
                            {std::move(known), "outputs: " + joined(names)});
    }
    const std::string& own = columns[found - names.begin()].unit;
    if (!unit.empty() && !own.empty() && unit != own)
      throw wrong_reference(fmt::format("'{}' is in {} in '{}', and in {} here", name, unit, file, own));
  }
}

void check_times(const std::string& file, const Trajectory& reference, const SimulationOptions& options) {
  const double sample = options.sample > 0.0 ? options.sample : options.step;
  const double slack = 1e-9 * reference.t.back();
  for (const double t : reference.t) {
    const bool between = sample > 0.0 && std::abs(t - sample * std::round(t / sample)) > slack;
    if (t >= 0.0 && t <= options.stop + slack && !between) continue;
    throw wrong_reference(fmt::format("'{}' has a row at t = {} s, and this run has none", file, t),
                          {fmt::format("rows of this run: every {:g} s until {:g} s (--sample, --stop)",
                                       sample, options.stop)});
  }
}

}  // namespace

std::vector<OutputColumn> chosen_columns(const EquationSystem& system, const std::string& list, bool all) {
  const Model& model = *system.model;
  std::vector<OutputColumn> columns =
      list.empty() ? default_outputs(system, all) : listed_columns(model, list);
  for (OutputColumn& column : columns)
    if (column.unit.empty() && column.value.is_symbol())
      if (const auto variable = find_variable(model, column.value.name()))
        column.unit = variable_unit(model, *variable);
  return columns;
}

Trajectory read_reference(const std::string& file, const std::vector<OutputColumn>& columns,
                          const SimulationOptions& options) {
  Trajectory reference;
  try {
    reference = read_csv(file);
  } catch (const std::runtime_error& error) {
    throw wrong_reference(fmt::format("--compare: {}", error.what()));
  }
  if (reference.rows() == 0) throw wrong_reference(fmt::format("--compare: '{}' has no rows", file));
  check_columns(file, reference, columns);
  check_times(file, reference, options);
  return reference;
}

}  // namespace tellegen
