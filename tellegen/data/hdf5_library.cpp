#include "tellegen/data/hdf5_library.h"

namespace tellegen {
namespace {

Hdf5Library load_hdf5() {
  const LoadedLibrary library(TELLEGEN_HDF5_LIBRARY, "HDF5");
  const auto number = [&](const char* name) { return *static_cast<const hid_t*>(library.symbol(name)); };
  Hdf5Library result{};
  TELLEGEN_HDF5(TELLEGEN_LOADED_SYMBOL)
  reinterpret_cast<decltype(&::H5open)>(library.symbol("H5open"))();
  result.native_double = number("H5T_NATIVE_DOUBLE_g");
  result.c_string = number("H5T_C_S1_g");
  result.dataset_creation = number("H5P_CLS_DATASET_CREATE_ID_g");
  return result;
}

}  // namespace

const Hdf5Library& loaded_hdf5() {
  static const Hdf5Library library = load_hdf5();
  return library;
}

}  // namespace tellegen
