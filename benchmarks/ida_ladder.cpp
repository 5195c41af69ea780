#include "benchmarks/ida_ladder.h"

#include <fmt/format.h>

#ifdef TELLEGEN_HAS_IDA

#include <idas/idas.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_version.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <type_traits>

#include "benchmarks/best_of.h"

namespace tellegen {
namespace {

constexpr double conductance = 0.1, inductance = 0.1, capacitance = 0.1;
constexpr int samples = 100;

// Unknowns of loop k: y[3k] current i, y[3k+1] capacitor voltage v, y[3k+2] rail potential u.
struct Ladder {
  sunindextype loops;
};

int residual(realtype t, N_Vector y_vector, N_Vector y_dot_vector, N_Vector residual_vector, void* data) {
  const sunindextype loops = static_cast<Ladder*>(data)->loops;
  const realtype* y = N_VGetArrayPointer(y_vector);
  const realtype* y_dot = N_VGetArrayPointer(y_dot_vector);
  realtype* r = N_VGetArrayPointer(residual_vector);
  double before = 100 * std::sin(10 * std::numbers::pi * t);
  for (sunindextype k = 0; k < loops; ++k, y += 3, y_dot += 3, r += 3) {
    const double u = y[2], after = k + 1 < loops ? y[5] : u;
    r[0] = inductance * y_dot[0] + y[1] - u;
    r[1] = capacitance * y_dot[1] - y[0];
    r[2] = conductance * ((before - u) + (after - u)) - y[0];
    before = u;
  }
  return 0;
}

// dr/dy + cj dr/dy_dot by columns. Only two entries per loop depend on cj, but IDA clears the matrix first.
int jacobian(realtype, realtype cj, N_Vector, N_Vector, N_Vector, SUNMatrix matrix, void* data, N_Vector,
             N_Vector, N_Vector) {
  const sunindextype loops = static_cast<Ladder*>(data)->loops;
  sunindextype* column = SUNSparseMatrix_IndexPointers(matrix);
  sunindextype* row = SUNSparseMatrix_IndexValues(matrix);
  realtype* value = SUNSparseMatrix_Data(matrix);
  sunindextype count = 0;
  const auto add = [&](sunindextype r, double v) { row[count] = r, value[count++] = v; };
  for (sunindextype k = 0; k < loops; ++k) {
    const sunindextype i = 3 * k, v = i + 1, u = i + 2;
    const bool last = k + 1 == loops;
    column[i] = count;
    add(i, cj * inductance), add(v, -1), add(u, -1);
    column[v] = count;
    add(i, 1), add(v, cj * capacitance);
    column[u] = count;
    if (k > 0) add(u - 3, conductance);
    add(i, -1), add(u, last ? -conductance : -2 * conductance);
    if (!last) add(u + 3, conductance);
  }
  column[3 * loops] = count;
  return 0;
}

struct Release {
  void operator()(N_Vector v) const { N_VDestroy(v); }
  void operator()(SUNMatrix m) const { SUNMatDestroy(m); }
  void operator()(SUNLinearSolver s) const { SUNLinSolFree(s); }
  void operator()(SUNContext c) const { SUNContext_Free(&c); }
  void operator()(void* ida) const { IDAFree(&ida); }
};
template <class T>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, Release>;

}  // namespace

// SUNDIALS 6.4.1 with rtol = atol, RMS errors of the monitored voltage (V) and current (A). IDA's norm
// averages over all unknowns, most of which hardly move, hence the tighter value for more
// loops.
//
//   loops   precision   rtol     errors              steps
//      2    low         5e-4     8.6e-4,  6.1e-4      142     (1e-3: 1.4e-3, 1.4e-3, too large)
//      2    high        2e-6     3.5e-6,  8.0e-6      303     (4e-6: 8.1e-6, 2.0e-5, too large)
//    100    low         5e-5     3.5e-4,  3.5e-4      169     (1e-4: 1.6e-3, 1.8e-3, too large)
//    100    high        8e-7     9.7e-6,  9.8e-6      331     (not monotonic: 2.5e-7 gives 1.4e-5, 1.6e-5)
//   1000    low         1.5e-5   3.3e-4,  3.3e-4      170     (2e-5: 1.3e-3, 1.2e-3, too large)
//   1000    high        2.5e-7   9.5e-6,  9.5e-6      333     (3e-7: 1.3e-5, 1.3e-5, too large)
IdaTolerances ida_tolerances(int loops, Precision precision) {
  const bool high = precision == Precision::high;
  double tolerance = high ? 2.5e-7 : 1.5e-5;
  if (loops <= 100) tolerance = high ? 8e-7 : 5e-5;
  if (loops == 2) tolerance = high ? 2e-6 : 5e-4;
  return {tolerance, tolerance};
}

ExternalRun run_ida_ladder(int loops, const IdaTolerances& tolerances, double budget) {
  ExternalRun run;
  SUNContext raw_context = nullptr;
  if (SUNContext_Create(nullptr, &raw_context) != 0) {
    run.setting = "IDA: no context";
    return run;
  }
  const Owned<SUNContext> context(raw_context);
  const sunindextype size = 3 * static_cast<sunindextype>(loops), entries = 9 * size / 3;
  const Owned<N_Vector> y(N_VNew_Serial(size, raw_context)), y_dot(N_VClone(y.get())), id(N_VClone(y.get()));
  const Owned<SUNMatrix> matrix(SUNSparseMatrix(size, size, entries, CSC_MAT, raw_context));
  const Owned<SUNLinearSolver> solver(SUNLinSol_KLU(y.get(), matrix.get(), raw_context));
  const std::unique_ptr<void, Release> ida(IDACreate(raw_context));
  Ladder ladder{size / 3};

  const auto set_rest = [&] {  // everything is zero at t = 0, consistently, because the source is
    N_VConst(0, y.get());
    N_VConst(0, y_dot.get());
  };
  set_rest();
  N_VConst(1, id.get());
  for (sunindextype k = 0; k < ladder.loops; ++k) N_VGetArrayPointer(id.get())[3 * k + 2] = 0;
  bool ok = IDAInit(ida.get(), residual, 0, y.get(), y_dot.get()) == IDA_SUCCESS &&
            IDASetUserData(ida.get(), &ladder) == IDA_SUCCESS &&
            IDASStolerances(ida.get(), tolerances.relative, tolerances.absolute) == IDA_SUCCESS &&
            IDASetId(ida.get(), id.get()) == IDA_SUCCESS &&
            IDASetSuppressAlg(ida.get(), SUNTRUE) == IDA_SUCCESS &&
            IDASetMaxNumSteps(ida.get(), 1000000) == IDA_SUCCESS &&
            IDASetLinearSolver(ida.get(), solver.get(), matrix.get()) == IDA_SUCCESS &&
            IDASetJacFn(ida.get(), jacobian) == IDA_SUCCESS &&
            IDASetDeltaCjLSetup(ida.get(), 0.1) == IDA_SUCCESS;  // refactor early: it is cheap here

  const sunindextype monitored = loops == 2 ? 1 : 0;
  run.t.resize(samples), run.first.resize(samples), run.second.resize(samples);
  const auto integrate = [&] {
    set_rest();
    ok = ok && IDAReInit(ida.get(), 0, y.get(), y_dot.get()) == IDA_SUCCESS &&
         IDASetStopTime(ida.get(), 1) == IDA_SUCCESS;
    for (int i = 0; i < samples && ok; ++i) {
      const double t = (i + 1) / static_cast<double>(samples);
      realtype reached = 0;
      ok = IDASolve(ida.get(), t, &reached, y.get(), y_dot.get(), IDA_NORMAL) >= 0;
      const realtype* values = N_VGetArrayPointer(y.get());
      run.t[i] = t, run.first[i] = values[3 * monitored + 1], run.second[i] = values[3 * monitored];
    }
  };
  run.seconds = best_of(integrate, budget);
  ok = ok && IDAGetNumSteps(ida.get(), &run.steps) == IDA_SUCCESS;
  run.available = ok;
  run.version = "SUNDIALS IDA " SUNDIALS_VERSION " with KLU";
  run.setting = ok ? fmt::format("rtol {:g}, atol {:g}, order up to 5, 3N unknowns", tolerances.relative,
                                 tolerances.absolute)
                   : "IDA failed";
  return run;
}

}  // namespace tellegen

#else

namespace tellegen {

IdaTolerances ida_tolerances(int, Precision) { return {}; }

ExternalRun run_ida_ladder(int, const IdaTolerances&, double) {
  ExternalRun run;
  run.setting = "built without SUNDIALS IDA";
  return run;
}

}  // namespace tellegen

#endif
