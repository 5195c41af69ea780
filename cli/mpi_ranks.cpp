#include "cli/mpi_ranks.h"

#include <algorithm>
#include <cstdlib>

#ifdef TELLEGEN_HAS_MPI
#define OMPI_SKIP_MPICXX  // MPI's old C++ classes would want another library
#include <mpi.h>
#endif

#include "cli/commands.h"

namespace tellegen {
namespace {

int environment_count(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::max(1, std::atoi(text)) : 1;
}

}  // namespace

#ifdef TELLEGEN_HAS_MPI

bool built_with_mpi() { return true; }

Ranks::Ranks() {
  if (!std::getenv("OMPI_COMM_WORLD_SIZE")) return;
  int given = 0;  // only the main thread speaks to the other ranks
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  on_this_machine_ = environment_count("OMPI_COMM_WORLD_LOCAL_SIZE");
}

Ranks::~Ranks() {
  int begun = 0;
  MPI_Initialized(&begun);
  if (begun) MPI_Finalize();
}

bool Ranks::all(bool good) {
  if (size_ == 1) return good;
  int mine = good ? 1 : 0, least = 0;
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return least == 1;
}

double Ranks::sum(double value) {
  if (size_ == 1) return value;
  double total = 0.0;
  MPI_Allreduce(&value, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return total;
}

#else

bool built_with_mpi() { return false; }

Ranks::Ranks() {
  if (environment_count("OMPI_COMM_WORLD_SIZE") > 1)
    throw command_fault("tellegen sweep", "T586",
                        "mpirun started several processes, and this build has no MPI",
                        {"install libopenmpi-dev and build again, or run without mpirun: --jobs uses all "
                         "cores of one machine"});
}
Ranks::~Ranks() = default;
bool Ranks::all(bool good) { return good; }
double Ranks::sum(double value) { return value; }

#endif

}  // namespace tellegen
