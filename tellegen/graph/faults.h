// What is topologically wrong with a model, in its own words: components, nodes and lines.
//
//   T201 a node, or a group of nodes, without a path to its datum
//   T202 a circuit of across-sources
//   T203 a cutset of through-sources
#pragma once

#include <span>
#include <vector>

#include "tellegen/graph/tree.h"
#include "tellegen/model/fault.h"

namespace tellegen {

std::span<const FaultCode> topology_fault_codes();  // for docs/errors.md

std::vector<Fault> topology_faults(const Model& model, const LinearGraph& graph, const Tree& normal_tree);

}  // namespace tellegen
