#include "tellegen/estimate/filter_formulas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/numeric/exponential.h"

namespace tellegen {
namespace {

constexpr double factorial(int k) { return k < 2 ? 1.0 : k * factorial(k - 1); }
constexpr int degree = 8;  // of the series: at an eighth its rest is 2e-14

}  // namespace

std::optional<FilterFormulas::Method> FilterFormulas::method_of(std::string_view estimator) {
  if (estimator == "kf" || estimator == "ekf") return Method::one_by_one;
  if (estimator == "pkf") return Method::together;
  if (estimator == "ukf") return Method::sigma_points;
  if (estimator == "steady") return Method::steady;
  return {};
}

bool FilterFormulas::possible(TwinModel& model, const FilterOptions& options, Method method) {
  if (method == Method::steady) return model.constant_slopes();
  return (model.constant_slopes() && !options.euler) || model.formulas();
}

FilterFormulas::FilterFormulas(TwinModel& model, const FilterOptions& options, const Vector& process_noise,
                               Method method, const StraightForm* straight)
    : predict(*model.model().pool),
      correct(*model.model().pool),
      spread(*model.model().pool),
      gather(*model.model().pool),
      pool_(*model.model().pool),
      model_(model),
      method_(method == Method::sigma_points && !points_matter(model) ? Method::one_by_one : method),
      straight_(straight),
      step_(options.step),
      n_(model.size()),
      sensors_(model.sensors()),
      inputs_(model.inputs()) {
  at.scale = at.flow = at.point = at.points = -1;
  name_registers(process_noise);
  const std::vector<Expr> begin = x_, covariance = p_;
  const ExprMap<Expr> names = names_;
  if (method_ == Method::sigma_points) spread_points();
  if (model.constant_slopes()) {
    find_values_at_zero();
    if (!options.euler || method_ == Method::steady) predict_constant(options.euler);
  }
  if (predicted.empty()) predict_extended(options.euler);
  x_ = begin;
  p_ = covariance;
  names_ = names;
  if (method_ == Method::sigma_points) gather_points();
  p_ = covariance;
  linearise_readings();
  if (method_ == Method::steady)
    correct_steadily(options.gate, process_noise);
  else if (straight_)
    correct_factors(options.gate);
  else if (method_ == Method::together)
    correct_together(options.gate);
  else
    correct_one_by_one(options.gate);
}

Expr FilterFormulas::input(Expr symbol, double value, int section) {
  registers.push_back({symbol, value, section});
  return symbol;
}

Expr FilterFormulas::input(const char* what, std::size_t k, double value, int section) {
  return input(pool_.symbol(fmt::format("~{}{}", what, k)), value, section);
}

Expr FilterFormulas::number(double value) {
  if (value == 0.0 || value == 1.0 || value == -1.0) return pool_.number(value);
  for (const auto& [symbol, known] : constants_)
    if (known == value) return symbol;
  constants_.emplace_back(input("w", registers.size(), value, constants), value);
  return constants_.back().first;
}

Expr& FilterFormulas::p(std::size_t i, std::size_t j) {
  if (i > j) std::swap(i, j);
  return p_[i * n_ - i * (i + 1) / 2 + j];
}

std::vector<Expr> FilterFormulas::product(Assignments& list, const Exprs& a, const Exprs& b) const {
  const std::size_t columns = b.size() / n_;
  Exprs c(b.size());
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      std::vector<Expr> terms;
      for (std::size_t k = 0; k < n_; ++k) terms.push_back(a[i * n_ + k] * b[k * columns + j]);
      c[i * columns + j] = list.define(pool_.add(terms));
    }
  return c;
}

