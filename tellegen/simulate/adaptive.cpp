#include "tellegen/simulate/adaptive.h"

#ifndef TELLEGEN_HAS_IDA

namespace tellegen {

bool has_adaptive() { return false; }

std::unique_ptr<Integrator> make_adaptive(const Problem& problem) {
  throw ModelError({{problem.system->model->file.string(), 0},
                    "T318",
                    "method 'adaptive' is not part of this build",
                    {"it needs SUNDIALS IDAS: install libsundials-dev and build again"}});
}

}  // namespace tellegen

#else

#include <fmt/format.h>
#include <idas/idas.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tellegen/simulate/discrete.h"

namespace tellegen {
namespace {

// Owners of SUNDIALS' objects.
template <class T, auto Free>
struct Freed {
  void operator()(T* object) const { Free(object); }
};
using VectorPointer =
    std::unique_ptr<std::remove_pointer_t<N_Vector>, Freed<std::remove_pointer_t<N_Vector>, N_VDestroy> >;
using MatrixPointer = std::unique_ptr<std::remove_pointer_t<SUNMatrix>,
                                      Freed<std::remove_pointer_t<SUNMatrix>, SUNMatDestroy> >;
using SolverPointer = std::unique_ptr<std::remove_pointer_t<SUNLinearSolver>,
                                      Freed<std::remove_pointer_t<SUNLinearSolver>, SUNLinSolFree> >;
inline void free_ida(void* memory) { IDAFree(&memory); }
inline void free_context(std::remove_pointer_t<SUNContext>* context) { SUNContext_Free(&context); }

// So many events on end, each after no more than so many steps, are chattering.
constexpr std::int64_t chattering = 500;
constexpr long few_steps = 3;

class Adaptive : public Integrator {
 public:
  explicit Adaptive(const Problem& problem)
      : problem_(problem),
        system_(*problem.system),
        tableau_(system_),
        n_(tableau_.size()),
        reinitialisation_(tableau_, problem.storage),
        updates_(system_, update_expressions(system_)),
        outputs_(system_, problem.outputs),
        held_(problem.initial.held),
        next_(held_.size()),
        samples_taken_(held_.size(), 0),
        state_(problem.initial),
        update_conditions_(make_conditions()) {
    tableau_.hold(held_);
    SUNContext context = nullptr;
    SUNContext_Create(nullptr, &context);
    context_.reset(context);
    y_.reset(N_VNew_Serial(n_, context));
    yp_.reset(N_VNew_Serial(n_, context));
    id_.reset(N_VNew_Serial(n_, context));
    tolerances_.reset(N_VNew_Serial(n_, context));
    std::copy(problem.initial.x.begin(), problem.initial.x.end(), N_VGetArrayPointer(y_.get()));
    start_rates(problem.initial.rates, 0.0);
    rates_.resize(system_.rates.size());
    by_x_.resize(tableau_.x_entries().size());
    by_rate_.resize(tableau_.rate_entries().size());
    make_pattern(context);
    for (std::int32_t c = 0; c < n_; ++c)
      N_VGetArrayPointer(tolerances_.get())[c] = problem.options.tolerance * column_scale(system_, c);

    ida_.reset(IDACreate(context));
    IDAInit(ida_.get(), residual, 0.0, y_.get(), yp_.get());
    IDASVtolerances(ida_.get(), problem.options.tolerance, tolerances_.get());
    IDASetUserData(ida_.get(), this);
    IDASetMaxNonlinIters(ida_.get(), 10);
    IDASetMaxNumSteps(ida_.get(), 100000);  // between two samples
    IDASetId(ida_.get(), id_.get());
    // Steps are chosen by the states: potentials behind a blocking diode jump, however short the step.
    IDASetSuppressAlg(ida_.get(), true);
    solver_.reset(SUNLinSol_KLU(y_.get(), matrix_.get(), context));
    IDASetLinearSolver(ida_.get(), solver_.get(), matrix_.get());
    IDASetJacFn(ida_.get(), jacobian);
    IDASetErrHandlerFn(ida_.get(), remember_error, this);
    if (condition_count_ > 0) IDARootInit(ida_.get(), static_cast<int>(condition_count_), conditions);
    statistics_.unknowns = n_;
    statistics_.variable_step = true;
    statistics_.executor = "SUNDIALS IDAS with KLU";
  }

