#include "cli/model_file.h"

#include <fmt/format.h>

#include <cstdio>

#include "tellegen/netlist/netlist.h"

namespace tellegen {

Model read_model_file(const std::string& file, const ReadOptions& options) {
  std::vector<std::string> notes;
  Model model = read_any_model(file, options, &notes);
  for (const std::string& note : notes) fmt::print(stderr, "{}\n", note);
  return model;
}

}  // namespace tellegen
