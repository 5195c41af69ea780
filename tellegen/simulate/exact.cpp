// Exact discretisation of linear networks by the matrix exponential, on the minimal form.
//
//   z' = A z + B s(t)      s: straight lines, sines, exponentials, piece by piece (time_function.h)
//   z(t + h) = Phi z + G0 s_line(t) + G1 s_line'(t) + Ge e(t)
//
// e are the sines and exponentials of all sources: their own linear system is joined to the network's, so the
// step is exact, not merely of high order. One step a sample; where a piece ends inside, the step is split
// there. Nothing is approximated but the exponential itself. [Van Loan 1978] IEEE Trans. Automat. Contr. 23,
// 395.
//
// The step is written once, for numbers and for the registers of a program: what is exported as code is what
// runs here.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>
#include <numeric>

#include "tellegen/numeric/exponential.h"
#include "tellegen/program/procedure.h"
#include "tellegen/simulate/minimal_problem.h"
#include "tellegen/simulate/run_lanes.h"
#include "tellegen/simulate/time_function.h"

namespace tellegen {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr long most_states = 2000;  // the exponential of so many takes half a minute
constexpr long most_written = 64;   // states and waves of a step as code: it has a product for each pair

// Sines and exponentials: t^d e^(lambda t) cos(omega t), sin(omega t).
struct SourceWave {
  double lambda, omega;
  int degree;
  bool sine;
};

// A step of some length. What straight lines add in it: `constant` + t `ramp`, t at its beginning.
struct Transition {
  Matrix state, line, slope, wave;
  Vector constant, ramp;
};

// Operations on numbers, and the same written down.
struct OnNumbers {
  using Value = double;
  double number(double v) const { return v; }
  double add(double a, double b) const { return a + b; }
  double multiply(double a, double b) const { return a * b; }
  double call(std::string_view function, double a) const { return find_function(function)->value(&a, 1); }
};
struct OnRegisters {
  using Value = std::int32_t;
  SectionWriter& write;
  Value number(double v) const { return write.number(v); }
  Value add(Value a, Value b) const { return write.add(a, b); }
  Value multiply(Value a, Value b) const { return write.multiply(a, b); }
  Value call(std::string_view function, Value a) const { return write.call(function, a); }
};

template <class On>
typename On::Value wave_at(const On& on, const SourceWave& w, typename On::Value t) {
  auto value = on.number(1.0);
  if (w.omega != 0.0) value = on.call(w.sine ? "sin" : "cos", on.multiply(on.number(w.omega), t));
  if (w.lambda != 0.0) value = on.multiply(on.call("exp", on.multiply(on.number(w.lambda), t)), value);
  for (int d = 0; d < w.degree; ++d) value = on.multiply(t, value);
  return value;
}

// next = state z + constant + t ramp + wave e(t)
template <class On>
void take_step(const On& on, const Transition& d, const std::vector<SourceWave>& waves, typename On::Value t,
               const typename On::Value* z, typename On::Value* next) {
  const long n = d.state.rows();
  for (long i = 0; i < n; ++i) next[i] = on.number(d.constant[i]);
  const auto add = [&](const double* factors, typename On::Value value) {
    for (long i = 0; i < n; ++i) next[i] = on.add(next[i], on.multiply(on.number(factors[i]), value));
  };
  if (!d.ramp.isZero(0.0)) add(d.ramp.data(), t);
  for (std::size_t k = 0; k < waves.size(); ++k)
    add(d.wave.col(static_cast<long>(k)).data(), wave_at(on, waves[k], t));
  for (long j = 0; j < n; ++j) add(d.state.col(j).data(), z[j]);
}

class Exact : public Integrator, public HasLanes {
 public:
  explicit Exact(const Problem& full) : full_(full), minimal_(full, MinimalProblem::Size::any) {
    const MinimalForm& form = minimal_.form;
    if (!form.linear()) explain_nonlinear(*full.system);
    if (!full.system->discrete.empty())
      throw ModelError({{full.system->model->file.string(), 0},
                        "T317",
                        fmt::format("method 'exact' cannot follow '{}', which changes at events",
                                    full.system->discrete[0].name),
                        {"use tr, bdf2 or adaptive"}});
    states_ = static_cast<long>(form.states.size());
    sources_ = static_cast<long>(form.sources.size());
    if (states_ + sources_ > most_states)
      throw ModelError(
          {{full.system->model->file.string(), 0},
           "T215",
           fmt::format("method 'exact' works on dense matrices: {} states and sources, {} at most",
                       states_ + sources_, most_states),
           {"use bdf3, tr or adaptive"}});
    a_ = Matrix::Zero(states_, states_);
    b_ = Matrix::Zero(states_, sources_);
    next_.resize(states_);
    sample_ = minimal_.problem.step * static_cast<double>(minimal_.problem.stride);
    make_outputs();
    if (!begin())
      throw ModelError({{full.system->model->file.string(), 0},
                        "T317",
                        "method 'exact' cannot follow a source",
                        {"it must be made of straight lines, sines and exponentials of time",
                         "use bdf3, tr or adaptive"}});
    statistics_.unknowns = states_;
    statistics_.executor = "exact discretisation";
  }