  std::int64_t advance(std::int64_t samples, double* rows) override {
    const double interval = problem_.step * static_cast<double>(problem_.stride);
    for (std::int64_t k = 0; k < samples; ++k) {
      if (!reach(interval * static_cast<double>(done_ + 1))) {
        if (ended_) outputs_.evaluate(before_, *ended_, rows);
        return k;
      }
      ++done_;
      write_outputs(interval * static_cast<double>(done_), rows);
      rows += problem_.outputs.size();
      long steps = 0, iterations = 0;
      IDAGetNumSteps(ida_.get(), &steps);
      IDAGetNumNonlinSolvIters(ida_.get(), &iterations);
      statistics_.steps = steps_before_ + steps;
      statistics_.iterations = iterations_before_ + iterations;
    }
    return samples;
  }

  void set_input(int input, double value) override {
    held_[problem_.external[input]] = value;
    event(t_, false, true);
  }
  std::optional<double> ended() const override { return ended_; }
  std::string failure() const override { return failure_; }
  Statistics statistics() const override { return statistics_; }

 private:
  static double* data(N_Vector v) { return N_VGetArrayPointer(v); }

  // Solves up to the next sample, from event to event.
  bool reach(double to) {
    for (int restarts = 0; t_ < to;) {
      const double sampling = next_sampling();
      const double stop = std::min(to, sampling);
      // A sampling and a row may be the same instant but for rounding: too short a way for IDA.
      const bool there = stop - t_ <= 4.0 * std::numeric_limits<double>::epsilon() * (t_ + stop);
      if (there) t_ = stop;
      IDASetStopTime(ida_.get(), stop);  // outputs are solutions, not interpolations
      const int status =
          there ? IDA_SUCCESS : IDASolve(ida_.get(), stop, &t_, y_.get(), yp_.get(), IDA_NORMAL);
      // Extrapolated potentials may land where an exponential is out of reach, and shortening the step does
      // not help: begin anew from the last good point, without extrapolation.
      if ((status == IDA_CONV_FAIL || status == IDA_ERR_FAIL) && ++restarts <= 20) {
        restart(to);
        continue;
      }
      if (status < 0) {
        failure_ = fmt::format("the adaptive method stopped at t = {:.9g} s: {}", t_, error_);
        return false;
      }
      if (status == IDA_ROOT_RETURN) {
        long steps = 0;
        IDAGetNumSteps(ida_.get(), &steps);
        quick_events_ = steps <= few_steps ? quick_events_ + 1 : 0;
        if (quick_events_ > chattering) {
          failure_ = fmt::format(
              "{} events on end with hardly a step between them near t = {:.9g} s: {} chatters; give it a "
              "hysteresis, or use a fixed step",
              quick_events_, t_, condition_that_changed());
          return false;
        }
        if (equations_changed()) ++statistics_.events;
        if (!event(t_, false) || ends(t_)) return false;
      } else if (stop == sampling) {
        t_ = stop;
        if (!event(t_, true) || ends(t_)) return false;
      }
    }
    return true;
  }

  bool ends(double t) {
    if (problem_.stop_event >= 0 && held_[problem_.stop_event] != 0.0) ended_ = t;
    return ended_.has_value();
  }

  double next_sampling() const {
    double t = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < held_.size(); ++k)
      if (const double every = system_.discrete[k].every; every > 0.0)
        t = std::min(t, every * static_cast<double>(samples_taken_[k] + 1));
    return t;
  }

