// `tellegen benchmark stack`: one phase of an inverter in three dimensions (models/inverter/stack), some ten
// thousand cells, as a truth for the lumped network of models/inverter: its steady state on several meshes,
// the resistances that a lumped network would need to reproduce it, and the transients of four operating
// cases.
#pragma once

#include <filesystem>
#include <vector>

namespace tellegen {

struct StackOptions {
  std::vector<double> cells{1.8, 1.2, 0.9};  // widths for the steady state, mm
  double transient_cell = 1.2;               // width for the transients, mm
  double stop = 5.0;                         // of the transients, s
  bool transients = true;
  std::filesystem::path output;  // folder for case1.csv to case4.csv
  std::filesystem::path json;    // file for everything that was printed
};

// Case 1 in its steady state: temperatures of places, and the resistances R_ij = (T_i - T_j)/Q_ij between
// them, with the heat flows of the whole inverter: Q through R_die, 2 Q through R_dbc, 6 Q through the
// others.
struct StackSteady {
  long cells = 0;
  double T1 = 0, T7 = 0, T10 = 0, T11 = 0, T11_face = 0, T12 = 0;           // K
  double to_water = 0;                                                      // heat flow of one phase, W
  double R_die = 0, R_dbc = 0, R_sp = 0, R_hs = 0, R_hs_face = 0, R_w = 0;  // K/W
  double seconds = 0;
};
StackSteady stack_steady(double cell_mm);

// Prints as it goes. False where an answer disagreed.
bool run_stack(const StackOptions& options);

}  // namespace tellegen
