// An estimator as C99: readings and inputs in, estimates and their standard deviations out, a row a call.
// What runs in `estimate` is printed (estimate/filter_program.h), so it must be straight-line code there.
//
//   NAME.h, NAME.c        state, readings, inputs, estimates; init, step, now, save, restore
//   NAME_filter.c         predict and correct
//   NAME_quantities.c     what is estimated, and its slopes by the states
//   tellegen_math.h       tables and functions that C has not; tellegen_single.h in single precision
//   main.c, vector.h      replays rows that Tellegen followed, and fails where a bit differs
//   CMakeLists.txt, README.md
//
// As an FMU for co-simulation readings and inputs are its inputs, and each step of the importer takes the
// rows from where it begins to before where it ends.
#pragma once

#include <string>
#include <vector>

#include "tellegen/deploy/exported_filter.h"
#include "tellegen/deploy/fmu_export.h"
#include "tellegen/deploy/zip_file.h"
#include "tellegen/model/model.h"

namespace tellegen {

struct FilterExport {
  std::vector<ExportedFile> files;
  std::vector<std::string> estimates;          // names
  std::vector<std::string> left_out;           // what is not exported, each with the reason
  std::int64_t operations = 0, functions = 0;  // of a row
  std::size_t state_bytes = 0;
  // In single precision, over the rows of vector.h: of each estimate the largest difference from double,
  // relative to its largest value there, and in the standard deviations that it has in double.
  std::vector<double> differences = {}, in_deviations = {};
};

// Throws ModelError: T420 where the estimator is no straight-line code, or in single precision no filter any
// more (an estimate half its deviation and a hundredth of its largest value from double in the rows of
// vector.h); and what an estimation would.
FilterExport export_filter(const Model& model, const FilterExportOptions& options);
// The same as an FMU; `version` of FMI: 3 or 2.
struct FilterFmu {
  FmuExport fmu;
  std::vector<std::string> left_out;
};
FilterFmu export_filter_fmu(const Model& model, const FilterExportOptions& options, int version);

}  // namespace tellegen