  // Discrete variables are taken over until none changes, each time with everything but the states found
  // anew.
  bool event(double t, bool sampling, bool from_outside = false) {
    count_steps();
    bool any = false;
    set_rates(data(yp_.get()));
    state_.x.assign(data(y_.get()), data(y_.get()) + n_);
    before_ = state_.x;
    state_.rates = rates_;
    // Everything goes on from a moment (1e-9 of a step) after the event, and what is found anew but does not
    // jump stays there: beyond its threshold, where rounding cannot bring it back.
    double moment = 0.0;
    IDAGetLastStep(ida_.get(), &moment);
    moment *= 1e-9;
    const std::span<double> after(data(y_.get()), n_);
    for (std::int32_t c = 0; c < n_; ++c) after[c] += moment * data(yp_.get())[c];
    for (int round = 0;; ++round) {
      if (round > 0 || from_outside) {
        tableau_.hold(held_);
        if (!reinitialisation_.find(t, state_)) {
          restart(t);
          break;
        }
        for (std::int32_t c = 0; c < n_; ++c)
          if (std::abs(state_.x[c] - after[c]) > 1e-7 * (std::abs(after[c]) + column_scale(system_, c)))
            after[c] = state_.x[c];
      }
      updates_.evaluate(after, t + moment, next_.data());
      bool changed = false;
      for (std::size_t k = 0; k < held_.size(); ++k) {
        const Discrete& d = system_.discrete[k];
        if (d.every > 0.0) {
          const double due = d.every * static_cast<double>(samples_taken_[k] + 1);
          if (!sampling || round > 0 || t < due * (1 - 1e-12)) continue;
          ++samples_taken_[k];
        }
        if (next_[k] == held_[k]) continue;
        held_[k] = next_[k];
        changed = true;
        if (round > 50) {
          failure_ = fmt::format(
              "discrete variables do not settle at t = {:.9g} s: '{}' changes again and again; give it a "
              "hysteresis",
              t, d.name);
          return false;
        }
      }
      any = any || changed;
      if (!changed && (round > 0 || from_outside)) break;
    }
    if (any) ++statistics_.events;
    start_rates(state_.rates, t);
    IDAReInit(ida_.get(), t, y_.get(), yp_.get());
    return true;
  }

  std::string condition_that_changed() {
    found_.resize(condition_names_.size());
    IDAGetRootInfo(ida_.get(), found_.data());
    for (std::size_t k = 0; k < found_.size(); ++k)
      if (found_[k] != 0) return "a condition of '" + condition_names_[k] + "'";
    return "a condition";
  }
  bool equations_changed() {
    found_.resize(condition_names_.size());
    IDAGetRootInfo(ida_.get(), found_.data());
    const auto last = found_.begin() + static_cast<long>(equation_conditions_);
    return std::any_of(found_.begin(), last, [](int direction) { return direction != 0; });
  }

  // Derivatives of the columns such that every differentiated variable has its initial rate: along the tree.
  void start_rates(const std::vector<double>& rates, double t) {
    double* yp = data(yp_.get());
    double* id = data(id_.get());
    std::fill(yp, yp + n_, 0.0);
    std::fill(id, id + n_, 0.0);
    std::vector<double> across(system_.graph.edge_count(), 0.0);
    for (std::size_t k = 0; k < system_.rates.size(); ++k) {
      const Rate& r = system_.rates[k];
      const Group& group = system_.groups[r.group];
      const LocalSymbol& s = group.symbols[r.symbol];
      const auto plus = group.plus[r.symbol][r.member], minus = group.minus[r.symbol][r.member];
      if (plus >= 0) id[plus] = 1.0;
      if (minus >= 0) id[minus] = 1.0;
      if (s.what == LocalSymbol::What::across)
        across[system_.graph.first_edge[group.components[r.member]] + s.index] = rates[k];
      else if (plus >= 0)
        yp[plus] = rates[k];
    }
    const ExprMap<double> start{{system_.model->pool->symbol("t"), std::max(t, just_after_start)}};
    for (std::int32_t e = 0; e < system_.graph.edge_count(); ++e)
      if (system_.graph.edges[e].edge_class == EdgeClass::across_source)
        if (const Expr rate = source_rate(system_, EdgeIndex{e})) across[e] = evaluate(rate, start);
    for (NodeIndex node : system_.tree.order) {
      const EdgeIndex up = system_.tree.up[node.value];
      if (up.value < 0) continue;
      const auto parent = system_.node_column(system_.tree.parent[node.value]);
      const double base = parent < 0 ? 0.0 : yp[parent];
      yp[system_.node_column(node)] =
          base + (system_.graph.edges[up.value].from == node ? across[up.value] : -across[up.value]);
    }
  }

  void set_rates(const double* yp) {
    for (std::size_t k = 0; k < rates_.size(); ++k) {
      const Rate& r = system_.rates[k];
      const Group& group = system_.groups[r.group];
      rates_[k] = symbol_value(group, r.symbol, r.member, {yp, static_cast<std::size_t>(n_)});
    }
  }