void FilterFormulas::name_registers(const Vector& process_noise) {
  const auto next = [&] { return static_cast<std::int32_t>(registers.size()); };
  const Vector begin = model_.start();
  const Matrix covariance = model_.start_covariance(),
               spread = straight_ ? factors_of(covariance) : covariance;
  certain_ = (covariance.diagonal().array() <= 0.0).any();
  for (std::size_t i = 0; i < n_; ++i) x_.push_back(input("x", i, begin[static_cast<long>(i)]));
  for (long i = 0; i < static_cast<long>(n_); ++i)
    for (long j = i; j < static_cast<long>(n_); ++j) p_.push_back(input("p", p_.size(), spread(i, j)));
  at.time = next();
  input(pool_.symbol("t"), 0.0, 1);
  at.u = next();
  for (std::size_t k = 0; k < inputs_; ++k) u_.push_back(input("u", k));
  at.du = next();
  for (std::size_t k = 0; k < inputs_; ++k) du_.push_back(input("du", k));
  at.reading = next();  // as it came
  for (std::size_t k = 0; k < sensors_; ++k) input("reading", k);
  at.value = next();
  for (std::size_t k = 0; k < sensors_; ++k) readings_.push_back(input("y", k));
  at.there = next();
  for (std::size_t k = 0; k < sensors_; ++k) there_.push_back(input("a", k));
  at.noise = registers.size();
  for (std::size_t i = 0; i < n_; ++i) {
    const double noise = process_noise[static_cast<long>(i)];
    noise_.push_back(straight_ && noise == 0.0 ? pool_.number(0) : input("q", i, noise, constants));
  }

  const MinimalForm& form = model_.form();
  for (std::size_t k = 0; k < form.parameters.size(); ++k)
    names_[form.parameters[k]] = number(form.values[k]);
  for (std::size_t k = 0; k < inputs_; ++k) names_[model_.input_symbols()[k]] = u_[k];
  for (std::size_t k = 0; k < n_; ++k) names_[form.states[k]] = x_[k];
}

// What rates and readings are there: functions of time and inputs. Unknowns of the minimal form follow from
// residuals that are linear in them with constant slopes.
void FilterFormulas::find_values_at_zero() {
  const MinimalForm& form = model_.form();
  for (Expr z : form.states) zero_[z] = pool_.number(0);
  const std::size_t m = form.unknowns.size();
  if (m == 0) return;
  ExprMap<double> numbers;
  for (std::size_t k = 0; k < form.parameters.size(); ++k) numbers[form.parameters[k]] = form.values[k];
  ExprMap<Expr> start = zero_;
  for (Expr w : form.unknowns) start[w] = pool_.number(0);
  Matrix slopes(static_cast<long>(m), static_cast<long>(m));
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < m; ++j)
      slopes(static_cast<long>(i), static_cast<long>(j)) =
          evaluate(derivative(form.residuals[i], form.unknowns[j]), numbers);
  const Matrix inverse = slopes.inverse();
  for (std::size_t i = 0; i < m; ++i) {
    std::vector<Expr> terms;
    for (std::size_t j = 0; j < m; ++j)
      terms.push_back(-number(inverse(static_cast<long>(i), static_cast<long>(j))) *
                      substitute(form.residuals[j], start));
    zero_[form.unknowns[i]] = pool_.add(terms);
  }
}

Expr FilterFormulas::within_bounds(Assignments& list, std::size_t state, Expr value) {
  const auto [low, high] = model_.bounds(state);
  if (std::isfinite(low)) value = pool_.call("max", {value, number(low)});
  if (std::isfinite(high)) value = pool_.call("min", {value, number(high)});
  return list.define(value);
}

Expr FilterFormulas::led_on(std::size_t state, Expr value) {
  if (point_.empty()) return method_ == Method::steady ? value : within_bounds(predict, state, value);
  // A point beyond the bounds is evaluated there, and stays where it is.
  return point_[state] == x_[state] ? value : point_[state] + (value - x_[state]);
}

