// Programs of the system that make code: found and run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

// On $PATH, or the path itself; empty: there is none.
std::filesystem::path find_program(std::string_view name);

// The C compiler ($TELLEGEN_COMPILER, or cc); empty: there is none, or none is wanted.
std::filesystem::path find_compiler();

// Without output; false where it cannot be started or does not succeed.
bool run_quietly(std::vector<std::string> words);

// 32 hexadecimal digits that tell texts apart.
std::string content_hash(std::string_view text);

}  // namespace tellegen
