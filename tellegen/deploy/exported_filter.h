// What every export of an estimator begins with: the plant, the filter's options and its process noise, as a
// twin has them.
#pragma once

#include <string>
#include <vector>

#include "tellegen/estimate/filter_formulas.h"

namespace tellegen {

struct FilterExportOptions {
  std::string name;                      // what functions and files are called; a C identifier
  std::string estimator;                 // empty: as the model says
  double step = 0.0;                     // between rows
  std::vector<int> sensors = {};         // in Model::outputs
  std::vector<std::string> inputs = {};  // given with every row
  std::int64_t vector = 100;             // rows in vector.h
  bool single = false;                   // as C: float instead of double, time apart (program/single.h)
};

// The model must outlive it.
struct ExportedFilter {
  // Throws ModelError: T420 where the estimator is no straight-line code, and what an estimation would.
  ExportedFilter(const Model& model, const FilterExportOptions& options, const char* target);
  const EstimatorEntry& entry;
  TwinModel plant;
  FilterOptions options;
  Vector process_noise;
  FilterFormulas::Method method() const { return *FilterFormulas::method_of(entry.name); }
};

}  // namespace tellegen
