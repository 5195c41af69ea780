// Any text as a CSV file, of a table and of a trajectory.
#include "tellegen/model/csv.h"
#include "tellegen/results/trajectory.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace tellegen;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    read_csv_columns(text, "table.csv");
  } catch (const ModelError&) {
  }
  try {
    read_csv_text(text, "run.csv");
  } catch (const std::runtime_error&) {
  }
  return 0;
}
