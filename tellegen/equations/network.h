// The condensed network of a system: which unknowns are left, and where each component's companion form goes.
//
//   unknowns   node potentials first, then the kept unknowns of components
//   rows       the balances of these nodes (row = unknown), then the kept equations
#pragma once

#include <vector>

#include "tellegen/equations/condense.h"
#include "tellegen/equations/system.h"

namespace tellegen {

struct NetworkGroup {
  CondensedGroup form;
  std::vector<std::vector<std::int32_t>> terminals;  // [terminal][member]: unknown, or -1 for the datum
  std::vector<std::vector<std::int32_t>> rows;       // [row of form][member], or -1 for the datum's balance
};

struct Network {
  const EquationSystem* system = nullptr;
  std::vector<NetworkGroup> groups;
  std::int32_t node_unknowns = 0;
  std::vector<std::int32_t> column_of;   // per unknown: its tableau column
  std::vector<std::int32_t> unknown_of;  // per tableau column: its unknown, or -1 where it is condensed
  std::int32_t size() const { return static_cast<std::int32_t>(column_of.size()); }
  bool iterative() const;
};

Network build_network(const EquationSystem& system);

}  // namespace tellegen
