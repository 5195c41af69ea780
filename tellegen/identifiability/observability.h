// What readings tell of the states, and of unknowns beside them, when the start is not known either.
//
//   x' = f(x, t),  y = h(x, t)          x: states, with the unknowns among them (twin_model.h)
//   dy(t_k) = H(t_k) Phi(t_k, 0) dx(0)
//
// over a finite time, along the model's run: the rank of these rows over the noise is the rank of the
// observability matrix where the model is linear and constant, and says how well besides. Unknown inputs
// that wander are observable where a constant in their place would be.
//
// What is lost may not matter: it fades where the model forgets it by itself (the pair is detectable).
#pragma once

#include <string>
#include <vector>

#include "tellegen/identifiability/knowledge.h"
#include "tellegen/records/record.h"

namespace tellegen {

struct StateKnowledge {
  Knowledge knowledge;
  std::vector<double> left;  // of each lost direction of states: what part of it is there at the end
  double seconds = 0.0;      // the time for which it was followed
  std::string note;          // why the states were not looked at; empty: they were
  bool unknowns_known() const;
  bool rest_fades() const;
};

// `unknowns`: indices into model.unknowns. Throws as parameter_knowledge() and TwinModel do.
StateKnowledge state_knowledge(const Model& model, const Record& record, const std::vector<int>& unknowns,
                               double limit);

}  // namespace tellegen
