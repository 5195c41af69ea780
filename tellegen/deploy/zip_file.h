// An archive of files, by libzip. The same files give the same bytes: no dates, no owners.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tellegen {

struct ExportedFile {
  std::string name, text;  // the name with its folders; text of any bytes
};

void write_zip(const std::filesystem::path& path,
               const std::vector<ExportedFile>& files);  // throws std::runtime_error

}  // namespace tellegen
