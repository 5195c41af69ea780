// Vectors side by side: eight of them, entry by entry, so that one coefficient serves eight; or four, where
// there are no more.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace tellegen {

inline constexpr int lanes = 8, few_lanes = 4;

// Two numbers as one: what every 64-bit processor has registers for. Written out, because compilers do not
// take these loops together by themselves at -O2.
typedef double NumberPair __attribute__((vector_size(16), aligned(8), may_alias));
inline const NumberPair& pair_at(const double* p) { return *reinterpret_cast<const NumberPair*>(p); }
inline NumberPair& pair_at(double* p) { return *reinterpret_cast<NumberPair*>(p); }

// Numbers that begin with a line of the processor's cache: eight lanes are one line then, not parts of two.
inline constexpr std::size_t cache_line = 64;
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{cache_line}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{cache_line}); }
  friend bool operator==(LineAllocator, LineAllocator) { return true; }
};
using LaneNumbers = std::vector<double, LineAllocator<double>>;

}  // namespace tellegen
