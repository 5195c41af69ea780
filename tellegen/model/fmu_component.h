// An FMU as a component: `kind = "fmu:plant.fmu"`.
//
// Its kind is made here, one for each component. A clock is sampled every communication interval, and so are
// the inputs; what the FMU then says (simulate/fmu_blocks.h) are discrete variables that nobody else sets.
// The FMU is one interval ahead, so a continuous output is interpolated,
//
//   y = next + slope (t - due)
//
// from what it was at the last communication point to what it is at the coming one. Other outputs (integers,
// booleans, what the FMU calls discrete) are sampled variables: they take their new value at the point.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tellegen/fmu/fmu.h"
#include "tellegen/model/kind.h"

namespace tellegen {

// A number of an FMU: an element of a variable, and its unit. SI value = factor*value + offset.
struct FmuSignal {
  int variable = 0;
  std::size_t element = 0;
  double factor = 1.0, offset = 0.0;
  bool continuous = false;
  std::string name;  // in Tellegen
};

struct FmuUse {
  std::shared_ptr<const FmuFile> file;
  bool isolate = false, exchange = false;
  std::vector<FmuSignal> inputs, outputs;
  std::vector<std::pair<int, FmuSignal>> parameters;      // in Kind::parameters
  std::map<std::string, std::string, std::less<>> texts;  // given by the component, by the FMU's name
  std::set<std::string, std::less<>> reported;            // keys with faults
  std::set<std::string, std::less<>> given;               // keys
  std::map<std::string, std::string, std::less<>> names;  // the FMU's name of a number: Tellegen's

  // Where things stand in Kind::parameters and Kind::discrete.
  static constexpr int every = 0, first_input = 1;
  static constexpr int clock = 0, due = 1;
  static int input(std::size_t k) { return 2 + static_cast<int>(k); }
  int next(std::size_t k) const { return 2 + static_cast<int>(inputs.size() + 2 * k); }
  int slope(std::size_t k) const { return next(k) + 1; }  // of a continuous output
  int value(std::size_t k) const { return next(k) + 1; }  // of any other
};

// The kind of an FMU, as the file describes it; nothing is loaded. Variables that are no numbers are left out
// (texts may be set as parameters).
Kind fmu_kind(Pool& pool, std::string name, std::shared_ptr<FmuUse> use);

// A model file that has this FMU alone: inputs and parameters of the FMU as its own, all outputs.
std::string fmu_model_text(const std::filesystem::path& fmu);

// Throws ModelError (T693) where the model has an imported FMU; `what` goes wrong with it.
void refuse_fmus(const struct Model& model, std::string_view what);

}  // namespace tellegen
