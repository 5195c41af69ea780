#include "benchmarks/equation_set.h"

#ifndef TELLEGEN_HAS_IDA

namespace tellegen {

std::vector<SetRun> integrate(std::span<const EquationSet> sets, const SetOptions&) {
  SetRun run;
  run.failure = "built without SUNDIALS IDA";
  return std::vector(sets.size(), run);
}

}  // namespace tellegen

#else

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <ctime>

#include "tellegen/equations/symbolic_model.h"
#include "tellegen/numeric/sparse_lu.h"
#include "tellegen/program/compile.h"
#include "tellegen/program/program.h"
#include "tellegen/simulate/sundials.h"

namespace tellegen {
namespace {

// Processor time: what else the machine does is not measured.
double seconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Formulas of numbered inputs, evaluated all at once.
class Formulas {
 public:
  Formulas(Pool& pool, const std::vector<Expr>& inputs, const std::vector<Expr>& roots, Evaluation how) {
    if (how == Evaluation::written_out) {
      ExprMap<int> number;
      for (std::size_t k = 0; k < inputs.size(); ++k) number[inputs[k]] = static_cast<int>(k);
      for (Expr root : roots) {
        write_out(root, number);
        written_.push_back({Word::root, 0, 0, nullptr});
      }
      registers_.resize(written_.size());
      return;
    }
    std::vector<ProgramInput> program_inputs;
    for (Expr symbol : inputs) program_inputs.push_back({symbol, 0});
    std::vector<ProgramRoot> program_roots;
    for (Expr root : roots) program_roots.push_back({root, 0});
    program_ = make_program(pool, program_inputs, {}, program_roots, 1);
    registers_.resize(program_.registers);
    const auto name = [](std::int32_t r) { return fmt::format("r{}", r); };
    std::string c = c_tables(program_) + "void formulas(const double* restrict x, double* restrict f) {\n";
    for (std::size_t k = 0; k < inputs.size(); ++k) c += fmt::format("  const double r{0} = x[{0}];\n", k);
    for (const Instruction& i : program_.section(0))
      c += "  const double " + c_instruction(program_, i, name) + "\n";
    for (std::size_t k = 0; k < roots.size(); ++k) c += fmt::format("  f[{}] = r{};\n", k, program_.roots[k]);
    code_ = compile_c(c + "}\n");
    if (code_) compiled_ = code_->function<void(const double*, double*)>("formulas");
  }

  void evaluate(const std::vector<double>& inputs, double* values) {
    if (compiled_) return compiled_(inputs.data(), values);
    if (program_.registers == 0) return evaluate_written(inputs, values);
    std::copy(inputs.begin(), inputs.end(), registers_.begin());
    interpret(program_, 0, registers_.data());
    for (std::int32_t root : program_.roots) *values++ = registers_[root];
  }

 private:
  // A formula as a list of words that work on a stack.
  struct Word {
    enum { number, input, add, multiply, power, reciprocal, call, root } what;
    double value = 0;
    int count = 0;  // arguments; of an input: which
    const Function* function = nullptr;
  };

  void write_out(Expr e, const ExprMap<int>& number) {
    assert(e.op() != Op::lookup && "tables are not needed here");
    if (e.is_number()) return written_.push_back({Word::number, e.number(), 0, nullptr});
    if (e.is_symbol()) return written_.push_back({Word::input, 0, number.at(e), nullptr});
    if (e.op() == Op::power && e.args()[1].is_number(-1)) {
      write_out(e.args()[0], number);
      return written_.push_back({Word::reciprocal, 0, 1, nullptr});
    }
    for (Expr argument : e.args()) write_out(argument, number);
    const int count = static_cast<int>(e.args().size());
    if (e.op() == Op::call) return written_.push_back({Word::call, 0, count, &e.function()});
    written_.push_back({e.op() == Op::add        ? Word::add
                        : e.op() == Op::multiply ? Word::multiply
                                                 : Word::power,
                        0, count, nullptr});
  }

  void evaluate_written(const std::vector<double>& inputs, double* values) {
    double* top = registers_.data();  // a stack, and no more values than words
    for (const Word& word : written_) {
      double result = 0;
      switch (word.what) {
        case Word::number:
          *top++ = word.value;
          continue;
        case Word::input:
          *top++ = inputs[word.count];
          continue;
        case Word::root:
          *values++ = *--top;
          continue;
        case Word::reciprocal:
          top[-1] = 1 / top[-1];
          continue;
        case Word::add:
          for (int k = word.count; k > 0; --k) result += top[-k];
          break;
        case Word::multiply:
          result = 1;
          for (int k = word.count; k > 0; --k) result *= top[-k];
          break;
        case Word::power:
          result = power_value(top[-2], top[-1]);
          break;
        case Word::call:
          result = word.function->value(top - word.count, word.count);
          break;
      }
      top -= word.count;
      *top++ = result;
    }
  }

