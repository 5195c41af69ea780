// The files of this folder in memory: what the paper published, what a converged implementation gives, what
// counts as precise enough, and the reference solutions. README.md says what each file is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "benchmarks/external_run.h"

namespace tellegen {

// Errors, thresholds or values of the two monitored variables; NaN where the source leaves a blank.
struct Both {
  double first = 0, second = 0;
};

struct PublishedRow {
  std::string problem, method;
  Precision precision = Precision::low;
  double h = 0;
  int iterations = 0;
  Both errors;
  double pc_ms = 0, bbb_ms = 0, rpi_ms = 0;
};

struct ComputedRow {
  std::string problem, method, start;  // start: zero, trapezoidal, or empty where it does not matter
  double h = 0;
  Both errors;
};

struct Thresholds {
  double t_end = 0;
  int samples = 0;
  Both low, high;
  const Both& of(Precision p) const { return p == Precision::high ? high : low; }
};

struct ReferenceSolution {
  std::vector<double> t, first, second;
};

struct PublishedSize {
  std::string method;
  Precision precision = Precision::low;
  int loops = 0;
};

std::vector<PublishedRow> published_rows(const std::string& problem);
std::vector<ComputedRow> computed_rows(const std::string& problem);
std::vector<PublishedSize> published_sizes();
Thresholds thresholds_of(const std::string& problem);
ReferenceSolution read_reference(const std::string& file);  // in benchmarks/reference

inline const char* name_of(Precision p) { return p == Precision::high ? "high" : "low"; }

}  // namespace tellegen
