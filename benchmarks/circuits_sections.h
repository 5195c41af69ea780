// The sections of `tellegen benchmark circuits` and what they share.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "benchmarks/circuit.h"
#include "benchmarks/circuits.h"
#include "benchmarks/report.h"
#include "benchmarks/tune.h"

namespace tellegen {

struct Circuits {
  const CircuitsOptions& options;
  Report report{};
  double budget = 0.2;  // seconds of repetitions for one time

  // Loaded once. "ladder_1000" is the generated ladder of 1000 loops.
  const Circuit& circuit(const std::string& name);
  // The cheapest setting over all methods, searched once.
  const Tuned& cheapest(const std::string& name, Precision precision);

  std::map<std::string, std::unique_ptr<Circuit>> loaded{};
  std::map<std::pair<std::string, Precision>, Tuned> tuned{};
};

void section_tables(Circuits& run, const std::string& circuit);  // Tables 7 to 12, 14 to 19
void section_tune(Circuits& run);                                // cheapest settings
void section_size(Circuits& run);                                // Figs. 10 and 11
void section_realtime(Circuits& run);                            // Table 13
void section_share(Circuits& run);                               // Fig. 14
void section_drift(Circuits& run);                               // Figs. 12 and 13
void section_direct(Circuits& run);                              // section 2.1
void section_start(Circuits& run);                               // Fig. 15
void section_limits(Circuits& run);
void section_ngspice(Circuits& run);
void section_ida(Circuits& run);

std::string in_words(const SimulationOptions& options);  // "bdf3, 0.25 ms, 2 iterations"

}  // namespace tellegen
