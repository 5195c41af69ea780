#include "tellegen/estimate/filter_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

FilterProgram::FilterProgram(TwinModel& model, const FilterOptions& options, const Vector& process_noise)
    : pool_(model.model().pool.get()),
      n_(model.size()),
      sensors_(model.sensors()),
      inputs_(model.inputs()),
      gate_(options.gate) {
  const Vector x = model.start();
  const Matrix p = model.start_covariance();
  for (std::size_t i = 0; i < n_; ++i) memory_.push_back(x[static_cast<long>(i)]);
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = i; j < n_; ++j) memory_.push_back(p(static_cast<long>(i), static_cast<long>(j)));
  build(model, options, process_noise);
}

// A constant of the code: structure where it is 0, 1 or -1, otherwise a number in w.
Expr FilterProgram::number(double value) {
  if (value == 0.0 || value == 1.0 || value == -1.0) return pool_->number(value);
  for (const auto& [symbol, at] : numbers_)
    if (memory_[static_cast<std::size_t>(at)] == value && !is_noise(static_cast<std::size_t>(at)))
      return symbol;
  numbers_.emplace_back(pool_->symbol(fmt::format("~w{}", memory_.size())),
                        static_cast<std::int32_t>(memory_.size()));
  memory_.push_back(value);
  return numbers_.back().first;
}

