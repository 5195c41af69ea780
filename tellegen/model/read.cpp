#include "tellegen/model/read.h"

#include <fmt/format.h>

#include "tellegen/model/fmu_component.h"
#include "tellegen/model/model_reader.h"

namespace tellegen {

bool is_fmu(const std::filesystem::path& file) { return file.extension() == ".fmu"; }

Model read_model(const std::filesystem::path& file, const ReadOptions& options) {
  if (is_fmu(file)) {
    try {
      return read_model_text(fmu_model_text(file), file, options);
    } catch (const FmuError& error) {
      throw ModelError({{file.string(), 0}, "T690", fmt::format("it cannot be used: {}", error.what()), {}});
    }
  }
  return read_model_text(read_text(file, {file.string(), 0}), file, options);
}

Model read_model_text(std::string_view text, const std::filesystem::path& name, const ReadOptions& options) {
  return ModelReader(options).read(text, name);
}

Model read_model(const std::filesystem::path& file, const ReadOptions& options, MechanismTrees& trees) {
  return read_model_text(read_text(file, {file.string(), 0}), file, options, trees);
}

Model read_model_text(std::string_view text, const std::filesystem::path& name, const ReadOptions& options,
                      MechanismTrees& trees) {
  return ModelReader(options, &trees).read(text, name);
}

}  // namespace tellegen
