// A CSV file that grows row by row, for runs that may be killed: what was flushed stays.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tellegen {

class CsvStream {
 public:
  // The header is written at once. All throw std::runtime_error where the file cannot be written.
  CsvStream(const std::filesystem::path& path, const std::vector<std::string>& names,
            const std::vector<std::string>& units);
  ~CsvStream();
  CsvStream(const CsvStream&) = delete;
  CsvStream& operator=(const CsvStream&) = delete;

  void row(double time, std::span<const double> values);
  void flush();
  void close();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<class NumberStream> stream_;
};

}  // namespace tellegen