  void make_pattern(SUNContext context) {
    PatternBuilder builder(n_);
    for (const auto& e : tableau_.x_entries()) builder.add(e.row, e.column);
    for (const auto& e : tableau_.rate_entries()) {
      const Rate& r = system_.rates[e.column];
      const Group& group = system_.groups[r.group];
      builder.add(e.row, group.plus[r.symbol][r.member]);
      builder.add(e.row, group.minus[r.symbol][r.member]);
    }
    const SparsePattern pattern = builder.build();
    const auto entries = tableau_.x_entries().size() + 2 * tableau_.rate_entries().size();
    for (std::size_t k = 0; k < entries; ++k)
      position_.push_back(builder.position(static_cast<std::int32_t>(k)));
    pattern_ = pattern;
    matrix_.reset(SUNSparseMatrix(n_, n_, pattern.nonzeros(), CSC_MAT, context));
  }

  static int residual(double t, N_Vector y, N_Vector yp, N_Vector f, void* user) {
    auto& self = *static_cast<Adaptive*>(user);
    self.set_rates(data(yp));
    self.tableau_.residual({data(y), static_cast<std::size_t>(self.n_)}, self.rates_, t, {},
                           {data(f), static_cast<std::size_t>(self.n_)});
    for (std::int32_t i = 0; i < self.n_; ++i)
      if (!std::isfinite(data(f)[i])) return 1;  // recoverable: a shorter step may help
    return 0;
  }

  static int jacobian(double t, double cj, N_Vector y, N_Vector yp, N_Vector, SUNMatrix matrix, void* user,
                      N_Vector, N_Vector, N_Vector) {
    auto& self = *static_cast<Adaptive*>(user);
    self.set_rates(data(yp));
    self.tableau_.jacobian({data(y), static_cast<std::size_t>(self.n_)}, self.rates_, t, {}, self.by_x_,
                           self.by_rate_);
    SUNMatZero(matrix);
    for (std::int32_t c = 0; c <= self.n_; ++c) SM_INDEXPTRS_S(matrix)[c] = self.pattern_.column_start[c];
    for (std::int32_t k = 0; k < self.pattern_.nonzeros(); ++k)
      SM_INDEXVALS_S(matrix)[k] = self.pattern_.row[k];
    double* values = SM_DATA_S(matrix);
    std::size_t at = 0;
    const auto put = [&](double v) {
      if (self.position_[at] >= 0) values[self.position_[at]] += v;
      ++at;
    };
    for (double v : self.by_x_) put(v);
    for (double v : self.by_rate_) {
      put(cj * v);
      put(-cj * v);
    }
    // Junctions change by twenty orders of magnitude: pivots chosen earlier must not be kept.
    SUNLinSol_KLUReInit(self.solver_.get(), matrix, self.pattern_.nonzeros(), SUNKLU_REINIT_PARTIAL);
    return 0;
  }

  // Quantities whose sign a condition depends on: in the equations of every member of every group, and in
  // what discrete variables become.
  ColumnFormulas make_conditions() {
    Pool& pool = *system_.model->pool;
    for (const Group& group : system_.groups) {
      std::vector<ProgramRoot> roots;
      for (Expr e : switching_quantities(group.residuals)) {
        ExprMap<Expr> visible;
        for (const KindDiscrete& d : system_.model->kinds[group.kind].discrete)
          visible[d.held] = system_.model->kinds[group.kind].variables[d.variable].symbol;
        roots.push_back({substitute(e, visible), 0});
      }
      std::vector<ProgramInput> inputs;
      for (const LocalSymbol& s : group.symbols) inputs.push_back({s.symbol, 0});
      for (int s : group.rated) inputs.push_back({group.symbols[s].rate, 0});
      for (Expr p : group.parameters) inputs.push_back({p, 0});
      inputs.push_back({group.time, 0});
      condition_programs_.push_back(make_program(pool, inputs, {}, roots, 1));
      for (std::int32_t m = 0; m < group.size(); ++m)
        for (std::size_t k = 0; k < roots.size(); ++k)
          condition_names_.push_back(system_.model->components[group.components[m]].name);
      registers_.resize(std::max<std::size_t>(registers_.size(), condition_programs_.back().registers));
    }
    equation_conditions_ = condition_names_.size();
    std::vector<Expr> quantities;
    for (const Discrete& d : system_.discrete) {
      if (d.every > 0.0) continue;
      for (Expr e : switching_quantities(std::span(&d.update, 1))) {
        quantities.push_back(e);
        condition_names_.push_back(d.name);
      }
    }
    condition_count_ = static_cast<std::int64_t>(condition_names_.size());
    return {system_, quantities};
  }

