#include "tellegen/sensitivity/reduced_run.h"

#include <algorithm>
#include <cmath>

#include "tellegen/model/parameters.h"
#include "tellegen/sensitivity/interruption.h"

namespace tellegen {
namespace {

constexpr std::size_t most_states = 40;
constexpr std::size_t most_products = 400;
constexpr double just_before = 1e-9;  // of a step: where a source that jumps is still the old one

bool has_discrete(const Model& model) {
  return std::any_of(model.components.begin(), model.components.end(),
                     [&](const Component& c) { return !model.kinds[c.kind].discrete.empty(); });
}

// Whether the states begin elsewhere with other numbers.
bool start_moves(const Model& model, std::span<const int> parameters, const Reduction& reduction) {
  Model other = model;
  std::vector<double> numbers;
  for (int p : parameters) numbers.push_back(1.001 * model.parameters[p].number + 1e-9);
  set_parameters(other, parameters, numbers);
  const std::map<std::string, double> before = values_at_start(model), after = values_at_start(other);
  return std::any_of(reduction.states.begin(), reduction.states.end(), [&](const Reduction::State& s) {
    const auto here = before.find(s.variable.name()), there = after.find(s.variable.name());
    return here == before.end() || there == after.end() || here->second != there->second;
  });
}

}  // namespace

std::unique_ptr<ReducedRun> ReducedRun::build(const Model& model, std::span<const int> parameters,
                                              std::span<const Expr> outputs, double interval,
                                              std::int64_t rows, int steps) {
  if (has_discrete(model) || parameters.empty() || rows < 2) return nullptr;
  std::unique_ptr<ReducedRun> run(new ReducedRun());
  run->rows_ = static_cast<std::size_t>(rows);
  run->steps_ = static_cast<std::size_t>(steps);
  run->parameters_ = parameters.size();
  run->step_ = interval / steps;
  ReductionRequest request;
  request.products = true;
  request.unknowns.assign(parameters.begin(), parameters.end());
  request.outputs.assign(outputs.begin(), outputs.end());
  for (std::size_t k = 0; k < (run->rows_ - 1) * run->steps_;
       ++k) {  // each step: where it begins, its middle, its end
    const double t =
        interval * static_cast<double>(k / run->steps_) + run->step_ * static_cast<double>(k % run->steps_);
    request.times.insert(request.times.end(),
                         {t, t + 0.5 * run->step_, t + (1.0 - just_before) * run->step_});
  }
  request.times.push_back(interval * static_cast<double>(rows - 1));
  try {
    const Reduction reduction = reduce_to_states(model, request);
    if (!run->take_over(reduction) || start_moves(model, parameters, reduction)) return nullptr;
  } catch (const std::exception&) {  // whoever runs it otherwise tells what is wrong
    return nullptr;
  }
  return run;
}

bool ReducedRun::take_over(const Reduction& reduction) {
  if (!reduction.equations.empty() || !reduction.left_out.empty() || reduction.states.size() > most_states)
    return false;
  states_ = reduction.states.size();
  std::size_t products = 0;
  for (const Reduction::State& s : reduction.states) {
    start_.push_back(s.start);
    rates_.emplace_back();
    if (!sum_of(s.rate, reduction, rates_.back())) return false;
    products += rates_.back().size();
  }
  for (const std::optional<Form>& output : reduction.outputs) {
    outputs_.emplace_back();
    if (!output || !sum_of(*output, reduction, outputs_.back())) return false;
    products += outputs_.back().size();
  }
  if (products > most_products) return false;
  std::vector<Expr> roots = factors_;
  for (Expr f : factors_) {
    const std::vector<Expr> slopes = gradient(f, reduction.parameters);
    roots.insert(roots.end(), slopes.begin(), slopes.end());
  }
  evaluator_ = Evaluator(roots, reduction.parameters);
  factor_values_.resize(roots.size());
  tangent_.resize(states_ * states_);
  return true;
}

bool ReducedRun::sum_of(const Form& form, const Reduction& reduction, Sum& sum) {
  for (const Term& t : form.terms()) {
    Product product;
    for (Expr u : t.unknowns) {
      const auto state = std::find_if(reduction.states.begin(), reduction.states.end(),
                                      [&](const Reduction::State& s) { return s.variable == u; });
      if (state == reduction.states.end()) return false;  // the rate of something known
      product.states.push_back(static_cast<int>(state - reduction.states.begin()));
    }
    if (!t.factor.is_number()) {
      const auto found = std::find(factors_.begin(), factors_.end(), t.factor);
      product.factor = static_cast<int>(found - factors_.begin());
      if (found == factors_.end()) factors_.push_back(t.factor);
    }
    if (t.signal.constant()) {
      product.constant = t.signal[0];
    } else {
      product.signal = static_cast<int>(signals_.size());
      signals_.push_back(t.signal);
    }
    sum.push_back(std::move(product));
  }
  return true;
}

void ReducedRun::rates(std::size_t row, std::size_t p, const double* z, const double* s, double* dz,
                       double* ds) {
  const double* slopes = factor_values_.data() + factors_.size();
  std::fill_n(dz, states_, 0.0);
  if (p == 0) {
    for (std::size_t i = 0; i < states_; ++i)
      for (const Product& product : rates_[i]) {
        double value = coefficient(product, row);
        if (product.factor >= 0) value *= factor_values_[static_cast<std::size_t>(product.factor)];
        for (int state : product.states) value *= z[state];
        dz[i] += value;
      }
    return;
  }
  std::fill_n(ds, states_ * p, 0.0);
  std::fill(tangent_.begin(), tangent_.end(), 0.0);
  for (std::size_t i = 0; i < states_; ++i)
    for (const Product& product : rates_[i]) {
      double without_factor = coefficient(product, row);
      const double factor = product.factor < 0 ? 1.0 : factor_values_[product.factor];
      for (std::size_t a = 0; a < product.states.size(); ++a) {
        double rest = without_factor * factor;
        for (std::size_t b = 0; b < product.states.size(); ++b)
          if (b != a) rest *= z[product.states[b]];
        tangent_[i * states_ + static_cast<std::size_t>(product.states[a])] += rest;
      }
      for (int state : product.states) without_factor *= z[state];
      dz[i] += factor * without_factor;
      if (product.factor < 0) continue;
      const double* by = slopes + static_cast<std::size_t>(product.factor) * p;
      for (std::size_t k = 0; k < p; ++k) ds[i * p + k] += by[k] * without_factor;
    }
  for (std::size_t i = 0; i < states_; ++i)
    for (std::size_t j = 0; j < states_; ++j)
      if (const double a = tangent_[i * states_ + j]; a != 0.0)
        for (std::size_t k = 0; k < p; ++k) ds[i * p + k] += a * s[j * p + k];
}

void ReducedRun::tell(std::size_t row, std::size_t p, const double* z, const double* s, double* values,
                      double* slopes) const {
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    values[o] = 0.0;
    std::fill_n(slopes + o * p, p, 0.0);
    for (const Product& product : outputs_[o]) {
      double value = coefficient(product, row);
      const double factor = product.factor < 0 ? 1.0 : factor_values_[product.factor];
      for (std::size_t a = 0; a < product.states.size(); ++a) {
        double rest = value * factor;
        for (std::size_t b = 0; b < product.states.size(); ++b)
          if (b != a) rest *= z[product.states[b]];
        for (std::size_t k = 0; k < p; ++k)
          slopes[o * p + k] += rest * s[static_cast<std::size_t>(product.states[a]) * p + k];
      }
      for (int state : product.states) value *= z[state];
      values[o] += factor * value;
      if (product.factor < 0) continue;
      const double* by =
          factor_values_.data() + factors_.size() + static_cast<std::size_t>(product.factor) * p;
      for (std::size_t k = 0; k < p; ++k) slopes[o * p + k] += by[k] * value;
    }
  }
}