  bool restart() override { return minimal_.restart(full_) && begin_anew(); }

  bool keep(Checkpoint& parts) override {
    parts(z_, line_at_zero_, line_slope_, waves_, wave_coefficients_, derived_from_, until_);
    tellegen::keep(parts, statistics_);
    if (parts.reading()) discretise(sample_, whole_);
    return true;
  }

  std::int64_t advance(std::int64_t samples, double* rows) override {
    for (std::int64_t k = 0; k < samples; ++k) {
      const double from = sample_ * static_cast<double>(statistics_.steps);
      const double to = sample_ * static_cast<double>(statistics_.steps + 1);
      double t = from;
      const double slack = 1e-9 * sample_;
      while (t < to - slack) {
        if (t >= until_ - slack && !begin_piece(t, slack)) return k;
        const double end = std::min(to, until_);
        if (t == from && end > to - slack) {
          step(whole_, t);
          t = to;
        } else {
          discretise(end - t, part_);
          step(part_, t);
          t = end;
        }
      }
      ++statistics_.steps;
      // A row at a jump is of the values after it.
      if (to >= until_ - slack && !begin_piece(to, slack)) {
        if (to < full_.options.stop - slack) return k;
        failure_.clear();  // nobody goes on from the last row
      }
      write_outputs(to, rows);
      failure_ = not_finite(minimal_.problem, rows, to);
      if (!failure_.empty()) return k;
      rows += outputs_.roots.size();
    }
    return samples;
  }

  std::unique_ptr<RunLanes> lanes() override;

  StepCode step_code() const override {
    if (states_ + static_cast<long>(waves_.size()) > most_written)
      return {.refused = fmt::format("method 'exact' as code takes {} states and sines of sources at most",
                                     most_written)};
    if (std::isfinite(until_))
      return {.refused =
                  fmt::format("with method 'exact' a source is another function of time from t = {:.9g} "
                              "s on, which would be another step",
                              until_)};
    StepCode::Part part{.procedure = {.program = outputs_}};
    SectionWriter write(part.procedure.program);
    StepCounters& c = part.counters;
    for (std::int32_t* counter : {&c.left, &c.stride, &c.phase, &c.index, &c.renew})
      *counter = write.new_register();
    const auto n = static_cast<std::size_t>(states_), time = n;
    std::vector<std::int32_t> z(n), next(n);
    std::iota(z.begin(), z.end(), 0);
    const auto done = write.call("le", c.left, write.number(0.0));
    Body turn{write.end(), leave_when(done)};
    const auto one = write.number(1.0), length = write.number(sample_);
    take_step(OnRegisters{write}, whole_, waves_, write.multiply(length, c.index), z.data(), next.data());
    for (std::size_t k = 0; k < n; ++k) write.assign(z[k], next[k]);
    write.assign(c.index, write.add(c.index, one));
    write.assign(static_cast<std::int32_t>(time), write.multiply(length, c.index));
    write.assign(c.left, write.subtract(c.left, one));
    const auto phase = write.add(c.phase, one), row = write.call("eq", phase, c.stride);
    write.assign(c.phase, write.call("if", row, write.number(0.0), phase));
    turn.push_back(write.end());
    turn.push_back(when(row, {run_section(1), emit(outputs_.roots)}));
    part.procedure.entries = {{"prepare", {run_section(0)}}, {"run", {loop(turn)}}};
    part.registers = registers_;
    std::copy(z_.data(), z_.data() + states_, part.registers.begin());
    part.registers.resize(static_cast<std::size_t>(part.procedure.program.registers), 0.0);
    part.registers[c.stride] = 1.0;
    part.time = static_cast<std::int32_t>(time);
    part.outputs = outputs_.roots;
    for (std::size_t k = 0; k < n; ++k)
      part.states.push_back(
          {.name = rate_name(*minimal_.full, minimal_.form.state_rates[k]), .values = {z[k], -1, -1}});
    return {.parts = {std::move(part)}};
  }

