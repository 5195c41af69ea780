// Sections of a program as instructions of this machine, written in microseconds, without a compiler.
//
// Operation by operation what interpret() does, in the same order, so every bit is the same; only who reads
// the list is another: a section takes about a fifth of the time. Registers stay in memory, and the last
// result also in the processor, for the operation that follows. A compiler makes code two to three times as
// fast as this, and takes a tenth of a second and more for it: long runs are its part.
//
// x86-64 and ARM64, where memory may be made executable; elsewhere there is none, and interpret() runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tellegen/program/program.h"

namespace tellegen {

class MachineCode {
 public:
  // Null where this machine, or this process, cannot have any. The program's functions and tables are kept.
  static std::shared_ptr<const MachineCode> make(const Program& program);
  ~MachineCode();
  MachineCode(const MachineCode&) = delete;
  MachineCode& operator=(const MachineCode&) = delete;

  void run(int section, double* registers) const {
    reinterpret_cast<void (*)(double*)>(reinterpret_cast<std::uintptr_t>(memory_) +
                                        starts_[section])(registers);
  }

 private:
  MachineCode() = default;
  void* memory_ = nullptr;
  std::size_t size_ = 0;
  std::vector<std::size_t> starts_;  // bytes, per section
  std::vector<std::shared_ptr<const Table>> tables_;
};

}  // namespace tellegen
