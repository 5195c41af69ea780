// A cache of compiled code of its own for one test, gone afterwards.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tellegen {

class TestCache {
 public:
  TestCache()
      : folder(std::filesystem::temp_directory_path() / ("tellegen-cache-test-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder);
    setenv("TELLEGEN_CACHE", folder.c_str(), 1);
    unsetenv("TELLEGEN_COMPILER");
  }
  ~TestCache() {
    unsetenv("TELLEGEN_CACHE");
    unsetenv("TELLEGEN_COMPILER");
    std::filesystem::remove_all(folder);
  }
  std::filesystem::path folder;
};

}  // namespace tellegen
