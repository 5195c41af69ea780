// What `sweep` says about a study: tables for people, JSON for machines, a picture, a page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tellegen/report/page.h"
#include "tellegen/results/chart.h"
#include "tellegen/sweep/evaluate.h"
#include "tellegen/sweep/indices.h"
#include "tellegen/sweep/samples.h"

namespace tellegen {

struct SweepReport {
  std::string model, file;
  Design design = Design::grid;
  std::uint64_t seed = 0;
  std::vector<Axis> axes;
  SampleSet samples;
  std::vector<ResultColumn> columns;
  std::vector<std::vector<double>> results;  // [column][sample], NaN of a failed one
  std::vector<std::string> status;           // [sample], empty: good
  std::string required;                      // what a sample must meet; empty: nothing
  std::vector<bool> missed;                  // [sample]: it ran and does not; empty where nothing is required
  std::size_t resumed = 0;                   // samples that an earlier run had done
  double seconds = 0.0;                      // of those done now
  int jobs = 1, ranks = 1;
  std::vector<std::string> written;

  std::size_t failed() const;
  std::size_t missing() const;  // how many missed
};

std::string_view design_name(Design design);

// The range of each result, then what the design tells about the parameters.
std::string sweep_tables(const SweepReport& report);
std::string sweep_brief(const SweepReport& report);
nlohmann::ordered_json to_json(const SweepReport& report);

// Curves of a grid of one or two parameters, clouds of points of a sample, bars of indices.
Chart sweep_chart(const SweepReport& report);

// Ranges, maps or curves, indices, settings: a part of a page.
PagePart sweep_part(const SweepReport& report, const Settings& settings);

}  // namespace tellegen
