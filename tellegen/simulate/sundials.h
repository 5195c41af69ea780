// SUNDIALS IDAS with KLU, and owners of its objects. To be included only where SUNDIALS is part of the build
// (TELLEGEN_HAS_IDA); of its parts only the serial ones.
#pragma once

#include <idas/idas.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include <memory>
#include <span>
#include <type_traits>

namespace tellegen {

template <class T, auto Free>
struct Freed {
  void operator()(T* object) const { Free(object); }
};
inline void free_ida(void* memory) { IDAFree(&memory); }
inline void free_context(std::remove_pointer_t<SUNContext>* context) { SUNContext_Free(&context); }

using VectorPointer =
    std::unique_ptr<std::remove_pointer_t<N_Vector>, Freed<std::remove_pointer_t<N_Vector>, N_VDestroy>>;
using MatrixPointer =
    std::unique_ptr<std::remove_pointer_t<SUNMatrix>, Freed<std::remove_pointer_t<SUNMatrix>, SUNMatDestroy>>;
using SolverPointer = std::unique_ptr<std::remove_pointer_t<SUNLinearSolver>,
                                      Freed<std::remove_pointer_t<SUNLinearSolver>, SUNLinSolFree>>;
using ContextPointer = std::unique_ptr<std::remove_pointer_t<SUNContext>,
                                       Freed<std::remove_pointer_t<SUNContext>, free_context>>;
using IdaPointer = std::unique_ptr<void, Freed<void, free_ida>>;

inline std::span<double> values_of(N_Vector v) {
  return {N_VGetArrayPointer(v), static_cast<std::size_t>(N_VGetLength(v))};
}

}  // namespace tellegen
