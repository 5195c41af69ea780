#include "cli/sweep_requirement.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/commands.h"
#include "tellegen/model/reading.h"
#include "tellegen/model/units.h"
#include "tellegen/symbolic/parse.h"

namespace tellegen {
namespace {

ModelError wrong_requirement(const std::string& text, const std::string& what,
                             std::vector<std::string> details) {
  return command_fault(tellegen_sweep, "T588", fmt::format("--require '{}': {}", text, what),
                       std::move(details));
}

}  // namespace

SweepRequirement::SweepRequirement(std::string text, const Model& model, const std::vector<Axis>& axes,
                                   const std::vector<ResultColumn>& columns)
    : text_(std::move(text)), pool_(std::make_unique<Pool>()) {
  try {
    condition_ = parse(*pool_, text_);
  } catch (const ParseError& error) {
    throw wrong_requirement(text_, error.what(), {"it is written \"torque >= 0.98*T_ref\""});
  }
  if (text_.find_first_of("<>=") == std::string::npos)
    throw wrong_requirement(text_, "it compares nothing", {"it is written \"torque >= 0.98*T_ref\""});
  std::vector<std::string> known;
  for (const ResultColumn& column : columns) known.push_back(column.name);
  for (const Axis& axis : axes) known.push_back(axis.name);
  for (const ModelParameter& parameter : model.parameters) known.push_back(parameter.name);
  for (const Expr symbol : symbols_of(std::span(&condition_, 1))) {
    const std::string name = symbol.name();
    bool found = false;
    for (std::size_t k = 0; k < columns.size() && !found; ++k)
      if ((found = columns[k].name == name)) names_.push_back({symbol, columns[k].unit, true, k});
    for (std::size_t k = 0; k < axes.size() && !found; ++k)
      if ((found = axes[k].name == name)) names_.push_back({symbol, axes[k].unit, false, k});
    for (std::size_t k = 0; k < model.parameters.size() && !found; ++k)
      if ((found = model.parameters[k].name == name)) constants_[symbol] = model.parameters[k].number;
    if (!found)
      throw wrong_requirement(text_,
                              fmt::format("'{}' is no result, nothing that varies, and no parameter", name),
                              {did_you_mean(name, known), "there are " + joined(known)});
  }
}

bool SweepRequirement::met(std::span<const double> sample, std::span<const double> results) const {
  ExprMap<double> values = constants_;
  for (const Name& name : names_) {
    const double value = name.result ? results[name.at] : sample[name.at];
    if (!std::isfinite(value)) return false;
    values[name.symbol] = name.unit.empty() ? value : units().to_si(value, name.unit);
  }
  return evaluate(condition_, values) != 0.0;
}

}  // namespace tellegen