//   x- = Phi x + G0 s(t, u) + G1 s'(t, u)
void FilterFormulas::predict_constant(bool euler) {
  const auto n = static_cast<long>(n_);
  std::vector<double> none(inputs_, 0.0);
  TwinPoint point;
  if (!model_.evaluate(model_.start(), 0.0, none.data(), none.data(), point))
    throw ModelError(
        {{model_.model().file.string(), 0}, "T627", "the model cannot be evaluated at its start", {}});
  Matrix joined = Matrix::Zero(3 * n, 3 * n);
  joined.topLeftCorner(n, n) = point.by_state;
  joined.block(0, n, n, n) = Matrix::Identity(n, n);
  joined.block(n, 2 * n, n, n) = Matrix::Identity(n, n);
  joined *= step_;
  Matrix e = euler ? Matrix(Matrix::Identity(3 * n, 3 * n) + joined) : exponential(joined);
  for (long k = 0; k < n; ++k)
    if (model_.states()[static_cast<std::size_t>(k)].fresh) e.row(k).setZero();
  transition = e.topLeftCorner(n, n);

  std::vector<Expr> s, ds;
  const Expr t = pool_.symbol("t");
  for (Expr f : model_.form().derivatives) {
    const Expr value = in_registers(substitute(f, zero_));
    s.push_back(value);
    Expr slope = derivative(value, t);
    for (std::size_t k = 0; k < inputs_; ++k) slope = slope + derivative(value, u_[k]) * du_[k];
    ds.push_back(slope);
  }
  for (Expr& value : s) value = predict.define(value);
  for (Expr& value : ds) value = predict.define(value);
  Exprs phi(n_ * n_);
  for (long i = 0; i < n; ++i) {
    std::vector<Expr> terms;
    for (long j = 0; j < n; ++j) {
      const auto k = static_cast<std::size_t>(j);
      phi[static_cast<std::size_t>(i) * n_ + k] = number(e(i, j));
      terms.push_back(phi[static_cast<std::size_t>(i) * n_ + k] * x_[k]);
      terms.push_back(number(e(i, n + j)) * s[k]);
      terms.push_back(number(e(i, 2 * n + j)) * ds[k]);
    }
    predicted.push_back(led_on(static_cast<std::size_t>(i), pool_.add(terms)));
  }
  propagate(phi);
}

//   P- = Phi P Phi' + Q
void FilterFormulas::propagate(const Exprs& phi) {
  if (method_ == Method::sigma_points || method_ == Method::steady) return;
  if (straight_) {
    propagate_factors(phi);
    return;
  }
  Exprs whole(n_ * n_);
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = 0; j < n_; ++j) whole[i * n_ + j] = p(i, j);
  const Exprs half = product(predict, phi, whole);
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = i; j < n_; ++j) {
      std::vector<Expr> terms;
      for (std::size_t k = 0; k < n_; ++k) terms.push_back(half[i * n_ + k] * phi[j * n_ + k]);
      if (i == j) terms.push_back(noise_[i]);
      predicted.push_back(pool_.add(terms));
    }
}