  void set_input(int, double) override {}  // there are none: see above
  std::string failure() const override { return failure_; }
  Statistics statistics() const override { return statistics_; }

 private:
  friend class ExactLanes;
  [[noreturn]] void explain_nonlinear(const EquationSystem& system) {
    std::vector<std::string> details;
    for (std::int32_t c : minimal_.form.unknown_columns)
      if (details.size() < 5 && c < system.size())
        details.push_back(fmt::format("{} is determined by nonlinear equations", column_name(system, c)));
    details.push_back("use bdf3, tr or adaptive");
    throw ModelError(
        {{system.model->file.string(), 0}, "T316", "method 'exact' is for linear networks", details});
  }

  bool begin_anew() {
    statistics_.steps = 0;
    failure_.clear();
    return begin();
  }

  // With the numbers that the form has now; false where a source is not of the class.
  bool begin() {
    const MinimalForm& form = minimal_.form;
    for (const auto& entry : form.a) a_(entry.row, entry.column) = entry.value;
    for (const auto& entry : form.b) b_(entry.row, entry.column) = entry.value;
    z_ = Eigen::Map<const Vector>(minimal_.problem.initial.x.data(), states_);
    for (std::size_t k = 0; k < form.parameters.size(); ++k) numbers_[form.parameters[k]] = form.values[k];
    std::copy(form.values.begin(), form.values.end(), registers_.begin() + states_ + 1);
    interpret(outputs_, 0, registers_.data());
    if (!read_pieces(0.0)) return false;
    discretise(sample_, whole_);
    return true;
  }

  // Sources are others from t on, and states in a circuit with one that jumps do likewise.
  bool begin_piece(double t, double slack) {
    const std::vector<TimeFunction> before = derived_from_;
    const auto changed = read_pieces(t + 0.5 * slack);
    if (!changed) {
      failure_ = fmt::format(
          "method 'exact' cannot follow a source after t = {:.9g} s: it is not made of straight lines, sines "
          "and exponentials any more",
          t);
      return false;
    }
    if (*changed)
      discretise(sample_, whole_);
    else
      add_lines(whole_);
    for (std::size_t j = 0; j < before.size(); ++j)
      if (minimal_.form.derived_from[j])
        z_ += b_.col(static_cast<long>(j)) * (value_at(derived_from_[j], t) - value_at(before[j], t));
    return true;
  }

