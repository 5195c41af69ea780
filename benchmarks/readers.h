// `tellegen benchmark readers`: how long, and in how much memory, large inputs are read. A model file of a
// million components (read, checked, graph and normal tree built), a CSV file of 100 MB and one of 1 GB as a
// record, in blocks and in bounded memory; generated
// from a seed into a folder for temporary files and deleted afterwards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace tellegen {

struct ReadersOptions {
  std::int64_t components = 1'000'000;
  std::int64_t csv_bytes = 100'000'000;
  std::int64_t record_bytes = 1'000'000'000;
  std::filesystem::path json;  // file for everything that was printed
};

// What a reader must find in a generated file, and what it took.
struct Found {
  std::int64_t components = 0, nodes = 0, edges = 0;  // of a model
  std::int64_t rows = 0, columns = 0;                 // of a CSV file
  double sum = 0;                                     // of all resistances; of all cells, in order
  bool operator==(const Found&) const = default;
};
struct Reading {
  Found expected, found;
  double megabytes = 0;  // of the file
  double seconds = 0, peak_megabytes = 0;
};

// Each in a process of its own. Nothing where it failed; it has then said why on stderr.
std::optional<Reading> read_large_model(std::int64_t components);
std::optional<Reading> read_large_table(std::int64_t bytes);       // as a table over time of a model
std::optional<Reading> read_large_trajectory(std::int64_t bytes);  // as a reference of a run

std::optional<Reading> read_large_record(std::int64_t bytes);  // as a record, block by block

// Prints as it goes. False where an answer disagreed.
bool run_readers(const ReadersOptions& options);

}  // namespace tellegen
