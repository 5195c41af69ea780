// A circuit of the benchmark made ready: its model and equations, what is monitored and what the answer is.
//
// The error is the paper's: root mean square over the samples t_i = i t_end / samples, i = 1 ... samples, of
// each monitored variable against the reference (Eqs. 22 and 23).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/circuit_data.h"
#include "tellegen/equations/system.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct Circuit {
  std::string name;    // as in the data files
  std::string source;  // where the model is from, for people
  int loops = 0;       // of a ladder
  std::string first, second, unit1, unit2;
  Thresholds thresholds;
  ReferenceSolution reference;
  std::unique_ptr<Model> model;
  std::unique_ptr<EquationSystem> system;
  std::vector<OutputColumn> outputs;  // the two monitored variables

  double interval() const { return thresholds.t_end / thresholds.samples; }
};

// rlc, ladder_2, rectifier, thermal: the worked models.
Circuit load_circuit(const std::string& name);
// Generated model text of so many loops. Monitored: the first branch, which holds from 100 loops on; the last
// for 2 loops. Fewer than 100 otherwise have no reference.
Circuit generate_ladder(int loops);
// Monitors a ladder already built; `system` must outlive what is returned.
std::vector<OutputColumn> monitored_columns(const Model& model, const std::string& first,
                                            const std::string& second);

struct CircuitRun {
  std::string failure;                // empty: finished
  std::vector<double> first, second;  // at the samples
  Both errors;
  Statistics statistics;
  double h = 0, seconds = 0;  // seconds: the shortest step loop
  int repetitions = 0;
  double nanoseconds_per_step() const { return 1e9 * seconds / static_cast<double>(statistics.steps); }
  double iterations_per_step() const {
    return static_cast<double>(statistics.iterations) / static_cast<double>(statistics.steps);
  }
};

// stop and sample of the circuit, everything else at its default.
SimulationOptions circuit_options(const Circuit& circuit, const std::string& method, double h);
// A fresh Simulation for every repetition, built outside the measured time, until `budget` seconds are spent;
// once for a budget of zero.
CircuitRun run_circuit(const Circuit& circuit, const SimulationOptions& options, double budget = 0);
// One more repetition into `run`, for measurements in turn with another program.
void repeat_circuit(const Circuit& circuit, const SimulationOptions& options, CircuitRun& run);

double rms_difference(const std::vector<double>& a, const std::vector<double>& b);
Both errors_of(const Circuit& circuit, const std::vector<double>& first, const std::vector<double>& second);
bool meets(const Both& errors, const Both& thresholds);

std::string method_name(const std::string& published);  // "TRnP" -> "trnp"

}  // namespace tellegen
