#include "tellegen/estimate/filter_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tellegen/numeric/exponential.h"

namespace tellegen {
namespace {

// Names of what a step is given: states, covariance, time, inputs and their rates, readings and whether they
// are there.
Expr named(Pool& pool, const char* what, std::size_t i) { return pool.symbol(fmt::format("~{}{}", what, i)); }

std::size_t upper(std::size_t n, std::size_t i, std::size_t j) {
  return i * n - i * (i + 1) / 2 + j;
}  // i <= j

// Square, symmetric: only the upper triangle is there.
class Symmetric {
 public:
  Symmetric(std::size_t n, std::vector<Expr> entries) : n_(n), entries_(std::move(entries)) {}
  Expr& operator()(std::size_t i, std::size_t j) {
    return entries_[i <= j ? upper(n_, i, j) : upper(n_, j, i)];
  }

 private:
  std::size_t n_;
  std::vector<Expr> entries_;
};

}  // namespace

FilterProgram::FilterProgram(TwinModel& model, const FilterOptions& options, const Vector& process_noise,
                             bool whole_run)
    : pool_(model.model().pool.get()),
      n_(model.size()),
      sensors_(model.sensors()),
      inputs_(model.inputs()),
      code_(build(model, options, process_noise, whole_run)) {
  memory_.resize(static_cast<std::size_t>(code_.procedure().program.registers), 0.0);
}

Expr FilterProgram::input(Expr symbol, double value) {
  symbols_.push_back(symbol);
  memory_.push_back(value);
  return symbol;
}

// A constant of the code: structure where it is 0, 1 or -1, otherwise a register.
Expr FilterProgram::number(double value) {
  if (value == 0.0 || value == 1.0 || value == -1.0) return pool_->number(value);
  for (const auto& [symbol, at] : constants_)
    if (memory_[at] == value) return symbol;
  constants_.emplace_back(pool_->symbol(fmt::format("~w{}", memory_.size())), memory_.size());
  return input(constants_.back().first, value);
}

Procedure FilterProgram::build(TwinModel& model, const FilterOptions& options, const Vector& process_noise,
                               bool whole_run) {
  Pool& pool = *pool_;
  const auto n = static_cast<long>(n_);
  std::vector<double> none(inputs_, 0.0);
  TwinPoint point;
  if (!model.evaluate(model.start(), 0.0, none.data(), none.data(), point))
    throw ModelError(
        {{model.model().file.string(), 0}, "T627", "the model cannot be evaluated at its start", {}});
  Matrix joined = Matrix::Zero(3 * n, 3 * n);
  joined.topLeftCorner(n, n) = point.by_state;
  joined.block(0, n, n, n) = Matrix::Identity(n, n);
  joined.block(n, 2 * n, n, n) = Matrix::Identity(n, n);
  Matrix e = exponential(joined * options.step);
  for (long k = 0; k < n; ++k)
    if (model.states()[static_cast<std::size_t>(k)].fresh) e.row(k).setZero();
  transition_ = e.topLeftCorner(n, n);

  const Vector begin = model.start();
  const Matrix spread_at_start = model.start_covariance();
  std::vector<Expr> x, p_entries, u, du, readings, there;
  for (long i = 0; i < n; ++i) x.push_back(input(named(pool, "x", static_cast<std::size_t>(i)), begin[i]));
  for (long i = 0; i < n; ++i)
    for (long j = i; j < n; ++j)
      p_entries.push_back(input(named(pool, "p", p_entries.size()), spread_at_start(i, j)));
  const auto next_register = [&] { return static_cast<std::int32_t>(memory_.size()); };
  at_.time = next_register();
  const Expr t = input(pool.symbol("t"));
  at_.u = next_register();
  for (std::size_t k = 0; k < inputs_; ++k) u.push_back(input(named(pool, "u", k)));
  at_.du = next_register();
  for (std::size_t k = 0; k < inputs_; ++k) du.push_back(input(named(pool, "du", k)));
  at_.reading = next_register();  // as it came
  for (std::size_t k = 0; k < sensors_; ++k) input(named(pool, "reading", k));
  const std::int32_t first_reading = next_register();
  for (std::size_t k = 0; k < sensors_; ++k) readings.push_back(input(named(pool, "y", k)));
  const std::int32_t first_there = next_register();
  for (std::size_t k = 0; k < sensors_; ++k) there.push_back(input(named(pool, "a", k)));
  noise_ = memory_.size();
  std::vector<Expr> noise;
  for (long i = 0; i < n; ++i)
    noise.push_back(input(named(pool, "q", static_cast<std::size_t>(i)), process_noise[i]));

  // What the rates and the readings are where all states are zero: functions of time and inputs.
  const MinimalForm& form = model.form();
  ExprMap<Expr> zero;
  for (Expr z : form.states) zero[z] = pool.number(0);
  ExprMap<Expr> constants;
  for (std::size_t k = 0; k < form.parameters.size(); ++k)
    constants[form.parameters[k]] = number(form.values[k]);
  for (std::size_t k = 0; k < inputs_; ++k) constants[model.input_symbols()[k]] = u[k];
  // Unknowns of the minimal form follow from residuals that are linear in them with constant slopes.
  if (const std::size_t m = form.unknowns.size(); m > 0) {
    ExprMap<double> numbers;
    for (std::size_t k = 0; k < form.parameters.size(); ++k) numbers[form.parameters[k]] = form.values[k];
    ExprMap<Expr> start = zero;
    for (Expr w : form.unknowns) start[w] = pool.number(0);
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
      zero[form.unknowns[i]] = pool.add(terms);
    }
  }
  const auto at_zero = [&](Expr value) { return substitute(substitute(value, zero), constants); };
  Assignments predict(pool), correct(pool);