bool ReducedRun::run(std::span<const double> numbers, std::vector<double>& values,
                     std::vector<double>& slopes) {
  return take_steps(numbers, stride_, parameters_, values, slopes);
}

bool ReducedRun::values(std::span<const double> numbers, bool coarse, std::vector<double>& values) {
  std::vector<double> none;
  return take_steps(numbers, coarse ? 2 : 1, 0, values, none) &&
         std::all_of(factor_values_.begin(), factor_values_.end(), [](double v) { return std::isfinite(v); });
}

bool ReducedRun::take_steps(std::span<const double> numbers, std::size_t stride, std::size_t p,
                            std::vector<double>& values, std::vector<double>& slopes) {
  evaluator_.run(numbers, factor_values_);
  const std::size_t n = states_, all = n * (1 + p), width = outputs_.size();
  // Of each step its beginning, its middle and its end; of two that are taken as one the first's beginning,
  // the second's beginning and its end.
  const std::size_t middle = stride == 1 ? 1 : 3, end = stride == 1 ? 2 : 5, next = 3 * stride;
  const double h = step_ * static_cast<double>(stride);
  values.resize(rows_ * width);
  slopes.resize(rows_ * width * p);
  // State and sensitivities in one array, so that the formula is written once.
  std::vector<double> y(all, 0.0), at(all), k1(all), k2(all), k3(all), k4(all);
  std::copy(start_.begin(), start_.end(), y.begin());
  const auto slope = [&](std::size_t row, const std::vector<double>& from, std::vector<double>& to) {
    rates(row, p, from.data(), from.data() + n, to.data(), to.data() + n);
  };
  const auto moved = [&](double by_time, const std::vector<double>& by) {
    for (std::size_t i = 0; i < all; ++i) at[i] = y[i] + by_time * by[i];
  };
  std::size_t row = 0;
  for (std::size_t k = 0; k < rows_; ++k) {
    InterruptionWatch::ask();
    tell(row, p, y.data(), y.data() + n, values.data() + k * width, slopes.data() + k * width * p);
    for (std::size_t step = 0; step < steps_ && k + 1 < rows_; step += stride, row += next) {
      slope(row, y, k1);
      moved(0.5 * h, k1);
      slope(row + middle, at, k2);
      moved(0.5 * h, k2);
      slope(row + middle, at, k3);
      moved(h, k3);
      slope(row + end, at, k4);
      for (std::size_t i = 0; i < all; ++i) y[i] += h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
    }
  }
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }) &&
         std::all_of(slopes.begin(), slopes.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace tellegen
