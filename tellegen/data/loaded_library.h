// A library that is loaded when it is first asked for: what every command would otherwise wait for as it
// starts.
#pragma once

namespace tellegen {

// The functions that `FUNCTIONS(F)` lists, as pointers of a structure, and where they come from.
#define TELLEGEN_LOADED_FIELD(name) decltype(&::name) name;
#define TELLEGEN_LOADED_SYMBOL(name) result.name = reinterpret_cast<decltype(&::name)>(library.symbol(#name));

class LoadedLibrary {
 public:
  // `what`: as people call it. Throws std::runtime_error where it is not installed.
  LoadedLibrary(const char* file, const char* what);
  void* symbol(const char* name) const;  // throws std::runtime_error: another version

 private:
  void* handle_;  // stays: libraries have handlers for the end of the program
  const char* what_;
};

}  // namespace tellegen
