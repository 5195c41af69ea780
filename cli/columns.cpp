#include "cli/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"

namespace tellegen {
namespace {

std::vector<OutputColumn> listed_columns(std::string_view command, const Model& model,
                                         const std::string& list) {
  const Place place{fmt::format("{} --outputs", command), 0};
  std::vector<OutputColumn> columns;
  FaultList faults;
  std::unordered_set<std::string> seen;
  std::vector<std::string> items;
  for (const std::string& item : split_list(list)) {  // "cell[*].T" alone is one output for each element
    const bool many =
        item.find("[*]") != std::string::npos && item.find_first_of("( +-/^,") == std::string::npos;
    const std::vector<std::string> names = many ? element_names(model.arrays, item) : std::vector{item};
    items.insert(items.end(), names.begin(), names.end());
    if (names.empty()) items.push_back(item);
  }
  for (const std::string& text : items) {
    if (!seen.insert(text).second) continue;
    try {
      columns.push_back({text, "", parse_value(model, text, place)});
      for (const ModelOutput& output : model.outputs)
        if (output.name == text) columns.back().unit = output.unit;
    } catch (const ModelError& error) {
      faults.add(error);
    }
  }
  faults.throw_if_any();
  if (columns.empty())
    throw command_fault(command, "T401", "--outputs names nothing",
                        {"it is a list of variables and formulas: \"n3.v, r1.i*2\""});
  return columns;
}

ModelError wrong_reference(const std::string& message, std::vector<std::string> details = {}) {
  return command_fault(tellegen_simulate, "T403", message, std::move(details));
}

// Columns of the reference that are no outputs of this run are left out, and that is said; none left is a
// fault.
void keep_outputs(const std::string& file, Trajectory& reference, const std::vector<OutputColumn>& columns) {
  std::vector<std::string> names, left_out;
  for (const OutputColumn& column : columns) names.push_back(column.name);
  Trajectory kept;
  std::vector<std::size_t> from;
  for (std::size_t c = 0; c < reference.columns(); ++c) {
    const std::string &name = reference.names[c], &unit = reference.units[c];
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      left_out.push_back(name);
      continue;
    }
    const std::string& own = columns[static_cast<std::size_t>(found - names.begin())].unit;
    if (!unit.empty() && !own.empty() && unit != own && !units().convertible(unit, own))
      throw wrong_reference(fmt::format("'{}' is in {} in '{}', and in {} here", name, unit, file, own));
    kept.names.push_back(name);
    kept.units.push_back(unit);
    from.push_back(c);
  }
  if (from.empty()) {
    std::string known = did_you_mean(left_out.empty() ? "" : left_out[0], names);
    if (names.size() > 20) names.resize(20);
    throw wrong_reference(
        fmt::format("'{}' of '{}' is no output of this run", left_out.empty() ? "" : left_out[0], file),
        {std::move(known), "outputs: " + joined(names)});
  }
  if (left_out.empty()) return;
  fmt::print(stderr, "--compare: {} of {} columns of '{}' are no outputs of this run: {}\n", left_out.size(),
             reference.columns(), file, joined(left_out));
  kept.t = reference.t;
  for (std::size_t r = 0; r < reference.rows(); ++r)
    for (std::size_t c : from) kept.values.push_back(reference.at(r, c));
  reference = std::move(kept);
}

void check_times(const std::string& file, const Trajectory& reference, const SimulationOptions& options) {
  const double sample = options.sample > 0.0 ? options.sample : options.step;
  const double slack = 1e-9 * reference.t.back();
  std::size_t between = 0;
  for (const double t : reference.t) {
    between += sample > 0.0 && std::abs(t - sample * std::round(t / sample)) > slack;
    if (t >= 0.0 && t <= options.stop + slack) continue;
    throw wrong_reference(fmt::format("'{}' has a row at t = {} s, and this run has none", file, t),
                          {fmt::format("rows of this run: every {:g} s until {:g} s (--sample, --stop)",
                                       sample, options.stop)});
  }
  if (between > 0)
    fmt::print(stderr,
               "--compare: {} of {} times of '{}' lie between rows of this run, every {:g} s: values there "
               "are straight "
               "between them (--sample gives other rows)\n",
               between, reference.rows(), file, sample);
}

}  // namespace

std::vector<OutputColumn> chosen_columns(std::string_view command, const EquationSystem& system,
                                         const std::string& list, bool all) {
  const Model& model = *system.model;
  std::vector<OutputColumn> columns =
      list.empty() ? default_outputs(system, all) : listed_columns(command, model, list);
  // Every variable of a netlist under the name it has there: V(out), I(r1).
  std::unordered_map<std::string, std::string> in_netlist;
  if (all)
    for (const ModelOutput& output : model.outputs)
      if (output.value.is_symbol() && (output.name.starts_with("V(") || output.name.starts_with("I(")))
        in_netlist.emplace(output.value.name(), output.name);
  for (OutputColumn& column : columns)
    if (const auto found = in_netlist.find(column.name); found != in_netlist.end())
      column.name = found->second;
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
  keep_outputs(file, reference, columns);
  check_times(file, reference, options);
  return reference;
}

}  // namespace tellegen
