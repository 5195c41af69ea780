// Two sets of equations for the same sensitivities, integrated side by side: the assembled equations of a
// model differentiated as a whole, and those of its sensitivity graph.
//
// The nickel metal hydride cell discharged at 2 to 8 A, as in table 3.8 of the thesis "Graph-Theoretic
// Sensitivity Analysis of Dynamic Systems"; d v_cell/d L_NiOH2.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/equation_set.h"
#include "tellegen/symbolic/common.h"

namespace tellegen {

struct CellSetting {
  double current = 2;
  double tolerance = 1e-8;  // of the integration
  int repetitions = 3;      // the shortest counts
};

struct CellRow {
  std::string set;  // "direct", "graph"
  Evaluation evaluation = Evaluation::named;
  Cost cost;  // of one evaluation of all residuals
  SetRun run;
  double voltage_apart = 0, slope_apart = 0;  // from forward sensitivities, of the largest value
};

struct CellComparison {
  std::string failure;        // of the reference run; empty: none
  std::vector<CellRow> rows;  // direct and graph: written out, then named
};

CellComparison compare_cell_sets(const CellSetting& setting);

}  // namespace tellegen
