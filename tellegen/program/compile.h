// C source to a loaded shared object, by the system's compiler, cached by content.
//
// The cache is $TELLEGEN_CACHE, or tellegen/ in the user's cache folder. An object appears under its final
// name only when it is whole (written aside, then renamed), so concurrent runs share the folder safely.
// TELLEGEN_COMPILER names another compiler; "none" turns compilation off, and everything is interpreted.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace tellegen {

class CompiledCode {
 public:
  explicit CompiledCode(void* handle) : handle_(handle) {}
  ~CompiledCode();
  CompiledCode(const CompiledCode&) = delete;
  CompiledCode& operator=(const CompiledCode&) = delete;
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
  void* handle_;
};

// Empty where there is no compiler, or where it would take longer than interpreting, so many seconds, with
// those that earlier runs took; 0: only what is cached. The text of runtime/tellegen_math.h stands in front.
std::shared_ptr<const CompiledCode> compile_c(std::string_view source,
                                              double interpreting = std::numeric_limits<double>::infinity());

// About how long interpreting takes what is in a large source, run so many times; without end for a small
// one, which the compiler does in no time.
double seconds_of_interpreting(std::string_view source, double executions);

std::string_view runtime_source(std::string_view header = "tellegen_math.h");  // of runtime/

// When to ask again whether a compiler pays: each time twice as much has been interpreted.
struct CompilerWatch {
  double next = 0.05;  // seconds
  bool due(double interpreted) {
    if (interpreted < next) return false;
    next = 2.0 * interpreted;
    return true;
  }
};

}  // namespace tellegen