void FilterFormulas::predict_extended(bool euler) {
  const MinimalForm& form = model_.form();
  const Expr zero = pool_.number(0), h = number(step_), t = pool_.symbol("t");
  std::vector<Expr> f(n_), ft(n_);
  Exprs g(n_ * n_);  // h F
  for (std::size_t i = 0; i < n_; ++i) {
    const Expr rate = model_.formulas()->rates[i];
    f[i] = predict.define(in_registers(rate));
    for (std::size_t j = 0; j < n_; ++j) {
      const Expr slope = derivative(rate, form.states[j]);
      g[i * n_ + j] = slope.is_number(0) ? zero : predict.define(h * in_registers(slope));
    }
    Expr by_time = derivative(rate, t);
    for (std::size_t k = 0; k < inputs_; ++k)
      by_time = by_time + derivative(rate, model_.input_symbols()[k]) * du_[k];
    ft[i] = predict.define(in_registers(by_time));
  }
  const auto fresh = [&](std::size_t i) { return model_.states()[i].fresh; };
  const auto go_on = [&](Exprs phi, const std::vector<Expr>& step) {
    for (std::size_t i = 0; i < n_; ++i) {
      predicted.push_back(fresh(i) ? zero : led_on(i, x_[i] + step[i]));
      for (std::size_t j = 0; j < n_ && fresh(i); ++j) {
        phi[i * n_ + j] = zero;
        phi_at[i * n_ + j] = -1;
      }
    }
    propagate(phi);
  };
  Exprs unit(n_ * n_, zero);
  for (std::size_t i = 0; i < n_; ++i) unit[i * n_ + i] = pool_.number(1);
  const auto sum = [&](const Exprs& a, double weight, const Exprs& b) {
    Exprs c(a.size());
    for (std::size_t k = 0; k < a.size(); ++k) c[k] = a[k] + weight * b[k];
    return c;
  };
  if (euler) {
    for (Expr& e : f) e = predict.define(h * e);
    go_on(keep_flow(sum(unit, 1.0, g), f, {}, zero), f);
    return;
  }

  // The largest sum of a row tells how often to halve.
  if (!straight_) size = zero;
  for (std::size_t i = 0; i < n_ && !straight_; ++i) {
    std::vector<Expr> terms;
    for (std::size_t j = 0; j < n_; ++j) terms.push_back(pool_.call("abs", {g[i * n_ + j]}));
    size = predict.define(pool_.call("max", {size, pool_.add(terms)}));
  }
  at.scale = static_cast<std::int32_t>(registers.size());
  const double scaled_by = straight_ ? std::exp2(-straight_->halvings) : 1.0;
  const Expr scale = input("scale", 0, scaled_by, series), length = predict.define(h * scale);
  Exprs a = g;
  for (Expr& e : a)
    if (!e.is_number(0)) e = predict.define(scale * e);
  const Exprs a2 = product(predict, a, a), a3 = product(predict, a2, a), a4 = product(predict, a2, a2);
  Exprs low = sum(sum(sum(unit, 1.0, a), 1 / factorial(2), a2), 1 / factorial(3), a3), high(n_ * n_, zero);
  const Exprs* powers[] = {&unit, &a, &a2, &a3, &a4};
  for (int k = 0; k <= 4; ++k) high = sum(high, 1 / factorial(4 + k), *powers[k]);
  for (Expr& e : high) e = predict.define(e);
  Exprs phi = sum(low, 1.0, product(predict, a4, high));
  // phi_m(A) v = sum of A^k v/(k + m)!
  const auto series_of = [&](int m, const std::vector<Expr>& v) {
    std::vector<Expr> result(n_, zero);
    for (int k = degree; k >= 0; --k) {
      result = product(predict, a, result);
      for (std::size_t i = 0; i < n_; ++i)
        result[i] = predict.define(result[i] + (1 / factorial(k + m)) * v[i]);
    }
    return result;
  };
  const auto first = series_of(1, f), by_tau = series_of(1, ft), second = series_of(2, ft);
  std::vector<Expr> c(n_), d(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    c[i] = predict.define(length * (first[i] + length * second[i]));
    d[i] = predict.define(length * by_tau[i]);
  }

  const Exprs phi_now = keep_flow(phi, c, d, length);
  const auto now = [&](std::size_t k) { return registers[static_cast<std::size_t>(at.flow) + k].symbol; };
  const std::size_t first_c = flow.size() - 2 * n_ - 1;
  Exprs c_now(n_), d_now(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    c_now[i] = now(first_c + i);
    d_now[i] = now(first_c + n_ + i);
  }
  const Expr length_now = now(flow.size() - 1);
  const Exprs twice = product(predict, phi_now, phi_now);
  const auto moved_c = product(predict, phi_now, c_now), moved_d = product(predict, phi_now, d_now);
  for (std::size_t k = 0; k < n_ * n_; ++k)
    if (phi_at[k] >= 0) squared.push_back(twice[k]);
  for (std::size_t i = 0; i < n_; ++i) squared.push_back(moved_c[i] + c_now[i] + length_now * d_now[i]);
  for (std::size_t i = 0; i < n_; ++i) squared.push_back(moved_d[i] + d_now[i]);
  squared.push_back(2.0 * length_now);
  go_on(phi_now, c_now);
}