  std::vector<Word> written_;
  Program program_;
  std::vector<double> registers_;
  std::shared_ptr<const CompiledCode> code_;
  void (*compiled_)(const double*, double*) = nullptr;
};

// Inputs of the formulas: unknowns, their rates, time; of the Jacobian besides what a rate changes with its
// unknown.
class SetIntegration {
 public:
  SetIntegration(const EquationSet& set, const SetOptions& options)
      : options_(options), n_(static_cast<sunindextype>(set.unknowns.size())) {
    Pool& pool = set.residuals.front().pool();
    ExprMap<Expr> numbers;
    for (const auto& [symbol, value] : set.numbers) numbers[symbol] = pool.number(value);
    std::vector<Expr> inputs = set.unknowns, residuals, slopes;
    for (Expr u : set.unknowns) inputs.push_back(rate_symbol(u));
    inputs.push_back(pool.symbol("t"));
    const Expr cj = pool.symbol("d(rate)/d(unknown)");
    inputs.push_back(cj);
    inputs_.resize(inputs.size());
    has_rate_.assign(set.unknowns.size(), false);
    PatternBuilder builder(static_cast<std::int32_t>(n_));
    for (std::size_t row = 0; row < set.residuals.size(); ++row) {
      residuals.push_back(substitute(set.residuals[row], numbers));
      const std::vector<Expr> by =
          gradient(residuals.back(), std::span(inputs).first(2 * set.unknowns.size()));
      for (std::size_t k = 0; k < set.unknowns.size(); ++k) {
        const Expr by_rate = by[set.unknowns.size() + k], slope = by[k] + cj * by_rate;
        if (!by_rate.is_number(0)) has_rate_[k] = true;
        if (slope.is_number(0)) continue;
        slopes.push_back(slope);
        builder.add(static_cast<std::int32_t>(row), static_cast<std::int32_t>(k));
      }
    }
    pattern_ = builder.build();
    for (std::size_t k = 0; k < slopes.size(); ++k)
      position_.push_back(builder.position(static_cast<std::int32_t>(k)));
    slopes_.resize(slopes.size());
    formula_values_.resize(std::max(slopes.size(), residuals.size()));
    residual_ = std::make_unique<Formulas>(pool, inputs, residuals, options.evaluation);
    jacobian_ = std::make_unique<Formulas>(pool, inputs, slopes, options.evaluation);
    begin();
  }

  SetRun run();

 private:
  void begin() {
    SUNContext context = nullptr;
    SUNContext_Create(nullptr, &context);
    context_.reset(context);
    for (VectorPointer* v : {&y_, &yp_, &id_, &tolerances_}) v->reset(N_VNew_Serial(n_, context));
    set_start();
    // As the method `adaptive`: the states choose the steps, and IDA's mean is over all unknowns.
    const auto states = std::count(has_rate_.begin(), has_rate_.end(), true);
    const double tolerance = options_.tolerance * std::sqrt(static_cast<double>(std::max<long>(1, states)) /
                                                            static_cast<double>(n_));
    for (sunindextype k = 0; k < n_; ++k) {
      values_of(id_.get())[k] = has_rate_[k] ? 1.0 : 0.0;
      values_of(tolerances_.get())[k] = tolerance * options_.scale[k];
    }
    matrix_.reset(SUNSparseMatrix(n_, n_, pattern_.nonzeros(), CSC_MAT, context));
    solver_.reset(SUNLinSol_KLU(y_.get(), matrix_.get(), context));
    ida_.reset(IDACreate(context));
    IDAInit(ida_.get(), residual, 0.0, y_.get(), yp_.get());
    IDASVtolerances(ida_.get(), tolerance, tolerances_.get());
    IDASetUserData(ida_.get(), this);
    IDASetMaxNonlinIters(ida_.get(), 10);
    IDASetNonlinConvCoef(ida_.get(), 0.03);
    IDASetMaxNumSteps(ida_.get(), 100000);
    IDASetId(ida_.get(), id_.get());
    IDASetSuppressAlg(ida_.get(), true);
    IDASetLinearSolver(ida_.get(), solver_.get(), matrix_.get());
    IDASetJacFn(ida_.get(), jacobian);
    IDASetErrHandlerFn(ida_.get(), remember_error, this);
  }

  void set_start() {
    std::copy(options_.start.begin(), options_.start.end(), values_of(y_.get()).begin());
    N_VConst(0.0, yp_.get());
  }

  void load(double t, N_Vector y, N_Vector yp, double cj) {
    const auto x = values_of(y), rates = values_of(yp);
    double* input = std::copy(rates.begin(), rates.end(), std::copy(x.begin(), x.end(), inputs_.data()));
    *input++ = t;
    *input = cj;
  }