  // Pieces that hold just after t; true where the waves' coefficients are not what they were, nothing where a
  // source is not of the class.
  std::optional<bool> read_pieces(double t) {
    until_ = std::numeric_limits<double>::infinity();
    std::vector<TimeFunction> functions;
    derived_from_.clear();
    for (const auto& [list, into] :
         {std::pair{&minimal_.form.sources, &functions}, {&minimal_.form.derived_from, &derived_from_}})
      for (Expr s : *list) {
        const auto piece = s ? time_piece(s, t, numbers_) : TimePiece{{}, until_};
        if (!piece) return std::nullopt;
        into->push_back(piece->function);
        until_ = std::min(until_, piece->until);
      }
    line_at_zero_ = Vector::Zero(sources_);
    line_slope_ = Vector::Zero(sources_);
    std::vector<SourceWave> waves;
    const auto wave = [&](double lambda, double omega, int degree, bool sine) {
      for (std::size_t k = 0; k < waves.size(); ++k)
        if (waves[k].lambda == lambda && waves[k].omega == omega && waves[k].degree == degree &&
            waves[k].sine == sine)
          return static_cast<long>(k);
      waves.push_back({lambda, omega, degree, sine});
      return static_cast<long>(waves.size()) - 1;
    };
    // Declare all functions a wave's derivative needs, then fill the coefficients.
    for (const TimeFunction& f : functions)
      for (const TimeTerm& term : f)
        if (term.lambda != 0.0 || term.omega != 0.0)
          for (int d = 0; d <= term.degree; ++d) {
            wave(term.lambda, term.omega, d, false);
            if (term.omega != 0.0) wave(term.lambda, term.omega, d, true);
          }
    Matrix coefficients = Matrix::Zero(sources_, static_cast<long>(waves.size()));
    for (long j = 0; j < sources_; ++j)
      for (const TimeTerm& term : functions[static_cast<std::size_t>(j)]) {
        if (term.lambda == 0.0 && term.omega == 0.0) {
          (term.degree == 0 ? line_at_zero_ : line_slope_)[j] += term.cosine;
        } else {
          coefficients(j, wave(term.lambda, term.omega, term.degree, false)) += term.cosine;
          if (term.omega != 0.0)
            coefficients(j, wave(term.lambda, term.omega, term.degree, true)) += term.sine;
        }
      }
    bool changed = waves.size() != waves_.size() || (!waves.empty() && coefficients != wave_coefficients_);
    for (std::size_t k = 0; !changed && k < waves.size(); ++k)
      changed = waves[k].lambda != waves_[k].lambda || waves[k].omega != waves_[k].omega;
    waves_ = std::move(waves);
    wave_coefficients_ = std::move(coefficients);
    return changed;
  }

  static double value_at(const TimeFunction& function, double t) {
    double value = 0.0;
    for (const TimeTerm& term : function)
      value += std::pow(t, term.degree) * std::exp(term.lambda * t) *
               (term.cosine * std::cos(term.omega * t) +
                (term.omega == 0.0 ? 0.0 : term.sine * std::sin(term.omega * t)));
    return value;
  }

  void discretise(double h, Transition& out) {
    const auto waves = static_cast<long>(waves_.size());
    Matrix m = Matrix::Zero(states_ + 2 * sources_, states_ + 2 * sources_);
    m.topLeftCorner(states_, states_) = a_;
    m.block(0, states_, states_, sources_) = b_;
    m.block(states_, states_ + sources_, sources_, sources_) = Matrix::Identity(sources_, sources_);
    const Matrix lines = exponential(m * h);
    out.state = lines.topLeftCorner(states_, states_);
    out.line = lines.block(0, states_, states_, sources_);
    out.slope = lines.block(0, states_ + sources_, states_, sources_);
    add_lines(out);
    out.wave.resize(states_, waves);
    if (waves == 0) return;
    Matrix w = Matrix::Zero(states_ + waves, states_ + waves);
    w.topLeftCorner(states_, states_) = a_;
    w.block(0, states_, states_, waves) = b_ * wave_coefficients_;
    for (long i = 0; i < waves; ++i) {
      const SourceWave& x = waves_[static_cast<std::size_t>(i)];
      for (long j = 0; j < waves; ++j) {
        const SourceWave& y = waves_[static_cast<std::size_t>(j)];
        if (x.lambda != y.lambda || x.omega != y.omega) continue;
        double& entry = w(states_ + i, states_ + j);
        if (x.degree == y.degree)
          entry = x.sine == y.sine ? x.lambda : x.sine ? x.omega : -x.omega;
        else if (x.degree == y.degree + 1 && x.sine == y.sine)
          entry = x.degree;
      }
    }
    out.wave = exponential(w * h).block(0, states_, states_, waves);
  }

  void add_lines(Transition& d) const {
    d.constant = d.line * line_at_zero_ + d.slope * line_slope_;
    d.ramp = d.line * line_slope_;
  }

  void step(const Transition& d, double t) {
    take_step(OnNumbers{}, d, waves_, t, z_.data(), next_.data());
    z_.swap(next_);
  }