  // Predict.
  Symmetric p(n_, p_entries);
  std::vector<Expr> s, ds;
  for (Expr f : form.derivatives) {
    const Expr value = at_zero(f);
    s.push_back(value);
    Expr slope = derivative(value, t);
    for (std::size_t k = 0; k < inputs_; ++k) slope = slope + derivative(value, u[k]) * du[k];
    ds.push_back(slope);
  }
  for (Expr& value : s) value = predict.define(value);
  for (Expr& value : ds) value = predict.define(value);
  std::vector<Expr> next;
  const auto entry = [&](long row, long block, long column) { return number(e(row, block * n + column)); };
  for (long i = 0; i < n; ++i) {
    std::vector<Expr> terms;
    for (long j = 0; j < n; ++j) {
      const auto k = static_cast<std::size_t>(j);
      terms.push_back(entry(i, 0, j) * x[k]);
      terms.push_back(entry(i, 1, j) * s[k]);
      terms.push_back(entry(i, 2, j) * ds[k]);
    }
    next.push_back(pool.add(terms));
  }
  std::vector<Expr> half(n_ * n_);  // Phi P
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = 0; j < n_; ++j) {
      std::vector<Expr> terms;
      for (std::size_t k = 0; k < n_; ++k)
        terms.push_back(entry(static_cast<long>(i), 0, static_cast<long>(k)) * p(k, j));
      half[i * n_ + j] = predict.define(pool.add(terms));
    }
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = i; j < n_; ++j) {
      std::vector<Expr> terms;
      for (std::size_t k = 0; k < n_; ++k)
        terms.push_back(half[i * n_ + k] * entry(static_cast<long>(j), 0, static_cast<long>(k)));
      if (i == j) terms.push_back(noise[i]);
      next.push_back(pool.add(terms));
    }
  const std::vector<Expr> predicted = next;

  // Correct.
  std::vector<Expr> innovations, variances;
  for (std::size_t r = 0; r < sensors_; ++r) {
    const auto row = static_cast<long>(r);
    std::vector<Expr> expected{at_zero(model.reading_formulas()[r])}, spread;
    std::vector<Expr> ph;
    for (std::size_t i = 0; i < n_; ++i) {
      std::vector<Expr> terms;
      for (std::size_t j = 0; j < n_; ++j)
        terms.push_back(number(point.readings_by_state(row, static_cast<long>(j))) * p(i, j));
      ph.push_back(correct.define(pool.add(terms)));
      const Expr h = number(point.readings_by_state(row, static_cast<long>(i)));
      expected.push_back(h * x[i]);
      spread.push_back(h * ph.back());
    }
    spread.push_back(number(model.noise()[r] * model.noise()[r]));
    const Expr variance = correct.define(pool.add(spread));
    const Expr innovation = correct.define(readings[r] - pool.add(expected));
    Expr taken = there[r];
    if (options.gate > 0.0)
      taken =
          correct.define(taken * pool.call("le", {innovation * innovation, number(options.gate) * variance}));
    innovations.push_back(innovation);
    variances.push_back(variance);
    const Expr scale = correct.define(taken / variance);
    std::vector<Expr> gain, rest;
    for (std::size_t i = 0; i < n_; ++i) {
      gain.push_back(correct.define(ph[i] * scale));
      rest.push_back(correct.define(variance * gain[i] - ph[i]));
    }
    for (std::size_t i = 0; i < n_; ++i) x[i] = correct.define(x[i] + gain[i] * innovation);
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = i; j < n_; ++j)
        p(i, j) = correct.define(p(i, j) + (gain[i] * rest[j] - ph[i] * gain[j]));
  }
  next = x;
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = i; j < n_; ++j) next.push_back(p(i, j));
  next.insert(next.end(), innovations.begin(), innovations.end());
  next.insert(next.end(), variances.begin(), variances.end());

  // Section 0: constants; section 1: everything else.
  const auto made = [&](const Assignments& list, const std::vector<Expr>& results) {
    std::vector<ProgramInput> inputs;
    for (std::size_t k = 0; k < symbols_.size(); ++k) inputs.push_back({symbols_[k], k < noise_ ? 1 : 0});
    std::vector<ProgramRoot> roots;
    for (Expr r : results) roots.push_back({r, 1});
    return make_program(pool, inputs, list.list(), roots, 2);
  };
  Procedure result{.program = made(predict, predicted)};
  const Registers after_predict = result.program.roots;
  Registers same(symbols_.size());
  std::iota(same.begin(), same.end(), 0);
  const Registers after_correct = append(result.program, made(correct, next), same);
  const auto take_over = [&](const Registers& from) {
    std::vector<RegisterCopy> copies;
    for (std::size_t k = 0; k < width(); ++k) copies.push_back({static_cast<std::int32_t>(k), from[k]});
    return copy_registers(copies);
  };
  const auto own = static_cast<long>(width()), count = static_cast<long>(sensors_);
  innovation_.assign(after_correct.begin() + own, after_correct.begin() + own + count);
  variance_.assign(after_correct.begin() + own + count, after_correct.end());

  SectionWriter write(result.program);
  for (std::int32_t* counter : {&at_.left, &at_.row, &at_.start, &at_.step}) *counter = write.new_register();
  const Body predicting{run_section(1), take_over(after_predict)};
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(sensors_); ++k) {
    const auto came = at_.reading + k, is_there = write.call("eq", came, came);  // not where it is NaN
    write.assign(first_there + k, is_there);
    write.assign(first_reading + k, write.call("if", is_there, came, write.number(0.0)));
  }
  const Body correcting{write.end(), run_section(3), take_over(after_correct)};

  const auto done = write.call("le", at_.left, write.number(0.0));
  Body turn{write.end(), leave_when(done)};
  Registers row, emitted = innovation_;
  for (std::size_t k = 0; k < inputs_; ++k) row.push_back(write.new_register());
  const Registers ahead = row;
  for (std::size_t k = 0; k < sensors_; ++k) row.push_back(at_.reading + static_cast<std::int32_t>(k));
  turn.push_back(take(row));
  const auto before = write.subtract(at_.row, write.number(1.0));
  write.assign(at_.time, write.add(at_.start, write.multiply(at_.step, before)));
  for (std::size_t k = 0; k < inputs_; ++k) {
    const auto i = static_cast<std::int32_t>(k);
    write.assign(at_.du + i, write.divide(write.subtract(ahead[k], at_.u + i), at_.step));
  }
  Body step{write.end()};
  step.insert(step.end(), predicting.begin(), predicting.end());
  turn.push_back(when(at_.row, step));
  write.assign(at_.time, write.add(at_.start, write.multiply(at_.step, at_.row)));
  for (std::size_t k = 0; k < inputs_; ++k) write.assign(at_.u + static_cast<std::int32_t>(k), ahead[k]);
  write.assign(at_.row, write.add(at_.row, write.number(1.0)));
  write.assign(at_.left, write.subtract(at_.left, write.number(1.0)));
  turn.push_back(write.end());
  turn.insert(turn.end(), correcting.begin(), correcting.end());
  emitted.insert(emitted.end(), variance_.begin(), variance_.end());
  turn.push_back(emit(emitted));

  result.entries = {{"prepare", {run_section(0), run_section(2)}},
                    {"predict", predicting},
                    {"correct", correcting},
                    {"run", {loop(turn)}, whole_run}};
  result.exported = emitted;
  return result;
}

