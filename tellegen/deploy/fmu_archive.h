// What every FMU is made of, whatever runs in it: its sources and the functions of the interface around them,
// code for the targets that there are compilers for, and the descriptions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tellegen/deploy/fmu_description.h"
#include "tellegen/deploy/fmu_export.h"

namespace tellegen {

struct FmuContent {
  ExportedDescription description;
  ExchangeModel exchange = {};
  std::vector<ExportedFile> sources;  // of the model
  std::vector<std::string> compiled;  // of them
  // fmu_model.h, what tellegen_fmu.h asks of a model; the description has its token by then.
  std::function<std::string(const ExportedDescription&)> header;
};

// Adds files and binaries. Throws ModelError (T421) where the system's compiler does not take the code.
void pack_fmu(FmuContent content, const Place& place, FmuExport& result);

}  // namespace tellegen
