// Several processes of one study: the ranks of `mpirun tellegen ...`. MPI is behind this header, and is begun
// only where mpirun started the program; otherwise, and in a build without MPI, there is one rank.
#pragma once

#include <exception>

namespace tellegen {

// Another rank failed and has said why.
struct OtherRankFailed {};

class Ranks {
 public:
  Ranks();  // throws ModelError (T586): started by mpirun, but built without MPI
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool first() const { return rank_ == 0; }
  int on_this_machine() const { return on_this_machine_; }  // for a share of its cores
  bool all(bool good);                                      // waits for all; true where all are good
  double sum(double value);                                 // over all

  // A part of the work that all ranks have to end before any goes on. Where one throws, all do.
  template <class Part>
  void together(Part part) {
    std::exception_ptr error;
    try {
      part();
    } catch (...) {
      error = std::current_exception();
    }
    const bool good = all(!error);
    if (error) std::rethrow_exception(error);
    if (!good) throw OtherRankFailed{};
  }

 private:
  int rank_ = 0, size_ = 1, on_this_machine_ = 1;
};

bool built_with_mpi();

}  // namespace tellegen
