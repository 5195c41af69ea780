// libzip, loaded when an archive is first opened: it brings a library of ciphers along.
#pragma once

#include <zip.h>

#include "tellegen/data/loaded_library.h"

// What is used of it.
// clang-format off
#define TELLEGEN_ZIP(F) \
  F(zip_close) F(zip_discard) F(zip_error_fini) F(zip_error_init_with_code) F(zip_error_strerror) F(zip_fclose) \
  F(zip_file_add) F(zip_file_set_external_attributes) F(zip_file_set_mtime) F(zip_fopen) F(zip_fread) \
  F(zip_get_name) F(zip_get_num_entries) F(zip_open) F(zip_source_buffer) F(zip_source_free) F(zip_stat) F(zip_strerror)
// clang-format on

namespace tellegen {

struct ZipLibrary {
  TELLEGEN_ZIP(TELLEGEN_LOADED_FIELD)
};

// Throws std::runtime_error where it is not installed.
const ZipLibrary& loaded_zip();

}  // namespace tellegen