// Registers for what of the flow is not zero, now or after squaring; Phi in them is returned.
FilterFormulas::Exprs FilterFormulas::keep_flow(const Exprs& phi, const Exprs& c, const Exprs& d,
                                                Expr length) {
  sections = 5;
  std::vector<char> reaches(n_ * n_);
  for (std::size_t k = 0; k < n_ * n_; ++k) reaches[k] = k % (n_ + 1) == 0 || !phi[k].is_number(0);
  for (std::size_t k = 0; k < n_; ++k)
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j)
        if (reaches[i * n_ + k] && reaches[k * n_ + j]) reaches[i * n_ + j] = 1;
  at.flow = static_cast<std::int32_t>(registers.size());
  phi_at.assign(n_ * n_, -1);
  Exprs phi_now(n_ * n_, pool_.number(0));
  for (std::size_t k = 0; k < n_ * n_; ++k) {
    if (!reaches[k]) continue;
    phi_at[k] = static_cast<std::int32_t>(registers.size());
    phi_now[k] = input("e", k, 0.0, square);
    flow.push_back(predict.define(phi[k]));
  }
  for (std::size_t i = 0; i < c.size() && !d.empty(); ++i) {
    input("c", i, 0.0, square);
    flow.push_back(c[i]);
  }
  for (std::size_t i = 0; i < d.size(); ++i) {
    input("d", i, 0.0, square);
    flow.push_back(d[i]);
  }
  if (!d.empty()) {
    input("h", 0, 0.0, square);
    flow.push_back(length);
  }
  return phi_now;
}

// Readings and their slopes where the correction begins.
void FilterFormulas::linearise_readings() {
  const MinimalForm& form = model_.form();
  TwinPoint point;
  std::vector<double> none(inputs_, 0.0);
  const bool constant = model_.constant_slopes();
  if (constant && !model_.evaluate(model_.start(), 0.0, none.data(), none.data(), point))
    throw ModelError(
        {{model_.model().file.string(), 0}, "T627", "the model cannot be evaluated at its start", {}});
  for (std::size_t r = 0; r < sensors_; ++r) {
    slopes_.emplace_back();
    expected_.emplace_back();
    if (method_ == Method::sigma_points && needs_points(model_, r)) continue;
    const Expr formula = constant ? model_.reading_formulas()[r] : model_.formulas()->readings[r];
    Exprs row(n_);
    std::vector<Expr> terms{in_registers(constant ? substitute(formula, zero_) : formula)};
    for (std::size_t j = 0; j < n_; ++j) {
      if (constant) {
        row[j] = number(point.readings_by_state(static_cast<long>(r), static_cast<long>(j)));
        terms.push_back(row[j] * x_[j]);
      } else {
        row[j] = correct.define(in_registers(derivative(formula, form.states[j])));
      }
    }
    slopes_.back() = row;
    expected_.back() = correct.define(pool_.add(terms));
  }
}

void FilterFormulas::correct_one_by_one(double gate) {
  const std::vector<Expr> begin = x_;
  for (std::size_t r = 0; r < sensors_; ++r)
    if (slopes_[r].empty())
      correct_by_points(r, gate);
    else
      correct_by(r, begin, gate);
  for (std::size_t i = 0; i < n_; ++i) corrected.push_back(within_bounds(correct, i, x_[i]));
  corrected.insert(corrected.end(), p_.begin(), p_.end());
}

Expr FilterFormulas::taken(std::size_t reading, Expr innovation, Expr variance, double gate) {
  if (!(gate > 0.0)) return there_[reading];
  return correct.define(there_[reading] *
                        pool_.call("le", {innovation * innovation, number(gate) * variance}));
}

//   where it reads:  k = P h'/(h P h' + r),  x += k (y - h x - d),  P += k (S k - P h')' - P h' k'
void FilterFormulas::correct_by(std::size_t r, const Exprs& begin, double gate) {
  const Exprs& h = slopes_[r];
  std::vector<Expr> expected{expected_[r]}, spread_of, ph;
  for (std::size_t i = 0; i < n_; ++i) {
    std::vector<Expr> terms;
    for (std::size_t j = 0; j < n_; ++j) terms.push_back(h[j] * p(i, j));
    ph.push_back(correct.define(pool_.add(terms)));
    // Linear in what earlier readings of this step have moved.
    if (r > 0) expected.push_back(h[i] * (x_[i] - begin[i]));
    spread_of.push_back(h[i] * ph.back());
  }
  spread_of.push_back(number(model_.noise()[r] * model_.noise()[r]));
  const Expr variance = correct.define(pool_.add(spread_of));
  const Expr innovation = correct.define(readings_[r] - pool_.add(expected));
  innovations.push_back(innovation);
  variances.push_back(variance);
  const Expr scale = correct.define(taken(r, innovation, variance, gate) / variance);
  std::vector<Expr> gain, rest;
  for (std::size_t i = 0; i < n_; ++i) {
    gain.push_back(correct.define(ph[i] * scale));
    rest.push_back(correct.define(variance * gain[i] - ph[i]));
  }
  for (std::size_t i = 0; i < n_; ++i) x_[i] = correct.define(x_[i] + gain[i] * innovation);
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = i; j < n_; ++j)
      p(i, j) = correct.define(p(i, j) + (gain[i] * rest[j] - ph[i] * gain[j]));
}

