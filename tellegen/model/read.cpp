#include "tellegen/model/read.h"

#include "tellegen/model/model_reader.h"

namespace tellegen {

Model read_model(const std::filesystem::path& file, const ReadOptions& options) {
  return read_model_text(read_text(file, {file.string(), 0}), file, options);
}

Model read_model_text(std::string_view text, const std::filesystem::path& name, const ReadOptions& options) {
  return ModelReader(options).read(text, name);
}

}  // namespace tellegen
