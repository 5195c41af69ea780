// Folders of kinds of one's own, given once: $TELLEGEN_LIBRARY, or --library, lists them, with : between. A
// folder with a domains.toml is a library in itself and stands for the one that comes with the program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tellegen {

std::vector<std::filesystem::path> listed_libraries();                    // all that are listed
std::vector<std::filesystem::path> own_kind_folders();                    // without those that are libraries
std::vector<std::string> own_kinds(const std::filesystem::path& folder);  // "pump", "hydraulic.pump"

}  // namespace tellegen