// x += K (y - h x - d), K the steady gain. Of readings that are there in part it follows from S = h P- h' + r
// of these: S = L D L', where a reading that is not there has the row of the unit matrix.
void FilterFormulas::correct_steadily(double gate, const Vector& process_noise) {
  const std::size_t m = sensors_;
  TwinPoint point;
  std::vector<double> none(inputs_, 0.0);
  const auto steady = model_.evaluate(model_.start(), 0.0, none.data(), none.data(), point)
                          ? steady_gain(transition, point.readings_by_state, model_.noise(), process_noise)
                          : std::nullopt;
  if (!steady)
    throw ModelError({{model_.model().file.string(), 0},
                      "T627",
                      "there is no steady gain: the filter's covariance does not settle",
                      {}});
  std::size_t k = 0;
  const Matrix kept = straight_ ? factors_of(steady->corrected) : steady->corrected;
  for (long i = 0; i < static_cast<long>(n_); ++i)
    for (long j = i; j < static_cast<long>(n_); ++j) registers[n_ + k++].value = kept(i, j);
  std::vector<Expr> took, weighed;
  for (std::size_t r = 0; r < m; ++r) {
    variances.push_back(number(steady->variance[static_cast<long>(r)]));
    innovations.push_back(correct.define(readings_[r] - expected_[r]));
    took.push_back(taken(r, innovations[r], variances[r], gate));
    weighed.push_back(m == 1 ? correct.define(took[r] * innovations[r]) : innovations[r]);
  }
  for (std::size_t i = 0; i < n_; ++i) {
    std::vector<Expr> terms{x_[i]};
    for (std::size_t r = 0; r < m; ++r)
      terms.push_back(number(steady->gain(static_cast<long>(i), static_cast<long>(r))) * weighed[r]);
    corrected.push_back(pool_.add(terms));
  }
  if (m == 1) return;
  complete = took[0];
  for (std::size_t r = 1; r < m; ++r) complete = complete * took[r];
  std::vector<Exprs> l(m);
  Exprs d(m);
  for (std::size_t r = 0; r < m; ++r) {
    weighed[r] = correct.define(took[r] * innovations[r]);
    d[r] = pool_.call("if", {took[r], variances[r], pool_.number(1)});
    l[r].resize(r);
    for (std::size_t j = 0; j < r; ++j) {
      Expr s = took[r] * (took[j] * number(steady->spread(static_cast<long>(r), static_cast<long>(j))));
      for (std::size_t i = 0; i < j; ++i) s = s - l[r][i] * l[j][i] * d[i];
      l[r][j] = correct.define(s / d[j]);
      d[r] = d[r] - l[r][j] * l[r][j] * d[j];
      weighed[r] = weighed[r] - l[r][j] * weighed[j];
    }
    d[r] = correct.define(d[r]);
    weighed[r] = correct.define(weighed[r]);
  }
  for (Expr& w : weighed) w = correct.define(w / d[static_cast<std::size_t>(&w - weighed.data())]);
  for (std::size_t r = m; r-- > 0;) {
    for (std::size_t j = r + 1; j < m; ++j) weighed[r] = weighed[r] - l[j][r] * weighed[j];
    weighed[r] = correct.define(weighed[r]);
  }
  const Matrix ph = steady->predicted * point.readings_by_state.transpose();
  for (std::size_t i = 0; i < n_; ++i) {
    std::vector<Expr> terms{x_[i]};
    for (std::size_t r = 0; r < m; ++r)
      terms.push_back(number(ph(static_cast<long>(i), static_cast<long>(r))) * weighed[r]);
    corrected_in_part.push_back(pool_.add(terms));
  }
}

