// Whether code is in the cache of compiled code (compile.h): a short run is interpreted sooner than compiled.
#pragma once

#include <string_view>

namespace tellegen {

bool is_compiled_already(std::string_view source);  // also false where there is no compiler

}  // namespace tellegen