  static int conditions(double t, N_Vector y, N_Vector yp, double* out, void* user) {
    auto& self = *static_cast<Adaptive*>(user);
    self.set_rates(data(yp));
    const double* x = data(y);
    for (std::size_t g = 0; g < self.condition_programs_.size(); ++g) {
      const Program& program = self.condition_programs_[g];
      if (program.roots.empty()) continue;
      const Group& group = self.system_.groups[g];
      for (std::int32_t m = 0; m < group.size(); ++m) {
        double* r = self.registers_.data();
        for (int s = 0; s < static_cast<int>(group.symbols.size()); ++s)
          *r++ = symbol_value(group, s, m, {x, static_cast<std::size_t>(self.n_)});
        for (std::size_t k = 0; k < group.rated.size(); ++k) *r++ = self.rates_[group.first_rate[m] + k];
        for (const auto& v : group.values) *r++ = v[m];
        *r++ = t;
        interpret(program, 0, self.registers_.data());
        for (std::int32_t root : program.roots) *out++ = self.registers_[root];
      }
    }
    self.update_conditions_.evaluate({x, static_cast<std::size_t>(self.n_)}, t, out);
    return 0;
  }

  void count_steps() {
    long steps = 0, iterations = 0;
    IDAGetNumSteps(ida_.get(), &steps);
    IDAGetNumNonlinSolvIters(ida_.get(), &iterations);
    steps_before_ += steps;
    iterations_before_ += iterations;
  }

  // IDA's own way to begin anew.
  void restart(double to) {
    count_steps();
    const double t = t_;
    if (t >= to) return;
    for (std::int32_t c = 0; c < n_; ++c)
      if (data(id_.get())[c] == 0.0) data(yp_.get())[c] = 0.0;
    IDAReInit(ida_.get(), t, y_.get(), yp_.get());
    if (IDACalcIC(ida_.get(), IDA_YA_YDP_INIT, t + 1e-3 * (to - t)) >= 0)
      IDAGetConsistentIC(ida_.get(), y_.get(), yp_.get());
  }

  static void remember_error(int, const char*, const char*, char* message, void* user) {
    static_cast<Adaptive*>(user)->error_ = message;
  }

  void write_outputs(double t, double* row) {
    outputs_.evaluate({data(y_.get()), static_cast<std::size_t>(n_)}, t, row);
  }

  const Problem& problem_;
  const EquationSystem& system_;
  Tableau tableau_;
  std::int32_t n_;
  std::unique_ptr<std::remove_pointer_t<SUNContext>, Freed<std::remove_pointer_t<SUNContext>, free_context> >
      context_;
  VectorPointer y_, yp_, id_, tolerances_;
  MatrixPointer matrix_;
  SolverPointer solver_;
  std::unique_ptr<void, Freed<void, free_ida> > ida_;
  SparsePattern pattern_;
  Reinitialisation reinitialisation_;
  ColumnFormulas updates_, outputs_;
  std::vector<double> held_, next_;
  std::vector<std::int64_t> samples_taken_;
  InitialState state_;
  double t_ = 0.0;
  std::vector<std::string> condition_names_;
  std::size_t equation_conditions_ = 0;  // the first of them; the others belong to updates
  std::vector<int> found_;
  std::int64_t quick_events_ = 0;
  std::vector<std::int32_t> position_;
  std::vector<double> rates_, by_x_, by_rate_, registers_;
  std::vector<Program> condition_programs_;
  std::int64_t condition_count_ = 0, done_ = 0;
  long steps_before_ = 0, iterations_before_ = 0;
  Statistics statistics_;
  std::vector<double> before_;  // columns when the last event began
  std::optional<double> ended_;
  std::string failure_, error_;
  ColumnFormulas update_conditions_;  // last: made with the other conditions
};

}  // namespace

bool has_adaptive() { return true; }
std::unique_ptr<Integrator> make_adaptive(const Problem& problem) {
  return std::make_unique<Adaptive>(problem);
}

}  // namespace tellegen

#endif