// (4.23) to (4.26) of [Yadav 2021], rho = keep: S = L D L', where a reading that is not there has the row of
// the unit matrix.
void FilterFormulas::correct_together(double gate) {
  const std::size_t m = sensors_;
  std::vector<Expr> took, weighed;
  std::vector<std::vector<Expr>> ph(m), gain(m), l(m);
  const auto along = [&](std::size_t r, const std::vector<Expr>& column) {
    std::vector<Expr> terms;
    for (std::size_t j = 0; j < n_; ++j) terms.push_back(slopes_[r][j] * column[j]);
    return pool_.add(terms);
  };
  for (std::size_t r = 0; r < m; ++r) {
    for (std::size_t i = 0; i < n_; ++i) {
      std::vector<Expr> terms;
      for (std::size_t j = 0; j < n_; ++j) terms.push_back(slopes_[r][j] * p(i, j));
      ph[r].push_back(correct.define(pool_.add(terms)));
    }
    const double noise = model_.noise()[r];
    variances.push_back(correct.define(along(r, ph[r]) + number(noise * noise)));
    innovations.push_back(correct.define(readings_[r] - expected_[r]));
    took.push_back(taken(r, innovations[r], variances[r], gate));
    for (Expr& e : ph[r]) e = correct.define(took[r] * e);
    weighed.push_back(correct.define(took[r] * innovations[r]));
  }
  std::vector<Expr> d(m);
  for (std::size_t k = 0; k < m; ++k) {
    d[k] = pool_.call("if", {took[k], variances[k], pool_.number(1)});
    l[k].resize(k);
    for (std::size_t j = 0; j < k; ++j) {
      Expr s = took[k] * along(k, ph[j]);
      for (std::size_t i = 0; i < j; ++i) s = s - l[k][i] * l[j][i] * d[i];
      l[k][j] = correct.define(s / d[j]);
      d[k] = d[k] - l[k][j] * l[k][j] * d[j];
    }
    d[k] = correct.define(d[k]);
  }
  // K = P H' S^-1, and the innovation weighed by S^-1.
  gain = ph;
  const auto subtract = [&](std::size_t from, Expr factor, std::size_t what) {
    for (std::size_t i = 0; i < n_; ++i)
      gain[from][i] = correct.define(gain[from][i] - factor * gain[what][i]);
    weighed[from] = correct.define(weighed[from] - factor * weighed[what]);
  };
  std::vector<Expr> terms;
  for (std::size_t k = 0; k < m; ++k)
    for (std::size_t j = 0; j < k; ++j) subtract(k, l[k][j], j);
  for (std::size_t k = 0; k < m; ++k) {
    const Expr part =
        weighed[k] * weighed[k] / d[k] + pool_.call("log", {pool_.call("abs", {d[k]}) * number(2.0 * M_PI)});
    terms.push_back(took[k] * (-0.5 * part));
    for (std::size_t i = 0; i < n_; ++i) gain[k][i] = correct.define(gain[k][i] / d[k]);
    weighed[k] = correct.define(weighed[k] / d[k]);
  }
  likelihood = pool_.add(terms);
  for (std::size_t k = m; k-- > 0;)
    for (std::size_t j = k + 1; j < m; ++j) subtract(k, l[j][k], j);

  const auto keep = [&](std::size_t i) { return model_.states()[i].keep; };
  for (std::size_t i = 0; i < n_; ++i) {
    std::vector<Expr> move;
    for (std::size_t k = 0; k < m; ++k) move.push_back(ph[k][i] * weighed[k]);
    corrected.push_back(within_bounds(correct, i, x_[i] + number(1.0 - keep(i)) * pool_.add(move)));
  }
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = i; j < n_; ++j) {
      std::vector<Expr> change;  // K H P, which is symmetric
      for (std::size_t k = 0; k < m; ++k) change.push_back(gain[k][i] * ph[k][j] + gain[k][j] * ph[k][i]);
      corrected.push_back(p(i, j) - number(0.5 * (1.0 - keep(i) * keep(j))) * pool_.add(change));
    }
}

}  // namespace tellegen
