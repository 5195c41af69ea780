#include "tellegen/data/zip_library.h"

namespace tellegen {
namespace {

ZipLibrary load_zip() {
  const LoadedLibrary library(TELLEGEN_ZIP_LIBRARY, "libzip");
  ZipLibrary result{};
  TELLEGEN_ZIP(TELLEGEN_LOADED_SYMBOL)
  return result;
}

}  // namespace

const ZipLibrary& loaded_zip() {
  static const ZipLibrary library = load_zip();
  return library;
}

}  // namespace tellegen
