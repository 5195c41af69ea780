#include "tellegen/simulate/linear_start.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tellegen/simulate/given_start.h"

namespace tellegen {
namespace {

constexpr std::size_t most_coefficients = 20000;  // of all variables and rates by the states

}  // namespace

std::unique_ptr<LinearStart> LinearStart::make(const EquationSystem& system, const Storage& storage) {
  const Model& model = *system.model;
  if (!system.discrete.empty() || !storage.redundant.empty() || !model.steady.empty() ||
      !forced_nodes(system).empty() ||
      system.rates.size() * (system.rates.size() + static_cast<std::size_t>(system.size())) >
          most_coefficients)
    return nullptr;
  std::vector<Expr> given;
  for (const GivenStart& start : given_values(system)) {
    if (start.what != GivenStart::What::value) return nullptr;
    given.push_back(start.formula);
  }
  try {
    MinimalForm form = minimal_form(system, storage, true);
    const bool all = form.state_rates.size() == system.rates.size();
    if (!all || !form.linear() || !form.tape) return nullptr;
    return std::unique_ptr<LinearStart>(new LinearStart(system, std::move(form), std::move(given)));
  } catch (const ModelError&) {  // its states cannot be separated
    return nullptr;
  }
}

LinearStart::LinearStart(const EquationSystem& system, MinimalForm form, std::vector<Expr> given)
    : system_(system), form_(std::move(form)) {
  const Model& model = *system.model;
  std::vector<Expr> symbols;
  for (const ModelParameter& p : model.parameters) symbols.push_back(p.symbol);
  given_ = Evaluator(given, symbols);
  given_formulas_ = std::move(given);
  std::vector<Expr> values = form_.columns;
  values.insert(values.end(), form_.derivatives.begin(), form_.derivatives.end());
  symbols = form_.states;
  symbols.push_back(model.pool->symbol("t"));
  symbols.insert(symbols.end(), form_.parameters.begin(), form_.parameters.end());
  solution_ = Evaluator(values, symbols);
  solution_formulas_ = std::move(values);
  numbers_.resize(model.parameters.size());
  point_.assign(symbols.size(), 0.0);
  found_.resize(solution_formulas_.size());
}

bool LinearStart::find(InitialState& state) {
  if (!renumber(form_, system_)) return false;
  for (std::size_t k = 0; k < numbers_.size(); ++k) numbers_[k] = system_.model->parameters[k].number;
  const std::size_t states = form_.states.size(), columns = form_.columns.size();
  found_.resize(states);
  given_.run(numbers_, found_);
  for (std::size_t k = 0; k < states; ++k) point_[k] = found_[form_.state_rates[k]];
  std::copy(form_.values.begin(), form_.values.end(), point_.begin() + static_cast<long>(states) + 1);
  found_.resize(columns + states);
  solution_.run(point_, found_);
  if (!std::all_of(found_.begin(), found_.end(), [](double v) { return std::isfinite(v); })) return false;
  for (auto* list : {&state.held, &state.x_before, &state.rates_before, &state.x_sampled}) list->clear();
  state.x.assign(found_.begin(), found_.begin() + static_cast<long>(columns));
  state.rates.resize(states);
  for (std::size_t k = 0; k < states; ++k) state.rates[form_.state_rates[k]] = found_[columns + k];
  return true;
}

void LinearStart::write(RowList& list, const NumberRows& numbers, StartRows& start) const {
  const Model& model = *system_.model;
  const FormRows form = write_renumbered(list, form_, system_, start.numbers);
  ExprMap<RowValue> known;
  for (std::size_t k = 0; k < model.parameters.size(); ++k)
    known[model.parameters[k].symbol] = numbers.parameters[k];
  const std::vector<RowValue> given = list.evaluate(given_formulas_, known);
  ExprMap<RowValue> point{{model.pool->symbol("t"), 0.0}};
  const std::size_t states = form_.states.size(), columns = form_.columns.size();
  for (std::size_t k = 0; k < states; ++k) point[form_.states[k]] = given[form_.state_rates[k]];
  for (std::size_t k = 0; k < form_.parameters.size(); ++k) point[form_.parameters[k]] = form.values[k];
  const std::vector<RowValue> found = list.evaluate(solution_formulas_, point);
  for (const RowValue value : found) list.require(RowCheck::finite, value);
  start.x.assign(found.begin(), found.begin() + static_cast<long>(columns));
  start.rates.resize(states);
  for (std::size_t k = 0; k < states; ++k) start.rates[form_.state_rates[k]] = found[columns + k];
}

}  // namespace tellegen
