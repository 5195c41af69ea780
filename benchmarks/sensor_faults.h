// tellegen benchmark sensor-faults: a motor whose winding sensor fails; is it named, and is the hidden
// rotor's band honest?
//
// The plant is written by hand: three capacities in steps of 50 ms, a random duty cycle, and the process
// noise that the model declares. A record is cut 60 s after the onset for the question whether the sensor is
// named by then; the whole of it answers for the band.
#pragma once

#include <string>
#include <vector>

#include "tellegen/estimate/estimate.h"

namespace tellegen {

struct FaultBenchmarkOptions {
  int records = 200;
  double hours = 100.0;  // of clean data
  std::string json;
};

struct MotorRecord {
  Record record;
  std::vector<double> rotor;  // truth, K
};
// One row a second; `level` as in fault_cases().
MotorRecord motor_record(const Model& model, unsigned seed, std::int64_t rows);

struct FaultCase {
  std::string name;
  SensorFault::Kind kind;
  double size;  // K, or relative
};
const std::vector<FaultCase>& fault_cases();

// The winding sensor fails at the row `onset`.
void spoil(Record& record, const FaultCase& fault, std::int64_t onset);

struct FaultScore {
  int records = 0, named = 0, kind_named = 0, named_whole = 0;
  double covered = 0.0, rows = 0.0;  // rows with the rotor within its 95 % band, from the onset on
  double delay = 0.0;                // between onset and the onset found, largest
};
FaultScore score_fault(const Model& model, const FaultCase& fault, int records, bool compile);

// Records with anything said against them, of so many of an hour.
struct CleanScore {
  int records = 0, alarms = 0;
  double covered = 0.0, rows = 0.0;
};
CleanScore score_clean(const Model& model, int records, bool compile);

bool run_fault_benchmark(const FaultBenchmarkOptions& options);

}  // namespace tellegen
