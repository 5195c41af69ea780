#include "tellegen/data/loaded_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace tellegen {

LoadedLibrary::LoadedLibrary(const char* file, const char* what)
    : handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)), what_(what) {
  if (!handle_) throw std::runtime_error(fmt::format("{} cannot be loaded: {}", what, dlerror()));
}

void* LoadedLibrary::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  if (!found) throw std::runtime_error(fmt::format("{} is another version: it has no {}", what_, name));
  return found;
}

}  // namespace tellegen
