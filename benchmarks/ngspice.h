// The circuit benchmarks in ngspice, at the cheapest setting found that meets a precision.
//
// The search (ngspice 39.3; max step, trap or gear, reltol, trtol, gmin) ended the same way for all circuits:
// trapezoidal rule with trtol = 1e4. The truncation-error control is then idle and ngspice takes equal steps
// of the max step, two Newton iterations each. With the default trtol = 7 the same errors cost as many steps
// or more; `gear` stays at order two in a transient analysis, and its errors are four times larger.
//
//   circuit         precision   max step   errors (V, A)        steps   ms (2 cores, ARM64)
//   rlc             low         4 ms       6.2e-4,  8.8e-4       2510      9
//   rlc             high        0.4 ms     6.3e-6,  9.2e-6      25009     89
//   ladder 2        low         2.5 ms     3.8e-4,  8.9e-4        409      1
//   ladder 2        high        0.25 ms    3.9e-6,  9.3e-6       4010     15
//   ladder 1000     low         1.9 ms     9.0e-4,  9.5e-4        536    167     (V4, I_L1)
//   ladder 1000     high        0.19 ms    9.0e-6,  9.7e-6       5273   1646     (V4, I_L1)
//   rectifier       low         0.5 ms     6.6e-4,  1.7e-4       2010      9
//   rectifier       high        0.125 ms   9.0e-6,  9.8e-6       8009     36
//
// Samples. ngspice writes its own time points, and a breakpoint at every sample would cost it a restart with
// small first-order steps each time. Instead the suggested step is 2.5 max steps, which makes its start-up
// end on a multiple of the max step: where the max step divides the sample interval all samples are time
// points (so for the rectifier, whose voltage must not be interpolated at a commutation; at low precision
// only its first sample falls into the start-up). Elsewhere the signals are smooth and a polynomial through
// the six nearest points is evaluated, outside the measured time.
//
// ngspice reports its transient time in whole milliseconds.
#pragma once

#include <functional>

#include "benchmarks/external_run.h"

namespace tellegen {

enum class SpiceCircuit { rlc, ladder, rectifier };

struct SpiceSetting {
  double max_step = 0;
  std::string options;  // of the .options line
};

// The recorded setting. The ladder's last branch is monitored for 2 loops, the first for more.
SpiceSetting spice_setting(SpiceCircuit circuit, int loops, Precision precision);

// The netlist; its results go to `output`, with nothing saved but the two monitored variables.
std::string spice_netlist(SpiceCircuit circuit, int loops, const SpiceSetting& setting,
                          const std::string& output);

// Runs the `ngspice` found on PATH `repetitions` times and keeps the shortest transient time. The netlist is
// given the file for its output: time and two variables a line.
ExternalRun run_ngspice_text(const std::string& setting,
                             const std::function<std::string(const std::string& output)>& netlist,
                             double t_end, int samples, int repetitions);
ExternalRun run_ngspice(SpiceCircuit circuit, int loops, const SpiceSetting& setting, int repetitions = 3);

}  // namespace tellegen
