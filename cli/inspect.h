// What a model is made of, found out step by step as a simulation would; for `check`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tellegen/equations/system.h"
#include "tellegen/model/model.h"

namespace tellegen {

using Names = std::vector<std::string>;

struct StateValue {
  std::string name, unit;
  double initial = 0.0;
};

struct Redundant {
  std::string name, follows;  // "c2.v", "c1.v - e1.v"
};

struct Inspection {
  std::string model, file;
  Names domains, branches, chords, outputs;
  std::map<std::string, std::int64_t> kinds;
  std::int64_t components = 0;
  Counts counts;
  std::vector<StateValue> states;
  std::vector<Redundant> redundant;
  Names unknowns;
  std::string mechanism;  // which coordinates were chosen; empty: there is none
};

// Throws ModelError with the faults of topology and [simulation] together, then those of structure and
// initial values; SimulationError where there is no consistent start. Near-linear in the model's size.
Inspection inspect(const Model& model);

// What was chosen for the mechanism, in words; empty: there is none.
std::string mechanism_of(const Model& model);

Names edge_names(const Model& model, const LinearGraph& graph, const std::vector<EdgeIndex>& edges);

}  // namespace tellegen
