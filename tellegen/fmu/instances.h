// The ways an instance can be had: by the functions of FMI 2, of FMI 3, and in another process.
#pragma once

#include <functional>

#include "tellegen/fmu/fmu.h"
#include "tellegen/fmu/shared_object.h"

namespace tellegen {

struct FmuPlace {
  std::shared_ptr<const FmuFile> file;
  std::filesystem::path folder, code;  // unpacked
  std::string name;                    // of the instance
};

std::unique_ptr<FmuInstance> start_fmi2(const FmuPlace& place);
std::unique_ptr<FmuInstance> start_fmi3(const FmuPlace& place);
// What `start` makes, in a child process.
std::unique_ptr<FmuInstance> start_isolated(const FmuDescription& description,
                                            const std::function<std::unique_ptr<FmuInstance>()>& start);

}  // namespace tellegen
