// C of several programs in one file: each keeps its names apart.
#pragma once

#include <string>
#include <string_view>

#include "tellegen/program/procedure.h"

namespace tellegen {

// Tables are named per program: table0 becomes <prefix>_table0.
std::string with_table_names(std::string_view code, std::string_view prefix);

// The one entry of a procedure as a static function of this name, its tables named after it.
std::string c_static_function(const Procedure& procedure, std::string_view name);

}  // namespace tellegen