  void make_outputs() {
    Pool& pool = *minimal_.system.model->pool;
    std::vector<ProgramInput> inputs;
    for (Expr z : minimal_.form.states) inputs.push_back({z, 1});
    inputs.push_back({pool.symbol("t"), 1});
    for (Expr p : minimal_.form.parameters) inputs.push_back({p, 0});
    std::vector<ProgramRoot> roots;
    for (Expr o : minimal_.problem.outputs) roots.push_back({o, 1});
    outputs_ = make_program(pool, inputs, {}, roots, 2);
    registers_.resize(outputs_.registers);
  }

  void write_outputs(double t, double* row) {
    std::copy(z_.data(), z_.data() + states_, registers_.begin());
    registers_[states_] = t;
    interpret(outputs_, 1, registers_.data());
    for (std::int32_t root : outputs_.roots) *row++ = registers_[root];
  }

  const Problem& full_;
  MinimalProblem minimal_;
  ExprMap<double> numbers_;  // of the form's parameters
  long states_ = 0, sources_ = 0;
  Matrix a_, b_, wave_coefficients_;
  Vector z_, next_, line_at_zero_, line_slope_;
  std::vector<SourceWave> waves_;
  std::vector<TimeFunction> derived_from_;  // as MinimalForm::derived_from
  Transition whole_, part_;
  double sample_ = 0.0, until_ = 0.0;
  Program outputs_;
  std::vector<double> registers_;
  Statistics statistics_;
  std::string failure_;
};

// Starts together, runs one after the other: beside a start a step is short.
class ExactLanes : public RunLanes {
 public:
  explicit ExactLanes(Exact& run) : run_(run) {}
  int lanes() const override { return lanes_; }
  bool pays_at_once() const override { return true; }

  bool write(RowList& list, const Simulation& simulation, const StartRows& start) override {
    const EquationSystem& system = *run_.full_.system;
    if (&system != simulation.problem().system || !run_.minimal_.form.tape) return false;
    form_ = write_renumbered(list, run_.minimal_.form, system, start.numbers);
    z_.clear();
    for (const std::int32_t k : run_.minimal_.form.state_rates)
      z_.push_back(start.differentiated(list, system, k));
    return list.possible();
  }

  void take_rows(RowList& list, std::span<const char> good) override {
    list_ = &list;
    good_.assign(good.begin(), good.end());
  }

  bool run(std::int64_t samples, double, std::span<double> ends, std::span<char> good,
           const std::function<void()>& now_and_then) override {
    MinimalForm& form = run_.minimal_.form;
    const auto put = [&](RowValue v, int lane) { return v.varies() ? list_->row(v)[lane] : v.number; };
    const std::size_t outputs = run_.outputs_.roots.size();
    rows_.resize(static_cast<std::size_t>(samples) * outputs);
    for (int lane = 0; lane < lanes_; ++lane) {
      good[lane] = 0;
      if (!good_[lane]) continue;
      if (now_and_then) now_and_then();
      for (std::size_t k = 0; k < form.a.size(); ++k) form.a[k].value = put(form_.a[k], lane);
      for (std::size_t k = 0; k < form.b.size(); ++k) form.b[k].value = put(form_.b[k], lane);
      for (std::size_t k = 0; k < form.values.size(); ++k) form.values[k] = put(form_.values[k], lane);
      for (std::size_t k = 0; k < z_.size(); ++k) run_.minimal_.problem.initial.x[k] = put(z_[k], lane);
      if (!run_.begin_anew() || run_.advance(samples, rows_.data()) != samples || !run_.failure_.empty())
        continue;
      good[lane] = 1;
      for (std::size_t k = 0; k < outputs; ++k)
        ends[k * lanes_ + static_cast<std::size_t>(lane)] = rows_[rows_.size() - outputs + k];
    }
    return true;
  }

 private:
  static constexpr int lanes_ = 16;
  Exact& run_;
  FormRows form_;
  std::vector<RowValue> z_;
  RowList* list_ = nullptr;
  std::vector<char> good_;
  std::vector<double> rows_;
};

std::unique_ptr<RunLanes> Exact::lanes() { return std::make_unique<ExactLanes>(*this); }

}  // namespace

std::unique_ptr<Integrator> minimal_exact(const Problem& problem) { return std::make_unique<Exact>(problem); }

}  // namespace tellegen
