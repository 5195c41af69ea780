// A trajectory in HDF5 written row by row while a run goes on, with the datasets of write_hdf5: so results do
// not have to fit into memory.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tellegen {

class Hdf5Stream {
 public:
  // All throw std::runtime_error where the file cannot be written.
  Hdf5Stream(const std::filesystem::path& path, const std::vector<std::string>& names,
             const std::vector<std::string>& units);
  ~Hdf5Stream();
  void rows(std::span<const double> t, std::span<const double> values);
  void close();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace tellegen