void FilterProgram::compile() {
  code_.compile();
  refused_ = !code_.compiled() && compile_c("double tellegen_nothing(void) { return 0.0; }\n") != nullptr;
}

void FilterProgram::predict(double* w, double t, const double* u, const double* du) const {
  w[at_.time] = t;
  std::copy(u, u + inputs_, w + at_.u);
  std::copy(du, du + inputs_, w + at_.du);
  code_.call(1, w);
}

void FilterProgram::correct(double* w, double t, const double* u, const double* y, double* innovation,
                            double* variance) const {
  w[at_.time] = t;
  std::copy(u, u + inputs_, w + at_.u);
  std::copy(y, y + sensors_, w + at_.reading);
  code_.call(2, w);
  for (std::size_t k = 0; k < sensors_; ++k) innovation[k] = w[innovation_[k]], variance[k] = w[variance_[k]];
}

void FilterProgram::run(double* w, long rows, double t, double h, const double* in, double* out) const {
  w[at_.left] = static_cast<double>(rows);
  w[at_.row] = 0.0;
  w[at_.start] = t;
  w[at_.step] = h;
  code_.call(3, w, &in, &out);
}

void FilterProgram::set_process_noise(double* w, const Vector& variance_per_step) const {
  std::copy(variance_per_step.data(), variance_per_step.data() + variance_per_step.size(), w + noise_);
}

