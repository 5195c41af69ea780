// An output file that appears whole or not at all.
//
//   AtomicFile file("run.csv");
//   ... write to file.aside() ...
//   file.commit();               // now run.csv is the new one
//
// Without commit() the destructor removes what was written aside, and an existing run.csv is untouched.
// What a study that failed half-way had reached is kept with keep_partial(), as run.partial.csv.
//
// The file aside lies in the same folder, for a rename cannot cross file systems. A link is followed; what
// is no regular file (/dev/stdout, a pipe) is written directly, for it must not be replaced.
#pragma once

#include <filesystem>
#include <string_view>

namespace tellegen {

class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);  // throws std::runtime_error: no such folder
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& aside() const { return aside_; }
  void commit();
  std::filesystem::path keep_partial();  // its path

 private:
  void move_to(const std::filesystem::path& path);

  std::filesystem::path path_, aside_;
  bool direct_ = false, pending_ = true;
};

// "out/run.csv" -> "out/run.partial.csv"
std::filesystem::path partial_path(const std::filesystem::path& path);

// All of `text` at once.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace tellegen
