// An estimator as C99: readings and inputs in, estimates and their standard deviations out, a row a call.
// What runs in `estimate` is printed (estimate/filter_program.h), so it must be straight-line code there: a
// linear model whose unknowns have no bounds, by kf or ekf.
//
//   NAME.h, NAME.c        state, readings, inputs, estimates; init, step, save, restore
//   NAME_filter.c         predict and correct
//   NAME_quantities.c     what is estimated, and its slopes by the states
//   tellegen_math.h       tables and functions that C has not
//   main.c, vector.h      replays rows that Tellegen followed, and fails where a bit differs
//   CMakeLists.txt, README.md
#pragma once

#include <string>
#include <vector>

#include "tellegen/deploy/zip_file.h"
#include "tellegen/model/model.h"

namespace tellegen {

struct FilterExportOptions {
  std::string name;                      // what functions and files are called; a C identifier
  std::string estimator;                 // empty: as the model says
  double step = 0.0;                     // between rows
  std::vector<int> sensors = {};         // in Model::outputs
  std::vector<std::string> inputs = {};  // given with every row
  std::int64_t vector = 100;             // rows in vector.h
};

struct FilterExport {
  std::vector<ExportedFile> files;
  std::vector<std::string> estimates;          // names
  std::vector<std::string> left_out;           // what is not exported, each with the reason
  std::int64_t operations = 0, functions = 0;  // of a row
  std::size_t state_bytes = 0;
};

// Throws ModelError: T420 where the estimator is no straight-line code, and what an estimation would.
FilterExport export_filter(const Model& model, const FilterExportOptions& options);

}  // namespace tellegen