namespace {

// Behind the interface of all estimators.
class GeneratedFilter : public Filter {
 public:
  GeneratedFilter(TwinModel& model, const FilterOptions& options)
      : Filter(model, options), program_(model, options, q_), w_(program_.memory()) {
    phi_ = program_.transition();
    if (options.compile) program_.compile();
    program_.prepare(w_.data());
  }
  bool predict(double t, const double* u, const double* du) override {
    program_.predict(w_.data(), t, u, du);
    fresh_ = false;
    return std::isfinite(w_[0]);
  }
  bool correct(double t, const double* u, const double* readings, Innovations& out) override {
    program_.correct(w_.data(), t, u, readings, out.value.data(), out.variance.data());
    fresh_ = false;
    out.log_likelihood = 0.0;
    for (std::size_t s = 0; s < out.value.size(); ++s) {
      out.refused[s] = !std::isnan(readings[s]) && refuse(out.value[s], out.variance[s]);
      if (std::isnan(readings[s]) || out.refused[s])
        out.value[s] = std::numeric_limits<double>::quiet_NaN();
      else
        out.log_likelihood -=
            0.5 * (out.value[s] * out.value[s] / out.variance[s] + std::log(2.0 * M_PI * out.variance[s]));
    }
    return std::isfinite(w_[0]);
  }
  const Belief& belief() const override {
    if (fresh_) return seen_;
    const auto n = static_cast<long>(program_.states());
    seen_.x = Eigen::Map<const Vector>(w_.data(), n);
    seen_.p.resize(n, n);
    const double* p = w_.data() + n;
    for (long i = 0; i < n; ++i)
      for (long j = i; j < n; ++j) seen_.p(i, j) = seen_.p(j, i) = *p++;
    fresh_ = true;
    return seen_;
  }
  Belief save() const override { return belief(); }
  void restore(const Belief& belief) override {
    const auto n = static_cast<long>(program_.states());
    std::copy(belief.x.data(), belief.x.data() + n, w_.begin());
    double* p = w_.data() + n;
    for (long i = 0; i < n; ++i)
      for (long j = i; j < n; ++j) *p++ = belief.p(i, j);
    fresh_ = false;
  }
  std::string executor() const override {
    return program_.compiled()  ? "generated C"
           : program_.refused() ? "generated, interpreted: the C compiler failed on it"
                                : "generated, interpreted";
  }
  void set_process_noise(const Vector& variance_per_step) override {
    q_ = variance_per_step;
    program_.set_process_noise(w_.data(), q_);
    program_.prepare(w_.data());
  }

 private:
  FilterProgram program_;
  std::vector<double> w_;
  mutable Belief seen_;
  mutable bool fresh_ = false;
};

}  // namespace

std::unique_ptr<Filter> generated_filter(TwinModel& model, const FilterOptions& options) {
  return std::make_unique<GeneratedFilter>(model, options);
}

}  // namespace tellegen
