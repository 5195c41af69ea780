// Exact discretisation of linear networks by the matrix exponential, on the minimal form.
//
//   z' = A z + B s(t)      s: straight lines, sines, exponentials, piece by piece (time_function.h)
//   z(t + h) = Phi z + G0 s_line(t) + G1 s_line'(t) + Ge e(t)
//
// e are the sines and exponentials of all sources: their own linear system is joined to the network's, so the
// step is exact, not merely of high order. One step a sample; where a piece ends inside, the step is split
// there. Nothing is approximated but the exponential itself. [Van Loan 1978] IEEE Trans. Automat. Contr. 23,
// 395.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>

#include "tellegen/numeric/exponential.h"
#include "tellegen/program/program.h"
#include "tellegen/simulate/minimal_problem.h"
#include "tellegen/simulate/time_function.h"

namespace tellegen {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr long most_states = 2000;  // the exponential of so many takes half a minute

class Exact : public Integrator {
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
    line_now_.resize(sources_);
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

  bool restart() override {
    if (!minimal_.restart(full_)) return false;
    statistics_.steps = 0;
    failure_.clear();
    return begin();
  }

  bool keep(Checkpoint& parts) override {
    parts(z_, line_at_zero_, line_slope_, waves_, wave_coefficients_, derived_from_, until_);
    tellegen::keep(parts, statistics_);
    if (parts.reading()) {
      wave_values_.resize(static_cast<long>(waves_.size()));
      discretise(sample_, whole_);
    }
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

  void set_input(int, double) override {}  // there are none: see above
  std::string failure() const override { return failure_; }
  Statistics statistics() const override { return statistics_; }

 private:
  struct Discrete {
    Matrix state, line, slope, wave;
  };
  // Sines and exponentials: t^d e^(lambda t) cos(omega t), sin(omega t).
  struct Wave {
    double lambda, omega;
    int degree;
    bool sine;
  };

  [[noreturn]] void explain_nonlinear(const EquationSystem& system) {
    std::vector<std::string> details;
    for (std::int32_t c : minimal_.form.unknown_columns)
      if (details.size() < 5 && c < system.size())
        details.push_back(fmt::format("{} is determined by nonlinear equations", column_name(system, c)));
    details.push_back("use bdf3, tr or adaptive");
    throw ModelError(
        {{system.model->file.string(), 0}, "T316", "method 'exact' is for linear networks", details});
  }

  // With the numbers that the form has now; false where a source is not of the class.
  bool begin() {
    const MinimalForm& form = minimal_.form;
    for (const auto& entry : form.a) a_(entry.row, entry.column) = entry.value;
    for (const auto& entry : form.b) b_(entry.row, entry.column) = entry.value;
    z_ = Eigen::Map<const Vector>(minimal_.problem.initial.x.data(), states_);
    for (std::size_t k = 0; k < form.parameters.size(); ++k) numbers_[form.parameters[k]] = form.values[k];
    std::copy(form.values.begin(), form.values.end(), registers_.begin() + states_ + 1);
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
    if (*changed) discretise(sample_, whole_);
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
    std::vector<Wave> waves;
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
    wave_values_.resize(static_cast<long>(waves_.size()));
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

  void discretise(double h, Discrete& out) {
    const auto waves = static_cast<long>(waves_.size());
    Matrix m = Matrix::Zero(states_ + 2 * sources_, states_ + 2 * sources_);
    m.topLeftCorner(states_, states_) = a_;
    m.block(0, states_, states_, sources_) = b_;
    m.block(states_, states_ + sources_, sources_, sources_) = Matrix::Identity(sources_, sources_);
    const Matrix lines = exponential(m * h);
    out.state = lines.topLeftCorner(states_, states_);
    out.line = lines.block(0, states_, states_, sources_);
    out.slope = lines.block(0, states_ + sources_, states_, sources_);
    out.wave.resize(states_, waves);
    if (waves == 0) return;
    Matrix w = Matrix::Zero(states_ + waves, states_ + waves);
    w.topLeftCorner(states_, states_) = a_;
    w.block(0, states_, states_, waves) = b_ * wave_coefficients_;
    for (long i = 0; i < waves; ++i) {
      const Wave& x = waves_[static_cast<std::size_t>(i)];
      for (long j = 0; j < waves; ++j) {
        const Wave& y = waves_[static_cast<std::size_t>(j)];
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

  void step(const Discrete& d, double t) {
    for (std::size_t k = 0; k < waves_.size(); ++k) {
      const Wave& w = waves_[k];
      wave_values_[static_cast<long>(k)] = std::pow(t, w.degree) * std::exp(w.lambda * t) *
                                           (w.sine ? std::sin(w.omega * t) : std::cos(w.omega * t));
    }
    next_.noalias() = d.state * z_;
    line_now_ = line_at_zero_ + t * line_slope_;
    next_.noalias() += d.line * line_now_;
    next_.noalias() += d.slope * line_slope_;
    next_.noalias() += d.wave * wave_values_;
    z_.swap(next_);
  }

  void make_outputs() {
    Pool& pool = *minimal_.system.model->pool;
    std::vector<ProgramInput> inputs;
    for (Expr z : minimal_.form.states) inputs.push_back({z, 0});
    inputs.push_back({pool.symbol("t"), 0});
    for (Expr p : minimal_.form.parameters) inputs.push_back({p, 0});
    std::vector<ProgramRoot> roots;
    for (Expr o : minimal_.problem.outputs) roots.push_back({o, 0});
    outputs_ = make_program(pool, inputs, {}, roots, 1);
    registers_.resize(outputs_.registers);
  }

  void write_outputs(double t, double* row) {
    std::copy(z_.data(), z_.data() + states_, registers_.begin());
    registers_[states_] = t;
    interpret(outputs_, 0, registers_.data());
    for (std::int32_t root : outputs_.roots) *row++ = registers_[root];
  }

  const Problem& full_;
  MinimalProblem minimal_;
  ExprMap<double> numbers_;  // of the form's parameters
  long states_ = 0, sources_ = 0;
  Matrix a_, b_, wave_coefficients_;
  Vector z_, next_, line_at_zero_, line_slope_, line_now_, wave_values_;
  std::vector<Wave> waves_;
  std::vector<TimeFunction> derived_from_;  // as MinimalForm::derived_from
  Discrete whole_, part_;
  double sample_ = 0.0, until_ = 0.0;
  Program outputs_;
  std::vector<double> registers_;
  Statistics statistics_;
  std::string failure_;
};

}  // namespace

std::unique_ptr<Integrator> minimal_exact(const Problem& problem) { return std::make_unique<Exact>(problem); }

}  // namespace tellegen
