// FMUs of other tools: an archive, what it says of itself, and instances of it that run.
//
//   auto file = open_fmu("plant.fmu");                 // modelDescription.xml alone is read
//   auto plant = file->start("plant", {});             // its code is unpacked, loaded, and instantiated
//   plant->set(inputs, values);  plant->enter_initialization();  plant->exit_initialization();
//   plant->step(0.0, 1e-3);      plant->get(outputs, values);
//
// An FMU for model exchange has its own integrator here (integrated_fmu.cpp), and looks like one for
// co-simulation.
//
// Everything throws FmuError: what was called, what came back, and what the FMU said.
//
// [FMI] Functional Mock-up Interface 2.0.5 and 3.0.2, fmi-standard.org
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tellegen/fmu/description.h"

namespace tellegen {

// An instance. Variables are numbers in FmuDescription::variables; values are element by element, one
// variable after the other, in the FMU's own units.
class FmuInstance {
 public:
  virtual ~FmuInstance() = default;
  virtual void set(std::span<const int> variables, std::span<const double> values) = 0;
  virtual void set_text(int variable, const std::string& value) = 0;
  virtual void get(std::span<const int> variables, std::span<double> values) = 0;
  virtual std::string text(int variable) = 0;
  virtual void enter_initialization() = 0;  // at t = 0
  virtual void exit_initialization() = 0;
  // False where the FMU wants the simulation to end there.
  virtual bool step(double t, double length) = 0;
};

struct FmuStart {
  bool isolate = false;   // in a process of its own
  bool exchange = false;  // by model exchange, though it has co-simulation
};

class FmuFile : public std::enable_shared_from_this<FmuFile> {
 public:
  explicit FmuFile(std::filesystem::path path);
  ~FmuFile();
  FmuFile(const FmuFile&) = delete;
  FmuFile& operator=(const FmuFile&) = delete;
  const std::filesystem::path& path() const { return path_; }
  const FmuDescription& description() const { return description_; }
  std::vector<std::string> platforms() const;  // folders of binaries/
  // The instance keeps this file alive.
  std::unique_ptr<FmuInstance> start(const std::string& name, const FmuStart& how) const;

 private:
  std::filesystem::path path_;
  FmuDescription description_;
  struct Unpacked;
  std::unique_ptr<Unpacked> unpacked_;
};

std::shared_ptr<const FmuFile> open_fmu(const std::filesystem::path& path);

}  // namespace tellegen
