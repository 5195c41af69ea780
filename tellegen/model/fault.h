// What is wrong with an input, in the modeller's words. A wrong model throws one ModelError that holds
// every fault found; each prints as
//
//   models/loop/model.toml:14: T104: temperature of node 'coolant' is not determined
//     no chain of edges joins 'coolant' to the thermal datum
//     add a thermal.fixed_temperature component, or connect port 'wall' of 'radiator' (line 21)
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tellegen {

struct Place {
  std::string file;
  int line = 0;  // 0: the file as a whole
};

struct Fault {
  Place place;
  std::string code;                  // "T104"; docs/errors.md lists them all
  std::string message;               // one line
  std::vector<std::string> details;  // why, and what would help
};

std::string to_text(const Fault& fault);

// What each code of this folder means, for docs/errors.md: T1xx, the model file and what it names.
struct FaultCode {
  std::string_view code, meaning;
};
std::span<const FaultCode> fault_codes();

// Control characters, bytes that are not UTF-8 and the rest of very long lines do not get into the texts.
class ModelError : public std::runtime_error {
 public:
  explicit ModelError(std::vector<Fault> faults);
  explicit ModelError(Fault fault) : ModelError(std::vector<Fault>{std::move(fault)}) {}
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  struct Printable {};
  ModelError(std::vector<Fault> faults, Printable);
  std::vector<Fault> faults_;
};

}  // namespace tellegen