  static int residual(double t, N_Vector y, N_Vector yp, N_Vector f, void* user) {
    auto& self = *static_cast<SetIntegration*>(user);
    ++self.residuals_;
    self.load(t, y, yp, 0.0);
    self.residual_->evaluate(self.inputs_, values_of(f).data());
    for (double v : values_of(f))
      if (!std::isfinite(v)) return 1;
    return 0;
  }

  static int jacobian(double t, double cj, N_Vector y, N_Vector yp, N_Vector, SUNMatrix matrix, void* user,
                      N_Vector, N_Vector, N_Vector) {
    auto& self = *static_cast<SetIntegration*>(user);
    ++self.jacobians_;
    self.load(t, y, yp, cj);
    self.jacobian_->evaluate(self.inputs_, self.slopes_.data());
    for (sunindextype c = 0; c <= self.n_; ++c) SM_INDEXPTRS_S(matrix)[c] = self.pattern_.column_start[c];
    for (std::int32_t k = 0; k < self.pattern_.nonzeros(); ++k)
      SM_INDEXVALS_S(matrix)[k] = self.pattern_.row[k];
    for (std::size_t k = 0; k < self.slopes_.size(); ++k)
      SM_DATA_S(matrix)[self.position_[k]] = self.slopes_[k];
    // Currents of reactions change by many orders of magnitude: pivots chosen earlier must not be kept.
    SUNLinSol_KLUReInit(self.solver_.get(), matrix, self.pattern_.nonzeros(), SUNKLU_REINIT_PARTIAL);
    return 0;
  }

  static void remember_error(int code, const char*, const char*, char* message, void* user) {
    if (code < 0) static_cast<SetIntegration*>(user)->error_ = message;
  }

  const SetOptions& options_;
  sunindextype n_;
  std::vector<bool> has_rate_;
  std::vector<double> inputs_, slopes_, formula_values_;
  SparsePattern pattern_;
  std::vector<std::int32_t> position_;
  std::unique_ptr<Formulas> residual_, jacobian_;
  long residuals_ = 0, jacobians_ = 0;
  std::string error_;
  ContextPointer context_;
  VectorPointer y_, yp_, id_, tolerances_;
  MatrixPointer matrix_;
  SolverPointer solver_;
  IdaPointer ida_;
};

SetRun SetIntegration::run() {
  SetRun run;
  set_start();
  residuals_ = jacobians_ = 0;
  std::clock_t begin = std::clock();
  IDAReInit(ida_.get(), 0.0, y_.get(), yp_.get());
  const double interval = options_.stop / options_.samples;
  int status = IDACalcIC(ida_.get(), IDA_YA_YDP_INIT, 1e-3 * interval);
  if (status >= 0) status = IDAGetConsistentIC(ida_.get(), y_.get(), yp_.get());
  run.values.assign(values_of(y_.get()).begin(), values_of(y_.get()).end());
  double t = 0;
  for (int k = 1; k <= options_.samples && status >= 0; ++k) {
    status = IDASolve(ida_.get(), interval * k, &t, y_.get(), yp_.get(), IDA_NORMAL);
    run.values.insert(run.values.end(), values_of(y_.get()).begin(), values_of(y_.get()).end());
  }
  run.seconds = seconds_since(begin);
  IDAGetNumSteps(ida_.get(), &run.steps);
  run.residuals = residuals_;
  run.jacobians = jacobians_;
  begin = std::clock();
  for (long k = 0; k < run.residuals; ++k) residual_->evaluate(inputs_, formula_values_.data());
  for (long k = 0; k < run.jacobians; ++k) jacobian_->evaluate(inputs_, formula_values_.data());
  run.formula_seconds = seconds_since(begin);
  if (status < 0) run.failure = fmt::format("stopped at t = {:.9g} s: {}", t, error_);
  return run;
}

}  // namespace

std::vector<SetRun> integrate(std::span<const EquationSet> sets, const SetOptions& options) {
  std::vector<std::unique_ptr<SetIntegration> > integrations;
  for (const EquationSet& set : sets) integrations.push_back(std::make_unique<SetIntegration>(set, options));
  std::vector<SetRun> best(sets.size());
  for (int repetition = 0; repetition < std::max(1, options.repetitions); ++repetition)
    for (std::size_t k = 0; k < sets.size(); ++k) {
      SetRun run = integrations[k]->run();
      if (repetition > 0) {
        run.formula_seconds = std::min(run.formula_seconds, best[k].formula_seconds);
        run.seconds = std::min(run.seconds, best[k].seconds);
      }
      best[k] = std::move(run);
    }
  return best;
}

}  // namespace tellegen

#endif
