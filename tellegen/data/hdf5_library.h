// HDF5, loaded when a file of it is first asked for. It brings forty libraries along (curl, Kerberos, ...),
// and a command that needs none of them would spend half of its time on loading them.
#pragma once

#include <hdf5.h>

#include "tellegen/data/loaded_library.h"

// What is used of it.
// clang-format off
#define TELLEGEN_HDF5(F) \
  F(H5Aclose) F(H5Acreate2) F(H5Aexists) F(H5Aget_space) F(H5Aget_type) F(H5Aopen) F(H5Aread) \
  F(H5Awrite) F(H5Dclose) F(H5Dcreate2) F(H5Dget_space) F(H5Dget_type) F(H5Dopen2) F(H5Dread) \
  F(H5Dset_extent) F(H5Dvlen_reclaim) F(H5Dwrite) F(H5Eget_auto2) F(H5Eset_auto2) F(H5Fclose) \
  F(H5Fcreate) F(H5Fflush) F(H5Fopen) F(H5Gclose) F(H5Gcreate2) F(H5Lexists) F(H5Lvisit) F(H5Pclose) \
  F(H5Pcreate) F(H5Pset_chunk) F(H5Sclose) F(H5Screate) F(H5Screate_simple) \
  F(H5Sget_simple_extent_dims) F(H5Sget_simple_extent_ndims) F(H5Sget_simple_extent_npoints) \
  F(H5Sselect_hyperslab) F(H5Tclose) F(H5Tcopy) F(H5Tcreate) F(H5Tget_class) F(H5Tget_cset) \
  F(H5Tget_member_name) F(H5Tget_member_type) F(H5Tget_nmembers) F(H5Tget_size) F(H5Tinsert) \
  F(H5Tis_variable_str) F(H5Tset_cset) F(H5Tset_size) F(H5free_memory)
// clang-format on

namespace tellegen {

struct Hdf5Library {
  TELLEGEN_HDF5(TELLEGEN_LOADED_FIELD)
  hid_t native_double, c_string, dataset_creation;  // H5T_NATIVE_DOUBLE, H5T_C_S1, H5P_DATASET_CREATE
};

// H5F_ACC_RDONLY and H5F_ACC_TRUNC, which call the library.
inline constexpr unsigned h5_read_only = 0x0000u, h5_truncate = 0x0002u;

// Throws std::runtime_error where it is not installed.
const Hdf5Library& loaded_hdf5();

// The library prints its own stack of errors unless told not to; ours say what matters.
class QuietHdf5 {
 public:
  QuietHdf5() {
    loaded_hdf5().H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    loaded_hdf5().H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { loaded_hdf5().H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace tellegen
