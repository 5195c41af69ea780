#include "tellegen/results/atomic_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace tellegen {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path& path, const std::string& why) {
  throw std::runtime_error(fmt::format("cannot write '{}': {}", path.string(), why));
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : path_(path) {
  std::error_code ignored;
  if (fs::is_symlink(path, ignored)) {
    const fs::path target = fs::weakly_canonical(path, ignored);
    if (!target.empty()) path_ = target;
  }
  if (fs::is_directory(path_, ignored)) cannot_write(path, "it is a folder");
  if (fs::exists(path_, ignored) && !fs::is_regular_file(path_, ignored)) {
    // path, not path_: the link /dev/stdout leads to a name that cannot be opened where it is a pipe.
    aside_ = path_ = path;
    direct_ = true;
    return;
  }
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored))
    cannot_write(path, fmt::format("there is no folder '{}'", folder.string()));
  static std::atomic<int> count = 0;
  aside_ = path_.parent_path() / fmt::format(".{}.{}-{}.tmp", path_.filename().string(), ::getpid(), count++);
}

AtomicFile::~AtomicFile() {
  std::error_code ignored;
  if (pending_ && !direct_) fs::remove(aside_, ignored);
}

void AtomicFile::move_to(const fs::path& path) {
  pending_ = false;
  if (direct_) return;
  std::error_code error;
  fs::rename(aside_, path, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(aside_, ignored);
  cannot_write(path, error.message());
}

void AtomicFile::commit() { move_to(path_); }

fs::path AtomicFile::keep_partial() {
  const fs::path partial = partial_path(path_);
  move_to(partial);
  return direct_ ? path_ : partial;
}

fs::path partial_path(const fs::path& path) {
  fs::path name = path.stem();
  name += ".partial";
  name += path.extension();
  return path.parent_path() / name;
}

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  std::FILE* stream = std::fopen(file.aside().c_str(), "wb");
  if (!stream) cannot_write(path, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  const int write_error = errno;
  if (std::fclose(stream) != 0 || !written) cannot_write(path, std::strerror(written ? errno : write_error));
  file.commit();
}

}  // namespace tellegen
