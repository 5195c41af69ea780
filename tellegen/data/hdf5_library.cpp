#include "tellegen/data/hdf5_library.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace tellegen {
namespace {

class LoadedHdf5 {
 public:
  LoadedHdf5() : handle_(dlopen(TELLEGEN_HDF5_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) throw std::runtime_error(std::string("HDF5 cannot be loaded: ") + dlerror());
#define TELLEGEN_LOAD(name) library_.name = reinterpret_cast<decltype(&::name)>(symbol(#name));
    TELLEGEN_HDF5(TELLEGEN_LOAD)
#undef TELLEGEN_LOAD
    reinterpret_cast<decltype(&::H5open)>(symbol("H5open"))();
    library_.native_double = number("H5T_NATIVE_DOUBLE_g");
    library_.c_string = number("H5T_C_S1_g");
    library_.dataset_creation = number("H5P_CLS_DATASET_CREATE_ID_g");
  }
  const Hdf5Library& library() const { return library_; }

 private:
  void* symbol(const char* name) const {
    void* found = dlsym(handle_, name);
    if (!found) throw std::runtime_error(std::string("HDF5 is another version: it has no ") + name);
    return found;
  }
  hid_t number(const char* name) const { return *static_cast<const hid_t*>(symbol(name)); }

  void* handle_;  // stays: the library has handlers for the end of the program
  Hdf5Library library_{};
};

}  // namespace

const Hdf5Library& h5() {
  static const LoadedHdf5 loaded;
  return loaded.library();
}

}  // namespace tellegen
