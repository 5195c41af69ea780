// Model file to Model. Every fault of the file is collected and thrown as one ModelError.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tellegen/model/model.h"

namespace tellegen {

struct ReadOptions {
  std::filesystem::path library;                               // default: library_folder()
  std::vector<std::pair<std::string, std::string>> overrides;  // parameter = value, from the command line
  std::vector<std::string>* notes = nullptr;  // what was read and how, where somebody wants to know
  bool exchange = false;  // imported FMUs by model exchange, though they have co-simulation
  bool isolate = false;   // imported FMUs in processes of their own
};

// An FMU is read as a model that has it as its only component.
Model read_model(const std::filesystem::path& file, const ReadOptions& options = {});
bool is_fmu(const std::filesystem::path& file);
Model read_model_text(std::string_view text, const std::filesystem::path& name,
                      const ReadOptions& options = {});

// One kind by its name ("thermal.resistor"), and all names the library has.
std::vector<Domain> read_domains(const std::filesystem::path& library);
Kind read_kind(Pool& pool, const std::vector<Domain>& domains, const std::filesystem::path& file,
               const std::string& name);
std::vector<std::string> library_kinds(const std::filesystem::path& library);

// $TELLEGEN_LIBRARY, or library/ beside or above the shared library or the program, or the one it was built
// from.
std::filesystem::path library_folder();

}  // namespace tellegen
