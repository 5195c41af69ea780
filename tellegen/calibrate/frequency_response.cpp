#include "tellegen/calibrate/frequency_response.h"

#include <fmt/format.h>

#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "tellegen/equations/storage.h"
#include "tellegen/equations/symbolic_model.h"
#include "tellegen/equations/system.h"
#include "tellegen/model/parameters.h"
#include "tellegen/sensitivity/known_values.h"
#include "tellegen/simulate/initial.h"
#include "tellegen/simulate/start_derivatives.h"
#include "tellegen/simulate/tableau.h"

namespace tellegen {
namespace {

using Complex = std::complex<double>;

int place_of(const std::vector<Expr>& list, Expr e) {
  const auto found = std::find(list.begin(), list.end(), e);
  return found == list.end() ? -1 : static_cast<int>(found - list.begin());
}

}  // namespace

FrequencyResponse::FrequencyResponse(const Model& model, const std::string& of, const std::string& by,
                                     std::vector<int> parameters)
    : model_(model), parameters_(std::move(parameters)) {
  const auto wrong = [&](std::string message, std::vector<std::string> details) {
    throw ModelError({{model_.file.string(), 0}, "T655", std::move(message), std::move(details)});
  };
  for (const ModelInput& i : model_.inputs)
    if (i.name == by) input_ = model_.pool->symbol("moved(" + by + ")"), input_value_ = i.value;
  for (std::size_t p = 0; p < model_.parameters.size(); ++p)
    if (model_.parameters[p].name == by) {
      if (std::find(parameters_.begin(), parameters_.end(), static_cast<int>(p)) != parameters_.end())
        wrong(fmt::format("'{}' is moved for the response, and to be found from it", by), {});
      input_ = model_.parameters[p].symbol, input_value_ = model_.parameters[p].value;
    }
  if (!input_)
    wrong(fmt::format("'{}' is no input of the model", by),
          {"a response is a variable over an input or a parameter: t.v/i"});
  write_equations(of, by);
  symbols_ = columns_;
  symbols_.insert(symbols_.end(), rates_.begin(), rates_.end());
  for (int p : parameters_) symbols_.push_back(model_.parameters[p].symbol);
  symbols_.push_back(input_);
  std::vector<Expr> roots;
  for (std::size_t e = 0; e < entries_.size(); ++e) {
    roots.push_back(entries_[e].value);
    for (std::size_t s = 0; s < symbols_.size(); ++s)
      if (const Expr d = derivative(entries_[e].value, symbols_[s]); !d.is_number(0.0))
        slopes_.push_back({e, static_cast<int>(s), d});
  }
  if (std::none_of(entries_.begin(), entries_.end(), [](const Entry& e) { return e.column < 0; }))
    wrong(fmt::format("no equation contains '{}'", by), {});
  for (const Slope& s : slopes_) roots.push_back(s.value);
  roots.push_back(input_value_);
  for (int p : parameters_) roots.push_back(derivative(input_value_, model_.parameters[p].symbol));
  program_ = Evaluator(roots, symbols_);
  out_.resize(roots.size());
}

void FrequencyResponse::write_equations(const std::string& of, const std::string& by) {
  Model moved = model_;  // equations have inputs written out: this one stays a symbol
  for (ModelInput& i : moved.inputs)
    if (i.name == by) i.value = input_;
  const SymbolicModel symbolic = symbolic_model(moved);
  if (!symbolic.held.empty())
    throw ModelError(
        {{model_.file.string(), 0},
         "T655",
         fmt::format("the model has discrete variables ('{}'): its response to '{}' is not linear",
                     symbolic.held.front().name(), by),
         {}});
  ExprMap<int> unknown{{input_, 0}};
  for (int p : parameters_) unknown[model_.parameters[p].symbol] = p;
  const KnownValues known(moved, symbolic, unknown);
  Pool& pool = *model_.pool;
  const Expr zero = pool.number(0.0), t = pool.symbol("t");
  const auto potential = [&](NodeIndex n) { return n == datum_node ? zero : symbolic.node[n.value]; };
  ExprMap<Expr> across;
  std::vector<Expr> balance(symbolic.node.size(), zero);
  for (std::size_t e = 0; e < symbolic.graph.edges.size(); ++e) {
    const GraphEdge& edge = symbolic.graph.edges[e];
    across[symbolic.across[e]] = potential(edge.from) - potential(edge.to);
    balance[edge.from.value] = balance[edge.from.value] + symbolic.through[e];
    balance[edge.to.value] = balance[edge.to.value] - symbolic.through[e];
  }
  const auto written = [&](Expr e) { return substitute(substitute(known.put_into(e), across), {{t, zero}}); };
  input_value_ = substitute(known.put_into(input_value_), {{t, zero}});
  std::vector<Expr> residuals;
  for (Expr e : symbolic.terminal) residuals.push_back(written(e));
  for (std::size_t n = 1; n < balance.size(); ++n)
    if (symbolic.node[n]) residuals.push_back(balance[n]);
  for (std::size_t n = 1; n < symbolic.node.size(); ++n)
    if (symbolic.node[n]) columns_.push_back(symbolic.node[n]);
  columns_.insert(columns_.end(), symbolic.through.begin(), symbolic.through.end());
  columns_.insert(columns_.end(), symbolic.internal.begin(), symbolic.internal.end());
  if (columns_.size() != residuals.size())
    throw ModelError({{model_.file.string(), 0},
                      "T655",
                      "the model's equations cannot be linearised: parts of a mechanism, or an FMU",
                      {}});
  const Expr response = written(expand_names(moved, parse_value(model_, of, {model_.file.string(), 0})));
  std::vector<Expr> all = residuals;
  all.push_back(response);
  for (Expr s : symbols_of(all)) {
    const std::string& name = s.name();
    if (!name.starts_with("der(") || !name.ends_with(")")) continue;
    const Expr variable = pool.symbol(std::string_view(name).substr(4, name.size() - 5));
    rates_.push_back(s);
    rate_variable_[s] = across.contains(variable) ? across.at(variable) : variable;
  }
  for (std::size_t k = 0; k < residuals.size(); ++k) differentiate(residuals[k], static_cast<int>(k));
  differentiate(response, -1);
}

void FrequencyResponse::differentiate(Expr residual, int row) {
  for (Expr s : symbols_of(std::span(&residual, 1))) {
    const Expr d = derivative(residual, s);
    if (d.is_number(0.0)) continue;
    if (s == input_)
      entries_.push_back({row, -1, false, d});
    else if (const int column = place_of(columns_, s); column >= 0)
      entries_.push_back({row, column, false, d});
    else if (const auto rate = rate_variable_.find(s); rate != rate_variable_.end())
      for (Expr v : symbols_of(std::span(&rate->second, 1)))
        if (const int at = place_of(columns_, v); at >= 0)
          entries_.push_back({row, at, true, d * derivative(rate->second, v)});
  }
}

// The operating point and how it moves with the parameters. In words what went wrong.
std::string FrequencyResponse::set_point(std::span<const double> numbers) {
  const std::size_t count = parameters_.size();
  point_.assign(symbols_.size(), 0.0);
  point_slopes_.assign(symbols_.size() * count, 0.0);
  try {
    set_parameters(model_, parameters_, numbers);
    const EquationSystem system = build_system(model_);
    Tableau tableau(system);
    const Storage storage = analyse_storage(system);
    const InitialState state = find_initial_state(tableau, storage);
    const StartDerivatives start(tableau, storage, state, parameters_);
    if (!start.good()) return "the operating point does not follow from the parameters";
    std::vector<double> x, rates;
    start.forward(std::vector<double>(system.discrete.size() * count, 0.0), x, rates);
    std::map<std::string, int> column, rate;
    for (std::int32_t c = 0; c < system.size(); ++c) column[column_name(system, c)] = c;
    for (std::int32_t r = 0; r < std::ssize(system.rates); ++r) rate["der(" + rate_name(system, r) + ")"] = r;
    for (std::size_t s = 0; s < symbols_.size(); ++s) {
      const auto c = column.find(symbols_[s].name()), r = rate.find(symbols_[s].name());
      if (c != column.end()) point_[s] = state.x[c->second];
      if (r != rate.end()) point_[s] = state.rates[r->second];
      for (std::size_t p = 0; p < count; ++p) {  // [parameter][column]
        if (c != column.end()) point_slopes_[s * count + p] = x[p * state.x.size() + c->second];
        if (r != rate.end()) point_slopes_[s * count + p] = rates[p * state.rates.size() + r->second];
      }
    }
  } catch (const ModelError& error) {
    return error.faults().front().message;
  } catch (const SimulationError& error) {
    return error.what();
  }
  const std::size_t first = columns_.size() + rates_.size();
  for (std::size_t k = 0; k < count; ++k) {
    point_[first + k] = numbers[k];
    point_slopes_[(first + k) * count + k] = 1.0;
  }
  program_.run(point_, out_);  // for the input's own value, of parameters alone
  const std::size_t at = entries_.size() + slopes_.size();
  point_.back() = out_[at];
  for (std::size_t k = 0; k < count; ++k) point_slopes_[(symbols_.size() - 1) * count + k] = out_[at + 1 + k];
  program_.run(point_, out_);
  return "";
}

FrequencyResponse::Result FrequencyResponse::at(std::span<const double> numbers,
                                                std::span<const double> frequencies) {
  Result result;
  if (result.failure = set_point(numbers); !result.failure.empty()) return result;
  const std::size_t count = parameters_.size();
  const auto n = static_cast<Eigen::Index>(columns_.size());
  std::vector<double> moved(entries_.size() * count, 0.0);  // total derivative of each entry
  for (std::size_t k = 0; k < slopes_.size(); ++k)
    for (std::size_t p = 0; p < count; ++p)
      moved[slopes_[k].entry * count + p] +=
          out_[entries_.size() + k] * point_slopes_[static_cast<std::size_t>(slopes_[k].symbol) * count + p];
  Eigen::SparseLU<Eigen::SparseMatrix<Complex>> lu;
  for (double f : frequencies) {
    const Complex jw(0.0, 2.0 * std::numbers::pi * f);
    std::vector<Eigen::Triplet<Complex>> triplets;
    Eigen::VectorXcd right = Eigen::VectorXcd::Zero(n), output = Eigen::VectorXcd::Zero(n);
    Complex direct = 0.0;
    for (std::size_t e = 0; e < entries_.size(); ++e) {
      const Entry& entry = entries_[e];
      const Complex value = entry.rate ? jw * out_[e] : Complex(out_[e]);
      if (entry.row >= 0 && entry.column >= 0)
        triplets.emplace_back(entry.row, entry.column, value);
      else if (entry.row >= 0)
        right[entry.row] -= value;
      else if (entry.column >= 0)
        output[entry.column] += value;
      else
        direct += value;
    }
    Eigen::SparseMatrix<Complex> matrix(n, n);
    matrix.setFromTriplets(triplets.begin(), triplets.end());
    lu.compute(matrix);
    if (lu.info() != Eigen::Success) {
      result.failure = fmt::format("the linearised equations are singular at {:g} Hz", f);
      return result;
    }
    const Eigen::VectorXcd x = lu.solve(right);
    result.values.push_back(direct + output.cwiseProduct(x).sum());
    for (std::size_t p = 0; p < count; ++p) {
      Complex sum = 0.0;
      Eigen::VectorXcd change = Eigen::VectorXcd::Zero(n);
      for (std::size_t e = 0; e < entries_.size(); ++e) {
        const Entry& entry = entries_[e];
        if (moved[e * count + p] == 0.0) continue;
        const Complex by = (entry.rate ? jw : Complex(1.0)) * moved[e * count + p] *
                           (entry.column >= 0 ? x[entry.column] : Complex(1.0));
        (entry.row >= 0 ? change[entry.row] : sum) += entry.row >= 0 ? -by : by;
      }
      const Eigen::VectorXcd dx = lu.solve(change);
      result.slopes.push_back(sum + output.cwiseProduct(dx).sum());
    }
  }
  return result;
}

}  // namespace tellegen