void FilterProgram::build(TwinModel& model, const FilterOptions& options, const Vector& process_noise) {
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
  const Matrix e = exponential(joined * options.step);
  transition_ = e.topLeftCorner(n, n);

  // What the rates and the readings are where all states are zero: functions of time and inputs.
  const MinimalForm& form = model.form();
  ExprMap<Expr> zero;
  for (Expr z : form.states) zero[z] = pool.number(0);
  ExprMap<Expr> constants;
  for (std::size_t k = 0; k < form.parameters.size(); ++k)
    constants[form.parameters[k]] = number(form.values[k]);
  std::vector<Expr> u, du;
  for (std::size_t k = 0; k < inputs_; ++k) {
    u.push_back(named(pool, "u", k));
    du.push_back(named(pool, "du", k));
    constants[model.input_symbols()[k]] = u.back();
  }
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
  const Expr t = pool.symbol("t");

  // Predict.
  std::vector<Expr> x, p_entries;
  for (std::size_t i = 0; i < n_; ++i) x.push_back(named(pool, "x", i));
  for (std::size_t k = 0; k < n_ * (n_ + 1) / 2; ++k) p_entries.push_back(named(pool, "p", k));
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
  noise_at_ = memory_.size();
  std::vector<Expr> noise;
  for (std::size_t i = 0; i < n_; ++i) {
    noise.push_back(named(pool, "q", i));
    numbers_.emplace_back(noise.back(), static_cast<std::int32_t>(memory_.size()));
    memory_.push_back(process_noise[static_cast<long>(i)]);
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
  std::vector<Expr> arguments = x;
  arguments.insert(arguments.end(), p_entries.begin(), p_entries.end());
  const std::size_t own = arguments.size();
  arguments.push_back(t);
  arguments.insert(arguments.end(), u.begin(), u.end());
  arguments.insert(arguments.end(), du.begin(), du.end());
  finish(predict_, arguments, {predict.list().begin(), predict.list().end()}, next);

  // Correct.
  std::vector<Expr> readings, there, innovations, variances;
  for (std::size_t r = 0; r < sensors_; ++r) {
    const auto row = static_cast<long>(r);
    readings.push_back(named(pool, "y", r));
    there.push_back(named(pool, "a", r));
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
    const Expr innovation = correct.define(readings.back() - pool.add(expected));
    Expr taken = there.back();
    if (gate_ > 0.0)
      taken = correct.define(taken * pool.call("le", {innovation * innovation, number(gate_) * variance}));
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
  arguments.resize(own);
  arguments.push_back(t);
  arguments.insert(arguments.end(), u.begin(), u.end());
  arguments.insert(arguments.end(), readings.begin(), readings.end());
  arguments.insert(arguments.end(), there.begin(), there.end());
  finish(correct_, arguments, {correct.list().begin(), correct.list().end()}, next);
  share_tables();
}

// One list of tables for both parts: they stand in the code once.
void FilterProgram::share_tables() {
  auto& tables = predict_.program.tables;
  std::vector<std::int32_t> place;
  for (const auto& table : correct_.program.tables) {
    const auto found = std::find(tables.begin(), tables.end(), table);
    place.push_back(static_cast<std::int32_t>(found - tables.begin()));
    if (found == tables.end()) tables.push_back(table);
  }
  for (Instruction& i : correct_.program.code)
    if (i.code == Code::lookup) i.extra = place[static_cast<std::size_t>(i.extra)];
  correct_.program.tables = tables;
}

void FilterProgram::set_process_noise(double* w, const Vector& variance_per_step) const {
  std::copy(variance_per_step.data(), variance_per_step.data() + variance_per_step.size(), w + noise_at_);
}

// Section 0: constants; section 1: everything else.
void FilterProgram::finish(Part& part, const std::vector<Expr>& arguments,
                           const std::vector<Assignment>& list, const std::vector<Expr>& roots) {
  std::vector<ProgramInput> inputs;
  for (Expr a : arguments) inputs.push_back({a, 1});
  for (const auto& [symbol, at] : numbers_) inputs.push_back({symbol, 0});
  std::vector<ProgramRoot> wanted;
  for (Expr r : roots) wanted.push_back({r, 1});
  part.program = make_program(*pool_, inputs, list, wanted, 2);
  part.constants.assign(inputs.size(), -1);
  for (std::size_t k = 0; k < numbers_.size(); ++k) part.constants[arguments.size() + k] = numbers_[k].second;
  part.kept.assign(static_cast<std::size_t>(part.program.registers), -1);
  for (const Instruction& i : part.program.section(0)) {
    part.kept[static_cast<std::size_t>(i.target)] = static_cast<std::int32_t>(memory_.size());
    memory_.push_back(0.0);
  }
}

std::string FilterProgram::c_part(const Part& part, const std::string& letter, int section) const {
  const auto name = [&](std::int32_t r) {
    const auto k = static_cast<std::size_t>(r);
    if (k < part.constants.size() && part.constants[k] >= 0) return fmt::format("w[{}]", part.constants[k]);
    if (part.kept[k] >= 0) return fmt::format("w[{}]", part.kept[k]);
    return fmt::format("{}{}", letter, r);
  };
  std::string text;
  for (const Instruction& i : part.program.section(section)) {
    const bool local = part.kept[static_cast<std::size_t>(i.target)] < 0;
    text += fmt::format("  {}{}\n", local ? "const double " : "", c_instruction(part.program, i, name));
  }
  return text;
}

std::string FilterProgram::c_source() const {
  std::string text = c_tables(predict_.program);
  text += "void tellegen_filter_prepare(double* w) {\n" + c_part(predict_, "a", 0) +
          c_part(correct_, "b", 0) + "  (void)w;\n}\n";
  const auto own = width();
  const auto load = [&](const char* letter, std::size_t first, std::size_t count, const char* from) {
    for (std::size_t k = 0; k < count; ++k)
      text += fmt::format("  const double {}{} = {}[{}]; (void){}{};\n", letter, first + k, from, k, letter,
                          first + k);
  };
  const auto store = [&](const Part& part, const char* letter, std::size_t first, std::size_t count,
                         const char* to) {
    for (std::size_t k = 0; k < count; ++k) {
      const auto r = static_cast<std::size_t>(part.program.roots[first + k]);
      const std::string value =
          part.kept[r] >= 0 ? fmt::format("w[{}]", part.kept[r]) : fmt::format("{}{}", letter, r);
      text += fmt::format("  {}[{}] = {};\n", to, k, value);
    }
  };
  text += "void tellegen_filter_predict(double* w, double t, const double* u, const double* du) {\n";
  load("a", 0, own, "w");
  text += fmt::format("  const double a{0} = t; (void)a{0}; (void)u; (void)du;\n", own);
  load("a", own + 1, inputs_, "u");
  load("a", own + 1 + inputs_, inputs_, "du");
  text += c_part(predict_, "a", 1);
  store(predict_, "a", 0, own, "w");
  text +=
      "}\nvoid tellegen_filter_correct(double* w, double t, const double* u, const double* y, double* nu, "
      "double* s) {\n";
  load("b", 0, own, "w");
  text += fmt::format("  const double b{0} = t; (void)b{0}; (void)u;\n", own);
  load("b", own + 1, inputs_, "u");
  for (std::size_t k = 0; k < sensors_; ++k)
    text += fmt::format(
        "  const double b{0} = y[{2}] == y[{2}] ? y[{2}] : 0.0, b{1} = y[{2}] == y[{2}] ? 1.0 : 0.0;\n",
        own + 1 + inputs_ + k, own + 1 + inputs_ + sensors_ + k, k);
  text += c_part(correct_, "b", 1);
  store(correct_, "b", 0, own, "w");
  store(correct_, "b", own, sensors_, "nu");
  store(correct_, "b", own + sensors_, sensors_, "s");
  text += fmt::format(
      "}}\nvoid tellegen_filter_run(double* w, long rows, double t, double h, const double* u, const double* "
      "y, double* nu,\n"
      "                         double* s, double* history) {{\n"
      "  for (long k = 0; k < rows; ++k) {{\n"
      "    double du[{0}];\n"
      "    if (k > 0) {{\n"
      "      for (int i = 0; i < {1}; ++i) du[i] = (u[i] - u[i - {1}])/h;\n"
      "      tellegen_filter_predict(w, t + h*(double)(k - 1), u - {1}, du);\n    }}\n"
      "    tellegen_filter_correct(w, t + h*(double)k, u, y, nu, s);\n"
      "    u += {1}; y += {2}; nu += {2}; s += {2};\n"
      "    if (history) {{\n      for (int i = 0; i < {3}; ++i) history[i] = w[i];\n      history += {3};\n  "
      "  }}\n  }}\n}}\n",
      std::max<std::size_t>(1, inputs_), inputs_, sensors_, own);
  return text;
}

void FilterProgram::compile() {
  code_ = compile_c(c_source());
  if (!code_) {
    refused_ = compile_c("double tellegen_filter_none(void) { return 0.0; }\n") != nullptr;
    return;
  }
  prepare_ = code_->function<void(double*)>("tellegen_filter_prepare");
  predict_code_ =
      code_->function<void(double*, double, const double*, const double*)>("tellegen_filter_predict");
  correct_code_ = code_->function<void(double*, double, const double*, const double*, double*, double*)>(
      "tellegen_filter_correct");
  run_ = code_->function<void(double*, long, double, double, const double*, const double*, double*, double*,
                              double*)>("tellegen_filter_run");
}

void FilterProgram::interpret_part(const Part& part, int section, double* w, const double* arguments,
                                   std::size_t count, std::vector<double>& registers) const {
  registers.resize(static_cast<std::size_t>(part.program.registers));
  std::copy(arguments, arguments + count, registers.begin());
  for (std::size_t k = 0; k < part.constants.size(); ++k)
    if (part.constants[k] >= 0) registers[k] = w[part.constants[k]];
  for (std::size_t r = 0; r < part.kept.size(); ++r)
    if (part.kept[r] >= 0 && section > 0) registers[r] = w[part.kept[r]];
  interpret(part.program, section, registers.data());
  for (std::size_t r = 0; r < part.kept.size(); ++r)
    if (part.kept[r] >= 0 && section == 0) w[part.kept[r]] = registers[r];
}

void FilterProgram::prepare(double* w) const {
  if (prepare_) return prepare_(w);
  std::vector<double> registers;
  interpret_part(predict_, 0, w, nullptr, 0, registers);
  interpret_part(correct_, 0, w, nullptr, 0, registers);
}

void FilterProgram::predict(double* w, double t, const double* u, const double* du) const {
  if (predict_code_) return predict_code_(w, t, u, du);
  std::vector<double> arguments(w, w + width()), registers;
  arguments.push_back(t);
  arguments.insert(arguments.end(), u, u + inputs_);
  arguments.insert(arguments.end(), du, du + inputs_);
  interpret_part(predict_, 1, w, arguments.data(), arguments.size(), registers);
  for (std::size_t k = 0; k < width(); ++k)
    w[k] = registers[static_cast<std::size_t>(predict_.program.roots[k])];
}

void FilterProgram::correct(double* w, double t, const double* u, const double* y, double* innovation,
                            double* variance) const {
  if (correct_code_) return correct_code_(w, t, u, y, innovation, variance);
  std::vector<double> arguments(w, w + width()), registers;
  arguments.push_back(t);
  arguments.insert(arguments.end(), u, u + inputs_);
  for (std::size_t k = 0; k < sensors_; ++k) arguments.push_back(std::isnan(y[k]) ? 0.0 : y[k]);
  for (std::size_t k = 0; k < sensors_; ++k) arguments.push_back(std::isnan(y[k]) ? 0.0 : 1.0);
  interpret_part(correct_, 1, w, arguments.data(), arguments.size(), registers);
  const auto root = [&](std::size_t k) {
    return registers[static_cast<std::size_t>(correct_.program.roots[k])];
  };
  for (std::size_t k = 0; k < width(); ++k) w[k] = root(k);
  for (std::size_t k = 0; k < sensors_; ++k)
    innovation[k] = root(width() + k), variance[k] = root(width() + sensors_ + k);
}

void FilterProgram::run(double* w, long rows, double t, double h, const double* u, const double* y,
                        double* innovation, double* variance, double* history) const {
  if (run_) return run_(w, rows, t, h, u, y, innovation, variance, history);
  std::vector<double> du(inputs_);
  for (long k = 0; k < rows; ++k) {
    if (k > 0) {
      for (std::size_t i = 0; i < inputs_; ++i) du[i] = (u[i] - u[i - inputs_]) / h;
      predict(w, t + h * static_cast<double>(k - 1), u - inputs_, du.data());
    }
    correct(w, t + h * static_cast<double>(k), u, y, innovation, variance);
    u += inputs_, y += sensors_, innovation += sensors_, variance += sensors_;
    if (history) history = std::copy(w, w + width(), history);
  }
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
