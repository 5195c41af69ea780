#include "tellegen/deploy/zip_file.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "tellegen/data/zip_library.h"

namespace tellegen {
namespace {

constexpr std::time_t no_date = 315532800;  // 1 January 1980, where an archive's time begins

}  // namespace

void write_zip(const std::filesystem::path& path, const std::vector<ExportedFile>& files) {
  const ZipLibrary& libzip = loaded_zip();
  int code = 0;
  const auto wrong = [&](const char* why) {
    return std::runtime_error(fmt::format("cannot write '{}': {}", path.string(), why));
  };
  std::unique_ptr<zip_t, decltype(ZipLibrary::zip_discard)> archive(
      libzip.zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code), libzip.zip_discard);
  if (!archive) {
    zip_error_t error;
    libzip.zip_error_init_with_code(&error, code);
    const std::runtime_error thrown = wrong(libzip.zip_error_strerror(&error));
    libzip.zip_error_fini(&error);
    throw thrown;
  }
  for (const ExportedFile& file : files) {
    zip_source_t* source = libzip.zip_source_buffer(archive.get(), file.text.data(), file.text.size(), 0);
    const zip_int64_t at =
        source ? libzip.zip_file_add(archive.get(), file.name.c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    if (at < 0) {
      libzip.zip_source_free(source);
      throw wrong(libzip.zip_strerror(archive.get()));
    }
    const auto index = static_cast<zip_uint64_t>(at);
    libzip.zip_file_set_mtime(archive.get(), index, no_date, 0);
    libzip.zip_file_set_external_attributes(archive.get(), index, 0, ZIP_OPSYS_UNIX, 0100644u << 16);
  }
  if (libzip.zip_close(archive.get()) != 0) throw wrong(libzip.zip_strerror(archive.get()));
  (void)archive.release();  // closed
}

}  // namespace tellegen
