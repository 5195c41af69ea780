// A model as a functional mock-up unit (FMI 3.0 or 2.0). Co-simulation: its fixed step, the C of c_export.h.
// Model exchange, where the model has an explicit form: exchange_model.h. The functions of the interface
// around both (runtime/tellegen_fmu*.{h,c}, tellegen_exchange.h), compiled for the targets that there are
// compilers for, and described.
//
//   modelDescription.xml
//   binaries/x86_64-linux/NAME.so, binaries/aarch64-linux/NAME.so     (FMI 2: linux64, aarch64-linux)
//   sources/*.c, *.h, sources/buildDescription.xml                    (the latter FMI 3)
//   documentation/index.html
#pragma once

#include <string>
#include <vector>

#include "tellegen/deploy/zip_file.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct FmuOptions {
  std::string name;    // modelIdentifier: a C identifier
  int version = 3;     // of FMI: 3 or 2
  bool fixed = false;  // no parameter can be set
};

struct FmuExport {
  std::vector<ExportedFile> files;  // of the archive
  std::vector<std::string> parameters, inputs, outputs;
  std::vector<std::string> fixed;     // parameters that cannot be set, each with the reason
  std::vector<std::string> binaries;  // targets there is code for; none: sources only
  std::string no_exchange;            // why the FMU has no model exchange; empty: it has
  std::string no_derivatives;         // why that has no directional derivatives; empty: it has
  std::size_t states = 0, indicators = 0;
};

// The simulation must be new, with SimulationOptions::restarts. Throws ModelError: T420 where the run is not
// made of equal steps, T421 where the system's compiler does not take the code.
FmuExport export_fmu(const Model& model, Simulation& simulation, const FmuOptions& options);

}  // namespace tellegen
