#include "tellegen/model/own_kinds.h"

#include <algorithm>
#include <cstdlib>

#include "tellegen/model/read.h"

namespace tellegen {

namespace fs = std::filesystem;

std::vector<fs::path> listed_libraries() {
  std::vector<fs::path> folders;
  const char* said = std::getenv("TELLEGEN_LIBRARY");
  std::string list = said ? said : "";
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    if (end > at) folders.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

std::vector<fs::path> own_kind_folders() {
  std::vector<fs::path> folders = listed_libraries();
  std::erase_if(folders, [](const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / "domains.toml", ignored);
  });
  return folders;
}

std::vector<std::string> own_kinds(const fs::path& folder) {
  std::vector<std::string> names = library_kinds(folder);
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".toml") names.push_back(at->path().stem().string());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace tellegen
